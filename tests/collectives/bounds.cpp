// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// The bound of a call in all its forms: per compression, relative, for the result, given at run time.
#include "worlds.hpp"

namespace bounds_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

constexpr names ring_sum{"Ring", "PipeSZx", "DecodeReduceEncode"}, ring_once{"Ring", "PipeSZx", "Once"},
    tree_once{"Binomial", "PipeSZx", "Once"};

/// Smooth data whose scale depends on the seed, so ranks have different ranges.
template <class T>
std::vector<T> scaled(std::size_t n, unsigned seed)
{
    auto v = fields::smooth<T>(n, seed);
    for (T& x : v) x = static_cast<T>(x * static_cast<T>(seed * seed) + static_cast<T>(seed));
    return v;
}

/// Largest minus smallest finite value of all ranks.
template <class T>
double range_of(const std::vector<std::vector<T>>& inputs)
{
    std::vector<T> together;
    for (const auto& each : inputs) together.insert(together.end(), each.begin(), each.end());
    return fields::range(together);
}

}  // namespace

TEMPLATE_TEST_CASE("RuntimeBound with a number equals ErrorBound", "[bound]", float, double)
{
    using T = TestType;
    for (const int p : {2, 5})
        for (const double eb : {1e-6, 1e-2, 10.0}) {
            const setting s{p, 0, 3000, false};
            const auto inputs = inputs_of<all_reduce, T>(s, &scaled<T>);
            const auto all = check<all_reduce, T, Codec::PipeSZx, RuntimeBound>(
                s, "scaled", inputs, oracle::op::sum, ring_sum, eb);
            CHECK(all[0].facts.error_bound == eb);
            CHECK(all[0].facts.worst_case_error == Approx(p * eb));
        }
}

TEMPLATE_TEST_CASE("RuntimeRelativeBound with a number equals RelativeBound", "[bound]", float, double)
{
    using T = TestType;
    for (const int p : {2, 5}) {
        const setting s{p, 0, 3000, false};
        const auto inputs = inputs_of<all_reduce, T>(s, &scaled<T>);
        const auto want = check<all_reduce, T, Codec::PipeSZx, RelativeBound<1e-3>>(
            s, "scaled", inputs, oracle::op::sum, ring_sum);
        const auto all = check<all_reduce, T, Codec::PipeSZx, RuntimeRelativeBound>(
            s, "scaled", inputs, oracle::op::sum, ring_sum, 1e-3);
        CHECK(all[0].facts.error_bound == want[0].facts.error_bound);
        CHECK(all[0].result == want[0].result);
        const auto result = check<all_reduce, T, Codec::PipeSZx, EndToEnd<RuntimeRelativeBound>>(
            s, "scaled", inputs, oracle::op::sum, ring_sum, 1e-3);
        CHECK(result[0].facts.worst_case_error == Approx(1e-3 * range_of(inputs)));
    }
}

TEMPLATE_TEST_CASE("FixedBits is a part of the largest magnitude of all ranks, wherever the values lie",
                   "[bound]", float, double)
{
    using T = TestType;
    for (const int p : {1, 2, 5})
        for (const double shift : {0.0, -1e4}) {  // with a shift the range is small beside the magnitude
            CAPTURE(p, shift);
            const setting s{p, 0, 6000, false};
            auto inputs = inputs_of<all_reduce, T>(s, &scaled<T>);
            for (auto& each : inputs)
                for (T& x : each) x += static_cast<T>(shift);
            double largest = 0;
            for (const auto& each : inputs)
                for (const T x : each) largest = std::max(largest, std::fabs(static_cast<double>(x)));
            const auto all = run<ccoll::report>(p, [&](threads_comm& comm, ccoll::report& mine) {
                const std::vector<T>& x = inputs[static_cast<std::size_t>(comm.rank())];
                std::vector<T> y(x.size()), z(x.size());
                mine = ccoll::allreduce<Algo::Ring, Codec::SZp, FixedBits<10>>(x, y, comm);
                if (comm.size() == 1) return;
                const ccoll::report same =
                    ccoll::allreduce<Algo::Ring, Codec::SZp, RuntimeBound>(x, z, comm, mine.error_bound);
                if (y != z || same.sent_bytes != mine.sent_bytes) mine.error_bound = -1;
            });
            for (const ccoll::report& r : all) {
                if (p == 1) continue;
                CHECK(r.error_bound == largest / 1024);
                CHECK(r.worst_case_error == Approx(p * largest / 1024));
                CHECK(8.0 * static_cast<double>(r.sent_bytes) <=
                      (10 + std::log2(p) + 2) * static_cast<double>(r.raw_bytes / sizeof(T)));
            }
        }
}

