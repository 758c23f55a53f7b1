// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: thread sanitizer
// Two worlds at the same time do not disturb each other, and a copy of a communicator is the same
// communicator.
#include <future>
#include <thread>

#include "worlds.hpp"

namespace concurrency_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

std::size_t wrong_results(int p, std::size_t n, int calls)
{
    const auto all = run<std::size_t>(p, [=](threads_comm& comm, std::size_t& wrong) {
        for (int i = 0; i < calls; ++i) {
            const float base = static_cast<float>(p * 1000 + i);
            std::vector<float> v(n, base + static_cast<float>(comm.rank()));
            ccoll::allreduce<Op::Max, Algo::Ring>(v, comm);
            wrong += v[0] != base + static_cast<float>(p - 1) || v[n - 1] != v[0];
            if (i % 5 == 0) {  // trouble here affects no other world
                std::error_code code;
                std::vector<float> bad(comm.rank() == 0 ? 3 : 4);
                ccoll::allreduce(bad, comm, code);
                wrong += code != status::count_differs;
            }
        }
    });
    std::size_t sum = 0;
    for (const std::size_t each : all) sum += each;
    return sum;
}

}  // namespace

TEST_CASE("Two worlds at the same time do not disturb each other", "[concurrency]")
{
    auto other = std::async(std::launch::async, [] { return wrong_results(3, 700, 60); });
    CHECK(wrong_results(4, 5000, 60) == 0);
    CHECK(other.get() == 0);
}

TEST_CASE("A second thread on a communicator is told that it is in use", "[concurrency]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        std::vector<float> v(100, 1.0f), w(100, 1.0f);
        auto begun = ccoll::iallreduce<Algo::Ring>(w, comm);
        auto prepared = ccoll::allreduce_init<Algo::Ring>(w, comm);
        // Another thread is in a call on it, as far as can be seen.
        const auto others = [&](auto call) {
            std::thread([&] {
                const ccoll::sole_use use(&comm.memory().user());
                std::thread([&] { call(); }).join();
            }).join();
        };
        const auto refused = [&](auto call) {
            others([&] {
                try {
                    call();
                    mine.expect(false, "nothing was refused");
                } catch (const ccoll::error& e) {
                    mine.expect(
                        e.what_happened().code == status::out_of_turn &&
                            std::string(e.what()).find("another thread is in a call on this communicator") !=
                                std::string::npos,
                        e.what());
                }
            });
        };
        refused([&] { ccoll::allreduce(v, comm); });
        refused([&] { ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Fault::Crc32c>(v, comm); });
        refused([&] { ccoll::send(v, 1 - comm.rank(), 0, comm); });
        refused([&] { static_cast<void>(ccoll::iallreduce(v, comm)); });
        refused([&] { prepared.start(); });
        refused([&] { begun.wait(); });
        refused([&] { begun.test(); });
        others([&] {
            std::error_code code;
            ccoll::allreduce(v, comm, code);
            mine.expect(code == status::out_of_turn, "a code");
        });
        begun.wait();
        ccoll::allreduce(v, comm);
        mine.expect(v[0] == 2 && w[99] == 2, "what follows");
    }));
}

TEST_CASE("One thread may be a rank of two worlds", "[concurrency]")
{
    const auto wrong = run<std::size_t>(2, [](threads_comm& outer, std::size_t& mine) {
        const float me = static_cast<float>(outer.rank());
        ccoll::run_ranks(1, [&](threads_comm& inner) {
            std::vector<float> v(10, me), w(10, me);
            ccoll::allreduce<Codec::SZx, ErrorBound<1e-3>>(v, inner);
            mine += v[0] != me;
            const threads_comm copy = outer;
            ccoll::allreduce<Algo::Ring>(w, copy);
            mine += w[9] != 1;
            ccoll::bcast(w, 1, outer);
        });
    });
    CHECK(wrong[0] + wrong[1] == 0);
}

}  // namespace concurrency_cases
