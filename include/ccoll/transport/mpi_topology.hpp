// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/mpi_topology.hpp - floor 2. The neighbours of this rank in the topology of an MPI communicator.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <ccoll/policy/neighbors.hpp>
#include <ccoll/transport/mpi_calls.hpp>
#include <ccoll/transport/mpi_errors.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Null if the communicator has no topology, or MPI fails. Local.
template <class Handle>
std::shared_ptr<const neighbor_list> neighbors_of_topology(Handle comm, int me, int p)
{
    const errors_returned<Handle> quiet(comm);
    bool ok = true;
    const auto told = [&ok](int rc) { ok = ok && rc == MPI_SUCCESS; };
    int kind = MPI_UNDEFINED;
    told(CCOLL_MPI(Topo_test)(comm, &kind));
    const auto list = [&ok](int n) {
        return std::vector<int>(ok ? static_cast<std::size_t>(n) + 1 : 1);
    };  // data() is never null
    const auto first = [](std::vector<int>& all, int n) {
        return std::span<int>(all).first(static_cast<std::size_t>(n));
    };
    if (ok && kind == MPI_CART) {
        int n = 0;
        told(CCOLL_MPI(Cartdim_get)(comm, &n));
        auto extents = list(n), periods = list(n), at = list(n);
        if (ok) told(CCOLL_MPI(Cart_get)(comm, n, extents.data(), periods.data(), at.data()));
        if (!ok) return nullptr;
        return std::make_shared<neighbor_list>(neighbor_list::grid(me, first(extents, n), first(periods, n)));
    }
    int from = 0, to = 0;
    std::vector<int> sources, destinations;
    if (ok && kind == MPI_DIST_GRAPH) {
        int weighted = 0;
        told(CCOLL_MPI(Dist_graph_neighbors_count)(comm, &from, &to, &weighted));
        sources = list(from);
        destinations = list(to);
        auto weights_from = list(from), weights_to = list(to);
        if (ok)
            told(CCOLL_MPI(Dist_graph_neighbors)(comm, from, sources.data(), weights_from.data(), to,
                                                 destinations.data(), weights_to.data()));
    } else if (ok && kind == MPI_GRAPH) {
        told(CCOLL_MPI(Graph_neighbors_count)(comm, me, &from));
        to = from;
        sources = list(from);
        if (ok) told(CCOLL_MPI(Graph_neighbors)(comm, me, from, sources.data()));
        destinations = sources;
    } else {
        return nullptr;
    }
    if (!ok) return nullptr;
    for (std::vector<int>* all : {&sources, &destinations})
        for (int& peer : *all)
            if (peer == MPI_PROC_NULL) peer = nobody;
    return std::make_shared<neighbor_list>(
        neighbor_list::graph(me, p, first(sources, from), first(destinations, to)));
}

}  // namespace ccoll::inline CCOLL_ABI::detail
