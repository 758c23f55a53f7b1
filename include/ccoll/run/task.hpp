// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// run/task.hpp - floor 3. A decided collective as plain values. This is the boundary between templates and
// the engine.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include <ccoll/base/extremes.hpp>
#include <ccoll/algo/collective.hpp>
#include <ccoll/algo/neighbors.hpp>
#include <ccoll/algo/placement.hpp>
#include <ccoll/codec/queued_codec.hpp>
#include <ccoll/space/space.hpp>
#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/policy/field_facts.hpp>
#include <ccoll/wire/message.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// A collective as the engine sees it: values instead of types. The members are those of collective.hpp.
struct collective_facts {
    const char* name = "";
    const char* varied_name = "";  ///< of the call with counts, if there is one
    bool reduces = false, rooted = false;
    bool one_way = false;    ///< some ranks hear nothing of others: with a root, and in prefixes
    bool exchanges = false;  ///< both buffers have p parts: alltoall
    extent send = extent::whole, recv = extent::whole;
    block_set (*before)(int me, int root, int blocks) = nullptr;
    block_set (*after)(int me, int root, int blocks) = nullptr;
    int (*send_part)(int me, int p, int block) = nullptr;
    int (*recv_part)(int me, int p, int block) = nullptr;
    /// Buffers of equal length on all ranks, cut as the schedule needs; otherwise they consist of p parts.
    bool one_vector = false;
    bool over_edges = false;  ///< between neighbours: buffers have a part for each
};

template <class C>
inline constexpr collective_facts facts_of = [] {
    constexpr bool exchanges = std::is_same_v<C, collective::alltoall>, over_edges = detail::is_over_edges<C>;
    constexpr bool one_vector =
        C::send == extent::whole && C::recv == extent::whole && !exchanges && !over_edges;
    return collective_facts{C::name,       C::varied_name, C::reduces, C::rooted,  C::rooted || C::partial,
                            exchanges,     C::send,        C::recv,    &C::before, &C::after,
                            &C::send_part, &C::recv_part,  one_vector, over_edges};
}();

/// Where something lies in a buffer, in elements.
struct part {
    std::size_t offset = 0, count = 0;
};

/// Part b of n elements that are cut into `blocks` equal parts, as in collectives whose users see the parts.
constexpr part equal_part(std::size_t n, int blocks, int b)
{
    const auto all = static_cast<std::size_t>(blocks), which = static_cast<std::size_t>(b);
    return {n / all * which + std::min(which, n % all), n / all + (which < n % all)};
}

/// If users do not see how a vector is cut, blocks begin at multiples of this many elements. A device can
/// load 16 bytes at a time from such places, and a processor whole cache lines (f32 at a cache line is
/// encoded 4 to 8 % faster: benchmarks/run.sh codec --offset 16).
inline constexpr std::size_t part_alignment = 32;

/// Like equal_part, but in whole groups of part_alignment elements. The last block that is not empty may end
/// within its last group. Block 0 is the longest.
constexpr part aligned_part(std::size_t n, int blocks, int b)
{
    const part groups = equal_part(n / part_alignment + (n % part_alignment != 0), blocks, b);
    const std::size_t from = std::min(n, groups.offset * part_alignment);
    return {from, std::min(n, (groups.offset + groups.count) * part_alignment) - from};
}

/// The user's buffers. A buffer of extent `own` holds only this rank's part.
template <element T>
struct call_buffers {
    const T* send = nullptr;
    T* recv = nullptr;
    std::size_t count = 0;  ///< the whole vector, as far as this rank knows it
    std::size_t own = 0;    ///< this rank's part, if a buffer holds only that
    /// One per rank if the caller gave the length of each (the v variants). Otherwise empty, and parts are
    /// equal.
    std::span<const part> send_parts, recv_parts;
    bool varied = false;  ///< a v variant: this rank may not know how long other parts are
};

