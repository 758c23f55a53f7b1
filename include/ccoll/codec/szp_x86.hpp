// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp_x86.hpp - floor 2. The kernels of SZp with AVX2 and AVX-512, behind function targets: what the user's -march says does
// not matter. The same bytes as the portable ones.
#pragma once

#include <immintrin.h>

#include <array>

#include <ccoll/codec/szp_portable.hpp>

// g++ 12 warns about its own AVX-512 headers.
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

CCOLL_EXACT_BEGIN  // AVX-512 implies FMA, and g++ contracts even intrinsics

namespace ccoll::detail::szp {

// ---- AVX2 ----------------------------------------------------------------------------------------------------------------------------
namespace avx2 {

#define CCOLL_SZP_TARGET __attribute__((target("avx2,lzcnt,bmi,bmi2")))
#define CCOLL_SZP_INLINE CCOLL_SZP_TARGET inline __attribute__((always_inline))

struct lanes {
    __m256i v[4];
};
using quanta = lanes;
using differences = lanes;
using running = __m256i;  // the last quantum in the last lane
template <class T>
struct magnitudes;
template <>
struct magnitudes<float> {
    __m256i most;
};
template <>
struct magnitudes<double> {
    __m256d most;  // AVX2 compares no unsigned 64-bit integers; all ones (a NaN) where there was one
};

#include <ccoll/codec/szp_256.inl>

CCOLL_SZP_INLINE __m256i halves(__m128i low, __m128i high) noexcept { return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1); }

CCOLL_SZP_INLINE void start(running& r, i32 base) noexcept { r = _mm256_set1_epi32(base); }
CCOLL_SZP_INLINE i32 last_of(running r) noexcept { return _mm256_extract_epi32(r, 7); }

CCOLL_SZP_INLINE void clear(magnitudes<float>& m) noexcept { m.most = _mm256_setzero_si256(); }
CCOLL_SZP_INLINE void clear(magnitudes<double>& m) noexcept { m.most = _mm256_setzero_pd(); }
CCOLL_SZP_INLINE void merge(magnitudes<float>& into, const magnitudes<float>& m) noexcept { into.most = _mm256_max_epu32(into.most, m.most); }
CCOLL_SZP_INLINE void merge(magnitudes<double>& into, const magnitudes<double>& m) noexcept { into.most = _mm256_max_pd(into.most, m.most); }
CCOLL_SZP_INLINE u32 top(const magnitudes<float>& m) noexcept
{
    u32 lane[8], most = 0;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lane), m.most);
    for (const u32 v : lane) most = v > most ? v : most;
    return most;
}
CCOLL_SZP_INLINE u64 top(const magnitudes<double>& m) noexcept
{
    u64 lane[4], most = 0;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lane), _mm256_castpd_si256(m.most));
    for (const u64 v : lane) most = v > most ? v : most;
    return most;
}
CCOLL_SZP_INLINE bool over(const magnitudes<float>& m, u32 limit) noexcept
{
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(m.most, repeat_256(limit - 1))) != 0;
}
CCOLL_SZP_INLINE bool over(const magnitudes<double>& m, u64 limit) noexcept
{
    return _mm256_movemask_pd(_mm256_cmp_pd(m.most, _mm256_set1_pd(std::bit_cast<double>(limit)), _CMP_NLT_UQ)) != 0;
}
CCOLL_SZP_INLINE void largest_of(const float* x, magnitudes<float>& m) noexcept
{
    const __m256i low = repeat_256(0x7fffffffu);
    m.most = _mm256_max_epu32(_mm256_max_epu32(_mm256_and_si256(load_256(x), low), _mm256_and_si256(load_256(x + 8), low)),
                              _mm256_max_epu32(_mm256_and_si256(load_256(x + 16), low), _mm256_and_si256(load_256(x + 24), low)));
}

