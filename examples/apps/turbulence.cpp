// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// turbulence.cpp - a pseudo-spectral solver of the Navier-Stokes equations in a periodic box, in slabs: each
// transform of a field in three dimensions has one transpose (alltoall). Heun's steps, with viscosity in an
// exact factor, and two thirds of the wave numbers.
// Source: Zhou et al. 2022, figure 10 and table 2; Rogallo, NASA TM-81315, 1981, for the method.
#include <array>
#include <cmath>
#include <random>

#include "app.hpp"
#include "fft.hpp"

namespace {

using app::complexes;
using vectors = std::array<complexes, 3>;
inline constexpr ccoll::menu<ccoll::Plan<>, ccoll::Plan<app::Codec::SZp, app::RuntimeBound>,
                             ccoll::Plan<app::Codec::SZe, app::RuntimeBound>,
                             ccoll::Plan<app::Codec::Zfp, app::FixedRate<24>>,
                             ccoll::Plan<app::Codec::Zfp, app::FixedRate<16>>>
    turbulence_plans{"none", "SZp", "SZe", "Zfp24", "Zfp16"};

/// A part of the box on a rank. Fields in space: [x of this rank][y][z]. Spectra: [y of this rank][z][x].
struct box {
    std::size_t n, m;  ///< points along each dimension, and of this rank
    int rank;
    app::transform planes, planes_back, lines, lines_back;

    box(std::size_t m_, int rank_, int size)
        : n(m_ * static_cast<std::size_t>(size)), m(m_), rank(rank_),
          planes({static_cast<int>(n), static_cast<int>(n)}, static_cast<int>(m), FFTW_FORWARD),
          planes_back({static_cast<int>(n), static_cast<int>(n)}, static_cast<int>(m), FFTW_BACKWARD),
          lines({static_cast<int>(n)}, static_cast<int>(m * n), FFTW_FORWARD),
          lines_back({static_cast<int>(n)}, static_cast<int>(m * n), FFTW_BACKWARD)
    {}
    std::size_t elements() const { return m * n * n; }
    double wave(std::size_t index) const
    {
        return static_cast<double>(index) - (index > n / 2 ? static_cast<double>(n) : 0);
    }
    std::array<double, 3> k(std::size_t at) const
    {
        return {wave(at % n), wave(static_cast<std::size_t>(rank) * m + at / n / n), wave(at / n % n)};
    }
    /// Is it one of the wave numbers that take part?
    bool kept(const std::array<double, 3>& k) const
    {
        const double most = static_cast<double>(n) / 3;
        return std::fabs(k[0]) < most && std::fabs(k[1]) < most && std::fabs(k[2]) < most;
    }

    template <class Work>  // (index, x, y, z)
    void for_each_point(Work work) const
    {
        const double h = 6.283185307179586 / static_cast<double>(n);
        for (std::size_t at = 0; at < elements(); ++at)
            work(at, h * static_cast<double>(static_cast<std::size_t>(rank) * m + at / n / n),
                 h * static_cast<double>(at / n % n), h * static_cast<double>(at % n));
    }

