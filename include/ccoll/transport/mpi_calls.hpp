// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/mpi_calls.hpp - floor 2. <mpi.h>, and the one way in which the library calls it.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1  // MPI's C++ bindings would cost 0.4 s per file
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <ccoll/base/config.hpp>

/// A function of MPI by its name without prefix: CCOLL_MPI(Isend)(...). With CCOLL_USE_PMPI it is called by its profiling name, PMPI_Isend.
/// A program, or a library that is preloaded, can then define MPI_Isend itself and use ccoll within, and is not called by ccoll again.
/// Files with and without CCOLL_USE_PMPI may be linked together: they see different inline namespaces (base/config.hpp), so each has its
/// own ccoll, with its own duplicates of communicators.
#if defined(CCOLL_USE_PMPI)
#define CCOLL_MPI(name) PMPI_##name
#else
#define CCOLL_MPI(name) MPI_##name
#endif
