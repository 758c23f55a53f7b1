// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rooted.hpp - floor 5. Collectives with a root: bcast, scatter(v), gather(v), reduce.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/algo/binomial.hpp>
#include <ccoll/algo/chain.hpp>
#include <ccoll/algo/linear.hpp>
#include <ccoll/algo/rabenseifner.hpp>
#include <ccoll/algo/scatter_allgather.hpp>
#include <ccoll/entry/forms.hpp>

// Common to all: policies, elements, communicator, extra arguments and errors are those of allreduce. Every
// rank passes the same root; bad_root and root_differs are errors on all ranks. A buffer that a rank does not
// need may be empty. Data flow in one direction only, so ranks compare their arguments first, whatever the
// length. Check::Local omits this. Then only the ranks that a disagreement reaches see it, and others may
// wait for ever. Cost: S steps means S messages in a row; docs/reference has the tables.

namespace ccoll::inline CCOLL_ABI {

/// Copies the root's `buffer`, n elements, to all ranks. With a lossy codec the root's own buffer changes as
/// well, because it takes the decoded values so that all ranks hold the same bits.
///
///   bcast<P...>(buffer, root, comm, extra...)     a range
///   bcast<P...>(data, n, root, comm, extra...)    a pointer, as MPI_Bcast
///
/// Error: one bound (Placement::PerHop: one per hop).
/// Cost: log2(p) steps with Algo::Binomial, p - 1 with Chain. The root encodes once and each rank decodes
/// once. Chain is faster than the tree for vectors that are much longer than p slices, because every rank
/// sends each byte only once.
/// Source: C-Coll, figure 3.
template <class... Policies, class... Arguments>
report bcast(Arguments&&... arguments)
{
    return detail::ask<detail::one_buffer<detail::blocking, collective::bcast>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// bcast, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ibcast(Arguments&&... arguments)
{
    return detail::ask<detail::one_buffer<detail::nonblocking, collective::bcast>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// bcast, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent bcast_init(Arguments&&... arguments)
{
    return detail::ask<detail::one_buffer<detail::preparing, collective::bcast>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(bcast, one_buffer)

/// Distributes the root's `send`, p * n elements: part r, n elements, goes into `recv` of rank r.
///
///   scatter<P...>(send, recv, root, comm, extra...)       ranges
///   scatter<P...>(inout, root, comm, extra...)            one range: the root's has all parts, and its own
///                                                         stays there; elsewhere it is n elements
///   scatter<P...>(send, recv, n, root, comm, extra...)    pointers, as MPI_Scatter with equal types; the
///                                                         root's `recv` may be MPI_IN_PLACE
///
/// Error: one bound; the root's own part is exact.
/// Cost: log2(p) steps with Algo::Binomial, p - 1 with Linear. The root encodes and sends p - 1 parts; parts
/// are forwarded encoded.
template <class... Policies, class... Arguments>
report scatter(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::blocking, collective::scatter>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// scatter, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request iscatter(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::nonblocking, collective::scatter>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// scatter, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent scatter_init(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::preparing, collective::scatter>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(scatter, with_root)

/// Collects `send` of all ranks, n elements each, into the root's `recv`, p * n elements, in the order of the
/// ranks.
///
///   gather<P...>(send, recv, root, comm, extra...)       ranges
///   gather<P...>(inout, root, comm, extra...)            one range: the root's has room for all parts, with
///                                                        its own in its place; elsewhere it is n elements
///   gather<P...>(send, recv, n, root, comm, extra...)    pointers, as MPI_Gather with equal types; the
///                                                        root's `send` may be MPI_IN_PLACE
///
/// Error: one bound; the root's own part is exact.
/// Cost: log2(p) steps with Algo::Binomial, p - 1 with Linear. The root receives and decodes p - 1 parts;
/// parts are forwarded encoded.
template <class... Policies, class... Arguments>
report gather(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::blocking, collective::gather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// gather, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request igather(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::nonblocking, collective::gather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// gather, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent gather_init(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::preparing, collective::gather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(gather, with_root)

/// Reduces `send` of all ranks, n elements, into the root's `recv`.
///
///   reduce<P...>(send, recv, root, comm, extra...)       ranges
///   reduce<P...>(inout, root, comm, extra...)            in place; elsewhere than on the root it stays as it
///                                                        is
///   reduce<P...>(send, recv, n, root, comm, extra...)    pointers, as MPI_Reduce; the root's `send` may be
///                                                        MPI_IN_PLACE
///
/// Error: p - 1 times the bound for Sum, because every rank except the root encodes once; p times with
/// Algo::Rabenseifner, and where encoded streams are added.
/// Cost: log2(p) steps with Algo::Binomial, p - 1 with Chain. A rank encodes and sends one vector; in the
/// tree it decodes and reduces up to log2(p).
template <class... Policies, class... Arguments>
report reduce(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::blocking, collective::reduce>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// reduce, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ireduce(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::nonblocking, collective::reduce>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// reduce, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent reduce_init(Arguments&&... arguments)
{
    return detail::ask<detail::with_root<detail::preparing, collective::reduce>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(reduce, with_root)

namespace detail {
template <class How, class Collective>
struct varied_scatter {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::scatterv;

    template <class Choice, class Send, part_counts Counts, class Recv, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, Counts&& counts, Recv&& recv, int root,
                       const Comm& comm, Extra&&... extra)
    {
        constexpr call_fault lost = lost_arguments<How, Recv, Send>(lose_counts<How, Counts>);
        return call_ranges<How, Collective, lost, read_from<Send>, Recv&>(
            choice, send, recv, send_parts(lists_of(counts)), root, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class Buffer, part_counts Counts, communicator Comm, class... Extra>
        requires is_range<Buffer>
    static result call(const Choice& choice, Buffer&& inout, Counts&& counts, int root, const Comm& comm,
                       Extra&&... extra)
    {
        constexpr call_fault lost = lost_arguments<How, Buffer>(lose_counts<How, Counts>);
        return call_ranges<How, Collective, lost, Buffer&, Buffer&>(
            choice, inout, inout,
            both(send_parts(lists_of(counts)), in_place_on_root<Collective>(comm, root)), root, comm,
            std::forward<Extra>(extra)...);
    }
    template <class Choice, class T, std::integral Integer, class B, std::integral Count, class Comm,
              class... Extra>
    static result call(const Choice& choice, const T* send, const Integer* counts,
                       const std::type_identity_t<Integer>* displacements, B* recv, Count n, int root,
                       const Comm& comm, Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, static_cast<std::size_t>(n),
                                              send_parts(lists_of(counts, displacements)), root, comm,
                                              std::forward<Extra>(extra)...);
    }
};
#define CCOLL_SHOWN_varied_scatter(FORM, ...)                                                          \
    FORM((const auto& send, const auto& counts, auto&& recv, int root), __VA_ARGS__)                   \
    FORM((auto&& inout, const auto& counts, int root), __VA_ARGS__)                                    \
    FORM((const auto* send, const std::integral auto* counts, const std::integral auto* displacements, \
          auto* recv, std::integral auto n, int root),                                                 \
         __VA_ARGS__)
template <class How, class Collective>
struct varied_gather {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::gatherv;

    template <class Choice, class Send, class Recv, part_counts Counts, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, Recv&& recv, Counts&& counts, int root,
                       const Comm& comm, Extra&&... extra)
    {
        constexpr call_fault lost = lost_arguments<How, Recv, Send>(lose_counts<How, Counts>);
        return call_ranges<How, Collective, lost, read_from<Send>, Recv&>(
            choice, send, recv, recv_parts(lists_of(counts)), root, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class Buffer, part_counts Counts, communicator Comm, class... Extra>
        requires is_range<Buffer>
    static result call(const Choice& choice, Buffer&& inout, Counts&& counts, int root, const Comm& comm,
                       Extra&&... extra)
    {
        constexpr call_fault lost = lost_arguments<How, Buffer>(lose_counts<How, Counts>);
        return call_ranges<How, Collective, lost, Buffer&, Buffer&>(
            choice, inout, inout,
            both(recv_parts(lists_of(counts)), in_place_on_root<Collective>(comm, root)), root, comm,
            std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, std::integral Count, class T, std::integral Integer, class Comm,
              class... Extra>
    static result call(const Choice& choice, const A* send, Count n, T* recv, const Integer* counts,
                       const std::type_identity_t<Integer>* displacements, int root, const Comm& comm,
                       Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, static_cast<std::size_t>(n),
                                              recv_parts(lists_of(counts, displacements)), root, comm,
                                              std::forward<Extra>(extra)...);
    }
};
#define CCOLL_SHOWN_varied_gather(FORM, ...)                                                    \
    FORM((const auto& send, auto&& recv, const auto& counts, int root), __VA_ARGS__)            \
    FORM((auto&& inout, const auto& counts, int root), __VA_ARGS__)                             \
    FORM((const auto* send, std::integral auto n, auto* recv, const std::integral auto* counts, \
          const std::integral auto* displacements, int root),                                   \
         __VA_ARGS__)
}  // namespace detail

/// scatter with parts of different lengths, which only the root has to know: counts[r] elements go to rank r.
///
///   scatterv<P...>(send, counts, recv, root, comm, extra...)    `counts`: p integers, or ccoll::parts; may
///                                                               be empty elsewhere
///   scatterv<P...>(inout, counts, root, comm, extra...)         in place, as in scatter
///   scatterv<P...>(send, counts, displacements, recv, n, root, comm, extra...)    pointers, as MPI_Scatterv
///
/// Errors: bad_count for a negative count; count_differs if a rank's `recv` is not as long as the root says.
/// Cost: as scatter. The ranks always compare their arguments before the call and, except with Check::Local,
/// their verdicts after it.
template <class... Policies, class... Arguments>
report scatterv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_scatter<detail::blocking, collective::scatter>, Policies...>(
        std::forward<Arguments>(arguments)...);
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
    return detail::ask<detail::varied_scatter<detail::preparing, collective::scatter>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(scatterv, varied_scatter)

/// gather with parts of different lengths, which only the root has to know: counts[r] elements come from rank
/// r.
///
///   gatherv<P...>(send, recv, counts, root, comm, extra...)    `counts`: p integers, or ccoll::parts; may be
///                                                              empty elsewhere
///   gatherv<P...>(inout, counts, root, comm, extra...)         in place, as in gather
///   gatherv<P...>(send, n, recv, counts, displacements, root, comm, extra...)    pointers, as MPI_Gatherv
///
/// Errors: bad_count for a negative count; count_differs if a rank's `send` is not as long as the root says.
/// Cost: as gather. The ranks always compare their arguments before the call and, except with Check::Local,
/// their verdicts after it.
template <class... Policies, class... Arguments>
report gatherv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_gather<detail::blocking, collective::gather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// gatherv, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request igatherv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_gather<detail::nonblocking, collective::gather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// gatherv, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent gatherv_init(Arguments&&... arguments)
{
    return detail::ask<detail::varied_gather<detail::preparing, collective::gather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(gatherv, varied_gather)

}  // namespace ccoll::inline CCOLL_ABI
