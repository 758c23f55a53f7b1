// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/error.hpp - floor 0. How a function reports that something went wrong: a status where nothing may
// throw, a verdict that travels between ranks, and an exception or a std::error_code for the user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

#include <ccoll/base/config.hpp>
#include <ccoll/base/messages.hpp>

namespace ccoll::inline CCOLL_ABI {

inline constexpr int nobody = -1;  ///< in place of a rank

/// What went wrong, if anything. The values travel between ranks and are those of the std::error_code
/// category "ccoll".
enum class status : std::uint32_t {
    ok,
    bad_argument,   ///< an argument that no call accepts, and that has no code of its own
    size_mismatch,  ///< this rank's buffers do not fit each other
    overlap,        ///< send and receive buffers share memory without being the same
    bad_bound,      ///< the error bound is not positive and below 1e300
    out_of_space,   ///< a destination is too small
    unsupported,    ///< a codec cannot hold these values; the chunk is then stored as it is
    too_large,     ///< no frame that can be added holds these values at this bound; ranks then reduce exactly
    corrupt,       ///< bytes that no encoder of this wire version writes
    wire_version,  ///< a frame or message of another wire version
    foreign_frame,  ///< a valid frame, but of another codec, element type or chunk size
    not_an_addend,  ///< a frame that was encoded to be moved, so it cannot be added
    count_differs,  ///< ranks disagree on the element count
    bound_differs,  ///< ranks disagree on the bound
    root_differs,   ///< ranks disagree on the root
    plan_differs,   ///< ranks disagree on collective, algorithm, codec, placement, operation or element type
    truncated,      ///< a message is longer than any that a correct peer sends
    peer_lost,      ///< a rank ended before it sent what the schedule promises
    transport_failed,  ///< the transport reported a failure; its own text is part of the error message
    no_communicator,   ///< the communicator cannot be used at all; the text says why
    timed_out,         ///< nothing arrived for longer than the plan's Timeout allows
    strided,           ///< the elements of a buffer are not contiguous
    no_nodes,          ///< Algo::Hierarchical does not know which ranks share a node
    abandoned,         ///< a rank destroyed its request before the call had ended
    bad_schedule,      ///< the schedule of an algorithm does not do what the collective promises
    bad_root,          ///< the root is not a rank of the communicator
    bad_peer,          ///< the other end of a message is not a rank of the communicator
    bad_tag,           ///< the tag of a message is out of range
    /// a count or displacement is negative (`expected` is 0 or 1), or an extent of a grid is not positive (2)
    bad_count,
    null_buffer,  ///< no memory where elements are read or written: null (`found` is 0), or MPI_IN_PLACE (1)
    /// start() of a persistent call that runs, wait() for one that was not started, a call while another
    /// thread is in one
    out_of_turn,
    device_failed,  ///< a device could not do its work; its own text is part of the error message
    undelivered,    ///< with a Fault:: policy: a message was sent again and again, and never arrived whole
    out_of_memory,  ///< a rank has no memory left for the call
    not_direct,     ///< Transport::Direct, and the transport does not take messages in the memory of a device
    previous_differs  ///< ranks hold different previous vectors in a call with ccoll::since
};
inline constexpr status last_status = status::previous_differs;

/// What error messages begin with. Never null; an unknown value gives "unknown status".
constexpr const char* describe(status s) noexcept
{
    switch (s) {
    case status::ok: return "ok";
    case status::bad_argument: return "an argument is out of range";
    case status::size_mismatch: return "the buffers of a rank do not fit each other (sizes in elements)";
    case status::overlap: return "the send and receive buffers of a rank overlap";
    case status::bad_bound: return "the error bound must be positive and below 1e300";
    case status::out_of_space: return "the destination is too small (sizes in bytes)";
    case status::unsupported: return "the codec cannot hold these values";
    case status::too_large: return "values are too large for this error bound to be added in encoded form";
    case status::corrupt: return "a frame holds bytes that no encoder of this wire version writes";
    case status::wire_version: return "ranks or files use different wire versions";
    case status::foreign_frame: return "a frame has another codec, element type or chunk size";
    case status::not_an_addend: return "a frame was not encoded to be added";
    case status::count_differs: return "ranks disagree on the element count";
    case status::bound_differs: return "ranks disagree on the error bound";
    case status::root_differs: return "ranks disagree on the root";
    case status::plan_differs: return "ranks disagree on the plan";
    case status::truncated: return "a message is longer than its receiver expects (sizes in bytes)";
    case status::peer_lost: return "a rank ended before it sent what the schedule promises";
    case status::transport_failed: return "the transport failed";
    case status::no_communicator: return "the communicator cannot be used";
    case status::timed_out: return "nothing arrived for longer than Timeout allows";
    case status::strided: return "the elements of a buffer are not contiguous";
    case status::no_nodes: return "it is not known which ranks share a node";
    case status::abandoned: return "a request was destroyed before its call had ended";
    case status::bad_schedule:
        return "the schedule of this algorithm does not do what the collective promises";
    case status::bad_root: return "the root must be a rank of the communicator";
    case status::bad_peer:
        return "the other end of a message must be a rank of the communicator, or ccoll::nobody";
    case status::bad_tag: return "the tag of a message is out of range";
    case status::bad_count: return "a count, displacement or extent is out of range";
    case status::null_buffer:
        return "a buffer is a null pointer, or MPI_IN_PLACE where the call does not take it";
    case status::device_failed: return "a device could not do its work";
    case status::out_of_turn: return "this call is out of turn";
    case status::undelivered: return "the link between two ranks damages or loses too many messages";
    case status::out_of_memory: return "a rank has no memory left for this call";
    case status::not_direct:
        return "Transport::Direct needs an MPI that says that it takes device pointers, and this one does "
               "not";
    case status::previous_differs:
        return "ranks hold different previous vectors, so changes cannot be sent: one of them is not that";
    }
    return "unknown status";
}

/// What a user can do about it: the end of an error message. Empty if `describe` says it, or if it depends on
/// the case.
constexpr const char* remedy(status s) noexcept
{
    switch (s) {
    case status::overlap:
        return "pass separate buffers or, where the call works in place, the one range alone or MPI_IN_PLACE";
    case status::too_large: return "raise the bound, or decode before reducing";
    case status::bad_count:
        return "counts and displacements are not negative, no memory has more than 2^55 elements, and "
               "extents are positive";
    case status::wire_version: return "build all ranks with the same version of ccoll";
    case status::not_an_addend: return "encode it with encode_addend";
    case status::count_differs: return "every rank must pass the count that the others expect of it";
    case status::bound_differs: return "compute the bound on one rank and broadcast it, or use RelativeBound";
    case status::root_differs: return "pass the same root on all ranks";
    case status::plan_differs:
        return "all ranks must make the same calls in the same order, with the same policies";
    case status::timed_out: return "find out whether all ranks made this call, or raise Timeout";
    case status::strided: return "copy them to a contiguous buffer first, or use ccoll::strided";
    case status::no_nodes: return "call ccoll::set_nodes(comm, node_of_rank) with one number per rank";
    case status::abandoned: return "keep it until wait() returns or test() is true";
    case status::not_direct: return "use Transport::Staged";
    case status::previous_differs:
        return "send the whole vector once, or name ccoll::since<Otherwise::Whole>(previous)";
    default: return "";
    }
}

/// What an encoder returns.
struct encode_result {
    std::size_t bytes = 0;  ///< written; meaningful if `code` is ok
    status code = status::ok;
    /// Blocks (or whole chunks) that are stored as they are, because the codec could not hold their values.
    std::size_t raw_blocks = 0;
    /// Values that were taken out of a block and stored exactly, so that its other values stay short.
    std::size_t special_values = 0;
};

/// The first error of a collective call, small enough to travel between ranks.
struct verdict {
    status code = status::ok;
    std::int32_t rank = nobody;  ///< the rank that found it
    /// The rank whose message or argument was wrong; of bad_count: the place in a list of counts.
    std::int32_t peer = nobody;
    std::int32_t step = -1;  ///< the step of the schedule in which it was found; -1: before the first
    /// A number of elements, bytes or seconds, a bound, a root or a plan (as in stamps), depending on `code`.
    double expected = 0;
    double found = 0;  ///< what was there instead; equal to `expected` if numbers say nothing

