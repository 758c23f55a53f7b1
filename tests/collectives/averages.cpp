// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Averages of two-byte floats: the sum of numbers that fit need not fit into two bytes, and its rounding must
// not be seen in the average.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <ccoll/bucket.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/exec.hpp>
#include <ccoll/value.hpp>

#include "errors.hpp"
#include "worlds.hpp"

namespace averages_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// Half the distance between neighbours in T at m.
template <class T>
double half_ulp(double m)
{
    constexpr int bits = 15 - ccoll::exponent_bits_of<T>,
                  least = ccoll::exponent_bits_of<T> == 5 ? -14 : -126;
    return std::ldexp(1.0, std::max(m > 0 ? std::ilogb(m) : least, least) - bits - 1);
}

/// Large numbers, of one sign on all ranks, whose sums do not fit into half.
template <class T>
T large(std::size_t i, int rank)
{
    const float v = 20000.0f + static_cast<float>(i % 640) * 70.0f + static_cast<float>(rank) * 16.0f;
    return T(i % 3 == 0 ? -v : v);
}
template <class T>
std::vector<T> large_values(std::size_t n, int rank)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = large<T>(i, rank);
    return x;
}
template <class T>
bool is_average(T got, std::size_t i, int p, double worst)
{
    double exact = 0;
    for (int r = 0; r < p; ++r) exact += static_cast<double>(large<T>(i, r)) / p;
    // Besides the rounding to T, there are those of the float sum.
    return std::fabs(static_cast<double>(got) - exact) <=
           worst + half_ulp<T>(std::fabs(exact) + worst) + p * 0x1p-23 * std::fabs(exact);
}
template <class T>
void expect_averages(findings& mine, const report& facts, std::span<const T> got, std::size_t first, int p,
                     const char* what)
{
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!is_average(got[i], first + i, p, facts.worst_case_error))
            return mine.expect(false, std::string(what) + ": " + std::to_string(static_cast<float>(got[i])) +
                                          " in place " + std::to_string(first + i));
}

using E = ErrorBound<16.0>;
using two_levels = Algo::Hierarchical<Algo::Binomial, Algo::Ring>;

template <class T, class... P>
void holds(const char* what, std::size_t n = 5003)
{
    for (const int p : {1, 4, 5})
        none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
            const int me = comm.rank();
            std::vector<int> nodes(static_cast<std::size_t>(p));
            for (int r = 0; r < p; ++r) nodes[static_cast<std::size_t>(r)] = r / 2;
            ccoll::set_nodes(comm, nodes);
            auto x = large_values<T>(n, me);
            std::vector<T> y(n, T(0.0f));
            const report apart = ccoll::allreduce<Op::Average, P...>(x, y, comm);
            expect_averages<T>(mine, apart, y, 0, p, what);
            const report facts = ccoll::allreduce<Op::Average, P...>(x, comm);
            expect_averages<T>(mine, facts, x, 0, p, what);
            mine.expect(facts.same_bits, "bits may differ");
            mine.expect(facts.exact == apart.exact && facts.raw_bytes == apart.raw_bytes, "reports differ");
        }));
}

}  // namespace

TEST_CASE("An average of half is finite where the sum would not be, with every placement and without a codec",
          "[averages]")
{
    using T = ccoll::half;
    holds<T, Codec::SZp, E>("added encoded");
    holds<T, Codec::SZp, E, Algo::RecursiveDoubling, Check::Collective>("added encoded, doubling");
    holds<T, Codec::SZp, E, two_levels>("added encoded, on two levels");
    holds<T, Codec::SZp, E, Placement::DecodeReduceEncode>("decoded");
    holds<T, Codec::SZp, ErrorBound<1e-9>>("a bound for which nothing can be added encoded");
    holds<T, Codec::SZx, E, Algo::Rabenseifner>("SZx");
    holds<T, Codec::SZx, EndToEnd<RelativeBound<1e-3>>, two_levels>("SZx, on two levels");
    holds<T, Codec::Lossless, Algo::Ring>("Lossless");
    holds<T, Algo::Ring>("exact");
    holds<T, two_levels, Check::Local>("exact, on two levels");
    holds<T>("default");
    holds<T, Codec::SZp, E, Check::Local>("long", 200000);
}

