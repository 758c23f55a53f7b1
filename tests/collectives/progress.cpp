// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Requests and threads: a request that is handed over, and calls that a thread of the library moves on.
#include <atomic>
#include <chrono>
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

}  // namespace progress_cases
