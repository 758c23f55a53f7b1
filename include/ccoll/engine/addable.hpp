// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/addable.hpp - floor 3. Can the values of all ranks be added encoded, as far as ranks know them?
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <ccoll/engine/task.hpp>

namespace ccoll::inline CCOLL_ABI {

/// For a call whose placement adds frames.
template <element T>
struct addable {
    const queued_addends<T>& codec;
    double eb;
    int p;

    /// Do all values of this magnitude and below have sums?
    bool holds(double largest) const { return codec.can_add(largest, eb, static_cast<std::size_t>(p)); }
    /// One or two fill values can be added beside numbers, if they cannot be added as numbers themselves.
    bool holds(const shared_facts& all) const
    {
        const fill_values fills = all.fills();
        if (holds(std::max(all.largest, fills.largest()))) return true;
        constexpr int most_ranks = std::numeric_limits<std::int16_t>::max();
        if (codec.put_fills == nullptr || p > most_ranks || fills.others != 0) return false;
        double largest = all.largest;
        for (const double one : {fills.lowest, fills.highest})
            if (const double size = std::abs(one); codec.can_add(size, eb, 1)) largest = std::max(largest, size);
        return holds(largest);
    }
    /// Does every sum that cannot be held say so?
    bool are_checked() const { return static_cast<std::size_t>(p) <= codec.self_checked_addends; }
    /// Can some values be added, and do those that cannot be added say so?
    bool may_try() const { return are_checked() && holds(0); }
};

}  // namespace ccoll
