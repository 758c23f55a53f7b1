// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// p2p.hpp - floor 5. From one rank to another: send, recv, sendrecv, and their nonblocking forms.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/entry/facade.hpp>
#include <ccoll/entry/p2p_forms.hpp>

// Common to all:
//
// Policies   Codec::, a bound, Check::Auto or Local (which are the same here), Instrument::, Timeout, or a
//            Plan of them. Both ends use the same codec, bound and element type. RelativeBound refers to what
//            the sender sends. EndToEnd has no effect. A choice of a ccoll::menu may be the first argument.
// Elements   as in allreduce. Both ends pass the same number of elements, which may be 0.
// Peer       a rank of `comm`, which may be the caller, or ccoll::nobody (with MPI also MPI_PROC_NULL): then
//            nothing is done on that side, and the buffer stays as it is. There are no wildcards:
//            MPI_ANY_SOURCE of Open MPI is -1, which means nobody.
// Tag        0 .. ccoll::max_p2p_tag (4095). These messages match neither those of collectives nor your own.
// Order      as in MPI: calls of one thread with the same peer and tag match in the order in which they were
//            begun.
// Returns    what the call cost; `worst_case_error` is the bound.
// Errors     Only the rank that passes a bad argument (rank, tag, bound, overlap) is told, before anything is
//            sent. Its peer waits, as with MPI. If the ends differ (count_differs, plan_differs,
//            bound_differs) or a frame is damaged, the receiver is told once all messages of the call have
//            arrived. Its buffer is then unspecified, and the sender is not told. The next call is not
//            affected. A rank that gives up its end (Timeout, a request that was dropped) tells its receiver
//            if it has sent only a part. What has been sent still arrives; what a receiver has not taken is
//            dropped by its next receive with that tag.
// Cost       Elements are encoded into borrowed memory, in up to four messages at once of up to about 64 Ki
//            elements each. In the steady state nothing is allocated except the request. A send is done when
//            its last message is, so it may wait for the receive.
//
// With MPI, the library's first call on a communicator is collective (MPI_Comm_dup). If that call would be
// made by only some of the ranks, call attach(comm) on all ranks first.

// The parameters of these calls, as an IDE shows them (entry/facade.hpp).
#define CCOLL_SHOWN_p2p_send(FORM, ...)                               \
    FORM((const auto& buffer, int destination, int tag), __VA_ARGS__) \
    FORM((const auto* data, std::integral auto n, int destination, int tag), __VA_ARGS__)
#define CCOLL_SHOWN_p2p_recv(FORM, ...)                     \
    FORM((auto&& buffer, int source, int tag), __VA_ARGS__) \
    FORM((auto* data, std::integral auto n, int source, int tag), __VA_ARGS__)
#define CCOLL_SHOWN_p2p_sendrecv(FORM, ...)                                                          \
    FORM((const auto& send, int destination, auto&& recv, int source, int tag), __VA_ARGS__)         \
    FORM((const auto& send, int destination, int send_tag, auto&& recv, int source, int recv_tag),   \
         __VA_ARGS__)                                                                                \
    FORM((const auto* send, std::integral auto n, int destination, auto* recv, std::integral auto m, \
          int source, int tag),                                                                      \
         __VA_ARGS__)                                                                                \
    FORM((const auto* send, std::integral auto n, int destination, int send_tag, auto* recv,         \
          std::integral auto m, int source, int recv_tag),                                           \
         __VA_ARGS__)

namespace ccoll::inline CCOLL_ABI {

/// Prepares `comm` for calls that only some of its ranks make. Collective with MPI. Does nothing if the
/// library already knows `comm`.
/// @throw ccoll::error  (no_communicator) if the communicator cannot be used
template <communicator Comm>
void attach(const Comm& comm)
{
    auto link = as_transport(comm);
    if (const status refusal = link.refusal(); refusal != status::ok)
        raise("attach", {refusal}, link.explain());
}

/// Sends `buffer` to rank `destination`, which receives it with recv or sendrecv and the same tag.
///
///   send<P...>(buffer, destination, tag, comm, extra...)     any contiguous range
///   send<P...>(data, n, destination, tag, comm, extra...)    a pointer, as MPI_Send
///
/// @param extra  the bound, with RuntimeBound; a std::error_code variable, which is set instead of throwing.
/// Source: C-Coll, section III (CPR-P2P, the part that it builds on); the slices are PIPE-SZx's.
template <class... Policies, class... Arguments>
report send(Arguments&&... arguments)
{
    return detail::ask<detail::p2p_send<detail::blocking>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// send, begun: see ccoll::request. If the request is dropped before its end, what has not been sent yet is
/// not sent.
template <class... Policies, class... Arguments>
request isend(Arguments&&... arguments)
{
    return detail::ask<detail::p2p_send<detail::nonblocking>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_P2P_FORMS(send, p2p_send)

/// Receives into `buffer` what rank `source` sends with this tag.
///
///   recv<P...>(buffer, source, tag, comm, extra...)     any contiguous range
///   recv<P...>(data, n, source, tag, comm, extra...)    a pointer, as MPI_Recv, but n is what the sender
///                                                       sends, not a limit
///
/// Error: one bound.
template <class... Policies, class... Arguments>
report recv(Arguments&&... arguments)
{
    return detail::ask<detail::p2p_recv<detail::blocking>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// recv, begun: see ccoll::request. If the request is dropped before its end, nothing more is received, and
/// the sender may wait.
template <class... Policies, class... Arguments>
request irecv(Arguments&&... arguments)
{
    return detail::ask<detail::p2p_recv<detail::nonblocking>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_P2P_FORMS(recv, p2p_recv)

/// Sends `send` to one rank and receives `recv` from another, or from the same one, at the same time. The
/// lengths may differ.
///
///   sendrecv<P...>(send, destination, recv, source, tag, comm, extra...)
///       ranges
///   sendrecv<P...>(send, n, destination, recv, m, source, tag, comm, extra...)
///       pointers, as MPI_Sendrecv, with one tag
///   sendrecv<P...>(send, destination, send_tag, recv, source, recv_tag, comm, extra...)
///       ranges, with two tags
///   sendrecv<P...>(send, n, destination, send_tag, recv, m, source, recv_tag, comm, extra...)
///       pointers, with two tags
///
/// `send` and `recv` may be the same buffer (MPI_Sendrecv_replace), which costs a copy of it; otherwise they
/// may not overlap.
/// Error: one bound. Source: the halo exchange of Himeno, where a process at the edge has `nobody` as its
/// neighbour.
template <class... Policies, class... Arguments>
report sendrecv(Arguments&&... arguments)
{
    return detail::ask<detail::p2p_sendrecv<detail::blocking>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// sendrecv, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request isendrecv(Arguments&&... arguments)
{
    return detail::ask<detail::p2p_sendrecv<detail::nonblocking>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_P2P_FORMS(sendrecv, p2p_sendrecv)

}  // namespace ccoll::inline CCOLL_ABI
