// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/kernels_begin.inl - floor 0. Opens the kernels of one instruction set: what is written from here to
// kernels_end.inl. The file that includes it has defined CCOLL_TARGET, the attribute of every function in
// between (config.hpp). Arithmetic is exactly what is written: AVX-512 and NEON imply FMA, and g++ contracts
// even intrinsics.
#if !defined(CCOLL_TARGET)
#error "ccoll: define CCOLL_TARGET as the attribute of the instruction set before including kernels_begin.inl"
#endif

CCOLL_EXACT_BEGIN
// g++ 12 warns about undefined values in its own headers, and about its macros for masks.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wuseless-cast"  // some sets have the registers that compilers make
#endif
