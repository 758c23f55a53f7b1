// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/bruck.hpp - floor 2. Bruck: distances 1, 2, 4, ... round the ring of ranks, each message to one rank and from another:
// ceil(log2 p) steps for any p; for short vectors.
// Source: Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 1997; differs from the paper in: no local rotations, since blocks
// are numbered by where they belong (allgather) or by distance (alltoall), not by where they lie.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// After step k a rank holds its own block and the next 2^(k+1) - 1. Cost per rank: p - 1 blocks sent, as few as a ring sends.
struct bruck_allgather {
    static constexpr bool rotates = true;
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return ceil_log2(p); }
    static constexpr int widest(int p) { return largest_doubling(p); }
    static constexpr step step_at(int me, int p, int, int k)
    {
        const int distance = 1 << k, count = 2 * distance <= p ? distance : p - distance, after = (me + distance) % p;
        return {(me - distance + p) % p, after, {me, count}, {after, count}};
    }
};

/// A block that must travel j ranks travels the powers of two of which j is the sum: step k moves all blocks with bit k in j.
/// Cost per rank: about p / 2 log2 p blocks sent, instead of the p - 1 of a direct exchange.
struct bruck_alltoall {
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return ceil_log2(p); }
    static constexpr int widest(int p) { return p > 2 ? p / 2 : 1; }
    static constexpr int worst_block(int p, int) { return floor_power2(p) - 1; }  // most bits
    static constexpr step step_at(int me, int p, int, int k)
    {
        const int distance = 1 << k, rest = p % (2 * distance) - distance;
        const block_set travel{distance, p / (2 * distance) * distance + (rest > 0 ? rest : 0), 2 * distance, distance};
        return {(me + distance) % p, (me - distance + p) % p, travel, travel};
    }
};

template <> struct schedule_for<policies::Algo::Bruck, collective::allgather> : bruck_allgather {};
template <> struct schedule_for<policies::Algo::Bruck, collective::alltoall> : bruck_alltoall {};

}  // namespace ccoll
