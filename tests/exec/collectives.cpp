// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: thread sanitizer
// exec.hpp in plans: codec work of collectives on several threads gives the bytes and bits of one thread.
#include "support/catch.hpp"
#include "support/fields.hpp"

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/exec.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

namespace {

using floats = std::vector<float>;
using E = ErrorBound<1e-3>;

std::atomic<int> parts_of_pool{0};

/// A pool of a user: here threads that live as long as a job.
struct pool {
    static std::size_t width() { return 3; }
    template <class Job>
    void operator()(std::size_t parts, const Job& job) const
    {
        parts_of_pool += static_cast<int>(parts);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < parts; ++i) threads.emplace_back([&job, i] { job(i); });
        for (std::thread& each : threads) each.join();
    }
};

bool same_bits(const floats& a, const floats& b)
{
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Runs `plain` and `threaded` on p ranks: (send, recv, comm) -> report. @return what differs
template <class Plain, class Threaded>
std::string difference(int p, std::size_t n, std::size_t received, Plain plain, Threaded threaded)
{
    std::vector<std::string> wrong(static_cast<std::size_t>(p));
    ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
        const floats x = fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1);
        floats a(received), b(received);
        const ccoll::report expected = plain(x, a, comm), found = threaded(x, b, comm);
        std::string& mine = wrong[static_cast<std::size_t>(comm.rank())];
        if (!same_bits(a, b)) mine += "other bits; ";
        if (expected.sent_bytes != found.sent_bytes) mine += "other bytes; ";
    });
    std::string all;
    for (const std::string& each : wrong) all += each;
    return all;
}

template <class Exec, class... P>
void same_allreduce(std::size_t n)
{
    for (const int p : {1, 2, 3, 4})
        CHECK(difference(
                  p, n, n, [](auto& x, auto& y, auto& comm) { return ccoll::allreduce<P...>(x, y, comm); },
                  [](auto& x, auto& y, auto& comm) { return ccoll::allreduce<P..., Exec>(x, y, comm); }) ==
              "");
}

}  // namespace

TEST_CASE("Exec: a collective on several threads gives the bits and sends the bytes of one thread",
          "[exec][collectives]")
{
    for (const std::size_t n : {std::size_t{0}, std::size_t{1000}, std::size_t{500000}}) {
        INFO("n " << n);
        same_allreduce<Exec::Threads<1>, Codec::SZp, E>(n);
        same_allreduce<Exec::Threads<2>, Codec::SZp, E>(n);
        same_allreduce<Exec::Threads<3>, Algo::Ring, Codec::PipeSZx, E>(n);
        same_allreduce<Exec::Threads<4>, Algo::Rabenseifner, Codec::SZp, E, Op::Average>(n);
        same_allreduce<Exec::On<pool>, Codec::SZp, E, Placement::DecodeReduceEncode>(n);
    }
}

TEST_CASE("Exec: data movement, exchange and pairs on several threads", "[exec][collectives]")
{
    constexpr std::size_t n = 400000;
    CHECK(difference(
              3, n, 3 * n,
              [](auto& x, auto& y, auto& comm) { return ccoll::allgather<Codec::SZp, E>(x, y, comm); },
              [](auto& x, auto& y, auto& comm) {
                  return ccoll::allgather<Codec::SZp, E, Exec::Threads<4>>(x, y, comm);
              }) == "");
    CHECK(difference(
              4, n, n,
              [](auto& x, auto& y, auto& comm) { return ccoll::alltoall<Codec::SZx, E>(x, y, comm); },
              [](auto& x, auto& y, auto& comm) {
                  return ccoll::alltoall<Codec::SZx, E, Exec::Threads<2>>(x, y, comm);
              }) == "");
    const auto to_next = [](auto& comm) { return (comm.rank() + 1) % comm.size(); };
    const auto before = [](auto& comm) { return (comm.rank() + comm.size() - 1) % comm.size(); };
    CHECK(difference(
              3, n, n,
              [=](auto& x, auto& y, auto& comm) {
                  return ccoll::sendrecv<Codec::SZp, E>(x, to_next(comm), y, before(comm), 1, comm);
              },
              [=](auto& x, auto& y, auto& comm) {
                  return ccoll::sendrecv<Codec::SZp, E, Exec::Threads<3>>(x, to_next(comm), y, before(comm),
                                                                          1, comm);
              }) == "");
}

TEST_CASE("Exec: several requests of one thread share its queues", "[exec][collectives]")
{
    constexpr std::size_t n = 400000;
    CHECK(difference(
              2, n, n,
              [](auto& x, auto& y, auto& comm) {
                  floats z(n, 1), w(n);
                  ccoll::allreduce<Codec::SZp, E>(z, w, comm);
                  return ccoll::allreduce<Codec::SZp, E>(x, y, comm);
              },
              [](auto& x, auto& y, auto& comm) {
                  floats z(n, 1), w(n);
                  auto first = ccoll::iallreduce<Codec::SZp, E, Exec::Threads<2>>(z, w, comm);
                  auto second = ccoll::iallreduce<Codec::SZp, E, Exec::Threads<2>>(x, y, comm);
                  first.wait();
                  return second.wait();
              }) == "");
}

TEST_CASE("Exec: the parts of a pool are lanes, and short vectors do not ask for it", "[exec][collectives]")
{
    const auto parts_of = [](std::size_t n) {
        parts_of_pool = 0;
        ccoll::run_ranks(2, [n](ccoll::threads_comm& comm) {
            floats x(n, 1.5f);
            ccoll::allreduce<Codec::SZp, E, Exec::On<pool>>(x, comm);
        });
        return parts_of_pool.load();
    };
    CHECK(parts_of(1000) == 0);
    CHECK(parts_of(1000000) >= 8);
}
