// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// compiled.hpp - floor 5. For programs that compile the engine and the codecs once, and not in each file.
//
// With CMake: target_link_libraries(program PRIVATE ccoll::compiled). Your build then compiles, once,
// collectives and messages between two ranks on float and double over threads and, if the project has found
// MPI with find_package, over MPI, and all codecs of both. No file has to change: the target defines
// CCOLL_COMPILED, with which the headers of the library declare what it has. Without CMake: compile the files
// of cmake/compiled (of an installation: share/cmake/ccoll/compiled), and all others with -DCCOLL_COMPILED
// -DCCOLL_COMPILED_MPI.
//
// What it does not have is compiled where it is used, as without it: other element types, your own codecs,
// algorithms and transports, Algo::Hierarchical, Instrument::Breakdown, Exec:: and Fault:: policies. To
// compile one of these in one file, write
//
//     CCOLL_EXTERN_ENGINE(int, ccoll::mpi_comm);
//     CCOLL_EXTERN_CODEC(mine::Codec, float);
//
// at global scope in a header that all files with collectives include, and the same lines with INSTANTIATE
// instead of EXTERN in one source file that includes it. A program that forgets one of these does not link.
//
// Cost: docs/reference.md has the seconds with and without it, from benchmarks/run.sh compile.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/entry/compiled.hpp>

/// Collectives on elements T over transport Link, with every plan except those listed above. T is float,
/// double, an integer type, ccoll::half, ccoll::bfloat16, or the elements that the engine moves for other
/// types.
#define CCOLL_EXTERN_ENGINE(T, Link) CCOLL_ENGINE_OF_PROGRAM(extern, T, Link)
#define CCOLL_INSTANTIATE_ENGINE(T, Link) CCOLL_ENGINE_OF_PROGRAM(, T, Link)

/// One codec for elements T. Its header must have been included. Sums that cannot be added encoded need
/// Codec::None as well.
#define CCOLL_EXTERN_CODEC(Tag, T) CCOLL_CODEC_OF_PROGRAM(extern, Tag, T)
#define CCOLL_INSTANTIATE_CODEC(Tag, T) CCOLL_CODEC_OF_PROGRAM(, Tag, T)

/// In the files of ccoll::compiled: a codec of the library, chunk by chunk (codec_impl, or the functions that
/// it derives from coded_chunks) and as collectives use it.
#define CCOLL_INSTANTIATE_CHUNKS(Tag, T)                                                  \
    template struct ccoll::codec_impl<ccoll::policies::Codec::Tag, T, ccoll::host_space>; \
    CCOLL_INSTANTIATE_CODEC(ccoll::policies::Codec::Tag, T)
#define CCOLL_INSTANTIATE_CODED_CHUNKS(Tag, T)                                   \
    template struct ccoll::detail::coded_chunks<ccoll::policies::Codec::Tag, T>; \
    CCOLL_INSTANTIATE_CODEC(ccoll::policies::Codec::Tag, T)
