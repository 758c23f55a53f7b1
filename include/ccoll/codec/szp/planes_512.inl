// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/planes_512.inl - floor 2. Differences to planes and back, for the two sets with AVX-512. Each of
// them first defines
//   planes_of(words)         16 planes of 32 words in the order in which registers are packed
//   words_of(in, width)      and back, to words in the order of the values; planes from `width` on, which is
//                            1..16, repeat the sign

CCOLL_INLINE __m512i low_planes(const quanta& d) noexcept
{
    const __m512i low = all_32(0xffff);
    return planes_of(_mm512_packus_epi32(_mm512_and_si512(d.v[0], low), _mm512_and_si512(d.v[1], low)));
}
CCOLL_INLINE __m512i high_planes(const quanta& d) noexcept
{
    return planes_of(_mm512_packs_epi32(_mm512_srai_epi32(d.v[0], 16), _mm512_srai_epi32(d.v[1], 16)));
}
CCOLL_INLINE void put_all_planes(const quanta& d, u8* out) noexcept
{
    _mm512_storeu_si512(out, low_planes(d));
    _mm512_storeu_si512(out + 64, high_planes(d));
}
CCOLL_INLINE unsigned put_planes(const quanta& d, u8* out, unsigned expected = 0) noexcept
{
    if (expected < 16) [[likely]]
        if (const unsigned width = put_16_planes(planes_of(_mm512_packs_epi32(d.v[0], d.v[1])), out);
            width < 16) [[likely]]
            return width;
    // Packing saturates, so all that has more than 15 bits comes here.
    return put_32_planes(low_planes(d), high_planes(d), out);
}
CCOLL_INLINE void get_planes(const u8* in, unsigned width, quanta& d) noexcept
{
    const __m512i low = words_of(in, std::min(width, 16u));
    d.v[0] = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(low));
    d.v[1] = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(low, 1));
    if (width <= 16) [[likely]]
        return;
    const __m512i high = words_of(in + 64, width - 16);  // over the low words' repeated signs
    d.v[0] = _mm512_mask_blend_epi16(
        0xaaaaaaaau, d.v[0], _mm512_slli_epi32(_mm512_cvtepi16_epi32(_mm512_castsi512_si256(high)), 16));
    d.v[1] = _mm512_mask_blend_epi16(
        0xaaaaaaaau, d.v[1],
        _mm512_slli_epi32(_mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(high, 1)), 16));
}

inline constexpr unsigned few_planes = 16;
/// Prefix sums are dot products: two values against a triangle of ones, on top of the running total of pairs,
/// of which there are only 16.
CCOLL_INLINE void scan_few_planes(const u8* in, unsigned width, quanta& q, running& r) noexcept
{
    const word_orders& o = avx512::words();
    const __m512i words = words_of(in, width), last = avx512::all(o.last), triangle = avx512::all(o.triangle);
    const __m512i total = avx512::totals_of(_mm512_madd_epi16(words, _mm512_set1_epi16(1)), r);
    const auto two = [&](int h) CCOLL_TARGET {
        return _mm512_madd_epi16(triangle, _mm512_permutexvar_epi32(avx512::all(o.twos[h]), words));
    };
    q.v[0] =
        _mm512_add_epi32(_mm512_mask_permutexvar_epi32(r, 0xfffc, avx512::all(o.before[0]), total), two(0));
    q.v[1] = _mm512_add_epi32(_mm512_permutexvar_epi32(avx512::all(o.before[1]), total), two(1));
    r = _mm512_permutexvar_epi32(last, total);
}
