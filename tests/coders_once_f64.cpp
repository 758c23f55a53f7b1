// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The coders of double that coders_once.hpp declares.
#include "coders_once.hpp"

CCOLL_TEST_CODERS(, double, std::uint64_t);
