// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/ucx_node.hpp - floor 2. What a rank has once, however many communicators it has: a worker of UCX,
// endpoints to other ranks, and the operations under way. The only header that includes UCX's. Link ucp, ucs.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ucp/api/ucp.h>

#include <ccoll/base/clock.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/base/process.hpp>
#include <ccoll/transport/exchange.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// A tag of UCX, 64 bits: the communicator, the rank in it that sends, and the tag of the message. A process
/// is never in two communicators with the same number.
struct ucx_tag {
    static constexpr int tag_bits = 15, rank_bits = 20, communicator_bits = 64 - tag_bits - rank_bits;
    static constexpr int most_ranks = 1 << rank_bits;
    /// Numbers of communicators are below it. It is the number of what nodes tell each other.
    static constexpr std::uint64_t control = (std::uint64_t{1} << communicator_bits) - 1;

    static constexpr ucp_tag_t of(std::uint64_t number, int rank, int tag) noexcept
    {
        return number << (rank_bits + tag_bits) | static_cast<ucp_tag_t>(rank) << tag_bits |
               static_cast<ucp_tag_t>(tag);
    }
    static constexpr int rank_of(ucp_tag_t t) noexcept
    {
        return static_cast<int>(t >> tag_bits & (static_cast<ucp_tag_t>(most_ranks) - 1));
    }
    static constexpr int tag_of(ucp_tag_t t) noexcept
    {
        return static_cast<int>(t & ((ucp_tag_t{1} << tag_bits) - 1));
    }
    static constexpr ucp_tag_t all = ~ucp_tag_t{0};
    static constexpr ucp_tag_t of_any_rank = ~(static_cast<ucp_tag_t>(most_ranks - 1) << tag_bits);
    static constexpr ucp_tag_t of_communicator = control << (rank_bits + tag_bits);
};

/// What nodes tell each other, in place of a tag. The message is a number: that of a communicator, or 0.
enum class ucx_word : int {
    hello,          ///< the sender has an endpoint to the receiver, and wants to hear when that one leaves
    farewell,       ///< the sender will send nothing more
    farewell_read,  ///< the sender has read everything that came before the receiver's farewell
    departure,      ///< the sender has destroyed its communicator, and will send nothing more on it
    unread          ///< the sender has messages under way on a communicator that the receiver has destroyed
};

/// Another rank, as this one reaches it.
struct ucx_peer {
    int rank = 0;  ///< in the world
    std::vector<std::byte> address;
    std::uint64_t host = 0;
    ucp_ep_h endpoint = nullptr;    ///< made at first use
    ucs_status_t failure = UCS_OK;  ///< UCX has found that it is not there, or this rank has given it up
    bool left = false;              ///< it has said farewell
    bool has_answered_farewell = false, has_heard_farewell = false, has_read_farewell = false;
    bool knows_me = false;          ///< it has an endpoint to this rank
    bool is_stuck = false;          ///< a message to it has not left for a while, and none has since
    std::uint64_t handed_over = 0;  ///< sends that UCX calls complete
    std::uint64_t gone = 0;         ///< how many of these have left this process
    std::uint64_t flushing = 0;     ///< how many will have left when the flush under way is done; 0: none is
    std::uint64_t lost_in_round = 0;
    double heard_s = 0;  ///< when an operation with it was completed last, by ucx_node::patience

    bool is_lost() const noexcept { return left || failure != UCS_OK; }
};

/// Who owns the memory of operations: a communicator. It stays until none of them is under way.
struct ucx_tenant {
    /// A rank that has destroyed its end of the communicator.
    struct departure {
        const ucx_peer* peer;
        std::uint64_t round;  ///< of this node, in which it has said so
    };
    std::uint64_t number = 0;  ///< of the communicator
    std::size_t under_way = 0;
    std::vector<departure> departures;
    /// Null if the peer has not left the communicator.
    const departure* departure_of(const ucx_peer& peer) const noexcept
    {
        for (const departure& each : departures)
            if (each.peer == &peer) return &each;
        return nullptr;
    }
    ucx_tenant() = default;
    ucx_tenant(const ucx_tenant&) = delete;
    ucx_tenant& operator=(const ucx_tenant&) = delete;
    virtual ~ucx_tenant() = default;
};

/// A send or a receive.
struct ucx_operation {
    /// Short messages leave from memory of their own, so that whoever gives one up has its memory back.
    static constexpr std::size_t short_message = 256;
    /// `handed_over`: UCX calls the send complete, but may keep it in memory of this process, where it stays
    /// unless someone makes progress.
    enum class stage : char { unused, under_way, handed_over, done };

