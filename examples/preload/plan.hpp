// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan file: which collectives of a program are compressed, and how. It knows nothing of MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <ccoll/dynamic/call.hpp>

namespace preload {

namespace dynamic = ccoll::dynamic;

/// The collectives that a rule can name.
enum class what {
    allreduce,
    reduce,
    reduce_scatter,
    reduce_scatter_block,
    bcast,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    gather,
    gatherv,
    scatter,
    scatterv
};
inline constexpr const char* what_names[] = {
    "allreduce", "reduce",    "reduce_scatter", "reduce_scatter_block",
    "bcast",     "allgather", "allgatherv",     "alltoall",
    "alltoallv", "gather",    "gatherv",        "scatter",
    "scatterv"};
inline constexpr std::size_t whats = std::size(what_names);

/// Elements that can be compressed.
enum class kind { f32, f64 };
inline constexpr const char* kind_names[] = {"float", "double"};
inline constexpr dynamic::element_id id_of(kind elements)
{
    return elements == kind::f32 ? dynamic::element_id::f32 : dynamic::element_id::f64;
}
/// Operations that keep a bound.
enum class operation { sum, min, max };
inline constexpr dynamic::operation_id id_of(operation op)
{
    return op == operation::min   ? dynamic::operation_id::Min
           : op == operation::max ? dynamic::operation_id::Max
                                  : dynamic::operation_id::Sum;
}
inline constexpr const char* operation_names[] = {"sum", "min", "max"};

/// Those of the menu in menu.hpp. With auto the call measures whether compression pays.
inline constexpr const char* codec_names[] = {"none", "lossless", "szp", "sze", "szx", "auto"};

inline bool is_measured(const dynamic::plan& how) { return how.codec == dynamic::codec_id::Auto; }

/// From inclusive, to exclusive.
struct range {
    std::uint64_t from = 0, to = std::numeric_limits<std::uint64_t>::max();
    bool has(std::uint64_t n) const { return from <= n && n < to; }
};

struct rule {
    unsigned collectives = 0, types = 0, operations = 0;  ///< bits
    range bytes, ranks;
    std::string communicator;  ///< its name; empty: any
    bool compresses = false;   ///< false: the call is left to MPI
    dynamic::plan how;
    std::string text;  ///< for the report: "ring, szp within 0.001"
};

struct plan {
    std::vector<rule> rules;
    bool nonblocking = false;  ///< nonblocking and persistent calls are compressed, too
    std::string fault;         ///< a sentence; then there are no rules
};

/// @param text  JSON, as docs/unmodified_programs.md describes it
plan read_plan(std::string_view text);

template <class Name>
bool bit(unsigned set, Name which)
{
    return (set >> static_cast<unsigned>(which) & 1) != 0;
}

}  // namespace preload
