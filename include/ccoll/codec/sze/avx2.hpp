// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/avx2.hpp - floor 2. SZe with AVX2: the eight lanes of a stream are the lanes of a register.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/sze/portable.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::sze {

namespace avx2 {

using portable::encode_tokens;
using portable::planes_to_differences;

#include <ccoll/codec/sze/loops.inl>

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

CCOLL_TARGET inline bool decode_tokens(const u8* from, const u8* end, const u8* states, const u32 (*slots)[whole], const model& m,
                                       std::size_t groups, u8* t) noexcept
{
    u32 first_slot[256];
    for (u32 a = 0; a < 256; ++a) first_slot[a] = static_cast<u32>(m.class_of(a) * whole);
    const __m256i low = _mm256_set1_epi32(whole - 1), share = _mm256_set1_epi32(0x7ff);
    const __m128i most = _mm_set1_epi8(most_active);
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
        const auto activity = static_cast<u32>(_mm_cvtsi128_si32(_mm_sad_epu8(_mm_min_epu8(bytes, most), _mm_setzero_si128())));
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

#include <ccoll/codec/sze/low_bits.inl>
#include <ccoll/codec/sze/passes.inl>

}  // namespace avx2

namespace avx512 = avx2;
namespace avx512_gfni = avx2;

}  // namespace ccoll::detail::sze

#include <ccoll/base/kernels_end.inl>

#endif
