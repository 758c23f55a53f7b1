// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/planes.hpp - floor 2. The embedded coding of ZFP for four coefficients: bit planes, highest
// first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/base/memory.hpp>

namespace ccoll::inline CCOLL_ABI::detail::zfp {

// The first bit of a stream is the lowest bit of its first byte. libzfp calls this words of any length,
// little-endian.

class bit_writer {
public:
    /// @param to  so many bytes as will be written, rounded up to a multiple of 8
    /// @param held_bits  of the first byte, which stand there already: fewer than 8, with 0 behind them
    bit_writer(std::byte* to, unsigned held_bits) noexcept
        : begin_(to), to_(to), held_(held_bits == 0 ? 0 : static_cast<std::uint64_t>(*to)),
          held_bits_(held_bits)
    {}

    /// Appends the lowest `bits` bits of `value`, whose others are 0. 0 <= bits <= 63.
    void put(std::uint64_t value, unsigned bits) noexcept
    {
        held_ |= value << held_bits_;
        held_bits_ += bits;
        if (held_bits_ < 64) return;
        flush();
        held_bits_ -= 64;
        held_ = value >> 1 >> (bits - held_bits_ - 1);
    }
    void pad(std::size_t bits) noexcept
    {
        for (; bits > 63; bits -= 63) put(0, 63);
        put(0, static_cast<unsigned>(bits));
    }
    /// Fills the last byte up with zeros.
    /// @return the bits of the stream
    std::size_t end() noexcept
    {
        flush();
        return 8 * (static_cast<std::size_t>(to_ - begin_) - 8) + held_bits_;
    }

private:
    void flush() noexcept
    {
        std::memcpy(to_, &held_, sizeof held_);
        to_ += sizeof held_;
    }

    std::byte *begin_, *to_;
    std::uint64_t held_;
    unsigned held_bits_;
};

/// Reads from any place of a stream, and never beside it: there is nothing but 0 behind it.
class bit_source {
public:
    explicit bit_source(const_byte_span from) noexcept : from_(from), whole_(from.size() / 8)
    {
        if (from.size() % 8 != 0) std::memcpy(&rest_, from.data() + 8 * whole_, from.size() % 8);
    }

    /// The next 64 bits, from the lowest one.
    std::uint64_t peek(std::size_t bit) const noexcept
    {
        const unsigned shift = bit % 64;
        return word(bit / 64) >> shift | word(bit / 64 + 1) << 1 << (63 - shift);
    }

private:
    std::uint64_t word(std::size_t i) const noexcept
    {
        return i < whole_ ? load<std::uint64_t>(from_, 8 * i) : i == whole_ ? rest_ : 0;
    }

