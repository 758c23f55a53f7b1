// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// grid.hpp - ranks in a line, each of which exchanges an edge with the one below and the one above.
#pragma once

#include "app.hpp"

namespace app {

/// Ranks that are threads.
template <class Comm>
class line {
public:
    explicit line(const ranks<Comm>& here) : grid_(ccoll::with_grid(here.comm, std::vector{here.size}, std::vector{0})) {}

    /// Sends the first half of `edges` down and the second half up. What comes from below is the first half of `halos`.
    template <class Way>
    ccoll::report exchange(Way& way, const std::vector<double>& edges, std::vector<double>& halos, double bound) const
    {
        return ccoll::neighbor_alltoall(way.plan, edges, halos, grid_, bound);
    }
    void exact(const std::vector<double>& edges, std::vector<double>& halos) const { ccoll::neighbor_alltoall(edges, halos, grid_); }

private:
    decltype(ccoll::with_grid(std::declval<const Comm&>(), std::vector<int>{}, std::vector<int>{})) grid_;
};

#if !defined(CCOLL_NO_MPI)
/// Ranks that are processes. Without a codec, MPI's own collective does the work.
template <>
class line<MPI_Comm> {
public:
    explicit line(const ranks<MPI_Comm>& here)
    {
        const int open = 0;
        MPI_Cart_create(here.comm, 1, &here.size, &open, 0, &grid_);
    }
    ~line() { MPI_Comm_free(&grid_); }
    line(const line&) = delete;
    line& operator=(const line&) = delete;

    template <class Way>
    ccoll::report exchange(Way& way, const std::vector<double>& edges, std::vector<double>& halos, double bound) const
    {
        if (!way.plain) return ccoll::neighbor_alltoall(way.plan, edges, halos, grid_, bound);
        exact(edges, halos);
        return {};
    }
    void exact(const std::vector<double>& edges, std::vector<double>& halos) const
    {
        const int n = static_cast<int>(edges.size() / 2);
        MPI_Neighbor_alltoall(edges.data(), n, MPI_DOUBLE, halos.data(), n, MPI_DOUBLE, grid_);
    }

private:
    MPI_Comm grid_ = MPI_COMM_NULL;
};
#endif

}  // namespace app
