// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/layout.hpp - floor 2. A chunk of SZe: what its bytes mean. Little-endian.
//
//   verbatim   a chunk of SZp for movement, whose first byte is 0..2
//   coded      0 u8 flags        15 (bits 0..3) | own (bit 4) | alone (bit 5) | number of distances, 0..2
//                                (bits 6..7)
//              1 u8[3] limits    of the classes of activity, ascending
//              4 u16 words       of the stream
//              6 u16 exceptions  length of the section of exceptional values (codec/exceptions.hpp), in units
//                                of 16 bytes; 0: none
//              8 i32 base        what stands before the first quantum
//             12 element step    own only: that of the quanta is not the step of the bound
//             .. u16 distances   each at least 1, smooth ones 2 (bits 0..14) | smooth (bit 15)
//             .. u16[words]      the stream of the tokens
//             ..                 bits: four tables, then the low bits of the residuals, lowest bits first;
//                                whole bytes
//             .. u32[8]          where the lanes of the stream begin
//             .. section of exceptional values
//
// Quanta are those of SZp. The difference of value i is q[i] - q[i-1], or q[i] itself if alone. For each
// distance w, value i less value i - w takes the place of value i, from i = w on, or for the second distance,
// from where the first one and w end. If the distance is smooth, what is subtracted is the mean of three
// values, of which that in the middle counts twice, from the next value on. What is left are the residuals.
// Residual i belongs to lane i % 8 and to group i / 8; the last group is filled up with 0.
//
// A residual r is u = 2 r, or -2 r - 1 where r is negative. u < 16 is its own token. A larger one with its
// highest bit at n has the token 16 + 4 (n - 4) + (the two bits below the highest), and the n - 2 bits below
// these as they are.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/codec/exceptions/layout.hpp>
#include <ccoll/codec/szp/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::sze {

using szp::get, szp::put, szp::u8, szp::u16, szp::u32, szp::u64, szp::i32;

inline constexpr std::size_t chunk_elements = szp::chunk_elements;
inline constexpr std::size_t lanes = 8;  ///< the states of a stream fill one register of AVX2
inline constexpr std::size_t most_groups = chunk_elements / lanes;
inline constexpr std::size_t classes = 4;  ///< of activity: each has a table of its own
inline constexpr std::size_t tokens = 128;
inline constexpr u32 direct = 16;  ///< residuals below are their own tokens
inline constexpr u32 exact_as_float = u32{1} << 24;
/// The shares of a table's tokens add up to 2^10: four tables of 4 KiB.
inline constexpr unsigned share_bits = 10;
inline constexpr u32 whole = u32{1} << share_bits;
inline constexpr u32 least_state = u32{1} << 16;
inline constexpr std::size_t states_bytes = 4 * lanes;
/// Shorter chunks are verbatim: tables and states would be longer than what they save.
inline constexpr std::size_t least_values = 1024;
inline constexpr std::size_t most_distances = 2;
inline constexpr u32 most_active = 31;        ///< a larger token counts as this one in an activity
inline constexpr u8 never = 255;              ///< a limit that no activity reaches
inline constexpr std::size_t least_row = 16;  ///< shorter distances are not those of rows

/// A token takes 10 bits at most, and each lane begins with two words.
inline constexpr std::size_t most_words = (chunk_elements * share_bits + 15) / 16 + 2 * lanes;
/// Head, words, tables (each token of each class with its level), low bits, states, and what bit_writer
/// writes behind.
inline constexpr std::size_t most_low_bits = 29;
inline constexpr std::size_t most_coded_bytes =
    24 + 2 * most_words + classes * tokens * 6 + chunk_elements * most_low_bits / 8 + states_bytes + 16;

enum flag : u8 { coded = 15, own = 16, alone = 32 };
inline constexpr unsigned count_at = 6;  ///< the first bit of the number of distances

struct token {
    u32 code, low_bits;
};
constexpr token token_of(u32 u) noexcept
{
    if (u < direct) return {u, 0};
    const u32 n = 31 - static_cast<u32>(std::countl_zero(u));
    return {direct + 4 * (n - 4) + (u >> (n - 2) & 3), n - 2};
}
/// The low bits of a token, and the least u that has it.
struct token_value {
    u32 low_bits, least;
};
constexpr std::array<token_value, tokens> make_token_values()
{
    std::array<token_value, tokens> all{};
    for (u32 t = 0; t < tokens; ++t) {
        const u32 n = t < direct ? 0 : 4 + (t - direct) / 4;
        all[t] =
            t < direct ? token_value{0, t} : token_value{n - 2, (u32{4} | ((t - direct) & 3)) << (n - 2)};
    }
    return all;
}
inline constexpr std::array<token_value, tokens> token_values = make_token_values();

constexpr u32 folded(i32 r) noexcept { return static_cast<u32>(r) << 1 ^ static_cast<u32>(r >> 31); }
constexpr i32 unfolded(u32 u) noexcept { return static_cast<i32>(u >> 1 ^ (0 - (u & 1))); }

/// Loops run over so many values at a time: compilers vectorise them, while they unroll shorter ones.
inline constexpr std::size_t loop_elements = 64;
constexpr std::size_t filled_up(std::size_t n) noexcept
{
    return (n + loop_elements - 1) / loop_elements * loop_elements;
}
constexpr std::size_t groups_of(std::size_t n) noexcept { return (n + lanes - 1) / lanes; }

/// The value that is subtracted is so many places before.
struct distance {
    u16 places = 0;
    bool smooth = false;

