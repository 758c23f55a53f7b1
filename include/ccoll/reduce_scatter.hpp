// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// reduce_scatter.hpp - floor 5. reduce_scatter: rank r ends with block r of the reduction of everybody's data.
#pragma once

#include <ccoll/algo/ring.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/engine/call.hpp>

namespace ccoll {

/// Reduces `send` of all ranks, block by block, and leaves block r on rank r. Stands for MPI_Reduce_scatter_block.
///
/// @param send   p * n elements.    @param recv  n elements.
/// Other parameters, errors and cost as of allreduce; every result element lives on one rank, so "same bits" is trivially true.
/// Error: a ring encodes p - 1 times on the way to the owner, who does not encode: (p - 1) times the bound for Sum.
template <class... Policies, class Send, class Recv, class Comm, class... Extra>
    requires(!communicator<Recv> && !std::is_pointer_v<Send>)
report reduce_scatter(const Send& send, Recv&& recv, const Comm& comm, Extra&&... extra)
{
    return detail::call_ranges<collective::reduce_scatter, plan_of<Policies...>, const Send&, Recv&>(send, recv, false, 0, comm,
                                                                                                   std::forward<Extra>(extra)...);
}

/// In place, as MPI has it: `inout` holds p * n elements; its first n are the result afterwards, the others unspecified.
template <class... Policies, class Buffer, communicator Comm, class... Extra>
    requires(!std::is_pointer_v<std::remove_cvref_t<Buffer>>)
report reduce_scatter(Buffer&& inout, const Comm& comm, Extra&&... extra)
{
    return detail::call_ranges<collective::reduce_scatter, plan_of<Policies...>, Buffer&, Buffer&>(inout, inout, true, 0, comm,
                                                                                                std::forward<Extra>(extra)...);
}

/// As MPI_Reduce_scatter_block: p * n elements at `send`, or MPI_IN_PLACE there, and n (in place p * n) at `recv`.
template <class... Policies, class A, class T, class Comm, class... Extra>
report reduce_scatter(const A* send, T* recv, std::size_t n, const Comm& comm, Extra&&... extra)
{
    return detail::call_pointers<collective::reduce_scatter, plan_of<Policies...>>(send, recv, n, 0, comm, std::forward<Extra>(extra)...);
}

}  // namespace ccoll
