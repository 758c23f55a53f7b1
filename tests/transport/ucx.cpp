// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: ucx, thread sanitizer
// The contract of ccoll::transport, on ranks that talk through UCX: over TCP, and through shared memory.
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "ucx_ranks.hpp"

namespace ucx_cases {

namespace {

using namespace ucx_tests;
using ccoll::status;
using ccoll::ucx_comm;
using request = ucx_comm::request;

/// Each rank tells the next one of the communicator a number.
void ring(ucx_comm& c, int tag)
{
    const int n = c.size(), next = (c.rank() + 1) % n, before = (c.rank() + n - 1) % n;
    const int mine = 1000 * tag + c.rank();
    int theirs = -1;
    request in = c.post_recv(before, tag, room_of(theirs));
    request out = c.post_send(next, tag, bytes_of(mine));
    wait(c, in, out);
    MUST(in.result == status::ok && out.result == status::ok && in.bytes == sizeof theirs);
    MUST(theirs == 1000 * tag + before);
}

}  // namespace

TEST_CASE("UCX moves messages of all lengths, posted early and late, to all ranks and to oneself", "[ucx]")
{
    for_each_network([] {
        const int p = GENERATE(1, 2, 3, 5);
        run_ranks(p, [](ucx_comm& c, ccoll::exchange&) {
            request none;
            MUST(c.test(none) && c.cancel(none));
            for (const int tag : {0, 1, ccoll::max_tag}) ring(c, tag);
            // Around the length of what is copied, and of UCX's protocols.
            for (const std::size_t length :
                 {0u, 1u, 255u, 256u, 257u, 1000u, 8000u, 9000u, 70000u, 300000u, 5000000u})
                for (const bool late : {false, true}) {
                    const int peer = c.size() - 1 - c.rank();
                    const std::vector<unsigned char> data(length, static_cast<unsigned char>(c.rank() + 1));
                    std::vector<unsigned char> room(length + 1);
                    request in, out;
                    if (!late) in = c.post_recv(peer, 7, std::as_writable_bytes(std::span(room)));
                    else out = c.post_send(peer, 7, std::as_bytes(std::span(data)));
                    barrier(c);
                    if (late) in = c.post_recv(peer, 7, std::as_writable_bytes(std::span(room)));
                    else out = c.post_send(peer, 7, std::as_bytes(std::span(data)));
                    request moved = std::move(in);
                    wait(c, moved, out);
                    MUST(moved.result == status::ok && out.result == status::ok);
                    MUST(moved.bytes == length);
                    std::vector<unsigned char> expected(length, static_cast<unsigned char>(peer + 1));
                    expected.push_back(0);
                    MUST(room == expected);
                }
        });
    });
}

TEST_CASE("UCX keeps the order of messages of a peer and tag, and tags apart", "[ucx]")
{
    for_each_network([] {
        run_ranks(3, [](ucx_comm& c, ccoll::exchange&) {
            constexpr std::array<std::size_t, 8> lengths{4, 300000, 4, 20000, 4, 1000, 300000, 4};
            std::vector<std::vector<int>> sent, got;
            std::vector<request> all;
            for (int peer = 0; peer < c.size(); ++peer)
                for (std::size_t i = 0; i < lengths.size(); ++i) {
                    sent.emplace_back(lengths[i] / 4, c.rank() * 100 + static_cast<int>(i));
                    all.push_back(
                        c.post_send(peer, i % 2 == 0 ? 4 : 3, std::as_bytes(std::span(sent.back()))));
                }
            got.resize(sent.size());
            for (int peer = 0; peer < c.size(); ++peer)
                for (const std::size_t i : {1u, 3u, 5u, 7u, 0u, 2u, 4u, 6u}) {
                    auto& each = got[static_cast<std::size_t>(peer) * lengths.size() + i];
                    each.resize(lengths[i] / 4);
                    all.push_back(
                        c.post_recv(peer, i % 2 == 0 ? 4 : 3, std::as_writable_bytes(std::span(each))));
                }
            while (!all.empty()) {  // the last first
                wait(c, all.back());
                MUST(all.back().result == status::ok);
                all.pop_back();
            }
            for (std::size_t k = 0; k < got.size(); ++k) {
                const int expected =
                    static_cast<int>(k / lengths.size()) * 100 + static_cast<int>(k % lengths.size());
                MUST(got[k].front() == expected && got[k].back() == expected);
            }
        });
    });
}

TEST_CASE("UCX tells the true length of a message that is too long, and does not write beyond the room",
          "[ucx]")
{
    for_each_network([] {
        run_ranks(3, [](ucx_comm& c, ccoll::exchange&) {
            for (const std::size_t length : {16u, 300u, 20000u, 400000u})
                for (const bool late : {false, true}) {
                    const std::vector<char> longer(length, 1);
                    std::vector<char> guarded(length, -1);
                    const auto room = std::as_writable_bytes(std::span(guarded)).first(length / 2);
                    const int next = (c.rank() + 1) % c.size(), before = (c.rank() + c.size() - 1) % c.size();
                    request in, out;
                    if (late) out = c.post_send(before, 1, std::as_bytes(std::span(longer)));
                    else in = c.post_recv(next, 1, room);
                    barrier(c);
                    if (late) in = c.post_recv(next, 1, room);
                    else out = c.post_send(before, 1, std::as_bytes(std::span(longer)));
                    wait(c, in, out);
                    MUST(in.result == status::truncated && in.bytes == length);
                    MUST(out.result == status::ok);
                    MUST(guarded[length / 2] == -1);
                }
            ring(c, 2);
        });
    });
}

TEST_CASE("UCX probes for a message of any rank, and gives requests up", "[ucx]")
{
    for_each_network([] {
        run_ranks(3, [](ucx_comm& c, ccoll::exchange&) {
            const int last = c.size() - 1;
            int value = 5, in = 0, untouched = 6;
            if (c.rank() == 0) {
                MUST(c.probe(9) == ccoll::nobody);
                request r = c.post_recv(last, 9, room_of(untouched));
                MUST(!c.test(r) && c.cancel(r) && c.test(r));
            }
            barrier(c);
            request out;
            if (c.rank() == last) out = c.post_send(0, 9, bytes_of(value));
            if (c.rank() == 0) {
                while (c.probe(9) == ccoll::nobody) c.idle();
                MUST(c.probe(9) == last && c.probe(10) == ccoll::nobody);
                request r = c.post_recv(last, 9, room_of(in));
                wait(c, r);
                MUST(in == 5 && untouched == 6);
                MUST(c.probe(9) == ccoll::nobody);
            }
            wait(c, out);
            // A long send that was given up arrives all the same: nobody can call it back.
            std::vector<int> large(1 << 20, c.rank()), room(1 << 20, -1);
            if (c.rank() == last) {
                request r = c.post_send(0, 11, std::as_bytes(std::span(large)));
                MUST(!c.cancel(r));
                MUST(c.test(r));
            }
            barrier(c);
            if (c.rank() == 0) {
                request r = c.post_recv(last, 11, std::as_writable_bytes(std::span(room)));
                wait(c, r);
                MUST(r.result == status::ok && room.front() == last && room.back() == last);
            }
            barrier(c);
        });
    });
}

TEST_CASE("Ranks, tags and groups that do not exist are refused in words", "[ucx]")
{
    const use_network over(networks[0]);
    run_ranks(2, [](ucx_comm& c, ccoll::exchange& how) {
        int value = 0;
        for (request r :
             {c.post_send(2, 0, bytes_of(value)), c.post_send(-1, 0, bytes_of(value)),
              c.post_recv(0, -1, room_of(value)), c.post_recv(0, ccoll::max_tag + 1, room_of(value))})
            MUST(c.test(r) && r.result == status::transport_failed && *c.explain() != 0);
        const std::vector<int> others{1 - c.rank()}, twice{c.rank(), c.rank()}, beyond{c.rank(), 2};
        for (const auto& bad : {others, twice, beyond}) {
            const ucx_comm g = c.group(bad, how, "bad", 1);
            MUST(g.refusal() == status::no_communicator && *g.explain() != 0);
        }
        const std::vector<int> both{0, 1};
        if (c.rank() == 0) {  // the other one does not come
            const ucx_comm g = c.group(both, how, "late", 0.05);
            MUST(g.refusal() == status::timed_out);
        }
        ring(c, 3);
    });
    ccoll::process_exchange how;
    CHECK(ucx_comm::world(how, 2, 2, 1).refusal() == status::no_communicator);
    CHECK(ucx_comm::world(how, 0, 2, 0.05).refusal() == status::timed_out);
}

TEST_CASE("Groups have messages and numbers of calls of their own, also after many of them", "[ucx]")
{
    for_each_network([] {
        run_ranks(5, [](ucx_comm& c, ccoll::exchange& how) {
            std::vector<int> mine;
            for (int i = c.size() - 1; i >= 0; --i)
                if (i % 2 == c.rank() % 2) mine.push_back(i);
            ucx_comm half = c.group(mine, how, c.rank() % 2 != 0 ? "odd" : "even", 10);
            MUST(half.refusal() == status::ok && half.size() == static_cast<int>(mine.size()));
            MUST(mine[static_cast<std::size_t>(half.rank())] == c.rank());
            ring(half, 8);
            ring(c, 8);
            int x = 7;
            request out = half.post_send(0, 20, bytes_of(x));
            barrier(c);
            MUST(c.probe(20) == ccoll::nobody);
            if (half.rank() == 0)
                for (int k = 0; k < half.size(); ++k) {
                    request r = half.post_recv(k, 20, room_of(x));
                    wait(half, r);
                }
            wait(half, out);
            MUST(half.begin_call() == 0 && c.begin_call() == 0 && ucx_comm(c).begin_call() == 1);
            // A message that nobody reads does not reach a later group.
            const std::vector<int> pair{0, c.size() - 1};
            if (c.rank() == 0 || c.rank() == c.size() - 1)
                for (int i = 0; i < 100; ++i) {
                    ucx_comm two = c.group(pair, how, "pair" + std::to_string(i), 10);
                    MUST(two.probe(5) == ccoll::nobody);
                    ring(two, 6);
                    request unread = two.post_send(1 - two.rank(), 5, bytes_of(i));
                    wait(two, unread);
                }
            barrier(c);
        });
    });
}

TEST_CASE("A rank that ends says so: what it has sent arrives, and nobody waits for more", "[ucx]")
{
    for_each_network([] {
        run_ranks(4, [](ucx_comm& c, ccoll::exchange&) {
            const int last = c.size() - 1;
            int value = 41;
            for (int tag = 1; tag < c.size(); ++tag) {  // connects all of them
                request in = c.post_recv((c.rank() + tag) % c.size(), 9, {});
                request out = c.post_send((c.rank() + c.size() - tag) % c.size(), 9, {});
                wait(c, in, out);
            }
            std::vector<int> large(100000, 3);
            if (c.rank() == last) {
                ++value;
                request out = c.post_send(0, 1, bytes_of(value));
                wait(c, out);
                return;
            }
            request more = c.post_recv(last, 2, room_of(value));
            wait(c, more);
            MUST(more.result == status::peer_lost && c.is_lost(last) && !c.is_lost(0));
            if (c.rank() == 0) {
                MUST(c.probe(1) == last);
                request in = c.post_recv(last, 1, room_of(value));
                wait(c, in);
                MUST(in.result == status::ok && value == 42);
            }
            request out = c.post_send(last, 3, std::as_bytes(std::span(large)));
            wait(c, out);
            MUST(out.result == status::peer_lost);
            // The others go on. None of them ends before all have looked.
            for (const int shift : {1, 2}) {
                request in = c.post_recv((c.rank() + shift) % last, 4, room_of(value));
                request to = c.post_send((c.rank() + last - shift) % last, 4, bytes_of(large[0]));
                wait(c, in, to);
                MUST(in.result == status::ok && value == 3);
            }
        });
    });
}

TEST_CASE("A communicator with a limit does not wait for ever", "[ucx]")
{
    for_each_network([] {
        run_ranks(2, [](ucx_comm& c, ccoll::exchange&) {
            barrier(c);
            std::vector<int> large(1 << 20, 3);
            if (c.rank() == 0) {
                c.set_limit(0.3);
                int value = 0;
                const double before = ccoll::steady_seconds();
                request in = c.post_recv(1, 1, room_of(value));
                wait(c, in);
                const double waited = ccoll::steady_seconds() - before;
                MUST(in.result == status::transport_failed && waited > 0.29);
                MUST(std::string(c.explain()).find("limit") != std::string::npos);
                MUST(!c.is_lost(1));
                request out = c.post_send(1, 2, std::as_bytes(std::span(large)));
                wait(c, out);
                MUST(out.result == status::transport_failed && c.is_lost(1));
            } else {  // alive, and does nothing
                std::this_thread::sleep_for(std::chrono::milliseconds(1500));
            }
        });
    });
}

TEST_CASE("abort() of another thread ends what a rank waits for, and the others see it as lost", "[ucx]")
{
    for_each_network([] {
        run_ranks(3, [](ucx_comm& c, ccoll::exchange& how) {
            const std::vector<int> all{0, 1, 2};
            ucx_comm g = c.group(all, how, "all", 10);
            barrier(c);
            int value = 0;
            std::vector<int> large(1 << 20, 3);
            if (c.rank() == 0) {
                request in = c.post_recv(1, 1, room_of(value)), of_group = g.post_recv(1, 1, room_of(value));
                request out = g.post_send(2, 1, std::as_bytes(std::span(large)));
                std::thread other([c] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(50));
                    c.abort("the test wants it");
                });
                wait(c, in);
                wait(g, of_group, out);
                other.join();
                for (const request& each : {in, of_group, out}) MUST(each.result == status::transport_failed);
                MUST(std::string(g.explain()) == "the test wants it");
                request next = c.post_send(1, 1, bytes_of(value));
                MUST(c.test(next) && next.result == status::transport_failed && c.is_aborted());
            } else {
                request in = c.post_recv(0, 2, room_of(value));
                const double before = ccoll::steady_seconds();
                wait(c, in);
                MUST(in.result == status::peer_lost && ccoll::steady_seconds() - before < 1);
            }
        });
    });
}

