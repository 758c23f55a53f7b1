// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp_x86.hpp - floor 2. The kernels of SZp with AVX2 and AVX-512, behind function targets: what the user's -march says does
// not matter. The same bytes as the portable ones.
#pragma once

#include <immintrin.h>

#include <array>

#include <ccoll/codec/lines/avx2.hpp>
#include <ccoll/codec/lines/avx512.hpp>
#include <ccoll/codec/szp_portable.hpp>

// g++ 12 warns about its own AVX-512 headers.
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

CCOLL_EXACT_BEGIN  // AVX-512 implies FMA, and g++ contracts even intrinsics

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// A table of constants as g++ has to read it: from memory. What it knows, it makes of immediates, again in every block, by
/// instructions that compete with the permutations for their only port.
template <class Table>
__attribute__((always_inline)) inline const Table& in_memory(const Table& table) noexcept
{
    const Table* there = &table;
#if !defined(__clang__)
    __asm__("" : "+r"(there));
#endif
    return *there;
}

/// Words of which registers are filled.
struct equal_words {
    u64 swapped[3] = {0x00AA00AA00AA00AA, 0x0000CCCC0000CCCC, 0x00000000F0F0F0F0};  ///< by the steps of an 8x8 bit transpose
    u32 low_words = 0x0000ffff, low_bytes = 0x00ff00ff;
    u32 one_bytes = 0x01010101, one_words = 0x00010001;
    u32 seven = 7, fifteen = 15;
};
inline constexpr equal_words equal_words_table;
__attribute__((always_inline)) inline const equal_words& equal() noexcept { return in_memory(equal_words_table); }

/// [w] where 8 planes come from, if those from w on repeat the sign.
struct alignas(32) plane_numbers {
    u32 of[9][8];
};
constexpr plane_numbers make_plane_numbers()
{
    plane_numbers n{};
    for (unsigned w = 1; w <= 8; ++w)
        for (unsigned k = 0; k < 8; ++k) n.of[w][k] = std::min(k, w - 1);
    return n;
}
inline constexpr plane_numbers kept_planes = make_plane_numbers();

/// Planes that repeat the sign plane are not stored. Which do is a comparison of planes, not a reduction over values.
/// @param mask  bit k: plane k differs from the sign plane; the highest bit, that of the sign plane itself: it is not 0.
template <class Mask>
__attribute__((target("lzcnt"), always_inline)) inline unsigned width_of(Mask mask) noexcept
{
    return 32 - static_cast<unsigned>(_lzcnt_u32(std::rotl(mask, 1)));
}

// ---- AVX2 ----------------------------------------------------------------------------------------------------------------------------
namespace avx2 {

#define CCOLL_SZP_TARGET __attribute__((target("avx2,lzcnt,bmi,bmi2")))
#define CCOLL_SZP_INLINE CCOLL_SZP_TARGET inline __attribute__((always_inline))

struct lanes {
    __m256i v[4];
};
using quanta = lanes;
using differences = lanes;
using running = __m256i;  // the last quantum in all lanes, or (while encoding) in the first one
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

inline constexpr bool streams = false;  // the lines take longer to put together than memory to fetch them: f32 a sixth slower
template <class T>
struct lines_of;

CCOLL_SZP_INLINE __m256i halves(__m128i low, __m128i high) noexcept { return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1); }

CCOLL_SZP_INLINE void start(running& r, i32 base) noexcept { r = _mm256_set1_epi32(base); }
CCOLL_SZP_INLINE i32 last_of(running r) noexcept { return _mm256_extract_epi32(r, 0); }

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
    for (int i = 0; i < 4; ++i) {
        const __m256i turned = _mm256_permutevar8x32_epi32(q.v[i], up);
        d.v[i] = _mm256_sub_epi32(q.v[i], _mm256_blend_epi32(turned, r, 1));
        r = turned;
    }
}

