// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// Codec::SZp in every collective and placement, and the promises that hold only for its sums: the same bits
// whatever the schedule, the order of the ranks and the slices of the vector, and exact reduction of values
// that quanta cannot hold, which the report shows.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "worlds.hpp"

namespace homomorphic_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// What all ranks hold after a collective, as one vector of bits.
template <class Call, class T, class... P>
std::vector<T> results(const setting& s, const std::vector<std::vector<T>>& inputs)
{
    std::vector<T> joined;
    for (const auto& mine : collect<Call, T, P...>(s, inputs)) {
        CHECK(mine.facts.placement == std::string("Homomorphic"));
        if (Call::collective::recv == ccoll::extent::whole && !joined.empty())
            CHECK(oracle::same_bits(joined, mine.result));
        else joined.insert(joined.end(), mine.result.begin(), mine.result.end());
    }
    return joined;
}

/// Every kind of value that an addend holds: small and large quanta, NaN and Inf.
template <class T>
std::vector<T> mixed_values(std::size_t n, unsigned seed)
{
    std::vector<T> x = fields::smooth<T>(n, seed);
    fields::generator random(seed);
    for (std::size_t i = 0; i < n; i += 1 + random.below(2000)) x[i] = static_cast<T>(random.unit() * 1e6);
    for (std::size_t i = random.below(3000); i < n; i += 1 + random.below(6000))
        x[i] = random.below(3) == 0 ? std::numeric_limits<T>::quiet_NaN()
                                    : (random.unit() < 0 ? -1 : 1) * std::numeric_limits<T>::infinity();
    return x;
}

}  // namespace

TEMPLATE_TEST_CASE("SZp keeps its bound in every reduction and placement", "[homomorphic][allreduce]", float,
                   double)
{
    using T = TestType;
    using bound = ErrorBound<1e-3>;
    matrix<all_reduce, T, Codec::SZp, bound>(oracle::op::sum, {"Ring", "SZp", "Homomorphic"});
    matrix<all_reduce, T, Codec::SZp, bound, Algo::RecursiveDoubling>(
        oracle::op::sum, {"RecursiveDoubling", "SZp", "Homomorphic"});
    matrix<all_reduce, T, Codec::SZp, bound, Algo::Ring, Op::Average>(oracle::op::average,
                                                                      {"Ring", "SZp", "Homomorphic"});
    matrix<all_reduce, T, Codec::SZp, bound, Placement::DecodeReduceEncode>(
        oracle::op::sum, {"Ring", "SZp", "DecodeReduceEncode"});
    matrix<all_reduce, T, Codec::SZp, bound, Placement::PerHop>(oracle::op::sum, {"Ring", "SZp", "PerHop"});
    matrix<all_reduce, T, Codec::SZp, bound, Op::Max>(oracle::op::max, {"Ring", "SZp", "DecodeReduceEncode"});
    matrix<worlds::reduce_scatter, T, Codec::SZp, bound>(oracle::op::sum, {"Ring", "SZp", "Homomorphic"});
    matrix<worlds::reduce, T, Codec::SZp, bound>(oracle::op::sum, {"Binomial", "SZp", "Homomorphic"});
    matrix<worlds::reduce, T, Codec::SZp, bound, Algo::Chain, Op::Average>(oracle::op::average,
                                                                           {"Chain", "SZp", "Homomorphic"});
}

TEMPLATE_TEST_CASE("SZp keeps its bound in data movement", "[homomorphic][movement]", float, double)
{
    using T = TestType;
    using bound = ErrorBound<1e-3>;
    matrix<worlds::bcast, T, Codec::SZp, bound>(oracle::op::sum, {"Binomial", "SZp", "Once"});
    matrix<worlds::bcast, T, Codec::SZp, bound, Algo::Chain, Placement::PerHop>(oracle::op::sum,
                                                                                {"Chain", "SZp", "PerHop"});
    matrix<worlds::allgather, T, Codec::SZp, bound>(oracle::op::sum, {"Ring", "SZp", "Once"});
    matrix<worlds::scatter, T, Codec::SZp, bound>(oracle::op::sum, {"Binomial", "SZp", "Once"});
    matrix<worlds::gather, T, Codec::SZp, bound>(oracle::op::sum, {"Binomial", "SZp", "Once"});
}

