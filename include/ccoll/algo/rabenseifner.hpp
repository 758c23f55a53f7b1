// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/rabenseifner.hpp - floor 2. Rabenseifner: a reduce-scatter by recursive halving, followed by an
// allgather by recursive doubling (allreduce) or by a gather up the same tree (reduce). It moves as few bytes
// as a ring, in 2 log2 p steps, and is meant for long vectors.
// Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// The ranks that take part in halving and doubling are the core: 2^floor(log2 p) of them. The other ranks,
/// `extra` of them, first fold: they send all they have to a neighbour in the core. Of the ranks 0 .. 2 extra
/// - 1, every odd one folds into the even one before it. Ranks are counted from `root`, so the root is core
/// rank 0.
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
    constexpr int rank_of(int core) const
    {
        return (root + (core < extra(p) ? 2 * core : core + extra(p))) % p;
    }

    /// The first step: the extra ranks send everything to their neighbours in the core.
    constexpr step fold(block_set whole) const
    {
        if (folds()) return {neighbour(), nobody, whole, {}};
        return takes() ? step{nobody, neighbour(), {}, whole, on_receive::reduce} : step{};
    }
    /// The last step: the neighbours send the result back.
    constexpr step unfold(block_set result) const
    {
        if (folds()) return {nobody, neighbour(), {}, result};
        return takes() ? step{neighbour(), nobody, result, {}} : step{};
    }

    /// The blocks that a core rank still reduces after `halvings` halvings. The partners are at distance 1,
    /// 2, 4, ..., so the nearest ones exchange the most. As a consequence, the number of a block is the
    /// number of its core rank with the bits reversed.
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
    /// A halving backwards: each of the two partners gets what the other one has.
    constexpr step rejoin(int h) const
    {
        const int other = core() ^ (1 << h), partner = rank_of(other);
        return {partner, partner, kept(core(), h + 1), kept(other, h + 1)};
    }
    /// A halving backwards for a reduce: the partner that is farther from the root sends what it has
    /// collected to the nearer one.
    constexpr step collect(int h) const
    {
        const int bit = 1 << h, other = core() ^ bit;
        if (core() >= 2 * bit) return {};  // has sent away all it had
        return core() >= bit ? step{rank_of(other), nobody, kept(core(), h + 1), {}}
                             : step{nobody, rank_of(other), {}, kept(other, h + 1)};
    }
};

}  // namespace detail

/// Cost per rank if p is a power of two: 2 log2 p steps, 2 (p - 1) / p of the vector sent. For other p there
/// are two more steps: the extra ranks send the vector once, and their neighbours send it once more. Every
/// rank keeps what it sent in encoded form, so all ranks end with the same bits.
struct rabenseifner_allreduce {
    using tree = detail::halving;
    static constexpr int blocks(int p) { return tree::core_size(p); }
    static constexpr int steps(int p) { return 2 * tree::core_log2(p) + (tree::extra(p) > 0 ? 2 : 0); }
    static constexpr int widest(int p) { return tree::extra(p) > 0 ? blocks(p) : p > 1 ? blocks(p) / 2 : 1; }
    /// The block of the last core rank, because core rank 0, the first one that an extra rank folds into, is
    /// at the far end of its tree.
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

/// Cost per rank if p is a power of two: 2 log2 p steps. While reducing, every rank sends (p - 1) / p of the
/// vector. While gathering, half of the ranks send 1 / p of it, a quarter send 2 / p, and so on; one rank
/// sends 1 / 2. For other p there is one more step, in which the extra ranks send the vector.
struct rabenseifner_reduce {
    using tree = detail::halving;
    static constexpr int blocks(int p) { return tree::core_size(p); }
    static constexpr int steps(int p) { return 2 * tree::core_log2(p) + (tree::extra(p) > 0 ? 1 : 0); }
    static constexpr int widest(int p) { return rabenseifner_allreduce::widest(p); }
    /// The block of the last core rank, as in the allreduce. That core rank is also the farthest from the
    /// root.
    static constexpr int worst_block(int p, int) { return blocks(p) - 1; }
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const tree at{me, p, root};
        const int halvings = tree::core_log2(p), folded = tree::extra(p) > 0 ? 1 : 0, h = k - folded;
        if (folded == 1 && k == 0) return at.fold(collective::all(blocks(p)));
        if (at.folds()) return {};
        return h < halvings ? at.halve(h) : at.collect(2 * halvings - 1 - h);
    }
};

/// Recursive halving on p blocks. The partners are at distance p / 2, p / 4, ..., 1, so that the blocks which
/// a rank keeps are contiguous and its own block is among them. A core rank into which an extra rank has
/// folded reduces the blocks of both.
/// Cost per rank if p is a power of two: log2 p steps, p - 1 blocks sent. For other p there are two more
/// steps, and the extra ranks send p blocks.
struct recursive_halving_reduce_scatter {
    using tree = detail::halving;
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return tree::core_log2(p) + (tree::extra(p) > 0 ? 2 : 0); }
    static constexpr int widest(int p) { return tree::extra(p) > 0 ? p : p > 1 ? p / 2 : 1; }
    /// The block of an extra rank. If there are enough extra ranks, it is one that is paired with a core rank
    /// c while another extra rank folds into the far end of c's tree, which is core rank (core size - 1 - c).
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
        const int bit = tree::core_size(p) >> (k - folded + 1), other = at.core() ^ bit,
                  partner = at.rank_of(other);
        return {partner, partner, subtree(p, other, bit), subtree(p, at.core(), bit), on_receive::reduce};
    }

private:
    /// The blocks of the aligned group of `size` core ranks to which `core` belongs, and of the extra ranks
    /// that folded into them.
    static constexpr block_set subtree(int p, int core, int size)
    {
        const int begin = core / size * size, end = begin + size, e = tree::extra(p);
        const int first = begin < e ? 2 * begin : begin + e, last = end < e ? 2 * end : end + e;
        return {first, last - first};
    }
};

template <> struct schedule_for<policies::Algo::Rabenseifner, collective::allreduce>
    : rabenseifner_allreduce {};
template <> struct schedule_for<policies::Algo::Rabenseifner, collective::reduce> : rabenseifner_reduce {};
template <> struct schedule_for<policies::Algo::Rabenseifner, collective::reduce_scatter>
    : recursive_halving_reduce_scatter {};

}  // namespace ccoll
