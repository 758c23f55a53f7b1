// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels of SZp, and nothing else: for cmake/check_registers.cmake, which asks ptxas what they need.
#include <ccoll/cuda/szp/encode.cuh>
#include <ccoll/cuda/szp/list.cuh>

using namespace ccoll::detail::device;

#define OPERATION_OF(T, what)                                                                               \
    template __global__ void szp::make<T, szp::operation::what>(const __grid_constant__ szp::arguments<T>); \
    template __global__ void szp::work_off<T, szp::operation::what>(                                        \
        const __grid_constant__ szp::arguments<T>);
#define KERNELS_OF(T)                                                                   \
    OPERATION_OF(T, move)                                                               \
    OPERATION_OF(T, encode)                                                             \
    OPERATION_OF(T, add_values)                                                         \
    OPERATION_OF(T, add)                                                                \
    template __global__ void szp::decode<T>(const __grid_constant__ szp::arguments<T>); \
    template __global__ void szp::work_off<T, szp::operation::decode>(                  \
        const __grid_constant__ szp::arguments<T>);
KERNELS_OF(float)
KERNELS_OF(double)
