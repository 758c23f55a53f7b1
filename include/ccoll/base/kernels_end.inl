// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/kernels_end.inl - floor 0. Closes what kernels_begin.inl has opened, and takes CCOLL_TARGET back.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
CCOLL_EXACT_END
#undef CCOLL_TARGET
