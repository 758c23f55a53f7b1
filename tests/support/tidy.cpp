// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What clang-tidy reads (cmake/check_tidy.cmake): all headers for the host, and with MPI also those that need
// it, with engine and codecs instantiated. Without a codec that is instantiated, checks see no types in it.
#include "../consumers/everything.cpp"

#if !defined(CCOLL_NO_MPI)
#include <ccoll/typed.hpp>

void over_mpi(floats& x, floats& y);
void over_mpi(floats& x, floats& y)
{
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(x, y, MPI_COMM_WORLD);
    ccoll::typed::allreduce<Codec::SZp, ErrorBound<1e-3>>(x.data(), y.data(), 1, MPI_FLOAT, MPI_SUM,
                                                          MPI_COMM_WORLD);
}
#endif