TEST_CASE("An average of bfloat16 is rounded to two bytes once, and not after each addition", "[averages]")
{
    holds<ccoll::bfloat16, Algo::Ring>("exact");
    holds<ccoll::bfloat16, Codec::SZx, E>("SZx");
    holds<ccoll::bfloat16, Codec::SZp, ErrorBound<1.0>>("SZp");
}

namespace {

/// Numbers near the largest one, and some that are small, or denormal.
template <class T>
T enormous(std::size_t i, int rank)
{
    const double sizes[] = {3.3e38, 2e38, -2e38, 1.5e38, 1e20, 3.0, 1e-30, 1e-38, 3e-40};
    const double v =
        sizes[i % 9] * (1 - 0.01 * static_cast<double>((i / 9 + static_cast<std::size_t>(rank)) % 10));
    if constexpr (std::is_same_v<T, double>) return v > -1e19 && v < 1e19 ? v : v * 0x1p896;
    else return T(static_cast<float>(v));
}
template <class T, class... P>
void stays_finite(const char* what)
{
    for (const int p : {2, 3, 4, 5})
        none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
            std::vector<int> nodes(static_cast<std::size_t>(p));
            for (int r = 0; r < p; ++r) nodes[static_cast<std::size_t>(r)] = r / 2;
            ccoll::set_nodes(comm, nodes);
            std::vector<T> x(3001);
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = enormous<T>(i, comm.rank());
            const report facts = ccoll::allreduce<Op::Average, P...>(x, comm);
            for (std::size_t i = 0; i < x.size(); ++i) {
                double exact = 0;
                for (int r = 0; r < p; ++r) exact += static_cast<double>(enormous<T>(i, r)) / p;
                const double got = static_cast<double>(x[i]),
                             most = std::fabs(exact) + facts.worst_case_error;
                const double rounding =
                    std::is_same_v<T, ccoll::bfloat16> ? half_ulp<ccoll::bfloat16>(most) : 0;
                const double sums = p * (std::is_same_v<T, double> ? 0x1p-52 : 0x1p-23) * most + 0x1p-149;
                if (!(std::fabs(got - exact) <= facts.worst_case_error + rounding + sums))
                    return mine.expect(false, std::string(what) + ": " + std::to_string(got) + " in place " +
                                                  std::to_string(i) + " of " + std::to_string(p) + " ranks");
            }
        }));
}

}  // namespace

TEST_CASE("An average of finite bfloat16 is finite, exactly and added in encoded form", "[averages]")
{
    using T = ccoll::bfloat16;
    using loose = ErrorBound<1e36>;
    stays_finite<T>("default");
    stays_finite<T, Algo::Ring>("exact");
    stays_finite<T, Algo::RecursiveDoubling, Check::Collective>("exact, doubling");
    stays_finite<T, two_levels>("exact, on two levels");
    stays_finite<T, Codec::Lossless, Algo::Ring>("Lossless");
    stays_finite<T, Codec::SZp, loose>("added encoded");
    stays_finite<T, Codec::SZp, loose, two_levels>("added encoded, on two levels");
    stays_finite<T, Codec::SZp, FixedBits<8>, Check::Collective>("eight bits");
    stays_finite<T, Codec::SZp, ErrorBound<1.0>>("a bound far below the values");
    stays_finite<T, Codec::SZp, ErrorBound<1e-9>>("a bound for which nothing can be added encoded");
}

TEST_CASE("An average of finite bfloat16 is finite where partial sums are decoded", "[averages]")
{
    using T = ccoll::bfloat16;
    using loose = ErrorBound<1e36>;
    stays_finite<T, Codec::SZp, loose, Placement::DecodeReduceEncode>("decoded");
    stays_finite<T, Codec::SZp, loose, Placement::DecodeReduceEncode, two_levels>("decoded, on two levels");
    stays_finite<T, Codec::SZx, loose, Algo::Rabenseifner>("SZx");
    stays_finite<T, Codec::SZx, EndToEnd<RelativeBound<1e-3>>, Check::Collective>("SZx, relative");
    stays_finite<T, Codec::PipeSZx, FixedBits<8>, two_levels>("PipeSZx, eight bits, on two levels");
}

