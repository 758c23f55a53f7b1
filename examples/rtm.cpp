// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace rtm {
namespace {

// Second derivative, eighth order, on points 0, +-1 .. +-4.
constexpr std::array<float, 5> weight{-205.0F / 72, 8.0F / 5, -1.0F / 5, 8.0F / 315, -1.0F / 560};
constexpr int halo = 4;

constexpr double spectrum_end = 2.5;  // times the peak frequency, where a Ricker spectrum has fallen to 2 %
// Per wavelength; the velocity of the scheme is then wrong by less than 0.7 %.
constexpr double least_points = 3.5;
constexpr double wavelet_delay = 1.2;         // periods of the peak frequency
constexpr double sponge_transmission = 1e-3;  // amplitude left after a wave has crossed the layer twice

std::size_t usize(int n) { return static_cast<std::size_t>(n); }

template <class... Values>
std::string text(const char* format, Values... values)
{
    char line[320];
    std::snprintf(line, sizeof line, format, values...);
    return line;
}

/// While an object of this class lives, denormals are zero on its thread. Ahead of every wavefront the
/// stencil produces values below 1e-38, and arithmetic on them made the propagation three times slower on
/// x86. On other processors they cost nothing and are kept.
class denormals_are_zero {
public:
    denormals_are_zero(const denormals_are_zero&) = delete;
    denormals_are_zero& operator=(const denormals_are_zero&) = delete;
#if defined(__SSE2__)
    denormals_are_zero() : saved_(_mm_getcsr())
    {
        _mm_setcsr(saved_ | 0x8040U);
    }  // flush results, read operands as zero
    ~denormals_are_zero() { _mm_setcsr(saved_); }

private:
    unsigned saved_;
#else
    denormals_are_zero() = default;
    ~denormals_are_zero() {}
#endif
};

/// Overwrites `before` with the next field, on n cells of one row.
void advance_row(float* __restrict before, const float* __restrict now, const float* __restrict keep,
                 const float* __restrict forget, const float* __restrict spread, std::ptrdiff_t stride, int n)
{
    for (int i = 0; i < n; ++i) {
        const float* u = now + i;
        const float laplacian = 2 * weight[0] * u[0] +
                                weight[1] * ((u[-1] + u[1]) + (u[-stride] + u[stride])) +
                                weight[2] * ((u[-2] + u[2]) + (u[-2 * stride] + u[2 * stride])) +
                                weight[3] * ((u[-3] + u[3]) + (u[-3 * stride] + u[3 * stride])) +
                                weight[4] * ((u[-4] + u[4]) + (u[-4 * stride] + u[4 * stride]));
        before[i] = keep[i] * u[0] - forget[i] * before[i] + spread[i] * laplacian;
    }
}

void beat(const pulse& now_and_then, int step)
{
    if (now_and_then && step % 100 == 0) now_and_then();
}

/// Sigma of the absorbing layer, in 1/s, at a cell that is `inside` cells within the layer.
double sigma(int inside, int sponge_cells, double dx, double velocity)
{
    if (inside <= 0) return 0;
    const double thickness = sponge_cells * dx;
    const double largest = 1.5 * velocity * std::log(1 / sponge_transmission) /
                           thickness;  // the integral over the layer is a third of it
    const double part = static_cast<double>(inside) / sponge_cells;
    return largest * part * part;
}

/// Applies a Gaussian along one axis; values at the edges are continued outwards.
void blur(std::vector<float>& values, int lines, int length, std::ptrdiff_t line_stride,
          std::ptrdiff_t stride, double deviation)
{
    const int reach = static_cast<int>(std::ceil(3 * deviation));
    std::vector<double> kernel(usize(2 * reach + 1));
    double total = 0;
    for (int k = -reach; k <= reach; ++k)
        total += kernel[usize(k + reach)] = std::exp(-0.5 * k * k / (deviation * deviation));

    std::vector<float> line(usize(length));
    for (int l = 0; l < lines; ++l) {
        float* const first = values.data() + l * line_stride;
        for (int i = 0; i < length; ++i) line[usize(i)] = first[i * stride];
        for (int i = 0; i < length; ++i) {
            double sum = 0;
            for (int k = -reach; k <= reach; ++k)
                sum += kernel[usize(k + reach)] * line[usize(std::clamp(i + k, 0, length - 1))];
            first[i * stride] = static_cast<float>(sum / total);
        }
    }
}

/// Velocity of the demonstration model at x and z, both as fractions of the width and the depth.
double demo_velocity(double x, double z)
{
    const double sea_floor = 0.14 + 0.012 * std::sin(2 * std::numbers::pi * (x - 0.1));
    if (z < sea_floor) return 1500;

    const double lens_x = (x - 0.36) / 0.085;
    const double lens_z = (z - 0.46) / 0.038;
    if (lens_x * lens_x + lens_z * lens_z < 1) return 3100;

    // The youngest layer lies over the fault; right of the fault everything older has slid down.
    const double unconformity = 0.26 + 0.02 * x;
    if (z < unconformity) return 1750;
    const double fault = 0.62 + 0.14 * (z - 0.25);
    const double older = x > fault ? z - 0.065 : z;
    const double fold = 0.02 * std::sin(2 * std::numbers::pi * (1.3 * x + 0.15));
    if (older < 0.36 + 0.05 * x + fold) return 2000;
    if (older < 0.56 + 0.04 * x + 0.8 * fold) return 2250;
    if (older < 0.70 - 0.04 * x + 0.6 * fold) return 2550;
    if (older < 0.83 - 0.05 * x) return 2900;
    return 3300;
}

/// Adds the sum over the batch of R(b) * S(b - 2 lag) to the image. Here b = t + tau is the receiver side of
/// the pair (t - tau, t + tau).
///
/// `received` holds snapshots first .. first + batch - 1. The outer loop is over rows and the inner one over
/// lags, so that the rows of one depth stay in cache.
void correlate(std::vector<float>& image, const std::vector<float>& sent, const std::vector<float>& received,
               int first, int batch, const survey& s)
{
    const int half = s.lags / 2;
    const std::size_t nx = usize(s.nx);
    for (int iz = 0; iz < s.nz; ++iz) {
        const std::size_t row = usize(iz) * nx;
        for (int lag = -half; lag <= half; ++lag) {
            float* const __restrict out = image.data() + usize(lag + half) * s.cells() + row;
            for (int k = 0; k < batch; ++k) {
                const int partner = first + k - 2 * lag;
                if (partner < 0 || partner >= s.snapshots()) continue;
                const float* const r = received.data() + usize(k) * s.cells() + row;
                const float* const e = sent.data() + usize(partner) * s.cells() + row;
                for (std::size_t ix = 0; ix < nx; ++ix) out[ix] += r[ix] * e[ix];
            }
        }
    }
}

/// The factor for the image of each cell: one over the energy that the source sent there.
std::vector<float> source_compensation(const std::vector<float>& sent, const survey& s)
{
    std::vector<float> energy(s.cells(), 0.0F);
    for (int k = 0; k < s.snapshots(); ++k) {
        const float* const snapshot = sent.data() + usize(k) * s.cells();
        for (std::size_t i = 0; i < energy.size(); ++i) energy[i] += snapshot[i] * snapshot[i];
    }
    double mean = 0;
    for (const float e : energy) mean += e;
    mean /= static_cast<double>(energy.size());
    // A part of the mean is added everywhere, because dividing would only amplify noise where the source sent
    // no energy.
    for (float& e : energy) e = 1 / (e + static_cast<float>(0.2 * mean));
    return energy;
}

/// Replaces the panel by -laplace(panel * factor), with 0 along the edges and in the water, where nothing
/// reflects.
void sharpen(float* panel, const std::vector<float>& factor, std::vector<float>& scratch, const survey& s)
{
    constexpr int taper_rows = 8;
    const std::size_t nx = usize(s.nx);
    const std::size_t nz = usize(s.nz);
    for (std::size_t i = 0; i < s.cells(); ++i) scratch[i] = panel[i] * factor[i];
    std::fill_n(panel, s.cells(), 0.0F);
    for (std::size_t iz = 1; iz + 1 < nz; ++iz) {
        const double below = (static_cast<double>(iz) - s.silent_rows) / taper_rows;
        if (below <= 0) continue;
        const float gain = static_cast<float>(below < 1 ? 0.5 - 0.5 * std::cos(std::numbers::pi * below) : 1);
        for (std::size_t ix = 1; ix + 1 < nx; ++ix) {
            const float* const u = scratch.data() + iz * nx + ix;
            panel[iz * nx + ix] = gain * (4 * u[0] - ((u[-1] + u[1]) + (*(u - nx) + u[nx])));
        }
    }
}

}  // namespace

