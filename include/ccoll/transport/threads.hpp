// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/threads.hpp - floor 2. p ranks as threads of one process: tutorials, tests, sanitizers, no MPI. A rendezvous:
// the receiver copies from the sender's memory; only messages of a few bytes are stored on the way.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// What the ranks of one run_ranks share. Everything in it is read and written under `mutex`, except what is a rank's own.
struct threads_world {
    /// Bytes up to which a send is done at once: room for the engine's control messages, which must not wait for anybody.
    static constexpr std::size_t short_message = 256;
    /// Room for as many from one rank to another is made at the first, so that what is allocated hardly depends on timing.
    static constexpr std::size_t usual_messages = 16;

    /// A send that nobody has received, or is just receiving (moving: its memory is being read outside of the lock).
    /// A short one is stored here and outlives its sender's interest, as MPI's eager messages do.
    struct message {
        std::uint64_t id;
        int tag;
        const_byte_span data;
        bool moving;
        bool stored;
        std::array<std::byte, short_message> store;

        const_byte_span bytes() const { return stored ? const_byte_span(store).first(data.size()) : data; }
    };
    /// A receive that waits. Kept only for its place: the k-th receive of a tag takes the k-th message of that tag.
    struct expectation {
        std::uint64_t id;
        int tag;
    };
    /// From one rank to one other, in the order of posting. The vectors keep their capacity: the steady state allocates nothing.
    struct lane {
        std::vector<message> messages;
        std::vector<expectation> expected;
    };
    struct place {
        std::condition_variable changed;
        std::uint64_t events = 0;  ///< whatever may let this rank go on counts it up
        bool ended = false;
        workspace memory;          // the rank's own
        std::vector<int> nodes;    // the rank's own
        std::uint32_t calls = 0;   // the rank's own
    };

    explicit threads_world(int p)
        : size(p), places(static_cast<std::size_t>(p)), lanes(static_cast<std::size_t>(p) * static_cast<std::size_t>(p))
    {}

    place& at(int rank) { return places[static_cast<std::size_t>(rank)]; }
    lane& between(int from, int to)
    {
        return lanes[static_cast<std::size_t>(to) * static_cast<std::size_t>(size) + static_cast<std::size_t>(from)];
    }

    template <class Entries>
    static auto find(Entries& entries, std::uint64_t id)
    {
        return std::ranges::find_if(entries, [id](const auto& e) { return e.id == id; });
    }
    template <class Entries>
    static void erase(Entries& entries, std::uint64_t id)
    {
        const auto found = find(entries, id);
        if (found != entries.end()) entries.erase(found);
    }

    /// The body of `rank` has returned or thrown: what it has left behind is withdrawn, and whoever waits for it goes on.
    void end(int rank)
    {
        std::unique_lock lock(mutex);
        for (int peer = 0; peer < size; ++peer) {
            std::vector<message>& mine = between(rank, peer).messages;
            at(rank).changed.wait(lock, [&] { return std::ranges::none_of(mine, &message::moving); });
            std::erase_if(mine, [](const message& m) { return !m.stored; });
            between(peer, rank).expected.clear();
        }
        at(rank).ended = true;
        for (place& each : places) {
            ++each.events;
            each.changed.notify_all();
        }
    }

    int size;
    std::mutex mutex;
    std::uint64_t last_id = 0;
    std::vector<place> places;
    std::vector<lane> lanes;
};

}  // namespace detail

/// One rank of a run_ranks. Copies are the same rank; a rank is used by one thread at a time, as a communicator of MPI's
/// lowest thread levels is. A send is done when its receiver has tested, or at once if it has 256 bytes or less. A rank
/// whose body has ended is lost to the others: a longer send to it, and a receive that no stored message serves, complete
/// with peer_lost.
class threads_comm {
    using world = detail::threads_world;

public:
    class request {
    public:
        std::size_t bytes = 0;
        status result = status::ok;

    private:
        friend threads_comm;
        enum class kind : char { none, send, recv };
        std::uint64_t id_ = 0;
        byte_span target_{};
        int peer_ = nobody;
        int tag_ = 0;
        kind kind_ = kind::none;
    };

