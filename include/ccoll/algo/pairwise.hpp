// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/pairwise.hpp - floor 2. Pairwise: two ranks exchange their blocks in two steps, one right after the other:
// distances 1, p - 1, 2, p - 2, ... Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005; differs from the paper in: no partner
// me xor k when p is a power of two. There both directions share a step, but their distances differ, j and p - j, and a block must
// have left before another takes its place. So each rank must send distance j no later than the rank j before it does; these
// inequalities close to a ring, round which all send distance j in the same step.
#pragma once

#include <ccoll/algo/spread.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Cost per rank: p - 1 steps, one block in each. Only half way round (p even) do both directions share a step.
struct pairwise_alltoall : spread_alltoall {  // its steps in another order
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const int distance = k % 2 == 0 ? k / 2 + 1 : p - (k + 1) / 2;
        return spread_alltoall::step_at(me, p, root, distance - 1);
    }
};

template <> struct schedule_for<policies::Algo::Pairwise, collective::alltoall> : pairwise_alltoall {};

}  // namespace ccoll
