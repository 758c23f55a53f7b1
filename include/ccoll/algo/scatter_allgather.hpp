// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/scatter_allgather.hpp - floor 2. Van de Geijn's broadcast of long vectors: a binomial scatter from the
// root, then a ring allgather. No rank sends more than about twice the vector; the root of a binomial tree
// sends it log2 p times.
// Source: Barnett, Gupta, Payne, Shuler, van de Geijn and Watts, SHPCC 1994; Thakur, Rabenseifner and Gropp,
// IJHPCA 2005. The ring does not send a rank the blocks that it has from the scatter, as in Zhou, Marjanovic,
// Niethammer and Gracia, ICPP Workshops 2015.
#pragma once

#include <ccoll/algo/binomial.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Cost: ceil(log2 p) + p - 1 steps. The root sends 2 (p - 1) blocks and receives none.
struct scatter_allgather_bcast {
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return binomial_scatter::steps(p) + p - 1; }
    static constexpr int widest(int p) { return largest_doubling(p); }
    static constexpr int worst_block(int, int root)
    {
        return root;
    }  // the ring carries it past every other rank
    static constexpr step step_at(int me, int p, int root, int k)
    {
        if (k < binomial_scatter::steps(p)) return binomial_scatter::step_at(me, p, root, k);
        k -= binomial_scatter::steps(p);
        const int before = (me + p - 1) % p, after = (me + 1) % p;
        step now;
        if (wants(after, p, root, k)) {
            now.send_to = after;
            now.send = {(me + p - k) % p, 1};
        }
        if (wants(me, p, root, k)) {
            now.recv_from = before;
            now.recv = {(before + p - k) % p, 1};
        }
        return now;
    }

private:
    /// Whether `rank` still needs what step k of the ring would bring it. From the scatter it has the blocks
    /// of its subtree, and these are the ones that the ring would bring last.
    static constexpr bool wants(int rank, int p, int root, int k)
    {
        const int relative = (rank - root + p) % p;
        int subtree = p;
        if (relative > 0) {
            subtree = 1;
            while (relative % (2 * subtree) == 0) subtree *= 2;
            if (relative + subtree > p) subtree = p - relative;
        }
        return k < p - subtree;
    }
};

template <> struct schedule_for<policies::Algo::ScatterAllgather, collective::bcast>
    : scatter_allgather_bcast {};

}  // namespace ccoll
