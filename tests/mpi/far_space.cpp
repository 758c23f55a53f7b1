// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives over MPI on memory that the host cannot read, with codec work that a thread does late, compared
// with the same calls on host memory.
// one MPI
#include <string>

#include "check.hpp"

#include "support/far_cases.hpp"

int main(int argc, char** argv)
{
    check::init(&argc, &argv, MPI_THREAD_FUNNELED);
    unsigned seed = static_cast<unsigned>(check::rank) + 1;
    for (const std::size_t n : {std::size_t{300001}, std::size_t{5000}, std::size_t{37}}) {
        far::worker::reseed(seed++);
        std::string wrong;
        const MPI_Comm world = MPI_COMM_WORLD;
        far::cases cases(world, wrong);
        if (n > 100000) cases.run_long(n);
        else cases.run(n);
        check::expect(wrong.empty(), wrong.c_str());
    }

    // MPI takes messages in device memory if it says so, and never in memory that it cannot know.
    auto link = ccoll::as_transport(MPI_COMM_WORLD);
    check::expect(link.reach(far::messages.memory) == ccoll::status::not_direct,
                  "MPI takes memory that only this test knows");
    constexpr ccoll::far_memory device{nullptr, true};
    check::expect((link.reach(device) == ccoll::status::ok) == ccoll::detail::mpi_is_cuda_aware(),
                  "MPI is not asked");
    const far::vector<float> x(1000, 1.0f);
    far::vector<float> y(1000);
    std::error_code code;
    ccoll::allreduce<ccoll::policies::Transport::Direct>(x, y, MPI_COMM_WORLD, code);
    check::expect(code == ccoll::make_error_code(ccoll::status::not_direct),
                  "Transport::Direct is not refused");
    ccoll::allreduce(x, y, MPI_COMM_WORLD);
    check::expect(y.values() == std::vector<float>(1000, static_cast<float>(link.size())),
                  "the next call is wrong");
    return check::finish();
}
