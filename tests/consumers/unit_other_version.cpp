// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One of two translation units of one program whose headers have different versions. This one pretends to
// have the other version.
#define CCOLL_ABI v0_999
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

float sum_of_the_other_version(int p);
const void* function_of_the_other_version();

float sum_of_the_other_version(int p)
{
    float sum = 0;
    ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
        std::vector<float> ones(1000, 1.0f);
        ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(ones, comm);
        if (comm.rank() == 0) sum = ones[500];
    });
    return sum;
}
const void* function_of_the_other_version() { return reinterpret_cast<const void*>(&ccoll::make_error_code); }
