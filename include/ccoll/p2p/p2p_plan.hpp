// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// p2p/p2p_plan.hpp - floor 3. A point-to-point call before it begins: its plan as values, how a vector is
// cut into messages, the user's buffers, and the order of calls with the same peer and tag.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ccoll/agree/agree.hpp>
#include <ccoll/run/blocks.hpp>
#include <ccoll/wait/pending.hpp>
#include <ccoll/run/task.hpp>
#include <ccoll/policy/shaped.hpp>

namespace ccoll::inline CCOLL_ABI {

/// The user's tags of point-to-point calls are 0 .. max_p2p_tag.
inline constexpr int max_p2p_tag = 4095;

}  // namespace ccoll::inline CCOLL_ABI

namespace ccoll::inline CCOLL_ABI::detail {

/// They follow the tags of collectives.
inline constexpr int first_p2p_tag = call_tags::end + 16;
static_assert(first_p2p_tag + max_p2p_tag <= max_tag);

/// Enough room for any message of any plan, because a message of a peer with another plan must not be
/// truncated either (see room_for).
inline constexpr std::size_t p2p_room = (std::size_t{1} << 19) + (std::size_t{1} << 12);

/// Shorter vectors are not cut. Measured (ping-pong of 32 and 64 Ki floats with SZp, 2 ranks of one machine,
/// MPICH): 11 and 17 us. A quarter of this value gives the same, and four times this value gives 14 to 18 and
/// 26 to 33 us.
inline constexpr std::size_t p2p_least_slice = std::size_t{1} << 14;

/// The longest slice of a codec, in elements: as many whole chunks as have a frame that fits p2p_room.
template <element T>
constexpr std::size_t longest_p2p_slice(const queued_codec<T>& codec)
{
    const std::size_t chunk = codec.chunk_elements;
    std::size_t fits = 1, over = (usual_slice_elements + chunk - 1) / chunk + 1;
    while (over - fits > 1) {
        const std::size_t middle = (fits + over) / 2;
        (sizeof(pair_stamp) + codec.max_bytes(middle * chunk) <= p2p_room ? fits : over) = middle;
    }
    return fits * chunk;
}

/// A plan as values.
template <element T>
struct p2p_decision {
    const char* codec_name = "";
    queued_codec<T> codec;
    space_operations<T> space;
    /// Host codecs on several threads; null: on this one.
    codec_queue (*threads)(std::size_t lane) noexcept = nullptr;
    std::size_t most_elements = 1;  ///< in one message
    std::uint32_t plan = 0;         ///< hash of what must be equal at both ends
    bool lossy = false, relative = false, of_magnitude = false, at_rate = false, bound_at_run_time = false;
    double bound_value = 0;
    missing_value missing;
    time_limit patience;

    /// Elements of one message out of n. There are at least four messages if these are long enough.
    constexpr std::size_t slice(std::size_t n) const
    {
        const std::size_t wish = std::max(p2p_least_slice, (n + 3) / 4), chunk = codec.chunk_elements;
        return std::min(most_elements, (wish + chunk - 1) / chunk * chunk);
    }
    /// The number of messages of a call. It is at least 1, because a vector of no elements is sent as well.
    constexpr std::size_t messages(std::size_t n) const
    {
        return std::max<std::size_t>(1, (n + slice(n) - 1) / slice(n));
    }
};

/// What a facade was given.
template <element T>
struct p2p_buffers {
    const char* call = "";  ///< its name
    const T* send = nullptr;
    std::size_t send_count = 0;
    T* recv = nullptr;
    std::size_t recv_count = 0;
    int destination = nobody, source = nobody;
    int send_tag = 0, recv_tag = 0;
    bool strided = false;
    detail::shape_facts shape{};
    space_argument after{};
};

/// What is wrong with the arguments on this rank: the first fault found, or nothing.
template <element T>
verdict first_fault(const p2p_buffers<T>& user, int me, int ranks)
{
    const std::size_t sent = user.send_count * sizeof(T), taken = user.recv_count * sizeof(T);
    // nvcc loses braces after a colon in templates.
    const std::array<int, 2> peers{user.destination, user.source};
    const std::array<int, 2> tags{user.send_tag, user.recv_tag};
    const std::array<std::size_t, 2> counts{user.send_count, user.recv_count};
    for (const int peer : peers)
        if (peer != nobody && (peer < 0 || peer >= ranks))
            return {status::bad_peer, me, me, -1, ranks - 1.0, static_cast<double>(peer)};
    for (const std::size_t n : counts)  // for example a negative number of the user
        if (n > ~std::size_t{0} / 2 / sizeof(T))
            return {status::bad_count, me, nobody, -1, 0, static_cast<double>(static_cast<long long>(n))};
    for (const int tag : tags)
        if (tag < 0 || tag > max_p2p_tag)
            return {status::bad_tag, me, me, -1, max_p2p_tag, static_cast<double>(tag)};
    if (user.strided) return {status::strided, me, me};
    if (!user.shape.fits())
        return {status::size_mismatch,
                me,
                me,
                -1,
                static_cast<double>(user.shape.expected),
                static_cast<double>(user.shape.found)};
    const bool no_send = user.destination != nobody && sent > 0 && is_no_memory(user.send);
    if (no_send || (user.source != nobody && taken > 0 && is_no_memory(user.recv))) {
        verdict v = no_send ? no_memory(user.send, user.send_count) : no_memory(user.recv, user.recv_count);
        v.rank = v.peer = me;
        return v;
    }
    const bool both = user.destination != nobody && user.source != nobody,
               same = static_cast<const void*>(user.send) == user.recv;
    if (both && !same && share_memory(user.send, sent, user.recv, taken)) return {status::overlap, me, me};
    return {};
}

/// @see space_operations::enter
template <element T, transport Link>
status enter_space(const p2p_decision<T>& plan, const p2p_buffers<T>& user, Link& link) noexcept
{
    if (plan.space.afar != nullptr)
        if (const status s = reach(link, plan.space.afar->memory); s != status::ok) return s;
    if (plan.space.enter == nullptr) return status::ok;
    const bool sends = user.destination != nobody && user.send_count > 0,
               receives = user.source != nobody && user.recv_count > 0;
    return plan.space.enter(user.after, sends ? user.send : nullptr, receives ? user.recv : nullptr);
}

/// The turn of one end of a call among this thread's other calls with the same direction, peer, tag and
/// communicator. A message does not say which call it belongs to. So all messages of a call are posted before
/// the next call posts its first, which gives the order that MPI prescribes.
class p2p_turn {
public:
    struct line {
        const void* communicator = nullptr;
        int peer = nobody, tag = 0;
        bool sends = false;

