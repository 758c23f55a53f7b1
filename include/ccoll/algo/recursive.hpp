// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/recursive.hpp - floor 2. Recursive doubling: partners at distance 1, 2, 4, ... exchange the whole vector and both
// reduce; fewest steps, for short vectors. Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.5.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll {

/// When p is not a power of two, `extra` even ranks fold into their odd neighbours first and get the result back at last.
struct recursive_doubling_allreduce {
    static constexpr int core_log2(int p) { return ceil_log2(p + 1) - 1; }
    static constexpr int extra(int p) { return p - (1 << core_log2(p)); }

    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return core_log2(p) + (extra(p) > 0 ? 2 : 0); }
    static constexpr step step_at(int me, int p, int, int k)
    {
        constexpr block_set whole{0, 1};
        const int e = extra(p);
        const bool folds = me < 2 * e && me % 2 == 0, takes = me < 2 * e && me % 2 == 1;
        if (e > 0 && k == 0) {
            if (folds) return {me + 1, nobody, whole, {}};
            return takes ? step{nobody, me - 1, {}, whole, on_receive::reduce} : step{};
        }
        if (e > 0 && k == steps(p) - 1) {
            if (folds) return {nobody, me + 1, {}, whole, on_receive::replace};
            return {takes ? me - 1 : nobody, nobody, whole, {}};  // those with nobody to tell adopt the same bits
        }
        if (folds) return {};
        const int core = me < 2 * e ? me / 2 : me - e;
        const int other = core ^ (1 << (e > 0 ? k - 1 : k));
        const int partner = other < e ? 2 * other + 1 : other + e;
        return {partner, partner, whole, whole, on_receive::reduce};
    }
};

template <> struct schedule_for<policies::Algo::RecursiveDoubling, collective::allreduce> : recursive_doubling_allreduce {};

}  // namespace ccoll
