// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine and the codec of a program, once.
#define CCOLL_TEST_ENGINE_HERE
#include "shared.hpp"
