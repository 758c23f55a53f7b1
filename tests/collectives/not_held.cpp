// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums that cannot be held encoded. In an allreduce, where all ranks see all sums, their part is exact and
// the rest is within its bound. In all other reductions everything is exact. All ranks say the same.
#include <numeric>

#include "worlds.hpp"

#include <ccoll/scan.hpp>

namespace not_held_cases {

using namespace ccoll::policies;
using namespace worlds;
using E = ErrorBound<1e-3>;

namespace {

/// Numbers, and from element `at` on more different values far from 0 than a sum can hold. A rank alone may
/// be able to hold its own.
template <class T>
std::vector<std::vector<T>> inputs_with_huge_values(int p, std::size_t n, std::size_t at = 7)
{
    std::vector<std::vector<T>> all;
    for (int r = 0; r < p; ++r) {
        auto x = fields::smooth<T>(n, static_cast<unsigned>(r + 1));
        for (std::size_t k = 0; k < 600; ++k)
            if (static_cast<int>(k) % p == r && at + k < n)
                x[at + k] = static_cast<T>(1e20 * (static_cast<double>(k) + 1) * (k % 7 < 3 ? -1 : 1));
        all.push_back(std::move(x));
    }
    return all;
}

/// @param got    elements `at`, `at` + 1, ... of the sum over the first `ranks` ranks, divided by `divisor`
/// @param worst  besides rounding
template <class T>
std::size_t wrong_ones(const std::vector<std::vector<T>>& inputs, std::size_t ranks,
                       const std::vector<T>& got, std::size_t at, double worst, double divisor = 1)
{
    return oracle::judge_sums<T>(inputs, ranks, got, at, worst, divisor, ranks + 1, nullptr).wrong;
}

/// What all ranks of a call report of which only a part was exact.
template <class T>
void check_reports(const std::vector<seen<T>>& all, std::size_t most_chunks)
{
    for (const seen<T>& mine : all) {
        CHECK((mine.guards && mine.send_kept && mine.facts.trouble.ok()));
        CHECK_FALSE(mine.facts.exact);
        CHECK(mine.facts.codec == std::string("SZp"));
        CHECK(mine.facts.placement == std::string("Homomorphic"));
        CHECK(mine.facts.worst_case_error == all[0].facts.worst_case_error);
        CHECK(mine.facts.fallback_blocks >= 1);
        CHECK(mine.facts.fallback_blocks <= most_chunks);
    }
}
/// What all ranks of a call report that was exact.
template <class T>
void check_exact(const std::vector<seen<T>>& all)
{
    for (const seen<T>& mine : all) {
        CHECK((mine.guards && mine.send_kept && mine.facts.trouble.ok()));
        CHECK(mine.facts.exact);
        CHECK(mine.facts.codec == std::string("None"));
        CHECK(mine.facts.worst_case_error == 0);
    }
}

/// Runs `call(send, to, comm)` on a rank for each input.
/// @param length  of the result of a rank
template <class T, class Length, class Call>
std::vector<seen<T>> on_ranks(const std::vector<std::vector<T>>& inputs, bool in_place, Length length,
                              Call call)
{
    return run<seen<T>>(static_cast<int>(inputs.size()), [=](threads_comm& comm, seen<T>& mine) {
        const std::vector<T>& input = inputs[static_cast<std::size_t>(comm.rank())];
        guarded<T> send(input), recv(length(comm.rank()));
        const bool both = in_place && recv.span().size() > 0;
        guarded<T>& result = both ? send : recv;
        mine.facts = call(std::span<const T>(send.span()), result.span(), comm);
        mine.guards = send.intact() && recv.intact();
        mine.send_kept = both || oracle::same_bits(send.values(), input);
        mine.result = result.values();
    });
}

constexpr std::size_t lengths[] = {20000, 300000};  // below 1 MiB of floats, and above
constexpr std::size_t chunks_of_a_slice = 8;

}  // namespace

TEMPLATE_TEST_CASE("An allreduce is exact where sums cannot be held", "[homomorphic][not_held]", float,
                   double)
{
    using T = TestType;
    for (const int p : {2, 3, 8})
        for (const std::size_t n : lengths) {
            const bool in_place = p == 3;
            INFO("p " << p << ", n " << n << (in_place ? ", in place" : ""));
            auto inputs = inputs_with_huge_values<T>(p, n);
            const auto more = inputs_with_huge_values<T>(p, n, n - 2000);  // another part
            for (std::size_t r = 0; r < inputs.size(); ++r)
                std::copy(more[r].end() - 2000, more[r].end(), inputs[r].end() - 2000);
            const auto check = [&](const std::vector<seen<T>>& all, double divisor) {
                if (n > 100000 || !all[0].facts.exact) check_reports(all, n / 8192 + 1);
                else check_exact(all);  // there is only one slice
                for (const seen<T>& mine : all) CHECK(oracle::same_bits(mine.result, all[0].result));
                CHECK(wrong_ones(inputs, inputs.size(), all[0].result, 0, all[0].facts.worst_case_error,
                                 divisor) == 0);
                if (n > 100000) CHECK(all[0].facts.sent_bytes < all[0].facts.raw_bytes);
            };
            const setting s{p, 0, n, in_place};
            check(collect<all_reduce, T, Codec::SZp, E, Algo::Ring>(s, inputs), 1);
            check(
                collect<all_reduce, T, Codec::SZp, E, Algo::Ring, Op::Average, Check::Collective>(s, inputs),
                p);
            check(collect<all_reduce, T, Codec::SZp, RelativeBound<1e-30>, Algo::Ring>(s, inputs), 1);
            check(collect<all_reduce, T, Codec::SZp, E, Algo::RecursiveDoubling, Check::Local>(s, inputs), 1);
            check(collect<all_reduce, T, Codec::SZp, E, Algo::Rabenseifner, Op::Average>(s, inputs), p);
        }
}

TEMPLATE_TEST_CASE("A reduce is exact if a sum cannot be held", "[homomorphic][not_held]", float, double)
{
    using T = TestType;
    for (const int p : {2, 3, 8})
        for (const std::size_t n : lengths) {
            const bool in_place = p == 3;
            INFO("p " << p << ", n " << n << (in_place ? ", in place" : ""));
            const int root = p / 2;
            const auto inputs = inputs_with_huge_values<T>(p, n);
            const auto reduced = [=]<class... P>(ccoll::Plan<P...>) {
                return on_ranks(
                    inputs, in_place, [=](int rank) { return rank == root ? n : 0; },
                    [=](auto send, auto to, threads_comm& comm) {
                        return ccoll::reduce<P...>(send, to, root, comm);
                    });
            };
            const auto check = [&](const std::vector<seen<T>>& all, double divisor) {
                check_exact(all);
                const seen<T>& at_root = all[static_cast<std::size_t>(root)];
                CHECK(at_root.result.size() == n);
                CHECK(wrong_ones(inputs, inputs.size(), at_root.result, 0, at_root.facts.worst_case_error,
                                 divisor) == 0);
            };
            check(reduced(ccoll::Plan<Codec::SZp, E, Algo::Binomial>{}), 1);
            check(reduced(ccoll::Plan<Codec::SZp, E, Algo::Chain, Op::Average, Check::Collective>{}), p);
            check(reduced(ccoll::Plan<Codec::SZp, RelativeBound<1e-30>>{}), 1);
        }
}

TEMPLATE_TEST_CASE("A reduce_scatter is exact if a sum cannot be held", "[homomorphic][not_held]", float,
                   double)
{
    using T = TestType;
    for (const int p : {2, 3, 8})
        for (const std::size_t whole : lengths)
            for (const auto& [in_place, in_last_part] : {std::pair{false, p == 8}, {true, p != 8}}) {
                const std::size_t n = whole / static_cast<std::size_t>(p),
                                  all_parts = n * static_cast<std::size_t>(p);
                INFO("p " << p << ", n " << n << (in_place ? ", in place" : "")
                          << (in_last_part ? ", in the last part" : ""));
                const auto inputs =
                    inputs_with_huge_values<T>(p, all_parts, in_last_part ? all_parts - 700 : 7);
                const auto check = [&](const std::vector<seen<T>>& all, double divisor) {
                    check_exact(all);
                    for (std::size_t r = 0; r < all.size(); ++r)
                        CHECK(wrong_ones(inputs, inputs.size(), all[r].result, r * n,
                                         all[r].facts.worst_case_error, divisor) == 0);
                };
                const setting s{p, 0, n, in_place};
                check(collect<reduce_scatter, T, Codec::SZp, E, Algo::Ring>(s, inputs), 1);
                check(collect<reduce_scatter, T, Codec::SZp, E, Op::Average, Check::Collective>(s, inputs),
                      p);
                check(collect<reduce_scatter, T, Codec::SZp, E, Check::Local>(s, inputs), 1);
            }
}

TEMPLATE_TEST_CASE("A reduce_scatter with counts is exact if a sum cannot be held", "[homomorphic][not_held]",
                   float, double)
{
    using T = TestType;
    for (const int p : {2, 5})
        for (const int scale : {1000, 20000}) {
            INFO("p " << p << ", parts of 0, " << scale << ", ... elements");
            std::vector<int> counts(static_cast<std::size_t>(p));
            for (int r = 0; r < p; ++r) counts[static_cast<std::size_t>(r)] = (p - 1 - r) * scale;
            const auto whole = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0));
            const auto inputs = inputs_with_huge_values<T>(p, whole, p == 2 ? 7 : whole - 700);
            const auto all = on_ranks(
                inputs, false,
                [=](int rank) { return static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]); },
                [=](auto send, auto to, threads_comm& comm) {
                    return ccoll::reduce_scatterv<Codec::SZp, E>(send, to, counts, comm);
                });
            check_exact(all);
            std::size_t at = 0;
            for (const seen<T>& mine : all) {
                CHECK(wrong_ones(inputs, inputs.size(), mine.result, at, mine.facts.worst_case_error) == 0);
                at += mine.result.size();
            }
        }
}

