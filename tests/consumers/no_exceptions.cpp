// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Built with -fno-exceptions: every call has an overload that takes a std::error_code. A call without one
// ends the program, after a sentence that the program can have.
#include <cmath>
#include <cstdlib>
#include <cstring>
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
    if (right[0] != 1 || right[1] != 1) return 1;

    ccoll::on_message([](const char* line) noexcept {
        std::_Exit(std::strstr(line, "ccoll::allreduce: the buffers of a rank do not fit") == line ? 0 : 2);
    });
    ccoll::run_ranks(1, [](ccoll::threads_comm& comm) {
        std::vector<float> ones(1000, 1.0f), too_short(7);
        ccoll::allreduce<Algo::Ring>(ones, too_short, comm);
    });
    return 3;
}
