// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Error feedback on a GPU that all ranks share (error_feedback.cuh): the bits of error_feedback on the host,
// and a loop of training. Arguments: 'brief' for a sanitizer.
#include "checks.hpp"
#include "feedback_steps.hpp"

#include <cmath>
#include <limits>

namespace {

template <class T, class Bound = ccoll::policies::RuntimeBound>
void same_steps(const char* name, int p, std::size_t n, float special)
{
    const auto write = [](gpu::device_vector<T>& to, const std::vector<T>& from, cudaStream_t stream) {
        gpu::cuda(cudaMemcpyAsync(to.span().device_data(), from.data(), from.size() * sizeof(T),
                                  cudaMemcpyHostToDevice, stream),
                  "cudaMemcpyAsync");
    };
    const std::string differ =
        feedback::steps_that_differ<T, gpu::device_vector, Bound>(p, n, special, write);
    gpu::check(differ.empty(), std::string(name) + " on " + std::to_string(p) + " ranks, n " +
                                   std::to_string(n) + ", " + std::to_string(special) + ": " + differ);
}

using ccoll::bfloat16;

/// A gradient that is the same in all steps. Small integers are exact in two bytes.
__global__ void backward(bfloat16* gradient, std::size_t n)
{
    auto* const bits = reinterpret_cast<unsigned short*>(gradient);
    for (std::size_t i = threadIdx.x; i < n; i += blockDim.x) {
        const float value = static_cast<float>(i % 5) - 2;
        bits[i] = static_cast<unsigned short>(__float_as_uint(value) >> 16);
    }
}
__global__ void descend(float* weights, const bfloat16* gradient, std::size_t n)
{
    const auto* const bits = reinterpret_cast<const unsigned short*>(gradient);
    for (std::size_t i = threadIdx.x; i < n; i += blockDim.x)
        weights[i] -= __uint_as_float(static_cast<unsigned>(bits[i]) << 16);
}

// [doc:device_error_feedback]
/// All gradients are averages over the ranks before they change the weights.
void train(float* weights, bfloat16* gradient, std::size_t n, int steps, double bound,
           const ccoll::threads_comm& comm, cudaStream_t stream)
{
    ccoll::device_error_feedback<bfloat16> feedback(n);  // keeps what a step cuts off, for the next one
    for (int step = 0; step < steps; ++step) {
        backward<<<1, 128, 0, stream>>>(gradient, n);
        feedback.average(ccoll::device_span<bfloat16>(gradient, n), bound, comm, stream);
        descend<<<1, 128, 0, stream>>>(weights, gradient, n);
    }
}
// [/doc:device_error_feedback]

/// The bound is above all gradients.
void training()
{
    constexpr std::size_t n = 1000;
    constexpr int steps = 10;
    constexpr double bound = 3;
    const std::string wrong = on_ranks(2, [](ccoll::threads_comm& comm, std::string& mine) {
        const gpu::device_vector<float> weights(std::vector<float>(n, 0.0f));
        const gpu::device_vector<bfloat16> gradient(n);
        cudaStream_t stream = nullptr;
        gpu::cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        train(weights.span().device_data(), gradient.span().device_data(), n, steps, bound, comm, stream);
        gpu::cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        gpu::cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
        const std::vector<float> found = weights.values();
        for (std::size_t i = 0; i < n; ++i) {
            const float exact = -steps * (static_cast<float>(i % 5) - 2);
            // What is kept, and a half of the distance of neighbours at the last average, which is below 8.
            if (std::fabs(found[i] - exact) > bound + 0x1p-6)
                mine += "weight " + std::to_string(i) + " is " + std::to_string(found[i]) + "; ";
        }
    });
    gpu::check(wrong.empty(), "in training nothing is lost: " + wrong);
}

}  // namespace

int main(int argc, char**)
{
    gpu::need_gpu();
    const bool brief = argc > 1;
    const float special[] = {0.0f, std::numeric_limits<float>::quiet_NaN(), 3e38f};
    for (const int p : {1, 2, 3})
        for (const std::size_t n : {std::size_t{0}, std::size_t{37}, std::size_t{9000}})
            for (const float each : special) {
                if (brief && (p != 2 || n != 9000)) continue;
                same_steps<float>("float", p, n, each);
                same_steps<bfloat16>("bfloat16", p, n, each);
                if (brief) continue;
                using namespace ccoll::policies;
                same_steps<float, FixedBits<4, Block<64>>>("float in blocks", p, n, each);
                same_steps<ccoll::half, FixedBits<5, Block<4096>>>("half in blocks", p, n, each);
                same_steps<double>("double", p, n, each);
                same_steps<ccoll::half>("half", p, n, each);
            }
    if (!brief) same_steps<float>("float", 2, 1200001, 0);  // more than a slice on the device, too
    training();
    return gpu::report();
}
