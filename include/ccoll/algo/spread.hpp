// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/spread.hpp - floor 2. Spread: in step k every rank sends to the rank k + 1 after it, so no two ranks
// send to the same rank in one step. Others call this "scatter destination", "scattered" or "linear shift";
// Open MPI calls it pairwise.
// Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005. Differs from the paper: the paper posts all messages
// at once. A schedule cannot ask for that, because a lane of the engine waits for both messages of a step;
// only different lanes do not wait for each other.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Cost per rank: p - 1 steps, one block in each.
struct spread_alltoall {
    static constexpr int blocks(int p) { return p; }
    static constexpr int steps(int p) { return p - 1; }
    static constexpr int worst_block(int p, int) { return 1 % p; }  // any but block 0, which stays
    static constexpr step step_at(int me, int p, int, int k)
    {
        const int distance = k + 1;
        return {(me + distance) % p, (me - distance + p) % p, {distance, 1}, {distance, 1}};
    }
};

template <> struct schedule_for<policies::Algo::Spread, collective::alltoall> : spread_alltoall {};

}  // namespace ccoll