CCOLL_SZP_INLINE void alone(const quanta& q, differences& d) noexcept { d = q; }
CCOLL_SZP_INLINE u32 sum_of_magnitudes(const differences& d) noexcept
{
    __m256i sum = _mm256_abs_epi32(d.v[0]);
    for (int i = 1; i < 4; ++i) sum = _mm256_add_epi32(sum, _mm256_abs_epi32(d.v[i]));
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    return static_cast<u32>(_mm_cvtsi128_si32(s));
}

/// Packing interleaves the halves of registers; this restores the order of 32 bytes.
CCOLL_SZP_INLINE __m256i in_order(__m256i v) noexcept { return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)); }

/// 8 planes of 32 bytes as they are packed. All of them: to leave out the ones that are not stored takes a branch, which costs more.
CCOLL_SZP_INLINE void put_8_planes(__m256i packed, u8* out) noexcept
{
    __m256i bytes = in_order(packed);
    for (int k = 7; k >= 0; --k) {
        put(out + 4 * k, static_cast<u32>(_mm256_movemask_epi8(bytes)));
        bytes = _mm256_add_epi8(bytes, bytes);
    }
}
CCOLL_SZP_INLINE void put_16_planes(__m256i a, __m256i b, u8* out) noexcept
{
    const __m256i low_byte = repeat_256(equal().low_bytes);
    put_8_planes(_mm256_packus_epi16(_mm256_and_si256(a, low_byte), _mm256_and_si256(b, low_byte)), out);
    put_8_planes(_mm256_packs_epi16(_mm256_srai_epi16(a, 8), _mm256_srai_epi16(b, 8)), out + 32);
}
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
    const __m256i low_word = repeat_256(equal().low_words);
    put_16_planes(_mm256_packus_epi32(_mm256_and_si256(d.v[0], low_word), _mm256_and_si256(d.v[1], low_word)),
                  _mm256_packus_epi32(_mm256_and_si256(d.v[2], low_word), _mm256_and_si256(d.v[3], low_word)), out);
    if (width > 16)
        put_16_planes(_mm256_packs_epi32(_mm256_srai_epi32(d.v[0], 16), _mm256_srai_epi32(d.v[1], 16)),
                      _mm256_packs_epi32(_mm256_srai_epi32(d.v[2], 16), _mm256_srai_epi32(d.v[3], 16)), out + 64);
    return width;
}
/// 0, -1, 1, -2, 2 as 0, 1, 2, 3, 4: of as many bits as their planes.
CCOLL_SZP_INLINE __m256i zigzag(__m256i words) noexcept { return _mm256_xor_si256(_mm256_add_epi16(words, words), _mm256_srai_epi16(words, 15)); }
/// The same for differences of 16 bits.
CCOLL_SZP_INLINE unsigned put_small(const differences& d, u8* out) noexcept
{
    const __m256i a = _mm256_packs_epi32(d.v[0], d.v[1]), b = _mm256_packs_epi32(d.v[2], d.v[3]);
    const __m256i numbers = _mm256_or_si256(zigzag(a), zigzag(b)), ones = _mm256_cmpeq_epi8(a, a);
    const __m128i any = _mm_or_si128(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
    const __m128i least = _mm_minpos_epu16(_mm_xor_si128(any, _mm256_castsi256_si128(ones)));  // of the complements
    const unsigned width = 32 - static_cast<unsigned>(_lzcnt_u32(~static_cast<u32>(_mm_cvtsi128_si32(least)) & 0xffff));
    if (width == 0) return 0;
    if (width <= 8) put_8_planes(_mm256_packs_epi16(a, b), out);
    else put_16_planes(a, b, out);
    return width;
}

CCOLL_SZP_INLINE unsigned put_planes(const differences& d, bool brief, u8* out) noexcept { return brief ? put_small(d, out) : put_planes(d, out); }

/// Up to 16 planes.
CCOLL_SZP_INLINE void get_16_planes(const u8* in, unsigned width, differences& d) noexcept
{
    const __m256i low = get_8_planes(in, width), high = width > 8 ? get_8_planes(in + 32, width - 8) : _mm256_cmpgt_epi8(_mm256_setzero_si256(), low);
    const __m256i a = _mm256_unpacklo_epi8(low, high), b = _mm256_unpackhi_epi8(low, high);
    d.v[0] = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(a));
    d.v[1] = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(b));
    d.v[2] = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(a, 1));
    d.v[3] = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(b, 1));
}
/// @param width  1..32
CCOLL_SZP_INLINE void get_planes(const u8* in, unsigned width, differences& d) noexcept
{
    get_16_planes(in, std::min(width, 16u), d);
    if (width <= 16) return;
    differences high;
    get_16_planes(in + 64, width - 16, high);
    for (int i = 0; i < 4; ++i) d.v[i] = _mm256_blend_epi16(d.v[i], _mm256_slli_epi32(high.v[i], 16), 0xaa);
}
template <class To>
CCOLL_SZP_INLINE void dequantise(const quanta& q, float step, To& to) noexcept
{
    const __m256 by = _mm256_set1_ps(step);
    for (std::size_t i = 0; i < 4; ++i) write(to, 8 * i, _mm256_mul_ps(_mm256_cvtepi32_ps(q.v[i]), by));
}
template <class To>
CCOLL_SZP_INLINE void dequantise(const quanta& q, double step, To& to) noexcept
{
    const __m256d by = _mm256_set1_pd(step);
    for (std::size_t i = 0; i < 4; ++i) {
        write(to, 8 * i, _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(q.v[i])), by));
        write(to, 8 * i + 4, _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_extracti128_si256(q.v[i], 1)), by));
    }
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

