// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that disagree about the call get an error and never hang, and the communicator still works
// afterwards.
#include "errors.hpp"

namespace disagreement_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

constexpr std::size_t small = 100, medium = 20000, large = 300000;  // above 1 MiB

}  // namespace

TEST_CASE("Counts that differ are an error on every rank of an allreduce, at any size", "[errors][allreduce]")
{
    struct pair {
        std::size_t mine, others;
    };
    for (const int p : {2, 3, 4, 5, 8})
        for (const pair n : {pair{small, small + 1},
                             {0, 1},
                             {medium, small},
                             {small, large},
                             {large, small},
                             {large, large + 1}})
            for (const int odd : {0, p - 1}) {
                if (p > 4 && n.mine == large && n.others == large + 1) continue;  // saves time
                INFO("p " << p << ", rank " << odd << " has " << n.mine << ", others " << n.others);
                const auto ring = listen(p, [=](threads_comm& comm) {
                    std::vector<float> v(comm.rank() == odd ? n.mine : n.others);
                    ccoll::allreduce<Algo::Ring>(v, comm);
                });
                all_heard(ring, status::count_differs);
                const auto doubling = listen(p, [=](threads_comm& comm) {
                    std::vector<float> v(comm.rank() == odd ? n.mine : n.others);
                    ccoll::allreduce<Algo::RecursiveDoubling, Codec::SZx, ErrorBound<1e-3>>(v, comm);
                });
                all_heard(doubling, status::count_differs);
                for (const auto* all : {&ring, &doubling}) {
                    const heard& first = (*all)[0];  // both counts are named
                    const auto a = std::to_string(n.mine), b = std::to_string(n.others);
                    INFO(first.text);
                    CHECK((has(first.text, "expected " + a + ", found " + b + " from rank ") ||
                           has(first.text, "expected " + b + ", found " + a + " from rank ")));
                }
            }
}

namespace {

/// Calls `call(comm, count, buffer of count, buffer of p * count)` where one rank has another count, for all
/// relevant ranks and sizes.
template <class Call>
void with_counts_that_differ(bool everybody_hears, Call call)
{
    struct pair {
        std::size_t mine, others;
    };
    for (const int p : {2, 3, 5})
        for (const pair n : {pair{small, small + 1},
                             {5, 6},
                             {5, large},
                             {small, large},
                             {large, small},
                             {large, 5},
                             {large, large + 1}})
            for (const int odd : {0, p - 1}) {
                if (p == 5 && n.mine == large && n.others == large + 1) continue;  // saves time
                INFO("p " << p << ", rank " << odd << " has " << n.mine << ", others " << n.others);
                const auto all = listen(p, [=](threads_comm& comm) {
                    const std::size_t count = comm.rank() == odd ? n.mine : n.others;
                    std::vector<float> one(count), every(count * static_cast<std::size_t>(p));
                    call(comm, one, every);
                });
                if (everybody_hears) all_heard(all, status::count_differs);
                else some_heard(all, status::count_differs);
            }
}

using buffer = std::vector<float>;

}  // namespace

TEST_CASE("Counts that differ never hang bcast and scatter", "[errors][bcast][scatter]")
{
    with_counts_that_differ(true,
                            [](threads_comm& comm, buffer& one, buffer&) { ccoll::bcast(one, 0, comm); });
    with_counts_that_differ(true, [](threads_comm& comm, buffer& one, buffer& every) {
        ccoll::scatter<Codec::SZx, ErrorBound<1e-3>>(every, one, 0, comm);
    });
}

TEST_CASE("Counts that differ never hang reduce and gather", "[errors][reduce][gather]")
{
    with_counts_that_differ(true, [](threads_comm& comm, buffer& one, buffer&) {
        buffer sum(one.size());
        ccoll::reduce(one, sum, 0, comm);
    });
    with_counts_that_differ(true, [](threads_comm& comm, buffer& one, buffer& every) {
        ccoll::gather<Codec::SZx, ErrorBound<1e-3>>(one, every, 0, comm);
    });
}

TEST_CASE("Counts that differ never hang allgather and reduce_scatter", "[errors][allgather][reduce_scatter]")
{
    with_counts_that_differ(
        true, [](threads_comm& comm, buffer& one, buffer& every) { ccoll::allgather(one, every, comm); });
    with_counts_that_differ(false, [](threads_comm& comm, buffer& one, buffer& every) {
        ccoll::reduce_scatter(every, one, comm);
    });
}

