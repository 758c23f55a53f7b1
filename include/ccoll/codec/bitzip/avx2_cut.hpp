// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/avx2_cut.hpp - floor 2. Bit cut (bitzip/cut.hpp) for the numbers of one register.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/bitzip/avx2_rows.hpp>
#include <ccoll/codec/bitzip/cut.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::bitzip::avx2 {

/// Numbers that have been cut, or codes that are read as such.
template <native_float T>
struct cut_values {
    __m256i code, length;  ///< from the lowest bit on, and of how many bits
    __m256i exponent;
    vector<T> kept;  ///< what a decoder has
};
/// As bit_cut. @param lowest  the exponent field of the bound
template <bool Signed, native_float T>
CCOLL_INLINE cut_values<T> cut(__m256i bits, __m256i lowest)
{
    using fields = fields_of<T>;
    constexpr int mantissa = fields::mantissa_bits;
    const __m256i field = shifted_down<mantissa, T>(bits), zero = _mm256_setzero_si256();
    const __m256i exponent = Signed ? _mm256_and_si256(field, words<T>(fields::exponent >> mantissa)) : field;
    // Exponents are small, so that words of 4 bytes will do; the upper half of a longer word stays 0.
    const __m256i above = _mm256_max_epi32(_mm256_sub_epi32(exponent, lowest), zero),
                  most = words<T>(mantissa);
    const __m256i kept_bits = _mm256_min_epi32(above, most), dropped = _mm256_sub_epi32(most, kept_bits);
    const __m256i code = shifted_down<T>(bits, dropped),
                  half = shifted_down<1, T>(shifted_up<T>(words<T>(1), dropped));
    const __m256i is_zero = equal<T>(exponent, zero);
    return {_mm256_andnot_si256(is_zero, code), _mm256_add_epi32(kept_bits, words<T>(bit_cut<T>::front_bits)),
            exponent,
            as_values<T>(_mm256_andnot_si256(is_zero, _mm256_or_si256(shifted_up<T>(code, dropped), half)))};
}

/// What all blocks of a chunk need to know.
template <native_float T>
struct bounds_of_chunk {
    vector<T> offset, limit;
    __m256i lowest;

    CCOLL_INLINE bounds_of_chunk(T o, T l)
        : offset(fill(o)), limit(fill(l)),
          lowest(words<T>(fields_of<T>::of(l) >> fields_of<T>::mantissa_bits))
    {}
    CCOLL_INLINE vector<T> holds(vector<T> decoded, vector<T> x) const
    {
        return less(magnitude(sub(add(decoded, offset), x)), limit);
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip::avx2

#include <ccoll/base/kernels_end.inl>

#endif