    class ucx_node* node = nullptr;
    ucx_peer* peer = nullptr;
    ucx_tenant* tenant = nullptr;
    void* handle = nullptr;    ///< of UCX while it is under way
    std::size_t bytes = 0;     ///< received
    std::uint64_t number = 0;  ///< among those to the peer that were handed over
    double since_s = 0;
    double handed_over_s = 0;  ///< by the clock
    ucs_status_t outcome = UCS_OK;
    stage now = stage::unused;
    bool receives = false, is_copied = false, is_dropped = false;
    bool is_late = false;  ///< given up, because it took longer than the communicator's limit
    std::array<std::byte, short_message> copy;
};

/// One thread at a time uses a node, except for wake() and give_up_all().
class ucx_node {
public:
    using stage = ucx_operation::stage;

    ucx_node() = default;
    ucx_node(const ucx_node&) = delete;
    ucx_node& operator=(const ucx_node&) = delete;
    ~ucx_node()
    {
        if (home_.is_here()) leave();
    }

    // ---- the beginning ----

    /// Publishes the address of this rank, and waits for those of the others. @return "", or what failed
    std::string open(exchange& how, int rank, int size, double seconds)
    {
        std::string trouble = make_worker(size);
        if (!trouble.empty()) return trouble;
#if defined(__cpp_exceptions)
        try {
            return meet(how, rank, size, seconds);
        } catch (const std::exception& e) {
            return e.what();
        }
#else
        return meet(how, rank, size, seconds);
#endif
    }
    bool is_late() const noexcept { return late_; }  ///< why open() failed
    bool is_here() const noexcept { return home_.is_here(); }
    std::vector<ucx_peer>& peers() noexcept { return peers_; }  ///< by rank in the world
    bool takes_cuda() const
    {
        ucp_context_attr_t a{};
        a.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
        return ucp_context_query(context_, &a) == UCS_OK &&
               (a.memory_types >> UCS_MEMORY_TYPE_CUDA & 1u) != 0;
    }

    // ---- progress and sleep ----

    void progress()
    {
        const bool moved = ucp_worker_progress(worker_) != 0;
        events_ += moved;
        rounds_ += moved ? 1 : rounds_until_quiet;
        if (has_given_up_.load(std::memory_order_acquire) && !all_given_up_) end_all();
        if (has_lost_) look_after_lost();
        if (!errands_.empty()) run_errands();
        if (!retired_.empty()) std::erase_if(retired_, [](const auto& each) { return each->under_way == 0; });
    }
    std::uint64_t events() const noexcept { return events_; }

    /// Sleeps until UCX has something to do, wake() is called, or the time is over. What has happened since
    /// the last progress() is not missed.
    void sleep(int milliseconds)
    {
        if (woken_.exchange(false, std::memory_order_acq_rel)) return;
        if (ucp_worker_arm(worker_) != UCS_OK) return;  // UCS_ERR_BUSY: there is something to do
        pollfd fd{event_fd_, POLLIN, 0};
        ::poll(&fd, 1, milliseconds);
    }
    /// Any thread: ends a sleep, or the next one.
    void wake() noexcept
    {
        woken_.store(true, std::memory_order_release);
        ucp_worker_signal(worker_);
    }
    /// wake() was called, and no sleep() has ended for it.
    bool is_woken() const noexcept { return woken_.load(std::memory_order_acquire); }

    /// Any thread: ends all operations, and closes all endpoints, as soon as the node is used again.
    /// @param why  what callers are told; that of the first call counts
    void give_up_all(const char* why)
    {
        {
            const std::lock_guard lock(why_mutex_);
            if (why_.empty()) why_ = *why != 0 ? why : "it was given up";
        }
        has_given_up_.store(true, std::memory_order_release);
        wake();
    }
    bool has_given_up() const noexcept { return has_given_up_.load(std::memory_order_acquire); }
    /// Closing the endpoints has ended what could be ended. If UCX has not let go of an operation by now, its
    /// owner must not wait for it any more.
    bool has_waited_for_end() const { return all_given_up_ && steady_seconds() > given_up_s_ + farewell_s; }
    std::string why_given_up()
    {
        const std::lock_guard lock(why_mutex_);
        return why_;
    }

    /// Seconds that this rank has looked after its messages. @see waited_seconds
    double patience() { return patience_ = waited_.look(steady_seconds()); }

    // ---- operations ----

