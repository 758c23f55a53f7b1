// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels of SZp, and nothing else: for cmake/check_registers.cmake, which asks ptxas what they need.
#include <ccoll/cuda/szp/encode.cuh>
#include <ccoll/cuda/szp/list.cuh>

using namespace ccoll::detail::device;

#define ENCODE_OF(T, what) template __global__ void szp::encode<T, szp::encoding::what>(const __grid_constant__ szp::arguments<T>);
#define WORK_OFF_OF(T, what) template __global__ void szp::work_off<T, szp::operation::what>(const __grid_constant__ szp::arguments<T>);
#define KERNELS_OF(T)                                                                   \
    ENCODE_OF(T, movement)                                                              \
    ENCODE_OF(T, addend)                                                                \
    ENCODE_OF(T, sum)                                                                   \
    template __global__ void szp::add<T>(const __grid_constant__ szp::arguments<T>);    \
    template __global__ void szp::decode<T>(const __grid_constant__ szp::arguments<T>); \
    WORK_OFF_OF(T, move)                                                                \
    WORK_OFF_OF(T, encode)                                                              \
    WORK_OFF_OF(T, add_values)                                                          \
    WORK_OFF_OF(T, add)                                                                 \
    WORK_OFF_OF(T, decode)
KERNELS_OF(float)
KERNELS_OF(double)
