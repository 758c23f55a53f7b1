// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Algo::Hierarchical: results on nodes of any size and order, the bits of all ranks, what is lossy, and disagreement.
#include "errors.hpp"

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// Nodes as they come: all ranks on one, one rank each, blocks, dealt out, uneven.
std::vector<std::vector<int>> maps_of(int p)
{
    std::vector<std::vector<int>> maps(5, std::vector<int>(static_cast<std::size_t>(p)));
    for (int r = 0; r < p; ++r) {
        const auto i = static_cast<std::size_t>(r);
        maps[0][i] = 42;
        maps[1][i] = r;
        maps[2][i] = r / 3;
        maps[3][i] = r % 2;
        maps[4][i] = r == 0 ? 9 : r < 4 ? 2 : 7;
    }
    return maps;
}

template <class T>
struct outcome_of {
    std::vector<T> result;
    report facts;
};

template <class T, class Call>
std::vector<outcome_of<T>> on_nodes(int p, const std::vector<int>& nodes, std::size_t n, Call call)
{
    return run<outcome_of<T>>(p, [=](threads_comm& comm, outcome_of<T>& mine) {
        ccoll::set_nodes(comm, nodes);
        const auto send = fields::smooth<T>(n, static_cast<unsigned>(comm.rank() + 1));
        mine.result.assign(n, T(-77));
        mine.facts = call(comm, send, mine.result);
    });
}

template <class T>
double largest_error(const std::vector<T>& got, int p, oracle::op what, double worst, double& allowed_beside)
{
    std::vector<std::vector<T>> all;
    for (int r = 0; r < p; ++r) all.push_back(fields::smooth<T>(got.size(), static_cast<unsigned>(r + 1)));
    double largest = 0;
    allowed_beside = 0;
    std::vector<T> operands(static_cast<std::size_t>(p));
    for (std::size_t i = 0; i < got.size(); ++i) {
        for (int r = 0; r < p; ++r) operands[static_cast<std::size_t>(r)] = all[static_cast<std::size_t>(r)][i];
        const auto want = oracle::reduce<T>(what, operands, worst);
        largest = std::max(largest, static_cast<double>(std::fabs(static_cast<long double>(got[i]) - want.value)));
        allowed_beside = std::max(allowed_beside, static_cast<double>(want.rounding));
    }
    return largest;
}

template <class... P>
constexpr auto sum = [](threads_comm& comm, const auto& send, auto& recv) { return ccoll::allreduce<P...>(send, recv, comm); };

template <class T, class Call>
void check_allreduce(oracle::op what, std::size_t n, Call call)
{
    for (const int p : rank_counts)
        for (const auto& nodes : maps_of(p)) {
            INFO("p " << p << ", n " << n << ", node of rank 1: " << (p > 1 ? nodes[1] : 0));
            const auto all = on_nodes<T>(p, nodes, n, call);
            double beside = 0;
            const double error = largest_error(all[0].result, p, what, all[0].facts.worst_case_error, beside);
            CHECK(error <= all[0].facts.worst_case_error + beside);
            for (const auto& each : all) {
                CHECK(each.facts.worst_case_error == all[0].facts.worst_case_error);
                CHECK(std::string(each.facts.algorithm) == "Hierarchical");
                if (n > 0) CHECK(std::memcmp(each.result.data(), all[0].result.data(), n * sizeof(T)) == 0);
            }
        }
}

}  // namespace

TEST_CASE("A hierarchical allreduce is within its bound and the same on all ranks", "[hierarchical]")
{
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5121}}) {
        check_allreduce<float>(oracle::op::sum, n, sum<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, ErrorBound<1e-3>>);
        check_allreduce<float>(oracle::op::average, n,
                               sum<Algo::Hierarchical<Algo::Linear, Algo::RecursiveDoubling>, Codec::SZp, ErrorBound<1e-3>, Op::Average>);
        check_allreduce<double>(oracle::op::max, n,
                                sum<Algo::Hierarchical<Algo::Chain, Algo::Rabenseifner>, Codec::PipeSZx, ErrorBound<1e-3>, Op::Max>);
        check_allreduce<float>(oracle::op::sum, n, sum<Algo::Hierarchical<Algo::Binomial, Algo::Ring>>);
    }
    check_allreduce<float>(oracle::op::sum, 300000, sum<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, RelativeBound<1e-4>>);
    check_allreduce<float>(
        oracle::op::average, 30000,
        sum<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, EndToEnd<ErrorBound<1e-3>>, Op::Average, Check::Collective>);
}

TEST_CASE("Within one node nothing is lossy, and without neighbours all of it is as on one level", "[hierarchical]")
{
    using two_levels = ccoll::Plan<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, ErrorBound<1e-3>>;
    for (const int p : {2, 5}) {
        const auto maps = maps_of(p);
        const auto together = on_nodes<float>(p, maps[0], 10000, sum<two_levels>);
        for (const auto& each : together) {
            CHECK(each.facts.exact);
            CHECK(each.facts.worst_case_error == 0);
        }
        const auto apart = on_nodes<float>(p, maps[1], 10000, sum<two_levels>);
        const auto flat = on_nodes<float>(p, maps[1], 10000, sum<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>);
        for (std::size_t r = 0; r < apart.size(); ++r) {
            CHECK(apart[r].result == flat[r].result);
            CHECK(apart[r].facts.worst_case_error == flat[r].facts.worst_case_error);
        }
    }
}

