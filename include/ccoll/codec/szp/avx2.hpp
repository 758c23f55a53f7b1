// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/avx2.hpp - floor 2. The kernels of SZp with AVX2. The same bytes as the portable ones.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>

#include <ccoll/codec/lines/avx2.hpp>
#include <ccoll/codec/szp/blocks.hpp>
#include <ccoll/codec/szp/few_planes.hpp>
#include <ccoll/codec/szp/portable.hpp>
#include <ccoll/codec/szp/x86.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// The values of a block.
struct values_256 {
    __m256i v[4];
};

namespace avx2 {

using quanta = values_256;
using differences = values_256;
using running = __m256i;  // the last quantum in all words, or (while encoding) in the first one
template <class T>
struct magnitudes;
template <>
struct magnitudes<float> {
    __m256i most;
};
template <>
struct magnitudes<double> {
    __m256d most;  // as floats, because AVX2 cannot compare unsigned 64-bit integers; a NaN stays one
};

CCOLL_INLINE __m256i load_256(const void* p) noexcept { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
CCOLL_INLINE __m256i repeat_256(u32 v) noexcept { return _mm256_set1_epi32(static_cast<int>(v)); }
CCOLL_INLINE __m256i repeat_256(u64 v) noexcept { return _mm256_set1_epi64x(static_cast<i64>(v)); }
CCOLL_INLINE __m256i word_numbers() noexcept { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }

/// 8x8 bit transposes, one in each 64 bits.
CCOLL_INLINE __m256i transposed_256(__m256i v) noexcept
{
    const equal_words& w = equal();
    __m256i t = _mm256_and_si256(_mm256_xor_si256(v, _mm256_srli_epi64(v, 7)), repeat_256(w.swapped[0]));
    v = _mm256_xor_si256(_mm256_xor_si256(v, t), _mm256_slli_epi64(t, 7));
    t = _mm256_and_si256(_mm256_xor_si256(v, _mm256_srli_epi64(v, 14)), repeat_256(w.swapped[1]));
    v = _mm256_xor_si256(_mm256_xor_si256(v, t), _mm256_slli_epi64(t, 14));
    t = _mm256_and_si256(_mm256_xor_si256(v, _mm256_srli_epi64(v, 28)), repeat_256(w.swapped[2]));
    return _mm256_xor_si256(_mm256_xor_si256(v, t), _mm256_slli_epi64(t, 28));
}
/// The bytes of four words, transposed.
CCOLL_INLINE __m256i turned_4x4(__m256i v) noexcept
{
    return _mm256_shuffle_epi8(
        v, _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
}

/// 8 planes, of which those from `width` on repeat the sign, to 32 bytes in the order of the values: bytes of one group of 8 values
/// together, then transposed.
CCOLL_INLINE __m256i get_8_planes(const u8* in, unsigned width) noexcept
{
    const __m256i planes = _mm256_permutevar8x32_epi32(load_256(in), load_256(kept_planes.of[std::min(width, 8u)]));
    return transposed_256(_mm256_permutevar8x32_epi32(turned_4x4(planes), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}

/// The sign plane, in all words.
CCOLL_INLINE __m256i sign_of(__m256i planes) noexcept { return _mm256_permutevar8x32_epi32(planes, repeat_256(equal().seven)); }
/// Bit k: plane k differs from the sign plane; bit 7: that is not 0.
CCOLL_INLINE u8 other_than_sign(__m256i planes) noexcept
{
    const __m256i same = _mm256_cmpeq_epi32(planes, _mm256_blend_epi32(sign_of(planes), _mm256_setzero_si256(), 0x80));
    return static_cast<u8>(~_mm256_movemask_ps(_mm256_castsi256_ps(same)));
}

/// Plane k gets plane k - By; zeros come in.
template <int By>
CCOLL_INLINE __m256i planes_up(__m256i v) noexcept
{
    if constexpr (By == 4) return _mm256_permute2x128_si256(v, v, 0x08);
    else if constexpr (By == 2) return _mm256_blend_epi32(_mm256_permute4x64_epi64(v, 0x90), _mm256_setzero_si256(), 0x03);
    else return _mm256_blend_epi32(_mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6)), _mm256_setzero_si256(), 0x01);
}
/// Planes at .. at + 7; beyond the width, the sign.
CCOLL_INLINE __m256i planes_from(const u8* in, unsigned width, unsigned at) noexcept
{
    if (at >= width) return repeat_256(get<u32>(in + 4 * (width - 1)));
    return _mm256_permutevar8x32_epi32(load_256(in + 4 * at), _mm256_min_epu32(word_numbers(), repeat_256(width - 1 - at)));
}
/// Planes of the sum, 8 at once: carries run over the planes in three steps (Kogge-Stone).
/// @param carry  all values' carry into the first plane, and then out of the last one; looked at if Chained
template <bool Chained>
CCOLL_INLINE __m256i add_8_planes(__m256i a, __m256i b, u32& carry) noexcept
{
    const __m256i differ = _mm256_xor_si256(a, b), below_1 = _mm256_setr_epi32(-1, 0, 0, 0, 0, 0, 0, 0),
                  below_2 = _mm256_setr_epi32(-1, -1, 0, 0, 0, 0, 0, 0);
    __m256i makes = _mm256_and_si256(a, b), passes = differ;
    makes = _mm256_or_si256(makes, _mm256_and_si256(passes, planes_up<1>(makes)));
    passes = _mm256_and_si256(passes, Chained ? _mm256_or_si256(planes_up<1>(passes), below_1) : planes_up<1>(passes));
    makes = _mm256_or_si256(makes, _mm256_and_si256(passes, planes_up<2>(makes)));
    passes = _mm256_and_si256(passes, Chained ? _mm256_or_si256(planes_up<2>(passes), below_2) : planes_up<2>(passes));
    makes = _mm256_or_si256(makes, _mm256_and_si256(passes, planes_up<4>(makes)));
    if constexpr (!Chained) return _mm256_xor_si256(differ, planes_up<1>(makes));
    passes = _mm256_and_si256(passes, _mm256_or_si256(planes_up<4>(passes), _mm256_setr_epi32(-1, -1, -1, -1, 0, 0, 0, 0)));
    makes = _mm256_or_si256(makes, _mm256_and_si256(passes, repeat_256(carry)));
    const __m256i into = _mm256_or_si256(planes_up<1>(makes), _mm256_and_si256(repeat_256(carry), below_1));
    carry = static_cast<u32>(_mm256_extract_epi32(makes, 7));
    return _mm256_xor_si256(differ, into);
}
CCOLL_INLINE unsigned add_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    if (wa == 0 || wb == 0) {
        const unsigned width = wa | wb;
        const u8* const from = wa == 0 ? b : a;
        for (unsigned at = 0; at < width; at += 16) {
            const __m256i low = load_256(from + 4 * at), high = load_256(from + 4 * at + 32);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 4 * at), low);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 4 * at + 32), high);
        }
        return width;
    }
    u32 carry = 0;
    if ((wa | wb) <= 7) [[likely]] {
        const __m256i sum = add_8_planes<false>(planes_from(a, wa, 0), planes_from(b, wb, 0), carry);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), sum);
        return width_of(other_than_sign(sum));
    }
    unsigned width = std::min(std::max(wa, wb) + 1, widest_narrow);
    for (unsigned at = 0; at < width; at += 8)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 4 * at),
                            add_8_planes<true>(planes_from(a, wa, at), planes_from(b, wb, at), carry));
    const u32 sign = get<u32>(out + 4 * (width - 1));
    while (width > 0 && get<u32>(out + 4 * (width - 1)) == sign) --width;
    return width > 0 || sign != 0 ? width + 1 : 0;
}