float model::slowest() const { return *std::min_element(velocity.begin(), velocity.end()); }
float model::fastest() const { return *std::max_element(velocity.begin(), velocity.end()); }

model homogeneous(int nx, int nz, double dx, double velocity)
{
    return {nx, nz, dx, std::vector<float>(usize(nx) * usize(nz), static_cast<float>(velocity))};
}

model demo_model(int nx, int nz, double dx)
{
    constexpr int points = 4;
    model result = homogeneous(nx, nz, dx, 0);
    for (int iz = 0; iz < nz; ++iz)
        for (int ix = 0; ix < nx; ++ix) {
            double sum = 0;
            for (int a = 0; a < points; ++a)
                for (int b = 0; b < points; ++b)
                    sum += demo_velocity((ix + (a + 0.5) / points) / nx, (iz + (b + 0.5) / points) / nz);
            result.velocity[usize(iz) * usize(nx) + usize(ix)] = static_cast<float>(sum / (points * points));
        }
    return result;
}

model smoothed(const model& original, double radius_m)
{
    model result = original;
    const double deviation = radius_m / original.dx;
    if (!(deviation > 0)) return result;
    for (float& v : result.velocity) v = 1 / v;
    blur(result.velocity, original.nz, original.nx, original.nx, 1, deviation);
    blur(result.velocity, original.nx, original.nz, 1, original.nx, deviation);
    for (float& v : result.velocity) v = 1 / v;
    return result;
}

