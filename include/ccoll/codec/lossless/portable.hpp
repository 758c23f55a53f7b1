// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lossless/portable.hpp - floor 2. The loops over exponents in plain C++: what every instruction set
// does, and what it does with the last values.
#pragma once

#include <bit>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/codec/lossless/layout.hpp>

#define CCOLL_TARGET
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::lossless::portable {

/// Words as symbols and the rest.
/// @param low  of words of 4 bytes: two bytes for each    @param i  the first word
template <class Word>
inline void split_from(std::size_t i, const u8* from, std::size_t n, u8* high, u8* low, u8* symbols) noexcept
{
    for (; i < n; ++i) {
        auto w = get<Word>(from + sizeof(Word) * i);
        if constexpr (sizeof(Word) == 4) {
            put(low + 2 * i, static_cast<u16>(w));
            w >>= 16;
        }
        const auto turned = std::rotl(static_cast<u16>(w), 1);
        high[i] = static_cast<u8>(turned);
        symbols[i] = static_cast<u8>(turned >> 8);
    }
}
template <class Word>
inline void split(const u8* from, std::size_t n, u8* high, u8* low, u8* symbols) noexcept
{
    split_from<Word>(0, from, n, high, low, symbols);
}

/// @param low  null: all are 0
template <class Word>
inline void join_from(std::size_t i, const u8* high, const u8* low, const u8* symbols, std::size_t n,
                      u8* to) noexcept
{
    for (; i < n; ++i) {
        const u16 w = std::rotr(static_cast<u16>(symbols[i] << 8 | high[i]), 1);
        if constexpr (sizeof(Word) == 4)
            put(to + 4 * i, static_cast<u32>(w) << 16 | (low != nullptr ? get<u16>(low + 2 * i) : 0u));
        else put(to + 2 * i, w);
    }
}
template <class Word>
inline void join(const u8* high, const u8* low, const u8* symbols, std::size_t n, u8* to) noexcept
{
    join_from<Word>(0, high, low, symbols, n, to);
}

inline constexpr u64 each_byte = 0x0101010101010101u;

/// Codes n symbols from number i on, a multiple of 8, and leaves those that are not in the list, behind the
/// `escapes` that are there already.
/// @return how many are there now
inline std::size_t encode_level_from(std::size_t i, std::size_t escapes, const level& l, u8* symbols,
                                     std::size_t n, u8* planes) noexcept
{
    const u32 escape = l.escape();
    u8 code_of[256];
    std::memset(code_of, static_cast<int>(escape), sizeof code_of);
    for (u32 c = escape; c-- > 0;) code_of[l.symbols[c]] = static_cast<u8>(c);
    for (; i < n; i += 8) {
        u64 codes = 0;
        const std::size_t count = n - i < 8 ? n - i : 8;
        for (std::size_t j = 0; j < count; ++j) {
            const u8 symbol = symbols[i + j];
            const u32 code = code_of[symbol];
            codes |= u64{code} << 8 * j;
            symbols[escapes] = symbol;
            escapes += code == escape;
        }
        for (u32 b = 0; b < l.bits; ++b)  // the product brings the lowest bits of all bytes together
            planes[b * plane_bytes(n) + i / 8] =
                static_cast<u8>((codes >> b & each_byte) * 0x0102040810204080u >> 56);
    }
    return escapes;
}
inline std::size_t encode_level(const level& l, u8* symbols, std::size_t n, u8* planes) noexcept
{
    return encode_level_from(0, 0, l, symbols, n, planes);
}

/// @param escapes  the symbols that are not in the list, from that of value i on; one more can be read
inline void decode_level_from(std::size_t i, const level& l, const u8* planes, const u8* escapes,
                              std::size_t n, u8* symbols) noexcept
{
    const u32 escape = l.escape();
    for (; i < n; i += 8) {
        u64 codes = 0;
        for (u32 b = 0; b < l.bits; ++b) {  // bit j of the plane to byte j
            const u64 bits = planes[b * plane_bytes(n) + i / 8] * each_byte & 0x8040201008040201u;
            codes |= ((bits + 0x7f * each_byte) >> 7 & each_byte) << b;
        }
        const std::size_t count = n - i < 8 ? n - i : 8;
        for (std::size_t j = 0; j < count; ++j) {
            const u32 code = codes >> 8 * j & 0xff;
            const u32 is_escape = code == escape;  // no branch, because nobody could foresee it
            symbols[i + j] = static_cast<u8>(l.symbols[code] | (*escapes & (0 - is_escape)));
            escapes += is_escape;
        }
    }
}
inline void decode_level(const level& l, const u8* planes, const u8* escapes, std::size_t n,
                         u8* symbols) noexcept
{
    decode_level_from(0, l, planes, escapes, n, symbols);
}

}  // namespace ccoll::detail::lossless::portable

#include <ccoll/base/kernels_end.inl>
