// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error_feedback.hpp: the facts that it rests on, and that nothing is lost over time.
#include "support/catch.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <ccoll/error_feedback.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;
using floats = std::vector<float>;

namespace {

void want(bool holds, const std::string& what)
{
    if (!holds) throw std::runtime_error(what);
}
float value(std::size_t i, int rank, int step)
{
    const auto word =
        static_cast<unsigned>(i) * 2654435761u + static_cast<unsigned>(rank * 97 + step * 40503);
    return static_cast<float>(static_cast<double>(word >> 8) / (1 << 24) - 0.5);
}
bool same_bits(const floats& a, const floats& b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("The addends of all ranks sum up to the bits of the allreduce, and decoded to its values",
          "[collectives][homomorphic]")
{
    for (const int p : {2, 3, 5})
        for (const double bound : {1e-4, 0.03, 0.5})
            ccoll::run_ranks(p, [=](ccoll::threads_comm& comm) {
                const std::size_t n = 12345;
                floats x(n), sum(n), decoded(n);
                for (std::size_t i = 0; i < n; ++i) x[i] = value(i, comm.rank(), 0);
                const auto facts = ccoll::allreduce<Codec::SZp, RuntimeBound>(x, sum, comm, bound);
                want(facts.placement == std::string("Homomorphic") && !facts.exact, "in encoded form");

                std::vector<std::byte> all(ccoll::max_addend_bytes<Codec::SZp, float>(n)), one(all.size());
                std::vector<double> added(n);
                for (int r = 0; r < p; ++r) {
                    for (std::size_t i = 0; i < n; ++i) x[i] = value(i, r, 0);
                    want(ccoll::encode_addend<Codec::SZp>(x, r == 0 ? all : one, bound).code ==
                             ccoll::status::ok,
                         "encode");
                    want(ccoll::decode<Codec::SZp>(r == 0 ? all : one, decoded) == ccoll::status::ok,
                         "decode");
                    for (std::size_t i = 0; i < n; ++i) {
                        want(std::fabs(static_cast<double>(decoded[i]) - static_cast<double>(x[i])) <= bound,
                             "within the bound");
                        added[i] += static_cast<double>(decoded[i]);
                    }
                    if (r > 0)
                        want(ccoll::reduce_encoded<Codec::SZp, Op::Sum, float>(all, one, all).code ==
                                 ccoll::status::ok,
                             "add");
                }
                want(ccoll::decode<Codec::SZp>(all, decoded) == ccoll::status::ok, "decode the sum");
                want(same_bits(decoded, sum), "the bits of the allreduce");
                // Each decoded addend is rounded to float, and so is the sum.
                const double rounding = std::numeric_limits<float>::epsilon();
                for (std::size_t i = 0; i < n; ++i)
                    want(std::fabs(added[i] - static_cast<double>(sum[i])) <=
                             rounding * p * 0.5 + rounding * std::fabs(added[i]),
                         "the values");
            });
}

TEMPLATE_TEST_CASE("With error feedback the averages of all steps add up to those of the gradients",
                   "[collectives]", float, double, ccoll::half, ccoll::bfloat16)
{
    // Gradients, and what remains of the sum of averages, are at most 1.6: half an ulp of 2, and the sums in
    // double are exact enough.
    constexpr bool narrow = sizeof(TestType) == 2;
    constexpr double unit = std::is_same_v<TestType, ccoll::half> ? 0x1p-11 : 0x1p-8;
    const int steps = 50;
    for (const int p : {1, 2, 3, 5})
        ccoll::run_ranks(p, [=](ccoll::threads_comm& comm) {
            const std::size_t n = 3001;
            const double bound = 0.8;  // above all values: without feedback every average is 0
            std::vector<TestType> gradient(n);
            std::vector<double> got(n), exact(n), alone(n);
            ccoll::error_feedback<TestType> feedback(n);
            for (int step = 0; step < steps; ++step) {
                floats without(n);
                for (std::size_t i = 0; i < n; ++i) {
                    gradient[i] = static_cast<TestType>(value(i, comm.rank(), step) + 0.25f);
                    without[i] = static_cast<float>(gradient[i]);
                    for (int r = 0; r < p; ++r)
                        exact[i] += static_cast<double>(static_cast<TestType>(value(i, r, step) + 0.25f)) / p;
                }
                ccoll::allreduce<Op::Average, Codec::SZp, RuntimeBound>(without, comm, bound);
                feedback.average(gradient, bound, comm);
                for (std::size_t i = 0; i < n; ++i) {
                    got[i] += static_cast<double>(gradient[i]);
                    alone[i] += static_cast<double>(without[i]);
                }
            }
            double worst = 0, worst_alone = 0;
            for (std::size_t i = 0; i < n; ++i) {
                worst = std::max(worst, std::fabs(got[i] - exact[i]));
                worst_alone = std::max(worst_alone, std::fabs(alone[i] - exact[i]));
            }
            const double rounding = static_cast<double>(std::numeric_limits<float>::epsilon()) * steps;
            want(worst <= (p == 1 ? 0 : bound) + (narrow ? unit : 0) + 4 * rounding,
                 "nothing is lost: " + std::to_string(worst));
            want(p == 1 || worst_alone > 5 * bound, "without it much is: " + std::to_string(worst_alone));
        });
}

TEMPLATE_TEST_CASE("With blocks nothing is lost over time either, of small layers beside large ones",
                   "[collectives]", float, ccoll::half, ccoll::bfloat16)
{
    constexpr int bits = 3, steps = 50;
    constexpr std::size_t block = 32, n = 7 * block + 5;
    using B = FixedBits<bits, Block<block>>;
    const auto size_of = [](std::size_t i) { return std::ldexp(1.0f, static_cast<int>(i / block) * 3 - 9); };
    const auto gradient_of = [=](std::size_t i, int rank, int step) {
        return static_cast<TestType>((value(i, rank, step) + 0.25f) * size_of(i));
    };
    for (const int p : {1, 2, 3, 5})
        ccoll::run_ranks(p, [=](ccoll::threads_comm& comm) {
            std::vector<TestType> gradient(n), begun(n);
            std::vector<double> got(n), exact(n), alone(n);
            ccoll::error_feedback<TestType, B> feedback(n), other(n);
            for (int step = 0; step < steps; ++step) {
                floats without(n);
                for (std::size_t i = 0; i < n; ++i) {
                    begun[i] = gradient[i] = gradient_of(i, comm.rank(), step);
                    without[i] = static_cast<float>(gradient[i]);
                    for (int r = 0; r < p; ++r) exact[i] += static_cast<double>(gradient_of(i, r, step)) / p;
                }
                ccoll::allreduce<Op::Average, Codec::SZp, B>(without, comm);
                ccoll::request open = other.iaverage(begun, comm);
                const ccoll::report facts = feedback.average(gradient, comm);
                want(open.wait().raw_bytes == facts.raw_bytes, "the report");
                want(std::memcmp(gradient.data(), begun.data(), n * sizeof(TestType)) == 0, "begun or not");
                want(facts.exact == (p == 1), "in encoded form");
                for (std::size_t i = 0; i < n; ++i) {
                    got[i] += static_cast<double>(gradient[i]);
                    alone[i] += static_cast<double>(without[i]);
                }
            }
            // Of gradients up to g the scale s is at most 2 (g + kept), and at most 2^-bits s is kept: with 3
            // bits g / 3. Here g is 0.75.
            double worst = 0, worst_alone = 0;
            for (std::size_t i = 0; i < n; ++i) {
                worst = std::max(worst, std::fabs(got[i] - exact[i]) / static_cast<double>(size_of(i)));
                worst_alone =
                    std::max(worst_alone, std::fabs(alone[i] - exact[i]) / static_cast<double>(size_of(i)));
            }
            const double rounding = 4 * static_cast<double>(std::numeric_limits<float>::epsilon()) * steps,
                         unit = sizeof(TestType) == 4                   ? 0
                                : std::is_same_v<TestType, ccoll::half> ? 0x1p-11
                                                                        : 0x1p-8;
            want(worst <= (p == 1 ? 0 : 0.25) + 2 * unit + rounding,
                 "nothing is lost: " + std::to_string(worst));
            want(p == 1 || worst_alone > 1, "without it much is: " + std::to_string(worst_alone));
        });
}

TEST_CASE("Error feedback with blocks: a call that fails changes nothing, and NaN leaves nothing behind",
          "[collectives]")
{
    using B = FixedBits<4, Block<64>>;
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const std::size_t n = 1000;
        ccoll::error_feedback<float, B> with(n), without(n);
        for (int step = 0; step < 6; ++step) {
            floats gradient(n);
            for (std::size_t i = 0; i < n; ++i) gradient[i] = value(i, comm.rank(), step);
            const floats given = gradient;
            floats dropped{1}, expected = given;
            std::error_code code;
            if (comm.rank() == 1) {
                static_cast<void>(with.iaverage(gradient, comm));
                for (const int peer : {0, 2}) ccoll::send(dropped, peer, 0, comm);
                code = make_error_code(ccoll::status::abandoned);
            } else {
                ccoll::recv(dropped, 1, 0, comm);
                with.iaverage(gradient, comm).wait(code);
            }
            want(code == ccoll::status::abandoned, "it fails");
            want(same_bits(gradient, given), "the gradient");
            with.average(gradient, comm);
            without.average(expected, comm);
            want(same_bits(gradient, expected), "the average");
        }
        floats gradient(n, 0.5f);
        ccoll::error_feedback<float, B> feedback(n);
        gradient[3] = std::numeric_limits<float>::quiet_NaN();
        gradient[700] = std::numeric_limits<float>::infinity();
        feedback.average(gradient, comm);
        want(std::isnan(gradient[3]) && std::isinf(gradient[700]), "as IEEE 754 says");
        std::fill(gradient.begin(), gradient.end(), 0.5f);
        feedback.average(gradient, comm);
        for (const float g : gradient) want(std::fabs(g - 0.5f) <= 2.1f / 16, "no rest of it");
    });
}

