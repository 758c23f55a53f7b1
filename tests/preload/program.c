/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A program that knows nothing of ccoll: each collective once, with floats, and each result compared with what it must be.
 *   program <error of one compression> <name of the communicator>
 * It prints "ok", and how many collectives had a result that is not that of exact arithmetic. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n = 60001 };  /* odd; 240 kB */
static int me, p, faults, inexact;
static double eb;
static MPI_Comm comm;

static float value(int rank, long i) { return (float)(sin(1e-3 * (double)i + rank) + 0.1 * rank); }
static float* field(int rank, long from, long count)
{
    float* x = malloc(sizeof(float) * (size_t)(count + 1));
    long i;
    for (i = 0; i < count; ++i) x[i] = value(rank, from + i);
    return x;
}
static double sum_at(long i)
{
    double sum = 0;
    int r;
    for (r = 0; r < p; ++r) sum += (double)value(r, i);
    return sum;
}
/* `errors`: how many compressions can add up; `rounding`: of sums of floats. */
static void compare(const char* what, const float* x, const double* want, long count, double errors, double rounding)
{
    long i;
    int differs = 0, all = 0;
    for (i = 0; i < count; ++i) {
        const double error = fabs((double)x[i] - want[i]);
        if (!(error <= errors * eb + rounding)) {
            if (faults++ < 5) printf("rank %d: %s: element %ld is off by %g\n", me, what, i, error);
            break;
        }
        if (error > rounding) differs = 1;
    }
    MPI_Allreduce(&differs, &all, 1, MPI_INT, MPI_MAX, comm);
    inexact += all;
}
static double* of_sum(long from, long count)
{
    double* want = malloc(sizeof(double) * (size_t)(count + 1));
    long i;
    for (i = 0; i < count; ++i) want[i] = sum_at(from + i);
    return want;
}
static double* of_rank(int rank, long from, long count)
{
    double* want = malloc(sizeof(double) * (size_t)(count + 1));
    long i;
    for (i = 0; i < count; ++i) want[i] = (double)value(rank, from + i);
    return want;
}

static void reductions(double sums)
{
    float *x = field(me, 0, n), *y = field(me, 0, n);
    double* want = of_sum(0, n);
    const double rounding = 1e-6 * p;
    int r, *parts = malloc(sizeof(int) * (size_t)p);
    long from = 0;
    MPI_Allreduce(x, y, n, MPI_FLOAT, MPI_SUM, comm);
    compare("allreduce", y, want, n, sums, rounding);
    memcpy(y, x, sizeof(float) * n);
    MPI_Allreduce(MPI_IN_PLACE, y, n, MPI_FLOAT, MPI_SUM, comm);
    compare("allreduce in place", y, want, n, sums, rounding);
    memcpy(y, x, sizeof(float) * n);
    if (me == 0) MPI_Reduce(MPI_IN_PLACE, y, n, MPI_FLOAT, MPI_SUM, 0, comm); /* with another root MPICH 4.0 crashes */
    else MPI_Reduce(x, NULL, n, MPI_FLOAT, MPI_SUM, 0, comm);
    compare("reduce in place", y, want, me == 0 ? n : 0, sums, rounding);
    memcpy(y, x, sizeof(float) * n);
    MPI_Reduce(x, y, n, MPI_FLOAT, MPI_MAX, p - 1, comm);
    if (me == p - 1) {
        int rank;
        for (long i = 0; i < n; ++i) {
            want[i] = (double)value(0, i);
            for (rank = 1; rank < p; ++rank) want[i] = fmax(want[i], (double)value(rank, i));
        }
    }
    compare("reduce of a maximum", y, want, me == p - 1 ? n : 0, sums, 0);
    free(want);
    want = of_sum(0, n);
    for (r = 0; r < p; ++r) parts[r] = r == 0 ? n - 1000 * (p - 1) : 1000;
    for (r = 0; r < me; ++r) from += parts[r];
    MPI_Reduce_scatter(x, y, parts, MPI_FLOAT, MPI_SUM, comm);
    compare("reduce_scatter", y, want + from, parts[me], sums, rounding);
    MPI_Reduce_scatter_block(x, y, n / p, MPI_FLOAT, MPI_SUM, comm);
    compare("reduce_scatter_block", y, want + me * (n / p), n / p, sums, rounding);
    memcpy(y, x, sizeof(float) * n);
    MPI_Reduce_scatter(MPI_IN_PLACE, y, parts, MPI_FLOAT, MPI_SUM, comm);
    compare("reduce_scatter in place", y, want + from, parts[me], sums, rounding);
    if (memcmp(y + parts[me], x + parts[me], sizeof(float) * (size_t)(n - parts[me])) != 0) ++faults, printf("reduce_scatter wrote behind its part\n");
    free(x), free(y), free(want), free(parts);
}

