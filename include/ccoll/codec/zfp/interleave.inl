// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/interleave.inl - floor 2. Coefficients of eight blocks of ZFP become planes of four bits, and
// back. Compiled once per instruction set.

template <class Number>
CCOLL_INLINE __m256i load_8(const of_batch<Number>& from, std::size_t b) noexcept
{
    static_assert(sizeof(Number) == 4);
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + b));
}
template <class Number>
CCOLL_INLINE __m256i load_4(const of_batch<Number>& from, std::size_t b) noexcept
{
    static_assert(sizeof(Number) == 8);
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + b));
}
/// As numbers of 64 bits.
CCOLL_INLINE __m256i load_4(const of_batch<std::uint32_t>& from, std::size_t b) noexcept
{
    return _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + b)));
}
template <class Number>
CCOLL_INLINE void store_lanes(__m256i x, of_batch<Number>& to, std::size_t b) noexcept
{
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + b), x);
}

/// The low halves of eight numbers of 64 bits, and the high ones.
CCOLL_INLINE __m256i low_halves(__m256i first, __m256i second) noexcept
{
    const __m256 mixed = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), 0x88);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8);
}
CCOLL_INLINE __m256i high_halves(__m256i first, __m256i second) noexcept
{
    const __m256 mixed = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), 0xdd);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8);
}

/// 32 planes of eight blocks, four bits each, the first one lowest, in two words.
/// @param c  32 bits of each coefficient, the one of the first plane highest
CCOLL_INLINE void interleave(const __m256i (&c)[block_values], std::uint64_t (*to)[2]) noexcept
{
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i highest_byte_first =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    // Of a nibble: bit 3 stays apart from bit 2, which belongs to the next plane, and bit 1 from bit 0.
    const __m256i first_two =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 16, 16, 16, 16, 1, 1, 1, 1, 17, 17, 17, 17));
    const __m256i last_two =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 16, 1, 17, 0, 16, 1, 17, 0, 16, 1, 17, 0, 16, 1, 17));
    __m256i two[4] = {};
    for (std::size_t i = block_values; i-- > 0;) {
        const __m256i x = _mm256_shuffle_epi8(c[i], highest_byte_first);
        const __m256i high = _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble),
                      low = _mm256_and_si256(x, nibble);
        const __m256i all[4] = {_mm256_shuffle_epi8(first_two, high), _mm256_shuffle_epi8(last_two, high),
                                _mm256_shuffle_epi8(first_two, low), _mm256_shuffle_epi8(last_two, low)};
        for (std::size_t k = 0; k < 4; ++k) two[k] = _mm256_or_si256(_mm256_add_epi8(two[k], two[k]), all[k]);
    }
    const __m256i first_blocks[2] = {_mm256_unpacklo_epi8(two[0], two[1]),
                                     _mm256_unpacklo_epi8(two[2], two[3])};
    const __m256i last_blocks[2] = {_mm256_unpackhi_epi8(two[0], two[1]),
                                    _mm256_unpackhi_epi8(two[2], two[3])};
    const __m256i blocks[4] = {_mm256_unpacklo_epi16(first_blocks[0], first_blocks[1]),
                               _mm256_unpackhi_epi16(first_blocks[0], first_blocks[1]),
                               _mm256_unpacklo_epi16(last_blocks[0], last_blocks[1]),
                               _mm256_unpackhi_epi16(last_blocks[0], last_blocks[1])};
    for (std::size_t k = 0; k < 4; ++k) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to[k]), _mm256_castsi256_si128(blocks[k]));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to[4 + k]), _mm256_extracti128_si256(blocks[k], 1));
    }
}
/// The reverse.
CCOLL_INLINE void deinterleave(const std::uint64_t (*from)[2], __m256i (&c)[block_values]) noexcept
{
    // A nibble is a plane. Its bits move apart, so that those of the next plane come in between.
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i first = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 2, 8, 10, 32, 34, 40, 42, -128, -126, -120, -118, -96, -94, -88, -86));
    const __m256i second = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 4, 5, 16, 17, 20, 21, 64, 65, 68, 69, 80, 81, 84, 85));
    // Four bytes of each coefficient, the last planes first. They stand four bytes apart, those of the last
    // coefficient first.
    const __m256i together =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0));
    __m256 block[4];
    for (std::size_t k = 0; k < 4; ++k) {
        const __m256i planes = _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(from[4 + k]),
                                                   reinterpret_cast<const __m128i*>(from[k]));
        __m256i x = _mm256_or_si256(
            _mm256_shuffle_epi8(first, _mm256_and_si256(planes, nibble)),
            _mm256_shuffle_epi8(second, _mm256_and_si256(_mm256_srli_epi16(planes, 4), nibble)));
        // Four bytes of four pairs of bits, about the other diagonal.
        __m256i t =
            _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi32(x, 20)), _mm256_set1_epi32(0x00000f0f));
        x = _mm256_xor_si256(x, _mm256_or_si256(t, _mm256_slli_epi32(t, 20)));
        t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi32(x, 10)), _mm256_set1_epi32(0x00330033));
        x = _mm256_xor_si256(x, _mm256_or_si256(t, _mm256_slli_epi32(t, 10)));
        block[k] = _mm256_castsi256_ps(_mm256_shuffle_epi8(x, together));
    }
    transpose(block);
    for (std::size_t i = 0; i < block_values; ++i) c[i] = _mm256_castps_si256(block[i]);
}
