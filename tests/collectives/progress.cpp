// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Requests and threads: a request that is handed over, and calls that a thread of the library moves on.
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "worlds.hpp"

#include <ccoll/exec.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/progress.hpp>

namespace progress_cases {

using namespace ccoll::policies;
using namespace worlds;
using floats = std::vector<float>;

TEST_CASE("A request that is handed over is waited for by another thread", "[request]")
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t n : {std::size_t{0}, std::size_t{1000}, std::size_t{400000}})
            none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
                floats x(n, 1.0f), y(n);
                auto call = ccoll::iallreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(x, y, comm);
                auto other = call.hand_over();
                mine.expect(!call.valid(), "moved");
                std::thread helper([&] {
                    ccoll::request here = std::move(other);
                    if (comm.rank() % 2 == 0)
                        while (!here.test()) {}
                    const auto facts = here.wait();
                    mine.expect(facts.trouble.ok() && std::string(facts.codec) == "SZp", "the report");
                });
                helper.join();
                for (const float v : y)
                    mine.expect(std::abs(v - static_cast<float>(p)) <= 1e-3f * static_cast<float>(p),
                                "the sum");
                // The thread that began it goes on with other calls.
                ccoll::allreduce<Algo::Ring>(x, y, comm);
                mine.expect(n == 0 || y[0] == static_cast<float>(p), "the next call");
            }));
}

TEST_CASE("A handed-over request may be dropped by its new thread, which gives it up", "[request]")
{
    const auto dropped = std::make_shared<std::atomic<bool>>(false);
    const auto all = run<findings>(2, [dropped](threads_comm& comm, findings& mine) {
        floats x(100000, 1.0f), y(x.size());
        if (comm.rank() == 0) {
            auto call = ccoll::iallreduce<Algo::Ring>(x, y, comm);
            std::thread([other = call.hand_over()] {}).join();
            *dropped = true;
        } else {
            while (!*dropped) std::this_thread::yield();  // else the call might have ended before
            std::error_code code;
            ccoll::allreduce<Algo::Ring>(x, y, comm, code);
            mine.expect(code == status::abandoned, "told");
        }
    });
    none_wrong(all);
}

TEST_CASE("Calls that belong to their thread are not handed over", "[request]")
{
    none_wrong(run<findings>(1, [](threads_comm& comm, findings& mine) {
        floats x(10, 1.0f), y(10);
        const auto refused = [&](ccoll::request call) {
            try {
                static_cast<void>(call.hand_over());
            } catch (const ccoll::error& e) {
                call.wait();
                return e.what_happened().code == status::out_of_turn &&
                       std::string(e.what()).find("progress_thread") != std::string::npos;
            }
            return false;
        };
        mine.expect(refused(ccoll::isendrecv(x, 0, y, 0, 3, comm)), "point-to-point");
        mine.expect(refused(ccoll::iallreduce<Algo::Ring, Exec::Threads<2>>(x, y, comm)), "Exec");
        mine.expect(!ccoll::request().hand_over().valid(), "an empty one");
    }));
}

TEST_CASE("A progress thread moves calls on without test(), and any thread waits for them", "[request]")
{
    for (const int p : {1, 2, 3, 5})
        none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
            // [doc:progress]
            ccoll::progress_thread helper;
            std::vector<floats> gradients(8, floats(30000, 1.0f));
            std::vector<ccoll::background_request> open;
            for (floats& each : gradients)  // in the same order on all ranks
                open.push_back(helper.begin([&] {
                    return ccoll::iallreduce<Op::Average, Codec::SZp, ErrorBound<1e-3>>(each, comm);
                }));
            // ... compute: the calls make progress meanwhile ...
            for (auto& each : open) each.wait();  // on any thread
            // [/doc:progress]
            for (const floats& each : gradients)
                mine.expect(std::abs(each[777] - 1.0f) <= 1e-3f, "the average");

            // No thread of the program calls the library here until the call has ended.
            floats x(200000, 1.0f), y(x.size());
            auto alone = helper.begin(
                [&] { return ccoll::iallreduce<Algo::Ring, Codec::SZx, ErrorBound<1e-3>>(x, y, comm); });
            while (!alone.test()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            mine.expect(alone.valid() && alone.wait().trouble.ok() && !alone.valid(), "ended by itself");
            mine.expect(std::abs(y[9] - static_cast<float>(p)) <= 1e-3f * static_cast<float>(p), "the sum");
        }));
}

