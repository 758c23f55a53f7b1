// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What most tests of collectives use of the engine and the codecs. It is compiled once, in compiled_once.cpp, and not again in each of
// their files, which then compile in 60 % of the time. The programs with MPI do without: there, each file compiles what it uses.
#pragma once

#include <ccoll/ccoll.hpp>
#include <ccoll/extern.hpp>
#include <ccoll/transport/threads.hpp>

#define CCOLL_TEST_COMPILED_ONCE(ENGINE, CODEC)    \
    ENGINE(float, ccoll::threads_comm);            \
    ENGINE(double, ccoll::threads_comm);           \
    CODEC(ccoll::policies::Codec::None, float);    \
    CODEC(ccoll::policies::Codec::None, double);   \
    CODEC(ccoll::policies::Codec::SZp, float);     \
    CODEC(ccoll::policies::Codec::SZp, double);    \
    CODEC(ccoll::policies::Codec::SZx, float);     \
    CODEC(ccoll::policies::Codec::SZx, double);    \
    CODEC(ccoll::policies::Codec::PipeSZx, float); \
    CODEC(ccoll::policies::Codec::PipeSZx, double)

CCOLL_TEST_COMPILED_ONCE(CCOLL_EXTERN_ENGINE, CCOLL_EXTERN_CODEC);
