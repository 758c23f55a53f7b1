// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/half_kernels.hpp - floor 0. Arrays of numbers of two bytes: conversions and sums, by instruction set.
// half_loops.inl says what each does.
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
inline constexpr bool converts = false;
CCOLL_INLINE void widen_8(const void*, float*) noexcept {}
CCOLL_INLINE void narrow_8(const float*, void*) noexcept {}
#include <ccoll/base/half_loops.inl>
}  // namespace portable
#include <ccoll/base/kernels_end.inl>

#if defined(CCOLL_X86_KERNELS)
// Builtins, because programs that use ccoll::compiled include this file, and <immintrin.h> takes a while.
typedef short eight_halves __attribute__((vector_size(16)));
typedef float eight_floats __attribute__((vector_size(32)));

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>
namespace avx2 {
inline constexpr bool converts = true;
CCOLL_INLINE void widen_8(const void* from, float* to) noexcept
{
    eight_halves v;
    std::memcpy(&v, from, sizeof v);
    const eight_floats wide = __builtin_ia32_vcvtph2ps256(v);
    std::memcpy(to, &wide, sizeof wide);
}
CCOLL_INLINE void narrow_8(const float* from, void* to) noexcept
{
    eight_floats v;
    std::memcpy(&v, from, sizeof v);
    const eight_halves rounded = __builtin_ia32_vcvtps2ph256(v, 0);  // to nearest, whatever the mode
    std::memcpy(to, &rounded, sizeof rounded);
}
#include <ccoll/base/half_loops.inl>
}  // namespace avx2
#include <ccoll/base/kernels_end.inl>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>
namespace avx512 {
using avx2::converts, avx2::widen_8, avx2::narrow_8;
#include <ccoll/base/half_loops.inl>
}  // namespace avx512
#include <ccoll/base/kernels_end.inl>
namespace avx512_gfni = avx512;
#endif
#if defined(CCOLL_NEON_KERNELS)
namespace neon = portable;  // compilers make NEON of it
#endif

template <small_float T>
inline constexpr by_isa wideners{CCOLL_EACH_ISA(to_floats<T>)};
template <small_float T>
inline constexpr by_isa rounders{CCOLL_EACH_ISA(round<T>)};
template <small_float T>
inline constexpr by_isa range_rounders{CCOLL_EACH_ISA(round_within_range<T>)};
template <small_float T>
inline constexpr by_isa adders{CCOLL_EACH_ISA(add<T>)};
template <small_float T>
inline constexpr by_isa dividers{CCOLL_EACH_ISA(divide<T>)};
template <small_float T>
inline constexpr by_isa largest_finders{CCOLL_EACH_ISA(largest_of<T>)};

}  // namespace ccoll::inline CCOLL_ABI::detail::two_byte
