// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/avx2.hpp - floor 2. SZe with AVX2: the eight lanes of a stream are the lanes of a register.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/sze/avx2_residuals.hpp>
#include <ccoll/codec/sze/avx2_rows.hpp>
#include <ccoll/codec/sze/portable.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::sze {

namespace avx2 {

/// [mask of lanes that are to be refilled][lane] which of the next words it takes
template <class Number>
struct word_numbers {
    alignas(32) Number of[256][8];
};
// An entry is a register, because conversions would be in the chain from group to group.
constexpr word_numbers<u32> make_word_numbers()
{
    word_numbers<u32> n{};
    for (unsigned m = 0; m < 256; ++m)
        for (unsigned j = 0, next = 0; j < 8; ++j) n.of[m][j] = (m >> j & 1) != 0 ? next++ : 0;
    return n;
}
inline constexpr word_numbers<u32> word_of_lane = make_word_numbers();

/// [mask of lanes that are full][lane] which lane's word goes there, so that the words of all full lanes end
/// with the last one
constexpr word_numbers<u8> make_lane_numbers()
{
    word_numbers<u8> n{};
    for (unsigned m = 0; m < 256; ++m)
        for (unsigned j = 8, next = 8; j-- > 0;)
            if ((m >> j & 1) != 0) n.of[m][--next] = static_cast<u8>(j);
    return n;
}
inline constexpr word_numbers<u8> lane_of_word = make_lane_numbers();

CCOLL_INLINE __m256i ones(unsigned bits) noexcept { return _mm256_set1_epi32((1 << bits) - 1); }

/// Of eight lanes.
struct eight_steps {
    __m256i inverse, rest;
};
/// By loads, because gathers take longer.
CCOLL_INLINE eight_steps steps_of(const encoding_step* of, const u8* t) noexcept
{
    const auto two = [&](u8 a, u8 b) CCOLL_TARGET {
        const __m128i first = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(of + a));
        return _mm_castps_si128(
            _mm_loadh_pi(_mm_castsi128_ps(first), reinterpret_cast<const __m64*>(of + b)));
    };
    const __m256 a = _mm256_castsi256_ps(joined(two(t[0], t[1]), two(t[4], t[5])));
    const __m256 b = _mm256_castsi256_ps(joined(two(t[2], t[3]), two(t[6], t[7])));
    return {_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)),
            _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd))};
}
/// The upper halves of products.
CCOLL_INLINE __m256i high_products(__m256i a, __m256i b) noexcept
{
    const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(a, b), 32);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    return _mm256_blend_epi32(even, odd, 0xaa);
}

CCOLL_TARGET inline u8* encode_tokens(const u8* t, const u8* class_of_group, std::size_t groups,
                                      const share_table* tables, u8* end, u32* states) noexcept
{
    using step = encoding_step;
    step steps[classes][tokens];
    for (std::size_t c = 0; c < classes; ++c) make_steps(tables[c], steps[c]);
    const __m256i low = ones(16), most = ones(share_bits), of_shift = ones(step::shift_bits),
                  of_more = ones(1);
    __m256i x = _mm256_set1_epi32(static_cast<int>(least_state));
    for (std::size_t g = groups; g-- > 0;) {
        const eight_steps of = steps_of(steps[class_of_group[g]], t + lanes * g);
        const __m256i share_less_1 = _mm256_srli_epi32(of.rest, step::share_at);
        const __m256i shift = _mm256_and_si256(_mm256_srli_epi32(of.rest, step::shift_at), of_shift);
        const __m256i more = _mm256_and_si256(_mm256_srli_epi32(of.rest, step::more_at), of_more);

        const __m256i full = _mm256_cmpgt_epi32(_mm256_srli_epi32(x, 32 - share_bits), share_less_1);
        const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(full)));
        const __m256i number =
            _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(lane_of_word.of[mask])));
        const __m256i words = _mm256_permutevar8x32_epi32(_mm256_and_si256(x, low), number);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(end - 16),
                         _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
        end -= 2 * _mm_popcnt_u32(mask);
        x = _mm256_blendv_epi8(x, _mm256_srli_epi32(x, 16), full);

        const __m256i quotient =
            _mm256_srlv_epi32(high_products(_mm256_add_epi32(x, more), of.inverse), shift);
        x = _mm256_add_epi32(_mm256_add_epi32(x, _mm256_and_si256(of.rest, low)),
                             _mm256_mullo_epi32(quotient, _mm256_sub_epi32(most, share_less_1)));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(states), x);
    return end;
}

