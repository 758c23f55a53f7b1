// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/avx2.hpp - floor 2. SZe with AVX2: the eight lanes of a stream are the lanes of a register.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/sze/avx2_residuals.hpp>
#include <ccoll/codec/sze/portable.hpp>
#include <ccoll/codec/szp/avx2.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::sze {

namespace avx2 {

/// @param end  of what may be read
CCOLL_INLINE void planes_to_differences(const u8* from, unsigned width, const u8* end, i32* d) noexcept
{
    if (static_cast<std::size_t>(end - from) < 4 * std::size_t{width} + 28) return portable::planes_to_differences(from, width, end, d);
    szp::avx2::differences all;  // whole registers are read
    szp::avx2::get_planes(from, width, all);
    for (std::size_t i = 0; i < 4; ++i) _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + 8 * i), all.v[i]);
}

/// [mask of lanes that are to be refilled][lane] which of the next words it takes
struct word_numbers {
    u8 of[256][8];
};
constexpr word_numbers make_word_numbers()
{
    word_numbers n{};
    for (unsigned m = 0; m < 256; ++m)
        for (unsigned j = 0, next = 0; j < 8; ++j) n.of[m][j] = static_cast<u8>((m >> j & 1) != 0 ? next++ : 0);
    return n;
}
inline constexpr word_numbers word_of_lane = make_word_numbers();

/// [mask of lanes that are full][lane] which lane's word goes there, so that the words of all full lanes end with the last one
constexpr word_numbers make_lane_numbers()
{
    word_numbers n{};
    for (unsigned m = 0; m < 256; ++m)
        for (unsigned j = 8, next = 8; j-- > 0;)
            if ((m >> j & 1) != 0) n.of[m][--next] = static_cast<u8>(j);
    return n;
}
inline constexpr word_numbers lane_of_word = make_lane_numbers();

/// An encoding_step with an inverse in double. x / share is the product x inverse, cut to an integer, for x < share 2^22: the inverse is
/// too large by less than 2^-51 of it, so that the product is not below the quotient, and above it by less than 2^-28, while a quotient
/// that is no integer is 2^-10 below the next one at least.
struct alignas(16) double_step {
    double inverse = 0;
    u32 share = 0, first = 0;

    double_step() noexcept = default;
    double_step(u32 of, u32 begin) noexcept : inverse(1 / static_cast<double>(of) * (1 + 0x1p-51)), share(of), first(begin) {}
};
/// Of four lanes.
struct four_steps {
    __m256d inverse;
    __m128i share, first;
};
/// By loads, because gathers take longer.
CCOLL_INLINE four_steps steps_of(const double_step* of, const u8* t) noexcept
{
    const __m128d a = _mm_load_pd(&of[t[0]].inverse), b = _mm_load_pd(&of[t[1]].inverse);
    const __m128d c = _mm_load_pd(&of[t[2]].inverse), d = _mm_load_pd(&of[t[3]].inverse);
    const __m128 ab = _mm_castpd_ps(_mm_unpackhi_pd(a, b)), cd = _mm_castpd_ps(_mm_unpackhi_pd(c, d));
    return {_mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_unpacklo_pd(a, b)), _mm_unpacklo_pd(c, d), 1),
            _mm_castps_si128(_mm_shuffle_ps(ab, cd, 0x88)), _mm_castps_si128(_mm_shuffle_ps(ab, cd, 0xdd))};
}
CCOLL_INLINE __m128i quotients(__m128i x, __m256d inverse) noexcept
{
    const __m256d two52 = _mm256_set1_pd(0x1p52);
    const __m256i wide = _mm256_or_si256(_mm256_cvtepu32_epi64(x), _mm256_castpd_si256(two52));
    return _mm256_cvttpd_epi32(_mm256_mul_pd(_mm256_sub_pd(_mm256_castsi256_pd(wide), two52), inverse));
}
CCOLL_INLINE __m256i joined(__m128i low, __m128i high) noexcept { return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1); }

