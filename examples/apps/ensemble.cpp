// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ensemble.cpp - mean, variance and maximum over the members of an ensemble of ocean temperatures, with -9999
// on land (docs/missing_values.md). The variance is taken in two passes. For comparison: the naive mean of
// squares less the square of the mean.
#include <cmath>

#include "app.hpp"

namespace {

using floats = std::vector<float>;
constexpr float land = -9999;
using Land = app::Missing<-9999.0>;
inline constexpr ccoll::menu<ccoll::Plan<>, ccoll::Plan<app::Codec::SZp, app::RuntimeBound>,
                             ccoll::Plan<app::Codec::SZe, app::RuntimeBound>,
                             ccoll::Plan<app::Codec::SZx, app::RuntimeBound>,
                             ccoll::Plan<app::Codec::Lossless>>
    masked_plans{"none", "SZp", "SZe", "SZx", "Lossless"};

struct statistics {
    floats mean, most, variance, naive;
};

/// Over all ranks. A place is land on all of them or on none. Without a codec, what MPI does: zeros in place
/// of the markers.
template <class Operation, class Way>
void combine(Way& way, floats& field)
{
    if (!way.plain) {
        way.call([&] { return ccoll::allreduce<Operation, Land>(way.plan, field, way.comm, way.bound); });
        return;
    }
    std::vector<std::size_t> marked;
    for (std::size_t i = 0; i < field.size(); ++i)
        if (field[i] == land) {
            marked.push_back(i);
            field[i] = 0;
        }
    way.call([&] { return ccoll::allreduce<Operation>(field, way.comm); });
    for (const std::size_t i : marked) field[i] = land;
}

struct ensemble {
    static constexpr auto& menu = masked_plans;
    int rows = 180, columns = 360, members = 5;

    std::vector<app::setting> settings()
    {
        return {{"--rows", &rows, 61, 1, 1e5, "rows of the grid"},
                {"--columns", &columns, 97, 1, 1e5, "columns"},
                {"--members", &members, 3, 1, 1000, "members of a rank"}};
    }
    void defaults(app::options& o)
    {
        o.program = "ensemble";
        o.about = "Statistics of an ensemble with missing values and compressed allreduces";
        o.plans = {"SZp", "SZe"};
        o.bounds = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
    }

    /// Temperature of a member, K.
    float value(std::size_t at, int member) const
    {
        const double y = static_cast<double>(at / static_cast<std::size_t>(columns)) / rows;
        const double x = static_cast<double>(at % static_cast<std::size_t>(columns)) / columns,
                     turn = 6.283185307179586;
        if (std::sin(turn * (2 * x + y)) + std::cos(turn * 3 * y) * std::sin(turn * 5 * x) > 0.9) return land;
        const double phase = 0.7 * member;
        return static_cast<float>(272 + 30 * std::sin(turn / 2 * y) +
                                  0.6 * std::sin(turn * (7 * x + 5 * y) + phase) +
                                  0.2 * std::sin(turn * (23 * x - 11 * y) + 1.9 * phase));
    }

    template <class Comm>
    bool run(const app::ranks<Comm>& here, const app::options& o)
    {
        const std::size_t n = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
        const int all = members * here.size;
        std::vector<floats> mine;
        for (int k = 0; k < members; ++k) {
            mine.emplace_back(n);
            for (std::size_t i = 0; i < n; ++i) mine.back()[i] = value(i, here.rank * members + k);
        }
        // What this rank contributes: a mean over its own members, computed in f64 and rounded once.
        const auto own = [&](auto&& of_value) {
            floats field(n, land);
            for (std::size_t i = 0; i < n; ++i) {
                double sum = 0;
                for (const floats& member : mine) sum += of_value(static_cast<double>(member[i]), i);
                if (mine[0][i] != land) field[i] = static_cast<float>(sum / members);
            }
            return field;
        };

        const auto solve = [&](auto& way) {
            statistics s;
            s.mean = own([](double x, std::size_t) { return x; });
            combine<app::Op::Average>(way, s.mean);
            s.variance =
                own([&](double x, std::size_t i) { return std::pow(x - static_cast<double>(s.mean[i]), 2); });
            combine<app::Op::Average>(way, s.variance);
            s.most = mine[0];
            for (const floats& member : mine)
                for (std::size_t i = 0; i < n; ++i) s.most[i] = std::max(s.most[i], member[i]);
            combine<app::Op::Max>(way, s.most);
            s.naive = own([](double x, std::size_t) { return x * x; });
            combine<app::Op::Average>(way, s.naive);
            for (std::size_t i = 0; i < n; ++i)
                if (s.naive[i] != land) s.naive[i] -= s.mean[i] * s.mean[i];
            return s;
        };
        const auto judge = [&](const auto& way, const statistics& s) -> std::vector<app::figure> {
            double off_mean = 0, off_most = 0, off_variance = 0, off_naive = 0, below = 0, sea = 0, wrong = 0;
            for (std::size_t i = 0; i < n; ++i) {
                if (mine[0][i] == land) {
                    for (const floats* each : {&s.mean, &s.most, &s.variance}) wrong += (*each)[i] != land;
                    continue;
                }
                double mean = 0, most = 0, variance = 0;  // by this rank alone, in f64
                for (int k = 0; k < all; ++k) {
                    const auto x = static_cast<double>(value(i, k));
                    mean += x / all;
                    most = std::max(most, x);
                }
                for (int k = 0; k < all; ++k)
                    variance += std::pow(static_cast<double>(value(i, k)) - mean, 2) / all;
                off_mean = std::max(off_mean, std::fabs(static_cast<double>(s.mean[i]) - mean));
                off_most = std::max(off_most, std::fabs(static_cast<double>(s.most[i]) - most));
                off_variance =
                    std::max(off_variance, std::fabs(static_cast<double>(s.variance[i]) - variance));
                off_naive = std::max(off_naive, std::fabs(static_cast<double>(s.naive[i]) - variance));
                below += s.naive[i] < 0;
                sea += 1;
            }
            // Means of ranks, and partial sums of them, are rounded to floats of up to 303 p. The variance
            // grows by the square of the mean's error.
            const double ulp = std::numeric_limits<float>::epsilon(),
                         rounding = 303.0 * (here.size + 1) * ulp;
            const double mean_limit = way.bound + rounding, largest_variance = 1;
            return {{"error of variance", off_variance,
                     way.bound + mean_limit * mean_limit + largest_variance * (here.size + 1) * ulp},
                    {"naive variance", off_naive},
                    {"naive below 0, %", 100 * below / sea},
                    {"error of mean", off_mean, mean_limit},
                    {"error of max", off_most, way.bound + 303 * ulp},
                    {"land lost", wrong, 0}};
        };
        return app::compare(here, o,
                            std::to_string(all) + " members of " + std::to_string(rows) + " x " +
                                std::to_string(columns) + " points, K, variances of 0.2 K^2",
                            menu, solve, judge);
    }
};

}  // namespace

int main(int argc, char** argv) { return app::main<ensemble>(argc, argv); }
