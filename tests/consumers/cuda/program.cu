// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors of thrust and a stream of the user, on ranks of MPI.
#include <ccoll/cuda.cuh>

#include <thrust/device_vector.h>

using namespace ccoll::policies;

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    {
        thrust::device_vector<float> field(1000, 1.0f), sum(1000);
        cudaStream_t stream = nullptr;
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaDeviceSynchronize();  // thrust has filled its vectors on the default stream
        ccoll::allreduce<Algo::Ring, Codec::SZx, ErrorBound<1e-3>>(field, sum, MPI_COMM_WORLD, stream);
        cudaStreamDestroy(stream);
    }
    MPI_Finalize();
}