double stable_time_step(double fastest_velocity, double dx)
{
    // The largest eigenvalue of -laplace is 2 dimensions * sum of |weights| / dx^2; leap-frog is stable up to
    // 4 / (v dt)^2.
    double sum = std::abs(static_cast<double>(weight[0]));
    for (std::size_t k = 1; k < weight.size(); ++k) sum += 2 * std::abs(static_cast<double>(weight[k]));
    return 2 * dx / (fastest_velocity * std::sqrt(2 * sum));
}

survey plan_survey(const model& ground, const settings& chosen)
{
    const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
    const auto open_or_positive = [&](double value) { return value == 0 || positive(value); };

    if (ground.nx < 40 || ground.nz < 40)
        throw bad_setting(
            text("the grid of %d x %d cells is too small; use at least 40 x 40", ground.nx, ground.nz));
    if (!positive(ground.dx))
        throw bad_setting(text("the cell size of %g m must be positive; try 10", ground.dx));
    if (!positive(chosen.peak_hz))
        throw bad_setting(text("the peak frequency of %g Hz must be positive; try 15", chosen.peak_hz));
    if (!open_or_positive(chosen.dt_s) || !open_or_positive(chosen.record_s))
        throw bad_setting("time step and record length must be positive seconds, or 0 to have them derived");
    if (chosen.lags < 1 || chosen.lags % 2 == 0)
        throw bad_setting(text("%d lags have no middle; use an odd number, %d for instance", chosen.lags,
                               std::max(1, chosen.lags + 1)));
    if (chosen.sponge_cells < 10)
        throw bad_setting(
            text("an absorbing layer of %d cells reflects; use 20 or more", chosen.sponge_cells));

    const double slowest = static_cast<double>(ground.slowest());
    const double fastest = static_cast<double>(ground.fastest());
    const double points = slowest / (spectrum_end * chosen.peak_hz * ground.dx);
    if (points < least_points)
        throw bad_setting(
            text("%.2f cells per shortest wavelength (%g m/s at %g Hz) let waves disperse, at least %g are "
                 "needed; lower the frequency to %.3g Hz or the cell size to %.3g m",
                 points, slowest, spectrum_end * chosen.peak_hz, least_points,
                 chosen.peak_hz * points / least_points, ground.dx * points / least_points));
    const double limit = stable_time_step(fastest, ground.dx);
    if (chosen.dt_s > limit)
        throw bad_setting(
            text("a time step of %.4g ms is unstable (%g m/s on cells of %g m); use at most %.4g ms, or none "
                 "to have it derived",
                 1e3 * chosen.dt_s, fastest, ground.dx, 1e3 * limit));

    survey s;
    s.nx = ground.nx;
    s.nz = ground.nz;
    s.dx = ground.dx;
    s.lags = chosen.lags;
    s.sponge_cells = chosen.sponge_cells;
    s.peak_hz = chosen.peak_hz;
    s.surface_velocity = static_cast<double>(ground.at(0, s.source_row));
    s.dt = chosen.dt_s > 0 ? chosen.dt_s : 0.9 * limit;

    s.silent_rows = ground.nz;
    for (int ix = 0; ix < ground.nx; ++ix) {
        int iz = 0;
        while (iz < ground.nz && static_cast<double>(ground.at(ix, iz)) == s.surface_velocity) ++iz;
        s.silent_rows = std::min(s.silent_rows, iz);
    }
    s.silent_rows = s.silent_rows * 2 / 3;

    double down_s = 0;  // along the slowest column
    for (int ix = 0; ix < ground.nx; ++ix) {
        double column_s = 0;
        for (int iz = 0; iz < ground.nz; ++iz) column_s += ground.dx / static_cast<double>(ground.at(ix, iz));
        down_s = std::max(down_s, column_s);
    }
    const double record_s =
        chosen.record_s > 0 ? chosen.record_s : 1.15 * 2 * down_s + 2 * wavelet_delay / chosen.peak_hz;
    s.steps = static_cast<int>(std::ceil(record_s / s.dt));
    // The imaging condition sums S * R, whose spectrum ends at 2 * 2.5 peaks = 5 peaks: eight samples per
    // peak period do not alias.
    s.image_every = std::max(1, static_cast<int>(1 / (8 * chosen.peak_hz * s.dt)));
    return s;
}

