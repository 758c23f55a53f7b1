// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// plan/auto_algo.hpp - floor 3. What Algo::Auto stands for: per collective a list of algorithms and a
// chooser, which is a rule of bytes and p. It measures nothing.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include <ccoll/algo/neighbors.hpp>
#include <ccoll/policy/chooser.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Algorithms to choose from. The first one is the default: it is used where the choice must not depend on
/// the length.
template <class... Algos>
struct algo_list {};

template <class Algo, class List>
inline constexpr bool is_one_of = false;
template <class Algo, class... Algos>
inline constexpr bool is_one_of<Algo, algo_list<Algos...>> = (false || ... || std::is_same_v<Algo, Algos>);

/// All algorithms that the library has schedules for.
using library_algos =
    algo_list<policies::Algo::Ring, policies::Algo::RecursiveDoubling, policies::Algo::Rabenseifner,
              policies::Algo::Binomial, policies::Algo::ScatterAllgather, policies::Algo::Chain,
              policies::Algo::Linear, policies::Algo::Bruck, policies::Algo::Pairwise,
              policies::Algo::Spread>;

/// `algos` and, if there is more than one, `choose`. By default: rings where every rank ends with all data or
/// with a share of it, because rings move the fewest bytes; trees where there is a root.
template <class Collective>
struct auto_rule {
    using usual = std::conditional_t<has_schedule<policies::Algo::Ring, Collective>, policies::Algo::Ring,
                                     std::conditional_t<has_schedule<policies::Algo::Binomial, Collective>,
                                                        policies::Algo::Binomial, policies::Algo::Pairwise>>;
    using algos = algo_list<usual>;
};

/// Between neighbours.
struct only_spread {
    using usual = policies::Algo::Spread;
    using algos = algo_list<usual>;
};
template <>
struct auto_rule<collective::neighbor_alltoall> : only_spread {};
template <>
struct auto_rule<collective::neighbor_allgather> : only_spread {};

/// Short vectors need few steps. Measured with SZp at ratio 4.8, 4 ranks on 1 Gb/s links (ring / recursive
/// doubling): 16 KiB 0.44 / 0.24 ms, 64 KiB 0.47 / 0.24, 128 KiB 0.56 / 0.34, 256 KiB 0.75 / 0.80. If p is
/// not a power of two, there are two more steps with the whole vector.
template <>
struct auto_rule<collective::allreduce> {
    using usual = policies::Algo::Ring;
    using algos = algo_list<usual, policies::Algo::RecursiveDoubling>;
    static constexpr std::size_t choose(const choice_facts& facts)
    {
        const bool power_of_two = floor_power2(facts.ranks) == facts.ranks;
        return facts.bytes <= (power_of_two ? std::size_t{128} << 10 : std::size_t{32} << 10) ? 1 : 0;
    }
};

/// Recursive doubling moves as many bytes as a ring, in log2(p) steps. In a ring long vectors travel in
/// slices between neighbours.
template <>
struct auto_rule<collective::allgather> {
    using usual = policies::Algo::Ring;
    using algos = algo_list<usual, policies::Algo::RecursiveDoubling>;
    static constexpr std::size_t choose(const choice_facts& facts)
    {
        return facts.bytes <= std::size_t{128} << 10 ? 1 : 0;
    }
};

/// In a chain every rank sends a long vector once instead of log2(p) times, but short vectors do not fill a
/// line of p ranks. Measured with SZp at ratio 5.2, bcast, 4 ranks on 1 Gb/s links (tree / chain): 1 MiB 3.2
/// / 1.8 ms, 4 MiB 13.6 / 7.4, 16 MiB 54 / 28. With S slices of 256 KiB, a line of p ranks takes the time of
/// p - 2 + S slices, and a tree that of S log2(p).
struct chain_if_long {
    using usual = policies::Algo::Binomial;
    using algos = algo_list<usual, policies::Algo::Chain>;
    static constexpr std::size_t choose(const choice_facts& facts)
    {
        return facts.ranks > 2 &&
                       facts.bytes >= static_cast<std::size_t>(facts.ranks) * (std::size_t{128} << 10)
                   ? 1
                   : 0;
    }
};
template <>
struct auto_rule<collective::bcast> : chain_if_long {};
template <>
struct auto_rule<collective::reduce> : chain_if_long {};

/// The same for prefixes, where recursive doubling has the depth of a tree: it sends the vector log2(p)
/// times, a line once.
struct line_if_long {
    using usual = policies::Algo::RecursiveDoubling;
    using algos = algo_list<usual, policies::Algo::Chain>;
    static constexpr std::size_t choose(const choice_facts& facts) { return chain_if_long::choose(facts); }
};
template <>
struct auto_rule<collective::scan> : line_if_long {};
template <>
struct auto_rule<collective::exscan> : line_if_long {};

/// What a rule takes for long vectors.
template <class Rule, class Algos = typename Rule::algos>
struct algo_for_long;
template <class Rule, class... Algos>
struct algo_for_long<Rule, algo_list<Algos...>> {
    static constexpr std::size_t chosen()
    {
        if constexpr (sizeof...(Algos) == 1) return 0;
        else return Rule::choose({{}, std::size_t{1} << 30, 8, {}});
    }
    using type = std::tuple_element_t<chosen(), std::tuple<Algos...>>;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
