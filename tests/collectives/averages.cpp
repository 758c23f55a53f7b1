// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Averages of two-byte floats: the sum of numbers that fit need not fit into two bytes, and its rounding must not be seen in the average.
#include <cmath>
#include <limits>

#include <ccoll/bucket.hpp>
#include <ccoll/codec.hpp>
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
    constexpr int bits = 15 - ccoll::exponent_bits_of<T>, least = ccoll::exponent_bits_of<T> == 5 ? -14 : -126;
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
    return std::fabs(static_cast<double>(got) - exact) <= worst + half_ulp<T>(std::fabs(exact) + worst) + p * 0x1p-23 * std::fabs(exact);
}
template <class T>
void expect_averages(findings& mine, const report& facts, std::span<const T> got, std::size_t first, int p, const char* what)
{
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!is_average(got[i], first + i, p, facts.worst_case_error))
            return mine.expect(
                false, std::string(what) + ": " + std::to_string(static_cast<float>(got[i])) + " in place " + std::to_string(first + i));
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

TEST_CASE("An average of half is finite where the sum would not be, with every placement and without a codec", "[averages]")
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

TEST_CASE("Every collective and form averages two-byte floats alike", "[averages]")
{
    using T = ccoll::half;
    const int p = 4;
    none_wrong(run<findings>(p, [](threads_comm& comm, findings& mine) {
        const int me = comm.rank();
        const std::size_t n = 1200, own = n / static_cast<std::size_t>(p), first = own * static_cast<std::size_t>(me);
        const auto x = large_values<T>(n, me);

        std::vector<T> y(n), part(own);
        report facts = ccoll::reduce<Op::Average, Algo::Binomial>(x, y, 2, comm);
        if (me == 2) expect_averages<T>(mine, facts, y, 0, p, "reduce");
        facts = ccoll::reduce_scatter<Op::Average, Codec::SZx, E>(x, part, comm);
        expect_averages<T>(mine, facts, part, first, p, "reduce_scatter");
        auto both = x;
        facts = ccoll::reduce_scatter<Op::Average, Codec::SZp, E>(both, comm);
        expect_averages<T>(mine, facts, std::span<const T>(both).first(own), first, p, "reduce_scatter in place");
        const std::vector<int> counts{700, 0, 100, 400};
        const std::size_t starts[] = {0, 700, 700, 800};
        std::vector<T> varied(static_cast<std::size_t>(counts[static_cast<std::size_t>(me)]));
        facts = ccoll::reduce_scatter_v<Op::Average>(x, varied, counts, comm);
        expect_averages<T>(mine, facts, varied, starts[me], p, "reduce_scatter_v");

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
        facts = ccoll::allreduce_bucket<Op::Average, Codec::SZp, E>(all, comm);
        expect_averages<T>(mine, facts, both, 0, p, "a bucket");
        expect_averages<T>(mine, facts, more, 0, p, "a bucket");

        std::vector<T> adjacent(2 * n);
        std::copy(x.begin(), x.end(), adjacent.begin());
        facts = ccoll::allreduce<Op::Average>(adjacent.data(), adjacent.data() + n, n, comm);
        expect_averages<T>(mine, facts, std::span<const T>(adjacent).last(n), 0, p, "result behind input");
    }));
}

TEST_CASE("NaN, infinities and averages beyond the type stay what they are in averages of two-byte floats", "[averages]")
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

TEST_CASE("What an average of two-byte floats sends: floats without a codec, and few bytes with one", "[averages]")
{
    using T = ccoll::half;
    const std::size_t n = 38400;  // four blocks of whole groups of 32
    none_wrong(run<findings>(4, [=](threads_comm& comm, findings& mine) {
        auto x = large_values<T>(n, comm.rank());
        const report exact = ccoll::allreduce<Op::Average, Algo::Ring>(x, comm);
        mine.expect(exact.raw_bytes == 2 * 3 * n / 4 * sizeof(T), "raw bytes are those of the user's elements");
        mine.expect(
            exact.sent_bytes > 2 * exact.raw_bytes && static_cast<double>(exact.sent_bytes) < 2.1 * static_cast<double>(exact.raw_bytes),
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
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 10 == 0 ? T(1e20f) : T(static_cast<float>(i % 128));
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