double ricker(double t, double peak_hz)
{
    const double a = std::numbers::pi * (peak_hz * t - wavelet_delay);
    return (1 - 2 * a * a) * std::exp(-a * a);
}

int shot_position(const survey& s, int index, int count)
{
    const double part = count > 1 ? static_cast<double>(index) / (count - 1) : 0.5;
    return static_cast<int>(std::lround((0.05 + 0.9 * part) * (s.nx - 1)));
}

wavefield::wavefield(const model& velocity, double dt, int sponge_cells)
    : nx_(velocity.nx), nz_(velocity.nz), margin_(sponge_cells + halo), stride_(nx_ + 2 * margin_),
      rows_(nz_ + 2 * margin_)
{
    const std::size_t size = usize(stride_) * usize(rows_);
    now_.assign(size, 0.0F);
    before_.assign(size, 0.0F);
    keep_.assign(size, 0.0F);
    forget_.assign(size, 0.0F);
    spread_.assign(size, 0.0F);

    double mean = 0;
    for (const float v : velocity.velocity) mean += static_cast<double>(v);
    mean /= static_cast<double>(velocity.velocity.size());

    for (int iz = -sponge_cells; iz < nz_ + sponge_cells; ++iz)
        for (int ix = -sponge_cells; ix < nx_ + sponge_cells; ++ix) {
            const double v =
                static_cast<double>(velocity.at(std::clamp(ix, 0, nx_ - 1), std::clamp(iz, 0, nz_ - 1)));
            const double s = dt * (sigma(std::max(-ix, ix - (nx_ - 1)), sponge_cells, velocity.dx, mean) +
                                   sigma(std::max(-iz, iz - (nz_ - 1)), sponge_cells, velocity.dx, mean));
            const std::size_t i = index(ix, iz);
            keep_[i] = static_cast<float>((2 - s * s) / (1 + s));
            forget_[i] = static_cast<float>((1 - s) / (1 + s));
            spread_[i] = static_cast<float>(v * v * dt * dt / (velocity.dx * velocity.dx) / (1 + s));
        }
}

void wavefield::step()
{
    const denormals_are_zero guard;
    for (int row = halo; row < rows_ - halo; ++row) {
        const std::size_t i = usize(row) * usize(stride_) + usize(halo);
        advance_row(&before_[i], &now_[i], &keep_[i], &forget_[i], &spread_[i], stride_, stride_ - 2 * halo);
    }
    now_.swap(before_);
}

void wavefield::inject(int ix, int iz, float amplitude)
{
    const std::size_t i = index(ix, iz);
    now_[i] += spread_[i] * amplitude;
}

void wavefield::copy_to(float* out) const
{
    for (int iz = 0; iz < nz_; ++iz) std::copy_n(&now_[index(0, iz)], nx_, out + usize(iz) * usize(nx_));
}

