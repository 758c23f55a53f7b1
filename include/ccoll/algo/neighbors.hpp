// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/neighbors.hpp - floor 2. What the exchanges between neighbours promise, and their step in the engine.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/algo/spread.hpp>
#include <ccoll/policy/neighbors.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace collective {

/// Between neighbours. Which blocks a rank has before and after a call follows from its neighbor_list; the
/// members about blocks here are those of alltoall, which is the same with every other rank as a neighbour.
/// Rules and error model use them.
struct between_neighbors : alltoall {
    static constexpr bool over_edges = true;
    static constexpr extent recv = extent::whole;
};
struct neighbor_alltoall : between_neighbors {
    static constexpr const char *name = "neighbor_alltoall", *varied_name = "neighbor_alltoallv";
};
struct neighbor_allgather : between_neighbors {
    static constexpr const char *name = "neighbor_allgather", *varied_name = "neighbor_allgatherv";
    static constexpr extent send = extent::own;
};

}  // namespace collective

namespace detail {
template <class Collective>
inline constexpr bool is_over_edges = false;
template <class Collective>
    requires Collective::over_edges
inline constexpr bool is_over_edges<Collective> = true;
}  // namespace detail

/// In Spread, step k is for the rank k + 1 after this one and the rank k + 1 before it. Between neighbours
/// the steps of others are left out.
template <> struct schedule_for<policies::Algo::Spread, collective::neighbor_alltoall> : spread_alltoall {};
template <> struct schedule_for<policies::Algo::Spread, collective::neighbor_allgather> : spread_alltoall {};

/// Step k of a rank with these neighbours.
template <class Neighbors>
step step_between(const Neighbors& around, bool gathers, int k)
{
    const typename Neighbors::meeting now = around.step_at(gathers, k);
    step s{now.send_to, now.recv_from, {now.send_block, 1}, {now.recv_block, 1}};
    if (now.send_to == nobody) s.send.count = 0;
    if (now.recv_from == nobody) s.recv.count = 0;
    return s;
}

}  // namespace ccoll::inline CCOLL_ABI