TEST_CASE("A rank that destroys its end of a communicator is lost there, and nowhere else", "[ucx]")
{
    for_each_network([] {
        run_ranks(3, [](ucx_comm& c, ccoll::exchange& how) {
            const std::vector<int> all{0, 1, 2};
            auto g = std::make_unique<ucx_comm>(c.group(all, how, "left", 10));
            barrier(*g);
            int value = 7 + c.rank();
            std::vector<int> large(1 << 20, 3);
            if (c.rank() == 0) {
                request out = g->post_send(1, 1, bytes_of(value));
                wait(*g, out);
                g.reset();
            } else {
                const auto soon = [&](request& r) {
                    const double before = ccoll::steady_seconds();
                    wait(*g, r);
                    MUST(ccoll::steady_seconds() - before < 1);
                };
                // One waits for a message of rank 0, the other one for its receive.
                request r = c.rank() == 1 ? g->post_recv(0, 2, room_of(value))
                                          : g->post_send(0, 3, std::as_bytes(std::span(large)));
                soon(r);
                if (c.rank() == 1) {
                    MUST(r.result == status::peer_lost);
                    MUST(std::string(g->explain()).find("destroyed") != std::string::npos);
                    request before = g->post_recv(0, 1, room_of(value));  // had come
                    soon(before);
                    MUST(before.result == status::ok && value == 7);
                }
                while (!g->is_lost(0)) g->poll();
                request next = g->post_recv(0, 4, room_of(value));
                request out = g->post_send(0, 5, std::as_bytes(std::span(large)));
                soon(next);
                soon(out);
                MUST(next.result == status::peer_lost && out.result == status::peer_lost);
                MUST(!g->is_lost(3 - c.rank()) && !c.is_lost(0));
            }
            // All of them go on elsewhere.
            ring(c, 1);
            ucx_comm again = c.group(all, how, "again", 10);
            ring(again, 1);
        });
    });
}

