// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp6/: the cases of codec/szp6_isa.cpp for AVX-512, on machines that have AVX2 alone.
#include "support/emulated_avx512.hpp"

#include "codec/szp6_isa.cpp"
