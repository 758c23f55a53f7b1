// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of the menu, for one type of element. Included by one file per type, so that compilers can work
// side by side.
#pragma once

#include <ccoll/compile_dynamic.hpp>
#include <ccoll/entry/compiled.hpp>

#include "menu.hpp"

// The codecs come from ccoll::compiled, which has nothing of MPI in them. Samples (auto) go to the chunks of
// SZp directly.
#define PRELOAD_RUNS(T)                                                                          \
    CCOLL_CODEC_OF_PROGRAM(extern, ccoll::policies::Codec::None, T);                             \
    CCOLL_CODEC_OF_PROGRAM(extern, ccoll::policies::Codec::Lossless, T);                         \
    extern template struct ccoll::codec_impl<ccoll::policies::Codec::SZp, T, ccoll::host_space>; \
    CCOLL_CODEC_OF_PROGRAM(extern, ccoll::policies::Codec::SZp, T);                              \
    CCOLL_CODEC_OF_PROGRAM(extern, ccoll::policies::Codec::SZe, T);                              \
    CCOLL_CODEC_OF_PROGRAM(extern, ccoll::policies::Codec::SZx, T);                              \
    CCOLL_COMPILE_DYNAMIC(preload::menu, T, MPI_Comm)