TEST_CASE("A rank that connects to another one late is told which communicators that one has left", "[ucx]")
{
    for_each_network([] {
        run_ranks(2, [](ucx_comm& c, ccoll::exchange& how) {
            const std::vector<int> both{0, 1};
            auto g = std::make_unique<ucx_comm>(c.group(both, how, "left", 10));
            std::vector<std::byte> gone;
            if (c.rank() == 0) {
                g.reset();
                how.put("gone", gone);
            } else {  // the two have not talked yet
                MUST(how.get("gone", gone, 10));
                int value = 0;
                request in = g->post_recv(0, 1, room_of(value));
                std::vector<int> large(1 << 20, 3);
                request out = g->post_send(0, 1, std::as_bytes(std::span(large)));
                const double before = ccoll::steady_seconds();
                while (!g->test(in) || !g->test(out)) {
                    MUST(ccoll::steady_seconds() - before < 20);
                    g->idle();
                    g->poll();
                }
                MUST(in.result == status::peer_lost);
                how.put("told", gone);
            }
            while (c.rank() == 0 && !how.get("told", gone, 0)) c.poll();
            ring(c, 1);
        });
    });
}

TEST_CASE("wake() of another thread ends a sleep, or the next one", "[ucx]")
{
    for_each_network([] {
        ccoll::process_exchange how;
        ccoll::detail::ucx_node node;
        REQUIRE(node.open(how, 0, 1, 60).empty());
        const auto slept = [&node](int milliseconds) {
            const double before = ccoll::steady_seconds();
            node.sleep(milliseconds);
            return ccoll::steady_seconds() - before;
        };
        // UCX may still have something to do from the beginning. Without wake(), it then sleeps to the end.
        const auto sleeps_whole = [&] {
            for (int i = 0; i < 1000; ++i) {
                node.progress();
                if (slept(20) > 0.019) return true;
            }
            return false;
        };
        // The machine may be busy, so a sleep that was not ended lasts much longer than what is allowed.
        constexpr int long_sleep = 50'000;
        constexpr double ended = 25;
        REQUIRE(sleeps_whole());
        std::thread([&node] { node.wake(); }).join();
        CHECK(slept(long_sleep) < ended);
        REQUIRE(sleeps_whole());
        std::thread later([&node] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            node.wake();
        });
        CHECK(slept(long_sleep) < ended);
        later.join();
    });
}

