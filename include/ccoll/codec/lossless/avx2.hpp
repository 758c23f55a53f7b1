// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lossless/avx2.hpp - floor 2. The loops over exponents with AVX2: 32 values at a time.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/lossless/portable.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::lossless::avx2 {

/// [mask of eight bytes] where a byte comes from; the highest bit makes it 0
struct byte_places {
    alignas(64) u8 of[256][8];
};
/// Moves the bytes of the mask to the front.
constexpr byte_places make_front_places()
{
    byte_places p{};
    for (unsigned m = 0; m < 256; ++m) {
        unsigned next = 0;
        for (unsigned j = 0; j < 8; ++j)
            if ((m >> j & 1) != 0) p.of[m][next++] = static_cast<u8>(j);
        for (; next < 8; ++next) p.of[m][next] = 0x80;
    }
    return p;
}
/// Moves bytes from the front to those of the mask.
constexpr byte_places make_spread_places()
{
    byte_places p{};
    for (unsigned m = 0; m < 256; ++m)
        for (unsigned j = 0, next = 0; j < 8; ++j)
            p.of[m][j] = static_cast<u8>((m >> j & 1) != 0 ? next++ : 0x80);
    return p;
}
inline constexpr byte_places front_places = make_front_places(), spread_places = make_spread_places();

CCOLL_INLINE __m256i load(const void* from) noexcept
{
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
CCOLL_INLINE void store(void* to, __m256i x) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(to), x); }
CCOLL_INLINE __m128i load_8(const void* from) noexcept
{
    return _mm_loadl_epi64(static_cast<const __m128i*>(from));
}
/// Packing and unpacking work within halves of a register.
CCOLL_INLINE __m256i in_order(__m256i x) noexcept { return _mm256_permute4x64_epi64(x, 0xd8); }

/// 32 numbers of 16 bits as bytes.
CCOLL_INLINE __m256i low_bytes(__m256i a, __m256i b) noexcept
{
    const __m256i low = _mm256_set1_epi16(0xff);
    return in_order(_mm256_packus_epi16(_mm256_and_si256(a, low), _mm256_and_si256(b, low)));
}
CCOLL_INLINE __m256i high_bytes(__m256i a, __m256i b) noexcept
{
    return in_order(_mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8)));
}

/// 16 numbers of 16 bits, turned left by one bit, and back.
CCOLL_INLINE __m256i turned_left(__m256i w) noexcept
{
    return _mm256_or_si256(_mm256_add_epi16(w, w), _mm256_srli_epi16(w, 15));
}
CCOLL_INLINE __m256i turned_right(__m256i w) noexcept
{
    return _mm256_or_si256(_mm256_srli_epi16(w, 1), _mm256_slli_epi16(w, 15));
}

/// The upper halves of 16 words; stores the lower ones of words of 4 bytes.
template <class Word>
CCOLL_INLINE __m256i upper_halves(const u8* from, std::size_t i, u8* low) noexcept
{
    if constexpr (sizeof(Word) == 2) return load(from + 2 * i);
    else {
        const __m256i a = load(from + 4 * i), b = load(from + 4 * i + 32), zero = _mm256_setzero_si256();
        store(low + 2 * i, in_order(_mm256_packus_epi32(_mm256_blend_epi16(a, zero, 0xaa),
                                                        _mm256_blend_epi16(b, zero, 0xaa))));
        return in_order(_mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16)));
    }
}
template <class Word>
CCOLL_TARGET inline void split(const u8* from, std::size_t n, u8* high, u8* low, u8* symbols) noexcept
{
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i a = turned_left(upper_halves<Word>(from, i, low)),
                      b = turned_left(upper_halves<Word>(from, i + 16, low));
        store(high + i, low_bytes(a, b));
        store(symbols + i, high_bytes(a, b));
    }
    portable::split_from<Word>(i, from, n, high, low, symbols);
}

/// Stores 16 words, whose upper halves are given.
template <class Word>
CCOLL_INLINE void put_words(__m256i upper, const u8* low, std::size_t i, u8* to) noexcept
{
    if constexpr (sizeof(Word) == 2) store(to + 2 * i, upper);
    else {
        const __m256i half = low != nullptr ? in_order(load(low + 2 * i)) : _mm256_setzero_si256();
        upper = in_order(upper);
        store(to + 4 * i, _mm256_unpacklo_epi16(half, upper));
        store(to + 4 * i + 32, _mm256_unpackhi_epi16(half, upper));
    }
}
template <class Word>
CCOLL_TARGET inline void join(const u8* high, const u8* low, const u8* symbols, std::size_t n,
                              u8* to) noexcept
{
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i s = in_order(load(symbols + i)), h = in_order(load(high + i));
        put_words<Word>(turned_right(_mm256_unpacklo_epi8(h, s)), low, i, to);
        put_words<Word>(turned_right(_mm256_unpackhi_epi8(h, s)), low, i + 16, to);
    }
    portable::join_from<Word>(i, high, low, symbols, n, to);
}

