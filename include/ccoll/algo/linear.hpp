// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/linear.hpp - floor 2. Linear: the root exchanges one message with every other rank in turn, and no
// other ranks talk to each other. There are p - 1 steps, and a rank other than the root takes part in one of
// them. Use it for few ranks, or as a baseline for trees and chains.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// Step k: the root and the rank k + 1 after it exchange a message.
struct linear_step {
    /// The other end of the message; nobody on a rank that does not take part in this step.
    int other = nobody;
    bool is_root = false;
    int met = 0;  ///< the rank that the root talks to in this step

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

/// Broadcasts the whole vector as one block. Cost: p - 1 steps; the root sends the vector p - 1 times.
struct linear_bcast {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        return detail::linear_step::at(me, p, root, k).outward({0, 1});
    }
};

/// Reduces the whole vector as one block. Cost: p - 1 steps; the root receives and reduces the vector p - 1
/// times. No contribution is encoded more than once.
struct linear_reduce {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        return detail::linear_step::at(me, p, root, k).inward({0, 1}, on_receive::reduce);
    }
};

/// Every block travels once, which is fewer bytes than in a tree but more steps. Cost: p - 1 steps; the root
/// sends p - 1 blocks.
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

/// The scatter with every message in the other direction. Cost: p - 1 steps; the root receives p - 1 blocks.
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
