// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/link_state.hpp - floor 2. The records that a guarded link keeps of its traffic, as values: for
// each peer, what has been sent and what has arrived. Nothing here sends or receives; guarded_traffic.hpp
// does.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <ccoll/transport/fragment.hpp>
#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI {

/// What a link has seen of faults.
struct link_counts {
    std::uint64_t detected = 0;   ///< fragments and acknowledgements that arrived damaged
    std::uint64_t corrected = 0;  ///< bits
    std::uint64_t resent = 0;     ///< fragments
};

namespace detail {

/// The numbers of a sequence that have been seen: all up to `floor`, and some of those that follow it
/// directly.
class number_window {
public:
    static constexpr std::uint64_t width = acknowledgement::window;

    std::uint64_t floor() const { return floor_; }
    /// The largest number that has been seen.
    std::uint64_t last() const
    {
        std::uint64_t n = floor_ + (beyond_.any() ? width : 0);
        while (!has(n)) --n;
        return n;
    }
    bool has(std::uint64_t n) const
    {
        return n <= floor_ || (n - floor_ <= width && beyond_[n - floor_ - 1]);
    }
    bool takes(std::uint64_t n) const { return n > floor_ && n - floor_ <= width; }
    void add(std::uint64_t n)
    {
        beyond_.set(n - floor_ - 1);
        advance();
    }
    /// From now on all numbers up to n count as seen.
    void raise(std::uint64_t n)
    {
        if (n <= floor_) return;
        beyond_ = n - floor_ < width ? beyond_ >> (n - floor_) : std::bitset<width>{};
        floor_ = n;
        advance();
    }
    std::array<std::uint64_t, acknowledgement::words> words() const
    {
        std::array<std::uint64_t, acknowledgement::words> all{};
        for (std::size_t i = 0; i < width && beyond_.any(); ++i)
            all[i / 64] |= std::uint64_t{beyond_[i]} << i % 64;
        return all;
    }

private:
    void advance()
    {
        while (beyond_[0]) {
            beyond_ >>= 1;
            ++floor_;
        }
    }
    std::uint64_t floor_ = 0;
    std::bitset<width> beyond_;
};

/// A fragment that has left.
template <class Request>
struct flight {
    Request request{};         ///< of the packet, if this is its first fragment
    std::uint64_t packet = 0;  ///< the first fragment of the packet
    double sent = 0, first_sent = 0;
    unsigned tries = 0;
    bool needless = false;  ///< acknowledged, or of a message that was given up
    bool due = false;       ///< known not to have arrived
    bool lost = false;      ///< has once been known not to have arrived
};

/// A message that is being sent. It is kept here, sealed, until all of it has been acknowledged.
template <class Request>
struct leaving_message {
    std::uint64_t id = 0, first = 0, last = 0, missing = 0;  ///< missing: fragments that are not acknowledged
    std::uint64_t call = 0;                                  ///< whose message it is
    int peer = nobody, tag = 0;
    std::size_t bytes = 0, stride = 0;  ///< stride: from fragment to fragment in `memory`
    buffer_memory* memory = nullptr;
    protection how{};
    /// Short: the send was done when it was posted, and nobody waits until it is received.
    bool at_once = false;
    /// Longer, but the send was done when it was posted; its call waits until it is received.
    bool early = false;
    bool received = false;   ///< the peer has it, where its receive is
    bool forgotten = false;  ///< no caller asks for it any more
    status result = status::ok;
    double asked = 0;  ///< when its last fragment was sent again to ask whether it has been received
    Request asking{};

