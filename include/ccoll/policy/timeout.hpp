// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/timeout.hpp - floor 1. How long a rank waits for other ranks.
#pragma once

#include <ccoll/policy/error_bound.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace policies {

/// If nothing arrives at a rank for this many seconds, the rank gives the call up. It throws ccoll::error
/// with status::timed_out and the rank that it was waiting for, and tells the other ranks, which throw the
/// same. Without a Timeout, ranks wait for ever, as in MPI. A call with a Timeout is never passed on to the
/// transport's own collectives, because those cannot be given up.
template <literal Seconds>
struct Timeout : policy<axis::timeout> {
    static constexpr const char* name = "Timeout";
    static constexpr double seconds = Seconds.value();
};

}  // namespace policies

/// What a plan holds if no Timeout was named.
struct no_timeout : policy<axis::timeout> {
    static constexpr const char* name = "none";
    static constexpr double seconds = 0;
};

}  // namespace ccoll
