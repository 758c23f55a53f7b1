// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/tables.hpp - floor 2. What a token costs: shares of 1024 for each token of a class, sent as steps
// of half a binary order.
#pragma once

#include <algorithm>
#include <cstring>

#include <ccoll/codec/sze/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::sze {

/// Weights 1, 2, 3, 4, 6, 8, 12 .. 1024 of the levels 1, 2, 3 ..; level 0 is 0. Twice as fine a scale needs
/// more bits than it saves.
inline constexpr u32 highest_level = 20;
constexpr std::array<u32, highest_level + 1> make_weights()
{
    std::array<u32, highest_level + 1> all{0, 1};
    for (u32 l = 2; l <= highest_level; ++l) all[l] = l % 2 == 0 ? u32{1} << l / 2 : u32{3} << (l - 3) / 2;
    return all;
}
inline constexpr std::array<u32, highest_level + 1> weights = make_weights();

/// The tokens of one class. Loops over them have no branches, because processors would not foresee what
/// tokens occur.
struct share_table {
    u32 count = 0;  ///< behind the last token that occurs
    u8 levels[tokens] = {};
    u16 shares[tokens] = {};

    /// Shares in proportion to the weights, each at least 1, whose sum is `whole`. Cost: O(tokens).
    void share_out() noexcept
    {
        constexpr u32 most_tokens = tokens;
        const u32 behind = count;
        u32 sum = 0, of_level[highest_level + 1] = {}, given = 0, largest = 0;
        for (u32 t = 0; t < behind; ++t) sum += weights[levels[t]];
        if (sum == 0) return;
        for (u32 l = 1; l <= highest_level; ++l) of_level[l] = std::max(weights[l] * whole / sum, u32{1});
        for (u32 t = 0; t < behind; ++t) {
            const u32 share = of_level[levels[t]];
            shares[t] = static_cast<u16>(share);
            given += share;
            // The first of the largest.
            largest = std::max(largest, share * most_tokens + (most_tokens - 1 - t));
        }
        if (given < whole) {
            u16& share = shares[most_tokens - 1 - largest % most_tokens];
            share = static_cast<u16>(share + whole - given);
        }
        for (; given > whole; --given) --*std::max_element(shares, shares + behind);
    }

    /// The levels nearest to what was counted: level l + 1 follows level l from the geometric mean of their
    /// weights on. The square of this mean is 3 x 2^(l - 1), but 2 for l = 1.
    /// @param of  how often each token occurs, at most 8192 times in all
    /// @param end  no token from here on occurs
    void choose(const u32* of, u32 end = tokens) noexcept
    {
        u64 all = 0;
        u32 behind = 0;
        for (u32 t = 0; t < end; ++t) {
            all += of[t];
            behind = of[t] > 0 ? t + 1 : behind;
        }
        const u64 two = 3 * all * all;
        const u32 bits_of_two = static_cast<u32>(std::bit_width(two));
        for (u32 t = 0; t < behind; ++t) {
            const u64 part = u64{of[t]} * whole, square = part * part;
            const u32 bits = static_cast<u32>(std::bit_width(square)),
                      orders = std::max(bits, bits_of_two) - bits_of_two;
            const u32 level =
                std::max(orders + 1 + (square >= two << orders), u32{1} + (3 * square >= 2 * two));
            levels[t] = static_cast<u8>(std::min(level, highest_level) * (of[t] > 0));
        }
        count = behind;
        share_out();
    }

