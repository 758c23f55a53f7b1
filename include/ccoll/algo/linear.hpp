// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/linear.hpp - floor 2. Linear: the root talks to everybody in turn, and nobody else to anybody: p - 1 steps, each rank but
// the root in one of them. For few ranks, and as the baseline of what trees and chains win.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// The step in which the root meets the rank k + 1 after it.
struct linear_step {
    int other = nobody;     ///< on the root: whom it meets; on the rank that it meets: the root; nobody on the rest
    bool is_root = false;
    int met = 0;            ///< the rank that the root meets

    static constexpr linear_step at(int me, int p, int root, int k)
    {
        const int met = (root + k + 1) % p;
        return {me == root ? met : me == met ? root : nobody, me == root, met};
    }
    constexpr step outward(block_set what) const
    {
        if (other == nobody) return {};
        return is_root ? step{other, nobody, what, {}} : step{nobody, other, {}, what};
    }
    constexpr step inward(block_set what, on_receive action) const
    {
        if (other == nobody) return {};
        return is_root ? step{nobody, other, {}, what, action} : step{other, nobody, what, {}};
    }
};

}  // namespace detail

/// The whole vector in one block. Cost: the root sends it p - 1 times.
struct linear_bcast {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr step step_at(int me, int p, int root, int k) { return detail::linear_step::at(me, p, root, k).outward({0, 1}); }
};

/// The whole vector in one block. Cost: the root receives and reduces it p - 1 times. Nothing is encoded twice.
struct linear_reduce {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        return detail::linear_step::at(me, p, root, k).inward({0, 1}, on_receive::reduce);
    }
};

/// Every block travels once: fewer bytes than a tree moves, more steps.
struct linear_scatter {
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr int worst_block(int p, int root) { return (root + 1) % p; }  // any but the root's
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const auto now = detail::linear_step::at(me, p, root, k);
        return now.outward({now.met, 1});
    }
};

/// The scatter with the messages turned round.
struct linear_gather {
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr int worst_block(int p, int root) { return (root + 1) % p; }  // any but the root's
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const auto now = detail::linear_step::at(me, p, root, k);
        return now.inward({now.met, 1}, on_receive::replace);
    }
};

template <> struct schedule_for<policies::Algo::Linear, collective::bcast> : linear_bcast {};
template <> struct schedule_for<policies::Algo::Linear, collective::reduce> : linear_reduce {};
template <> struct schedule_for<policies::Algo::Linear, collective::scatter> : linear_scatter {};
template <> struct schedule_for<policies::Algo::Linear, collective::gather> : linear_gather {};

}  // namespace ccoll
