// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// alltoall.hpp - floor 5. alltoall, alltoallv: every rank has a part for every other rank.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/algo/bruck.hpp>
#include <ccoll/algo/pairwise.hpp>
#include <ccoll/algo/spread.hpp>
#include <ccoll/entry/forms.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Part r of `send`, n elements, goes to rank r. Rank r stores what rank s sent to it in part s of its
/// `recv`.
///
///   alltoall<P...>(send, recv, comm, extra...)       two ranges of p * n elements
///   alltoall<P...>(inout, comm, extra...)            in place; costs a copy of the buffer
///   alltoall<P...>(send, recv, n, comm, extra...)    pointers, as MPI_Alltoall with equal types; `send` may
///                                                    be MPI_IN_PLACE
///
/// Policies, elements, extra arguments and errors are those of allreduce. The part that a rank sends to
/// itself is exact.
/// Error: one bound (Placement::PerHop with Algo::Bruck: one per hop).
/// Cost: p - 1 parts are encoded, sent and decoded in p - 1 steps with Algo::Pairwise and Spread. Bruck takes
/// about log2(p) steps and sends about p log2(p) / 2 parts.
/// Source: Zhou et al., section III, on the host.
template <class... Policies, class... Arguments>
report alltoall(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::blocking, collective::alltoall>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// alltoall, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ialltoall(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::nonblocking, collective::alltoall>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// alltoall, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent alltoall_init(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::preparing, collective::alltoall>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(alltoall, unrooted)

namespace detail {
template <class How, class Collective>
struct varied_alltoall {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::alltoallv;

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
    template <class Choice, class Buffer, part_counts Counts, communicator Comm, class... Extra>
        requires is_range<Buffer>
    static result call(const Choice& choice, Buffer&& inout, Counts&& counts, const Comm& comm,
                       Extra&&... extra)
    {
        constexpr call_fault lost = lost_arguments<How, Buffer>(lose_counts<How, Counts>);
        return call_ranges<How, Collective, lost, Buffer&, Buffer&>(
            choice, inout, inout, recv_parts(lists_of(counts), true), 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, class C, class T, std::integral Integer, class Comm, class... Extra>
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
#define CCOLL_SHOWN_varied_alltoall(FORM, ...)                                                             \
    FORM((const auto& send, const auto& send_counts, auto&& recv, const auto& recv_counts), __VA_ARGS__)   \
    FORM((auto&& inout, const auto& counts), __VA_ARGS__)                                                  \
    FORM((const auto* send, const std::integral auto* send_counts,                                         \
          const std::integral auto* send_displacements, auto* recv, const std::integral auto* recv_counts, \
          const std::integral auto* recv_displacements),                                                   \
         __VA_ARGS__)
}  // namespace detail

/// The same with parts of different lengths.
///
///   alltoallv<P...>(send, send_counts, recv, recv_counts, comm, extra...)
///       counts: ranges of p integers, or ccoll::parts
///   alltoallv<P...>(inout, counts, comm, extra...)
///       in place
///   alltoallv<P...>(send, send_counts, send_displacements, recv, recv_counts, recv_displacements,
///                   comm, extra...)
///       pointers, as MPI_Alltoallv; displacements may be null
///
/// What rank r sends to rank s must be as long as what s expects from r. Otherwise all ranks get
/// status::count_differs (with Check::Local only the ranks that see it).
/// Cost: as alltoall. In addition, the ranks always compare their arguments before the call and, except with
/// Check::Local, their verdicts after it: log2(p) short messages each time.
template <class... Policies, class... Arguments>
report alltoallv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_alltoall<detail::blocking, collective::alltoall>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// alltoallv, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ialltoallv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_alltoall<detail::nonblocking, collective::alltoall>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// alltoallv, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent alltoallv_init(Arguments&&... arguments)
{
    return detail::ask<detail::varied_alltoall<detail::preparing, collective::alltoall>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(alltoallv, varied_alltoall)

}  // namespace ccoll::inline CCOLL_ABI
