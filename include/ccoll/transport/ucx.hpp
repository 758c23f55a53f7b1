// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/ucx.hpp - floor 2. UCX as a transport: shared memory, TCP, RDMA and memory of CUDA devices,
// without MPI. Ranks are processes that find each other through an exchange. Link ucp and ucs (CMake:
// ccoll::ucx).
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ccoll/base/clock.hpp>
#include <ccoll/transport/exchange.hpp>
#include <ccoll/transport/transport.hpp>
#include <ccoll/transport/ucx_node.hpp>

namespace ccoll::inline CCOLL_ABI {

/// One rank of a communicator over UCX, and a transport. Copies are the same rank. One thread at a time may
/// use a rank and all communicators that were made from it, except for wake() and abort().
///
///     ccoll::directory_exchange how("/shared/job-17");
///     auto world = ccoll::ucx_comm::world(how, rank, size, 60);
///     if (world.refusal() != ccoll::status::ok) fail(world.explain());
///     ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(x, y, world);
///
/// Connections are made when ranks first talk to each other. A rank that ends, or whose last communicator is
/// destroyed, tells those that it is connected to; their receives from it then end with peer_lost. One that
/// is killed is noticed at once over TCP, and within some 3 s over shared memory. One that is stopped is not
/// noticed: use a Timeout, or set_limit().
///
/// A communicator may be destroyed at any time. Memory that UCX still uses is kept until it does not, at the
/// latest until the last communicator of this rank is destroyed. That one waits for up to 1 s for ranks to
/// read its farewell; ranks that make progress do so within milliseconds.
///
/// In a process that was forked, a communicator cannot be used (no_communicator), and destroying it does
/// nothing.
class ucx_comm {
    using operation = detail::ucx_operation;
    struct state final : detail::ucx_tenant {
        std::shared_ptr<detail::ucx_node> node;
        int rank = 0;
        std::vector<int> of_world{0};  // ranks
        std::vector<int> nodes;
        std::uint32_t calls = 0;
        double limit_s = 0;
        status refusal = status::ok;
        /// Of a fixed place, because results of calls point to it.
        std::array<char, 512> says{};
        workspace memory;

        void say(const std::string& words) noexcept
        {
            const std::size_t n = std::min(words.size(), says.size() - 1);
            std::copy_n(words.data(), n, says.data());
            says[n] = 0;
        }
    };

public:
    class request {
    public:
        std::size_t bytes = 0;
        status result = status::ok;

    private:
        friend ucx_comm;
        operation* operation_ = nullptr;
        int peer_ = nobody;
    };

    /// The communicator of all ranks. Collective: returns when all have published their addresses. It never
    /// throws; on failure `refusal` of the result is not ok, and `explain` says why.
    /// @param how      used in this call only. Keys are "address/<rank>", so an exchange serves one world.
    /// @param rank     of this process, 0 .. size - 1
    /// @param size     at most 1048576
    /// @param seconds  how long to wait for others; then the refusal is timed_out
    static ucx_comm world(exchange& how, int rank, int size, double seconds)
    {
        const std::shared_ptr<state> s = fresh(std::make_shared<detail::ucx_node>(), 0);
        if (size < 1 || size > detail::ucx_tag::most_ranks || rank < 0 || rank >= size)
            return refused(s, status::no_communicator,
                           "ucx_comm: the rank must be in 0 .. size - 1, and the size in 1 .. 1048576");
        if (const std::string trouble = s->node->open(how, rank, size, seconds); !trouble.empty())
            return refused(s, s->node->is_late() ? status::timed_out : status::no_communicator,
                           "ucx_comm: " + trouble);
        s->node->move_in(*s);
        std::vector<int> all(static_cast<std::size_t>(size));
        for (int i = 0; i < size; ++i) all[static_cast<std::size_t>(i)] = i;
        settle(*s, std::move(all), rank);
        return ucx_comm(s);
    }