    template <class Way>
    complexes forward(Way& way, complexes f) const
    {
        planes(f);
        complexes send(f.size()), recv(f.size());
        for (std::size_t x = 0; x < m; ++x)
            for (std::size_t yz = 0; yz < n * n; ++yz)
                send[yz * m + x] = f[x * n * n + yz];  // part r: the m y of rank r
        way.call([&] { return ccoll::alltoall(way.plan, send, recv, way.comm, way.bound); });
        for (std::size_t s = 0; s < n / m; ++s)
            for (std::size_t yz = 0; yz < m * n; ++yz)
                for (std::size_t x = 0; x < m; ++x) f[yz * n + s * m + x] = recv[(s * m * n + yz) * m + x];
        lines(f);
        return f;
    }
    template <class Way>
    complexes back(Way& way, complexes f) const
    {
        lines_back(f);
        complexes send(f.size()), recv(f.size());
        for (std::size_t s = 0; s < n / m; ++s)
            for (std::size_t yz = 0; yz < m * n; ++yz)
                for (std::size_t x = 0; x < m; ++x) send[(s * m * n + yz) * m + x] = f[yz * n + s * m + x];
        way.call([&] { return ccoll::alltoall(way.plan, send, recv, way.comm, way.bound); });
        for (std::size_t x = 0; x < m; ++x)
            for (std::size_t yz = 0; yz < n * n; ++yz) f[x * n * n + yz] = recv[yz * m + x];
        planes_back(f);
        return f;
    }
};

struct flow {
    vectors u;  ///< spectra
    double fastest = 0, most_vorticity = 0;
};

std::array<std::complex<double>, 3> curl(const std::array<double, 3>& k, const vectors& u, std::size_t at)
{
    const std::complex<double> i(0, 1);
    return {i * (k[1] * u[2][at] - k[2] * u[1][at]), i * (k[2] * u[0][at] - k[0] * u[2][at]),
            i * (k[0] * u[1][at] - k[1] * u[0][at])};
}

/// u x curl u, without its part along k.
template <class Way>
vectors nonlinear(Way& way, const box& b, flow& f)
{
    vectors u, w;
    for (auto& each : w) each.resize(b.elements());
    for (std::size_t at = 0; at < b.elements(); ++at) {
        const auto c = curl(b.k(at), f.u, at);
        for (std::size_t d = 0; d < 3; ++d) w[d][at] = c[d];
    }
    for (std::size_t d = 0; d < 3; ++d) {
        u[d] = b.back(way, f.u[d]);
        w[d] = b.back(way, w[d]);
    }
    vectors product;
    for (auto& each : product) each.resize(b.elements());
    for (std::size_t at = 0; at < b.elements(); ++at) {
        double speed = 0, vorticity = 0;
        for (std::size_t d = 0; d < 3; ++d) {
            const std::size_t d1 = (d + 1) % 3, d2 = (d + 2) % 3;
            product[d][at] = u[d1][at].real() * w[d2][at].real() - u[d2][at].real() * w[d1][at].real();
            speed += std::norm(u[d][at]);
            vorticity += std::norm(w[d][at]);
        }
        f.fastest = std::max(f.fastest, std::sqrt(speed));
        f.most_vorticity = std::max(f.most_vorticity, std::sqrt(vorticity));
    }
    for (auto& each : product) each = b.forward(way, std::move(each));
    for (std::size_t at = 0; at < b.elements(); ++at) {
        const auto k = b.k(at);
        const double kk = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
        std::complex<double> along = 0;
        for (std::size_t d = 0; d < 3; ++d) along += k[d] * product[d][at];
        for (std::size_t d = 0; d < 3; ++d)
            product[d][at] = kk > 0 && b.kept(k) ? product[d][at] - k[d] * along / kk : 0;
    }
    return product;
}

struct turbulence {
    static constexpr auto& menu = turbulence_plans;
    int points = 8, steps = 10;
    double viscosity = 0.01, dt = 0.01;

    std::vector<app::setting> settings()
    {
        return {{"--points", &points, 6, 1, 256,
                 "points m of a rank along one dimension; the box has (p m)^3, and messages p m^3"},
                {"--steps", &steps, 1, 1, 1e5, "number of steps"},
                {"--viscosity", &viscosity, 0.01, 0, 10,
                 "kinematic; the box has a length of 2 pi, and velocities are about 1"},
                {"--dt", &dt, 0.01, 1e-6, 1, "time of a step"}};
    }
    void defaults(app::options& o)
    {
        o.program = "turbulence";
        o.about = "Navier-Stokes in a periodic box with compressed transposes";
        o.plans = {"SZp", "SZe", "Zfp24", "Zfp16"};
        o.bounds = {1e-10, 1e-8, 1e-6, 1e-4, 1e-3};
    }