template <class T>
struct look_ahead {
    CCOLL_SZP_INLINE void quantise(const float*, std::size_t, std::size_t, const float* x, const quantiser<float>& z, quanta& q,
                                   magnitudes<float>& m) const noexcept
    {
        const __m256 inverse = _mm256_set1_ps(z.inverse);
        for (int i = 0; i < 4; ++i) q.v[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), inverse));
        largest_of(x, m);
    }
    CCOLL_SZP_INLINE void quantise(const double*, std::size_t, std::size_t, const double* x, const quantiser<double>& z, quanta& q,
                                   magnitudes<double>& m) const noexcept
    {
        const __m256d inverse = _mm256_set1_pd(z.inverse);
        const __m256d low = _mm256_castsi256_pd(_mm256_set1_epi64x(0x7fffffffffffffff));
        m.most = _mm256_setzero_pd();
        for (int i = 0; i < 4; ++i) {
            __m128i half[2];
            for (int h = 0; h < 2; ++h) {
                const __m256d v = _mm256_loadu_pd(x + 8 * i + 4 * h), magnitude = _mm256_and_pd(v, low);
                // max() forgets a NaN: let it stand beside.
                m.most = _mm256_or_pd(_mm256_max_pd(magnitude, m.most), _mm256_cmp_pd(magnitude, magnitude, _CMP_UNORD_Q));
                half[h] = _mm256_cvtpd_epi32(_mm256_mul_pd(v, inverse));
            }
            q.v[i] = halves(half[0], half[1]);
        }
    }
};

CCOLL_SZP_INLINE void quantise_f64(const float* x, double inverse, quanta& q) noexcept
{
    const __m256d by = _mm256_set1_pd(inverse);
    for (int i = 0; i < 4; ++i) {
        const __m128i a = _mm256_cvtpd_epi32(_mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x + 8 * i)), by));
        const __m128i b = _mm256_cvtpd_epi32(_mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x + 8 * i + 4)), by));
        q.v[i] = halves(a, b);
    }
}
CCOLL_SZP_INLINE void replace_from(const float* x, u32 limit, const quanta& with, quanta& q) noexcept
{
    for (int i = 0; i < 4; ++i) {
        const __m256i large = _mm256_cmpgt_epi32(_mm256_and_si256(load_256(x + 8 * i), repeat_256(0x7fffffffu)), repeat_256(limit - 1));
        q.v[i] = _mm256_blendv_epi8(q.v[i], with.v[i], large);
    }
}
CCOLL_SZP_INLINE void load(const i32* values, quanta& q) noexcept
{
    for (int i = 0; i < 4; ++i) q.v[i] = load_256(values + 8 * i);
}

CCOLL_SZP_INLINE void difference(const quanta& q, running& r, differences& d) noexcept
{
    const __m256i up = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    __m256i before = _mm256_permutevar8x32_epi32(r, up);
    for (int i = 0; i < 4; ++i) {
        const __m256i turned = _mm256_permutevar8x32_epi32(q.v[i], up);
        d.v[i] = _mm256_sub_epi32(q.v[i], _mm256_blend_epi32(turned, before, 1));
        before = turned;
    }
    r = q.v[3];
}

/// Packing interleaves the halves of registers; this restores the order of 32 bytes.
CCOLL_SZP_INLINE __m256i in_order(__m256i v) noexcept { return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)); }

CCOLL_SZP_INLINE unsigned put_planes(const differences& d, u8* out) noexcept
{
    __m256i folded = _mm256_setzero_si256(), any = folded;
    for (int i = 0; i < 4; ++i) {
        folded = _mm256_or_si256(folded, _mm256_xor_si256(d.v[i], _mm256_srai_epi32(d.v[i], 31)));
        any = _mm256_or_si256(any, d.v[i]);
    }
    __m128i f = _mm_or_si128(_mm256_castsi256_si128(folded), _mm256_extracti128_si256(folded, 1));
    f = _mm_or_si128(f, _mm_shuffle_epi32(f, 0x4e));
    f = _mm_or_si128(f, _mm_shuffle_epi32(f, 0xb1));
    const u64 magnitude = static_cast<u32>(_mm_cvtsi128_si32(f)), negative = _mm256_movemask_ps(_mm256_castsi256_ps(any)) != 0;
    const unsigned width = 64 - static_cast<unsigned>(_lzcnt_u64(magnitude << 1 | negative));
    if (width == 0) return 0;
    if (width <= 8) {
        put_8_planes(in_order(_mm256_packs_epi16(_mm256_packs_epi32(d.v[0], d.v[1]), _mm256_packs_epi32(d.v[2], d.v[3]))), width, out);
        return width;
    }
    const __m256i low_byte = _mm256_set1_epi16(255), low_word = repeat_256(0xffff);
    __m256i a, b;  // 16-bit words of values
    if (width <= 16) {
        a = _mm256_packs_epi32(d.v[0], d.v[1]);
        b = _mm256_packs_epi32(d.v[2], d.v[3]);
    } else {
        a = _mm256_packus_epi32(_mm256_and_si256(d.v[0], low_word), _mm256_and_si256(d.v[1], low_word));
        b = _mm256_packus_epi32(_mm256_and_si256(d.v[2], low_word), _mm256_and_si256(d.v[3], low_word));
    }
    put_8_planes(in_order(_mm256_packus_epi16(_mm256_and_si256(a, low_byte), _mm256_and_si256(b, low_byte))), 8, out);
    put_8_planes(in_order(_mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8))), width > 16 ? 8 : width - 8, out + 32);
    if (width > 16) {
        a = _mm256_packus_epi32(_mm256_srli_epi32(d.v[0], 16), _mm256_srli_epi32(d.v[1], 16));
        b = _mm256_packus_epi32(_mm256_srli_epi32(d.v[2], 16), _mm256_srli_epi32(d.v[3], 16));
        put_8_planes(in_order(_mm256_packus_epi16(_mm256_and_si256(a, low_byte), _mm256_and_si256(b, low_byte))), 8, out + 64);
        put_8_planes(in_order(_mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8))), 8, out + 96);
    }
    return width;
}

