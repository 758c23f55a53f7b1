// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/avx2_residuals.hpp - floor 2. SZe with AVX2: what happens to residuals before and behind their
// stream. Eight are a register.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/sze/portable.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::sze::avx2 {

CCOLL_INLINE __m256i load(const void* from) noexcept
{
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
CCOLL_INLINE __m256i joined(__m128i low, __m128i high) noexcept
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
CCOLL_INLINE u32 sum_of(__m256i sums_of_8) noexcept
{
    const __m128i half =
        _mm_add_epi64(_mm256_castsi256_si128(sums_of_8), _mm256_extracti128_si256(sums_of_8, 1));
    return static_cast<u32>(_mm_cvtsi128_si32(half)) + static_cast<u32>(_mm_extract_epi32(half, 2));
}

// ---- distances

/// What is subtracted from eight residuals, w places before.
template <bool smooth>
CCOLL_INLINE __m256i behind(const i32* from) noexcept
{
    const __m256i middle = load(from);
    if constexpr (!smooth) return middle;
    const __m256i sides = _mm256_add_epi32(load(from - 1), load(from + 1));
    const __m256i sum =
        _mm256_add_epi32(_mm256_add_epi32(middle, middle), _mm256_add_epi32(sides, _mm256_set1_epi32(2)));
    return _mm256_srai_epi32(sum, 2);
}
template <bool smooth>
CCOLL_INLINE std::size_t subtract_from_end(i32* d, std::size_t i, std::size_t w, std::size_t begin) noexcept
{
    for (; i >= begin + w + smooth + lanes; i -= lanes) {
        i32* const a = d + i - lanes;
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(a), _mm256_sub_epi32(load(a), behind<smooth>(a - w)));
    }
    return i;
}
CCOLL_TARGET inline void subtract_behind(i32* d, std::size_t n, distance by, std::size_t begin = 0) noexcept
{
    const std::size_t left = by.smooth ? subtract_from_end<true>(d, n, by.places, begin)
                                       : subtract_from_end<false>(d, n, by.places, begin);
    portable::subtract_behind(d, left, by, begin);
}
template <bool smooth>
CCOLL_INLINE void add_in_order(i32* d, std::size_t n, std::size_t w, std::size_t begin) noexcept
{
    std::size_t i = begin + w + smooth;
    for (; i + lanes <= n; i += lanes)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + i),
                            _mm256_add_epi32(load(d + i), behind<smooth>(d + i - w)));
    for (; i < n; ++i) {
        const i32* const b = d + i - w;
        d[i] = static_cast<i32>(static_cast<u32>(d[i]) +
                                static_cast<u32>(smooth ? smoothed(*(b - 1), b[0], b[1]) : b[0]));
    }
}
CCOLL_TARGET inline void add_behind(i32* d, std::size_t n, distance by, std::size_t begin = 0) noexcept
{
    if (by.places <= lanes) portable::add_behind(d, n, by, begin);
    else if (by.smooth) add_in_order<true>(d, n, by.places, begin);
    else add_in_order<false>(d, n, by.places, begin);
}

// ---- tokens

CCOLL_INLINE __m256i folded_8(__m256i r) noexcept
{
    return _mm256_xor_si256(_mm256_slli_epi32(r, 1), _mm256_srai_epi32(r, 31));
}

