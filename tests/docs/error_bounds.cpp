// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/error_bounds.md: its closed forms and its table against the engine's own error model.
#include "support/catch.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

#include "support/fields.hpp"

namespace error_bounds_cases {

using namespace ccoll::policies;
namespace collective = ccoll::collective;

namespace {

constexpr ccoll::placement_rules per_hop{"PerHop", false, false}, once{"Once", true, false},
    decode{"DecodeReduceEncode", true, false}, homomorphic{"Homomorphic", true, true};
constexpr auto adds = ccoll::error_growth::adds, selects = ccoll::error_growth::selects;

template <class Collective, class Algorithm>
double units(int p, ccoll::placement_rules rules, ccoll::error_growth growth, int root = 0)
{
    return ccoll::detail::worst_case_units<Collective>(
        ccoll::schedule_view<ccoll::schedule_for<Algorithm, Collective>>, rules, growth, p, root);
}

double floor_log2(int p) { return std::bit_width(static_cast<unsigned>(p)) - 1; }

}  // namespace

TEST_CASE("the closed forms of docs/error_bounds.md are those of the engine", "[docs][error]")
{
    for (int p = 2; p <= 64; ++p) {
        INFO("p = " << p);
        const double n = p, log2 = floor_log2(p), core = std::exp2(log2);
        const bool power = core == n;

        CHECK(units<collective::allreduce, Algo::Ring>(p, decode, adds) == n);
        CHECK(units<collective::allreduce, Algo::Ring>(p, decode, selects) == n);
        CHECK(units<collective::allreduce, Algo::Ring>(p, homomorphic, adds) == n);
        CHECK(units<collective::allreduce, Algo::Ring>(p, per_hop, adds) == 2 * (n - 1));

        CHECK(units<collective::allreduce, Algo::RecursiveDoubling>(p, decode, adds) ==
              (power ? 2 * (n - 1) : core + n - 1));
        CHECK(units<collective::allreduce, Algo::RecursiveDoubling>(p, decode, selects) ==
              (power ? log2 : log2 + 2));
        CHECK(units<collective::allreduce, Algo::RecursiveDoubling>(p, homomorphic, adds) == n);
        CHECK(units<collective::allreduce, Algo::RecursiveDoubling>(p, per_hop, adds) == (power ? n - 1 : n));

        CHECK(units<collective::reduce_scatter, Algo::Ring>(p, decode, adds) == n - 1);
        CHECK(units<collective::reduce_scatter, Algo::Ring>(p, decode, selects) == n - 1);
        CHECK(units<collective::reduce_scatter, Algo::Ring>(p, per_hop, adds) == n - 1);
        CHECK(units<collective::reduce_scatter, Algo::Ring>(p, homomorphic, adds) == n);
        for (const int root : {0, p - 1}) {
            CHECK(units<collective::reduce, Algo::Binomial>(p, decode, adds, root) == n - 1);
            CHECK(units<collective::reduce, Algo::Binomial>(p, decode, selects, root) == log2);
            CHECK(units<collective::reduce, Algo::Binomial>(p, homomorphic, adds, root) == n);
            CHECK(units<collective::bcast, Algo::Binomial>(p, once, adds, root) == 1);
            CHECK(units<collective::bcast, Algo::Binomial>(p, per_hop, adds, root) == log2);
            CHECK(units<collective::scatter, Algo::Binomial>(p, per_hop, adds, root) == log2);
            CHECK(units<collective::bcast, Algo::Chain>(p, once, adds, root) == 1);
            CHECK(units<collective::bcast, Algo::Chain>(p, per_hop, adds, root) == n - 1);
            CHECK(units<collective::reduce, Algo::Chain>(p, decode, adds, root) == n - 1);
            CHECK(units<collective::reduce, Algo::Chain>(p, decode, selects, root) == n - 1);
            CHECK(units<collective::gather, Algo::Binomial>(p, per_hop, adds, root) == log2);
        }
        CHECK(units<collective::allgather, Algo::Ring>(p, once, adds) == 1);
        CHECK(units<collective::allgather, Algo::Ring>(p, per_hop, adds) == n - 1);
    }
}

TEST_CASE("the example figures of docs/error_bounds.md", "[docs][error]")
{
    const auto doubling = [](int p) {
        return units<collective::allreduce, Algo::RecursiveDoubling>(p, decode, adds);
    };
    CHECK(doubling(2) == 2);
    CHECK(doubling(3) == 4);
    CHECK(doubling(4) == 6);
    CHECK(doubling(5) == 8);
    CHECK(doubling(7) == 10);
    CHECK(doubling(8) == 14);
    CHECK(doubling(13) == 20);

    // [doc:worst_case]
    using Stack = ccoll::Plan<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>;
    static_assert(ccoll::worst_case<ccoll::collective::allreduce, Stack>(4) == 4e-3);
    static_assert(ccoll::worst_case<ccoll::collective::allreduce, Stack, Op::Average>(4) == 1e-3);
    static_assert(ccoll::worst_case<ccoll::collective::allgather, Stack>(4) == 1e-3);
    using Held = ccoll::Plan<Algo::Ring, Codec::SZp, EndToEnd<ErrorBound<1e-3>>>;
    static_assert(ccoll::worst_case<ccoll::collective::allreduce, Held>(4) == 1e-3);
    // [/doc:worst_case]

    CHECK(std::fabs(ccoll::detail::probable_units(100, adds) - 20.0 / 3) < 1e-12);  // C-Coll's own example
    CHECK(std::fabs(ccoll::detail::probable_units(3, selects) - 2.0 / 3 * std::sqrt(2 - 5.0 / 8)) < 1e-12);
}

TEST_CASE("docs/error_bounds.md: the probable error rests on independence, the worst case does not",
          "[docs][error]")
{
    const std::size_t n = 200000, p = 8;
    for (const bool equal : {false, true}) {
        std::vector<std::vector<float>> in(p), out(p, std::vector<float>(n));
        for (std::size_t r = 0; r < p; ++r)
            in[r] = fields::smooth<float>(n, equal ? 1 : static_cast<unsigned>(r + 1));
        std::vector<ccoll::report> reports(p);
        ccoll::run_ranks(static_cast<int>(p), [&](ccoll::threads_comm& comm) {
            const auto me = static_cast<std::size_t>(comm.rank());
            reports[me] = ccoll::allreduce<Algo::RecursiveDoubling, Codec::PipeSZx, ErrorBound<1e-3>>(
                in[me], out[me], comm);
        });
        std::size_t below = 0, beyond = 0;
        for (std::size_t i = 0; i < n; ++i) {
            double exact = 0, magnitude = 0;
            for (const auto& x : in) {
                exact += x[i];
                magnitude += std::fabs(x[i]);
            }
            const double error = std::fabs(out[0][i] - exact), worst = reports[0].worst_case_error;
            const double rounding = 3 * std::exp2(-24) * 1.01 * (magnitude + worst);
            below += error <= reports[0].probable_error;
            beyond += error > worst + rounding;
        }
        const double share = static_cast<double>(below) / static_cast<double>(n);
        INFO("equal data: " << equal << ", share " << share);
        CHECK(beyond == 0);
        CHECK(share == Approx(equal ? 0.32 : 0.72).margin(0.005));
    }
}

}  // namespace error_bounds_cases