TEMPLATE_TEST_CASE("Averages that were begun have the bits of those that were waited for", "[collectives]",
                   float, double, ccoll::half)
{
    for (const int p : {1, 2, 3})
        ccoll::run_ranks(p, [](ccoll::threads_comm& comm) {
            const std::size_t n = 70000;  // more than a slice, and several calls under way
            const int vectors = 3;
            const double bound = 0.3;
            std::vector<ccoll::error_feedback<TestType>> blocking(vectors,
                                                                  ccoll::error_feedback<TestType>(n)),
                begun = blocking;
            std::vector<std::vector<TestType>> a(vectors, std::vector<TestType>(n)), b;
            for (int step = 0; step < 3; ++step) {
                for (int v = 0; v < vectors; ++v)
                    for (std::size_t i = 0; i < n; ++i)
                        a[static_cast<std::size_t>(v)][i] =
                            static_cast<TestType>(value(i, comm.rank(), 3 * step + v));
                b = a;
                std::vector<ccoll::request> open;
                for (std::size_t v = 0; v < a.size(); ++v)
                    open.push_back(begun[v].iaverage(b[v], bound, comm));
                for (std::size_t v = 0; v < a.size(); ++v) {
                    const ccoll::report facts = open[v].wait(), as = blocking[v].average(a[v], bound, comm);
                    want(facts.raw_bytes == as.raw_bytes && facts.exact == as.exact, "the report");
                    want(std::memcmp(a[v].data(), b[v].data(), n * sizeof(TestType)) == 0, "the bits");
                }
            }
        });
    ccoll::run_ranks(2, [](ccoll::threads_comm& comm) {
        ccoll::error_feedback<TestType> memory(100);
        std::vector<TestType> gradient(100);
        std::error_code code;
        memory.iaverage(gradient, comm.rank() == 0 ? 0.1 : 0.2, comm).wait(code);
        want(code == ccoll::status::bound_differs, "bounds that differ");
        auto open = memory.iaverage(gradient, 0.1, comm);
        if (!open.test()) {
            try {
                memory.average(gradient, 0.1, comm);
                want(false, "one call at a time");
            } catch (const ccoll::error& e) {
                want(e.what_happened().code == ccoll::status::out_of_turn, "one call at a time");
            }
        }
        open.wait();
        memory.average(gradient, 0.1, comm);
    });
}

