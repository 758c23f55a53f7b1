// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// One rank has a bad argument, or never comes. The other ranks hear of it, and so does a caller without
// exceptions.
#include <complex>
#include <cstdint>
#include <limits>
#include <system_error>
#include <type_traits>

#include "errors.hpp"

namespace arguments_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

// Below and above the size from which ranks compare arguments.
constexpr std::size_t sizes_of_calls[] = {100, 300000};

}  // namespace

TEST_CASE("A bad bound on one rank is an error on all", "[errors][bound]")
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t n : sizes_of_calls)
            for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                                     std::numeric_limits<double>::infinity()}) {
                INFO("p " << p << ", n " << n << ", bound " << bad);
                const auto on_one = listen(p, [=](threads_comm& comm) {
                    std::vector<float> v(n);
                    ccoll::allreduce<Codec::SZx, RuntimeBound>(v, comm, comm.rank() == p - 1 ? bad : 1e-3);
                });
                all_heard(on_one, status::bad_bound);
                for (const heard& each : on_one) CHECK(each.what.rank == p - 1);
                all_heard(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<float> v(n);
                                     ccoll::bcast<Codec::SZx, EndToEnd<RuntimeBound>>(v, 0, comm, bad);
                                 }),
                          status::bad_bound);
            }
}

TEST_CASE("Buffers that do not fit on one rank are an error on all", "[errors][buffers]")
{
    for (const int p : {2, 3, 5})
        for (const std::size_t n : sizes_of_calls)
            for (const int odd : {0, p - 1}) {
                INFO("p " << p << ", n " << n << ", odd rank " << odd);
                const auto ranks = static_cast<std::size_t>(p);
                const auto off = [=](const threads_comm& comm) {
                    return comm.rank() == odd ? std::size_t{1} : std::size_t{0};
                };
                all_heard(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<float> a(n), b(n + off(comm));
                                     ccoll::allreduce<Codec::SZx, ErrorBound<1e-3>>(a, b, comm);
                                 }),
                          status::size_mismatch);
                all_heard(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<float> a(n), b(n * ranks - off(comm));
                                     ccoll::allgather<Algo::Ring>(a, b, comm);
                                 }),
                          status::size_mismatch);
                all_heard(listen(p,
                                 [=](threads_comm& comm) {
                                     std::vector<float> a(n * ranks + off(comm));
                                     ccoll::allgather<Algo::Ring>(a, comm);  // in place, but not p blocks
                                 }),
                          status::size_mismatch, status::count_differs);
                some_heard(listen(p,
                                  [=](threads_comm& comm) {
                                      std::vector<float> a(n * ranks + off(comm)), b(n);
                                      ccoll::reduce_scatter(a, b, comm);
                                  }),
                           status::size_mismatch);
                some_heard(listen(p,
                                  [=](threads_comm& comm) {
                                      std::vector<float> a(n), b(n * ranks + off(comm));
                                      ccoll::gather(a, b, odd, comm);
                                  }),
                           status::size_mismatch);
                some_heard(listen(p,
                                  [=](threads_comm& comm) {
                                      std::vector<float> a(n * ranks + off(comm)), b(n);
                                      ccoll::scatter(a, b, odd, comm);
                                  }),
                           status::size_mismatch);
            }
}

TEST_CASE("A count that no memory can have is an error on all, and no sum of counts overflows",
          "[errors][buffers]")
{
    constexpr long long most = std::numeric_limits<long long>::max();
    for (const int p : {1, 2, 3, 5})
        for (const long long bad : {most, most / 2 + 1, most / 3, 1LL << 61, -1LL, -most - 1}) {
            INFO("p " << p << ", count " << bad);
            const auto ranks = static_cast<std::size_t>(p);
            const auto counts = [=](const threads_comm& comm) {
                return std::vector<long long>(ranks, comm.rank() == p - 1 ? bad : 100);
            };
            all_heard(listen(p,
                             [=](threads_comm& comm) {
                                 std::vector<float> a(100), b(100 * ranks);
                                 ccoll::allgather(a.data(), b.data(), comm.rank() == p - 1 ? bad : 100, comm);
                             }),
                      status::bad_count, status::count_differs);
            all_heard(listen(p,
                             [=](threads_comm& comm) {
                                 std::vector<std::complex<float>> a(100), b(100 * ranks);
                                 ccoll::allgatherv(a, b, counts(comm), comm);
                             }),
                      status::bad_count, status::count_differs);
            all_heard(listen(p,
                             [=](threads_comm& comm) {
                                 std::vector<float> a(100 * ranks), b(100 * ranks);
                                 const std::vector<long long> usual(ranks, 100);
                                 ccoll::alltoallv(a, counts(comm), b, usual, comm);
                             }),
                      status::bad_count, status::abandoned);
        }
}

