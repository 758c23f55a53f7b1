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
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <climits>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ccoll/base/config.hpp>

/// A function of MPI by its name without prefix: CCOLL_MPI(Isend)(...). With CCOLL_USE_PMPI it is called by
/// its profiling name, PMPI_Isend. A program, or a library that is preloaded, can then define MPI_Isend
/// itself and use ccoll within, and is not called by ccoll again. Files with and without CCOLL_USE_PMPI may
/// be linked together: they see different inline namespaces (base/config.hpp), so each has its own ccoll,
/// with its own duplicates of communicators.
#if defined(CCOLL_USE_PMPI)
#define CCOLL_MPI(name) PMPI_##name
#else
#define CCOLL_MPI(name) MPI_##name
#endif

/// The function of this name for a count `n`, which is an int or, in MPI 4, an MPI_Count.
#if MPI_VERSION >= 4
#define CCOLL_MPI_FOR(n, name) ccoll::detail::for_count<decltype(n)>(&CCOLL_MPI(name), &CCOLL_MPI(name##_c))
#else
#define CCOLL_MPI_FOR(n, name) CCOLL_MPI(name)
#endif

/// The function that prepares a persistent collective, MPI_Allreduce_init by the name Allreduce. They are in
/// MPI 4; Open MPI had them before, under other names. Where there are none, nullptr.
#if MPI_VERSION >= 4
#define CCOLL_MPI_INIT_FOR(n, name) \
    ccoll::detail::for_count<decltype(n)>(&CCOLL_MPI(name##_init), &CCOLL_MPI(name##_init_c))
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#if defined(CCOLL_USE_PMPI)
#define CCOLL_MPI_INIT_FOR(n, name) PMPIX_##name##_init
#else
#define CCOLL_MPI_INIT_FOR(n, name) MPIX_##name##_init
#endif
#else
#define CCOLL_MPI_INIT_FOR(n, name) nullptr
#define CCOLL_MPI_HAS_NO_INIT 1
#endif

namespace ccoll::inline CCOLL_ABI::detail {

#if defined(CCOLL_MPI_HAS_NO_INIT)
inline constexpr bool has_persistent_collectives = false;
#else
inline constexpr bool has_persistent_collectives = true;
#endif

#if MPI_VERSION >= 4
template <class Given, class WithInt, class WithCount>
constexpr auto for_count(WithInt* with_int, [[maybe_unused]] WithCount* with_mpi_count) noexcept
{
    if constexpr (std::is_same_v<Given, int>) return with_int;
    else return with_mpi_count;
}
inline constexpr std::size_t largest_count = PTRDIFF_MAX;
#else
inline constexpr std::size_t largest_count = INT_MAX;
#endif

/// `call(n)` with a count of the type that holds it. What fits an int goes to the functions that tools know.
/// @param n  at most largest_count
template <class Call>
int with_count(std::size_t n, Call call)
{
#if MPI_VERSION >= 4
    if (n > INT_MAX) return call(static_cast<MPI_Count>(n));
#endif
    return call(static_cast<int>(n));
}

/// Does MPI say that it takes pointers to device memory of CUDA? It is asked at run time, between MPI_Init
/// and MPI_Finalize. A library that cannot be asked is taken not to.
inline bool mpi_is_cuda_aware() noexcept
{
#if defined(OMPI_HAVE_MPI_EXT_CUDA) && OMPI_HAVE_MPI_EXT_CUDA
    return MPIX_Query_cuda_support() != 0;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
    int supported = 0;
    return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) == MPI_SUCCESS && supported != 0;
#else
    return false;
#endif
}

}  // namespace ccoll::inline CCOLL_ABI::detail