TEMPLATE_TEST_CASE(
    "A call that fails changes nothing: those after it have the bits that they have without it",
    "[collectives]", float, double, ccoll::bfloat16)
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const std::size_t n = 2000;
        const double bound = 0.7;
        ccoll::error_feedback<TestType> with(n), without(n);
        std::vector<TestType> gradient(n);
        const auto is_gradient = [&](int step) {
            for (std::size_t i = 0; i < n; ++i)
                gradient[i] = static_cast<TestType>(value(i, comm.rank(), step));
        };
        for (int step = 0; step < 12; ++step) {
            is_gradient(step);
            const std::vector<TestType> given = gradient;
            std::error_code code;
            const double one_differs = comm.rank() == 1 ? 2 * bound : bound;
            if (step % 3 == 0) {
                try {
                    with.average(gradient, one_differs, comm);
                } catch (const ccoll::error& e) {
                    code = make_error_code(e.what_happened().code);
                }
            } else if (step % 3 == 1) {
                with.iaverage(gradient, one_differs, comm).wait(code);
            } else {
                // The others begin only when rank 1 has dropped its request, so no rank can have ended well.
                floats dropped{1};
                if (comm.rank() == 1) {
                    static_cast<void>(with.iaverage(gradient, bound, comm));
                    for (const int peer : {0, 2}) ccoll::send(dropped, peer, 0, comm);
                    code = make_error_code(ccoll::status::abandoned);
                } else {
                    ccoll::recv(dropped, 1, 0, comm);
                    with.iaverage(gradient, bound, comm).wait(code);
                }
            }
            want(code == (step % 3 == 2 ? ccoll::status::abandoned : ccoll::status::bound_differs),
                 "it fails");
            want(std::memcmp(gradient.data(), given.data(), n * sizeof(TestType)) == 0, "the gradient");
            with.average(gradient, bound, comm);
            std::vector<TestType> expected = given;
            without.average(expected, bound, comm);
            want(std::memcmp(gradient.data(), expected.data(), n * sizeof(TestType)) == 0, "the average");
        }
    });
}

