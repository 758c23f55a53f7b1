// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fft.cpp - one long Fourier transform over all ranks, by three transposes (alltoall) and many short
// transforms in between.
// Source: Hu and Koibuchi 2021, figure 12; D. Bailey, FFTs in external or hierarchical memory, 1990, for the
// six steps.
#include "app.hpp"
#include "fft.hpp"

namespace {

struct fft {
    static constexpr auto& menu = app::plans;
    int rows = 128;

    std::vector<app::setting> settings()
    {
        return {{"--rows", &rows, 21, 1, 4096, "rows m of a rank; the transform has (p m)^2 values"}};
    }
    void defaults(app::options& o)
    {
        o.program = "fft";
        o.about = "A Fourier transform with compressed transposes";
        o.plans = {"SZp", "BitWise"};
        o.bounds = {1e-8, 1e-6, 1e-4, 1e-3, 1e-2};
    }

    /// A chirp, two lines of which one is weak, and noise.
    static std::complex<double> signal(std::size_t i, std::size_t n)
    {
        const double t = static_cast<double>(i) / static_cast<double>(n), turn = 6.283185307179586;
        const auto word = static_cast<unsigned>(i) * 2654435761u;
        const double noise = (static_cast<double>(word ^ (word >> 15)) / 4294967296.0 - 0.5) * 1e-3;
        return {std::sin(turn * 40 * t * t) + 0.5 * std::sin(turn * 17 * t) +
                    1e-3 * std::sin(turn * 101 * t) + noise,
                0.3 * std::cos(turn * 17 * t)};
    }

    template <class Comm>
    bool run(const app::ranks<Comm>& here, const app::options& o)
    {
        const auto m = static_cast<std::size_t>(rows), n = m * static_cast<std::size_t>(here.size),
                   all = n * n;
        const app::transform of_rows({static_cast<int>(n)}, rows, FFTW_FORWARD);
        app::complexes whole(all);  // by this rank alone
        for (std::size_t i = 0; i < all; ++i) whole[i] = signal(i, all);
        double power = 0;
        for (const auto& v : whole) power += std::norm(v);
        app::transform({static_cast<int>(all)}, 1, FFTW_FORWARD)(whole);
        const std::size_t first = m * n * static_cast<std::size_t>(here.rank);

        const auto solve = [&](auto& way) {
            app::complexes x(m * n);
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = signal(first + i, all);
            x = app::transposed(way, x, m);  // a rank now has every n-th value, m times
            of_rows(x);
            for (std::size_t i = 0; i < x.size(); ++i) {
                const std::size_t b = first / n + i / n, c = i % n;
                x[i] *= std::polar(
                    1.0, -6.283185307179586 * static_cast<double>(b * c % all) / static_cast<double>(all));
            }
            x = app::transposed(way, x, m);
            of_rows(x);
            return app::transposed(way, x, m);
        };
        const auto judge = [&](const auto& way, const app::complexes& x) -> std::vector<app::figure> {
            std::vector<double> squares(1);
            double largest = 0;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double off = std::norm(x[i] - whole[first + i]);
                squares[0] += off;
                largest = std::max(largest, off);
            }
            ccoll::allreduce(squares, way.comm);
            // Real and imaginary part are within the bound after each transpose. Transforms and twiddles keep
            // the sum of squares.
            const double values = static_cast<double>(all), rms = std::sqrt(squares[0] / values),
                         level = std::sqrt(power / values);
            const double rounding = 10 * std::numeric_limits<double>::epsilon() * std::log2(values) * level;
            return {{"rms error", rms, 3 * std::sqrt(2.0) * way.bound + rounding},
                    {"largest error", std::sqrt(largest)},
                    {"noise, dB", rms > 0 ? 20 * std::log10(rms / level) : -400}};
        };
        return app::compare(here, o, std::to_string(all) + " complex values of order 1", menu, solve, judge);
    }
};

}  // namespace

int main(int argc, char** argv) { return app::main<fft>(argc, argv); }
