// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rooted.hpp - floor 5. Collectives with a root: bcast, scatter(v), gather(v), reduce.
#pragma once

#include <ccoll/algo/binomial.hpp>
#include <ccoll/algo/chain.hpp>
#include <ccoll/algo/linear.hpp>
#include <ccoll/algo/rabenseifner.hpp>
#include <ccoll/algo/scatter_allgather.hpp>
#include <ccoll/engine/forms.hpp>

// Common to all: policies, elements, communicator and extra arguments are those of allreduce. Every rank passes the same root. A buffer
// that a rank does not need may be empty. Data flow one way only, so ranks compare their arguments first, at any size. Check::Local leaves
// that out: then only the ranks that a disagreement reaches see it, and others may wait for ever.

namespace ccoll::inline CCOLL_ABI {

/// Copies the root's `buffer`, n elements, to all ranks. With a lossy codec the root's own buffer changes as well: it takes the
/// decoded values, so that all ranks hold the same bits.
///
///   bcast<P...>(buffer, root, comm, extra...)     a range
///   bcast<P...>(data, n, root, comm, extra...)    a pointer, as MPI_Bcast
///
/// Error: one bound (Placement::PerHop: the depth of the tree). Algo::Chain is faster than the tree for vectors that are much
/// longer than a slice times p. Source: C-Coll, figure 3.
template <class... Policies, class... Arguments>
report bcast(Arguments&&... arguments)
{
    return detail::ask<detail::one_buffer<detail::blocking, collective::bcast>, Policies...>(std::forward<Arguments>(arguments)...);
}
/// bcast, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ibcast(Arguments&&... arguments)
{
    return detail::ask<detail::one_buffer<detail::nonblocking, collective::bcast>, Policies...>(std::forward<Arguments>(arguments)...);
}
/// bcast, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent bcast_init(Arguments&&... arguments)
{
    return detail::ask<detail::one_buffer<detail::preparing, collective::bcast>, Policies...>(std::forward<Arguments>(arguments)...);
}

/// Deals the root's `send`, p * n elements, out to all ranks: part r, n elements, into `recv` of rank r.
///
///   scatter<P...>(send, recv, root, comm, extra...)       ranges
///   scatter<P...>(send, recv, n, root, comm, extra...)    pointers, as MPI_Scatter with equal types; the root's `recv` may be MPI_IN_PLACE
///
/// Error: one bound; the root's own part is exact.
template <class... Policies, class... Arguments>
report scatter(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::blocking, collective::scatter>, Policies...>(std::forward<Arguments>(arguments)...);
}
/// scatter, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request iscatter(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::nonblocking, collective::scatter>, Policies...>(std::forward<Arguments>(arguments)...);
}
/// scatter, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent scatter_init(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::preparing, collective::scatter>, Policies...>(std::forward<Arguments>(arguments)...);
}

/// Collects `send` of all ranks, n elements each, into the root's `recv`, p * n elements, in the order of the ranks.
///
///   gather<P...>(send, recv, root, comm, extra...)       ranges
///   gather<P...>(send, recv, n, root, comm, extra...)    pointers, as MPI_Gather with equal types; the root's `send` may be MPI_IN_PLACE
///
/// Error: one bound; the root's own part is exact.
template <class... Policies, class... Arguments>
report gather(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::blocking, collective::gather>, Policies...>(std::forward<Arguments>(arguments)...);
}
/// gather, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request igather(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::nonblocking, collective::gather>, Policies...>(std::forward<Arguments>(arguments)...);
}
/// gather, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent gather_init(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::preparing, collective::gather>, Policies...>(std::forward<Arguments>(arguments)...);
}

/// Reduces `send` of all ranks, n elements, into the root's `recv`.
///
///   reduce<P...>(send, recv, root, comm, extra...)       ranges
///   reduce<P...>(send, recv, n, root, comm, extra...)    pointers, as MPI_Reduce; the root's `send` may be MPI_IN_PLACE
///
/// Error: every rank but the root encodes once, p - 1 bounds for Sum.
template <class... Policies, class... Arguments>
report reduce(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::blocking, collective::reduce>, Policies...>(std::forward<Arguments>(arguments)...);
}
/// reduce, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ireduce(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::nonblocking, collective::reduce>, Policies...>(std::forward<Arguments>(arguments)...);
}
/// reduce, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent reduce_init(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::preparing, collective::reduce>, Policies...>(std::forward<Arguments>(arguments)...);
}

