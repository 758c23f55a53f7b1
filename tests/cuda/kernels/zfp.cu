// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels of ZFP, and nothing else: for cmake/check_registers.cmake, which asks ptxas what they need.
#include <ccoll/cuda/zfp/decode.cuh>

using namespace ccoll::detail::device;

#define KERNELS_OF(T)                                                                                  \
    template __global__ void zfp::encode<T>(const T*, u64, double, u32, u8*, u32, scratch*, outcome*); \
    template __global__ void zfp::decode<T>(const u8*, u64, u64, T*, u32, scratch*, outcome*);
KERNELS_OF(float)
KERNELS_OF(double)
