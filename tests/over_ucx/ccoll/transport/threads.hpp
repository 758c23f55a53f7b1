// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In place of the library's header of this name, when this folder is the first in which a compiler looks:
// ranks are threads that talk through UCX. So tests that are written for ranks as threads run over UCX as
// they are: an even number of ranks over TCP, an odd one through shared memory, or both over what UCX_TLS
// says.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <ccoll/transport/ucx.hpp>

namespace ccoll::inline CCOLL_ABI {

using threads_comm = ucx_comm;

/// @see run_ranks of the library. What comes first is rethrown, but peer_lost and abandoned only if there is
/// nothing else.
template <class Body>
void run_ranks(int p, Body&& body)
{
    static const bool chosen = std::getenv("UCX_TLS") != nullptr;
    if (!chosen) setenv("UCX_TLS", p % 2 == 0 ? "tcp" : "posix,sysv,self,cma", 1);
    process_exchange how;
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
            ucx_comm comm = ucx_comm::world(how, rank, p, 60);
            if (comm.refusal() != status::ok) raise("run_ranks", {comm.refusal()}, comm.explain());
            body(comm);
        } catch (const error& e) {
            caught(e.what_happened().code == status::peer_lost ||
                   e.what_happened().code == status::abandoned);
        } catch (...) {
            caught(false);
        }
    };
    std::vector<std::thread> threads;
    for (int rank = 0; rank < p - 1; ++rank) threads.emplace_back(run, rank);
    run(p - 1);
    for (std::thread& each : threads) each.join();
    if (cause) std::rethrow_exception(cause);
}

}  // namespace ccoll::inline CCOLL_ABI