namespace detail {
template <class How, class Collective>
struct varied_scatter {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::scatterv;

    template <class Choice, class Send, part_counts Counts, class Recv, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, Counts&& counts, Recv&& recv, int root, const Comm& comm, Extra&&... extra)
    {
        constexpr bool lost = lose_buffers<How, Send, Recv> || lose_counts<How, Counts>;
        return call_ranges<How, Collective, lost, read_from<Send>, Recv&>(choice, send, recv, send_parts(lists_of(counts)), root, comm,
                                                                          std::forward<Extra>(extra)...);
    }
    template <class Choice, class T, std::integral Integer, class B, std::integral Count, class Comm, class... Extra>
    static result call(const Choice& choice, const T* send, const Integer* counts, const std::type_identity_t<Integer>* displacements,
                       B* recv, Count n, int root, const Comm& comm, Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, static_cast<std::size_t>(n), send_parts(lists_of(counts, displacements)),
                                              root, comm, std::forward<Extra>(extra)...);
    }
};
template <class How, class Collective>
struct varied_gather {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::gatherv;

    template <class Choice, class Send, class Recv, part_counts Counts, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, Recv&& recv, Counts&& counts, int root, const Comm& comm, Extra&&... extra)
    {
        constexpr bool lost = lose_buffers<How, Send, Recv> || lose_counts<How, Counts>;
        return call_ranges<How, Collective, lost, read_from<Send>, Recv&>(choice, send, recv, recv_parts(lists_of(counts)), root, comm,
                                                                          std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, std::integral Count, class T, std::integral Integer, class Comm, class... Extra>
    static result call(const Choice& choice, const A* send, Count n, T* recv, const Integer* counts,
                       const std::type_identity_t<Integer>* displacements, int root, const Comm& comm, Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, static_cast<std::size_t>(n), recv_parts(lists_of(counts, displacements)),
                                              root, comm, std::forward<Extra>(extra)...);
    }
};
}  // namespace detail

/// scatter with parts of different length, which only the root has to know: counts[r] elements go to rank r.
///
///   scatterv<P...>(send, counts, recv, root, comm, extra...)    `counts`: p integers, or ccoll::parts; may be empty elsewhere
///   scatterv<P...>(send, counts, displacements, recv, n, root, comm, extra...)    pointers, as MPI_Scatterv
///
/// Ranks always compare their arguments first, and the verdicts at the end (Check::Local: only the former).
template <class... Policies, class... Arguments>
report scatterv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_scatter<detail::blocking, collective::scatter>, Policies...>(std::forward<Arguments>(arguments)...);
}
/// scatterv, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request iscatterv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_scatter<detail::nonblocking, collective::scatter>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// scatterv, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent scatterv_init(Arguments&&... arguments)
{
    return detail::ask<detail::varied_scatter<detail::preparing, collective::scatter>, Policies...>(std::forward<Arguments>(arguments)...);
}

/// gather with parts of different length, which only the root has to know: counts[r] elements come from rank r.
///
///   gatherv<P...>(send, recv, counts, root, comm, extra...)    `counts`: p integers, or ccoll::parts; may be empty elsewhere
///   gatherv<P...>(send, n, recv, counts, displacements, root, comm, extra...)    pointers, as MPI_Gatherv
///
/// Ranks always compare their arguments first, and the verdicts at the end (Check::Local: only the former).
template <class... Policies, class... Arguments>
report gatherv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_gather<detail::blocking, collective::gather>, Policies...>(std::forward<Arguments>(arguments)...);
}
/// gatherv, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request igatherv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_gather<detail::nonblocking, collective::gather>, Policies...>(std::forward<Arguments>(arguments)...);
}
/// gatherv, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent gatherv_init(Arguments&&... arguments)
{
    return detail::ask<detail::varied_gather<detail::preparing, collective::gather>, Policies...>(std::forward<Arguments>(arguments)...);
}

}  // namespace ccoll::inline CCOLL_ABI
