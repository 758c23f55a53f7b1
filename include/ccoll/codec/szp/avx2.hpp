// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/avx2.hpp - floor 2. The kernels of SZp with AVX2, and what all sets for x86 have in common.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/lines/avx2.hpp>
#include <ccoll/codec/szp/portable.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Makes g++ read constants from memory. Else it builds them in every block, on the only port that also
/// permutes.
template <class Table>
CCOLL_INLINE const Table& in_memory(const Table& table) noexcept
{
    const Table* there = &table;
#if !defined(__clang__)
    __asm__("" : "+r"(there));
#endif
    return *there;
}

/// [w] where 8 planes come from, if those from w on repeat the sign.
struct alignas(32) plane_numbers {
    u32 of[9][8];
};
constexpr plane_numbers plane_numbers_in(const unsigned (&order)[8])
{
    plane_numbers n{};
    for (unsigned w = 1; w <= 8; ++w)
        for (unsigned k = 0; k < 8; ++k) n.of[w][k] = std::min(order[k], w - 1);
    return n;
}
inline constexpr plane_numbers kept_planes = plane_numbers_in({0, 1, 2, 3, 4, 5, 6, 7});
/// Words that are 4 apart side by side, then those that are 2 apart.
inline constexpr plane_numbers turned_planes = plane_numbers_in({0, 4, 2, 6, 1, 5, 3, 7});

/// 8x8 bit transposes between 8 words, in each of their 4 bytes, swap bits between words that are 4, 2 and 1
/// apart: word j keeps `keep` bits, and gets the others of its partner, turned to the left. Twice, for
/// registers of 64 bytes.
struct alignas(64) turn_words {
    u32 around[3][16], keep[3][16];
};
constexpr turn_words make_turn_words()
{
    turn_words t{};
    for (unsigned s = 0; s < 3; ++s)
        for (unsigned j = 0; j < 16; ++j) {
            const u32 by = 4u >> s, low = s == 0 ? 0x0f0f0f0fu : s == 1 ? 0x33333333u : 0x55555555u;
            const bool high = (j & by) != 0;
            t.around[s][j] = high ? 32 - by : by;
            t.keep[s][j] = high ? ~low : low;
        }
    return t;
}
inline constexpr turn_words turn_table = make_turn_words();

/// The number of planes to store: those that only repeat the sign plane are left out. Comparing planes is
/// faster than reducing values.
/// @param mask  bit k: plane k differs from the sign plane; the highest bit: the sign plane is not 0.
template <class Mask>
CCOLL_INLINE unsigned width_of(Mask mask) noexcept
{
    return 32 - _lzcnt_u32(std::rotl(mask, 1));
}

