// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cg.cpp - conjugate gradients for an implicit step of diffusion on a grid whose rows are dealt out over the
// ranks: when compression of the halo hurts convergence. The plan 'SZp, falling' multiplies the bound by the
// residual, which is 1 at the beginning.
// Source of the limit: van den Eshof and Sleijpen, Inexact Krylov subspace methods for linear systems, 2004.
#include <cmath>
#include <numeric>

#include "grid.hpp"

namespace {

using doubles = std::vector<double>;
using lossy = ccoll::Plan<app::Codec::SZp, app::RuntimeBound>;
inline constexpr ccoll::menu<ccoll::Plan<>, lossy, lossy, ccoll::Plan<app::Codec::SZe, app::RuntimeBound>,
                             ccoll::Plan<app::Codec::BitWise, app::RuntimeBound>>
    cg_plans{"none", "SZp", "SZp, falling", "SZe", "BitWise"};

/// What solved the system, and what its halos may have done.
struct solution {
    doubles x;
    int iterations = 0;
    double residual = 0;   ///< of the recurrence
    double gap = 0;        ///< how far the true residual may be from it
    double largest_x = 0;  ///< norm
};

struct cg {
    static constexpr auto& menu = cg_plans;
    int nx = 1500, ny = 100, most = 400;
    double reaction = 0.01, tolerance = 1e-9;

    std::vector<app::setting> settings()
    {
        return {{"--nx", &nx, 640, 1, 1e5, "points of a row; SZp keeps fewer than 512 bit for bit"},
                {"--ny", &ny, 11, 1, 1e5, "number of rows"},
                {"--most", &most, 200, 1, 1e6, "largest number of iterations"},
                {"--reaction", &reaction, 0.1, 0, 100,
                 "what is added to the diagonal: 1 / (time step x diffusion)"},
                {"--tolerance", &tolerance, 1e-9, 1e-15, 1,
                 "residual at which to stop, relative to the right-hand side"}};
    }
    void defaults(app::options& o)
    {
        o.program = "cg";
        o.about = "Conjugate gradients with compressed halos";
        o.plans = {"SZp", "SZp, falling"};
        o.bounds = {1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6};
        o.repeat = 1;
    }

    /// The solution, from which the right-hand side is made; 0 on the boundary.
    double exact(std::size_t row, std::size_t column) const
    {
        const double y = (static_cast<double>(row) + 1) / (ny + 1),
                     x = (static_cast<double>(column) + 1) / (nx + 1);
        return x * (1 - x) * y * (1 - y) * (std::sin(9 * x + 4 * y) + std::cos(31 * x * y) + 2) * 4;
    }

    template <class Comm>
    bool run(const app::ranks<Comm>& here, const app::options& o)
    {
        if (ny < here.size) throw std::runtime_error("fewer rows than ranks; raise --ny");
        const std::size_t width = static_cast<std::size_t>(nx);
        const app::block rows(static_cast<std::size_t>(ny), here.rank, here.size);
        const std::size_t n = rows.size() * width;
        const app::line<Comm> line(here);

        // A u with 4 and the reaction in the diagonal, and -1 for each of the four neighbours; `halo` has the
        // rows above and below.
        const auto apply = [&](const doubles& u, const doubles& halo, doubles& result) {
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t column = i % width;
                double sum = (4 + reaction) * u[i];
                sum -= i >= width ? u[i - width] : halo[column];
                sum -= i + width < n ? u[i + width] : halo[width + column];
                if (column > 0) sum -= u[i - 1];
                if (column + 1 < width) sum -= u[i + 1];
                result[i] = sum;
            }
        };
        const auto edges_of = [&](const doubles& u) {
            doubles edges(u.begin(), u.begin() + static_cast<std::ptrdiff_t>(width));
            edges.insert(edges.end(), u.end() - static_cast<std::ptrdiff_t>(width), u.end());
            return edges;
        };
        const auto local = [&](const doubles& a, const doubles& b) {
            return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
        };
        const auto dot = [&](const doubles& a, const doubles& b) {
            return ccoll::value::allreduce(local(a, b), here.comm).value;
        };

