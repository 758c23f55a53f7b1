// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of MPI that a program in C or C++ calls. Those of Fortran come here where the MPI's Fortran
// calls them.
#include "collectives.hpp"

#include "requests.hpp"

using namespace preload;

// `arguments` begins with which, name and comm; the others are in its order.
#define PRELOAD_CALL(Name, lower, parameters, values, members, suffix)                                     \
    int MPI_##Name##suffix(PRELOAD_UNWRAP parameters)                                                      \
    {                                                                                                      \
        const arguments a{.which = what::lower, .name = #Name, .comm = comm, PRELOAD_UNWRAP members};      \
        return blocking(                                                                                   \
            a, [&] { return PMPI_##Name##suffix values; },                                                 \
            [&](MPI_Request* request) { return PMPI_I##lower##suffix(PRELOAD_UNWRAP values, request); });  \
    }                                                                                                      \
    int MPI_I##lower##suffix(PRELOAD_UNWRAP parameters, MPI_Request* request)                              \
    {                                                                                                      \
        const arguments a{.which = what::lower, .name = "I" #lower, .comm = comm, PRELOAD_UNWRAP members}; \
        return begun(a, request, [&] { return PMPI_I##lower##suffix(PRELOAD_UNWRAP values, request); });   \
    }
// Persistent collectives are in MPI 4; Open MPI had them before, under other names.
#define PRELOAD_INIT(Name, lower, parameters, values, members, prefix, suffix)                         \
    int prefix##_##Name##_init##suffix(PRELOAD_UNWRAP parameters, MPI_Info info, MPI_Request* request) \
    {                                                                                                  \
        const arguments a{                                                                             \
            .which = what::lower, .name = #Name "_init", .comm = comm, PRELOAD_UNWRAP members};        \
        return prepared(a, request, [&] {                                                              \
            return P##prefix##_##Name##_init##suffix(PRELOAD_UNWRAP values, info, request);            \
        });                                                                                            \
    }

extern "C" {

PRELOAD_COLLECTIVES(PRELOAD_CALL, int, int, )
#if MPI_VERSION >= 4
PRELOAD_COLLECTIVES(PRELOAD_CALL, MPI_Count, MPI_Aint, _c)
PRELOAD_COLLECTIVES(PRELOAD_INIT, int, int, MPI, )
PRELOAD_COLLECTIVES(PRELOAD_INIT, MPI_Count, MPI_Aint, MPI, _c)
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
PRELOAD_COLLECTIVES(PRELOAD_INIT, int, int, MPIX, )
#endif

int MPI_Init(int* argc, char*** argv)
{
    const int code = PMPI_Init(argc, argv);
    if (code == MPI_SUCCESS) open();
    return code;
}
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided)
{
    const int code = PMPI_Init_thread(argc, argv, required, provided);
    if (code == MPI_SUCCESS) open();
    return code;
}
int MPI_Finalize()
{
    close();
    return PMPI_Finalize();
}

}  // extern "C"
