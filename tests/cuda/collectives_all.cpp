// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// Every collective, algorithm and placement on device buffers, with the cases of the far space: the bits of
// the host. The device is the emulator, whose streams do their work late and in an order that follows from a
// seed.
#include "device_vector.hpp"
#include "far_cases_on_device.hpp"

#include <string>

namespace collectives_all_cases {

using emulated::device_vector;
using namespace ccoll::policies;

TEST_CASE("Device buffers: every collective, algorithm and placement gives the bits of host buffers",
          "[cuda][collectives]")
{
    check_far_cases<device_vector>();
}

TEST_CASE(
    "Device buffers: where slices of the device are longer than those of the host, promises hold and only "
    "headers are saved",
    "[cuda][collectives]")
{
    // Blocks of more than four slices of the host, and vectors (n a block in reduce_scatter) of more than a
    // slice of the device.
    constexpr std::size_t n = ccoll::detail::device::slice_elements / 2 + 75713;
    CHECK(on_ranks(2, [](ccoll::threads_comm& comm, std::string& wrong) {
              far::cases<ccoll::threads_comm, device_vector>(comm, wrong).run_long(n);
          }) == "");
}

TEST_CASE("Device buffers: vectors of several slices a lane, and memory that is used again",
          "[cuda][collectives]")
{
    constexpr std::size_t n = 9 * ccoll::detail::device::slice_elements + 12345;
    CHECK(on_ranks(2, [](ccoll::threads_comm& comm, std::string& wrong) {
              std::vector<float> x(n), expected(n);
              for (std::size_t i = 0; i < n; ++i)
                  x[i] = static_cast<float>((i * 2654435761u >> 12) % 1000 +
                                            static_cast<std::size_t>(comm.rank()));
              ccoll::allreduce<Algo::Ring, Codec::None>(x, expected, comm);
              const device_vector<float> in(x);
              device_vector<float> out(n, -1);
              for (int round = 0; round < 2; ++round) {
                  const ccoll::report r = ccoll::allreduce<Algo::Ring, Codec::None>(in, out, comm);
                  if (out.values() != expected) wrong += "other values; ";
                  // Two steps of half the vector, in slices of a Mi elements: five messages each, of 48 + 48
                  // bytes and an index.
                  const std::size_t raw = r.sent_bytes - r.raw_bytes, chunks = n / 8192 + 10;
                  if (raw < 10 * 96 || raw > 10 * (96 + 16) + 10 * chunks)
                      wrong += "another number of messages; ";
                  out.put(std::vector<float>(n, -2));
              }
          }) == "");
}

}  // namespace collectives_all_cases