double wavefield::energy() const
{
    double sum = 0;
    for (int iz = 0; iz < nz_; ++iz)
        for (int ix = 0; ix < nx_; ++ix)
            sum += static_cast<double>(at(ix, iz)) * static_cast<double>(at(ix, iz));
    return sum;
}

std::vector<float> record(const model& velocity, const survey& s, int source_column,
                          std::vector<float>* snapshots, const pulse& now_and_then)
{
    wavefield field(velocity, s.dt, s.sponge_cells);
    std::vector<float> traces(usize(s.steps) * usize(s.nx));
    if (snapshots != nullptr) snapshots->resize(s.cells() * usize(s.snapshots()));

    for (int step = 0; step < s.steps; ++step) {
        beat(now_and_then, step);
        if (snapshots != nullptr && step % s.image_every == 0)
            field.copy_to(snapshots->data() + usize(step / s.image_every) * s.cells());
        field.step();
        field.inject(source_column, s.source_row, static_cast<float>(ricker(step * s.dt, s.peak_hz)));
        for (int ix = 0; ix < s.nx; ++ix)
            traces[usize(step) * usize(s.nx) + usize(ix)] = field.at(ix, s.source_row);
    }
    return traces;
}

void mute_early(std::vector<float>& traces, const survey& s, int source_column)
{
    const double taper_s = 1 / s.peak_hz;
    for (int ix = 0; ix < s.nx; ++ix) {
        const double direct_s =
            std::abs(ix - source_column) * s.dx / s.surface_velocity + wavelet_delay / s.peak_hz;
        for (int step = 0; step < s.steps; ++step) {
            const double after = (step * s.dt - direct_s) / taper_s;
            if (after >= 1) break;
            const double gain = after <= 0 ? 0 : 0.5 - 0.5 * std::cos(std::numbers::pi * after);
            traces[usize(step) * usize(s.nx) + usize(ix)] *= static_cast<float>(gain);
        }
    }
}

void differentiate_backwards(std::vector<float>& traces, const survey& s)
{
    const std::size_t nx = usize(s.nx);
    const std::size_t last = traces.size() - nx;
    std::vector<float> earlier(nx, 0.0F);
    for (std::size_t row = 0; row <= last; row += nx)
        for (std::size_t ix = 0; ix < nx; ++ix) {
            const float here = traces[row + ix];
            const float later = row < last ? traces[row + nx + ix] : 0.0F;
            traces[row + ix] = 0.5F * (earlier[ix] - later);
            earlier[ix] = here;
        }
}

std::vector<float> migrate(const model& ground, const model& velocity, const survey& s, int source_column,
                           const pulse& now_and_then)
{
    const denormals_are_zero guard;
    std::vector<float> residual = record(ground, s, source_column, nullptr, now_and_then);
    std::vector<float> sent;
    {
        const std::vector<float> explained = record(velocity, s, source_column, &sent, now_and_then);
        for (std::size_t i = 0; i < residual.size(); ++i) residual[i] -= explained[i];
    }
    mute_early(residual, s, source_column);
    differentiate_backwards(residual, s);

    // Snapshots correlated at once: the image is read and written once for all of them.
    constexpr int batch = 8;
    std::vector<float> image(s.image_elements(), 0.0F);
    std::vector<float> received(s.cells() * batch);
    wavefield field(velocity, s.dt, s.sponge_cells);
    for (int step = s.steps - 1; step >= 0; --step) {
        beat(now_and_then, step);
        field.step();
        for (int ix = 0; ix < s.nx; ++ix)
            field.inject(ix, s.source_row, residual[usize(step) * usize(s.nx) + usize(ix)]);
        if (step % s.image_every != 0) continue;
        const int snapshot = step / s.image_every;
        const int slot = snapshot % batch;
        field.copy_to(received.data() + usize(slot) * s.cells());
        if (slot == 0)
            correlate(image, sent, received, snapshot, std::min(batch, s.snapshots() - snapshot), s);
    }

    const std::vector<float> factor = source_compensation(sent, s);
    std::vector<float> scratch(s.cells());
    for (int lag = 0; lag < s.lags; ++lag) sharpen(image.data() + usize(lag) * s.cells(), factor, scratch, s);
    return image;
}

}  // namespace rtm
