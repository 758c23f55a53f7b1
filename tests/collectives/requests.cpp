// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nonblocking and persistent calls: in any order, several at once, beside calls on other communicators, with
// errors, and dropped.
#include <algorithm>
#include <atomic>

#include "errors.hpp"

namespace requests_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

/// What every rank contributes to call `which`: integers, so that exact sums are exact.
std::vector<float> numbers_of(int rank, int which, std::size_t n)
{
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = static_cast<float>((i % 97) * 3 + static_cast<std::size_t>(rank * 7 + which));
    return v;
}
float sum_of(int p, int which, std::size_t i)
{
    float sum = 0;
    for (int r = 0; r < p; ++r)
        sum += static_cast<float>((i % 97) * 3 + static_cast<std::size_t>(r * 7 + which));
    return sum;
}
bool is_sum(const std::vector<float>& v, int p, int which, double within)
{
    for (std::size_t i = 0; i < v.size(); ++i)
        if (!(std::fabs(v[i] - sum_of(p, which, i)) <= within + 1e-6 * sum_of(p, which, i))) return false;
    return true;
}

}  // namespace

TEST_CASE("Nonblocking calls are completed in any order, a different one on each rank", "[request]")
{
    for (const int p : rank_counts)
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{300000}})
            none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
                constexpr int calls = 5;
                std::vector<std::vector<float>> in, out(calls, std::vector<float>(n));
                for (int i = 0; i < calls; ++i) in.push_back(numbers_of(comm.rank(), i, n));
                std::vector<ccoll::request> flying;
                flying.push_back(ccoll::iallreduce<Algo::Ring>(in[0], out[0], comm));
                flying.push_back(ccoll::iallreduce<Algo::RecursiveDoubling, Codec::SZp, ErrorBound<1e-2>>(
                    in[1], out[1], comm));
                flying.push_back(ccoll::iallreduce<Codec::PipeSZx, ErrorBound<1e-2>, Check::Collective>(
                    in[2], out[2], comm));
                flying.push_back(
                    ccoll::iallreduce<Algo::Rabenseifner, Codec::SZp, ErrorBound<1e-2>>(in[3], out[3], comm));
                flying.push_back(ccoll::ireduce<Algo::Chain>(in[4], out[4], p - 1, comm));
                for (int i = 0; i < calls; ++i) {
                    const int which = comm.rank() % 2 == 0 ? (i + comm.rank()) % calls
                                                           : calls - 1 - (i + comm.rank()) % calls;
                    const report r = flying[static_cast<std::size_t>(which)].wait();
                    mine.expect(!flying[static_cast<std::size_t>(which)].valid(), "valid after wait");
                    if (which < 4 || comm.rank() == p - 1)
                        mine.expect(
                            is_sum(out[static_cast<std::size_t>(which)], p, which, r.worst_case_error),
                            "sum of call " + std::to_string(which));
                }
            }));
}

TEST_CASE("A call in flight makes progress while its rank is in other calls of the library", "[request]")
{
    // Rank 0 begins a call and then makes a blocking call, which the others make only when the first one has
    // ended for them.
    for (const int p : {2, 3, 5})
        none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
            const std::size_t n = 200000;
            const auto in = numbers_of(comm.rank(), 0, n);
            std::vector<float> out(n), after(n);
            auto flying = ccoll::iallreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-2>>(in, out, comm);
            if (comm.rank() != 0) flying.wait();
            ccoll::allreduce<Algo::RecursiveDoubling>(in, after, comm);
            mine.expect(is_sum(after, p, 0, 0), "the blocking call");
            flying.wait();
            mine.expect(is_sum(out, p, 0, p * 1e-2), "the call in flight");
        }));
}

