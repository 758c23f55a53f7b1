// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What most tests of collectives use of the engine and the codecs. It is compiled once, in compiled_once.cpp, and not again in each of
// their files, which then compile in 60 % of the time. Codecs are the same code with every transport, so the programs with MPI link them,
// too; mpi/compiled_once.hpp adds their engine.
#pragma once

#include <ccoll/ccoll.hpp>
#include <ccoll/extern.hpp>
#include <ccoll/transport/threads.hpp>

#include "coders_once.hpp"

#define CCOLL_TEST_ENGINES(ENGINE, LINK) \
    ENGINE(float, LINK);                 \
    ENGINE(double, LINK)

#define CCOLL_TEST_CODECS(CODEC)                   \
    CODEC(ccoll::policies::Codec::None, float);    \
    CODEC(ccoll::policies::Codec::None, double);   \
    CODEC(ccoll::policies::Codec::SZp, float);     \
    CODEC(ccoll::policies::Codec::SZp, double);    \
    CODEC(ccoll::policies::Codec::SZx, float);     \
    CODEC(ccoll::policies::Codec::SZx, double);    \
    CODEC(ccoll::policies::Codec::PipeSZx, float); \
    CODEC(ccoll::policies::Codec::PipeSZx, double)

CCOLL_TEST_ENGINES(CCOLL_EXTERN_ENGINE, ccoll::threads_comm);
CCOLL_TEST_CODECS(CCOLL_EXTERN_CODEC);
