// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls collectives of which another unit has the code.
#include <vector>

#include "shared.hpp"

using namespace ccoll::policies;

int main()
{
    std::vector<int> right(2, 0);
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        std::vector<int> values(1000, 3), exact(values.size()), sum(values.size()), later(values.size());
        ccoll::allreduce(values, exact, comm);
        ccoll::allreduce<Codec::Lossless>(values, sum, comm);
        auto prepared = ccoll::allreduce_init<Codec::Lossless>(values, later, comm);
        prepared.start();
        prepared.wait();
        ccoll::iallreduce<Codec::Lossless>(values, later, comm).wait();
        right[static_cast<std::size_t>(comm.rank())] =
            exact[999] == 6 && sum == exact && later == sum ? 1 : 0;
    });
    return right[0] == 1 && right[1] == 1 ? 0 : 1;
}
