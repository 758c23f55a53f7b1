// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A job that is stopped as a whole for longer than its Timeout (SIGSTOP, a debugger, a machine that is moved)
// goes on afterwards.
#include <csignal>
#include <cstdlib>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"

#include <ccoll/ccoll.hpp>
#include <ccoll/fault.hpp>
#include <ccoll/transport/threads.hpp>

namespace suspended {

using namespace ccoll::policies;

namespace {

constexpr double limit_s = 2;

/// A process with two ranks. Rank 1 makes its call when it is told, and rank 0 is in its own by then.
class job {
public:
    template <class... Policies>
    static job start(int first_tag)
    {
        job j;
        if (pipe(j.says_) != 0 || pipe(j.hears_) != 0) return j;
        j.process_ = fork();
        if (j.process_ == 0) _exit(j.run<Policies...>(first_tag));
        return j;
    }
    void wait_until_it_waits() const
    {
        char c = 0;
        REQUIRE(read(says_[0], &c, 1) == 1);
    }
    void stop() const
    {
        kill(process_, SIGSTOP);
        int state = 0;
        REQUIRE(waitpid(process_, &state, WUNTRACED) == process_);
        REQUIRE(WIFSTOPPED(state));
    }
    /// @return its exit code
    int go_on() const
    {
        kill(process_, SIGCONT);
        usleep(50000);  // rank 0 looks at its watch before anything arrives
        REQUIRE(write(hears_[1], "x", 1) == 1);
        int state = 0;
        REQUIRE(waitpid(process_, &state, 0) == process_);
        return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    }

private:
    template <class... Policies>
    int run(int first_tag) const
    {
        std::vector<int> told(2, -1);
        ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
            std::vector<float> x(std::size_t{1} << 18, 1.0f);
            if (comm.rank() == 1) {
                char c = 0;
                while (comm.probe(first_tag) != 0) usleep(1000);
                usleep(20000);  // rank 0 waits by now, or else there is nothing to see here
                if (write(says_[1], "x", 1) != 1 || read(hears_[0], &c, 1) != 1) std::abort();
            }
            std::error_code code;
            ccoll::allreduce<Algo::Ring, Timeout<limit_s>, Policies...>(x, comm, code);
            told[static_cast<std::size_t>(comm.rank())] =
                code.value() == 0 && x[7] != 2.0f ? 99 : code.value();
        });
        return told[0] != 0 ? told[0] : told[1];
    }

    pid_t process_ = -1;
    int says_[2] = {-1, -1}, hears_[2] = {-1, -1};
};

}  // namespace

TEST_CASE("A job that was stopped for longer than its Timeout goes on", "[timeout]")
{
    const job plain = job::start<>(ccoll::detail::call_tags(0).control());
    const job guarded =
        job::start<Fault::Crc32c>(ccoll::detail::guarded_traffic<ccoll::threads_comm>::channel);
    for (const job* each : {&plain, &guarded}) each->wait_until_it_waits();
    for (const job* each : {&plain, &guarded}) each->stop();
    usleep(static_cast<useconds_t>(1.2 * limit_s * 1e6));
    CHECK(plain.go_on() == 0);
    CHECK(guarded.go_on() == 0);
}

}  // namespace suspended
