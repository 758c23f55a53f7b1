// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/avx512.hpp - floor 2. The kernels of SZp with AVX-512 F, BW, DQ and VL: Skylake-X.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/lines/avx512.hpp>
#include <ccoll/codec/szp/avx2.hpp>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// The values of a block, for both sets with AVX-512. In none of their namespaces, whose functions would be
/// found by its argument.
struct values_512 {
    __m512i v[2];
};

/// Numbers of words, for permutations of them.
struct alignas(64) word_orders {
    u32 each[16];  ///< 0, 1, 2 and so on
    u32 last[16];
    u32 lane[2][16];  ///< the last word of the first, the second 128 bits in front, in all words of 128 bits
    u32 twos[2][16];  ///< words 0..7 and 8..15, each twice
    u32 before[2][16];  ///< the words before those; the first two are not looked at
    u32 triangle[16];   ///< ones in 1 and 2 halves of two words
    u32 turned[16];     ///< bytes of packed registers -> words to turn: low bytes, then high ones
    u32 values[16];     ///< turned words -> low and high bytes of eight values next to each other
};
constexpr word_orders make_word_orders()
{
    word_orders o{};
    for (u32 j = 0; j < 16; ++j) {
        const u32 four = 2 * (j % 4) + j / 4 % 2;  // word j has values 4 four .. 4 four + 3
        o.each[j] = j;
        o.last[j] = 15;
        o.turned[j] = 4 * (four % 4) + four / 4 + j / 8 * 2;
        o.values[j] = j / 4 + 4 * (j % 4);
        o.triangle[j] = j % 2 == 0 ? 1 : 0x10001;
        for (u32 h = 0; h < 2; ++h) {
            o.lane[h][j] = j / 4 <= h ? 0 : 4 * (j / 4 - h) - 1;
            o.twos[h][j] = 8 * h + j / 2;
            o.before[h][j] = h == 0 && j < 2 ? 0 : 8 * h + j / 2 - 1;
        }
    }
    return o;
}
inline constexpr word_orders word_order = make_word_orders();

namespace avx512 {

inline constexpr std::size_t lanes = 64;

// What longer registers do not improve: planes fill 256 bits, and the other two look at little or are bound
// by memory.
using avx2::choose_above, avx2::fill, avx2::get_list, avx2::is_noise;

using quanta = values_512;
using running = __m512i;  // the last quantum in all words

CCOLL_INLINE const word_orders& words() noexcept { return in_memory(word_order); }
CCOLL_INLINE __m512i all(const u32 (&of)[16]) noexcept { return _mm512_load_si512(of); }
CCOLL_INLINE __m512i all_32(u32 v) noexcept { return _mm512_set1_epi32(static_cast<int>(v)); }
CCOLL_INLINE __m512i halves(__m256i low, __m256i high) noexcept
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/// Nobody reads the upper half. clang fills an unspecified one from a register, for which the next block
/// waits; zeros cost g++ a move.
CCOLL_INLINE __m512i low_half(__m256i v) noexcept
{
#if defined(__clang__)
    return _mm512_zextsi256_si512(v);
#else
    return _mm512_castsi256_si512(v);
#endif
}

CCOLL_INLINE __m512i nearest(const float* x, const grid<float>& z) noexcept
{
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), _mm512_set1_ps(z.inverse_in_t)));
}
CCOLL_INLINE __m512d eight_doubles(const float* x) noexcept { return _mm512_cvtps_pd(_mm256_loadu_ps(x)); }
CCOLL_INLINE __m512d eight_doubles(const double* x) noexcept { return _mm512_loadu_pd(x); }
template <class T>
CCOLL_INLINE __m512i nearest_in_double(const T* x, const grid<T>& z) noexcept
{
    const __m512d by = _mm512_set1_pd(z.inverse);
    return halves(_mm512_cvtpd_epi32(_mm512_mul_pd(eight_doubles(x), by)),
                  _mm512_cvtpd_epi32(_mm512_mul_pd(eight_doubles(x + 8), by)));
}
CCOLL_INLINE __m512i moved_up(__m512i last, __m512i v) noexcept { return _mm512_alignr_epi32(v, last, 15); }
CCOLL_INLINE __m512 times(__m512i q, float step) noexcept
{
    return _mm512_mul_ps(_mm512_cvtepi32_ps(q), _mm512_set1_ps(step));
}
template <int Half>
CCOLL_INLINE __m512d times(__m512i q, double step) noexcept
{
    return _mm512_mul_pd(_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(q, Half)), _mm512_set1_pd(step));
}
/// Stores all 16 planes. The last one, the sign, is compared with 0. The next block overwrites those that do
/// not count.
CCOLL_INLINE unsigned put_16_planes(__m512i planes, u8* out) noexcept
{
    _mm512_storeu_si512(out, planes);
    return width_of<u16>(
        _mm512_cmpneq_epi32_mask(planes, _mm512_maskz_permutexvar_epi32(0x7fff, all(words().last), planes)));
}
CCOLL_INLINE unsigned put_32_planes(__m512i low, __m512i high, u8* out) noexcept
{
    _mm512_storeu_si512(out, low);
    _mm512_storeu_si512(out + 64, high);
    const __m512i sign = _mm512_permutexvar_epi32(all(words().last), high);
    return width_of(u32{_mm512_cmpneq_epi32_mask(low, sign)} |
                    u32{_mm512_cmpneq_epi32_mask(high, _mm512_maskz_mov_epi32(0x7fff, sign))} << 16);
}

