// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's whole program: three ranks add a field with an error bound. The exit code is 0 if the promise of
// the report holds.
#include <cmath>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

static_assert(ccoll::worst_case<ccoll::collective::allreduce, Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>,
                                Op::Average>(3) == 1e-3);

int main()
{
    int ranks_right = 0;
    std::vector<int> right(3, 0);
    ccoll::run_ranks(3, [&](ccoll::threads_comm& comm) {
        std::vector<float> field(5000), sum(field.size());
        for (std::size_t i = 0; i < field.size(); ++i) field[i] = std::sin(0.01f * static_cast<float>(i));
        const ccoll::report report =
            ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(field, sum, comm);
        bool holds = report.worst_case_error > 0 && report.worst_case_error < 0.1;
        for (std::size_t i = 0; i < field.size(); ++i)
            holds = holds && std::abs(sum[i] - 3 * field[i]) <= report.worst_case_error + 1e-6;
        right[static_cast<std::size_t>(comm.rank())] = holds ? 1 : 0;
    });
    for (int one : right) ranks_right += one;
    return ranks_right == 3 ? 0 : 1;
}
