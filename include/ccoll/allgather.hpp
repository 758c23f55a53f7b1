// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// allgather.hpp - floor 5. allgather: everybody ends with everybody's data, block r from rank r.
#pragma once

#include <ccoll/algo/ring.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/engine/call.hpp>

namespace ccoll {

/// Gathers `send` of all ranks into `recv` of every rank, in the order of the ranks.
///
/// @param send   n elements.    @param recv  p * n elements.
/// Other parameters, errors and cost as of allreduce. With a lossy codec a rank's own block in `recv` holds the decoded values, so
/// that all ranks hold the same bits; `send` is not touched.
/// Error: one bound (Placement::PerHop: p - 1). Source: C-Coll, figure 2.
template <class... Policies, class Send, class Recv, class Comm, class... Extra>
    requires(!communicator<Recv> && !std::is_pointer_v<Send>)
report allgather(const Send& send, Recv&& recv, const Comm& comm, Extra&&... extra)
{
    return detail::call_ranges<collective::allgather, plan_of<Policies...>, const Send&, Recv&>(send, recv, false, 0, comm,
                                                                                              std::forward<Extra>(extra)...);
}

/// In place: `inout` holds p * n elements, of which this rank's block is its contribution.
template <class... Policies, class Buffer, communicator Comm, class... Extra>
    requires(!std::is_pointer_v<std::remove_cvref_t<Buffer>>)
report allgather(Buffer&& inout, const Comm& comm, Extra&&... extra)
{
    return detail::call_ranges<collective::allgather, plan_of<Policies...>, Buffer&, Buffer&>(inout, inout, true, 0, comm,
                                                                                           std::forward<Extra>(extra)...);
}

/// As MPI_Allgather with equal types: n elements at `send`, or MPI_IN_PLACE there, and p * n at `recv`.
template <class... Policies, class A, class T, class Comm, class... Extra>
report allgather(const A* send, T* recv, std::size_t n, const Comm& comm, Extra&&... extra)
{
    return detail::call_pointers<collective::allgather, plan_of<Policies...>>(send, recv, n, 0, comm, std::forward<Extra>(extra)...);
}

}  // namespace ccoll
