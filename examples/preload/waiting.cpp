// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of MPI that wait, test, start and free requests. Where no compressed call is under way they cost
// a comparison.
#include "requests.hpp"

#include <utility>
#include <vector>

using namespace preload;

namespace {

int first_of(int a, int b) { return a != MPI_SUCCESS ? a : b; }

/// A call of MPI that has been begun, until it has ended.
int to_its_end(MPI_Request request, MPI_Status* status)
{
    return until([&](int* done) { return PMPI_Test(&request, done, status); },
                 [&] { return PMPI_Wait(&request, status); });
}

int started(int n, MPI_Request requests[])
{
    int failure = MPI_SUCCESS;
    for (int i = 0; i < n; ++i) {
        const bool ours = is_ours(requests[i]);
        failure = first_of(failure, PMPI_Start(&requests[i]));
        if (ours) failure = first_of(failure, start(requests[i]));
    }
    return failure;
}

}  // namespace

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status)
{
    return until([&](int* done) { return PMPI_Test(request, done, status); },
                 [&] { return PMPI_Wait(request, status); });
}
int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    return until([&](int* done) { return PMPI_Testall(n, requests, done, statuses); },
                 [&] { return PMPI_Waitall(n, requests, statuses); });
}
int MPI_Waitany(int n, MPI_Request requests[], int* index, MPI_Status* status)
{
    return until([&](int* done) { return PMPI_Testany(n, requests, index, done, status); },
                 [&] { return PMPI_Waitany(n, requests, index, status); });
}
int MPI_Waitsome(int n, MPI_Request requests[], int* count, int indices[], MPI_Status statuses[])
{
    return until(
        [&](int* done) {
            const int code = PMPI_Testsome(n, requests, count, indices, statuses);
            *done = *count != 0;  // MPI_UNDEFINED: there is nothing to wait for
            return code;
        },
        [&] { return PMPI_Waitsome(n, requests, count, indices, statuses); });
}

#define PRELOAD_TEST(Name, parameters, values)         \
    int MPI_##Name parameters                          \
    {                                                  \
        if (under_way == 0) return PMPI_##Name values; \
        const int failure = progress();                \
        return first_of(PMPI_##Name values, failure);  \
    }
PRELOAD_TEST(Test, (MPI_Request * request, int* done, MPI_Status* status), (request, done, status))
PRELOAD_TEST(Testall, (int n, MPI_Request requests[], int* done, MPI_Status statuses[]),
             (n, requests, done, statuses))
PRELOAD_TEST(Testany, (int n, MPI_Request requests[], int* index, int* done, MPI_Status* status),
             (n, requests, index, done, status))
PRELOAD_TEST(Testsome, (int n, MPI_Request requests[], int* count, int indices[], MPI_Status statuses[]),
             (n, requests, count, indices, statuses))
PRELOAD_TEST(Request_get_status, (MPI_Request request, int* done, MPI_Status* status),
             (request, done, status))

int MPI_Start(MPI_Request* request) { return is_ours(*request) ? started(1, request) : PMPI_Start(request); }
int MPI_Startall(int n, MPI_Request requests[])
{
    for (int i = 0; i < n; ++i)
        if (is_ours(requests[i])) return started(n, requests);
    return PMPI_Startall(n, requests);
}
int MPI_Request_free(MPI_Request* request)
{
    if (is_ours(*request)) forget(*request);
    return PMPI_Request_free(request);
}

// While compressed calls are under way, messages do not wait inside MPI, because another rank may wait for
// ours.
#define PRELOAD_SEND(Name, Iname, N, suffix)                                                           \
    int MPI_##Name##suffix(const void* data, N n, MPI_Datatype type, int peer, int tag, MPI_Comm comm) \
    {                                                                                                  \
        if (under_way == 0) return PMPI_##Name##suffix(data, n, type, peer, tag, comm);                \
        MPI_Request request = MPI_REQUEST_NULL;                                                        \
        const int code = PMPI_##Iname##suffix(data, n, type, peer, tag, comm, &request);               \
        return code != MPI_SUCCESS ? code : to_its_end(request, MPI_STATUS_IGNORE);                    \
    }
#define PRELOAD_MESSAGES(N, suffix)                                                                      \
    PRELOAD_SEND(Send, Isend, N, suffix)                                                                 \
    PRELOAD_SEND(Ssend, Issend, N, suffix)                                                               \
    PRELOAD_SEND(Rsend, Irsend, N, suffix)                                                               \
    int MPI_Recv##suffix(void* data, N n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,           \
                         MPI_Status* status)                                                             \
    {                                                                                                    \
        if (under_way == 0) return PMPI_Recv##suffix(data, n, type, peer, tag, comm, status);            \
        MPI_Request request = MPI_REQUEST_NULL;                                                          \
        const int code = PMPI_Irecv##suffix(data, n, type, peer, tag, comm, &request);                   \
        return code != MPI_SUCCESS ? code : to_its_end(request, status);                                 \
    }                                                                                                    \
    int MPI_Sendrecv##suffix(const void* send, N send_n, MPI_Datatype send_type, int to, int send_tag,   \
                             void* recv, N recv_n, MPI_Datatype recv_type, int from, int recv_tag,       \
                             MPI_Comm comm, MPI_Status* status)                                          \
    {                                                                                                    \
        if (under_way == 0)                                                                              \
            return PMPI_Sendrecv##suffix(send, send_n, send_type, to, send_tag, recv, recv_n, recv_type, \
                                         from, recv_tag, comm, status);                                  \
        MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;                                       \
        int code = PMPI_Irecv##suffix(recv, recv_n, recv_type, from, recv_tag, comm, &in);               \
        if (code == MPI_SUCCESS)                                                                         \
            code = PMPI_Isend##suffix(send, send_n, send_type, to, send_tag, comm, &out);                \
        if (code == MPI_SUCCESS) code = to_its_end(out, MPI_STATUS_IGNORE);                              \
        return code != MPI_SUCCESS ? code : to_its_end(in, status);                                      \
    }
