// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// instrument/report.hpp - floor 1. What every call returns: what was decided and what it cost.
#pragma once

#include <cstddef>

#include <ccoll/base/error.hpp>
#include <ccoll/instrument/breakdown.hpp>

namespace ccoll::inline CCOLL_ABI {

struct report {
    const char* algorithm = "none";
    const char* codec = "none";
    const char* placement = "none";
    std::size_t raw_bytes = 0;        ///< what this rank would have sent without a codec; 0 where MPI's own collective did the work
    std::size_t sent_bytes = 0;       ///< what it sent, headers included
    std::size_t fallback_blocks = 0;  ///< blocks (or chunks as a whole) that a lossy codec kept as they are: exact, and not smaller
    double error_bound = 0;           ///< the absolute bound per compression that was used
    double worst_case_error = 0;      ///< of any finite element of the result, beside the rounding of the exact result
    double probable_error = 0;        ///< 95.44 % of the errors are below it, if they are independent and normal (C-Coll, Theorem 1)
    bool exact = true;                ///< nothing was lossy
    bool same_bits = true;            ///< every rank that holds a result element holds these very bits
    bool agreed = false;              ///< ranks compared their arguments before the first element moved
    ccoll::breakdown breakdown;       ///< seconds per phase, with Instrument::Breakdown
    verdict trouble;                  ///< not ok only after a call with std::error_code that failed

    constexpr double ratio() const
    {
        return sent_bytes == 0 ? 1.0 : static_cast<double>(raw_bytes) / static_cast<double>(sent_bytes);
    }
};

}  // namespace ccoll