TEST_CASE("Error feedback keeps nothing of a step that was exact", "[collectives]")
{
    ccoll::run_ranks(2, [](ccoll::threads_comm& comm) {
        floats huge(600);  // more different values beyond 2^45 steps than an addend holds
        for (std::size_t i = 0; i < huge.size(); ++i) huge[i] = 1e30f * static_cast<float>(i + 1);
        ccoll::error_feedback<float> feedback(huge.size());
        want(feedback.average(huge, 1e-3, comm).exact, "no addend holds it");
        floats next(huge.size(), 0.5f);
        feedback.average(next, 1e-3, comm);
        for (const float v : next) want(std::fabs(v - 0.5f) <= 1e-3f, "no rest of it");
    });
}

TEMPLATE_TEST_CASE("A step with NaN or infinity leaves nothing behind", "[collectives]", float, ccoll::half)
{
    ccoll::run_ranks(2, [](ccoll::threads_comm& comm) {
        std::vector<TestType> gradient(1000, static_cast<TestType>(0.5f));
        gradient[3] = static_cast<TestType>(std::numeric_limits<float>::quiet_NaN());
        gradient[700] = static_cast<TestType>(std::numeric_limits<float>::infinity());
        ccoll::error_feedback<TestType> feedback(gradient.size());
        feedback.average(gradient, 1e-3, comm);
        want(std::isnan(static_cast<float>(gradient[3])) && std::isinf(static_cast<float>(gradient[700])),
             "as IEEE 754 says");
        for (auto& g : gradient) g = static_cast<TestType>(0.5f);
        feedback.average(gradient, 1e-3, comm);
        for (const auto& g : gradient)
            want(std::fabs(static_cast<float>(g) - 0.5f) <= 2e-3f, "no rest of it");
    });
}

TEST_CASE("Error feedback refuses a gradient of another length", "[collectives]")
{
    ccoll::run_ranks(2, [](ccoll::threads_comm& comm) {
        ccoll::error_feedback<float> feedback(10);
        floats gradient(11);
        try {
            feedback.average(gradient, 1e-3, comm);
            want(false, "nothing was thrown");
        } catch (const ccoll::error& e) {
            want(e.what_happened().code == ccoll::status::size_mismatch, e.what());
        }
    });
}