    static constexpr u16 smooth_bit = 0x8000, most = 0x7fff;
    u16 word() const noexcept { return static_cast<u16>(places | (smooth ? smooth_bit : 0)); }
    explicit distance(u16 word) noexcept : places(word & most), smooth((word & smooth_bit) != 0) {}
    constexpr distance() noexcept = default;
    constexpr distance(std::size_t w, bool is_smooth) noexcept
        : places(static_cast<u16>(w)), smooth(is_smooth)
    {}
};

/// (a + 2 b + c) / 4, rounded. Sums wrap.
constexpr i32 smoothed(i32 a, i32 b, i32 c) noexcept
{
    return static_cast<i32>(static_cast<u32>(a) + 2 * static_cast<u32>(b) + static_cast<u32>(c) + 2) >> 2;
}

/// How differences were predicted, and what they were coded with.
struct model {
    distance distances[most_distances];
    u8 count = 0;  ///< of distances
    u8 limits[classes - 1] = {never, never, never};

    /// The class of a group, by its activity: the mean of the sums of the tokens of the group before, and of
    /// the eight of the row before. Where no row is known, the group before takes its place.
    unsigned class_of(u32 activity) const noexcept
    {
        return unsigned{activity >= limits[0]} + unsigned{activity >= limits[1]} +
               unsigned{activity >= limits[2]};
    }
    /// The first group that has a row before it.
    std::size_t second_row() const noexcept
    {
        return count == 0 || distances[0].places < least_row
                   ? ~std::size_t{0}
                   : (std::size_t{distances[0].places} + lanes - 1) / lanes;
    }
};

/// What an encoder makes a coded chunk of.
struct coded_source {
    i32* q;  ///< quanta, n of them, and room for filled_up(n); they become residuals
    std::size_t n;
    const u8* step;             ///< of quanta that have one of their own, else null
    std::size_t step_bytes;     ///< 0: there is none
    std::size_t judged_row;     ///< SZp predicts from this distance; 0: from none
    std::size_t section_bytes;  ///< of the exceptional values behind the chunk
};

/// A coded chunk whose parts have been found; nothing in them has been looked at.
struct coded_view {
    model how;
    bool is_own = false, is_alone = false;
    i32 base = 0;
    const u8 *step = nullptr, *words = nullptr, *bits = nullptr, *states = nullptr;
    std::size_t bits_bytes = 0;
    const_byte_span section;
};
inline constexpr std::size_t step_at = 12;

/// Finds the parts of a coded chunk. Behind its words and bits there are 32 bytes at least.
inline status read_coded(const_byte_span src, std::size_t value_bytes, coded_view& view) noexcept
{
    if (src.size() < step_at) return status::corrupt;
    const u8* const from = reinterpret_cast<const u8*>(src.data());
    const u8 flags = from[0];
    view.is_own = (flags & own) != 0;
    view.is_alone = (flags & alone) != 0;
    view.how.count = flags >> count_at;
    if ((flags & coded) != coded || view.how.count > most_distances) return status::corrupt;
    std::memcpy(view.how.limits, from + 1, sizeof view.how.limits);
    view.base = get<i32>(from + 8);
    const std::size_t words = get<u16>(from + 4), section = exceptions::unit * get<u16>(from + 6);
    const std::size_t distances = step_at + (view.is_own ? value_bytes : 0),
                      stream = distances + 2 * std::size_t{view.how.count};
    const std::size_t bits = stream + 2 * words;
    if (src.size() < bits + states_bytes + section) return status::corrupt;
    view.step = from + step_at;
    for (u8 k = 0; k < view.how.count; ++k)
        if (distance& by = view.how.distances[k] = distance(get<u16>(from + distances + 2 * k));
            by.places < (by.smooth ? 2 : 1))
            return status::corrupt;
    view.words = from + stream;
    view.bits = from + bits;
    view.bits_bytes = src.size() - bits - states_bytes - section;
    view.states = view.bits + view.bits_bytes;
    view.section = src.last(section);
    return status::ok;
}

/// Writes bits behind one another, lowest first. Writes up to 8 bytes behind them.
class bit_writer {
public:
    explicit bit_writer(u8* to) noexcept : to_(to) {}
    static constexpr u32 most = 56;  ///< at a time, because there may be 7 of the byte before
    /// @param bits  0..most
    void put(u64 value, u32 bits) noexcept
    {
        held_ |= value << count_;
        count_ += bits;
        szp::put(to_, held_);
        to_ += count_ / 8;
        held_ >>= count_ & ~u32{7};
        count_ %= 8;
    }
    u8* end() const noexcept { return to_ + (count_ > 0); }

private:
    u8* to_;
    u64 held_ = 0;
    u32 count_ = 0;
};

/// Reads what bit_writer has written. Behind the end stand zeros; whoever reads looks afterwards whether it
/// was reached.
class bit_reader {
public:
    bit_reader(const u8* from, std::size_t bytes) noexcept : from_(from), bits_(8 * bytes) {}
    u32 bit() noexcept
    {
        const u32 b = at_ < bits_ ? from_[at_ / 8] >> at_ % 8 & 1u : 0u;
        ++at_;
        return b;
    }
    u32 take(u32 bits) noexcept
    {
        u32 v = 0;
        for (u32 k = 0; k < bits; ++k) v |= bit() << k;
        return v;
    }
    std::size_t at() const noexcept { return at_; }
    bool is_beyond() const noexcept { return at_ > bits_; }

private:
    const u8* from_;
    std::size_t bits_, at_ = 0;
};

}  // namespace ccoll::detail::sze
