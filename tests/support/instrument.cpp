// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled twice by cmake/check_instrument.cmake: a call without Instrument:: must not know of any clock.
#include <ccoll/allreduce.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

ccoll::report call(std::vector<float>& x, ccoll::threads_comm& comm)
{
#if defined(WITH_BREAKDOWN)
    return ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>, Instrument::Breakdown>(x, comm);
#else
    return ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(x, comm);
#endif
}
