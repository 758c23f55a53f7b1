// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// allreduce.hpp - floor 5. allreduce: everybody ends with the reduction of everybody's data.
#pragma once

#include <array>

#include <ccoll/algo/recursive.hpp>
#include <ccoll/algo/ring.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/engine/call.hpp>

namespace ccoll {

/// Reduces `send` of all ranks into `recv` of every rank.
///
/// @tparam Policies  any of Algo::, Codec::, Placement::, Op::, Check::, Instrument::, a bound, or a Plan of them, in any order.
/// @param send   n elements, this rank's contribution: any contiguous range of float or double.    @param recv  n elements.
/// @param comm   MPI_Comm, threads_comm, or any object that meets ccoll::transport.
/// @param extra  the bound, a number > 0, with RuntimeBound; a std::error_code variable to be told instead of thrown at.
/// @return       what was decided, what it cost, and the worst-case error of every finite element.
/// @throw ccoll::error  on every rank, when counts or plans disagree, an argument is wrong or a frame is damaged. `recv` is
///               then unspecified. Without agreement (Check::Local, or below 1 MiB) damage to the very last message of the schedule is
///               seen by its receiver alone; Check::Collective tells everybody.
/// All ranks hold the same bits afterwards (not with Placement::PerHop; see report::same_bits).
/// Error: worst_case<collective::allreduce, Policies...>(p); with a ring p times the bound for Sum, once for Average.
/// Cost: the schedule's messages, each encoded; working memory is kept with the communicator. Source: C-Coll, section III.
template <class... Policies, class Send, class Recv, class Comm, class... Extra>
    requires(!communicator<Recv> && !std::is_pointer_v<Send>)
report allreduce(const Send& send, Recv&& recv, const Comm& comm, Extra&&... extra)
{
    return detail::call_ranges<collective::allreduce, plan_of<Policies...>, const Send&, Recv&>(send, recv, false, 0, comm,
                                                                                              std::forward<Extra>(extra)...);
}

/// In place: `inout` holds the contribution before and the result after the call.
template <class... Policies, class Buffer, communicator Comm, class... Extra>
    requires(!std::is_pointer_v<std::remove_cvref_t<Buffer>>)
report allreduce(Buffer&& inout, const Comm& comm, Extra&&... extra)
{
    return detail::call_ranges<collective::allreduce, plan_of<Policies...>, Buffer&, Buffer&>(inout, inout, true, 0, comm,
                                                                                           std::forward<Extra>(extra)...);
}

/// As MPI_Allreduce: n elements at `send`, or MPI_IN_PLACE there, and n at `recv`.
template <class... Policies, class A, class T, class Comm, class... Extra>
report allreduce(const A* send, T* recv, std::size_t n, const Comm& comm, Extra&&... extra)
{
    return detail::call_pointers<collective::allreduce, plan_of<Policies...>>(send, recv, n, 0, comm, std::forward<Extra>(extra)...);
}

/// The slowest rank's seconds of every phase. Collective: all ranks of `comm` call it.
template <communicator Comm>
breakdown slowest(const breakdown& mine, const Comm& comm)
{
    std::array<double, 6> phases{mine.encode, mine.decode, mine.reduce, mine.communicate, mine.wait, mine.copy};
    allreduce<policies::Op::Max>(phases, comm);
    return {phases[0], phases[1], phases[2], phases[3], phases[4], phases[5]};
}

}  // namespace ccoll
