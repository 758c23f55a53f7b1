// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// run/blocks.hpp - floor 3. Where the elements and frames of every block are, slice by slice: in the
// user's buffers if possible, otherwise in borrowed memory. It knows nothing of messages or of time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/workspace.hpp>
#include <ccoll/run/task.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <element T>
class block_store {
public:
    /// One slice of one block. A frame shares the memory of the message that it came in.
    struct block {
        const T* elements = nullptr;  ///< the current elements: the user's input, `out`, or `spare`
        T* out = nullptr;             ///< where the result goes; null: this rank does not need it
        /// Of the elements; if part lengths vary, unknown for other ranks' blocks until their first message.
        std::size_t count = 0;
        std::size_t out_count = 0;  ///< that `out` has room for
        form now = form::raw;
        buffer_memory* spare = nullptr;
        buffer_memory* frame = nullptr;
        std::size_t frame_at = 0, frame_size = 0;
        frame_view parsed{};  ///< the frame's header and index, once they have been read

        const_byte_span frame_bytes() const { return frame->message().subspan(frame_at, frame_size); }
        const_byte_span frame_on_host() const { return frame->host_message().subspan(frame_at, frame_size); }
        bool is_whole_message() const
        {
            return frame_at == sizeof(call_stamp) && frame_at + frame_size == frame->used;
        }
        bool is_parsed() const { return parsed.whole.data() != nullptr; }
    };

    /// @param memory    of the transport: for the engine's own notes
    /// @param messages, elements   of the task's memory space
    block_store(const task<T>& what, int me, int p, workspace& memory, workspace& messages,
                workspace& elements)
        : task_(what), memory_(memory), messages_(messages), elements_(elements), blocks_(what.blocks(p))
    {
        slices_ = std::max<std::size_t>(1, (what.longest + what.slice_elements - 1) / what.slice_elements);
        places_ = table<place>(static_cast<std::size_t>(blocks_));
        if (what.neighbors != nullptr) place_edges(*what.neighbors);
        else place_blocks(me, p);
        for (int k = 0; k < what.steps(p); ++k) {
            const step now = what.step_at(me, p, k);
            for (int i = 0; i < now.send.count; ++i) at(now.send.at(i, blocks_)).last = k;
            for (int i = 0; i < now.recv.count; ++i) at(now.recv.at(i, blocks_)).last = k;
        }
    }
    block_store(const block_store&) = delete;
    block_store& operator=(const block_store&) = delete;
    ~block_store()
    {
        for (std::size_t i = 0; i < opened_ * places_.size(); ++i) release(live_[i]);
        for (std::size_t i = 0; i < borrowed_; ++i) memory_.drop(tables_[i]);
    }

    std::size_t slices() const { return slices_; }
    std::size_t lanes() const { return std::min(most_lanes, slices_); }
    /// The last step in which this rank sends or receives block b; -1: never.
    int last_step(int b) const { return places_[static_cast<std::size_t>(b)].last; }

    /// A part is longer or shorter than this rank expects. That concerns this rank and the rank that the part
    /// came from, even if others passed it on. The numbers in the verdict are those of whole parts as far as
    /// this slice shows them: a slice that is full or empty only shows that the part is longer or shorter.
    verdict other_count(const block& mine, int b, std::size_t slice, int me, int p, int step) const
    {
        const neighbor_list* const around = task_.neighbors;
        const int sender = around != nullptr ? around->source(around->recv_part(task_.gathers(), b))
                           : task_.facts.recv == extent::own ? task_.root
                                                             : task_.facts.recv_part(me, p, b);
        const std::size_t wanted = places_[static_cast<std::size_t>(b)].out_count,
                          found = slice * task_.slice_elements + mine.count;
        return {status::count_differs,     me, sender, step, static_cast<double>(wanted),
                static_cast<double>(found)};
    }

    /// Value-initialised objects in borrowed memory, which this store gives back. At most four tables.
    template <class U>
        requires std::is_trivially_destructible_v<U>
    std::span<U> table(std::size_t n)
    {
        buffer_memory* b = tables_[borrowed_++] = memory_.take(std::max<std::size_t>(1, n * sizeof(U)));
        U* first = reinterpret_cast<U*>(b->bytes.get());
        std::uninitialized_value_construct_n(first, n);
        return {first, n};
    }

    /// The blocks of lane `i`, now for slice `slice`.
    std::span<block> open(std::size_t i, std::size_t slice)
    {
        if (live_.empty()) live_ = table<block>(lanes() * places_.size());
        opened_ = std::max(opened_, i + 1);
        const std::span<block> mine = live_.subspan(i * places_.size(), places_.size());
        for (int b = 0; b < blocks_; ++b) {
            const part from = slice_of(at(b).count, slice), to = slice_of(at(b).out_count, slice);
            block& fresh = mine[static_cast<std::size_t>(b)];
            if (slice != i) fresh = {};  // not the lane's first
            fresh.count = from.count;
            fresh.out_count = to.count;
            if (at(b).in != nullptr) fresh.elements = at(b).in + from.offset;
            if (at(b).out != nullptr) fresh.out = at(b).out + to.offset;
        }
        return mine;
    }

