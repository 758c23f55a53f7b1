// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/neighborhood.hpp - floor 2. A communicator together with neighbours, for transports that know of
// none, or for other neighbours than those of MPI's topology.
#pragma once

#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <ccoll/policy/neighbors.hpp>
#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI {

/// A communicator that says who its neighbours are. It goes wherever `comm()` goes, and is cheap to copy. The
/// neighbours live as long as the last copy and the last call on one.
template <communicator Comm>
class neighborhood {
public:
    neighborhood(Comm comm, std::shared_ptr<const neighbor_list> around)
        : comm_(std::move(comm)), around_(std::move(around))
    {}

    const Comm& comm() const noexcept { return comm_; }
    const std::shared_ptr<const neighbor_list>& neighbors() const noexcept { return around_; }

private:
    Comm comm_;
    std::shared_ptr<const neighbor_list> around_;
};

template <class Comm>
struct transport_for<neighborhood<Comm>> {
    static auto make(const neighborhood<Comm>& n) { return as_transport(n.comm()); }
    static auto make_within(const neighborhood<Comm>& n, double seconds)
    {
        return as_transport(n.comm(), seconds);
    }
    static bool in_place(const void* address)
        requires requires { transport_for<Comm>::in_place(address); }
    {
        return transport_for<Comm>::in_place(address);
    }
};

namespace detail {

/// The neighbours of a communicator: its own, or those that its transport knows; null if there are none.
template <class Comm, class Link>
    requires(
        requires(const Comm& c) { c.neighbors(); } || requires(Link& link) { link.neighbors(); })
std::shared_ptr<const neighbor_list> neighbors_of(const Comm& comm, Link& link)
{
    if constexpr (requires { comm.neighbors(); }) return comm.neighbors();
    else return link.neighbors();
}
template <class Comm>
concept has_neighbors =
    requires(const Comm& comm, decltype(as_transport(std::declval<const Comm&>()))& link) {
        neighbors_of(comm, link);
    };  // declval, because nvcc 13.0 fails at a parameter that names another one

template <class Comm>
auto usable_transport(const char* call, const Comm& comm)
{
    auto link = as_transport(comm);
    if (const status refusal = link.refusal(); refusal != status::ok) raise(call, {refusal}, link.explain());
    return link;
}

}  // namespace detail

/// `comm` with the neighbours that this rank names, as with MPI_Dist_graph_create_adjacent: it receives from
/// `sources` and sends to `destinations`, and buffers have a part for each, in this order. `nobody` is
/// allowed in place of a rank, and so is a rank several times, or this rank. Local, except that a first call
/// on an MPI_Comm is collective. What ranks name is not compared: every edge must be named at both ends, or
/// else the rank that receives waits.
/// @throw ccoll::error  (bad_peer) for a rank that does not exist
template <communicator Comm>
neighborhood<Comm> with_neighbors(const Comm& comm, std::span<const int> sources,
                                  std::span<const int> destinations)
{
    const auto link = detail::usable_transport("with_neighbors", comm);
    const int me = link.rank(), p = link.size();
    for (const std::span<const int>& list : {sources, destinations})
        for (const int peer : list)
            if (peer != nobody && (peer < 0 || peer >= p))
                raise("with_neighbors", {status::bad_peer, me, me, -1, p - 1.0, static_cast<double>(peer)});
    return {comm, std::make_shared<neighbor_list>(neighbor_list::graph(me, p, sources, destinations))};
}

/// `comm` as a grid of ranks, as with MPI_Cart_create without reordering. The neighbours are the ranks before
/// and after this one in each dimension: dimension 0 down, dimension 0 up, dimension 1 down, ... Beyond an
/// open end there is nobody. Otherwise as with_neighbors.
/// @param extents  ranks in each dimension. Their product is the number of ranks, and the last coordinate
///                 grows fastest.
/// @param closed   not 0 for a dimension whose ends are neighbours; as many as extents
/// @throw ccoll::error  (size_mismatch) if there are not as many ranks, or not as many entries in both lists;
///                      (bad_count) for an extent below 1
template <communicator Comm>
neighborhood<Comm> with_grid(const Comm& comm, std::span<const int> extents, std::span<const int> closed)
{
    const auto link = detail::usable_transport("with_grid", comm);
    const int me = link.rank();
    double ranks = 1;
    for (const int n : extents) {
        if (n < 1) raise("with_grid", {status::bad_count, me, nobody, -1, 2, static_cast<double>(n)});
        ranks *= n;
    }
    if (ranks != link.size())
        raise("with_grid", {status::size_mismatch, me, me, -1, static_cast<double>(link.size()), ranks});
    if (extents.size() != closed.size())
        raise("with_grid", {status::size_mismatch, me, me, -1, static_cast<double>(extents.size()),
                            static_cast<double>(closed.size())});
    return {comm, std::make_shared<neighbor_list>(neighbor_list::grid(me, extents, closed))};
}

}  // namespace ccoll::inline CCOLL_ABI
