// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rooted.hpp - floor 5. Collectives with a root: bcast, scatter, gather, reduce.
#pragma once

#include <ccoll/algo/binomial.hpp>
#include <ccoll/algo/chain.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/engine/call.hpp>

// Common to all: policies, communicator and extra arguments are those of allreduce; every rank passes the same root. Data flow
// one way, so ranks compare their arguments first, at any size, unless Check::Local says not to: then a disagreement is seen by
// the ranks that it reaches, or may leave some waiting. A buffer that a rank does not need may be empty.

namespace ccoll {

/// Copies the root's `buffer`, n elements, to all ranks. With a lossy codec the root's own buffer changes, too: it takes the
/// decoded values, so that all ranks hold the same bits.
/// Error: one bound (Placement::PerHop: the depth of the tree). Algo::Chain is faster than the tree for vectors that are much
/// longer than a slice times p. Source: C-Coll, figure 3.
template <class... Policies, class Buffer, class Comm, class... Extra>
    requires(!std::is_pointer_v<std::remove_cvref_t<Buffer>>)
report bcast(Buffer&& buffer, int root, const Comm& comm, Extra&&... extra)
{
    return detail::call_ranges<collective::bcast, plan_of<Policies...>, Buffer&, Buffer&>(buffer, buffer, true, root, comm,
                                                                                       std::forward<Extra>(extra)...);
}

/// As MPI_Bcast.
template <class... Policies, class T, class Comm, class... Extra>
report bcast(T* data, std::size_t n, int root, const Comm& comm, Extra&&... extra)
{
    return detail::call_pointers<collective::bcast, plan_of<Policies...>>(data, data, n, root, comm, std::forward<Extra>(extra)...);
}

/// Deals the root's `send`, p * n elements, out to all ranks: block r, n elements, into `recv` of rank r.
/// Error: one bound; the root's own block is exact.
template <class... Policies, class Send, class Recv, class Comm, class... Extra>
    requires(!std::is_pointer_v<Send>)
report scatter(const Send& send, Recv&& recv, int root, const Comm& comm, Extra&&... extra)
{
    return detail::call_ranges<collective::scatter, plan_of<Policies...>, const Send&, Recv&>(send, recv, false, root, comm,
                                                                                            std::forward<Extra>(extra)...);
}

/// As MPI_Scatter with equal types: p * n elements at the root's `send`, n at `recv`; the root may pass MPI_IN_PLACE there.
template <class... Policies, class T, class B, class Comm, class... Extra>
report scatter(const T* send, B* recv, std::size_t n, int root, const Comm& comm, Extra&&... extra)
{
    return detail::call_pointers<collective::scatter, plan_of<Policies...>>(send, recv, n, root, comm, std::forward<Extra>(extra)...);
}

/// Collects `send` of all ranks, n elements each, into the root's `recv`, p * n elements, in the order of the ranks.
/// Error: one bound; the root's own block is exact.
template <class... Policies, class Send, class Recv, class Comm, class... Extra>
    requires(!std::is_pointer_v<Send>)
report gather(const Send& send, Recv&& recv, int root, const Comm& comm, Extra&&... extra)
{
    return detail::call_ranges<collective::gather, plan_of<Policies...>, const Send&, Recv&>(send, recv, false, root, comm,
                                                                                           std::forward<Extra>(extra)...);
}

/// As MPI_Gather with equal types: n elements at `send`, or MPI_IN_PLACE there on the root, and p * n at the root's `recv`.
template <class... Policies, class A, class T, class Comm, class... Extra>
report gather(const A* send, T* recv, std::size_t n, int root, const Comm& comm, Extra&&... extra)
{
    return detail::call_pointers<collective::gather, plan_of<Policies...>>(send, recv, n, root, comm, std::forward<Extra>(extra)...);
}

/// Reduces `send` of all ranks, n elements, into the root's `recv`.
/// Error: every rank but the root encodes once, p - 1 bounds for Sum.
template <class... Policies, class Send, class Recv, class Comm, class... Extra>
    requires(!std::is_pointer_v<Send>)
report reduce(const Send& send, Recv&& recv, int root, const Comm& comm, Extra&&... extra)
{
    return detail::call_ranges<collective::reduce, plan_of<Policies...>, const Send&, Recv&>(send, recv, false, root, comm,
                                                                                           std::forward<Extra>(extra)...);
}

/// As MPI_Reduce: n elements at `send`, or MPI_IN_PLACE there on the root, and n at the root's `recv`.
template <class... Policies, class A, class T, class Comm, class... Extra>
report reduce(const A* send, T* recv, std::size_t n, int root, const Comm& comm, Extra&&... extra)
{
    return detail::call_pointers<collective::reduce, plan_of<Policies...>>(send, recv, n, root, comm, std::forward<Extra>(extra)...);
}

}  // namespace ccoll
