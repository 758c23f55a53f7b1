// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MPI_THREAD_MULTIPLE: requests that another thread waits for, and a thread of the library that moves calls
// on, while this one calls MPI. And buckets, which need no threads.
// one MPI
#include <cmath>
#include <thread>
#include <vector>

#include "check.hpp"

#include <ccoll/bucket.hpp>
#include <ccoll/ccoll.hpp>
#include <ccoll/progress.hpp>
#include <ccoll/typed.hpp>

using namespace ccoll::policies;
using floats = std::vector<float>;
using Lossy = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>;

namespace {

bool all_near(const floats& x, float wanted, float bound)
{
    for (const float v : x)
        if (std::fabs(v - wanted) > bound) return false;
    return true;
}

void buckets(int p)
{
    std::vector<floats> tensors{floats(10, 1.0f), floats(), floats(70000, 2.0f), floats(1, 3.0f)};
    ccoll::bucket<float> all;
    for (floats& each : tensors) all.add(each);
    const auto facts = ccoll::allreduce<Lossy, Op::Average>(all, MPI_COMM_WORLD);
    EXPECT(facts.worst_case_error <= 1.001e-3);
    ccoll::iallreduce<Lossy>(all, MPI_COMM_WORLD).wait();
    const auto times = static_cast<float>(p);
    EXPECT(all_near(tensors[0], times, 3e-3f * times) && all_near(tensors[2], 2 * times, 3e-3f * times) &&
           tensors[1].empty());
    for (floats& each : tensors) each.assign(each.size(), static_cast<float>(check::rank));
    ccoll::ibcast(all, p - 1, MPI_COMM_WORLD).wait();  // MPI's own
    EXPECT(all_near(tensors[2], times - 1, 0) && all_near(tensors[3], times - 1, 0));
}

void threads(int p)
{
    const auto times = static_cast<float>(p);
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    {
        ccoll::progress_thread helper;
        std::vector<floats> gradients(6, floats(200000, 1.0f));
        std::vector<ccoll::background_request> open;
        for (floats& each : gradients)
            open.push_back(helper.begin([&each, other] { return ccoll::iallreduce<Lossy>(each, other); }));
        floats exact(50000, 1.0f);  // of the last one, which MPI does
        open.push_back(helper.begin([&] {
            return ccoll::typed::iallreduce(MPI_IN_PLACE, exact.data(), exact.size(), MPI_FLOAT, MPI_SUM,
                                            other);
        }));
        for (int round = 0; round < 20; ++round) {  // this thread calls MPI and the library meanwhile
            int one = 1;
            MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            floats mine(1000, 1.0f);
            ccoll::allreduce<Algo::Ring, Lossy>(mine, MPI_COMM_WORLD);
            EXPECT(one == p && all_near(mine, times, 2e-3f * times));
        }
        for (auto& each : open) each.wait();
        for (const floats& each : gradients) EXPECT(all_near(each, times, 2e-3f * times));
        EXPECT(all_near(exact, times, 0));
    }
    for (int round = 0; round < 5; ++round) {
        const floats x(300000, 1.0f);
        floats y(x.size());
        auto call = ccoll::iallreduce<Lossy>(x, y, other).hand_over();
        std::thread waits([&] { call.wait(); });
        floats mine(1000, 1.0f);
        ccoll::allreduce<Algo::RecursiveDoubling>(mine, MPI_COMM_WORLD);
        waits.join();
        EXPECT(all_near(mine, times, 0) && all_near(y, times, 2e-3f * times));
    }
    MPI_Comm_free(&other);
}

}  // namespace

int main(int argc, char** argv)
{
    int provided = 0, p = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &check::rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    buckets(p);
    if (provided == MPI_THREAD_MULTIPLE) threads(p);
    return check::finish();
}