TEST_CASE("FixedBits of values that are all 0, or of none, and between two ranks", "[bound]")
{
    run<int>(2, [&](threads_comm& comm, int&) {
        const std::vector<float> zeros(5000), none;
        std::vector<float> y(5000, 1), nothing;
        const ccoll::report r = ccoll::allreduce<Codec::SZp, FixedBits<8>>(zeros, y, comm);
        if (y != zeros || !(r.error_bound > 0)) throw std::runtime_error("zeros");
        ccoll::allreduce<Codec::SZp, FixedBits<8>>(none, nothing, comm);
        const std::vector<float> x = scaled<float>(5000, 3);
        float largest = 0;
        for (const float v : x) largest = std::max(largest, std::fabs(v));
        const ccoll::report pair = comm.rank() == 0 ? ccoll::send<Codec::SZp, FixedBits<8>>(x, 1, 0, comm)
                                                    : ccoll::recv<Codec::SZp, FixedBits<8>>(y, 0, 0, comm);
        if (pair.error_bound != static_cast<double>(largest) / 256) throw std::runtime_error("a message");
    });
}

TEMPLATE_TEST_CASE("RelativeBound is a fraction of the range of all ranks", "[bound]", float, double)
{
    using T = TestType;
    for (const int p : {2, 3, 8})
        for (const std::size_t n : {std::size_t{1}, std::size_t{129}, std::size_t{6000}}) {
            const setting s{p, p - 1, n, false};
            const auto inputs = inputs_of<all_reduce, T>(s, &scaled<T>);
            const double range = range_of(inputs);
            for (const auto& mine : check<all_reduce, T, Codec::PipeSZx, RelativeBound<1e-3>>(
                     s, "scaled", inputs, oracle::op::sum, ring_sum)) {
                CHECK(mine.facts.error_bound == Approx(1e-3 * range).epsilon(1e-12));
                CHECK(mine.facts.agreed);
            }
            const auto blocks = inputs_of<worlds::allgather, T>(s, &scaled<T>);
            for (const auto& mine : check<worlds::allgather, T, Codec::PipeSZx, RelativeBound<1e-3>>(
                     s, "scaled", blocks, oracle::op::sum, ring_once))
                CHECK(mine.facts.error_bound == Approx(1e-3 * range_of(blocks)).epsilon(1e-12));
            // The other ranks contribute nothing.
            const auto at_root = inputs_of<worlds::bcast, T>(s, &scaled<T>);
            if (n > 1)
                for (const auto& mine : check<worlds::bcast, T, Codec::PipeSZx, RelativeBound<1e-3>>(
                         s, "scaled", at_root, oracle::op::sum, tree_once))
                    CHECK(mine.facts.error_bound == Approx(1e-3 * range_of(at_root)).epsilon(1e-12));
            check<worlds::scatter, T, Codec::PipeSZx, RelativeBound<1e-3>>(
                s, "scaled", inputs_of<worlds::scatter, T>(s, &scaled<T>), oracle::op::sum, tree_once);
        }
}

TEST_CASE("The range of a bcast ignores what other ranks have in their buffers", "[bound][bcast]")
{
    const auto all = run<report>(4, [](threads_comm& comm, report& mine) {
        auto v = fields::smooth<double>(500);
        const double range = fields::range(v);
        if (comm.rank() != 2)
            v.assign(500, comm.rank() % 2 == 0 ? 1e9 : std::numeric_limits<double>::quiet_NaN());
        mine = ccoll::bcast<Codec::SZx, RelativeBound<1e-2>>(v, 2, comm);
        if (std::fabs(mine.error_bound - 1e-2 * range) > 1e-15) throw std::runtime_error("wrong range");
    });
    CHECK(all[0].error_bound == all[3].error_bound);
}