/// Elements per message for large vectors. 64 Ki values are 48 KiB encoded at ratio 5. At that length, longer
/// messages no longer help one-way rings, and two-way exchanges are still eager (64 MiB allreduce, 2 and 4
/// ranks on 1 Gb/s links, messages of 16 KiB to 1 MiB).
inline constexpr std::size_t usual_slice_elements = std::size_t{1} << 16;

/// From this many bytes on, Check::Auto lets ranks compare arguments before they move data. With fewer bytes,
/// a block is one message whatever its length, so that ranks with different counts still expect the same
/// number of messages. An agreement costs 0.3 to 1 ms on 1 Gb/s links with 4 ranks, where an allreduce of 1
/// MiB takes 15 ms plain and 9 ms compressed at ratio 1.4.
inline constexpr std::size_t agreement_bytes = std::size_t{1} << 20;

/// Elements of a slice, which depend on plan, p and count alone. A slice consists of whole chunks. A block
/// that is long enough has at least four slices. Messages with several blocks are as long as messages with
/// one.
/// @param wanted  elements of a long slice
constexpr std::size_t slice_for(std::size_t longest_block, std::size_t chunk, int widest,
                                std::size_t wanted = usual_slice_elements)
{
    const std::size_t most = std::max<std::size_t>(1, wanted / static_cast<std::size_t>(widest));
    const std::size_t wish = std::min(most, (longest_block + 3) / 4);
    return std::max(chunk, (wish + chunk - 1) / chunk * chunk);
}

/// What is known of the sums of encoded streams before they are formed. @see call/overflow.hpp
enum class sums : unsigned char {
    unknown,     ///< nothing: the call has to find out
    held,        ///< this rank's values fit, so each of its frames holds its sum
    maybe_held,  ///< nobody has looked at the values, so any frame may say that it holds no sum
    refused      ///< this rank's values may be too large, and all of its frames say so
};

/// Everything that the engine has to know, as values. So the engine is compiled once per element type and
/// transport, whatever the plan is.
template <element T>
struct task {
    collective_facts facts;
    schedule path;
    const neighbor_list* neighbors = nullptr;  ///< of this rank, in place of the schedule's peers
    call_buffers<T> data;
    queued_codec<T> codec;
    queued_addends<T> addends;  ///< if the placement adds frames
    queued_codec<T> exact;      ///< for values that cannot be added encoded, if the placement adds frames
    reduction<T> op;
    space_operations<T> space;  ///< where the buffers are
    /// Host codecs on several threads; null: on this one.
    codec_queue (*threads)(std::size_t lane) noexcept = nullptr;
    placement_rules rules;
    double eb = 0;          ///< 0: the codec is exact
    field_strides strides;  ///< @see field_facts
    missing_value missing;
    const two_byte_elements* two_bytes = nullptr;  ///< what the elements may be, if the placement adds frames
    detail::sums sums = detail::sums::unknown;     ///< if the placement adds frames
    int root = 0;
    call_stamp stamp;
    std::size_t longest = 0;         ///< elements of the longest block of any rank
    std::size_t slice_elements = 1;  ///< of one block in one message; equal on all ranks
    std::size_t room_bytes = 0;      ///< of the largest message that any healthy peer sends
    /// Slices follow from this rank's own count and codec, and ranks have not compared these. A rank with a
    /// different count or codec sends another number of messages.
    bool slices_unasked = false;

    // What this rank does. Between neighbours that follows from the neighbours.
    bool gathers() const { return facts.send == extent::own; }
    int blocks(int p) const { return neighbors != nullptr ? neighbors->blocks(gathers()) : path.blocks(p); }
    int steps(int p) const { return neighbors != nullptr ? neighbors->steps() : path.steps(p); }
    int widest(int p) const { return neighbors != nullptr ? 1 : path.widest(p); }
    step step_at(int me, int p, int k) const
    {
        return neighbors != nullptr ? step_between(*neighbors, gathers(), k) : path.step_at(me, p, root, k);
    }

