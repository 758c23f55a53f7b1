// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every collective of the list has a facade in its three forms, a schedule that Algo::Auto takes, and a word
// of its own in stamps.
#include <set>
#include <string>

#include "support/catch.hpp"

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

namespace facade_cases {

using namespace ccoll;

// A name that is missing does not compile.
#define CCOLL_COLLECTIVE(number, tag) \
    using ccoll::tag;                 \
    using ccoll::i##tag;              \
    using ccoll::tag##_init;
CCOLL_EACH_COLLECTIVE(CCOLL_COLLECTIVE)
#undef CCOLL_COLLECTIVE

TEST_CASE("every collective has a schedule that Algo::Auto takes, and its plans have a word of their own",
          "[list]")
{
    std::set<std::uint32_t> words;
    for (const detail::collective_line& each : detail::all_collectives)
        with_collective(each.id, [&](auto tag) {
            using collective = decltype(tag);
            CHECK(has_schedule<typename detail::auto_rule<collective>::usual, collective>);
            constexpr std::uint32_t word = detail::plan_word_of<collective, Plan<>, float>("Once");
            CHECK(words.insert(word).second);
            CHECK(detail::plan_word::unpacked(word).collective == static_cast<unsigned>(each.id));
        });
    CHECK(words.size() == detail::collective_count);
    constexpr std::uint32_t first = detail::plan_word_of<collective::allreduce, Plan<>, float>("Once");
    constexpr std::uint32_t other = detail::plan_word_of<collective::exscan, Plan<>, float>("Once");
    CHECK(detail::what_differs(first, other) == "expected allreduce, found exscan");
}

TEST_CASE("plan words of the first twelve collectives are as the page draws them, and others have room",
          "[list]")
{
    using detail::plan_word;
    for (unsigned number = 0; number < 12; ++number)
        for (unsigned placement = 0; placement < 4; ++placement)
            for (unsigned check = 0; check < 3; ++check)
                for (unsigned bound = 0; bound < 7; ++bound) {
                    const plan_word plan{3, 1, 17, placement, check, bound, number};
                    const std::uint32_t word = plan.packed();
                    CHECK(word == (3u | 1u << 8 | 17u << 16 |
                                   (placement + 4 * (check + 3 * (bound + 7 * number))) << 22));
                    const plan_word read = plan_word::unpacked(word);
                    CHECK((read.codec == 3 && read.dtype == 1 && read.op == 17));
                    CHECK((read.placement == placement && read.check == check && read.bound == bound));
                    CHECK(read.collective == number);
                }
    for (unsigned number = 12; number < 28; ++number) {
        const std::uint32_t word = plan_word{3, 1, 17, 0, 0, 0, number}.packed();
        const plan_word read = plan_word::unpacked(word);
        CHECK((read.codec == 3 && read.dtype == 1 && read.collective == number));
        CHECK(read.packed() == word);
        CHECK(word >> 22 == 1008 + number - 12);
        for (unsigned policies = 1; policies < 12; ++policies)
            CHECK(plan_word{3, 1, 17, policies % 4, policies / 4, 0, number}.packed() != word);
        CHECK(detail::what_differs(word, plan_word{3, 1, 18, 0, 0, 0, number}.packed()) ==
              "their operations, placements, kinds of bound or checks differ");
    }
    static_assert(detail::foreign_collective == 27);
}

}  // namespace facade_cases