    /// The number of tokens in 8 bits, the first level in 5, and how each differs from the one before: d as 2
    /// d, or -2 d - 1 where it is negative, in so many ones and a zero.
    void write(bit_writer& to) const noexcept
    {
        to.put(count, 8);
        if (count == 0) return;
        to.put(levels[0], 5);
        for (u32 t = 1; t < count; ++t) {
            const i32 d = i32{levels[t]} - i32{levels[t - 1]};
            const u32 ones = folded(d);
            if (ones > 30) {
                to.put(0x3fffffff, 30);
                to.put((u32{1} << (ones - 30)) - 1, ones - 29);
            } else {
                to.put((u32{1} << ones) - 1, ones + 1);
            }
        }
    }
    std::size_t bits() const noexcept
    {
        std::size_t all = count == 0 ? 8 : 13;
        for (u32 t = 1; t < count; ++t) all += folded(i32{levels[t]} - i32{levels[t - 1]}) + 1;
        return all;
    }
    /// @return  false: no encoder writes this
    bool read(bit_reader& from) noexcept
    {
        count = from.take(8);
        if (count > tokens) return false;
        u32 level = 0, any = 0;
        for (u32 t = 0; t < count; ++t) {
            if (t == 0) {
                level = from.take(5);
            } else {
                u32 ones = 0;
                while (ones <= 2 * highest_level && from.bit() != 0) ++ones;
                level += static_cast<u32>(unfolded(ones));
            }
            if (level > highest_level) return false;
            levels[t] = static_cast<u8>(level);
            any |= level;
        }
        if (count > 0 && any == 0) return false;
        share_out();
        return true;
    }
};

/// What an encoder does with a token: x becomes ((x / share) << 10) + x % share + first, where x < share
/// 2^22.
///
/// The quotient is ((x + more) inverse) >> (32 + shift). Let 2^f be the highest power of two in the share,
/// and let the shift be f. If the inverse is 2^(32 + f) / share, rounded up by e / share, it is exact for e
/// share <= 2^(10 + f). Otherwise the inverse is rounded down, and more is 1: then it is exact because (share
/// - e) share <= 2^(10 + f). An inverse of a power of two would have 33 bits. So it is half of that, and the
/// shift is f - 1. The share 1 has no such half. Its inverse 2^32 - 1 gives x - 1, for which `first` makes
/// up.
struct encoding_step {
    static constexpr unsigned share_at = 22, more_at = 21, shift_at = 16, shift_bits = 4;

    u32 inverse = 0;
    u32 rest = 0;  ///< share - 1 (bits 22..31) | more (bit 21) | shift (bits 16..19) | first (bits 0..15)

    constexpr u32 share() const noexcept { return (rest >> share_at) + 1; }
    constexpr u32 first() const noexcept { return rest & ((u32{1} << shift_at) - 1); }
    constexpr u32 quotient(u32 x) const noexcept
    {
        const u32 more = rest >> more_at & 1, shift = rest >> shift_at & ((u32{1} << shift_bits) - 1);
        return static_cast<u32>(u64{x + more} * inverse >> 32) >> shift;
    }

    constexpr encoding_step() noexcept = default;
    /// With `first` for a range that begins at 0.
    explicit constexpr encoding_step(u32 of) noexcept
    {
        // bit_width is of another type in older libraries.
        const u32 f = static_cast<u32>(31 - std::countl_zero(of));
        const u64 power = u64{1} << (32 + f), up = (power + of - 1) / of;
        const bool is_power = of == u32{1} << f, down = (up * of - power) * of > u64{1} << (share_bits + f);
        inverse = of == 1 ? ~u32{0} : static_cast<u32>(is_power ? up / 2 : up - down);
        rest = (of - 1) << share_at | u32{down} << more_at | (is_power && of > 1 ? f - 1 : f) << shift_at |
               (of == 1 ? whole - 1 : 0);
    }
};
constexpr std::array<encoding_step, whole + 1> make_steps_of_shares()
{
    std::array<encoding_step, whole + 1> all{};
    for (u32 share = 1; share <= whole; ++share) all[share] = encoding_step(share);
    return all;
}
inline constexpr std::array<encoding_step, whole + 1> step_of_share = make_steps_of_shares();

/// The steps of all tokens that occur.
inline void make_steps(const share_table& table, encoding_step* steps) noexcept
{
    u32 first = 0;
    for (u32 t = 0; t < table.count; ++t) {
        const u32 share = table.shares[t];
        steps[t] = step_of_share[share];
        steps[t].rest += first;
        first += share;
    }
}

/// What a decoder does with the lowest 10 bits of a state: token (bits 24..30) | place in its share (bits
/// 11..20) | the share (bits 0..10). Behind them there is room, because eight are written at a time.
using slot_table = u32[whole + 8];
}  // namespace ccoll::detail::sze
