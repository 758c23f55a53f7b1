// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/rabenseifner.hpp - floor 2. Rabenseifner: reduce-scatter by recursive halving, then allgather by recursive doubling
// (allreduce) or a gather up the same tree (reduce): as few bytes as a ring moves, in 2 log2 p steps. For long vectors.
// Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// The core: 2^floor(log2 p) ranks that halve and double. The others, `extra` of them, first fold into a neighbour: of the
/// ranks 0 .. 2 extra - 1 every odd one folds into the even one before it. Ranks are counted from `root`, which so is core 0.
struct halving {
    int me, p, root;

    static constexpr int core_log2(int p) { return ceil_log2(p + 1) - 1; }
    static constexpr int core_size(int p) { return floor_power2(p); }
    static constexpr int extra(int p) { return p - core_size(p); }

    constexpr int relative() const { return (me - root + p) % p; }
    constexpr bool paired() const { return relative() < 2 * extra(p); }
    constexpr bool folds() const { return paired() && relative() % 2 == 1; }
    constexpr bool takes() const { return paired() && !folds(); }
    constexpr int neighbour() const { return folds() ? (me - 1 + p) % p : (me + 1) % p; }

    constexpr int core() const { return paired() ? relative() / 2 : relative() - extra(p); }
    constexpr int rank_of(int core) const { return (root + (core < extra(p) ? 2 * core : core + extra(p))) % p; }

    /// Everything goes to the neighbour that is in the core.
    constexpr step fold(block_set whole) const
    {
        if (folds()) return {neighbour(), nobody, whole, {}};
        return takes() ? step{nobody, neighbour(), {}, whole, on_receive::reduce} : step{};
    }
    /// What comes back from there.
    constexpr step unfold(block_set result) const
    {
        if (folds()) return {nobody, neighbour(), {}, result};
        return takes() ? step{neighbour(), nobody, result, {}} : step{};
    }

    /// What this rank, or its partner, still reduces after `halvings` halvings; the partner at 1, 2, 4, ...: neighbours exchange
    /// most. Block numbers so are core numbers with their bits turned round.
    constexpr block_set kept(int core_rank, int halvings) const
    {
        int first = 0, size = core_size(p);
        for (int h = 0; h < halvings; ++h) {
            size /= 2;
            if ((core_rank >> h) % 2 == 1) first += size;
        }
        return {first, size};
    }
    constexpr step halve(int h) const
    {
        const int other = core() ^ (1 << h), partner = rank_of(other);
        return {partner, partner, kept(other, h + 1), kept(core(), h + 1), on_receive::reduce};
    }
    /// A halving backwards: both partners get what the other one has.
    constexpr step rejoin(int h) const
    {
        const int other = core() ^ (1 << h), partner = rank_of(other);
        return {partner, partner, kept(core(), h + 1), kept(other, h + 1)};
    }
    /// A halving backwards for the root alone: what has come together goes to the partner that is nearer to it.
    constexpr step collect(int h) const
    {
        const int bit = 1 << h, other = core() ^ bit;
        if (core() >= 2 * bit) return {};  // has given everything away
        return core() >= bit ? step{rank_of(other), nobody, kept(core(), h + 1), {}} : step{nobody, rank_of(other), {}, kept(other, h + 1)};
    }
};

}  // namespace detail

/// Cost per rank, p a power of two: 2 log2 p steps, 2 (p - 1) / p of the vector sent. Else two steps more, for the extra ranks,
/// which send the vector once, and for their neighbours, which send it once more. All keep what left them encoded: same bits.
struct rabenseifner_allreduce {
    using tree = detail::halving;
    static constexpr int blocks(int p) { return tree::core_size(p); }
    static constexpr int steps(int p) { return 2 * tree::core_log2(p) + (tree::extra(p) > 0 ? 2 : 0); }
    static constexpr int widest(int p) { return tree::extra(p) > 0 ? blocks(p) : p > 1 ? blocks(p) / 2 : 1; }
    /// Block of the last core rank: core 0, into which a rank folds first of all, is at the far end of its tree.
    static constexpr int worst_block(int p, int) { return blocks(p) - 1; }
    static constexpr step step_at(int me, int p, int, int k)
    {
        const tree at{me, p, 0};
        const int halvings = tree::core_log2(p), folded = tree::extra(p) > 0 ? 1 : 0, h = k - folded;
        if (folded == 1 && k == 0) return at.fold(collective::all(blocks(p)));
        if (folded == 1 && k == steps(p) - 1) return at.unfold(collective::all(blocks(p)));
        if (at.folds()) return {};
        return h < halvings ? at.halve(h) : at.rejoin(2 * halvings - 1 - h);
    }
};

