// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two libraries in one program, each with headers of its own version. They must share nothing, not even
// functions of the same name.
#include <cmath>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

float sum_of_the_other_version(int p);
const void* function_of_the_other_version();

int main()
{
    std::vector<int> right(3, 0);
    ccoll::run_ranks(3, [&](ccoll::threads_comm& comm) {
        std::vector<float> ones(1000, 1.0f);
        ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(ones, comm);
        right[static_cast<std::size_t>(comm.rank())] =
            std::fabs(ones[500] - sum_of_the_other_version(3)) < 1e-2f ? 1 : 0;
    });
    const bool apart =
        function_of_the_other_version() != reinterpret_cast<const void*>(&ccoll::make_error_code);
    return apart && right[0] + right[1] + right[2] == 3 ? 0 : 1;
}