TEMPLATE_TEST_CASE("A relative bound of data without a range is so small that they stay exact", "[bound]",
                   float, double)
{
    using T = TestType;
    const auto tiny = static_cast<double>(std::numeric_limits<T>::min());
    const auto one = [&](contribution<T> data, std::size_t n, double times = 16) {
        const setting s{3, 0, n, false};
        const auto all = check<all_reduce, T, Codec::PipeSZx, RelativeBound<1e-3>, Op::Max>(
            s, "constant", inputs_of<all_reduce, T>(s, data), oracle::op::max, ring_sum);
        CHECK(all[0].facts.error_bound == times * tiny);
    };
    one([](std::size_t n, unsigned) { return std::vector<T>(n, T(3.7)); }, 1000,
        std::max(16.0, double{T(3.7)} * 0x1p-140 / tiny));
    one([](std::size_t n, unsigned) { return std::vector<T>(n, T(0)); }, 1000);
    one([](std::size_t n, unsigned) { return std::vector<T>(n, std::numeric_limits<T>::quiet_NaN()); }, 1000);
    one([](std::size_t n, unsigned) { return std::vector<T>(n, -std::numeric_limits<T>::infinity()); }, 200);
    one([](std::size_t n, unsigned) { return std::vector<T>(n); }, 0);
    one([](std::size_t n, unsigned) { return std::vector<T>(n, std::numeric_limits<T>::min() * 5); }, 1000,
        1);
    one(&fields::denormal<T>, 1000, 1);
}

TEMPLATE_TEST_CASE("Fields without a range are compressed with a relative bound, and stay exact", "[bound]",
                   float, double, ccoll::half)
{
    using T = TestType;
    const std::size_t n = 100000;
    for (const float constant : {0.0f, 273.15f, -1e-3f}) {
        const auto all = run<findings>(3, [=](threads_comm& comm, findings& mine) {
            const std::vector<T> x(n, T(constant));
            const auto look = [&](const char* what, const report& facts, const std::vector<T>& y,
                                  float times) {
                const auto expected = static_cast<double>(x[0]) * static_cast<double>(times);
                const double rounding = std::fabs(expected) * (sizeof(T) == 2 ? 0x1p-10 : 0x1p-22);
                bool right = true;
                for (const T v : y) right = right && std::fabs(static_cast<double>(v) - expected) <= rounding;
                mine.expect(right, std::string(what) + " is not exact");
                mine.expect(facts.sent_bytes == 0 || facts.ratio() > 50,
                            what + (": a ratio of " + std::to_string(facts.ratio())));
            };
            auto y = x;
            look("bcast", ccoll::bcast<Codec::SZp, RelativeBound<1e-3>>(y, 0, comm), y, 1);
            y = x;
            look("sum", ccoll::allreduce<Codec::SZp, RelativeBound<1e-3>>(y, comm), y, 3);
            y = x;
            look("average", ccoll::allreduce<Codec::SZp, RelativeBound<1e-3>, Op::Average>(y, comm), y, 1);
            y = x;
            look("SZe", ccoll::allreduce<Codec::SZe, EndToEnd<RelativeBound<1e-3>>>(y, comm), y, 3);
        });
        none_wrong(all);
    }
}

TEMPLATE_TEST_CASE("NaN and Inf do not count in the range", "[bound]", float, double)
{
    using T = TestType;
    const setting s{4, 0, 5000, false};
    const auto inputs = inputs_of<all_reduce, T>(s, &fields::non_finite<T>);
    const auto all = check<all_reduce, T, Codec::PipeSZx, RelativeBound<1e-3>>(s, "non_finite", inputs,
                                                                               oracle::op::sum, ring_sum);
    CHECK(all[0].facts.error_bound == Approx(1e-3 * range_of(inputs)).epsilon(1e-12));
}

