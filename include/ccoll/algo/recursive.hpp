// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/recursive.hpp - floor 2. Recursive doubling: partners at distance 1, 2, 4, ... exchange what they
// have. It needs the fewest steps, and is meant for short vectors.
// Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005, sections 4.1 and 4.5.
#pragma once

#include <ccoll/algo/bruck.hpp>
#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Partners exchange the whole vector, and both reduce it. When p is not a power of two, `extra` even ranks
/// first send their vector to their odd neighbours, and get the result back in the last step.
/// Cost per rank: floor(log2 p) steps, the whole vector sent in each; two more steps when p is not a power of
/// two.
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
            // Ranks that send to nobody encode too, so all end with the same bits.
            return {takes ? me - 1 : nobody, nobody, whole, {}};
        }
        if (folds) return {};
        const int core = me < 2 * e ? me / 2 : me - e;
        const int other = core ^ (1 << (e > 0 ? k - 1 : k));
        const int partner = other < e ? 2 * other + 1 : other + e;
        return {partner, partner, whole, whole, on_receive::reduce};
    }
};

/// Partners exchange the aligned group of 2^k blocks that they have. When p is not a power of two, Bruck's
/// schedule is used: it has the same distances, message sizes and number of steps, but sends in one direction
/// round the ring instead of between partners. Folding extra ranks into neighbours, as the allreduce does,
/// would send blocks twice.
/// Cost per rank: ceil(log2 p) steps, p - 1 blocks sent.
struct recursive_doubling_allgather {
    static constexpr bool power_of_two(int p) { return (p & (p - 1)) == 0; }

    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return ceil_log2(p); }
    static constexpr int widest(int p) { return largest_doubling(p); }
    static constexpr int worst_block(int, int) { return 0; }  // all blocks are equally good
    static constexpr step step_at(int me, int p, int root, int k)
    {
        if (!power_of_two(p)) return bruck_allgather::step_at(me, p, root, k);
        const int distance = 1 << k, partner = me ^ distance;
        return {partner,
                partner,
                {me / distance * distance, distance},
                {partner / distance * distance, distance}};
    }
};

template <> struct schedule_for<policies::Algo::RecursiveDoubling, collective::allgather>
    : recursive_doubling_allgather {};
template <> struct schedule_for<policies::Algo::RecursiveDoubling, collective::allreduce>
    : recursive_doubling_allreduce {};

}  // namespace ccoll
