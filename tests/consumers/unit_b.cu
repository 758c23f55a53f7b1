// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same unit for nvcc: it includes the device headers, shares a plan with the other unit, and compiles a
// kernel.
#include <vector>

#include <ccoll/cuda.cuh>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

__global__ void halve(float* x, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f;
}

void launch_halve(float* device, unsigned n) { halve<<<(n + 255) / 256, 256>>>(device, n); }

double sum_of_ones(ccoll::threads_comm& comm)
{
    std::vector<float> ones(1000, 1.0f), sum(ones.size());
    ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(ones, sum, comm);
    return static_cast<double>(sum[500]);
}
