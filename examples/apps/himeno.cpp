// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// himeno.cpp - the Himeno benchmark: Jacobi iterations for the pressure in a box. Ranks have bars of the box,
// and exchange faces with their neighbours. A face is not contiguous, and is passed to ccoll as it lies in
// memory.
// The coefficients of the benchmark are constants, so what they multiply by 0 is left out: seven points are
// left of nineteen.
// Source: Hu and Koibuchi 2021, figures 8 and 15; R. Himeno's benchmark for the sizes and for gosa, the sum
// of the squared changes.
#include <cmath>

#include "app.hpp"

namespace {

using floats = std::vector<float>;

/// A part of the box with a halo of one value on all sides, k varying fastest.
struct bar {
    std::size_t ni, nj, nk;  ///< without the halo
    floats p;
    std::size_t at(std::size_t i, std::size_t j, std::size_t k) const
    {
        return (i * (nj + 2) + j) * (nk + 2) + k;
    }
};

/// Part [i0, i0 + ni) x [j0, j0 + nj) of the inner points of the box, whose pressure grows from 0 to 1 along
/// i.
bar begin(std::size_t ni, std::size_t nj, std::size_t nk, std::size_t i0, std::size_t all_i)
{
    bar b{ni, nj, nk, floats((ni + 2) * (nj + 2) * (nk + 2))};
    for (std::size_t i = 0; i < ni + 2; ++i) {
        const auto x = static_cast<float>(i0 + i) / static_cast<float>(all_i + 1);
        std::fill_n(b.p.begin() + static_cast<std::ptrdiff_t>(b.at(i, 0, 0)), (nj + 2) * (nk + 2), x * x);
    }
    return b;
}

constexpr float relaxation = 0.8f;

/// One iteration. Returns gosa.
double relax(bar& b, floats& next)
{
    double gosa = 0;
    const std::size_t row = b.nk + 2, plane = (b.nj + 2) * row;
    const float* p = b.p.data();
    for (std::size_t i = 1; i <= b.ni; ++i)
        for (std::size_t j = 1; j <= b.nj; ++j)
            for (std::size_t at = b.at(i, j, 1), end = at + b.nk; at < end; ++at) {
                const float sum =
                    p[at + plane] + p[at + row] + p[at + 1] + p[at - plane] + p[at - row] + p[at - 1];
                const float change = sum * (1.0f / 6) - p[at];
                gosa += static_cast<double>(change) * static_cast<double>(change);
                next[at] = p[at] + relaxation * change;
            }
    for (std::size_t i = 1; i <= b.ni; ++i)
        for (std::size_t j = 1; j <= b.nj; ++j) std::copy_n(&next[b.at(i, j, 1)], b.nk, &b.p[b.at(i, j, 1)]);
    return gosa;
}

/// A face as it lies in memory: `count` runs of `length` elements, `stride` apart.
struct face {
    std::size_t send, recv;  ///< where what leaves and what arrives begin
    std::size_t count, length, stride;
    int to, from;
};

#if !defined(CCOLL_NO_MPI)
ccoll::report plain_shift(floats& p, const face& f, const MPI_Comm& comm)
{
    MPI_Datatype runs = MPI_DATATYPE_NULL;
    MPI_Type_vector(static_cast<int>(f.count), static_cast<int>(f.length), static_cast<int>(f.stride),
                    MPI_FLOAT, &runs);
    MPI_Type_commit(&runs);
    const auto peer = [](int rank) { return rank == ccoll::nobody ? MPI_PROC_NULL : rank; };
    MPI_Sendrecv(&p[f.send], 1, runs, peer(f.to), 0, &p[f.recv], 1, runs, peer(f.from), 0, comm,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&runs);
    return {};
}
#endif
/// Sends a face one way along a dimension of the grid of ranks, and receives one from the other side.
template <class Way, class Comm>
ccoll::report shift(Way& way, floats& p, const face& f, const Comm& comm)
{
#if !defined(CCOLL_NO_MPI)
    if constexpr (std::is_same_v<Comm, MPI_Comm>)
        if (way.plain) return plain_shift(p, f, comm);
#endif
    const auto stride = static_cast<std::ptrdiff_t>(f.stride);
    const auto along = ccoll::with_neighbors(comm, std::vector{f.from}, std::vector{f.to});
    return ccoll::neighbor_alltoall(way.plan, ccoll::strided(&p[f.send], f.count, f.length, stride),
                                    ccoll::strided(&p[f.recv], f.count, f.length, stride), along, way.bound);
}

struct pressure {
    bar part;
    double gosa = 0;
};

struct himeno {
    static constexpr auto& menu = app::plans;
    int i = 126, j = 62, k = 62, steps = 40;

