// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What two translation units share: the engine of int and a codec are compiled in unit_engine.cpp alone.
#pragma once

#include <ccoll/allreduce.hpp>
#include <ccoll/codec/lossless.hpp>
#include <ccoll/compiled.hpp>
#include <ccoll/transport/threads.hpp>

#if defined(CCOLL_TEST_ENGINE_HERE)
CCOLL_INSTANTIATE_ENGINE(int, ccoll::threads_comm);
CCOLL_INSTANTIATE_CODEC(ccoll::policies::Codec::Lossless, int);
#else
CCOLL_EXTERN_ENGINE(int, ccoll::threads_comm);
CCOLL_EXTERN_CODEC(ccoll::policies::Codec::Lossless, int);
#endif