        doubles u(n), right(n), halo(2 * width);
        for (std::size_t i = 0; i < n; ++i) u[i] = exact(rows.first + i / width, i % width);
        for (std::size_t j = 0; j < width; ++j) {  // not from the neighbours: what they send is under test
            halo[j] = rows.first > 0 ? exact(rows.first - 1, j) : 0;
            halo[width + j] = rows.last < static_cast<std::size_t>(ny) ? exact(rows.last, j) : 0;
        }
        apply(u, halo, right);
        const double scale = 1 / std::sqrt(dot(right, right));  // of norm 1
        for (double& v : right) v *= scale;
        for (double& v : u) v *= scale;

        // Every value of a halo goes with a factor of -1 into one element of A p: those from above, and those
        // from below, change it by at most the bound times the root of their number.
        const double halo_norm = 2 * std::sqrt(static_cast<double>(nx) * (here.size - 1));

        const auto solve = [&](auto& way) {
            solution s;
            s.x.resize(n);
            doubles r = right, p = right, q(n), around(2 * width, 0.0);
            double rr = dot(r, r);
            while (s.iterations < most && std::sqrt(rr) > tolerance) {
                const double bound = way.name == "SZp, falling" ? way.bound * std::sqrt(rr) : way.bound;
                const doubles edges = edges_of(p);
                way.call([&] { return line.exchange(way, edges, around, way.plain ? 0 : bound); });
                apply(p, around, q);
                const double pq = dot(p, q), step = rr / pq;
                if (!(pq > 0) || !std::isfinite(step))
                    break;  // halos were so wrong that A looks no longer positive
                for (std::size_t i = 0; i < n; ++i) s.x[i] += step * p[i], r[i] -= step * q[i];
                s.gap += std::fabs(step) * bound * halo_norm;
                doubles norms{local(r, r), local(s.x, s.x)};
                ccoll::allreduce(norms, way.comm);
                s.largest_x = std::max(s.largest_x, std::sqrt(norms[1]));
                const double next = norms[0], growth = next / rr;
                for (std::size_t i = 0; i < n; ++i) p[i] = r[i] + growth * p[i];
                rr = next;
                ++s.iterations;
            }
            s.residual = std::sqrt(rr);
            return s;
        };
        const auto judge = [&](const auto& way, const solution& s) -> std::vector<app::figure> {
            doubles around(2 * width, 0.0), off(n), residual(n);
            line.exact(edges_of(s.x), around);
            apply(s.x, around, residual);
            for (std::size_t i = 0; i < n; ++i) {
                residual[i] = right[i] - residual[i];
                off[i] = s.x[i] - u[i];
            }
            const double left = std::sqrt(dot(residual, residual)), norm = std::sqrt(dot(u, u)),
                         error = std::sqrt(dot(off, off));
            // The norm of A is below 8 + reaction. A step rounds x, r and A p, which has five terms.
            const double rounding = 10 * std::numeric_limits<double>::epsilon() * (s.iterations + 1) *
                                    (8 + reaction) * (s.largest_x + norm);
            // The smallest eigenvalue of A.
            const double least = 4 * (std::pow(std::sin(1.5707963267948966 / (nx + 1)), 2) +
                                      std::pow(std::sin(1.5707963267948966 / (ny + 1)), 2));
            return {{"true residual", left, s.residual + s.gap + rounding},
                    {"error of x", error / norm, (left + rounding) / least / norm},
                    {"iterations", static_cast<double>(s.iterations)},
                    // Without a codec it must converge: after as many steps as there are unknowns, and here
                    // much earlier.
                    {"stopped at", s.residual, way.plain ? tolerance : HUGE_VAL}};
        };
        return app::compare(
            here, o, std::to_string(nx) + " x " + std::to_string(ny) + " points, right-hand side of norm 1",
            menu, solve, judge);
    }
};

}  // namespace

int main(int argc, char** argv) { return app::main<cg>(argc, argv); }
