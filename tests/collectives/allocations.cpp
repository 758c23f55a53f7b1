// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// In the steady state a call allocates nothing. operator new is counted in this whole program, and otherwise
// only allocates. A sanitizer has its own operator new, which is not replaced.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if !defined(SANITIZED)
#include <atomic>
#include <cstdlib>
#include <new>

#include "worlds.hpp"

using namespace ccoll::policies;
using namespace worlds;

namespace {

std::atomic<bool> counting{false};
std::atomic<std::size_t> allocations{0};

void* counted(std::size_t size)
{
    if (counting.load(std::memory_order_relaxed)) ++allocations;
    if (void* p = std::malloc(size > 0 ? size : 1)) return p;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace {

/// A barrier of all ranks that needs no message and no memory.
class meeting {
public:
    explicit meeting(int p) : p_(p) {}
    void operator()()
    {
        const int round = round_.load();
        if (++here_ == p_) {
            here_ = 0;
            ++round_;
        } else
            while (round_.load() == round) std::this_thread::yield();
    }

private:
    int p_;
    std::atomic<int> here_{0}, round_{0};
};

/// Allocations of `calls` repetitions on all ranks together. As many calls are made before, to warm up.
template <class Body>
std::size_t allocations_of(int p, int calls, Body body)
{
    const auto meet = std::make_shared<meeting>(p);
    const auto counts = run<std::size_t>(p, [=](threads_comm& comm, std::size_t& mine) {
        const auto me = static_cast<unsigned>(comm.rank());
        auto send = fields::smooth<float>(200000, me + 1);
        std::vector<float> recv(200000 * static_cast<std::size_t>(comm.size()));
        for (int i = 0; i < calls; ++i) body(comm, send, recv);
        (*meet)();
        if (me == 0) {
            allocations = 0;
            counting = true;
        }
        (*meet)();
        for (int i = 0; i < calls; ++i) body(comm, send, recv);
        (*meet)();
        if (me == 0) counting = false;
        mine = allocations;
    });
    return counts[0];
}

}  // namespace

TEST_CASE("Repeated calls allocate nothing", "[allocations]")
{
    using E = ErrorBound<1e-3>;
    using buffer = std::vector<float>;
    for (const int p : {1, 2, 4})
        // One slice; an agreement and several slices.
        for (const std::size_t n : {std::size_t{1000}, std::size_t{200000}}) {
            INFO("p " << p << ", n " << n);
            CHECK(allocations_of(p, 12, [n](threads_comm& comm, buffer& send, buffer& recv) {
                      std::span<float> out = std::span<float>(recv).first(n);
                      ccoll::allreduce<Algo::Ring, Codec::PipeSZx, E>(std::span<const float>(send).first(n),
                                                                      out, comm);
                  }) == 0);
            CHECK(allocations_of(p, 12, [n](threads_comm& comm, buffer& send, buffer& recv) {
                      std::span<float> out = std::span<float>(recv).first(n);
                      ccoll::allreduce<Algo::RecursiveDoubling>(std::span<const float>(send).first(n), out,
                                                                comm);
                  }) == 0);
            CHECK(allocations_of(p, 12, [n](threads_comm& comm, buffer& send, buffer& recv) {
                      std::span<float> out =
                          std::span<float>(recv).first(n * static_cast<std::size_t>(comm.size()));
                      ccoll::allgather<Codec::SZx, E>(std::span<const float>(send).first(n), out, comm);
                  }) == 0);
            CHECK(allocations_of(p, 12, [n](threads_comm& comm, buffer& send, buffer&) {
                      std::span<float> out = std::span<float>(send).first(n);
                      ccoll::bcast<Codec::PipeSZx, E>(out, 0, comm);
                      ccoll::bcast<Check::Collective>(out, 0, comm);
                  }) == 0);
        }
}

TEST_CASE("Messages between two ranks allocate nothing but a request", "[allocations]")
{
    using plan = ccoll::Plan<Codec::PipeSZx, ErrorBound<1e-3>>;
    using buffer = std::vector<float>;
    for (const int p : {1, 2, 4})
        for (const std::size_t n : {std::size_t{0}, std::size_t{1000}, std::size_t{200000}}) {
            INFO("p " << p << ", n " << n);
            const auto ring = [](threads_comm& comm) {
                return std::pair((comm.rank() + 1) % comm.size(),
                                 (comm.rank() + comm.size() - 1) % comm.size());
            };
            CHECK(allocations_of(p, 12, [=](threads_comm& comm, buffer& send, buffer& recv) {
                      const auto [right, left] = ring(comm);
                      ccoll::sendrecv<plan>(send.data(), n, right, recv.data(), n, left, 1, comm);
                      ccoll::sendrecv<plan>(send.data(), n, right, send.data(), n, left, 1, comm);
                  }) == 0);
            const std::size_t requests =
                allocations_of(p, 12, [=](threads_comm& comm, buffer& send, buffer& recv) {
                    const auto [right, left] = ring(comm);
                    ccoll::request other = ccoll::irecv<plan>(recv.data(), n, left, 1, comm);
                    ccoll::request mine = ccoll::isend<plan>(send.data(), n, right, 1, comm);
                    mine.wait();
                    other.wait();
                });
            CHECK(requests == 12 * 2 * static_cast<std::size_t>(p));
        }
}

TEST_CASE("A counter that counts", "[allocations]")
{
    CHECK(allocations_of(2, 3, [](threads_comm&, std::vector<float>&, std::vector<float>&) {
              ::operator delete(::operator new(4));
          }) >= 6);  // a compiler may omit a new expression, but not this call
}

#endif
