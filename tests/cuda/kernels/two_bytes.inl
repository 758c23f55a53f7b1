// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels for elements of two bytes, of type `two_bytes`, and nothing else. For half.cu and bfloat16.cu.
#include <ccoll/cuda/szx/decode.cuh>
#include <ccoll/cuda/zfp/decode.cuh>

using namespace ccoll::detail::device;

#define SZX_OF(F)                                                                                           \
    template __global__ void szx::encode<szx::F, two_bytes>(                                                \
        const two_bytes*, u64, const __grid_constant__ szx::scales_of<two_bytes>, szx::missing_bits<float>, \
        frame_out, u32, scratch*, outcome*);                                                                \
    template __global__ void szx::decode<szx::F, two_bytes>(const __grid_constant__ frame_in, u64,          \
                                                            two_bytes*, u32, scratch*, outcome*);
SZX_OF(format)
SZX_OF(pipe_format)
template __global__ void zfp::encode<two_bytes>(const two_bytes*, u64, double, u32, frame_out, u32, scratch*,
                                                outcome*);
template __global__ void zfp::decode<two_bytes>(const __grid_constant__ frame_in, u64, two_bytes*, u32,
                                                scratch*, outcome*);
