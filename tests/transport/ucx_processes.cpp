// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: ucx, not sanitized
// Ranks over UCX as processes: one of them is killed, stopped, or ends before the others. The program itself
// never uses UCX, so that it may fork.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "ucx_ranks.hpp"

#include <ccoll/allreduce.hpp>
#include <ccoll/codec/szp.hpp>

namespace ucx_process_cases {

namespace {

using namespace ccoll::policies;
using namespace ucx_tests;
using ccoll::status;
using ccoll::ucx_comm;

/// p processes, each of which runs body(rank, exchange, what it tells), and their folder.
class job {
public:
    using body = std::function<void(int rank, ccoll::exchange& how, std::ostream& tell)>;

    job(int p, const body& run)
    {
        char name[] = "/tmp/ccoll-ucx-XXXXXX";
        REQUIRE(mkdtemp(name) != nullptr);
        folder_ = name;
        for (int rank = 0; rank < p; ++rank) {
            const pid_t child = fork();
            REQUIRE(child >= 0);
            if (child == 0) be(rank, run);
            ranks_.push_back({child});
        }
    }
    job(const job&) = delete;
    job& operator=(const job&) = delete;
    ~job()
    {
        for (process& each : ranks_) {
            if (each.has_ended) continue;
            kill(each.id, SIGKILL);
            waitpid(each.id, nullptr, 0);
        }
        std::error_code none;
        std::filesystem::remove_all(folder_, none);
    }

    void send_signal(int rank, int which) const { kill(ranks_[static_cast<std::size_t>(rank)].id, which); }

    /// @return true if the rank has ended by itself with exit code 0, within so many seconds
    bool ended_well(int rank, double seconds)
    {
        const process& child = ranks_[static_cast<std::size_t>(rank)];
        for (const double until = ccoll::steady_seconds() + seconds;
             !child.has_ended && ccoll::steady_seconds() < until; usleep(2000))
            look_after();
        return child.has_ended && WIFEXITED(child.how) && WEXITSTATUS(child.how) == 0;
    }
    std::string told(int rank) const
    {
        std::ifstream from(folder_ + "/told-" + std::to_string(rank));
        return {std::istreambuf_iterator<char>(from), {}};
    }
    /// Waits until the rank has told this word.
    bool has_told(int rank, const std::string& word, double seconds)
    {
        for (const double until = ccoll::steady_seconds() + seconds; ccoll::steady_seconds() < until;
             usleep(2000), look_after())
            if (told(rank).find(word) != std::string::npos) return true;
        return false;
    }

private:
    struct process {
        pid_t id;
        bool has_ended = false;
        int how = 0;
    };
    /// Until its parent has heard of it, a process that was killed is there for the system, and for UCX.
    void look_after()
    {
        for (process& each : ranks_)
            if (!each.has_ended) each.has_ended = waitpid(each.id, &each.how, WNOHANG) == each.id;
    }
    [[noreturn]] void be(int rank, const body& run) const
    {
        std::ofstream tell(folder_ + "/told-" + std::to_string(rank));
        int code = 1;
        try {
            ccoll::directory_exchange how(folder_ + "/exchange");
            run(rank, how, tell);
            code = 0;
        } catch (const std::exception& e) {
            tell << "threw " << e.what() << '\n';
        }
        tell.flush();
        _exit(code);
    }

