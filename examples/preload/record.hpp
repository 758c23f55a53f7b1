// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What happened to the calls of the program, and the table of it at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ccoll/instrument/report.hpp>

#include "arguments.hpp"

namespace preload {

/// Why a call is left to MPI.
enum class reason {
    no_rule,
    by_rule,
    elements,
    operation,
    communicator,
    empty,
    nonblocking,
    fresh,
    does_not_pay,
    unread
};
inline constexpr const char* reason_names[] = {"no rule of the plan fits",
                                               "a rule says mpi",
                                               "not floats of one kind",
                                               "not a sum, minimum or maximum",
                                               "one rank, two groups, or processes of several programs",
                                               "no elements",
                                               "nonblocking or persistent",
                                               "no blocking call on this communicator before",
                                               "measured, and compression does not pay",
                                               "no plan"};

/// Each collective counts once, on its first rank.
void note_left(const arguments& a, reason why);
void note_done(what which, bool first_rank, std::uint64_t bytes, const ccoll::report& facts);

/// What CCOLL_PLAN_REPORT says, which is `off`, or `table`, or a file.
struct report_wish {
    bool given = false, off = false;
    std::string path;   ///< of the file; empty: none
    std::string fault;  ///< a sentence; then it counts as not given
};
const report_wish& asked_report();

/// Collective over MPI_COMM_WORLD.
void write_records(bool with_plan);

}  // namespace preload
