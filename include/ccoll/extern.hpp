// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll/extern.hpp - floor 5. For programs of many files: compiles the engine and the codecs in one of them instead of in each.
//
// In a header that all files with collectives include, at global scope:
//
//     CCOLL_EXTERN_ENGINE(float, ccoll::mpi_comm);
//     CCOLL_EXTERN_CODEC(ccoll::policies::Codec::SZp, float);
//     CCOLL_EXTERN_CODEC(ccoll::policies::Codec::None, float);
//
// In one source file that includes it, write the same lines with INSTANTIATE instead of EXTERN. A program that forgets one of these does
// not link. Files that only make calls include <ccoll/codec/declared/szp.hpp> instead of <ccoll/codec/szp.hpp> (there are szx.hpp and
// pipe_szx.hpp as well), so that no kernel is read for them. The file that instantiates includes the codec itself.
//
// What these lines do not declare is still compiled where it is used: other element types and codecs, Algo::Hierarchical,
// Instrument::Breakdown, other policies of Exec, and point-to-point calls. The transport is also compiled where a call is between
// neighbours, has a chooser, a Fault:: policy or an algorithm of yours.
//
// Cost: docs/reference.md has the seconds with and without it, from benchmarks/run.sh compile.
#pragma once

#include <ccoll/engine/call.hpp>

/// Collectives on elements T over transport Link, with every plan except those listed above. T is float, double, an integer type,
/// ccoll::half, ccoll::bfloat16, or the elements that the engine moves for other types.
#define CCOLL_EXTERN_ENGINE(T, Link) CCOLL_ENGINE_OF_PROGRAM(extern, T, Link)
#define CCOLL_INSTANTIATE_ENGINE(T, Link) CCOLL_ENGINE_OF_PROGRAM(, T, Link)

/// One codec for elements T. Its header must have been included; to declare it, the one in codec/declared/ is enough. Sums that cannot
/// be added encoded need Codec::None as well.
#define CCOLL_EXTERN_CODEC(Tag, T) extern template struct ccoll::detail::queued_work<Tag, T, ccoll::policies::Exec::Serial>
#define CCOLL_INSTANTIATE_CODEC(Tag, T) template struct ccoll::detail::queued_work<Tag, T, ccoll::policies::Exec::Serial>

#define CCOLL_ENGINE_OF_PROGRAM(storage, T, Link)                                            \
    CCOLL_RUN_MODE_OF_PROGRAM(storage, T, Link, ccoll::report, ccoll::detail::blocking);     \
    CCOLL_RUN_MODE_OF_PROGRAM(storage, T, Link, ccoll::request, ccoll::detail::nonblocking); \
    CCOLL_RUN_MODE_OF_PROGRAM(storage, T, Link, ccoll::persistent, ccoll::detail::preparing)
#define CCOLL_RUN_MODE_OF_PROGRAM(storage, T, Link, Result, Mode)                                                             \
    storage template Result ccoll::detail::begin_plain<Mode, ccoll::running_call<T, Link, ccoll::no_clock>, T, Link>(         \
        const ccoll::detail::handle_of<Link>&, const ccoll::detail::ready_plan<T, Link>&, const ccoll::user_buffers<T>&, int, \
        const ccoll::detail::extras&, double, const char*);                                                                   \
    storage template Result Mode::run<ccoll::running_call<T, Link, ccoll::no_clock>, ccoll::call_order<T, Link>, Link>(       \
        const ccoll::call_order<T, Link>&, Link, std::error_code*)
