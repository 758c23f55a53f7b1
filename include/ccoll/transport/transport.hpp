// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/transport.hpp - floor 2. What the engine requires of a transport, and how a user's communicator
// (an MPI_Comm, a threads_comm, one of your own) becomes a transport.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>

#include <ccoll/base/error.hpp>
#include <ccoll/base/workspace.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Tags are 0 .. max_tag, the range that every MPI provides.
inline constexpr int max_tag = 32767;

/// Memory in which messages may be although the host cannot read it: that of a device.
struct far_memory {
    /// Copies bytes and returns when they are there. Either end may be in host memory.
    /// @return false if it failed
    bool (*copy)(std::byte* to, const_byte_span from) noexcept = nullptr;
    bool of_cuda = false;  ///< CUDA knows it, so an MPI that is CUDA-aware can send from it
};

/// A handle of one rank that is cheap to copy. Messages are bytes; sends and receives are nonblocking, and
/// ordered for each (peer, tag). The memory of a message must stay valid until its request is done; a short
/// send may be done at once. A request is movable, owns no memory, and is done when default-constructed.
/// After completion it has `bytes` (received; of a message that was truncated its true length, where the
/// transport knows it) and `result` (ok, truncated, peer_lost or transport_failed). Nothing throws because of
/// what a peer did. A rank may send to itself.
///
/// A message need not leave before its send is tested. But a send that is done arrives although its rank
/// makes no further call: ranks leave a call when their sends are done, and some never come back. The send of
/// a short message (up to the 208 bytes of a control_message) is done after a few tests, whether or not
/// anybody waits for it. If a rank is lost, receives from it end with peer_lost after what its finished sends
/// hold, and so do unfinished sends to it.
///
///   rank, size       of this communicator
///   refusal          ok, or why the communicator cannot be used (no_communicator, timed_out); then only
///                    explain and begin_call may be called
///   explain          the transport's own words about the last failure; "" if there are none
///   begin_call       a number that is the same on all ranks for the same call; it grows by one with each
///                    call
///   memory           working memory that is kept between calls
///   post_send, post_recv   start a message
///   test             returns true if a request is done; never sleeps. It makes progress by itself, also with
///                    other messages, because a rank that encodes or decodes calls nothing else, between two
///                    chunks
///   cancel           gives a request up. True: nothing reads or writes its memory afterwards, so the engine
///                    uses it again. False: the transport cannot promise that (a send that is under way, a
///                    receive whose message is arriving). Then the engine never uses the memory again: it
///                    stays in the workspace, lent to nobody, and the transport must not destroy the
///                    workspace before nothing uses it. It must not wait for a peer to find out. Either way
///                    the caller is rid of the request, and does not test it any more
///   probe            a rank whose message with this tag waits to be received, or nobody. A receive from that
///                    rank is then done after some tests, also if the sender is lost meanwhile
///   poll             marks the beginning of a round of tests
///   idle             sleeps until something may have happened since poll, but not much longer than 10 ms.
///                    Whether it tests some more before it sleeps is for the transport to choose
///
/// Optional members:
///
///   static bool is_nobody(int peer)   true for what users of the transport write for "no rank"
///                                     (MPI_PROC_NULL)
///   static constexpr bool spins       true if idle() returns at once
///   void wake() noexcept              any thread may call it, at any time: idle() of the handles of this
///                                     rank returns, as if something had happened. A progress_thread sleeps
///                                     in idle() if it can be woken, and otherwise tests again and again
///   const void* sleeper()             equal for all handles whose idle() returns for the same events, such
///                                     as those of several communicators with one queue of events. Without
///                                     it, these are the handles of one communicator (equal memory())
///
/// Two more optional members are for transports on which a message that nobody received outlives its
/// communicator:
///
///   send_aside       like post_send, but for a short message (a control_message) that its receiver may leave
///                    unread; the bytes are copied
///   leave_unread     says that this rank has left a call, and that messages to it may stay unread
///
/// One is for memory that the host cannot read:
///
///   status reach(const far_memory&)   from now on messages of this handle may be in such memory, or in the
///                                     host's; or not_direct
template <class Link>
concept transport = std::copy_constructible<Link> && requires(Link& link, typename Link::request& r, int peer,
                                                              int tag, const_byte_span out, byte_span in) {
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
/// Ends a message of `b` for a call that is given up. The memory is used again only if the transport does not
/// use it any more; otherwise it stays with the workspace, lent to nobody.
/// @param b  may be null
template <class Link>
void withdraw(Link& link, typename Link::request& r, workspace& memory, buffer_memory* b)
{
    if (link.test(r) || link.cancel(r)) memory.drop(b);
}

template <class Link>
void leave_unread(Link& link) noexcept
{
    if constexpr (requires { link.leave_unread(); }) link.leave_unread();
}

/// @return ok, or not_direct
template <class Link>
status reach(Link& link, const far_memory& memory) noexcept
{
    if constexpr (requires { link.reach(memory); }) return link.reach(memory);
    else return status::not_direct;
}

template <class Link>
inline constexpr bool spins = false;
template <class Link>
    requires Link::spins
inline constexpr bool spins<Link> = true;

/// Where a thread sleeps that waits for messages, and how another thread ends this sleep.
struct resting_place {
    const void* where = nullptr;  ///< equal where the same events end it; null: it cannot be woken
    void* link = nullptr;
    void (*wake)(void* link) noexcept = nullptr;
};
template <class Link>
const void* sleeper_of(Link& link) noexcept
{
    if constexpr (requires { link.sleeper(); }) return link.sleeper();
    else return &link.memory();
}
/// @param link  must live as long as it may be woken
template <class Link>
resting_place rest_of(Link& link) noexcept
{
    if constexpr (!spins<Link> && requires { link.wake(); })
        return {sleeper_of(link), &link, [](void* it) noexcept { static_cast<Link*>(it)->wake(); }};
    else return {};
}

/// Can a rank be unreachable from another one although both can reach a third? Not if messages always arrive.
template <class Link>
inline constexpr bool may_not_reach = false;
template <class Link>
    requires Link::may_not_reach
inline constexpr bool may_not_reach<Link> = true;
}  // namespace detail