    /// Makes the endpoint to a peer if there is none. @return false if the peer is lost
    bool reach(ucx_peer& to)
    {
        if (to.is_lost()) return false;
        if (to.endpoint != nullptr) return true;
        ucp_ep_params_t e{};
        e.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                       UCP_EP_PARAM_FIELD_ERR_HANDLER;
        e.address = reinterpret_cast<const ucp_address_t*>(to.address.data());
        e.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        e.err_handler.cb = &ucx_node::endpoint_failed;
        e.err_handler.arg = this;
        const ucs_status_t s = ucp_ep_create(worker_, &e, &to.endpoint);
        if (s != UCS_OK) {
            to.endpoint = nullptr;
            lose(to, s);
            return false;
        }
        post(to, ucx_word::hello, 0);
        return true;
    }

    /// @param may_copy  the host can read `data`
    /// @param to        reach() has been called
    ucx_operation* send(ucx_tenant& owner, ucx_peer& to, ucp_tag_t tag, const_byte_span data, bool may_copy)
    {
        ucx_operation* const op = take(owner, to, false);
        op->is_copied = may_copy && data.size() <= ucx_operation::short_message;
        const std::byte* from = data.data();
        if (op->is_copied) {
            if (!data.empty()) std::memcpy(op->copy.data(), data.data(), data.size());
            from = op->copy.data();
        }
        ucp_request_param_t p = with_callback(op, may_copy);
        p.cb.send = [](void* handle, ucs_status_t s, void* user) {
            ucp_request_free(handle);
            auto* const mine = static_cast<ucx_operation*>(user);
            mine->node->complete(mine, s);
        };
        begun(op, ucp_tag_send_nbx(to.endpoint, from, data.size(), tag, &p));
        return op;
    }
    ucx_operation* receive(ucx_tenant& owner, ucx_peer& from, ucp_tag_t tag, byte_span target,
                           bool in_host_memory)
    {
        ucx_operation* const op = take(owner, from, true);
        ucp_request_param_t p = with_callback(op, in_host_memory);
        // Without a callback UCX 1.13 does not tell the length.
        p.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
        p.cb.recv = [](void* handle, ucs_status_t s, const ucp_tag_recv_info_t* told, void* user) {
            auto* const mine = static_cast<ucx_operation*>(user);
            if (told != nullptr) mine->bytes = told->length;
            ucp_request_free(handle);  // `told` is a part of it
            mine->node->complete(mine, s);
        };
        const ucs_status_ptr_t h =
            ucp_tag_recv_nbx(worker_, target.data(), target.size(), tag, ucx_tag::all, &p);
        if (op->now == stage::under_way) begun(op, h);  // otherwise the callback has been called
        return op;
    }
    /// A rank of the communicator from which a message waits that no receive has taken, or nobody.
    int probe(std::uint64_t communicator, int tag)
    {
        ucp_tag_recv_info_t info{};
        if (ucp_tag_probe_nb(worker_, ucx_tag::of(communicator, 0, tag), ucx_tag::of_any_rank, 0, &info) ==
            nullptr)
            return nobody;
        return ucx_tag::rank_of(info.sender_tag);
    }

    /// Is it done, and if it is a send, has it left this process?
    bool is_done(ucx_operation& op)
    {
        if (op.now != stage::handed_over) return op.now == stage::done;
        if (!has_left(*op.peer, op.number) && steady_seconds() < op.handed_over_s + unanswered_s)
            return false;
        op.now = stage::done;
        return true;
    }
    /// Ends a receive whose peer is lost or has left the communicator, unless its message is arriving. What
    /// had come before has been read.
    void end_if_lost(ucx_operation& op)
    {
        if (!op.receives) return;
        const ucx_tenant::departure* const left = op.tenant->departure_of(*op.peer);
        if (op.peer->is_lost() ? is_quiet_since(op.peer->lost_in_round)
                               : left != nullptr && is_quiet_since(left->round))
            cancel(op);
    }
    /// Ends a receive for which no message has come.
    void cancel(ucx_operation& op)
    {
        if (op.handle != nullptr) ucp_request_cancel(worker_, op.handle);
    }
    /// Ends an operation for which a peer has taken too long: as far as it uses memory, this needs the end of
    /// the endpoint.
    void end_late(ucx_operation& op)
    {
        op.is_late = true;
        if (op.receives) cancel(op);
        if (op.now == stage::handed_over) complete_late(op);
        else if (op.now == stage::under_way) lose(*op.peer, UCS_ERR_TIMED_OUT);
    }
    /// The operation is over for its owner. If it is not for UCX, its memory stays with its owner.
    void drop(ucx_operation* op)
    {
        if (op->now == stage::under_way) op->is_dropped = true;
        else give_back(op);
    }
    /// Waits for a short message to leave, because its rank may never come back. Not if an earlier one has
    /// waited for the same peer in vain.
    void see_off(ucx_operation& op)
    {
        ucx_peer& to = *op.peer;
        if (to.is_stuck) return;
        const double limit = to.gone > 0 ? see_off_s : see_off_unconnected_s;
        for (const double until = steady_seconds() + limit; !is_done(op); progress()) {
            if (steady_seconds() < until) continue;
            to.is_stuck = true;
            return;
        }
    }

