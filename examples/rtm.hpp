// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rtm.hpp - reverse-time migration of one shot: the physics of the example. It uses neither MPI nor ccoll.
//
//   const rtm::model ground = rtm::demo_model(400, 200, 10.0);
//   const rtm::model velocity = rtm::smoothed(ground, 100.0);
//   const rtm::survey survey = rtm::plan_survey(ground, {});
//   std::vector<float> image = rtm::migrate(ground, velocity, survey, rtm::shot_position(survey, 0, 16));
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rtm {

/// Velocity in m/s on a square grid; z points down, rows are depths: velocity[iz * nx + ix].
struct model {
    int nx = 0;
    int nz = 0;
    double dx = 0;  ///< cell size in both directions, m
    std::vector<float> velocity;

    float at(int ix, int iz) const
    {
        return velocity[static_cast<std::size_t>(iz) * static_cast<std::size_t>(nx) +
                        static_cast<std::size_t>(ix)];
    }
    float slowest() const;
    float fastest() const;
};

/// A model with the same velocity everywhere.
model homogeneous(int nx, int nz, double dx, double velocity);

/// Water over dipping, gently folded layers, which are cut by a normal fault and contain a fast lens. The
/// model scales with the grid: every position is a fraction of the width or depth. Each cell is the mean of 4
/// x 4 points, so that dipping interfaces have no steps.
model demo_model(int nx, int nz, double dx);

/// The model smoothed by a Gaussian with standard deviation `radius_m`, as a velocity analysis could find it.
/// It smooths the slowness, because that keeps travel times.
model smoothed(const model& original, double radius_m);

/// The user's choices. A time of 0 is derived from the rest.
struct settings {
    /// Peak frequency of the Ricker wavelet; its spectrum is assumed to end at 2.5 times this frequency.
    double peak_hz = 15;
    double dt_s = 0;  ///< time step; derived: 90 % of the stability limit
    /// Length of the traces; derived: down to the deepest row and back, and a little more.
    double record_s = 0;
    int sponge_cells = 40;  ///< absorbing layer around the model
    int lags = 33;          ///< number of time lags of the image, odd; the middle one is the ordinary image
};

/// Everything that a shot needs except for the velocities. plan_survey makes and checks it.
struct survey {
    int nx = 0;
    int nz = 0;
    double dx = 0;
    double dt = 0;        ///< s
    int steps = 0;        ///< samples of a trace
    int image_every = 0;  ///< steps between two samples of the imaging condition, and between two lags
    int lags = 0;
    int sponge_cells = 0;
    int source_row = 2;   ///< depth of sources and receivers, cells
    int silent_rows = 0;  ///< rows of the image that stay 0: two thirds of the water, where nothing reflects
    double peak_hz = 0;
    double surface_velocity = 0;

    int snapshots() const { return (steps + image_every - 1) / image_every; }
    std::size_t cells() const { return static_cast<std::size_t>(nx) * static_cast<std::size_t>(nz); }
    std::size_t image_elements() const { return cells() * static_cast<std::size_t>(lags); }
    /// Memory that `migrate` fills with the wavefield of the source.
    std::size_t snapshot_bytes() const
    {
        return cells() * static_cast<std::size_t>(snapshots()) * sizeof(float);
    }
    double lag_seconds(int lag) const { return (lag - lags / 2) * image_every * dt; }
};

/// A choice cannot work; what() says which one, why, and what to use instead.
class bad_setting : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

/// Longest stable time step, s, of the scheme (second order in time, eighth in space, two dimensions).
double stable_time_step(double fastest_velocity, double dx);

/// Derives the times that are 0, and checks stability, points per wavelength and sizes. Throws bad_setting.
survey plan_survey(const model& ground, const settings& chosen);

/// Ricker wavelet at time `t` in seconds. Its peak is 1, at 1.2 / peak_hz seconds.
double ricker(double t, double peak_hz);

/// Column of shot `index` of `count`, spread evenly from 5 % to 95 % of the width.
int shot_position(const survey& s, int index, int count);

/// The wavefield of one propagation: (d/dt + sigma)^2 u = v^2 laplace(u) + source, sigma > 0 only in the
/// absorbing layer.
///
/// For constant sigma a wave decays by exp(-sigma x / v) at every frequency. Sigma grows quadratically from
/// 0, so that the layer itself reflects little. The scheme is of second order in time and of eighth order in
/// space, in f32.
class wavefield {
public:
    wavefield(const model& velocity, double dt, int sponge_cells);

    /// Makes one time step. Sources are added to the new field afterwards, by inject.
    void step();
    /// Adds a point source to the field that was just computed. It is scaled such that source and receiver
    /// may be swapped.
    void inject(int ix, int iz, float amplitude);
    float at(int ix, int iz) const { return now_[index(ix, iz)]; }
    /// Copies the model's part of the field, without the absorbing layer: nx * nz values.
    void copy_to(float* out) const;
    /// Sum of squares over the field without the absorbing layer.
    double energy() const;

private:
    std::size_t index(int ix, int iz) const
    {
        return static_cast<std::size_t>(iz + margin_) * static_cast<std::size_t>(stride_) +
               static_cast<std::size_t>(ix + margin_);
    }

    int nx_, nz_, margin_, stride_, rows_;
    std::vector<float> now_, before_;            // u(t), u(t - dt)
    std::vector<float> keep_, forget_, spread_;  // factors of u(t), u(t - dt) and the Laplacian
};

/// Called every hundred steps if it is not empty, so that the caller can handle messages or a terminal.
using pulse = std::function<void()>;

/// Traces of a shot at every column of the source's row: traces[step * nx + ix], the field after that step.
/// With `snapshots`, the wavefield is kept too: snapshots[k * nx * nz + ...] is the field before step k *
/// image_every.
std::vector<float> record(const model& velocity, const survey& s, int source_column,
                          std::vector<float>* snapshots = nullptr, const pulse& now_and_then = {});

/// Sets to 0 all that arrives before the direct wave through the water has passed; `traces` as from record.
void mute_early(std::vector<float>& traces, const survey& s, int source_column);

/// Replaces traces by their central difference against reversed time, per step; `traces` as from record. A
/// line of point sources that plays back a wave emits the wave's integral over time. If the derivative is
/// played back instead, the wave returns with its own phase, and an interface becomes a symmetric peak.
void differentiate_backwards(std::vector<float>& traces, const survey& s);

/// The image of one shot: image[lag * nx * nz + iz * nx + ix], positive where the velocity grows with depth.
///
/// It records in `ground`, subtracts what the smooth `velocity` explains, propagates the rest back in
/// `velocity`, and correlates it with the wavefield of the source: I(x, z, tau) = sum over t of S(t - tau)
/// R(t + tau). It then divides by the illumination of the source, and applies a Laplacian, which removes the
/// long wavelengths that the correlation leaves along the rays.
/// Deterministic: equal arguments give equal bits, on every rank.
/// Cost: three propagations, and lags * snapshots multiplications per cell; memory: survey::snapshot_bytes().
/// Source: the time-lag imaging condition of Sava and Fomel, "Time-shift imaging condition in seismic
/// migration", Geophysics 71(6), 2006.
std::vector<float> migrate(const model& ground, const model& velocity, const survey& s, int source_column,
                           const pulse& now_and_then = {});

}  // namespace rtm