TEST_CASE("A progress thread reports errors, and its requests wait when they are dropped", "[request]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        floats x(100, 1.0f), y(100 + static_cast<std::size_t>(comm.rank()));
        std::error_code code;
        {
            ccoll::progress_thread helper;
            const auto wrong = [&] { return ccoll::iallreduce<Algo::Ring, Check::Collective>(x, y, comm); };
            const auto facts = helper.begin(wrong).wait(code);
            mine.expect(code == status::size_mismatch && facts.trouble.rank == 1, "told as a code");
            bool thrown = false;
            try {
                helper.begin(wrong).wait();
            } catch (const ccoll::error& e) {
                thrown = e.what_happened().code == status::size_mismatch;
            }
            mine.expect(thrown, "thrown");
            bool foreign = false;
            try {
                helper.begin([]() -> ccoll::request { throw std::runtime_error("mine"); }).wait(code);
            } catch (const std::runtime_error& e) {
                foreign = std::string(e.what()) == "mine";
            }
            mine.expect(foreign, "what the function threw");
            static_cast<void>(helper.begin([&] { return ccoll::iallreduce<Algo::Ring>(x, comm); }));
            mine.expect(x[5] == 2.0f, "a dropped one has ended");
            mine.expect(helper.begin([] { return ccoll::request(); }).wait().trouble.ok(), "an empty one");
        }
    }));
}

TEST_CASE("A progress thread tells a function how a call ended, when its buffers are free", "[request]")
{
    for (const int p : {1, 3})
        none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
            std::atomic<int> told = 0;
            std::weak_ptr<floats> buffer;
            double result = 0;
            ccoll::progress_thread helper;
            const auto me = std::this_thread::get_id();
            {
                // [doc:told]
                auto gradient = std::make_shared<floats>(30000, 1.0f);
                const auto start = [gradient, &comm] {  // keeps the buffer until the call has ended
                    return ccoll::iallreduce<Op::Average, Codec::SZp, ErrorBound<1e-3>>(*gradient, comm);
                };
                const auto then = [&](const ccoll::report& facts, const std::exception_ptr& failed) {
                    if (failed == nullptr) result = facts.worst_case_error;
                    ++told;  // on the thread; no other one has to wait
                };
                helper.begin(start, then);
                // [/doc:told]
                buffer = gradient;
            }
            const auto ended = [&](int calls) {
                while (told < calls) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            };
            ended(1);
            mine.expect(buffer.expired(), "the buffer is free");
            mine.expect(p == 1 || (result > 0 && result <= 1.1e-3), "the report");
            std::atomic<bool> elsewhere = false;
            std::atomic<ccoll::status> trouble = status::ok;
            floats x(100), y(100 + static_cast<std::size_t>(comm.rank()));
            helper.begin([&] { return ccoll::iallreduce<Algo::Ring, Check::Collective>(x, y, comm); },
                         [&](const ccoll::report& facts, const std::exception_ptr& failed) {
                             elsewhere = std::this_thread::get_id() != me;
                             trouble = facts.trouble.code;
                             if (failed == nullptr) ++told;
                             else told += 10;
                         });
            ended(2);
            mine.expect(told == (p == 1 ? 2 : 11), "told once each");
            mine.expect(trouble == (p == 1 ? status::ok : status::size_mismatch), "the trouble");
            mine.expect(elsewhere, "on the thread");
        }));
}

/// Ends after so many tests.
auto after(int tests)
{
    return [left = std::make_unique<int>(tests)](ccoll::report& facts) {
        facts.sent_bytes += 8;
        return --*left == 0;
    };
}

