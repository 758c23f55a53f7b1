// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// plan/error_model.hpp - floor 3. The worst-case error of a result, found by running the engine's own state
// machine on error units (multiples of the bound) instead of bytes. It holds for any schedule, including
// those written outside the library. docs/error_bounds.md derives the closed forms that the tests compare it
// with.
#pragma once

#include <type_traits>

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/base/numbers.hpp>
#include <ccoll/algo/placement.hpp>
#include <ccoll/algo/walk.hpp>
#include <ccoll/policy/reduce_op.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// The machine of algo/placement.hpp for one block on all ranks; `elements` and `frame` are errors in units
/// of the bound.
struct error_machine {
    struct cell {
        double elements = 0, frame = 0;
        form now = form::raw;
    };
    struct work {
        cell& mine;
        double incoming;
        error_growth growth;

        constexpr double joined(double a, double b) const
        {
            return growth == error_growth::selects ? std::max(a, b) : a + b;
        }
        constexpr void encode() { mine.frame = mine.elements + 1; }
        constexpr void adopt() { mine.elements = mine.frame; }
        constexpr void keep() { mine.frame = incoming; }
        constexpr void decode() { mine.elements = incoming; }
        constexpr void combine() { mine.elements = joined(mine.elements, incoming); }
        constexpr void add() { mine.frame = joined(mine.frame, incoming); }
        constexpr void encode_and_add() { mine.frame = joined(mine.elements + 1, incoming); }
    };

    placement_rules rules;
    error_growth growth;
    array_of<cell> cells;

    constexpr double send(int me)
    {
        work w{cells[me], 0, growth};
        before_send(w.mine.now, w);
        after_send(rules, w.mine.now);
        return w.mine.frame;
    }
    constexpr void receive(int me, double incoming, on_receive action)
    {
        work w{cells[me], incoming, growth};
        received(rules, w.mine.now, action, w);
    }
    constexpr double result(int me)
    {
        work w{cells[me], 0, growth};
        at_end(w.mine.now, w);
        return w.mine.elements;
    }
};

/// How many bounds can add up in one element of the result, before any division by the number of ranks.
/// Cost: O(p * steps) for a schedule that knows its worst block, otherwise that times its number of blocks;
/// O(p) memory. Callers keep the figure.
template <class Collective>
constexpr double worst_case_units(const schedule& s, placement_rules rules, error_growth growth, int p,
                                  int root)
{
    if (p == 1) return 0;
    if (!Collective::reduces && rules.forward_encoded)
        return 1;  // encoded once at the source; tests compare this with the machine
    const int blocks = s.blocks(p), only = s.worst_block(p, root);
    double worst = 0;
    for (int block = only == unknown_block ? 0 : only; block < (only == unknown_block ? blocks : only + 1);
         ++block) {
        detail::error_machine machine{rules, growth, detail::array_of<detail::error_machine::cell>(p)};
        walk_block(s, p, root, block, machine);
        for (int me = 0; me < p; ++me)
            if (Collective::after(me, root, blocks).contains(block, blocks))
                worst = std::max(worst, machine.result(me));
    }
    return worst;
}

constexpr double square_root(double x)
{
    if (!std::is_constant_evaluated()) return detail::sqrt_of(x);
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 60; ++i) r = 0.5 * (r + x / r);
    return r;
}

/// C-Coll's figure: 95.44 % of the errors (two standard deviations) lie within this many bounds if
/// compressions are independent and their errors are normal, with the bound at three standard deviations.
/// Source: C-Coll, section III-B, Corollary 1 for sums (2/3 sqrt(n)) and Theorem 2 for minimum and maximum;
/// differs in: `units` counts the compressions that really affect one element, so it also covers schedules
/// and placements that the paper does not treat.
constexpr double probable_units(double units, error_growth growth)
{
    if (units == 0) return 0;
    if (growth == error_growth::selects && units <= 64) {
        double power = 1;
        for (int i = 0; i < static_cast<int>(units); ++i) power *= 2;
        return 2.0 / 3.0 * square_root(2 - (units + 2) / power);
    }
    if (growth == error_growth::selects) return 2.0 / 3.0 * square_root(2);
    return 2.0 / 3.0 * square_root(units);
}

}  // namespace ccoll::inline CCOLL_ABI::detail