namespace avx2 {

inline constexpr std::size_t lanes = 32;

struct quanta {
    __m256i v[4];
};
using running = __m256i;  // the last quantum in all words

CCOLL_INLINE __m256i load_256(const void* p) noexcept
{
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
CCOLL_INLINE void store_256(void* p, __m256i v) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
CCOLL_INLINE __m256i all_32(u32 v) noexcept { return _mm256_set1_epi32(static_cast<int>(v)); }
CCOLL_INLINE __m256i halves(__m128i low, __m128i high) noexcept
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

// Conversions make hold_out of what does not fit. What fits beyond z.usual is far from its neighbours, or so
// large that loops look at it.

CCOLL_INLINE __m256i nearest(const float* x, const grid<float>& z) noexcept
{
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), _mm256_set1_ps(z.inverse_in_t)));
}
CCOLL_INLINE __m256d four_doubles(const float* x) noexcept { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }
CCOLL_INLINE __m256d four_doubles(const double* x) noexcept { return _mm256_loadu_pd(x); }
template <class T>
CCOLL_INLINE __m256i nearest_in_double(const T* x, const grid<T>& z) noexcept
{
    const __m256d by = _mm256_set1_pd(z.inverse);
    return halves(_mm256_cvtpd_epi32(_mm256_mul_pd(four_doubles(x), by)),
                  _mm256_cvtpd_epi32(_mm256_mul_pd(four_doubles(x + 4), by)));
}
CCOLL_INLINE __m256i moved_up(__m256i last, __m256i v) noexcept
{
    return _mm256_alignr_epi8(v, _mm256_permute2x128_si256(last, v, 0x21), 12);
}
CCOLL_INLINE __m256 times(__m256i q, float step) noexcept
{
    return _mm256_mul_ps(_mm256_cvtepi32_ps(q), _mm256_set1_ps(step));
}
template <int Half>
CCOLL_INLINE __m256d times(__m256i q, double step) noexcept
{
    return _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_extracti128_si256(q, Half)), _mm256_set1_pd(step));
}
/// Maps 0, -1, 1, -2, 2 to 0, 1, 2, 3, 4, which have as many bits as there are planes.
CCOLL_INLINE __m256i zigzag(__m256i words) noexcept
{
    return _mm256_xor_si256(_mm256_add_epi16(words, words), _mm256_srai_epi16(words, 15));
}
CCOLL_INLINE __m256i low_bytes(__m256i v) noexcept { return _mm256_and_si256(v, _mm256_set1_epi16(255)); }
/// 8 planes of 32 bytes as they are packed, values 8 k + 4 h .. 8 k + 4 h + 3 in word 4 h + k. All are
/// stored: a branch would cost more.
CCOLL_INLINE void put_8_planes(__m256i packed, u8* out) noexcept
{
    const __m128i turned = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m256i bytes = _mm256_shuffle_epi8(packed, _mm256_broadcastsi128_si256(turned));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    for (int k = 7; k >= 0; --k) {
        put(out + 4 * k, static_cast<u32>(_mm256_movemask_epi8(bytes)));
        bytes = _mm256_add_epi8(bytes, bytes);
    }
}
/// 16 planes of 32 words.
CCOLL_INLINE void put_16_planes(__m256i a, __m256i b, u8* out) noexcept
{
    put_8_planes(_mm256_packus_epi16(low_bytes(a), low_bytes(b)), out);
    put_8_planes(_mm256_packs_epi16(_mm256_srai_epi16(a, 8), _mm256_srai_epi16(b, 8)), out + 32);
}
CCOLL_INLINE void put_all_planes(const quanta& d, u8* out) noexcept
{
    const __m256i low = all_32(0xffff);
    put_16_planes(_mm256_packus_epi32(_mm256_and_si256(d.v[0], low), _mm256_and_si256(d.v[1], low)),
                  _mm256_packus_epi32(_mm256_and_si256(d.v[2], low), _mm256_and_si256(d.v[3], low)), out);
    put_16_planes(_mm256_packs_epi32(_mm256_srai_epi32(d.v[0], 16), _mm256_srai_epi32(d.v[1], 16)),
                  _mm256_packs_epi32(_mm256_srai_epi32(d.v[2], 16), _mm256_srai_epi32(d.v[3], 16)), out + 64);
}
CCOLL_INLINE unsigned put_planes(const quanta& d, u8* out, unsigned /*expected*/ = 0) noexcept
{
    const __m256i a = _mm256_packs_epi32(d.v[0], d.v[1]), b = _mm256_packs_epi32(d.v[2], d.v[3]);
    const __m256i numbers = _mm256_or_si256(zigzag(a), zigzag(b)), ones = _mm256_cmpeq_epi8(a, a);
    const __m128i any = _mm_or_si128(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
    // Of the complements.
    const __m128i least = _mm_minpos_epu16(_mm_xor_si128(any, _mm256_castsi256_si128(ones)));
    const unsigned width = 32 - _lzcnt_u32(~static_cast<u32>(_mm_cvtsi128_si32(least)) & 0xffff);
    if (width <= 8) {
        put_8_planes(_mm256_packs_epi16(a, b), out);
        return width;
    }
    if (width < 16) [[likely]] {
        put_16_planes(a, b, out);
        return width;
    }
    // Packing saturates, so all that has more than 15 bits comes here.
    put_all_planes(d, out);
    __m256i folded = _mm256_setzero_si256();
    CCOLL_UNROLLED for (int i = 0; i < 4; ++i) folded =
        _mm256_or_si256(folded, _mm256_xor_si256(d.v[i], _mm256_srai_epi32(d.v[i], 31)));
    __m128i f = _mm_or_si128(_mm256_castsi256_si128(folded), _mm256_extracti128_si256(folded, 1));
    f = _mm_or_si128(f, _mm_shuffle_epi32(f, 0x4e));
    f = _mm_or_si128(f, _mm_shuffle_epi32(f, 0xb1));
    return 33 - _lzcnt_u32(static_cast<u32>(_mm_cvtsi128_si32(f)));
}

/// Swaps bits of the low halves of 64 bits with those that stand `Distance` places higher.
template <int Distance>
CCOLL_INLINE __m256i swapped(__m256i v, u32 bits) noexcept
{
    const __m256i t =
        _mm256_and_si256(_mm256_xor_si256(v, _mm256_srli_epi64(v, Distance)), _mm256_set1_epi64x(bits));
    return _mm256_xor_si256(v, _mm256_xor_si256(t, _mm256_slli_epi64(t, Distance)));
}
/// 8 planes, of which those from `width` on repeat the sign, to 32 bytes as they were packed.
/// An 8x8 bit transpose between 8 words, in each of their 4 bytes: of words 4, 2 and 1 apart, each time in
/// the two halves of 64 bits.
CCOLL_INLINE __m256i get_8_planes(const u8* in, unsigned width) noexcept
{
    __m256i v = _mm256_permutevar8x32_epi32(
        load_256(in), load_256(turned_planes.of[std::min(width, 8u)]));  // 0 4 2 6 1 5 3 7
    v = swapped<28>(v, 0xf0f0f0f0u);
    v = swapped<30>(_mm256_shuffle_epi32(v, 0xd8), 0xccccccccu);  // 0 2 4 6 1 3 5 7
    return swapped<31>(_mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)),
                       0xaaaaaaaau);
}
CCOLL_INLINE void get_16_planes(const u8* in, unsigned width, quanta& d) noexcept
{
    const __m256i low = get_8_planes(in, width), high = width > 8
                                                            ? get_8_planes(in + 32, width - 8)
                                                            : _mm256_cmpgt_epi8(_mm256_setzero_si256(), low);
    const __m256i a = _mm256_unpacklo_epi8(low, high), b = _mm256_unpackhi_epi8(low, high);
    d.v[0] = _mm256_srai_epi32(_mm256_unpacklo_epi16(a, a), 16);
    d.v[1] = _mm256_srai_epi32(_mm256_unpackhi_epi16(a, a), 16);
    d.v[2] = _mm256_srai_epi32(_mm256_unpacklo_epi16(b, b), 16);
    d.v[3] = _mm256_srai_epi32(_mm256_unpackhi_epi16(b, b), 16);
}
CCOLL_INLINE void get_planes(const u8* in, unsigned width, quanta& d) noexcept
{
    get_16_planes(in, std::min(width, 16u), d);
    if (width <= 16) [[likely]]
        return;
    quanta high;
    get_16_planes(in + 64, width - 16, high);
    CCOLL_UNROLLED for (int i = 0; i < 4; ++i) d.v[i] =
        _mm256_blend_epi16(d.v[i], _mm256_slli_epi32(high.v[i], 16), 0xaa);
}

