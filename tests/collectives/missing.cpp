// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing<value>: declared values come back bit for bit in data movement, and reductions with one are
// missing, on any number of ranks.
#include "worlds.hpp"

namespace missing_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// Smooth fields of p ranks. `marker` stands in a tenth of the places on all ranks, and in others on one rank
/// alone.
template <class T>
std::vector<std::vector<T>> with_marker(int p, std::size_t n, T marker)
{
    std::vector<std::vector<T>> all;
    for (int r = 0; r < p; ++r) {
        auto x = fields::smooth<T>(n, static_cast<unsigned>(r + 1));
        for (std::size_t i = 0; i < n; ++i)
            if (i % 100 < 10 || i % 97 == static_cast<std::size_t>(r)) x[i] = marker;
        all.push_back(std::move(x));
    }
    return all;
}

/// Runs an allreduce and looks at every element of every rank.
template <class T, class Marker, class... P>
void check_sums(int p, std::size_t n, bool in_place)
{
    const T marker = static_cast<T>(Marker::value);
    const auto inputs = with_marker<T>(p, n, marker);
    const bool average = (std::is_same_v<P, Op::Average> || ... || false);
    const auto all = collect<all_reduce, T, Marker, P...>({p, 0, n, in_place}, inputs);
    INFO("p " << p << ", n " << n << ", " << all[0].facts.codec << ", " << all[0].facts.placement
              << (in_place ? ", in place" : ""));
    const oracle::judged told =
        oracle::judge_sums<T>(inputs, inputs.size(), all[0].result, 0, all[0].facts.worst_case_error,
                              average ? p : 1, 2 * inputs.size(), &marker);
    CHECK(told.wrong == 0);
    CHECK(told.missing >= n / 10);
    for (const auto& mine : all) {
        CHECK((mine.guards && mine.send_kept));
        CHECK(oracle::same_bits(mine.result, all[0].result));
    }
}

template <class T, class Marker>
void check_all_sums(int p, std::size_t n, bool in_place)
{
    using E = ErrorBound<1e-3>;
    check_sums<T, Marker>(p, n, in_place);
    check_sums<T, Marker, Op::Average>(p, n, in_place);
    check_sums<T, Marker, Codec::SZp, E, Algo::Ring>(p, n, in_place);
    check_sums<T, Marker, Codec::SZp, E, Algo::RecursiveDoubling, Op::Average>(p, n, in_place);
    check_sums<T, Marker, Codec::SZp, RelativeBound<1e-4>, Op::Average>(p, n, in_place);
    check_sums<T, Marker, Codec::SZp, E, Placement::DecodeReduceEncode, Op::Average>(p, n, in_place);
    check_sums<T, Marker, Codec::SZx, E>(p, n, in_place);
    check_sums<T, Marker, Codec::PipeSZx, E, Op::Average>(p, n, in_place);
}

}  // namespace

TEMPLATE_TEST_CASE("a reduction with a declared missing value is missing, and all others are as ever",
                   "[missing]", float, double)
{
    using T = TestType;
    for (const int p : {2, 3, 5})
        for (const std::size_t n : {std::size_t{700}, std::size_t{300000}}) {
            if (n > 1000 && p != 3) continue;
            check_all_sums<T, Missing<-9999.0>>(p, n, p == 3);
            check_all_sums<T, Missing<1e20f>>(p, n, false);
            if (n < 1000) check_all_sums<T, Missing<0.0>>(p, n, false);  // an ordinary value as well
        }
}

TEMPLATE_TEST_CASE("declared missing values move bit for bit, and a relative bound does not depend on them",
                   "[missing]", float, double)
{
    using T = TestType;
    const std::size_t n = 20000;
    const auto clean = with_marker<T>(3, n, T(1)), inputs = with_marker<T>(3, n, T(-32768));
    const auto moved = [&]<class C>(C) {
        using M = Missing<-32768.0>;
        const auto without = collect<worlds::bcast, T, C, RelativeBound<1e-3>>({3, 1, n, false}, clean);
        const auto with = collect<worlds::bcast, T, M, C, RelativeBound<1e-3>>({3, 1, n, false}, inputs);
        INFO(C::name);
        for (const auto& mine : with) {
            CHECK(mine.facts.error_bound <= without[0].facts.error_bound);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const T x = inputs[1][i], y = mine.result[i];
                wrong += x == T(-32768) ? y != x
                                        : !(std::fabs(static_cast<double>(x) - static_cast<double>(y)) <=
                                            mine.facts.error_bound);
            }
            CHECK(wrong == 0);
        }
    };
    moved(Codec::SZp{});
    moved(Codec::SZx{});
    moved(Codec::PipeSZx{});
    moved(Codec::SZe{});
}

TEST_CASE("ranks that declare different missing values are told so", "[missing][errors]")
{
    const auto all = run<ccoll::status>(2, [](threads_comm& comm, ccoll::status& mine) {
        std::vector<float> x(300000, 1.0f), y(x.size());
        try {
            if (comm.rank() == 0)
                ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Missing<-9999.0>>(x, y, comm);
            else ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Missing<-999.0>>(x, y, comm);
        } catch (const ccoll::error& e) {
            mine = e.what_happened().code;
        }
    });
    for (const ccoll::status s : all) CHECK(s == ccoll::status::plan_differs);
}

}  // namespace missing_cases