inline constexpr bool streams = false;  // putting lines together takes longer than fetching them: f32 is a sixth slower
template <class T>
struct lines_of;

CCOLL_INLINE __m256i halves(__m128i low, __m128i high) noexcept { return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1); }

CCOLL_INLINE void start(running& r, i32 base) noexcept { r = _mm256_set1_epi32(base); }
CCOLL_INLINE i32 last_of(running r) noexcept { return _mm256_extract_epi32(r, 0); }

CCOLL_INLINE void clear(magnitudes<float>& m) noexcept { m.most = _mm256_setzero_si256(); }
CCOLL_INLINE void clear(magnitudes<double>& m) noexcept { m.most = _mm256_setzero_pd(); }
CCOLL_INLINE void merge(magnitudes<float>& into, const magnitudes<float>& m) noexcept { into.most = _mm256_max_epu32(into.most, m.most); }
CCOLL_INLINE void merge(magnitudes<double>& into, const magnitudes<double>& m) noexcept { into.most = _mm256_max_pd(into.most, m.most); }
CCOLL_INLINE u32 top(const magnitudes<float>& m) noexcept
{
    u32 each[8], most = 0;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(each), m.most);
    for (const u32 v : each) most = v > most ? v : most;
    return most;
}
CCOLL_INLINE u64 top(const magnitudes<double>& m) noexcept
{
    u64 each[4], most = 0;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(each), _mm256_castpd_si256(m.most));
    for (const u64 v : each) most = v > most ? v : most;
    return most;
}
CCOLL_INLINE bool over(const magnitudes<float>& m, u32 limit) noexcept
{
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(m.most, repeat_256(limit - 1))) != 0;
}
CCOLL_INLINE bool over(const magnitudes<double>& m, u64 limit) noexcept
{
    return _mm256_movemask_pd(_mm256_cmp_pd(m.most, _mm256_set1_pd(std::bit_cast<double>(limit)), _CMP_NLT_UQ)) != 0;
}
CCOLL_INLINE void largest_of(const float* x, magnitudes<float>& m) noexcept
{
    const __m256i low = repeat_256(0x7fffffffu);
    m.most = _mm256_max_epu32(_mm256_max_epu32(_mm256_and_si256(load_256(x), low), _mm256_and_si256(load_256(x + 8), low)),
                              _mm256_max_epu32(_mm256_and_si256(load_256(x + 16), low), _mm256_and_si256(load_256(x + 24), low)));
}

