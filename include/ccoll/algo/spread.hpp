// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/spread.hpp - floor 2. Spread: every rank sends to the rank 1, 2, 3, ... after it, so that in no step two ranks send to the
// same one. "Scatter destination", "scattered" or "linear shift" elsewhere; in Open MPI this order is called pairwise.
// Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005; differs from the paper in: there all messages are posted at once. Steps
// cannot say so: a lane of the engine waits for both messages of a step, and only lanes do not wait for each other.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Cost per rank: p - 1 steps, one block in each.
struct spread_alltoall {
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr int worst_block(int p, int) { return 1 % p; }  // any but the one that stays
    static constexpr step step_at(int me, int p, int, int k)
    {
        const int distance = k + 1;
        return {(me + distance) % p, (me - distance + p) % p, {distance, 1}, {distance, 1}};
    }
};

template <> struct schedule_for<policies::Algo::Spread, collective::alltoall> : spread_alltoall {};

}  // namespace ccoll
