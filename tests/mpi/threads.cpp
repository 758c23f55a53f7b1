// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MPI_THREAD_MULTIPLE: several threads of each rank at the same time, each on its own communicator.
#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;

int main(int argc, char** argv)
{
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &check::rank);
    if (provided < MPI_THREAD_MULTIPLE) return check::finish();  // this MPI cannot
    int p = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    constexpr int workers = 3, rounds = 30;
    std::vector<MPI_Comm> comms(workers);
    for (MPI_Comm& each : comms) MPI_Comm_dup(MPI_COMM_WORLD, &each);

    std::atomic<int> wrong{0};
    std::vector<std::thread> all;
    for (int w = 0; w < workers; ++w)
        all.emplace_back([&, w] {
            const MPI_Comm comm = comms[static_cast<std::size_t>(w)];
            const std::size_t n = w == 0 ? 100 : 50000 * static_cast<std::size_t>(w);
            std::vector<float> in(n), out(n), copy(n), exact(n);
            for (int round = 0; round < rounds; ++round) {
                for (std::size_t i = 0; i < n; ++i)
                    in[i] = static_cast<float>((i + static_cast<std::size_t>(round)) % 50);
                const auto lossy = ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(in, out, comm);
                auto flying = ccoll::iallreduce<Algo::RecursiveDoubling>(in, exact, comm);
                copy = in;
                ccoll::bcast<Codec::PipeSZx, ErrorBound<1e-3>>(copy, round % p, comm);
                flying.wait();
                ccoll::allreduce<Op::Max>(in, comm);  // MPI's own
                for (std::size_t i = 0; i < n; ++i) {
                    const double x = static_cast<double>((i + static_cast<std::size_t>(round)) % 50);
                    wrong += std::fabs(static_cast<double>(out[i]) - p * x) > lossy.worst_case_error + 1e-4;
                    wrong += static_cast<double>(exact[i]) != p * x;
                    wrong += std::fabs(static_cast<double>(copy[i]) - x) > 1e-3;
                    wrong += static_cast<double>(in[i]) != x;
                }
            }
        });
    for (std::thread& each : all) each.join();
    check::expect(wrong == 0, "results of threads at once");

    // On one communicator: what is passed on to MPI takes the long way, which says that it is in use.
    std::vector<double> x(10, 1.0);
    ccoll::allreduce(x, comms[0]);
    {
        const ccoll::sole_use use(&ccoll::mpi_comm(comms[0]).memory().user());
        std::thread([&] {
            for (int i = 0; i < 2; ++i) {
                std::error_code code;
                ccoll::allreduce(x, comms[0], code);
                check::expect(code == ccoll::status::out_of_turn, "a second thread on a communicator");
                std::vector<double> y(10, 1.0);
                ccoll::allreduce(y, comms[1]);  // from now on this thread has used it before
                check::expect(y[9] == p, "another communicator");
            }
        }).join();
    }
    ccoll::allreduce(x, comms[0]);
    check::expect(x[0] == static_cast<double>(p) * p, "what follows");
    for (MPI_Comm& each : comms) MPI_Comm_free(&each);
    return check::finish();
}
