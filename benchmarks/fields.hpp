// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fields.hpp - generates fields like those that simulations send, and never constants, zeros or ramps, which
// every compressor handles well. The first ones are cheap, have any size and differ by seed; they are for the
// collectives. The others are finer; they are for the codecs.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

namespace fields {

/// Busy: one scalar of a turbulent flow on a 256 x 256 x (n / 65536) grid, a sum of Fourier modes with E(k) ~
/// k^(-5/3), rms 1.
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
        const double cosine = 2 * unit(random) - 1, angle = 2 * std::numbers::pi * unit(random),
                     sine = std::sqrt(1 - cosine * cosine);
        // Energy per mode ~ E(k) k, the modes being spaced by ratio.
        const double amplitude = std::pow(k, -5.0 / 6.0 + 0.5);
        all.push_back({k * sine * std::cos(angle), k * sine * std::sin(angle), k * cosine, amplitude,
                       2 * std::numbers::pi * unit(random)});
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
            for (double& v : row) {
                v += now.real();
                now *= turn;
            }
        }
        for (std::size_t x = 0; x < edge && line * edge + x < n; ++x)
            field[line * edge + x] = static_cast<float>(row[x]);
    }
    return field;
}

/// Quiet: expanding wave fronts of three sources on the same grid. The field is zero before they arrive, and
/// fades behind them.
inline std::vector<float> wavefronts(std::size_t n, unsigned seed)
{
    constexpr std::size_t edge = 256;
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<float> field(n, 0.0f);
    const double depth = std::max(1.0, static_cast<double>(n) / (edge * edge));
    for (int source = 0; source < 3; ++source) {
        const double sx = edge * unit(random), sy = edge * unit(random), sz = depth * unit(random),
                     front = 60 + 60 * unit(random);
        for (std::size_t i = 0; i < n; ++i) {
            const double dx = static_cast<double>(i % edge) - sx,
                         dy = static_cast<double>(i / edge % edge) - sy;
            const double dz = static_cast<double>(i / (edge * edge)) - sz;
            const double r = std::sqrt(dx * dx + dy * dy + dz * dz), behind = front - r;
            if (behind < -12 || behind > 90) continue;
            const double a = behind / 8, ricker = (1 - 2 * a * a) * std::exp(-a * a) +
                                                  0.02 * std::sin(behind) * std::exp(-behind * behind / 2500);
            field[i] += static_cast<float>(ricker * 20 / (r + 20));
        }
    }
    return field;
}

// The fields for the codecs fill grids of 256 x 256 x depth, x fastest, in double. Data in f32 is rounded
// from them.
inline constexpr std::size_t grid_edge = 256;

struct wave_snapshots {
    std::vector<double> quiet, late;
};

/// A 3-D acoustic wave by finite differences (second order), two layers, a Ricker source, fixed edges.
/// `quiet`: the front has just left the source, so the field is mostly zero, with about 1 % denormals in f32.
/// `late`: the front has crossed the grid, and nearly all of it moves.
/// Cost: 5 s for a depth of 128 on one core.
inline wave_snapshots acoustic_wave(std::size_t depth)
{
    // A rim of zeros is the fixed edge. It has four values at both ends of a row instead of one, which keeps
    // rows aligned.
    constexpr std::size_t rim = 4, row = grid_edge + 2 * rim, plane = row * (grid_edge + 2);
    const std::size_t source_x = 120, source_y = 132, source_z = depth * 5 / 16, layer = depth * 11 / 20;
    const std::size_t early_steps = 86, late_steps = 292 + depth;
    std::vector<double> before(plane * (depth + 2)), now(before.size());
    const auto at = [](std::size_t x, std::size_t y, std::size_t z) {
        return (z + 1) * plane + (y + 1) * row + rim + x;
    };
    const auto snapshot = [&] {
        std::vector<double> all;
        all.reserve(grid_edge * grid_edge * depth);
        for (std::size_t z = 0; z < depth; ++z)
            for (std::size_t y = 0; y < grid_edge; ++y)
                all.insert(all.end(), &now[at(0, y, z)], &now[at(0, y, z)] + grid_edge);
        return all;
    };

    wave_snapshots result;
    for (std::size_t step = 0; step < late_steps; ++step) {
        // A wave travels at most one point per step, so all points that are farther away are still zero.
        const auto first = [&](std::size_t source) { return source > step ? source - step - 1 : 0; };
        const auto last = [&](std::size_t source, std::size_t edge) {
            return std::min(edge, source + step + 2);
        };
        for (std::size_t z = first(source_z); z < last(source_z, depth); ++z) {
            const double courant = z < layer ? 0.09 : 0.21;  // (c dt / dx)^2, stable below 1/3
            for (std::size_t y = first(source_y); y < last(source_y, grid_edge); ++y) {
                double* __restrict b = &before[at(0, y, z)];
                const double* __restrict a = &now[at(0, y, z)];
                for (std::size_t x = 0; x < grid_edge; ++x)
                    b[x] = 2 * a[x] - b[x] +
                           courant * (a[x - 1] + a[x + 1] + a[x - row] + a[x + row] + a[x - plane] +
                                      a[x + plane] - 6 * a[x]);
            }
        }
        const double t = std::numbers::pi * 0.035 * (static_cast<double>(step) - 40);
        before[at(source_x, source_y, source_z)] += (1 - 2 * t * t) * std::exp(-t * t);
        std::swap(before, now);
        if (step + 1 == early_steps) result.quiet = snapshot();
    }
    result.late = snapshot();
    return result;
}