/// Running sums in the two groups of four values that `Which` selects.
template <int Which>
CCOLL_SZP_INLINE __m256i sums_of_8(__m256i before, __m256i triangle, __m256i bytes, __m256i one_word) noexcept
{
    const __m256i products = _mm256_maddubs_epi16(triangle, _mm256_shuffle_epi32(bytes, Which));
    return _mm256_add_epi32(_mm256_shuffle_epi32(before, Which), _mm256_madd_epi16(products, one_word));
}
/// The same for bytes, by dot products: four values against a triangle of ones, on top of the running total of groups of four, of
/// which there are only eight.
CCOLL_SZP_INLINE void scan_bytes(__m256i bytes, quanta& q, running& r) noexcept
{
    const __m256i one_byte = repeat_256(equal().one_bytes), one_word = repeat_256(equal().one_words);
    const __m256i group = _mm256_madd_epi16(_mm256_maddubs_epi16(one_byte, bytes), one_word);
    __m256i total = _mm256_add_epi32(group, _mm256_slli_si256(group, 4));
    total = _mm256_add_epi32(total, _mm256_slli_si256(total, 8));
    const __m256i quarter = _mm256_shuffle_epi32(total, 0xff);
    total = _mm256_add_epi32(total, _mm256_permute2x128_si256(quarter, quarter, 0x08));
    const __m256i triangle = _mm256_setr_epi32(0x00000001, 0x00000101, 0x00010101, 0x01010101, 0x00000001, 0x00000101, 0x00010101, 0x01010101);
    const __m256i apart = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);  // groups 0, 2, 4, 6 to the low half, the others to the high one
    const __m256i before = _mm256_permutevar8x32_epi32(_mm256_add_epi32(_mm256_sub_epi32(total, group), r), apart);
    const __m256i own = _mm256_permutevar8x32_epi32(bytes, apart);
    q.v[0] = sums_of_8<0x00>(before, triangle, own, one_word);
    q.v[1] = sums_of_8<0x55>(before, triangle, own, one_word);
    q.v[2] = sums_of_8<0xaa>(before, triangle, own, one_word);
    q.v[3] = sums_of_8<0xff>(before, triangle, own, one_word);
    r = _mm256_add_epi32(r, _mm256_permutevar8x32_epi32(total, repeat_256(equal().seven)));
}

