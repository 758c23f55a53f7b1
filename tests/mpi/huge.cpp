// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 2
// More than 2^31 bytes, and elements, in one call, so that a counter of 32 bits would show. Needs 6 GiB of memory in all; without them it
// says so.
// one MPI
#include <cstdint>
#include <cstdio>
#include <vector>

#include <unistd.h>

#include "check.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    const double free_bytes = static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    int enough = free_bytes > 7e9;
    MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (enough == 0) {
        std::printf("not enough memory for this test\n");
        return check::finish();
    }
    const std::size_t n = (std::size_t{1} << 31) + 12345;
    const auto value = [](std::size_t i) { return static_cast<std::uint8_t>(i * 31 + (i >> 20)); };
    std::vector<std::uint8_t> data(n);
    if (check::rank == 0)
        for (std::size_t i = 0; i < n; ++i) data[i] = value(i);
    const auto r = ccoll::bcast<Algo::Chain, Codec::None>(data, 0, MPI_COMM_WORLD);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += data[i] != value(i);
    check::expect(wrong == 0, "every byte of more than 2^31");
    check::expect(check::rank != 0 || r.raw_bytes == n, "the report counts them");
    return check::finish();
}