CCOLL_INLINE void largest_of(const double* x, magnitudes<double>& m) noexcept
{
    const __m256d low = _mm256_castsi256_pd(_mm256_set1_epi64x(0x7fffffffffffffff));
    m.most = _mm256_setzero_pd();
    for (int i = 0; i < 32; i += 4) {
        const __m256d magnitude = _mm256_and_pd(_mm256_loadu_pd(x + i), low);
        m.most = _mm256_or_pd(_mm256_max_pd(magnitude, m.most), _mm256_cmp_pd(magnitude, magnitude, _CMP_UNORD_Q));
    }
}

template <class T>
struct look_ahead {
    CCOLL_INLINE void quantise(const float*, std::size_t, std::size_t, const float* x, const quantiser<float>& z, quanta& q,
                               magnitudes<float>& m) const noexcept
    {
        const __m256 inverse = _mm256_set1_ps(z.inverse);
        for (int i = 0; i < 4; ++i) q.v[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), inverse));
        largest_of(x, m);
    }
    CCOLL_INLINE void quantise(const double*, std::size_t, std::size_t, const double* x, const quantiser<double>& z, quanta& q,
                               magnitudes<double>& m) const noexcept
    {
        const __m256d inverse = _mm256_set1_pd(z.inverse);
        const __m256d low = _mm256_castsi256_pd(_mm256_set1_epi64x(0x7fffffffffffffff));
        m.most = _mm256_setzero_pd();
        for (int i = 0; i < 4; ++i) {
            __m128i half[2];
            for (int h = 0; h < 2; ++h) {
                const __m256d v = _mm256_loadu_pd(x + 8 * i + 4 * h), magnitude = _mm256_and_pd(v, low);
                // max() forgets a NaN, so keep it in a mask.
                m.most = _mm256_or_pd(_mm256_max_pd(magnitude, m.most), _mm256_cmp_pd(magnitude, magnitude, _CMP_UNORD_Q));
                half[h] = _mm256_cvtpd_epi32(_mm256_mul_pd(v, inverse));
            }
            q.v[i] = halves(half[0], half[1]);
        }
    }
};