/// Running totals of 16 words, on top of `r`.
CCOLL_INLINE __m512i totals_of(__m512i v, __m512i r, __m512i lane, __m512i two_lanes) noexcept
{
    v = _mm512_add_epi32(v, _mm512_bslli_epi128(v, 4));
    v = _mm512_add_epi32(v, _mm512_bslli_epi128(v, 8));
    v = _mm512_add_epi32(v, _mm512_maskz_permutexvar_epi32(0xfff0, lane, v));
    v = _mm512_add_epi32(v, _mm512_maskz_permutexvar_epi32(0xff00, two_lanes, v));
    return _mm512_add_epi32(v, r);
}
CCOLL_INLINE __m512i totals_of(__m512i v, __m512i r) noexcept
{
    return totals_of(v, r, all(words().lane[0]), all(words().lane[1]));
}
/// Prefix sum of 32 differences on top of `r`.
CCOLL_INLINE void scan(quanta& d, running& r) noexcept
{
    CCOLL_UNROLLED for (__m512i& v : d.v)
    {
        v = totals_of(v, r);
        r = _mm512_permutexvar_epi32(all(words().last), v);
    }
}

/// The word of `v` where `keep` has ones, else that of its partner, shifted.
CCOLL_INLINE __m512i turn_step(__m512i v, __m512i partner, const u32 (&by)[16],
                               const u32 (&keep)[16]) noexcept
{
    return _mm512_ternarylogic_epi32(all(keep), v, _mm512_rolv_epi32(partner, all(by)), 0xca);
}
/// Between 32 bytes, as the values of a block are packed, and 8 planes; in both halves.
CCOLL_INLINE __m512i turned(__m512i v) noexcept
{
    const turn_words& t = in_memory(turn_table);
    v = turn_step(v, _mm512_permutex_epi64(v, 0x4e), t.around[0], t.keep[0]);
    v = turn_step(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC), t.around[1], t.keep[1]);
    return turn_step(v, _mm512_shuffle_epi32(v, _MM_PERM_CDAB), t.around[2], t.keep[2]);
}
CCOLL_INLINE __m512i in_each_128(__m128i order, __m512i v) noexcept
{
    return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(order));
}
CCOLL_INLINE __m512i planes_of(__m512i packed_words) noexcept
{
    const __m512i bytes =
        in_each_128(_mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15), packed_words);
    return turned(_mm512_permutexvar_epi32(all(words().turned), bytes));
}
CCOLL_INLINE __m512i words_of(const u8* in, unsigned width) noexcept
{
    const __m512i from = _mm512_min_epu32(all(words().each), all_32(width - 1));
    const __m512i bytes = turned(_mm512_permutexvar_epi32(from, _mm512_loadu_si512(in)));
    return in_each_128(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15),
                       _mm512_permutexvar_epi32(all(words().values), bytes));
}
#include <ccoll/codec/szp/planes_512.inl>

CCOLL_INLINE u8 other_than_sign(__m256i planes) noexcept
{
    return _mm256_cmpneq_epi32_mask(planes,
                                    _mm256_maskz_permutexvar_epi32(0x7f, _mm256_set1_epi32(7), planes));
}
CCOLL_INLINE __m256i or_and(__m256i a, __m256i b, __m256i c) noexcept
{
    return _mm256_ternarylogic_epi32(a, b, c, 0xf8);
}
template <int By>
CCOLL_INLINE __m256i planes_up(__m256i v, __m256i in) noexcept
{
    return _mm256_alignr_epi32(v, in, 8 - By);
}
#include <ccoll/codec/szp/add_planes.inl>

#include <ccoll/codec/szp/registers.inl>

inline constexpr bool streams = true;
template <class T>
using lines_of = line_writer_512;

#include <ccoll/codec/szp/loops.inl>

}  // namespace avx512

}  // namespace ccoll::inline CCOLL_ABI::detail::szp

#include <ccoll/base/kernels_end.inl>

#endif
