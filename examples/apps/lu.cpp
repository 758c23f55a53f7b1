// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// lu.cpp - LU factorisation of a diagonally dominant matrix, whose blocks of columns are dealt out in turn.
// The owner of a block factors it and broadcasts its part of L.
// Source: Hu et al. 2023, figure 14.
#include <cmath>

#include "app.hpp"

namespace {

using doubles = std::vector<double>;

struct factors {
    doubles lower;  ///< all of L, column by column, with ones in the diagonal
    doubles own;    ///< U in this rank's columns
};

struct lu {
    static constexpr auto& menu = app::plans;
    int n = 256, width = 16;

    std::vector<app::setting> settings()
    {
        return {{"--n", &n, 131, 1, 4096, "rows and columns"},
                {"--width", &width, 16, 1, 4096, "columns of a block"}};
    }
    void defaults(app::options& o)
    {
        o.program = "lu";
        o.about = "LU factorisation with compressed broadcasts";
        o.plans = {"SZp", "BitZip"};
        o.bounds = {1e-12, 1e-9, 1e-6, 1e-4, 1e-2};
    }

    /// A kernel that falls off with the distance, and a diagonal that is larger than the rest of its column.
    double element(std::size_t i, std::size_t j) const
    {
        const double d = static_cast<double>(i) - static_cast<double>(j);
        const double wave = std::sin(0.05 * static_cast<double>(i) + 0.11 * static_cast<double>(j));
        return i == j ? 30 : (1 + 0.5 * wave) / (1 + 0.1 * std::fabs(d)) / 2;
    }

    template <class Comm>
    bool run(const app::ranks<Comm>& here, const app::options& o)
    {
        const auto size = static_cast<std::size_t>(n), w = static_cast<std::size_t>(width),
                   p = static_cast<std::size_t>(here.size);
        const std::size_t blocks = (size + w - 1) / w;
        const auto owner = [&](std::size_t block) { return static_cast<int>(block % p); };
        // Columns of this rank, by their number among its own.
        std::vector<std::size_t> columns;
        for (std::size_t j = 0; j < size; ++j)
            if (owner(j / w) == here.rank) columns.push_back(j);

        const auto solve = [&](auto& way) {
            factors f{doubles(size * size), doubles(columns.size() * size)};
            for (std::size_t c = 0; c < columns.size(); ++c)
                for (std::size_t i = 0; i < size; ++i) f.own[c * size + i] = element(i, columns[c]);
            for (std::size_t b = 0; b < blocks; ++b) {
                const std::size_t first = b * w, last = std::min(first + w, size), rows = size - first;
                doubles panel((last - first) * rows);  // columns of L from the diagonal down; zeros above it
                for (std::size_t c = 0; c < columns.size(); ++c) {
                    const std::size_t j = columns[c];
                    if (j < first || j >= last) continue;
                    double* column = &f.own[c * size];
                    for (std::size_t k = first; k < j; ++k)
                        for (std::size_t i = k + 1; i < size; ++i)
                            column[i] -= panel[(k - first) * rows + i - first] * column[k];
                    for (std::size_t i = j + 1; i < size; ++i)
                        panel[(j - first) * rows + i - first] = column[i] / column[j];
                }
                // The owner takes the decoded values, too.
                way.call([&] { return ccoll::bcast(way.plan, panel, owner(b), way.comm, way.bound); });
                for (std::size_t k = first; k < last; ++k) {
                    const double* l = &panel[(k - first) * rows];
                    f.lower[k * size + k] = 1;
                    for (std::size_t i = k + 1; i < size; ++i) f.lower[k * size + i] = l[i - first];
                    for (std::size_t c = 0; c < columns.size(); ++c)
                        if (columns[c] >= last)
                            for (std::size_t i = k + 1; i < size; ++i)
                                f.own[c * size + i] -= l[i - first] * f.own[c * size + k];
                }
            }
            return f;
        };
        const auto judge = [&](const auto& way, const factors& f) -> std::vector<app::figure> {
            // Only the product of the part of L that was compressed with the block of U above it is not what
            // was there before: later blocks are updated with the L that all ranks have. So a column of L U
            // differs by at most the bound times the sum of that block's |U|.
            double residual = 0, limit = 0, largest_sum = 0;
            for (std::size_t c = 0; c < columns.size(); ++c) {
                const std::size_t j = columns[c], first = j / w * w;
                doubles product(size), magnitude(size);
                double block = 0;
                for (std::size_t k = 0; k <= j; ++k) {
                    const double u = f.own[c * size + k];
                    if (k >= first) block += std::fabs(u);
                    for (std::size_t i = k; i < size; ++i) {
                        product[i] += f.lower[k * size + i] * u;
                        magnitude[i] += std::fabs(f.lower[k * size + i] * u);
                    }
                }
                limit = std::max(limit, way.bound * block);
                for (std::size_t i = 0; i < size; ++i) {
                    residual = std::max(residual, std::fabs(product[i] - element(i, j)));
                    largest_sum = std::max(largest_sum, magnitude[i]);
                }
            }
            // The backward error of a factorisation, and of the product here: n terms each.
            const double rounding = 2 * n * std::numeric_limits<double>::epsilon() * largest_sum;
            return {{"error of L U", residual, limit + rounding}};
        };
        return app::compare(here, o, std::to_string(n) + " x " + std::to_string(n) + " matrix, diagonal 30",
                            menu, solve, judge);
    }
};

}  // namespace

int main(int argc, char** argv) { return app::main<lu>(argc, argv); }