TEMPLATE_TEST_CASE("A range that overflows still gives a bound", "[bound]", float, double)
{
    using T = TestType;
    const setting s{2, 0, 600, false};
    const auto inputs = inputs_of<worlds::allgather, T>(s, &fields::largest<T>);
    check<worlds::allgather, T, Codec::PipeSZx, RelativeBound<1e-3>>(s, "largest", inputs, oracle::op::sum,
                                                                     ring_once);
}

TEMPLATE_TEST_CASE("EndToEnd holds its bound for the result", "[bound][end_to_end]", float, double)
{
    using T = TestType;
    for (const int p : {2, 3, 5, 13})
        for (const auto& field : ordinary<T>) {
            const setting s{p, p / 2, 1500, false};
            const auto inputs = inputs_of<all_reduce, T>(s, field.make);
            const auto held = [&](const std::vector<seen<T>>& all, double bound) {
                for (const auto& mine : all) {
                    CHECK(mine.facts.worst_case_error <= bound * (1 + 1e-12));
                    CHECK(mine.facts.worst_case_error >= bound * (1 - 1e-12));
                }
            };
            held(check<all_reduce, T, Codec::PipeSZx, EndToEnd<ErrorBound<1e-2>>>(s, field.name, inputs,
                                                                                  oracle::op::sum, ring_sum),
                 1e-2);
            held(check<all_reduce, T, Codec::PipeSZx, EndToEnd<ErrorBound<1e-2>>, Op::Average>(
                     s, field.name, inputs, oracle::op::average, ring_sum),
                 1e-2);
            held(check<all_reduce, T, Codec::PipeSZx, EndToEnd<RuntimeBound>, Placement::PerHop>(
                     s, field.name, inputs, oracle::op::sum, {"Ring", "PipeSZx", "PerHop"}, 0.5),
                 0.5);
            const auto relative =
                collect<all_reduce, T, Codec::PipeSZx, EndToEnd<RelativeBound<1e-2>>>(s, inputs);
            if (std::string(field.name) != "constant") held(relative, 1e-2 * range_of(inputs));
            check<all_reduce, T, Codec::PipeSZx, EndToEnd<RelativeBound<1e-2>>>(s, field.name, inputs,
                                                                                oracle::op::sum, ring_sum);
        }
}

TEST_CASE("Errors that add up stay below the worst case", "[bound][adversarial]")
{
    const unsigned seed = 20240611;
    for (const int p : {5, 13})
        for (unsigned round = 0; round < 6; ++round) {
            INFO("p " << p << ", seed " << seed + round);
            // Values just off the middle of quantisation steps, all on the same side, so that each encoding
            // errs in the same direction.
            const setting s{p, 0, 1280, false};
            std::vector<std::vector<float>> inputs;
            for (int r = 0; r < p; ++r) {
                fields::generator random(seed + round * 100 + static_cast<unsigned>(r));
                std::vector<float> v(s.n);
                const double eb = 1e-2, step = std::ldexp(1.0, -7 - static_cast<int>(round % 3));
                for (std::size_t i = 0; i < s.n; ++i)
                    v[i] = static_cast<float>(step * static_cast<double>(random.below(64)) +
                                              (round < 3 ? 0.49 : 0.99) * step +
                                              (i % 128 == 0 ? 1 : 0) * 40 * eb);
                inputs.push_back(v);
            }
            check<all_reduce, float, Codec::PipeSZx, ErrorBound<1e-2>>(s, "adversarial", inputs,
                                                                       oracle::op::sum, ring_sum);
            check<all_reduce, float, Codec::PipeSZx, ErrorBound<1e-2>, Placement::PerHop>(
                s, "adversarial", inputs, oracle::op::sum, {"Ring", "PipeSZx", "PerHop"});
            check<all_reduce, float, Codec::PipeSZx, ErrorBound<1e-2>, Algo::RecursiveDoubling>(
                s, "adversarial", inputs, oracle::op::sum,
                {"RecursiveDoubling", "PipeSZx", "DecodeReduceEncode"});
        }
}

}  // namespace bounds_cases