/// Prefix sum of 32 differences on top of `r`.
CCOLL_INLINE void scan(quanta& d, running& r) noexcept
{
    const __m256i last = _mm256_set1_epi32(7);
    __m256i total = _mm256_setzero_si256();
    CCOLL_UNROLLED for (int i = 0; i < 4; ++i)
    {
        __m256i v = _mm256_add_epi32(d.v[i], _mm256_slli_si256(d.v[i], 4));
        v = _mm256_add_epi32(v, _mm256_slli_si256(v, 8));
        const __m256i sums = _mm256_shuffle_epi32(v, 0xff);
        // That of the low half into the high one.
        v = _mm256_add_epi32(v, _mm256_permute2x128_si256(sums, sums, 0x08));
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
/// By dot products: four values against a triangle of ones, on top of the running total of groups of four, of
/// which there are only eight.
CCOLL_INLINE void scan_few_planes(const u8* in, unsigned width, quanta& q, running& r) noexcept
{
    const __m256i bytes = get_8_planes(in, width), one_word = _mm256_set1_epi16(1);
    const __m256i four = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes), one_word);
    // In both halves.
    const __m256i eight = _mm256_add_epi32(four, _mm256_permute2x128_si256(four, four, 0x01));
    __m256i total = _mm256_add_epi32(eight, _mm256_slli_si256(eight, 4));
    total = _mm256_add_epi32(total, _mm256_slli_si256(total, 8));
    const __m256i in_half =
        _mm256_add_epi32(_mm256_sub_epi32(total, eight), _mm256_permute2x128_si256(four, four, 0x08));
    const __m256i before = _mm256_add_epi32(in_half, r);
    const __m256i triangle = _mm256_setr_epi32(0x00000001, 0x00000101, 0x00010101, 0x01010101, 0x00000001,
                                               0x00000101, 0x00010101, 0x01010101);
    q.v[0] = sums_of_8<0x00>(before, triangle, bytes, one_word);
    q.v[1] = sums_of_8<0x55>(before, triangle, bytes, one_word);
    q.v[2] = sums_of_8<0xaa>(before, triangle, bytes, one_word);
    q.v[3] = sums_of_8<0xff>(before, triangle, bytes, one_word);
    r = _mm256_add_epi32(r, _mm256_shuffle_epi32(total, 0xff));
}
#include <ccoll/codec/szp/registers.inl>

