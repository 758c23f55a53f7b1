// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps of error feedback on a device beside the same steps on the host. The device is a GPU where nvcc
// compiles this, and else the emulator.
#pragma once

#include "beside_host.hpp"

#include <ccoll/error_feedback.cuh>

#include <span>
#include <string>
#include <vector>

namespace feedback {

/// Gradients of a step: far apart in size, and with the value `special`, if it is not 0, in some places.
template <class T>
std::vector<T> gradient_of(std::size_t n, int rank, int step, float special)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const unsigned word =
            static_cast<unsigned>(i) * 2654435761u + static_cast<unsigned>(rank * 97 + step * 40503);
        const float size = i % 7 == 0 ? 3.0f : 0.02f;
        x[i] = static_cast<T>((static_cast<float>(word >> 8) / (1 << 24) - 0.5f) * size);
        if (special != 0 && i % 501 == static_cast<std::size_t>(rank)) x[i] = static_cast<T>(special);
    }
    return x;
}

/// @tparam Vector  elements in memory of the device, made from a std::vector, with span() and values()
/// @param write  (Vector&, const std::vector<T>&, stream): writes gradients in the order of the stream
/// @return in which steps something differs, in words
template <class T, template <class> class Vector, class Bound = ccoll::policies::RuntimeBound, class Write>
std::string steps_that_differ(int p, std::size_t n, float special, Write write)
{
    return on_ranks(p, [&](ccoll::threads_comm& comm, std::string& wrong) {
        ccoll::error_feedback<T, Bound> host(n);
        ccoll::device_error_feedback<T, Bound> device(n);
        cudaStream_t s = nullptr;
        if (cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) != cudaSuccess) wrong += "no stream; ";
        for (int step = 0; step < 4; ++step) {
            std::vector<T> x = gradient_of<T>(n, comm.rank(), step, special);
            Vector<T> y(std::vector<T>(n, static_cast<T>(1.0f)));
            write(y, x, s);
            [[maybe_unused]] const double bound = step % 2 == 0 ? 0.05 : 0.3;
            ccoll::report here, there;
            if constexpr (Bound::block != 0) {
                here = host.average(std::span<T>(x), comm);
                there = device.average(y.span(), comm, s);
            } else {
                here = host.average(std::span<T>(x), bound, comm);
                there = device.average(y.span(), bound, comm, s);
            }
            if (!same_bits(y.values(), x)) wrong += "step " + std::to_string(step) + "; ";
            if (here.exact != there.exact || here.raw_bytes != there.raw_bytes)
                wrong += "report of step " + std::to_string(step) + "; ";
        }
        cudaStreamDestroy(s);
    });
}

}  // namespace feedback