/// By loads, because a gather takes longer.
CCOLL_INLINE __m256i gathered(const u32* from, __m256i index) noexcept
{
    const auto four = [&](__m128i at) CCOLL_TARGET {
        const auto a = static_cast<u64>(_mm_cvtsi128_si64(at)),
                   b = static_cast<u64>(_mm_extract_epi64(at, 1));
        const auto two = [&](u64 both) CCOLL_TARGET {
            const __m128i first = _mm_cvtsi32_si128(static_cast<int>(from[both & 0xffffffff]));
            return _mm_insert_epi32(first, static_cast<int>(from[both >> 32]), 1);
        };
        return _mm_unpacklo_epi64(two(a), two(b));
    };
    return joined(four(_mm256_castsi256_si128(index)), four(_mm256_extracti128_si256(index, 1)));
}

CCOLL_TARGET inline bool decode_tokens(const u8* from, const u8* end, const u8* states,
                                       const slot_table* slots, const model& m, std::size_t groups,
                                       u8* t) noexcept
{
    u32 begin_of[512];  // of the table of twice an activity, in bytes
    for (u32 a = 0; a < 512; ++a) begin_of[a] = m.class_of(a / 2) * static_cast<u32>(sizeof(slot_table));
    const auto table_of = [&](u32 twice) CCOLL_TARGET {
        return reinterpret_cast<const u32*>(reinterpret_cast<const u8*>(slots) + begin_of[twice]);
    };
    const std::size_t second = m.second_row();
    const std::size_t w = m.distances[0].places;
    const __m256i low = ones(share_bits), share = ones(share_bits + 1);
    // Below, the sign of states is turned over, because AVX2 compares only signed integers.
    const __m256i sign = _mm256_set1_epi32(static_cast<int>(0x80000000u));
    const __m256i least = _mm256_xor_si256(_mm256_set1_epi32(static_cast<int>(least_state)), sign);
    __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(states));
    const u32* of = table_of(0);
    for (std::size_t g = 0; g < groups; ++g) {
        if (from > end) return false;
        const __m256i slot = gathered(of, _mm256_and_si256(x, low));
        const __m256i code = _mm256_srli_epi32(slot, 24);
        const __m128i codes =
            _mm_packus_epi32(_mm256_castsi256_si128(code), _mm256_extracti128_si256(code, 1));
        const __m128i bytes = _mm_packus_epi16(codes, _mm_setzero_si128());
        _mm_storel_epi64(reinterpret_cast<__m128i*>(t + lanes * g), bytes);
        const __m128i own = activity_of(bytes);
        const __m128i other =
            g + 1 < second
                ? own
                : activity_of(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(t + lanes * (g + 1) - w)));
        const auto activity = static_cast<u32>(_mm_cvtsi128_si32(_mm_add_epi32(own, other)));
        of = table_of(activity);

        const __m256i place = _mm256_xor_si256(_mm256_and_si256(_mm256_srli_epi32(slot, 11), low), sign);
        const __m256i turned = _mm256_add_epi32(
            _mm256_mullo_epi32(_mm256_and_si256(slot, share), _mm256_srli_epi32(x, share_bits)), place);
        const __m256i empty = _mm256_cmpgt_epi32(least, turned);
        const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(empty)));
        const __m256i next = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
        const __m256i number = load(word_of_lane.of[mask]);
        const __m256i filled =
            _mm256_or_si256(_mm256_slli_epi32(turned, 16), _mm256_permutevar8x32_epi32(next, number));
        x = _mm256_blendv_epi8(_mm256_xor_si256(turned, sign), filled, empty);
        from += 2 * _mm_popcnt_u32(mask);
    }
    const __m256i at_least = _mm256_cmpeq_epi32(x, _mm256_set1_epi32(static_cast<int>(least_state)));
    return from == end && _mm256_movemask_epi8(at_least) == -1;
}

#include <ccoll/codec/sze/passes.inl>

}  // namespace avx2

}  // namespace ccoll::detail::sze

#include <ccoll/base/kernels_end.inl>

#endif
