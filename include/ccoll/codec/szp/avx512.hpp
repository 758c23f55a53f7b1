// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/avx512.hpp - floor 2. The kernels of SZp with AVX-512 F, BW, DQ and VL: Skylake-X. The same bytes as the portable ones.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <algorithm>
#include <bit>

#include <ccoll/codec/lines/avx512.hpp>
#include <ccoll/codec/szp/avx2.hpp>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// The values of a block.
struct values_512 {
    __m512i a, b;  // 0..15, 16..31
};

namespace avx512 {

// Planes fill 256 bits, and the others would not be faster with registers of 512 bits.
using avx2::add_blocks;
using avx2::decode_alone;
using avx2::decode_lists;
using avx2::fill;
using avx2::find_lattice;
using avx2::get_8_planes;
using avx2::get_lists;
using avx2::is_noise;
using avx2::largest_below;
using avx2::largest_magnitude;
using avx2::put_lists;

using quanta = values_512;
using differences = values_512;
using running = __m512i;  // the last quantum in all words, or (while encoding) in the last one
template <class T>
struct magnitudes {
    __m512i most;
};

CCOLL_INLINE __m512i all_32(u32 v) noexcept { return _mm512_set1_epi32(static_cast<int>(v)); }
CCOLL_INLINE __m512i all_64(u64 v) noexcept { return _mm512_set1_epi64(static_cast<long long>(v)); }
CCOLL_INLINE __m512i halves(__m256i low, __m256i high) noexcept { return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1); }

CCOLL_INLINE void start(running& r, i32 base) noexcept { r = _mm512_set1_epi32(base); }

template <class T>
CCOLL_INLINE void clear(magnitudes<T>& m) noexcept
{
    m.most = _mm512_setzero_si512();
}
CCOLL_INLINE void merge(magnitudes<float>& into, const magnitudes<float>& m) noexcept { into.most = _mm512_max_epu32(into.most, m.most); }
CCOLL_INLINE void merge(magnitudes<double>& into, const magnitudes<double>& m) noexcept { into.most = _mm512_max_epu64(into.most, m.most); }
CCOLL_INLINE u32 top(const magnitudes<float>& m) noexcept { return _mm512_reduce_max_epu32(m.most); }
CCOLL_INLINE u64 top(const magnitudes<double>& m) noexcept { return static_cast<u64>(_mm512_reduce_max_epu64(m.most)); }
CCOLL_INLINE bool over(const magnitudes<float>& m, u32 limit) noexcept { return _mm512_cmpge_epu32_mask(m.most, all_32(limit)) != 0; }
CCOLL_INLINE bool over(const magnitudes<double>& m, u64 limit) noexcept { return _mm512_cmpge_epu64_mask(m.most, all_64(limit)) != 0; }

template <class T>
struct look_ahead {
    CCOLL_INLINE void quantise(const float*, std::size_t, std::size_t, const float* x, const quantiser<float>& z, quanta& q,
                               magnitudes<float>& m) const noexcept
    {
        const __m512 inverse = _mm512_set1_ps(z.inverse);
        const __m512i low = all_32(0x7fffffffu);
        const __m512i a = _mm512_loadu_si512(x), b = _mm512_loadu_si512(x + 16);
        m.most = _mm512_max_epu32(_mm512_and_si512(a, low), _mm512_and_si512(b, low));
        q.a = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_castsi512_ps(a), inverse));
        q.b = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_castsi512_ps(b), inverse));
    }
    CCOLL_INLINE void quantise(const double*, std::size_t, std::size_t, const double* x, const quantiser<double>& z, quanta& q,
                               magnitudes<double>& m) const noexcept
    {
        const __m512d inverse = _mm512_set1_pd(z.inverse);
        const __m512i low = all_64(0x7fffffffffffffffu);
        m.most = _mm512_setzero_si512();
        __m256i part[4];
        for (int i = 0; i < 4; ++i) {
            const __m512i v = _mm512_loadu_si512(x + 8 * i);
            m.most = _mm512_max_epu64(m.most, _mm512_and_si512(v, low));
            part[i] = _mm512_cvtpd_epi32(_mm512_mul_pd(_mm512_castsi512_pd(v), inverse));
        }
        q.a = halves(part[0], part[1]);
        q.b = halves(part[2], part[3]);
    }
};

