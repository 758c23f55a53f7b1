// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/half/kernels.hpp - floor 2. The kernels of half.hpp by instruction set. half/loops.inl says what each does.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include <ccoll/base/half.hpp>
#include <ccoll/base/isa.hpp>

namespace ccoll::inline CCOLL_ABI::detail::two_byte {

template <small_float T>
using format_of = float16_format<exponent_bits_of<T>>;

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>
namespace portable {
#include <ccoll/codec/half/loops.inl>
}  // namespace portable
#include <ccoll/base/kernels_end.inl>

#if defined(CCOLL_X86_KERNELS)
#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>
namespace avx2 {
#include <ccoll/codec/half/loops.inl>
}  // namespace avx2
#include <ccoll/base/kernels_end.inl>
namespace avx512 = avx2;
namespace avx512_gfni = avx2;
#elif defined(CCOLL_NEON_KERNELS)
namespace neon = portable;  // every compiler for aarch64 makes vectors of NEON
#endif

template <small_float T>
inline constexpr by_isa wideners{CCOLL_EACH_ISA(to_floats<T>)};
template <small_float T>
inline constexpr by_isa rounders{CCOLL_EACH_ISA(round<T>)};
template <small_float T>
inline constexpr by_isa range_rounders{CCOLL_EACH_ISA(round_within_range<T>)};
inline constexpr by_isa largest_finders{CCOLL_EACH_ISA(largest_of)};

}  // namespace ccoll::inline CCOLL_ABI::detail::two_byte
