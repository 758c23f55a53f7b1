// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// reduce_scatter.hpp - floor 5. reduce_scatter, reduce_scatterv: rank r ends with part r of the reduction.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/algo/rabenseifner.hpp>
#include <ccoll/algo/ring.hpp>
#include <ccoll/entry/forms.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Reduces `send` of all ranks and leaves part r of the result, n elements, in `recv` of rank r.
///
///   reduce_scatter<P...>(send, recv, comm, extra...)       ranges of p * n and n elements
///   reduce_scatter<P...>(inout, comm, extra...)            in place: p * n elements, of which the first n
///                                                          are the result
///   reduce_scatter<P...>(send, recv, n, comm, extra...)    pointers, as MPI_Reduce_scatter_block; `send` may
///                                                          be MPI_IN_PLACE
///
/// Policies, elements, extra arguments and errors are those of allreduce.
/// Error: p - 1 times the bound for Sum; p times where encoded streams are added, and with Algo::Rabenseifner
/// if p is not a power of two.
/// Cost: p - 1 steps with Algo::Ring, about log2(p) with Rabenseifner. A rank encodes, sends, decodes and
/// reduces about p - 1 parts of n elements.
/// Source: C-Coll, figure 4.
template <class... Policies, class... Arguments>
report reduce_scatter(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::blocking, collective::reduce_scatter>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// reduce_scatter, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ireduce_scatter(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::nonblocking, collective::reduce_scatter>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// reduce_scatter, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent reduce_scatter_init(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::preparing, collective::reduce_scatter>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(reduce_scatter, unrooted)

namespace detail {
template <class How, class Collective>
struct varied_reduce_scatter {
    using result = typename How::result;
    static constexpr form_shape shape = form_shape::reduce_scatterv;

    template <class Choice, class Send, class Recv, part_counts Counts, class Comm, class... Extra>
        requires(is_range<Send> && is_range<Recv>)
    static result call(const Choice& choice, Send&& send, Recv&& recv, Counts&& counts, const Comm& comm,
                       Extra&&... extra)
    {
        constexpr call_fault lost = lost_arguments<How, Recv, Send>(lose_counts<How, Counts>);
        return call_ranges<How, Collective, lost, read_from<Send>, Recv&>(
            choice, send, recv, send_parts(lists_of(counts)), 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class Buffer, part_counts Counts, communicator Comm, class... Extra>
        requires is_range<Buffer>
    static result call(const Choice& choice, Buffer&& inout, Counts&& counts, const Comm& comm,
                       Extra&&... extra)
    {
        constexpr call_fault lost = lost_arguments<How, Buffer>(lose_counts<How, Counts>);
        return call_ranges<How, Collective, lost, Buffer&, Buffer&>(
            choice, inout, inout, send_parts(lists_of(counts), true), 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, class A, class T, std::integral Integer, class Comm, class... Extra>
    static result call(const Choice& choice, const A* send, T* recv, const Integer* counts, const Comm& comm,
                       Extra&&... extra)
    {
        const Integer* const side_by_side = nullptr;
        const auto own_is_one_of_them = [](auto& user, std::size_t) { user.own_unsaid = true; };
        return call_pointers<How, Collective>(
            choice, send, recv, 0, both(send_parts(lists_of(counts, side_by_side)), own_is_one_of_them), 0,
            comm, std::forward<Extra>(extra)...);
    }
};
#define CCOLL_SHOWN_varied_reduce_scatter(FORM, ...)                       \
    FORM((const auto& send, auto&& recv, const auto& counts), __VA_ARGS__) \
    FORM((auto&& inout, const auto& counts), __VA_ARGS__)                  \
    FORM((const auto* send, auto* recv, const std::integral auto* counts), __VA_ARGS__)
}  // namespace detail

/// The same with parts of different lengths: rank r gets counts[r] elements.
///
///   reduce_scatterv<P...>(send, recv, counts, comm, extra...)    `counts`: a range of p integers, the same
///                                                                 on all ranks, or ccoll::parts
///   reduce_scatterv<P...>(inout, counts, comm, extra...)         in place: the result is at the front
///   reduce_scatterv<P...>(send, recv, counts, comm, extra...)    pointers, as MPI_Reduce_scatter
///
/// Errors: bad_count for a negative count; count_differs on all ranks if the lists of counts differ.
/// Otherwise as reduce_scatter.
/// Cost: as reduce_scatter. In addition, the ranks always compare their arguments before the call and, except
/// with Check::Local, their verdicts after it: log2(p) short messages each time.
template <class... Policies, class... Arguments>
report reduce_scatterv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_reduce_scatter<detail::blocking, collective::reduce_scatter>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
/// reduce_scatterv, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request ireduce_scatterv(Arguments&&... arguments)
{
    return detail::ask<detail::varied_reduce_scatter<detail::nonblocking, collective::reduce_scatter>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
/// reduce_scatterv, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent reduce_scatterv_init(Arguments&&... arguments)
{
    return detail::ask<detail::varied_reduce_scatter<detail::preparing, collective::reduce_scatter>,
                       Policies...>(std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(reduce_scatterv, varied_reduce_scatter)

}  // namespace ccoll::inline CCOLL_ABI
