// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The collectives of MPI that are routed, once for all their forms. PRELOAD_COLLECTIVES(USE, N, D, ...)
//   calls, for each, USE(Allreduce, allreduce, (parameters), (arguments), (members of `arguments`), ...)
// N is the type of counts and D that of displacements: int, or MPI_Count and MPI_Aint.
#pragma once

#define PRELOAD_COLLECTIVES(USE, N, D, ...)                                                                  \
    USE(Allreduce, allreduce,                                                                                \
        (const void* send, void* recv, N n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),                    \
        (send, recv, n, type, op, comm),                                                                     \
        (.send = send, .recv = recv, .recv_n = n, .recv_type = type, .op = op), __VA_ARGS__)                 \
    USE(Reduce, reduce,                                                                                      \
        (const void* send, void* recv, N n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),          \
        (send, recv, n, type, op, root, comm),                                                               \
        (.send = send, .recv = recv, .recv_n = n, .recv_type = type, .op = op, .root = root), __VA_ARGS__)   \
    USE(Reduce_scatter, reduce_scatter,                                                                      \
        (const void* send, void* recv, const N counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),       \
        (send, recv, counts, type, op, comm),                                                                \
        (.send = send, .recv = recv, .recv_type = type, .op = op,                                            \
         .recv_counts = preload::dynamic::counts(counts)),                                                   \
        __VA_ARGS__)                                                                                         \
    USE(Reduce_scatter_block, reduce_scatter_block,                                                          \
        (const void* send, void* recv, N n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),                    \
        (send, recv, n, type, op, comm),                                                                     \
        (.send = send, .recv = recv, .recv_n = n, .recv_type = type, .op = op), __VA_ARGS__)                 \
    USE(Bcast, bcast, (void* data, N n, MPI_Datatype type, int root, MPI_Comm comm),                         \
        (data, n, type, root, comm), (.recv = data, .recv_n = n, .recv_type = type, .root = root),           \
        __VA_ARGS__)                                                                                         \
    USE(Allgather, allgather,                                                                                \
        (const void* send, N send_n, MPI_Datatype send_type, void* recv, N recv_n, MPI_Datatype recv_type,   \
         MPI_Comm comm),                                                                                     \
        (send, send_n, send_type, recv, recv_n, recv_type, comm),                                            \
        (.send = send, .recv = recv, .send_n = send_n, .recv_n = recv_n, .send_type = send_type,             \
         .recv_type = recv_type),                                                                            \
        __VA_ARGS__)                                                                                         \
    USE(Allgatherv, allgatherv,                                                                              \
        (const void* send, N send_n, MPI_Datatype send_type, void* recv, const N recv_counts[],              \
         const D recv_at[], MPI_Datatype recv_type, MPI_Comm comm),                                          \
        (send, send_n, send_type, recv, recv_counts, recv_at, recv_type, comm),                              \
        (.send = send, .recv = recv, .send_n = send_n, .send_type = send_type, .recv_type = recv_type,       \
         .recv_counts = preload::dynamic::counts(recv_counts),                                               \
         .recv_at = preload::dynamic::counts(recv_at)),                                                      \
        __VA_ARGS__)                                                                                         \
    USE(Alltoall, alltoall,                                                                                  \
        (const void* send, N send_n, MPI_Datatype send_type, void* recv, N recv_n, MPI_Datatype recv_type,   \
         MPI_Comm comm),                                                                                     \
        (send, send_n, send_type, recv, recv_n, recv_type, comm),                                            \
        (.send = send, .recv = recv, .send_n = send_n, .recv_n = recv_n, .send_type = send_type,             \
         .recv_type = recv_type),                                                                            \
        __VA_ARGS__)                                                                                         \
    USE(Alltoallv, alltoallv,                                                                                \
        (const void* send, const N send_counts[], const D send_at[], MPI_Datatype send_type, void* recv,     \
         const N recv_counts[], const D recv_at[], MPI_Datatype recv_type, MPI_Comm comm),                   \
        (send, send_counts, send_at, send_type, recv, recv_counts, recv_at, recv_type, comm),                \
        (.send = send, .recv = recv, .send_type = send_type, .recv_type = recv_type,                         \
         .send_counts = preload::dynamic::counts(send_counts), .send_at = preload::dynamic::counts(send_at), \
         .recv_counts = preload::dynamic::counts(recv_counts),                                               \
         .recv_at = preload::dynamic::counts(recv_at)),                                                      \
        __VA_ARGS__)                                                                                         \
    USE(Gather, gather,                                                                                      \
        (const void* send, N send_n, MPI_Datatype send_type, void* recv, N recv_n, MPI_Datatype recv_type,   \
         int root, MPI_Comm comm),                                                                           \
        (send, send_n, send_type, recv, recv_n, recv_type, root, comm),                                      \
        (.send = send, .recv = recv, .send_n = send_n, .recv_n = recv_n, .send_type = send_type,             \
         .recv_type = recv_type, .root = root),                                                              \
        __VA_ARGS__)                                                                                         \
    USE(Gatherv, gatherv,                                                                                    \
        (const void* send, N send_n, MPI_Datatype send_type, void* recv, const N recv_counts[],              \
         const D recv_at[], MPI_Datatype recv_type, int root, MPI_Comm comm),                                \
        (send, send_n, send_type, recv, recv_counts, recv_at, recv_type, root, comm),                        \
        (.send = send, .recv = recv, .send_n = send_n, .send_type = send_type, .recv_type = recv_type,       \
         .root = root, .recv_counts = preload::dynamic::counts(recv_counts),                                 \
         .recv_at = preload::dynamic::counts(recv_at)),                                                      \
        __VA_ARGS__)                                                                                         \
    USE(Scatter, scatter,                                                                                    \
        (const void* send, N send_n, MPI_Datatype send_type, void* recv, N recv_n, MPI_Datatype recv_type,   \
         int root, MPI_Comm comm),                                                                           \
        (send, send_n, send_type, recv, recv_n, recv_type, root, comm),                                      \
        (.send = send, .recv = recv, .send_n = send_n, .recv_n = recv_n, .send_type = send_type,             \
         .recv_type = recv_type, .root = root),                                                              \
        __VA_ARGS__)                                                                                         \
    USE(Scatterv, scatterv,                                                                                  \
        (const void* send, const N send_counts[], const D send_at[], MPI_Datatype send_type, void* recv,     \
         N recv_n, MPI_Datatype recv_type, int root, MPI_Comm comm),                                         \
        (send, send_counts, send_at, send_type, recv, recv_n, recv_type, root, comm),                        \
        (.send = send, .recv = recv, .recv_n = recv_n, .send_type = send_type, .recv_type = recv_type,       \
         .root = root, .send_counts = preload::dynamic::counts(send_counts),                                 \
         .send_at = preload::dynamic::counts(send_at)),                                                      \
        __VA_ARGS__)

#define PRELOAD_UNWRAP(...) __VA_ARGS__
