// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx/avx512.hpp - floor 2. The blocks of SZx in registers of AVX-512.
// VBMI shuffles bytes with one instruction less. That saves 5 %, which is not worth a third kernel.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <bit>
#include <concepts>
#include <cstring>

#include <ccoll/codec/lines/avx512.hpp>
#include <ccoll/codec/szx/quantiser.hpp>
#include <ccoll/codec/szx/shuffles.hpp>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szx {

/// Where each 16-bit word of 64 bytes comes from.
struct alignas(64) word_shuffle {
    std::uint16_t from[32];
};

/// Four squeezed rows, together. What follows them is unspecified.
template <element T>
inline constexpr auto join_rows = [] {
    std::array<word_shuffle, sizeof(T)> table{};
    for (std::size_t bytes = 1; bytes < sizeof(T); ++bytes)
        for (std::size_t i = 0, words = bytes * row_elements<T> / 2; i < 32; ++i)
            table[bytes].from[i] = static_cast<std::uint16_t>((i / words * 8 + i % words) % 32);
    return table;
}();

/// And apart.
template <element T>
inline constexpr auto part_rows = [] {
    std::array<word_shuffle, sizeof(T)> table{};
    for (std::size_t bytes = 1; bytes < sizeof(T); ++bytes)
        for (std::size_t i = 0, words = bytes * row_elements<T> / 2; i < 32; ++i)
            table[bytes].from[i] = static_cast<std::uint16_t>((i / 8 * words + i % 8) % 32);
    return table;
}();

namespace avx512 {

inline constexpr std::size_t register_bytes = 64;
using lines = line_writer_512;

CCOLL_INLINE __m512 load(const float* x) { return _mm512_loadu_ps(x); }
CCOLL_INLINE __m512d load(const double* x) { return _mm512_loadu_pd(x); }
CCOLL_INLINE __m512 fill(float x) { return _mm512_set1_ps(x); }
CCOLL_INLINE __m512d fill(double x) { return _mm512_set1_pd(x); }
CCOLL_INLINE __m512i bits(__m512 v) { return _mm512_castps_si512(v); }
CCOLL_INLINE __m512i bits(__m512d v) { return _mm512_castpd_si512(v); }

CCOLL_INLINE __m512 lower(__m512 a, __m512 b) { return _mm512_min_ps(a, b); }
CCOLL_INLINE __m512d lower(__m512d a, __m512d b) { return _mm512_min_pd(a, b); }
CCOLL_INLINE __m512 higher(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
CCOLL_INLINE __m512d higher(__m512d a, __m512d b) { return _mm512_max_pd(a, b); }
CCOLL_INLINE float lowest_of(__m512 v) { return _mm512_reduce_min_ps(v); }
CCOLL_INLINE double lowest_of(__m512d v) { return _mm512_reduce_min_pd(v); }
CCOLL_INLINE float highest_of(__m512 v) { return _mm512_reduce_max_ps(v); }
CCOLL_INLINE double highest_of(__m512d v) { return _mm512_reduce_max_pd(v); }
CCOLL_INLINE unsigned unordered(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
CCOLL_INLINE unsigned unordered(__m512d a, __m512d b) { return _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q); }
CCOLL_INLINE unsigned either(unsigned a, unsigned b) { return a | b; }
CCOLL_INLINE bool any(unsigned mask) { return mask != 0; }

CCOLL_INLINE __m512 worse(__m512 worst, __m512 error, __m512)
{
    return _mm512_castsi512_ps(_mm512_max_epu32(bits(worst), bits(_mm512_abs_ps(error))));
}
CCOLL_INLINE __m512d worse(__m512d worst, __m512d error, __m512d)
{
    return _mm512_castsi512_pd(_mm512_max_epu64(bits(worst), bits(_mm512_abs_pd(error))));
}
CCOLL_INLINE bool below(__m512 worst, __m512 bound)
{
    return _mm512_cmp_ps_mask(worst, bound, _CMP_NLT_UQ) == 0;
}
CCOLL_INLINE bool below(__m512d worst, __m512d bound)
{
    return _mm512_cmp_pd_mask(worst, bound, _CMP_NLT_UQ) == 0;
}

struct shuffles {
    __m512i bytes, words;
};
CCOLL_INLINE shuffles load(const row_shuffle& bytes, const word_shuffle& words)
{
    return {_mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(&bytes))),
            _mm512_load_si512(&words)};
}
template <element T>
CCOLL_INLINE shuffles squeeze_of(unsigned bytes)
{
    return load(squeeze_row<T>[bytes], join_rows<T>[bytes]);
}
template <element T>
CCOLL_INLINE shuffles spread_of(unsigned bytes)
{
    return load(spread_row<T>[bytes], part_rows<T>[bytes]);
}
// Half a register is moved where that is enough, because stores and loads that cross a line for nothing cost
// a tenth.
template <element T>
CCOLL_INLINE void put_low_bytes(std::byte* out, __m512i v, const shuffles& squeeze, unsigned bytes)
{
    const __m512i packed = _mm512_permutexvar_epi16(squeeze.words, _mm512_shuffle_epi8(v, squeeze.bytes));
    if (2 * bytes <= sizeof(T))
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(packed));
    else _mm512_storeu_si512(out, packed);
}
template <element T>
CCOLL_INLINE auto low_bytes(const std::byte* in, const shuffles& spread, unsigned bytes)
{
    const __m512i packed =
        2 * bytes <= sizeof(T)
            ? _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in)))
            : _mm512_loadu_si512(in);
    const __m512i low = _mm512_shuffle_epi8(_mm512_permutexvar_epi16(spread.words, packed), spread.bytes);
    const __m512i v = _mm512_or_si512(low, bits(fill(std::bit_cast<T>(origin_bits<T>))));
    if constexpr (sizeof(T) == 4) return _mm512_castsi512_ps(v);
    else return _mm512_castsi512_pd(v);
}

#include <ccoll/codec/szx/loops.inl>
#include <ccoll/codec/szx/streams.inl>

}  // namespace avx512

namespace avx512_gfni {
using namespace avx512;
}

}  // namespace ccoll::detail::szx

#include <ccoll/base/kernels_end.inl>

#endif
