// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/threads.hpp - floor 2. p ranks as threads of one process, for tutorials, tests and sanitizers
// without MPI. The receiver of a message copies it from the sender's memory; only short messages are stored
// in between.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

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

/// What the ranks of one run_ranks share. It is read and written only while `mutex` is held, except for
/// members that belong to one rank.
struct threads_world {
    /// Sends of up to this many bytes are done at once. The engine's control messages fit, because they must
    /// not wait for another rank.
    static constexpr std::size_t short_message = 256;
    /// The first message from one rank to another makes room for this many, so that allocations hardly depend
    /// on timing.
    static constexpr std::size_t usual_messages = 16;

    /// A send that has not been received yet, or is being received.
    struct message {
        std::uint64_t id;
        int tag;
        const_byte_span data;
        bool being_read;  ///< the receiver is reading `data` and does not hold the lock
        /// A short message, whose bytes are in `store`: its sender need not wait, as with an eager message of
        /// MPI.
        bool stored;
        const far_memory* where;  ///< where `data` may be; null: in host memory
        std::array<std::byte, short_message> store;

        const_byte_span bytes() const { return stored ? const_byte_span(store).first(data.size()) : data; }
    };
    /// A receive that waits for its message. Only its position matters: the k-th receive of a tag takes the
    /// k-th message of that tag.
    struct expectation {
        std::uint64_t id;
        int tag;
    };
    /// The messages from one rank to another, in the order of posting. The vectors keep their capacity, so
    /// soon nothing more is allocated.
    struct queue {
        std::vector<message> messages;
        std::vector<expectation> expected;
    };
    /// The state of one rank.
    struct place {
        std::condition_variable changed;
        std::uint64_t events = 0;  ///< grows with everything for which this rank may be waiting
        bool ended = false;
        // Only the rank's own thread uses the rest, without the lock.
        workspace memory;
        std::vector<int> nodes;
        std::uint32_t calls = 0;
    };

    explicit threads_world(int p)
        : size(p), places(static_cast<std::size_t>(p)),
          queues(static_cast<std::size_t>(p) * static_cast<std::size_t>(p))
    {}

    place& at(int rank) { return places[static_cast<std::size_t>(rank)]; }
    queue& between(int from, int to)
    {
        return queues[static_cast<std::size_t>(to) * static_cast<std::size_t>(size) +
                      static_cast<std::size_t>(from)];
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

    /// Called when the body of `rank` has returned or thrown. Withdraws its unfinished messages and wakes all
    /// ranks that may wait for it.
    void end(int rank)
    {
        std::unique_lock lock(mutex);
        for (int peer = 0; peer < size; ++peer) {
            std::vector<message>& mine = between(rank, peer).messages;
            at(rank).changed.wait(lock, [&] { return std::ranges::none_of(mine, &message::being_read); });
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
    std::vector<queue> queues;
};

}  // namespace detail

/// One rank of a run_ranks, and a transport. Copies are the same rank. One thread at a time may use a rank,
/// as with the lower thread levels of MPI. A send of at most 256 bytes is done at once; a longer one is done
/// when its receiver has tested. When the body of a rank has ended, longer sends to it complete with
/// peer_lost, and so do receives from it for which no message is stored.
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

    threads_comm(std::shared_ptr<detail::threads_world> shared, int rank)
        : world_(std::move(shared)), rank_(rank)
    {}

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return world_->size; }
    status refusal() const noexcept { return status::ok; }
    const char* explain() const noexcept { return says_; }
    std::uint32_t begin_call() noexcept { return world_->at(rank_).calls++; }
    workspace& memory() noexcept { return world_->at(rank_).memory; }
    std::span<const int> nodes() const noexcept { return world_->at(rank_).nodes; }
    void set_nodes(std::span<const int> node_of_rank)
    {
        world_->at(rank_).nodes.assign(node_of_rank.begin(), node_of_rank.end());
    }

    status reach(const far_memory& memory) noexcept
    {
        far_ = &memory;
        return status::ok;
    }

