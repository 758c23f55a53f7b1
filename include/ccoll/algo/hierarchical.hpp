// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// algo/hierarchical.hpp - floor 2. Hierarchical<Inner, Outer>: only one rank of every node talks to other
// nodes.
//
// This is not a schedule of its own but up to three collectives, one after the other (call/hierarchy.hpp).
// The error model and the rules of a plan see only the schedule between nodes. Within a node nothing is
// lossy, except that encoded streams are added there as well, and the number of ranks counts then.
#pragma once

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {
template <class Tag>
inline constexpr bool is_hierarchical = false;
template <class Inner, class Outer>
inline constexpr bool is_hierarchical<policies::Algo::Hierarchical<Inner, Outer>> = true;

template <class Tag>
concept goes_up_and_down = has_schedule<Tag, collective::reduce> && has_schedule<Tag, collective::bcast>;
}  // namespace detail

template <detail::goes_up_and_down Inner, class Outer>
    requires has_schedule<Outer, collective::allreduce>
struct schedule_for<policies::Algo::Hierarchical<Inner, Outer>, collective::allreduce>
    : schedule_for<Outer, collective::allreduce> {};
template <detail::goes_up_and_down Inner, class Outer>
    requires has_schedule<Outer, collective::reduce>
struct schedule_for<policies::Algo::Hierarchical<Inner, Outer>, collective::reduce>
    : schedule_for<Outer, collective::reduce> {};
template <detail::goes_up_and_down Inner, class Outer>
    requires has_schedule<Outer, collective::bcast>
struct schedule_for<policies::Algo::Hierarchical<Inner, Outer>, collective::bcast>
    : schedule_for<Outer, collective::bcast> {};

}  // namespace ccoll