namespace detail {

/// Uniform in [0, 1). The distributions of std differ between libraries.
inline double unit(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// FFT along one axis: `length` (a power of two) rows of `inner` values each, a row being one index of that
/// axis.
inline void transform(std::complex<double>* v, std::size_t length, std::size_t inner)
{
    for (std::size_t i = 0, j = 0; i < length; ++i) {
        if (i < j) std::swap_ranges(v + i * inner, v + (i + 1) * inner, v + j * inner);
        std::size_t bit = length / 2;
        for (; bit != 0 && (j & bit) != 0; bit /= 2) j ^= bit;
        j |= bit;
    }
    for (std::size_t half = 1; half < length; half *= 2)
        for (std::size_t i = 0; i < length; i += 2 * half)
            for (std::size_t k = 0; k < half; ++k) {
                const auto w =
                    std::polar(1.0, -std::numbers::pi * static_cast<double>(k) / static_cast<double>(half));
                const double c = w.real(), s = w.imag();
                std::complex<double>*p = v + (i + k) * inner, *q = p + half * inner;
                for (std::size_t x = 0; x < inner; ++x) {  // written out, because operator* checks for NaN
                    const double re = q[x].real() * c - q[x].imag() * s,
                                 im = q[x].real() * s + q[x].imag() * c;
                    q[x] = {p[x].real() - re, p[x].imag() - im};
                    p[x] = {p[x].real() + re, p[x].imag() + im};
                }
            }
}

}  // namespace detail

/// One scalar of a turbulent flow, rms 1: all modes of the grid, E(k) ~ k^(-5/3) with a dissipative end, and
/// random phases. Its fine structure is busier than that of turbulence(), which has few modes and none above
/// 45 waves per edge. `depth` is a power of two.
/// Cost: 1 s for a depth of 128 on one core.
inline std::vector<double> spectral_turbulence(std::size_t depth, unsigned seed)
{
    constexpr double dissipation = 90;  // waves per edge
    const auto waves = [](std::size_t i, std::size_t edge) {
        return static_cast<double>(std::min(i, edge - i)) * static_cast<double>(grid_edge) /
               static_cast<double>(edge);
    };
    std::mt19937_64 random(seed);
    std::vector<std::complex<double>> modes(grid_edge * grid_edge * depth);
    std::size_t i = 0;
    for (std::size_t z = 0; z < depth; ++z)
        for (std::size_t y = 0; y < grid_edge; ++y)
            for (std::size_t x = 0; x < grid_edge; ++x) {
                const double kx = waves(x, grid_edge), ky = waves(y, grid_edge), kz = waves(z, depth),
                             k2 = kx * kx + ky * ky + kz * kz;
                // Energy per mode is E(k) / k^2, the amplitude its root: k^(-11/6).
                const double amplitude =
                    k2 > 0 ? std::pow(k2, -11.0 / 12) * std::exp(-k2 / (2 * dissipation * dissipation)) : 0;
                modes[i++] = std::polar(amplitude, 2 * std::numbers::pi * detail::unit(random));
            }
    for (std::size_t line = 0; line < grid_edge * depth; ++line)
        detail::transform(&modes[line * grid_edge], grid_edge, 1);
    for (std::size_t z = 0; z < depth; ++z)
        detail::transform(&modes[z * grid_edge * grid_edge], grid_edge, grid_edge);
    detail::transform(modes.data(), depth, grid_edge * grid_edge);

    double energy = 0;
    for (const auto& m : modes) energy += m.real() * m.real();
    const double scale = 1 / std::sqrt(energy / static_cast<double>(modes.size()));
    std::vector<double> field(modes.size());
    std::transform(modes.begin(), modes.end(), field.begin(),
                   [scale](const auto& m) { return m.real() * scale; });
    return field;
}

/// Independent values, which are the worst case for prediction.
inline std::vector<double> white_noise(std::size_t n, unsigned seed)
{
    std::mt19937_64 random(seed);
    std::vector<double> field(n);
    for (double& v : field) v = 2 * detail::unit(random) - 1;
    return field;
}

/// Like the weights of a trained net: layers of 500 to 500,000 values, each normal with a scale of its own
/// from 0.003 to 0.3.
inline std::vector<float> weights(std::size_t n, unsigned seed)
{
    std::mt19937_64 random(seed);
    std::vector<float> x(n);
    std::size_t left = 0;
    double scale = 0;
    for (float& v : x) {
        if (left-- == 0) {
            left = static_cast<std::size_t>(500 * std::pow(1000, detail::unit(random))) - 1;
            scale = 0.003 * std::pow(100, detail::unit(random));
        }
        // Box and Muller's, because the distributions of <random> differ between libraries.
        const double radius = std::sqrt(-2 * std::log(1 - detail::unit(random)));
        v = static_cast<float>(scale * radius * std::cos(2 * std::numbers::pi * detail::unit(random)));
    }
    return x;
}

/// n values from the middle of a field, or all if it is shorter.
template <class T>
std::vector<T> middle(const std::vector<double>& field, std::size_t n)
{
    n = std::min(n, field.size());
    const double* from = field.data() + (field.size() - n) / 2;
    std::vector<T> result(n);
    std::transform(from, from + n, result.begin(), [](double v) { return static_cast<T>(v); });
    return result;
}

/// A box of edge x edge x depth values from the middle of a field: the part of a rank that has a small one.
template <class T>
std::vector<T> box(const std::vector<double>& field, std::size_t edge)
{
    const std::size_t from = (grid_edge - edge) / 2;
    std::vector<T> result;
    for (std::size_t line = 0; line < field.size() / grid_edge; ++line) {
        if (line % grid_edge < from || line % grid_edge >= from + edge) continue;
        const double* const first = field.data() + line * grid_edge + from;
        std::transform(first, first + edge, std::back_inserter(result),
                       [](double v) { return static_cast<T>(v); });
    }
    return result;
}

/// What 5 % of the values are replaced by: zeros, or denormals of T. To a codec with a bound both are zero,
/// but not to a processor.
enum class speck { zero, denormal };

/// Overwrites 5 % of the field, in runs of `run` values at regular distances. The places are the same for
/// both kinds.
template <class T>
void sprinkle(std::vector<T>& field, speck kind, std::size_t run, unsigned seed)
{
    std::mt19937_64 random(seed);
    for (std::size_t start = 0; start < field.size(); start += 20 * run)
        for (std::size_t i = start; i < std::min(start + run, field.size()); ++i)
            field[i] = kind == speck::zero
                           ? T(0)
                           : static_cast<T>(detail::unit(random) *
                                            static_cast<double>(std::numeric_limits<T>::min()));
}

/// Where values are missing: continents and islands on a quarter of a field of rows of 1440 values, or one
/// value in a hundred.
enum class missing { land, gaps };

/// Overwrites the values that are missing with NaN. Their places do not depend on the type.
template <class T>
void take_away(std::vector<T>& field, missing where)
{
    constexpr std::size_t row = 1440;
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < field.size(); ++i) {
        const double x = 2 * std::numbers::pi * static_cast<double>(i % row) / static_cast<double>(row),
                     y = static_cast<double>(i / row) / 115;
        const double height = std::sin(2 * x + 1) * std::cos(y) + 0.5 * std::sin(5 * x + y) +
                              0.3 * std::sin(11 * x - 2 * y) + 0.15 * std::sin(37 * x + 11 * y);
        if (where == missing::land ? height > 0.6 : detail::unit(random) < 0.01)
            field[i] = std::numeric_limits<T>::quiet_NaN();
    }
}

}  // namespace fields
