// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares the physics of examples/image_stacking with results that are known in closed form.
#include "rtm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

std::size_t usize(int n) { return static_cast<std::size_t>(n); }

/// The field of a point source f(t) = ricker in two dimensions at distance r: the convolution of f with
/// H(t - r/v) / (2 pi sqrt(t^2 - r^2/v^2)), substituting t = r/v cosh(a).
double exact_field(double t, double r, double velocity, double peak_hz)
{
    const double arrival = r / velocity;
    if (t <= arrival) return 0;
    const double end = std::acosh(t / arrival);
    constexpr int parts = 1000;
    double sum = 0;
    for (int k = 0; k < parts; ++k)
        sum += rtm::ricker(t - arrival * std::cosh(end * (k + 0.5) / parts), peak_hz);
    return sum * end / parts / (2 * std::numbers::pi);
}

rtm::model two_layers(double upper, double lower, int interface_row)
{
    rtm::model result = rtm::homogeneous(160, 90, 10, upper);
    for (int iz = interface_row; iz < result.nz; ++iz)
        for (int ix = 0; ix < result.nx; ++ix)
            result.velocity[usize(iz * result.nx + ix)] = static_cast<float>(lower);
    return result;
}

/// A survey with one source and one receiver at any place.
std::vector<double> trace_between(const rtm::model& ground, double dt, int steps, int from_x, int from_z,
                                  int to_x, int to_z)
{
    rtm::wavefield field(ground, dt, 30);
    std::vector<double> trace;
    for (int step = 0; step < steps; ++step) {
        field.step();
        field.inject(from_x, from_z, static_cast<float>(rtm::ricker(step * dt, 15)));
        trace.push_back(static_cast<double>(field.at(to_x, to_z)));
    }
    return trace;
}

double largest(const std::vector<double>& values)
{
    double result = 0;
    for (const double v : values) result = std::max(result, std::abs(v));
    return result;
}