    threads_comm(std::shared_ptr<detail::threads_world> shared, int rank) : world_(std::move(shared)), rank_(rank) {}

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return world_->size; }
    status refusal() const noexcept { return status::ok; }
    const char* explain() const noexcept { return says_; }
    std::uint32_t begin_call() noexcept { return world_->at(rank_).calls++; }
    workspace& memory() noexcept { return world_->at(rank_).memory; }
    std::span<const int> nodes() const noexcept { return world_->at(rank_).nodes; }
    void set_nodes(std::span<const int> node_of_rank) { world_->at(rank_).nodes.assign(node_of_rank.begin(), node_of_rank.end()); }

    /// Registers `data`, which the receiver reads until the request is done.
    request post_send(int peer, int tag, const_byte_span data)
    {
        request r = begin(request::kind::send, peer, tag);
        if (r.kind_ == request::kind::none) return r;
        {
            const std::lock_guard lock(world_->mutex);
            r.id_ = ++world_->last_id;
            const bool is_short = data.size() <= world::short_message;
            world_->between(rank_, peer).messages.reserve(world::usual_messages);
            world_->between(rank_, peer).messages.push_back({r.id_, tag, data, false, is_short, {}});
            if (is_short) {
                copy(world_->between(rank_, peer).messages.back().store, data);
                r.kind_ = request::kind::none;
            }
            ++world_->at(peer).events;
        }
        world_->at(peer).changed.notify_all();
        return r;
    }

    request post_recv(int peer, int tag, byte_span target)
    {
        request r = begin(request::kind::recv, peer, tag);
        if (r.kind_ == request::kind::none) return r;
        r.target_ = target;
        const std::lock_guard lock(world_->mutex);
        r.id_ = ++world_->last_id;
        world_->between(peer, rank_).expected.reserve(world::usual_messages);
        world_->between(peer, rank_).expected.push_back({r.id_, tag});
        return r;
    }

    /// True when done. A receive whose message is there copies it, outside of the lock, and completes the sender. A message
    /// longer than the receiver's memory is not copied: truncated, with its true length in `bytes`.
    bool test(request& r)
    {
        switch (r.kind_) {
        case request::kind::send: return test_send(r);
        case request::kind::recv: return test_recv(r);
        case request::kind::none: break;
        }
        return true;
    }

    /// Always true. Waits for a receiver that is just reading, so that the memory is the caller's again on return.
    bool cancel(request& r)
    {
        if (r.kind_ == request::kind::none) return true;
        {
            std::unique_lock lock(world_->mutex);
            if (r.kind_ == request::kind::recv) {
                world::erase(world_->between(r.peer_, rank_).expected, r.id_);
            } else {
                std::vector<world::message>& sent = world_->between(rank_, r.peer_).messages;
                world_->at(rank_).changed.wait(lock, [&] {
                    const auto mine = world::find(sent, r.id_);
                    return mine == sent.end() || !mine->moving;
                });
                world::erase(sent, r.id_);
            }
            ++world_->at(r.peer_).events;
        }
        world_->at(r.peer_).changed.notify_all();
        r.kind_ = request::kind::none;
        return true;
    }

    /// The lowest rank with a message of this tag for which no receive is posted, or nobody.
    int probe(int tag)
    {
        const std::lock_guard lock(world_->mutex);
        for (int peer = 0; peer < world_->size; ++peer) {
            const world::lane& lane = world_->between(peer, rank_);
            if (std::ranges::count(lane.messages, tag, &world::message::tag) >
                std::ranges::count(lane.expected, tag, &world::expectation::tag))
                return peer;
        }
        return nobody;
    }

    /// Remembers where this rank's events stand. Kept per copy of the handle.
    void poll()
    {
        const std::lock_guard lock(world_->mutex);
        seen_ = world_->at(rank_).events;
    }

    /// Sleeps until an event has come since poll(): a message to this rank, a send of its own taken, a rank that ended, a
    /// request withdrawn. An event between poll() and idle() is not missed. Wakes after 5 ms all the same.
    void idle()
    {
        std::unique_lock lock(world_->mutex);
        world::place& mine = world_->at(rank_);
        mine.changed.wait_for(lock, std::chrono::milliseconds(5), [&] { return mine.events != seen_; });
    }