/// How a handle that is not itself a transport becomes one. Specialise it with `static Link make(Handle)`.
/// Optional:
/// `static Link make_within(Handle, double seconds)`, if making one may wait for other ranks; `static bool
/// in_place(const void*)`, true for the address that stands for "in place" (MPI_IN_PLACE); and `static bool
/// is_handle(Handle)`, false for values that cannot be handles, such as a rank that was passed in place of
/// the communicator.
template <class Handle>
struct transport_for {};

template <class Comm>
concept communicator = transport<std::remove_cvref_t<Comm>> || requires(std::remove_cvref_t<Comm> c) {
    { transport_for<std::remove_cvref_t<Comm>>::make(c) } -> transport;
};

/// The transport behind `comm`: a copy of `comm` if it is a transport, otherwise one that is made from the
/// handle.
/// @param seconds  how long to wait for other ranks meanwhile; 0: for ever. If they do not come, the refusal
///                 of the result is timed_out.
template <communicator Comm>
auto as_transport(const Comm& comm, double seconds = 0)
{
    if constexpr (transport<Comm>) return comm;
    else if constexpr (requires { transport_for<Comm>::make_within(comm, seconds); })
        return transport_for<Comm>::make_within(comm, seconds);
    else return transport_for<Comm>::make(comm);
}
/// The same for a call that perhaps only some of the ranks make: it must not begin anything that waits for
/// all of them once more.
template <communicator Comm>
auto as_transport_alone(const Comm& comm, double seconds)
{
    if constexpr (!transport<Comm> && requires { transport_for<Comm>::make_alone(comm, seconds); })
        return transport_for<Comm>::make_alone(comm, seconds);
    else return as_transport(comm, seconds);
}

namespace detail {
/// What users pass as the communicator of a transport: the transport itself, unless it has a member `handle`.
template <class Link>
struct handle_for {
    using type = Link;
};
template <class Link>
    requires requires { typename Link::handle; }
struct handle_for<Link> {
    using type = typename Link::handle;
};
template <class Link>
using handle_of = typename handle_for<Link>::type;
}  // namespace detail

/// The node of each rank, as numbers that are equal for ranks of the same node. Empty if the transport does
/// not know; one that does has a member nodes(). The first call on a communicator may be collective, so all
/// ranks must make it.
template <transport Link>
std::span<const int> nodes_of(Link& link)
{
    if constexpr (requires { link.nodes(); }) return link.nodes();
    else return {};
}

/// Tells Algo::Hierarchical which ranks share a node. `node_of_rank` has one number per rank and must be the
/// same on all ranks; it is copied. The call is local, except that a first call on an MPI_Comm is collective.
/// Make it on all ranks before the first hierarchical call.
/// @throw ccoll::error  (no_communicator) for a communicator that cannot be used
template <communicator Comm>
void set_nodes(const Comm& comm, std::span<const int> node_of_rank)
{
    auto link = as_transport(comm);
    if (const status refusal = link.refusal(); refusal != status::ok)
        raise("set_nodes", {refusal}, link.explain());
    link.set_nodes(node_of_rank);
}

}  // namespace ccoll
