// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// NaN, infinities, zeros of both signs, denormals: kept bit for bit if data only move, and treated as IEEE
// 754 says if they are reduced.
#include "worlds.hpp"

namespace special_values_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// Checks that every value that is not finite arrived bit for bit.
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
                    const std::size_t at =
                        collective::recv == ccoll::extent::own ? static_cast<std::size_t>(r) * n + i : i;
                    const T& original = collective::send == ccoll::extent::own
                                            ? inputs[i / n][i % n]
                                            : inputs[static_cast<std::size_t>(s.root)][at];
                    if (std::isfinite(original))
                        wrong += !(std::fabs(static_cast<double>(mine.result[i]) -
                                             static_cast<double>(original)) <= mine.facts.worst_case_error);
                    else {
                        ++special;
                        wrong += !oracle::same_bits(mine.result[i], original);
                    }
                }
                INFO(Call::collective::name << ", p " << p << ", n " << n << ", rank " << r);
                CHECK(wrong == 0);
                if (n > 3000 && data == &fields::non_finite<T> && !mine.result.empty()) CHECK(special > 0);
                if (Call::collective::recv == ccoll::extent::whole && !mine.result.empty() &&
                    mine.facts.same_bits && !all[0].result.empty())
                    CHECK(oracle::hash(mine.result) == oracle::hash(all[0].result));
            }
        }
}

}  // namespace

TEMPLATE_TEST_CASE("NaN payloads and infinities move bit for bit through lossy codecs", "[nan]", float,
                   double)
{
    using T = TestType;
    using E = ErrorBound<1e-3>;
    for (const contribution<T> data :
         {contribution<T>(&fields::non_finite<T>), contribution<T>(&fields::bit_patterns<T>)}) {
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
    for (const auto& field :
         {named_field<T>{"non_finite", &fields::non_finite<T>}, named_field<T>{"wild", &fields::wild<T>},
          named_field<T>{"largest", &fields::largest<T>}, named_field<T>{"denormal", &fields::denormal<T>}})
        for (const int p : {2, 3, 5, 8}) {
            const setting s{p, 1, 3000, false};
            const auto inputs = inputs_of<all_reduce, T>(s, field.make);
            check<all_reduce, T, Codec::SZx, E>(s, field.name, inputs, oracle::op::sum,
                                                {"Ring", "SZx", "DecodeReduceEncode"});
            check<all_reduce, T, Algo::RecursiveDoubling>(
                s, field.name, inputs, oracle::op::sum, {"RecursiveDoubling", "None", "DecodeReduceEncode"});
            check<all_reduce, T, Codec::SZx, E, Op::Min>(s, field.name, inputs, oracle::op::min,
                                                         {"Ring", "SZx", "DecodeReduceEncode"});
            check<all_reduce, T, Op::Max>(s, field.name, inputs, oracle::op::max,
                                          {"Ring", "None", "DecodeReduceEncode"});
            check<all_reduce, T, Algo::RecursiveDoubling, Codec::PipeSZx, E, Op::Average>(
                s, field.name, inputs, oracle::op::average,
                {"RecursiveDoubling", "PipeSZx", "DecodeReduceEncode"});
            check<worlds::reduce, T, Codec::PipeSZx, E>(s, field.name, inputs, oracle::op::sum,
                                                        {"Binomial", "PipeSZx", "DecodeReduceEncode"});
        }
}

TEMPLATE_TEST_CASE("NaN of different payloads and zeros of either sign give the same bits on all ranks",
                   "[nan][same_bits]", float, double)
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
        same(collect<all_reduce, T, Algo::RecursiveDoubling, Codec::SZx, E, Op::Min>(s, inputs),
             "doubling min SZx");
        same(collect<all_reduce, T, Algo::RecursiveDoubling, Op::Average>(s, inputs), "doubling average");
        same(collect<all_reduce, T, Algo::Ring, Op::Min>(s, inputs), "ring min");
        same(collect<all_reduce, T, Codec::PipeSZx, E, Op::Max>(s, inputs), "ring max PipeSZx");
    }
}

namespace {

/// Values from 0 to 10, including both ends, on each rank.
template <class T>
std::vector<T> between_0_and_10(std::size_t n, unsigned seed)
{
    std::vector<T> v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = static_cast<T>(5 + 5 * std::sin(0.01 * static_cast<double>(i + 31 * seed)));
    if (n > 1) {
        v[0] = 0;
        v[1] = 10;
    }
    return v;
}
/// The same field with land in some places.
template <class T>
std::vector<T> with_fill(std::size_t n, unsigned seed)
{
    auto v = between_0_and_10<T>(n, seed);
    for (std::size_t i = 2; i < n; ++i)
        if (i % 300 < 100) v[i] = T(1e20);
    return v;
}

template <class T>
ccoll::detail::value_survey seen_in(const std::vector<T>& x, bool counts_non_finite = false)
{
    ccoll::detail::value_survey found;
    found.range = found.magnitude = true;
    found.counts_non_finite = counts_non_finite;
    ccoll::detail::look_at(x.data(), x.size(), found);
    return found;
}

}  // namespace