CCOLL_SZP_INLINE void widen(__m256i bytes, differences& d) noexcept
{
    const __m128i a = _mm256_castsi256_si128(bytes), b = _mm256_extracti128_si256(bytes, 1);
    d.v[0] = _mm256_cvtepi8_epi32(a);
    d.v[1] = _mm256_cvtepi8_epi32(_mm_srli_si128(a, 8));
    d.v[2] = _mm256_cvtepi8_epi32(b);
    d.v[3] = _mm256_cvtepi8_epi32(_mm_srli_si128(b, 8));
}
/// @param width  1..32
CCOLL_SZP_INLINE void get_planes(const u8* in, unsigned width, differences& d) noexcept
{
    widen(get_8_planes(in, width), d);
    for (unsigned at = 8; at < width; at += 8) {
        differences more;
        widen(get_8_planes(in + 4 * at, width - at), more);
        const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(at));
        const __m256i below = repeat_256((u32{1} << at) - 1);
        for (int i = 0; i < 4; ++i) d.v[i] = _mm256_or_si256(_mm256_and_si256(d.v[i], below), _mm256_sll_epi32(more.v[i], shift));
    }
}
CCOLL_SZP_INLINE void dequantise(const quanta& q, float step, float* x) noexcept
{
    const __m256 by = _mm256_set1_ps(step);
    for (int i = 0; i < 4; ++i) _mm256_storeu_ps(x + 8 * i, _mm256_mul_ps(_mm256_cvtepi32_ps(q.v[i]), by));
}
CCOLL_SZP_INLINE void dequantise(const quanta& q, double step, double* x) noexcept
{
    const __m256d by = _mm256_set1_pd(step);
    for (int i = 0; i < 4; ++i) {
        _mm256_storeu_pd(x + 8 * i, _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(q.v[i])), by));
        _mm256_storeu_pd(x + 8 * i + 4, _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_extracti128_si256(q.v[i], 1)), by));
    }
}

/// The width is that of 32 words, in half as many registers.
CCOLL_SZP_INLINE unsigned put_small(const differences& d, u8* out) noexcept
{
    const __m256i a = _mm256_packs_epi32(d.v[0], d.v[1]), b = _mm256_packs_epi32(d.v[2], d.v[3]);
    const __m256i folded = _mm256_or_si256(_mm256_xor_si256(a, _mm256_srai_epi16(a, 15)), _mm256_xor_si256(b, _mm256_srai_epi16(b, 15)));
    __m128i f = _mm_or_si128(_mm256_castsi256_si128(folded), _mm256_extracti128_si256(folded, 1));
    f = _mm_or_si128(f, _mm_shuffle_epi32(f, 0x4e));
    f = _mm_or_si128(f, _mm_shuffle_epi32(f, 0xb1));
    const u32 two = static_cast<u32>(_mm_cvtsi128_si32(f)), magnitude = (two | two >> 16) & 0xffff;
    const u32 negative = (static_cast<u32>(_mm256_movemask_epi8(_mm256_or_si256(a, b))) & 0xaaaaaaaau) != 0;
    const unsigned width = 32 - static_cast<unsigned>(_lzcnt_u32(magnitude << 1 | negative));
    if (width == 0) return 0;
    if (width <= 8) {
        put_8_planes(in_order(_mm256_packs_epi16(a, b)), width, out);
        return width;
    }
    const __m256i low_byte = _mm256_set1_epi16(255);
    put_8_planes(in_order(_mm256_packus_epi16(_mm256_and_si256(a, low_byte), _mm256_and_si256(b, low_byte))), 8, out);
    put_8_planes(in_order(_mm256_packs_epi16(_mm256_srai_epi16(a, 8), _mm256_srai_epi16(b, 8))), width - 8, out + 32);
    return width;
}