    constexpr bool ok() const noexcept { return code == status::ok; }
};
static_assert(sizeof(verdict) == 32, "ccoll: a verdict has 32 bytes on the wire");

namespace detail {
/// How many digits tell `v` from other numbers: 0.1 is 0.1, and not 0.10000000000000001.
[[gnu::cold]] inline int digits(double v)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.15g", v);
    return std::strtod(text, nullptr) == v ? 15 : 17;
}
}  // namespace detail

/// The whole error message: the call, what went wrong, the numbers, the ranks and the step, the transport's
/// own words if it has any, and the remedy. Every program with a call compiles this, so it only appends to
/// one string, and is compiled for size.
[[gnu::cold]] inline std::string sentence(const char* call, const verdict& v, const char* transport_says = "")
{
    std::string s = "ccoll::";
    s += call;
    s += ": ";
    s += describe(v.code);
    char text[96] = "";
    const int of_expected = detail::digits(v.expected), of_found = detail::digits(v.found);
    switch (v.code) {
    case status::bad_root:
    case status::bad_peer:
    case status::bad_tag:
        std::snprintf(text, sizeof text, "; expected 0 to %.*g, found %.*g", of_expected, v.expected,
                      of_found, v.found);
        break;
    case status::bad_count: {
        const char* const kind = v.expected == 0 ? "count" : v.expected == 1 ? "displacement" : "extent";
        std::snprintf(text, sizeof text, "; the %s is %.*g", kind, of_found, v.found);
        break;
    }
    case status::null_buffer:
        std::snprintf(text, sizeof text, "; it is %s and should have %.*g elements",
                      v.found == 0 ? "null" : "MPI_IN_PLACE", of_expected, v.expected);
        break;
    case status::bad_bound: std::snprintf(text, sizeof text, "; found %.*g", of_found, v.found); break;
    case status::undelivered:
        std::snprintf(text, sizeof text, "; fragment %.*g was sent %.*g times", of_expected, v.expected,
                      of_found, v.found);
        break;
    case status::timed_out:  // a measured time: more digits would mean nothing
        if (v.found > 0) std::snprintf(text, sizeof text, "; waited %.3g s", v.found);
        break;
    case status::plan_differs: break;  // the numbers are plans, which whoever knows the call puts into words
    default:
        if (v.expected != v.found)
            std::snprintf(text, sizeof text, "; expected %.*g, found %.*g", of_expected, v.expected, of_found,
                          v.found);
    }
    s += text;
    if (v.code == status::bad_count) {
        if (v.peer >= 0) {
            std::snprintf(text, sizeof text, " at place %d of its list", v.peer);
            s += text;
        }
    } else if (v.peer >= 0 && v.peer != v.rank) {  // the same: an argument of the rank itself, and no message
        const char* const way = v.code == status::undelivered ? "to"
                                : v.code == status::timed_out ? "for"
                                                              : "from";
        std::snprintf(text, sizeof text, " %s rank %d", way, v.peer);
        s += text;
    }
    if (v.step >= 0) {
        std::snprintf(text, sizeof text, " in step %d", v.step);
        s += text;
    }
    if (v.rank >= 0) {
        std::snprintf(text, sizeof text, " (seen on rank %d)", v.rank);
        s += text;
    }
    if (*transport_says != 0) (s += ": ") += transport_says;
    if (const char* const what_to_do = remedy(v.code); *what_to_do != 0) (s += "; ") += what_to_do;
    return s;
}