PRELOAD_MESSAGES(int, )
#if MPI_VERSION >= 4
PRELOAD_MESSAGES(MPI_Count, _c)
#endif

int MPI_Sendrecv_replace(void* data, int n, MPI_Datatype type, int to, int send_tag, int from, int recv_tag,
                         MPI_Comm comm, MPI_Status* status)
{
    if (under_way == 0)
        return PMPI_Sendrecv_replace(data, n, type, to, send_tag, from, recv_tag, comm, status);
    int bytes = 0, position = 0;
    int code = PMPI_Pack_size(n, type, comm, &bytes);
    std::vector<char> copy(static_cast<std::size_t>(bytes) + 1);
    if (code == MPI_SUCCESS) code = PMPI_Pack(data, n, type, copy.data(), bytes, &position, comm);
    MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;
    if (code == MPI_SUCCESS) code = PMPI_Irecv(data, n, type, from, recv_tag, comm, &in);
    if (code == MPI_SUCCESS) code = PMPI_Isend(copy.data(), position, MPI_PACKED, to, send_tag, comm, &out);
    if (code == MPI_SUCCESS) code = to_its_end(out, MPI_STATUS_IGNORE);
    return code != MPI_SUCCESS ? code : to_its_end(in, status);
}
int MPI_Probe(int peer, int tag, MPI_Comm comm, MPI_Status* status)
{
    return until([&](int* done) { return PMPI_Iprobe(peer, tag, comm, done, status); },
                 [&] { return PMPI_Probe(peer, tag, comm, status); });
}
int MPI_Mprobe(int peer, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status)
{
    return until([&](int* done) { return PMPI_Improbe(peer, tag, comm, done, message, status); },
                 [&] { return PMPI_Mprobe(peer, tag, comm, message, status); });
}

// Collectives that are not routed.
#define PRELOAD_PATIENT(Name, Iname, parameters, values, ...)                          \
    int MPI_##Name parameters                                                          \
    {                                                                                  \
        if (now.waiting > 0) attach_if_waiting(comm);                                  \
        return patiently(                                                              \
            comm, [&] { return PMPI_##Name values; },                                  \
            [&](MPI_Request* request) { return PMPI_##Iname(__VA_ARGS__, request); }); \
    }
PRELOAD_PATIENT(Barrier, Ibarrier, (MPI_Comm comm), (comm), comm)
PRELOAD_PATIENT(Scan, Iscan,
                (const void* send, void* recv, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
                (send, recv, n, type, op, comm), send, recv, n, type, op, comm)
PRELOAD_PATIENT(Exscan, Iexscan,
                (const void* send, void* recv, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
                (send, recv, n, type, op, comm), send, recv, n, type, op, comm)
PRELOAD_PATIENT(Alltoallw, Ialltoallw,
                (const void* send, const int send_n[], const int send_at[], const MPI_Datatype send_types[],
                 void* recv, const int recv_n[], const int recv_at[], const MPI_Datatype recv_types[],
                 MPI_Comm comm),
                (send, send_n, send_at, send_types, recv, recv_n, recv_at, recv_types, comm), send, send_n,
                send_at, send_types, recv, recv_n, recv_at, recv_types, comm)

}  // extern "C"