std::string complaint(const rtm::model& ground, const rtm::settings& chosen)
{
    try {
        (void)rtm::plan_survey(ground, chosen);
    } catch (const rtm::bad_setting& e) {
        return e.what();
    }
    return "";
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("A wavefront in a homogeneous medium has the exact time, shape and amplitude", "[rtm]")
{
    constexpr double velocity = 2000;
    constexpr double dt = 0.5e-3;
    const rtm::model ground = rtm::homogeneous(165, 140, 10, velocity);
    const std::vector<int> distances{20, 50, 90};
    std::vector<double> peak(distances.size(), 0.0);
    std::vector<double> difference(distances.size(), 0.0);
    rtm::wavefield field(ground, dt, 30);
    for (int step = 0; step * dt < 0.65; ++step) {
        field.step();
        field.inject(35, 70, static_cast<float>(rtm::ricker(step * dt, 15)));
        for (std::size_t k = 0; step % 3 == 0 && k < distances.size(); ++k) {
            const double r = distances[k] * ground.dx;
            if ((step + 1) * dt > r / velocity + 0.2) continue;
            const double exact = exact_field((step + 1) * dt, r, velocity, 15);
            peak[k] = std::max(peak[k], std::abs(exact));
            difference[k] = std::max(difference[k],
                                     std::abs(exact - static_cast<double>(field.at(35 + distances[k], 70))));
        }
    }
    for (std::size_t k = 0; k < distances.size(); ++k) {
        // Time stepping makes the velocity wrong by (omega dt)^2 / 24, 0.015 % at 20 Hz: over the 0.45 s of
        // the longest path a phase of 0.8 %. No edge is near enough to be heard before the trace ends.
        INFO("distance " << distances[k] * ground.dx << " m, peak " << peak[k]);
        CHECK(peak[k] > 0);
        CHECK(difference[k] < 0.02 * peak[k]);
    }
}

TEST_CASE("A wave that has entered the absorbing layer does not come back", "[rtm]")
{
    const rtm::model ground = rtm::homogeneous(100, 100, 10, 2000);
    const double dt = 0.9 * rtm::stable_time_step(2000, 10);
    rtm::wavefield field(ground, dt, 40);
    double most = 0;
    double left = 0;
    // The corner is 0.35 s away, the way through the layer and back 0.4 s, and the wavelet takes 0.16 s.
    for (int step = 0; step * dt < 1.1; ++step) {
        field.step();
        field.inject(50, 50, static_cast<float>(rtm::ricker(step * dt, 15)));
        const double now = field.energy();
        most = std::max(most, now);
        if (step * dt > 0.92) left = std::max(left, now);
    }
    // A gradient of sigma reflects sigma_max v^2 / (4 omega^3 L^2 cos^4) of the amplitude: over the Ricker
    // spectrum and angles up to 45 degrees 7e-5 of the energy. Waves longer than 2 L (below 2.5 Hz) do not
    // see a layer at all: 2.2e-4 of the energy. A standing wave shows up to twice its mean.
    CHECK(left < 2 * (7e-5 + 2.2e-4) * most);
}

TEST_CASE("Source and receiver may be swapped", "[rtm]")
{
    const rtm::model ground = rtm::demo_model(120, 60, 10);
    const double dt = 0.9 * rtm::stable_time_step(static_cast<double>(ground.fastest()), ground.dx);
    const std::vector<double> there = trace_between(ground, dt, 700, 10, 2, 90, 45);
    const std::vector<double> back = trace_between(ground, dt, 700, 90, 45, 10, 2);
    const double peak = largest(there);
    REQUIRE(peak > 0);
    // The scheme is symmetric, so only rounding differs: 700 steps of 2^-24, each amplified up to tenfold by
    // the stencil.
    for (std::size_t i = 0; i < there.size(); ++i)
        REQUIRE(std::abs(there[i] - back[i]) < 700 * 10 * 6e-8 * peak);
}

TEST_CASE("A flat reflector is imaged at its depth, with the sign of its contrast and in focus at lag 0",
          "[rtm]")
{
    constexpr int row = 55;
    const double upper = 2000;
    for (const double lower : {2400.0, 1700.0}) {
        const rtm::model ground = two_layers(upper, lower, row);
        const rtm::model velocity = rtm::homogeneous(ground.nx, ground.nz, ground.dx, upper);
        rtm::settings chosen;
        chosen.lags = 9;
        chosen.sponge_cells = 30;
        const rtm::survey s = rtm::plan_survey(ground, chosen);
        std::vector<float> image(s.image_elements());
        for (int shot = 0; shot < 3; ++shot) {
            const std::vector<float> one = rtm::migrate(ground, velocity, s, rtm::shot_position(s, shot, 3));
            REQUIRE(one.size() == image.size());
            for (std::size_t i = 0; i < image.size(); ++i) image[i] += one[i];
        }

        const double half_wavelength = 0.5 * upper / s.peak_hz;
        for (const int column : {60, 80, 100}) {
            const auto value = [&](int lag, int iz) {
                return image[usize(lag) * s.cells() + usize(iz) * usize(s.nx) + usize(column)];
            };
            int found = 0;
            for (int iz = 0; iz < s.nz; ++iz)
                if (std::abs(value(s.lags / 2, iz)) > std::abs(value(s.lags / 2, found))) found = iz;
            INFO("lower velocity " << lower << ", column " << column << ", found in row " << found);
            CHECK(std::abs(found - row) * s.dx < 0.5 * half_wavelength);
            CHECK((value(s.lags / 2, found) > 0) == (lower > upper));
            int focus = 0;
            for (int lag = 0; lag < s.lags; ++lag)
                if (std::abs(value(lag, found)) > std::abs(value(focus, found))) focus = lag;
            CHECK(focus == s.lags / 2);
        }
    }
}

TEST_CASE("A shot gives the same bits twice, and fewer lags are the middle of more", "[rtm]")
{
    const rtm::model ground = rtm::demo_model(80, 48, 10);
    const rtm::model velocity = rtm::smoothed(ground, 50);
    rtm::settings chosen;
    chosen.sponge_cells = 20;
    chosen.lags = 5;
    const rtm::survey five = rtm::plan_survey(ground, chosen);
    chosen.lags = 1;
    const rtm::survey one = rtm::plan_survey(ground, chosen);
    const std::vector<float> image = rtm::migrate(ground, velocity, five, 20);
    CHECK(image == rtm::migrate(ground, velocity, five, 20));
    const auto middle = image.begin() + static_cast<std::ptrdiff_t>(2 * five.cells());
    CHECK(std::vector<float>(middle, middle + static_cast<std::ptrdiff_t>(five.cells())) ==
          rtm::migrate(ground, velocity, one, 20));
}

TEST_CASE("The stability limit is sharp, and beyond it a survey is refused", "[rtm]")
{
    const rtm::model ground = rtm::homogeneous(60, 60, 10, 3000);
    const double limit = rtm::stable_time_step(3000, 10);
    const auto energy_after = [&](double dt) {
        rtm::wavefield field(ground, dt, 20);
        field.inject(30, 30, 1);
        for (int step = 0; step < 600; ++step) field.step();
        return field.energy();
    };
    CHECK(energy_after(0.99 * limit) < 1);
    CHECK(!(energy_after(1.03 * limit) < 1e6));

    rtm::settings chosen;
    chosen.dt_s = 0.999 * limit;
    CHECK(complaint(ground, chosen).empty());
    chosen.dt_s = 1.001 * limit;
    CHECK(contains(complaint(ground, chosen), "unstable"));
    CHECK(contains(complaint(ground, chosen), "use at most"));
}

TEST_CASE("A survey that cannot work is refused, with a proposal that would work", "[rtm]")
{
    const rtm::model ground = rtm::homogeneous(60, 60, 10, 1500);
    rtm::settings chosen;
    CHECK(complaint(ground, chosen).empty());
    chosen.peak_hz = 30;
    CHECK(contains(complaint(ground, chosen), "lower the frequency to 17.1 Hz"));
    chosen = {};
    chosen.lags = 4;
    CHECK(contains(complaint(ground, chosen), "odd number, 5"));
    chosen = {};
    chosen.record_s = std::numeric_limits<double>::quiet_NaN();
    CHECK(contains(complaint(ground, chosen), "positive seconds"));
    CHECK(contains(complaint(rtm::homogeneous(60, 20, 10, 1500), {}), "at least 40 x 40"));
}

TEST_CASE("The demonstration model has a lens, a fault and water, and smoothing keeps travel times", "[rtm]")
{
    const rtm::model ground = rtm::demo_model(200, 100, 20);
    CHECK(ground.at(100, 2) == 1500);
    CHECK(ground.at(72, 46) == 3100);
    CHECK(ground.at(72, 52) < 3100);
    const auto basement_row = [&](int ix) {
        int iz = 0;
        while (ground.at(ix, iz) < 3200) ++iz;
        return iz;
    };
    CHECK(basement_row(145) - basement_row(135) >= 4);

    const auto seconds_down = [](const rtm::model& m, int ix) {
        double s = 0;
        for (int iz = 0; iz < m.nz; ++iz) s += m.dx / static_cast<double>(m.at(ix, iz));
        return s;
    };
    const rtm::model smooth = rtm::smoothed(ground, 100);
    for (const int column : {20, 72, 180})
        CHECK(seconds_down(smooth, column) == Approx(seconds_down(ground, column)).epsilon(0.02));
    const rtm::model same = rtm::smoothed(rtm::homogeneous(50, 50, 10, 2000), 100);
    CHECK(same.slowest() == Approx(2000));
    CHECK(same.fastest() == Approx(2000));
}

TEST_CASE("Denormals behave as before once a shot is done", "[rtm]")
{
    const rtm::model ground = rtm::homogeneous(50, 50, 10, 2000);
    rtm::settings chosen;
    chosen.record_s = 0.05;
    (void)rtm::record(ground, rtm::plan_survey(ground, chosen), 25);
    volatile float small = std::numeric_limits<float>::min();
    CHECK(small / 4 > 0);
}