private:
    request begin(request::kind kind, int peer, int tag)
    {
        request r;
        if (peer < 0 || peer >= size() || tag < 0 || tag > max_tag) {
            r.result = status::transport_failed;
            says_ = "threads_comm: the peer is not a rank of this run_ranks, or the tag is not in 0 .. ccoll::max_tag";
            return r;
        }
        r.peer_ = peer;
        r.tag_ = tag;
        r.kind_ = kind;
        return r;
    }

    static bool finish(request& r, status result)
    {
        r.result = result;
        r.kind_ = request::kind::none;
        return true;
    }

    bool test_send(request& r)
    {
        const std::lock_guard lock(world_->mutex);
        std::vector<world::message>& sent = world_->between(rank_, r.peer_).messages;
        const auto mine = world::find(sent, r.id_);
        if (mine == sent.end()) return finish(r, status::ok);  // taken
        if (mine->moving || !world_->at(r.peer_).ended) return false;
        sent.erase(mine);
        return finish(r, status::peer_lost);
    }

    bool test_recv(request& r)
    {
        world::lane& lane = world_->between(r.peer_, rank_);
        world::place& peer = world_->at(r.peer_);
        std::uint64_t taken = 0;
        const_byte_span data;
        {
            const std::lock_guard lock(world_->mutex);
            const auto message = message_for(lane, r);
            if (message == lane.messages.end()) {
                if (!peer.ended) return false;
                world::erase(lane.expected, r.id_);
                return finish(r, status::peer_lost);
            }
            world::erase(lane.expected, r.id_);
            data = message->data;
            if (message->stored) {
                const bool fits = data.size() <= r.target_.size();
                if (fits) copy(r.target_, message->bytes());
                lane.messages.erase(message);
                r.bytes = data.size();
                return finish(r, fits ? status::ok : status::truncated);
            }
            message->moving = true;
            taken = message->id;
        }
        const bool fits = data.size() <= r.target_.size();
        if (fits) copy(r.target_, data);
        {
            const std::lock_guard lock(world_->mutex);
            world::erase(lane.messages, taken);
            ++peer.events;
        }
        peer.changed.notify_all();
        r.bytes = data.size();
        return finish(r, fits ? status::ok : status::truncated);
    }

    /// As many receives of this tag as were posted before `r`, so many messages are passed over.
    static std::vector<world::message>::iterator message_for(world::lane& lane, const request& r)
    {
        std::size_t earlier = 0;
        for (const world::expectation& e : lane.expected) {
            if (e.id == r.id_) break;
            if (e.tag == r.tag_) ++earlier;
        }
        auto message = lane.messages.begin();
        for (; message != lane.messages.end(); ++message)
            if (message->tag == r.tag_ && !message->moving && earlier-- == 0) break;
        return message;
    }

    std::shared_ptr<detail::threads_world> world_;
    int rank_;
    std::uint64_t seen_ = 0;
    const char* says_ = "";
};

static_assert(transport<threads_comm>);

/// Runs `body(comm)` on p threads, each with its own rank; returns when all have ended.
///
/// @param p     ranks, >= 1; else ccoll::error with bad_argument.
/// @param body  called as body(threads_comm&) from p threads at once.
/// @throws      the exception of the lowest rank that threw, after all have ended. A rank that throws is lost to the others,
///              so they end as well: with peer_lost, if they had expected something of it.
template <class Body>
void run_ranks(int p, Body&& body)
{
    if (p < 1) raise("run_ranks", {.code = status::bad_argument, .expected = 1, .found = static_cast<double>(p)});
    const auto world = std::make_shared<detail::threads_world>(p);
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(p));
    const auto run = [&](int rank) {
        threads_comm comm(world, rank);
        body(comm);
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(p));
    for (int rank = 0; rank < p; ++rank) {
#if defined(__cpp_exceptions)
        const auto guarded = [&, rank]() noexcept {
            try {
                run(rank);
            } catch (...) {
                thrown[static_cast<std::size_t>(rank)] = std::current_exception();
            }
            world->end(rank);
        };
        try {
            threads.emplace_back(guarded);
        } catch (...) {  // no more threads to be had: the ranks that run shall not wait for the others
            thrown[static_cast<std::size_t>(rank)] = std::current_exception();
            for (int absent = rank; absent < p; ++absent) world->end(absent);
            break;
        }
#else
        threads.emplace_back([&, rank] {
            run(rank);
            world->end(rank);
        });
#endif
    }
    for (std::thread& thread : threads) thread.join();
#if defined(__cpp_exceptions)
    for (const std::exception_ptr& each : thrown)
        if (each) std::rethrow_exception(each);
#endif
}

}  // namespace ccoll
