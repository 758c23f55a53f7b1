// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// call/native.hpp - floor 3. Passing an exact call to the transport's own collective, if it has one (MPI).
#pragma once

#include <cstddef>
#include <type_traits>

#include <ccoll/call/decision.hpp>
#include <ccoll/policy/plan.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Fitted buffers, as the transport's own calls take them. A sum that is to be divided is returned undivided.
template <element T, class Link, class Operation>
struct native_arguments {
    Link& link;
    const T* send;
    T* recv;                 ///< where the result belongs
    std::size_t whole, own;  ///< elements of the whole vector, and of this rank's part
    Operation op;            ///< the transport's, if the collective reduces
    int root;
    /// Null: the call waits for the end. Otherwise it is only begun, and this request tells when it has
    /// ended.
    typename Link::request* begun;
};

/// The transport's own call for a collective: a member native_<collective> of transports that have it
/// (transport/mpi.hpp). It returns false if it did nothing, because a count is too large for it. A collective
/// that is not here is never passed on: scan, exscan, and those between neighbours.
template <class Collective>
inline constexpr std::nullptr_t native_call_of = nullptr;
template <>
inline constexpr auto native_call_of<collective::allreduce> =
    [](const auto& a) { return a.link.native_allreduce(a.send, a.recv, a.whole, a.op, a.begun); };
template <>
inline constexpr auto native_call_of<collective::reduce> =
    [](const auto& a) { return a.link.native_reduce(a.send, a.recv, a.whole, a.op, a.root, a.begun); };
template <>
inline constexpr auto native_call_of<collective::reduce_scatter> =
    [](const auto& a) { return a.link.native_reduce_scatter(a.send, a.recv, a.own, a.op, a.begun); };
template <>
inline constexpr auto native_call_of<collective::allgather> =
    [](const auto& a) { return a.link.native_allgather(a.send, a.recv, a.own, a.begun); };
template <>
inline constexpr auto native_call_of<collective::bcast> =
    [](const auto& a) { return a.link.native_bcast(a.recv, a.whole, a.root, a.begun); };
template <>
inline constexpr auto native_call_of<collective::scatter> =
    [](const auto& a) { return a.link.native_scatter(a.send, a.recv, a.own, a.root, a.begun); };
template <>
inline constexpr auto native_call_of<collective::gather> =
    [](const auto& a) { return a.link.native_gather(a.send, a.recv, a.own, a.root, a.begun); };
template <>
inline constexpr auto native_call_of<collective::alltoall> =
    [](const auto& a) { return a.link.native_alltoall(a.send, a.recv, a.own, a.begun); };

/// A transport that has a call of its own for a collective, and knows these elements and this operation.
template <class Collective, class Op, class T, class Link>
concept has_native = !std::is_null_pointer_v<std::remove_const_t<decltype(native_call_of<Collective>)>> &&
                     requires(Link& link, T* data) { link.native_bcast(data, std::size_t{}, 0); } &&
                     (!Collective::reduces || Link::template native_op_of<Op, T>::available);

/// @param data   fitted buffers, not those of a v variant
/// @param recv   where the result belongs
/// @return false if nothing was done because a count is too large for the transport's own call
template <class Collective, class Op, element T, class Link>
bool run_native(Link& link, const call_buffers<T>& data, int root, T* recv, typename Link::request* begun)
{
    if (data.varied) return false;
    const auto call = [&](auto op) {
        return native_call_of<Collective>(native_arguments<T, Link, decltype(op)>{
            link, data.send, recv, data.count, data.own, op, root, begun});
    };
    if constexpr (Collective::reduces) return call(Link::template native_op_of<Op, T>::value);
    else return call(nullptr);
}

/// What it means that a collective of the transport itself, that is of MPI, ends with a message that is too
/// long.
inline constexpr const char* counts_probably_differ =
    "MPI reports truncation in its own collective, so ranks probably pass different counts, and those "
    "without an error have wrong results; Check::Collective, or CCOLL_CHECK=collective in the environment of "
    "all ranks, finds that before anything is moved";

/// What a report says of a call that the transport's own collective has run.
inline void report_native(report& facts, const collective_facts& of)
{
    facts.ran_by = ran_by::mpi;
    facts.algorithm = "MPI";
    facts.placement = "none";
    // MPI recommends the same bits for allreduce, but does not promise them.
    facts.same_bits = !of.reduces || !of.one_vector || of.rooted;
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
