// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls collectives of which another unit has the code.
#include <cmath>
#include <vector>

#include "extern.hpp"

using namespace ccoll::policies;

int main()
{
    std::vector<int> right(2, 0);
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        std::vector<float> values(1000, 1.5f), exact(values.size()), sum(values.size()), later(values.size());
        ccoll::allreduce(values, exact, comm);
        ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(values, sum, comm);
        auto prepared = ccoll::allreduce_init<Codec::SZp, ErrorBound<1e-3>>(values, later, comm);
        prepared.start();
        prepared.wait();
        ccoll::iallreduce<Codec::SZp, ErrorBound<1e-3>>(values, later, comm).wait();
        const bool good = exact[999] == 3 && std::abs(sum[500] - 3) <= 0.002f && later == sum;
        right[static_cast<std::size_t>(comm.rank())] = good ? 1 : 0;
    });
    return right[0] == 1 && right[1] == 1 ? 0 : 1;
}