TEMPLATE_TEST_CASE(
    "homomorphic sums have the same bits for every schedule, order of ranks and cut of the vector",
    "[homomorphic][reproducible]", float, double)
{
    using T = TestType;
    using bound = ErrorBound<1e-4>;
    for (const int p : {2, 3, 5, 8})
        for (const std::size_t n :
             {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{8193}, std::size_t{300007}}) {
            INFO("p " << p << ", n " << n);
            const setting s{p, 0, n, false};
            auto inputs = inputs_of<all_reduce, T>(s, &mixed_values<T>);
            const auto wanted = results<all_reduce, T, Codec::SZp, bound, Algo::Ring>(s, inputs);
            CHECK(oracle::same_bits(
                wanted, results<all_reduce, T, Codec::SZp, bound, Algo::RecursiveDoubling>(s, inputs)));
            // Check::Local cuts into slices below the threshold, too.
            CHECK(oracle::same_bits(
                wanted, results<all_reduce, T, Codec::SZp, bound, Algo::Ring, Check::Local>(s, inputs)));
            CHECK(oracle::same_bits(
                wanted, results<all_reduce, T, Codec::SZp, bound, Algo::RecursiveDoubling, Check::Collective>(
                            s, inputs)));
            for (unsigned turn = 0; turn < 3; ++turn) {
                fields::generator random(turn + 1);
                for (std::size_t i = inputs.size(); i > 1; --i)
                    std::swap(inputs[i - 1], inputs[random.below(i)]);
                CHECK(oracle::same_bits(wanted,
                                        results<all_reduce, T, Codec::SZp, bound, Algo::Ring>(s, inputs)));
                CHECK(oracle::same_bits(
                    wanted, results<all_reduce, T, Codec::SZp, bound, Algo::RecursiveDoubling>(s, inputs)));
            }
            // Other collectives that add the same operands.
            const setting blocks{p, 0, n / static_cast<std::size_t>(p), false}, root{p, p - 1, n, false};
            if (n % static_cast<std::size_t>(p) == 0)
                CHECK(oracle::same_bits(
                    wanted, results<worlds::reduce_scatter, T, Codec::SZp, bound>(blocks, inputs)));
            CHECK(oracle::same_bits(wanted, results<worlds::reduce, T, Codec::SZp, bound>(root, inputs)));
            CHECK(oracle::same_bits(
                wanted, results<worlds::reduce, T, Codec::SZp, bound, Algo::Chain>(root, inputs)));
        }
}

TEMPLATE_TEST_CASE("a sum over more ranks with the same operands has the same bits",
                   "[homomorphic][reproducible]", float, double)
{
    using T = TestType;
    const std::size_t n = 20000;
    auto inputs = inputs_of<all_reduce, T>({4, 0, n, false}, &mixed_values<T>);
    const auto four = results<all_reduce, T, Codec::SZp, ErrorBound<1e-3>>({4, 0, n, false}, inputs);
    for (int more = 0; more < 3; ++more) inputs.insert(inputs.begin() + more, std::vector<T>(n, T(0)));
    CHECK(oracle::same_bits(four,
                            results<all_reduce, T, Codec::SZp, ErrorBound<1e-3>>({7, 0, n, false}, inputs)));
}

namespace {

/// More large values than a chunk of a sum can hold, one after another, on one rank or on several.
template <class T>
void put_large_values(std::vector<std::vector<T>>& inputs, std::size_t at, std::size_t first_rank,
                      std::size_t ranks)
{
    for (std::size_t k = 0; k < 600; ++k)  // from 2^92 steps on
        inputs[first_rank + k % ranks][at + k] =
            static_cast<T>(1e30 * (static_cast<double>(k) + 1) * (k % 3 == 0 ? -1 : 1));
}

}  // namespace

