// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// The codecs of the bit-level papers in collectives: data that only move, and reductions in which each hop
// decodes and encodes.
#include "worlds.hpp"

namespace bitwise_cases {

using namespace ccoll::policies;
using namespace worlds;

TEMPLATE_PRODUCT_TEST_CASE("Collectives hold the bounds of ByteZip, BitZip, BitWise, BitCut, Zfp and SZe",
                           "[allreduce][reduce][allgather][bcast]", std::pair,
                           ((Codec::ByteZip, float), (Codec::ByteZip, double), (Codec::BitZip, float),
                            (Codec::BitZip, double), (Codec::BitWise, float), (Codec::BitCut, double),
                            (Codec::BitMask<Codec::BitZip>, double), (Codec::Zfp, float),
                            (Codec::Zfp, double), (Codec::SZe, float), (Codec::SZe, double)))
{
    using C = typename TestType::first_type;
    using T = typename TestType::second_type;
    matrix<worlds::allgather, T, C, ErrorBound<1e-3>>(oracle::op::sum, {"Ring", C::name, "Once"});
    matrix<worlds::bcast, T, C, ErrorBound<1e-3>>(oracle::op::sum, {"Binomial", C::name, "Once"});
    matrix<worlds::reduce, T, C, ErrorBound<1e-3>, Placement::PerHop>(oracle::op::sum,
                                                                      {"Binomial", C::name, "PerHop"});
    matrix<worlds::all_reduce, T, C, ErrorBound<1e-3>>(oracle::op::sum,
                                                       {"Ring", C::name, "DecodeReduceEncode"});
}

namespace {

/// Checks everything that a fixed rate promises: a report without a bound, the same bits on all ranks, and no
/// more bytes than the rate says.
template <class Call, class T, class... P>
void check_rate(double rate, double near)
{
    constexpr bool per_hop =
        std::is_same_v<typename ccoll::plan_of<Codec::Zfp, P...>::placement, Placement::PerHop>;
    for (const int p : {2, 3, 5}) {
        const setting s{p, 0, 20000, false};
        auto inputs = inputs_of<Call, T>(s, &fields::smooth<T>);
        for (auto& each : inputs)
            if (!each.empty()) each[77] = std::numeric_limits<T>::infinity();
        const auto all = collect<Call, T, Codec::Zfp, P...>(s, inputs);
        for (const auto& mine : all) {
            INFO("p " << p << ", rate " << rate);
            CHECK(mine.facts.codec == std::string("Zfp"));
            CHECK(mine.facts.worst_case_error == std::numeric_limits<double>::infinity());
            CHECK(mine.facts.probable_error == std::numeric_limits<double>::infinity());
            CHECK(mine.facts.error_bound == std::numeric_limits<double>::infinity());
            CHECK_FALSE(mine.facts.exact);
            if (mine.facts.sent_bytes > 0) CHECK(mine.facts.ratio() > 0.9 * 8 * sizeof(T) / rate);
            CHECK((per_hop || oracle::same_bits(mine.result, all[0].result)));
            CHECK(mine.facts.same_bits == !per_hop);
            CHECK(mine.facts.placement == std::string(per_hop                     ? "PerHop"
                                                      : Call::collective::reduces ? "DecodeReduceEncode"
                                                                                  : "Once"));
            CHECK(mine.result[77] == std::numeric_limits<T>::infinity());
            for (std::size_t i = 0; i < 77; ++i) {
                double exact = 0;
                for (const auto& each : inputs)
                    exact += Call::collective::reduces ? static_cast<double>(each[i]) : 0;
                if (!Call::collective::reduces) exact = static_cast<double>(inputs[0][i]);
                CHECK(std::fabs(static_cast<double>(mine.result[i]) - exact) < near * p);
            }
        }
    }
}

}  // namespace

TEMPLATE_TEST_CASE("A fixed rate promises no bound, and the report says so", "[allreduce][bcast]", float,
                   double)
{
    check_rate<worlds::all_reduce, TestType, FixedRate<16>>(16, 1e-2);
    check_rate<worlds::bcast, TestType, FixedRate<8>>(8, 0.1);
    check_rate<worlds::all_reduce, TestType, FixedRate<16>, Placement::PerHop>(16, 1e-2);
    check_rate<worlds::bcast, TestType, FixedRate<8>, Placement::PerHop>(8, 0.1);
    CHECK(ccoll::worst_case<ccoll::collective::allreduce, Codec::Zfp, FixedRate<4>, Placement::PerHop>(4) ==
          std::numeric_limits<double>::infinity());
    CHECK(ccoll::worst_case<ccoll::collective::allreduce, Codec::Zfp, FixedRate<16>>(4) ==
          std::numeric_limits<double>::infinity());
}

TEST_CASE("Point-to-point calls and two-byte numbers take a fixed rate", "[p2p]")
{
    struct outcome {
        std::vector<ccoll::half> got;
        report facts;
    };
    std::vector<ccoll::half> x(9000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = ccoll::half(std::sin(0.01f * static_cast<float>(i)));
    const auto all = worlds::run<outcome>(2, [&x](threads_comm& comm, outcome& mine) {
        mine.got.resize(x.size());
        if (comm.rank() == 0) mine.facts = ccoll::send<Codec::Zfp, FixedRate<8>>(x, 1, 0, comm);
        else mine.facts = ccoll::recv<Codec::Zfp, FixedRate<8>>(mine.got, 0, 0, comm);
    });
    CHECK(all[0].facts.ratio() > 1.8);
    CHECK(all[1].facts.worst_case_error == std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < x.size(); ++i)
        CHECK(std::fabs(static_cast<float>(all[1].got[i]) - static_cast<float>(x[i])) < 0.05f);
}

}  // namespace bitwise_cases