CCOLL_INLINE void quantise_f64(const float* x, double inverse, quanta& q) noexcept
{
    const __m256d by = _mm256_set1_pd(inverse);
    for (int i = 0; i < 4; ++i) {
        const __m128i a = _mm256_cvtpd_epi32(_mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x + 8 * i)), by));
        const __m128i b = _mm256_cvtpd_epi32(_mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x + 8 * i + 4)), by));
        q.v[i] = halves(a, b);
    }
}
CCOLL_INLINE void replace_from(const float* x, u32 limit, const quanta& with, quanta& q) noexcept
{
    for (int i = 0; i < 4; ++i) {
        const __m256i large = _mm256_cmpgt_epi32(_mm256_and_si256(load_256(x + 8 * i), repeat_256(0x7fffffffu)), repeat_256(limit - 1));
        q.v[i] = _mm256_blendv_epi8(q.v[i], with.v[i], large);
    }
}
CCOLL_INLINE void load(const i32* values, quanta& q) noexcept
{
    for (int i = 0; i < 4; ++i) q.v[i] = load_256(values + 8 * i);
}
CCOLL_INLINE void store(const quanta& q, i32* values) noexcept { std::memcpy(values, q.v, sizeof q.v); }
#include <ccoll/codec/szp/hold.inl>

CCOLL_INLINE void difference(const quanta& q, running& r, differences& d) noexcept
{
    const __m256i up = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    for (int i = 0; i < 4; ++i) {
        const __m256i turned = _mm256_permutevar8x32_epi32(q.v[i], up);
        d.v[i] = _mm256_sub_epi32(q.v[i], _mm256_blend_epi32(turned, r, 1));
        r = turned;
    }
}

CCOLL_INLINE void alone(const quanta& q, differences& d) noexcept { d = q; }
CCOLL_INLINE u32 sum_of_magnitudes(const differences& d) noexcept
{
    __m256i sum = _mm256_abs_epi32(d.v[0]);
    for (int i = 1; i < 4; ++i) sum = _mm256_add_epi32(sum, _mm256_abs_epi32(d.v[i]));
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    return static_cast<u32>(_mm_cvtsi128_si32(s));
}