    // ---- communicators ----

    /// The lowest number that no communicator of this process has, nor ever had.
    std::uint64_t next_number() const noexcept { return next_number_; }
    /// A communicator begins, with its number.
    void move_in(ucx_tenant& tenant)
    {
        next_number_ = std::max(next_number_, tenant.number + 1);
        tenants_.push_back(&tenant);
        for (const early_departure& each : early_)
            if (each.number == tenant.number) tenant.departures.push_back({each.peer, rounds_});
        std::erase_if(early_, [this](const early_departure& each) { return each.number < next_number_; });
    }

    /// A communicator ends. It is destroyed when UCX does not use its memory any more, at the latest with the
    /// node.
    /// @param members  are told, as far as they and this rank know each other; the others when they say
    ///                 hello. None if the node ends as well, and says farewell
    void retire(std::unique_ptr<ucx_tenant> tenant, std::span<const int> members)
    {
        const std::uint64_t number = tenant->number;
        std::erase(tenants_, tenant.get());
        for (const auto& each : all_) {
            if (each->tenant != tenant.get() || each->now == stage::unused) continue;
            if (each->receives) cancel(*each);
            if (each->now == stage::under_way) each->is_dropped = true;
            else if (!each->is_dropped) give_back(each.get());
        }
        ended_.push_back(number);
        if (ended_.size() > most_ended) ended_.erase(ended_.begin());
        for (const std::uint64_t each : ended_)
            drop_unread(ucx_tag::of(each, 0, 0), ucx_tag::of_communicator);
        for (const int each : members) {
            ucx_peer& peer = peers_[static_cast<std::size_t>(each)];
            if (each != me_ && (peer.endpoint != nullptr || peer.knows_me))
                tell(peer, ucx_word::departure, number);
        }
        for (int i = 0; i < 10 && !members.empty(); ++i) ucp_worker_progress(worker_);  // they leave
        if (tenant->under_way > 0) retired_.push_back(std::move(tenant));
    }

    static std::string words(const char* what, ucs_status_t s)
    {
        return std::string(what) + ": " + ucs_status_string(s);
    }

private:
    /// A rank is certain to have read what a lost one has sent after a round in which nothing came, or after
    /// so many rounds.
    static constexpr std::uint64_t rounds_until_quiet = 100;
    /// A flush over TCP is answered by the peer, which may be busy with something else, or be done with this
    /// call for good. After so long without an answer the kernel has the message, unless the peer has read
    /// nothing for a while.
    static constexpr double unanswered_s = 2e-3;
    static constexpr double see_off_s = 0.1, see_off_unconnected_s = 0.02;
    /// How long others are waited for at the end. Those that make progress answer within milliseconds.
    static constexpr double farewell_s = 1;
    /// Messages of so many ended communicators are looked for when another one ends, and ranks that connect
    /// late are told of so many.
    static constexpr std::size_t most_ended = 64;

    struct early_departure {
        std::uint64_t number;
        const ucx_peer* peer;
    };
    struct errand {
        ucx_word because_of;
        ucx_peer* peer;
        std::uint64_t number;
    };

    // ---- the beginning ----