    std::string folder_;
    std::vector<process> ranks_;
};

/// A rank asks its parent for something, at once and without a word. Made before the ranks are.
class listening_parent {
public:
    listening_parent()
    {
        asked_ = 0;
        std::signal(SIGUSR1, [](int) { asked_ = 1; });
    }
    static void ask() { kill(getppid(), SIGUSR1); }
    bool was_asked(double seconds) const
    {
        for (const double until = ccoll::steady_seconds() + seconds;
             asked_ == 0 && ccoll::steady_seconds() < until;)
            usleep(100);
        return asked_ == 1;
    }

private:
    static inline volatile std::sig_atomic_t asked_ = 0;
};

ucx_comm world_of(ccoll::exchange& how, int rank, int p)
{
    ucx_comm world = ucx_comm::world(how, rank, p, 30);
    if (world.refusal() != status::ok) throw std::runtime_error(world.explain());
    return world;
}

enum class end { is_killed, exits, leaves, is_stopped };

/// Calls until one fails. Tells its code and how long it took, the code of the next call, and how long it
/// takes to destroy the communicator.
template <class... Policies>
job::body calls(int p, end how_it_ends, std::size_t n)
{
    return [=](int rank, ccoll::exchange& how, std::ostream& tell) {
        auto world = std::make_unique<ucx_comm>(world_of(how, rank, p));
        std::vector<float> x(n), y(n);
        for (std::size_t i = 0; i < n; ++i) x[i] = 0.001f * static_cast<float>(i % 1000);
        std::error_code code;
        double began = 0;
        for (int call = 0; call < 1000 && !code; ++call) {
            if (rank == p - 1 && call == 10) {
                if (how_it_ends == end::exits) _exit(0);
                if (how_it_ends == end::leaves) return;
                // In the middle of a call.
                std::thread([how_it_ends] {
                    usleep(3000);
                    kill(getpid(), how_it_ends == end::is_killed ? SIGKILL : SIGSTOP);
                }).detach();
            }
            began = ccoll::steady_seconds();
            ccoll::allreduce<Algo::Ring, Policies...>(x, y, *world, code);
        }
        tell << "code " << code.value() << " seconds " << ccoll::steady_seconds() - began;
        ccoll::allreduce<Algo::Ring, Policies...>(x, y, *world, code);
        tell << " next " << code.value();
        const double freed = ccoll::steady_seconds();
        world.reset();
        tell << " freed " << ccoll::steady_seconds() - freed << std::endl;
    };
}

struct survivor {
    int code = 0, next = 0;
    double seconds = -1, freed = -1;
    explicit survivor(const std::string& told)
    {
        std::istringstream from(told);
        std::string word;
        from >> word >> code >> word >> seconds >> word >> next >> word >> freed;
    }
};

}  // namespace

TEST_CASE("Ranks are told when another one is killed, exits or leaves in the middle of calls", "[ucx]")
{
    constexpr int p = 3;
    for (const network& each : networks)
        for (const end how : {end::is_killed, end::exits, end::leaves})
            for (const std::size_t n : {std::size_t{1000}, std::size_t{300000}}) {
                const use_network over(each);
                CAPTURE(each.name, static_cast<int>(how), n);
                job all(p, calls<Codec::SZp, ErrorBound<1e-3>, Timeout<20>>(p, how, n));
                for (int rank = 0; rank < p - 1; ++rank) {
                    INFO("rank " << rank);
                    REQUIRE(all.has_told(rank, "freed", 30));
                    const std::string told = all.told(rank);
                    INFO(told);
                    const survivor s(told);
                    CHECK(static_cast<status>(s.code) == status::peer_lost);
                    CHECK(s.next != 0);
                    CHECK(s.seconds < 10);  // UCX asks every second, and twice
                    CHECK(s.freed < 2);
                }
            }
}

TEST_CASE("A Timeout ends calls with a rank that is stopped, and nobody waits long for it at the end",
          "[ucx]")
{
    constexpr int p = 3;
    for (const network& each : networks)
        for (const std::size_t n : {std::size_t{1000}, std::size_t{300000}}) {
            const use_network over(each);
            CAPTURE(each.name, n);
            job all(p, calls<Timeout<1>>(p, end::is_stopped, n));
            for (int rank = 0; rank < p - 1; ++rank) {
                INFO("rank " << rank);
                REQUIRE(all.has_told(rank, "freed", 30));
                const std::string told = all.told(rank);
                INFO(told);
                const survivor s(told);
                CHECK(static_cast<status>(s.code) == status::timed_out);
                CHECK(s.next != 0);
                CHECK(s.seconds < 5);
                CHECK(s.freed < 3);
            }
        }
}

TEST_CASE("A message that has half arrived when its sender is stopped is never written to other memory",
          "[ucx]")
{
    constexpr std::size_t length = 64 << 20;
    for (const network& each : networks) {
        const use_network over(each);
        CAPTURE(each.name);
        const listening_parent parent;
        job both(2, [](int rank, ccoll::exchange& how, std::ostream& tell) {
            ucx_comm world = world_of(how, rank, 2);
            const std::vector<int> ranks{0, 1};
            {
                ucx_comm g = world.group(ranks, how, "half", 10);
                barrier(g);
                ccoll::buffer_memory* const b = g.memory().take(length);
                const auto room = b->room();
                std::fill(room.begin(), room.end(), std::byte{static_cast<unsigned char>(rank + 1)});
                if (rank == 1) {
                    auto out = g.post_send(0, 1, room);
                    tell << "sends" << std::endl;
                    wait(g, out);
                    tell << "sent" << std::endl;
                    return;
                }
                auto in = g.post_recv(1, 1, room);
                // Until some of it is there.
                while (room[0] != std::byte{2} && !g.test(in)) {}
                listening_parent::ask();  // to stop the sender
                const double until = ccoll::steady_seconds() + 0.2;
                bool done = false;
                while (ccoll::steady_seconds() < until && !done) done = g.test(in);
                tell << (done ? "whole" : g.cancel(in) ? "cancelled" : "kept") << std::endl;
            }
            // If the memory was freed, it is given out again now.
            std::vector<std::vector<unsigned char>> other(3, std::vector<unsigned char>(length, 77));
            tell << "freed" << std::endl;
            for (const double until = ccoll::steady_seconds() + 0.5; ccoll::steady_seconds() < until;)
                world.poll();
            for (const auto& one : other)
                for (const unsigned char c : one)
                    if (c != 77) throw std::runtime_error("memory was written to");
            tell << "clean" << std::endl;
        });
        CHECK(parent.was_asked(20));
        both.send_signal(1, SIGSTOP);
        REQUIRE(both.has_told(0, "freed", 20));
        both.send_signal(1, SIGCONT);
        REQUIRE(both.has_told(0, "clean", 20));
        CHECK(both.ended_well(0, 5));
    }
}

TEST_CASE("A receive whose message has half arrived ends when its sender is killed", "[ucx]")
{
    constexpr std::size_t length = 64 << 20;
    for (const network& each : networks) {
        const use_network over(each);
        CAPTURE(each.name);
        const listening_parent parent;
        job both(2, [](int rank, ccoll::exchange& how, std::ostream& tell) {
            ucx_comm world = world_of(how, rank, 2);
            std::vector<std::byte> room(length, std::byte{static_cast<unsigned char>(rank + 1)});
            if (rank == 1) {
                auto out = world.post_send(0, 1, room);
                wait(world, out);
                for (;;) world.poll();
            }
            auto in = world.post_recv(1, 1, room);
            while (room[0] != std::byte{2} && !world.test(in)) {}
            listening_parent::ask();
            wait(world, in);
            tell << "result " << static_cast<int>(in.result) << std::endl;
        });
        CHECK(parent.was_asked(20));
        both.send_signal(1, SIGKILL);
        REQUIRE(both.has_told(0, "result", 20));
        const std::string told = both.told(0);
        INFO(told);  // all of it may have come before
        CHECK((told == "result 0\n" ||
               told == "result " + std::to_string(static_cast<int>(status::peer_lost)) + "\n"));
        CHECK(both.ended_well(0, 5));
    }
}

TEST_CASE("A short message arrives although its sender never comes back", "[ucx]")
{
    for (const network& each : networks) {
        const use_network over(each);
        CAPTURE(each.name);
        job both(2, [](int rank, ccoll::exchange& how, std::ostream& tell) {
            ucx_comm world = world_of(how, rank, 2);
            barrier(world);
            std::vector<std::byte> large(8 << 20, std::byte{1});
            int value = 17;
            if (rank == 1) {
                // The short one is behind messages that wait for their receiver.
                std::vector<ucx_comm::request> all;
                for (int i = 0; i < 4; ++i) all.push_back(world.post_send(0, 1, large));
                auto out = world.post_send(0, 2, bytes_of(value));
                for (int tries = 0; tries < 1000 && !world.test(out); ++tries) {}
                if (!world.cancel(out)) throw std::runtime_error("a short send is kept");
                tell << "away" << std::endl;
                sleep(3);
                return;
            }
            usleep(50000);
            value = 0;
            auto in = world.post_recv(1, 2, room_of(value));
            wait(world, in);
            tell << "value " << value << std::endl;
        });
        REQUIRE(both.has_told(1, "away", 10));
        CHECK(both.has_told(0, "value 17", 2));
    }
}

TEST_CASE("A process that was forked cannot use its parent's communicator, and does not disturb it", "[ucx]")
{
    for (const network& each : networks) {
        const use_network over(each);
        CAPTURE(each.name);
        job both(2, [](int rank, ccoll::exchange& how, std::ostream&) {
            auto world = std::make_unique<ucx_comm>(world_of(how, rank, 2));
            barrier(*world);
            const pid_t child = fork();
            if (child == 0) {
                int value = 0;
                auto r = world->post_send(0, 1, bytes_of(value));
                const bool refused = world->refusal() == status::no_communicator && world->test(r) &&
                                     r.result == status::transport_failed && *world->explain() != 0;
                world.reset();
                _exit(refused ? 0 : 1);
            }
            int code = 1;
            waitpid(child, &code, 0);
            barrier(*world);
            if (code != 0) throw std::runtime_error("the child has failed");
        });
        CHECK(both.ended_well(1, 10));
        CHECK(both.ended_well(0, 10));
    }
}

}  // namespace ucx_process_cases
