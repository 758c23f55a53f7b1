// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/clock.hpp - floor 0. Seconds that only go forward. Not by <chrono>, which costs every file that includes it 0.1 s of compiling.
#pragma once

#include <ctime>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Seconds since some moment in the past, the same for all threads of the process; resolves 1 ns and better for 100 days.
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

}  // namespace ccoll::inline CCOLL_ABI