    std::vector<app::setting> settings()
    {
        return {{"--i", &i, 21, 1, 4096, "inner points along i"},
                {"--j", &j, 23, 1, 4096, "along j"},
                {"--k", &k, 126, 1, 4096, "along k, which is not divided"},
                {"--steps", &steps, 12, 1, 1e6, "number of iterations"}};
    }
    void defaults(app::options& o)
    {
        o.program = "himeno";
        o.about = "The Himeno benchmark with compressed halos";
        o.plans = {"SZp", "BitWise"};
        o.bounds = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2};
    }

    template <class Comm>
    bool run(const app::ranks<Comm>& here, const app::options& o)
    {
        int pj = static_cast<int>(std::sqrt(here.size));
        while (here.size % pj != 0) --pj;
        const int pi = here.size / pj, my_i = here.rank / pj, my_j = here.rank % pj;
        if (i < pi || j < pj) throw std::runtime_error("fewer points than ranks; raise --i and --j");
        const auto all_i = static_cast<std::size_t>(i), all_j = static_cast<std::size_t>(j),
                   all_k = static_cast<std::size_t>(k);
        const app::block mine_i(all_i, my_i, pi), mine_j(all_j, my_j, pj);

        pressure serial{begin(all_i, all_j, all_k, 0, all_i)};  // by this rank alone
        floats next(serial.part.p.size());
        for (int step = 0; step < steps; ++step) serial.gosa = relax(serial.part, next);

        const auto solve = [&](auto& way) {
            pressure s{begin(mine_i.size(), mine_j.size(), all_k, mine_i.first, all_i)};
            bar& b = s.part;
            floats after(b.p.size());
            const std::size_t row = b.nk + 2, plane = (b.nj + 2) * row;
            const int below = my_i > 0 ? here.rank - pj : ccoll::nobody,
                      above = my_i + 1 < pi ? here.rank + pj : ccoll::nobody;
            const int left = my_j > 0 ? here.rank - 1 : ccoll::nobody,
                      right = my_j + 1 < pj ? here.rank + 1 : ccoll::nobody;
            const face faces[] = {{b.at(1, 1, 1), b.at(b.ni + 1, 1, 1), b.nj, b.nk, row, below, above},
                                  {b.at(b.ni, 1, 1), b.at(0, 1, 1), b.nj, b.nk, row, above, below},
                                  {b.at(1, 1, 1), b.at(1, b.nj + 1, 1), b.ni, b.nk, plane, left, right},
                                  {b.at(1, b.nj, 1), b.at(1, 0, 1), b.ni, b.nk, plane, right, left}};
            for (int step = 0; step < steps; ++step) {
                for (const face& f : faces) way.call([&] { return shift(way, b.p, f, way.comm); });
                s.gosa = ccoll::value::allreduce(relax(b, after), way.comm).value;
            }
            return s;
        };
        const auto judge = [&](const auto& way, const pressure& s) -> std::vector<app::figure> {
            double error = 0;
            for (std::size_t x = 1; x <= s.part.ni; ++x)
                for (std::size_t y = 1; y <= s.part.nj; ++y)
                    for (std::size_t z = 1; z <= s.part.nk; ++z) {
                        const float got = s.part.p[s.part.at(x, y, z)];
                        const float want =
                            serial.part.p[serial.part.at(mine_i.first + x, mine_j.first + y, z)];
                        error =
                            std::max(error, std::fabs(static_cast<double>(got) - static_cast<double>(want)));
                    }
            // An iteration is a mean with weights that add up to 1: it makes no error larger, and adds at
            // most the relaxation times that of a halo, which is one bound. Each computes nine times with
            // numbers up to 6, that is, to half an ulp of 4.
            const double rounding = way.plain ? 0 : 9 * 4 * 0.5 * std::numeric_limits<float>::epsilon();
            const double limit = steps * (static_cast<double>(relaxation) * way.bound + rounding);
            const double change = 2 * limit + way.bound, points = static_cast<double>(all_i * all_j * all_k);
            const double gosa_limit = 2 * change * std::sqrt(points * serial.gosa) + points * change * change;
            // Sums of different parts in another order.
            const double sum_rounding = points * std::numeric_limits<double>::epsilon() * serial.gosa;
            return {{"error of p", error, limit},
                    {"error of gosa", std::fabs(s.gosa - serial.gosa), gosa_limit + sum_rounding},
                    {"gosa", s.gosa}};
        };
        return app::compare(here, o,
                            std::to_string(i) + " x " + std::to_string(j) + " x " + std::to_string(k) +
                                " points, " + std::to_string(steps) + " iterations",
                            menu, solve, judge);
    }
};

}  // namespace

int main(int argc, char** argv) { return app::main<himeno>(argc, argv); }
