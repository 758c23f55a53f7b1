// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: thread sanitizer
// The contract of ccoll::transport, on ranks that are threads.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"

#include <ccoll/transport/threads.hpp>

namespace threads_cases {

namespace {

using ccoll::status;
using ccoll::threads_comm;
using request = threads_comm::request;

/// Catch's assertions may be used only by one thread, so bodies throw, and run_ranks rethrows.
void must(bool holds, const char* what)
{
    if (!holds) throw std::runtime_error(what);
}
#define MUST(condition) must((condition), #condition)

void wait(threads_comm& comm, request& r)
{
    for (comm.poll(); !comm.test(r); comm.poll()) comm.idle();
}
void wait_all(threads_comm& comm, std::vector<request>& all)
{
    for (;;) {
        comm.poll();
        bool done = true;
        for (request& r : all) done = comm.test(r) && done;
        if (done) return;
        comm.idle();
    }
}

template <class T>
ccoll::const_byte_span bytes_of(const T& value)
{
    return std::as_bytes(std::span(&value, 1));
}
template <class T>
ccoll::byte_span room_of(T& value)
{
    return std::as_writable_bytes(std::span(&value, 1));
}

/// A number in a message of either kind: one that is stored, or one that is copied from the sender's memory.
struct in_short {
    int value = 0;
};
struct in_long {
    int value = 0;
    std::array<char, ccoll::detail::threads_world::short_message> rest{};
};

/// A barrier. It uses a tag of its own, so that it does not disturb other messages.
void barrier(threads_comm& comm)
{
    constexpr int tag = ccoll::max_tag;
    std::vector<request> all;
    char nothing = 0;
    for (int peer = 0; peer < comm.size(); ++peer) {
        all.push_back(comm.post_recv(peer, tag, {}));
        all.push_back(
            comm.post_send(peer, tag, ccoll::const_byte_span(std::as_bytes(std::span(&nothing, 0)))));
    }
    wait_all(comm, all);
}

}  // namespace

TEST_CASE("run_ranks runs the body once per rank", "[transport][threads]")
{
    for (const int p : {1, 2, 3, 4, 5, 7, 8, 13}) {
        std::mutex mutex;
        std::multiset<int> seen;
        ccoll::run_ranks(p, [&](threads_comm& comm) {
            MUST(comm.size() == p);
            MUST(comm.refusal() == status::ok);
            MUST(std::string(comm.explain()).empty());
            const std::lock_guard lock(mutex);
            seen.insert(comm.rank());
        });
        std::multiset<int> expected;
        for (int rank = 0; rank < p; ++rank) expected.insert(rank);
        CHECK(seen == expected);
    }
}

TEST_CASE("run_ranks refuses p < 1", "[transport][threads]")
{
    for (const int p : {0, -1, -2147483647}) {
        try {
            ccoll::run_ranks(p, [](threads_comm&) { FAIL("no rank must run"); });
            FAIL("must throw");
        } catch (const ccoll::error& e) {
            CHECK(e.what_happened().code == status::bad_argument);
            CHECK(e.what_happened().found == p);
        }
    }
}

TEST_CASE("The exception that came first arrives, after all ranks have ended", "[transport][threads]")
{
    std::atomic<int> ended{0};
    const auto body = [&](threads_comm& comm) {
        struct at_end {
            std::atomic<int>& count;
            ~at_end() { ++count; }
        } guard{ended};
        if (comm.rank() == 4) throw std::runtime_error("rank 4");
        int value = 0;
        request r = comm.post_recv(4, 0, room_of(value));  // rank 4 never sends: all others notice
        wait(comm, r);
        MUST(r.result == status::peer_lost);
        if (comm.rank() == 2) throw std::logic_error("rank 2");
    };
    CHECK_THROWS_WITH(ccoll::run_ranks(5, body), "rank 4");
    CHECK(ended == 5);
}

TEST_CASE("What a rank throws because another one has ended does not hide the cause", "[transport][threads]")
{
    const ccoll::verdict gone{.code = status::peer_lost, .rank = 0, .peer = 1};
    CHECK_THROWS_AS(ccoll::run_ranks(2, [&](threads_comm&) { ccoll::raise("test", gone); }),
                    ccoll::error);  // if it is all there is
    for (const auto consequence : {status::peer_lost, status::abandoned}) {
        const auto body = [&](threads_comm& comm) {
            // While an exception leaves a body, its requests are given up, so rank 0 hears of it before
            // run_ranks does.
            struct gives_up {
                threads_comm& comm;
                int value = 0;
                ~gives_up()
                {
                    request told = comm.post_send(0, 0, bytes_of(value));
                    wait(comm, told);
                    request until_rank_0_has_thrown = comm.post_recv(0, 1, {});
                    wait(comm, until_rank_0_has_thrown);
                }
            };
            if (comm.rank() == 1) {
                const gives_up at_end{comm};
                throw std::runtime_error("could not open input.nc");
            }
            int value = 0;
            request r = comm.post_recv(1, 0, room_of(value));
            if (comm.rank() == 0) wait(comm, r);
            ccoll::raise("test", {.code = consequence, .rank = comm.rank(), .peer = 1});
        };
        CHECK_THROWS_WITH(ccoll::run_ranks(3, body), "could not open input.nc");
    }
}

TEST_CASE("A default request is done, and requests can be moved while they wait", "[transport][threads]")
{
    ccoll::run_ranks(2, [](threads_comm& comm) {
        request none;
        MUST(comm.test(none) && none.result == status::ok && none.bytes == 0 && comm.cancel(none));
        const int peer = 1 - comm.rank(), out = 100 + comm.rank();
        int in = 0;
        std::vector<request> all;  // reallocation moves the requests
        all.push_back(comm.post_recv(peer, 3, room_of(in)));
        all.push_back(comm.post_send(peer, 3, bytes_of(out)));
        all.resize(100);
        std::swap(all[0], all[99]);
        wait_all(comm, all);
        MUST(in == 100 + peer);
        MUST(all[99].bytes == sizeof in);
    });
}

TEMPLATE_TEST_CASE(
    "Messages of one peer and tag arrive in the order of posting, whichever receive is tested first",
    "[transport][threads]", in_short, in_long)
{
    ccoll::run_ranks(2, [](threads_comm& comm) {
        constexpr int n = 50;
        std::array<TestType, n> values{};
        std::vector<request> all;
        for (int i = 0; i < n; ++i) {
            TestType& value = values[static_cast<std::size_t>(i)];
            if (comm.rank() == 0) {
                value.value = i;
                all.push_back(comm.post_send(1, i % 2, bytes_of(value)));
            } else {
                all.push_back(comm.post_recv(0, i % 2, room_of(value)));
            }
        }
        if (comm.rank() == 1)
            for (std::size_t left = n; left > 0;) {  // the last one first
                comm.poll();
                const std::size_t before = left;
                for (std::size_t i = n; i-- > 0;) {
                    const bool waits = all[i].bytes == 0;
                    if (waits && comm.test(all[i])) --left;
                }
                if (left == before) comm.idle();
            }
        wait_all(comm, all);
        for (int i = 0; i < n; ++i) MUST(values[static_cast<std::size_t>(i)].value == i);
    });
}

TEMPLATE_TEST_CASE("Messages with different tags complete in any order, even between a rank and itself",
                   "[transport][threads]", in_short, in_long)
{
    ccoll::run_ranks(3, [](threads_comm& comm) {
        for (int peer = 0; peer < comm.size(); ++peer) {
            TestType first{1}, second{2}, got_first, got_second;
            request a = comm.post_send(peer, 10, bytes_of(first)),
                    b = comm.post_send(peer, 20, bytes_of(second));
            request other = comm.post_recv(peer, 20, room_of(got_second));
            wait(comm, other);
            MUST(got_second.value == 2);
            request one = comm.post_recv(peer, 10, room_of(got_first));
            wait(comm, one);
            MUST(got_first.value == 1);
            wait(comm, a);
            wait(comm, b);
        }
    });
}

TEST_CASE("A long send is not stored, and is done only when its receiver has tested", "[transport][threads]")
{
    ccoll::run_ranks(2, [](threads_comm& comm) {
        in_long message{1};
        int& value = message.value;
        if (comm.rank() == 0) {
            request r = comm.post_send(1, 0, bytes_of(message));
            MUST(!comm.test(r));
            value = 7;  // not allowed, but shows whose memory is read
            barrier(comm);
            wait(comm, r);
            MUST(r.result == status::ok);
        } else {
            request r = comm.post_recv(0, 0, room_of(message));
            barrier(comm);
            wait(comm, r);
            MUST(value == 7);
        }
    });
}

TEST_CASE(
    "probe names a rank whose message waits with a tag, and nobody if a receive is already posted for it",
    "[transport][threads]")
{
    ccoll::run_ranks(4, [](threads_comm& comm) {
        int value = comm.rank();
        request r;
        if (comm.rank() == 2) r = comm.post_send(0, 5, bytes_of(value));
        barrier(comm);
        if (comm.rank() == 0) {
            MUST(comm.probe(5) == 2);
            MUST(comm.probe(5) == 2);
            MUST(comm.probe(6) == ccoll::nobody);
            request in = comm.post_recv(2, 5, room_of(value));
            MUST(comm.probe(5) == ccoll::nobody);
            MUST(comm.test(in) && value == 2 && in.bytes == sizeof value);
            MUST(comm.probe(5) == ccoll::nobody);
        }
        wait(comm, r);
    });
}

TEST_CASE("A cancelled send is never seen, a cancelled receive leaves its message to the next one",
          "[transport][threads]")
{
    ccoll::run_ranks(2, [](threads_comm& comm) {
        in_long values[2] = {{11}, {22}}, in;
        if (comm.rank() == 0) {
            request withdrawn = comm.post_send(1, 0, bytes_of(values[0]));
            MUST(comm.cancel(withdrawn));
            MUST(comm.test(withdrawn));
            values[0].value = -1;
            request sent = comm.post_send(1, 0, bytes_of(values[1]));
            barrier(comm);
            wait(comm, sent);
        } else {
            in_long untouched{33};
            request given_up = comm.post_recv(0, 0, room_of(untouched));
            request kept = comm.post_recv(0, 0, room_of(in));
            barrier(comm);
            MUST(!comm.test(kept));  // the message belongs to the first receive
            MUST(comm.cancel(given_up));
            MUST(comm.test(kept));
            MUST(in.value == 22 && untouched.value == 33);
        }
    });
}

TEST_CASE("After cancelling a send while its receiver reads, nobody uses the memory any more",
          "[transport][threads]")
{
    // Rank 0 withdraws while rank 1 may be reading: the receiver gets all of the message or none of it.
    std::atomic<int> withdrawn{0};
    ccoll::run_ranks(2, [&](threads_comm& comm) {
        constexpr int rounds = 300;
        std::vector<int> data(1 << 16);
        for (int round = 1; round <= rounds; ++round) {
            std::ranges::fill(data, comm.rank() == 0 ? round : 0);
            barrier(comm);
            if (comm.rank() == 0) {
                request r = comm.post_send(1, 0, std::as_bytes(std::span(data)));
                for (int i = 0; i < round % 16; ++i) std::this_thread::yield();
                comm.cancel(r);
                std::ranges::fill(data, -1);
                withdrawn = round;
            } else {
                request r = comm.post_recv(0, 0, std::as_writable_bytes(std::span(data)));
                while (withdrawn != round && !comm.test(r)) std::this_thread::yield();
                comm.cancel(r);
                MUST(r.bytes == 0 ||
                     std::ranges::count(data, round) == static_cast<std::ptrdiff_t>(data.size()));
            }
        }
    });
}

TEST_CASE(
    "A message that is too long is truncated for its receiver, which learns its length, and ok for its "
    "sender",
    "[transport][threads]")
{
    const std::size_t n = GENERATE(8u, 256u, 257u, 100000u);
    ccoll::run_ranks(2, [n](threads_comm& comm) {
        std::vector<char> data(n, 1);
        if (comm.rank() == 0) {
            request r = comm.post_send(1, 0, std::as_bytes(std::span(data)));
            wait(comm, r);
            MUST(r.result == status::ok);
        } else {
            data.assign(n, 0);
            request r = comm.post_recv(0, 0, std::as_writable_bytes(std::span(data)).first(n - 1));
            wait(comm, r);
            MUST(r.result == status::truncated && r.bytes == n);
            MUST(data.back() == 0);
        }
        int value = 5;  // later messages still arrive
        request next =
            comm.rank() == 0 ? comm.post_send(1, 0, bytes_of(value)) : comm.post_recv(0, 0, room_of(value));
        wait(comm, next);
        MUST(next.result == status::ok);
    });
}

TEST_CASE("Empty messages count as messages, and the receiver of a shorter message learns its length",
          "[transport][threads]")
{
    ccoll::run_ranks(2, [](threads_comm& comm) {
        std::array<char, 4> data{};
        for (const std::size_t n : {0u, 1u, 4u}) {
            request r = comm.rank() == 0 ? comm.post_send(1, 0, std::as_bytes(std::span(data)).first(n))
                                         : comm.post_recv(0, 0, std::as_writable_bytes(std::span(data)));
            wait(comm, r);
            MUST(r.result == status::ok && r.bytes == (comm.rank() == 0 ? 0 : n));
        }
    });
}

TEST_CASE(
    "Ranks that wait for a rank that has ended, or send to it, get peer_lost, whether it returned or threw",
    "[transport][threads]")
{
    for (const bool throws : {false, true}) {
        std::atomic<int> lost{0};
        const auto body = [&](threads_comm& comm) {
            int value = 0;
            if (comm.rank() == 1) {
                if (throws) throw std::runtime_error("rank 1");
                return;
            }
            if (comm.rank() == 0) {
                in_long message;
                std::vector<request> all(2);
                all[0] = comm.post_recv(1, 0, room_of(value));
                all[1] = comm.post_send(1, 1, bytes_of(message));
                wait_all(comm, all);
                if (all[0].result == status::peer_lost) ++lost;
                if (all[1].result == status::peer_lost) ++lost;
                request late = comm.post_send(1, 0, bytes_of(message));
                MUST(comm.test(late) && late.result == status::peer_lost);
                MUST(comm.probe(0) == ccoll::nobody);
            }
        };
        if (throws) CHECK_THROWS_AS(ccoll::run_ranks(3, body), std::runtime_error);
        else ccoll::run_ranks(3, body);
        CHECK(lost == 2);
    }
}

TEST_CASE(
    "A message that nobody had received when its sender ended is not delivered, because its memory is gone",
    "[transport][threads]")
{
    ccoll::run_ranks(2, [](threads_comm& comm) {
        if (comm.rank() == 1) {
            std::vector<int> dies(1000, 1);
            comm.post_send(0, 0, std::as_bytes(std::span(dies)));
            barrier(comm);
            return;
        }
        std::vector<int> in(1000);
        barrier(comm);
        request fence = comm.post_recv(1, 1, {});  // lost: rank 1 has ended
        wait(comm, fence);
        request r = comm.post_recv(1, 0, std::as_writable_bytes(std::span(in)));
        wait(comm, r);
        MUST(r.result == status::peer_lost);
    });
}

namespace {
/// A copy that takes a while. It tells whether a rank has been seen to end meanwhile.
struct slow_copy {
    static inline std::atomic<bool> reads, has_ended, has_ended_early;
    static bool copy(std::byte* to, ccoll::const_byte_span from) noexcept
    {
        reads = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        has_ended_early = has_ended.load();
        std::ranges::copy(from, to);
        return true;
    }
};
}  // namespace

TEST_CASE("A rank does not end while the receiver of its message reads, because its memory would be gone",
          "[transport][threads]")
{
    slow_copy::reads = slow_copy::has_ended = slow_copy::has_ended_early = false;
    const ccoll::far_memory slow{slow_copy::copy};
    const std::vector<int> data(1000, 7);
    ccoll::run_ranks(3, [&](threads_comm& comm) {
        std::vector<int> in(data.size());
        if (comm.rank() == 0) {
            static_cast<void>(comm.post_send(1, 0, std::as_bytes(std::span(data))));
            while (!slow_copy::reads) std::this_thread::yield();
        } else if (comm.rank() == 1) {
            comm.reach(slow);
            request r = comm.post_recv(0, 0, std::as_writable_bytes(std::span(in)));
            wait(comm, r);
            MUST(r.result == status::ok && in == data);
        } else {
            request r = comm.post_recv(0, 1, std::as_writable_bytes(std::span(in)));
            wait(comm, r);
            slow_copy::has_ended = true;
            MUST(r.result == status::peer_lost);
        }
    });
    CHECK_FALSE(slow_copy::has_ended_early);
}

TEST_CASE("The send of a short message is done at once, and the message arrives even if its sender has ended",
          "[transport][threads]")
{
    ccoll::run_ranks(2, [](threads_comm& comm) {
        constexpr std::size_t longest = ccoll::detail::threads_world::short_message;
        std::vector<char> data(longest + 1, comm.rank() == 1 ? 'x' : 'o');
        if (comm.rank() == 1) {
            request r = comm.post_send(0, 0, std::as_bytes(std::span(data)).first(longest));
            MUST(comm.test(r) && r.result == status::ok);
            request one_more = comm.post_send(0, 1, std::as_bytes(std::span(data)));
            MUST(!comm.test(one_more) && comm.cancel(one_more));
            data.assign(data.size(), '-');
            return;
        }
        request fence = comm.post_recv(1, 2, {});
        wait(comm, fence);
        MUST(fence.result == status::peer_lost);
        request r = comm.post_recv(1, 0, std::as_writable_bytes(std::span(data)));
        wait(comm, r);
        MUST(r.result == status::ok && r.bytes == longest && data[0] == 'x' && data[longest - 1] == 'x' &&
             data[longest] == 'o');
    });
}

TEST_CASE("A message that was received before its sender ended is ok", "[transport][threads]")
{
    for (int repeat = 0; repeat < 200; ++repeat)
        ccoll::run_ranks(2, [](threads_comm& comm) {
            int value = comm.rank();
            request r = comm.rank() == 1 ? comm.post_send(0, 0, bytes_of(value))
                                         : comm.post_recv(1, 0, room_of(value));
            wait(comm, r);
            MUST(r.result == status::ok && value == 1);
        });
}

TEST_CASE(
    "A peer or tag out of range gives a failed request with an explanation, and no access out of bounds",
    "[transport][threads]")
{
    ccoll::run_ranks(2, [](threads_comm& comm) {
        int value = 0;
        for (const auto& [peer, tag] : {std::pair{2, 0}, {-1, 0}, {0, -1}, {0, ccoll::max_tag + 1}}) {
            request in = comm.post_recv(peer, tag, room_of(value)),
                    out = comm.post_send(peer, tag, bytes_of(value));
            MUST(comm.test(in) && in.result == status::transport_failed);
            MUST(comm.test(out) && out.result == status::transport_failed);
            MUST(!std::string(comm.explain()).empty());
        }
    });
}

TEST_CASE("begin_call counts per rank and memory is kept, by all copies of a handle", "[transport][threads]")
{
    ccoll::run_ranks(3, [](threads_comm& comm) {
        threads_comm copy = comm;
        for (std::uint32_t call = 0; call < 10; ++call)
            MUST((call % 2 == 0 ? comm : copy).begin_call() == call);
        ccoll::buffer_memory* piece = comm.memory().take(1000);
        copy.memory().drop(piece);
        MUST(comm.memory().take(500) == piece);
        MUST(&comm.memory() == &copy.memory() && comm.memory().buffers() == 1);
    });
}

TEMPLATE_TEST_CASE("13 ranks pass a token around the ring 1000 times", "[transport][threads]", in_short,
                   in_long)
{
    ccoll::run_ranks(13, [](threads_comm& comm) {
        const int p = comm.size(), next = (comm.rank() + 1) % p, previous = (comm.rank() + p - 1) % p;
        TestType mine{comm.rank()}, theirs;
        std::vector<request> all(2);
        for (int round = 0; round < 1000; ++round) {
            theirs.value = -1;
            all[0] = comm.post_recv(previous, round % 7, room_of(theirs));
            all[1] = comm.post_send(next, round % 7, bytes_of(mine));
            wait_all(comm, all);
            MUST(all[0].bytes == sizeof theirs && theirs.value == ((comm.rank() - round - 1) % p + p) % p);
            mine = theirs;
        }
    });
}

TEST_CASE("idle sleeps: a rank wakes about once per event, however long it waits", "[transport][threads]")
{
    std::atomic<long> wakes{0};
    constexpr int rounds = 20;
    const auto begin = std::chrono::steady_clock::now();
    ccoll::run_ranks(2, [&](threads_comm& comm) {
        int value = 0;
        for (int round = 0; round < rounds; ++round) {
            if (comm.rank() == 0) {
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                request r = comm.post_send(1, 0, bytes_of(value));
                wait(comm, r);
            } else {
                request r = comm.post_recv(0, 0, room_of(value));
                for (comm.poll(); !comm.test(r); comm.poll()) {
                    comm.idle();
                    ++wakes;
                }
            }
        }
    });
    // The rank has one event per round, which is the message. It also wakes every 5 ms if the machine is so
    // slow that a round takes longer.
    CHECK(wakes <= rounds + (std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(5));
}

TEST_CASE("Queues keep their memory, so that after a while nothing is allocated", "[transport][threads]")
{
    constexpr int p = 4;
    const auto world = std::make_shared<ccoll::detail::threads_world>(p);
    std::vector<threads_comm> ranks;  // driven by one thread, so that nothing depends on timing
    for (int rank = 0; rank < p; ++rank) ranks.emplace_back(world, rank);
    in_short out, in;
    in_long large_out, large_in;
    const auto exchange = [&] {
        std::vector<request> all[p];
        for (int i = 0; i < 4; ++i)
            for (int me = 0; me < p; ++me)
                for (int peer = 0; peer < p; ++peer) {
                    auto& mine = all[static_cast<std::size_t>(me)];
                    mine.push_back(ranks[static_cast<std::size_t>(me)].post_send(
                        peer, i, i % 2 == 0 ? bytes_of(out) : bytes_of(large_out)));
                    mine.push_back(ranks[static_cast<std::size_t>(me)].post_recv(
                        peer, i, i % 2 == 0 ? room_of(in) : room_of(large_in)));
                }
        bool done = false;
        for (int sweep = 0; sweep < 3 && !done; ++sweep) {
            done = true;
            for (std::size_t me = 0; me < p; ++me)
                for (request& r : all[me]) done = ranks[me].test(r) && done;
        }
        return done;
    };
    const auto memory = [&] {
        std::vector<const void*> where;
        for (const auto& queue : world->queues) {
            where.push_back(queue.messages.data());
            where.push_back(queue.expected.data());
        }
        return where;
    };
    REQUIRE(exchange());
    const std::vector<const void*> before = memory();
    for (int round = 0; round < 100; ++round) REQUIRE(exchange());
    CHECK(memory() == before);
    for (const auto& queue : world->queues) {
        CHECK(queue.messages.empty());
        CHECK(queue.expected.empty());
    }
}

}  // namespace threads_cases
