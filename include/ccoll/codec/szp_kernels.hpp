// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp_kernels.hpp - floor 2. The kernels of SZp for the instruction set in use; chosen per chunk, never per block.
#pragma once

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/szp_portable.hpp>
#if defined(__x86_64__) && defined(__GNUC__)
#include <ccoll/codec/szp_x86.hpp>
#endif

namespace ccoll::detail::szp {

#if defined(__x86_64__) && defined(__GNUC__)
#define CCOLL_SZP_EACH(kernel) {&portable::kernel, &avx2::kernel, &avx512::kernel, &avx512_gfni::kernel}
#else
#define CCOLL_SZP_EACH(kernel) {&portable::kernel}
#endif

/// Three tables: a program that only encodes compiles no more than that.
template <element T>
inline constexpr decltype(&portable::encode_blocks<T>) encoders[] = CCOLL_SZP_EACH(encode_blocks<T>);
template <element T>
inline constexpr decltype(&portable::decode_blocks<T>) decoders[] = CCOLL_SZP_EACH(decode_blocks<T>);
template <element T>
inline constexpr decltype(&portable::add_chunk_blocks) adders[] = CCOLL_SZP_EACH(add_chunk_blocks);

#undef CCOLL_SZP_EACH

inline std::size_t kernel_in_use() noexcept { return static_cast<std::size_t>(isa_in_use()); }

}  // namespace ccoll::detail::szp