TEST_CASE("Check::Collective gives all ranks the same sentence", "[errors][check]")
{
    for (const int p : {2, 3, 4, 5, 8})
        for (const int odd : {0, p - 1, p / 2}) {
            INFO("p " << p << ", odd rank " << odd);
            const auto count = [=](const threads_comm& comm) {
                return comm.rank() == odd ? std::size_t{7} : small;
            };
            same_sentence(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<float> v(count(comm));
                                     ccoll::bcast<Check::Collective>(v, 0, comm);
                                 }),
                          status::count_differs);
            same_sentence(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<float> v(count(comm)),
                                         all(v.size() * static_cast<std::size_t>(p));
                                     ccoll::gather<Check::Collective, Codec::SZx, ErrorBound<1e-3>>(
                                         v, all, 1 % p, comm);
                                 }),
                          status::count_differs);
            same_sentence(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<float> v(small);
                                     ccoll::bcast<Check::Collective>(v, comm.rank() == odd ? 1 : 0, comm);
                                 }),
                          status::root_differs);
            same_sentence(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<double> v(small), sum(small);
                                     ccoll::reduce<Check::Collective, Codec::SZx, RuntimeBound>(
                                         v, sum, 0, comm, comm.rank() == odd ? 1e-3 : 1e-4);
                                 }),
                          status::bound_differs);
            same_sentence(listen(p,
                                 [=](threads_comm& comm) {  // trouble of one rank alone
                                     std::vector<double> v(small),
                                         sum(comm.rank() == odd ? small - 1 : small);
                                     ccoll::allreduce<Check::Collective>(v, sum, comm);
                                 }),
                          status::size_mismatch);
            same_sentence(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<float> v(small);
                                     if (comm.rank() == odd)
                                         ccoll::allreduce<Check::Collective, Op::Max>(v, comm);
                                     else ccoll::allreduce<Check::Collective, Op::Min>(v, comm);
                                 }),
                          status::plan_differs);
        }
}

TEST_CASE("Roots that differ are an error on all ranks, at any size", "[errors][bcast][reduce]")
{
    for (const int p : {2, 3, 5})
        for (const std::size_t n : {std::size_t{5}, small, large}) {
            const int odd = n == small ? p - 1 : 0;
            INFO("p " << p << ", n " << n << ", odd rank " << odd);
            same_sentence(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<float> v(n);
                                     ccoll::bcast(v, comm.rank() == odd ? 1 : 0, comm);
                                 }),
                          status::root_differs);
            same_sentence(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<float> v(n), sum(n);
                                     ccoll::reduce<Codec::SZx, ErrorBound<1e-3>>(
                                         v, sum, comm.rank() == odd ? 1 : 0, comm);
                                 }),
                          status::root_differs);
        }
}

TEST_CASE("Bounds, codecs, operations, placements and elements that differ are an error",
          "[errors][allreduce]")
{
    for (const int p : {2, 3, 5, 8})
        for (const std::size_t n : {small, large}) {
            if (n > small && p > 3) continue;
            for (const int odd : {0, p - 1}) {
                INFO("p " << p << ", n " << n << ", odd rank " << odd);
                all_heard(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<float> v(n);
                                     ccoll::allreduce<Codec::PipeSZx, RuntimeBound>(
                                         v, comm, comm.rank() == odd ? 1e-3 : 2e-3);
                                 }),
                          status::bound_differs);
                const auto differ = [&](auto one, auto other) {
                    all_heard(
                        listen(p, [=](threads_comm& comm) { comm.rank() == odd ? one(comm) : other(comm); }),
                        status::plan_differs);
                };
                const auto with = [n]<class... P>(std::type_identity<ccoll::Plan<P...>>) {
                    return [n](threads_comm& comm) {
                        std::vector<float> v(n);
                        ccoll::allreduce<P...>(v, comm);
                    };
                };
                using E = ErrorBound<1e-3>;
                const auto base = with(std::type_identity<ccoll::Plan<Codec::SZx, E>>{});
                differ(with(std::type_identity<ccoll::Plan<Codec::PipeSZx, E>>{}), base);
                differ(with(std::type_identity<ccoll::Plan<Algo::Ring>>{}), base);
                differ(with(std::type_identity<ccoll::Plan<Codec::SZx, E, Op::Max>>{}), base);
                differ(with(std::type_identity<ccoll::Plan<Codec::SZx, E, Placement::PerHop>>{}), base);
                differ(with(std::type_identity<ccoll::Plan<Codec::SZx, RelativeBound<1e-3>>>{}), base);
                differ(with(std::type_identity<ccoll::Plan<Codec::SZx, E, Check::Collective>>{}), base);
                differ(
                    [n](threads_comm& comm) {
                        std::vector<double> v(n);
                        ccoll::allreduce<Codec::SZx, E>(v, comm);
                    },
                    base);
            }
        }
}

