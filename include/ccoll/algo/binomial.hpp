// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/binomial.hpp - floor 2. Binomial tree over the ranks relative to the root: ceil(log2 p) steps.
// Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005; C-Coll, figure 3.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// What one rank does at one level of the tree. Ranks are counted from the root. At the level `distance`, a
/// rank that is `distance` above its parent heads a subtree of `distance` ranks; the last subtree may be
/// smaller.
/// Scatter and gather share this: in a scatter the blocks go down the tree, in a gather they come up.
struct tree_step {
    int child = nobody, parent = nobody;
    /// The blocks of the child's subtree if there is a child, else of this rank's own subtree.
    block_set subtree{};

    static constexpr tree_step at(int me, int p, int root, int distance)
    {
        const int relative = (me - root + p) % p;
        if (relative % (2 * distance) == 0 && relative + distance < p) {
            const int child = relative + distance;
            return {(child + root) % p,
                    nobody,
                    {(child + root) % p, child + distance <= p ? distance : p - child}};
        }
        if (relative % (2 * distance) == distance)
            return {nobody,
                    (relative - distance + root) % p,
                    {me, relative + distance <= p ? distance : p - relative}};
        return {};
    }
};

}  // namespace detail

/// Broadcasts the whole vector as one block. Cost: ceil(log2 p) steps; the root sends the vector in each of
/// them.
struct binomial_bcast {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return ceil_log2(p); }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const int relative = (me - root + p) % p, distance = 1 << k;
        if (relative < distance && relative + distance < p) return {(me + distance) % p, nobody, {0, 1}, {}};
        if (relative >= distance && relative < 2 * distance)
            return {nobody, (me - distance + p) % p, {}, {0, 1}};
        return {};
    }
};

/// Reduces the whole vector as one block. Cost: ceil(log2 p) steps; every rank but the root sends the vector
/// once.
struct binomial_reduce {
    static constexpr int blocks(int) { return 1; }
    static constexpr int steps(int p) { return ceil_log2(p); }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const int relative = (me - root + p) % p, distance = 1 << k;
        if (relative % (2 * distance) == distance) return {(me - distance + p) % p, nobody, {0, 1}, {}};
        if (relative % (2 * distance) == 0 && relative + distance < p)
            return {nobody, (me + distance) % p, {}, {0, 1}, on_receive::reduce};
        return {};
    }
};

/// Scatters p blocks, the largest subtree first. A message carries the blocks of a whole subtree, in the
/// order of the ranks.
/// Cost: ceil(log2 p) steps; the root sends p - 1 blocks.
struct binomial_scatter {
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return ceil_log2(p); }
    static constexpr int widest(int p) { return largest_doubling(p); }
    static constexpr int worst_block(int p, int root)
    {
        return (root + floor_power2(p) - 1) % p;
    }  // the deepest rank
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const auto t = detail::tree_step::at(me, p, root, 1 << (steps(p) - 1 - k));
        if (t.child != nobody) return {t.child, nobody, t.subtree, {}};
        if (t.parent != nobody) return {nobody, t.parent, {}, t.subtree};
        return {};
    }
};

/// The scatter backwards: the smallest subtrees are gathered first. Cost: as for the scatter, with receives
/// in place of sends.
struct binomial_gather {
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return ceil_log2(p); }
    static constexpr int widest(int p) { return largest_doubling(p); }
    static constexpr int worst_block(int p, int root) { return binomial_scatter::worst_block(p, root); }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const auto t = detail::tree_step::at(me, p, root, 1 << k);
        if (t.child != nobody) return {nobody, t.child, {}, t.subtree};
        if (t.parent != nobody) return {t.parent, nobody, t.subtree, {}};
        return {};
    }
};

template <> struct schedule_for<policies::Algo::Binomial, collective::bcast> : binomial_bcast {};
template <> struct schedule_for<policies::Algo::Binomial, collective::reduce> : binomial_reduce {};
template <> struct schedule_for<policies::Algo::Binomial, collective::scatter> : binomial_scatter {};
template <> struct schedule_for<policies::Algo::Binomial, collective::gather> : binomial_gather {};

}  // namespace ccoll
