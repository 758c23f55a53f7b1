// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The coders of float that coders_once.hpp declares.
#include "coders_once.hpp"

CCOLL_TEST_CODERS(, float, std::uint32_t);
