// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What nearly every program with MPI includes, read once per MPI.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>
