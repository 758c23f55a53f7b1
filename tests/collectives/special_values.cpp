// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NaN, infinities, zeros of both signs, denormals: bit-exact where data only move, as IEEE has it where they are reduced.
#include "worlds.hpp"

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// Every value that is not finite arrived bit for bit.
template <class Call, class T, class... P>
void keeps_non_finite(contribution<T> data)
{
    for (const int p : {2, 3, 5})
        for (const std::size_t n : {std::size_t{128}, std::size_t{3001}}) {
            const setting s{p, p - 1, n, false};
            const auto inputs = inputs_of<Call, T>(s, data);
            const auto all = collect<Call, T, P...>(s, inputs);
            for (int r = 0; r < p; ++r) {
                const seen<T>& mine = all[static_cast<std::size_t>(r)];
                std::size_t wrong = 0, special = 0;
                for (std::size_t i = 0; i < mine.result.size(); ++i) {
                    using collective = typename Call::collective;
                    const std::size_t at = collective::recv == ccoll::extent::own ? static_cast<std::size_t>(r) * n + i : i;
                    const T& original =
                        collective::send == ccoll::extent::own ? inputs[i / n][i % n] : inputs[static_cast<std::size_t>(s.root)][at];
                    if (std::isfinite(original))
                        wrong += !(std::fabs(static_cast<double>(mine.result[i]) - static_cast<double>(original)) <=
                                   mine.facts.worst_case_error);
                    else ++special, wrong += !oracle::same_bits(mine.result[i], original);
                }
                INFO(Call::collective::name << ", p " << p << ", n " << n << ", rank " << r);
                CHECK(wrong == 0);
                if (n > 3000 && data == &fields::non_finite<T> && !mine.result.empty()) CHECK(special > 0);
                if (Call::collective::recv == ccoll::extent::whole && !mine.result.empty() && mine.facts.same_bits &&
                    !all[0].result.empty())
                    CHECK(oracle::hash(mine.result) == oracle::hash(all[0].result));
            }
        }
}

}  // namespace

TEMPLATE_TEST_CASE("NaN payloads and infinities move bit for bit through lossy codecs", "[nan]", float, double)
{
    using T = TestType;
    using E = ErrorBound<1e-3>;
    for (const contribution<T> data : {contribution<T>(&fields::non_finite<T>), contribution<T>(&fields::bit_patterns<T>)}) {
        keeps_non_finite<worlds::allgather, T, Codec::SZx, E>(data);
        keeps_non_finite<worlds::allgather, T, Codec::PipeSZx, E, Placement::PerHop>(data);
        keeps_non_finite<worlds::bcast, T, Codec::PipeSZx, E>(data);
        keeps_non_finite<worlds::scatter, T, Codec::PipeSZx, E>(data);
        keeps_non_finite<worlds::gather, T, Codec::SZx, E>(data);
    }
}

TEMPLATE_TEST_CASE("Reductions treat NaN and infinities as IEEE does", "[nan]", float, double)
{
    using T = TestType;
    using E = ErrorBound<1e-3>;
    for (const auto& field : {named_field<T>{"non_finite", &fields::non_finite<T>}, named_field<T>{"wild", &fields::wild<T>},
                              named_field<T>{"largest", &fields::largest<T>}, named_field<T>{"denormal", &fields::denormal<T>}})
        for (const int p : {2, 3, 5, 8}) {
            const setting s{p, 1, 3000, false};
            const auto inputs = inputs_of<all_reduce, T>(s, field.make);
            check<all_reduce, T, Codec::SZx, E>(s, field.name, inputs, oracle::op::sum, {"Ring", "SZx", "DecodeReduceEncode"});
            check<all_reduce, T, Algo::RecursiveDoubling>(s, field.name, inputs, oracle::op::sum,
                                                          {"RecursiveDoubling", "None", "DecodeReduceEncode"});
            check<all_reduce, T, Codec::SZx, E, Op::Min>(s, field.name, inputs, oracle::op::min, {"Ring", "SZx", "DecodeReduceEncode"});
            check<all_reduce, T, Op::Max>(s, field.name, inputs, oracle::op::max, {"Ring", "None", "DecodeReduceEncode"});
            check<all_reduce, T, Algo::RecursiveDoubling, Codec::PipeSZx, E, Op::Average>(
                s, field.name, inputs, oracle::op::average, {"RecursiveDoubling", "PipeSZx", "DecodeReduceEncode"});
            check<worlds::reduce, T, Codec::PipeSZx, E>(s, field.name, inputs, oracle::op::sum,
                                                        {"Binomial", "PipeSZx", "DecodeReduceEncode"});
        }
}

TEMPLATE_TEST_CASE("NaN of different payloads and zeros of either sign end as the same bits on all ranks", "[nan][same_bits]", float,
                   double)
{
    using T = TestType;
    using E = ErrorBound<1e-3>;
    // Rank r contributes NaN with payload r, +0 or -0, in all combinations.
    const contribution<T> data = [](std::size_t n, unsigned seed) {
        std::vector<T> v(n);
        for (std::size_t i = 0; i < n; ++i) {
            const auto nan = std::bit_cast<fields::word<T>>(std::numeric_limits<T>::quiet_NaN());
            if ((i >> (seed % 8)) % 3 == 0) fields::set_bits(v[i], static_cast<fields::word<T>>(nan + seed));
            else v[i] = (i >> (seed % 5)) % 2 == 0 ? T(0) : -T(0);
        }
        return v;
    };
    for (const int p : rank_counts) {
        const setting s{p, 0, 700, false};
        const auto inputs = inputs_of<all_reduce, T>(s, data);
        INFO("p " << p);
        const auto same = [&](const std::vector<seen<T>>& all, const char* what) {
            INFO(what);
            for (const auto& mine : all) {
                CHECK(mine.facts.same_bits);
                CHECK(oracle::same_bits(mine.result, all[0].result));
            }
        };
        same(collect<all_reduce, T, Algo::RecursiveDoubling, Op::Min>(s, inputs), "doubling min");
        same(collect<all_reduce, T, Algo::RecursiveDoubling, Op::Max>(s, inputs), "doubling max");
        same(collect<all_reduce, T, Algo::RecursiveDoubling>(s, inputs), "doubling sum");
        same(collect<all_reduce, T, Algo::RecursiveDoubling, Codec::SZx, E>(s, inputs), "doubling sum SZx");
        same(collect<all_reduce, T, Algo::RecursiveDoubling, Codec::SZx, E, Op::Min>(s, inputs), "doubling min SZx");
        same(collect<all_reduce, T, Algo::RecursiveDoubling, Op::Average>(s, inputs), "doubling average");
        same(collect<all_reduce, T, Algo::Ring, Op::Min>(s, inputs), "ring min");
        same(collect<all_reduce, T, Codec::PipeSZx, E, Op::Max>(s, inputs), "ring max PipeSZx");
    }
}
