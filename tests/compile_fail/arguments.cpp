// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments that are missing, too many, or in another order; as call.cpp. The good calls are every form.
#include <complex>
#include <list>
#include <system_error>
#include <vector>

#include <ccoll/allgather.hpp>
#include <ccoll/allreduce.hpp>
#include <ccoll/alltoall.hpp>
#include <ccoll/bucket.hpp>
#include <ccoll/codec/szx.hpp>
#include <ccoll/neighbor.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/rooted.hpp>
#include <ccoll/transport/threads.hpp>
#include <ccoll/value.hpp>

using namespace ccoll::policies;

struct arguments {
    std::vector<float>& x;
    std::vector<float>& y;
    std::vector<int>& counts;
    float *p, *q;
    const int* list;
    std::size_t n;
    ccoll::threads_comm& comm;
    ccoll::neighborhood<ccoll::threads_comm>& grid;
    ccoll::bucket<float>& tensors;
};

void call(const arguments& a);
void call(const arguments& a)
{
    [[maybe_unused]] std::error_code code;
    [[maybe_unused]] void* const stands_for_in_place = nullptr;
    [[maybe_unused]] const void* const fixed_untyped = nullptr;
    // ---- good ----
    ccoll::allreduce(a.x, a.y, a.comm);
    ccoll::allreduce(a.p, a.q, a.n, a.comm, code);
    ccoll::reduce(a.x, a.y, 0, a.comm);
    ccoll::reduce(a.p, a.q, a.n, 0, a.comm);
    ccoll::bcast(a.p, a.n, 0, a.comm);
    ccoll::scatterv(a.x, a.counts, a.y, 0, a.comm);
    ccoll::scatterv(a.p, a.list, a.list, a.q, a.n, 0, a.comm);
    ccoll::gatherv(a.x, a.y, a.counts, 0, a.comm);
    ccoll::gatherv(a.p, a.n, a.q, a.list, a.list, 0, a.comm);
    ccoll::allgatherv(a.x, a.y, a.counts, a.comm);
    ccoll::allgatherv(a.y, a.counts, a.comm);
    ccoll::allgatherv(a.p, a.n, a.q, a.list, nullptr, a.comm);
    ccoll::reduce_scatterv(a.x, a.y, a.counts, a.comm);
    ccoll::reduce_scatterv(a.p, a.q, a.list, a.comm);
    ccoll::alltoallv(a.x, a.counts, a.y, a.counts, a.comm);
    ccoll::alltoallv(a.p, a.list, a.list, a.q, a.list, nullptr, a.comm);
    ccoll::send(a.p, a.n, 0, 0, a.comm);
    ccoll::recv(a.x, 0, 0, a.comm, code);
    ccoll::sendrecv(a.p, a.n, 0, a.q, a.n, 0, 0, a.comm);
    ccoll::neighbor_alltoall(a.x, a.y, a.grid);
    ccoll::neighbor_allgather(a.p, a.q, a.n, a.grid, code);
    ccoll::neighbor_alltoallv(a.p, a.list, nullptr, a.q, a.list, a.list, a.grid);
    ccoll::neighbor_allgatherv(a.x, a.y, a.counts, a.grid);
    ccoll::allreduce(a.x, a.grid);
    ccoll::allreduce(a.tensors, a.comm, code);
    ccoll::bcast(a.tensors, 0, a.comm);
    ccoll::value::allreduce(a.x, a.comm, code);
    ccoll::value::reduce<Codec::SZx, RuntimeBound>(1.0f, 0, a.comm, 1e-3);
    // ---- bad ----
    // expect: ccoll: a list in braces has no type; write one, as in std::array{1.0f, 2.0f}
    ccoll::allreduce({1.0f, 2.0f}, a.y, a.comm);
    // expect: ccoll: a list in braces has no type; write one, as in std::array{1.0f, 2.0f}
    static_cast<void>(ccoll::igather({1.0f, 2.0f}, a.y, 0, a.comm));
    // expect: ccoll: a void pointer does not say what its elements are; cast it
    ccoll::bcast(stands_for_in_place, a.n, 0, a.comm);
    // expect: ccoll: a void pointer does not say what its elements are; cast it
    ccoll::allreduce(fixed_untyped, stands_for_in_place, a.n, a.comm);
    // expect: ccoll: a void pointer does not say what its elements are; cast it
    ccoll::gatherv(fixed_untyped, a.n, stands_for_in_place, a.list, a.list, 0, a.comm);
    // expect: ccoll: a void pointer does not say what its elements are; cast it
    ccoll::reduce_scatterv(fixed_untyped, stands_for_in_place, a.list, a.comm);
    // expect: ccoll: a void pointer does not say what its elements are; cast it
    ccoll::neighbor_allgather(fixed_untyped, stands_for_in_place, a.n, a.grid);
    // expect: ccoll: a void pointer does not say what its elements are; cast it
    ccoll::send(fixed_untyped, a.n, 0, 0, a.comm, code);
    // expect: ccoll: a void pointer does not say what its elements are; cast it
    ccoll::recv<Codec::SZx, RuntimeBound>(stands_for_in_place, a.n, 0, 0, a.comm, 1e-3);
    // expect: ccoll: a void pointer does not say what its elements are; cast it
    ccoll::sendrecv(fixed_untyped, a.n, 0, a.q, a.n, 0, 0, a.comm);
    // expect: ccoll: a number stands in the place of a buffer; for a number call ccoll::value::
    ccoll::allreduce(1.0, a.comm);
    // expect: ccoll: a number stands in the place of a buffer; for a number call ccoll::value::
    ccoll::allreduce(a.n, a.comm);
    // expect: ccoll: a number stands in the place of a buffer; for a number call ccoll::value::
    ccoll::reduce(std::complex<float>(1), a.y, 0, a.comm);
    // expect: ccoll: a number stands in the place of a buffer; for a number call ccoll::value::
    ccoll::send(2.5f, 0, 0, a.comm);
    // expect: ccoll: the communicator is missing
    ccoll::allreduce(a.x, a.y);
    // expect: ccoll: the communicator is missing
    ccoll::allreduce();
    // expect: ccoll: the communicator is missing
    ccoll::bcast(a.x, 0);
    // expect: ccoll: the root is missing; it stands in front of the communicator
    ccoll::reduce(a.x, a.y, a.comm);
    // expect: ccoll: the root is missing; it stands in front of the communicator
    ccoll::bcast(a.x, a.comm);
    // expect: ccoll: an integer is missing; behind pointers stand a count, the root
    ccoll::reduce(a.p, a.q, a.n, a.comm);
    // expect: ccoll: an integer is missing; behind pointers stand a count, the root
    ccoll::allreduce(a.p, a.q, a.comm);
    // expect: ccoll: the counts of a v variant are missing
    ccoll::allgatherv(a.x, a.y, a.comm);
    // expect: ccoll: the counts of a v variant are missing
    ccoll::scatterv(a.x, a.y, 0, a.comm);
    // expect: ccoll: MPI_IN_PLACE stands for a pointer and not for a range; pass the one buffer alone
    ccoll::allreduce(stands_for_in_place, a.x, a.comm);
    // expect: ccoll: MPI_IN_PLACE stands for a pointer and not for a range; pass the one buffer alone
    ccoll::reduce(stands_for_in_place, a.x, 0, a.comm);
    // expect: ccoll: a pointer without a type can only be MPI_IN_PLACE, and this communicator is not one of MPI
    ccoll::allreduce(stands_for_in_place, a.p, a.n, a.comm);
    // expect: ccoll: a pointer without a type can only be MPI_IN_PLACE, and this communicator is not one of MPI
    ccoll::scatter(a.p, stands_for_in_place, a.n, 0, a.comm);
    // expect: between neighbours nothing works in place
    ccoll::neighbor_alltoall(stands_for_in_place, a.q, a.n, a.grid);
    // expect: it takes (send, recv, root, comm), (inout, root, comm), or with pointers
    ccoll::reduce(a.x, a.y, a.comm, 0);
    // expect: ccoll: the communicator stands too far behind
    ccoll::allreduce(a.x, a.y, a.n, a.comm);
    // expect: ccoll: the communicator stands too far behind
    ccoll::allreduce<Codec::SZx, RuntimeBound>(a.x, a.y, 1e-3, a.comm);
    // expect: it takes (buffer, destination, tag, comm), or with a pointer
    ccoll::send(a.x, 0, a.comm);
    // expect: it takes (buffer, source, tag, comm), or with a pointer
    ccoll::recv(a.x, a.comm, 0, 0);
    // expect: it takes (send, destination, recv, source, tag, comm), or with pointers
    ccoll::sendrecv(a.x, 0, a.y, 0, a.comm);
    // expect: it takes (send, recv, counts, comm), (inout, counts, comm), or with pointers
    ccoll::allgatherv(a.p, a.n, a.q, a.list, a.comm);
    // expect: it takes (send, send_counts, recv, recv_counts, comm)
    ccoll::alltoallv(a.x, a.counts, a.y, a.comm);
    // expect: an integer stands behind the communicator, and a bound is a floating-point number
    ccoll::allreduce<Codec::SZx, RuntimeBound>(a.x, a.y, a.comm, 1);
    // expect: an integer stands behind the communicator, and a bound is a floating-point number
    ccoll::send<Codec::SZx, RuntimeBound>(a.x, 0, 0, a.comm, 1);
    // expect: it takes (send, recv, comm), (inout, comm), or with pointers
    ccoll::allreduce(a.comm, a.x);
    // expect: it takes (send, recv, counts, root, comm), (inout, counts, root, comm), or with pointers
    ccoll::gatherv(a.x, a.y, 0, a.counts, a.comm);
    // expect: it takes (buffer, root, comm), or with a pointer
    ccoll::bcast(a.x, a.comm, 0);
    // expect: ccoll: this communicator does not know its neighbours; pass an MPI_Comm with a topology
    ccoll::neighbor_alltoall(a.x, a.y, a.comm);
    // expect: between neighbours nothing works in place
    ccoll::neighbor_alltoall(a.x, a.grid);
    // expect: between neighbours nothing works in place
    ccoll::neighbor_allgather(stands_for_in_place, a.p, a.n, a.grid);
    // expect: ccoll: the counts of a v variant are missing
    ccoll::neighbor_alltoallv(a.x, a.y, a.grid);
    // expect: ccoll: this algorithm has no schedule for this collective
    ccoll::neighbor_alltoall<Algo::Bruck>(a.x, a.y, a.grid);
    // expect: it takes (send, recv, counts, comm), or with pointers (send, n, recv, counts, displacements, comm)
    ccoll::neighbor_allgatherv(a.y, a.counts, a.grid);
    // expect: ccoll: calls that return a value take one number (not bool), or a contiguous range
    ccoll::value::allreduce(std::list<float>(3), a.comm);
    // expect: ccoll: calls that return a value take one number (not bool), or a contiguous range
    ccoll::value::allgather(true, a.comm);
    // expect: it takes (send, counts, recv, root, comm), (inout, counts, root, comm), or with pointers
    ccoll::scatterv(a.x, a.counts, a.y, a.comm, 0);
    // expect: it takes (send, recv, counts, comm), (inout, counts, comm), or pointers (send, recv, counts, comm)
    ccoll::reduce_scatterv(a.x, a.counts, a.y, a.comm);
    // expect: it takes (bucket, comm), where bucket is a ccoll::bucket<T> with a name
    ccoll::allreduce(a.tensors, 0, a.comm);
    // expect: it takes (bucket, root, comm), where bucket is a ccoll::bucket<T> with a name
    ccoll::bcast(0, a.tensors, a.comm);
}
