// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/chain.hpp - floor 2. Chain: the ranks form a line that begins at the root. Slices of the vector follow
// each other down the line (bcast) or up the line (reduce). This takes p - 1 steps, but a rank sends each
// byte only once, so it is the fastest algorithm for long vectors on few ranks.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Broadcasts the whole vector as one block. The engine cuts it into slices and has several of them under way
/// at a time, which keeps every link of the line busy. Cost: p - 1 steps; every rank but the last one sends
/// the vector once.
struct chain_bcast {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const int place = (me - root + p) % p;
        if (place == k) return {(me + 1) % p, nobody, {0, 1}, {}};
        if (place == k + 1) return {nobody, (me + p - 1) % p, {}, {0, 1}};
        return {};
    }
};

/// The bcast backwards: the rank at the far end of the line begins. Cost: p - 1 steps; every rank but the
/// root sends the vector once.
struct chain_reduce {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const int place = (me - root + p) % p, last = p - 1 - k;
        if (place == last) return {(me + p - 1) % p, nobody, {0, 1}, {}};
        if (place == last - 1) return {nobody, (me + 1) % p, {}, {0, 1}, on_receive::reduce};
        return {};
    }
};

template <> struct schedule_for<policies::Algo::Chain, collective::bcast> : chain_bcast {};
template <> struct schedule_for<policies::Algo::Chain, collective::reduce> : chain_reduce {};

}  // namespace ccoll
