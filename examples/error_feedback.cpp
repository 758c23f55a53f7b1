// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error_feedback.cpp - fits a line to the data of four ranks by gradient descent, with a bound above most of
// the gradients: with and without error feedback, beside exact sums.
//   g++ -std=c++20 -O2 -pthread -DCCOLL_NO_MPI -I include examples/error_feedback.cpp -o error_feedback
//   ./error_feedback
#include <cmath>
#include <cstdio>
#include <vector>

#include <ccoll/error_feedback.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

namespace {

enum class how { exact, lossy, with_feedback };

/// Mean squared error of `steps` steps of gradient descent towards w[i] = sin(i), of which each rank sees
/// another disturbance.
double distance_after(int steps, double bound, how sums, const ccoll::threads_comm& comm)
{
    const std::size_t n = 1000;
    std::vector<float> w(n), gradient(n);
    ccoll::error_feedback<float> feedback(n);
    for (int step = 0; step < steps; ++step) {
        for (std::size_t i = 0; i < n; ++i) {
            const float disturbed =
                std::sin(static_cast<float>(i)) + 0.01f * static_cast<float>(comm.rank()) - 0.015f;
            gradient[i] = w[i] - disturbed;
        }
        if (sums == how::exact) ccoll::allreduce<Op::Average>(gradient, comm);
        if (sums == how::lossy)
            ccoll::allreduce<Op::Average, Codec::SZp, RuntimeBound>(gradient, comm, bound);
        if (sums == how::with_feedback) feedback.average(gradient, bound, comm);
        for (std::size_t i = 0; i < n; ++i) w[i] -= 0.05f * gradient[i];
    }
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
        sum += std::pow(static_cast<double>(w[i]) - std::sin(static_cast<double>(i)), 2.0);
    return std::sqrt(sum / static_cast<double>(n));
}

}  // namespace

int main()
{
    ccoll::run_ranks(4, [](ccoll::threads_comm& comm) {
        const double bound = 0.5;
        const double exact = distance_after(400, bound, how::exact, comm),
                     lossy = distance_after(400, bound, how::lossy, comm),
                     fed = distance_after(400, bound, how::with_feedback, comm);
        if (comm.rank() == 0)
            std::printf(
                "distance from the solution after 400 steps: exact %.2g, bound %g alone %.2g, with error "
                "feedback %.2g\n",
                exact, bound, lossy, fed);
    });
}