    /// A communicator of some ranks. Collective over them: each calls it with the same ranks in the same
    /// order, and gets the place of its own rank in the list as its new rank. It never throws; see world().
    /// Several groups may be made at the same time. Their number in the life of a process is limited to 536
    /// million; then the refusal is no_communicator.
    /// @param ranks  of this communicator, each at most once; this rank is among them
    /// @param how    used in this call only; may be another one than that of the world
    /// @param name   of this group in `how`. The keys are "group/<name>/...", so each name is used once.
    /// Cost: each rank puts a value, the first of them reads all of them, and the others read one.
    ucx_comm group(std::span<const int> ranks, exchange& how, const std::string& name, double seconds) const
    {
        const std::shared_ptr<state> s = fresh(s_->node, no_number);
        if (refusal() != status::ok) return refused(s, refusal(), explain());
        std::vector<int> all;
        int me = nobody;
        for (const int each : ranks) {
            if (each < 0 || each >= size())
                return refused(s, status::no_communicator,
                               "ucx_comm::group: rank " + std::to_string(each) + " is not in 0 .. " +
                                   std::to_string(size() - 1));
            if (each == rank()) me = static_cast<int>(all.size());
            all.push_back(s_->of_world[static_cast<std::size_t>(each)]);
        }
        std::vector<int> sorted = all;
        std::sort(sorted.begin(), sorted.end());
        if (me == nobody || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
            return refused(s, status::no_communicator,
                           me == nobody ? "ucx_comm::group: this rank is not among the ranks of the group"
                                        : "ucx_comm::group: a rank is in the list twice");
        std::uint64_t number = 0;
        std::string trouble;
#if defined(__cpp_exceptions)
        try {
            trouble = agree(how, "group/" + name, me, static_cast<int>(all.size()), seconds, number);
        } catch (const std::exception& e) {
            return refused(s, status::no_communicator, std::string("ucx_comm::group: ") + e.what());
        }
#else
        trouble = agree(how, "group/" + name, me, static_cast<int>(all.size()), seconds, number);
#endif
        if (!trouble.empty()) return refused(s, status::timed_out, "ucx_comm::group: " + trouble);
        if (number >= detail::ucx_tag::control)
            return refused(s, status::no_communicator,
                           "ucx_comm::group: a rank has made 536 million groups, and there are no more "
                           "numbers for them; start the job again");
        s->number = number;
        s->node->move_in(*s);
        settle(*s, std::move(all), me);
        return ucx_comm(s);
    }

    int rank() const noexcept { return s_->rank; }
    int size() const noexcept { return static_cast<int>(s_->of_world.size()); }
    status refusal() const noexcept { return s_->node->is_here() ? s_->refusal : status::no_communicator; }
    const char* explain() const noexcept { return s_->node->is_here() ? s_->says.data() : detail::forked; }
    std::uint32_t begin_call() noexcept { return s_->calls++; }
    workspace& memory() noexcept { return s_->memory; }
    /// Ranks on the same machine, unless set_nodes() has said otherwise.
    std::span<const int> nodes() const noexcept { return s_->nodes; }
    void set_nodes(std::span<const int> node_of_rank)
    {
        s_->nodes.assign(node_of_rank.begin(), node_of_rank.end());
    }
    /// Memory of CUDA devices, if UCX has been built with CUDA.
    status reach(const far_memory& memory) noexcept
    {
        if (!memory.of_cuda || refusal() != status::ok || !s_->node->takes_cuda()) return status::not_direct;
        in_host_memory_ = false;
        return status::ok;
    }

    /// Is the peer known to be gone? Nothing is received from it any more, apart from what has come already.
    bool is_lost(int peer) const
    {
        return refusal() == status::ok && peer >= 0 && peer < size() &&
               (at(peer).is_lost() || has_left(peer));
    }
    /// Any thread may call this while this object lives: idle() of all communicators of this rank returns,
    /// or does not sleep when it is called next.
    void wake() const noexcept { s_->node->wake(); }
    /// All communicators of this rank sleep together.
    const void* sleeper() const noexcept { return s_->node.get(); }
    /// Gives up everything that this rank has under way, in all communicators that were made from the same
    /// world, and all that will begin. Any thread may call this while this object lives. All requests end
    /// with transport_failed as soon as they are tested; connections are closed, so that the other ranks see
    /// this one as lost. There is no way back: a new world needs another exchange, or another prefix of its
    /// keys.
    /// @param why  appears in the errors. The first reason counts.
    void abort(const char* why) const { s_->node->give_up_all(why); }
    bool is_aborted() const noexcept { return s_->node->has_given_up(); }

    /// A limit for all calls on this communicator, whatever their plans say: a message that is not there
    /// after so long, while nothing else has come from or gone to the same peer, ends with transport_failed.
    /// If the message has half arrived or half left, the peer is then lost for all communicators. The limit
    /// should be longer than the longest message takes; those of collectives have less than 1 MiB.
    /// Time in which this rank does not look after its messages hardly counts (see waited_seconds).
    /// @param seconds  0: no limit
    void set_limit(double seconds) noexcept { s_->limit_s = seconds; }

    /// A message of at most 256 bytes in host memory is copied. The request is done when the message has left
    /// this process, so that it arrives although this rank makes no further call; if UCX does not say that
    /// within 2 ms after it has taken the message, this is assumed (docs/ucx.md, Limits). A peer or tag out
    /// of range gives a request that is done, with transport_failed.
    request post_send(int peer, int tag, const_byte_span data)
    {
        request r;
        if (!may_begin(r, peer, tag)) return r;
        detail::ucx_node& node = *s_->node;
        if (!has_left(peer) && node.reach(at(peer)))
            r.operation_ = node.send(*s_, at(peer), tag_of(s_->rank, tag), data, in_host_memory_);
        else r.result = lost_or_failed(UCS_ERR_NOT_CONNECTED, peer);
        return r;
    }
    /// Receives into `target`, which must stay valid until the request is done. A message that is longer has
    /// the result truncated, with its length in `bytes`.
    request post_recv(int peer, int tag, byte_span target)
    {
        request r;
        if (!may_begin(r, peer, tag)) return r;
        detail::ucx_node& node = *s_->node;
        // Only an endpoint notices the end of a peer. A lost one may have sent before.
        node.reach(at(peer));
        r.operation_ = node.receive(*s_, at(peer), tag_of(peer, tag), target, in_host_memory_);
        return r;
    }

    bool test(request& r)
    {
        if (r.operation_ == nullptr || has_ended(r)) return true;
        detail::ucx_node& node = *s_->node;
        if (!node.is_here()) return end(r, failed(detail::forked));
        node.progress();
        if (has_ended(r)) return true;
        node.end_if_lost(*r.operation_);
        if (s_->limit_s > 0) look_at_limit(*r.operation_);
        if (has_ended(r)) return true;
        if (!node.has_waited_for_end()) return false;
        node.drop(r.operation_);
        return end(r, failed(node.why_given_up()));
    }

    /// False for a long send that UCX has not completed, and for a receive whose message is arriving. A short
    /// send is seen off for at most 0.1 s, once for a peer that takes nothing.
    bool cancel(request& r)
    {
        if (r.operation_ == nullptr) return true;
        detail::ucx_node& node = *s_->node;
        operation& op = *r.operation_;
        if (!node.is_here()) return end(r, failed(detail::forked));
        if (!op.receives && op.is_copied) node.see_off(op);
        if (has_ended(r)) return true;
        if (op.receives) node.cancel(op);
        if (has_ended(r)) return true;
        const bool memory_is_free = op.is_copied || op.now != operation::stage::under_way;
        node.drop(&op);
        r.operation_ = nullptr;
        return memory_is_free;
    }

    int probe(int tag)
    {
        if (refusal() != status::ok || tag < 0 || tag > max_tag) return nobody;
        const int found = s_->node->probe(s_->number, tag);
        if (found != nobody) return found;
        s_->node->progress();
        return s_->node->probe(s_->number, tag);
    }

    void poll()
    {
        if (refusal() != status::ok) return;
        s_->node->progress();
        seen_ = s_->node->events();
    }
    /// Looks for some microseconds, because a message that comes soon is then seen sooner than by a thread
    /// that has to be woken. Then sleeps, for at most 5 ms. An event of any communicator of this rank ends
    /// the sleep. Where other programs want the core, it may be away for milliseconds between two looks:
    /// then it sleeps at once.
    void idle()
    {
        constexpr int looks = 20;
        constexpr double most_s = 2e-4;
        if (refusal() != status::ok) return;
        detail::ucx_node& node = *s_->node;
        const double since = steady_seconds();
        for (int i = 0; i < looks && node.events() == seen_ && !node.is_woken(); ++i) {
            node.progress();
            if (node.events() != seen_) break;
            sched_yield();
            if (steady_seconds() - since > most_s) break;
        }
        if (node.events() == seen_) node.sleep(5);
    }

private:
    /// A communicator without members, which has sent nothing and receives nothing.
    static constexpr std::uint64_t no_number = detail::ucx_tag::control;

    explicit ucx_comm(std::shared_ptr<state> s) : s_(std::move(s)) {}

    static std::shared_ptr<state> fresh(std::shared_ptr<detail::ucx_node> node, std::uint64_t number)
    {
        std::shared_ptr<state> s(new state, [](state* last) {
            const std::shared_ptr<detail::ucx_node> home = std::move(last->node);
            std::unique_ptr<detail::ucx_tenant> tenant(last);
            if (home->is_here()) last->memory.close();
            if (!home->is_here() || last->number == no_number || last->refusal != status::ok) return;
            const std::vector<int> members = std::move(last->of_world);
            const bool node_ends = home.use_count() == 1;
            home->retire(std::move(tenant), node_ends ? std::span<const int>() : std::span(members));
        });
        s->node = std::move(node);
        s->number = number;
        return s;
    }
    static ucx_comm refused(const std::shared_ptr<state>& s, status why, const std::string& says)
    {
        s->refusal = why;
        s->say(says);
        return ucx_comm(s);
    }
    static void settle(state& s, std::vector<int> of_world, int me)
    {
        s.of_world = std::move(of_world);
        s.rank = me;
        const std::vector<detail::ucx_peer>& peers = s.node->peers();
        const auto host_of = [&](int each) { return peers[static_cast<std::size_t>(each)].host; };
        s.nodes.clear();
        for (const int each : s.of_world) {  // the number of a node is that of its lowest rank
            const auto lowest = std::find_if(s.of_world.begin(), s.of_world.end(),
                                             [&](int other) { return host_of(other) == host_of(each); });
            s.nodes.push_back(static_cast<int>(lowest - s.of_world.begin()));
        }
    }
    /// The number of a new group: one that no communicator of any member has had. @return "", or who is late
    std::string agree(exchange& how, const std::string& key, int me, int members, double seconds,
                      std::uint64_t& number) const
    {
        const double until = steady_seconds() + seconds;
        std::vector<std::byte> bytes(sizeof number);
        const auto put = [&](const std::string& to) {
            bytes.resize(sizeof number);
            std::memcpy(bytes.data(), &number, sizeof number);
            how.put(to, bytes);
        };
        const auto get = [&](const std::string& from, std::uint64_t& value) {
            if (!how.get(from, bytes, std::max(until - steady_seconds(), 0.0))) return false;
            if (bytes.size() != sizeof value) return false;
            std::memcpy(&value, bytes.data(), sizeof value);
            return true;
        };
        number = s_->node->next_number();
        if (me != 0) {
            put(key + "/" + std::to_string(me));
            return get(key, number) ? "" : "the first rank of the group has not come";
        }
        for (int each = 1; each < members; ++each) {
            std::uint64_t theirs = 0;
            if (!get(key + "/" + std::to_string(each), theirs))
                return "rank " + std::to_string(each) + " of the group has not come";
            number = std::max(number, theirs);
        }
        put(key);
        return "";
    }

    detail::ucx_peer& at(int peer) const
    {
        return s_->node->peers()[static_cast<std::size_t>(s_->of_world[static_cast<std::size_t>(peer)])];
    }
    bool has_left(int peer) const { return !s_->departures.empty() && s_->departure_of(at(peer)) != nullptr; }
    ucp_tag_t tag_of(int source, int tag) const noexcept
    {
        return detail::ucx_tag::of(s_->number, source, tag);
    }

    bool may_begin(request& r, int peer, int tag)
    {
        if (peer < 0 || peer >= size() || tag < 0 || tag > max_tag)
            r.result = failed(
                "ucx_comm: the peer is not a rank of this communicator, or the tag is not in 0 .. "
                "ccoll::max_tag");
        else if (refusal() != status::ok) r.result = failed(explain());
        else if (s_->node->has_given_up()) r.result = failed(s_->node->why_given_up());
        r.peer_ = peer;
        return r.result == status::ok;
    }

    status failed(const std::string& why) { return says(status::transport_failed, why); }
    static bool end(request& r, status result)
    {
        r.result = result;
        r.operation_ = nullptr;
        return true;
    }
    bool has_ended(request& r)
    {
        operation& op = *r.operation_;
        if (!s_->node->is_done(op)) return false;
        if (op.receives) r.bytes = op.bytes;
        const status result = result_of(op, r.peer_);
        s_->node->drop(&op);
        return end(r, result);
    }
    status result_of(const operation& op, int peer)
    {
        if (op.outcome == UCS_OK) return status::ok;
        if (op.outcome == UCS_ERR_MESSAGE_TRUNCATED) return status::truncated;
        if (s_->node->has_given_up()) return failed(s_->node->why_given_up());
        if (op.is_late)
            return failed("nothing has come from rank " + std::to_string(peer) + " or gone to it for " +
                          std::to_string(s_->limit_s) + " s, which is the limit of this communicator");
        return lost_or_failed(op.outcome, peer);
    }
    status lost_or_failed(ucs_status_t s, int peer)
    {
        if (at(peer).left) return says(status::peer_lost, "ucx_comm: the peer has ended");
        if (at(peer).failure == UCS_ERR_UNREACHABLE)
            return failed("no transport that UCX may use reaches rank " + std::to_string(peer) +
                          " (look at UCX_TLS and UCX_NET_DEVICES)");
        if (at(peer).is_lost())
            return says(status::peer_lost, detail::ucx_node::words("ucx_comm", at(peer).failure));
        if (has_left(peer))
            return says(status::peer_lost, "ucx_comm: the peer has destroyed its communicator");
        return failed(detail::ucx_node::words("ucx_comm", s));
    }
    status says(status s, const std::string& words)
    {
        s_->say(words);
        return s;
    }
    void look_at_limit(operation& op)
    {
        detail::ucx_node& node = *s_->node;
        if (node.patience() - std::max(op.since_s, op.peer->heard_s) > s_->limit_s) node.end_late(op);
    }

    std::shared_ptr<state> s_;
    std::uint64_t seen_ = 0;
    bool in_host_memory_ = true;
};

static_assert(transport<ucx_comm>);

}  // namespace ccoll::inline CCOLL_ABI
