// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 2
// More than 2^31 bytes, and elements, in one call, so that a counter of 32 bits would show. Needs 6 GiB of
// memory in all; without them it says so.
// one MPI
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <unistd.h>

#include "check.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    const double free_bytes =
        static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    int enough = free_bytes > 7e9;
    MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (enough == 0) {
        std::printf("not enough memory for this test\n");
        return check::finish();
    }
    // Each part of 1 MiB begins elsewhere in the same sequence, so a part that went astray shows.
    constexpr std::size_t n = (std::size_t{1} << 31) + 12345, part = std::size_t{1} << 20, shifts = 251;
    std::vector<std::uint8_t> sequence(part + shifts), data(n);
    for (std::size_t i = 0; i < sequence.size(); ++i) sequence[i] = static_cast<std::uint8_t>(i * i >> 7);
    const auto each_part = [&](auto work) {
        for (std::size_t at = 0; at < n; at += part)
            work(&data[at], &sequence[at / part % shifts], std::min(part, n - at));
    };
    if (check::rank == 0)
        each_part([](std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
            std::memcpy(to, from, bytes);
        });
    const auto r = ccoll::bcast<Algo::Chain, Codec::None>(data, 0, MPI_COMM_WORLD);
    bool right = true;
    each_part([&](const std::uint8_t* is, const std::uint8_t* was, std::size_t bytes) {
        right = right && std::memcmp(is, was, bytes) == 0;
    });
    check::expect(right, "every byte of more than 2^31");
    check::expect(check::rank != 0 || r.raw_bytes == n, "the report counts them");
    return check::finish();
}
