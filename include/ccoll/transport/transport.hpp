// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/transport.hpp - floor 2. What the engine asks of whatever moves bytes, and how a user's communicator
// (an MPI_Comm, a threads_comm, your own) becomes one.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>

#include <ccoll/base/error.hpp>
#include <ccoll/base/workspace.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Tags are 0 .. max_tag: what MPI grants everywhere.
inline constexpr int max_tag = 32767;

/// A cheap copyable handle of one rank. Messages are nonblocking, ordered per (peer, tag), bytes. Both spans must stay valid until
/// the request is done; a short send may be done at once. A request is movable, owns no memory, is done when default-constructed, and after completion
/// tells `bytes` (received) and `result` (ok, truncated, peer_lost, transport_failed). Nothing throws for what a peer did.
///
///   rank, size       of this communicator
///   refusal          ok, or no_communicator when it cannot be used at all (then nothing else may be called but explain)
///   explain          the transport's own words about the last failure; "" when there are none
///   begin_call       a number that is equal on all ranks for the same call; counts up by one per call
///   memory           working memory kept between calls
///   post_send, post_recv, test   as above; test returns true when done, and never sleeps
///   cancel           gives a request up; afterwards its span is not touched. False when the transport cannot promise that
///                    (a send on its way): the caller then keeps the memory for ever
///   probe            the rank of somebody whose message with this tag waits to be received, or nobody
///   poll             begins a sweep over requests        idle   nothing moved since poll: sleeps until something
///                    may have, but not for longer than some 10 ms
///
/// A rank may send to itself. Optional: `static bool is_nobody(int peer)`, true for what the transport's users call nobody (MPI_PROC_NULL);
/// `static constexpr bool spins`, true where idle() comes back at once. And, where the messages that nobody received outlive a communicator:
///
///   send_aside       like post_send, for a short message (a control_message) that its receiver may leave unread; it is copied
///   leave_unread     this rank has left a call: messages to it may stay unread
template <class Link>
concept transport =
    std::copy_constructible<Link> && requires(Link& link, typename Link::request& r, int peer, int tag, const_byte_span out, byte_span in) {
        { link.rank() } -> std::convertible_to<int>;
        { link.size() } -> std::convertible_to<int>;
        { link.refusal() } -> std::same_as<status>;
        { link.explain() } -> std::convertible_to<const char*>;
        { link.begin_call() } -> std::same_as<std::uint32_t>;
        { link.memory() } -> std::same_as<workspace&>;
        { link.post_send(peer, tag, out) } -> std::same_as<typename Link::request>;
        { link.post_recv(peer, tag, in) } -> std::same_as<typename Link::request>;
        { link.test(r) } -> std::same_as<bool>;
        { link.cancel(r) } -> std::same_as<bool>;
        { link.probe(tag) } -> std::same_as<int>;
        { link.poll() } -> std::same_as<void>;
        { link.idle() } -> std::same_as<void>;
        { r.bytes } -> std::convertible_to<std::size_t>;
        { r.result } -> std::convertible_to<status>;
    };

namespace detail {
template <class Link>
void leave_unread(Link& link) noexcept
{
    if constexpr (requires { link.leave_unread(); }) link.leave_unread();
}

template <class Link>
inline constexpr bool spins = false;
template <class Link>
    requires Link::spins
inline constexpr bool spins<Link> = true;
}  // namespace detail

/// Specialise for a handle that is not itself a transport: `static Link make(Handle)`. Optional: `static bool in_place(const
/// void*)`, true for the address that stands for "in place" (MPI_IN_PLACE).
template <class Handle>
struct transport_for {};

template <class Comm>
concept communicator = transport<std::remove_cvref_t<Comm>> ||
                       requires(std::remove_cvref_t<Comm> c) { { transport_for<std::remove_cvref_t<Comm>>::make(c) } -> transport; };

/// The transport behind `comm`: itself by copy (a transport is a cheap handle), or made from a foreign handle.
template <communicator Comm>
auto as_transport(const Comm& comm)
{
    if constexpr (transport<Comm>) return comm;
    else return transport_for<Comm>::make(comm);
}

/// Which node each rank is on, as numbers that are equal for ranks of one node; empty when nobody knows. A transport that can say has
/// a member nodes(). The first call may be a collective one.
template <transport Link>
std::span<const int> nodes_of(Link& link)
{
    if constexpr (requires { link.nodes(); }) return link.nodes();
    else return {};
}

/// Says by hand which ranks share a node, for Algo::Hierarchical: `node_of_rank` has one number per rank, the same on all ranks, and is
/// copied. Local; call it on all ranks before the first hierarchical call.
template <communicator Comm>
void set_nodes(const Comm& comm, std::span<const int> node_of_rank)
{
    auto link = as_transport(comm);
    link.set_nodes(node_of_rank);
}

}  // namespace ccoll
