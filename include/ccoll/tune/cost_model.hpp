// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tune/cost_model.hpp - floor 2. How many seconds a call takes, from what its schedule does, the link and the
// codec. It holds for any schedule, including those written outside the library, because it runs the engine's
// own state machine (algo/placement.hpp) and counts.
//
// There are two parts. work_of() goes through a schedule once and finds what is sent, encoded and so on, as
// multiples of the vector; callers keep that. predict() turns it into seconds, in a few multiplications.
//
// A message of b bytes takes latency_s + b seconds_per_byte and occupies both ends meanwhile. A rank may send
// and receive at the same time, and need not wait until the receiver is ready.
// The vector travels in slices, which follow each other through the schedule as through a pipeline: the first
// one takes as long as the longest chain of steps that wait for each other, and every further one as long as
// the busiest rank works on a slice, or longer if the lanes wait for messages. In 98 % of the cases of a test
// this is within 25 % of a simulation of every message, and in all of them within 60 %, except for short
// messages of many ranks to one, which do not wait for each other as they do here.
//
// What the model leaves out: contention, that is links that several ranks share, and ranks that start late;
// that links within a node are faster than those between nodes; caches, and the copies of messages with
// several blocks; the rest that a last, shorter slice saves; headers; that sums of many addends take more
// bits than one; that passes which the engine fuses (encode and add; decode, combine and encode) are faster
// than one after the other; comparisons of arguments between ranks; and the reduction on two levels of
// Algo::Hierarchical. For calls between neighbours, p - 1 stands for the number of neighbours.
#pragma once

#include <cstddef>

#include <ccoll/base/exact.hpp>
#include <ccoll/base/extremes.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/algo/placement.hpp>
#include <ccoll/algo/schedule.hpp>

// Ranks that predict from the same figures find the same seconds, whatever their compilers' flags are.
CCOLL_EXACT_BEGIN

namespace ccoll::inline CCOLL_ABI::tune {

/// What is done, in multiples of the whole vector (of all p parts together, if it has parts).
struct work_shares {
    double messages = 0;  ///< a number, and no multiple of the vector
    double sent = 0;      ///< or received, whichever is more
    double encoded = 0, added = 0;
    double decoded = 0, combined = 0;  ///< combined: reduced after decoding

    friend constexpr bool operator==(const work_shares&, const work_shares&) = default;
};

/// What a schedule does with a vector, or with a slice of it.
struct schedule_work {
    /// Along the longest chain of steps that wait for each other: how long a slice takes. A chain goes
    /// through several ranks. The longest one has the largest sum of all six numbers.
    work_shares path;
    /// By the busiest rank, that is the one with the largest sum of all but messages: how soon the next slice
    /// can follow. `messages` is the largest number that any rank sends. Those that a rank receives do not
    /// count, because messages of the next slice are on their way.
    work_shares busiest;

    friend constexpr bool operator==(const schedule_work&, const schedule_work&) = default;
};

namespace detail {

/// work_shares before the division by the number of blocks: integers, so that all ranks find the same sums
/// and take the same maximum.
struct block_counts {
    long long messages = 0, sent = 0, encoded = 0, added = 0, decoded = 0, combined = 0;

    constexpr block_counts& operator+=(const block_counts& other)
    {
        messages += other.messages;
        sent += other.sent;
        encoded += other.encoded;
        added += other.added;
        decoded += other.decoded;
        combined += other.combined;
        return *this;
    }
    constexpr block_counts with_message(int blocks_sent) const
    {
        block_counts c = *this;
        ++c.messages;
        c.sent += blocks_sent;
        return c;
    }
    constexpr long long volume() const { return sent + encoded + added + decoded + combined; }
    constexpr long long length(int blocks) const { return messages * blocks + volume(); }
    constexpr work_shares shares(int blocks) const
    {
        CCOLL_EXACT_BODY
        const auto share = [&](long long count) { return static_cast<double>(count) / blocks; };
        return {static_cast<double>(messages),
                share(sent),
                share(encoded),
                share(added),
                share(decoded),
                share(combined)};
    }

