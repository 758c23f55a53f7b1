// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/add_planes.inl - floor 2. Planes of sums, 8 at once, for AVX2 and AVX-512. Each of them first
// defines
//   other_than_sign(v)      bit k: plane k differs from the sign plane; bit 7: that is not 0
//   or_and(a, b, c)         a | (b & c)
//   planes_up<By>(v, in)    plane k gets plane k - By; `in` comes in

/// Planes at .. at + 7; beyond the width, the sign.
CCOLL_INLINE __m256i planes_from(const u8* in, std::size_t width, std::size_t at) noexcept
{
    if (at >= width) [[unlikely]]
        return _mm256_set1_epi32(get<i32>(in + 4 * (width - 1)));
    return _mm256_permutevar8x32_epi32(avx2::load_256(in + 4 * at),
                                       avx2::load_256(kept_planes.of[std::min<std::size_t>(width - at, 8)]));
}
/// Planes of the sum, 8 at once: carries run over the planes in three steps (Kogge-Stone).
/// @param carry  all values' carry into the first plane, in all words, and then out of the last one; looked
///               at if Chained
template <bool Chained>
CCOLL_INLINE __m256i add_8_planes(__m256i a, __m256i b, __m256i& carry) noexcept
{
    const __m256i differ = _mm256_xor_si256(a, b), none = _mm256_setzero_si256(),
                  below = Chained ? _mm256_set1_epi32(-1) : none;
    __m256i makes = _mm256_and_si256(a, b), passes = differ;
    makes = or_and(makes, passes, planes_up<1>(makes, none));
    passes = _mm256_and_si256(passes, planes_up<1>(passes, below));
    makes = or_and(makes, passes, planes_up<2>(makes, none));
    passes = _mm256_and_si256(passes, planes_up<2>(passes, below));
    makes = or_and(makes, passes, planes_up<4>(makes, none));
    const __m256i into = carry;
    if constexpr (Chained) {
        makes = or_and(makes, _mm256_and_si256(passes, planes_up<4>(passes, below)), into);
        carry = _mm256_permutevar8x32_epi32(makes, _mm256_set1_epi32(7));
    }
    return _mm256_xor_si256(differ, planes_up<1>(makes, into));
}
template <unsigned Most>
CCOLL_INLINE std::size_t add_blocks(const u8* a, std::size_t wa, const u8* b, std::size_t wb,
                                    u8* out) noexcept
{
    if (wa == 0 || wb == 0) {
        const std::size_t width = wa | wb;
        const u8* const from = wa == 0 ? b : a;
        avx2::store_256(out, avx2::load_256(from));
        for (std::size_t at = 8; at < width; at += 8)
            avx2::store_256(out + 4 * at, avx2::load_256(from + 4 * at));
        return width;
    }
    __m256i carry = _mm256_setzero_si256();
    if (Most <= 7 || (wa | wb) <= 7) [[likely]] {
        const __m256i sum = add_8_planes<false>(planes_from(a, wa, 0), planes_from(b, wb, 0), carry);
        avx2::store_256(out, sum);
        return width_of(other_than_sign(sum));
    }
    std::size_t width = std::min<std::size_t>(std::max(wa, wb) + 1, widest);
    for (std::size_t at = 0; at < width; at += 8)
        avx2::store_256(out + 4 * at,
                        add_8_planes<true>(planes_from(a, wa, at), planes_from(b, wb, at), carry));
    const u32 sign = get<u32>(out + 4 * (width - 1));
    while (width > 0 && get<u32>(out + 4 * (width - 1)) == sign) --width;
    return width > 0 || sign != 0 ? width + 1 : 0;
}