TEST_CASE("Buffers that overlap on one rank are an error on all", "[errors][buffers]")
{
    for (const int p : {1, 2, 4})
        for (const std::size_t n : sizes_of_calls) {
            INFO("p " << p << ", n " << n);
            all_heard(listen(p,
                             [=](threads_comm& comm) {
                                 std::vector<float> a(2 * n);
                                 const std::span<float> all(a);
                                 auto recv = comm.rank() == 0 ? all.subspan(n - 1, n) : all.subspan(n, n);
                                 ccoll::allreduce<Codec::SZx, ErrorBound<1e-3>>(all.first(n), recv, comm);
                             }),
                      status::overlap);
        }
    all_heard(listen(3,
                     [](threads_comm& comm) {  // a rank's own block is passed twice
                         std::vector<float> a(300);
                         auto all = std::span<float>(a);
                         ccoll::allgather(all.subspan(comm.rank() == 1 ? 100 : 0, 100), all, comm);
                     }),
              status::overlap);
    all_heard(listen(2,
                     [](threads_comm& comm) {
                         std::vector<float> v(10);
                         float* const null = nullptr;
                         ccoll::allreduce(v.data(), comm.rank() == 1 ? null : v.data(), 10, comm);
                     }),
              status::null_buffer);
}

TEST_CASE("A root that does not exist is an error on all", "[errors][root]")
{
    for (const int p : {1, 2, 3, 5})
        for (const int bad : {-1, p, 1000000, std::numeric_limits<int>::min()})
            for (const std::size_t n : sizes_of_calls) {
                INFO("p " << p << ", root " << bad << ", n " << n);
                const auto everywhere = listen(p, [=](threads_comm& comm) {
                    std::vector<float> v(n);
                    ccoll::bcast(v, bad, comm);
                });
                all_heard(everywhere, status::bad_root);
                CHECK(has(everywhere[0].text,
                          "expected 0 to " + std::to_string(p - 1) + ", found " + std::to_string(bad)));
                same_sentence(listen(p,
                                     [=](threads_comm& comm) {  // on one rank, and all listen
                                         std::vector<float> v(n);
                                         ccoll::bcast<Check::Collective>(v, comm.rank() == p - 1 ? bad : 0,
                                                                         comm);
                                     }),
                              status::bad_root);
                if (p > 1)
                    some_heard(listen(p,
                                      [=](threads_comm& comm) {
                                          std::vector<float> v(n), sum(n);
                                          ccoll::reduce<Codec::SZx, ErrorBound<1e-3>>(
                                              v, sum, comm.rank() == p - 1 ? bad : 0, comm);
                                      }),
                               status::bad_root);
            }
}

