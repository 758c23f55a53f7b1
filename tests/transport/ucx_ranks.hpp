// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks over UCX as threads of one process. Each has a node of its own, as a process would have.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <ccoll/transport/ucx.hpp>

namespace ucx_tests {

/// What UCX may use: each test runs over both.
struct network {
    const char* name;
    const char* transports;
};
inline constexpr network networks[] = {{"tcp", "tcp"}, {"shared memory", "posix,sysv,self,cma"}};

/// Nodes that are made while this object lives use this network.
class use_network {
public:
    explicit use_network(const network& n) { setenv("UCX_TLS", n.transports, 1); }
    use_network(const use_network&) = delete;
    use_network& operator=(const use_network&) = delete;
    ~use_network() { unsetenv("UCX_TLS"); }
};

/// Calls body() with each of them.
template <class Body>
void for_each_network(Body body)
{
    for (const network& each : networks) {
        const use_network over(each);
        body();
    }
}

/// Catch's assertions may be used only by one thread, so bodies throw, and run_ranks rethrows.
inline void must(bool holds, const char* what, int line)
{
    if (!holds) throw std::runtime_error("line " + std::to_string(line) + ": " + what);
}
#define MUST(...) ucx_tests::must((__VA_ARGS__), #__VA_ARGS__, __LINE__)

/// Calls body(ucx_comm&, exchange&) on p threads. Rethrows what came first, but peer_lost and abandoned,
/// which may follow from what another rank has thrown, only if there is nothing else.
template <class Body>
void run_ranks(int p, Body body)
{
    ccoll::process_exchange how;
    std::mutex mutex;
    std::exception_ptr cause;
    bool may_be_consequence = false;
    const auto caught = [&](bool consequence) {
        const std::lock_guard lock(mutex);
        if (cause && (consequence || !may_be_consequence)) return;
        cause = std::current_exception();
        may_be_consequence = consequence;
    };
    const auto run = [&](int rank) noexcept {
        try {
            ccoll::ucx_comm comm = ccoll::ucx_comm::world(how, rank, p, 60);
            if (comm.refusal() != ccoll::status::ok)
                ccoll::raise("run_ranks", {comm.refusal()}, comm.explain());
            body(comm, how);
        } catch (const ccoll::error& e) {
            caught(e.what_happened().code == ccoll::status::peer_lost ||
                   e.what_happened().code == ccoll::status::abandoned);
        } catch (...) {
            caught(false);
        }
    };
    std::vector<std::thread> threads;
    for (int rank = 0; rank + 1 < p; ++rank) threads.emplace_back(run, rank);
    run(p - 1);
    for (std::thread& t : threads) t.join();
    if (cause) std::rethrow_exception(cause);
}

/// Waits until all requests are done.
template <class... Requests>
void wait(ccoll::ucx_comm& c, Requests&... all)
{
    for (;;) {
        c.poll();
        bool done = true;
        ((done = c.test(all) && done), ...);
        if (done) return;
        c.idle();
    }
}

inline void barrier(ccoll::ucx_comm& c, int tag = 32000)
{
    for (int k = 1; k < c.size(); k *= 2) {
        auto in = c.post_recv((c.rank() + c.size() - k) % c.size(), tag, {});
        auto out = c.post_send((c.rank() + k) % c.size(), tag, {});
        wait(c, in, out);
        if (in.result != ccoll::status::ok || out.result != ccoll::status::ok)
            throw std::runtime_error(std::string("barrier: ") + c.explain());
    }
}

template <class T>
ccoll::const_byte_span bytes_of(const T& v)
{
    return std::as_bytes(std::span(&v, 1));
}
template <class T>
ccoll::byte_span room_of(T& v)
{
    return std::as_writable_bytes(std::span(&v, 1));
}

}  // namespace ucx_tests
