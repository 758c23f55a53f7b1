// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

double sum_of_ones(ccoll::threads_comm& comm);

double sum_of_ones(ccoll::threads_comm& comm)
{
    std::vector<float> ones(1000, 1.0f), sum(ones.size());
    ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(ones, sum, comm);
    return static_cast<double>(sum[500]);
}
