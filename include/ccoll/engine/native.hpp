// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/native.hpp - floor 3. Handing an exact call straight to the transport's own collective, where it has one (MPI).
#pragma once

#include <type_traits>

#include <ccoll/algo/collective.hpp>
#include <ccoll/engine/task.hpp>
#include <ccoll/transport/transport.hpp>

namespace ccoll {

/// A plan that needs nothing of ours: exact, and neither algorithm nor placement named.
template <class Op>
struct native_if_possible {
    /// True for a transport with members native_<collective> (transport/mpi.hpp) that knows the operation.
    template <class Link, class T>
    static constexpr bool possible = [] {
        if constexpr (requires(Link& link, T* data) { link.native_bcast(data, std::size_t{}, 0); }) return Link::template native_op_of<Op>::available;
        else return false;
    }();

    /// @return false when nothing was done because a count is too large for the transport's own call.
    template <class Collective, element T, class Link>
    static bool run(Link& link, const task<T>& what, T* recv)
    {
        using namespace collective;
        constexpr auto op = Link::template native_op_of<Op>::value;
        const T* const send = what.data.send;
        const int p = link.size(), root = what.root;
        const std::size_t whole = what.data.count, own = whole / static_cast<std::size_t>(p);
        bool done = false;
        if constexpr (std::is_same_v<Collective, allreduce>) done = link.native_allreduce(send, recv, whole, op);
        else if constexpr (std::is_same_v<Collective, reduce>) done = link.native_reduce(send, recv, whole, op, root);
        else if constexpr (std::is_same_v<Collective, reduce_scatter>) done = link.native_reduce_scatter(send, recv, own, op);
        else if constexpr (std::is_same_v<Collective, allgather>) done = link.native_allgather(send, recv, own);
        else if constexpr (std::is_same_v<Collective, bcast>) done = link.native_bcast(recv, whole, root);
        else if constexpr (std::is_same_v<Collective, scatter>) done = link.native_scatter(send, recv, own, root);
        else if constexpr (std::is_same_v<Collective, gather>) done = link.native_gather(send, recv, own, root);
        if (done && what.op.divide_by_ranks && Collective::after(link.rank(), root, p).count > 0) {
            const std::size_t n = Collective::recv == extent::whole ? whole : own;
            for (std::size_t i = 0; i < n; ++i) recv[i] /= static_cast<T>(p);
        }
        return done;
    }
};

struct never_native {
    template <class, class>
    static constexpr bool possible = false;
};

}  // namespace ccoll
