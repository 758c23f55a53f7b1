// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// over_mpi.hpp - what the benchmarks of collectives share.
#pragma once

#include <mpi.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

struct place_in_world {
    int rank = 0, size = 0;
};
inline place_in_world begin_mpi(int& argc, char**& argv)
{
    MPI_Init(&argc, &argv);
    place_in_world mine;
    MPI_Comm_rank(MPI_COMM_WORLD, &mine.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mine.size);
    return mine;
}

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

/// Reads the options. Where they are wrong, or ask for help, rank 0 alone says so.
/// @return the exit code if the program ends here
inline std::optional<int> exit_of_options(CLI::App& app, int argc, char** argv)
{
    try {
        app.parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::ParseError& e) {
        int me = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        const int rc = me == 0 ? app.exit(e) : 0;
        MPI_Finalize();
        return rc;
    }
}

inline double quantile(std::vector<double> v, double q)
{
    std::sort(v.begin(), v.end());
    return v[static_cast<std::size_t>(q * static_cast<double>(v.size() - 1) + 0.5)];
}
