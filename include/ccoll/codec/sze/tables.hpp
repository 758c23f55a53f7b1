// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/tables.hpp - floor 2. What a token costs: shares of 1024 for each token of a class, sent as steps of half a binary order.
#pragma once

#include <algorithm>
#include <cstring>

#include <ccoll/codec/sze/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::sze {

/// Weights 1, 2, 3, 4, 6, 8, 12 .. 1024 of the levels 1, 2, 3 ..; level 0 is 0. Twice as fine a scale needs more bits than it saves.
inline constexpr u32 highest_level = 20;
constexpr u32 weight_of(u32 level) noexcept { return level < 2 ? level : level % 2 == 0 ? u32{1} << level / 2 : u32{3} << (level - 3) / 2; }

/// The tokens of one class.
struct share_table {
    u32 count = 0;  ///< behind the last token that occurs
    u8 levels[tokens] = {};
    u16 shares[tokens] = {};

    /// Shares in proportion to the weights, each at least 1, whose sum is `whole`. Cost: O(tokens).
    void share_out() noexcept
    {
        u32 sum = 0, given = 0, largest = 0;
        for (u32 t = 0; t < count; ++t) sum += weight_of(levels[t]);
        for (u32 t = 0; t < count; ++t) {
            if (levels[t] == 0) continue;
            shares[t] = static_cast<u16>(std::max(weight_of(levels[t]) * whole / sum, u32{1}));
            given += shares[t];
            if (shares[t] > shares[largest]) largest = t;
        }
        if (count == 0) return;
        if (given < whole) shares[largest] = static_cast<u16>(shares[largest] + whole - given);
        for (; given > whole; --given) --*std::max_element(shares, shares + count);
    }

    /// The levels nearest to what was counted.
    /// @param of  how often each token occurs, at most 8192 times in all
    void choose(const u16* of) noexcept
    {
        u64 all = 0;
        for (u32 t = 0; t < tokens; ++t) {
            all += of[t];
            if (of[t] > 0) count = t + 1;
        }
        for (u32 t = 0; t < count; ++t) {
            const u64 part = u64{of[t]} * whole;
            u32 level = of[t] > 0;
            if (level > 0) {  // the next level from the geometric mean of the two weights on
                const int least = static_cast<int>(std::bit_width(part)) - 1 - static_cast<int>(std::bit_width(all));  // 2^least < part /
                                                                                                                       // all
                if (least > 0) level = 2 * static_cast<u32>(least);
                while (level < highest_level && part * part >= u64{weight_of(level)} * weight_of(level + 1) * all * all) ++level;
            }
            levels[t] = static_cast<u8>(level);
        }
        share_out();
    }

    /// The number of tokens in 8 bits, the first level in 5, and how each differs from the one before: d as 2 d, or -2 d - 1 where it is
    /// negative, in so many ones and a zero.
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

/// What an encoder does with each token that occurs. @tparam Step  Step{share, first place}
template <class Step>
void make_steps(const share_table& table, Step* steps) noexcept
{
    u32 first = 0;
    for (u32 t = 0; t < table.count; ++t) {
        const u32 share = table.shares[t];
        if (share == 0) continue;
        steps[t] = Step(share, first);
        first += share;
    }
}

/// What a decoder does with the lowest 10 bits of a state: token (bits 24..30) | place in its share (bits 11..20) | the share (bits 0..10).
/// Behind them there is room, because eight are written at a time.
using slot_table = u32[whole + 8];
}  // namespace ccoll::detail::sze
