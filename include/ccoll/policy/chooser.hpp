// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/chooser.hpp - floor 1. How a call picks one of several ways to run: a plain function of what all
// ranks know.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

/// One way to run a call, as a chooser sees it. The names are those of a report, and "Auto" where a plan
/// leaves the algorithm open.
struct candidate {
    const char* algorithm = "";
    const char* codec = "";
    const char* placement = "";
    bool exact = true;        ///< no lossy codec
    double bound = 0;         ///< E of the plan's bound; 0 if exact, and with RuntimeBound
    bool relative = false;    ///< E is a fraction of the range of the data, else in the unit of the data
    bool end_to_end = false;  ///< E holds for the result, else for one compression
};

/// What is known when a call begins. It is the same on all ranks whose arguments agree.
struct choice_facts {
    std::string_view collective;  ///< "allreduce", "bcast", ...
    std::size_t bytes = 0;  ///< of the whole vector (or all p parts together) before encoding; 0 with counts
    int ranks = 1;
    std::span<const candidate> candidates;
};

/// @return  an index into `candidates`
/// Every rank calls its own chooser, and the answers are not compared beforehand. So the answer must depend
/// on the facts alone, and not on the data, the time or the rank. Ranks that choose differently get
/// status::plan_differs. A chooser must not throw.
using chooser = std::size_t (*)(const choice_facts&);

}  // namespace ccoll::inline CCOLL_ABI
