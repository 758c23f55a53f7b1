// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments of a collective of MPI, whichever it is, and what they say about its elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ccoll/transport/mpi_signature.hpp>

#include "plan.hpp"

namespace preload {

struct arguments {
    what which;
    const char* name;  ///< of MPI's function, without its prefix
    MPI_Comm comm;
    const void* send = nullptr;  ///< null where there is none; bcast has only recv
    void* recv = nullptr;
    long long send_n = 0, recv_n = 0;  ///< in items of the types, where there are no counts
    MPI_Datatype send_type = MPI_DATATYPE_NULL, recv_type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
    dynamic::counts send_counts{}, send_at{}, recv_counts{}, recv_at{};
};

constexpr bool reduces(what w)
{
    return w == what::allreduce || w == what::reduce || w == what::reduce_scatter ||
           w == what::reduce_scatter_block;
}
/// Each rank has a list of counts that only concern itself, so nobody knows how long the vector is.
constexpr bool must_ask(what w) { return w == what::alltoallv || w == what::gatherv || w == what::scatterv; }
constexpr bool gathers(what w) { return w == what::gather || w == what::gatherv; }
constexpr bool scatters(what w) { return w == what::scatter || w == what::scatterv; }

inline bool in_place(const arguments& a)
{
    return a.send == MPI_IN_PLACE || (scatters(a.which) && a.recv == MPI_IN_PLACE);
}

/// The side whose type and counts describe the call on this rank.
inline bool send_side_tells(const arguments& a, int me)
{
    if (gathers(a.which)) return me != a.root;
    return scatters(a.which) && me == a.root;
}

}  // namespace preload
