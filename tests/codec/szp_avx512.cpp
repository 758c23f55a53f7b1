// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised, links nothing, emulated AVX-512
// codec/szp/: the cases of codec/szp_isa.cpp for AVX-512, on machines that have AVX2 alone.
#include "support/emulated_avx512.hpp"

#include "codec/szp_isa.cpp"