TEST_CASE("The report and the errors of an average of bfloat16 are in units of the values", "[averages]")
{
    using T = ccoll::bfloat16;
    none_wrong(run<findings>(4, [=](threads_comm& comm, findings& mine) {
        ccoll::set_nodes(comm, std::vector<int>{0, 0, 1, 1});
        std::vector<T> x(1000, T(1.0f));
        report facts = ccoll::allreduce<Op::Average, Codec::SZx, ErrorBound<0.125>, Algo::Ring>(x, comm);
        mine.expect(facts.error_bound == 0.125, "the bound is " + std::to_string(facts.error_bound));
        facts = ccoll::allreduce<Op::Average, Codec::SZx, ErrorBound<0.125>, two_levels>(x, comm);
        mine.expect(facts.error_bound == 0.125,
                    "on two levels the bound is " + std::to_string(facts.error_bound));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(static_cast<float>(i % 128));
        facts = ccoll::allreduce<Op::Average, Codec::SZx, RelativeBound<0x1p-7>>(x, comm);
        mine.expect(facts.error_bound == 127 * 0x1p-7,
                    "the relative bound is " + std::to_string(facts.error_bound));
    }));
    const auto all = listen(3, [](threads_comm& comm) {
        std::vector<T> x(100, T(1.0f));
        ccoll::allreduce<Op::Average, Codec::SZx, RuntimeBound, Check::Collective>(
            x, comm, comm.rank() == 1 ? 0.5 : 0.25);
    });
    all_heard(all, status::bound_differs);
    CHECK(has(all[0].text, "0.25"));
    CHECK(has(all[0].text, "0.5"));
}

TEST_CASE("What no addend holds is averaged exactly, and finite", "[averages]")
{
    using T = ccoll::bfloat16;
    for (const bool all : {true, false})
        none_wrong(run<findings>(3, [=](threads_comm& comm, findings& mine) {
            // More different values beyond 2^45 steps than an addend holds, in all chunks or in one.
            std::vector<T> x(40000), y(13334);
            for (std::size_t i = 0; i < x.size(); ++i)
                x[i] = all || i < 3000 ? std::bit_cast<T>(static_cast<std::uint16_t>(0x6000 + i * 5 % 0x1f00))
                                       : T(0.5f);
            x.resize(3 * y.size(), T(0.5f));
            const auto given = x;
            ccoll::reduce_scatter<Op::Average, Codec::SZp, ErrorBound<1e-3>>(x, y, comm);
            const std::size_t first = static_cast<std::size_t>(comm.rank()) * y.size();
            for (std::size_t i = 0; i < y.size(); ++i)
                if (!(std::fabs(float{y[i]} - float{given[first + i]}) <=
                      half_ulp<T>(std::fabs(double{float{given[first + i]}})) + 1e-3))
                    return mine.expect(false, "reduce_scatter: " + std::to_string(float{y[i]}) +
                                                  " in place " + std::to_string(i));
            const report facts = ccoll::allreduce<Op::Average, Codec::SZp, ErrorBound<1e-3>>(x, comm);
            mine.expect(all ? facts.exact : facts.fallback_blocks > 0, "nothing was too large");
            for (std::size_t i = 0; i < x.size(); ++i)
                if (!(std::fabs(float{x[i]} - float{given[i]}) <=
                      half_ulp<T>(std::fabs(double{float{given[i]}})) + 1e-3))
                    return mine.expect(false, std::to_string(float{x[i]}) + " in place " + std::to_string(i));
        }));
}