TEST_CASE("A hierarchical bcast and reduce work from and to every root", "[hierarchical]")
{
    for (const int p : {1, 2, 3, 5, 8})
        for (const auto& nodes : maps_of(p))
            for (int root = 0; root < p; ++root) {
                INFO("p " << p << ", root " << root << ", node of rank 1: " << (p > 1 ? nodes[1] : 0));
                const std::size_t n = 6000;
                const auto copies = on_nodes<float>(p, nodes, n, [root](threads_comm& comm, const auto& send, auto& recv) {
                    if (comm.rank() == root) recv = send;
                    return ccoll::bcast<Algo::Hierarchical<Algo::Binomial, Algo::Binomial>, Codec::SZp, ErrorBound<1e-3>>(recv, root, comm);
                });
                const auto original = fields::smooth<float>(n, static_cast<unsigned>(root + 1));
                for (const auto& each : copies) {
                    CHECK(each.result == copies[0].result);
                    double error = 0;
                    for (std::size_t i = 0; i < n; ++i)
                        error = std::max(error, std::fabs(static_cast<double>(each.result[i]) - static_cast<double>(original[i])));
                    CHECK(error <= each.facts.worst_case_error);
                }
                const auto sums = on_nodes<float>(p, nodes, n, [root](threads_comm& comm, const auto& send, auto& recv) {
                    return ccoll::reduce<Algo::Hierarchical<Algo::Chain, Algo::Binomial>, Codec::SZp, ErrorBound<1e-3>>(send, recv, root,
                                                                                                                        comm);
                });
                for (int r = 0; r < p; ++r) {
                    const auto& each = sums[static_cast<std::size_t>(r)];
                    if (r != root) {
                        CHECK(each.result[0] == -77);
                        continue;
                    }
                    double beside = 0;
                    const double error = largest_error(each.result, p, oracle::op::sum, each.facts.worst_case_error, beside);
                    CHECK(error <= each.facts.worst_case_error + beside);
                }
            }
}

TEST_CASE("Hierarchical calls are begun, prepared and mixed with others", "[hierarchical][request]")
{
    const auto all = run<int>(6, [](threads_comm& comm, int& good) {
        const std::vector<int> nodes{0, 0, 1, 1, 2, 2};
        ccoll::set_nodes(comm, nodes);
        std::vector<float> in(20000, static_cast<float>(comm.rank())), out(in.size()), other(in.size());
        good = true;
        auto prepared = ccoll::allreduce_init<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, ErrorBound<1e-3>>(in, out, comm);
        for (int round = 0; round < 3; ++round) {
            prepared.start();
            auto flat = ccoll::iallreduce<Algo::Ring>(in, other, comm);
            if (comm.rank() % 2 == 0) prepared.wait(), flat.wait();
            else flat.wait(), prepared.wait();
            good = good && std::fabs(out[7] - 15) <= 6e-3 && other[7] == 15;
        }
    });
    for (const int good : all) CHECK(good == 1);
}

TEST_CASE("Hierarchical ranks that disagree, or do not know their nodes, are told", "[hierarchical][errors]")
{
    const std::vector<int> nodes{0, 0, 1, 1, 1};
    using plan = ccoll::Plan<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, ErrorBound<1e-3>>;
    for (const std::size_t n : {std::size_t{100}, std::size_t{500000}}) {
        all_heard(listen(5,
                         [=](threads_comm& comm) {
                             ccoll::set_nodes(comm, nodes);
                             std::vector<float> v(n + (comm.rank() == 3));
                             ccoll::allreduce<plan>(v, comm);
                         }),
                  status::count_differs);
        all_heard(listen(5,
                         [=](threads_comm& comm) {
                             const std::vector<int> own{0, 0, 1, 1, comm.rank() == 4 ? 5 : 1};
                             ccoll::set_nodes(comm, own);
                             std::vector<float> v(n);
                             ccoll::allreduce<plan>(v, comm);
                         }),
                  status::plan_differs);
    }
    all_heard(listen(4,
                     [](threads_comm& comm) {
                         std::vector<float> v(10);
                         ccoll::allreduce<plan>(v, comm);
                     }),
              status::no_nodes);
    all_heard(listen(5,
                     [=](threads_comm& comm) {
                         ccoll::set_nodes(comm, nodes);
                         std::vector<float> v(10);
                         ccoll::bcast<Algo::Hierarchical<Algo::Binomial, Algo::Binomial>>(v, comm.rank() == 2 ? 7 : 1, comm);
                     }),
              status::bad_root, status::root_differs);
}
