// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// instrument/report.hpp - floor 1. The report that every call returns: what was decided, what it cost, and how accurate the result is.
#pragma once

#include <cstddef>

#include <ccoll/base/error.hpp>
#include <ccoll/instrument/breakdown.hpp>

namespace ccoll::inline CCOLL_ABI {

/// What a Fault:: policy saw on this rank while the call ran. Calls that run at the same time on one communicator share their links, and
/// each counts what happened to all of them.
struct fault_counts {
    std::size_t detected = 0;   ///< fragments and acknowledgements that arrived damaged
    std::size_t corrected = 0;  ///< bits, with Fault::Hamming
    std::size_t resent = 0;     ///< fragments that were sent again, also those that were only late
};

/// Facts about one call, as one rank saw it.
struct report {
    const char* algorithm = "none";
    const char* codec = "none";
    const char* placement = "none";
    std::size_t raw_bytes = 0;        ///< bytes that this rank would have sent without a codec; 0 if MPI's own collective did the work
    std::size_t sent_bytes = 0;       ///< bytes that it sent, headers included
    std::size_t fallback_blocks = 0;  ///< blocks or chunks that were stored as they are, or whose sums could not be encoded: exact, but not
                                      ///< smaller
    std::size_t special_values = 0;   ///< values (NaN, infinities, fill values) that a lossy codec stored exactly and separately
    double error_bound = 0;           ///< the absolute bound that was used for each compression; infinite with FixedRate
    double worst_case_error = 0;      ///< largest error of a finite element of the result; the rounding of an exact result comes on top
    double probable_error = 0;        ///< 95.44 % of the errors are below it if they are independent and normal (C-Coll, Theorem 1)
    bool exact = true;                ///< nothing was lossy
    bool same_bits = true;            ///< all ranks that hold an element of the result hold the same bits
    bool direct = false;              ///< messages were in the memory of a device: Transport::Direct, and all work had kernels
    bool agreed = false;              ///< ranks compared their arguments before the first element moved
    fault_counts faults;              ///< with Fault::
    ccoll::breakdown breakdown;       ///< seconds per phase, with Instrument::Breakdown
    verdict trouble;                  ///< not ok only after a failed call with std::error_code

    /// raw_bytes / sent_bytes; 1 if nothing was sent.
    constexpr double ratio() const { return sent_bytes == 0 ? 1.0 : static_cast<double>(raw_bytes) / static_cast<double>(sent_bytes); }
};

}  // namespace ccoll
