// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels of ZFP, and nothing else: for cmake/check_registers.cmake, which asks ptxas what they need.
#include <ccoll/cuda/zfp/decode.cuh>

using namespace ccoll::detail::device;

#define KERNELS_OF(T)                                                                                        \
    template __global__ void zfp::encode<T>(const T*, u64, double, u32, frame_out, u32, scratch*, outcome*); \
    template __global__ void zfp::decode<T>(const __grid_constant__ frame_in, u64, T*, u32, scratch*,        \
                                            outcome*);
KERNELS_OF(float)
KERNELS_OF(double)