TEST_CASE("A progress thread tests what is no call of the library until it has ended", "[request]")
{
    ccoll::progress_thread helper;
    CHECK(helper.begin([] { return after(3000); }).wait().sent_bytes == 24000);
    int begun = 0;
    CHECK(helper
              .begin([kept = std::make_unique<int>(5), &begun] {  // may own what cannot be copied
                  begun += *kept;
                  return [] { return true; };
              })
              .wait()
              .trouble.ok());
    CHECK(begun == 5);

    std::error_code code;
    const auto thrown = [&](auto start) -> std::string {
        try {
            helper.begin(start).wait(code);
        } catch (const std::runtime_error& e) {
            return e.what();
        }
        return "nothing";
    };
    CHECK(thrown([]() -> bool (*)() { throw std::runtime_error("begun"); }) == "begun");
    CHECK(thrown([] { return []() -> bool { throw std::runtime_error("tested"); }; }) == "tested");
    CHECK(helper.begin([] { return []() -> bool { ccoll::raise("mine", {status::bad_peer, 3}); }; })
              .wait(code)
              .trouble.rank == 3);
    CHECK(code == status::bad_peer);

    // A chain: `then` begins more.
    std::atomic<int> rest = 5;
    std::function<void(const ccoll::report&, std::exception_ptr)> next = [&](const ccoll::report&,
                                                                             const std::exception_ptr&) {
        if (--rest > 0) helper.begin([] { return after(2); }, next);
    };
    helper.begin([] { return after(1); }, next);
    while (rest > 0) std::this_thread::yield();
}

TEST_CASE("run() waits for what was given before, and what is given later waits for it", "[request]")
{
    int decided = 0;
    for (int round = 0; round < 200 && decided < 5; ++round) {
        ccoll::progress_thread helper;
        std::atomic<bool> gate = false, given = false, ran = false;
        auto before = helper.begin([&] { return [&] { return gate.load(); }; });
        bool before_ended = false;
        std::thread caller([&] {
            given = true;
            helper.run([&] {
                before_ended = before.test();
                ran = true;
            });
        });
        while (!given) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // now it is in run(), most likely
        std::atomic<bool> began = false, ran_first = false;
        auto behind = helper.begin([&] {
            ran_first = ran.load();
            began = true;
            return [] { return true; };
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        CHECK(!ran);
        const bool overtook = began;  // was given first
        gate = true;
        caller.join();
        before.wait();
        behind.wait();
        CHECK(before_ended);
        CHECK(ran_first == !overtook);
        if (!overtook) ++decided;
    }
    CHECK(decided == 5);
}

TEST_CASE("run() returns what the work returns, throws what it throws, and is refused on its thread",
          "[request]")
{
    ccoll::progress_thread helper;
    CHECK(*helper.run([] { return std::make_unique<int>(7); }) == 7);
    CHECK(helper.run([] { return std::this_thread::get_id(); }) != std::this_thread::get_id());
    CHECK_THROWS_AS(helper.run([] { throw std::runtime_error("mine"); }), std::runtime_error);
    std::atomic<bool> refused = false;
    helper.run([&] {
        try {
            helper.run([] {});
        } catch (const ccoll::error& e) {
            refused = e.what_happened().code == status::out_of_turn;
        }
    });
    CHECK(refused);
}

TEST_CASE("Nothing waits for a message between two ranks but who takes its request", "[request]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        floats x(1000, static_cast<float>(comm.rank())), y(1000, -1.0f), never(10, -1.0f);
        ccoll::background_request vain;
        std::atomic<int> told = 0;
        {
            ccoll::progress_thread helper;
            const int other = 1 - comm.rank();
            auto sent = helper.begin_message([&] { return ccoll::isend(x, other, 1, comm); });
            auto got = helper.begin_message([&] { return ccoll::irecv(y, other, 1, comm); });
            vain = helper.begin_message([&] { return ccoll::irecv(never, other, 2, comm); });
            helper.begin_message([] { return [] { return false; }; },
                                 [&](const ccoll::report& facts, const std::exception_ptr& failed) {
                                     if (failed != nullptr && facts.trouble.code == status::abandoned) ++told;
                                 });
            floats sum(100, 1.0f);
            helper.begin([&] { return ccoll::iallreduce<Algo::Ring>(sum, comm); }).wait();
            mine.expect(helper.run([&] { return sum[9]; }) == 2.0f, "run() does not wait for messages");
            sent.wait();
            got.wait();
            mine.expect(y[999] == static_cast<float>(other), "the message");
            mine.expect(!vain.test() && told == 0, "under way");
        }
        floats last(100, 1.0f);
        ccoll::allreduce<Algo::Ring>(last, comm);  // else receives from a rank that has ended fail
        mine.expect(told == 1, "given up by the destructor");
        std::error_code code;
        vain.wait(code);
        mine.expect(code == status::abandoned, "and so is the receive");
    }));
}

}  // namespace progress_cases
