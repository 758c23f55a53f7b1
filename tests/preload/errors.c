/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A program with a mistake, which ccoll finds: the ranks disagree on the count. That must come as an error of MPI.
 *   program [fatal]     fatal: with the handler that every communicator has at first */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n = 1 << 19 };
static int handled = 0;
static MPI_Comm of_handler;

static void handler(MPI_Comm* comm, int* code, ...)
{
    ++handled;
    of_handler = *comm;
    (void)code;
}

int main(int argc, char** argv)
{
    int me, code, class_of_code, length = 0, faults = 0, all = 0;
    char text[MPI_MAX_ERROR_STRING];
    float *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
    MPI_Errhandler mine;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (argc > 1) {
        MPI_Allreduce(x, y, n - (me == 0), MPI_FLOAT, MPI_SUM, comm);
        printf("still here\n");
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    code = MPI_Allreduce(x, y, n - (me == 0), MPI_FLOAT, MPI_SUM, comm);
    if (code == MPI_SUCCESS) ++faults, printf("there was no error\n");
    MPI_Error_class(code, &class_of_code);
    MPI_Error_string(code, text, &length);
    if (class_of_code == MPI_SUCCESS || strstr(text, "disagree on the element count") == NULL) ++faults, printf("the text is '%s'\n", text);
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(comm, mine);
    code = MPI_Allreduce(x, y, n - (me == 0), MPI_FLOAT, MPI_SUM, comm);
    if (code == MPI_SUCCESS || handled != 1 || of_handler != comm) ++faults, printf("the handler was called %d times\n", handled);
    x[0] = 1;
    code = MPI_Allreduce(x, y, n, MPI_FLOAT, MPI_SUM, comm); /* the communicator still works */
    if (code != MPI_SUCCESS || handled != 1) ++faults, printf("a right call failed\n");
    MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0) printf("%s\n", all == 0 ? "ok" : "WRONG");
    MPI_Errhandler_free(&mine);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    free(x), free(y);
    return all != 0;
}
