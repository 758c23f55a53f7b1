// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/steps.hpp - floor 2. Tables that decode several bit planes of a block at a time. codec/zfp/planes.hpp says what is written.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ccoll/base/config.hpp>
#include <ccoll/codec/zfp/planes.hpp>

namespace ccoll::inline CCOLL_ABI::detail::zfp {

inline constexpr unsigned step_bits = 8, step_row = 2u << step_bits;

/// What follows from the next bits of a block, by one look into a table: the planes whose codes they hold, at most eight, a byte of each.
///
/// Where three coefficients are known, the code of a plane is the plane. So there are four rows, and the last one serves for 3 and 4.
/// In a row stand first the ends of blocks: fewer than eight bits are left, and above them is a 1. They take all bits, the cut code of a
/// last plane included. Behind them stand the steps that take whole codes from eight bits.
struct plane_steps {
    /// used | planes << 8 | next row << 16. At the end of a block more bits are used than there are.
    using step = std::uint32_t;
    alignas(64) std::array<std::uint64_t, 4 * step_row> planes;
    std::array<step, 4 * step_row> steps;
    std::array<std::uint32_t, 4 * step_row> ends;  ///< how many bits the first 1, 2, .. planes take, in four bits each

    constexpr plane_steps() : planes(), steps(), ends()
    {
        for (unsigned at = 0; at < steps.size(); ++at) {
            const unsigned index = at % step_row;
            const bool cut = index < step_row / 2;
            const auto bits = cut ? static_cast<unsigned>(std::bit_width(index | 1u)) - 1 : step_bits;
            fill(at, index & ((1u << bits) - 1), bits, cut);
        }
    }

private:
    constexpr void fill(unsigned at, unsigned code, unsigned left, bool cut)
    {
        unsigned known = at / step_row, used = 0, count = 0;
        while (left > 0) {
            const plane_code c = planes_of_codes[128 * known + (code & 127)];
            if (c.length > left) break;
            used += c.length;
            ends[at] |= used << 4 * count;
            planes[at] |= std::uint64_t{c.bits} << 8 * count++;
            left -= c.length, code >>= c.length;
            known = std::min<unsigned>(c.known, 3);
        }
        if (cut && left > 0) planes[at] |= std::uint64_t{plane_of_cut_code(code, known, left)} << 8 * count++;
        steps[at] = (cut ? 63 : used) | count << 8 | step_row * known << 16;
    }
};
inline constexpr plane_steps all_steps;

/// Bits that are read at once of a block that has more.
inline constexpr std::size_t window_bits = 7 * step_bits;

/// So many steps take all bits of a block at most, if there are no more than window_bits. A step leaves up to six of its eight bits where
/// a long code follows, but then the next step takes that code, and few codes of a block are long. Not always the least such number.
constexpr std::size_t steps_for(std::size_t bits) noexcept { return (bits + 8) / 6; }

}  // namespace ccoll::inline CCOLL_ABI::detail::zfp
