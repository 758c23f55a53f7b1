// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/bits.hpp - floor 2. Streams of bits in bytes. The first bit of a stream is the top bit of its
// first byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/base/memory.hpp>

namespace ccoll::inline CCOLL_ABI::detail::bitzip {

/// The first of eight bytes is the top byte of the number.
inline std::uint64_t top_first(std::uint64_t bytes) noexcept
{
#if defined(__GNUC__)
    return __builtin_bswap64(bytes);
#else
    std::uint64_t turned = 0;
    for (int i = 0; i < 8; ++i) turned = turned << 8 | (bytes >> (8 * i) & 0xff);
    return turned;
#endif
}

/// What a writer may touch behind its last bit, and a reader behind the byte of its next bit.
inline constexpr std::size_t slack_bytes = 8;

class bit_writer {
public:
    /// @param to  so many bytes as will be written, and slack_bytes more
    explicit bit_writer(std::byte* to) noexcept : begin_(to), to_(to) {}

    /// Appends the lowest `bits` bits of `value`, whose others are 0. 1 <= bits <= 64.
    void put(std::uint64_t value, unsigned bits) noexcept
    {
        if (bits > 56) {
            put_few(value >> 32, bits - 32);
            put_few(value & 0xffffffffu, 32);
        } else {
            put_few(value, bits);
        }
    }
    /// 1 <= bits <= 56.
    void put_few(std::uint64_t value, unsigned bits) noexcept
    {
        held_ |= value << (64 - held_bits_ - bits);
        held_bits_ += bits;
        const std::uint64_t bytes = top_first(held_);
        std::memcpy(to_, &bytes, sizeof bytes);
        to_ += held_bits_ / 8;
        held_ <<= held_bits_ & ~7u;
        held_bits_ &= 7;
    }
    /// Whole bytes so far; the last one is filled up with 0.
    std::size_t bytes() const noexcept { return static_cast<std::size_t>(to_ - begin_) + (held_bits_ != 0); }

private:
    std::byte *begin_, *to_;
    std::uint64_t held_ = 0;  ///< bits from the top, not yet in whole bytes: fewer than 8
    unsigned held_bits_ = 0;
};

/// Reads from any place of some bytes. It never reads beside them: a place behind the last `slack_bytes`
/// bytes gives other bits instead.
class bit_source {
public:
    /// @param from  more than slack_bytes bytes
    explicit bit_source(const_byte_span from) noexcept
        : from_(from.data()), last_(from.size() - slack_bytes - 1)
    {}

    /// The next 64 bits, from the top.
    std::uint64_t peek(std::size_t bit) const noexcept
    {
        const std::byte* const at = from_ + std::min(bit / 8, last_);
        std::uint64_t bytes;
        std::memcpy(&bytes, at, sizeof bytes);
        const unsigned shift = bit % 8;
        return top_first(bytes) << shift | static_cast<std::uint64_t>(at[8]) >> (8 - shift);
    }

private:
    const std::byte* from_;
    std::size_t last_;
};

/// Does a stream whose next bit is `bit` end in the byte before `end`, with zeros up to there?
inline bool ends_at(const_byte_span from, std::size_t bit, std::size_t end) noexcept
{
    if ((bit + 7) / 8 != end) return false;
    return bit % 8 == 0 || (static_cast<unsigned>(from[end - 1]) & (0xffu >> (bit % 8))) == 0;
}

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip
