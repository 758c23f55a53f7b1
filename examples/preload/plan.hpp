// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan file: which collectives of a program are compressed, and how. It knows nothing of MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace preload {

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
enum class operation { sum, min, max };
inline constexpr const char* operation_names[] = {"sum", "min", "max"};

// What the menu in run.hpp is made of, in its order. auto comes first among the algorithms of each
// collective.
inline constexpr const char* codec_names[] = {"none", "lossless", "szp", "sze", "szx"};
inline constexpr std::size_t exact_codecs = 2;
inline constexpr std::size_t kinds_of_bounds = 4;  ///< absolute, relative; for one compression, for the
                                                   ///< result
inline constexpr std::size_t plans_per_algorithm =
    exact_codecs + (std::size(codec_names) - exact_codecs) * kinds_of_bounds;

/// Choices that are in no menu: the call measures whether compression pays, within a bound, or a part of the
/// range.
inline constexpr std::size_t measured = std::numeric_limits<std::size_t>::max() - 1,
                             measured_relative = measured + 1;
inline constexpr bool is_measured(std::size_t choice) { return choice >= measured; }

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
    std::size_t choice = 0;    ///< of the menu
    double bound = 0;
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
