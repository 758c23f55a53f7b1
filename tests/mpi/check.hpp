// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the MPI test programs share: checks that are counted, and a verdict on which all ranks agree.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <cstdio>

namespace check {

inline int passed = 0;
inline int failed = 0;
inline int rank = -1;  ///< -1: before `init`

/// Counts a check. Reports on stderr a condition that does not hold, up to 20 times per rank.
inline bool expect(bool holds, const char* what)
{
    if (holds) ++passed;
    else if (++failed <= 20) std::fprintf(stderr, "FAILED on rank %d: %s\n", rank, what);
    return holds;
}

/// In place of MPI_Init: sets the wanted thread level, and this rank for `expect`.
inline void init(int* argc, char*** argv, int level = MPI_THREAD_SINGLE)
{
    int provided = 0;
    MPI_Init_thread(argc, argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

/// Collective, in place of MPI_Finalize, after which `after` makes more checks. The exit code is the same on
/// all ranks, except for failures in `after`. Rank 0 prints the number of its checks if nothing failed on any
/// rank.
template <class After>
int finish(After&& after)
{
    int failures = failed;
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const int before = failed;
    MPI_Finalize();
    after();
    failures += failed - before;
    if (rank == 0 && failures == 0) std::printf("%d checks passed\n", passed);
    return failures == 0 ? 0 : 1;
}
inline int finish()
{
    return finish([] {});
}

}  // namespace check

#define CHECK_LINE_(line) #line
#define CHECK_LINE(line) CHECK_LINE_(line)
/// expect with a condition. The message is its place in the source.
#define EXPECT(...) \
    check::expect(static_cast<bool>(__VA_ARGS__), __FILE__ ":" CHECK_LINE(__LINE__) ": " #__VA_ARGS__)
