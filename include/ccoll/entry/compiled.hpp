// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/compiled.hpp - floor 3. What a whole program can compile in one place: collectives and messages
// between two ranks per element type and transport, codecs per element type. In a program that links
// ccoll::compiled (compiled.hpp), every facade includes this, and what that target has is declared here.
#pragma once

#include <ccoll/entry/call.hpp>
#include <ccoll/p2p/p2p.hpp>

#if defined(CCOLL_COMPILED)
#if defined(CCOLL_USE_PMPI)
#error \
    "ccoll: ccoll::compiled has no code for files that define CCOLL_USE_PMPI; give them a target of their own that links ccoll::ccoll"
#endif
#include <ccoll/codec/bitcut.hpp>
#include <ccoll/codec/bitzip.hpp>
#include <ccoll/codec/bytezip.hpp>
#include <ccoll/codec/lossless.hpp>
#include <ccoll/codec/pipe_szx.hpp>
#include <ccoll/codec/sze.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/codec/szx.hpp>
#include <ccoll/codec/zfp.hpp>
#include <ccoll/transport/threads.hpp>
#if defined(CCOLL_COMPILED_MPI) && !defined(CCOLL_NO_MPI)
#include <ccoll/transport/mpi.hpp>
#endif
#if defined(CCOLL_COMPILED_UCX)
#include <ccoll/transport/ucx.hpp>
#endif
#endif

// `storage` is extern, or nothing: then it is defined.
#define CCOLL_ENGINE_OF_PROGRAM(storage, T, Link)                                            \
    CCOLL_RUN_MODE_OF_PROGRAM(storage, T, Link, ccoll::report, ccoll::detail::blocking);     \
    CCOLL_RUN_MODE_OF_PROGRAM(storage, T, Link, ccoll::request, ccoll::detail::nonblocking); \
    CCOLL_RUN_MODE_OF_PROGRAM(storage, T, Link, ccoll::persistent, ccoll::detail::preparing)
#define CCOLL_RUN_MODE_OF_PROGRAM(storage, T, Link, Result, Mode)                                       \
    storage template Result                                                                             \
    ccoll::detail::begin_plain<Mode, ccoll::detail::running_call<T, Link, ccoll::no_clock>, T, Link>(   \
        const ccoll::detail::handle_of<Link>&, const ccoll::detail::chosen_call<T, Link>&,              \
        const ccoll::detail::user_buffers<T>&, int, const ccoll::detail::extras&, double, const char*); \
    storage template Result Mode::run<ccoll::detail::running_call<T, Link, ccoll::no_clock>,            \
                                      ccoll::detail::call_order<T, Link>, Link>(                        \
        const ccoll::detail::call_order<T, Link>&, Link, std::error_code*)

#define CCOLL_P2P_OF_PROGRAM(storage, T, Link)                                                 \
    storage template ccoll::report ccoll::detail::blocking::run<                               \
        ccoll::detail::p2p_call<T, Link, ccoll::no_clock>, ccoll::detail::p2p_order<T>, Link>( \
        const ccoll::detail::p2p_order<T>&, Link, std::error_code*);                           \
    storage template ccoll::request ccoll::detail::nonblocking::run<                           \
        ccoll::detail::p2p_call<T, Link, ccoll::no_clock>, ccoll::detail::p2p_order<T>, Link>( \
        const ccoll::detail::p2p_order<T>&, Link, std::error_code*)

/// A codec as collectives use it. @see CCOLL_CHUNKS_OF_PROGRAM in compiled.hpp
#define CCOLL_CODEC_OF_PROGRAM(storage, Tag, T) \
    storage template struct ccoll::detail::queued_work<Tag, T, ccoll::policies::Exec::Serial>
#define CCOLL_CODECS_OF_PROGRAM(storage, T)                               \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::None, T);     \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::SZp, T);      \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::SZe, T);      \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::SZx, T);      \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::PipeSZx, T);  \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::Lossless, T); \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::BitZip, T);   \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::BitWise, T);  \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::BitCut, T);   \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::ByteZip, T);  \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::Zfp, T);      \
    CCOLL_CODEC_OF_PROGRAM(storage, ccoll::policies::Codec::ZfpAtRate, T)

#if defined(CCOLL_COMPILED)
CCOLL_ENGINE_OF_PROGRAM(extern, float, ccoll::threads_comm);
CCOLL_ENGINE_OF_PROGRAM(extern, double, ccoll::threads_comm);
CCOLL_P2P_OF_PROGRAM(extern, float, ccoll::threads_comm);
CCOLL_P2P_OF_PROGRAM(extern, double, ccoll::threads_comm);
#if defined(CCOLL_COMPILED_MPI) && !defined(CCOLL_NO_MPI)
CCOLL_ENGINE_OF_PROGRAM(extern, float, ccoll::mpi_comm);
CCOLL_ENGINE_OF_PROGRAM(extern, double, ccoll::mpi_comm);
CCOLL_P2P_OF_PROGRAM(extern, float, ccoll::mpi_comm);
CCOLL_P2P_OF_PROGRAM(extern, double, ccoll::mpi_comm);
#endif
#if defined(CCOLL_COMPILED_UCX)
CCOLL_ENGINE_OF_PROGRAM(extern, float, ccoll::ucx_comm);
CCOLL_ENGINE_OF_PROGRAM(extern, double, ccoll::ucx_comm);
CCOLL_P2P_OF_PROGRAM(extern, float, ccoll::ucx_comm);
CCOLL_P2P_OF_PROGRAM(extern, double, ccoll::ucx_comm);
#endif
CCOLL_CODECS_OF_PROGRAM(extern, float);
CCOLL_CODECS_OF_PROGRAM(extern, double);
#endif
