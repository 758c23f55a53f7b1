// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kmeans.cpp - k-means clustering of observation points of a satellite. The root scatters the points and
// broadcasts the means of the clusters, with the plan; sums and counts go back exactly.
// Source: Hu and Koibuchi 2021, figures 9 to 11, 16 and 17; Hu et al. 2023, figures 14 and 15.
#include <array>
#include <cmath>
#include <random>

#include "app.hpp"

namespace {

using coordinates = std::array<std::vector<double>, 2>;  // latitudes and longitudes, degrees

struct clusters {
    coordinates mean;
    std::vector<int> of_point;
};

/// Points along the tracks of a satellite, to a hundredth of a degree as instruments report them.
coordinates observations(std::size_t n)
{
    coordinates points{std::vector<double>(n), std::vector<double>(n)};
    std::minstd_rand random(7);
    const auto jitter = [&] {
        return static_cast<double>(random()) / static_cast<double>(std::minstd_rand::max()) - 0.5;
    };
    for (std::size_t i = 0; i < n; ++i) {
        const double orbit = static_cast<double>(i) / 1237;
        points[0][i] = std::round(100 * (81.2 * std::sin(6.283185307 * orbit) + jitter())) / 100;
        points[1][i] = std::round(100 * (std::fmod(24.7 * orbit + 30 * std::sin(12.56637 * orbit), 360) -
                                         180 + jitter())) /
                       100;
    }
    return points;
}

double squared(double x) { return x * x; }

/// The cluster of each point: the one whose mean is nearest.
void assign(const coordinates& points, clusters& c)
{
    for (std::size_t i = 0; i < c.of_point.size(); ++i) {
        double nearest = HUGE_VAL;
        for (std::size_t k = 0; k < c.mean[0].size(); ++k) {
            const double distance =
                squared(points[0][i] - c.mean[0][k]) + squared(points[1][i] - c.mean[1][k]);
            if (distance < nearest) {
                nearest = distance;
                c.of_point[i] = static_cast<int>(k);
            }
        }
    }
}

/// For each cluster: sums of both coordinates, and the number of points.
std::vector<double> sums_of(const coordinates& points, const clusters& c)
{
    std::vector<double> sums(3 * c.mean[0].size());
    for (std::size_t i = 0; i < c.of_point.size(); ++i) {
        double* sum = &sums[3 * static_cast<std::size_t>(c.of_point[i])];
        sum[0] += points[0][i];
        sum[1] += points[1][i];
        sum[2] += 1;
    }
    return sums;
}
void take_means(const std::vector<double>& sums, clusters& c)
{
    for (std::size_t k = 0; k < c.mean[0].size(); ++k)
        for (const std::size_t axis : {0u, 1u})
            if (sums[3 * k + 2] > 0) c.mean[axis][k] = sums[3 * k + axis] / sums[3 * k + 2];
}

struct kmeans {
    static constexpr auto& menu = app::plans;
    int points_of_rank = 20000, k = 100, iterations = 30;

    std::vector<app::setting> settings()
    {
        return {{"--points", &points_of_rank, 1500, 1, 1e7, "points of a rank"},
                {"--clusters", &k, 12, 1, 1000, "number of clusters"},
                {"--iterations", &iterations, 8, 1, 1000, "number of iterations"}};
    }
    void defaults(app::options& o)
    {
        o.program = "kmeans";
        o.about = "k-means clustering with compressed scatter and bcast";
        o.plans = {"SZp", "BitWise", "ByteZip"};
        o.bounds = {1e-6, 1e-4, 1e-2, 1e-1};
    }

    clusters first(const coordinates& all) const
    {
        clusters c;
        for (const std::size_t axis : {0u, 1u})
            for (std::size_t i = 0, n = all[0].size(), clusters = static_cast<std::size_t>(k); i < clusters;
                 ++i)
                c.mean[axis].push_back(all[axis][i * n / clusters]);
        return c;
    }
    /// The same by one rank alone, without communication.
    clusters serial(const coordinates& all) const
    {
        clusters c = first(all);
        c.of_point.resize(all[0].size());
        for (int i = 0; i < iterations; ++i) {
            assign(all, c);
            take_means(sums_of(all, c), c);
        }
        return c;
    }

