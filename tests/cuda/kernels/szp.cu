// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels of SZp, and nothing else: for cmake/check_registers.cmake, which asks ptxas what they need.
#include <ccoll/cuda/szp/add.cuh>
#include <ccoll/cuda/szp/encode.cuh>

using namespace ccoll::detail::device;

template <class T>
using operand = szp::operand<T>;

#define KERNELS_OF(T)                                                                                                    \
    template __global__ void szp::encode<T>(const T*, u64, szp::grid<T>, u8*, u32, scratch*, outcome*);                  \
    template __global__ void szp::decode<T>(const u8*, u64, u64, T*, u32, scratch*, outcome*);                           \
    template __global__ void szp::add<T, true>(operand<T>, operand<T>, u64, szp::grid<T>, u8*, u32, scratch*, outcome*); \
    template __global__ void szp::add<T, false>(operand<T>, operand<T>, u64, szp::grid<T>, u8*, u32, scratch*, outcome*);
KERNELS_OF(float)
KERNELS_OF(double)