TEST_CASE("test() alone completes a call, and wait_all completes many", "[request]")
{
    for (const int p : {1, 2, 4, 7})
        none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
            const std::size_t n = 100000;
            const auto in = numbers_of(comm.rank(), 0, n);
            std::vector<float> out(n);
            auto flying = ccoll::iallreduce<Codec::SZx, ErrorBound<1e-3>>(in, out, comm);
            while (!flying.test()) std::this_thread::yield();
            mine.expect(flying.test() && flying.valid(), "test() stays true until wait()");
            mine.expect(is_sum(out, p, 0, p * 1e-3), "after test()");
            const report r = flying.wait();
            mine.expect(r.worst_case_error > 0 || p == 1, "the report");

            constexpr int calls = 12;
            std::vector<std::vector<float>> results(calls, std::vector<float>(1000));
            const auto one = numbers_of(comm.rank(), 1, 1000);
            std::vector<ccoll::request> all;
            for (auto& each : results) all.push_back(ccoll::iallreduce<Algo::Ring>(one, each, comm));
            ccoll::wait_all(all);
            for (const auto& each : results) mine.expect(is_sum(each, p, 1, 0), "after wait_all");
        }));
}

TEST_CASE("A persistent call that is started again uses what its buffers then hold", "[request][persistent]")
{
    for (const int p : {1, 2, 3, 8})
        none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
            const std::size_t n = 50000;
            std::vector<float> in(n), out(n), gathered(n * static_cast<std::size_t>(p));
            auto sum = ccoll::allreduce_init<Algo::Ring, Codec::SZp, ErrorBound<1e-2>>(in, out, comm);
            auto collect = ccoll::allgather_init<Codec::SZp, ErrorBound<1e-2>>(in, gathered, comm);
            for (int round = 0; round < 4; ++round) {
                // The buffer itself stays in place.
                std::ranges::copy(numbers_of(comm.rank(), round, n), in.begin());
                sum.start();
                collect.start();
                if (comm.rank() % 2 == 0) {
                    sum.wait();
                    collect.wait();
                } else {
                    collect.wait();
                    sum.wait();
                }
                mine.expect(is_sum(out, p, round, p * 1e-2), "sum of round " + std::to_string(round));
                for (int r = 0; r < p; ++r)
                    mine.expect(std::fabs(gathered[static_cast<std::size_t>(r) * n + 5] -
                                          numbers_of(r, round, 6)[5]) <= 1e-2,
                                "gathered in round " + std::to_string(round));
            }
            const auto refused = [&](auto call) {
                try {
                    call();
                } catch (const ccoll::error& e) {
                    return e.what_happened().code == status::out_of_turn ? std::string(e.what())
                                                                         : std::string("another code");
                }
                return std::string("no error");
            };
            sum.start();
            mine.expect(has(refused([&] { sum.start(); }),
                            "the last start has not been waited for; call wait() first"),
                        "a second start");
            sum.wait();
            mine.expect(has(refused([&] { sum.wait(); }), "it has not been started; call start() first"),
                        "a second wait");
            std::error_code code;
            mine.expect(sum.wait(code).trouble.code == status::out_of_turn && code == status::out_of_turn,
                        "a second wait with a code");
            auto moved = std::move(sum);
            mine.expect(has(refused([&] { sum.start(); }), "there is no call in it"), "start() after a move");
            mine.expect(has(refused([&] { sum.wait(); }), "there is no call in it"), "wait() after a move");
            mine.expect(sum.test() && moved.test(), "test() has nothing to wait for");
        }));
}