TEMPLATE_TEST_CASE("Prefixes are exact if a sum cannot be held", "[homomorphic][not_held][scan]", float,
                   double)
{
    using T = TestType;
    for (const int p : {2, 3, 8})
        for (const std::size_t n : lengths) {
            const bool in_place = p == 3;
            INFO("p " << p << ", n " << n << (in_place ? ", in place" : ""));
            const auto inputs = inputs_with_huge_values<T>(p, n);
            const auto prefixes = [=](auto call) {
                return on_ranks(
                    inputs, in_place, [=](int) { return n; },
                    [=](auto send, auto to, threads_comm& comm) {
                        return in_place ? call(to, comm) : call(send, to, comm);
                    });
            };
            const auto scanned = prefixes([](auto&&... a) { return ccoll::scan<Codec::SZp, E>(a...); });
            check_exact(scanned);
            for (std::size_t r = 0; r < scanned.size(); ++r)
                CHECK(wrong_ones(inputs, r + 1, scanned[r].result, 0, scanned[r].facts.worst_case_error) ==
                      0);
            const auto before =
                prefixes([](auto&&... a) { return ccoll::exscan<Codec::SZp, E, Algo::Chain>(a...); });
            CHECK(oracle::same_bits(before[0].result, in_place ? inputs[0] : std::vector<T>(n, T(-77))));
            for (std::size_t r = 1; r < before.size(); ++r)
                CHECK(wrong_ones(inputs, r, before[r].result, 0, before[r].facts.worst_case_error) == 0);
        }
}