CCOLL_TARGET inline u8* encode_tokens(const u8* t, const u8* class_of_group, std::size_t groups, const share_table* tables, u8* end,
                                      u32* states) noexcept
{
    double_step steps[classes][tokens];
    for (std::size_t c = 0; c < classes; ++c) make_steps(tables[c], steps[c]);
    const __m256i low = _mm256_set1_epi32(0xffff), all = _mm256_set1_epi32(whole), one = _mm256_set1_epi32(1);
    __m256i x = _mm256_set1_epi32(static_cast<int>(least_state));
    for (std::size_t g = groups; g-- > 0;) {
        const double_step* const of = steps[class_of_group[g]];
        const four_steps a = steps_of(of, t + lanes * g), b = steps_of(of, t + lanes * g + 4);
        const __m256i share = joined(a.share, b.share), first = joined(a.first, b.first);

        const __m256i full = _mm256_cmpgt_epi32(_mm256_srli_epi32(x, 32 - share_bits), _mm256_sub_epi32(share, one));
        const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(full)));
        const __m256i number = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(lane_of_word.of[mask])));
        const __m256i words = _mm256_permutevar8x32_epi32(_mm256_and_si256(x, low), number);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(end - 16),
                         _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
        end -= 2 * _mm_popcnt_u32(mask);
        x = _mm256_blendv_epi8(x, _mm256_srli_epi32(x, 16), full);

        const __m256i quotient =
            joined(quotients(_mm256_castsi256_si128(x), a.inverse), quotients(_mm256_extracti128_si256(x, 1), b.inverse));
        x = _mm256_add_epi32(_mm256_add_epi32(x, first), _mm256_mullo_epi32(quotient, _mm256_sub_epi32(all, share)));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(states), x);
    return end;
}

CCOLL_TARGET inline bool decode_tokens(const u8* from, const u8* end, const u8* states, const slot_table* slots, const model& m,
                                       std::size_t groups, u8* t) noexcept
{
    constexpr u32 table_size = sizeof(slot_table) / sizeof(u32);
    u32 first_slot[512];  // of twice an activity
    for (u32 a = 0; a < 512; ++a) first_slot[a] = m.class_of(a / 2) * table_size;
    const std::size_t second = m.second_row();
    const std::size_t w = m.distances[0].places;
    const __m256i low = _mm256_set1_epi32(whole - 1), share = _mm256_set1_epi32(0x7ff);
    __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(states));
    __m256i of = _mm256_set1_epi32(static_cast<int>(first_slot[0]));
    for (std::size_t g = 0; g < groups; ++g) {
        if (from > end) return false;
        const __m256i index = _mm256_add_epi32(of, _mm256_and_si256(x, low));
        const __m256i slot = _mm256_i32gather_epi32(reinterpret_cast<const int*>(slots), index, 4);
        const __m256i code = _mm256_srli_epi32(slot, 24);
        const __m128i codes = _mm_packus_epi32(_mm256_castsi256_si128(code), _mm256_extracti128_si256(code, 1));
        const __m128i bytes = _mm_packus_epi16(codes, _mm_setzero_si128());
        _mm_storel_epi64(reinterpret_cast<__m128i*>(t + lanes * g), bytes);
        const __m128i own = activity_of(bytes);
        const __m128i other =
            g + 1 < second ? own : activity_of(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(t + lanes * (g + 1) - w)));
        const auto activity = static_cast<u32>(_mm_cvtsi128_si32(_mm_add_epi32(own, other)));
        of = _mm256_set1_epi32(static_cast<int>(first_slot[activity]));

        const __m256i place = _mm256_and_si256(_mm256_srli_epi32(slot, 11), low);
        x = _mm256_add_epi32(_mm256_mullo_epi32(_mm256_and_si256(slot, share), _mm256_srli_epi32(x, share_bits)), place);
        const __m256i empty = _mm256_cmpeq_epi32(_mm256_srli_epi32(x, 16), _mm256_setzero_si256());
        const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(empty)));
        const __m256i next = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
        const __m256i number = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(word_of_lane.of[mask])));
        const __m256i filled = _mm256_or_si256(_mm256_slli_epi32(x, 16), _mm256_permutevar8x32_epi32(next, number));
        x = _mm256_blendv_epi8(x, filled, empty);
        from += 2 * _mm_popcnt_u32(mask);
    }
    const __m256i at_least = _mm256_cmpeq_epi32(x, _mm256_set1_epi32(static_cast<int>(least_state)));
    return from == end && _mm256_movemask_epi8(at_least) == -1;
}

#include <ccoll/codec/sze/loops.inl>
#include <ccoll/codec/sze/passes.inl>

}  // namespace avx2

}  // namespace ccoll::detail::sze

#include <ccoll/base/kernels_end.inl>

#endif
