// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels for elements of two bytes, of type `two_bytes`, and nothing else. For half.cu and bfloat16.cu.
#include <ccoll/cuda/szp/add.cuh>
#include <ccoll/cuda/szp/decode.cuh>
#include <ccoll/cuda/szp/encode.cuh>
#include <ccoll/cuda/szx/decode.cuh>
#include <ccoll/cuda/zfp/decode.cuh>

using namespace ccoll::detail::device;

#define ADD_OF(what)                                                                                           \
    template __global__ void szp::add<two_bytes, szp::addend_of::what>(                                        \
        const __grid_constant__ szp::operand<two_bytes>, const __grid_constant__ szp::operand<two_bytes>, u64, \
        const __grid_constant__ szp::grid<float>, u8*, u32, scratch*, outcome*);
ADD_OF(values)
ADD_OF(frames)
ADD_OF(multiples)
template __global__ void szp::encode<two_bytes>(const two_bytes*, u64, const __grid_constant__ szp::grids_of<two_bytes>, u8*, u32, scratch*,
                                                outcome*);
template __global__ void szp::decode<two_bytes>(const u8*, u64, u64, two_bytes*, u32, scratch*, outcome*);

#define SZX_OF(F)                                                                                                                          \
    template __global__ void szx::encode<szx::F, two_bytes>(const two_bytes*, u64, const __grid_constant__ szx::scales_of<two_bytes>, u8*, \
                                                            u32, scratch*, outcome*);                                                      \
    template __global__ void szx::decode<szx::F, two_bytes>(const u8*, u64, u64, two_bytes*, u32, scratch*, outcome*);
SZX_OF(format)
SZX_OF(pipe_format)
template __global__ void zfp::encode<two_bytes>(const two_bytes*, u64, double, u32, u8*, u32, scratch*, outcome*);
template __global__ void zfp::decode<two_bytes>(const u8*, u64, u64, two_bytes*, u32, scratch*, outcome*);
