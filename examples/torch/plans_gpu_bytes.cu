// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// plans_gpu_bytes.cu - see plans.hpp: bytes in the memory of a GPU, and which GPU a thread uses.
#include <ccoll/compile_dynamic.hpp>
#include <ccoll/cuda.cuh>

#include "gpu.hpp"
#include "plans.hpp"

CCOLL_COMPILE_DYNAMIC(ccoll_torch::byte_plans, std::uint8_t, ccoll_torch::communicator, ccoll::cuda_space);

int ccoll_torch::gpu::select(int number) noexcept
{
    int before = -1;
    if (cudaGetDevice(&before) != cudaSuccess || cudaSetDevice(number) != cudaSuccess) return -1;
    return before;
}