TEMPLATE_TEST_CASE(
    "a relative bound follows from the values that are not missing, and the report counts the missing ones",
    "[nan][bounds]", float, double)
{
    using T = TestType;
    const setting s{3, 1, 5000, false};
    const auto clean = inputs_of<worlds::bcast, T>(s, &between_0_and_10<T>),
               missing = inputs_of<worlds::bcast, T>(s, &with_fill<T>);
    const auto one_of = [&]<class C>(C) {
        const auto without = collect<worlds::bcast, T, C, RelativeBound<1e-3>>(s, clean);
        const auto with = collect<worlds::bcast, T, C, RelativeBound<1e-3>>(s, missing);
        for (std::size_t r = 0; r < 3; ++r) {
            CHECK(with[r].facts.error_bound == without[r].facts.error_bound);
            CHECK(without[r].facts.special_values == 0);
            CHECK((with[r].facts.special_values >= 1600) == (r == 1));  // rank 1 encodes
            CHECK(with[r].facts.fallback_blocks == 0);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < s.n; ++i) {
                const T x = missing[1][i], y = with[r].result[i];
                wrong += x == T(1e20) ? y != x
                                      : !(std::fabs(static_cast<double>(y) - static_cast<double>(x)) <= 0.01);
            }
            CHECK(wrong == 0);
        }
    };
    one_of(Codec::SZp{});
    one_of(Codec::SZx{});
    one_of(Codec::PipeSZx{});
}

TEMPLATE_TEST_CASE("a range leaves out NaN, infinities and fill values, and nothing else", "[nan][bounds]",
                   float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    const std::vector<T> both{T(1), T(-3)};
    for (const double fill :
         {1e15, 1e20, -1e20, 1e30, -1e34, 1e35, -9e33, 1e36, 1e37, 9.96920996838687e36, 3.402823466e38,
          static_cast<double>(limits::max()), static_cast<double>(limits::lowest()), 1e20 * (1 + 4e-8)}) {
        std::vector<T> x{both[0], static_cast<T>(fill), both[1]};
        const auto found = seen_in(x);
        INFO(fill);
        CHECK(found.lowest == -3);
        CHECK(found.highest == 1);
        CHECK(found.largest == std::fabs(static_cast<double>(x[1])));
        CHECK(seen_in(std::vector<T>{x[1], x[1]}).lowest > seen_in(std::vector<T>{x[1], x[1]}).highest);
        x.push_back(limits::quiet_NaN());
        CHECK(seen_in(x).lowest == -3);
        CHECK(std::isinf(seen_in(x, true).largest));
        CHECK(seen_in(x, false).largest == found.largest);
    }
    for (const double datum :
         {9.9e14, 1.5e15, 1.23e18, 5.5e21, -9.96e36, 1.0001e20, 3.2e38, 9999.0, -32768.0}) {
        const std::vector<T> x{both[0], static_cast<T>(datum), both[1]};
        const auto found = seen_in(x);
        INFO(datum);
        CHECK((datum > 0 ? found.highest : found.lowest) == static_cast<double>(x[1]));
        CHECK(found.largest == std::fabs(static_cast<double>(x[1])));
    }
    if (sizeof(T) == 8) {
        CHECK(seen_in(std::vector<double>{1, 1e20f, -3}).highest == 1);  // as read from a file of floats
        CHECK(seen_in(std::vector<double>{1, 1e300, -3}).highest == 1);
        CHECK(seen_in(std::vector<double>{1, 1.1e300, -3}).highest == 1.1e300);
    }
    CHECK(seen_in(std::vector<ccoll::bfloat16>{ccoll::bfloat16(1.0f), ccoll::bfloat16(1e20f),
                                               ccoll::bfloat16(-3.0f)})
              .highest == 1);
}