TEST_CASE("Sentences name the argument, what it is, and what it may be", "[errors]")
{
    const auto told = [](auto call) { return listen(2, call)[1].text; };
    const auto negative = told([](threads_comm& comm) {
        std::vector<float> a(10), b(10);
        ccoll::allreduce(a.data(), b.data(), -5, comm);
    });
    INFO(negative);
    CHECK(has(negative, "a count, displacement or extent is out of range; the count is -5 (seen on rank 1)"));
    const auto negative_part = told([](threads_comm& comm) {
        std::vector<float> a(10), b(10);
        ccoll::allgatherv(a, b, std::vector<int>{13, -3}, comm);
    });
    INFO(negative_part);
    CHECK(has(negative_part, "the count is -3 at place 1 of its list (seen on rank 0)"));
    const auto null = told([](threads_comm& comm) {
        std::vector<float> a(10);
        float* const nothing = nullptr;
        ccoll::allreduce(a.data(), nothing, 10, comm);
    });
    INFO(null);
    CHECK(has(null,
              "a buffer is a null pointer, or MPI_IN_PLACE where the call does not take it; it is null and "
              "should have 10 elements"));
    const auto twice = told([](threads_comm& comm) {
        std::vector<float> a(10);
        ccoll::alltoall(a.data(), a.data(), 5, comm);
    });
    INFO(twice);
    CHECK(has(twice, "overlap (seen on rank "));
    CHECK(has(
        twice,
        "; pass separate buffers or, where the call works in place, the one range alone or MPI_IN_PLACE"));
    // MPI_IN_PLACE in all MPIs, which these ranks do not know, after a cast.
    for (const std::intptr_t marker : {1, -1}) {
        const auto marked = told([=](threads_comm& comm) {
            std::vector<float> a(10);
            ccoll::allreduce(reinterpret_cast<float*>(marker), a.data(), 10, comm);
        });
        INFO(marked);
        CHECK(has(
            marked,
            "MPI_IN_PLACE where the call does not take it; it is MPI_IN_PLACE and should have 10 elements"));
    }
    const auto root = told([](threads_comm& comm) {
        std::vector<float> a(10);
        ccoll::bcast(a, 7, comm);
    });
    INFO(root);
    CHECK(has(root, "the root must be a rank of the communicator; expected 0 to 1, found 7"));
    const auto peer = told([](threads_comm& comm) {
        std::vector<float> a(10);
        ccoll::send(a, 7, 0, comm);
    });
    INFO(peer);
    CHECK(has(peer, "must be a rank of the communicator, or ccoll::nobody; expected 0 to 1, found 7"));
    const auto tag = told([](threads_comm& comm) {
        std::vector<float> a(10);
        ccoll::send(a, 0, 5000, comm);
    });
    INFO(tag);
    CHECK(has(tag, "the tag of a message is out of range; expected 0 to 4095, found 5000"));
    const auto bound = told([](threads_comm& comm) {
        std::vector<float> a(10);
        ccoll::allreduce<Codec::SZp, RuntimeBound>(a, comm, -1.0);
    });
    INFO(bound);
    CHECK(has(bound, "the error bound must be positive and below 1e300; found -1 (seen on rank "));
    const auto wide = told([](threads_comm& comm) {
        std::vector<float> a(10);
        ccoll::allreduce<Codec::SZp, RuntimeBound>(a, comm, 1e300);
    });
    INFO(wide);
    CHECK(has(wide, "the error bound must be positive and below 1e300; found 1e+300"));
}

