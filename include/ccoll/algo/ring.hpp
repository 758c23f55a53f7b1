// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/ring.hpp - floor 2. Ring: in every step each rank sends one of p blocks to the next rank. It moves the
// fewest bytes possible. A reduce-scatter or an allgather takes p - 1 steps, and an allreduce, which is one
// after the other, takes 2 (p - 1).
// Source: Patarasuk and Yuan, JPDC 2009; C-Coll, figures 2 and 4.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Rank r ends with the sum of block r. Cost per rank: p - 1 steps, one block sent in each.
struct ring_reduce_scatter {
    static constexpr bool rotates = true;
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr step step_at(int me, int p, int, int k)
    {
        return {(me + 1) % p,
                (me + p - 1) % p,
                {(me + p - k - 1) % p, 1},
                {(me + 2 * p - k - 2) % p, 1},
                on_receive::reduce};
    }
};

/// Rank r begins with block r, and ends with all of them. Cost per rank: p - 1 steps, one block sent in each.
struct ring_allgather {
    static constexpr bool rotates = true;
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr step step_at(int me, int p, int, int k)
    {
        return {(me + 1) % p,
                (me + p - 1) % p,
                {(me + p - k) % p, 1},
                {(me + p - k - 1) % p, 1},
                on_receive::replace};
    }
};

template <> struct schedule_for<policies::Algo::Ring, collective::reduce_scatter> : ring_reduce_scatter {};
template <> struct schedule_for<policies::Algo::Ring, collective::allgather> : ring_allgather {};
template <> struct schedule_for<policies::Algo::Ring, collective::allreduce>
    : sequence<ring_reduce_scatter, ring_allgather> {};

}  // namespace ccoll