/// Prefix sum of 32 differences on top of `r`.
CCOLL_SZP_INLINE void scan(differences& d, running& r) noexcept
{
    const __m256i last = _mm256_set1_epi32(7);
    __m256i total = _mm256_setzero_si256();
    for (int i = 0; i < 4; ++i) {
        __m256i v = _mm256_add_epi32(d.v[i], _mm256_slli_si256(d.v[i], 4));
        v = _mm256_add_epi32(v, _mm256_slli_si256(v, 8));
        const __m256i sums = _mm256_shuffle_epi32(v, 0xff);
        v = _mm256_add_epi32(v, _mm256_permute2x128_si256(sums, sums, 0x08));  // that of the low half into the high one
        v = _mm256_add_epi32(v, total);
        total = _mm256_permutevar8x32_epi32(v, last);
        d.v[i] = _mm256_add_epi32(v, r);
    }
    r = _mm256_add_epi32(r, total);
}

/// The same for bytes: sums of 8 of them fit 16 bits, which takes half as many registers until the end.
CCOLL_SZP_INLINE void scan_bytes(__m256i bytes, quanta& q, running& r) noexcept
{
    __m256i a = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(bytes)), b = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(bytes, 1));
    a = _mm256_add_epi16(a, _mm256_slli_si256(a, 2));
    b = _mm256_add_epi16(b, _mm256_slli_si256(b, 2));
    a = _mm256_add_epi16(a, _mm256_slli_si256(a, 4));
    b = _mm256_add_epi16(b, _mm256_slli_si256(b, 4));
    a = _mm256_add_epi16(a, _mm256_slli_si256(a, 8));
    b = _mm256_add_epi16(b, _mm256_slli_si256(b, 8));
    // Groups of 8 values are summed. Totals of the groups before, as 32-bit numbers in all lanes.
    const __m256i ends = _mm256_setr_epi8(14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15);
    const __m256i ta = _mm256_srai_epi32(_mm256_shuffle_epi8(a, ends), 16), tb = _mm256_srai_epi32(_mm256_shuffle_epi8(b, ends), 16);
    const __m256i g0 = _mm256_permute2x128_si256(ta, ta, 0x00), g1 = _mm256_permute2x128_si256(ta, ta, 0x11);
    const __m256i g2 = _mm256_permute2x128_si256(tb, tb, 0x00), g3 = _mm256_permute2x128_si256(tb, tb, 0x11);
    const __m256i r1 = _mm256_add_epi32(r, g0), g01 = _mm256_add_epi32(g0, g1), r2 = _mm256_add_epi32(r, g01);
    const __m256i r3 = _mm256_add_epi32(r2, g2);
    q.v[0] = _mm256_add_epi32(_mm256_cvtepi16_epi32(_mm256_castsi256_si128(a)), r);
    q.v[1] = _mm256_add_epi32(_mm256_cvtepi16_epi32(_mm256_extracti128_si256(a, 1)), r1);
    q.v[2] = _mm256_add_epi32(_mm256_cvtepi16_epi32(_mm256_castsi256_si128(b)), r2);
    q.v[3] = _mm256_add_epi32(_mm256_cvtepi16_epi32(_mm256_extracti128_si256(b, 1)), r3);
    r = _mm256_add_epi32(r3, g3);
}