    // The events of algo/placement.hpp.
    constexpr void encode() { ++encoded; }
    constexpr void adopt() { ++decoded; }
    constexpr void keep() {}
    constexpr void decode() { ++decoded; }
    constexpr void combine()
    {
        ++decoded;
        ++combined;
    }
    constexpr void add() { ++added; }
    constexpr void encode_and_add()
    {
        ++encoded;
        ++added;
    }
};

/// One rank on its way through the schedule.
struct counted_rank {
    step now{};
    block_counts path, leaving;  ///< of the longest chain up to here, and up to its message of this step
    block_counts done;           ///< by this rank itself; `sent` is kept apart
    long long sent = 0, received = 0;
};

}  // namespace detail

/// Goes through a schedule that passes ends_match().
/// @param after  Collective::after: which blocks of the result a rank has at the end
/// Cost: O(p * steps) calls of step_at and O(p * blocks) memory; a chain on 1024 ranks takes 26 ms. If the
/// schedule says that it rotates, all ranks do the same, and one of them is enough: O(steps) and O(blocks); a
/// ring on 1024 ranks takes 0.1 ms.
constexpr schedule_work work_of(const schedule& s, block_set (*after)(int me, int root, int blocks),
                                placement_rules rules, int p, int root)
{
    using detail::block_counts, detail::counted_rank;
    const int blocks = s.blocks(p), ranks = s.rotates && blocks == p ? 1 : p;
    ccoll::detail::array_of<counted_rank> all(ranks);
    ccoll::detail::array_of<form> forms(static_cast<std::size_t>(ranks) *
                                        static_cast<std::size_t>(blocks));  // all are raw
    const auto at = [&](int rank) -> counted_rank& { return all[ranks == 1 ? 0 : rank]; };
    // Calls `event(form of the block, counts)` for each block of a set, and notes what was done.
    const auto each = [&](int me, const block_set& set, auto event) {
        block_counts did;
        for (int i = 0; i < set.count; ++i)
            event(forms[static_cast<std::size_t>(me) * static_cast<std::size_t>(blocks) +
                        static_cast<std::size_t>(set.at(i, blocks))],
                  did);
        at(me).done += did;
        at(me).path += did;
    };
    const auto longer = [&](const block_counts& a, const block_counts& b) {
        const long long of_a = a.length(blocks), of_b = b.length(blocks);
        return of_a > of_b || (of_a == of_b && a.volume() >= b.volume()) ? a : b;
    };
    const auto busier = [](const block_counts& a, const block_counts& b) {
        if (a.volume() != b.volume()) return a.volume() > b.volume() ? a : b;
        return a.sent > b.sent || (a.sent == b.sent && a.encoded >= b.encoded) ? a : b;
    };

    for (int k = 0; k < s.steps(p); ++k) {
        for (int me = 0; me < ranks; ++me) {
            counted_rank& mine = at(me);
            mine.now = s.step_at(me, p, root, k);
            each(me, mine.now.send, [](form& now, block_counts& did) { before_send(now, did); });
            each(me, mine.now.send, [&](form& now, block_counts&) { after_send(rules, now); });
            mine.leaving = mine.path;
        }
        for (int me = 0; me < ranks; ++me) {
            counted_rank& mine = at(me);
            const bool sends = mine.now.send_to != nobody, receives = mine.now.recv_from != nobody;
            if (sends) {
                mine.path = mine.leaving.with_message(mine.now.send.count);
                mine.sent += mine.now.send.count;
            }
            if (receives) {
                const block_counts both_ready = longer(mine.leaving, at(mine.now.recv_from).leaving);
                mine.path = longer(mine.path, both_ready.with_message(mine.now.recv.count));
                mine.received += mine.now.recv.count;
            }
            mine.done.messages += sends ? 1 : 0;
            each(me, mine.now.recv,
                 [&](form& now, block_counts& did) { received(rules, now, mine.now.action, did); });
        }
    }
    block_counts path, busiest;
    long long messages = 0;
    for (int me = 0; me < ranks; ++me) {
        each(me, after(me, root, blocks), [](form& now, block_counts& did) { at_end(now, did); });
        counted_rank& mine = at(me);
        mine.done.sent = std::max(mine.sent, mine.received);
        path = longer(path, mine.path);
        busiest = busier(busiest, mine.done);
        messages = std::max(messages, mine.done.messages);
    }
    busiest.messages = messages;
    return {path.shares(blocks), busiest.shares(blocks)};
}
template <class Collective>
constexpr schedule_work work_of(const schedule& s, placement_rules rules, int p, int root)
{
    return work_of(s, &Collective::after, rules, p, root);
}

/// A link between two ranks.
struct link_model {
    double latency_s = 0;  ///< of a message without bytes
    double seconds_per_byte = 0;
};

/// A codec on the data at hand, with one core.
struct codec_model {
    double encode_s = 0, add_s = 0, decode_s = 0;  ///< seconds per element
    double combine_s = 0;                          ///< for the reduction of an element that has been decoded
    double bits_per_element = 0;                   ///< of what is sent, on average
};

/// In place of a codec: elements are sent as they are, and what it takes to copy them is not counted.
constexpr codec_model no_codec(std::size_t element_bytes, double combine_s = 0)
{
    return {0, 0, 0, combine_s, 8.0 * static_cast<double>(element_bytes)};
}

/// How the vector is cut.
struct slicing {
    std::size_t slices = 1;  ///< that follow each other; at least 1
    std::size_t lanes = 1;   ///< slices on which a rank works at a time; at least 1
};

/// How the engine cuts a vector by default, up to the alignment of blocks.
/// @param elements        of the whole vector
/// @param chunk_elements  of the codec, at least 1
/// @param blocks, widest  of the schedule
constexpr slicing usual_slicing(std::size_t elements, std::size_t element_bytes, std::size_t chunk_elements,
                                int blocks, int widest)
{
    constexpr std::size_t long_slice = std::size_t{1} << 16, sliced_from_bytes = std::size_t{1} << 20,
                          most_lanes = 4;
    if (elements * element_bytes < sliced_from_bytes) return {};
    const auto parts = static_cast<std::size_t>(blocks);
    const std::size_t block = (elements + parts - 1) / parts;
    const std::size_t most = std::max<std::size_t>(1, long_slice / static_cast<std::size_t>(widest));
    const std::size_t wish = std::min(most, (block + 3) / 4);
    const std::size_t slice =
        std::max(chunk_elements, (wish + chunk_elements - 1) / chunk_elements * chunk_elements);
    const std::size_t slices = (block + slice - 1) / slice;
    return {slices, std::min(slices, most_lanes)};
}

/// The time of a call is between the two.
struct prediction {
    double seconds = 0;        ///< link and codec never work at the same time
    double least_seconds = 0;  ///< they always do
};

/// What a call takes. With no_codec(...) in place of a codec it is the time of the same schedule without one.
/// @param elements        of the whole vector (of all p parts together)
/// @param cores_per_rank  above 0. Below 1, ranks share cores, and codecs take as much longer. More than one
///                        core is of no use here: for a codec that works in several threads, give the speed
///                        of all of them
constexpr prediction predict(const schedule_work& work, double elements, const link_model& link,
                             const codec_model& codec, double cores_per_rank = 1, const slicing& cut = {})
{
    CCOLL_EXACT_BODY
    const std::size_t rounds = (cut.slices - 1) / cut.lanes,
                      rest = (cut.slices - 1) % cut.lanes;  // after the first slice
    const double slice = elements / static_cast<double>(cut.slices), cores = std::min(1.0, cores_per_rank);
    const auto time = [&](bool overlap) {
        const auto of = [&](const work_shares& w) {
            const double sending = rounded(w.sent * codec.bits_per_element / 8 * link.seconds_per_byte);
            const double coding = rounded(w.encoded * codec.encode_s) + rounded(w.added * codec.add_s) +
                                  rounded(w.decoded * codec.decode_s) + rounded(w.combined * codec.combine_s);
            return rounded(slice * (overlap ? std::max(sending, coding / cores) : sending + coding / cores));
        };
        const double first = rounded(work.path.messages * link.latency_s) + of(work.path),
                     busy = of(work.busiest);
        // In a round each lane takes one slice. Alone it waits for every message that it sends.
        const double alone = rounded(work.busiest.messages * link.latency_s) + busy;
        const double round = std::max(alone, rounded(static_cast<double>(cut.lanes) * busy));
        return first + rounded(static_cast<double>(rounds) * round) +
               rounded(static_cast<double>(rest) * busy);
    };
    return {time(false), time(true)};
}

}  // namespace ccoll::inline CCOLL_ABI::tune

CCOLL_EXACT_END
