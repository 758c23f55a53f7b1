// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// summa.cpp - a product of matrices on a grid of ranks: panels of A are broadcast along the rows of the grid,
// and panels of B along its columns.
// Source: Hu et al. 2023, figure 14, for the application; van de Geijn and Watts, SUMMA, 1997, for the
// algorithm.
#include <cmath>

#include "grid.hpp"

namespace {

using doubles = std::vector<double>;

struct summa {
    static constexpr auto& menu = app::plans;
    int n = 384, width = 32;

    std::vector<app::setting> settings()
    {
        return {{"--n", &n, 97, 1, 8192, "rows and columns"},
                {"--width", &width, 32, 1, 8192, "columns of a panel"}};
    }
    void defaults(app::options& o)
    {
        o.program = "summa";
        o.about = "A product of matrices with compressed broadcasts";
        o.plans = {"SZp", "BitZip"};
        o.bounds = {1e-12, 1e-9, 1e-6, 1e-4, 1e-2};
    }

    static double a(std::size_t i, std::size_t k)
    {
        return std::sin(0.03 * static_cast<double>(i * 3 + k) + 0.4) + 0.1;
    }
    static double b(std::size_t k, std::size_t j)
    {
        return std::cos(0.002 * static_cast<double>(k * j) + 0.1 * static_cast<double>(k));
    }

    template <class Comm>
    bool run(const app::ranks<Comm>& here, const app::options& o)
    {
        int pc = static_cast<int>(std::sqrt(here.size));
        while (here.size % pc != 0) --pc;
        const int pr = here.size / pc, my_row = here.rank / pc, my_column = here.rank % pc;
        const auto size = static_cast<std::size_t>(n), w = static_cast<std::size_t>(width);
        const app::block rows(size, my_row, pr), columns(size, my_column, pc);
        // Ranks of this row of the grid, of this column.
        const app::group<Comm> row(here, my_row, my_column), column(here, my_column, my_row);

        const auto solve = [&](auto& way) {
            doubles c(rows.size() * columns.size());
            for (std::size_t first = 0; first < size;) {
                // A panel ends where the next rank's columns of A, or rows of B, begin.
                int a_owner = 0, b_owner = 0;
                while (app::block(size, a_owner, pc).last <= first) ++a_owner;
                while (app::block(size, b_owner, pr).last <= first) ++b_owner;
                const std::size_t last = std::min(
                    {first + w, app::block(size, a_owner, pc).last, app::block(size, b_owner, pr).last});
                const std::size_t k = last - first;
                // Both with the k-th column or row together.
                doubles panel_a(k * rows.size()), panel_b(k * columns.size());
                if (a_owner == my_column)
                    for (std::size_t i = 0; i < panel_a.size(); ++i)
                        panel_a[i] = a(rows.first + i % rows.size(), first + i / rows.size());
                if (b_owner == my_row)
                    for (std::size_t i = 0; i < panel_b.size(); ++i)
                        panel_b[i] = b(first + i / columns.size(), columns.first + i % columns.size());
                way.call([&] { return row.bcast(way, panel_a, a_owner); });
                way.call([&] { return column.bcast(way, panel_b, b_owner); });
                for (std::size_t l = 0; l < k; ++l)
                    for (std::size_t i = 0; i < rows.size(); ++i)
                        for (std::size_t j = 0; j < columns.size(); ++j)
                            c[i * columns.size() + j] +=
                                panel_a[l * rows.size() + i] * panel_b[l * columns.size() + j];
                first = last;
            }
            return c;
        };
        const auto judge = [&](const auto& way, const doubles& c) -> std::vector<app::figure> {
            // With A + E and B + F, the product is off by E B + A F + E F.
            double error = 0, largest = 0, limit = 0, share = 0;
            for (std::size_t i = 0; i < rows.size(); ++i)
                for (std::size_t j = 0; j < columns.size(); ++j) {
                    double want = 0, row_sum = 0, column_sum = 0, terms = 0;
                    for (std::size_t k = size; k-- > 0;) {  // from behind
                        const double x = a(rows.first + i, k), y = b(k, columns.first + j);
                        want += x * y;
                        row_sum += std::fabs(x);
                        column_sum += std::fabs(y);
                        terms += std::fabs(x * y);
                    }
                    const double off = std::fabs(c[i * columns.size() + j] - want);
                    const double allowed = way.bound * (row_sum + column_sum) + way.bound * way.bound * n +
                                           2 * n * std::numeric_limits<double>::epsilon() * terms;
                    error = std::max(error, off);
                    limit = std::max(limit, allowed);
                    share = std::max(share, off / allowed);
                    largest = std::max(largest, std::fabs(want));
                }
            return {{"error of C", error, limit}, {"of its limit", share, 1}, {"largest of C", largest}};
        };
        return app::compare(here, o,
                            std::to_string(n) + " x " + std::to_string(n) + " matrices on " +
                                std::to_string(pr) + " x " + std::to_string(pc) + " ranks",
                            menu, solve, judge);
    }
};

}  // namespace

int main(int argc, char** argv) { return app::main<summa>(argc, argv); }
