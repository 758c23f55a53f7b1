// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/guarded.hpp - floor 2. A transport over another one that may damage, lose, double, delay or
// reorder messages: what arrives here arrives whole, once and in order. Fault:: policies put it under a call.
#pragma once

#include <span>
#include <utility>

#include <ccoll/transport/guarded_traffic.hpp>

namespace ccoll::inline CCOLL_ABI {

/// One rank, as its base. Fragments are numbered as long as a communicator lives, so all guarded calls on it
/// use the same kind of base. Costs one more copy of each message at the sender, one or two more at the
/// receiver (one if its receive waits), and an acknowledgement for several fragments.
///
/// A send of up to 256 bytes is done when it is posted. So is a longer one as long as no more than 2 MiB for
/// its peer wait to be received, and otherwise it is done when its receive has its message. A receive is done
/// with peer_lost when the base says so, and there is no message left that waits. A message beyond repair is
/// never done: `failures` counts these.
template <transport Base>
class guarded {
public:
    static constexpr bool spins = detail::spins<Base>, may_not_reach = true;

    class request {
    public:
        std::size_t bytes = 0;
        status result = status::ok;

    private:
        friend guarded;
        enum class kind : char { none, send, recv };
        std::uint64_t id_ = 0;
        kind kind_ = kind::none;
    };

    guarded(Base base, const protection& how)
        : base_(std::move(base)), how_(how), traffic_(&base_.memory().template kept<traffic>())
    {
        traffic_->open(base_);
        call_ = traffic_->begin_call();
    }

    int rank() const { return base_.rank(); }
    int size() const { return base_.size(); }
    status refusal() const { return base_.refusal(); }
    const char* explain() const { return base_.explain(); }
    std::uint32_t begin_call() { return base_.begin_call(); }
    workspace& memory() { return base_.memory(); }
    std::span<const int> nodes() { return nodes_of(base_); }

    request post_send(int peer, int tag, const_byte_span data)
    {
        request r;
        if (!exists(peer, r)) return r;
        r.id_ = traffic_->post_send(base_, how_, call_, peer, tag, data);
        r.kind_ = r.id_ != 0 ? request::kind::send : request::kind::none;
        return r;
    }
    request post_recv(int peer, int tag, byte_span into)
    {
        request r;
        if (!exists(peer, r)) return r;
        r.id_ = traffic_->post_recv(base_, peer, tag, into);
        r.kind_ = request::kind::recv;
        return r;
    }
    bool test(request& r)
    {
        if (r.kind_ == request::kind::none) return true;
        if (is_done(r)) return true;
        traffic_->progress_now_and_then(base_, how_);
        return is_done(r);
    }
    /// Always true: what leaves has been copied.
    bool cancel(request& r)
    {
        if (r.kind_ == request::kind::send) traffic_->cancel_send(r.id_);
        if (r.kind_ == request::kind::recv) traffic_->cancel_recv(base_, r.id_);
        r.kind_ = request::kind::none;
        return true;
    }
    int probe(int tag) { return traffic_->probe(tag); }
    void leave_unread() noexcept { detail::leave_unread(base_); }
    void poll()
    {
        base_.poll();
        traffic_->progress(base_, how_);
    }
    void idle()
    {
        if (!spins) traffic_->acknowledge_all(base_, how_);  // it may sleep for longer than peers should wait
        base_.idle();
    }
    void wake() noexcept
        requires requires(Base& base) { base.wake(); }
    {
        base_.wake();
    }
    const void* sleeper() noexcept { return detail::sleeper_of(base_); }

    // ---- of the link itself ----

    /// In seconds. It stands still while nobody looks after the link.
    double now() { return traffic_->now(); }
    const link_counts& counts() const { return traffic_->counts(); }
    /// Grows with everything that arrives.
    std::uint64_t events() const { return traffic_->events(); }
    /// Messages beyond repair so far.
    std::uint64_t failures() const { return traffic_->failures(); }
    /// The last one: this rank, the peer, the fragment, and how often it was sent.
    const verdict& trouble() const { return traffic_->trouble(); }
    /// One turn at the end of a call (guarded_traffic.hpp).
    /// @return true when nobody needs an answer of this rank any more
    bool settle(double waited, bool failed)
    {
        base_.poll();
        return traffic_->settle(base_, how_, call_, waited, failed);
    }
    int awaited() const { return traffic_->awaited(); }
    void stop_listening() { traffic_->stop_listening(base_); }

private:
    using traffic = detail::guarded_traffic<Base>;

    bool exists(int peer, request& r) const
    {
        if (peer >= 0 && peer < size()) return true;
        r.result = status::transport_failed;
        return false;
    }
    bool is_done(request& r)
    {
        const bool done = r.kind_ == request::kind::send ? traffic_->test_send(r.id_, r.result)
                                                         : traffic_->test_recv(r.id_, r.result, r.bytes);
        if (done) r.kind_ = request::kind::none;
        return done;
    }

    Base base_;
    protection how_;
    traffic* traffic_;
    std::uint64_t call_ = 0;  // copies belong to the same one
};

}  // namespace ccoll