/// The category "ccoll" of the codes that the std::error_code overloads set. The values are those of
/// ccoll::status.
inline const std::error_category& error_category() noexcept
{
    struct category final : std::error_category {
        const char* name() const noexcept override { return "ccoll"; }
        [[gnu::cold]] std::string message(int value) const override
        {
            const auto s = static_cast<status>(value);
            std::string text = describe(s);
            if (*remedy(s) != 0) (text += "; ") += remedy(s);
            return text;
        }
    };
    static const category one;
    return one;
}

inline std::error_code make_error_code(status s) noexcept { return {static_cast<int>(s), error_category()}; }

/// What a call throws. `what()` is the error message; `what_happened()` gives programs the same facts as
/// values, and `code()` is what a std::error_code would have been set to.
class error : public std::system_error {
public:
    error(const char* call, const verdict& v, const char* transport_says = "")
        : std::system_error(make_error_code(v.code)), text_(sentence(call, v, transport_says)), verdict_(v)
    {}
    const char* what() const noexcept override { return text_.c_str(); }
    const verdict& what_happened() const noexcept { return verdict_; }

private:
    std::string text_;
    verdict verdict_;
};

/// Throws ccoll::error. A program without exceptions gives the message to the handler of on_message, which by
/// default prints it to stderr, and aborts, because no error may go unnoticed.
[[noreturn, gnu::cold]] inline void raise(const char* call, const verdict& v, const char* transport_says = "")
{
#if defined(__cpp_exceptions)
    throw error(call, v, transport_says);
#else
    detail::say(sentence(call, v, transport_says).c_str());
    std::abort();
#endif
}

}  // namespace ccoll

template <>
struct std::is_error_code_enum<ccoll::status> : std::true_type {};
