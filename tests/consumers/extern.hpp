// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What two translation units share: the engine and the codecs are compiled in unit_engine.cpp alone.
#pragma once

#include <ccoll/allreduce.hpp>
#if defined(CCOLL_TEST_ENGINE_HERE)
#include <ccoll/codec/szp.hpp>
#else
#include <ccoll/codec/declared/szp.hpp>
#endif
#include <ccoll/extern.hpp>
#include <ccoll/transport/threads.hpp>

#if defined(CCOLL_TEST_ENGINE_HERE)
CCOLL_INSTANTIATE_ENGINE(float, ccoll::threads_comm);
CCOLL_INSTANTIATE_CODEC(ccoll::policies::Codec::SZp, float);
CCOLL_INSTANTIATE_CODEC(ccoll::policies::Codec::None, float);
#else
CCOLL_EXTERN_ENGINE(float, ccoll::threads_comm);
CCOLL_EXTERN_CODEC(ccoll::policies::Codec::SZp, float);
CCOLL_EXTERN_CODEC(ccoll::policies::Codec::None, float);
#endif
