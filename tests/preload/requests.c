/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Nonblocking and persistent collectives of a program that knows nothing of ccoll, in the company of messages.
 *   program <error of one compression> */
#include <math.h>
#include <mpi.h>
#if defined(OPEN_MPI) && MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Bcast_init MPIX_Bcast_init
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n = 40001, several = 5 };
static int me, p, faults, inexact;
static double eb;

static void fill(float* x, int seed)
{
    long i;
    for (i = 0; i < n; ++i) x[i] = (float)(cos(1e-3 * (double)i + seed) * (me + 1));
}
/* Of fill(x, seed) on all ranks. */
static void compare(const char* what, const float* x, int seed)
{
    const double times = p * (p + 1) / 2.0;
    double worst = 0;
    long i;
    for (i = 0; i < n; ++i) worst = fmax(worst, fabs((double)x[i] - times * cos(1e-3 * (double)i + seed)));
    if (!(worst <= p * eb + 1e-6 * times)) ++faults, printf("rank %d: %s is off by %g\n", me, what, worst);
    if (worst > 1e-6 * times) ++inexact;
}

/* Rank 1 sends its message after its call has ended, and rank 0 waits for this message first. */
static void progress_in_receive(float* x, float* y)
{
    MPI_Request request;
    int token = me;
    fill(x, 1);
    MPI_Iallreduce(x, y, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (me == 0) MPI_Recv(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (me == 1) MPI_Send(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    if (request != MPI_REQUEST_NULL) ++faults, printf("a request is still there\n");
    compare("iallreduce before a message", y, 1);
}

/* The same with a collective on another communicator. */
static void progress_in_barrier(float* x, float* y)
{
    MPI_Request request;
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    fill(x, 2);
    MPI_Iallreduce(x, y, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (me == 0) MPI_Barrier(other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (me != 0) MPI_Barrier(other);
    compare("iallreduce before a barrier", y, 2);
    MPI_Comm_free(&other);
}

static void several_at_once(void)
{
    static float x[several][n], y[several][n];
    MPI_Request requests[several + 2];
    MPI_Status statuses[several + 2];
    int k, done = 0, from_left = -1, index, count, indices[several + 2];
    for (k = 0; k < several; ++k) {
        fill(x[k], k);
        MPI_Iallreduce(x[k], y[k], n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Irecv(&from_left, 1, MPI_INT, (me + p - 1) % p, 3, MPI_COMM_WORLD, &requests[several]);
    MPI_Isend(&me, 1, MPI_INT, (me + 1) % p, 3, MPI_COMM_WORLD, &requests[several + 1]);
    while (!done) MPI_Test(&requests[2], &done, MPI_STATUS_IGNORE);
    compare("the third of several", y[2], 2);
    MPI_Waitany(several + 2, requests, &index, MPI_STATUS_IGNORE);
    if (index == 2 || index == MPI_UNDEFINED) ++faults, printf("MPI_Waitany gave %d\n", index);
    MPI_Waitsome(several + 2, requests, &count, indices, statuses);
    if (count < 1) ++faults, printf("MPI_Waitsome gave %d\n", count);
    MPI_Waitall(several + 2, requests, statuses);
    if (from_left != (me + p - 1) % p) ++faults, printf("a message is wrong\n");
    for (k = 0; k < several; ++k) compare("one of several", y[k], k);
}

static void persistent(float* x, float* y)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    float whole[n];
    int k;
    MPI_Allreduce_init(x, y, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Bcast_init(whole, n, MPI_FLOAT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (k = 0; k < 3; ++k) {
        long i;
        double worst = 0;
        fill(x, k);
        for (i = 0; i < n; ++i) whole[i] = me == 1 ? (float)(k + sin(1e-3 * (double)i)) : -9;
        if (k == 2) MPI_Startall(2, requests);
        else MPI_Start(&requests[(me + k) % 2]), MPI_Start(&requests[1 - (me + k) % 2]); /* they match by the order of _init */
        MPI_Waitall(2, requests, statuses);
        if (requests[0] == MPI_REQUEST_NULL) ++faults, printf("a persistent request is gone\n");
        compare("a persistent allreduce", y, k);
        for (i = 0; i < n; ++i) worst = fmax(worst, fabs((double)whole[i] - (double)(float)(k + sin(1e-3 * (double)i))));
        if (!(worst <= eb)) ++faults, printf("a persistent bcast is off by %g\n", worst);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* A communicator that no blocking call has used is left alone, and the next call on it need not be. */
static void new_communicator(float* x, float* y)
{
    MPI_Comm fresh;
    MPI_Request request;
    int k;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    for (k = 0; k < 2; ++k) {
        fill(x, k);
        MPI_Iallreduce(x, y, n, MPI_FLOAT, MPI_SUM, fresh, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        compare("iallreduce on a new communicator", y, k);
        MPI_Barrier(fresh);
    }
    MPI_Comm_free(&fresh);
}

int main(int argc, char** argv)
{
    int all = 0, most = 0;
    float *x = malloc(sizeof(float) * n), *y = malloc(sizeof(float) * n);
    MPI_Init(&argc, &argv);
    eb = argc > 1 ? atof(argv[1]) : 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    progress_in_receive(x, y);
    progress_in_barrier(x, y);
    several_at_once();
    persistent(x, y);
    new_communicator(x, y);
    MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&inexact, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (me == 0) printf("%s, %d inexact\n", all == 0 ? "ok" : "WRONG", most);
    MPI_Finalize();
    free(x), free(y);
    return all != 0;
}