TEST_CASE(
    "Persistent calls are matched by the order in which they were prepared, in whatever order they are "
    "started",
    "[request][persistent]")
{
    for (const int p : {2, 3, 5})
        for (const std::size_t n : {std::size_t{100}, std::size_t{300000}})
            none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
                constexpr std::size_t calls = 5;
                const std::vector<int> nodes{0, 0, 1, 1, 1};
                ccoll::set_nodes(comm, std::span(nodes).first(static_cast<std::size_t>(p)));
                std::vector<std::vector<float>> in(calls, std::vector<float>(n)), out = in;
                std::vector<float> between(n, 1.0f);
                std::vector<ccoll::persistent> all;
                all.push_back(
                    ccoll::allreduce_init<Algo::Ring, Codec::SZp, ErrorBound<1e-2>>(in[0], out[0], comm));
                all.push_back(
                    ccoll::allreduce_init<Algo::Ring, Codec::SZp, ErrorBound<1e-2>>(in[1], out[1], comm));
                all.push_back(ccoll::allreduce_init(in[2], out[2], comm));
                all.push_back(ccoll::allreduce_init<Codec::SZp, ErrorBound<1e-2>, Check::Collective>(
                    in[3], out[3], comm));
                all.push_back(ccoll::allreduce_init<Algo::Hierarchical<Algo::Binomial, Algo::Ring>,
                                                    Codec::SZp, ErrorBound<1e-2>>(in[4], out[4], comm));
                for (int round = 0; round < 5; ++round) {
                    for (std::size_t i = 0; i < calls; ++i)
                        std::ranges::copy(numbers_of(comm.rank(), 10 * round + static_cast<int>(i), n),
                                          in[i].begin());
                    const auto mixed_up = [&](std::size_t i) {
                        return (i * 2 + static_cast<std::size_t>(comm.rank() + round)) % calls;
                    };
                    for (std::size_t i = 0; i < calls; ++i) {
                        all[mixed_up(i)].start();
                        if (i == static_cast<std::size_t>(comm.rank()) % calls) {
                            std::ranges::fill(between, 1.0f);
                            ccoll::allreduce(between, comm);
                            mine.expect(between[n / 2] == static_cast<float>(p),
                                        "the call between the starts");
                        }
                    }
                    for (std::size_t i = 0; i < calls; ++i) {
                        const std::size_t which = mixed_up(calls - 1 - i);
                        all[which].wait();
                        mine.expect(
                            is_sum(out[which], p, 10 * round + static_cast<int>(which), 3 * p * 1e-2),
                            "sum of call " + std::to_string(which) + " in round " + std::to_string(round));
                    }
                }
            }));
}

TEST_CASE("A rank may be many starts ahead of the others", "[request][persistent]")
{
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        std::vector<float> small(10), other(10);
        auto first = ccoll::bcast_init<Algo::Binomial>(small, 0, comm);
        auto second = ccoll::bcast_init<Algo::Binomial>(other, 0, comm);
        if (comm.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        for (int i = 0; i < 2000; ++i) {
            if (comm.rank() == 0) {
                std::ranges::fill(small, static_cast<float>(i));
                std::ranges::fill(other, static_cast<float>(-i));
            }
            ccoll::persistent& one = (i + comm.rank()) % 2 == 0 ? first : second;
            ccoll::persistent& two = (i + comm.rank()) % 2 == 0 ? second : first;
            one.start();
            two.start();
            two.wait();
            one.wait();
            mine.expect(small[9] == static_cast<float>(i) && other[0] == static_cast<float>(-i),
                        "start " + std::to_string(i));
        }
    }));
}

TEST_CASE("Persistent calls without numbers of their own are told from each other",
          "[request][persistent][errors]")
{
    constexpr std::size_t calls = ccoll::detail::call_numbers::most_prepared + 2;
    for (const bool swapped : {false, true}) {
        const auto all = listen(2, [=](threads_comm& comm) {
            std::vector<std::vector<float>> values(calls, std::vector<float>(100, 1.0f));
            std::vector<ccoll::persistent> prepared;
            for (auto& each : values) prepared.push_back(ccoll::allreduce_init<Algo::Ring>(each, comm));
            for (std::size_t i = 0; i < calls - 2; ++i)
                prepared[comm.rank() == 0 ? i : calls - 3 - i].start();
            for (std::size_t i = 0; i < calls - 2; ++i) prepared[i].wait();
            const std::size_t first = calls - 2 + (swapped && comm.rank() == 0);
            prepared[first].start();
            prepared[2 * calls - 3 - first].start();
            prepared[first].wait();
            prepared[2 * calls - 3 - first].wait();
            for (auto& each : values)
                if (each[0] != 2 || each[99] != 2) throw std::runtime_error("a wrong sum");
        });
        if (swapped) {
            all_heard(all, status::plan_differs);
            continue;
        }
        for (const heard& each : all) CHECK((each.text.empty() && each.works_afterwards));
    }
}

TEST_CASE("Trouble of a nonblocking call is thrown by its wait, on every rank", "[request][errors]")
{
    for (const int p : {2, 3, 5})
        for (const std::size_t n : {std::size_t{100}, std::size_t{400000}})
            all_heard(listen(p,
                             [=](threads_comm& comm) {
                                 std::vector<float> v(n + (comm.rank() == p - 1)), w(1000, 1.0f);
                                 auto wrong = ccoll::iallreduce<Algo::Ring>(v, comm);
                                 auto right = ccoll::iallreduce<Algo::Ring>(w, comm);
                                 right.wait();
                                 if (w[0] != static_cast<float>(p))
                                     throw std::runtime_error("the other call suffered");
                                 wrong.wait();
                             }),
                      status::count_differs);
}

