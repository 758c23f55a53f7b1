// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda_allreduce.cu - a whole program that adds a field in device memory over all ranks, with an error bound.
//   nvcc -std=c++20 -O2 -arch=native -DCCOLL_NO_MPI -I include examples/cuda_allreduce.cu -o cuda_allreduce
//   ./cuda_allreduce 4
// or
//   nvcc -std=c++20 -O2 -arch=native -ccbin mpicxx -I include examples/cuda_allreduce.cu -o cuda_allreduce
//   mpiexec -n 4 ./cuda_allreduce
// The first one has threads as ranks, which share one GPU. In the second one each rank takes a GPU of its
// node, in turn.
#include <ccoll/cuda.cuh>
#include <ccoll/transport/threads.hpp>

#include <thrust/device_vector.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace ccoll::policies;

namespace {

__global__ void fill(float* field, std::size_t n, int rank)
{
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) field[i] = sinf(1e-4f * static_cast<float>(i) + static_cast<float>(rank));
}

/// What each rank does, whatever its communicator is.
template <class Comm>
void add_fields(const Comm& comm, int rank, int ranks)
{
    constexpr std::size_t n = std::size_t{1} << 24;
    thrust::device_vector<float> field(n), sum(n);
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaDeviceSynchronize();  // thrust has filled its vectors on the default stream
    fill<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(field.data().get(), n, rank);

    // Comes after the kernel, because both have the same stream.
    const ccoll::report report =
        ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(field, sum, comm, stream);

    cudaStreamDestroy(stream);
    if (rank != 0) return;
    std::vector<float> result(n);
    cudaMemcpy(result.data(), sum.data().get(), n * sizeof(float), cudaMemcpyDeviceToHost);
    double worst = 0;
    for (std::size_t i = 0; i < n; i += 1001) {
        double exact = 0;
        for (int r = 0; r < ranks; ++r)
            exact += std::sin(double{1e-4f * static_cast<float>(i) + static_cast<float>(r)});
        worst = std::max(worst, std::fabs(exact - double{result[i]}));
    }
    std::printf("%d ranks: %zu bytes sent instead of %zu; every element within %g, largest error seen %.2g\n",
                ranks, report.sent_bytes, report.raw_bytes, report.worst_case_error, worst);
}

}  // namespace

int main(int argc, char** argv)
{
    int gpus = 0;
    if (const cudaError_t e = cudaGetDeviceCount(&gpus); e != cudaSuccess || gpus == 0) {
        std::fprintf(stderr,
                     "cuda_allreduce: there is no GPU that CUDA can use (%s); examples/hello_allreduce.cpp "
                     "needs none\n",
                     e != cudaSuccess ? cudaGetErrorString(e) : "cudaGetDeviceCount says 0");
        return 77;
    }
    try {
#if defined(CCOLL_NO_MPI)
        const int ranks = argc > 1 ? std::max(1, std::atoi(argv[1])) : 4;
        ccoll::run_ranks(ranks,
                         [&](ccoll::threads_comm& comm) { add_fields(comm, comm.rank(), comm.size()); });
#else
        MPI_Init(&argc, &argv);
        MPI_Comm node = MPI_COMM_NULL;
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
        int rank = 0, ranks = 1, on_node = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        MPI_Comm_rank(node, &on_node);
        MPI_Comm_free(&node);
        cudaSetDevice(on_node % gpus);
        add_fields(MPI_COMM_WORLD, rank, ranks);
        MPI_Finalize();
#endif
    } catch (const ccoll::error& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