    const_byte_span from_;
    std::size_t whole_;
    std::uint64_t rest_ = 0;
};

/// A plane has a bit of each coefficient. Those of the first `known` coefficients stand there as they are,
/// because they have had a 1 before. Of the others: 0 if all are 0, else 1, and bits up to the first 1,
/// without it if it is that of the last coefficient; then the same again with the coefficients behind that
/// one. So the code of a plane is a function of 4 bits and of `known`.
struct plane_code {
    std::uint8_t bits, length;  ///< from the lowest bit on; at most 7
    std::uint8_t known;         ///< of the next plane
};
inline constexpr unsigned longest_plane_code = 7;

constexpr plane_code code_of_plane(unsigned plane, unsigned known)
{
    unsigned bits = 0, length = 0, n = known;
    const auto put = [&](unsigned bit) { bits |= bit << length++; };
    for (unsigned i = 0; i < n; ++i) put(plane >> i & 1);
    while (n < 4) {
        put(plane >> n != 0);
        if (plane >> n == 0) break;
        for (; n < 3; ++n) {
            put(plane >> n & 1);
            if ((plane >> n & 1) != 0) break;
        }
        ++n;
    }
    return {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(n)};
}

/// [16 known + plane]
inline constexpr auto plane_codes = [] {
    std::array<plane_code, 5 * 16> all{};
    for (unsigned i = 0; i < all.size(); ++i) all[i] = code_of_plane(i % 16, i / 16);
    return all;
}();

/// The reverse: [128 known + the next 7 bits]; `bits` is the plane.
inline constexpr auto planes_of_codes = [] {
    std::array<plane_code, 5 * 128> all{};
    for (unsigned known = 0; known <= 4; ++known)
        for (unsigned plane = 0; plane < 16; ++plane) {
            const plane_code c = code_of_plane(plane, known);
            for (unsigned behind = 0; behind < 128u >> c.length; ++behind)
                all[128 * known + (behind << c.length | c.bits)] = {static_cast<std::uint8_t>(plane),
                                                                    c.length, c.known};
        }
    return all;
}();

/// Every fourth bit of the result is a bit of x, and the reverse.
constexpr std::uint64_t spread(std::uint64_t x) noexcept
{
    x = (x | x << 24) & 0x000000ff000000ffu;
    x = (x | x << 12) & 0x000f000f000f000fu;
    x = (x | x << 6) & 0x0303030303030303u;
    return (x | x << 3) & 0x1111111111111111u;
}
constexpr std::uint64_t gathered(std::uint64_t x) noexcept
{
    x &= 0x1111111111111111u;
    x = (x | x >> 3) & 0x0303030303030303u;
    x = (x | x >> 6) & 0x000f000f000f000fu;
    x = (x | x >> 12) & 0x000000ff000000ffu;
    return (x | x >> 24) & 0xffffu;
}

/// Planes of 16 bits of four coefficients, from bit `low` on: four bits for each plane, the lowest plane
/// first.
template <class Word>
constexpr std::uint64_t planes_at(const Word* coefficient, unsigned low) noexcept
{
    std::uint64_t all = 0;
    for (unsigned i = 0; i < 4; ++i)
        all |= spread(static_cast<std::uint64_t>(coefficient[i] >> low) & 0xffffu) << i;
    return all;
}

/// Writes the planes from the highest down to `lowest`, and stops when `budget` bits are written.
/// @return the number of bits
template <class Word>
std::size_t encode_planes(const Word* coefficient, unsigned lowest, std::size_t budget,
                          bit_writer& to) noexcept
{
    std::size_t left = budget;
    unsigned known = 0;
    for (unsigned low = 8 * sizeof(Word); low > lowest;) {
        low -= 16;
        const std::uint64_t planes = planes_at(coefficient, low);
        for (unsigned k = 16; k-- > 0 && low + k >= lowest;) {
            const plane_code c = plane_codes[16 * known + (planes >> (4 * k) & 15)];
            if (c.length >= left) {
                to.put(c.bits & ((1u << left) - 1), static_cast<unsigned>(left));
                return budget;
            }
            to.put(c.bits, c.length);
            left -= c.length;
            known = c.known;
        }
    }
    return budget - left;
}

/// The plane of a code of which only `left` bits are there. The missing ones of known coefficients are 0. A
/// search that has found out that there is a 1 takes the next coefficient for it.
constexpr unsigned plane_of_cut_code(unsigned code, unsigned known, std::size_t left) noexcept
{
    unsigned plane = 0, n = 0;
    const auto next = [&] {
        const unsigned bit = code & 1;
        code >>= 1, --left;
        return bit;
    };
    for (; n < known && left > 0; ++n) plane |= next() << n;
    if (n < known) return plane;
    for (; left > 0 && n < 4; ++n) {
        if (next() == 0) break;
        while (left > 0 && n < 3 && next() == 0) ++n;
        plane |= 1u << n;
    }
    return plane;
}

/// The reverse of encode_planes.
/// @param bit  where the planes begin; then where they end
template <class Word>
void decode_planes(const bit_source& from, std::size_t& bit, unsigned lowest, std::size_t budget,
                   Word* coefficient) noexcept
{
    const std::size_t end = bit + budget;
    unsigned known = 0;
    for (unsigned i = 0; i < 4; ++i) coefficient[i] = 0;
    for (unsigned low = 8 * sizeof(Word); low > lowest && bit < end;) {
        low -= 16;
        std::uint64_t planes = 0;
        for (unsigned k = 16; k-- > 0 && low + k >= lowest && bit < end;) {
            const auto code = static_cast<unsigned>(from.peek(bit) & 127);
            plane_code c = planes_of_codes[128 * known + code];
            if (c.length > end - bit) {
                c.bits = static_cast<std::uint8_t>(plane_of_cut_code(code, known, end - bit));
                bit = end;
            } else {
                bit += c.length;
            }
            planes |= std::uint64_t{c.bits} << (4 * k);
            known = c.known;
        }
        for (unsigned i = 0; i < 4; ++i)
            coefficient[i] =
                static_cast<Word>(coefficient[i] | static_cast<Word>(gathered(planes >> i)) << low);
    }
}

}  // namespace ccoll::inline CCOLL_ABI::detail::zfp
