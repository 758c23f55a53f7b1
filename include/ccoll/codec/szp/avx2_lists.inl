// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/avx2_lists.inl - floor 2. A list and its planes with AVX2: what szp/lists.inl needs.

using namespace lists;

CCOLL_INLINE unsigned ones_of(u32 v) noexcept { return static_cast<unsigned>(_mm_popcnt_u32(v)); }
CCOLL_INLINE void put_list(const few_planes& p, unsigned count, u8* to) noexcept { put_one_by_one(p, count, to); }
CCOLL_INLINE few_planes get_list(const u8* from, unsigned count) noexcept
{
    // An entry of 0 adds nothing.
    const __m256i v = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(_bzhi_u64(get<u64>(from), 8 * count))));
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
