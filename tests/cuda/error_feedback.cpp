// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// error_feedback.cuh beside error_feedback on the host: the same averages in each step, bit for bit. The
// device is the emulator, whose streams do their work late.
#include "beside_host.hpp"
#include "device_vector.hpp"

#include <ccoll/error_feedback.cuh>

#include <limits>

namespace error_feedback_cases {

using emulated::device_vector;

namespace {

/// Gradients of a step: far apart in size, and with the values of `special` in some places.
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

template <class T>
void same_steps(const char* name)
{
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    for (const int p : {1, 2, 3})
        for (const std::size_t n : {std::size_t{0}, std::size_t{37}, std::size_t{9000}})
            for (const float special : {0.0f, nan, 3e38f}) {
                INFO(name << ", " << p << " ranks, n " << n << ", " << special);
                CHECK(on_ranks(p, [&](ccoll::threads_comm& comm, std::string& wrong) {
                          ccoll::error_feedback<T> host(n);
                          ccoll::device_error_feedback<T> device(n);
                          cudaStream_t s = nullptr;
                          cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
                          for (int step = 0; step < 4; ++step) {
                              std::vector<T> x = gradient_of<T>(n, comm.rank(), step, special);
                              device_vector<T> y(std::vector<T>(n, T(1)));
                              for (int i = 0; i < 20; ++i) emulator::later(s, [] {});
                              emulator::later(s,
                                              [at = y.address(), x] { std::copy(x.begin(), x.end(), at); });
                              const double bound = step % 2 == 0 ? 0.05 : 0.3;
                              const ccoll::report here = host.average(std::span<T>(x), bound, comm);
                              const ccoll::report there = device.average(y.span(), bound, comm, s);
                              if (!same_bits(y.values(), x)) wrong += "step " + std::to_string(step) + "; ";
                              if (here.exact != there.exact || here.raw_bytes != there.raw_bytes)
                                  wrong += "report " + std::to_string(step) + "; ";
                          }
                          cudaStreamDestroy(s);
                      }) == "");
            }
}

}  // namespace

TEST_CASE("Error feedback on a device has the bits of the host in each step", "[cuda]")
{
    same_steps<float>("float");
    same_steps<double>("double");
    same_steps<ccoll::bfloat16>("bfloat16");
    same_steps<ccoll::half>("half");
}

TEST_CASE("Error feedback on a device: one call at a time, and of the length that it was made for", "[cuda]")
{
    CHECK(on_ranks(2, [&](ccoll::threads_comm& comm, std::string& wrong) {
              constexpr std::size_t n = 500;
              ccoll::device_error_feedback<float> feedback(n);
              device_vector<float> x(gradient_of<float>(n, comm.rank(), 0, 0)), y(n), shorter(n - 1);
              ccoll::request first = feedback.iaverage(x.span(), 0.1, comm);
              const auto trouble_of = [&](device_vector<float>& v) {
                  try {
                      feedback.average(v.span(), 0.1, comm);
                  } catch (const ccoll::error& e) {
                      return e.what_happened().code;
                  }
                  return ccoll::status::ok;
              };
              if (trouble_of(y) != ccoll::status::out_of_turn) wrong += "two at once; ";
              first.wait();
              if (trouble_of(shorter) != ccoll::status::size_mismatch) wrong += "another length; ";
              feedback.average(x.span(), 0.1, comm);
          }) == "");
}

}  // namespace error_feedback_cases