namespace {

/// Land at the same places on all ranks. If `mixed`, some ranks also have it in other places.
template <class T>
std::vector<std::vector<T>> oceans(int p, std::size_t n, T fill, bool mixed)
{
    std::vector<std::vector<T>> all;
    for (int r = 0; r < p; ++r) {
        auto v = between_0_and_10<T>(n, static_cast<unsigned>(r));
        for (std::size_t i = 2; i < n; ++i)
            if (i % 300 < 100 || (mixed && (i + static_cast<std::size_t>(r)) % 500 < 2)) v[i] = fill;
        all.push_back(std::move(v));
    }
    return all;
}

/// @param parts  how many parts of the result each rank has
template <class T>
void check_ocean(const std::vector<std::vector<T>>& inputs, const std::vector<seen<T>>& all,
                 const std::vector<T>& fill_values, bool average, std::size_t parts)
{
    const auto p = inputs.size();
    const long double divisor = average ? static_cast<long double>(p) : 1;
    for (std::size_t r = 0; r < all.size(); ++r) {
        const seen<T>& mine = all[r];
        CHECK(mine.guards);
        if (mine.result.empty()) continue;
        if (parts == 1 && r > 0 && oracle::same_bits(mine.result, all[0].result))
            continue;  // the bits that rank 0 was checked for
        const std::size_t at = parts == 1 ? 0 : r * mine.result.size();
        std::size_t wrong = 0, kept = 0;
        for (std::size_t i = 0; i < mine.result.size(); ++i) {
            long double exact = 0, magnitude = 0;
            const T first = inputs[0][at + i], y = mine.result[i];
            std::size_t equal = 0;
            for (const auto& x : inputs) {
                exact += x[at + i];
                magnitude += std::fabs(static_cast<long double>(x[at + i]));
                equal += x[at + i] == first;
            }
            if (average && equal == p &&
                std::find(fill_values.begin(), fill_values.end(), first) != fill_values.end()) {
                kept += y == first;
                wrong += y != first;
                continue;
            }
            const long double rounding =
                2 * static_cast<long double>(std::numeric_limits<T>::epsilon()) * magnitude / divisor;
            wrong += !(std::fabs(static_cast<long double>(y) - exact / divisor) <=
                       mine.facts.worst_case_error + rounding);
        }
        INFO("p " << p << ", rank " << r);
        CHECK(wrong == 0);
        if (average) CHECK(kept > mine.result.size() / 4);
    }
}

}  // namespace

TEMPLATE_TEST_CASE(
    "fill values take part in homomorphic sums, and an average of them is the fill value itself",
    "[nan][homomorphic]", float, double)
{
    using T = TestType;
    using E = ErrorBound<1e-3>;
    const std::size_t n = 1200000 / sizeof(T);  // above a MiB
    for (const int p : {2, 3, 13})
        for (const bool mixed : {false, true}) {
            const T fill = mixed == (p % 2 == 0) ? T(1e20) : T(-1e34);
            INFO("p " << p << ", fill " << fill << (mixed ? ", mixed" : ""));
            const auto inputs =
                oceans<T>(p, n / static_cast<std::size_t>(p) * static_cast<std::size_t>(p), fill, mixed);
            const std::size_t count = inputs[0].size();
            const auto look = [&](const auto& all, bool average, std::size_t parts) {
                for (const auto& mine : all) {
                    CHECK(mine.facts.placement == std::string("Homomorphic"));
                    CHECK_FALSE(mine.facts.exact);
                }
                check_ocean(inputs, all, {fill}, average, parts);
            };
            const setting apart{p, 0, count, false}, in_place{p, 0, count, true},
                rooted{p, p - 1, count, false};
            const auto ring = collect<all_reduce, T, Codec::SZp, E, Algo::Ring>(apart, inputs);
            look(ring, false, 1);
            const auto doubling =
                collect<all_reduce, T, Codec::SZp, E, Algo::RecursiveDoubling>(in_place, inputs);
            look(doubling, false, 1);
            CHECK(oracle::same_bits(ring[0].result, doubling[0].result));
            look(collect<all_reduce, T, Codec::SZp, E, Algo::Ring, Op::Average>(in_place, inputs), true, 1);
            look(
                collect<all_reduce, T, Codec::SZp, RelativeBound<1e-4>, Algo::RecursiveDoubling, Op::Average>(
                    apart, inputs),
                true, 1);
            look(collect<worlds::reduce, T, Codec::SZp, E, Op::Average>(rooted, inputs), true, 1);
            look(collect<worlds::reduce_scatter, T, Codec::SZp, E, Op::Average>(
                     {p, 0, count / static_cast<std::size_t>(p), false}, inputs),
                 true, static_cast<std::size_t>(p));
        }
}

