// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Algo::Hierarchical: results on nodes of any size and order, equal bits on all ranks, what is lossy, and
// disagreement.
#include <algorithm>
#include <random>

#include "errors.hpp"

namespace hierarchical_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// Maps from ranks to nodes: all ranks on one node, one rank per node, blocks, round robin, uneven.
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
    const oracle::largest found = oracle::largest_error<T>(what, all, got, worst);
    allowed_beside = found.rounding;
    return found.error;
}

template <class... P>
constexpr auto sum =
    [](threads_comm& comm, const auto& send, auto& recv) { return ccoll::allreduce<P...>(send, recv, comm); };

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
                CHECK(each.facts.ran_by == ccoll::ran_by::two_levels);
                CHECK(std::string(each.facts.algorithm) == "Hierarchical");
                if (n > 0) CHECK(std::memcmp(each.result.data(), all[0].result.data(), n * sizeof(T)) == 0);
            }
        }
}

}  // namespace

TEST_CASE("A hierarchical allreduce is within its bound and the same on all ranks", "[hierarchical]")
{
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5121}}) {
        check_allreduce<float>(
            oracle::op::sum, n,
            sum<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, ErrorBound<1e-3>>);
        check_allreduce<float>(oracle::op::average, n,
                               sum<Algo::Hierarchical<Algo::Linear, Algo::RecursiveDoubling>, Codec::SZp,
                                   ErrorBound<1e-3>, Op::Average>);
        check_allreduce<double>(oracle::op::max, n,
                                sum<Algo::Hierarchical<Algo::Chain, Algo::Rabenseifner>, Codec::PipeSZx,
                                    ErrorBound<1e-3>, Op::Max>);
        check_allreduce<float>(oracle::op::sum, n, sum<Algo::Hierarchical<Algo::Binomial, Algo::Ring>>);
    }
    check_allreduce<float>(
        oracle::op::sum, 300000,
        sum<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, RelativeBound<1e-4>>);
    check_allreduce<float>(oracle::op::average, 30000,
                           sum<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp,
                               EndToEnd<ErrorBound<1e-3>>, Op::Average, Check::Collective>);
}

TEST_CASE(
    "Within one node nothing is lossy unless streams are added, and with one rank per node the call is as on "
    "one level",
    "[hierarchical]")
{
    using two_levels =
        ccoll::Plan<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, ErrorBound<1e-3>>;
    using decoded = Placement::DecodeReduceEncode;
    for (const int p : {2, 5}) {
        const auto maps = maps_of(p);
        const auto together = on_nodes<float>(p, maps[0], 10000, sum<two_levels, decoded>);
        for (const auto& each : together) {
            CHECK(each.facts.exact);
            CHECK(each.facts.worst_case_error == 0);
        }
        const auto apart = on_nodes<float>(p, maps[1], 10000, sum<two_levels, decoded>);
        const auto flat =
            on_nodes<float>(p, maps[1], 10000, sum<Algo::Ring, Codec::SZp, ErrorBound<1e-3>, decoded>);
        for (std::size_t r = 0; r < apart.size(); ++r) {
            CHECK(apart[r].result == flat[r].result);
            CHECK(apart[r].facts.worst_case_error == flat[r].facts.worst_case_error);
        }
    }
}