        friend bool operator==(const line&, const line&) = default;
    };

    p2p_turn() = default;
    p2p_turn(const p2p_turn&) = delete;
    p2p_turn& operator=(const p2p_turn&) = delete;
    ~p2p_turn() { leave(); }

    void join(const line& where)
    {
        where_ = where;
        list_ = &of_this_thread();
        before_ = std::exchange(list_->last, this);
        if (before_ != nullptr) before_->after_ = this;
    }
    void leave()
    {
        if (list_ == nullptr) return;
        if (before_ != nullptr) before_->after_ = after_;
        (after_ != nullptr ? after_->before_ : list_->last) = before_;
        before_ = after_ = nullptr;
        list_ = nullptr;
    }
    bool has_come() const
    {
        for (const p2p_turn* each = before_; each != nullptr; each = each->before_)
            if (each->where_ == where_) return false;
        return true;
    }

private:
    struct turns {
        p2p_turn* last = nullptr;
    };
    static turns& of_this_thread()
    {
        static thread_local constinit turns all;
        return all;
    }

    line where_;
    p2p_turn *before_ = nullptr, *after_ = nullptr;
    turns* list_ = nullptr;
};

/// Messages of calls that have ended without them, for example because their receiver did not come in time.
/// Each leaves when its receiver takes it, and until then its request and its memory are kept here, with the
/// communicator.
template <class Request>
class p2p_left_sends {
public:
    /// @param b  its message, of `memory`
    void add(const Request& r, workspace& memory, buffer_memory* b) { all_.push_back({r, &memory, b}); }
    /// Lets those go that are done.
    template <class Link>
    void finish(Link& link)
    {
        std::erase_if(all_, [&](entry& each) {
            if (!link.test(each.request)) return false;
            each.memory->drop(each.message);
            return true;
        });
    }

private:
    struct entry {
        Request request;
        workspace* memory;
        buffer_memory* message;
    };
    std::vector<entry> all_;
};

/// A message under way.
template <class Request>
struct p2p_slot {
    buffer_memory* memory = nullptr;
    Request request{};
    codec_queue queue{};
    codec_work work{};
    /// Of a far message that has arrived: what the host reads of it has been asked for.
    bool fetched = false;

    bool is_done() { return queue.is_done(work); }
};
/// One direction. Message i is in slot i modulo `slots`, and goes through three stages in order. When
/// sending, it is being encoded, it is under way, it has been sent. When receiving, it is awaited, it is
/// being decoded, it is done.
template <class Request>
struct p2p_end {
    /// How many messages may be under way at once: as many as with four lanes (blocks.hpp).
    static constexpr std::size_t window = most_lanes;

    int peer = nobody;
    std::size_t total = 0, begun = 0, halfway = 0, finished = 0, slots = 0;
    bool counted = false;  // has the sender said what `total` is?
    double eb = 0;
    p2p_turn turn;
    std::array<p2p_slot<Request>, window> all{};

    p2p_slot<Request>& at(std::size_t i) { return all[i % slots]; }
    bool done() const { return finished == total; }
    /// Waits for codec work, because it uses the user's buffers.
    void wait_for_work()
    {
        for (p2p_slot<Request>& s : all) s.queue.wait(s.work);
    }
    /// Gives memory back that no message uses; no further message belongs to the call.
    void close(workspace& messages)
    {
        for (std::size_t i = 0; i < slots; ++i) messages.drop(std::exchange(all[i].memory, nullptr));
        total = begun = halfway = finished = slots = 0;
        turn.leave();
    }
};

/// All that a facade passes on to begin a call.
template <element T>
struct p2p_order {
    const p2p_decision<T>& plan;
    p2p_buffers<T> user;
    double eb;  ///< the bound, if the plan says RuntimeBound
};

}  // namespace ccoll::inline CCOLL_ABI::detail
