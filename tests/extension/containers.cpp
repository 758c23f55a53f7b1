// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/containers.md: other people's containers as buffers, on ranks that are threads. Cases of a package
// that is not installed are left out.
#include "support/catch.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>
#include <ccoll/value.hpp>

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#define TEST_EIGEN
#elif __has_include(<eigen3/Eigen/Core>)
#include <eigen3/Eigen/Core>
#define TEST_EIGEN
#endif

#if __has_include(<xtensor/xtensor.hpp>)
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#define TEST_XTENSOR
#endif

namespace container_cases {

using namespace ccoll::policies;

namespace {

void want(bool holds, const char* what)
{
    if (!holds) throw std::runtime_error(what);
}

}  // namespace

}  // namespace container_cases

// [doc:class]
namespace sim {

/// A class without data() and size(): rows of cells, in memory of its own.
template <class T>
class Grid {
public:
    Grid(std::size_t rows, std::size_t columns)
        : rows_(rows), columns_(columns), cells_(new T[rows * columns]())
    {}
    std::size_t rows() const { return rows_; }
    std::size_t columns() const { return columns_; }
    T* cells() { return cells_.get(); }
    const T* cells() const { return cells_.get(); }

private:
    std::size_t rows_, columns_;
    std::unique_ptr<T[]> cells_;
};

}  // namespace sim

// For Grid and for const Grid, because a send buffer is seen as const.
template <class T>
struct ccoll::buffer_traits<sim::Grid<T>> {
    using space = ccoll::host_space;
    static T* data(sim::Grid<T>& g) { return g.cells(); }
    static std::size_t size(sim::Grid<T>& g) { return g.rows() * g.columns(); }
    static ccoll::field_strides strides(sim::Grid<T>& g)
    {
        return {g.columns()};
    }  // may be left out: messages are then longer
};
template <class T>
struct ccoll::buffer_traits<const sim::Grid<T>> {
    using space = ccoll::host_space;
    static const T* data(const sim::Grid<T>& g) { return g.cells(); }
    static std::size_t size(const sim::Grid<T>& g) { return g.rows() * g.columns(); }
    static ccoll::field_strides strides(const sim::Grid<T>& g) { return {g.columns()}; }
};
// [/doc:class]

namespace container_cases {

TEST_CASE(
    "docs/containers.md: a class of the user's goes wherever a vector goes, and its rows make messages "
    "shorter",
    "[docs][extension]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        sim::Grid<float> field(61, 300), sum(61, 300);
        std::vector<float> without_rows(61 * 300);
        for (std::size_t i = 0; i < 61 * 300; ++i) {
            const auto row = static_cast<float>(i / 300), column = static_cast<float>(i % 300);
            field.cells()[i] = std::sin(0.3f * column) * std::cos(0.01f * row);
            without_rows[i] = field.cells()[i];
        }
        // [doc:use_class]
        const ccoll::report facts = ccoll::allreduce<Codec::SZp, ErrorBound<1e-4>>(field, sum, comm);
        // [/doc:use_class]
        for (std::size_t i = 0; i < 61 * 300; ++i)
            want(std::fabs(sum.cells()[i] - 3 * field.cells()[i]) <= facts.worst_case_error + 1e-6,
                 "beyond the bound");
        const ccoll::report plain = ccoll::bcast<Codec::SZp, ErrorBound<1e-4>>(without_rows, 0, comm);
        const ccoll::report shaped = ccoll::bcast<Codec::SZp, ErrorBound<1e-4>>(field, 0, comm);
        want(comm.rank() != 0 || shaped.sent_bytes < plain.sent_bytes, "rows save nothing");

        sim::Grid<double> none(0, 300);
        ccoll::allreduce<Codec::SZp, ErrorBound<1e-4>>(none, comm);
    });
}

#if defined(TEST_EIGEN)

