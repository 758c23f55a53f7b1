// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// allgather.hpp - floor 5. allgather, allgatherv: every rank ends with the parts of all ranks.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/algo/bruck.hpp>
#include <ccoll/algo/recursive.hpp>
#include <ccoll/algo/ring.hpp>
#include <ccoll/entry/forms.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Collects `send` of all ranks, n elements each, into `recv` of every rank, p * n elements, in the order of
/// the ranks.
///
///   allgather<P...>(send, recv, comm, extra...)       ranges of n and p * n elements
///   allgather<P...>(inout, comm, extra...)            in place: p * n elements, of which this rank's part is
///                                                     its contribution
///   allgather<P...>(send, recv, n, comm, extra...)    pointers, as MPI_Allgather with equal types; `send`
///                                                     may be MPI_IN_PLACE
///
/// Policies, elements, extra arguments and errors are those of allreduce. All ranks hold the same bits,
/// because the owner of a block also takes the decoded values. So with a lossy codec a rank's own block
/// changes as well.
/// Error: one bound (Placement::PerHop: one per hop).
/// Cost: p - 1 steps with Algo::Ring, about log2(p) with RecursiveDoubling and Bruck. A rank encodes 1 part,
/// sends p - 1 and decodes p.
/// Source: C-Coll, figure 2.
template <class... Policies, class... Arguments>
report allgather(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::blocking, collective::allgather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// allgather, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request iallgather(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::nonblocking, collective::allgather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// allgather, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent allgather_init(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::preparing, collective::allgather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(allgather, unrooted)

namespace detail {
template <class How, class Collective>
struct varied_allgather {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::allgatherv;

    template <class Choice, class Send, class Recv, part_counts Counts, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, Recv&& recv, Counts&& counts, const Comm& comm,
                       Extra&&... extra)
    {
        constexpr call_fault lost = lost_arguments<How, Recv, Send>(lose_counts<How, Counts>);
        return call_ranges<How, Collective, lost, read_from<Send>, Recv&>(
            choice, send, recv, recv_parts(lists_of(counts)), 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class Buffer, part_counts Counts, communicator Comm, class... Extra>
        requires is_range<Buffer>
    static result call(const Choice& choice, Buffer&& inout, Counts&& counts, const Comm& comm,
                       Extra&&... extra)
    {
        constexpr call_fault lost = lost_arguments<How, Buffer>(lose_counts<How, Counts>);
        return call_ranges<How, Collective, lost, Buffer&, Buffer&>(
            choice, inout, inout, recv_parts(lists_of(counts), true), 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, std::integral Count, class T, std::integral Integer, class Comm,
              class... Extra>
    static result call(const Choice& choice, const A* send, Count n, T* recv, const Integer* counts,
                       const std::type_identity_t<Integer>* displacements, const Comm& comm, Extra&&... extra)
    {
        return call_pointers<How, Collective>(choice, send, recv, static_cast<std::size_t>(n),
                                              recv_parts(lists_of(counts, displacements)), 0, comm,
                                              std::forward<Extra>(extra)...);
    }
};
#define CCOLL_SHOWN_varied_allgather(FORM, ...)                                                 \
    FORM((const auto& send, auto&& recv, const auto& counts), __VA_ARGS__)                      \
    FORM((auto&& inout, const auto& counts), __VA_ARGS__)                                       \
    FORM((const auto* send, std::integral auto n, auto* recv, const std::integral auto* counts, \
          const std::integral auto* displacements),                                             \
         __VA_ARGS__)
}  // namespace detail

/// The same with parts of different lengths: rank r contributes counts[r] elements.
///
///   allgatherv<P...>(send, recv, counts, comm, extra...)
///       `counts`: a range of p integers, the same on all ranks, or ccoll::parts
///   allgatherv<P...>(inout, counts, comm, extra...)
///       in place
///   allgatherv<P...>(send, n, recv, counts, displacements, comm, extra...)
///       pointers, as MPI_Allgatherv; displacements may be null
///
/// Errors: bad_count for a negative count; count_differs on all ranks if the lists of counts differ.
/// Otherwise as allgather.
/// Cost: as allgather. In addition, the ranks always compare their arguments before the call and, except with
/// Check::Local, their verdicts after it: log2(p) short messages each time.
template <class... Policies, class... Arguments>
report allgatherv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_allgather<detail::blocking, collective::allgather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// allgatherv, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request iallgatherv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_allgather<detail::nonblocking, collective::allgather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// allgatherv, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent allgatherv_init(Arguments&&... arguments)
{
    return detail::ask<detail::varied_allgather<detail::preparing, collective::allgather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(allgatherv, varied_allgather)

}  // namespace ccoll::inline CCOLL_ABI
