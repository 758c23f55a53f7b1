// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// neighbor.hpp - floor 5. neighbor_alltoall, neighbor_allgather and their v variants: a rank exchanges parts
// with its neighbours.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/entry/forms.hpp>
#include <ccoll/transport/neighborhood.hpp>

// Common to all:
//
// Neighbours  of an MPI_Comm: those of its topology (MPI_Cart_create, MPI_Dist_graph_create,
//             MPI_Dist_graph_create_adjacent, MPI_Graph_create). Of any communicator: those that with_grid or
//             with_neighbors names (transport/neighborhood.hpp).
// Parts       A buffer has a part for each neighbour, in the order of MPI: in a grid dimension 0 down,
//             dimension 0 up, dimension 1 down, ... For a neighbour that does not exist (beyond an open end)
//             the part is there and is left alone. If a rank is a neighbour several times, its i-th part goes
//             to the i-th part from this rank there. In a grid what goes down arrives from above.
// In place    is not possible, as in MPI.
// Policies    as in alltoall; the algorithm is Algo::Spread without the ranks that are not neighbours.
//             Check::Auto does not compare the arguments of all ranks, except with counts, so ranks that are
//             not neighbours do not wait for each other.
// Error       one bound. What a rank sends to itself is exact.
// Errors      What is wrong on a rank (counts that differ, another plan, a bad buffer) is told to all ranks,
//             but some may have ended by then. With Check::Collective, and with counts, all ranks get the
//             same error. An edge that only one end knows is not noticed: the rank that receives waits, for
//             as long as its Timeout says.
// Cost        One step for each distance to a neighbour, with at most one part sent and one received in each.
// Source      MPI 4.0, section 8.6, for the meaning; the schedule is that of alltoall, Spread.

namespace ccoll::inline CCOLL_ABI {

namespace detail {

template <class How, class Collective>
struct equal_neighbors {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::neighbors;

    template <class Choice, class Send, class Recv, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, Recv&& recv, const Comm& comm, Extra&&... extra)
    {
        return call_ranges<How, Collective, lost_arguments<How, Recv, Send>(), read_from<Send>, Recv&>(
            choice, send, recv, as_they_are, 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, class T, std::integral Count, class Comm, class... Extra>
        requires(std::is_object_v<A> == std::is_object_v<T>)
    static result call(const Choice& choice, const A* send, T* recv, Count n, const Comm& comm,
                       Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, static_cast<std::size_t>(n), as_they_are, 0,
                                              comm, std::forward<Extra>(extra)...);
    }
};
#define CCOLL_SHOWN_equal_neighbors(FORM, ...)         \
    FORM((const auto& send, auto&& recv), __VA_ARGS__) \
    FORM((const auto* send, auto* recv, std::integral auto n), __VA_ARGS__)

template <class How, class Collective>
struct varied_neighbor_alltoall {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::neighbor_alltoallv;

    template <class Choice, class Send, part_counts SendCounts, class Recv, part_counts RecvCounts,
              class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, SendCounts&& send_counts, Recv&& recv,
                       RecvCounts&& recv_counts, const Comm& comm, Extra&&... extra)
    {
        constexpr call_fault lost = lost_arguments<How, Recv, Send>(lose_counts<How, SendCounts, RecvCounts>);
        return call_ranges<How, Collective, lost, read_from<Send>, Recv&>(
            choice, send, recv, both(send_parts(lists_of(send_counts)), recv_parts(lists_of(recv_counts))), 0,
            comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, class C, class T, std::integral Integer, class Comm, class... Extra>
        requires(std::is_object_v<A> == std::is_object_v<T>)
    static result call(const Choice& choice, const A* send, const C* send_counts,
                       const std::type_identity_t<C>* send_displacements, T* recv, const Integer* recv_counts,
                       const std::type_identity_t<Integer>* recv_displacements, const Comm& comm,
                       Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, 0,
                                              both(send_parts(lists_of(send_counts, send_displacements)),
                                                   recv_parts(lists_of(recv_counts, recv_displacements))),
                                              0, comm, std::forward<Extra>(extra)...);
    }
};
#define CCOLL_SHOWN_varied_neighbor_alltoall(FORM, ...)                                                    \
    FORM((const auto& send, const auto& send_counts, auto&& recv, const auto& recv_counts), __VA_ARGS__)   \
    FORM((const auto* send, const std::integral auto* send_counts,                                         \
          const std::integral auto* send_displacements, auto* recv, const std::integral auto* recv_counts, \
          const std::integral auto* recv_displacements),                                                   \
         __VA_ARGS__)

template <class How, class Collective>
struct varied_neighbor_allgather {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::neighbor_allgatherv;