    /// Announces `data` to the receiver, which reads it before the request is done. Data of at most 256 bytes
    /// is copied, and the request is done on return. A peer or tag out of range gives a request that is done,
    /// with transport_failed.
    request post_send(int peer, int tag, const_byte_span data)
    {
        request r = begin(request::kind::send, peer, tag);
        if (r.kind_ == request::kind::none) return r;
        {
            const std::lock_guard lock(world_->mutex);
            r.id_ = ++world_->last_id;
            const bool is_short = data.size() <= world::short_message;
            world_->between(rank_, peer).messages.reserve(world::usual_messages);
            world_->between(rank_, peer).messages.push_back({r.id_, tag, data, false, is_short, far_, {}});
            if (is_short) {
                world::message& stored = world_->between(rank_, peer).messages.back();
                if (!bring(stored.store, data, nullptr)) {
                    stored.data = {};  // which no receiver takes for a message
                    failed(r);
                }
                r.kind_ = request::kind::none;
            }
            ++world_->at(peer).events;
        }
        world_->at(peer).changed.notify_all();
        return r;
    }

    /// Receives into `target`, which must stay valid until the request is done. A peer or tag out of range:
    /// as for post_send.
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

    /// True if the request is done. If the message of a receive is there, it is copied, without holding the
    /// lock, and the send is done, too. A message that is longer than `target` is not copied: the result is
    /// truncated, with the length of the message in `bytes`.
    bool test(request& r)
    {
        switch (r.kind_) {
        case request::kind::send: return test_send(r);
        case request::kind::recv: return test_recv(r);
        case request::kind::none: break;
        }
        return true;
    }

    /// Gives a request up. Always returns true: it waits for a receiver that is reading, so that the memory
    /// is free again on return.
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
                    return mine == sent.end() || !mine->being_read;
                });
                world::erase(sent, r.id_);
            }
            ++world_->at(r.peer_).events;
        }
        world_->at(r.peer_).changed.notify_all();
        r.kind_ = request::kind::none;
        return true;
    }

    /// The lowest rank from which a message with this tag waits and has no receive posted for it, or nobody.
    /// Cost: O(p + messages).
    int probe(int tag)
    {
        const std::lock_guard lock(world_->mutex);
        for (int peer = 0; peer < world_->size; ++peer) {
            const world::queue& incoming = world_->between(peer, rank_);
            if (std::ranges::count(incoming.messages, tag, &world::message::tag) >
                std::ranges::count(incoming.expected, tag, &world::expectation::tag))
                return peer;
        }
        return nobody;
    }

    /// Remembers how many events this rank has had. Each copy of the handle remembers its own number.
    void poll()
    {
        const std::lock_guard lock(world_->mutex);
        seen_ = world_->at(rank_).events;
    }

    /// Sleeps until there has been an event since poll(), but at most 5 ms. Events are: a message to this
    /// rank, a send of its own that was received, a rank that ended, a request that was withdrawn, and
    /// wake(). An event between poll() and idle() is not missed.
    void idle()
    {
        std::unique_lock lock(world_->mutex);
        world::place& mine = world_->at(rank_);
        mine.changed.wait_for(lock, std::chrono::milliseconds(5), [&] { return mine.events != seen_; });
    }
    /// Ends the sleep of this rank. Any thread may call it.
    void wake() noexcept
    {
        {
            const std::lock_guard lock(world_->mutex);
            ++world_->at(rank_).events;
        }
        world_->at(rank_).changed.notify_all();
    }

private:
    request begin(request::kind kind, int peer, int tag)
    {
        request r;
        if (peer < 0 || peer >= size() || tag < 0 || tag > max_tag) {
            r.result = status::transport_failed;
            says_ =
                "threads_comm: the peer is not a rank of this run_ranks, or the tag is not in 0 .. "
                "ccoll::max_tag";
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
        if (mine == sent.end()) return finish(r, status::ok);  // received
        if (mine->being_read || !world_->at(r.peer_).ended) return false;
        sent.erase(mine);
        return finish(r, status::peer_lost);
    }

    bool test_recv(request& r)
    {
        world::queue& incoming = world_->between(r.peer_, rank_);
        world::place& peer = world_->at(r.peer_);
        std::uint64_t taken = 0;
        const_byte_span data;
        const far_memory* where = nullptr;
        {
            const std::lock_guard lock(world_->mutex);
            const auto message = message_for(incoming, r);
            if (message == incoming.messages.end()) {
                if (!peer.ended) return false;
                world::erase(incoming.expected, r.id_);
                return finish(r, status::peer_lost);
            }
            world::erase(incoming.expected, r.id_);
            data = message->data;
            if (message->stored) {
                const status s = take(r, message->bytes(), nullptr);
                incoming.messages.erase(message);
                return finish(r, s);
            }
            message->being_read = true;
            taken = message->id;
            where = message->where;
        }
        const status s = take(r, data, where);
        {
            const std::lock_guard lock(world_->mutex);
            world::erase(incoming.messages, taken);
            ++peer.events;
        }
        peer.changed.notify_all();
        return finish(r, s);
    }

    /// @param where  of the sender; null: in host memory
    status take(request& r, const_byte_span data, const far_memory* where)
    {
        r.bytes = data.size();
        if (data.size() > r.target_.size()) return status::truncated;
        return bring(r.target_, data, where) ? status::ok : failed(r);
    }
    bool bring(byte_span to, const_byte_span data, const far_memory* where) const
    {
        if (far_ != nullptr) where = far_;
        if (where != nullptr) return where->copy(to.data(), data);
        copy(to, data);
        return true;
    }
    status failed(request& r)
    {
        says_ = "threads_comm: a message could not be copied between device memories";
        return r.result = status::transport_failed;
    }

    /// The message that `r` receives. One message of the same tag is skipped for each receive of that tag
    /// that was posted before `r`.
    static std::vector<world::message>::iterator message_for(world::queue& incoming, const request& r)
    {
        std::size_t earlier = 0;
        for (const world::expectation& e : incoming.expected) {
            if (e.id == r.id_) break;
            if (e.tag == r.tag_) ++earlier;
        }
        auto message = incoming.messages.begin();
        for (; message != incoming.messages.end(); ++message)
            if (message->tag == r.tag_ && !message->being_read && earlier-- == 0) break;
        return message;
    }

    std::shared_ptr<detail::threads_world> world_;
    int rank_;
    std::uint64_t seen_ = 0;
    const char* says_ = "";
    const far_memory* far_ = nullptr;
};

