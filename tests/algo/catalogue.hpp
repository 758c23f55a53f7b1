// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every schedule of the library with what its documentation promises: the steps, and the blocks sent by the
// busiest rank and by all ranks. The figures are closed forms, written from the papers and not from the code.
#pragma once

#include <ccoll/algo/binomial.hpp>
#include <ccoll/algo/bruck.hpp>
#include <ccoll/algo/chain.hpp>
#include <ccoll/algo/delivery.hpp>
#include <ccoll/algo/linear.hpp>
#include <ccoll/algo/pairwise.hpp>
#include <ccoll/algo/prefix.hpp>
#include <ccoll/algo/rabenseifner.hpp>
#include <ccoll/algo/recursive.hpp>
#include <ccoll/algo/ring.hpp>
#include <ccoll/algo/scatter_allgather.hpp>
#include <ccoll/algo/spread.hpp>
#include <ccoll/algo/walk.hpp>

#include <algorithm>
#include <bit>
#include <string>
#include <type_traits>
#include <vector>

namespace catalogue {

using namespace ccoll;
using namespace ccoll::policies;

struct entry {
    std::string name;
    schedule path;
    bool (*delivers)(const schedule&, int p, int root);
    std::string (*why_not_delivered)(const schedule&, int p, int root);
    block_set (*after)(int me, int root, int blocks);
    bool rooted, same_bits;  ///< same_bits: MPI says that all ranks end with the same values
    bool rotates;            ///< so the schedule says
    int (*steps)(int p);
    int (*busiest)(int p);  ///< blocks sent by the rank that sends most
    int (*total)(int p);    ///< blocks sent by all ranks together
};

template <class Algo, class Collective>
entry listed(int (*steps)(int), int (*busiest)(int), int (*total)(int))
{
    constexpr bool same_bits = std::is_same_v<Collective, collective::allreduce> ||
                               std::is_same_v<Collective, collective::allgather> ||
                               std::is_same_v<Collective, collective::bcast>;
    return {std::string(Algo::name) + " " + Collective::name,
            schedule_view<schedule_for<Algo, Collective>>,
            &delivers<Collective>,
            &why_not_delivered<Collective>,
            &Collective::after,
            Collective::rooted,
            same_bits,
            detail::rotates_of<schedule_for<Algo, Collective>>(),
            steps,
            busiest,
            total};
}

inline int log2_up(int p) { return static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1))); }
inline int log2_down(int p) { return static_cast<int>(std::bit_width(static_cast<unsigned>(p))) - 1; }
inline int core(int p) { return 1 << log2_down(p); }  ///< the largest power of two that is at most p
inline int extra(int p) { return p - core(p); }
inline int some(int n) { return n > 0 ? 1 : 0; }
inline int others(int p) { return p - 1; }
inline int everyone_all_others(int p) { return p * (p - 1); }
inline int all_ranks_but_one_once(int p) { return p - 1; }
inline int one(int p) { return some(p - 1); }

/// How many ranks are in the subtree of a rank of a binomial tree, whose number relative to the root is
/// `relative`.
inline int subtree(int p, int relative)
{
    return relative == 0 ? p : std::min(relative & -relative, p - relative);
}
inline int all_subtrees(int p)
{
    int sum = 0;
    for (int r = 1; r < p; ++r) sum += subtree(p, r);
    return sum;
}
inline int largest_subtree(int p)
{
    int most = 0;
    for (int r = 1; r < p; ++r) most = std::max(most, subtree(p, r));
    return most;
}
/// How many hops all blocks of one rank make, if block j makes one hop for each bit that is set in j.
inline int bruck_hops(int p)
{
    int sum = 0;
    for (int j = 1; j < p; ++j) sum += std::popcount(static_cast<unsigned>(j));
    return sum;
}

/// Ranks that have another one at distance 1, 2, 4, ... behind them.
inline int doubled_prefixes(int p)
{
    int sum = 0;
    for (int distance = 1; distance < p; distance *= 2) sum += p - distance;
    return sum;
}