namespace {

/// Every chunk in `every` has more different values beyond 2^45 steps than an addend holds; 0: none has.
template <class T, class... P>
void equals_floats(const char* what, std::size_t n, std::size_t every, bool in_place)
{
    for (const int p : {2, 3, 5})
        none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
            std::vector<T> x(n), y(n, T(7.0f));
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t at = i + 1000 * static_cast<std::size_t>(comm.rank());
                x[i] = T(std::sin(static_cast<float>(at) * 0.01f) * static_cast<float>(1 + at % 7));
                if (every != 0 && i / 5120 % every == every - 1)
                    x[i] = std::bit_cast<T>(static_cast<std::uint16_t>(
                        (std::is_same_v<T, ccoll::half> ? 0x4c00 : 0x6000) + at * 5 % 0x1e00));
            }
            const std::vector<T> given = x;
            std::vector<float> wide;
            for (const T v : x) wide.push_back(float{v});
            const report facts = in_place ? ccoll::allreduce<Op::Average, Codec::SZp, P...>(x, comm)
                                          : ccoll::allreduce<Op::Average, Codec::SZp, P...>(x, y, comm);
            const report of_floats = ccoll::allreduce<Op::Average, Codec::SZp, P...>(wide, comm);
            mine.expect(facts.error_bound == of_floats.error_bound &&
                            facts.worst_case_error == of_floats.worst_case_error,
                        "other bounds");
            // Algo::Auto looks at the bytes of the user's elements.
            const bool alike = std::string(facts.algorithm) == of_floats.algorithm;
            mine.expect(facts.fallback_blocks == of_floats.fallback_blocks &&
                            facts.exact == of_floats.exact &&
                            (!alike || facts.sent_bytes == of_floats.sent_bytes),
                        "other facts");
            const std::vector<T>& mean = in_place ? x : y;
            std::size_t wrong = 0, changed = 0;
            for (std::size_t i = 0; i < n; ++i) {
                wrong += mean[i].bits() != T(wide[i]).bits();
                changed += !in_place && x[i].bits() != given[i].bits();
            }
            mine.expect(wrong == 0, std::string(what) + ": " + std::to_string(wrong) + " values differ");
            mine.expect(changed == 0, "the input has changed");
        }));
}

}  // namespace

TEST_CASE(
    "An average of two-byte floats in encoded form has the bits of one of floats, also where parts of "
    "it cannot be added",
    "[averages]")
{
    using T = ccoll::bfloat16;
    using B = ErrorBound<1e-3>;
    for (const bool in_place : {true, false})
        for (const std::size_t every : {0u, 1u, 3u}) {
            INFO("in place: " << in_place << ", every " << every);
            equals_floats<T, B>("short", 777, every, in_place);
            equals_floats<T, B, Algo::Ring>("ring", 40001, every, in_place);
            equals_floats<T, B, Algo::RecursiveDoubling>("doubling", 40001, every, in_place);
            equals_floats<T, B, Algo::Rabenseifner, Check::Collective>("halving", 40001, every, in_place);
            equals_floats<T, B, Algo::Ring>("long", 270001, every, in_place);
            equals_floats<T, B, Exec::Threads<2>>("threads", 270001, every, in_place);
            equals_floats<T, FixedBits<8>>("eight bits", 40001, every, in_place);
            equals_floats<T, ErrorBound<1e-41>>("no bound for addends", 40001, every, in_place);
        }
    for (const bool in_place : {true, false})
        equals_floats<ccoll::half, ErrorBound<1e-12>, Algo::Ring>("half", 40001, 3, in_place);
}

TEST_CASE("An average of finite float or double that is added in encoded form is finite", "[averages]")
{
    stays_finite<float, Codec::SZp, ErrorBound<1e36>>("float");
    stays_finite<float, Codec::SZp, FixedBits<8>>("float, eight bits");
    stays_finite<double, Codec::SZp, ErrorBound<1e299>>("double");
}