TEST_CASE("docs/containers.md: matrices and maps of Eigen are buffers, and blocks with gaps are refused",
          "[docs][extension]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        const std::size_t rows = 200, columns = 31;
        // [doc:eigen]
        // A resizable result needs its size beforehand.
        Eigen::MatrixXd a = Eigen::MatrixXd::Random(200, 31), sum(200, 31);
        ccoll::allreduce(a, sum, comm);
        ccoll::allreduce<Codec::SZp, ErrorBound<1e-6>, Op::Average>(a, comm);  // in place
        // Eigen stores columns.
        ccoll::bcast<Codec::SZp, ErrorBound<1e-6>>(ccoll::shaped(a, {columns, rows}), 0, comm);
        std::vector<double> memory(6000);
        Eigen::Map<Eigen::VectorXd> seen(memory.data(), 6000);
        ccoll::allreduce<Op::Max>(seen, comm);
        auto some = a.middleCols(2, 5);  // whole columns have no gaps
        ccoll::allreduce(some, comm);
        // [/doc:eigen]
        want(a.rows() == 200, "shape");

        // Every rank has the same matrix, so the sum is 3 times what each has, and the columns are within two
        // bounds of each other.
        Eigen::MatrixXd mine = Eigen::MatrixXd::Constant(200, 31, 1.0 + comm.rank()), all(200, 31);
        const ccoll::report facts = ccoll::allreduce<Codec::SZp, ErrorBound<1e-6>>(mine, all, comm);
        want((all.array() - 6.0).abs().maxCoeff() <= facts.worst_case_error + 1e-12, "beyond the bound");
        auto columns_of_mine = mine.middleCols(2, 5);
        ccoll::allreduce(columns_of_mine, comm);
        want(mine(0, 1) == 1.0 + comm.rank() && mine(0, 2) == 6 && mine(199, 6) == 6 &&
                 mine(0, 7) == 1.0 + comm.rank(),
             "columns");

        // [doc:eigen_gaps]
        std::error_code code;
        auto row = a.row(0);
        ccoll::allreduce(row, comm, code);  // a row of a matrix that is stored by columns
        const bool row_refused = code == ccoll::status::strided;
        auto corner = a.topLeftCorner(10, 5);
        ccoll::allreduce(corner, comm, code);
        const bool corner_refused = code == ccoll::status::strided;

        Eigen::RowVectorXd copy = a.row(0);  // a copy has no gaps
        ccoll::allreduce(copy, comm);
        // Or the library copies it: `columns` runs of 1 element, `rows` apart.
        const auto gaps = ccoll::strided(a.data(), columns, 1, rows);
        ccoll::allreduce(gaps, gaps, comm);
        // [/doc:eigen_gaps]
        want(row_refused, "a row of a matrix");
        want(corner_refused, "a corner of a matrix");
        want(ccoll::value::bcast(Eigen::VectorXd(Eigen::VectorXd::Constant(3, 1.0 + comm.rank())), 2, comm)
                     .value[2] == 3,
             "by value");
        want(ccoll::value::bcast(ccoll::shaped(mine, {columns, rows}), 2, comm).value[0] == 3,
             "a shape by value");
        want(std::fabs(a(0, 3) - copy(3)) <= 1e-9, "a copied row, and one with gaps");

        Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> by_rows(4, 7);
        by_rows.setConstant(1.0f);
        auto one_row = by_rows.row(2);
        ccoll::allreduce(one_row, comm, code);
        want(!code && by_rows(1, 6) == 1 && by_rows(2, 0) == 3 && by_rows(2, 6) == 3 && by_rows(3, 0) == 1,
             "a row of a matrix by rows");
        auto column = by_rows.col(2);
        ccoll::allreduce(column, comm, code);
        want(code == ccoll::status::strided, "a column of a matrix by rows");
        Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<>> every_second(by_rows.data(), 14,
                                                                          Eigen::InnerStride<>(2));
        ccoll::allreduce(every_second, comm, code);
        want(code == ccoll::status::strided, "every second element");
        Eigen::MatrixXf empty(0, 5);
        ccoll::allreduce(empty, comm);
        Eigen::Vector3f fixed(1, 2, 3);
        ccoll::allreduce(fixed, comm);
        want(fixed == Eigen::Vector3f(3, 6, 9), "a vector of three");
    });
}

#endif