CCOLL_TARGET inline void to_tokens(const i32* d, std::size_t n, u8* t) noexcept
{
    const __m256i above = _mm256_set1_epi32(static_cast<int>(~(direct - 1))),
                  beyond = _mm256_set1_epi32(static_cast<int>(~(exact_as_float - 1)));
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (std::size_t i = 0; i < n; i += 32) {
        __m256i u[4];
        for (std::size_t k = 0; k < 4; ++k) u[k] = folded_8(load(d + i + 8 * k));
        const __m256i any = _mm256_or_si256(_mm256_or_si256(u[0], u[1]), _mm256_or_si256(u[2], u[3]));
        if (_mm256_testz_si256(any, beyond) == 0) {
            for (std::size_t j = i; j < i + 32; ++j) t[j] = static_cast<u8>(token_of(sze::folded(d[j])).code);
            continue;
        }
        // The exponent and the upper bits of the mantissa are the token.
        if (_mm256_testz_si256(any, above) == 0)
            for (__m256i& v : u) {
                const __m256i upper = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(v)), 21);
                v = _mm256_blendv_epi8(_mm256_sub_epi32(upper, _mm256_set1_epi32(127 << 2)), v,
                                       _mm256_cmpgt_epi32(_mm256_set1_epi32(direct), v));
            }
        const __m256i bytes =
            _mm256_packus_epi16(_mm256_packus_epi32(u[0], u[1]), _mm256_packus_epi32(u[2], u[3]));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(t + i), _mm256_permutevar8x32_epi32(bytes, in_order));
    }
}

/// The sum of eight tokens in an activity, of those in the lower half.
CCOLL_INLINE __m128i activity_of(__m128i t) noexcept
{
    return _mm_sad_epu8(_mm_min_epu8(t, _mm_set1_epi8(most_active)), _mm_setzero_si128());
}
CCOLL_TARGET inline void activities_of(const u8* t, std::size_t groups, const model& m, u8* activity) noexcept
{
    const auto of = [](const u8* from) CCOLL_TARGET {
        return static_cast<u32>(
            _mm_cvtsi128_si32(activity_of(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)))));
    };
    activity[0] = 0;
    const std::size_t second = std::min(m.second_row(), groups), w = m.distances[0].places;
    std::size_t g = 1;
    for (; g < second; ++g) activity[g] = static_cast<u8>(of(t + lanes * (g - 1)));
    for (; g < groups; ++g)
        activity[g] = static_cast<u8>((of(t + lanes * (g - 1)) + of(t + lanes * g - w)) / 2);
}

CCOLL_TARGET inline void make_slots(const share_table& table, u32* slots) noexcept
{
    const __m256i places = _mm256_slli_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), 11),
                  next = _mm256_set1_epi32(8 << 11);
    u32* at = slots;
    for (u32 t = 0; t < table.count; ++t) {
        const u32 share = table.shares[t];
        __m256i eight = _mm256_add_epi32(places, _mm256_set1_epi32(static_cast<int>(t << 24 | share)));
        for (u32 k = 0; k < share; k += 8, eight = _mm256_add_epi32(eight, next))
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + k), eight);
        at += share;
    }
    std::fill(at, std::max(at, slots + whole), u32{1});
}

// ---- low bits

/// A constant that stays in its register. g++ 12 makes others again in each iteration of a loop with
/// branches.
CCOLL_INLINE __m128i constant(int byte) noexcept
{
    __m128i c = _mm_set1_epi8(static_cast<char>(byte));
    __asm__("" : "+x"(c));
    return c;
}
CCOLL_INLINE __m256i wide_constant(int word) noexcept
{
    __m256i c = _mm256_set1_epi32(word);
    __asm__("" : "+x"(c));
    return c;
}

/// How many low bits each of eight tokens has, as bytes.
struct low_bits_of {
    __m128i quarters, two, last_direct;

    CCOLL_INLINE low_bits_of() noexcept
        : quarters(constant(0x1f)), two(constant(2)), last_direct(constant(direct - 1))
    {}
    CCOLL_INLINE __m128i operator()(__m128i t) const noexcept
    {
        const __m128i quarter = _mm_and_si128(_mm_srli_epi16(t, 2), quarters);
        return _mm_and_si128(_mm_sub_epi8(quarter, two), _mm_cmpgt_epi8(t, last_direct));
    }
};
inline constexpr u32 most_at_once = bit_writer::most;

