// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/collectives.hpp - floor 2. The list of all collectives. What must know every one of them follows from
// it: the numbers in stamps (agree/plan_word.hpp), the names that CCOLL_ALGO takes (tune/override.hpp), and
// calls that are described by values (ccoll/dynamic.hpp). What a collective promises is in its tag
// (algo/collective.hpp, algo/neighbors.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <ccoll/algo/neighbors.hpp>

namespace ccoll::inline CCOLL_ABI {

// A line per collective, COLLECTIVE(number, tag), in the order of the numbers. The number is part of every
// stamp, so it never changes, and a new collective is added at the end. Beside its line it needs a tag that
// says what it promises, a schedule, a facade and a page; tests/collectives/facades.cpp and
// tests/docs/tables.cpp say what is missing.
#define CCOLL_EACH_COLLECTIVE(COLLECTIVE) \
    COLLECTIVE(0, allreduce)              \
    COLLECTIVE(1, reduce)                 \
    COLLECTIVE(2, reduce_scatter)         \
    COLLECTIVE(3, allgather)              \
    COLLECTIVE(4, bcast)                  \
    COLLECTIVE(5, scatter)                \
    COLLECTIVE(6, gather)                 \
    COLLECTIVE(7, alltoall)               \
    COLLECTIVE(8, scan)                   \
    COLLECTIVE(9, exscan)                 \
    COLLECTIVE(10, neighbor_alltoall)     \
    COLLECTIVE(11, neighbor_allgather)

/// A collective as a value. The values are stable. A variant with counts is the same collective.
enum class collective_id : std::uint8_t {
#define CCOLL_COLLECTIVE(number, tag) tag = number,
    CCOLL_EACH_COLLECTIVE(CCOLL_COLLECTIVE)
#undef CCOLL_COLLECTIVE
};

namespace detail {

/// A line of the list. The rest of the facts are those of the tag.
struct collective_line {
    collective_id id;
    const char* name;
    const char* varied_name;  ///< of the variant with counts; `name` if there is none
    bool reduces, rooted, over_edges;

    constexpr bool takes_counts() const { return std::string_view(name) != varied_name; }
};

/// All of them. The index is the number.
inline constexpr collective_line all_collectives[] = {
#define CCOLL_COLLECTIVE(number, tag)                                                 \
    {collective_id::tag,       collective::tag::name,   collective::tag::varied_name, \
     collective::tag::reduces, collective::tag::rooted, is_over_edges<collective::tag>},
    CCOLL_EACH_COLLECTIVE(CCOLL_COLLECTIVE)
#undef CCOLL_COLLECTIVE
};
inline constexpr std::size_t collective_count = std::size(all_collectives);

/// Their names, in the order of the numbers.
inline constexpr std::array<std::string_view, collective_count> collective_names = [] {
    std::array<std::string_view, collective_count> names;
    for (std::size_t i = 0; i < collective_count; ++i) names[i] = all_collectives[i].name;
    return names;
}();

/// Is a tag one of the list? Others are those of authors of collectives.
template <class Collective>
inline constexpr bool is_listed = false;
/// The value of a tag of the list.
template <class Collective>
    requires is_listed<Collective>
inline constexpr collective_id id_of{};
#define CCOLL_COLLECTIVE(number, tag)                        \
    template <>                                              \
    inline constexpr bool is_listed<collective::tag> = true; \
    template <>                                              \
    inline constexpr collective_id id_of<collective::tag> = collective_id::tag;
CCOLL_EACH_COLLECTIVE(CCOLL_COLLECTIVE)
#undef CCOLL_COLLECTIVE

static_assert([] {
    unsigned next = 0;
    for (const collective_line& each : all_collectives)
        if (static_cast<unsigned>(each.id) != next++) return false;
    return true;
}());

}  // namespace detail

/// Whether a value that came from outside is one of the list.
constexpr bool is_known(collective_id which)
{
    return static_cast<std::size_t>(which) < detail::collective_count;
}

/// "allreduce", ...; "" for a value that is none of the list.
constexpr std::string_view name_of(collective_id which)
{
    return is_known(which) ? detail::collective_names[static_cast<std::size_t>(which)] : std::string_view{};
}

/// @param name  of a collective, or of its variant with counts ("alltoallv")
/// @return      nothing if no collective has this name
constexpr std::optional<collective_id> collective_from_name(std::string_view name)
{
    for (const detail::collective_line& each : detail::all_collectives)
        if (name == each.name || name == each.varied_name) return each.id;
    return std::nullopt;
}

/// Calls `visit` with the tag of a collective, and returns what it returns, which must have one type for all
/// tags. A program that passes a value that is none of the list is ended.
template <class Visitor>
constexpr decltype(auto) with_collective(collective_id which, Visitor&& visit)
{
    switch (which) {
#define CCOLL_COLLECTIVE(number, tag) \
    case collective_id::tag: return std::forward<Visitor>(visit)(collective::tag{});
        CCOLL_EACH_COLLECTIVE(CCOLL_COLLECTIVE)
#undef CCOLL_COLLECTIVE
    }
    std::abort();
}

}  // namespace ccoll::inline CCOLL_ABI
