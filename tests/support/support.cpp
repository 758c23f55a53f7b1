// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The data and the oracle of the unit tests, compiled once.
#include "fields.hpp"
#include "oracle.hpp"

CCOLL_TEST_FIELDS(, float);
CCOLL_TEST_FIELDS(, double);
CCOLL_TEST_ORACLE(, float);
CCOLL_TEST_ORACLE(, double);
