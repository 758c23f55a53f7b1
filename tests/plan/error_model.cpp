// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized, links nothing
#include <ccoll/algo/binomial.hpp>
#include <ccoll/algo/recursive.hpp>
#include <ccoll/algo/ring.hpp>
#include <ccoll/plan/error_model.hpp>

#include "support/catch.hpp"

namespace error_model_cases {

using namespace ccoll;
using namespace ccoll::policies;

namespace {
constexpr placement_rules doc{"", true, false}, per_hop{"", false, false}, add{"", true, true};
constexpr auto sums = error_growth::adds, selects = error_growth::selects;
const schedule ring = schedule_view<schedule_for<Algo::Ring, collective::allreduce>>;
const schedule doubling = schedule_view<recursive_doubling_allreduce>;
}  // namespace

TEST_CASE("the error of a result follows from schedule and placement, as docs/error_bounds.md derives it",
          "[engine][error]")
{
    for (int p : {2, 3, 4, 5, 7, 8, 13, 64}) {
        CHECK(detail::worst_case_units<collective::allreduce>(ring, doc, sums, p, 0) == p);
        CHECK(detail::worst_case_units<collective::allreduce>(ring, add, sums, p, 0) == p);
        CHECK(detail::worst_case_units<collective::allreduce>(ring, doc, selects, p, 0) == p);
        CHECK(detail::worst_case_units<collective::allreduce>(ring, per_hop, sums, p, 0) == 2 * (p - 1));
        CHECK(detail::worst_case_units<collective::allreduce>(doubling, add, sums, p, 0) == p);
        CHECK(detail::worst_case_units<collective::reduce_scatter>(schedule_view<ring_reduce_scatter>, doc,
                                                                   sums, p, 0) == p - 1);
        CHECK(detail::worst_case_units<collective::reduce>(schedule_view<binomial_reduce>, doc, sums, p,
                                                           p / 2) == p - 1);
        CHECK(detail::worst_case_units<collective::allgather>(schedule_view<ring_allgather>, per_hop, sums, p,
                                                              0) == p - 1);
        CHECK(detail::worst_case_units<collective::bcast>(schedule_view<binomial_bcast>, per_hop, sums, p,
                                                          0) == ceil_log2(p + 1) - 1);
    }
    for (int log2 = 1; log2 <= 6; ++log2)
        CHECK(detail::worst_case_units<collective::allreduce>(doubling, doc, sums, 1 << log2, 0) ==
              2 * ((1 << log2) - 1));
    CHECK(detail::worst_case_units<collective::allreduce>(doubling, doc, sums, 3, 0) == 4);
    CHECK(detail::worst_case_units<collective::allreduce>(doubling, doc, sums, 5, 0) == 8);
    CHECK(detail::worst_case_units<collective::allreduce>(doubling, doc, sums, 7, 0) == 10);
    CHECK(detail::worst_case_units<collective::allreduce>(doubling, doc, sums, 13, 0) == 20);
    static_assert(
        detail::worst_case_units<collective::allreduce>(schedule_view<ring_allgather>, doc, sums, 1, 0) == 0);
}

TEST_CASE("data that only move are encoded once: the short cut agrees with the machine", "[engine][error]")
{
    const auto machine = [](const schedule& s, auto before_after, int p, int root) {
        using call = decltype(before_after);
        double worst = 0;
        for (int block = 0; block < s.blocks(p); ++block) {
            detail::error_machine m{doc, sums, detail::array_of<detail::error_machine::cell>(p)};
            walk_block(s, p, root, block, m);
            for (int me = 0; me < p; ++me)
                if (call::after(me, root, s.blocks(p)).contains(block, s.blocks(p)))
                    worst = std::max(worst, m.result(me));
        }
        return worst;
    };
    for (int p = 2; p <= 33; ++p)
        for (int root : {0, p - 1, p / 2}) {
            CHECK(machine(schedule_view<ring_allgather>, collective::allgather{}, p, root) == 1);
            CHECK(machine(schedule_view<binomial_bcast>, collective::bcast{}, p, root) == 1);
            CHECK(machine(schedule_view<binomial_scatter>, collective::scatter{}, p, root) == 1);
            CHECK(machine(schedule_view<binomial_gather>, collective::gather{}, p, root) == 1);
            CHECK(detail::worst_case_units<collective::scatter>(schedule_view<binomial_scatter>, doc, sums, p,
                                                                root) == 1);
        }
}

TEST_CASE("in a schedule that rotates, one block is like all others", "[engine][error]")
{
    schedule slow = ring;
    slow.worst_block = [](int, int) { return unknown_block; };
    for (int p = 1; p <= 16; ++p)
        for (placement_rules rules : {doc, per_hop, add})
            CHECK(detail::worst_case_units<collective::allreduce>(ring, rules, sums, p, 0) ==
                  detail::worst_case_units<collective::allreduce>(slow, rules, sums, p, 0));
}

TEST_CASE("the probable error is C-Coll's", "[engine][error]")
{
    CHECK(detail::probable_units(100, sums) == Approx(20.0 / 3));  // the paper's example: 100 nodes
    CHECK(detail::probable_units(1, sums) == Approx(2.0 / 3));
    CHECK(detail::probable_units(2, selects) == Approx(2.0 / 3));  // Theorem 2: variance 2 - 4/4
    CHECK(detail::probable_units(4, selects) == Approx(2.0 / 3 * std::sqrt(1.625)));  // 2 - 6/16
    CHECK(detail::probable_units(100, selects) == Approx(2.0 / 3 * std::sqrt(2.0)));
    CHECK(detail::probable_units(0, sums) == 0);
    for (int p = 1; p <= 64; ++p) CHECK(detail::probable_units(p, sums) <= p);
}

}  // namespace error_model_cases
