// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/bruck.hpp - floor 2. Bruck: in step k every rank sends to the rank 2^k away on one side and receives
// from the rank 2^k away on the other side. It takes ceil(log2 p) steps for any p, and is meant for short
// vectors.
// Source: Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 1997. Differs from the paper: nothing is rotated
// locally, because blocks are numbered by where they belong (allgather) or by how far they travel (alltoall),
// and not by where they lie in memory.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// After step k a rank holds its own block and the 2^(k+1) - 1 blocks after it. Cost per rank: p - 1 blocks
/// sent, as few as in a ring.
struct bruck_allgather {
    static constexpr bool rotates = true;
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return ceil_log2(p); }
    static constexpr int widest(int p) { return largest_doubling(p); }
    static constexpr step step_at(int me, int p, int, int k)
    {
        const int distance = 1 << k, count = 2 * distance <= p ? distance : p - distance,
                  after = (me + distance) % p;
        return {(me - distance + p) % p, after, {me, count}, {after, count}};
    }
};

/// A block that must travel j ranks makes one hop for each bit that is set in j: step k moves every block
/// with bit k in j by 2^k ranks.
/// Cost per rank: about (p / 2) log2 p blocks sent. A direct exchange sends p - 1.
struct bruck_alltoall {
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return ceil_log2(p); }
    static constexpr int widest(int p) { return p > 2 ? p / 2 : 1; }
    static constexpr int worst_block(int p, int)
    {
        return floor_power2(p) - 1;
    }  // its number has the most bits set
    static constexpr step step_at(int me, int p, int, int k)
    {
        const int distance = 1 << k, rest = p % (2 * distance) - distance;
        const block_set travel{distance, p / (2 * distance) * distance + (rest > 0 ? rest : 0), 2 * distance,
                               distance};
        return {(me + distance) % p, (me - distance + p) % p, travel, travel};
    }
};

template <> struct schedule_for<policies::Algo::Bruck, collective::allgather> : bruck_allgather {};
template <> struct schedule_for<policies::Algo::Bruck, collective::alltoall> : bruck_alltoall {};

}  // namespace ccoll
