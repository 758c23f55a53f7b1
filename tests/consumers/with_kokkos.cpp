// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/containers.md: views of Kokkos in host memory. Compiled where Kokkos is installed.
#include <Kokkos_Core.hpp>

#include <ccoll/allreduce.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

void sum(ccoll::threads_comm& comm);

void sum(ccoll::threads_comm& comm)
{
    // [doc:kokkos]
    Kokkos::View<double***, Kokkos::HostSpace> field("field", 64, 48, 32);
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-6>>(field, comm);
    // [/doc:kokkos]
}