TEST_CASE("Ranks whose plans differ are told what differs", "[errors]")
{
    using E = ErrorBound<1e-3>;
    const std::size_t n = GENERATE(std::size_t{100}, std::size_t{400000});
    // Rank 0 makes one call and the others another.
    const auto differ = [](auto one, auto other, const std::string& mine, const std::string& theirs) {
        const auto all = listen(3, [=](threads_comm& comm) { comm.rank() == 0 ? one(comm) : other(comm); });
        all_heard(all, status::plan_differs);
        for (const heard& each : all) {
            INFO(each.text);
            const bool there = has(each.text, ": expected " + mine + ", found " + theirs) ||
                               has(each.text, ": expected " + theirs + ", found " + mine);
            CHECK(there);
            CHECK(has(each.text, "ranks disagree on the plan"));
            CHECK(!has(each.text, "; expected"));  // nothing else differs
        }
    };
    const auto sum = [n]<class... P>(std::type_identity<ccoll::Plan<P...>>) {
        return [n](threads_comm& comm) {
            std::vector<float> v(n, 1);
            ccoll::allreduce<Algo::Ring, P...>(v, comm);
        };
    };
    const auto plan = []<class... P>() { return std::type_identity<ccoll::Plan<P...>>{}; };
    const auto szp = sum(plan.template operator()<Codec::SZp, E, Placement::DecodeReduceEncode>());
    differ(szp, sum(plan.template operator()<Codec::SZx, E>()), "Codec::SZp", "Codec::SZx");
    differ(sum(plan.template operator()<Codec::SZe, E>()), sum(plan.template operator()<Codec::BitZip, E>()),
           "Codec::SZe", "Codec::BitZip");
    differ(sum(plan.template operator()<Codec::Zfp, E>()),
           sum(plan.template operator()<Codec::Zfp, FixedRate<8>>()), "ErrorBound", "FixedRate");
    differ(szp, sum(plan.template operator()<Codec::SZp, E>()), "Placement::DecodeReduceEncode",
           "Placement::Homomorphic");
    differ(szp, sum(plan.template operator()<Codec::SZp, E, Placement::DecodeReduceEncode, Op::Max>()),
           "Op::Sum", "Op::Max");
    differ(szp, sum(plan.template operator()<Codec::SZp, E, Placement::DecodeReduceEncode, Check::Local>()),
           "Check::Auto", "Check::Local");
    differ(szp, sum(plan.template operator()<Codec::SZp, EndToEnd<E>, Placement::DecodeReduceEncode>()),
           "ErrorBound", "EndToEnd<ErrorBound>");
    differ(
        sum(plan.template operator()<>()),
        [n](threads_comm& comm) {
            std::vector<std::int32_t> v(n, 1);
            ccoll::allreduce<Algo::Ring>(v, comm);
        },
        "float", "int32");
    differ(
        sum(plan.template operator()<>()),
        [n](threads_comm& comm) {
            std::vector<float> v(n, 1);
            ccoll::alltoall<Algo::Spread>(std::span(v).first(n / 3 * 3), comm);
        },
        "allreduce", "alltoall");
    differ(
        [n](threads_comm& comm) {
            std::vector<float> v(n, 1), all(3 * n);
            ccoll::allgather<Algo::Ring>(v, all, comm);
        },
        [n](threads_comm& comm) {
            const int extents[] = {3};
            const int closed[] = {1};
            std::vector<float> v(n, 1), all(2 * n);
            ccoll::neighbor_allgather(v, all, ccoll::with_grid(comm, extents, closed));
        },
        "allgather", "neighbor_allgather");
    const auto other_way = listen(3, [=](threads_comm& comm) {
        std::vector<float> v(n, 1);
        if (comm.rank() == 0) ccoll::allreduce<Algo::Ring, Codec::SZx, E>(v, comm);
        else ccoll::allreduce<Algo::RecursiveDoubling, Codec::SZx, E>(v, comm);
    });
    all_heard(other_way, status::plan_differs);
    for (const heard& each : other_way) CHECK(has(each.text, "their algorithms differ (Algo::"));
}

TEST_CASE("An error of a v variant names the variant", "[errors]")
{
    for (const heard& each : listen(2, [](threads_comm& comm) {
             std::vector<float> a(10), b(19);
             ccoll::allgatherv(a, b, std::vector<int>{10, 10}, comm);
         }))
        CHECK(has(each.text, "ccoll::allgatherv: "));
    for (const heard& each : listen(2, [](threads_comm& comm) {
             std::vector<float> a(10), b(19);
             ccoll::gatherv(a, b, std::vector<int>{10, 10}, 0, comm);
         }))
        CHECK((each.text.empty() || has(each.text, "ccoll::gatherv: ")));
}

TEST_CASE("If a rank throws before the call, the others get peer_lost, which names it", "[errors][peer_lost]")
{
    for (const int p : {2, 3, 4, 5, 8})
        for (const std::size_t n : sizes_of_calls)
            for (const int lost : {0, p - 1, p / 2}) {
                INFO("p " << p << ", n " << n << ", lost rank " << lost);
                struct gone {};
                std::vector<heard> all;
                const auto others = std::make_shared<std::vector<heard>>(static_cast<std::size_t>(p));
                CHECK_THROWS_AS(run<int>(
                                    p,
                                    [=](threads_comm& comm, int&) {
                                        if (comm.rank() == lost) throw gone{};
                                        heard& mine = (*others)[static_cast<std::size_t>(comm.rank())];
                                        std::vector<float> v(n);
                                        try {
                                            ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>>(v, comm);
                                        } catch (const ccoll::error& e) {
                                            mine.text = e.what();
                                            mine.what = e.what_happened();
                                        }
                                    },
                                    promptly),
                                gone);
                for (int r = 0; r < p; ++r) {
                    if (r == lost) continue;
                    const heard& each = (*others)[static_cast<std::size_t>(r)];
                    INFO("rank " << r << ": '" << each.text << "'");
                    CHECK(each.told(status::peer_lost));
                    CHECK(each.what.peer == lost);
                    CHECK(has(each.text, "from rank " + std::to_string(lost)));
                }
            }
}