    std::string make_worker(int size)
    {
        ucp_config_t* config = nullptr;
        ucs_status_t s = ucp_config_read(nullptr, nullptr, &config);
        if (s != UCS_OK) return words("ucp_config_read", s);
        // UCX would ask a silent peer whether it is there every 20 s only. A rank of the same machine that
        // was killed is noticed by nothing else.
        prefer(config, "UCX_KEEPALIVE_INTERVAL", "KEEPALIVE_INTERVAL", "1s");
        // Otherwise UCX does not take shared memory for endpoints with error handling. It warns of a setting
        // that no transport in use has.
        if (std::getenv("UCX_POSIX_ERROR_HANDLING") == nullptr && may_share_memory())
            prefer(config, "UCX_MM_ERROR_HANDLING", "MM_ERROR_HANDLING", "y");
        ucp_params_t p{};
        p.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
        p.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
        p.estimated_num_eps = static_cast<std::size_t>(size);
        s = ucp_init(&p, config, &context_);
        ucp_config_release(config);
        if (s != UCS_OK) return words("ucp_init", s);
        ucp_worker_params_t w{};
        w.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        w.thread_mode = UCS_THREAD_MODE_SERIALIZED;
        if (s = ucp_worker_create(context_, &w, &worker_); s != UCS_OK) return words("ucp_worker_create", s);
        if (s = ucp_worker_get_efd(worker_, &event_fd_); s != UCS_OK) return words("ucp_worker_get_efd", s);
        return "";
    }
    /// What the user has put into the environment is kept.
    static void prefer(ucp_config_t* config, const char* variable, const char* name, const char* value)
    {
        if (std::getenv(variable) == nullptr) ucp_config_modify(config, name, value);
    }

    static bool may_share_memory()
    {
        const char* const transports = std::getenv("UCX_TLS");
        if (transports == nullptr || *transports == '^') return true;
        for (const char* each : {"all", "sm", "shm", "mm", "posix", "sysv", "xpmem"})
            if (std::strstr(transports, each) != nullptr) return true;
        return false;
    }

    std::string meet(exchange& how, int rank, int size, double seconds)
    {
        ucp_address_t* address = nullptr;
        std::size_t length = 0;
        if (const ucs_status_t s = ucp_worker_get_address(worker_, &address, &length); s != UCS_OK)
            return words("ucp_worker_get_address", s);
        const std::uint64_t host = number_of_host();
        std::vector<std::byte> told(sizeof host + length);
        std::memcpy(told.data(), &host, sizeof host);
        std::memcpy(told.data() + sizeof host, address, length);
        ucp_worker_release_address(worker_, address);
        how.put("address/" + std::to_string(rank), told);

        me_ = rank;
        peers_.resize(static_cast<std::size_t>(size));
        const double until = steady_seconds() + seconds;
        for (int k = 0; k < size; ++k) {  // beginning with this rank, so that not all ask for the same one
            const int each = (rank + k) % size;
            const double left = std::max(until - steady_seconds(), 0.0);
            if (!how.get("address/" + std::to_string(each), told, left)) {
                late_ = true;
                return "rank " + std::to_string(each) + " has not published its address";
            }
            ucx_peer& peer = peers_[static_cast<std::size_t>(each)];
            peer.rank = each;
            if (told.size() <= sizeof peer.host)
                return "what rank " + std::to_string(each) + " has published is no address";
            std::memcpy(&peer.host, told.data(), sizeof peer.host);
            peer.address.assign(told.begin() + sizeof peer.host, told.end());
        }
        listen();
        return "";
    }
    /// Equal for processes of the same machine that was not restarted in between.
    static std::uint64_t number_of_host()
    {
        std::array<char, 320> name{};
        gethostname(name.data(), 255);
        std::size_t length = std::strlen(name.data());
        if (std::FILE* const boot = std::fopen("/proc/sys/kernel/random/boot_id", "re"); boot != nullptr) {
            length += std::fread(name.data() + length, 1, 64, boot);
            std::fclose(boot);
        }
        std::uint64_t hash = 14695981039346656037u;  // FNV-1a
        for (std::size_t i = 0; i < length; ++i)
            hash = (hash ^ static_cast<unsigned char>(name[i])) * 1099511628211u;
        return hash;
    }

    // ---- operations ----