CCOLL_INLINE void quantise_f64(const float* x, double inverse, quanta& q) noexcept
{
    const __m512d by = _mm512_set1_pd(inverse);
    __m256i part[4];
    for (int i = 0; i < 4; ++i) part[i] = _mm512_cvtpd_epi32(_mm512_mul_pd(_mm512_cvtps_pd(_mm256_loadu_ps(x + 8 * i)), by));
    q.a = halves(part[0], part[1]);
    q.b = halves(part[2], part[3]);
}
CCOLL_INLINE void replace_from(const float* x, u32 limit, const quanta& with, quanta& q) noexcept
{
    const __m512i low = all_32(0x7fffffffu), least = all_32(limit);
    q.a = _mm512_mask_mov_epi32(q.a, _mm512_cmpge_epu32_mask(_mm512_and_si512(_mm512_loadu_si512(x), low), least), with.a);
    q.b = _mm512_mask_mov_epi32(q.b, _mm512_cmpge_epu32_mask(_mm512_and_si512(_mm512_loadu_si512(x + 16), low), least), with.b);
}
CCOLL_INLINE void load(const i32* values, quanta& q) noexcept
{
    q.a = _mm512_loadu_si512(values);
    q.b = _mm512_loadu_si512(values + 16);
}
/// The quantum `Distance` places before, for those that are still missing.
template <int Distance>
CCOLL_INLINE void hold_from(u32& missing, __m512i before, quanta& q) noexcept
{
    const auto low = static_cast<__mmask16>(missing), high = static_cast<__mmask16>(missing >> 16);
    q.b = _mm512_mask_alignr_epi32(q.b, high, q.b, q.a, 16 - Distance);
    q.a = _mm512_mask_alignr_epi32(q.a, low, q.a, before, 16 - Distance);
    missing &= missing << Distance;
}
CCOLL_INLINE u32 hold(quanta& q, u32 missing, running r) noexcept
{
    const __m512i before = _mm512_permutexvar_epi32(all_32(15), r);
    hold_from<1>(missing, before, q);
    hold_from<2>(missing, before, q);
    hold_from<4>(missing, before, q);
    hold_from<8>(missing, before, q);
    const auto low = static_cast<__mmask16>(missing), high = static_cast<__mmask16>(missing >> 16);
    q.a = _mm512_mask_mov_epi32(q.a, low, before);
    q.b = _mm512_mask_permutexvar_epi32(q.b, high, all_32(15), q.a);
    return _mm512_reduce_max_epu32(_mm512_max_epu32(_mm512_abs_epi32(q.a), _mm512_abs_epi32(q.b)));
}

CCOLL_INLINE void difference(const quanta& q, running& r, differences& d) noexcept
{
    d.a = _mm512_sub_epi32(q.a, _mm512_alignr_epi32(q.a, r, 15));
    d.b = _mm512_sub_epi32(q.b, _mm512_alignr_epi32(q.b, q.a, 15));
    r = q.b;
}

CCOLL_INLINE void alone(const quanta& q, differences& d) noexcept { d = q; }

/// The sign plane in all words, and with 0 in the last one, where it would be compared with itself.
CCOLL_INLINE __m512i sign_of(__m512i planes) noexcept { return _mm512_permutexvar_epi32(all_32(equal().fifteen), planes); }
CCOLL_INLINE __m512i but_last(__m512i sign) noexcept
{
    return _mm512_and_si512(sign, _mm512_setr_epi32(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0));
}

/// Stores all 16 planes. The next block overwrites those that do not count.
CCOLL_INLINE unsigned put_16_planes(__m512i planes, u8* out) noexcept
{
    _mm512_storeu_si512(out, planes);
    return width_of(_mm512_cmpneq_epi32_mask(planes, but_last(sign_of(planes))));
}
CCOLL_INLINE unsigned put_32_planes(__m512i low, __m512i high, u8* out) noexcept
{
    const __m512i sign = sign_of(high);
    const u32 differs = _mm512_cmpneq_epi32_mask(low, sign), differs_high = _mm512_cmpneq_epi32_mask(high, but_last(sign));
    const unsigned width = width_of(differs | differs_high << 16);
    _mm512_storeu_si512(out, low);
    if (width > 16) [[unlikely]]
        _mm512_storeu_si512(out + 64, high);
    return width;
}
/// Prefix sum of 16 words: within 128 bits, then the totals of those.
CCOLL_INLINE __m512i scan_16(__m512i v) noexcept
{
    v = _mm512_add_epi32(v, _mm512_bslli_epi128(v, 4));
    v = _mm512_add_epi32(v, _mm512_bslli_epi128(v, 8));
    __m512i total = _mm512_shuffle_epi32(v, _MM_PERM_DDDD);
    v = _mm512_add_epi32(v, _mm512_maskz_shuffle_i32x4(0xfff0, total, total, 0x90));
    total = _mm512_shuffle_epi32(v, _MM_PERM_DDDD);
    return _mm512_add_epi32(v, _mm512_maskz_shuffle_i32x4(0xff00, total, total, 0x40));
}
CCOLL_INLINE void scan(differences& d, running& r) noexcept
{
    const __m512i last = all_32(equal().fifteen), a = scan_16(d.a), b = _mm512_add_epi32(scan_16(d.b), _mm512_permutexvar_epi32(last, a));
    d.a = _mm512_add_epi32(a, r);
    d.b = _mm512_add_epi32(b, r);
    r = _mm512_add_epi32(r, _mm512_permutexvar_epi32(last, b));
}

