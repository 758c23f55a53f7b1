// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// paper_fields.hpp - generates data of the kinds that the papers on bit-level codecs used: a gas with blast
// waves, the pressure of the Himeno benchmark, coordinates for k-means clustering, and the input of an FFT.
// The data depend only on the number of values.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <random>
#include <vector>

namespace fields {

/// Density of the interacting blast waves of Woodward and Colella (Journal of Computational Physics 54,
/// 1984): a tube with walls, pressure 1000 on the left, 100 on the right, 0.01 between, when both shocks have
/// met. One-dimensional Euler equations, first order, HLL fluxes.
/// Cost: 5 s for 8192 cells on one core.
inline std::vector<double> blast_waves(std::size_t cells, double time = 0.034)
{
    constexpr double gamma = 1.4;
    using state = std::array<double, 3>;  // density, momentum, energy
    std::vector<state> now(cells + 2), flux(cells + 1);
    const double dx = 1.0 / static_cast<double>(cells);
    for (std::size_t i = 0; i < cells + 2; ++i) {
        const double x = (static_cast<double>(i) - 0.5) * dx;
        now[i] = {1, 0, (x < 0.1 ? 1000 : x > 0.9 ? 100 : 0.01) / (gamma - 1)};
    }
    const auto pressure = [](const state& s) { return (gamma - 1) * (s[2] - 0.5 * s[1] * s[1] / s[0]); };
    const auto sound = [&](const state& s) { return std::sqrt(gamma * pressure(s) / s[0]); };
    for (double t = 0; t < time;) {
        now.front() = {now[1][0], -now[1][1], now[1][2]};
        now.back() = {now[cells][0], -now[cells][1], now[cells][2]};
        double fastest = 0;
        for (std::size_t i = 0; i <= cells; ++i) {
            const state &l = now[i], &r = now[i + 1];
            const double ul = l[1] / l[0], ur = r[1] / r[0], cl = sound(l), cr = sound(r);
            const double low = std::min(std::min(ul - cl, ur - cr), 0.0),
                         high = std::max(std::max(ul + cl, ur + cr), 0.0);
            const state fl{l[1], l[1] * ul + pressure(l), (l[2] + pressure(l)) * ul},
                fr{r[1], r[1] * ur + pressure(r), (r[2] + pressure(r)) * ur};
            for (std::size_t k = 0; k < 3; ++k)
                flux[i][k] = (high * fl[k] - low * fr[k] + high * low * (r[k] - l[k])) / (high - low);
            fastest = std::max({fastest, -low, high});
        }
        const double dt = std::min(0.8 * dx / fastest, time - t);
        for (std::size_t i = 1; i <= cells; ++i)
            for (std::size_t k = 0; k < 3; ++k) now[i][k] -= dt / dx * (flux[i][k] - flux[i - 1][k]);
        t += dt;
    }
    std::vector<double> density(cells);
    for (std::size_t i = 0; i < cells; ++i) density[i] = now[i + 1][0];
    return density;
}

/// What the Himeno benchmark sends to a neighbour: a plane of 128 x 128 values from the middle of its
/// pressure, size M (256 x 128 x 128), after some Jacobi iterations with its initial values and coefficients.
inline std::vector<float> himeno_pressure(int iterations = 30)
{
    constexpr std::size_t rows = 256, columns = 128, depth = 128, row = depth, plane = columns * depth;
    std::vector<float> p(rows * plane), next(p.size());
    for (std::size_t i = 0; i < rows; ++i) {
        const auto x = static_cast<float>(i) / static_cast<float>(rows - 1);
        std::fill_n(p.begin() + static_cast<std::ptrdiff_t>(i * plane), plane, x * x);
    }
    next = p;
    for (int step = 0; step < iterations; ++step) {
        for (std::size_t i = 1; i + 1 < rows; ++i)
            for (std::size_t j = 1; j + 1 < columns; ++j)
                for (std::size_t k = 1; k + 1 < depth; ++k) {
                    const std::size_t at = i * plane + j * row + k;
                    const float sum =
                        p[at + plane] + p[at - plane] + p[at + row] + p[at - row] + p[at + 1] + p[at - 1];
                    next[at] = p[at] + 0.8f * (sum / 6 - p[at]);
                }
        p.swap(next);
    }
    return {p.begin() + rows / 2 * plane, p.begin() + (rows / 2 + 1) * plane};
}

/// Latitudes, then longitudes of points along a track through a region, in hundredths of a degree. As with
/// the paper's obs_info, about 0.3 % of 2.4 million values are different ones, and neighbours are within 0.01
/// of one another.
inline std::vector<double> observation_points(std::size_t n)
{
    std::vector<double> x(n);
    const std::size_t points = n / 2;
    for (std::size_t i = 0; i < n; ++i) {
        const double along = static_cast<double>(i % points);
        const double degrees =
            i < points ? 20 + 17.5 * std::sin(2.0e-4 * along) : 110 + 17.5 * std::sin(1.3e-4 * along + 1);
        x[i] = std::round(degrees * 100) / 100;
    }
    return x;
}

/// A temperature with a front that moves inwards, row by row of a table: constant before the front, smooth
/// behind it. As with the paper's num_plasma, about a quarter of the values are different ones.
inline std::vector<double> pinch_temperature(std::size_t n)
{
    constexpr std::size_t row = 2000;
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double place = static_cast<double>(i % row) / row,
                     time = static_cast<double>(i / row) / (static_cast<double>(n) / row);
        const double behind = place - (0.95 - 0.4 * time);
        x[i] = behind < 0 ? 0.025
                          : 0.025 + 1.3 * std::sqrt(behind) * (1 + 0.1 * std::sin(40 * place + 9 * time)) *
                                        std::exp(-behind);
    }
    return x;
}

/// Real and imaginary parts as test programs of FFTs fill them: uniform in [0, 1), without any order.
inline std::vector<double> fft_input(std::size_t n)
{
    std::mt19937_64 random(1);
    std::vector<double> x(n);
    for (double& v : x) v = static_cast<double>(random() >> 11) * 0x1p-53;
    return x;
}

/// A sum of a few waves, sampled finely.
inline std::vector<double> smooth_sequence(std::size_t n)
{
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double t = 2 * std::numbers::pi * static_cast<double>(i) / 4096;
        x[i] = std::sin(t) + 0.3 * std::sin(5.1 * t + 1) + 0.05 * std::sin(33.7 * t + 2);
    }
    return x;
}

}  // namespace fields