    ucx_operation* take(ucx_tenant& owner, ucx_peer& peer, bool receives)
    {
        if (free_.empty()) {
            all_.push_back(std::make_unique<ucx_operation>());
            free_.reserve(all_.size());
            free_.push_back(all_.back().get());
        }
        ucx_operation* const op = free_.back();
        free_.pop_back();
        op->node = this;
        op->peer = &peer;
        op->tenant = &owner;
        op->handle = nullptr;
        op->bytes = 0;
        op->outcome = UCS_OK;
        op->now = stage::under_way;
        op->receives = receives;
        op->is_copied = op->is_dropped = op->is_late = false;
        op->since_s = patience_;
        ++owner.under_way;
        return op;
    }
    void give_back(ucx_operation* op)
    {
        op->now = stage::unused;
        free_.push_back(op);
    }
    static ucp_request_param_t with_callback(ucx_operation* op, bool in_host_memory)
    {
        ucp_request_param_t p{};
        p.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        p.user_data = op;
        if (in_host_memory) {  // otherwise UCX looks
            p.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
            p.memory_type = UCS_MEMORY_TYPE_HOST;
        }
        return p;
    }
    void begun(ucx_operation* op, ucs_status_ptr_t h)
    {
        if (UCS_PTR_IS_PTR(h)) op->handle = h;
        else complete(op, UCS_PTR_STATUS(h));
    }
    void complete(ucx_operation* op, ucs_status_t s)
    {
        op->handle = nullptr;
        op->outcome = s;
        ++events_;
        --op->tenant->under_way;
        op->peer->heard_s = patience_;
        op->now = stage::done;
        if (!op->receives && s == UCS_OK) {
            op->number = ++op->peer->handed_over;
            op->handed_over_s = steady_seconds();
            op->now = stage::handed_over;
        }
        if (op->is_dropped) give_back(op);
    }
    static void complete_late(ucx_operation& op)
    {
        op.outcome = UCS_ERR_TIMED_OUT;
        op.now = stage::done;
    }

    /// Of the sends to a peer that UCX calls complete, have the first `number` left? A flush says so, and
    /// there is one at a time, for all that have been handed over.
    /// A lost peer cannot be asked. If it has left, it perhaps has read them, as eager messages of MPI.
    bool has_left(ucx_peer& to, std::uint64_t number)
    {
        if (to.gone >= number || to.is_lost()) return true;
        if (to.flushing == 0) flush(to);
        return to.gone >= number || to.is_lost();
    }
    void flush(ucx_peer& to)
    {
        ucp_request_param_t p{};
        p.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        p.user_data = &to;
        p.cb.send = [](void* handle, ucs_status_t s, void* user) {
            ucp_request_free(handle);
            flushed(*static_cast<ucx_peer*>(user), s);
        };
        to.flushing = to.handed_over;
        const ucs_status_ptr_t h = ucp_ep_flush_nbx(to.endpoint, &p);
        if (UCS_PTR_IS_PTR(h)) return;
        flushed(to, UCS_PTR_STATUS(h));
        if (UCS_PTR_IS_ERR(h)) lose(to, UCS_PTR_STATUS(h));
    }
    static void flushed(ucx_peer& to, ucs_status_t s)
    {
        const std::uint64_t upto = std::exchange(to.flushing, 0);
        if (s != UCS_OK) return;
        to.gone = upto;
        to.is_stuck = false;
    }

    // ---- peers that are lost, and the end ----

