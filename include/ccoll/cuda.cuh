// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda.cuh - floor 5. What a CUDA translation unit adds to ccoll.hpp: device implementations, found by the
// same tags. No .hpp includes a .cuh. Pass a ccoll::device_span or a thrust::device_vector where a host
// program passes a vector; host buffers work the same in a .cu file as in a .cpp file. docs/cuda.md has the
// rest.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/ccoll.hpp>
#include <ccoll/cuda/codec_stream.cuh>
#include <ccoll/cuda/space.cuh>
#include <ccoll/cuda/szp.cuh>
#include <ccoll/cuda/szx.cuh>
#include <ccoll/cuda/zfp.cuh>