/// Packing interleaves the halves of registers; this restores the order of 32 bytes.
CCOLL_INLINE __m256i unpacked_order(__m256i v) noexcept
{
    return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/// 8 planes of 32 bytes as they are packed. All 8 are stored, because a branch that leaves some out costs more.
CCOLL_INLINE void put_8_planes(__m256i packed, u8* out) noexcept
{
    __m256i bytes = unpacked_order(packed);
    for (int k = 7; k >= 0; --k) {
        put(out + 4 * k, static_cast<u32>(_mm256_movemask_epi8(bytes)));
        bytes = _mm256_add_epi8(bytes, bytes);
    }
}
CCOLL_INLINE void put_16_planes(__m256i a, __m256i b, u8* out) noexcept
{
    const __m256i low_byte = repeat_256(equal().low_bytes);
    put_8_planes(_mm256_packus_epi16(_mm256_and_si256(a, low_byte), _mm256_and_si256(b, low_byte)), out);
    put_8_planes(_mm256_packs_epi16(_mm256_srai_epi16(a, 8), _mm256_srai_epi16(b, 8)), out + 32);
}
/// Planes 0 to 15, and 16 to 31.
CCOLL_INLINE void put_low_planes(const differences& d, u8* out) noexcept
{
    const __m256i low_word = repeat_256(equal().low_words);
    put_16_planes(_mm256_packus_epi32(_mm256_and_si256(d.v[0], low_word), _mm256_and_si256(d.v[1], low_word)),
                  _mm256_packus_epi32(_mm256_and_si256(d.v[2], low_word), _mm256_and_si256(d.v[3], low_word)), out);
}
CCOLL_INLINE void put_high_planes(const differences& d, u8* out) noexcept
{
    put_16_planes(_mm256_packs_epi32(_mm256_srai_epi32(d.v[0], 16), _mm256_srai_epi32(d.v[1], 16)),
                  _mm256_packs_epi32(_mm256_srai_epi32(d.v[2], 16), _mm256_srai_epi32(d.v[3], 16)), out + 64);
}
CCOLL_INLINE unsigned put_planes(const differences& d, u8* out) noexcept
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
    put_low_planes(d, out);
    if (width > 16) put_high_planes(d, out);
    return width;
}
/// Maps 0, -1, 1, -2, 2 to 0, 1, 2, 3, 4, which have as many bits as there are planes.
CCOLL_INLINE __m256i zigzag(__m256i words) noexcept
{
    return _mm256_xor_si256(_mm256_add_epi16(words, words), _mm256_srai_epi16(words, 15));
}
/// The same for differences of 16 bits.
CCOLL_INLINE unsigned put_small(const differences& d, u8* out) noexcept
{
    const __m256i a = _mm256_packs_epi32(d.v[0], d.v[1]), b = _mm256_packs_epi32(d.v[2], d.v[3]);
    const __m256i numbers = _mm256_or_si256(zigzag(a), zigzag(b)), ones = _mm256_cmpeq_epi8(a, a);
    const __m128i any = _mm_or_si128(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
    const __m128i least = _mm_minpos_epu16(_mm_xor_si128(any, _mm256_castsi256_si128(ones)));  // of the complements
    const unsigned width = 32 - _lzcnt_u32(~static_cast<u32>(_mm_cvtsi128_si32(least)) & 0xffff);
    if (width == 0) return 0;
    if (width <= 8) put_8_planes(_mm256_packs_epi16(a, b), out);
    else put_16_planes(a, b, out);
    return width;
}

CCOLL_INLINE unsigned put_planes(const differences& d, bool brief, u8* out) noexcept
{
    return brief ? put_small(d, out) : put_planes(d, out);
}

/// Up to 16 planes.
CCOLL_INLINE void get_16_planes(const u8* in, unsigned width, differences& d) noexcept
{
    const __m256i low = get_8_planes(in, width),
                  high = width > 8 ? get_8_planes(in + 32, width - 8) : _mm256_cmpgt_epi8(_mm256_setzero_si256(), low);
    const __m256i a = _mm256_unpacklo_epi8(low, high), b = _mm256_unpackhi_epi8(low, high);
    d.v[0] = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(a));
    d.v[1] = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(b));
    d.v[2] = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(a, 1));
    d.v[3] = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(b, 1));
}
/// @param width  1..32
CCOLL_INLINE void get_planes(const u8* in, unsigned width, differences& d) noexcept
{
    get_16_planes(in, std::min(width, 16u), d);
    if (width <= 16) return;
    differences high;
    get_16_planes(in + 64, width - 16, high);
    for (int i = 0; i < 4; ++i) d.v[i] = _mm256_blend_epi16(d.v[i], _mm256_slli_epi32(high.v[i], 16), 0xaa);
}
template <class To>
CCOLL_INLINE void dequantise(const quanta& q, float step, To& to) noexcept
{
    const __m256 by = _mm256_set1_ps(step);
    for (std::size_t i = 0; i < 4; ++i) write(to, 8 * i, _mm256_mul_ps(_mm256_cvtepi32_ps(q.v[i]), by));
}
template <class To>
CCOLL_INLINE void dequantise(const quanta& q, double step, To& to) noexcept
{
    const __m256d by = _mm256_set1_pd(step);
    for (std::size_t i = 0; i < 4; ++i) {
        write(to, 8 * i, _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(q.v[i])), by));
        write(to, 8 * i + 4, _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_extracti128_si256(q.v[i], 1)), by));
    }
}