/// Low bits of eight residuals: those of the first four next to each other, and those of the others.
struct low_bits_of_8 {
    u64 first, second;
    u32 of_first, of_second;  ///< how many; above most_at_once the bits are not meaningful
};
CCOLL_INLINE low_bits_of_8 joined_low_bits(const i32* d, const u8* t, const low_bits_of& counts_of) noexcept
{
    const __m128i counts = counts_of(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(t)));
    const u64 of_each = static_cast<u64>(_mm_cvtsi128_si64(counts));
    const u64 sums = of_each * 0x0101010101010101u;  // of the bytes up to each one
    const __m256i count = _mm256_cvtepu8_epi32(counts), zero = _mm256_setzero_si256();
    const __m256i fields =
        _mm256_andnot_si256(_mm256_sllv_epi32(_mm256_set1_epi32(-1), count), folded_8(load(d)));
    const __m256i of_lower = _mm256_blend_epi32(count, zero, 0xaa);
    const __m256i pairs = _mm256_or_si256(_mm256_blend_epi32(fields, zero, 0xaa),
                                          _mm256_sllv_epi64(_mm256_srli_epi64(fields, 32), of_lower));
    const __m256i of_pairs = _mm256_add_epi64(of_lower, _mm256_srli_epi64(count, 32));
    const __m256i placed = _mm256_sllv_epi64(pairs, _mm256_slli_si256(of_pairs, 8));
    const __m256i joined = _mm256_or_si256(placed, _mm256_srli_si256(placed, 8));
    const u32 of_first = sums >> 24 & 0xff;
    return {static_cast<u64>(_mm256_extract_epi64(joined, 0)),
            static_cast<u64>(_mm256_extract_epi64(joined, 2)), of_first,
            static_cast<u32>(sums >> 56) - of_first};
}
CCOLL_TARGET inline void put_low_bits(const i32* d, const u8* t, std::size_t n, bit_writer& to) noexcept
{
    bit_writer bits = to;  // in registers: what is written could be a part of `to`
    // Which groups have low bits: a list, because processors would not foresee it.
    u16 others[most_groups + 1];
    std::size_t count = 0;
    for (std::size_t g = 0; g < n; g += lanes) {
        others[count] = static_cast<u16>(g);
        count += !portable::are_direct(t + g);
    }
    const low_bits_of counts_of;
    for (std::size_t k = 0; k < count; ++k) {
        const std::size_t g = others[k];
        const low_bits_of_8 all = joined_low_bits(d + g, t + g, counts_of);
        if (all.of_first + all.of_second <= most_at_once) {
            bits.put(all.first | all.second << all.of_first, all.of_first + all.of_second);
        } else if (all.of_first <= most_at_once && all.of_second <= most_at_once) {
            bits.put(all.first, all.of_first);
            bits.put(all.second, all.of_second);
        } else {
            portable::put_low_bits_of_8(d + g, t + g, bits);
        }
    }
    to = bits;
}

