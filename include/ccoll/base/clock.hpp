// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/clock.hpp - floor 0. Seconds that only go forward. Not by <chrono>, which costs every file that
// includes it 0.1 s of compiling.
#pragma once

#include <ctime>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Seconds since some moment in the past, the same for all threads of the process; resolves 1 ns and better
/// for 100 days.
inline double steady_seconds() noexcept
{
    std::timespec now{};
#if defined(CLOCK_MONOTONIC)
    clock_gettime(CLOCK_MONOTONIC, &now);
#else
    std::timespec_get(&now, TIME_UTC);
#endif
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// For how many seconds somebody has waited who looks again and again. What lies between two looks counts as
/// `longest_look` at most: a process that was stopped meanwhile (SIGSTOP, a debugger, a virtual machine that
/// is moved), or that did something else, has not waited.
class waited_seconds {
public:
    explicit constexpr waited_seconds(double longest_look) : longest_look_(longest_look) {}

    /// @param now  of a clock that only goes forward, and begins at 0 or later
    /// @return seconds from the first look, or since restart()
    constexpr double look(double now)
    {
        const double since = last_ < 0 ? 0 : now - last_;
        last_ = now;
        return total_ += since < longest_look_ ? since : longest_look_;
    }
    /// Begins again with the last look.
    constexpr void restart() { total_ = 0; }

private:
    double longest_look_, last_ = -1, total_ = 0;
};

}  // namespace ccoll::inline CCOLL_ABI
