// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strided views as buffers: columns of matrices are moved and reduced, and what lies between them stays as it
// was.
#include "errors.hpp"

#include <ccoll/neighbor.hpp>

namespace strided_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

constexpr std::size_t rows = 700, columns = 9;
struct sheet {
    std::vector<float> all = std::vector<float>(rows * columns, -1);
    auto column(std::size_t j, std::size_t width = 1)
    {
        return ccoll::strided(all.data() + j, rows, width, columns);
    }
    auto column(std::size_t j, std::size_t width = 1) const
    {
        return ccoll::strided(all.data() + j, rows, width, columns);
    }
    /// Are the columns [first, last) within `bound` of `value(row, column)`, and all others -1?
    template <class Value>
    bool holds(std::size_t first, std::size_t last, Value value, double bound) const
    {
        bool good = true;
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) {
                const bool inside = j >= first && j < last;
                good = good &&
                       std::abs(all[i * columns + j] - (inside ? value(i, j) : -1.0)) <= (inside ? bound : 0);
            }
        return good;
    }
};
float entry(std::size_t i, std::size_t j, int rank)
{
    return static_cast<float>(i + 1000 * j) + static_cast<float>(rank);
}
sheet filled(std::size_t first, std::size_t last, int rank)
{
    sheet m;
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = first; j < last; ++j) m.all[i * columns + j] = entry(i, j, rank);
    return m;
}

}  // namespace

TEST_CASE("Columns of a matrix are buffers of blocking collectives", "[collectives][strided]")
{
    for (const int p : rank_counts) {
        const auto all = run<std::vector<bool>>(p, [p](threads_comm& comm, std::vector<bool>& mine) {
            using E = ccoll::Plan<Codec::SZp, ErrorBound<1e-2>>;
            const int me = comm.rank();
            const double sum_of_ranks = p * (p - 1) / 2.0, rounding = 1e-3 * p;
            const auto sums = [&](std::size_t i, std::size_t j) {
                return p * static_cast<double>(entry(i, j, 0)) + sum_of_ranks;
            };

            const sheet source = filled(2, 4, me);
            sheet to;
            mine.push_back(ccoll::allreduce<E>(source.column(2, 2), to.column(2, 2), comm).trouble.ok());
            mine.push_back(to.holds(2, 4, sums, 1e-2 * p + rounding));
            std::vector<float> flat(rows);
            ccoll::allreduce<E>(source.column(3), flat, comm);  // a range on the other side
            mine.push_back(std::abs(flat[rows - 1] - sums(rows - 1, 3)) <= 1e-2 * p + rounding);
            sheet inout = filled(5, 6, me);
            ccoll::allreduce(inout.column(5), comm);
            mine.push_back(inout.holds(5, 6, sums, 0));
            sheet root = me == p - 1 ? filled(0, 1, 7) : sheet{};
            ccoll::bcast(root.column(0), p - 1, comm);
            mine.push_back(root.holds(0, 1, [](std::size_t i, std::size_t j) { return entry(i, j, 7); }, 0));
            sheet untouched;
            ccoll::reduce(source.column(2), untouched.column(1), 0, comm);
            mine.push_back(untouched.holds(
                1, 2, [&](std::size_t i, std::size_t) { return me == 0 ? sums(i, 2) : -1.0; }, 0));

            // The halo columns of a row of blocks, between neighbours and by messages.
            const int left = (me + p - 1) % p, right = (me + 1) % p;
            sheet block = filled(1, 2, me);
            ccoll::sendrecv<E>(std::as_const(block).column(1), left, block.column(8), right, 3, comm);
            bool good = true;
            for (std::size_t i = 0; i < rows; ++i)
                good = good && std::abs(block.all[i * columns + 8] - entry(i, 1, right)) <= 1e-2 &&
                       block.all[i * columns + 7] == -1;
            mine.push_back(good);
            const auto ring = ccoll::with_neighbors(comm, std::vector{right}, std::vector{left});
            block.all[8] = -1;
            ccoll::neighbor_alltoall<E>(std::as_const(block).column(1), block.column(8), ring);
            mine.push_back(std::abs(block.all[8] - entry(0, 1, right)) <= 1e-2);
        });
        for (int r = 0; r < p; ++r)
            for (std::size_t i = 0; i < all[0].size(); ++i) {
                INFO("p " << p << ", rank " << r << ", check " << i);
                CHECK(all[static_cast<std::size_t>(r)][i]);
            }
    }
}

TEST_CASE("A strided view of another length is refused as other buffers are",
          "[collectives][strided][errors]")
{
    all_heard(listen(3,
                     [](threads_comm& comm) {
                         sheet m;
                         std::vector<float> y(rows - 1);
                         ccoll::allreduce<Check::Collective>(m.column(0), y, comm);
                     }),
              status::size_mismatch);
}

}  // namespace strided_cases