namespace {

/// Values whose sum depends on the order of plain additions. Rank `whose` contributes them. Some are not
/// finite if `special`.
template <class T>
std::vector<T> contribution_of(std::size_t whose, std::size_t n, double scale, bool special)
{
    const std::vector<float> uniform = fields::random<float>(n, static_cast<unsigned>(whose) + 1);
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(uniform[i] * static_cast<float>(scale));
    if (special && n > 900 && whose % 4 == 1) x[100] = static_cast<T>(std::numeric_limits<float>::infinity());
    if (special && n > 900 && whose % 4 == 2)
        x[100 + whose] = -static_cast<T>(std::numeric_limits<float>::infinity());
    if (special && n > 900 && whose == 6) x[500] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    return x;
}

/// The sum over p ranks on these nodes, where rank r contributes the values of rank order[r].
template <class T, class Call>
std::vector<outcome_of<T>> sums_of(const std::vector<std::size_t>& order, const std::vector<int>& nodes,
                                   std::size_t n, double scale, bool special, Call call)
{
    return run<outcome_of<T>>(static_cast<int>(order.size()), [=](threads_comm& comm, outcome_of<T>& mine) {
        ccoll::set_nodes(comm, nodes);
        const auto send = contribution_of<T>(order[static_cast<std::size_t>(comm.rank())], n, scale, special);
        mine.result.assign(n, T(-77.0f));
        mine.facts = call(comm, send, mine.result);
    });
}

/// Compares every order of the ranks and all nodes with a flat call, bit for bit, wherever the report says
/// Homomorphic.
/// @return how often it did
template <class T, class Call, class Flat>
std::size_t check_same_bits(int p, std::size_t n, double scale, bool special, Call call, Flat flat)
{
    std::vector<std::size_t> order(static_cast<std::size_t>(p));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::mt19937 random(static_cast<unsigned>(p));
    const auto wanted = sums_of<T>(order, maps_of(p)[1], n, scale, special, flat);
    std::size_t homomorphic = 0;
    for (const auto& nodes : maps_of(p))
        for (int turn = 0; turn < 3; ++turn) {
            std::shuffle(order.begin(), order.end(), random);
            INFO("p " << p << ", n " << n << ", scale " << scale << ", node of rank 1: " << nodes[1]
                      << ", turn " << turn);
            const auto all = sums_of<T>(order, nodes, n, scale, special, call);
            for (const auto& each : all) {
                CHECK(each.facts.placement == std::string(all[0].facts.placement));
                CHECK(each.facts.worst_case_error <= wanted[0].facts.worst_case_error);
                if (std::string(each.facts.placement) != "Homomorphic") continue;
                ++homomorphic;
                CHECK(each.facts.worst_case_error == wanted[0].facts.worst_case_error);
                CHECK(each.facts.error_bound == wanted[0].facts.error_bound);
                CHECK(std::memcmp(each.result.data(), wanted[0].result.data(), n * sizeof(T)) == 0);
            }
        }
    return homomorphic;
}

}  // namespace

TEST_CASE("Sums of encoded streams have the same bits in any order and on any nodes",
          "[hierarchical][homomorphic]")
{
    using E = ErrorBound<1e-3>;
    using two_levels = Algo::Hierarchical<Algo::Binomial, Algo::Ring>;
    for (const int p : {3, 13})
        for (const std::size_t n : {std::size_t{1}, std::size_t{5121}}) {
            if (p > 3 && n == 1) continue;
            const bool special = p > 3;
            const auto everywhere = [&](std::size_t times) {
                CHECK(times == 15 * static_cast<std::size_t>(p));
            };
            everywhere(
                check_same_bits<float>(p, n, 1, special, sum<two_levels, Codec::SZp, E>, sum<Codec::SZp, E>));
            everywhere(check_same_bits<float>(
                p, n, 100, special,
                sum<Algo::Hierarchical<Algo::Linear, Algo::RecursiveDoubling>, Codec::SZp, E, Op::Average>,
                sum<Codec::SZp, E, Op::Average>));
            everywhere(check_same_bits<double>(p, n, 1e6, special,
                                               sum<two_levels, Codec::SZp, E, Check::Local>,
                                               sum<Codec::SZp, E, Check::Local>));
            everywhere(check_same_bits<float>(p, n, 1, false,
                                              sum<two_levels, Codec::SZp, EndToEnd<RelativeBound<1e-3>>>,
                                              sum<Codec::SZp, EndToEnd<RelativeBound<1e-3>>>));
            everywhere(check_same_bits<ccoll::half>(p, n, 1, special,
                                                    sum<two_levels, Codec::SZp, ErrorBound<4e-2>>,
                                                    sum<Codec::SZp, ErrorBound<4e-2>>));
        }
}