namespace {

template <class A, class B>
struct pair_of_algorithms {};
using mixed_up = std::tuple<pair_of_algorithms<Algo::Ring, Algo::RecursiveDoubling>,
                            pair_of_algorithms<Algo::Rabenseifner, Algo::RecursiveDoubling>,
                            pair_of_algorithms<Algo::Rabenseifner, Algo::Ring>>;

template <class... More, class A, class B>
void algorithms_differ(pair_of_algorithms<A, B>, int p, std::size_t n)
{
    for (unsigned who = 1; who + 1 < (1u << p); who += p < 5 ? 1 : 13) {  // bit r: rank r takes A
        INFO("p " << p << ", n " << n << ", ranks " << who << " take the first one");
        all_heard(listen(p,
                         [=](threads_comm& comm) {
                             std::vector<float> v(n);
                             if ((who >> comm.rank()) % 2 == 1) ccoll::allreduce<A, More...>(v, comm);
                             else ccoll::allreduce<B, More...>(v, comm);
                         }),
                  status::plan_differs);
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("Algorithms that differ are an error, whichever ranks use which",
                        "[errors][allreduce]", mixed_up)
{
    for (const int p : {2, 3, 4, 5, 7, 8})
        for (const std::size_t n : {std::size_t{1}, small, large})
            if (n <= small || p <= 4) algorithms_differ(TestType{}, p, n);
}

TEMPLATE_LIST_TEST_CASE("Algorithms that differ are an error, even if no rank sends what another waits for",
                        "[errors][allreduce]", mixed_up)
{
    for (const int p : {3, 5}) {  // 0 and 1 each wait for the other to begin, and so do all others
        algorithms_differ<Codec::SZp, ErrorBound<1e-3>>(TestType{}, p, small);
        algorithms_differ<Codec::SZp, ErrorBound<1e-3>, Check::Local>(TestType{}, p, large);
    }
}

TEST_CASE("Calls that are given up give back the working memory that they took", "[errors][allreduce]")
{
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        std::vector<float> v(small);
        std::size_t after_some = 0;
        for (int i = 0; i < 60; ++i) {
            std::error_code code;
            if (comm.rank() == i % 3) ccoll::allreduce<Algo::RecursiveDoubling>(v, comm, code);
            else ccoll::allreduce<Algo::Ring>(v, comm, code);
            mine.expect(code == status::plan_differs, code.message());
            std::vector<float> same(1);  // a rank that is ahead of the others by many calls needs more memory
            ccoll::allreduce<Algo::Ring>(same, comm);
            if (i == 20) after_some = comm.memory().buffers();
        }
        mine.expect(
            comm.memory().buffers() <= after_some + 4,
            std::to_string(after_some) + " buffers, and later " + std::to_string(comm.memory().buffers()));
    }));
}

TEST_CASE("Poison from a rank with another schedule is not waited for twice", "[errors][allreduce]")
{
    for (const std::size_t n : {std::size_t{1}, small})
        all_heard(listen(3,
                         // 0 poisons 1, and 1 poisons 2, which expects more messages from 1 than it sends.
                         [=](threads_comm& comm) {
                             std::vector<float> v(comm.rank() == 0 ? n + 1 : n);
                             if (comm.rank() == 2)
                                 ccoll::allreduce<Algo::Ring, Codec::SZx, ErrorBound<1e-3>>(v, comm);
                             else ccoll::allreduce<Algo::RecursiveDoubling>(v, comm);
                         }),
                  status::plan_differs, status::count_differs);
}

TEST_CASE("Different collectives at the same time are an error", "[errors]")
{
    for (const int p : {2, 3, 4, 5})
        for (const int odd : {0, p - 1}) {
            INFO("p " << p << ", odd rank " << odd);
            all_heard(listen(p,
                             [=](threads_comm& comm) {
                                 std::vector<float> v(small * static_cast<std::size_t>(p)), one(small);
                                 if (comm.rank() == odd) ccoll::allgather(one, v, comm);
                                 else ccoll::allreduce(v, comm);
                             }),
                      status::plan_differs);
        }
}

TEST_CASE("Check::Local works when arguments are equal", "[check]")
{
    for (const std::size_t n : {std::size_t{0}, small, large}) {
        const auto all = listen(3, [n](threads_comm& comm) {
            std::vector<float> v(n, 1);
            const auto facts = ccoll::allreduce<Check::Local, Codec::PipeSZx, ErrorBound<1e-3>>(v, comm);
            if (facts.agreed) throw std::runtime_error("agreed");
            if (n > 0 && std::fabs(v[n - 1] - 3) > 3e-3f) throw std::runtime_error("wrong");
        });
        for (const heard& each : all) {
            CHECK(each.text == "");
            CHECK(each.works_afterwards);
        }
    }
}

}  // namespace disagreement_cases