    /// Room for the elements that the block is about to get: the place of the result, or borrowed memory if
    /// the block only passes through.
    std::span<T> writable(block& b)
    {
        const bool fits = b.out != nullptr && b.out_count == b.count;
        if (!fits && b.spare == nullptr)
            b.spare = elements_.take(
                std::max<std::size_t>(1, (task_.data.varied ? task_.slice_elements : b.count) * sizeof(T)));
        T* const to = fits ? b.out : reinterpret_cast<T*>(b.spare->bytes.get());
        b.elements = to;
        return {to, b.count};
    }

    /// From now on the block's frame is `bytes`, which lie in `holder`.
    /// @param view  what has been read of the frame; empty if nobody has read it yet
    void hold(block& b, buffer_memory* holder, const_byte_span bytes, const frame_view& view)
    {
        ++holder->references;
        messages_.drop(b.frame);
        b.frame = holder;
        b.frame_at = static_cast<std::size_t>(bytes.data() - holder->bytes.get());
        b.frame_size = bytes.size();
        b.parsed = view;
    }

    void release(block& b)
    {
        messages_.drop(std::exchange(b.frame, nullptr));
        elements_.drop(std::exchange(b.spare, nullptr));
    }

private:
    static constexpr std::size_t most_tables = 4;

    struct place {
        const T* in = nullptr;
        T* out = nullptr;
        std::size_t count = 0, out_count = 0;
        int last = -1;
    };
    place& at(int b) { return places_[static_cast<std::size_t>(b)]; }

    /// Where the blocks of a schedule are in the user's buffers.
    void place_blocks(int me, int p)
    {
        const auto given = task_.facts.before(me, task_.root, blocks_),
                   wanted = task_.facts.after(me, task_.root, blocks_);
        const call_buffers<T>& d = task_.data;
        for (int b = 0; b < blocks_; ++b) at(b).count = d.varied ? 0 : task_.cut(blocks_, b).count;
        for (int i = 0; i < given.count; ++i) {
            const int b = given.at(i, blocks_);
            const part from = where(task_.facts.send, d.send_parts, task_.facts.send_part(me, p, b));
            // Null in spite of elements: an error on all ranks.
            at(b).in = d.send != nullptr ? d.send + from.offset : nullptr;
            at(b).count = from.count;
        }
        for (int i = 0; i < wanted.count; ++i) {
            const int b = wanted.at(i, blocks_);
            const part to = where(task_.facts.recv, d.recv_parts, task_.facts.recv_part(me, p, b));
            at(b).out = d.recv != nullptr ? d.recv + to.offset : nullptr;
            at(b).out_count = to.count;
        }
    }
    /// The same between neighbours. The parts of nobody are no blocks.
    void place_edges(const neighbor_list& around)
    {
        const call_buffers<T>& d = task_.data;
        const bool gathers = task_.gathers();
        const auto in = [](std::span<const part> parts, int which) {  // wrong arguments leave no parts
            return parts.empty() ? part{} : parts[static_cast<std::size_t>(which)];
        };
        for (int b = 0; b < blocks_; ++b) {
            place& mine = at(b);
            mine.count = d.varied ? 0 : d.own;
            if (around.gives(gathers, b)) {
                const part from = gathers ? part{0, d.own} : in(d.send_parts, around.send_part(b));
                mine.in = d.send != nullptr ? d.send + from.offset : nullptr;
                mine.count = from.count;
            }
            if (around.takes(gathers, b)) {
                const part to = in(d.recv_parts, around.recv_part(gathers, b));
                mine.out = d.recv != nullptr ? d.recv + to.offset : nullptr;
                mine.out_count = to.count;
            }
        }
    }

    /// Part `which` of a user's buffer.
    part where(extent holds, std::span<const part> parts, int which) const
    {
        if (holds == extent::own) return {0, task_.data.own};
        return parts.empty() ? task_.cut(blocks_, which) : parts[static_cast<std::size_t>(which)];
    }
    part slice_of(std::size_t all, std::size_t slice) const
    {
        const std::size_t from = std::min(all, slice * task_.slice_elements);
        return {from, std::min(task_.slice_elements, all - from)};
    }

    const task<T>& task_;
    workspace &memory_, &messages_, &elements_;
    int blocks_;
    std::size_t slices_ = 1, opened_ = 0, borrowed_ = 0;
    buffer_memory* tables_[most_tables] = {};
    std::span<place> places_;
    std::span<block> live_;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