template <class T>
CCOLL_SZP_INLINE void restore(const u8* in, unsigned width, running& r, T step, T* x) noexcept
{
    quanta q;
    if (width == 0) {
        const __m256i same = _mm256_permutevar8x32_epi32(r, _mm256_set1_epi32(7));
        for (int i = 0; i < 4; ++i) q.v[i] = same;
    } else if (width <= 8) {
        scan_bytes(get_8_planes(in, width), q, r);
    } else {
        get_planes(in, width, q);
        scan(q, r);
    }
    dequantise(q, step, x);
}

#include <ccoll/codec/szp_loops.inl>

#undef CCOLL_SZP_INLINE
#undef CCOLL_SZP_TARGET

}  // namespace avx2

// ---- AVX-512 F, BW, DQ, VL: Skylake-X ---------------------------------------------------------------------------------------------------
namespace avx512 {

#define CCOLL_SZP_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,lzcnt,bmi,bmi2")))
#define CCOLL_SZP_INLINE CCOLL_SZP_TARGET inline __attribute__((always_inline))

#include <ccoll/codec/szp_256.inl>
#include <ccoll/codec/szp_avx512.inl>

/// Packed words of a and b alternate in groups of four: this restores the order of their bytes.
CCOLL_SZP_INLINE __m256i in_order(__m256i v) noexcept { return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7)); }

CCOLL_SZP_INLINE unsigned put_small(const differences& d, u8* out) noexcept
{
    const __m512i words = _mm512_packs_epi32(d.a, d.b), folded = _mm512_xor_si512(words, _mm512_srai_epi16(words, 15));
    const __m256i half = _mm256_or_si256(_mm512_castsi512_si256(folded), _mm512_extracti64x4_epi64(folded, 1));
    __m128i f = _mm_or_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    f = _mm_or_si128(f, _mm_shuffle_epi32(f, 0x4e));
    f = _mm_or_si128(f, _mm_shuffle_epi32(f, 0xb1));
    const u32 two = static_cast<u32>(_mm_cvtsi128_si32(f)), magnitude = (two | two >> 16) & 0xffff;
    const u32 negative = _mm512_movepi16_mask(words) != 0;
    const unsigned width = 32 - static_cast<unsigned>(_lzcnt_u32(magnitude << 1 | negative));
    if (width == 0) return 0;
    put_8_planes(in_order(_mm512_cvtepi16_epi8(words)), width > 8 ? 8 : width, out);
    if (width > 8) put_8_planes(in_order(_mm512_cvtepi16_epi8(_mm512_srai_epi16(words, 8))), width - 8, out + 32);
    return width;
}
CCOLL_SZP_INLINE unsigned put_planes(const differences& d, u8* out) noexcept
{
    const __m512i folded = _mm512_or_si512(_mm512_xor_si512(d.a, _mm512_srai_epi32(d.a, 31)), _mm512_xor_si512(d.b, _mm512_srai_epi32(d.b, 31)));
    const u64 magnitude = static_cast<u32>(_mm512_reduce_or_epi32(folded)), negative = (_mm512_movepi32_mask(d.a) | _mm512_movepi32_mask(d.b)) != 0;
    const unsigned width = 64 - static_cast<unsigned>(_lzcnt_u64(magnitude << 1 | negative));
    for (unsigned k = 0; k < width; ++k) {
        const __m512i bit = all_32(u32{1} << k);
        put(out + 4 * k, static_cast<u32>(_mm512_test_epi32_mask(d.a, bit)) | static_cast<u32>(_mm512_test_epi32_mask(d.b, bit)) << 16);
    }
    return width;
}

/// @param width  9..32
CCOLL_SZP_INLINE void get_planes(const u8* in, unsigned width, differences& d) noexcept
{
    for (unsigned at = 0; at < width; at += 8) {
        const __m256i bytes = get_8_planes(in + 4 * at, width - at);
        __m512i a = _mm512_cvtepi8_epi32(_mm256_castsi256_si128(bytes)), b = _mm512_cvtepi8_epi32(_mm256_extracti128_si256(bytes, 1));
        if (at > 0) {
            const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(at));
            const __m512i below = all_32((u32{1} << at) - 1);
            a = _mm512_or_si512(_mm512_and_si512(d.a, below), _mm512_sll_epi32(a, shift));
            b = _mm512_or_si512(_mm512_and_si512(d.b, below), _mm512_sll_epi32(b, shift));
        }
        d.a = a;
        d.b = b;
    }
}

