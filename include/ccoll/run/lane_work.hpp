// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// run/lane_work.hpp - floor 3. A lane, and the codec work that it has begun and not yet settled, oldest
// first.
//
// A queue does work in the order in which it was begun, so a lane settles it in that order. After that the
// results may be read, sent and given back. Where work is done at once, it is settled at once, and nothing is
// recorded.
#pragma once

#include <span>

#include <ccoll/run/blocks.hpp>
#include <ccoll/run/message.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <element T>
struct begun_work {
    enum class kind : unsigned char {
        encodes,   ///< a frame for `into`
        restores,  ///< elements of a block
        delivers   ///< a block's result; nothing else waits for it
    };

    codec_work work{};
    typename block_store<T>::block* of = nullptr;
    buffer_memory* into = nullptr;  ///< where a frame is written
    kind what = kind::restores;
    /// A frame that says so does not mean that the codec broke its promise to add.
    bool may_be_too_large = false;
    bool last = false;  ///< no later step needs the block
    message_place where{};
};

/// Reads the frame at the start of `rest`. It must be a frame of this block, in this call. In a call whose
/// parts differ in length the sender knows how long its part is, and a block that it replaces takes that
/// length.
template <element T>
verdict open_frame(const task<T>& what, typename block_store<T>::block& b, on_receive action,
                   const message_place& here, const_byte_span rest, frame_view& view)
{
    const status s = what.codec.open(rest, b.count, view);
    if (s != status::ok && s != status::too_large && s != status::count_differs) return here.found(s);
    const std::uint64_t elements = view.header.elements;
    if (what.data.varied && action == on_receive::replace && elements <= what.slice_elements)
        b.count = static_cast<std::size_t>(elements);
    if (what.data.varied && elements != b.count)
        return here.found(status::count_differs, static_cast<double>(b.count), static_cast<double>(elements));
    const bool fits =
        elements == b.count && view.header.bound == what.eb && view.bytes() <= what.max_frame_bytes(b.count);
    return fits ? verdict{} : here.found(status::corrupt);
}

/// A list for as many pieces of work as one lane can have under way.
template <element T>
class lane_work {
public:
    using piece = begun_work<T>;

    /// Each block can have one frame, two restorations and three pieces of delivery work under way. With far
    /// messages there is one more for the frame, and a lane can have one for the message that it sends and
    /// one for the message that it has received.
    static constexpr std::size_t most_per_block = 9;

    lane_work() = default;
    explicit lane_work(std::span<piece> room) : room_(room) {}

    bool empty() const { return first_ == last_; }
    /// Is there any work that a message or a later step waits for?
    bool due() const { return due_ > 0; }
    piece& oldest() { return room_[first_ % room_.size()]; }
    piece& add(const piece& p)
    {
        due_ += p.what != piece::kind::delivers;
        return room_[last_++ % room_.size()] = p;
    }
    void remove_oldest()
    {
        due_ -= oldest().what != piece::kind::delivers;
        ++first_;
    }

private:
    std::span<piece> room_;
    std::size_t first_ = 0, last_ = 0, due_ = 0;
};

/// The stages of a step; executor.hpp describes them.
enum class stage_of_step : unsigned char { encode, exchange, fetch, combine, close };

/// Lane i of L walks slices i, i + L, i + 2 L, ... on every rank, so its tag is enough to distinguish its
/// messages.
template <element T, class Request>
struct engine_lane {
    std::size_t slice = 0;  ///< the current slice, or the next one if the lane is not open
    int step = 0;
    ccoll::step now{};  ///< what this rank does in it
    stage_of_step at = stage_of_step::encode;
    bool open = false, received = false;
    std::span<typename block_store<T>::block> blocks;
    buffer_memory* inbox = nullptr;   ///< where the message of this step arrives
    buffer_memory* outbox = nullptr;  ///< what leaves in this step
    Request send{}, recv{};
    codec_queue queue;
    lane_work<T> begun;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