inline constexpr bool streams = true;
template <class T>
using lines_of = line_writer_512;

/// @param to  a pointer, or a line writer
template <class To>
CCOLL_INLINE void dequantise(const quanta& q, float step, To& to) noexcept
{
    const __m512 by = _mm512_set1_ps(step);
    write(to, 0, _mm512_mul_ps(_mm512_cvtepi32_ps(q.a), by));
    write(to, 16, _mm512_mul_ps(_mm512_cvtepi32_ps(q.b), by));
}
template <class To>
CCOLL_INLINE void dequantise(const quanta& q, double step, To& to) noexcept
{
    const __m512d by = _mm512_set1_pd(step);
    write(to, 0, _mm512_mul_pd(_mm512_cvtepi32_pd(_mm512_castsi512_si256(q.a)), by));
    write(to, 8, _mm512_mul_pd(_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(q.a, 1)), by));
    write(to, 16, _mm512_mul_pd(_mm512_cvtepi32_pd(_mm512_castsi512_si256(q.b)), by));
    write(to, 24, _mm512_mul_pd(_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(q.b, 1)), by));
}

/// 8x8 bit transposes, one in each 64 bits.
CCOLL_INLINE __m512i transposed(__m512i v) noexcept
{
    constexpr int differ_in = 0x28, odd = 0x96;  // (a ^ b) & c, a ^ b ^ c
    const equal_words& w = equal();
    __m512i t = _mm512_ternarylogic_epi64(v, _mm512_srli_epi64(v, 7), all_64(w.swapped[0]), differ_in);
    v = _mm512_ternarylogic_epi64(v, t, _mm512_slli_epi64(t, 7), odd);
    t = _mm512_ternarylogic_epi64(v, _mm512_srli_epi64(v, 14), all_64(w.swapped[1]), differ_in);
    v = _mm512_ternarylogic_epi64(v, t, _mm512_slli_epi64(t, 14), odd);
    t = _mm512_ternarylogic_epi64(v, _mm512_srli_epi64(v, 28), all_64(w.swapped[2]), differ_in);
    return _mm512_ternarylogic_epi64(v, t, _mm512_slli_epi64(t, 28), odd);
}
CCOLL_INLINE __m512i in_each_128(__m128i order, __m512i v) noexcept { return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(order)); }
/// The bytes of four words, transposed.
CCOLL_INLINE __m512i turned_4x4(__m512i v) noexcept
{
    return in_each_128(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), v);
}

CCOLL_INLINE __m512i planes_of(__m512i words) noexcept
{
    const __m512i bytes = in_each_128(_mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15), words);
    const __m512i groups =
        transposed(_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes));
    return turned_4x4(_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15), groups));
}
CCOLL_INLINE __m512i words_of(const u8* in, unsigned width) noexcept
{
    const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i planes = _mm512_permutexvar_epi32(_mm512_min_epu32(numbers, all_32(width - 1)), _mm512_loadu_si512(in));
    const __m512i bytes =
        transposed(_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15), turned_4x4(planes)));
    return in_each_128(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15),
                       _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15), bytes));
}

#include <ccoll/codec/szp/avx512_planes.inl>

/// Prefix sum of 32 bytes: sums of 8 of them fit 16 bits, so that one register holds all of them until the end.
CCOLL_INLINE void scan_bytes(__m256i bytes, quanta& q, running& r) noexcept
{
    __m512i v = _mm512_cvtepi8_epi16(bytes);
    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 2));
    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 4));
    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 8));
    const __m512i sums = _mm512_srai_epi32(_mm512_shuffle_epi32(v, _MM_PERM_DDDD), 16);  // of each group of 8, in all its words
    __m512i total = _mm512_add_epi32(sums, _mm512_maskz_shuffle_i32x4(0xfff0, sums, sums, 0x90));
    total = _mm512_add_epi32(total, _mm512_maskz_shuffle_i32x4(0xff00, total, total, 0x40));
    const __m512i before = _mm512_add_epi32(_mm512_sub_epi32(total, sums), r);
    q.a = _mm512_add_epi32(_mm512_cvtepi16_epi32(_mm512_castsi512_si256(v)), _mm512_shuffle_i32x4(before, before, 0x50));
    q.b = _mm512_add_epi32(_mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(v, 1)), _mm512_shuffle_i32x4(before, before, 0xfa));
    r = _mm512_add_epi32(r, _mm512_shuffle_i32x4(total, total, 0xff));
}

CCOLL_INLINE void repeat(running r, quanta& q) noexcept { q.a = q.b = r; }
#include <ccoll/codec/szp/restore.inl>
namespace by_mask = specials::avx512;
#include <ccoll/codec/szp/loops.inl>
inline constexpr bool takes_out = true;
#include <ccoll/codec/szp/encode.inl>
#include <ccoll/codec/szp/quanta64_512.inl>

}  // namespace avx512

}  // namespace ccoll::detail::szp

#include <ccoll/base/kernels_end.inl>

#endif