/// Prefix sum of 32 bytes: sums of 8 of them fit 16 bits, so that one register does until the end.
CCOLL_SZP_INLINE void scan_bytes(__m256i bytes, quanta& q, running& r) noexcept
{
    __m512i v = _mm512_cvtepi8_epi16(bytes);
    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 2));
    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 4));
    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 8));
    const __m512i sums = _mm512_srai_epi32(_mm512_shuffle_epi32(v, _MM_PERM_DDDD), 16);  // of each group of 8, in all its lanes
    __m512i total = _mm512_add_epi32(sums, _mm512_maskz_shuffle_i32x4(0xfff0, sums, sums, 0x90));
    total = _mm512_add_epi32(total, _mm512_maskz_shuffle_i32x4(0xff00, total, total, 0x40));
    const __m512i before = _mm512_add_epi32(_mm512_sub_epi32(total, sums), r);
    q.a = _mm512_add_epi32(_mm512_cvtepi16_epi32(_mm512_castsi512_si256(v)), _mm512_shuffle_i32x4(before, before, 0x50));
    q.b = _mm512_add_epi32(_mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(v, 1)), _mm512_shuffle_i32x4(before, before, 0xfa));
    r = _mm512_add_epi32(r, _mm512_shuffle_i32x4(total, total, 0xff));
}

template <class T>
CCOLL_SZP_INLINE void restore(const u8* in, unsigned width, running& r, T step, T* x) noexcept
{
    quanta q;
    if (width == 0) {
        q.a = q.b = r;
    } else if (width <= 8) {
        scan_bytes(get_8_planes(in, width), q, r);
    } else {
        get_planes(in, width, q);
        scan(q, r);
    }
    dequantise(q, step, x);
}

#include <ccoll/codec/szp_loops.inl>

#undef CCOLL_SZP_INLINE
#undef CCOLL_SZP_TARGET

}  // namespace avx512

// ---- AVX-512 with GFNI, VBMI, VNNI: Ice Lake, Zen 4 --------------------------------------------------------------------------------------
namespace avx512_gfni {

#define CCOLL_SZP_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,gfni,lzcnt,bmi,bmi2")))
#define CCOLL_SZP_INLINE CCOLL_SZP_TARGET inline __attribute__((always_inline))

#include <ccoll/codec/szp_avx512.inl>

/// Byte permutations around an instruction that transposes 8x8 bits in each of eight lanes. Lane 4 p + g holds byte p of the
/// values 8 g .. 8 g + 7: those of 16 planes at once.
struct alignas(64) byte_order {
    u8 from[64];
};
struct orders {
    byte_order gather[2];   ///< two registers of 32-bit values -> lanes, of their low and high 16 bits
    byte_order packed;      ///< the same from 16-bit values, as they are packed
    byte_order planes;      ///< lanes -> planes
    byte_order spread[17];  ///< [w] planes -> lanes; those from w on repeat the sign
    byte_order values[2];   ///< lanes of low and high 16 bits -> 32-bit values, in two registers
    byte_order words;       ///< lanes -> 16-bit values
};
constexpr orders make_orders()
{
    orders o{};
    const auto u = [](unsigned v) { return static_cast<u8>(v); };
    for (unsigned p = 0; p < 2; ++p)
        for (unsigned g = 0; g < 4; ++g)
            for (unsigned m = 0; m < 8; ++m) {
                const unsigned at = 8 * (4 * p + g) + m;  // the instruction counts bytes from the highest
                const unsigned v = 8 * g + 7 - m;
                for (unsigned h = 0; h < 2; ++h) o.gather[h].from[at] = u(4 * v + 2 * h + p);
                o.packed.from[at] = u(16 * (v % 16 / 4) + 8 * (v / 16) + 2 * (v % 4) + p);
                for (unsigned w = 1; w <= 16; ++w) o.spread[w].from[at] = u(4 * std::min(8 * p + 7 - m, w - 1) + g);
            }
    for (unsigned plane = 0; plane < 16; ++plane)
        for (unsigned g = 0; g < 4; ++g) o.planes.from[4 * plane + g] = u(8 * (4 * (plane / 8) + g) + plane % 8);
    for (unsigned v = 0; v < 32; ++v)
        for (unsigned p = 0; p < 4; ++p) {
            o.values[v / 16].from[4 * (v % 16) + p] = u(p / 2 * 64 + p % 2 * 32 + v);
            if (p < 2) o.words.from[2 * v + p] = u(32 * p + v);
        }
    return o;
}
inline constexpr orders order = make_orders();

CCOLL_SZP_INLINE __m512i permuted(const byte_order& o, __m512i v) noexcept { return _mm512_permutexvar_epi8(_mm512_load_si512(&o), v); }
CCOLL_SZP_INLINE __m512i transposed(__m512i v) noexcept
{
    return _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64(static_cast<i64>(0x8040201008040201u)), v, 0);
}
/// The same, leaving the bytes in the order in which transposed() wants them.
CCOLL_SZP_INLINE __m512i transposed_back(__m512i v) noexcept { return _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64(0x0102040810204080), v, 0); }

