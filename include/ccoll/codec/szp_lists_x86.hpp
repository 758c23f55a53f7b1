// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp_lists_x86.hpp - floor 2. The same with AVX2 and with AVX-512 VBMI2, behind function targets. The same bytes.
#pragma once

#include <immintrin.h>

#include <ccoll/codec/szp_lists_portable.hpp>

#if !defined(__clang__)  // g++ 12 warns about its own headers
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace ccoll::inline CCOLL_ABI::detail::szp::lists {

namespace avx2 {

#define CCOLL_SZP_TARGET __attribute__((target("avx2,popcnt,lzcnt,bmi,bmi2")))
#define CCOLL_SZP_INLINE CCOLL_SZP_TARGET inline __attribute__((always_inline))
CCOLL_SZP_INLINE unsigned ones_of(u32 v) noexcept { return static_cast<unsigned>(_mm_popcnt_u32(v)); }
CCOLL_SZP_INLINE void put_list(const few_planes& p, unsigned count, u8* to) noexcept { put_one_by_one(p, count, to); }
CCOLL_SZP_INLINE few_planes get_list(const u8* from, unsigned count) noexcept
{
    const __m256i v = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(_bzhi_u64(get<u64>(from), 8 * count))));  // an entry of 0 adds nothing
    const __m256i place = _mm256_and_si256(v, _mm256_set1_epi32(31)), one = _mm256_set1_epi32(1);
    const __m256i first = _mm256_sllv_epi32(_mm256_and_si256(_mm256_srli_epi32(v, 5), one), place);
    const __m256i second = _mm256_sllv_epi32(_mm256_and_si256(_mm256_srli_epi32(v, 6), one), place);
    const __m256i third = _mm256_sllv_epi32(_mm256_srli_epi32(v, 7), place);
    const __m256i both = _mm256_or_si256(_mm256_unpacklo_epi32(first, second), _mm256_unpackhi_epi32(first, second));
    __m128i low = _mm_or_si128(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    __m128i high = _mm_or_si128(_mm256_castsi256_si128(third), _mm256_extracti128_si256(third, 1));
    low = _mm_or_si128(low, _mm_unpackhi_epi64(low, low));
    high = _mm_or_si128(high, _mm_unpackhi_epi64(high, high));
    high = _mm_or_si128(high, _mm_shuffle_epi32(high, 0x55));
    const u64 of_low = static_cast<u64>(_mm_cvtsi128_si64(low));
    return {static_cast<u32>(of_low), static_cast<u32>(of_low >> 32), static_cast<u32>(_mm_cvtsi128_si32(high))};
}
#include <ccoll/codec/szp_lists.inl>
#undef CCOLL_SZP_INLINE
#undef CCOLL_SZP_TARGET

}  // namespace avx2

// Ice Lake, Zen 4: VBMI2.
namespace avx512_gfni {

#define CCOLL_SZP_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,popcnt,lzcnt,bmi,bmi2")))
#define CCOLL_SZP_INLINE CCOLL_SZP_TARGET inline __attribute__((always_inline))
CCOLL_SZP_INLINE unsigned ones_of(u32 v) noexcept { return static_cast<unsigned>(_mm_popcnt_u32(v)); }
CCOLL_SZP_INLINE void put_list(const few_planes& p, unsigned, u8* to) noexcept
{
    __m256i v = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    v = _mm256_mask_add_epi8(v, p.of[0], v, _mm256_set1_epi8(0x20));
    v = _mm256_mask_add_epi8(v, p.of[1], v, _mm256_set1_epi8(0x40));
    v = _mm256_mask_add_epi8(v, p.of[2], v, _mm256_set1_epi8(-0x80));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_maskz_compress_epi8(p.any(), v));
}
CCOLL_SZP_INLINE few_planes get_list(const u8* from, unsigned count) noexcept { return avx2::get_list(from, count); }
#include <ccoll/codec/szp_lists.inl>
#undef CCOLL_SZP_INLINE
#undef CCOLL_SZP_TARGET

}  // namespace avx512_gfni

}  // namespace ccoll::detail::szp::lists

#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
