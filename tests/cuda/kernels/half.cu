// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels for half, and nothing else: for cmake/check_registers.cmake, which asks ptxas what they need. Those for bfloat16 have the
// same text and a shorter conversion.
#include <ccoll/cuda/szp/add.cuh>
#include <ccoll/cuda/szp/decode.cuh>
#include <ccoll/cuda/szp/encode.cuh>
#include <ccoll/cuda/szx/decode.cuh>
#include <ccoll/cuda/zfp/decode.cuh>

using namespace ccoll::detail::device;
using ccoll::half;

#define ADD_OF(what)                                                                                               \
    template __global__ void szp::add<half, szp::addend_of::what>(const __grid_constant__ szp::operand<half>,      \
                                                                  const __grid_constant__ szp::operand<half>, u64, \
                                                                  const __grid_constant__ szp::grid<float>, u8*, u32, scratch*, outcome*);
ADD_OF(values)
ADD_OF(frames)
ADD_OF(multiples)
template __global__ void szp::encode<half>(const half*, u64, const __grid_constant__ szp::grids_of<half>, u8*, u32, scratch*, outcome*);
template __global__ void szp::decode<half>(const u8*, u64, u64, half*, u32, scratch*, outcome*);

#define SZX_OF(F)                                                                                                                          \
    template __global__ void szx::encode<szx::F, half>(const half*, u64, const __grid_constant__ szx::scales_of<half>, u8*, u32, scratch*, \
                                                       outcome*);                                                                          \
    template __global__ void szx::decode<szx::F, half>(const u8*, u64, u64, half*, u32, scratch*, outcome*);
SZX_OF(format)
SZX_OF(pipe_format)
template __global__ void zfp::encode<half>(const half*, u64, double, u32, u8*, u32, scratch*, outcome*);
template __global__ void zfp::decode<half>(const u8*, u64, u64, half*, u32, scratch*, outcome*);