/// Planes that repeat the sign plane are not stored; which do is a comparison, not a reduction.
CCOLL_SZP_INLINE unsigned width_of(u64 differs, __m512i sign) noexcept
{
    const u64 negative = _mm512_test_epi32_mask(sign, sign) & 1;
    return 64 - static_cast<unsigned>(_lzcnt_u64(differs << 1 | negative));
}
/// Stores 16 planes whatever the width: the next block overwrites what is too much.
CCOLL_SZP_INLINE unsigned put_planes(const differences& d, u8* out) noexcept
{
    const __m512i low = permuted(order.planes, transposed(_mm512_permutex2var_epi8(d.a, _mm512_load_si512(&order.gather[0]), d.b)));
    const __m512i high = permuted(order.planes, transposed(_mm512_permutex2var_epi8(d.a, _mm512_load_si512(&order.gather[1]), d.b)));
    const __m512i sign = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), high);
    const u64 differs = u64{_mm512_cmpneq_epi32_mask(low, sign)} | u64{_mm512_cmpneq_epi32_mask(high, sign)} << 16;
    const unsigned width = width_of(differs, sign);
    _mm512_storeu_si512(out, low);
    if (width > 16) [[unlikely]] _mm512_storeu_si512(out + 64, high);
    return width;
}
CCOLL_SZP_INLINE unsigned put_small(const differences& d, u8* out) noexcept
{
    const __m512i planes = permuted(order.planes, transposed(permuted(order.packed, _mm512_packs_epi32(d.a, d.b))));
    const __m512i sign = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), planes);
    _mm512_storeu_si512(out, planes);
    return width_of(_mm512_cmpneq_epi32_mask(planes, sign), sign);
}
CCOLL_SZP_INLINE __m512i load_planes(const u8* in, unsigned width) noexcept
{
    return _mm512_maskz_loadu_epi32(width > 0 ? __mmask16{0xffff} : __mmask16{0}, in);
}
CCOLL_SZP_INLINE void get_planes(const u8* in, unsigned width, differences& d) noexcept
{
    if (width > 16) [[unlikely]] {
        const __m512i low = transposed(permuted(order.spread[16], _mm512_loadu_si512(in)));
        const __m512i high = transposed(permuted(order.spread[width - 16], _mm512_loadu_si512(in + 64)));
        d.a = _mm512_permutex2var_epi8(low, _mm512_load_si512(&order.values[0]), high);
        d.b = _mm512_permutex2var_epi8(low, _mm512_load_si512(&order.values[1]), high);
        return;
    }
    const __m512i w = permuted(order.words, transposed(permuted(order.spread[width], load_planes(in, width))));
    d.a = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(w));
    d.b = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(w, 1));
}

/// Bytes, or 8 planes, in the lower half of the orders above.
CCOLL_SZP_INLINE __m256i permuted_256(const byte_order& o, __m256i v) noexcept
{
    return _mm256_permutexvar_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(&o)), v);
}
CCOLL_SZP_INLINE __m256i load_8_planes(const u8* in, unsigned width) noexcept { return _mm256_maskz_loadu_epi32(width > 0 ? __mmask8{0xff} : __mmask8{0}, in); }
CCOLL_SZP_INLINE __m256i transposed_256(__m256i v) noexcept
{
    return _mm256_gf2p8affine_epi64_epi8(_mm256_set1_epi64x(static_cast<i64>(0x8040201008040201u)), v, 0);
}
CCOLL_SZP_INLINE __m256i transposed_back_256(__m256i v) noexcept { return _mm256_gf2p8affine_epi64_epi8(_mm256_set1_epi64x(0x0102040810204080), v, 0); }

