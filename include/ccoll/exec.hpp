// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exec.hpp - floor 5. Runs the work of a codec (codec.hpp) on several threads. It is used only by calls to which it is passed.
#pragma once

#include <array>
#include <cstddef>
#include <system_error>
#include <thread>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI::policies::Exec {

/// `Count` threads, 1 to 64, that live as long as one call; the calling thread is one of them. Starting a thread costs about 20 us, so a
/// thread pool of your own is better for many short calls. If the system refuses to start a thread, the caller does its share of the work.
template <std::size_t Count>
struct Threads {
    static_assert(Count >= 1 && Count <= 64, "ccoll: Exec::Threads takes 1 to 64 threads");

    static constexpr std::size_t width() { return Count; }

    /// Calls job(i) once for every i < parts, and returns when all have returned.
    template <class Job>
    void operator()(std::size_t parts, const Job& job) const
    {
        std::array<std::thread, Count> others;
        const auto deal = [&](std::size_t first) {
            for (std::size_t part = first; part < parts; part += Count) job(part);
        };
        for (std::size_t i = 1; i < Count && i < parts; ++i) {
#if defined(__cpp_exceptions)
            try {
                others[i] = std::thread(deal, i);
            } catch (const std::system_error&) {
                deal(i);
            }
#else
            others[i] = std::thread(deal, i);
#endif
        }
        deal(0);
        for (std::thread& t : others)
            if (t.joinable()) t.join();
    }
};

}  // namespace ccoll::policies::Exec
