// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ccoll/algo/collectives.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace collectives_cases {

using namespace ccoll;

TEST_CASE("the numbers of collectives stay as they are, because stamps contain them", "[algo]")
{
    const std::string_view in_order[] = {"allreduce",
                                         "reduce",
                                         "reduce_scatter",
                                         "allgather",
                                         "bcast",
                                         "scatter",
                                         "gather",
                                         "alltoall",
                                         "scan",
                                         "exscan",
                                         "neighbor_alltoall",
                                         "neighbor_allgather"};
    std::uint8_t number = 0;
    for (const std::string_view name : in_order) CHECK(name_of(collective_id{number++}) == name);
}

TEST_CASE("a collective is found by its name, and by that of its variant with counts", "[algo]")
{
    for (const detail::collective_line& each : detail::all_collectives) {
        CHECK(collective_from_name(each.name) == each.id);
        CHECK(collective_from_name(each.varied_name) == each.id);
        CHECK(collective_from_name(name_of(each.id)) == each.id);
    }
    CHECK(collective_from_name("alltoallv") == collective_id::alltoall);
    for (const std::string_view wrong : {"", "Allreduce", "allreduc", "allreduces", "*"})
        CHECK_FALSE(collective_from_name(wrong));
}

TEST_CASE("a value that is none of the list has no name", "[algo]")
{
    const collective_id beyond{detail::collective_count};
    CHECK_FALSE(is_known(beyond));
    CHECK(name_of(beyond).empty());
    CHECK(is_known(collective_id::allreduce));
}

TEST_CASE("a value leads to the tag with its name and its facts", "[algo]")
{
    for (const detail::collective_line& each : detail::all_collectives)
        with_collective(each.id, [&](auto tag) {
            using collective = decltype(tag);
            CHECK(std::string_view(collective::name) == each.name);
            CHECK(detail::id_of<collective> == each.id);
            CHECK(collective::reduces == each.reduces);
            CHECK(collective::rooted == each.rooted);
            CHECK(detail::is_over_edges<collective> == each.over_edges);
        });
    static_assert(with_collective(collective_id::scan, [](auto tag) { return decltype(tag)::partial; }));
    static_assert(with_collective(collective_id::alltoall, [](auto tag) {
        return std::is_same_v<decltype(tag), collective::alltoall>;
    }));
}

}  // namespace collectives_cases