TEMPLATE_TEST_CASE(
    "fill values take part in homomorphic sums below 1 MiB, too, where ranks do not ask each other before",
    "[nan][homomorphic]", float, double)
{
    using T = TestType;
    using E = ErrorBound<1e-3>;
    for (const int p : {2, 5})
        for (const std::size_t n : {std::size_t{700}, std::size_t{20000}})
            for (const bool in_place : {false, true}) {
                INFO("p " << p << ", n " << n << (in_place ? ", in place" : ""));
                const auto inputs = oceans<T>(p, n, T(1e20), true);
                const auto look = [&](const auto& all, bool average) {
                    for (const auto& mine : all) {
                        CHECK(mine.facts.placement == std::string("Homomorphic"));
                        CHECK_FALSE(mine.facts.exact);
                        CHECK(mine.facts.fallback_blocks == 0);
                    }
                    check_ocean(inputs, all, {T(1e20)}, average, 1);
                };
                const setting s{p, 0, n, in_place};
                const auto ring = collect<all_reduce, T, Codec::SZp, E, Algo::Ring>(s, inputs);
                look(ring, false);
                const auto doubling =
                    collect<all_reduce, T, Codec::SZp, E, Algo::RecursiveDoubling>(s, inputs);
                look(doubling, false);
                CHECK(oracle::same_bits(ring[0].result, doubling[0].result));
                look(collect<all_reduce, T, Codec::SZp, E, Algo::Rabenseifner, Op::Average>(s, inputs), true);
                const auto parts = static_cast<std::size_t>(p);
                for (const auto& mine :
                     collect<worlds::reduce_scatter, T, Codec::SZp, E>({p, 0, n / parts, in_place}, inputs)) {
                    CHECK_FALSE(mine.facts.exact);
                    CHECK(mine.facts.fallback_blocks == 0);
                }
            }
}

TEMPLATE_TEST_CASE("encoded ensemble means of fields with land are nearly as short as those without",
                   "[nan][homomorphic]", float, double)
{
    using T = TestType;
    const int p = 13;
    const std::size_t n = 300000;
    const setting s{p, 0, n, false};
    const auto wet = inputs_of<all_reduce, T>(s, &between_0_and_10<T>), dry = oceans<T>(p, n, T(1e20), false);
    const auto without = collect<all_reduce, T, Codec::SZp, ErrorBound<1e-3>, Op::Average>(s, wet);
    const auto with = collect<all_reduce, T, Codec::SZp, ErrorBound<1e-3>, Op::Average>(s, dry);
    CHECK(static_cast<double>(with[0].facts.sent_bytes) <
          1.05 * static_cast<double>(without[0].facts.sent_bytes));
    CHECK(with[0].facts.special_values > 0);
}

namespace {

/// Oceans with several fill values: each in a part of the field, and in some places where other ranks have
/// the first one.
template <class T>
std::vector<std::vector<T>> oceans_with(int p, std::size_t n, const std::vector<T>& fill_values)
{
    auto all = oceans<T>(p, n, fill_values[0], true);
    for (std::size_t r = 0; r < all.size(); ++r)
        for (std::size_t i = 0; i < n; ++i)
            if (all[r][i] == fill_values[0])
                all[r][i] = i % 300 < 5 ? fill_values[r % fill_values.size()]
                                        : fill_values[i / 5000 % fill_values.size()];
    return all;
}

}  // namespace

TEMPLATE_TEST_CASE("several fill values take part in one homomorphic sum", "[nan][homomorphic]", float,
                   double)
{
    using T = TestType;
    using E = ErrorBound<1e-3>;
    for (const int p : {2, 5})
        for (const std::size_t values : {2u, 4u}) {
            const std::vector<T> all_of_them{T(1e20), T(-9e33), T(-1e20), T(2e25)},
                fills(all_of_them.begin(), all_of_them.begin() + values);
            const auto inputs = oceans_with<T>(p, 300000, fills);
            const setting apart{p, 0, 300000, false}, in_place{p, 0, 300000, true};
            INFO("p " << p << ", fill values " << values);
            const auto look = [&](const auto& all, bool average, std::size_t parts) {
                for (const auto& mine : all) {
                    CHECK(mine.facts.placement == std::string("Homomorphic"));
                    CHECK_FALSE(mine.facts.exact);
                }
                check_ocean(inputs, all, fills, average, parts);
            };
            const auto ring = collect<all_reduce, T, Codec::SZp, E, Algo::Ring>(apart, inputs);
            look(ring, false, 1);
            look(collect<all_reduce, T, Codec::SZp, E, Algo::RecursiveDoubling, Op::Average>(apart, inputs),
                 true, 1);
            const auto doubling =
                collect<all_reduce, T, Codec::SZp, E, Algo::RecursiveDoubling>(in_place, inputs);
            look(doubling, false, 1);
            CHECK(oracle::same_bits(ring[0].result, doubling[0].result));
            look(collect<worlds::reduce, T, Codec::SZp, E, Op::Average>({p, p - 1, 300000, false}, inputs),
                 true, 1);
            look(collect<worlds::reduce_scatter, T, Codec::SZp, E>(
                     {p, 0, 300000 / static_cast<std::size_t>(p), false}, inputs),
                 false, static_cast<std::size_t>(p));
        }
}

}  // namespace special_values_cases
