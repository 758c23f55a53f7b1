// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/avx2_lists.inl - floor 2. A list and its planes with AVX2: what szp/lists.inl needs.

using namespace lists;

CCOLL_INLINE unsigned ones_of(u32 v) noexcept { return static_cast<unsigned>(_mm_popcnt_u32(v)); }

/// The places of a block: the low bits of the entries of a list.
CCOLL_INLINE __m256i all_places() noexcept
{
    return _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                            30, 31);
}
/// `what` in the bytes whose bit is set.
CCOLL_INLINE __m256i where(u32 bits, u8 what) noexcept
{
    const __m256i bit = _mm256_set1_epi64x(static_cast<i64>(0x8040201008040201u));
    const __m256i of_group = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i own = _mm256_and_si256(_mm256_shuffle_epi8(repeat_256(bits), of_group), bit);
    return _mm256_and_si256(_mm256_cmpeq_epi8(own, bit), _mm256_set1_epi8(static_cast<char>(what)));
}
/// All entries side by side, then those that there are, 8 places at a time.
CCOLL_INLINE void put_list(const few_planes& p, unsigned, u8* to) noexcept
{
    __m256i v =
        _mm256_or_si256(_mm256_or_si256(all_places(), where(p.of[0], 0x20)), _mm256_or_si256(where(p.of[1], 0x40), where(p.of[2], 0x80)));
    const __m128i low = _mm256_castsi256_si128(v), high = _mm256_extracti128_si256(v, 1);
    const __m128i groups[4] = {low, _mm_unpackhi_epi64(low, low), high, _mm_unpackhi_epi64(high, high)};
    const u32 any = p.any();
    for (unsigned g = 0; g < 4; ++g) {
        const u32 here = any >> 8 * g & 255;
        const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(set_bits.of[here]));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(groups[g], order));
        to += ones_of(here);
    }
}
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
