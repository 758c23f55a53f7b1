// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wire/fill_values.hpp - floor 1. Which fill values there are among the input of some ranks, as far as two numbers and a flag can tell.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <ccoll/base/extremes.hpp>

namespace ccoll::inline CCOLL_ABI {

/// A set of fill values (engine/space.hpp says which numbers these are). Sets of one or two are known exactly. It depends on what was
/// added, not on the order.
struct fill_values {
    double lowest = std::numeric_limits<double>::infinity();  ///< above `highest` when there are none
    double highest = -std::numeric_limits<double>::infinity();
    std::uint32_t others = 0;  ///< 1: there are fill values between these

    constexpr bool any() const noexcept { return lowest <= highest; }
    double largest() const noexcept { return any() ? std::max(std::abs(lowest), std::abs(highest)) : 0; }
    constexpr void add(double one) noexcept { merge({one, one, 0}); }
    constexpr void merge(const fill_values& theirs) noexcept
    {
        const fill_values mine = *this;
        lowest = std::min(mine.lowest, theirs.lowest);
        highest = std::max(mine.highest, theirs.highest);
        const auto is_between = [this](double one) { return one != lowest && one != highest; };
        const auto has_others = [&](const fill_values& part) {
            return part.any() && (part.others != 0 || is_between(part.lowest) || is_between(part.highest));
        };
        others = std::uint32_t{has_others(mine) || has_others(theirs)};
    }
};

}  // namespace ccoll