/// Prefix sum of 32 differences on top of `r`.
CCOLL_INLINE void scan(differences& d, running& r) noexcept
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

/// Running sums in the two groups of four values that `Which` selects.
template <int Which>
CCOLL_INLINE __m256i sums_of_8(__m256i before, __m256i triangle, __m256i bytes, __m256i one_word) noexcept
{
    const __m256i products = _mm256_maddubs_epi16(triangle, _mm256_shuffle_epi32(bytes, Which));
    return _mm256_add_epi32(_mm256_shuffle_epi32(before, Which), _mm256_madd_epi16(products, one_word));
}
/// The same for bytes, by dot products: four values against a triangle of ones, on top of the running total of groups of four, of
/// which there are only eight.
CCOLL_INLINE void scan_bytes(__m256i bytes, quanta& q, running& r) noexcept
{
    const __m256i one_byte = repeat_256(equal().one_bytes), one_word = repeat_256(equal().one_words);
    const __m256i group = _mm256_madd_epi16(_mm256_maddubs_epi16(one_byte, bytes), one_word);
    __m256i total = _mm256_add_epi32(group, _mm256_slli_si256(group, 4));
    total = _mm256_add_epi32(total, _mm256_slli_si256(total, 8));
    const __m256i quarter = _mm256_shuffle_epi32(total, 0xff);
    total = _mm256_add_epi32(total, _mm256_permute2x128_si256(quarter, quarter, 0x08));
    const __m256i triangle =
        _mm256_setr_epi32(0x00000001, 0x00000101, 0x00010101, 0x01010101, 0x00000001, 0x00000101, 0x00010101, 0x01010101);
    const __m256i apart = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);  // groups 0, 2, 4, 6 to the low half, the others to the high one
    const __m256i before = _mm256_permutevar8x32_epi32(_mm256_add_epi32(_mm256_sub_epi32(total, group), r), apart);
    const __m256i own = _mm256_permutevar8x32_epi32(bytes, apart);
    q.v[0] = sums_of_8<0x00>(before, triangle, own, one_word);
    q.v[1] = sums_of_8<0x55>(before, triangle, own, one_word);
    q.v[2] = sums_of_8<0xaa>(before, triangle, own, one_word);
    q.v[3] = sums_of_8<0xff>(before, triangle, own, one_word);
    r = _mm256_add_epi32(r, _mm256_permutevar8x32_epi32(total, repeat_256(equal().seven)));
}

CCOLL_INLINE void repeat(running r, quanta& q) noexcept { q = {{r, r, r, r}}; }
#include <ccoll/codec/szp/avx2_fill.inl>
#include <ccoll/codec/szp/restore.inl>
namespace by_mask = specials::avx2;
#include <ccoll/codec/szp/loops.inl>
#include <ccoll/codec/szp/quanta64_avx2.inl>
#include <ccoll/codec/szp/alone.inl>
#include <ccoll/codec/szp/survey.inl>
inline constexpr bool takes_out = true;
#include <ccoll/codec/szp/encode.inl>

#include <ccoll/codec/szp/avx2_lists.inl>
#include <ccoll/codec/szp/lists.inl>
using portable::decode_lists;

}  // namespace avx2

}  // namespace ccoll::detail::szp

#include <ccoll/base/kernels_end.inl>

#endif
