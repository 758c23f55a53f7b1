// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// scan.hpp - floor 5. Prefixes over the ranks: scan includes a rank's own contribution, exscan does not.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/algo/prefix.hpp>
#include <ccoll/entry/forms.hpp>

// Common to both: policies, elements, communicator and extra arguments are those of allreduce; Op::Average
// does not compile, because every rank has another number of operands. Operands are combined in the order of
// the ranks. Data flow from lower to higher ranks only, so ranks compare their arguments first, at any size;
// with Check::Local a rank does not hear of what goes wrong on a higher one. Exact calls are never handed to
// MPI.

namespace ccoll::inline CCOLL_ABI {

/// Reduces `send` of the ranks 0 to r into `recv` of rank r.
///
///   scan<P...>(send, recv, comm, extra...)       two ranges of n elements
///   scan<P...>(inout, comm, extra...)            in place
///   scan<P...>(send, recv, n, comm, extra...)    pointers, as MPI_Scan; `send` may be MPI_IN_PLACE
///
/// Error: report::worst_case_error is the promise for every rank, worst_case<collective::scan,
/// Policies...>(p); rank r has r + 1 operands. Homomorphic (Codec::SZp): p bounds, and the bits of rank r are
/// those of an allreduce among the ranks 0 to r.
template <class... Policies, class... Arguments>
report scan(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::blocking, collective::scan>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// scan, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request iscan(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::nonblocking, collective::scan>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// scan, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent scan_init(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::preparing, collective::scan>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(scan, unrooted)

/// Reduces `send` of the ranks 0 to r - 1 into `recv` of rank r. `recv` of rank 0 stays as it is, and may be
/// empty if it is not `send`.
///
///   exscan<P...>(send, recv, comm, extra...)       two ranges of n elements
///   exscan<P...>(inout, comm, extra...)            in place
///   exscan<P...>(send, recv, n, comm, extra...)    pointers, as MPI_Exscan; `send` may be MPI_IN_PLACE
///
/// Error: worst_case<collective::exscan, Policies...>(p). Homomorphic: p - 1 bounds.
/// Cost: every vector travels one hop more than in scan, all at the same time (algo/prefix.hpp).
template <class... Policies, class... Arguments>
report exscan(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::blocking, collective::exscan>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// exscan, begun: see ccoll::request.
template <class... Policies, class... Arguments>
request iexscan(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::nonblocking, collective::exscan>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// exscan, prepared: see ccoll::persistent.
template <class... Policies, class... Arguments>
persistent exscan_init(Arguments&&... arguments)
{
    return detail::ask<detail::unrooted<detail::preparing, collective::exscan>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
CCOLL_FORMS(exscan, unrooted)

}  // namespace ccoll::inline CCOLL_ABI