TEST_CASE("Memory of a communicator that ends in the middle of a message is kept as long as UCX uses it",
          "[ucx]")
{
    for_each_network([] {
        run_ranks(2, [](ucx_comm& c, ccoll::exchange& how) {
            const std::vector<int> both{0, 1};
            for (int i = 0; i < 5; ++i) {
                ucx_comm g = c.group(both, how, "ends" + std::to_string(i), 10);
                constexpr std::size_t length = 1 << 20;
                ccoll::buffer_memory* const b = g.memory().take(length);
                request r = g.rank() == 0 ? g.post_send(1, 1, b->room()) : g.post_recv(0, 1, b->room());
                // It may be anywhere between its beginning and its end.
                for (int k = 0; k < i; ++k) g.test(r);
                g.cancel(r);
            }
            ring(c, 1);
        });
    });
}

TEST_CASE("Ranks of one machine are on one node", "[ucx]")
{
    const use_network over(networks[0]);
    run_ranks(3, [](ucx_comm& c, ccoll::exchange&) {
        MUST(c.nodes().size() == 3);
        for (const int each : c.nodes()) MUST(each == 0);
        const std::vector<int> other{0, 1, 1};
        c.set_nodes(other);
        MUST(c.nodes()[2] == 1);
    });
}

}  // namespace ucx_cases
