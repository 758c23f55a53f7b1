// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// grid.hpp - ranks in a line, each of which exchanges an edge with the one below and the one above; and
// groups of ranks that broadcast among themselves.
#pragma once

#include "app.hpp"

namespace app {

/// Ranks that are threads.
template <class Comm>
class line {
public:
    explicit line(const ranks<Comm>& here)
        : grid_(ccoll::with_grid(here.comm, std::vector{here.size}, std::vector{0}))
    {}

    /// Sends the first half of `edges` down and the second half up. What comes from below is the first half
    /// of `halos`.
    template <class Way>
    ccoll::report exchange(Way& way, const std::vector<double>& edges, std::vector<double>& halos,
                           double bound) const
    {
        return ccoll::neighbor_alltoall(way.plan, edges, halos, grid_, bound);
    }
    void exact(const std::vector<double>& edges, std::vector<double>& halos) const
    {
        ccoll::neighbor_alltoall(edges, halos, grid_);
    }

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
    ccoll::report exchange(Way& way, const std::vector<double>& edges, std::vector<double>& halos,
                           double bound) const
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

/// The ranks with the same `colour`, in the order of `place`, which is unique in a group. Ranks that are
/// threads have no communicator of their own, and the root sends to its neighbours.
template <class Comm>
class group {
public:
    group(const ranks<Comm>& here, int colour, int place)
        : here_(here), place_(place), ranks_(static_cast<std::size_t>(here.size), ccoll::nobody)
    {
        std::vector<double> mine{static_cast<double>(colour), static_cast<double>(place)};
        const std::vector<double> all = ccoll::value::allgather(mine, here.comm).value;
        for (int r = 0; r < here.size; ++r)
            if (all[2 * static_cast<std::size_t>(r)] == colour)
                ranks_[static_cast<std::size_t>(all[2 * static_cast<std::size_t>(r) + 1])] = r;
    }

    template <class Way>
    ccoll::report bcast(Way& way, std::vector<double>& values, int root) const
    {
        const std::vector<int> sources(root == place_ ? 0 : 1, ranks_[static_cast<std::size_t>(root)]);
        std::vector<int> destinations;
        if (root == place_)
            for (const int r : ranks_)
                if (r != here_.rank && r != ccoll::nobody) destinations.push_back(r);
        const std::vector<double> sent(values);
        std::vector<double> received(sources.size() * values.size());
        const auto facts = ccoll::neighbor_allgather(
            way.plan, sent, received, ccoll::with_neighbors(here_.comm, sources, destinations), way.bound);
        if (root != place_) values = received;
        return facts;
    }

private:
    const ranks<Comm>& here_;
    int place_;
    std::vector<int> ranks_;  ///< of this group, by their place
};

#if !defined(CCOLL_NO_MPI)
template <>
class group<MPI_Comm> {
public:
    group(const ranks<MPI_Comm>& here, int colour, int place)
    {
        MPI_Comm_split(here.comm, colour, place, &comm_);
    }
    ~group() { MPI_Comm_free(&comm_); }
    group(const group&) = delete;
    group& operator=(const group&) = delete;

    template <class Way>
    ccoll::report bcast(Way& way, std::vector<double>& values, int root) const
    {
        return ccoll::bcast(way.plan, values, root, comm_, way.bound);
    }

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};
#endif

}  // namespace app
