// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MPI_THREAD_MULTIPLE: requests that another thread waits for, and a thread of the library that moves calls
// on, while this one calls MPI. Requests of MPI on that thread. And buckets, which need no threads.
// one MPI
#include <cmath>
#include <memory>
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

/// Requests of MPI as work of a progress thread, also those of messages, and calls that block.
void requests_of_mpi(int p)
{
    MPI_Comm other = MPI_COMM_NULL;
    int told = 0;
    {
        ccoll::progress_thread helper;
        helper.run([&] { MPI_Comm_dup(MPI_COMM_WORLD, &other); });
        const auto test_of = [](MPI_Request begun) {
            return [begun]() mutable {
                int ended = 0;
                MPI_Test(&begun, &ended, MPI_STATUS_IGNORE);
                return ended != 0;
            };
        };
        int sum = 1, from_left = -1, unsent = -1;
        floats lossy(50000, 1.0f);
        helper.begin(
            [&] {
                MPI_Request begun = MPI_REQUEST_NULL;
                MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, other, &begun);
                return test_of(begun);
            },
            [&](const ccoll::report&, const std::exception_ptr& failed) {
                told += failed == nullptr ? 1 : 0;
            });
        auto both = helper.begin([&] { return ccoll::iallreduce<Lossy>(lossy, other); });
        auto got = helper.begin_message([&] {
            MPI_Request begun = MPI_REQUEST_NULL;
            MPI_Irecv(&from_left, 1, MPI_INT, (check::rank + p - 1) % p, 1, other, &begun);
            return test_of(begun);
        });
        auto sent = helper.begin_message([&] {
            MPI_Request begun = MPI_REQUEST_NULL;
            MPI_Isend(&check::rank, 1, MPI_INT, (check::rank + 1) % p, 1, other, &begun);
            return test_of(begun);
        });
        both.wait();
        got.wait();
        sent.wait();
        EXPECT(from_left == (check::rank + p - 1) % p);
        // A receive without a message; what it began is cancelled when it is given up.
        const auto cancel = [](MPI_Request* begun) {
            MPI_Cancel(begun);
            MPI_Wait(begun, MPI_STATUS_IGNORE);
            delete begun;
        };
        helper.begin_message(
            [&] {
                const std::shared_ptr<MPI_Request> begun(new MPI_Request, cancel);
                MPI_Irecv(&unsent, 1, MPI_INT, 0, 2, other, begun.get());
                return [begun] {
                    int ended = 0;
                    MPI_Test(begun.get(), &ended, MPI_STATUS_IGNORE);
                    return ended != 0;
                };
            },
            [&](const ccoll::report& facts, const std::exception_ptr&) {
                told += facts.trouble.code == ccoll::status::abandoned ? 1 : 0;
            });
        helper.run([] {});  // waits for the first sum, not for the receive
        EXPECT(sum == p && told == 1 &&
               all_near(lossy, static_cast<float>(p), 2e-3f * static_cast<float>(p)));
    }
    EXPECT(told == 2);
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
    if (provided == MPI_THREAD_MULTIPLE) {
        threads(p);
        requests_of_mpi(p);
    }
    return check::finish();
}
