// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Built with -fno-exceptions: every call has an overload that takes a std::error_code.
#include <cmath>
#include <system_error>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

int main()
{
    std::vector<int> right(2, 0);
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        std::vector<float> ones(1000, 1.0f), sum(ones.size()), too_short(7);
        std::error_code good, bad;
        const auto report =
            ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(ones, sum, comm, good);
        const bool holds = !good && std::abs(sum[500] - 2) <= report.worst_case_error;
        ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(ones, too_short, comm, bad);
        right[static_cast<std::size_t>(comm.rank())] =
            holds && bad == make_error_code(ccoll::status::size_mismatch) ? 1 : 0;
    });
    return right[0] == 1 && right[1] == 1 ? 0 : 1;
}
