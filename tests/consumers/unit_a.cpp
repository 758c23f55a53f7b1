// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One of two translation units of one program; both include everything and call the same plan.
#include <cmath>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

double sum_of_ones(ccoll::threads_comm& comm);  // the other unit

int main()
{
    std::vector<int> right(2, 0);
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        std::vector<float> ones(1000, 1.0f), sum(ones.size());
        ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(ones, sum, comm);
        const bool same = std::abs(sum[500] - sum_of_ones(comm)) <= 1e-9;
        right[static_cast<std::size_t>(comm.rank())] = same && std::abs(sum[500] - 2) < 0.1f ? 1 : 0;
    });
    return right[0] == 1 && right[1] == 1 ? 0 : 1;
}