/// With the interface of a view of xtensor, where that is not installed: `data()` is not where the elements
/// begin.
struct part_of_rows {
    std::vector<float>* whole;
    std::size_t first, rows, columns, row_length;
    float* data() const { return whole->data(); }
    std::size_t data_offset() const { return first; }
    std::size_t size() const { return rows * columns; }
    std::array<std::size_t, 2> shape() const { return {rows, columns}; }
    std::array<std::ptrdiff_t, 2> strides() const
    {
        return {rows == 1 ? 0 : static_cast<std::ptrdiff_t>(row_length), 1};
    }
};

TEST_CASE("docs/containers.md: views whose elements do not begin at data() are taken from where they begin",
          "[docs][extension]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        std::vector<float> whole(10 * 7, 1.0f);
        part_of_rows rows{&whole, 14, 2, 7, 7}, corner{&whole, 0, 2, 3, 7}, part{&whole, 1, 1, 3, 7},
            none{&whole, 0, 0, 7, 7};
        ccoll::allreduce(rows, comm);
        want(whole[13] == 1 && whole[14] == 3 && whole[27] == 3 && whole[28] == 1, "two rows");
        std::error_code code;
        ccoll::allreduce(corner, comm, code);
        want(code == ccoll::status::strided, "a corner");
        ccoll::allreduce(part, comm);
        want(whole[0] == 1 && whole[1] == 3 && whole[3] == 3 && whole[4] == 1, "a part of a row");
        ccoll::allreduce(none, comm);
        want(ccoll::strides_of(rows) == ccoll::field_strides{7} && ccoll::strides_of(part).none(), "rows");
    });
}

#if defined(TEST_XTENSOR)

TEST_CASE(
    "docs/containers.md: arrays and views of xtensor are buffers with their shape, and views with gaps are "
    "refused",
    "[docs][extension]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        // [doc:xtensor]
        xt::xtensor<double, 2> field = xt::ones<double>({64, 48}), sum = xt::zeros<double>({64, 48});
        // Messages are shorter, because its rows are known.
        ccoll::allreduce<Codec::SZp, ErrorBound<1e-6>>(field, sum, comm);
        auto rows = xt::view(field, xt::range(10, 12), xt::all());  // whole rows have no gaps
        ccoll::allreduce(rows, comm);

        std::error_code code;
        auto column = xt::view(field, xt::all(), 5);
        ccoll::allreduce(column, comm, code);
        const bool refused = code == ccoll::status::strided;
        xt::xtensor<double, 1> copy = column;  // a copy has no gaps
        ccoll::allreduce(copy, comm);
        // [/doc:xtensor]
        want(refused, "a column");
        want(std::fabs(sum(63, 47) - 3) <= 3e-6 && field(9, 47) == 1 && field(10, 0) == 3 &&
                 field(11, 47) == 3 && field(12, 0) == 1,
             "sums");
        want(copy(0) == 3 && copy(10) == 9, "a copied column");
        want(ccoll::strides_of(field) == ccoll::field_strides{48}, "the shape");
        xt::xtensor<float, 2, xt::layout_type::column_major> by_columns = xt::ones<float>({6, 4});
        auto one = xt::view(by_columns, xt::all(), 2);
        ccoll::allreduce(one, comm);
        want(by_columns(5, 1) == 1 && by_columns(0, 2) == 3 && by_columns(5, 2) == 3 && by_columns(0, 3) == 1,
             "a column of an array by columns");
        want(ccoll::strides_of(by_columns) == ccoll::field_strides{6}, "the shape of an array by columns");
        const xt::xtensor<double, 1> constant = xt::ones<double>({5});
        xt::xtensor<double, 1> all = xt::zeros<double>({5});
        ccoll::allreduce(constant, all, comm);
        want(all(4) == 3, "a constant array");
        want(ccoll::value::bcast(xt::view(sum, xt::range(1, 3), xt::all()), 1, comm).value.size() == 96,
             "rows by value");
        // Ends before the array begins.
        ccoll::value::bcast(xt::view(sum, xt::range(63, -65, -1), xt::all()), 1, comm, code);
        want(code == ccoll::status::strided, "rows in reverse, by value");
    });
}

#endif

}  // namespace container_cases
