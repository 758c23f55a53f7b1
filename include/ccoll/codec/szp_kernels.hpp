// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp_kernels.hpp - floor 2. The kernels of SZp for the instruction set in use; chosen per chunk, never per block.
#pragma once

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/szp_portable.hpp>
#if defined(__x86_64__) && defined(__GNUC__)
#include <ccoll/codec/szp_x86.hpp>
#endif

namespace ccoll::inline CCOLL_ABI::detail::szp {

#if defined(__x86_64__) && defined(__GNUC__)
#define CCOLL_SZP_EACH(kernel) {&portable::kernel, &avx2::kernel, &avx512::kernel, &avx512_gfni::kernel}
#define CCOLL_SZP_ALONE(kernel) {&portable::kernel, &avx2::kernel, &avx2::kernel, &avx512_gfni::kernel}  // one less to compile
#define CCOLL_SZP_SURVEY(kernel) {&portable::kernel, &avx2::kernel, &avx2::kernel, &avx2::kernel}
#else
#define CCOLL_SZP_EACH(kernel) {&portable::kernel}
#define CCOLL_SZP_ALONE(kernel) {&portable::kernel}
#define CCOLL_SZP_SURVEY(kernel) {&portable::kernel}
#endif

/// A table for each loop: a program that only encodes compiles no more than that.
template <element T>
inline constexpr decltype(&portable::encode_blocks<T>) encoders[] = CCOLL_SZP_EACH(encode_blocks<T>);
template <element T>
inline constexpr decltype(&portable::is_noise<T>) noise_detectors[] = CCOLL_SZP_SURVEY(is_noise<T>);
template <element T>
inline constexpr decltype(&portable::decode_blocks<T>) decoders[] = CCOLL_SZP_EACH(decode_blocks<T>);
template <element T>
inline constexpr decltype(&portable::decode_alone<T>) alone_decoders[] = CCOLL_SZP_ALONE(decode_alone<T>);
template <element T>
inline constexpr decltype(&portable::add_chunk_blocks) adders[] = CCOLL_SZP_EACH(add_chunk_blocks);

inline constexpr decltype(&portable::largest_below<float>) largest_finders[] = CCOLL_SZP_SURVEY(largest_below<float>);

#undef CCOLL_SZP_EACH
#undef CCOLL_SZP_ALONE
#undef CCOLL_SZP_SURVEY

inline std::size_t kernel_in_use() noexcept { return static_cast<std::size_t>(isa_in_use()); }

/// Fine chunks of f64 are coded by plain code (szp_wide.hpp), and so is this.
inline u32 largest_below(const float* x, std::size_t n, u32 limit) noexcept { return largest_finders[kernel_in_use()](x, n, limit); }
inline u64 largest_below(const double* x, std::size_t n, u64 limit) noexcept { return portable::largest_below(x, n, limit); }

}  // namespace ccoll::detail::szp
