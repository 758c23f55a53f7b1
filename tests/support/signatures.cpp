// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an IDE shows behind the parenthesis of a call. check_signatures.cmake asks clang for each line.
#include <ccoll/ccoll.hpp>
#include <ccoll/bucket.hpp>

void all()
{
    ccoll::allreduce();   // shows: send, recv, comm, bound_and_error_code
    ccoll::iallreduce();  // shows: send, recv, n, comm, bound
    ccoll::exscan();      // shows: inout, comm, bound_and_error_code
    ccoll::bcast_init();  // shows: buffer, root, comm, bound
    ccoll::igather();     // shows: send, recv, n, root, comm, bound
    ccoll::scatterv();    // shows: send, counts, recv, root, comm, bound_and_error_code
    ccoll::gatherv();     // shows: send, n, recv, counts, displacements, root, comm, bound_and_error_code
    ccoll::allgatherv();  // shows: inout, counts, comm, bound_and_error_code
    ccoll::reduce_scatterv();      // shows: send, recv, counts, comm, bound_and_error_code
    ccoll::alltoallv();            // shows: send, send_counts, recv, recv_counts, comm, bound_and_error_code
    ccoll::ineighbor_allgather();  // shows: send, recv, n, comm, bound
    ccoll::neighbor_alltoallv();   // shows: send, send_counts, recv, recv_counts, comm, bound_and_error_code
    ccoll::isend();                // shows: data, n, destination, tag, comm, bound
    ccoll::recv();                 // shows: buffer, source, tag, comm, bound_and_error_code
    ccoll::isendrecv();            // shows: send, destination, send_tag, recv, source, recv_tag, comm, bound
    ccoll::bcast();                // shows: tensors, root, comm, bound_and_error_code
}
