// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The all-to-alls of the literature with which benchmarks compare: they give the values of ccoll::alltoall.
#include "device_vector.hpp"

#include <ccoll/transport/threads.hpp>

#include "../fields.hpp"
#include "benchmark/alltoall.hpp"

#include <mutex>

using namespace ccoll::policies;
using emulated::device_vector;

TEST_CASE("All-to-alls of the literature give the values of ccoll::alltoall", "[cuda][alltoall]")
{
    constexpr std::size_t block = 3000;
    for (const int p : {1, 3}) {
        std::mutex mutex;
        ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
            const std::size_t n = block * static_cast<std::size_t>(p);
            const device_vector<float> in(fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1));
            device_vector<float> expected(n), first(n), second(n);
            ccoll::alltoall<Algo::Pairwise, Codec::SZp, ErrorBound<1e-3>>(in, expected, comm);
            rivals::workshop work(p, block);
            work.compress_then_exchange(in.address(), first.address(), 1e-3, comm);
            work.compress_by_destination(in.address(), second.address(), 1e-3, comm, comm.rank());
            // A rank's own block never leaves it in ccoll::alltoall, and is exact.
            const auto others = [&](const std::vector<float>& all) {
                std::vector<float> rest;
                for (std::size_t i = 0; i < n; ++i)
                    if (i / block != static_cast<std::size_t>(comm.rank())) rest.push_back(all[i]);
                return rest;
            };
            const std::lock_guard lock(mutex);
            CHECK(others(first.values()) == others(expected.values()));
            CHECK(others(second.values()) == others(expected.values()));
            const std::vector<float> mine = first.values(), exact = expected.values();
            for (std::size_t i = 0; i < block; ++i) {
                const std::size_t own = static_cast<std::size_t>(comm.rank()) * block + i;
                if (!(std::abs(mine[own] - exact[own]) <= 1e-3f)) FAIL("the own block is beyond the bound");
            }
        });
    }
}