TEMPLATE_TEST_CASE("values that quanta cannot hold are reduced exactly on all ranks, and the report says so",
                   "[homomorphic][too_large]", float, double)
{
    using T = TestType;
    for (const int p : {2, 3, 5})
        for (const std::size_t n :
             // Without and with an agreement before the call.
             {std::size_t{2000}, std::size_t{9000}, std::size_t{400000}})
            for (const bool in_place : {false, true}) {
                const setting s{p, 0, n, in_place};
                auto inputs = inputs_of<all_reduce, T>(s, &fields::smooth<T>);
                put_large_values(inputs, n / 3, static_cast<std::size_t>(p) / 2, 1);
                const std::string field = "large values on rank " + std::to_string(p / 2);
                const auto look = [&](const auto& all) {
                    for (std::size_t r = 0; r < all.size(); ++r) {
                        const report& facts = all[r].facts;
                        INFO(field << ", n " << n << (in_place ? ", in place" : "") << ", p " << p
                                   << ", rank " << r);
                        CHECK(facts.codec == std::string("None"));
                        CHECK(facts.placement == std::string("DecodeReduceEncode"));
                        CHECK(facts.exact);
                        CHECK(facts.same_bits);
                        CHECK(facts.worst_case_error == 0);
                        CHECK(all[r].guards);
                        CHECK(all[r].send_kept);
                    }
                };
                if (n < 400000) {  // one slice; of several, only a part is exact, see below
                    const auto all =
                        collect<all_reduce, T, Codec::SZp, ErrorBound<1e-3>, Algo::RecursiveDoubling>(s,
                                                                                                      inputs);
                    look(all);
                    // The bits of a reduction without a codec.
                    const auto plain =
                        collect<all_reduce, T, Algo::RecursiveDoubling, Placement::DecodeReduceEncode>(
                            s, inputs);
                    for (std::size_t r = 0; r < all.size(); ++r)
                        CHECK(oracle::same_bits(all[r].result, plain[r].result));
                    look(collect<all_reduce, T, Codec::SZp, ErrorBound<1e-3>, Algo::RecursiveDoubling,
                                 Op::Average>(s, inputs));
                }
                if (n > 8192) continue;  // one chunk; of several, only some are exact (not_held.cpp)
                look(collect<all_reduce, T, Codec::SZp, RelativeBound<1e-25>, Algo::RecursiveDoubling>(
                    s, inputs));
                if (p > 3) continue;
                look(collect<worlds::reduce, T, Codec::SZp, ErrorBound<1e-3>>({p, p - 1, n, false}, inputs));
                auto blocks = inputs;
                for (auto& each : blocks)
                    each.resize(n / static_cast<std::size_t>(p) * static_cast<std::size_t>(p));
                look(collect<worlds::reduce_scatter, T, Codec::SZp, ErrorBound<1e-3>>(
                    {p, 0, n / static_cast<std::size_t>(p), in_place}, blocks));
            }
}

namespace {

template <class... P>
struct plan {};

}  // namespace

TEMPLATE_TEST_CASE("only the slices that have values which quanta cannot hold are reduced exactly",
                   "[homomorphic][too_large]", float, double)
{
    using T = TestType;
    using E = ErrorBound<1e-3>;
    const auto check = [](int p, std::size_t n, bool in_place) {
        const bool on_one = p == 2, large = n > 300000;
        const setting s{p, 0, n, in_place};
        auto inputs = inputs_of<all_reduce, T>(s, &fields::smooth<T>);
        const auto places =
            large ? std::vector<std::size_t>{3, 150000, n - 700} : std::vector<std::size_t>{3};
        for (const std::size_t at : places) put_large_values(inputs, at, 0, on_one ? 1 : 2);
        INFO("n " << n << ", p " << p << (on_one ? ", on one rank" : ", on two ranks")
                  << (in_place ? ", in place" : ""));
        const auto look = [&]<class... P>(plan<P...>, bool average) {
            const auto all = collect<all_reduce, T, Codec::SZp, E, P...>(s, inputs);
            for (const auto& each : all) {
                CHECK(each.facts.codec == std::string("SZp"));
                CHECK(each.facts.placement == std::string("Homomorphic"));
                CHECK_FALSE(each.facts.exact);
                CHECK(each.facts.fallback_blocks >= places.size());
                CHECK(each.facts.fallback_blocks <= places.size() * 9);
                CHECK(each.guards);
                CHECK(each.send_kept);
                CHECK(oracle::same_bits(each.result, all[0].result));
            }
            const long double divisor = average ? p : 1;
            std::size_t wrong = 0, inexact = 0;
            for (std::size_t i = 0; i < n; ++i) {
                long double exact = 0, magnitude = 0;
                for (const auto& x : inputs) {
                    exact += x[i];
                    magnitude += std::fabs(static_cast<long double>(x[i]));
                }
                const long double error =
                    std::fabs(static_cast<long double>(all[0].result[i]) - exact / divisor);
                const long double rounding =
                    p * static_cast<long double>(std::numeric_limits<T>::epsilon()) * magnitude / divisor;
                wrong += !(error <= static_cast<long double>(all[0].facts.worst_case_error) + rounding);
                for (const std::size_t at : places) inexact += i >= at && i < at + 5 && !(error <= rounding);
            }
            CHECK(wrong == 0);
            CHECK(inexact == 0);
        };
        look(plan<Algo::Ring>{}, false);
        look(plan<Algo::Rabenseifner, Op::Average>{}, true);
        if (!large) return;
        look(plan<Algo::RecursiveDoubling, Op::Average>{}, true);
        look(plan<Algo::Ring, Check::Collective>{}, false);
        look(plan<Algo::Ring, Check::Local>{}, false);
    };
    for (const int p : {2, 5}) {
        for (const bool in_place : {false, true}) check(p, 300001, in_place);
        check(p, 9001, p == 5);
    }
}

