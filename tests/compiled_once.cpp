// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine and the codecs that compiled_once.hpp declares.
#include "compiled_once.hpp"

CCOLL_TEST_ENGINES(CCOLL_INSTANTIATE_ENGINE, ccoll::threads_comm);
CCOLL_TEST_CODECS(CCOLL_INSTANTIATE_CODEC);
