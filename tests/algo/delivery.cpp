// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of `why_not_delivered`: it says nothing about correct schedules, and describes what is wrong with
// others.
#include "catalogue.hpp"

#include "support/catch.hpp"

namespace delivery_cases {

using namespace ccoll;
using catalogue::entry;
using catalogue::first_fault;

TEST_CASE("why_not_delivered finds no fault in the schedules of the library", "[algo]")
{
    for (const entry& e : catalogue::all())
        CHECK(first_fault(e, 40, [&](int p, int root) {
                  return e.why_not_delivered(e.path, p, root).empty();
              }) == "");
}

TEST_CASE("why_not_delivered and delivers agree if a step is omitted, duplicated or reversed", "[algo]")
{
    // A schedule consists of functions without state, so the changes to it are global variables.
    static schedule original;
    static int change, where;
    const schedule changed{
        [](int p) { return original.blocks(p); },
        [](int p) { return original.steps(p); },
        [](int me, int p, int root, int k) {
            step s = original.step_at(me, p, root, k);
            if (k != where) return s;
            if (change == 0) return step{};
            if (change == 1 && k > 0) return original.step_at(me, p, root, k - 1);
            if (change == 2)
                s.action = s.action == on_receive::reduce ? on_receive::replace : on_receive::reduce;
            if (change == 3) std::swap(s.send_to, s.recv_from);
            return s;
        },
        [](int p) { return original.widest(p); },
        [](int p, int root) { return original.worst_block(p, root); },
    };
    int wrong = 0;
    for (const entry& e : catalogue::all()) {
        original = e.path;
        for (const int p : {2, 3, 4, 7})
            for (where = 0; where < original.steps(p); ++where)
                for (change = 0; change < 4; ++change) {
                    const std::string why = e.why_not_delivered(changed, p, p - 1);
                    // A schedule in which a rank sends a block that it does not hold to `nobody` is wrong as
                    // well, and only one of the two functions checks this.
                    INFO(e.name << ", p " << p << ", step " << where << ", change " << change << ": '" << why
                                << "'");
                    if (e.delivers(changed, p, p - 1)) CHECK(why == "");
                    else CHECK(why != "");
                    wrong += !why.empty();
                }
    }
    CHECK(wrong > 500);  // of about a thousand; some of these schedules are still correct
}

TEST_CASE("why_not_delivered names ranks, blocks and steps", "[algo]")
{
    struct one_short : binomial_bcast {
        static constexpr int steps(int p) { return ceil_log2(p) - 1; }
    };
    struct too_wide : binomial_scatter {
        static constexpr int widest(int) { return 1; }
    };
    struct no_blocks : binomial_bcast {
        static constexpr int blocks(int) { return 0; }
    };
    struct two_blocks : ring_allgather {
        static constexpr int blocks(int) { return 2; }
    };
    struct far_away : binomial_bcast {
        static constexpr step step_at(int, int p, int, int) { return {p, nobody, {0, 1}, {}}; }
    };
    struct out_of_range : binomial_bcast {
        static constexpr step step_at(int, int, int, int) { return {nobody, nobody, {-3, 1}, {}}; }
    };
    struct forgets_rank_2 : linear_reduce {
        static constexpr step step_at(int me, int p, int root, int k)
        {
            step s = linear_reduce::step_at(me, p, root, k);
            if (s.send_to != nobody && me == 2) s = {};
            if (s.recv_from == 2) s = {};
            return s;
        }
    };
    struct has_nothing : binomial_bcast {
        static constexpr int steps(int) { return 1; }
        static constexpr step step_at(int me, int, int, int)
        {
            return me == 1 ? step{0, nobody, {0, 1}, {}} : me == 0 ? step{nobody, 1, {}, {0, 1}} : step{};
        }
    };
    CHECK(why_not_delivered<collective::bcast>(schedule_view<one_short>, 4, 0) ==
          "rank 2 misses block 0 of 1, after the last step");
    CHECK(why_not_delivered<collective::scatter>(schedule_view<too_wide>, 4, 0) ==
          "rank 0 sends 2 blocks in one message, and widest(p) is 1 in step 0");
    CHECK(why_not_delivered<collective::bcast>(schedule_view<no_blocks>, 4, 0) == "blocks(p) is 0");
    CHECK(why_not_delivered<collective::allgather>(schedule_view<two_blocks>, 3, 0) ==
          "blocks(p) is 2, but this collective has one block per rank");
    CHECK(why_not_delivered<collective::bcast>(schedule_view<far_away>, 3, 0) ==
          "rank 0 has the peer 3 in step 0");
    CHECK(why_not_delivered<collective::bcast>(schedule_view<out_of_range>, 3, 0) ==
          "rank 0 has a set of blocks that the vector does not have (it has 1) in step 0");
    CHECK(why_not_delivered<collective::reduce>(schedule_view<forgets_rank_2>, 4, 0) ==
          "rank 0 has block 0 of 1 without the contribution of rank 2, after the last step");
    CHECK(why_not_delivered<collective::bcast>(schedule_view<has_nothing>, 3, 0) ==
          "rank 1 sends block 0, which it does not hold, in step 0");
    struct short_ring : ring_allgather {
        static constexpr int steps(int p) { return p - 2; }
    };
    CHECK(why_not_delivered<collective::allgather>(schedule_view<short_ring>, 4, 0) ==
          "rank 3 misses block 0 of 4, after the last step");
}

}  // namespace delivery_cases