/// Cost per rank, p a power of two: 2 log2 p steps; (p - 1) / p of the vector sent while it is reduced; then 1 / p of it by half of
/// the ranks, 2 / p by a quarter, ... and 1 / 2 by one rank. Else one step more, in which the extra ranks send the vector.
struct rabenseifner_reduce {
    using tree = detail::halving;
    static constexpr int blocks(int p) { return tree::core_size(p); }
    static constexpr int steps(int p) { return 2 * tree::core_log2(p) + (tree::extra(p) > 0 ? 1 : 0); }
    static constexpr int widest(int p) { return rabenseifner_allreduce::widest(p); }
    static constexpr int worst_block(int p, int) { return blocks(p) - 1; }  // its core rank is also the farthest from the root
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const tree at{me, p, root};
        const int halvings = tree::core_log2(p), folded = tree::extra(p) > 0 ? 1 : 0, h = k - folded;
        if (folded == 1 && k == 0) return at.fold(collective::all(blocks(p)));
        if (at.folds()) return {};
        return h < halvings ? at.halve(h) : at.collect(2 * halvings - 1 - h);
    }
};

/// Recursive halving on p blocks: partners at p / 2, p / 4, ... 1, so that what a rank keeps is contiguous and its own block is in
/// it. Where an extra rank has folded into the one before it, that one reduces the blocks of both.
/// Cost per rank, p a power of two: log2 p steps, p - 1 blocks sent. Else two steps more; the extra ranks send p blocks.
struct recursive_halving_reduce_scatter {
    using tree = detail::halving;
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return tree::core_log2(p) + (tree::extra(p) > 0 ? 2 : 0); }
    static constexpr int widest(int p) { return tree::extra(p) > 0 ? p : p > 1 ? p / 2 : 1; }
    /// Block of an extra rank; of one that is paired with core c, while another one folds into the far end of the tree, core
    /// (core size - 1 - c), if there are enough extra ranks for both.
    static constexpr int worst_block(int p, int)
    {
        const int e = tree::extra(p), core = tree::core_size(p);
        return e == 0 ? 0 : e > core / 2 ? core + 1 : 1;
    }
    static constexpr step step_at(int me, int p, int, int k)
    {
        const tree at{me, p, 0};
        const int folded = tree::extra(p) > 0 ? 1 : 0;
        if (folded == 1 && k == 0) return at.fold(collective::all(p));
        if (folded == 1 && k == steps(p) - 1) return at.unfold({at.folds() ? me : me + 1, 1});
        if (at.folds()) return {};
        const int bit = tree::core_size(p) >> (k - folded + 1), other = at.core() ^ bit, partner = at.rank_of(other);
        return {partner, partner, subtree(p, other, bit), subtree(p, at.core(), bit), on_receive::reduce};
    }

private:
    /// The blocks of the `size` aligned core ranks with `core` among them, and of those that have folded into them.
    static constexpr block_set subtree(int p, int core, int size)
    {
        const int begin = core / size * size, end = begin + size, e = tree::extra(p);
        const int first = begin < e ? 2 * begin : begin + e, last = end < e ? 2 * end : end + e;
        return {first, last - first};
    }
};

template <> struct schedule_for<policies::Algo::Rabenseifner, collective::allreduce> : rabenseifner_allreduce {};
template <> struct schedule_for<policies::Algo::Rabenseifner, collective::reduce> : rabenseifner_reduce {};
template <> struct schedule_for<policies::Algo::Rabenseifner, collective::reduce_scatter> : recursive_halving_reduce_scatter {};

}  // namespace ccoll