    /// Vortices of Taylor and Green, which do not depend on z and only decay.
    static vectors vortices(const box& b)
    {
        vectors u;
        for (auto& each : u) each.resize(b.elements());
        b.for_each_point([&](std::size_t at, double x, double y, double) {
            u[0][at] = std::sin(x) * std::cos(y);
            u[1][at] = -std::cos(x) * std::sin(y);
        });
        return u;
    }
    /// Waves of all directions with random phases, across which velocities are, with the spectrum of
    /// turbulence; speeds of about 1.
    static vectors eddies(const box& b)
    {
        vectors u;
        for (auto& each : u) each.resize(b.elements());
        std::minstd_rand random(17);
        std::uniform_real_distribution<double> any(-1, 1);
        for (int k0 = -3; k0 <= 3; ++k0)
            for (int k1 = -3; k1 <= 3; ++k1)
                for (int k2 = 0; k2 <= 3; ++k2) {
                    const std::array<double, 3> k{static_cast<double>(k0), static_cast<double>(k1),
                                                  static_cast<double>(k2)};
                    std::array<double, 3> v{any(random), any(random), any(random)};
                    const double phase = 3.14 * any(random), kk = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
                    if (kk == 0) continue;
                    const double along = (k[0] * v[0] + k[1] * v[1] + k[2] * v[2]) / kk,
                                 scale = 0.4 * std::pow(kk, -11.0 / 12);
                    for (std::size_t d = 0; d < 3; ++d) v[d] = scale * (v[d] - along * k[d]);
                    b.for_each_point([&](std::size_t at, double x, double y, double z) {
                        const double wave = std::sin(k[0] * x + k[1] * y + k[2] * z + phase);
                        for (std::size_t d = 0; d < 3; ++d) u[d][at] += v[d] * wave;
                    });
                }
        return u;
    }

    template <class Way>
    flow advance(Way& way, const box& b, const vectors& start) const
    {
        flow f{start};
        {
            way_of_start<Way> exact{way};
            for (auto& each : f.u) each = b.forward(exact, std::move(each));
        }
        for (auto& each : f.u)
            for (std::size_t at = 0; at < b.elements(); ++at)
                if (!b.kept(b.k(at))) each[at] = 0;
        const auto decay = [&](std::size_t at) {
            const auto k = b.k(at);
            return std::exp(-viscosity * dt * (k[0] * k[0] + k[1] * k[1] + k[2] * k[2]));
        };
        for (int step = 0; step < steps; ++step) {
            const vectors first = nonlinear(way, b, f);
            flow ahead = f;
            for (std::size_t d = 0; d < 3; ++d)
                for (std::size_t at = 0; at < b.elements(); ++at)
                    ahead.u[d][at] = decay(at) * (f.u[d][at] + dt * first[d][at]);
            const vectors second = nonlinear(way, b, ahead);
            for (std::size_t d = 0; d < 3; ++d)
                for (std::size_t at = 0; at < b.elements(); ++at)
                    f.u[d][at] = decay(at) * (f.u[d][at] + dt / 2 * first[d][at]) + dt / 2 * second[d][at];
            f.fastest = ahead.fastest;
            f.most_vorticity = ahead.most_vorticity;
        }
        std::vector<double> most{f.fastest, f.most_vorticity};
        ccoll::allreduce<app::Op::Max>(most, way.comm);
        f.fastest = most[0];
        f.most_vorticity = most[1];
        return f;
    }
    /// The start of all runs is the same: transformed exactly, and not counted.
    template <class Way>
    struct way_of_start {
        decltype(Way::comm) comm;
        decltype(Way::plan) plan;
        double bound = 0;
        explicit way_of_start(Way& way) : comm(way.comm), plan(menu.at("none")) {}
        template <class Call>
        void call(Call&& make)
        {
            make();
        }
    };