/// Of no more than 7 entries. Without branches, which would be mispredicted.
CCOLL_INLINE void get_list(const u8* list, unsigned count, const u8* planes, bool beside, u8* out) noexcept
{
    const __m256i entries =
        _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<i64>(_bzhi_u64(get<u64>(list), 8 * count))));
    const __m256i bit = _mm256_sllv_epi32(all_32(1), _mm256_and_si256(entries, all_32(31)));
    const auto plane = [&](int k) CCOLL_TARGET {
        return _mm256_and_si256(bit, _mm256_srai_epi32(_mm256_slli_epi32(entries, 26 - k), 31));
    };
    const auto join = [&](__m256i a, __m256i b) CCOLL_TARGET {
        return _mm256_or_si256(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    };
    const __m256i two = join(plane(0), plane(1)), one = join(plane(2), _mm256_setzero_si256());
    const __m256i all = _mm256_or_si256(_mm256_unpacklo_epi64(two, one), _mm256_unpackhi_epi64(two, one));
    const __m256i listed = _mm256_or_si256(all, _mm256_permute2x128_si256(all, all, 0x01));
    store_256(out, _mm256_blendv_epi8(listed, load_256(planes), all_32(0 - u32{beside})));
}

CCOLL_INLINE u8 other_than_sign(__m256i planes) noexcept
{
    const __m256i sign = _mm256_permutevar8x32_epi32(planes, all_32(7));
    const __m256i same = _mm256_cmpeq_epi32(planes, _mm256_blend_epi32(sign, _mm256_setzero_si256(), 0x80));
    return static_cast<u8>(~_mm256_movemask_ps(_mm256_castsi256_ps(same)));
}
CCOLL_INLINE __m256i or_and(__m256i a, __m256i b, __m256i c) noexcept
{
    return _mm256_or_si256(a, _mm256_and_si256(b, c));
}
template <int By>
CCOLL_INLINE __m256i planes_up(__m256i v, __m256i in) noexcept
{
    if constexpr (By == 4) return _mm256_permute2x128_si256(v, in, 0x02);
    else if constexpr (By == 2) return _mm256_blend_epi32(_mm256_permute4x64_epi64(v, 0x90), in, 0x03);
    else
        return _mm256_blend_epi32(_mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6)),
                                  in, 0x01);
}
#include <ccoll/codec/szp/add_planes.inl>

CCOLL_INLINE __m256i in_all(float v) noexcept { return _mm256_castps_si256(_mm256_set1_ps(v)); }
CCOLL_INLINE __m256i in_all(double v) noexcept { return _mm256_castpd_si256(_mm256_set1_pd(v)); }
/// @param how  streamed: past the caches, if an element can begin a register at all
template <class T>
CCOLL_TARGET inline void fill(T* x, std::size_t n, T value, stores how) noexcept
{
    constexpr std::size_t bytes = 32, count = bytes / sizeof(T);
    const std::size_t over = reinterpret_cast<std::uintptr_t>(x) % bytes;
    std::size_t i = 0;
    if (how == stores::streamed && over % sizeof(T) == 0) {
        for (; i < n && (over + i * sizeof(T)) % bytes != 0; ++i) x[i] = value;
        for (; n - i >= count; i += count)
            _mm256_stream_si256(reinterpret_cast<__m256i*>(x + i), in_all(value));
    }
    for (; n - i >= count; i += count) store_256(x + i, in_all(value));
    for (; i < n; ++i) x[i] = value;
}

// Putting lines together takes longer than fetching them: f32 is a sixth slower.
inline constexpr bool streams = false;
template <class T>
struct lines_of;

#define CCOLL_FMA_TARGET CCOLL_AVX2_FMA
#include <ccoll/codec/szp/loops.inl>
#include <ccoll/codec/szp/choose.inl>

}  // namespace avx2

}  // namespace ccoll::inline CCOLL_ABI::detail::szp

#include <ccoll/base/kernels_end.inl>

#endif