static void movements(void)
{
    const int part = n / p;
    float *own = field(me, 0, n), *all = malloc(sizeof(float) * (size_t)(p * n));
    double* want;
    int r, *counts = malloc(sizeof(int) * (size_t)p), *at = malloc(sizeof(int) * (size_t)p), next = 0;
    for (r = 0; r < p; ++r) {
        counts[r] = part - 7 * r;
        at[r] = next + 3 * r;  /* with gaps */
        next = at[r] + counts[r];
    }
    if (me == 0) MPI_Bcast(own, n, MPI_FLOAT, 0, comm);
    else MPI_Bcast(all, n, MPI_FLOAT, 0, comm);
    want = of_rank(0, 0, n);
    compare("bcast", me == 0 ? own : all, want, n, 1, 0);
    free(want), free(own);
    own = field(me, 0, n);

    MPI_Allgather(own, part, MPI_FLOAT, all, part, MPI_FLOAT, comm);
    for (r = 0; r < p; ++r) want = of_rank(r, 0, part), compare("allgather", all + (long)r * part, want, part, 1, 0), free(want);
    for (r = 0; r < p; ++r) all[at[r] + counts[r]] = -5;
    memcpy(all + at[me], own, sizeof(float) * (size_t)counts[me]);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, at, MPI_FLOAT, comm);
    for (r = 0; r < p; ++r) {
        want = of_rank(r, 0, counts[r]), compare("allgatherv in place", all + at[r], want, counts[r], 1, 0), free(want);
        if (all[at[r] + counts[r]] != -5) ++faults, printf("allgatherv wrote into a gap\n");
    }
    MPI_Alltoall(own, part, MPI_FLOAT, all, part, MPI_FLOAT, comm);
    for (r = 0; r < p; ++r) want = of_rank(r, (long)me * part, part), compare("alltoall", all + (long)r * part, want, part, 1, 0), free(want);
    {
        int *to = malloc(sizeof(int) * (size_t)p), *to_at = malloc(sizeof(int) * (size_t)p), *mine = malloc(sizeof(int) * (size_t)p);
        for (r = 0; r < p; ++r) to[r] = part - 7 * r, to_at[r] = r * part, mine[r] = part - 7 * me;
        MPI_Alltoallv(own, to, to_at, MPI_FLOAT, all, mine, to_at, MPI_FLOAT, comm);
        for (r = 0; r < p; ++r) want = of_rank(r, (long)me * part, mine[r]), compare("alltoallv", all + to_at[r], want, mine[r], 1, 0), free(want);
        free(to), free(to_at), free(mine);
    }
    MPI_Gather(own, part, MPI_FLOAT, all, part, MPI_FLOAT, p - 1, comm);
    for (r = 0; r < p; ++r) want = of_rank(r, 0, part), compare("gather", all + (long)r * part, want, me == p - 1 ? part : 0, 1, 0), free(want);
    MPI_Gatherv(own, counts[me], MPI_FLOAT, me == 0 ? all : NULL, me == 0 ? counts : NULL, me == 0 ? at : NULL, MPI_FLOAT, 0, comm);
    for (r = 0; r < p; ++r) want = of_rank(r, 0, counts[r]), compare("gatherv", all + at[r], want, me == 0 ? counts[r] : 0, 1, 0), free(want);
    MPI_Scatter(me == 0 ? own : NULL, part, MPI_FLOAT, me == 0 ? MPI_IN_PLACE : all, part, MPI_FLOAT, 0, comm);
    want = of_rank(0, (long)me * part, part), compare("scatter", me == 0 ? own : all, want, part, 1, 0), free(want);
    MPI_Scatterv(own, counts, at, MPI_FLOAT, all, counts[me], MPI_FLOAT, p - 1, comm);
    want = of_rank(p - 1, at[me], counts[me]), compare("scatterv", all, want, counts[me], 1, 0), free(want);
    free(own), free(all), free(counts), free(at);
}

