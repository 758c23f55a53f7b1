// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/timeout.hpp - floor 1. How long a rank waits for the others.
#pragma once

#include <ccoll/policy/error_bound.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace policies {

/// A rank to which nothing arrives for so many seconds gives the call up: it throws ccoll::error with status::timed_out and the rank
/// it waited for, and tells the others, who throw the same. Without it ranks wait for ever, as MPI's do.
/// Such a call is never handed over to the transport's own collectives, which cannot be given up.
template <literal Seconds>
struct Timeout : policy<axis::timeout> {
    static constexpr const char* name = "Timeout";
    static constexpr double seconds = Seconds.value();
};

}  // namespace policies

/// What a plan holds when no time-out was named.
struct no_timeout : policy<axis::timeout> {
    static constexpr const char* name = "none";
    static constexpr double seconds = 0;
};

}  // namespace ccoll
