// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Results by value, and single numbers in place of buffers.
#include "errors.hpp"

#include <complex>

#include <ccoll/value.hpp>

namespace value_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {
struct sums {
    std::vector<double> exact;
    std::vector<float> lossy;
    report facts;
    bool right = true;
};
}  // namespace

TEST_CASE("A reduction by value has the shape of what is sent", "[collectives][value]")
{
    for (const int p : rank_counts) {
        const auto all = run<sums>(p, [p](threads_comm& comm, sums& mine) {
            const int me = comm.rank();
            const std::vector<float> field(5000, static_cast<float>(me));
            auto [sum, facts] = ccoll::value::allreduce<Codec::SZp, ErrorBound<1e-3>>(field, comm);
            mine.lossy = std::move(sum);
            mine.facts = facts;
            mine.exact.push_back(ccoll::value::allreduce(1.5 * me, comm).value);
            mine.exact.push_back(ccoll::value::allreduce<Op::Max>(me, comm).value);
            mine.exact.push_back(ccoll::value::scan(1.0, comm).value);
            mine.exact.push_back(ccoll::value::exscan(1.0, comm).value);
            mine.exact.push_back(ccoll::value::allreduce(std::complex<double>(0, 1), comm).value.imag());
            mine.exact.push_back(ccoll::value::allreduce<Codec::SZp, RuntimeBound>(2.0, comm, 1e-9).value);
            mine.exact.push_back(ccoll::value::bcast(me == p - 1 ? 7 : -1, p - 1, comm).value);
            const auto sum_of_root = ccoll::value::reduce(field, p - 1, comm).value;
            mine.right = mine.right && sum_of_root.size() == (me == p - 1 ? 5000 : 0);
            mine.right =
                mine.right && (me != p - 1 || sum_of_root[4999] == static_cast<float>(p * (p - 1) / 2));
            mine.right = mine.right && ccoll::value::reduce(1, 0, comm).value == (me == 0 ? p : 0);
        });
        for (int r = 0; r < p; ++r) {
            INFO("p " << p << ", rank " << r);
            const sums& mine = all[static_cast<std::size_t>(r)];
            CHECK(mine.right);
            CHECK(mine.lossy.size() == 5000);
            CHECK(std::abs(mine.lossy[4999] - static_cast<float>(p * (p - 1) / 2)) <=
                  mine.facts.worst_case_error);
            const double wanted[] = {0.75 * p * (p - 1), p - 1.0, r + 1.0, r * 1.0, p * 1.0, 2.0 * p, 7};
            for (std::size_t i = 0; i < std::size(wanted); ++i)
                CHECK(std::abs(mine.exact[i] - wanted[i]) <= (i == 5 ? 1e-9 * p : 0));
        }
    }
}

TEST_CASE("What ranks send is gathered and exchanged by value", "[collectives][value]")
{
    for (const int p : rank_counts) {
        const auto all = run<std::vector<std::vector<float>>>(p, [p](threads_comm& comm, auto& mine) {
            const auto me = static_cast<float>(comm.rank());
            const std::vector<float> row(static_cast<std::size_t>(p) * 3, me);
            mine = {ccoll::value::allgather(me, comm).value,
                    ccoll::value::gather(std::vector{me, -me}, 0, comm).value,
                    ccoll::value::alltoall(row, comm).value, ccoll::value::reduce_scatter(row, comm).value};
        });
        for (int r = 0; r < p; ++r) {
            INFO("p " << p << ", rank " << r);
            std::vector<float> ranks, pairs, columns;
            for (int other = 0; other < p; ++other) {
                const auto f = static_cast<float>(other);
                ranks.push_back(f);
                if (r == 0) pairs.insert(pairs.end(), {f, -f});
                columns.insert(columns.end(), 3, f);
            }
            const auto& mine = all[static_cast<std::size_t>(r)];
            CHECK(mine[0] == ranks);
            CHECK(mine[1] == pairs);
            CHECK(mine[2] == columns);
            CHECK(mine[3] == std::vector<float>(3, static_cast<float>(p * (p - 1) / 2)));
        }
    }
}

TEST_CASE("A shape goes with what is sent by value: the same values, fewer bytes",
          "[collectives][value][shapes]")
{
    constexpr std::size_t rows = 60, columns = 300;
    const auto all = run<sums>(3, [=](threads_comm& comm, sums& its) {
        std::vector<float> field(rows * columns);
        for (std::size_t i = 0; i < field.size(); ++i)
            field[i] = std::sin(0.3f * static_cast<float>(i % columns)) *
                       std::cos(0.01f * static_cast<float>(i / columns));
        using P = ccoll::Plan<Codec::SZp, ErrorBound<1e-4>>;
        const auto plain = ccoll::value::allgather<P>(field, comm);
        const auto with = ccoll::value::allgather<P>(ccoll::shaped(field, {rows, columns}), comm);
        bool mine = plain.value == with.value && with.facts.sent_bytes < plain.facts.sent_bytes;
        const auto plain_copy = ccoll::value::bcast<P>(field, 0, comm);
        const auto copy = ccoll::value::bcast<P>(ccoll::shaped(field, {rows, columns}), 0, comm);
        mine = mine && plain_copy.value == copy.value;
        mine = mine && (comm.rank() != 0 || copy.facts.sent_bytes < plain_copy.facts.sent_bytes);
        its.right = mine;
    });
    for (const sums& its : all) CHECK(its.right);
}

TEST_CASE("Extents that are not those of what is sent by value are refused",
          "[collectives][value][shapes][errors]")
{
    const auto extents = [](const threads_comm& comm) {
        return comm.rank() == 1 ? std::size_t{5} : std::size_t{4};
    };
    const std::vector<float> field(12);
    all_heard(listen(3,
                     [&](threads_comm& comm) {
                         ccoll::value::allreduce<Check::Collective>(ccoll::shaped(field, {3, extents(comm)}),
                                                                    comm);
                     }),
              status::size_mismatch);
    all_heard(listen(3,
                     [&](threads_comm& comm) {
                         ccoll::value::bcast<Check::Collective>(ccoll::shaped(field, {3, extents(comm)}), 0,
                                                                comm);
                     }),
              status::size_mismatch);
}

TEST_CASE("Errors of calls by value are those of the calls", "[collectives][value][errors]")
{
    all_heard(listen(3,
                     [](threads_comm& comm) {
                         ccoll::value::allreduce<Check::Collective>(
                             std::vector<float>(comm.rank() == 1 ? 11 : 10), comm);
                     }),
              status::count_differs);
    const auto codes = run<std::vector<bool>>(3, [](threads_comm& comm, std::vector<bool>& mine) {
        std::error_code code;
        ccoll::value::reduce_scatter(std::vector<float>(10), comm, code);  // not three equal parts
        mine.push_back(code == ccoll::status::size_mismatch);
    });
    for (const auto& mine : codes) CHECK(mine[0]);
}

}  // namespace value_cases