TEST_CASE("values that are too large are found wherever they are, even if only some ranks reduce in place",
          "[homomorphic][too_large]")
{
    const std::size_t n = 400000, large_from = n / 2;
    for (const int p : {2, 3, 5})
        for (const int large_on : {0, p - 1})
            for (const int in_place_on : {0, p - 1}) {
                INFO("p " << p << ", large on rank " << large_on << ", in place on rank " << in_place_on);
                struct both {
                    std::vector<float> sum, exact;
                    report facts;
                };
                const auto all = worlds::run<both>(p, [=](worlds::threads_comm& comm, both& mine) {
                    auto x = fields::smooth<float>(n, static_cast<unsigned>(comm.rank() + 1));
                    std::vector<std::vector<float>> one{x};
                    if (comm.rank() == large_on) put_large_values(one, large_from, 0, 1);
                    x = mine.sum = one[0];
                    mine.exact.resize(n);
                    ccoll::allreduce<Algo::Ring, Placement::DecodeReduceEncode>(x, mine.exact, comm);
                    mine.facts =
                        comm.rank() == in_place_on
                            ? ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Algo::Ring>(mine.sum, comm)
                            : ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Algo::Ring>(x, mine.sum, comm);
                });
                for (const both& each : all) {
                    CHECK_FALSE(each.facts.exact);
                    CHECK(each.facts.agreed);
                    CHECK(each.facts.fallback_blocks > 0);
                    CHECK(oracle::same_bits(each.sum, all[0].sum));
                    std::size_t wrong = 0;
                    for (std::size_t i = 0; i < n; ++i)
                        wrong += !(std::fabs(each.sum[i] - each.exact[i]) <=
                                   1.001 * each.facts.worst_case_error + 1e-5);
                    CHECK(wrong == 0);
                    const auto from = static_cast<std::ptrdiff_t>(large_from);
                    CHECK(std::equal(each.sum.begin() + from, each.sum.begin() + from + 5,
                                     each.exact.begin() + from));
                }
            }
}

TEST_CASE("a bound that no addend can keep is kept exactly", "[homomorphic][too_large]")
{
    const setting s{3, 0, 1000, false};
    const auto inputs = inputs_of<all_reduce, float>(s, &fields::smooth<float>);
    for (const auto& mine : collect<all_reduce, float, Codec::SZp, RuntimeBound>(s, inputs, 1e-40)) {
        CHECK(mine.facts.codec == std::string("None"));
        CHECK(mine.facts.exact);
    }
}

TEST_CASE("NaN and Inf take part in homomorphic sums as in IEEE 754 ones", "[homomorphic][special]")
{
    constexpr float inf = std::numeric_limits<float>::infinity(),
                    nan = std::numeric_limits<float>::quiet_NaN();
    const float first[] = {inf, inf, -inf, nan, 1, inf, nan}, second[] = {1, -inf, -inf, 2, 2, inf, nan};
    const setting s{2, 0, 7000, false};
    std::vector<std::vector<float>> inputs(2, std::vector<float>(s.n));
    for (std::size_t i = 0; i < s.n; ++i) {
        inputs[0][i] = first[i % 7];
        inputs[1][i] = second[i % 7];
    }
    for (const auto& mine : collect<all_reduce, float, Codec::SZp, ErrorBound<1e-3>>(s, inputs)) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < s.n; ++i) {
            const float wanted = first[i % 7] + second[i % 7];
            wrong += std::isnan(wanted)   ? !std::isnan(mine.result[i])
                     : std::isinf(wanted) ? mine.result[i] != wanted
                                          : std::fabs(mine.result[i] - wanted) > 2e-3f;
        }
        CHECK(wrong == 0);
    }
}

}  // namespace homomorphic_cases
