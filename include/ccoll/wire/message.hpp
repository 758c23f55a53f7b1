// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wire/message.hpp - floor 1. What accompanies frames on the way between ranks: a stamp that says which call
// a message belongs to, and the short control messages by which ranks compare their arguments or tell each
// other of trouble.
// Drawn byte by byte in docs/wire_format.md.
#pragma once

#include <cstdint>
#include <limits>

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll::inline CCOLL_ABI {

enum class message_kind : std::uint8_t {
    data = 1,     ///< frames follow, one per block
    poison = 2,   ///< a verdict follows: the sender keeps to its schedule but no longer has data
    opinion = 3,  ///< control: the sender compares its arguments
    give_up = 4,  ///< control: a verdict; the sender has left the schedule
    question = 5  ///< control: the sender has waited long for this rank, and shows its arguments
};

/// What ranks of one call must have in common.
struct call_arguments {
    std::uint64_t count = 0;  ///< elements of the whole vector
    double bound = 0;         ///< 0: exact
    std::uint32_t path = 0;   ///< hash of collective and algorithm: who talks to whom
    /// Collective, codec, placement, operation, element type, kind of bound, check (agree/plan_word.hpp).
    std::uint32_t plan = 0;
    std::int32_t root = 0;
    std::int32_t rank = 0;  ///< whose arguments these are; 0 in a stamp, which is the same on all ranks

    friend constexpr bool operator==(const call_arguments& a, const call_arguments& b) noexcept
    {
        return a.count == b.count && a.bound == b.bound && a.path == b.path && a.plan == b.plan &&
               a.root == b.root;
    }
    /// Any total order will do. Equal arguments are ordered by rank.
    friend constexpr bool operator<(const call_arguments& a, const call_arguments& b) noexcept
    {
        if (a.count != b.count) return a.count < b.count;
        if (a.bound != b.bound) return a.bound < b.bound;
        if (a.path != b.path) return a.path < b.path;
        if (a.plan != b.plan) return a.plan < b.plan;
        return a.root != b.root ? a.root < b.root : a.rank < b.rank;
    }
};
static_assert(sizeof(call_arguments) == 32, "ccoll: call arguments have 32 bytes on the wire");

/// The start of every message of a collective. It is equal on all ranks of a healthy call, so a forwarded
/// message need not be stamped again.
struct call_stamp {
    static constexpr std::uint32_t magic_of_kind = 0x534D4343;  // "CCMS"
    static constexpr message_kind last_kind = message_kind::question;

    std::uint32_t magic = magic_of_kind;
    std::uint8_t version = wire_version;
    message_kind kind = message_kind::data;
    std::uint16_t trailer_bytes = 0;  ///< after the body, for an integrity check; none is defined yet
    std::uint32_t call = 0;           ///< how many calls came before on this communicator
    std::uint32_t reserved = 0;
    call_arguments arguments;

    constexpr bool reserved_is_zero() const noexcept { return reserved == 0; }
};
static_assert(sizeof(call_stamp) == 48, "ccoll: a call stamp has 48 bytes on the wire");

/// The start of every message of a point-to-point call.
struct pair_stamp {
    static constexpr std::uint32_t magic_of_kind = 0x50504343;  // "CCPP"
    static constexpr message_kind last_kind = message_kind::poison;

    std::uint32_t magic = magic_of_kind;
    std::uint8_t version = wire_version;
    message_kind kind = message_kind::data;
    std::uint16_t trailer_bytes = 0;
    std::uint32_t number = 0;  ///< of this message within its call
    std::uint32_t total = 0;   ///< messages of the call
    std::uint64_t count = 0;   ///< elements of the call
    double bound = 0;          ///< 0: exact
    std::uint32_t plan = 0;    ///< hash of codec, element type, kind of bound
    /// Of number and total (counted_check), which decide how many messages are waited for.
    std::uint32_t check = 0;
    std::uint64_t reserved = 0;

    constexpr bool reserved_is_zero() const noexcept { return reserved == 0; }
};
static_assert(sizeof(pair_stamp) == 48, "ccoll: a pair stamp has 48 bytes on the wire");

/// FNV-1a, chained over what ranks must have in common.
constexpr std::uint32_t mixed(std::uint32_t seed, const char* text) noexcept
{
    for (; *text != 0; ++text) seed = (seed ^ static_cast<unsigned char>(*text)) * 16777619u;
    return (seed ^ 0x1fu) * 16777619u;
}
constexpr std::uint32_t mixed(std::uint32_t seed, std::uint64_t number) noexcept
{
    for (; number != 0; number >>= 8) seed = (seed ^ static_cast<unsigned char>(number)) * 16777619u;
    return (seed ^ 0x1fu) * 16777619u;
}
inline constexpr std::uint32_t hash_seed = 2166136261u;

/// Do two ranks follow the same schedule? Only then does each send what the other waits for.
constexpr bool same_way(const call_arguments& a, const call_arguments& b) noexcept
{
    return a.path == b.path && a.root == b.root;
}

/// The most basic difference between two ranks, as {code, -, -, -, mine, theirs}; ok if there is none.
/// plan_differs comes with the words of both plans, or with 0 and 0 if only the algorithms differ.
constexpr verdict compare(const call_arguments& mine, const call_arguments& theirs) noexcept
{
    const auto differs = [](status code, auto a, auto b) {
        return verdict{code, nobody, nobody, -1, static_cast<double>(a), static_cast<double>(b)};
    };
    if (mine.plan != theirs.plan) return differs(status::plan_differs, mine.plan, theirs.plan);
    if (mine.count != theirs.count) return differs(status::count_differs, mine.count, theirs.count);
    if (mine.root != theirs.root) return differs(status::root_differs, mine.root, theirs.root);
    if (mine.path != theirs.path) return differs(status::plan_differs, 0, 0);
    if (mine.bound != theirs.bound) return differs(status::bound_differs, mine.bound, theirs.bound);
    return {};
}

/// Detects damage to the numbers from which a receiver knows how many messages to wait for.
constexpr std::uint32_t counted_check(const pair_stamp& s) noexcept
{
    return mixed(mixed(hash_seed, std::uint64_t{s.number}), std::uint64_t{s.total});
}

/// Reads the stamp at the start of a message: a call_stamp or a pair_stamp. Any bytes are safe.
/// @return ok, corrupt, or wire_version
template <class Stamp>
status read_stamp(const_byte_span from, Stamp& stamp) noexcept
{
    if (from.size() < sizeof(Stamp)) return status::corrupt;
    stamp = load<Stamp>(from, 0);
    if (stamp.magic != Stamp::magic_of_kind) return status::corrupt;
    if (stamp.version != wire_version) return status::wire_version;
    if (stamp.trailer_bytes != 0 || !stamp.reserved_is_zero()) return status::corrupt;
    return stamp.kind >= message_kind::data && stamp.kind <= Stamp::last_kind ? status::ok : status::corrupt;
}

/// Which call does a message belong to? Tags are reused after `period` numbers. So a message left over from
/// an earlier call has a number that is lower by a multiple of `period`. Any other number was damaged on the
/// way.
enum class belonging { ours, left_over, damaged };
constexpr belonging belongs(std::uint32_t ours, std::uint32_t theirs, std::uint32_t period) noexcept
{
    if (ours == theirs) return belonging::ours;
    return theirs < ours && (ours - theirs) % period == 0 ? belonging::left_over : belonging::damaged;
}

/// Reads a verdict from foreign bytes. Its code is one that this version knows.
inline verdict read_verdict(const_byte_span from) noexcept
{
    if (from.size() < sizeof(verdict)) return {status::corrupt};
    auto v = load<verdict>(from, 0);
    if (v.code == status::ok || v.code > last_status) v.code = status::corrupt;
    return v;
}

/// What a rank tells the others of a call that was timed, and of its values, where a call measures its
/// candidates (tune/history.hpp). The largest of all ranks counts.
struct figures {
    float seconds = 0;   ///< of the last call that listened; 0: it was not timed
    float bits = 0;      ///< per value, of a sample of the values; 0: there was no sample
    float encode_s = 0;  ///< seconds to encode a value of the sample
    float decode_s = 0;  ///< seconds to decode one

    void merge(const figures& theirs) noexcept
    {
        seconds = std::max(seconds, theirs.seconds);
        bits = std::max(bits, theirs.bits);
        encode_s = std::max(encode_s, theirs.encode_s);
        decode_s = std::max(decode_s, theirs.decode_s);
    }
};

/// What ranks find out together.
struct shared_facts {
    /// Of the finite input values, for relative bounds.
    double lowest = std::numeric_limits<double>::infinity();
    /// Below `lowest` if there is no finite value, or no plan asks.
    double highest = -std::numeric_limits<double>::infinity();
    double largest = 0;  ///< largest |x|, if values that are too large must be found before the call
    std::uint64_t longest_part = 0;  ///< in elements, where parts differ in length
    std::uint64_t not_held = 0;      ///< 1: a rank has found sums that could not be held
    figures measured;                ///< where the call measures its candidates

    void merge(const shared_facts& theirs) noexcept
    {
        lowest = std::min(lowest, theirs.lowest);
        highest = std::max(highest, theirs.highest);
        largest = std::max(largest, theirs.largest);
        longest_part = std::max(longest_part, theirs.longest_part);
        not_held |= theirs.not_held;
        measured.merge(theirs.measured);
    }
    bool has_range() const noexcept { return lowest <= highest; }
};
static_assert(sizeof(shared_facts) == 56, "ccoll: the shared facts have 56 bytes on the wire");

/// One control message. Ranks merge these until all of them hold the same.
struct control_message {
    call_stamp stamp;
    verdict trouble;             ///< of the lowest rank that has any
    shared_facts facts;          ///< of all ranks heard so far
    call_arguments least, most;  ///< of all ranks heard so far; different if those of any two ranks are
    std::int32_t round = 0;
    std::int32_t closing = 0;  ///< 0: before the first element, 1: after the last
};
static_assert(sizeof(control_message) == 208, "ccoll: a control message has 208 bytes on the wire");

}  // namespace ccoll
