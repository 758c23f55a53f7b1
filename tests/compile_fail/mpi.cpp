// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slips of a port from MPI's own calls, under every MPI found; as call.cpp. In some MPIs handles are
// integers, in others pointers.
#include <vector>

#include <ccoll/allgather.hpp>
#include <ccoll/allreduce.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/rooted.hpp>
#include <ccoll/transport/mpi.hpp>

using namespace ccoll::policies;

void call(std::vector<float>& x, std::vector<float>& y, int n, MPI_Comm comm);
void call(std::vector<float>& x, std::vector<float>& y, [[maybe_unused]] int n, MPI_Comm comm)
{
    // ---- good ----
    ccoll::allreduce(x.data(), y.data(), n, comm);
    ccoll::allreduce<Codec::SZp, RuntimeBound>(MPI_IN_PLACE, y.data(), n, comm, 1e-3);
    ccoll::scatter(x.data(), MPI_IN_PLACE, n, 0, comm);
    ccoll::reduce(x, y, 0, comm);
    ccoll::bcast(x.data(), n, 0, comm);
    ccoll::send(x, 0, 0, comm);
    // ---- bad ----
    // expect: ccoll: an argument is left over from MPI's own call; drop MPI_Datatype
    ccoll::allreduce(x.data(), y.data(), n, MPI_FLOAT, MPI_SUM, comm);
    // expect: ccoll: an argument is left over from MPI's own call; drop MPI_Datatype
    ccoll::allreduce<Codec::SZp, RuntimeBound>(x.data(), y.data(), n, MPI_SUM, comm);
    // expect: ccoll: an argument is left over from MPI's own call; drop MPI_Datatype
    ccoll::bcast(x.data(), n, MPI_FLOAT, 0, comm);
    // expect: ccoll: an argument is left over from MPI's own call; drop MPI_Datatype
    ccoll::reduce(x.data(), y.data(), n, MPI_FLOAT, MPI_SUM, 0, comm);
    // expect: ccoll: an argument is left over from MPI's own call; drop MPI_Datatype
    ccoll::send(x.data(), n, MPI_FLOAT, 0, 0, comm);
    // expect: ccoll: an argument is left over from MPI's own call; drop MPI_Datatype
    ccoll::allreduce(x, y, MPI_FLOAT, MPI_SUM, comm);
    // expect: ccoll: MPI_IN_PLACE stands for a pointer and not for a range; pass the one buffer alone
    ccoll::allreduce(MPI_IN_PLACE, y, comm);
    // expect: ccoll: a pointer without a type can only be MPI_IN_PLACE, and this call does not take that here
    ccoll::allreduce(x.data(), MPI_IN_PLACE, n, comm);
    // expect: ccoll: a pointer without a type can only be MPI_IN_PLACE, and this call does not take that here
    ccoll::gather(x.data(), MPI_IN_PLACE, n, 0, comm);
    // expect: ccoll: a pointer without a type can only be MPI_IN_PLACE, and this call does not take that here
    ccoll::scatter(MPI_IN_PLACE, y.data(), n, 0, comm);
    // expect: ccoll: a void pointer does not say what its elements are; cast it
    ccoll::bcast(MPI_IN_PLACE, n, 0, comm);
    // expect: ccoll: the root is missing; it stands in front of the communicator
    ccoll::reduce(x, y, comm);
    // expect: ccoll: the counts of a v variant are missing
    ccoll::allgatherv(x, y, comm);
    // expect: ccoll: an integer is missing; behind pointers stand a count, the root
    ccoll::reduce(x.data(), y.data(), n, comm);
    // expect: ccoll: the communicator is missing
    ccoll::allreduce(x, y);
    // expect: an argument is left over from MPI's own call; drop MPI_Datatype
    ccoll::allgather(x.data(), n, MPI_FLOAT, y.data(), n, MPI_FLOAT, comm);
    (void)x;
    (void)y;
    (void)comm;
}