TEST_CASE("wait(code) reports instead of throwing", "[request][errors]")
{
    const auto all = run<std::string>(
        3,
        [](threads_comm& comm, std::string& mine) {
            std::vector<float> v(100 + static_cast<std::size_t>(comm.rank()));
            auto flying = ccoll::iallreduce<Algo::Ring>(v, comm);
            std::error_code code;
            const report r = flying.wait(code);
            mine = code == status::count_differs && r.trouble.code == status::count_differs ? "told"
                                                                                            : code.message();
        },
        promptly);
    for (const std::string& each : all) CHECK(each == "told");
}

TEST_CASE("A request that is dropped gives the call up on all ranks, and the communicator goes on",
          "[request][errors]")
{
    for (const int p : {2, 3, 5, 8})
        for (const std::size_t n : {std::size_t{10}, std::size_t{1000000}})
            for (const int careless : {0, p - 1}) {
                INFO("p " << p << ", n " << n << ", rank " << careless);
                const auto dropped = std::make_shared<std::atomic<bool>>(false);
                const auto all = listen(p, [=](threads_comm& comm) {
                    std::vector<float> v(n, 1.0f);
                    while (comm.rank() != careless && !*dropped)
                        std::this_thread::yield();  // or the call might end before the drop
                    auto flying =
                        ccoll::iallreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>, Check::Collective>(v,
                                                                                                       comm);
                    if (comm.rank() == careless) {
                        flying = ccoll::request();
                        *dropped = true;
                    } else flying.wait();
                });
                for (int r = 0; r < p; ++r) {
                    INFO("rank " << r << ": '" << all[static_cast<std::size_t>(r)].text << "'");
                    CHECK(all[static_cast<std::size_t>(r)].works_afterwards);
                    if (r == careless) continue;
                    CHECK(all[static_cast<std::size_t>(r)].told(status::abandoned));
                    CHECK(all[static_cast<std::size_t>(r)].what.rank == careless);
                }
            }
}

TEST_CASE("Timeout: a rank that never comes is named, and the others do not wait for ever",
          "[timeout][errors]")
{
    for (const int p : {2, 3, 5})
        for (const std::size_t n : {std::size_t{10}, std::size_t{1000000}}) {
            INFO("p " << p << ", n " << n);
            const auto done = std::make_shared<std::atomic<int>>(0);
            const auto all = run<heard>(
                p,
                [=](threads_comm& comm, heard& mine) {
                    if (comm.rank() == 0) {  // alive, but makes no call
                        while (done->load() < p - 1)
                            std::this_thread::sleep_for(std::chrono::milliseconds(1));
                        return;
                    }
                    std::vector<float> v(n, 1.0f);
                    try {
                        ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>, Timeout<0.2>>(v, comm);
                    } catch (const ccoll::error& e) {
                        mine.text = e.what();
                        mine.what = e.what_happened();
                    }
                    ++*done;
                },
                promptly);
            for (int r = 1; r < p; ++r) {
                INFO("rank " << r << ": '" << all[static_cast<std::size_t>(r)].text << "'");
                // The rank that heard it first may have ended, and be missed, before the others hear it.
                CHECK((all[static_cast<std::size_t>(r)].told(status::timed_out) ||
                       all[static_cast<std::size_t>(r)].told(status::peer_lost)));
            }
            CHECK(std::any_of(all.begin(), all.end(),
                              [](const heard& h) { return h.told(status::timed_out); }));
            const bool named =
                std::any_of(all.begin(), all.end(), [](const heard& h) { return h.what.peer == 0; });
            CHECK((named || p > 2));
        }
}

TEST_CASE("Timeout does not disturb a call that is slow but alive", "[timeout]")
{
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        const auto in = numbers_of(comm.rank(), 0, 300000);
        std::vector<float> out(in.size());
        for (int i = 0; i < 3; ++i) {
            if (comm.rank() == i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
            ccoll::allreduce<Timeout<30>>(in, out, comm);
            mine.expect(is_sum(out, 3, 0, 0), "sum");
        }
    }));
}

}  // namespace requests_cases
