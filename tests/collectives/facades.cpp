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
            const std::uint32_t word = detail::plan_word_of<collective, Plan<>, float>("Once");
            CHECK(words.insert(word).second);
            CHECK(detail::plan_word::unpacked(word).collective == static_cast<unsigned>(each.id));
        });
    CHECK(words.size() == detail::collective_count);
    CHECK(detail::what_differs(*words.begin(), *words.rbegin()) ==
          "expected allreduce, found neighbor_allgather");
}

}  // namespace facade_cases
