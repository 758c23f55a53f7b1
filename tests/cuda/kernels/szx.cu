// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels of SZx and PipeSZx, and nothing else: for cmake/check_registers.cmake, which asks ptxas what
// they need.
#include <ccoll/cuda/szx/decode.cuh>

using namespace ccoll::detail::device;

#define KERNELS_OF(F, T)                                                                                  \
    template __global__ void szx::encode<szx::F, T>(const T*, u64, const __grid_constant__ szx::scale<T>, \
                                                    szx::missing_bits<T>, frame_out, u32, scratch*,       \
                                                    outcome*);                                            \
    template __global__ void szx::decode<szx::F, T>(const __grid_constant__ frame_in, u64, T*, u32,       \
                                                    scratch*, outcome*);
KERNELS_OF(format, float)
KERNELS_OF(format, double)
KERNELS_OF(pipe_format, float)
KERNELS_OF(pipe_format, double)
