// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/pairwise.hpp - floor 2. Pairwise: two ranks exchange their blocks in two consecutive steps, because
// the distances come in the order 1, p - 1, 2, p - 2, ...
// Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005. Differs from the paper: the partner is never me xor k,
// not even when p is a power of two. The paper sends both directions in one step, but here they have
// different block numbers, j and p - j, and a block must be sent before another one takes its place. A rank
// must therefore send distance j no later than the rank j before it does. Followed round the ring of ranks,
// this means that all ranks send distance j in the same step.
#pragma once

#include <ccoll/algo/spread.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Cost per rank: p - 1 steps, one block in each. Both directions share a step only at distance p / 2 (p
/// even).
struct pairwise_alltoall : spread_alltoall {  // the same steps in another order
    static constexpr step step_at(int me, int p, int root, int k)
    {
        const int distance = k % 2 == 0 ? k / 2 + 1 : p - (k + 1) / 2;
        return spread_alltoall::step_at(me, p, root, distance - 1);
    }
};

template <> struct schedule_for<policies::Algo::Pairwise, collective::alltoall> : pairwise_alltoall {};

}  // namespace ccoll
