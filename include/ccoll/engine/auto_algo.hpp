// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/auto_algo.hpp - floor 3. What Algo::Auto stands for: a rule of collective, bytes and p. It measures nothing.
#pragma once

#include <cstddef>
#include <type_traits>

#include <ccoll/algo/collective.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// `usual`: rings where every rank ends with (a share of) everybody's data, for they move the fewest bytes; trees where there is a root.
/// `other`, where there is one: for vectors of `bytes` (all of them, before encoding) that `takes_other` picks.
template <class Collective>
struct auto_rule {
    using usual = std::conditional_t<has_schedule<policies::Algo::Ring, Collective>, policies::Algo::Ring,
                                     std::conditional_t<has_schedule<policies::Algo::Binomial, Collective>, policies::Algo::Binomial, policies::Algo::Pairwise>>;
};

/// Few steps for short vectors. Measured with SZp at ratio 4.8, 4 ranks on 1 Gb/s links (ring / recursive doubling): 16 KiB 0.44 / 0.24 ms,
/// 64 KiB 0.47 / 0.24, 128 KiB 0.56 / 0.34, 256 KiB 0.75 / 0.80. Where p is no power of two, the whole vector goes two steps more.
template <>
struct auto_rule<collective::allreduce> {
    using usual = policies::Algo::Ring;
    using other = policies::Algo::RecursiveDoubling;
    static constexpr bool takes_other(std::size_t bytes, int p) { return bytes <= (floor_power2(p) == p ? std::size_t{128} << 10 : std::size_t{32} << 10); }
};

/// As many bytes as a ring in log2(p) steps; long vectors go in slices between neighbours.
template <>
struct auto_rule<collective::allgather> {
    using usual = policies::Algo::Ring;
    using other = policies::Algo::RecursiveDoubling;
    static constexpr bool takes_other(std::size_t bytes, int) { return bytes <= std::size_t{128} << 10; }
};

/// Every rank sends a long vector once, not log2(p) times; short ones do not fill the line of p ranks. Measured with SZp at ratio 5.2,
/// bcast, 4 ranks on 1 Gb/s links (tree / chain): 1 MiB 3.2 / 1.8 ms, 4 MiB 13.6 / 7.4, 16 MiB 54 / 28. With slices of 256 KiB a
/// line of p ranks takes p - 2 + S slices' time, a tree S log2(p).
struct chain_if_long {
    using usual = policies::Algo::Binomial;
    using other = policies::Algo::Chain;
    static constexpr bool takes_other(std::size_t bytes, int p) { return p > 2 && bytes >= static_cast<std::size_t>(p) * (std::size_t{128} << 10); }
};
template <> struct auto_rule<collective::bcast> : chain_if_long {};
template <> struct auto_rule<collective::reduce> : chain_if_long {};

}  // namespace ccoll::inline CCOLL_ABI::detail