CCOLL_SZP_INLINE void repeat(running r, quanta& q) noexcept
{
    for (int i = 0; i < 4; ++i) q.v[i] = r;
}
#include <ccoll/codec/szp_restore.inl>
#include <ccoll/codec/szp_loops.inl>
#include <ccoll/codec/szp_survey.inl>

#undef CCOLL_SZP_INLINE
#undef CCOLL_SZP_TARGET

}  // namespace avx2

// ---- AVX-512 F, BW, DQ, VL: Skylake-X ---------------------------------------------------------------------------------------------------
namespace avx512 {

#define CCOLL_SZP_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,lzcnt,bmi,bmi2")))
#define CCOLL_SZP_INLINE CCOLL_SZP_TARGET inline __attribute__((always_inline))

#include <ccoll/codec/szp_256.inl>
#include <ccoll/codec/szp_avx512.inl>

/// 8x8 bit transposes, one in each lane of 64 bits.
CCOLL_SZP_INLINE __m512i transposed(__m512i v) noexcept
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
CCOLL_SZP_INLINE __m512i in_each_128(__m128i order, __m512i v) noexcept { return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(order)); }
/// The bytes of four words, transposed.
CCOLL_SZP_INLINE __m512i turned_4x4(__m512i v) noexcept { return in_each_128(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), v); }

CCOLL_SZP_INLINE __m512i planes_of(__m512i words) noexcept
{
    const __m512i bytes = in_each_128(_mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15), words);
    const __m512i lanes = transposed(_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes));
    return turned_4x4(_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15), lanes));
}
CCOLL_SZP_INLINE __m512i words_of(const u8* in, unsigned width) noexcept
{
    const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i planes = _mm512_permutexvar_epi32(_mm512_min_epu32(numbers, all_32(width - 1)), _mm512_loadu_si512(in));
    const __m512i bytes = transposed(_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15), turned_4x4(planes)));
    return in_each_128(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15),
                       _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15), bytes));
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

CCOLL_SZP_INLINE void repeat(running r, quanta& q) noexcept { q.a = q.b = r; }
#include <ccoll/codec/szp_restore.inl>
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
    byte_order ordered;     ///< 16-bit values -> lanes
    byte_order packed;      ///< the same, as two registers are packed
    byte_order planes;      ///< lanes -> planes
    byte_order spread[17];  ///< [w] planes -> lanes; those from w on repeat the sign
    byte_order words;       ///< lanes -> 16-bit values
    byte_order sign;        ///< lanes -> plane 7, in all words
    byte_order not_last;    ///< all bits but those of word 7
    byte_order ones;        ///< in all bytes
    byte_order triangle;    ///< ones in 1, 2, 3 and 4 bytes of four words
    byte_order fours[2];    ///< words 0..3 and 4..7, each in four words
    byte_order before[2];   ///< the word before that; the first four are not looked at
    byte_order last[2];     ///< word 3, word 7, in all words
    u64 transpose[17], transpose_back[17];  ///< [w] the operand of the transposition; 0 for w = 0, so that zeros come out
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
                o.ordered.from[at] = u(2 * v + p);
                o.packed.from[at] = u(16 * (v % 16 / 4) + 8 * (v / 16) + 2 * (v % 4) + p);
                for (unsigned w = 1; w <= 16; ++w) o.spread[w].from[at] = u(4 * std::min(8 * p + 7 - m, w - 1) + g);
            }
    for (unsigned plane = 0; plane < 16; ++plane)
        for (unsigned g = 0; g < 4; ++g) {
            o.planes.from[4 * plane + g] = u(8 * (4 * (plane / 8) + g) + plane % 8);
            o.sign.from[4 * plane + g] = u(8 * g + 7);
            o.not_last.from[4 * plane + g] = plane == 7 ? 0 : 255;
        }
    for (unsigned v = 0; v < 32; ++v)
        for (unsigned p = 0; p < 2; ++p) o.words.from[2 * v + p] = u(32 * p + v);
    for (unsigned k = 0; k < 16; ++k) {
        for (unsigned p = 0; p < 4; ++p) {
            o.ones.from[4 * k + p] = 1;
            o.triangle.from[4 * k + p] = p <= k % 4;
        }
        for (unsigned h = 0; h < 2; ++h) {
            o.fours[h].from[4 * k] = u(4 * h + k / 4);
            o.before[h].from[4 * k] = u(k < 4 ? 0 : 4 * h + k / 4 - 1);
            o.last[h].from[4 * k] = u(4 * h + 3);
        }
    }
    for (unsigned w = 1; w <= 16; ++w) {
        o.transpose[w] = 0x8040201008040201u;
        o.transpose_back[w] = 0x0102040810204080u;
    }
    return o;
}
inline constexpr orders order = make_orders();