TEST_CASE("Sums that decoding would change have the same bits, too", "[hierarchical][homomorphic]")
{
    using two_levels = Algo::Hierarchical<Algo::Binomial, Algo::RecursiveDoubling>;
    using E = ErrorBound<1e-3>;
    // From 2^22 steps on, some 8400, a float no longer shows between which two steps it was rounded.
    for (const int p : {3, 13}) {
        const auto far = [&](double factor) { return 8388 * factor / p; };
        const std::size_t times = 15 * static_cast<std::size_t>(p);
        CHECK(check_same_bits<float>(p, 5121, far(0.99), false, sum<two_levels, Codec::SZp, E>,
                                     sum<Codec::SZp, E>) == times);
        CHECK(check_same_bits<float>(p, 5121, far(1.05), false, sum<two_levels, Codec::SZp, E>,
                                     sum<Codec::SZp, E>) == times);
        CHECK(check_same_bits<ccoll::bfloat16>(p, 5121, 1, false, sum<two_levels, Codec::SZp, E>,
                                               sum<Codec::SZp, E>) == times);
    }
    const auto all = on_nodes<float>(8, maps_of(8)[2], 5000, [](threads_comm& comm, const auto&, auto& recv) {
        const std::vector<float> send(recv.size(), 3000.5f);
        return ccoll::allreduce<two_levels, Codec::SZp, E>(send, recv, comm);
    });
    for (const auto& each : all) {
        CHECK(std::string(each.facts.placement) == "Homomorphic");
        CHECK(!each.facts.exact);
        CHECK(each.facts.worst_case_error <= 8e-3);
        CHECK(std::fabs(each.result[77] - 24004) <= 8e-3f + 24004 * 0x1p-22f);
    }
}

namespace {

double sent_by(const std::vector<outcome_of<float>>& all)
{
    double sum = 0;
    for (const auto& each : all) sum += static_cast<double>(each.facts.sent_bytes);
    return sum;
}

}  // namespace

TEST_CASE("A hierarchical average uses all of a bound on the result", "[hierarchical]")
{
    using two_levels = Algo::Hierarchical<Algo::Binomial, Algo::Ring>;
    using whole = EndToEnd<ErrorBound<1e-3>>;
    const int p = 13;
    const std::vector<int> nodes = maps_of(p)[2];  // 5 nodes
    const std::size_t n = 200000;
    const auto both = [&](auto hierarchical, auto flat) {
        const auto two = on_nodes<float>(p, nodes, n, hierarchical), one = on_nodes<float>(p, nodes, n, flat);
        for (const auto& each : two) {
            CHECK(each.facts.worst_case_error <= 1e-3);
            CHECK(each.facts.worst_case_error >= 0.999e-3);
            double beside = 0;
            CHECK(largest_error(each.result, p, oracle::op::average, 1e-3, beside) <= 1e-3 + beside);
        }
        CHECK(one[0].facts.worst_case_error >= 0.999e-3);
        return std::pair(two, one);
    };
    {  // encoded only between nodes: 5 compressions, each with a weight of 1/13
        using placed = Placement::DecodeReduceEncode;
        const auto [two, one] = both(sum<two_levels, Codec::PipeSZx, whole, Op::Average, placed>,
                                     sum<Algo::Ring, Codec::PipeSZx, whole, Op::Average, placed>);
        CHECK(two[0].facts.error_bound == Approx(1e-3 * 13 / 5));
        CHECK(one[0].facts.error_bound == Approx(1e-3));
        // Between nodes it sends what a ring of 5 ranks sends for the sums of the nodes, with this bound and
        // not with a tighter one.
        const auto ring_of_nodes = [&](double eb) {
            return sent_by(run<outcome_of<float>>(5, [=](threads_comm& comm, outcome_of<float>& mine) {
                std::vector<float> v(n);
                for (int r = 3 * comm.rank(); r < std::min(p, 3 * comm.rank() + 3); ++r) {
                    const auto each = fields::smooth<float>(n, static_cast<unsigned>(r + 1));
                    for (std::size_t i = 0; i < n; ++i) v[i] += each[i];
                }
                if (eb > 0)
                    mine.facts =
                        ccoll::allreduce<Algo::Ring, Codec::PipeSZx, RuntimeBound, Check::Local>(v, comm, eb);
                else mine.facts = ccoll::allreduce<Algo::Ring, Check::Local>(v, comm);
            }));
        };
        const double within_nodes =
            sent_by(on_nodes<float>(p, nodes, n, sum<two_levels, Op::Average>)) - ring_of_nodes(0);
        const double between_nodes = sent_by(two) - within_nodes;
        CHECK(between_nodes == Approx(ring_of_nodes(1e-3 * 13 / 5)).epsilon(0.002));
        CHECK(between_nodes < 0.9 * ring_of_nodes(1e-3 / 5));
    }
    {  // added in encoded form: 13 compressions, each with a weight of 1/13
        const auto [two, one] =
            both(sum<two_levels, Codec::SZp, whole, Op::Average>, sum<Codec::SZp, whole, Op::Average>);
        CHECK(two[0].facts.error_bound == one[0].facts.error_bound);
        CHECK(two[0].facts.error_bound == Approx(1e-3));
        CHECK(two[0].result == one[0].result);
    }
}