    bool over() const { return result != status::ok || (missing == 0 && (at_once || received)); }
};

/// A message that arrives, or waits to be received.
struct arriving_message {
    int peer = nobody, tag = 0;
    std::uint64_t first = 0, last = 0, previous = 0, missing = 0;
    std::size_t bytes = 0;
    buffer_memory* memory = nullptr;  ///< null: it arrives where its receive wants it
    byte_span into{};
    std::uint64_t receive = 0;  ///< that receive; 0 if there was none yet
};

struct waiting_receive {
    std::uint64_t id = 0;
    int peer = nobody, tag = 0;
    byte_span into{};
    bool done = false;
    status result = status::ok;
    std::size_t bytes = 0;
};

/// Both directions between this rank and one other rank.
template <class Request>
struct link_end {
    static constexpr std::uint64_t window = number_window::width;
    /// An acknowledgement costs a rank and its peer as much as any other message, so each is for several
    /// fragments. The number stays far below that of fragments that may be under way, and that of messages
    /// below what an acknowledgement has room for.
    static constexpr unsigned most_fragments_owed = 16, most_taken_owed = acknowledgement::most_taken / 2;
    static constexpr double longest_delay = 1e-3;  ///< seconds; the patience of a sender is longer
    /// Damaged fragments that are remembered; others wait for the timer of the sender.
    static constexpr std::size_t most_broken = 64;

    // What this rank sends. Fragments settled + 1 .. sent are on their way; those up to `numbered` have been
    // posted.
    std::uint64_t numbered = 0, sent = 0, settled = 0;
    std::vector<flight<Request>> flights;  // fragment n is flights[n % window]
    double heard = -std::numeric_limits<double>::infinity();
    double round_trip = 2e-3, deviation = 0.5e-3;  // both smoothed, in seconds
    double advanced = 0;                           // when the peer last acknowledged something new
    unsigned expiries = 0;                         // of the timer, since then
    std::uint64_t copies = 1;                      // fragments to send again when the timer expires next
    double looked = 0;                             // when flights were last looked through

    // What this rank receives.
    number_window seen;
    std::uint64_t theirs_settled = 0;
    std::vector<std::uint64_t> broken;  // fragments that arrived damaged, of which the peer has not heard
    std::array<std::uint64_t, acknowledgement::most_taken> taken{};
    std::size_t next_taken = 0;
    bool owes = false;  // an acknowledgement, at once
    // Not acknowledged: fragments that have arrived, and messages that have been received.
    unsigned fragments_owed = 0, taken_owed = 0;
    double owes_since = 0;

    // At the end of a call.
    bool has_sent = false;  // since this rank said so last
    double asked = 0;
    unsigned asks = 0;  // in vain

    flight<Request>& at(std::uint64_t n) { return flights[n % window]; }
    bool all_settled() const { return settled == numbered; }
    bool owes_any() const { return owes || fragments_owed + taken_owed > 0; }
    /// Must it be acknowledged now what has arrived?
    bool is_due(double now) const
    {
        return owes || fragments_owed >= most_fragments_owed || taken_owed >= most_taken_owed ||
               (owes_any() && now - owes_since >= longest_delay);
    }
    void acknowledged()
    {
        owes = false;
        fragments_owed = taken_owed = 0;
    }
    void owe_fragment(double now)
    {
        if (!owes_any()) owes_since = now;
        ++fragments_owed;
    }
    void owe_taken(double now)
    {
        if (!owes_any()) owes_since = now;
        ++taken_owed;
    }
    void note_taken(std::uint64_t last)
    {
        if (std::ranges::find(taken, last) == taken.end()) taken[next_taken++ % taken.size()] = last;
    }
    /// Takes in how long a fragment was on its way, as RFC 6298 does.
    void note_round_trip(double seconds)
    {
        deviation += (std::abs(seconds - round_trip) - deviation) / 4;
        round_trip += (seconds - round_trip) / 8;
    }
    /// After so many seconds in which nothing new was acknowledged, fragments are sent again. A peer that has
    /// not been heard of may not have begun its call yet.
    double patience(bool silent) const
    {
        const double base = std::clamp(round_trip + 4 * deviation, 3e-3, 0.5);
        double wait = base;
        for (unsigned i = 0; i < expiries && wait < 1; ++i) wait *= 1.5;
        return std::min(wait, silent ? 1.0 : std::max(0.1, base));
    }
};

}  // namespace detail
}  // namespace ccoll::inline CCOLL_ABI