    template <class Comm>
    bool run(const app::ranks<Comm>& here, const app::options& o)
    {
        const box b(static_cast<std::size_t>(points), here.rank, here.size);
        const vectors start = eddies(b);
        std::optional<flow> plain;
        const double volume = std::pow(static_cast<double>(b.n), 3);

        const auto solve = [&](auto& way) { return advance(way, b, start); };
        const auto judge = [&](auto& way, const flow& f) -> std::vector<app::figure> {
            if (way.plain) plain = f;
            double divergence = 0, energy = 0, energy_plain = 0, off = 0, largest_off = 0, exact_off = 0;
            std::vector<double> shells(b.n), shells_plain(b.n);
            for (std::size_t at = 0; at < b.elements(); ++at) {
                const auto k = b.k(at);
                std::complex<double> along = 0;
                double mine = 0, other = 0;
                for (std::size_t d = 0; d < 3; ++d) {
                    along += k[d] * f.u[d][at];
                    mine += std::norm(f.u[d][at]);
                    other += std::norm(plain->u[d][at]);
                    off += std::norm(f.u[d][at] - plain->u[d][at]);
                }
                divergence += std::norm(along);
                energy += mine;
                energy_plain += other;
                const auto shell =
                    static_cast<std::size_t>(std::sqrt(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]) + 0.5);
                shells[std::min(shell, b.n - 1)] += mine;
                shells_plain[std::min(shell, b.n - 1)] += other;
            }
            way_of_start exact{way};
            for (std::size_t d = 0; d < 3; ++d) {
                const complexes mine = b.back(exact, f.u[d]), other = b.back(exact, plain->u[d]);
                for (std::size_t at = 0; at < mine.size(); ++at)
                    largest_off = std::max(largest_off, std::abs(mine[at] - other[at]));
            }
            if (way.plain) {
                // These have an exact solution: u exp(-2 viscosity t).
                const vectors calm = vortices(b);
                const flow decayed = advance(way, b, calm);
                for (std::size_t d = 0; d < 3; ++d) {
                    const complexes u = b.back(exact, decayed.u[d]);
                    for (std::size_t at = 0; at < u.size(); ++at)
                        exact_off = std::max(
                            exact_off, std::abs(u[at] - calm[d][at] * std::exp(-2 * viscosity * dt * steps)));
                }
            }
            std::vector<double> sums{divergence, energy, energy_plain, off};
            sums.insert(sums.end(), shells.begin(), shells.end());
            sums.insert(sums.end(), shells_plain.begin(), shells_plain.end());
            ccoll::allreduce(sums, way.comm);
            double spectrum = 0;
            for (std::size_t s = 1; s < b.n / 3; ++s)
                if (sums[4 + b.n + s] > 1e-12 * sums[2])
                    spectrum = std::max(spectrum, std::fabs(sums[4 + s] / sums[4 + b.n + s] - 1));

            // Root mean squares. Velocity and vorticity in space are off by at most sqrt(6) bounds each,
            // because transforms keep the sum of squares, and so does their product's spectrum. What is off
            // grows by the derivative of u x curl u in each of Heun's steps; the projection and viscosity
            // make nothing larger.
            const double fastest = std::max(f.fastest, plain->fastest),
                         vorticity = std::max(f.most_vorticity, plain->most_vorticity);
            const double k_most = std::sqrt(3.0) * static_cast<double>(b.n) / 3,
                         growth = dt * (vorticity + fastest * k_most);
            const double injected =
                std::sqrt(6.0) * way.bound * (fastest + vorticity + 1) * dt * (1 + growth / 2);
            double limit = 0;
            for (int step = 0; step < steps; ++step)
                limit = limit * (1 + growth + growth * growth / 2) + injected;
            const double speed = std::sqrt(sums[2] / volume),
                         epsilon = std::numeric_limits<double>::epsilon();
            const bool promised = way.name.find("Zfp") != 0;
            return {{"rms difference", std::sqrt(sums[3] / volume), promised ? limit : HUGE_VAL},
                    {"max difference", largest_off},
                    {"divergence", std::sqrt(sums[0] / volume), 100 * epsilon * k_most * speed},
                    {"spectrum off, %", 100 * spectrum},
                    {"exact vortices", exact_off, 100 * epsilon * steps * std::log2(volume)}};
        };
        return app::compare(here, o,
                            std::to_string(b.n) + "^3 points, " + std::to_string(steps) + " steps of " +
                                std::to_string(dt).substr(0, 6) + ", velocities of about 1",
                            menu, solve, judge);
    }
};

}  // namespace

int main(int argc, char** argv) { return app::main<turbulence>(argc, argv); }
