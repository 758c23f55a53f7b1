// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// reduce_scatter and reduce over ranks that are threads, against a serial sum.
#include "worlds.hpp"

namespace reductions_cases {

using namespace ccoll::policies;
using namespace worlds;

TEMPLATE_TEST_CASE("reduce_scatter keeps its bound on every rank", "[reduce_scatter]", float, double)
{
    using T = TestType;
    using call = worlds::reduce_scatter;
    matrix<call, T>(oracle::op::sum, {"Ring", "None", "DecodeReduceEncode"});
    matrix<call, T, Algo::Ring, Op::Prod>(oracle::op::prod, {"Ring", "None", "DecodeReduceEncode"});
    matrix<call, T, Codec::SZx, ErrorBound<1e-3>, Algo::Ring>(oracle::op::sum,
                                                              {"Ring", "SZx", "DecodeReduceEncode"});
    matrix<call, T, Codec::PipeSZx, ErrorBound<1e-3>, Placement::PerHop>(oracle::op::sum,
                                                                         {"Ring", "PipeSZx", "PerHop"});
    matrix<call, T, Codec::PipeSZx, ErrorBound<1e-3>, Op::Average>(oracle::op::average,
                                                                   {"Ring", "PipeSZx", "DecodeReduceEncode"});
    matrix<call, T, Codec::SZx, ErrorBound<1e-3>, Op::Max>(oracle::op::max,
                                                           {"Ring", "SZx", "DecodeReduceEncode"});
}

TEMPLATE_TEST_CASE("reduce keeps its bound at every root", "[reduce]", float, double)
{
    using T = TestType;
    using call = worlds::reduce;
    matrix<call, T>(oracle::op::sum, {"Binomial", "None", "DecodeReduceEncode"});
    matrix<call, T, Algo::Binomial, Op::Prod>(oracle::op::prod, {"Binomial", "None", "DecodeReduceEncode"});
    matrix<call, T, Codec::SZx, ErrorBound<1e-3>, Algo::Binomial>(oracle::op::sum,
                                                                  {"Binomial", "SZx", "DecodeReduceEncode"});
    matrix<call, T, Algo::Chain, Codec::PipeSZx, ErrorBound<1e-3>>(
        oracle::op::sum, {"Chain", "PipeSZx", "DecodeReduceEncode"});
    matrix<call, T, Codec::PipeSZx, ErrorBound<1e-3>, Placement::PerHop>(oracle::op::sum,
                                                                         {"Binomial", "PipeSZx", "PerHop"});
    matrix<call, T, Codec::PipeSZx, ErrorBound<1e-3>, Op::Average>(
        oracle::op::average, {"Binomial", "PipeSZx", "DecodeReduceEncode"});
    matrix<call, T, Codec::SZx, ErrorBound<1e-3>, Op::Min>(oracle::op::min,
                                                           {"Binomial", "SZx", "DecodeReduceEncode"});
}

TEST_CASE("Large reductions keep the bound", "[reduce_scatter][reduce]")
{
    const setting rs{4, 0, 250000, true}, r{3, 1, 1000000, false};
    check<worlds::reduce_scatter, float, Codec::PipeSZx, ErrorBound<1e-3>>(
        rs, "smooth", inputs_of<worlds::reduce_scatter, float>(rs, &fields::smooth<float>), oracle::op::sum,
        {"Ring", "PipeSZx", "DecodeReduceEncode"});
    check<worlds::reduce, double, Codec::SZx, ErrorBound<1e-3>>(
        r, "random", inputs_of<worlds::reduce, double>(r, &fields::random<double>), oracle::op::sum,
        {"Binomial", "SZx", "DecodeReduceEncode"});
}

TEST_CASE("A sum on its way to one owner is encoded p - 1 times", "[reduce_scatter][reduce][error_model]")
{
    for (const int p : {2, 3, 5, 8}) {
        INFO("p " << p);
        const setting s{p, p / 2, 300, false};
        using call = worlds::reduce_scatter;
        for (const auto& mine : collect<call, float, Codec::SZx, ErrorBound<1e-3>>(
                 s, inputs_of<call, float>(s, &fields::smooth<float>)))
            CHECK(mine.facts.worst_case_error == Approx((p - 1) * 1e-3));
        for (const auto& mine : collect<worlds::reduce, float, Codec::SZx, ErrorBound<1e-3>>(
                 s, inputs_of<worlds::reduce, float>(s, &fields::smooth<float>)))
            CHECK(mine.facts.worst_case_error == Approx((p - 1) * 1e-3));
        for (const auto& mine : collect<worlds::reduce, float, Codec::SZx, ErrorBound<1e-3>, Op::Average>(
                 s, inputs_of<worlds::reduce, float>(s, &fields::smooth<float>)))
            CHECK(mine.facts.worst_case_error == Approx((p - 1) * 1e-3 / p));
    }
}

}  // namespace reductions_cases