/* The same elements by other types on some ranks: a column of a matrix, a contiguous type, MPI's names for Fortran. */
static void types(double sums)
{
    float *x = field(me, 0, 2 * n), *y = malloc(sizeof(float) * 2 * n), *own = field(me, 0, n);
    double* want = of_rank(1, 0, n);
    MPI_Datatype column, row, again;
    long i;
    int k;
    MPI_Type_vector(n, 1, 2, MPI_FLOAT, &column);
    MPI_Type_commit(&column);
    MPI_Type_contiguous(n, MPI_REAL4, &row);
    MPI_Type_dup(row, &again);
    MPI_Type_commit(&again);
    for (i = 0; i < 2 * n; ++i) y[i] = -5;
    if (me == 1) MPI_Bcast(own, 1, again, 1, comm);
    else MPI_Bcast(y, 1, column, 1, comm);
    if (me == 1) compare("bcast of other types", own, want, n, 1, 0);
    else {
        float* packed = malloc(sizeof(float) * n);
        for (i = 0; i < n; ++i) {
            packed[i] = y[2 * i];
            if (i + 1 < n && y[2 * i + 1] != -5) ++faults;
        }
        compare("bcast of other types", packed, want, n, 1, 0);
        free(packed);
    }
    for (k = 0; k < 2; ++k) { /* floats may be sent or received as a packing unit: first the root does that, and then all others */
        float* fresh = field(me, 0, n);
        for (i = 0; i < n; ++i) y[i] = me == 1 ? fresh[i] : -5;
        if ((me == 1) == (k == 0)) MPI_Bcast(y, 4 * n, MPI_PACKED, 1, comm);
        else MPI_Bcast(y, n, MPI_FLOAT, 1, comm);
        compare("bcast of a packing unit", y, want, n, 1, 0);
        free(fresh);
    }
    free(want);
    want = of_sum(0, n);
    MPI_Allreduce(x, y, n / 2, MPI_C_FLOAT_COMPLEX, MPI_SUM, comm);
    compare("allreduce of complex numbers", y, want, n / 2 * 2, sums, 1e-6 * p);
    MPI_Type_free(&column), MPI_Type_free(&row), MPI_Type_free(&again);
    free(x), free(y), free(want), free(own);
}

/* Nothing of these may change a bit. */
static void exact(void)
{
    double energy[4], total[4], *x = malloc(sizeof(double) * n), *y = malloc(sizeof(double) * n);
    float few[8], sum[8];
    long i, *counts = malloc(sizeof(long) * n), *all = malloc(sizeof(long) * n);
    for (i = 0; i < 4; ++i) energy[i] = 1 << (me + i);
    MPI_Allreduce(energy, total, 4, MPI_DOUBLE, MPI_SUM, comm);
    for (i = 0; i < 4; ++i)
        if (total[i] != (double)(((1 << p) - 1) << i)) ++faults, printf("a small sum of doubles is wrong\n");
    for (i = 0; i < n; ++i) x[i] = (double)(i % 1000) + me * 1024;
    MPI_Allreduce(x, y, n, MPI_DOUBLE, MPI_SUM, comm);
    for (i = 0; i < n; ++i)
        if (y[i] != (double)(i % 1000) * p + 1024 * (p * (p - 1) / 2)) { ++faults; printf("a sum of doubles is wrong\n"); break; }
    for (i = 0; i < 8; ++i) few[i] = (float)(me + i);
    MPI_Allreduce(few, sum, 8, MPI_FLOAT, MPI_SUM, comm);
    for (i = 0; i < 8; ++i)
        if (sum[i] != (float)(p * (p - 1) / 2 + (int)i * p)) ++faults, printf("a small sum of floats is wrong\n");
    for (i = 0; i < n; ++i) counts[i] = me + i;
    MPI_Allreduce(counts, all, n, MPI_LONG, MPI_SUM, comm);
    for (i = 0; i < n; ++i)
        if (all[i] != p * (p - 1) / 2 + i * p) { ++faults; printf("a sum of integers is wrong\n"); break; }
    free(x), free(y), free(counts), free(all);
}

int main(int argc, char** argv)
{
    int all = 0;
    MPI_Init(&argc, &argv);
    eb = argc > 1 ? atof(argv[1]) : 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &p);
    if (me == 0 && argc > 2) MPI_Comm_set_name(comm, argv[2]);  /* on one rank only */
    exact();
    reductions(p);
    movements();
    if (p > 1) types(p);
    MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, comm);
    if (me == 0) printf("%s, %d inexact\n", all == 0 ? "ok" : "WRONG", inexact);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return all != 0;
}