CCOLL_SZP_INLINE const orders& constants() noexcept { return in_memory(order); }
CCOLL_SZP_INLINE __m512i all(const byte_order& o) noexcept { return _mm512_load_si512(&o); }
CCOLL_SZP_INLINE __m256i half(const byte_order& o) noexcept { return _mm256_load_si256(reinterpret_cast<const __m256i*>(&o)); }

CCOLL_SZP_INLINE __m512i permuted(const byte_order& o, __m512i v) noexcept { return _mm512_permutexvar_epi8(all(o), v); }
CCOLL_SZP_INLINE __m512i transposed(__m512i v, u64 how) noexcept { return _mm512_gf2p8affine_epi64_epi8(all_64(how), v, 0); }

CCOLL_SZP_INLINE __m512i planes_of(__m512i words) noexcept
{
    const orders& o = constants();
    return permuted(o.planes, transposed(permuted(o.packed, words), o.transpose[16]));
}
/// Up to 16 planes to lanes.
CCOLL_SZP_INLINE __m512i get_lanes(const orders& o, const u8* in, unsigned width, const u64 (&how)[17]) noexcept
{
    return transposed(permuted(o.spread[width], _mm512_loadu_si512(in)), how[width]);
}
CCOLL_SZP_INLINE __m512i words_of(const u8* in, unsigned width) noexcept
{
    const orders& o = constants();
    return permuted(o.words, get_lanes(o, in, width, o.transpose));
}

/// 8 planes, in the lower half of the orders above.
CCOLL_SZP_INLINE __m256i permuted_256(const byte_order& o, __m256i v) noexcept { return _mm256_permutexvar_epi8(half(o), v); }
CCOLL_SZP_INLINE __m256i transposed_256(__m256i v, u64 how) noexcept { return _mm256_gf2p8affine_epi64_epi8(_mm256_set1_epi64x(static_cast<i64>(how)), v, 0); }
CCOLL_SZP_INLINE __m256i get_8_lanes(const orders& o, const u8* in, unsigned width, const u64 (&how)[17]) noexcept
{
    return transposed_256(permuted_256(o.spread[width], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in))), how[width]);
}

/// 32-bit values as their low and high words, in order.
struct halves_of_words {
    __m512i low, high;

