// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels for half, and nothing else: for cmake/check_registers.cmake, which asks ptxas what they need.
#include <ccoll/base/half.hpp>
using two_bytes = ccoll::half;
#include "two_bytes.inl"
