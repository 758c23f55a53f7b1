// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rtm.hpp - reverse-time migration of one shot: the physics of the example. Knows neither MPI nor ccoll.
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
    double dx = 0;  ///< metres, both directions
    std::vector<float> velocity;

    float at(int ix, int iz) const
    {
        return velocity[static_cast<std::size_t>(iz) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(ix)];
    }
    float slowest() const;
    float fastest() const;
};

/// One velocity everywhere.
model homogeneous(int nx, int nz, double dx, double velocity);

/// Water over dipping, gently folded layers that a normal fault cuts and a fast lens lies in. The picture scales with the
/// grid: every place is a fraction of the width or depth. Each cell is the mean of 4 x 4 points, so that a dipping interface is no stair.
model demo_model(int nx, int nz, double dx);

/// Gaussian of standard deviation `radius_m` over slowness, which keeps travel times: what a velocity analysis could find.
model smoothed(const model& original, double radius_m);

/// The user's choices; 0 means "derive it".
struct settings {
    double peak_hz = 15;    ///< of the Ricker wavelet; its spectrum is taken to end at 2.5 times that
    double dt_s = 0;        ///< time step; derived: 90 % of the stability limit
    double record_s = 0;    ///< length of the traces; derived: down to the deepest row and back, and a little more
    int sponge_cells = 40;  ///< absorbing layer around the model
    int lags = 33;          ///< of the image, odd: the middle one is the ordinary image
};

/// Everything that a shot needs beside the velocities; made by plan_survey, which has checked it.
struct survey {
    int nx = 0;
    int nz = 0;
    double dx = 0;
    double dt = 0;          ///< s
    int steps = 0;          ///< samples of a trace
    int image_every = 0;    ///< steps between two samples of the imaging condition, and between two lags
    int lags = 0;
    int sponge_cells = 0;
    int source_row = 2;     ///< depth of sources and receivers, cells
    int silent_rows = 0;    ///< rows of the image that stay 0: two thirds of the water, where there is nothing to see
    double peak_hz = 0;
    double surface_velocity = 0;

    int snapshots() const { return (steps + image_every - 1) / image_every; }
    std::size_t cells() const { return static_cast<std::size_t>(nx) * static_cast<std::size_t>(nz); }
    std::size_t image_elements() const { return cells() * static_cast<std::size_t>(lags); }
    /// Memory that `migrate` fills with the wavefield of the source.
    std::size_t snapshot_bytes() const { return cells() * static_cast<std::size_t>(snapshots()) * sizeof(float); }
    double lag_seconds(int lag) const { return (lag - lags / 2) * image_every * dt; }
};

/// Choices that cannot work; what() says which, why, and what to use instead.
class bad_setting : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

/// Longest stable time step, s, of the scheme (second order in time, eighth in space, two dimensions).
double stable_time_step(double fastest_velocity, double dx);

/// Derives what was left open and checks the rest: stability, points per wavelength, sizes. Throws bad_setting.
survey plan_survey(const model& ground, const settings& chosen);

/// Ricker wavelet with its peak of 1 at 1.2 / peak_hz seconds.
double ricker(double t, double peak_hz);

/// Column of shot `index` of `count`, spread evenly from 5 % to 95 % of the width.
int shot_position(const survey& s, int index, int count);

/// The wavefield of one propagation: (d/dt + sigma)^2 u = v^2 laplace(u) + source, sigma > 0 only in the absorbing layer.
///
/// For constant sigma a wave decays by exp(-sigma x / v) at every frequency; sigma grows quadratically from 0, so that little
/// is reflected on the way in. Second order in time, eighth in space, f32.
class wavefield {
public:
    wavefield(const model& velocity, double dt, int sponge_cells);

    /// One time step; sources are added to the new field afterwards.
    void step();
    /// Adds a point source to the field just computed. Scaled so that source and receiver may be swapped.
    void inject(int ix, int iz, float amplitude);
    float at(int ix, int iz) const { return now_[index(ix, iz)]; }
    /// Copies the model's part of the field, without the absorbing layer: nx * nz values.
    void copy_to(float* out) const;
    /// Sum of squares over the model's part.
    double energy() const;

private:
    std::size_t index(int ix, int iz) const
    {
        return static_cast<std::size_t>(iz + margin_) * static_cast<std::size_t>(stride_) + static_cast<std::size_t>(ix + margin_);
    }

    int nx_, nz_, margin_, stride_, rows_;
    std::vector<float> now_, before_;           // u(t), u(t - dt)
    std::vector<float> keep_, forget_, spread_;  // factors of u(t), u(t - dt) and the Laplacian
};

/// Called every hundred steps, if not empty: whoever has a terminal or messages to look after does it then.
using pulse = std::function<void()>;

/// Traces of a shot at every column of the source's row: traces[step * nx + ix], the field after that step.
/// With `snapshots`, the wavefield is kept too: snapshots[k * nx * nz + ...] is the field before step k * image_every.
std::vector<float> record(const model& velocity, const survey& s, int source_column, std::vector<float>* snapshots = nullptr,
                          const pulse& now_and_then = {});

/// Silences what arrives before the direct wave through the water has passed; `traces` as from record.
void mute_early(std::vector<float>& traces, const survey& s, int source_column);

/// Central difference against time, per step; `traces` as from record. A line of point sources that repeats a wave emits its
/// integral over (here reversed) time: played back differentiated, the wave returns with its own phase, and an interface becomes a
/// symmetric peak.
void differentiate_backwards(std::vector<float>& traces, const survey& s);

/// The image of one shot: image[lag * nx * nz + iz * nx + ix], positive where the velocity grows with depth.
///
/// Records in `ground`; subtracts what the smooth `velocity` explains; propagates the rest back in `velocity` and correlates
/// it with the wavefield of the source: I(x, z, tau) = sum over t of S(t - tau) R(t + tau). Divides by the illumination of the
/// source and applies a Laplacian, which removes the long wavelengths that the correlation leaves along the rays.
/// Deterministic: equal bits for equal arguments, whoever calls.
/// Cost: three propagations, and lags * snapshots multiplications per cell; memory: survey::snapshot_bytes().
/// Source: the time-lag imaging condition of Sava and Fomel, "Time-shift imaging condition in seismic migration", Geophysics 71(6), 2006.
std::vector<float> migrate(const model& ground, const model& velocity, const survey& s, int source_column, const pulse& now_and_then = {});

}  // namespace rtm
