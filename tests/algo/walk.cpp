// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of `delivers` itself: it works at compile time, and it finds what is wrong.
#include "catalogue.hpp"

#include "support/catch.hpp"

namespace walk_cases {

using namespace ccoll;

static_assert(delivers<collective::allreduce>(schedule_view<rabenseifner_allreduce>, 5, 0));
static_assert(delivers<collective::reduce>(schedule_view<rabenseifner_reduce>, 6, 4));
static_assert(delivers<collective::reduce_scatter>(schedule_view<recursive_halving_reduce_scatter>, 7, 0));
static_assert(delivers<collective::allgather>(schedule_view<recursive_doubling_allgather>, 6, 0));
static_assert(delivers<collective::bcast>(schedule_view<scatter_allgather_bcast>, 5, 3));
static_assert(delivers<collective::gather>(schedule_view<linear_gather>, 3, 2));
static_assert(delivers<collective::alltoall>(schedule_view<bruck_alltoall>, 6, 0));
static_assert(delivers<collective::alltoall>(schedule_view<pairwise_alltoall>, 5, 0));
static_assert(!delivers<collective::alltoall>(schedule_view<bruck_allgather>, 4, 0));

TEST_CASE("delivers refuses schedules that are wrong", "[algo]")
{
    struct short_ring : ring_allgather {
        static constexpr int steps(int p) { return p - 2; }
    };
    struct twice : sequence<recursive_doubling_allreduce, recursive_doubling_allreduce> {};
    struct wrong_order : binomial_scatter {  // the receiver expects the blocks of a subtree in another order
        static constexpr step step_at(int me, int p, int root, int k)
        {
            step s = binomial_scatter::step_at(me, p, root, k);
            if (s.recv.count > 1) s.recv = {s.recv.at(s.recv.count - 1, p), s.recv.count, p - 1};
            return s;
        }
    };
    struct too_wide : binomial_scatter {
        static constexpr int widest(int) { return 1; }
    };
    struct to_itself : ring_allgather {
        static constexpr step step_at(int me, int, int, int) { return {me, me, {me, 1}, {me, 1}}; }
    };
    CHECK_FALSE(delivers<collective::allgather>(schedule_view<short_ring>, 4, 0));
    CHECK_FALSE(delivers<collective::allreduce>(schedule_view<twice>, 4, 0));
    CHECK_FALSE(delivers<collective::scatter>(schedule_view<wrong_order>, 8, 0));
    CHECK_FALSE(delivers<collective::scatter>(schedule_view<too_wide>, 8, 0));
    CHECK_FALSE(delivers<collective::allgather>(schedule_view<to_itself>, 4, 0));
    CHECK_FALSE(delivers<collective::allgather>(schedule_view<ring_reduce_scatter>, 4, 0));
}

TEST_CASE("delivers refuses alltoalls that are wrong, even if all messages match", "[algo]")
{
    struct nothing : spread_alltoall {
        static constexpr int steps(int) { return 0; }
    };
    struct one_short : bruck_alltoall {
        static constexpr int steps(int p) { return ceil_log2(p) - 1; }
    };
    struct too_far : sequence<spread_alltoall, spread_alltoall> {};  // every block travels twice its distance
    struct to_the_next : spread_alltoall {                           // each block goes one rank too far
        static constexpr step step_at(int me, int p, int, int k)
        {
            const int distance = (k + 2) % p;
            return distance == 0 ? step{}
                                 : step{(me + distance) % p, (me - distance + p) % p, {k + 1, 1}, {k + 1, 1}};
        }
    };
    struct last_group_lost : bruck_alltoall {
        static constexpr step step_at(int me, int p, int root, int k)
        {
            step s = bruck_alltoall::step_at(me, p, root, k);
            if (s.send.count > s.send.run) s.send.count -= 1;
            s.recv = s.send;
            return s;
        }
    };
    struct moves_its_own : bruck_alltoall {
        static constexpr step step_at(int me, int p, int root, int k)
        {
            step s = bruck_alltoall::step_at(me, p, root, k);
            if (k == 0) s.send = s.recv = {0, p / 2, 2};
            return s;
        }
    };
    struct other_names : spread_alltoall {  // the two ends use different numbers for the block
        static constexpr step step_at(int me, int p, int, int k)
        {
            const int distance = k + 1;
            return {(me + distance) % p, (me - distance + p) % p, {distance, 1}, {p - distance, 1}};
        }
    };
    struct reduces_them : spread_alltoall {
        static constexpr step step_at(int me, int p, int root, int k)
        {
            step s = spread_alltoall::step_at(me, p, root, k);
            s.action = on_receive::reduce;
            return s;
        }
    };
    const schedule wrong[] = {schedule_view<nothing>,         schedule_view<one_short>,
                              schedule_view<too_far>,         schedule_view<to_the_next>,
                              schedule_view<last_group_lost>, schedule_view<moves_its_own>,
                              schedule_view<reduces_them>};
    for (const schedule& s : wrong)
        for (int p : {4, 5, 6, 8, 13}) {
            CHECK(ends_match(s, p, 0));
            CHECK_FALSE(delivers<collective::alltoall>(s, p, 0));
        }
    CHECK_FALSE(ends_match(schedule_view<other_names>, 5, 0));
    // A schedule that is right for one collective is wrong for another.
    CHECK_FALSE(delivers<collective::allgather>(schedule_view<spread_alltoall>, 4, 0));
    CHECK_FALSE(delivers<collective::alltoall>(schedule_view<ring_allgather>, 4, 0));
}

TEST_CASE(
    "an exchange with the partner me xor k overwrites blocks that have not been sent yet, except on two "
    "ranks",
    "[algo]")
{
    struct exchange : spread_alltoall {
        static constexpr step step_at(int me, int p, int, int k)
        {
            const int partner = me ^ (k + 1);
            return {partner, partner, {(partner - me + p) % p, 1}, {(me - partner + p) % p, 1}};
        }
    };
    CHECK(delivers<collective::alltoall>(schedule_view<exchange>, 2, 0));
    for (int p : {4, 8, 16}) {
        CHECK(ends_match(schedule_view<exchange>, p, 0));
        CHECK_FALSE(delivers<collective::alltoall>(schedule_view<exchange>, p, 0));
    }
}

TEST_CASE("delivers accepts every right schedule: powers of two, and distances in any order", "[algo]")
{
    struct largest_first : bruck_alltoall {
        static constexpr step step_at(int me, int p, int root, int k)
        {
            return bruck_alltoall::step_at(me, p, root, steps(p) - 1 - k);
        }
    };
    struct farthest_first : spread_alltoall {
        static constexpr step step_at(int me, int p, int root, int k)
        {
            return spread_alltoall::step_at(me, p, root, p - 2 - k);
        }
    };
    for (int p = 1; p <= 64; ++p) {
        CHECK(delivers<collective::alltoall>(schedule_view<largest_first>, p, 0));
        CHECK(delivers<collective::alltoall>(schedule_view<farthest_first>, p, 0));
    }
}

namespace {

struct crossing {
    int into_first = 0, out_of_first = 0;
};
/// How many blocks enter and leave the first node, if k consecutive ranks share a node.
crossing blocks_between_nodes(const schedule& s, int p, int k)
{
    crossing found;
    for (int step = 0; step < s.steps(p); ++step)
        for (int me = 0; me < p; ++me) {
            const ccoll::step now = s.step_at(me, p, 0, step);
            if (now.send_to == nobody || (me < k) == (now.send_to < k)) continue;
            (me < k ? found.out_of_first : found.into_first) += now.send.count;
        }
    return found;
}

}  // namespace

TEST_CASE("schedules on one level move about as few blocks between nodes as two levels could", "[algo]")
{
    for (int k : {2, 3, 4})
        for (int p : {2 * k, 3 * k, 5 * k}) {
            CAPTURE(p, k);
            const crossing all = blocks_between_nodes(schedule_view<ring_allgather>, p, k);
            CHECK(all.into_first == p - 1);
            CHECK(all.out_of_first == p - 1);
            CHECK(blocks_between_nodes(schedule_view<ring_reduce_scatter>, p, k).out_of_first == p - 1);
            for (const crossing c : {blocks_between_nodes(schedule_view<pairwise_alltoall>, p, k),
                                     blocks_between_nodes(schedule_view<spread_alltoall>, p, k)}) {
                CHECK(c.into_first == k * (p - k));
                CHECK(c.out_of_first == k * (p - k));
            }
            if (k == 3) continue;
            CHECK(blocks_between_nodes(schedule_view<binomial_gather>, p, k).into_first == p - k);
            CHECK(blocks_between_nodes(schedule_view<binomial_scatter>, p, k).out_of_first == p - k);
        }
}

}  // namespace walk_cases
