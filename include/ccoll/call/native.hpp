// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// call/native.hpp - floor 3. Passing an exact call to the transport's own collective, if it has one (MPI).
#pragma once

#include <type_traits>

#include <ccoll/call/decision.hpp>
#include <ccoll/policy/plan.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// A transport with a member native_<collective> (transport/mpi.hpp) that knows these elements and this
/// operation.
template <class Collective, class Op, class T, class Link>
concept has_native = !Collective::partial && !is_over_edges<Collective> && requires(Link& link, T* data) {
    link.native_bcast(data, std::size_t{}, 0);
} && (!Collective::reduces || Link::template native_op_of<Op, T>::available);

/// @param data   fitted buffers, not those of a v variant. A sum that is to be divided is returned undivided.
/// @param recv   where the result belongs
/// @param begun  null: waits for the end. Otherwise the call is only begun, and this request tells when it
///               has ended.
/// @return false if nothing was done because a count is too large for the transport's own call
template <class Collective, class Op, element T, class Link>
bool run_native(Link& link, const call_buffers<T>& data, int root, T* recv, typename Link::request* begun)
{
    using namespace collective;
    const T* const send = data.send;
    const std::size_t whole = data.count, own = data.own;
    if (data.varied) return false;
    bool done = false;
    if constexpr (Collective::reduces) {
        constexpr auto op = Link::template native_op_of<Op, T>::value;
        if constexpr (std::is_same_v<Collective, allreduce>)
            done = link.native_allreduce(send, recv, whole, op, begun);
        else if constexpr (std::is_same_v<Collective, reduce>)
            done = link.native_reduce(send, recv, whole, op, root, begun);
        else done = link.native_reduce_scatter(send, recv, own, op, begun);
    } else if constexpr (std::is_same_v<Collective, allgather>) {
        done = link.native_allgather(send, recv, own, begun);
    } else if constexpr (std::is_same_v<Collective, bcast>) {
        done = link.native_bcast(recv, whole, root, begun);
    } else if constexpr (std::is_same_v<Collective, scatter>) {
        done = link.native_scatter(send, recv, own, root, begun);
    } else if constexpr (std::is_same_v<Collective, gather>) {
        done = link.native_gather(send, recv, own, root, begun);
    } else {
        done = link.native_alltoall(send, recv, own, begun);
    }
    return done;
}

/// What it means that a collective of the transport itself, that is of MPI, ends with a message that is too
/// long.
inline constexpr const char* counts_probably_differ =
    "MPI reports truncation in its own collective, so ranks probably pass different counts, and those "
    "without an error have wrong results; "
    "Check::Collective, or CCOLL_CHECK=collective in the environment of all ranks, finds that before "
    "anything is moved";

/// What a report says of a call that the transport's own collective has run.
inline void report_native(report& facts, const collective_facts& of)
{
    facts.ran_by = ran_by::mpi;
    facts.algorithm = "MPI";
    facts.placement = "none";
    facts.same_bits = !of.reduces || !of.one_vector || of.rooted;  // MPI recommends the same bits for
                                                                   // allreduce, but does not promise them
}

/// What its error means for this rank.
constexpr verdict trouble_of_native(status s, int me)
{
    return {s, me, s == status::truncated ? nobody : me};
}
template <transport Link>
const char* says_of_native(status s, const Link& link)
{
    return s == status::truncated ? counts_probably_differ : link.explain();
}

/// The transport's own call, if the plan needs nothing of ours: it is exact and names no algorithm, placement
/// or time-out. Otherwise null.
template <class Collective, class Plan, element T, class Space, class Link>
constexpr native_call<T, Link> native_of()
{
    using namespace policies;
    constexpr bool asks_for_nothing = std::is_same_v<Space, host_space> &&
                                      std::is_same_v<typename Plan::codec, Codec::None> &&
                                      std::is_same_v<typename Plan::algo, Algo::Auto> &&
                                      std::is_same_v<typename Plan::placement, Placement::Auto> &&
                                      Plan::timeout::seconds == 0 && !Plan::missing::declared;
    if constexpr (asks_for_nothing && detail::has_native<Collective, typename Plan::op, T, Link>)
        return &detail::run_native<Collective, typename Plan::op, T, Link>;
    else return nullptr;
}

}  // namespace ccoll::inline CCOLL_ABI::detail