    CCOLL_SZP_INLINE halves_of_words(const u8* in, unsigned width) noexcept
    {
        low = words_of(in, std::min(width, 16u));
        high = width > 16 ? words_of(in + 64, width - 16) : _mm512_srai_epi16(low, 15);
    }
};
CCOLL_SZP_INLINE __m512i planes_of_ordered(__m512i words) noexcept
{
    const orders& o = constants();
    return permuted(o.planes, transposed(permuted(o.ordered, words), o.transpose[16]));
}
/// Widths up to 7: sums are bytes. Widths up to 15: sums fit 16 bits. Low bytes stand in the lower half of a register, high bytes in
/// the upper one, so that carries move by 32 lanes.
CCOLL_SZP_INLINE unsigned add_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    const orders& o = constants();
    if ((wa | wb) <= 7) {
        const __m256i sum = _mm256_add_epi8(get_8_lanes(o, a, wa, o.transpose_back), get_8_lanes(o, b, wb, o.transpose_back));
        const __m256i lanes = transposed_256(sum, o.transpose[16]);
        const __m256i planes = permuted_256(o.planes, lanes), sign = _mm256_and_si256(permuted_256(o.sign, lanes), half(o.not_last));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), planes);
        return width_of(_mm256_cmpneq_epi32_mask(planes, sign));
    }
    if ((wa | wb) > 15) [[unlikely]] {
        const halves_of_words x(a, wa), y(b, wb);
        const __m512i low = _mm512_add_epi16(x.low, y.low), high = _mm512_add_epi16(x.high, y.high), ones = _mm512_set1_epi16(-1);
        const __m512i carried = _mm512_mask_sub_epi16(high, _mm512_cmplt_epu16_mask(low, x.low), high, ones);
        return put_32_planes(planes_of_ordered(low), planes_of_ordered(carried), out);
    }
    const __m512i x = get_lanes(o, a, wa, o.transpose_back);
    __m512i sum = _mm512_add_epi8(x, get_lanes(o, b, wb, o.transpose_back));
    const __mmask64 carry = _mm512_cmplt_epu8_mask(sum, x) << 32;
    sum = _mm512_mask_add_epi8(sum, carry, sum, all(o.ones));
    return put_16_planes(permuted(o.planes, transposed(sum, o.transpose[16])), out);
}

/// The upper half is not looked at. Left open, clang fills it with a register on which the next block then waits; zeros cost g++ a move.
CCOLL_SZP_INLINE __m512i low_half(__m256i v) noexcept
{
#if defined(__clang__)
    return _mm512_zextsi256_si512(v);
#else
    return _mm512_castsi256_si512(v);
#endif
}
/// Widths up to 8: the prefix sum is two dot products of bytes. Four values against a triangle of ones, on top of the running total
/// of groups of four, of which there are only eight.
template <class T, class To>
CCOLL_SZP_INLINE void restore(const u8* in, unsigned width, running& r, T step, To& x) noexcept
{
    quanta q;
    if (width > 8) {
        get_planes(in, width, q);
        scan(q, r);
        dequantise(q, step, x);
        return;
    }
    const orders& o = constants();
    const __m256i v = get_8_lanes(o, in, width, o.transpose);
    __m256i total = _mm256_dpbusd_epi32(_mm256_setzero_si256(), half(o.ones), v);
    total = _mm256_add_epi32(total, _mm256_slli_si256(total, 4));
    total = _mm256_add_epi32(total, _mm256_slli_si256(total, 8));
    const __m512i bytes = low_half(v), triangle = all(o.triangle);
    // The first half's groups, on top of which the second one's are.
    const __m512i low = low_half(_mm256_add_epi32(total, _mm512_castsi512_si256(r)));
    const __m512i middle = _mm512_permutexvar_epi32(all(o.last[0]), low);
    const __m512i high = low_half(_mm256_add_epi32(total, _mm512_castsi512_si256(middle)));
    q.a = _mm512_dpbusd_epi32(_mm512_mask_permutexvar_epi32(r, 0xfff0, all(o.before[0]), low), triangle, _mm512_permutexvar_epi32(all(o.fours[0]), bytes));
    q.b = _mm512_dpbusd_epi32(_mm512_mask_permutexvar_epi32(middle, 0xfff0, all(o.before[1]), high), triangle, _mm512_permutexvar_epi32(all(o.fours[1]), bytes));
    r = _mm512_permutexvar_epi32(all(o.last[1]), high);
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
