// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/half/kernels.hpp - floor 2. The kernels of half.hpp by instruction set. half/loops.inl says what each
// does.
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
#endif

template <small_float T>
inline constexpr by_isa wideners{CCOLL_UP_TO_AVX2(to_floats<T>)};
template <small_float T>
inline constexpr by_isa rounders{CCOLL_UP_TO_AVX2(round<T>)};
template <small_float T>
inline constexpr by_isa range_rounders{CCOLL_UP_TO_AVX2(round_within_range<T>)};
inline constexpr by_isa largest_finders{CCOLL_UP_TO_AVX2(largest_of)};

}  // namespace ccoll::inline CCOLL_ABI::detail::two_byte
