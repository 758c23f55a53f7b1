// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels for bfloat16, and nothing else: for cmake/check_registers.cmake, which asks ptxas what they
// need.
#include <ccoll/base/half.hpp>
using two_bytes = ccoll::bfloat16;
#include "two_bytes.inl"
