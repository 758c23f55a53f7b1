// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process that is forked in the middle of calls, as data loaders do it: in the new one nothing waits, talks
// or is joined, neither when objects are destroyed one by one nor at its exit, and what it asks for is
// refused. The calls of the old one end as if nothing had happened.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "check.hpp"

#include <ccoll/allreduce.hpp>
#include <ccoll/exec.hpp>
#include <ccoll/progress.hpp>
#include <ccoll/transport/faulty.hpp>
#include <ccoll/transport/mpi.hpp>

using namespace ccoll::policies;
using floats = std::vector<float>;

namespace {

constexpr std::size_t n = 300000;
constexpr int tag = 30000;      // of a message outside of all calls
std::array<floats, 4> in, out;  // of the calls below
std::optional<ccoll::request> begun;
std::optional<ccoll::persistent> prepared;
std::optional<ccoll::progress_thread> helper;
std::optional<ccoll::background_request> in_background;
std::optional<ccoll::faulty<ccoll::mpi_comm>> delayed;

/// Runs `work` in a forked process. It must return true, and soon.
template <class Work>
void in_a_child(const char* what, Work work)
{
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(work() ? 0 : 1);
    int state = 0;
    pid_t ended = 0;
    for (int i = 0; i < 1000 && ended == 0; ++i) {
        usleep(10000);
        ended = waitpid(child, &state, WNOHANG);
    }
    if (ended == 0) {
        kill(child, SIGKILL);
        waitpid(child, &state, 0);
    }
    check::expect(ended == child && WIFEXITED(state) && WEXITSTATUS(state) == 0, what);
}

/// Does `call` fail because it is made in another process?
template <class Call>
bool is_refused(Call call)
{
    try {
        call();
    } catch (const ccoll::error& e) {
        return e.what_happened().code == ccoll::status::no_communicator &&
               std::string(e.what()).find("forked") != std::string::npos;
    }
    return false;
}

/// Sums by the team of this thread.
int team_adds()
{
    std::atomic<int> sum{0};
    ccoll::detail::team_of_this_thread<3>{}(100, [&](std::size_t part) { sum += static_cast<int>(part); });
    return sum;
}

void children(MPI_Comm comm)
{
    in_a_child("calls are refused", [&] {
        std::error_code code;
        floats v(10);
        const bool tested = begun->test() && prepared->test() && in_background->test();
        const bool waited = is_refused([] { begun->wait(); }) && is_refused([] { prepared->wait(); }) &&
                            is_refused([] { in_background->wait(); });
        in_background->wait(code);
        return tested && waited && code == ccoll::status::no_communicator &&
               is_refused([] { prepared->start(); }) && is_refused([&] { ccoll::allreduce(v, comm); }) &&
               is_refused(
                   [&] { static_cast<void>(helper->begin([&] { return ccoll::iallreduce(v, comm); })); }) &&
               is_refused([] { helper->run([] {}); });
    });
    in_a_child("a team of its own", [] { return team_adds() == 4950; });
    in_a_child("objects are destroyed", [] {
        begun.reset();
        prepared.reset();
        in_background.reset();
        helper.reset();
        delayed.reset();
        return true;
    });
    in_a_child("objects are replaced", [] {
        *begun = {};
        *prepared = {};
        *in_background = {};
        return !begun->valid() && !prepared->valid() && !in_background->valid();
    });
    in_a_child("static objects, and the team, are destroyed at exit", []() -> bool { std::exit(0); });
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv, MPI_THREAD_MULTIPLE);
    int level = 0, p = 1;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    std::array<MPI_Comm, 3> comms{};
    for (std::size_t i = 0; i < 3; ++i) {
        in[i].assign(n, 1);
        out[i].assign(n, 0);
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        ccoll::allreduce<Algo::Ring>(in[i], comms[i]);  // makes the private duplicate
        in[i].assign(n, 1);
    }
    EXPECT(team_adds() == 4950);
    const auto begin = [&] {
        begun = ccoll::iallreduce<Algo::Ring>(in[0], out[0], comms[0]);
        prepared = ccoll::allreduce_init<Algo::Ring>(in[1], out[1], comms[1]);
        prepared->start();
        helper.emplace();
        in_background = helper->begin([&] { return ccoll::iallreduce<Algo::Ring>(in[2], out[2], comms[2]); });
    };
    if (check::rank == 0) {
        begin();
        delayed.emplace(ccoll::mpi_comm(comms[0]), ccoll::fault_rates{});
        in[3].assign(n, 7);
        static_cast<void>(delayed->post_send(p - 1, tag, std::as_bytes(std::span<const float>(in[3]))));
        children(comms[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check::rank != 0) begin();
    begun->wait();
    prepared->wait();
    in_background->wait();
    if (check::rank == p - 1) {
        ccoll::mpi_comm link(comms[0]);
        out[3].assign(n, 0);
        auto arrives = link.post_recv(0, tag, std::as_writable_bytes(std::span<float>(out[3])));
        while (!link.test(arrives)) {}
        EXPECT(out[3][n - 1] == 7);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    delayed.reset();
    for (int i = 0; i < 3; ++i) EXPECT(out[static_cast<std::size_t>(i)][n - 1] == static_cast<float>(p));
    EXPECT(team_adds() == 4950);
    in_background.reset();
    helper.reset();
    prepared.reset();
    begun.reset();
    for (MPI_Comm& each : comms) MPI_Comm_free(&each);
    return check::finish();
}