    template <class Choice, class Send, class Recv, part_counts Counts, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, Recv&& recv, Counts&& counts, const Comm& comm,
                       Extra&&... extra)
    {
        constexpr call_fault lost = lost_arguments<How, Recv, Send>(lose_counts<How, Counts>);
        return call_ranges<How, Collective, lost, read_from<Send>, Recv&>(
            choice, send, recv, recv_parts(lists_of(counts)), 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, std::integral Count, class T, std::integral Integer, class Comm,
              class... Extra>
        requires(std::is_object_v<A> == std::is_object_v<T>)
    static result call(const Choice& choice, const A* send, Count n, T* recv, const Integer* counts,
                       const std::type_identity_t<Integer>* displacements, const Comm& comm, Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, static_cast<std::size_t>(n),
                                              recv_parts(lists_of(counts, displacements)), 0, comm,
                                              std::forward<Extra>(extra)...);
    }
};
#define CCOLL_SHOWN_varied_neighbor_allgather(FORM, ...)                                        \
    FORM((const auto& send, auto&& recv, const auto& counts), __VA_ARGS__)                      \
    FORM((const auto* send, std::integral auto n, auto* recv, const std::integral auto* counts, \
          const std::integral auto* displacements),                                             \
         __VA_ARGS__)

}  // namespace detail

/// Part i of `send`, n elements, goes to the i-th neighbour that this rank sends to. Part i of `recv` comes
/// from the i-th neighbour that it receives from.
///
///   neighbor_alltoall<P...>(send, recv, comm, extra...)       ranges of n elements for each neighbour; n is
///                                                             the same on all ranks
///   neighbor_alltoall<P...>(send, recv, n, comm, extra...)    pointers, as MPI_Neighbor_alltoall with equal
///                                                             types
///
/// @param extra  the bound, with RuntimeBound; a std::error_code variable, which is set instead of throwing.
template <class... Policies, class... Arguments>
report neighbor_alltoall(Arguments&&... arguments)
{
    return detail::ask<detail::equal_neighbors<detail::blocking, collective::neighbor_alltoall>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// neighbor_alltoall, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ineighbor_alltoall(Arguments&&... arguments)
{
    return detail::ask<detail::equal_neighbors<detail::nonblocking, collective::neighbor_alltoall>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
/// neighbor_alltoall, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent neighbor_alltoall_init(Arguments&&... arguments)
{
    return detail::ask<detail::equal_neighbors<detail::preparing, collective::neighbor_alltoall>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(neighbor_alltoall, equal_neighbors)

/// The same with parts of different lengths.
///
///   neighbor_alltoallv<P...>(send, send_counts, recv, recv_counts, comm, extra...)
///       counts: ranges of an integer for each neighbour, or ccoll::parts
///   neighbor_alltoallv<P...>(send, send_counts, send_displacements, recv, recv_counts, recv_displacements,
///                            comm, extra...)
///       pointers, as MPI_Neighbor_alltoallv; displacements may be null
///
/// What a rank sends to a neighbour must be as long as what that expects. Otherwise all ranks get
/// status::count_differs (with Check::Local only the ranks that see it).
/// Cost: in addition all ranks compare their arguments before the call and, except with Check::Local, their
/// verdicts after it: log2(p) short messages each time.
template <class... Policies, class... Arguments>
report neighbor_alltoallv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_neighbor_alltoall<detail::blocking, collective::neighbor_alltoall>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
/// neighbor_alltoallv, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ineighbor_alltoallv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_neighbor_alltoall<detail::nonblocking, collective::neighbor_alltoall>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
/// neighbor_alltoallv, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent neighbor_alltoallv_init(Arguments&&... arguments)
{
    return detail::ask<detail::varied_neighbor_alltoall<detail::preparing, collective::neighbor_alltoall>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(neighbor_alltoallv, varied_neighbor_alltoall)

/// `send`, n elements, goes to every neighbour that this rank sends to. Part i of `recv` comes from the i-th
/// neighbour that it receives from. The vector is encoded once, whatever the number of neighbours.
///
///   neighbor_allgather<P...>(send, recv, comm, extra...)       ranges of n elements, and of n for each
///                                                              neighbour; all ranks use one n
///   neighbor_allgather<P...>(send, recv, n, comm, extra...)    pointers, as MPI_Neighbor_allgather with
///                                                              equal types
template <class... Policies, class... Arguments>
report neighbor_allgather(Arguments&&... arguments)
{
    return detail::ask<detail::equal_neighbors<detail::blocking, collective::neighbor_allgather>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
/// neighbor_allgather, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ineighbor_allgather(Arguments&&... arguments)
{
    return detail::ask<detail::equal_neighbors<detail::nonblocking, collective::neighbor_allgather>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
/// neighbor_allgather, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent neighbor_allgather_init(Arguments&&... arguments)
{
    return detail::ask<detail::equal_neighbors<detail::preparing, collective::neighbor_allgather>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(neighbor_allgather, equal_neighbors)

/// The same with vectors of different lengths.
///
///   neighbor_allgatherv<P...>(send, recv, counts, comm, extra...)
///       counts: a range of one integer for each neighbour that this rank receives from, or ccoll::parts
///   neighbor_allgatherv<P...>(send, n, recv, counts, displacements, comm, extra...)
///       pointers, as MPI_Neighbor_allgatherv; displacements may be null
///
/// Errors and cost as neighbor_alltoallv.
template <class... Policies, class... Arguments>
report neighbor_allgatherv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_neighbor_allgather<detail::blocking, collective::neighbor_allgather>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
/// neighbor_allgatherv, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ineighbor_allgatherv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_neighbor_allgather<detail::nonblocking, collective::neighbor_allgather>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
/// neighbor_allgatherv, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent neighbor_allgatherv_init(Arguments&&... arguments)
{
    return detail::ask<detail::varied_neighbor_allgather<detail::preparing, collective::neighbor_allgather>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(neighbor_allgatherv, varied_neighbor_allgather)

}  // namespace ccoll::inline CCOLL_ABI