/// Widths up to 7: sums are bytes. Widths up to 15: sums fit 16 bits. Low bytes stand in the lower half of a register, high bytes in the upper one, so that carries
/// move by 32 lanes.
CCOLL_SZP_INLINE unsigned add_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    if ((wa | wb) <= 7) {
        const __m256i x = transposed_back_256(permuted_256(order.spread[wa], load_8_planes(a, wa)));
        const __m256i y = transposed_back_256(permuted_256(order.spread[wb], load_8_planes(b, wb)));
        const __m256i planes = permuted_256(order.planes, transposed_256(_mm256_add_epi8(x, y)));
        const __m256i sign = _mm256_permutevar8x32_epi32(planes, _mm256_set1_epi32(7));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), planes);
        const u32 negative = _mm256_test_epi32_mask(sign, sign) & 1, differs = _mm256_cmpneq_epi32_mask(planes, sign);
        return 32 - static_cast<unsigned>(_lzcnt_u32(differs << 1 | negative));
    }
    if ((wa | wb) > 15) [[unlikely]] {
        differences x, y;
        get_planes(a, wa, x);
        get_planes(b, wb, y);
        x.a = _mm512_add_epi32(x.a, y.a);
        x.b = _mm512_add_epi32(x.b, y.b);
        return put_planes(x, out);
    }
    const __m512i x = transposed_back(permuted(order.spread[wa], load_planes(a, wa))), y = transposed_back(permuted(order.spread[wb], load_planes(b, wb)));
    __m512i sum = _mm512_add_epi8(x, y);
    const __mmask64 carry = _mm512_cmplt_epu8_mask(sum, x) << 32;
    sum = _mm512_mask_sub_epi8(sum, carry, sum, _mm512_set1_epi8(-1));
    const __m512i planes = permuted(order.planes, transposed(sum)), sign = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), planes);
    _mm512_storeu_si512(out, planes);
    return width_of(_mm512_cmpneq_epi32_mask(planes, sign), sign);
}

/// Widths up to 8: the prefix sum is two dot products of bytes. Four values against a triangle of ones, on top of the running total
/// of groups of four, of which there are only eight.
template <class T>
CCOLL_SZP_INLINE void restore(const u8* in, unsigned width, running& r, T step, T* x) noexcept
{
    quanta q;
    if (width > 8) {
        get_planes(in, width, q);
        scan(q, r);
        dequantise(q, step, x);
        return;
    }
    const __m256i v = transposed_256(permuted_256(order.spread[width], load_8_planes(in, width)));
    const __m256i group = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), v);
    __m256i total = _mm256_add_epi32(group, _mm256_slli_si256(group, 4));
    total = _mm256_add_epi32(total, _mm256_slli_si256(total, 8));
    const __m256i half = _mm256_shuffle_epi32(total, 0xff);
    total = _mm256_add_epi32(total, _mm256_permute2x128_si256(half, half, 0x08));
    const __m512i before = _mm512_castsi256_si512(_mm256_add_epi32(_mm256_sub_epi32(total, group), _mm512_castsi512_si256(r))), bytes = _mm512_castsi256_si512(v);
    const __m512i triangle = _mm512_broadcast_i32x4(_mm_setr_epi32(0x00000001, 0x00000101, 0x00010101, 0x01010101));
    const __m512i first = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3), second = _mm512_setr_epi32(4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7);
    q.a = _mm512_dpbusd_epi32(_mm512_permutexvar_epi32(first, before), triangle, _mm512_permutexvar_epi32(first, bytes));
    q.b = _mm512_dpbusd_epi32(_mm512_permutexvar_epi32(second, before), triangle, _mm512_permutexvar_epi32(second, bytes));
    r = _mm512_add_epi32(r, _mm512_broadcast_i32x8(_mm256_permutevar8x32_epi32(total, _mm256_set1_epi32(7))));
    dequantise(q, step, x);
}

#include <ccoll/codec/szp_loops.inl>

#undef CCOLL_SZP_INLINE
#undef CCOLL_SZP_TARGET

}  // namespace avx512_gfni

}  // namespace ccoll::detail::szp

CCOLL_EXACT_END

#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