    template <class Comm>
    bool run(const app::ranks<Comm>& here, const app::options& o)
    {
        const std::size_t n = static_cast<std::size_t>(points_of_rank),
                          mine = n * static_cast<std::size_t>(here.rank);
        const coordinates all = observations(n * static_cast<std::size_t>(here.size));
        const clusters exact = serial(all);

        const auto solve = [&](auto& way) {
            coordinates points{std::vector<double>(n), std::vector<double>(n)};
            for (const std::size_t axis : {0u, 1u})
                way.call([&] {
                    return ccoll::scatter(way.plan, all[axis], points[axis], 0, way.comm, way.bound);
                });
            clusters c = first(all);
            c.of_point.resize(n);
            for (int i = 0; i <= iterations; ++i) {
                for (auto& means : c.mean)
                    way.call([&] { return ccoll::bcast(way.plan, means, 0, way.comm, way.bound); });
                if (i == iterations) break;
                assign(points, c);
                const std::vector<double> sums = sums_of(points, c);
                std::vector<double> total(sums.size());
                ccoll::reduce(sums, total, 0, way.comm);  // counts must be exact
                take_means(total, c);
            }
            return c;
        };
        const auto judge = [&](const auto& way, const clusters& c) -> std::vector<app::figure> {
            // With S and T the points of a cluster in both runs, the sum of x - mean(S) over T has only terms
            // of points that moved: those of S add up to 0. So means differ by at most that sum / |T|, the
            // bound of the scattered points, and the bound of the last bcast.
            std::vector<double> moved(2 * c.mean[0].size()), count(c.mean[0].size());
            double changes = 0, cost = 0, exact_cost = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const int before = exact.of_point[mine + i], now = c.of_point[i];
                count[static_cast<std::size_t>(now)] += 1;
                const auto distance = [&](const clusters& which, int cluster) {
                    const auto each = static_cast<std::size_t>(cluster);
                    return squared(all[0][mine + i] - which.mean[0][each]) +
                           squared(all[1][mine + i] - which.mean[1][each]);
                };
                cost += distance(c, now);
                exact_cost += distance(exact, before);
                if (before == now) continue;
                changes += 1;
                for (const auto each : {static_cast<std::size_t>(before), static_cast<std::size_t>(now)})
                    for (const std::size_t axis : {0u, 1u})
                        moved[2 * each + axis] += std::fabs(all[axis][mine + i] - exact.mean[axis][each]);
            }
            ccoll::allreduce(moved, way.comm);
            ccoll::allreduce(count, way.comm);
            std::vector<double> totals{changes, cost, exact_cost};
            ccoll::allreduce(totals, way.comm);
            changes = totals[0];
            const double points = static_cast<double>(all[0].size()),
                         rounding = points * 360 * std::numeric_limits<double>::epsilon();
            double error = 0, share = 0;
            for (std::size_t each = 0; each < count.size(); ++each)
                for (const std::size_t axis : {0u, 1u}) {
                    const double off = std::fabs(c.mean[axis][each] - exact.mean[axis][each]);
                    error = std::max(error, off);
                    if (count[each] > 0)
                        share = std::max(
                            share, off / (2 * way.bound + moved[2 * each + axis] / count[each] + rounding));
                }
            return {{"error of a mean", error},
                    {"of its limit", share, 1},
                    {"moved points, %", 100 * changes / points},
                    {"cost, % above", 100 * (totals[1] / totals[2] - 1)}};
        };
        return app::compare(
            here, o, std::to_string(all[0].size()) + " points in degrees, " + std::to_string(k) + " clusters",
            menu, solve, judge);
    }
};

}  // namespace

int main(int argc, char** argv) { return app::main<kmeans>(argc, argv); }