static_assert(transport<threads_comm>);

namespace detail {

/// run_ranks with body(object, comm) in place of the body, so that the code which starts threads is not
/// compiled again for each body.
inline void run_ranks(int p, void (*body)(void* object, threads_comm& comm), void* object)
{
    if (p < 1)
        raise("run_ranks", {.code = status::bad_argument, .expected = 1, .found = static_cast<double>(p)});
    const auto world = std::make_shared<threads_world>(p);
#if defined(__cpp_exceptions)
    // The cause is the first exception in time, because other ranks hear of it only when its rank ends. There
    // is one exception to this: a rank gives its requests up while it is unwound, so what others throw
    // because of that may come first.
    std::exception_ptr cause;
    bool may_be_consequence = false;
    const auto caught = [&](bool consequence) {
        const std::lock_guard lock(world->mutex);
        if (cause && (consequence || !may_be_consequence)) return;
        cause = std::current_exception();
        may_be_consequence = consequence;
    };
#endif
    const auto run = [&](int rank) noexcept {
#if defined(__cpp_exceptions)
        try {
            threads_comm comm(world, rank);
            body(object, comm);
        } catch (const error& e) {
            caught(e.what_happened().code == status::peer_lost ||
                   e.what_happened().code == status::abandoned);
        } catch (...) {
            caught(false);
        }
#else
        threads_comm comm(world, rank);
        body(object, comm);
#endif
        world->end(rank);
    };
    const int last = p - 1;  // runs here, which saves a thread
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(last));
    for (int rank = 0; rank < last; ++rank) {
#if defined(__cpp_exceptions)
        try {
            threads.emplace_back(run, rank);
        } catch (...) {  // the system has no more threads: the ranks that run must not wait for the rest
            caught(false);
            for (int absent = rank; absent < p; ++absent) world->end(absent);
            break;
        }
#else
        threads.emplace_back(run, rank);
#endif
    }
    if (static_cast<int>(threads.size()) == last) run(last);
    for (std::thread& thread : threads) thread.join();
#if defined(__cpp_exceptions)
    if (cause) std::rethrow_exception(cause);
#endif
}

}  // namespace detail

/// Runs `body(comm)` on p threads, each of which is one rank; one of them is the calling thread. Returns when
/// all have ended.
///
/// @param p     number of ranks, >= 1; otherwise throws ccoll::error with bad_argument.
/// @param body  called as body(threads_comm&) from p threads at once.
/// @throws      the exception that came first, after all ranks have ended. Other ranks do not wait for a rank
///              that has thrown: what they expect from it fails with peer_lost or abandoned. These two are
///              rethrown only if there is no other exception.
template <class Body>
void run_ranks(int p, Body&& body)
{
    auto call = [&body](threads_comm& comm) { body(comm); };  // an object, even if the body is a function
    detail::run_ranks(
        p, [](void* object, threads_comm& comm) { (*static_cast<decltype(call)*>(object))(comm); }, &call);
}

}  // namespace ccoll
