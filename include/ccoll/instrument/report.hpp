// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// instrument/report.hpp - floor 1. The report that every call returns: what was decided, what it cost, and
// how accurate the result is.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#include <ccoll/base/error.hpp>
#include <ccoll/base/extremes.hpp>
#include <ccoll/instrument/breakdown.hpp>

namespace ccoll::inline CCOLL_ABI {

/// What a Fault:: policy saw on this rank while the call ran. Calls that run at the same time on one
/// communicator share their links, and each counts what happened to all of them.
struct fault_counts {
    std::size_t detected = 0;   ///< fragments and acknowledgements that arrived damaged
    std::size_t corrected = 0;  ///< bits, with Fault::Hamming
    std::size_t resent = 0;     ///< fragments that were sent again, also those that were only late
};

/// Who does the work of a call.
enum class ran_by : unsigned char {
    none,            ///< there was no call, or it failed before that was decided
    engine,          ///< a schedule of ccoll, on one level
    two_levels,      ///< Algo::Hierarchical: one schedule within nodes and one between them
    point_to_point,  ///< ccoll, in a call between two ranks
    mpi,             ///< MPI's own collective, or that of another transport
    several          ///< the report is a sum of calls that differ in this
};

/// For people; programs compare the value.
constexpr const char* name_of(ran_by who) noexcept
{
    switch (who) {
    case ran_by::none: return "nobody";
    case ran_by::engine: return "the engine";
    case ran_by::two_levels: return "the engine on two levels";
    case ran_by::point_to_point: return "the engine between two ranks";
    case ran_by::mpi: return "MPI";
    case ran_by::several: return "several";
    }
    return "unknown";
}

/// Facts about one call, as one rank saw it.
struct report {
    ccoll::ran_by ran_by = ccoll::ran_by::none;
    const char* algorithm = "none";
    const char* codec = "none";
    const char* placement = "none";
    const char* reason = "";  ///< why, where the call chose by measuring: Codec::Auto, menu::tuned(); else ""
    /// Bytes that this rank would have sent without a codec; 0 if MPI's own collective did the work.
    std::size_t raw_bytes = 0;
    std::size_t sent_bytes = 0;  ///< bytes that it sent, headers included
    /// Blocks or chunks that were stored as they are, or whose sums could not be encoded: exact, but not
    /// smaller.
    std::size_t fallback_blocks = 0;
    /// Values (NaN, infinities, fill values) that a lossy codec stored exactly and separately.
    std::size_t special_values = 0;
    /// The absolute bound that was used for each compression; infinite with FixedRate.
    double error_bound = 0;
    /// Largest error of a finite element of the result; the rounding of an exact result comes on top.
    double worst_case_error = 0;
    /// 95.44 % of the errors are below it if they are independent and normal (C-Coll, Theorem 1).
    double probable_error = 0;
    bool exact = true;      ///< nothing was lossy
    bool same_bits = true;  ///< all ranks that hold an element of the result hold the same bits
    /// Messages were in the memory of a device: Transport::Direct, and all work had kernels.
    bool direct = false;
    bool agreed = false;         ///< ranks compared their arguments before the first element moved
    fault_counts faults;         ///< with Fault::
    ccoll::breakdown breakdown;  ///< seconds per phase, with Instrument::Breakdown
    verdict trouble;             ///< not ok only after a failed call with std::error_code

    /// raw_bytes / sent_bytes. 1 if this rank sent nothing, as the root of a reduce: total() of all ranks has
    /// the ratio of the call.
    constexpr double ratio() const
    {
        return sent_bytes == 0 ? 1.0 : static_cast<double>(raw_bytes) / static_cast<double>(sent_bytes);
    }

    /// Of several calls, or of several ranks: bytes, blocks, values, faults and seconds are added; errors and
    /// bounds are the largest; of yes and no, what holds for all; the first trouble. Names that differ become
    /// "several". `report all; all += ...;` begins with nothing.
    report& operator+=(const report& other)
    {
        if (is_nothing()) return *this = other;
        if (other.is_nothing()) return *this;
        const auto join = [](const char*& mine, const char* theirs) {
            if (std::strcmp(mine, theirs) != 0) mine = "several";
        };
        if (ran_by != other.ran_by) ran_by = ccoll::ran_by::several;
        join(algorithm, other.algorithm);
        join(codec, other.codec);
        join(placement, other.placement);
        join(reason, other.reason);
        raw_bytes += other.raw_bytes;
        sent_bytes += other.sent_bytes;
        fallback_blocks += other.fallback_blocks;
        special_values += other.special_values;
        error_bound = std::max(error_bound, other.error_bound);
        worst_case_error = std::max(worst_case_error, other.worst_case_error);
        probable_error = std::max(probable_error, other.probable_error);
        exact = exact && other.exact;
        same_bits = same_bits && other.same_bits;
        direct = direct && other.direct;
        agreed = agreed && other.agreed;
        faults.detected += other.faults.detected;
        faults.corrected += other.faults.corrected;
        faults.resent += other.faults.resent;
        breakdown += other.breakdown;
        if (trouble.ok()) trouble = other.trouble;
        return *this;
    }

private:
    bool is_nothing() const { return ran_by == ccoll::ran_by::none && trouble.ok(); }
};

/// A report in a line, for logs: "Ring, SZp, Homomorphic: sent 100 bytes for 380 (ratio 3.80), every element
/// within 0.004". What is not remarkable is left out. Cost: it allocates the string.
[[gnu::cold]] inline std::string summary(const report& r)
{
    char text[160];
    std::string s = std::string(r.algorithm) + ", " + r.codec + ", " + r.placement + ": ";
    if (!r.trouble.ok()) return s + describe(r.trouble.code);
    if (r.ran_by == ran_by::mpi) s += "MPI did the work";
    else if (r.sent_bytes == 0) s += "sent nothing";
    else {
        std::snprintf(text, sizeof text, "sent %zu bytes for %zu (ratio %.2f)", r.sent_bytes, r.raw_bytes,
                      r.ratio());
        s += text;
    }
    if (r.exact) s += ", exact";
    else {
        std::snprintf(text, sizeof text, ", every element within %.3g", r.worst_case_error);
        s += text;
    }
    if (!r.same_bits) s += ", ranks may hold other bits";
    const auto count = [&](std::size_t n, const char* what) {
        if (n == 0) return;
        std::snprintf(text, sizeof text, ", %zu %s", n, what);
        s += text;
    };
    count(r.fallback_blocks, "blocks not compressed");
    count(r.special_values, "values stored apart");
    count(r.faults.detected, "faults detected");
    count(r.faults.resent, "fragments sent again");
    const ccoll::breakdown& b = r.breakdown;
    if (b.encode + b.decode + b.reduce + b.communicate + b.wait + b.copy > 0) {
        std::snprintf(text, sizeof text,
                      ", seconds: encode %.3g decode %.3g reduce %.3g communicate %.3g wait %.3g copy %.3g",
                      b.encode, b.decode, b.reduce, b.communicate, b.wait, b.copy);
        s += text;
    }
    return s;
}

}  // namespace ccoll
