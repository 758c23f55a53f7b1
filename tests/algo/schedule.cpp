// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ccoll/algo/binomial.hpp>
#include <ccoll/algo/chain.hpp>
#include <ccoll/algo/recursive.hpp>
#include <ccoll/algo/ring.hpp>
#include <ccoll/algo/walk.hpp>

#include "catch.hpp"

#include <algorithm>
#include <random>

using namespace ccoll;
using namespace ccoll::policies;

namespace {

/// The (p, root) for which `delivers` fails, as text for the failure message; empty when there are none.
template <class Algo, class Collective>
std::string fails()
{
    for (int p = 1; p <= 64; ++p)
        for (int root = 0; root < (Collective::rooted ? p : 1); ++root)
            if (!delivers<Collective>(schedule_view<schedule_for<Algo, Collective>>, p, root))
                return "p " + std::to_string(p) + " root " + std::to_string(root);
    return "";
}

/// Runs a schedule with blocking semantics in a random legal order: each rank posts the receive and the send of its step, and
/// goes on when both are matched. @return true when all ranks end.
bool completes_in_random_order(const schedule& s, int p, int root, std::mt19937& random)
{
    std::vector<int> step_of(static_cast<std::size_t>(p), 0);
    const auto at = [&](int rank) -> int& { return step_of[static_cast<std::size_t>(rank)]; };
    const int steps = s.steps(p);
    std::vector<int> order(static_cast<std::size_t>(p));
    for (int i = 0; i < p; ++i) order[static_cast<std::size_t>(i)] = i;
    for (bool moved = true; moved;) {
        moved = false;
        std::shuffle(order.begin(), order.end(), random);
        for (int me : order) {
            if (at(me) == steps) continue;
            const step now = s.step_at(me, p, root, at(me));
            // Rendezvous: a message passes when its other end has posted the same step.
            const bool received = now.recv_from == nobody || at(now.recv_from) >= at(me);
            const bool sent = now.send_to == nobody || at(now.send_to) >= at(me);
            if (received && sent) ++at(me), moved = true;
        }
    }
    return std::all_of(step_of.begin(), step_of.end(), [&](int k) { return k == steps; });
}

}  // namespace

TEST_CASE("every schedule delivers every contribution exactly once, for every p in 1..64 and every root", "[algo]")
{
    CHECK(fails<Algo::Ring, collective::allreduce>() == "");
    CHECK(fails<Algo::Ring, collective::reduce_scatter>() == "");
    CHECK(fails<Algo::Ring, collective::allgather>() == "");
    CHECK(fails<Algo::RecursiveDoubling, collective::allreduce>() == "");
    CHECK(fails<Algo::Binomial, collective::bcast>() == "");
    CHECK(fails<Algo::Binomial, collective::reduce>() == "");
    CHECK(fails<Algo::Binomial, collective::scatter>() == "");
    CHECK(fails<Algo::Binomial, collective::gather>() == "");
    CHECK(fails<Algo::Chain, collective::bcast>() == "");
    CHECK(fails<Algo::Chain, collective::reduce>() == "");
}

TEST_CASE("no schedule deadlocks under any of many random matching orders, even when every send is a rendezvous", "[algo]")
{
    std::mt19937 random(20261121);
    const schedule all[] = {schedule_view<schedule_for<Algo::Ring, collective::allreduce>>, schedule_view<recursive_doubling_allreduce>,
                            schedule_view<binomial_bcast>, schedule_view<binomial_reduce>, schedule_view<binomial_scatter>,
                            schedule_view<binomial_gather>, schedule_view<chain_bcast>, schedule_view<chain_reduce>};
    for (const schedule& s : all)
        for (int p : {1, 2, 3, 4, 5, 7, 8, 13, 31, 64})
            for (int round = 0; round < 20; ++round) CHECK(completes_in_random_order(s, p, p / 2, random));
}

TEST_CASE("the proof sees schedules that are wrong", "[algo]")
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

TEST_CASE("a set of blocks contains what it counts, also round the end and with strides", "[algo]")
{
    for (int blocks : {1, 2, 5, 8, 12})
        for (int first = 0; first < blocks; ++first)
            for (int stride : {1, 2, 3, blocks - 1})
                for (int count = 0; count <= (stride == 1 ? blocks : 2); ++count) {
                    const block_set set{first, count, stride};
                    std::vector<int> counted;
                    for (int i = 0; i < count; ++i) counted.push_back(set.at(i, blocks));
                    for (int b = 0; b < blocks; ++b)
                        CHECK(set.contains(b, blocks) == (std::find(counted.begin(), counted.end(), b) != counted.end()));
                }
}

TEST_CASE("a schedule that says it rotates does", "[algo]")
{
    for (const schedule& s : {schedule_view<ring_reduce_scatter>, schedule_view<ring_allgather>, schedule_view<schedule_for<Algo::Ring, collective::allreduce>>}) {
        REQUIRE(s.rotates);
        for (int p : {2, 3, 5, 8})
            for (int k = 0; k < s.steps(p); ++k)
                for (int me = 0; me < p; ++me)
                    for (int b = 0; b < p; ++b) {
                        const step here = s.step_at(me, p, 0, k), there = s.step_at((me - b + p) % p, p, 0, k);
                        CHECK(here.send.contains(b, p) == there.send.contains(0, p));
                        CHECK(here.recv.contains(b, p) == there.recv.contains(0, p));
                        CHECK((here.send_to - me + p) % p == (there.send_to - (me - b + p) % p + p) % p);
                    }
    }
}
