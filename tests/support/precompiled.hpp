// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What nearly every unit test includes, read once per program. Tests include what they use all the same: with
// CCOLL_TEST_PRECOMPILE=OFF nothing is precompiled.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>