template <unsigned Bits>
CCOLL_TARGET inline std::size_t encode_bits(const level& l, u8* symbols, std::size_t n, u8* planes) noexcept
{
    constexpr unsigned listed = (1u << Bits) - 1;
    const std::size_t plane = plane_bytes(n);
    __m256i symbol[listed];
    for (unsigned c = 0; c < listed; ++c) symbol[c] = _mm256_set1_epi8(static_cast<char>(l.symbols[c]));
    std::size_t i = 0, escapes = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i x = load(symbols + i);
        __m256i zeros[Bits];  // of the planes: the escape has none
        for (__m256i& z : zeros) z = _mm256_setzero_si256();
        CCOLL_UNROLLED
        for (unsigned c = 0; c < listed; ++c) {
            const __m256i is_c = _mm256_cmpeq_epi8(x, symbol[c]);
            CCOLL_UNROLLED
            for (unsigned b = 0; b < Bits; ++b)
                if ((c >> b & 1) == 0) zeros[b] = _mm256_or_si256(zeros[b], is_c);
        }
        u32 escaped = ~u32{0};
        CCOLL_UNROLLED
        for (unsigned b = 0; b < Bits; ++b) {
            const u32 bits = ~static_cast<u32>(_mm256_movemask_epi8(zeros[b]));
            put(planes + b * plane + i / 8, bits);
            escaped &= bits;
        }
        const __m128i half[2] = {_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)};
        CCOLL_UNROLLED
        for (unsigned j = 0; j < 4; ++j) {
            const u32 mask = escaped >> 8 * j & 0xff;
            const __m128i eight = j % 2 == 0 ? half[j / 2] : _mm_unpackhi_epi64(half[j / 2], half[j / 2]);
            _mm_storel_epi64(reinterpret_cast<__m128i*>(symbols + escapes),
                             _mm_shuffle_epi8(eight, load_8(front_places.of[mask])));
            escapes += static_cast<unsigned>(_mm_popcnt_u32(mask));
        }
    }
    return portable::encode_level_from(i, escapes, l, symbols, n, planes);
}
CCOLL_TARGET inline std::size_t encode_level(const level& l, u8* symbols, std::size_t n, u8* planes) noexcept
{
    switch (l.bits) {
    case 1: return encode_bits<1>(l, symbols, n, planes);
    case 2: return encode_bits<2>(l, symbols, n, planes);
    case 3: return encode_bits<3>(l, symbols, n, planes);
    default: return encode_bits<4>(l, symbols, n, planes);
    }
}

template <unsigned Bits>
CCOLL_TARGET inline void decode_bits(const level& l, const u8* planes, const u8* escapes, std::size_t n,
                                     u8* symbols) noexcept
{
    const std::size_t plane = plane_bytes(n);
    const __m256i list =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(l.symbols)));
    const __m256i byte_of = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit_of = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201u));
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i codes = _mm256_setzero_si256();
        u32 escaped = ~u32{0};
        CCOLL_UNROLLED
        for (unsigned b = 0; b < Bits; ++b) {
            const u32 bits = get<u32>(planes + b * plane + i / 8);
            escaped &= bits;
            const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), byte_of);
            const __m256i ones = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit_of), bit_of);
            codes =
                _mm256_or_si256(codes, _mm256_and_si256(ones, _mm256_set1_epi8(static_cast<char>(1 << b))));
        }
        __m128i eight[4];
        CCOLL_UNROLLED
        for (unsigned j = 0; j < 4; ++j) {
            const u32 mask = escaped >> 8 * j & 0xff;
            eight[j] = _mm_shuffle_epi8(load_8(escapes), load_8(spread_places.of[mask]));
            escapes += _mm_popcnt_u32(mask);
        }
        const __m256i others =
            _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi64(eight[0], eight[1])),
                                    _mm_unpacklo_epi64(eight[2], eight[3]), 1);
        store(symbols + i, _mm256_or_si256(_mm256_shuffle_epi8(list, codes), others));
    }
    portable::decode_level_from(i, l, planes, escapes, n, symbols);
}
CCOLL_TARGET inline void decode_level(const level& l, const u8* planes, const u8* escapes, std::size_t n,
                                      u8* symbols) noexcept
{
    switch (l.bits) {
    case 1: return decode_bits<1>(l, planes, escapes, n, symbols);
    case 2: return decode_bits<2>(l, planes, escapes, n, symbols);
    case 3: return decode_bits<3>(l, planes, escapes, n, symbols);
    default: return decode_bits<4>(l, planes, escapes, n, symbols);
    }
}

}  // namespace ccoll::detail::lossless::avx2

#include <ccoll/base/kernels_end.inl>

#endif