TEST_CASE("An average of bfloat16 has the bits of one of floats, rounded once more", "[averages]")
{
    using T = ccoll::bfloat16;
    for (const int p : {2, 3, 5, 8})
        none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
            std::vector<T> x(std::size_t{1} << 16);
            // All magnitudes whose sums are floats, and NaN and infinities.
            for (std::size_t i = 0; i < x.size(); ++i) {
                const auto word = static_cast<std::uint32_t>(i) * 2654435761u +
                                  static_cast<std::uint32_t>(comm.rank()) * 40503u;
                x[i] = std::bit_cast<T>(static_cast<std::uint16_t>(word >> 16));
                if (std::fabs(float{x[i]}) > 4e37f && i % 64 != 0)
                    x[i] = T(0x1p-133f * static_cast<float>(word % 256));
            }
            std::vector<float> wide(x.begin(), x.end());
            ccoll::allreduce<Op::Average, Algo::Ring>(x, comm);
            ccoll::allreduce<Op::Average, Algo::Ring>(wide, comm);
            for (std::size_t i = 0; i < x.size(); ++i)
                if (T(wide[i]).bits() != x[i].bits() && std::isfinite(wide[i]))
                    return mine.expect(false,
                                       std::to_string(wide[i]) + " became " + std::to_string(float{x[i]}));
        }));
}

TEST_CASE("Every collective and form averages two-byte floats alike", "[averages]")
{
    using T = ccoll::half;
    const int p = 4;
    none_wrong(run<findings>(p, [](threads_comm& comm, findings& mine) {
        const int me = comm.rank();
        const std::size_t n = 1200, own = n / static_cast<std::size_t>(p),
                          first = own * static_cast<std::size_t>(me);
        const auto x = large_values<T>(n, me);

        std::vector<T> y(n), part(own);
        report facts = ccoll::reduce<Op::Average, Algo::Binomial>(x, y, 2, comm);
        if (me == 2) expect_averages<T>(mine, facts, y, 0, p, "reduce");
        std::vector<ccoll::bfloat16> top(n, ccoll::bfloat16(3e38f)), all_of(n), own_of(own);
        ccoll::reduce<Op::Average>(top, all_of, 1, comm);
        if (me == 1) mine.expect(all_of[5].bits() == top[5].bits(), "reduce of bfloat16");
        ccoll::reduce_scatter<Op::Average, Algo::Ring>(top, own_of, comm);
        mine.expect(own_of[5].bits() == top[5].bits(), "reduce_scatter of bfloat16");
        facts = ccoll::reduce_scatter<Op::Average, Codec::SZx, E>(x, part, comm);
        expect_averages<T>(mine, facts, part, first, p, "reduce_scatter");
        auto both = x;
        facts = ccoll::reduce_scatter<Op::Average, Codec::SZp, E>(both, comm);
        expect_averages<T>(mine, facts, std::span<const T>(both).first(own), first, p,
                           "reduce_scatter in place");
        const std::vector<int> counts{700, 0, 100, 400};
        const std::size_t starts[] = {0, 700, 700, 800};
        std::vector<T> varied(static_cast<std::size_t>(counts[static_cast<std::size_t>(me)]));
        facts = ccoll::reduce_scatterv<Op::Average>(x, varied, counts, comm);
        expect_averages<T>(mine, facts, varied, starts[me], p, "reduce_scatterv");

        both = x;
        ccoll::request begun = ccoll::iallreduce<Op::Average, Codec::SZp, E>(both, comm);
        expect_averages<T>(mine, begun.wait(), both, 0, p, "iallreduce");
        both = x;
        ccoll::persistent prepared = ccoll::allreduce_init<Op::Average>(both, comm);
        for (int turn = 0; turn < 2; ++turn) {
            both = x;
            prepared.start();
            expect_averages<T>(mine, prepared.wait(), both, 0, p, "allreduce_init");
        }
        constexpr ccoll::menu<ccoll::Plan<Op::Average>, ccoll::Plan<Codec::SZp, E>> menu{"exact", "sum"};
        both = x;
        expect_averages<T>(mine, ccoll::allreduce(menu.at("exact"), both, comm), both, 0, p, "a menu");
        const auto [mean, of_value] = ccoll::value::allreduce<Op::Average>(x, comm);
        expect_averages<T>(mine, of_value, mean, 0, p, "value");

        both = x;
        auto more = large_values<T>(10, me);
        ccoll::bucket<T> all;
        all.add(both);
        all.add(more);
        facts = ccoll::allreduce<Op::Average, Codec::SZp, E>(all, comm);
        expect_averages<T>(mine, facts, both, 0, p, "a bucket");
        expect_averages<T>(mine, facts, more, 0, p, "a bucket");

        std::vector<T> adjacent(2 * n);
        std::copy(x.begin(), x.end(), adjacent.begin());
        facts = ccoll::allreduce<Op::Average>(adjacent.data(), adjacent.data() + n, n, comm);
        expect_averages<T>(mine, facts, std::span<const T>(adjacent).last(n), 0, p, "result behind input");
    }));
}