/// Residuals of eight numbers.
CCOLL_INLINE void put_unfolded_8(__m256i u, i32* d) noexcept
{
    const __m256i sign = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_and_si256(u, _mm256_set1_epi32(1)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(d), _mm256_xor_si256(_mm256_srli_epi32(u, 1), sign));
}
CCOLL_TARGET inline bool get_residuals(const u8* t, std::size_t n, const u8* from, std::size_t at,
                                       std::size_t bytes, i32* d) noexcept
{
    // Of each half of a group, the places of fields 0 and 1, and of 2 and 3, as words of 64 bits.
    const __m256i of_01 = _mm256_setr_epi64x(~0xffll, ~0xffll | 1, ~0xffll | 4, ~0xffll | 5);
    const __m256i of_23 = _mm256_setr_epi64x(~0xffll | 2, ~0xffll | 3, ~0xffll | 6, ~0xffll | 7);
    const __m256i one = wide_constant(1), four = wide_constant(4), three = wide_constant(3),
                  first_other = wide_constant(direct);
    const low_bits_of counts_of;
    for (std::size_t g = 0; g < n; g += lanes) {
        const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(t + g)),
                      counts = counts_of(codes);
        if (portable::are_direct(t + g)) {
            put_unfolded_8(_mm256_cvtepu8_epi32(codes), d + g);
            continue;
        }
        const __m128i by_1 = _mm_slli_epi32(counts, 8);  // sums of the counts before each field in its half
        const __m128i before =
            _mm_add_epi8(_mm_add_epi8(by_1, _mm_slli_epi32(by_1, 8)), _mm_slli_epi32(by_1, 16));
        const u64 sums = static_cast<u64>(_mm_cvtsi128_si64(_mm_add_epi8(before, counts)));
        const u32 of_first = sums >> 24 & 0xff, of_second = static_cast<u32>(sums >> 56);
        if (of_first > most_at_once || of_second > most_at_once) {
            if (!portable::get_residuals_of_8(t + g, from, at, 8 * bytes, d + g)) return false;
            continue;
        }
        if (at > 8 * bytes) return false;
        const std::size_t middle = at + of_first;
        const u64 first = get<u64>(from + at / 8) >> at % 8,
                  second = get<u64>(from + middle / 8) >> middle % 8;
        at = middle + of_second;
        const __m256i bits = joined(_mm_set1_epi64x(static_cast<long long>(first)),
                                    _mm_set1_epi64x(static_cast<long long>(second)));
        const __m256i places = _mm256_broadcastq_epi64(before);
        const __m256 a = _mm256_castsi256_ps(_mm256_srlv_epi64(bits, _mm256_shuffle_epi8(places, of_01)));
        const __m256 b = _mm256_castsi256_ps(_mm256_srlv_epi64(bits, _mm256_shuffle_epi8(places, of_23)));
        const __m256i fields = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
        const __m256i wide = _mm256_cvtepu8_epi32(codes), of_lane = _mm256_cvtepu8_epi32(counts);
        const __m256i upper =
            _mm256_sllv_epi32(_mm256_or_si256(four, _mm256_and_si256(wide, three)), of_lane);
        const __m256i mask = _mm256_sub_epi32(_mm256_sllv_epi32(one, of_lane), one);
        const __m256i u = _mm256_blendv_epi8(_mm256_or_si256(_mm256_and_si256(fields, mask), upper), wide,
                                             _mm256_cmpgt_epi32(first_other, wide));
        put_unfolded_8(u, d + g);
    }
    return (at + 7) / 8 == bytes;
}

// ---- values

CCOLL_INLINE void put_values(__m256i q, float step, float* x) noexcept
{
    _mm256_storeu_ps(x, _mm256_mul_ps(_mm256_cvtepi32_ps(q), _mm256_set1_ps(step)));
}
CCOLL_INLINE void put_values(__m256i q, double step, double* x) noexcept
{
    _mm256_storeu_pd(x, _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(q)), _mm256_set1_pd(step)));
    _mm256_storeu_pd(x + 4,
                     _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_extracti128_si256(q, 1)), _mm256_set1_pd(step)));
}
template <element T>
CCOLL_TARGET inline void restore(const i32* d, std::size_t n, bool is_alone, i32 base, T step, T* x) noexcept
{
    __m256i before = _mm256_set1_epi32(base);
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        __m256i q = load(d + i);
        if (!is_alone) {
            q = _mm256_add_epi32(q, _mm256_slli_si256(q, 4));
            q = _mm256_add_epi32(q, _mm256_slli_si256(q, 8));
            const __m256i lower = _mm256_permute2x128_si256(q, q, 0x08);  // 0, and the lower half
            q = _mm256_add_epi32(q, _mm256_shuffle_epi32(lower, 0xff));
            const __m256i last = _mm256_permutevar8x32_epi32(q, _mm256_set1_epi32(7));
            q = _mm256_add_epi32(q, before);
            before = _mm256_add_epi32(before, last);
        }
        put_values(q, step, x + i);
    }
    portable::restore(d + i, n - i, is_alone, _mm256_cvtsi256_si32(before), step, x + i);
}

}  // namespace ccoll::detail::sze::avx2

#include <ccoll/base/kernels_end.inl>

#endif
