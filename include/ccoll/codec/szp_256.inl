// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp_256.inl - from 8 bit planes to 32 bytes, and sums of planes, in 256-bit registers; included into the namespaces of
// the kernels without GFNI (szp_x86.hpp).

CCOLL_SZP_INLINE __m256i load_256(const void* p) noexcept { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
CCOLL_SZP_INLINE __m256i repeat_256(u32 v) noexcept { return _mm256_set1_epi32(static_cast<int>(v)); }
CCOLL_SZP_INLINE __m256i repeat_256(u64 v) noexcept { return _mm256_set1_epi64x(static_cast<i64>(v)); }
CCOLL_SZP_INLINE __m256i lane_numbers() noexcept { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }

/// 8x8 bit transposes, one in each lane of 64 bits.
CCOLL_SZP_INLINE __m256i transposed_256(__m256i v) noexcept
{
    const equal_words& w = equal();
    __m256i t = _mm256_and_si256(_mm256_xor_si256(v, _mm256_srli_epi64(v, 7)), repeat_256(w.swapped[0]));
    v = _mm256_xor_si256(_mm256_xor_si256(v, t), _mm256_slli_epi64(t, 7));
    t = _mm256_and_si256(_mm256_xor_si256(v, _mm256_srli_epi64(v, 14)), repeat_256(w.swapped[1]));
    v = _mm256_xor_si256(_mm256_xor_si256(v, t), _mm256_slli_epi64(t, 14));
    t = _mm256_and_si256(_mm256_xor_si256(v, _mm256_srli_epi64(v, 28)), repeat_256(w.swapped[2]));
    return _mm256_xor_si256(_mm256_xor_si256(v, t), _mm256_slli_epi64(t, 28));
}
/// The bytes of four words, transposed.
CCOLL_SZP_INLINE __m256i turned_4x4(__m256i v) noexcept
{
    return _mm256_shuffle_epi8(v, _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
}

/// 8 planes, of which those from `width` on repeat the sign, to 32 bytes in the order of the values: bytes of one group of 8 values
/// together, then transposed.
CCOLL_SZP_INLINE __m256i get_8_planes(const u8* in, unsigned width) noexcept
{
    const __m256i planes = _mm256_permutevar8x32_epi32(load_256(in), load_256(kept_planes.of[std::min(width, 8u)]));
    return transposed_256(_mm256_permutevar8x32_epi32(turned_4x4(planes), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}

/// The sign plane, in all words.
CCOLL_SZP_INLINE __m256i sign_of(__m256i planes) noexcept { return _mm256_permutevar8x32_epi32(planes, repeat_256(equal().seven)); }
/// Bit k: plane k differs from the sign plane; bit 7: that is not 0.
CCOLL_SZP_INLINE u8 other_than_sign(__m256i planes) noexcept
{
    const __m256i same = _mm256_cmpeq_epi32(planes, _mm256_blend_epi32(sign_of(planes), _mm256_setzero_si256(), 0x80));
    return static_cast<u8>(~_mm256_movemask_ps(_mm256_castsi256_ps(same)));
}

/// Lane k gets lane k - Lanes; zeros come in.
template <int Lanes>
CCOLL_SZP_INLINE __m256i planes_up(__m256i v) noexcept
{
    if constexpr (Lanes == 4) return _mm256_permute2x128_si256(v, v, 0x08);
    else if constexpr (Lanes == 2) return _mm256_blend_epi32(_mm256_permute4x64_epi64(v, 0x90), _mm256_setzero_si256(), 0x03);
    else return _mm256_blend_epi32(_mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6)), _mm256_setzero_si256(), 0x01);
}
/// Planes at .. at + 7; beyond the width, the sign.
CCOLL_SZP_INLINE __m256i planes_from(const u8* in, unsigned width, unsigned at) noexcept
{
    if (at >= width) return repeat_256(get<u32>(in + 4 * (width - 1)));
    return _mm256_permutevar8x32_epi32(load_256(in + 4 * at), _mm256_min_epu32(lane_numbers(), repeat_256(width - 1 - at)));
}
/// Planes of the sum, 8 at once: carries run over the lanes in three steps (Kogge-Stone).
/// @param carry  all values' carry into the first plane, and then out of the last one; looked at if Chained
template <bool Chained>
CCOLL_SZP_INLINE __m256i add_8_planes(__m256i a, __m256i b, u32& carry) noexcept
{
    const __m256i differ = _mm256_xor_si256(a, b), below_1 = _mm256_setr_epi32(-1, 0, 0, 0, 0, 0, 0, 0), below_2 = _mm256_setr_epi32(-1, -1, 0, 0, 0, 0, 0, 0);
    __m256i makes = _mm256_and_si256(a, b), passes = differ;
    makes = _mm256_or_si256(makes, _mm256_and_si256(passes, planes_up<1>(makes)));
    passes = _mm256_and_si256(passes, Chained ? _mm256_or_si256(planes_up<1>(passes), below_1) : planes_up<1>(passes));
    makes = _mm256_or_si256(makes, _mm256_and_si256(passes, planes_up<2>(makes)));
    passes = _mm256_and_si256(passes, Chained ? _mm256_or_si256(planes_up<2>(passes), below_2) : planes_up<2>(passes));
    makes = _mm256_or_si256(makes, _mm256_and_si256(passes, planes_up<4>(makes)));
    if constexpr (!Chained) return _mm256_xor_si256(differ, planes_up<1>(makes));
    passes = _mm256_and_si256(passes, _mm256_or_si256(planes_up<4>(passes), _mm256_setr_epi32(-1, -1, -1, -1, 0, 0, 0, 0)));
    makes = _mm256_or_si256(makes, _mm256_and_si256(passes, repeat_256(carry)));
    const __m256i into = _mm256_or_si256(planes_up<1>(makes), _mm256_and_si256(repeat_256(carry), below_1));
    carry = static_cast<u32>(_mm256_extract_epi32(makes, 7));
    return _mm256_xor_si256(differ, into);
}
CCOLL_SZP_INLINE unsigned add_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    if (wa == 0 || wb == 0) {
        const unsigned width = wa | wb;
        const u8* const from = wa == 0 ? b : a;
        for (unsigned at = 0; at < width; at += 16) {
            const __m256i low = load_256(from + 4 * at), high = load_256(from + 4 * at + 32);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 4 * at), low);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 4 * at + 32), high);
        }
        return width;
    }
    u32 carry = 0;
    if ((wa | wb) <= 7) [[likely]] {
        const __m256i sum = add_8_planes<false>(planes_from(a, wa, 0), planes_from(b, wb, 0), carry);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), sum);
        return width_of(other_than_sign(sum));
    }
    unsigned width = std::min(std::max(wa, wb) + 1, widest_narrow);
    for (unsigned at = 0; at < width; at += 8)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 4 * at), add_8_planes<true>(planes_from(a, wa, at), planes_from(b, wb, at), carry));
    const u32 sign = get<u32>(out + 4 * (width - 1));
    while (width > 0 && get<u32>(out + 4 * (width - 1)) == sign) --width;
    return width > 0 || sign != 0 ? width + 1 : 0;
}
