// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of every facade on float, in a program that links ccoll::compiled: cmake/check_compiled.cmake looks
// for code of the engine in it.
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;
using floats = std::vector<float>;

void all(floats& x, floats& y, ccoll::threads_comm& comm);
void all(floats& x, floats& y, ccoll::threads_comm& comm)
{
    ccoll::allreduce(x, y, comm);
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(x, y, comm);
    ccoll::iallreduce<Codec::PipeSZx, ErrorBound<1e-3>>(x, y, comm).wait();
    ccoll::allreduce_init<Codec::SZp, ErrorBound<1e-3>>(x, y, comm).start();
    ccoll::reduce_scatter<Codec::SZe, ErrorBound<1e-3>>(x, y, comm);
    ccoll::allgather<Codec::Zfp, ErrorBound<1e-3>>(x, y, comm);
    ccoll::bcast<Codec::BitZip, ErrorBound<1e-3>>(x, 0, comm);
    ccoll::scan<Codec::Lossless>(x, y, comm);
    ccoll::send<Codec::SZx, ErrorBound<1e-3>>(x, 0, 0, comm);
    const std::vector<int> extents(1, comm.size()), closed(1, 1);
    ccoll::neighbor_allgather<Codec::SZp, ErrorBound<1e-3>>(x, y, ccoll::with_grid(comm, extents, closed));
}
