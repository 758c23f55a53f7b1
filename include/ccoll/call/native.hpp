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

/// What became of such a call.
template <transport Link>
void note_native(Link& link, outcome& result)
{
    const status s = link.native_result();
    if (s == status::ok) return;
    result.trouble = {s, link.rank(), s == status::truncated ? nobody : link.rank()};
    result.transport_says = s == status::truncated ? counts_probably_differ : link.explain();
}

/// Runs a blocking call that only has to be passed on: its arguments are right, nothing is compared, and
/// nothing is done to elements before or after. A running_call would do the same, and takes 0.3 us more,
/// which counts where MPI itself takes 0.6 (allreduce of 8 bytes between two ranks in shared memory).
/// passing.hpp is faster still, for calls in their most usual form.
/// @param plan  any of its decisions, because the algorithm is MPI's
/// @return false if nothing was done, because there is more to do
template <element T, transport Link>
bool run_at_once(native_call<T, Link> native, const decision<T>& plan, const user_buffers<T>& user, int root,
                 Link& link, outcome& result)
{
    if constexpr (requires { link.native_result(); }) {
        const collective_facts& of = plan.what.facts;
        if (native == nullptr || plan.checks == check_level::collective || every_call_compares() ||
            user.narrow != nullptr || user.varied || plan.what.op.divides() || link.has_requests() ||
            root < 0 || root >= link.size())
            return false;
        const fitted_buffers<T> fitted = fit(user, of, link.rank(), link.size(), root, {});
        if (!fitted.is_as_given()) return false;
        if (!native(link, fitted.data, root, fitted.data.recv, nullptr)) return false;
        link.begin_call();
        result.facts.codec = plan.codec_name;
        report_native(result.facts, of);
        note_native(link, result);
        return true;
    } else {
        return false;
    }
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
