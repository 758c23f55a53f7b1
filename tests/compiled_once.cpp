// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine and the codecs that compiled_once.hpp declares.
#include "compiled_once.hpp"

CCOLL_TEST_COMPILED_ONCE(CCOLL_INSTANTIATE_ENGINE, CCOLL_INSTANTIATE_CODEC);
