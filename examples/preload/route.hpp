// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who does a call: MPI, or ccoll with the plan of a rule. All ranks decide alike, because they have the same
// plan (that of rank 0), and a decision follows from what MPI demands to be equal on all ranks, or from what
// they have told each other.
#pragma once

#include <cstdint>
#include <string>

#include "arguments.hpp"
#include "record.hpp"

namespace preload {

/// Reads the plan on rank 0 and sends it to all; after MPI_Init.
void open();
/// Before MPI_Finalize.
void close();

struct state {
    bool open = false, nonblocking = false;
    std::uint64_t smallest[whats];  ///< bytes that a rule takes; the largest number if there is no rule
    int waiting = 0;                ///< communicators that will be attached by their next blocking call
};
extern state now;

/// Of the whole vector, as far as this rank knows without asking.
std::uint64_t bytes_seen_by(const arguments& a);

struct decision {
    const rule* taken = nullptr;
    reason why = reason::no_rule;
    kind elements = kind::f32;
    operation op = operation::sum;
    std::uint64_t bytes = 0;
    int me = 0, p = 1;
};
/// @param later  the call is nonblocking or persistent, so nobody can be asked
decision decide(const arguments& a, bool later);
/// For most calls it is clear at once.
inline bool surely_left(const arguments& a)
{
    const std::uint64_t smallest = now.smallest[static_cast<std::size_t>(a.which)];
    return smallest == ~std::uint64_t{0} || (!must_ask(a.which) && bytes_seen_by(a) < smallest);
}

/// Runs it with ccoll.
int perform(const arguments& a, const decision& d);

/// Tells the error handler of the communicator. @return what MPI's function returns
int failed(const arguments& a, const char* says);

/// Before a blocking collective that MPI does: it is the time to make a communicator ready for nonblocking
/// calls, which must not wait.
void attach_if_waiting(MPI_Comm comm);

}  // namespace preload