    static void endpoint_failed(void* self, ucp_ep_h endpoint, ucs_status_t s)
    {
        auto& node = *static_cast<ucx_node*>(self);
        for (ucx_peer& each : node.peers_)
            if (each.endpoint == endpoint) node.lose(each, s);
    }
    /// The endpoint is closed in the next round, because UCX may be using it now.
    void lose(ucx_peer& peer, ucs_status_t s)
    {
        if (!peer.is_lost()) peer.lost_in_round = rounds_;
        if (peer.failure == UCS_OK) peer.failure = s;
        ++events_;
        has_lost_ = true;
    }
    void look_after_lost()
    {
        has_lost_ = false;
        for (ucx_peer& each : peers_) {
            if (!each.is_lost()) continue;
            if (each.left && each.failure == UCS_OK && !std::exchange(each.has_answered_farewell, true)) {
                answer_farewell(each);
                has_lost_ = true;  // closed in the next round
            } else if (each.endpoint != nullptr) {
                close(each);  // so that sends to it end
            }
        }
    }
    /// A rank that leaves waits for this answer. Otherwise it might close a connection while the other end
    /// has not read everything, which TCP then drops.
    void answer_farewell(ucx_peer& to)
    {
        to.left = false;
        tell(to, ucx_word::farewell_read);
        to.left = true;
    }
    void close(ucx_peer& peer)
    {
        ucp_request_param_t how{};
        how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        how.flags = UCP_EP_CLOSE_FLAG_FORCE;
        const ucs_status_ptr_t h = ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &how);
        if (UCS_PTR_IS_PTR(h)) closing_.push_back(h);
        std::erase_if(closing_, &ucx_node::is_over);
    }
    static bool is_over(void* request)
    {
        if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
        ucp_request_free(request);
        return true;
    }

    /// @return false if the peer is lost
    bool tell(ucx_peer& to, ucx_word what, std::uint64_t number = 0)
    {
        if (!reach(to)) return false;
        post(to, what, number);
        return true;
    }
    void post(ucx_peer& to, ucx_word what, std::uint64_t number)
    {
        drop(send(own_, to, ucx_tag::of(ucx_tag::control, me_, static_cast<int>(what)),
                  std::as_bytes(std::span(&number, 1)), true));
    }
    /// Receives what other nodes tell this one. UCX may call back before it returns.
    void listen()
    {
        do {
            hears_ = true;
            listening_ = nullptr;
            ucp_request_param_t p{};
            p.op_attr_mask =
                UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
            p.user_data = this;
            p.cb.recv = [](void* handle, ucs_status_t s, const ucp_tag_recv_info_t* told, void* self) {
                const ucp_tag_t tag = s == UCS_OK ? told->sender_tag : 0;
                ucp_request_free(handle);  // `told` is a part of it
                static_cast<ucx_node*>(self)->heard(s, tag);
            };
            const ucs_status_ptr_t h =
                ucp_tag_recv_nbx(worker_, &heard_, sizeof heard_, ucx_tag::of(ucx_tag::control, 0, 0),
                                 ucx_tag::of_communicator, &p);
            if (UCS_PTR_IS_ERR(h)) return;
            if (hears_) listening_ = h;
        } while (!hears_);
    }
    void heard(ucs_status_t s, ucp_tag_t said)
    {
        if (s == UCS_OK) note(said, heard_);
        hears_ = false;
        // Otherwise the caller of ucp_tag_recv_nbx goes on, or nothing more is to be heard.
        if (listening_ != nullptr && s == UCS_OK) listen();
        else listening_ = nullptr;
    }
    /// UCX is in the middle of something, so what has to be sent or dropped waits for run_errands().
    void note(ucp_tag_t said, std::uint64_t number)
    {
        const auto from = static_cast<std::size_t>(ucx_tag::rank_of(said));
        if (from >= peers_.size()) return;
        ucx_peer& peer = peers_[from];
        ++events_;
        switch (static_cast<ucx_word>(ucx_tag::tag_of(said))) {
        case ucx_word::hello:
            peer.knows_me = true;
            if (!ended_.empty()) errands_.push_back({ucx_word::hello, &peer, 0});
            break;
        case ucx_word::farewell:
            if (!peer.is_lost()) peer.lost_in_round = rounds_;
            peer.left = true;
            has_lost_ = true;
            break;
        case ucx_word::farewell_read: peer.has_read_farewell = true; break;
        case ucx_word::departure: note_departure(peer, number); break;
        case ucx_word::unread: errands_.push_back({ucx_word::unread, &peer, number}); break;
        }
    }
    void note_departure(ucx_peer& peer, std::uint64_t number)
    {
        if (number >= next_number_) {  // this rank is still making it
            early_.push_back({number, &peer});
            return;
        }
        for (ucx_tenant* const each : tenants_)
            if (each->number == number && each->departure_of(peer) == nullptr)
                each->departures.push_back({&peer, rounds_});
        errands_.push_back({ucx_word::departure, &peer, number});
    }
    bool is_quiet_since(std::uint64_t round) const { return rounds_ >= round + rounds_until_quiet; }
    /// What follows from words that were heard.
    void run_errands()
    {
        for (const errand& each : std::exchange(errands_, {})) switch (each.because_of) {
            case ucx_word::hello:
                for (const std::uint64_t number : ended_) tell(*each.peer, ucx_word::departure, number);
                break;
            case ucx_word::departure:
                // A long message would wait for a receive for ever.
                if (sends_to(*each.peer, each.number)) tell(*each.peer, ucx_word::unread, each.number);
                break;
            case ucx_word::unread:
                if (std::find(ended_.begin(), ended_.end(), each.number) != ended_.end())
                    drop_unread(ucx_tag::of(each.number, 0, 0), ucx_tag::of_communicator);
                break;
            default: break;
            }
    }
    bool sends_to(const ucx_peer& peer, std::uint64_t number) const
    {
        return std::any_of(all_.begin(), all_.end(), [&](const auto& each) {
            return each->now == stage::under_way && !each->receives && each->peer == &peer &&
                   each->tenant->number == number;
        });
    }

    /// What give_up_all() has asked for, on the thread that uses the node.
    void end_all()
    {
        all_given_up_ = true;
        given_up_s_ = steady_seconds();
        for (ucx_peer& each : peers_)
            if (each.endpoint != nullptr && !each.is_lost()) tell(each, ucx_word::farewell);
        for (int i = 0; i < 10; ++i) ucp_worker_progress(worker_);
        for (ucx_peer& each : peers_) lose(each, UCS_ERR_CANCELED);
        has_lost_ = false;
        for (ucx_peer& each : peers_)
            if (each.endpoint != nullptr) close(each);
        for (const auto& each : all_)
            if (each->receives && each->now == stage::under_way) cancel(*each);
    }

    /// Says farewell, waits until it was read, and closes everything. What this rank has sent and is done has
    /// left before.
    void leave()
    {
        if (worker_ != nullptr) {
            if (listening_ != nullptr || !peers_.empty()) say_farewell();
            if (listening_ != nullptr) ucp_request_cancel(worker_, listening_);
            for (ucx_peer& each : peers_)
                if (each.endpoint != nullptr) close(each);
            for (const auto& each : all_)
                if (each->receives && each->now == stage::under_way) cancel(*each);
            const double until = steady_seconds() + farewell_s;
            while ((!closing_.empty() || is_any_under_way()) && steady_seconds() < until) {
                ucp_worker_progress(worker_);
                std::erase_if(closing_, &ucx_node::is_over);
            }
            for (void* const each : closing_) ucp_request_free(each);
            drop_unread(0, 0);
            ucp_worker_destroy(worker_);
        }
        if (context_ != nullptr) ucp_cleanup(context_);
        worker_ = nullptr;
        context_ = nullptr;
    }
    bool is_any_under_way() const
    {
        return std::any_of(all_.begin(), all_.end(),
                           [](const auto& each) { return each->now == stage::under_way; });
    }
    /// Also to ranks that say hello meanwhile. One that connects through shared memory in the moment of the
    /// end may hear nothing, and then only notices the end of the process.
    void say_farewell()
    {
        std::vector<ucx_peer*> told;
        const auto has_not_read = [](const ucx_peer* each) {
            return !each->has_read_farewell && !each->is_lost();
        };
        const auto tell_all = [&] {
            for (ucx_peer& each : peers_) {
                const bool concerned = each.rank != me_ && (each.endpoint != nullptr || each.knows_me);
                if (!concerned || std::exchange(each.has_heard_farewell, true)) continue;
                if (tell(each, ucx_word::farewell)) told.push_back(&each);
            }
        };
        const double until = steady_seconds() + farewell_s;
        tell_all();
        do {
            const std::uint64_t before = events_;
            for (int i = 0; i < 10; ++i) progress();
            if (events_ == before) sleep(1);
            tell_all();
        } while (std::any_of(told.begin(), told.end(), has_not_read) && steady_seconds() < until);
        for (int i = 0; i < 10; ++i) progress();  // the last answers leave
    }
    /// Of what no receive has taken, as after a call that failed.
    void drop_unread(ucp_tag_t tag, ucp_tag_t mask)
    {
        ucp_tag_recv_info_t info{};
        const ucp_request_param_t none{};
        while (const ucp_tag_message_h each = ucp_tag_probe_nb(worker_, tag, mask, 1, &info)) {
            // Into no memory, so that nothing is fetched.
            const ucs_status_ptr_t r = ucp_tag_msg_recv_nbx(worker_, nullptr, 0, each, &none);
            if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
        }
    }

    home home_;
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    int event_fd_ = -1, me_ = 0;
    void* listening_ = nullptr;
    bool late_ = false, hears_ = false, has_lost_ = false, all_given_up_ = false;
    std::uint64_t events_ = 0;  ///< grows when anything has happened
    std::uint64_t rounds_ = 0, next_number_ = 0;
    std::uint64_t heard_ = 0;  ///< the number in the word that was heard last
    waited_seconds waited_{0.25};
    double patience_ = 0, given_up_s_ = 0;
    std::vector<ucx_peer> peers_;  ///< not resized once the node is open
    std::vector<std::unique_ptr<ucx_operation>> all_;
    std::vector<ucx_operation*> free_;
    std::vector<void*> closing_;
    std::vector<ucx_tenant*> tenants_;    ///< communicators that live
    std::vector<std::uint64_t> ended_;    ///< numbers of communicators
    std::vector<early_departure> early_;  ///< from communicators that this rank does not have yet
    std::vector<errand> errands_;
    ucx_tenant own_;
    std::vector<std::unique_ptr<ucx_tenant>> retired_;
    std::atomic<bool> has_given_up_ = false;
    std::atomic<bool> woken_ = false;
    std::mutex why_mutex_;
    std::string why_;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
