// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fields.hpp - two kinds of field that simulations send, generated: never constants, zeros or ramps, on which every compressor shines.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <random>
#include <vector>

namespace fields {

/// Busy: one scalar of a turbulent flow on a 256 x 256 x (n / 65536) grid, a sum of Fourier modes with E(k) ~ k^(-5/3), rms 1.
inline std::vector<float> turbulence(std::size_t n, unsigned seed)
{
    constexpr std::size_t edge = 256;
    constexpr int modes = 48;
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<float> field(n);
    struct mode {
        double kx, ky, kz, amplitude, phase;
    };
    std::vector<mode> all;
    double energy = 0;
    for (int i = 0; i < modes; ++i) {
        const double k = std::pow(2.0, 0.5 + 5.0 * (i + unit(random)) / modes);  // 1.4 .. 45 waves per edge
        const double cosine = 2 * unit(random) - 1, angle = 2 * std::numbers::pi * unit(random), sine = std::sqrt(1 - cosine * cosine);
        const double amplitude = std::pow(k, -5.0 / 6.0 + 0.5);  // energy per mode ~ E(k) k, the modes being spaced by ratio
        all.push_back({k * sine * std::cos(angle), k * sine * std::sin(angle), k * cosine, amplitude, 2 * std::numbers::pi * unit(random)});
        energy += amplitude * amplitude / 2;
    }
    const double wave = 2 * std::numbers::pi / edge, scale = 1 / std::sqrt(energy);
    std::vector<double> row(edge);
    for (std::size_t line = 0; line * edge < n; ++line) {
        const double y = wave * static_cast<double>(line % edge), z = wave * static_cast<double>(line / edge);
        std::fill(row.begin(), row.end(), 0.0);
        for (const mode& m : all) {
            std::complex<double> now = std::polar(m.amplitude * scale, m.ky * y + m.kz * z + m.phase);
            const std::complex<double> turn = std::polar(1.0, m.kx * wave);
            for (double& v : row) v += now.real(), now *= turn;
        }
        for (std::size_t x = 0; x < edge && line * edge + x < n; ++x) field[line * edge + x] = static_cast<float>(row[x]);
    }
    return field;
}

/// Quiet: expanding wave fronts of three sources on the same grid, nothing before they arrive, fading behind them.
inline std::vector<float> wavefronts(std::size_t n, unsigned seed)
{
    constexpr std::size_t edge = 256;
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<float> field(n, 0.0f);
    const double depth = std::max(1.0, static_cast<double>(n) / (edge * edge));
    for (int source = 0; source < 3; ++source) {
        const double sx = edge * unit(random), sy = edge * unit(random), sz = depth * unit(random), front = 60 + 60 * unit(random);
        for (std::size_t i = 0; i < n; ++i) {
            const double dx = static_cast<double>(i % edge) - sx, dy = static_cast<double>(i / edge % edge) - sy;
            const double dz = static_cast<double>(i / (edge * edge)) - sz;
            const double r = std::sqrt(dx * dx + dy * dy + dz * dz), behind = front - r;
            if (behind < -12 || behind > 90) continue;
            const double a = behind / 8, ricker = (1 - 2 * a * a) * std::exp(-a * a) + 0.02 * std::sin(behind) * std::exp(-behind * behind / 2500);
            field[i] += static_cast<float>(ricker * 20 / (r + 20));
        }
    }
    return field;
}

}  // namespace fields