TEMPLATE_TEST_CASE("Sums on two levels are exact where a sum cannot be held",
                   "[homomorphic][not_held][hierarchical]", float, double)
{
    using T = TestType;
    using two_levels = Algo::Hierarchical<Algo::Binomial, Algo::Ring>;
    for (const int p : {2, 3, 8})
        for (const std::size_t n : lengths) {
            const bool in_place = p == 3;
            INFO("p " << p << ", n " << n << (in_place ? ", in place" : ""));
            const auto inputs = inputs_with_huge_values<T>(p, n);
            const auto on_nodes = [=](auto call) {
                return on_ranks(
                    inputs, in_place, [=](int) { return n; },
                    [=](auto send, auto to, threads_comm& comm) {
                        std::vector<int> nodes(static_cast<std::size_t>(p));
                        for (int r = 0; r < p; ++r) nodes[static_cast<std::size_t>(r)] = r / 3;
                        ccoll::set_nodes(comm, nodes);
                        return call(send, to, comm);
                    });
            };
            const auto all = on_nodes([](auto send, auto to, threads_comm& comm) {
                return ccoll::allreduce<Codec::SZp, E, two_levels, Op::Average>(send, to, comm);
            });
            check_reports(all, chunks_of_a_slice);
            for (const seen<T>& mine : all) {
                CHECK(mine.facts.ran_by == ccoll::ran_by::engine);  // on one level: streams are added
                CHECK(mine.facts.algorithm == std::string("Hierarchical"));
                CHECK(oracle::same_bits(mine.result, all[0].result));
            }
            CHECK(wrong_ones(inputs, inputs.size(), all[0].result, 0, all[0].facts.worst_case_error, p) == 0);
            const auto at_root = on_nodes([](auto send, auto to, threads_comm& comm) {
                return ccoll::reduce<Codec::SZp, E, Algo::Hierarchical<Algo::Linear, Algo::Binomial>>(
                    send, to, 1, comm);
            });
            check_exact(at_root);
            CHECK(wrong_ones(inputs, inputs.size(), at_root[1].result, 0,
                             at_root[1].facts.worst_case_error) == 0);
        }
}

TEST_CASE("Where no sum can be held, everything is exact, and the report says so", "[homomorphic][not_held]")
{
    for (const int p : {2, 5})
        for (const std::size_t n : {std::size_t{400}, std::size_t{400000}}) {
            INFO("p " << p << ", n " << n);
            std::vector<std::vector<float>> inputs;
            for (int r = 0; r < p; ++r) {
                inputs.push_back(
                    fields::random<float>(n * static_cast<std::size_t>(p), static_cast<unsigned>(r + 1)));
                for (float& x : inputs.back()) x = 1.25e30f * (x + 0.5f);
            }
            for (const auto& mine :
                 collect<reduce_scatter, float, Codec::SZp, E>({p, 0, n, p == 5}, inputs)) {
                CHECK(mine.facts.exact);
                CHECK(mine.facts.codec == std::string("None"));
                CHECK(mine.result.size() == n);
            }
            const auto at_root = collect<worlds::reduce, float, Codec::SZp, E>(
                {p, 0, n * static_cast<std::size_t>(p), false}, inputs);
            for (const auto& mine : at_root) CHECK(mine.facts.exact);
            CHECK(wrong_ones(inputs, inputs.size(), at_root[0].result, 0, 0) == 0);
        }
}

}  // namespace not_held_cases
