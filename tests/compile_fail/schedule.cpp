// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules that do not do what their collective promises; as call.cpp.
#include <ccoll/algo/recursive.hpp>
#include <ccoll/algo/ring.hpp>
#include <ccoll/algo/walk.hpp>

using namespace ccoll;

struct short_ring : ring_allgather {
    static constexpr int steps(int p) { return p - 2; }
};
struct twice : sequence<recursive_doubling_allreduce, recursive_doubling_allreduce> {};
struct to_itself : ring_allgather {
    static constexpr step step_at(int me, int, int, int) { return {me, me, {me, 1}, {me, 1}}; }
};

bool all();
bool all()
{
    bool good = true;
    // ---- good ----
    good &= delivers<collective::allgather, ring_allgather, 7>();
    // ---- bad ----
    // expect: ccoll: after the last step of this schedule, rank 'Rank' (see below) has something else in the place of block 'Block'
    good &= delivers<collective::allgather, short_ring, 4>();
    // expect: ccoll: in this schedule, rank 'Rank' (see below) gets a contribution to block 'Block' twice
    good &= delivers<collective::allreduce, twice, 4>();
    // expect: ccoll: in step 'Step' of this schedule (see below), a message of rank 'Rank' has two ends that do not agree
    good &= delivers<collective::allgather, to_itself, 3>();
    return good;
}
