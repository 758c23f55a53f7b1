// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What calls have measured is written when their communicator ends, however late other ranks are, and to the
// same folder wherever the program has gone meanwhile.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "check.hpp"

#include <ccoll/allreduce.hpp>
#include <ccoll/auto.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/transport/mpi.hpp>

using namespace ccoll::policies;

namespace {

/// Much longer than the time for which a duplicate is waited for while its communicator is freed.
void be_late(int rank)
{
    if (check::rank == rank) std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    int p = 1, id = static_cast<int>(getpid());
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const std::string name = "tuned." + std::to_string(id) + ".json",
                      path = ccoll::tune::present_folder() + "/" + name;
    setenv("CCOLL_TUNE", ("file=" + name).c_str(), 1);  // relative

    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    std::vector<float> x(100000), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(1e-4f * static_cast<float>(i));
    for (int i = 0; i < 12; ++i) ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(x, y, other);
    for (int i = 0; i < 12; ++i) ccoll::allreduce<Codec::Auto, ErrorBound<1e-2>>(x, y, MPI_COMM_WORLD);
    EXPECT(chdir("/") == 0);

    const auto classes = [&] { return check::rank == 0 ? ccoll::tune::read_tuning(path).classes.size() : 0; };
    EXPECT(classes() == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    be_late(p - 1);
    MPI_Comm_free(&other);
    EXPECT(check::rank != 0 || classes() == 1);

    int failures = check::failed;
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    be_late(p - 1);
    MPI_Finalize();
    if (check::rank != 0) return failures == 0 ? 0 : 1;
    EXPECT(classes() == 2);
    std::remove(path.c_str());
    failures += check::failed;
    if (failures == 0) std::printf("%d checks passed\n", check::passed);
    return failures == 0 ? 0 : 1;
}
