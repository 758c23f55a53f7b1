// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of docs/missing_values.md: statistics over the ranks of a field with missing values.
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

namespace {

// [doc:statistics]
struct statistics {
    std::vector<int> count;  // of ranks that have a value there
    std::vector<float> mean, most, variance;
};

/// Over all ranks, for each element. `missing` stands for no value, before and after.
template <class Comm>
statistics over_ranks(std::span<const float> field, float missing, const Comm& comm)
{
    const std::size_t n = field.size();
    const auto has_value = [&](std::size_t i) { return field[i] != missing && !std::isnan(field[i]); };
    statistics s{std::vector<int>(n), std::vector<float>(n), std::vector<float>(n), std::vector<float>(n)};
    for (std::size_t i = 0; i < n; ++i) {
        s.count[i] = has_value(i);
        s.mean[i] = has_value(i) ? field[i] : 0;  // adds nothing
        // Below everything, and kept exactly.
        s.most[i] = has_value(i) ? field[i] : -std::numeric_limits<float>::infinity();
    }
    ccoll::allreduce(s.count, comm);  // exact
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(s.mean, comm);
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Op::Max>(s.most, comm);
    for (std::size_t i = 0; i < n; ++i) s.mean[i] /= static_cast<float>(std::max(s.count[i], 1));

    // A second pass. All ranks have the same mean, bit for bit, so the squares are of deviations from one
    // number.
    for (std::size_t i = 0; i < n; ++i) {
        const float deviation = has_value(i) ? field[i] - s.mean[i] : 0;
        s.variance[i] = deviation * deviation;
    }
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-5>>(s.variance, comm);
    for (std::size_t i = 0; i < n; ++i) {
        s.variance[i] =
            // A bound may be wider than it is.
            std::max(0.0f, s.variance[i] / static_cast<float>(std::max(s.count[i], 1)));
        if (s.count[i] == 0) s.mean[i] = s.most[i] = s.variance[i] = missing;
    }
    return s;
}
// [/doc:statistics]

/// Sea surface temperature in K: land everywhere, and ice that is not in the same places on all ranks.
std::vector<float> temperature(std::size_t n, int rank, float missing)
{
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const bool land = i / 500 % 3 == 0, ice = i / 250 % 7 == static_cast<std::size_t>(rank);
        x[i] = land || ice
                   ? missing
                   : 285 + 10 * std::sin(1e-3f * static_cast<float>(i)) + 0.1f * static_cast<float>(rank);
    }
    return x;
}

}  // namespace

TEST_CASE("docs/missing_values.md runs, and its statistics are right within the bounds", "[docs]")
{
    const int p = 4;
    const std::size_t n = 20000;
    for (const float missing : {-9999.0f, 1e20f}) {
        std::vector<std::string> wrong(p);
        ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
            const statistics s = over_ranks(temperature(n, comm.rank(), missing), missing, comm);
            std::string& mine = wrong[static_cast<std::size_t>(comm.rank())];
            const auto expect = [&](bool holds, const char* what, std::size_t i) {
                if (!holds && mine.size() < 300)
                    mine += std::string(what) + " in place " + std::to_string(i) + "; ";
            };
            std::vector<std::vector<float>> all;
            for (int r = 0; r < p; ++r) all.push_back(temperature(n, r, missing));
            for (std::size_t i = 0; i < n; ++i) {
                double sum = 0, most = -1e300, squares = 0;
                int count = 0;
                for (const auto& x : all)
                    if (x[i] != missing) {
                        ++count;
                        sum += static_cast<double>(x[i]);
                        most = std::max(most, static_cast<double>(x[i]));
                    }
                const double mean = sum / count;
                for (const auto& x : all)
                    if (x[i] != missing)
                        squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
                expect(s.count[i] == count, "count", i);
                if (count == 0) {
                    expect(s.mean[i] == missing && s.most[i] == missing && s.variance[i] == missing,
                           "missing", i);
                    continue;
                }
                // Every rank's part may be off by a bound; the rest is the rounding of sums of p numbers near
                // 300, in f32.
                const double of_mean = p * 1e-3 / count + 300 * 2 * p * 0x1p-24,
                             of_squares = p * 1e-5 / count + 1e-6;
                expect(std::fabs(static_cast<double>(s.mean[i]) - mean) <= of_mean, "mean", i);
                expect(std::fabs(static_cast<double>(s.most[i]) - most) <= 2 * p * 1e-3, "maximum", i);
                // Squares of deviations from mean + d have the mean variance + d^2.
                expect(s.variance[i] >= 0, "a negative variance", i);
                expect(std::fabs(static_cast<double>(s.variance[i]) - squares / count) <=
                           of_squares + of_mean * of_mean,
                       "variance", i);
            }
        });
        for (const std::string& each : wrong) CHECK(each == "");
    }
}

TEST_CASE("A declared value comes back, and is missing in a sum, as docs/missing_values.md says", "[docs]")
{
    const std::size_t n = 30000;
    std::vector<std::size_t> wrong(2);
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        auto field = temperature(n, comm.rank(), -9999);
        // [doc:declared]
        using Ocean = ccoll::Plan<Codec::SZp, RelativeBound<1e-3>, Missing<-9999.0>>;
        // -9999 where any rank has it.
        const ccoll::report facts = ccoll::allreduce<Ocean, Op::Average>(field, comm);
        // [/doc:declared]
        std::size_t& mine = wrong[static_cast<std::size_t>(comm.rank())];
        mine += facts.error_bound > 0.1;  // a range of 20 K
        const auto a = temperature(n, 0, -9999), b = temperature(n, 1, -9999);
        for (std::size_t i = 0; i < n; ++i) {
            const bool gone = a[i] == -9999 || b[i] == -9999;
            mine += gone ? field[i] != -9999 : std::fabs(field[i] - (a[i] + b[i]) / 2) > 0.1f;
        }
        auto moved = a;
        ccoll::bcast<Ocean>(moved, 0, comm);
        for (std::size_t i = 0; i < n; ++i) mine += (a[i] == -9999) != (moved[i] == -9999);
    });
    CHECK(wrong == std::vector<std::size_t>{0, 0});
}

TEST_CASE("What a bound makes of missing values is what docs/missing_values.md says", "[docs]")
{
    const std::size_t n = 30000;
    for (const float missing : {-9999.0f, 1e20f, std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<char> good(2);
        ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
            auto x = temperature(n, 0, missing);
            const ccoll::report facts = ccoll::bcast<Codec::SZp, RelativeBound<1e-3>>(x, 0, comm);
            // A range of 20 K, or with -9999 as a value, of 10294 K.
            good[static_cast<std::size_t>(comm.rank())] = (facts.error_bound > 10) == (missing == -9999.0f);
        });
        INFO("missing " << missing);
        CHECK(good == std::vector<char>{1, 1});
    }
}
