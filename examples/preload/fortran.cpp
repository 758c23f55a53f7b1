// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of MPI that a program in Fortran calls, as far as they do not come by the functions of C.
// Which ones do not was read from the symbols of the libraries:
//   Open MPI   mpif.h and `use mpi` call mpi_allreduce_, `use mpi_f08` calls mpi_allreduce_f08_, and both go
//              on to PMPI_Allreduce
//   MPICH      functions with buffers go on to MPI_Allreduce, and those without do so with mpif.h and `use
//              mpi`; with `use mpi_f08` these go on to PMPI_Wait
// Arguments come as addresses. Handles are integers, also within the types of mpi_f08. There the last
// argument, the error code, may be missing, and is null. The standard ABI of MPI has no names for Fortran, so
// with it there are only the functions of C.
#include <ccoll/transport/mpi_calls.hpp>

#if !defined(MPI_ABI_VERSION)

#include <dlfcn.h>

#include <cstring>
#include <type_traits>

#include "collectives.hpp"
#include "requests.hpp"

using namespace preload;

namespace {

static_assert(sizeof(MPI_Fint) == sizeof(int), "ccoll preload: Fortran's INTEGER is not an int");

/// The function behind ours.
template <class... Arguments>
void call_next(void*& known, const char* name, Arguments... arguments)
{
    if (known == nullptr) known = dlsym(RTLD_NEXT, name);
    reinterpret_cast<void (*)(Arguments...)>(known)(arguments...);
}
#define PRELOAD_NEXT(name, ...)               \
    do {                                      \
        static void* known = nullptr;         \
        call_next(known, #name, __VA_ARGS__); \
    } while (false)

void give(MPI_Fint* error, int code)
{
    if (error != nullptr) *error = code;
}

#if defined(OPEN_MPI)

/// Fortran has markers of its own, which are variables.
void* buffer(void* address)
{
    static void* const in_place = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
    static void* const bottom = dlsym(RTLD_DEFAULT, "mpi_fortran_bottom_");
    if (in_place != nullptr && address == in_place) return MPI_IN_PLACE;
    if (bottom != nullptr && address == bottom) return MPI_BOTTOM;
    return address;
}

/// An argument of a function of C, from the address that Fortran passes.
template <class T>
struct argument {
    void* at;
    T get() const
    {
        const auto number = [this] { return *static_cast<const MPI_Fint*>(at); };
        if constexpr (std::is_same_v<T, void*> || std::is_same_v<T, const void*>) return buffer(at);
        else if constexpr (std::is_same_v<T, int>) return number();
        else if constexpr (std::is_same_v<T, const int*>) return static_cast<const int*>(at);
        else if constexpr (std::is_same_v<T, MPI_Datatype>) return PMPI_Type_f2c(number());
        else if constexpr (std::is_same_v<T, MPI_Op>) return PMPI_Op_f2c(number());
        else return PMPI_Comm_f2c(number());
    }
};
template <>
struct argument<MPI_Request*> {
    void* at;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request* get() { return &request; }
    ~argument() { *static_cast<MPI_Fint*>(at) = PMPI_Request_c2f(request); }
};
template <class... C, class... Addresses>
int from_fortran(int (*function)(C...), Addresses... addresses)
{
    return function(argument<C>{addresses}.get()...);
}

#endif

}  // namespace

#if defined(OPEN_MPI)

#define PRELOAD_PARAMETERS_1 void* a
#define PRELOAD_PARAMETERS_5 void *a, void *b, void *c, void *d, void *e
#define PRELOAD_PARAMETERS_6 PRELOAD_PARAMETERS_5, void* f
#define PRELOAD_PARAMETERS_7 PRELOAD_PARAMETERS_6, void* g
#define PRELOAD_PARAMETERS_8 PRELOAD_PARAMETERS_7, void* h
#define PRELOAD_PARAMETERS_9 PRELOAD_PARAMETERS_8, void* i
#define PRELOAD_PARAMETERS_10 PRELOAD_PARAMETERS_9, void* j
#define PRELOAD_VALUES_1 a
#define PRELOAD_VALUES_5 a, b, c, d, e
#define PRELOAD_VALUES_6 PRELOAD_VALUES_5, f
#define PRELOAD_VALUES_7 PRELOAD_VALUES_6, g
#define PRELOAD_VALUES_8 PRELOAD_VALUES_7, h
#define PRELOAD_VALUES_9 PRELOAD_VALUES_8, i
#define PRELOAD_VALUES_10 PRELOAD_VALUES_9, j

// `count` of arguments, without that for the error code
#define PRELOAD_AS_IN_C(Name, lower, count)                                         \
    extern "C" void mpi_##lower##_(PRELOAD_PARAMETERS_##count, MPI_Fint* error)     \
    {                                                                               \
        give(error, from_fortran(&MPI_##Name, PRELOAD_VALUES_##count));             \
    }                                                                               \
    extern "C" void mpi_##lower##_f08_(PRELOAD_PARAMETERS_##count, MPI_Fint* error) \
    {                                                                               \
        give(error, from_fortran(&MPI_##Name, PRELOAD_VALUES_##count));             \
    }
#define PRELOAD_BOTH(Name, lower, count, with_request) \
    PRELOAD_AS_IN_C(Name, lower, count)                \
    PRELOAD_AS_IN_C(I##lower, i##lower, with_request)

PRELOAD_BOTH(Allreduce, allreduce, 6, 7)
PRELOAD_BOTH(Reduce, reduce, 7, 8)
PRELOAD_BOTH(Reduce_scatter, reduce_scatter, 6, 7)
PRELOAD_BOTH(Reduce_scatter_block, reduce_scatter_block, 6, 7)
PRELOAD_BOTH(Bcast, bcast, 5, 6)
PRELOAD_BOTH(Allgather, allgather, 7, 8)
PRELOAD_BOTH(Allgatherv, allgatherv, 8, 9)
PRELOAD_BOTH(Alltoall, alltoall, 7, 8)
PRELOAD_BOTH(Alltoallv, alltoallv, 9, 10)
PRELOAD_BOTH(Gather, gather, 8, 9)
PRELOAD_BOTH(Gatherv, gatherv, 9, 10)
PRELOAD_BOTH(Scatter, scatter, 8, 9)
PRELOAD_BOTH(Scatterv, scatterv, 9, 10)
PRELOAD_AS_IN_C(Scan, scan, 6)
PRELOAD_AS_IN_C(Exscan, exscan, 6)
PRELOAD_AS_IN_C(Send, send, 6)
PRELOAD_AS_IN_C(Ssend, ssend, 6)
PRELOAD_AS_IN_C(Rsend, rsend, 6)

#define PRELOAD_NAMES(USE) USE(_) USE(_f08_)
#else
#define PRELOAD_NAMES(USE) USE(_f08_)
#endif

// Functions without buffers, by the Fortran functions behind them, which know what Fortran's requests and
// statuses look like.
#define PRELOAD_WAIT(ending)                                                                                 \
    void mpi_init##ending(MPI_Fint* error)                                                                   \
    {                                                                                                        \
        MPI_Fint code = MPI_SUCCESS;                                                                         \
        PRELOAD_NEXT(mpi_init##ending, &code);                                                               \
        if (code == MPI_SUCCESS) open();                                                                     \
        give(error, code);                                                                                   \
    }                                                                                                        \
    void mpi_init_thread##ending(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error)                    \
    {                                                                                                        \
        MPI_Fint code = MPI_SUCCESS;                                                                         \
        PRELOAD_NEXT(mpi_init_thread##ending, required, provided, &code);                                    \
        if (code == MPI_SUCCESS) open();                                                                     \
        give(error, code);                                                                                   \
    }                                                                                                        \
    void mpi_finalize##ending(MPI_Fint* error)                                                               \
    {                                                                                                        \
        close();                                                                                             \
        PRELOAD_NEXT(mpi_finalize##ending, error);                                                           \
    }                                                                                                        \
    void mpi_barrier##ending(MPI_Fint* comm, MPI_Fint* error)                                                \
    {                                                                                                        \
        give(error, MPI_Barrier(PMPI_Comm_f2c(*comm)));                                                      \
    }                                                                                                        \
    void mpi_wait##ending(MPI_Fint* request, void* status, MPI_Fint* error)                                  \
    {                                                                                                        \
        give(error, until(                                                                                   \
                        [&](MPI_Fint* done) {                                                                \
                            MPI_Fint code = MPI_SUCCESS;                                                     \
                            PRELOAD_NEXT(mpi_test##ending, request, done, status, &code);                    \
                            return code;                                                                     \
                        },                                                                                   \
                        [&] {                                                                                \
                            MPI_Fint code = MPI_SUCCESS;                                                     \
                            PRELOAD_NEXT(mpi_wait##ending, request, status, &code);                          \
                            return code;                                                                     \
                        }));                                                                                 \
    }                                                                                                        \
    void mpi_waitall##ending(MPI_Fint* n, MPI_Fint* requests, void* statuses, MPI_Fint* error)               \
    {                                                                                                        \
        give(error, until(                                                                                   \
                        [&](MPI_Fint* done) {                                                                \
                            MPI_Fint code = MPI_SUCCESS;                                                     \
                            PRELOAD_NEXT(mpi_testall##ending, n, requests, done, statuses, &code);           \
                            return code;                                                                     \
                        },                                                                                   \
                        [&] {                                                                                \
                            MPI_Fint code = MPI_SUCCESS;                                                     \
                            PRELOAD_NEXT(mpi_waitall##ending, n, requests, statuses, &code);                 \
                            return code;                                                                     \
                        }));                                                                                 \
    }                                                                                                        \
    void mpi_waitany##ending(MPI_Fint* n, MPI_Fint* requests, MPI_Fint* index, void* status,                 \
                             MPI_Fint* error)                                                                \
    {                                                                                                        \
        give(error, until(                                                                                   \
                        [&](MPI_Fint* done) {                                                                \
                            MPI_Fint code = MPI_SUCCESS;                                                     \
                            PRELOAD_NEXT(mpi_testany##ending, n, requests, index, done, status, &code);      \
                            return code;                                                                     \
                        },                                                                                   \
                        [&] {                                                                                \
                            MPI_Fint code = MPI_SUCCESS;                                                     \
                            PRELOAD_NEXT(mpi_waitany##ending, n, requests, index, status, &code);            \
                            return code;                                                                     \
                        }));                                                                                 \
    }                                                                                                        \
    void mpi_waitsome##ending(MPI_Fint* n, MPI_Fint* requests, MPI_Fint* count, MPI_Fint* indices,           \
                              void* statuses, MPI_Fint* error)                                               \
    {                                                                                                        \
        give(error,                                                                                          \
             until(                                                                                          \
                 [&](MPI_Fint* done) {                                                                       \
                     MPI_Fint code = MPI_SUCCESS;                                                            \
                     PRELOAD_NEXT(mpi_testsome##ending, n, requests, count, indices, statuses, &code);       \
                     *done = *count != 0;                                                                    \
                     return code;                                                                            \
                 },                                                                                          \
                 [&] {                                                                                       \
                     MPI_Fint code = MPI_SUCCESS;                                                            \
                     PRELOAD_NEXT(mpi_waitsome##ending, n, requests, count, indices, statuses, &code);       \
                     return code;                                                                            \
                 }));                                                                                        \
    }                                                                                                        \
    void mpi_probe##ending(MPI_Fint* peer, MPI_Fint* tag, MPI_Fint* comm, void* status, MPI_Fint* error)     \
    {                                                                                                        \
        give(error, until(                                                                                   \
                        [&](MPI_Fint* done) {                                                                \
                            MPI_Fint code = MPI_SUCCESS;                                                     \
                            PRELOAD_NEXT(mpi_iprobe##ending, peer, tag, comm, done, status, &code);          \
                            return code;                                                                     \
                        },                                                                                   \
                        [&] {                                                                                \
                            MPI_Fint code = MPI_SUCCESS;                                                     \
                            PRELOAD_NEXT(mpi_probe##ending, peer, tag, comm, status, &code);                 \
                            return code;                                                                     \
                        }));                                                                                 \
    }                                                                                                        \
    void mpi_test##ending(MPI_Fint* request, MPI_Fint* done, void* status, MPI_Fint* error)                  \
    {                                                                                                        \
        progress();                                                                                          \
        PRELOAD_NEXT(mpi_test##ending, request, done, status, error);                                        \
    }                                                                                                        \
    void mpi_testall##ending(MPI_Fint* n, MPI_Fint* requests, MPI_Fint* done, void* statuses,                \
                             MPI_Fint* error)                                                                \
    {                                                                                                        \
        progress();                                                                                          \
        PRELOAD_NEXT(mpi_testall##ending, n, requests, done, statuses, error);                               \
    }                                                                                                        \
    void mpi_testany##ending(MPI_Fint* n, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* done, void* status, \
                             MPI_Fint* error)                                                                \
    {                                                                                                        \
        progress();                                                                                          \
        PRELOAD_NEXT(mpi_testany##ending, n, requests, index, done, status, error);                          \
    }                                                                                                        \
    void mpi_testsome##ending(MPI_Fint* n, MPI_Fint* requests, MPI_Fint* count, MPI_Fint* indices,           \
                              void* statuses, MPI_Fint* error)                                               \
    {                                                                                                        \
        progress();                                                                                          \
        PRELOAD_NEXT(mpi_testsome##ending, n, requests, count, indices, statuses, error);                    \
    }
#define PRELOAD_PERSISTENT(ending)                                                          \
    void mpi_start##ending(MPI_Fint* request, MPI_Fint* error)                              \
    {                                                                                       \
        MPI_Request r = PMPI_Request_f2c(*request);                                         \
        if (is_ours(r)) give(error, MPI_Start(&r));                                         \
        else PRELOAD_NEXT(mpi_start##ending, request, error);                               \
    }                                                                                       \
    void mpi_startall##ending(MPI_Fint* n, MPI_Fint* requests, MPI_Fint* error)             \
    {                                                                                       \
        bool ours = false;                                                                  \
        for (int i = 0; i < *n; ++i) ours = ours || is_ours(PMPI_Request_f2c(requests[i])); \
        if (!ours) PRELOAD_NEXT(mpi_startall##ending, n, requests, error);                  \
        for (int i = 0; ours && i < *n; ++i) mpi_start##ending(requests + i, error);        \
    }                                                                                       \
    void mpi_request_free##ending(MPI_Fint* request, MPI_Fint* error)                       \
    {                                                                                       \
        forget(PMPI_Request_f2c(*request));                                                 \
        PRELOAD_NEXT(mpi_request_free##ending, request, error);                             \
    }

extern "C" {
PRELOAD_NAMES(PRELOAD_WAIT)
PRELOAD_NAMES(PRELOAD_PERSISTENT)

#if defined(OPEN_MPI)
#define PRELOAD_RECEIVE(ending)                                                                          \
    void mpi_recv##ending(void* data, MPI_Fint* n, MPI_Fint* type, MPI_Fint* peer, MPI_Fint* tag,        \
                          MPI_Fint* comm, void* status, MPI_Fint* error)                                 \
    {                                                                                                    \
        if (under_way == 0) {                                                                            \
            PRELOAD_NEXT(mpi_recv##ending, data, n, type, peer, tag, comm, status, error);               \
            return;                                                                                      \
        }                                                                                                \
        MPI_Fint request = 0, code = MPI_SUCCESS;                                                        \
        PRELOAD_NEXT(mpi_irecv##ending, data, n, type, peer, tag, comm, &request, &code);                \
        if (code == MPI_SUCCESS) mpi_wait##ending(&request, status, &code);                              \
        give(error, code);                                                                               \
    }                                                                                                    \
    void mpi_sendrecv##ending(void* send, MPI_Fint* send_n, MPI_Fint* send_type, MPI_Fint* to,           \
                              MPI_Fint* send_tag, void* recv, MPI_Fint* recv_n, MPI_Fint* recv_type,     \
                              MPI_Fint* from, MPI_Fint* recv_tag, MPI_Fint* comm, void* status,          \
                              MPI_Fint* error)                                                           \
    {                                                                                                    \
        if (under_way == 0) {                                                                            \
            PRELOAD_NEXT(mpi_sendrecv##ending, send, send_n, send_type, to, send_tag, recv, recv_n,      \
                         recv_type, from, recv_tag, comm, status, error);                                \
            return;                                                                                      \
        }                                                                                                \
        MPI_Fint request = 0, code = MPI_SUCCESS, sent = MPI_SUCCESS;                                    \
        PRELOAD_NEXT(mpi_irecv##ending, recv, recv_n, recv_type, from, recv_tag, comm, &request, &code); \
        if (code == MPI_SUCCESS) mpi_send##ending(send, send_n, send_type, to, send_tag, comm, &sent);   \
        if (code == MPI_SUCCESS && sent == MPI_SUCCESS) mpi_wait##ending(&request, status, &code);       \
        give(error, code != MPI_SUCCESS ? code : sent);                                                  \
    }
PRELOAD_NAMES(PRELOAD_RECEIVE)
#endif
}  // extern "C"

#endif  // MPI_ABI_VERSION
