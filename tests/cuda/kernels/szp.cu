// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels of SZp, and nothing else: for cmake/check_registers.cmake, which asks ptxas what they need.
#include <ccoll/cuda/szp/add.cuh>
#include <ccoll/cuda/szp/decode.cuh>
#include <ccoll/cuda/szp/encode.cuh>

using namespace ccoll::detail::device;

#define ADD_OF(T, what)                                                                                      \
    template __global__ void szp::add<T, szp::addend_of::what>(const __grid_constant__ szp::operand<T>,      \
                                                               const __grid_constant__ szp::operand<T>, u64, \
                                                               const __grid_constant__ szp::grid<T>, u8*, u32, scratch*, outcome*);
#define KERNELS_OF(T)                                                                                                           \
    template __global__ void szp::encode<T>(const T*, u64, const __grid_constant__ szp::grid<T>, u8*, u32, scratch*, outcome*); \
    template __global__ void szp::decode<T>(const u8*, u64, u64, T*, u32, scratch*, outcome*);                                  \
    ADD_OF(T, values)                                                                                                           \
    ADD_OF(T, frames)                                                                                                           \
    ADD_OF(T, multiples)
KERNELS_OF(float)
KERNELS_OF(double)
