// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/avx512_planes.inl - floor 2. Differences to planes and back, for the two sets with AVX-512. Each of them first defines
//   planes_of(words) -> planes         32 words, as they are packed, to 16 planes
//   words_of(in, width) -> words       and back to words in order; planes from `width` on repeat the sign

CCOLL_INLINE unsigned put_small(const differences& d, u8* out) noexcept
{
    return put_16_planes(planes_of(_mm512_packs_epi32(d.a, d.b)), out);
}
CCOLL_INLINE unsigned put_planes(const differences& d, u8* out) noexcept
{
    const __m512i low_word = all_32(equal().low_words);
    const __m512i low = planes_of(_mm512_packus_epi32(_mm512_and_si512(d.a, low_word), _mm512_and_si512(d.b, low_word)));
    const __m512i high = planes_of(_mm512_packs_epi32(_mm512_srai_epi32(d.a, 16), _mm512_srai_epi32(d.b, 16)));
    return put_32_planes(low, high, out);
}
CCOLL_INLINE unsigned put_planes(const differences& d, bool brief, u8* out) noexcept
{
    return brief ? put_small(d, out) : put_planes(d, out);
}
/// @param width  1..32
CCOLL_INLINE void get_planes(const u8* in, unsigned width, differences& d) noexcept
{
    const __m512i low = words_of(in, std::min(width, 16u));
    d.a = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(low));
    d.b = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(low, 1));
    if (width <= 16) [[likely]]
        return;
    const __m512i high = words_of(in + 64, width - 16);  // over the low words' repeated signs
    d.a = _mm512_mask_blend_epi16(0xaaaaaaaau, d.a, _mm512_slli_epi32(_mm512_cvtepi16_epi32(_mm512_castsi512_si256(high)), 16));
    d.b = _mm512_mask_blend_epi16(0xaaaaaaaau, d.b, _mm512_slli_epi32(_mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(high, 1)), 16));
}
