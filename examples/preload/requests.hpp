// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nonblocking and persistent calls. The program holds a request of MPI's own: a receive of nothing, from this
// process, on a communicator that nobody else has. When the call of ccoll has ended, the message is sent. So
// the program may wait and test as it likes, in arrays with requests of MPI. ccoll makes progress only when
// it is called, so functions of MPI that wait call it as long as something is under way.
#pragma once

#include <sched.h>

#include "route.hpp"

namespace preload {

extern int under_way;

/// Moves all calls on. @return the error of a call that failed meanwhile, or MPI_SUCCESS
int progress();

int begin(const arguments& a, const decision& d, MPI_Request* request);
int prepare(const arguments& a, const decision& d, MPI_Request* request);
/// Is it a persistent request of ours? Then its call begins, and MPI_Start is still to be called.
bool is_ours(MPI_Request request);
int start(MPI_Request request);
/// The program frees the request.
void forget(MPI_Request request);

void open_requests();
void close_requests();

/// Calls test(&done) until something is done, and makes progress in between. `plain` waits inside MPI, where
/// nothing is under way.
template <class Test, class Plain>
int until(Test test, Plain plain)
{
    int failure = MPI_SUCCESS;
    while (under_way > 0) {
        if (const int code = progress(); failure == MPI_SUCCESS) failure = code;
        int done = 0;
        const int code = test(&done);
        if (code != MPI_SUCCESS || done != 0) return code != MPI_SUCCESS ? code : failure;
        sched_yield();
    }
    const int code = plain();
    return code != MPI_SUCCESS ? code : failure;
}

/// A blocking collective of MPI. While plans route nonblocking calls it is one that is begun, on all ranks
/// alike, because MPI does not match the one kind with the other.
template <class Plain, class Begin>
int patiently(MPI_Comm comm, Plain plain, Begin begins)
{
    int two_groups = 1;
    if (!now.nonblocking || comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &two_groups) != MPI_SUCCESS ||
        two_groups != 0)
        return plain();
    MPI_Request request = MPI_REQUEST_NULL;
    if (const int code = begins(&request); code != MPI_SUCCESS) return code;
    return until([&](int* done) { return PMPI_Test(&request, done, MPI_STATUS_IGNORE); },
                 [&] { return PMPI_Wait(&request, MPI_STATUS_IGNORE); });
}

template <class Plain, class Begin>
int blocking(const arguments& a, Plain plain, Begin begins)
{
    reason why = now.open ? reason::no_rule : reason::unread;
    if (!surely_left(a)) {
        const decision d = decide(a, false);
        if (d.taken != nullptr) return perform(a, d);
        why = d.why;
    }
    if (now.waiting > 0) attach_if_waiting(a.comm);
    note_left(a, why);
    return patiently(a.comm, plain, begins);
}
template <class Plain>
int begun(const arguments& a, MPI_Request* request, Plain plain)
{
    reason why = now.open ? reason::no_rule : reason::unread;
    if (!surely_left(a)) {
        const decision d = decide(a, true);
        if (d.taken != nullptr) return begin(a, d, request);
        why = d.why;
    }
    note_left(a, why);
    return plain();
}
template <class Plain>
int prepared(const arguments& a, MPI_Request* request, Plain plain)
{
    reason why = now.open ? reason::no_rule : reason::unread;
    if (!surely_left(a)) {
        const decision d = decide(a, true);
        if (d.taken != nullptr) return prepare(a, d, request);
        why = d.why;
    }
    note_left(a, why);
    return plain();
}

}  // namespace preload
