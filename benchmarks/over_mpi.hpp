// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// over_mpi.hpp - what the benchmarks of collectives share.
#pragma once

#include <mpi.h>

#include <string>

inline double over_ranks(double mine, MPI_Op op)
{
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    return all;
}

/// The first line of what MPI says of itself.
inline std::string mpi_version()
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all = text;
    return all.substr(0, all.find('\n'));
}