TEST_CASE("A hierarchical bcast and reduce work from and to every root", "[hierarchical]")
{
    for (const int p : {1, 2, 3, 5, 8})
        for (const auto& nodes : maps_of(p))
            for (int root = 0; root < p; ++root) {
                INFO("p " << p << ", root " << root << ", node of rank 1: " << (p > 1 ? nodes[1] : 0));
                const std::size_t n = 6000;
                const auto copies =
                    on_nodes<float>(p, nodes, n, [root](threads_comm& comm, const auto& send, auto& recv) {
                        if (comm.rank() == root) recv = send;
                        return ccoll::bcast<Algo::Hierarchical<Algo::Binomial, Algo::Binomial>, Codec::SZp,
                                            ErrorBound<1e-3>>(recv, root, comm);
                    });
                const auto original = fields::smooth<float>(n, static_cast<unsigned>(root + 1));
                for (const auto& each : copies) {
                    CHECK(each.result == copies[0].result);
                    double error = 0;
                    for (std::size_t i = 0; i < n; ++i)
                        error = std::max(error, std::fabs(static_cast<double>(each.result[i]) -
                                                          static_cast<double>(original[i])));
                    CHECK(error <= each.facts.worst_case_error);
                }
                const auto sums =
                    on_nodes<float>(p, nodes, n, [root](threads_comm& comm, const auto& send, auto& recv) {
                        return ccoll::reduce<Algo::Hierarchical<Algo::Chain, Algo::Binomial>, Codec::SZp,
                                             ErrorBound<1e-3>>(send, recv, root, comm);
                    });
                for (int r = 0; r < p; ++r) {
                    const auto& each = sums[static_cast<std::size_t>(r)];
                    if (r != root) {
                        CHECK(each.result[0] == -77);
                        continue;
                    }
                    double beside = 0;
                    const double error =
                        largest_error(each.result, p, oracle::op::sum, each.facts.worst_case_error, beside);
                    CHECK(error <= each.facts.worst_case_error + beside);
                }
            }
}

TEST_CASE("Hierarchical calls can be nonblocking, persistent and mixed with others",
          "[hierarchical][request]")
{
    const auto all = run<int>(6, [](threads_comm& comm, int& good) {
        const std::vector<int> nodes{0, 0, 1, 1, 2, 2};
        ccoll::set_nodes(comm, nodes);
        std::vector<float> in(20000, static_cast<float>(comm.rank())), out(in.size()), other(in.size());
        good = true;
        auto prepared = ccoll::allreduce_init<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp,
                                              ErrorBound<1e-3>>(in, out, comm);
        for (int round = 0; round < 3; ++round) {
            prepared.start();
            auto flat = ccoll::iallreduce<Algo::Ring>(in, other, comm);
            if (comm.rank() % 2 == 0) {
                prepared.wait();
                flat.wait();
            } else {
                flat.wait();
                prepared.wait();
            }
            good = good && std::fabs(out[7] - 15) <= 6e-3 && other[7] == 15;
        }
    });
    for (const int good : all) CHECK(good == 1);
}

TEST_CASE("Hierarchical ranks that disagree, or do not know their nodes, get an error",
          "[hierarchical][errors]")
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
                         ccoll::bcast<Algo::Hierarchical<Algo::Binomial, Algo::Binomial>>(
                             v, comm.rank() == 2 ? 7 : 1, comm);
                     }),
              status::bad_root, status::root_differs);
}

TEST_CASE("Ranks that disagree within a node are named by their numbers on the communicator",
          "[hierarchical][errors]")
{
    // Ranks 2 and 3 are the first and the second one of their node.
    for (const std::size_t n : {std::size_t{100}, std::size_t{300000}})
        for (const heard& each : listen(4, [=](threads_comm& comm) {
                 ccoll::set_nodes(comm, std::vector<int>{0, 0, 1, 1});
                 std::vector<float> v(n + (comm.rank() == 3), 1.0f);
                 ccoll::allreduce<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Check::Local>(v, comm);
             })) {
            INFO(n << ": " << each.text);
            CHECK(each.told(status::count_differs));
            CHECK(std::min(each.what.rank, each.what.peer) == 2);
            CHECK(std::max(each.what.rank, each.what.peer) == 3);
        }
}

}  // namespace hierarchical_cases
