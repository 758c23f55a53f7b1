// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Communicators are made and freed three thousand times, more often than MPICH has contexts, with requests in
// flight, and nothing remains.
// ranks: 2
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <unistd.h>

#include "check.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;

namespace {

/// Bytes of this process's pages that are in memory.
double resident_bytes()
{
    long size = 0, resident = 0;
    if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(f, "%ld %ld", &size, &resident) != 2) resident = 0;
        std::fclose(f);
    }
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void use_once(int round, std::vector<float>& in, std::vector<float>& out)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int p = 1;
    MPI_Comm_size(comm, &p);
    if (round % 3 == 0) {
        ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(in, out, comm);
    } else if (round % 3 == 1) {
        auto flying = ccoll::iallreduce<Algo::RecursiveDoubling>(in, out, comm);
        flying.wait();
    } else {
        ccoll::allreduce(in, out, comm);
    }
    check::expect(std::fabs(static_cast<double>(out[3]) - p) <= p * 1e-3, "the sum on a fresh communicator");
    MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    std::vector<float> in(1000, 1), out(in.size());
    constexpr int warm = 300, rounds = 3000;
    for (int i = 0; i < warm; ++i) use_once(i, in, out);
    const double before = resident_bytes();
    for (int i = warm; i < rounds; ++i) use_once(i, in, out);
    // Each would leave at least 100 KB of working memory if it were not freed: 270 MB in all. MPI's own
    // records may grow a little.
    check::expect(resident_bytes() - before < 48e6, "memory does not grow with the number of communicators");

    // State that is cached on a communicator until MPI_Finalize, and a persistent call that outlives it.
    auto prepared = ccoll::allreduce_init<Codec::SZp, ErrorBound<1e-3>>(in, out, MPI_COMM_WORLD);
    prepared.start();
    prepared.wait();
    prepared = {};
    return check::finish();
}
