// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: thread sanitizer
// allreduce over ranks that are threads: every algorithm, codec, placement and operation against a serial
// sum.
#include "worlds.hpp"

namespace allreduce_cases {

using namespace ccoll::policies;
using namespace worlds;

TEMPLATE_TEST_CASE("allreduce without a codec is exact up to rounding", "[allreduce]", float, double)
{
    using T = TestType;
    matrix<all_reduce, T>(oracle::op::sum, {"Ring", "None", "DecodeReduceEncode"});
    matrix<all_reduce, T, Algo::RecursiveDoubling>(oracle::op::sum,
                                                   {"RecursiveDoubling", "None", "DecodeReduceEncode"});
    matrix<all_reduce, T, Algo::Ring, Placement::PerHop>(oracle::op::sum, {"Ring", "None", "PerHop"});
}

TEMPLATE_TEST_CASE("allreduce with SZx holds its bound for every placement", "[allreduce]", float, double)
{
    using T = TestType;
    matrix<all_reduce, T, Codec::SZx, ErrorBound<1e-3>>(oracle::op::sum,
                                                        {"Ring", "SZx", "DecodeReduceEncode"});
    matrix<all_reduce, T, Algo::RecursiveDoubling, Codec::SZx, ErrorBound<1e-3>>(
        oracle::op::sum, {"RecursiveDoubling", "SZx", "DecodeReduceEncode"});
    matrix<all_reduce, T, Algo::Ring, Codec::SZx, Placement::PerHop, ErrorBound<1e-3>>(
        oracle::op::sum, {"Ring", "SZx", "PerHop"});
}

TEMPLATE_TEST_CASE("allreduce with PipeSZx holds its bound for every placement", "[allreduce]", float, double)
{
    using T = TestType;
    matrix<all_reduce, T, Algo::Ring, Codec::PipeSZx, ErrorBound<1e-3>>(
        oracle::op::sum, {"Ring", "PipeSZx", "DecodeReduceEncode"});
    matrix<all_reduce, T, Algo::RecursiveDoubling, Codec::PipeSZx, ErrorBound<1e-3>,
           Placement::DecodeReduceEncode>(oracle::op::sum,
                                          {"RecursiveDoubling", "PipeSZx", "DecodeReduceEncode"});
    matrix<all_reduce, T, Algo::RecursiveDoubling, Codec::PipeSZx, ErrorBound<1e-3>, Placement::PerHop>(
        oracle::op::sum, {"RecursiveDoubling", "PipeSZx", "PerHop"});
}

TEMPLATE_TEST_CASE("allreduce averages and selects within the bound", "[allreduce]", float, double)
{
    using T = TestType;
    matrix<all_reduce, T, Codec::PipeSZx, ErrorBound<1e-3>, Op::Average>(
        oracle::op::average, {"Ring", "PipeSZx", "DecodeReduceEncode"});
    matrix<all_reduce, T, Codec::PipeSZx, ErrorBound<1e-3>, Op::Min>(
        oracle::op::min, {"Ring", "PipeSZx", "DecodeReduceEncode"});
    matrix<all_reduce, T, Algo::RecursiveDoubling, Codec::SZx, ErrorBound<1e-3>, Op::Max>(
        oracle::op::max, {"RecursiveDoubling", "SZx", "DecodeReduceEncode"});
    matrix<all_reduce, T, Op::Average>(oracle::op::average, {"Ring", "None", "DecodeReduceEncode"});
    matrix<all_reduce, T, Algo::RecursiveDoubling, Op::Min>(
        oracle::op::min, {"RecursiveDoubling", "None", "DecodeReduceEncode"});
}

namespace {

/// Commutative, associative up to rounding, and unknown to the library: sqrt(a^2 + b^2).
struct Hypot : ccoll::op_tag<false> {
    template <class T> static T apply(T a, T b) noexcept { return std::sqrt(a * a + b * b); }
};

}  // namespace

TEMPLATE_TEST_CASE("allreduce multiplies, and takes an operation of the user", "[allreduce]", float, double)
{
    using T = TestType;
    matrix<all_reduce, T, Op::Prod>(oracle::op::prod, {"Ring", "None", "DecodeReduceEncode"});
    for (const int p : {1, 3, 4}) {
        const setting s{p, 0, 1000, false};
        const auto inputs = inputs_of<all_reduce, T>(s, &fields::random<T>);
        const auto all = collect<all_reduce, T, Hypot>(s, inputs);
        for (const seen<T>& mine : all) {
            CHECK(mine.facts.exact);
            double worst = 0;
            for (std::size_t i = 0; i < s.n; ++i) {
                double sum = 0;
                for (const auto& each : inputs)
                    sum += static_cast<double>(each[i]) * static_cast<double>(each[i]);
                worst = std::fmax(worst, std::fabs(static_cast<double>(p == 1 ? std::fabs(mine.result[i])
                                                                              : mine.result[i]) -
                                                   std::sqrt(sum)));
            }
            // p <= 4: three roundings in each of three steps, result <= 2.
            CHECK(worst <= 16 * static_cast<double>(std::numeric_limits<T>::epsilon()));
            CHECK(oracle::same_bits(mine.result, all[0].result));
        }
    }
}

TEMPLATE_TEST_CASE("Large vectors agree first, go in many slices and hold the bound", "[allreduce]", float,
                   double)
{
    using T = TestType;
#ifdef CCOLL_TEST_SANITIZED
    constexpr std::size_t n = 300000;
#else
    constexpr std::size_t n = 1000000;
#endif
    for (const int p : {2, 4}) {
        const setting s{p, 0, n, p == 4};
        const auto inputs = inputs_of<all_reduce, T>(s, &fields::smooth<T>);
        check<all_reduce, T>(s, "smooth", inputs, oracle::op::sum, {"Ring", "None", "DecodeReduceEncode"});
        const auto all = check<all_reduce, T, Codec::PipeSZx, ErrorBound<1e-3>>(
            s, "smooth", inputs, oracle::op::sum, {"Ring", "PipeSZx", "DecodeReduceEncode"});
        for (const seen<T>& mine : all) {
            CHECK(mine.facts.agreed);
            CHECK(mine.facts.ratio() > 1.5);
        }
        check<all_reduce, T, Algo::RecursiveDoubling, Codec::SZx, ErrorBound<1e-3>>(
            s, "smooth", inputs, oracle::op::sum, {"RecursiveDoubling", "SZx", "DecodeReduceEncode"});
    }
}

TEST_CASE("worst_case, known to the compiler, is what an allreduce reports", "[allreduce][error_model]")
{
    const auto same = []<class... P>(int p, double expected) {
        const setting s{p, 0, 200, false};
        const auto all =
            collect<all_reduce, float, P...>(s, inputs_of<all_reduce, float>(s, &fields::smooth<float>));
        for (const seen<float>& mine : all) {
            CHECK(mine.facts.worst_case_error == Approx(expected).epsilon(1e-12));
            CHECK(mine.facts.worst_case_error ==
                  Approx((ccoll::worst_case<ccoll::collective::allreduce, P...>(p))).epsilon(1e-12));
            CHECK(mine.facts.same_bits ==
                  !std::is_same_v<typename ccoll::plan_of<P...>::placement, Placement::PerHop>);
        }
    };
    for (const int p : {2, 3, 5, 8}) {
        INFO("p " << p);
        same.operator()<Codec::SZx, ErrorBound<1e-3>>(p, p * 1e-3);
        same.operator()<Codec::SZx, ErrorBound<1e-3>, Op::Average>(p, 1e-3);
        same.operator()<Codec::SZx, ErrorBound<1e-3>, Op::Min>(p, p * 1e-3);
        same.operator()<Codec::SZx, ErrorBound<1e-3>, Placement::PerHop>(p, 2 * (p - 1) * 1e-3);
    }
}

}  // namespace allreduce_cases