    /// Elements of the longest block, as far as this rank knows it.
    std::size_t longest_block(int p) const
    {
        if (!data.varied && neighbors == nullptr) return cut(path.blocks(p), 0).count;
        std::size_t most = data.own;
        for (const part& each : data.send_parts) most = std::max(most, each.count);
        for (const part& each : data.recv_parts) most = std::max(most, each.count);
        return most;
    }

    /// Buffers and schedule are known: so are the lengths of blocks and messages.
    void measure(int p)
    {
        longest = longest_block(p);
        room_bytes = p > 1 ? room_for(*this, widest(p)) : 0;
    }

    /// Block b of the whole vector, if parts are equal.
    part cut(int blocks, int b) const
    {
        return facts.one_vector ? aligned_part(data.count, blocks, b) : equal_part(data.count, blocks, b);
    }

    std::size_t wanted_slice() const
    {
        return space.slice_elements != 0 ? space.slice_elements : usual_slice_elements;
    }

    /// Do ranks compare their arguments although nothing else asks for it? They do in long vectors, and in
    /// short ones of prefixes and of collectives with a root: ranks that each believe they are the root, or
    /// that send what no rank expects, would not hear of it from any message of the schedule. Neighbours do
    /// not wait for all ranks.
    bool compares_itself(int p) const
    {
        return (data.count * sizeof(T) >= agreement_bytes || facts.one_way) && neighbors == nullptr && p > 1;
    }
    /// Below the threshold each block is one slice, however long it is. So the number of messages does not
    /// depend on the count.
    /// @param chunk   elements of the codec with which the call began
    /// @param local  ranks never compare their arguments
    /// @param agreed  they have compared them
    void cut_into_slices(std::size_t chunk, bool agreed, bool local, int p)
    {
        const bool between = neighbors != nullptr,
                   sliced = agreed || local || (between && longest * sizeof(T) >= agreement_bytes);
        slices_unasked = !agreed && (local || between) && p > 1;
        slice_elements =
            sliced ? slice_for(longest, chunk, widest(p), wanted_slice()) : std::max<std::size_t>(1, longest);
    }

    /// Can all sums of values of this magnitude and below be added encoded?
    bool can_add(double largest, int p) const
    {
        return addends.can_add(largest, eb, static_cast<std::size_t>(p));
    }
    /// For values that do not fit the codec's integers.
    void reduce_exactly()
    {
        codec = exact;
        rules = decode_reduce_encode;
        two_bytes = nullptr;
    }

    std::size_t max_frame_bytes(std::size_t n) const
    {
        return rules.reduce_encoded ? std::max(addends.max_bytes(n), exact.max_bytes(n)) : codec.max_bytes(n);
    }
};

/// Enough room for the codecs of the library and elements of up to 8 bytes. The longest frames are addends of
/// f32, which can take twice as many bytes as the raw values.
inline constexpr std::size_t usual_room_bytes = 9 * agreement_bytes / 4;

/// Room for a message of any peer, with the same plan or another one, and for messages left over from an
/// earlier call. None may be truncated, because MPICH 4.0 aborts on truncation, whatever the error handler
/// says. The room depends on the plan alone, and is the same for nearly all plans.
template <element T>
std::size_t room_for(const task<T>& what, int widest)
{
    const auto blocks = static_cast<std::size_t>(widest);
    const std::size_t wanted = what.wanted_slice();
    const std::size_t largest = slice_for(wanted * 4, what.codec.chunk_elements, widest, wanted);
    const std::size_t sliced = blocks * what.max_frame_bytes(largest);
    const std::size_t whole =
        blocks * what.max_frame_bytes(1) + what.max_frame_bytes(agreement_bytes / sizeof(T));
    return sizeof(call_stamp) +
           std::max(std::max(sizeof(verdict), sliced), std::max(whole, std::size_t{usual_room_bytes}));
}

}  // namespace ccoll::inline CCOLL_ABI::detail