TEST_CASE("NaN, infinities and averages beyond the type stay what they are in averages of two-byte floats",
          "[averages]")
{
    using T = ccoll::half;
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        const float infinity = std::numeric_limits<float>::infinity(), top = 65504;
        const bool first = comm.rank() == 0;
        std::vector<T> x{T(first ? std::numeric_limits<float>::quiet_NaN() : 1.0f),
                         T(first ? infinity : 1.0f),
                         T(top),
                         T(-0.0f),
                         T(first ? 0x1p-24f : 0.0f),
                         T(first ? 3 * 0x1p-24f : 0.0f)};
        ccoll::allreduce<Op::Average, Algo::RecursiveDoubling>(x, comm);
        mine.expect(std::isnan(float{x[0]}), "NaN");
        mine.expect(float{x[1]} == infinity, "infinity");
        mine.expect(float{x[2]} == top, "the largest number");
        mine.expect(x[3].bits() == 0x8000, "-0");
        mine.expect(float{x[4]} == 0 && float{x[5]} == 0x1p-24f, "denormals");
    }));
}

TEST_CASE("What an average of two-byte floats sends: floats without a codec, and few bytes with one",
          "[averages]")
{
    using T = ccoll::half;
    const std::size_t n = 38400;  // four blocks of whole groups of 32
    none_wrong(run<findings>(4, [=](threads_comm& comm, findings& mine) {
        auto x = large_values<T>(n, comm.rank());
        const report exact = ccoll::allreduce<Op::Average, Algo::Ring>(x, comm);
        mine.expect(exact.raw_bytes == 2 * 3 * n / 4 * sizeof(T),
                    "raw bytes are those of the user's elements");
        mine.expect(exact.sent_bytes > 2 * exact.raw_bytes &&
                        static_cast<double>(exact.sent_bytes) < 2.1 * static_cast<double>(exact.raw_bytes),
                    "floats");
        std::vector<T> smooth(n);
        for (std::size_t i = 0; i < n; ++i) smooth[i] = T(10000 * std::sin(0.001f * static_cast<float>(i)));
        const report lossy = ccoll::allreduce<Op::Average, Algo::Ring, Codec::SZp, E>(smooth, comm);
        mine.expect(lossy.ratio() > 4 && lossy.ratio() < 40, "a ratio of " + std::to_string(lossy.ratio()));
    }));
}

TEST_CASE("A relative bound of an average leaves out fill values as bfloat16 has them", "[averages]")
{
    using T = ccoll::bfloat16;
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        std::vector<T> x(1000);
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = i % 10 == 0 ? T(1e20f) : T(static_cast<float>(i % 128));
        const report facts = ccoll::allreduce<Op::Average, Codec::SZp, RelativeBound<1e-2>>(x, comm);
        mine.expect(facts.error_bound == 1e-2 * 127, "the bound is " + std::to_string(facts.error_bound));
        mine.expect(x[10].bits() == T(1e20f).bits(), "a fill value is averaged");
    }));
}

TEST_CASE("Ranks that average different two-byte floats are told so", "[averages][errors]")
{
    const auto all = listen(2, [](threads_comm& comm) {
        std::vector<ccoll::half> x(100, ccoll::half(1.0f));
        std::vector<float> y(100, 1.0f);
        if (comm.rank() == 0) ccoll::allreduce<Op::Average, Algo::Ring>(x, comm);
        else ccoll::allreduce<Op::Average, Algo::Ring>(y, comm);
    });
    all_heard(all, status::plan_differs);
    CHECK((has(all[0].text, "expected half, found float") || has(all[0].text, "expected float, found half")));
}

}  // namespace averages_cases