TEST_CASE("With a std::error_code nothing is thrown, and success clears it", "[errors][error_code]")
{
    struct told {
        std::error_code code;
        ccoll::verdict trouble;
        bool cleared = false, threw = false, bound_after_code = false;
    };
    const auto all = run<told>(
        3,
        [](threads_comm& comm, told& mine) {
            try {
                std::vector<float> v(comm.rank() == 1 ? 9 : 10);
                mine.trouble = ccoll::allreduce(v, comm, mine.code).trouble;
                std::error_code later = make_error_code(status::corrupt);
                v.assign(10, 1);
                const auto good = ccoll::allreduce<Codec::SZx, RuntimeBound>(v, comm, 1e-3, later);
                mine.cleared = !later && good.trouble.ok() && std::fabs(v[9] - 3) < 4e-3f;
                std::vector<float> gathered(30);
                const auto bad = ccoll::allgather<Codec::SZx, RuntimeBound>(v, gathered, comm, later, -1.0);
                mine.bound_after_code = later.value() != 0 && !bad.trouble.ok();
            } catch (...) {
                mine.threw = true;
            }
        },
        promptly);
    for (const told& each : all) {
        CHECK(!each.threw);
        CHECK(each.code == status::count_differs);
        CHECK(each.code.category() == ccoll::error_category());
        CHECK(each.code.message() == std::string(ccoll::describe(status::count_differs)) + "; " +
                                         ccoll::remedy(status::count_differs));
        CHECK(each.trouble.code == status::count_differs);
        CHECK(each.cleared);
        CHECK(each.bound_after_code);
    }
}

TEST_CASE("Good calls between a hundred bad ones succeed", "[errors]")
{
    for (const int p : {2, 4, 5}) {
        const auto all = run<std::string>(
            p,
            [=](threads_comm& comm, std::string& wrong) {
                for (int i = 0; i < 100; ++i) {
                    const std::size_t n = i % 10 == 0 ? 300000 : 40 + static_cast<std::size_t>(i);
                    std::error_code code;
                    std::vector<float> v(comm.rank() == i % p ? n + 1 : n, 1), sum(n);
                    if (i % 3 == 0) ccoll::allreduce<Codec::SZx, ErrorBound<1e-3>>(v, comm, code);
                    else if (i % 3 == 1) ccoll::allreduce<Algo::RecursiveDoubling>(v, comm, code);
                    else ccoll::allreduce<Algo::Ring>(v, sum, comm, code);
                    if (!code) wrong += "bad call " + std::to_string(i) + " passed; ";
                    v.assign(n, 1);
                    ccoll::allreduce<Algo::Ring>(v, comm, code);
                    if (code || v[0] != static_cast<float>(p) || v[n - 1] != static_cast<float>(p))
                        wrong += "good call " + std::to_string(i) + ": " + code.message() + "; ";
                }
            },
            60);
        for (const std::string& wrong : all) CHECK(wrong == "");
    }
}

TEST_CASE("Messages left over after an error do not reach the call that reuses their tags", "[errors]")
{
    const auto all = run<std::string>(
        3,
        [](threads_comm& comm, std::string& wrong) {
            constexpr int period = ccoll::detail::call_tags::period;
            for (int i = 0; i < 2 * period + 10; ++i) {
                std::error_code code;
                std::vector<float> v(comm.rank() == 0 && i % period == 7 ? 2 : 1, 1);
                if (comm.rank() == 2 && i % period == 5)
                    ccoll::allreduce<Algo::Ring, Codec::SZx, ErrorBound<1e-3>>(v, comm, code);
                else ccoll::allreduce<Algo::RecursiveDoubling>(v, comm, code);
                if (bool(code) != (i % period == 5 || i % period == 7))
                    wrong += std::to_string(i) + ": " + code.message() + "; ";
                if (!code && v[0] != 3.0f) wrong += "wrong; ";
            }
        },
        60);
    for (const std::string& wrong : all) CHECK(wrong == "");
}

}  // namespace arguments_cases