inline std::vector<entry> all()
{
    namespace c = collective;
    const auto bruck_total = [](int p) { return p * bruck_hops(p); };
    return {
        listed<Algo::Ring, c::reduce_scatter>(others, others, everyone_all_others),
        listed<Algo::Ring, c::allgather>(others, others, everyone_all_others),
        listed<Algo::Ring, c::allreduce>([](int p) { return 2 * (p - 1); }, [](int p) { return 2 * (p - 1); },
                                         [](int p) { return 2 * p * (p - 1); }),
        listed<Algo::RecursiveDoubling, c::allreduce>(
            [](int p) { return log2_down(p) + 2 * some(extra(p)); },
            [](int p) { return log2_down(p) + some(extra(p)); },
            [](int p) { return core(p) * log2_down(p) + 2 * extra(p); }),
        listed<Algo::RecursiveDoubling, c::allgather>(log2_up, others, everyone_all_others),
        // A core rank sends all blocks but its own, twice. A neighbour of an extra rank sends all of them
        // once more.
        listed<Algo::Rabenseifner, c::allreduce>(
            [](int p) { return 2 * log2_down(p) + 2 * some(extra(p)); },
            [](int p) { return 2 * (core(p) - 1) + some(extra(p)) * core(p); },
            [](int p) { return 2 * core(p) * (core(p) - 1) + 2 * extra(p) * core(p); }),
        // In the gather, half of the core sends one block, a quarter sends two, and so on: half of the vector
        // in each step.
        listed<Algo::Rabenseifner, c::reduce>([](int p) { return 2 * log2_down(p) + some(extra(p)); },
                                              [](int p) { return core(p) - 1 + core(p) / 2; },
                                              [](int p) {
                                                  const int halved = core(p) * (core(p) - 1),
                                                            gathered = log2_down(p) * core(p) / 2;
                                                  return halved + gathered + extra(p) * core(p);
                                              }),
        // A core rank sends all blocks but its own. In a pair it keeps its neighbour's block, too, and sends
        // it at the end.
        listed<Algo::Rabenseifner, c::reduce_scatter>([](int p) { return log2_down(p) + 2 * some(extra(p)); },
                                                      [](int p) { return p - 1 + some(extra(p)); },
                                                      [](int p) { return core(p) * (p - 1) + extra(p) * p; }),
        listed<Algo::Binomial, c::bcast>(log2_up, log2_up, all_ranks_but_one_once),
        listed<Algo::Binomial, c::reduce>(log2_up, one, all_ranks_but_one_once),
        listed<Algo::Binomial, c::scatter>(log2_up, others, all_subtrees),
        listed<Algo::Binomial, c::gather>(log2_up, largest_subtree, all_subtrees),
        // In the ring, a rank with a subtree of s ranks receives p - s blocks.
        listed<Algo::ScatterAllgather, c::bcast>(
            [](int p) { return log2_up(p) + p - 1; }, [](int p) { return 2 * (p - 1); },
            [](int p) { return all_subtrees(p) + p * p - (p + all_subtrees(p)); }),
        listed<Algo::Chain, c::bcast>(others, one, all_ranks_but_one_once),
        listed<Algo::Chain, c::reduce>(others, one, all_ranks_but_one_once),
        listed<Algo::Linear, c::bcast>(others, others, all_ranks_but_one_once),
        listed<Algo::Linear, c::reduce>(others, one, all_ranks_but_one_once),
        listed<Algo::Linear, c::scatter>(others, others, all_ranks_but_one_once),
        listed<Algo::Linear, c::gather>(others, one, all_ranks_but_one_once),
        listed<Algo::Bruck, c::allgather>(log2_up, others, everyone_all_others),
        listed<Algo::Bruck, c::alltoall>(log2_up, bruck_hops, bruck_total),
        listed<Algo::Pairwise, c::alltoall>(others, others, everyone_all_others),
        listed<Algo::Spread, c::alltoall>(others, others, everyone_all_others),
        listed<Algo::Chain, c::scan>(others, one, all_ranks_but_one_once),
        listed<Algo::RecursiveDoubling, c::scan>(log2_up, log2_up, doubled_prefixes),
        // Every vector moves to the next rank first. What follows is a scan without rank 0.
        listed<Algo::Chain, c::exscan>(
            others, [](int p) { return some(p - 1) + some(p - 2); },
            [](int p) { return p > 1 ? p - 1 + p - 2 : 0; }),
        listed<Algo::RecursiveDoubling, c::exscan>(
            [](int p) { return p > 1 ? 1 + log2_up(p - 1) : 0; },
            [](int p) { return p > 1 ? 1 + log2_up(p - 1) : 0; },
            [](int p) { return p > 1 ? p - 1 + doubled_prefixes(p - 1) : 0; }),
    };
}

/// The roots to test: all of them if there are few ranks, otherwise the first, the last, and some in between,
/// also where trees and cores end.
inline std::vector<int> roots(const entry& e, int p)
{
    if (!e.rooted) return {0};
    std::vector<int> some_roots;
    for (int root = 0; root < p; ++root)
        if (p <= 12 || root <= 1 || root == p / 2 || root == p - 1 || root == 2 * extra(p))
            some_roots.push_back(root);
    return some_roots;
}

/// Calls `check(p, root)` for p in 1..most.
/// @return the first (p, root) for which it is false, as text; empty if there is none
template <class Check>
std::string first_fault(const entry& e, int most, Check check)
{
    for (int p = 1; p <= most; ++p)
        for (int root : roots(e, p))
            if (!check(p, root))
                return e.name + ", p " + std::to_string(p) + ", root " + std::to_string(root);
    return "";
}

}  // namespace catalogue
