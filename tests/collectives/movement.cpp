// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// allgather, bcast, scatter and gather over ranks that are threads: collectives that only move data.
#include "worlds.hpp"

namespace movement_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// Codec::None moves bits, so what arrives must equal what was sent.
template <class Call, class T, class... P>
void moves_bits(const char* algorithm)
{
    for (const int p : rank_counts) {
        const int roots[] = {0, p - 1, p / 2};
        for (const std::size_t n : {std::size_t{1}, std::size_t{129}, std::size_t{1283}}) {
            const setting s{p, Call::collective::rooted ? roots[n % 3] : 0, n, n % 2 == 0};
            const auto inputs = inputs_of<Call, T>(s, &fields::bit_patterns<T>);
            const auto all = collect<Call, T, P...>(s, inputs);
            for (int r = 0; r < p; ++r) {
                const seen<T>& mine = all[static_cast<std::size_t>(r)];
                std::vector<T> expected;
                if (Call::collective::send == ccoll::extent::own) {
                    if (Call::recv_size(r, p, s.root, n) > 0)
                        for (const auto& each : inputs)
                            expected.insert(expected.end(), each.begin(), each.end());
                } else {
                    const auto& source = inputs[static_cast<std::size_t>(s.root)];
                    const bool own = Call::collective::recv == ccoll::extent::own;
                    const auto from = source.begin() + (own ? r * static_cast<std::ptrdiff_t>(n) : 0);
                    expected.assign(from, from + static_cast<std::ptrdiff_t>(n));
                }
                INFO(Call::collective::name << ", p " << p << ", n " << n << ", root " << s.root << ", rank "
                                            << r);
                CHECK(oracle::same_bits(mine.result, expected));
                CHECK(mine.facts.exact);
                CHECK(mine.facts.algorithm == algorithm_for<Call, T, P...>(s, {algorithm, "None", "Once"}));
            }
        }
    }
}

}  // namespace

TEMPLATE_TEST_CASE("Without a codec every bit arrives", "[allgather][bcast][scatter][gather]", float, double)
{
    using T = TestType;
    moves_bits<worlds::allgather, T>("Ring");
    moves_bits<worlds::allgather, T, Placement::PerHop>("Ring");
    moves_bits<worlds::bcast, T>("Binomial");
    moves_bits<worlds::scatter, T, Algo::Binomial>("Binomial");
    moves_bits<worlds::gather, T>("Binomial");
}

TEMPLATE_TEST_CASE("allgather holds one bound, the same bits everywhere", "[allgather]", float, double)
{
    using T = TestType;
    matrix<worlds::allgather, T, Codec::SZx, ErrorBound<1e-3>>(oracle::op::sum, {"Ring", "SZx", "Once"});
    matrix<worlds::allgather, T, Algo::Ring, Codec::PipeSZx, Placement::Once, ErrorBound<1e-3>>(
        oracle::op::sum, {"Ring", "PipeSZx", "Once"});
    matrix<worlds::allgather, T, Codec::PipeSZx, Placement::PerHop, ErrorBound<1e-3>>(
        oracle::op::sum, {"Ring", "PipeSZx", "PerHop"});
}

TEMPLATE_TEST_CASE("bcast holds one bound, the same bits everywhere", "[bcast]", float, double)
{
    using T = TestType;
    matrix<worlds::bcast, T, Codec::SZx, ErrorBound<1e-3>>(oracle::op::sum, {"Binomial", "SZx", "Once"});
    matrix<worlds::bcast, T, Algo::Chain, Codec::PipeSZx, ErrorBound<1e-3>>(oracle::op::sum,
                                                                            {"Chain", "PipeSZx", "Once"});
    matrix<worlds::bcast, T, Codec::PipeSZx, Placement::PerHop, ErrorBound<1e-3>>(
        oracle::op::sum, {"Binomial", "PipeSZx", "PerHop"});
}

TEMPLATE_TEST_CASE("scatter and gather hold one bound", "[scatter][gather]", float, double)
{
    using T = TestType;
    matrix<worlds::scatter, T, Codec::PipeSZx, ErrorBound<1e-3>>(oracle::op::sum,
                                                                 {"Binomial", "PipeSZx", "Once"});
    matrix<worlds::scatter, T, Codec::SZx, Placement::PerHop, ErrorBound<1e-3>>(
        oracle::op::sum, {"Binomial", "SZx", "PerHop"});
    matrix<worlds::gather, T, Codec::PipeSZx, Placement::Once, ErrorBound<1e-3>>(
        oracle::op::sum, {"Binomial", "PipeSZx", "Once"});
    matrix<worlds::gather, T, Codec::SZx, Placement::PerHop, ErrorBound<1e-3>>(oracle::op::sum,
                                                                               {"Binomial", "SZx", "PerHop"});
}

TEST_CASE("Large blocks move in many slices", "[allgather][bcast][scatter][gather]")
{
    const auto one = []<class Call>(setting s, const names& said) {
        const auto inputs = inputs_of<Call, float>(s, &fields::smooth<float>);
        for (const auto& mine : check<Call, float, Codec::PipeSZx, ErrorBound<1e-3>>(s, "smooth", inputs,
                                                                                     oracle::op::sum, said)) {
            CHECK(mine.facts.error_bound == 1e-3);
            CHECK(mine.facts.worst_case_error == 1e-3);
        }
    };
    one.operator()<worlds::allgather>({4, 0, 250000, true}, {"Ring", "PipeSZx", "Once"});
    one.operator()<worlds::bcast>({4, 3, 1000000, true}, {"Binomial", "PipeSZx", "Once"});
    one.operator()<worlds::scatter>({3, 1, 333333, false}, {"Binomial", "PipeSZx", "Once"});
    one.operator()<worlds::gather>({5, 2, 200001, false}, {"Binomial", "PipeSZx", "Once"});
}

}  // namespace movement_cases
