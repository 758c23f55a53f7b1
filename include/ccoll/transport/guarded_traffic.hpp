// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/guarded_traffic.hpp - floor 2. The traffic of a guarded link: what comes, and the turns of both
// directions.
//
// Everything goes over one tag of the transport, so whatever arrives is taken in by any call on the
// communicator. This object is kept with the communicator, and used by all of its calls.
#pragma once

#include <algorithm>
#include <utility>

#include <ccoll/transport/guarded_departures.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <transport Base>
class guarded_traffic : public guarded_departures<Base> {
    using departures = guarded_departures<Base>;
    using departures::acknowledge, departures::advance, departures::at, departures::counts_,
        departures::ends_, departures::last_id_, departures::leaving_;
    using typename departures::end_of_link;
    using typename departures::inner_request;
    using typename departures::leaving;

public:
    // ---- messages ----

    std::uint64_t post_recv(Base& base, int peer, int tag, byte_span into)
    {
        receives_.push_back({++last_id_, peer, tag, into});
        match(base, progressed_);
        return last_id_;
    }

    bool test_recv(std::uint64_t id, status& result, std::size_t& bytes)
    {
        const auto found = std::ranges::find(receives_, id, &waiting_receive::id);
        if (found == receives_.end()) return true;
        if (!found->done) return false;
        result = found->result;
        bytes = found->bytes;
        receives_.erase(found);
        return true;
    }
    void cancel_recv(Base& base, std::uint64_t id)
    {
        for (arriving_message& m : arriving_)
            if (m.receive == id) keep_here(base, m);
        std::erase_if(receives_, [&](const waiting_receive& r) { return r.id == id; });
    }
    int probe(int tag) const
    {
        int lowest = nobody;
        for (const arriving_message& m : arriving_)
            if (m.tag == tag && is_next(m) && (lowest == nobody || m.peer < lowest) &&
                std::ranges::none_of(receives_, [&](const waiting_receive& r) {
                    return !r.done && r.peer == m.peer && r.tag == tag;
                }))
                lowest = m.peer;
        return lowest;
    }

    // ---- turns ----

    /// Takes in what has come, acknowledges it, and sends again what is due.
    void progress(Base& base, const protection& how)
    {
        const double now = this->now();
        progressed_ = now;
        listen(base, now);
        for (std::size_t i = 0; i < ends_.size(); ++i) {
            end_of_link& end = ends_[i];
            const int peer = static_cast<int>(i);
            if (end.is_due(now)) acknowledge(base, how, peer, false);
            if (end.sent > end.settled && end.looked + departures::look_again < now)
                this->look_through(base, peer, now);
            if (end.sent < end.numbered) this->transmit(base, peer, now);
        }
        this->ask_again(base, now);
        this->tidy(base);
    }
    /// Without the usual delay.
    void acknowledge_all(Base& base, const protection& how)
    {
        for (std::size_t i = 0; i < ends_.size(); ++i)
            if (ends_[i].owes_any()) acknowledge(base, how, static_cast<int>(i), false);
    }
    /// For tests between two turns, of which there are many.
    void progress_now_and_then(Base& base, const protection& how)
    {
        if (this->now() - progressed_ > 50e-6) progress(base, how);
    }

    /// One turn at the end of a call: true when all that this rank sent has arrived, and its peers know that
    /// what they sent has arrived here. Then nobody needs an answer of this rank.
    /// @param call    whose messages have to be received; those of others only have to arrive
    /// @param waited  seconds since the call's work ended: peers that say nothing are asked for a while only
    /// @param failed  after an error nothing has to arrive, but peers should hear of it
    bool settle(Base& base, const protection& how, std::uint64_t call, double waited, bool failed)
    {
        progress(base, how);
        acknowledge_all(base, how);
        const double now = progressed_;
        bool settled = true;
        for (std::size_t i = 0; i < ends_.size(); ++i) {
            end_of_link& end = ends_[i];
            if (!end.all_settled() && waited > departures::has_left &&
                this->has_ended(static_cast<int>(i), now)) {
                for (leaving& m : leaving_)
                    if (m.peer == static_cast<int>(i) && !m.over()) this->give_up(m, status::abandoned);
            } else if (!end.all_settled()) {
                settled = settled && failed && waited > news_of_failure;
                awaited_ = static_cast<int>(i);
            } else if (is_owed(static_cast<int>(i)) && end.asks < most_asks &&
                       waited < departures::has_left) {
                settled = false;
                if (now - end.asked < std::clamp(2 * end.round_trip, 1e-3, 0.05)) continue;
                end.asked = now;
                ++end.asks;
                acknowledge(base, how, static_cast<int>(i), true);
            }
        }
        for (const leaving& m : leaving_) {
            if (!m.early || m.call != call || m.over()) continue;
            // All of it has arrived. A peer that says nothing any more has ended.
            if (m.missing == 0 && std::min(waited, now - at(m.peer).heard) > departures::has_left) continue;
            settled = settled && failed && waited > news_of_failure;
            awaited_ = m.peer;
        }
        if (!settled) return false;
        for (leaving& m : leaving_)  // to peers that do not answer: what this call has sent, and news of its
                                     // failure
            if (((failed && m.at_once) || (m.early && m.call == call)) && !m.over())
                this->give_up(m, status::abandoned);
        for (std::size_t i = 0; i < ends_.size(); ++i) {
            if (!ends_[i].has_sent && !ends_[i].owes_any()) continue;
            acknowledge(base, how, static_cast<int>(i), false);
            ends_[i].has_sent = false;
        }
        return true;
    }
    /// Whom settle() waits for.
    int awaited() const { return awaited_; }
    /// Takes back what waits for messages. Peers that nobody listens to are heard by the next call.
    void stop_listening(Base& base)
    {
        std::erase_if(standing_, [&](standing& s) {
            if (base.test(s.request)) take_in(base, s.peer, s.request, s.room, this->now());
            else if (s.probed) return false;  // its message is on its way
            withdraw(base, s.request, base.memory(), s.room);
            return true;
        });
        for (leaving& m : leaving_)
            if (m.result != status::ok) m.forgotten = true;
        this->tidy(base);
    }

    /// Grows with everything that arrives.
    std::uint64_t events() const { return events_; }

private:
    /// How long a call stays after an error, in seconds, for peers that have not heard of it.
    static constexpr double news_of_failure = 0.3;
    /// So often peers are asked whether they know that their messages have arrived: without that knowledge
    /// they would wait. Turns count and not time, because ranks of a busy machine sleep.
    static constexpr unsigned most_asks = 20;
    static constexpr std::uint64_t longest_message = std::uint64_t{1} << 36;
    /// Receives that stand ready: for each peer that is waited for, and for all of them as long as each has
    /// one.
    static constexpr std::ptrdiff_t most_ready = 4;
    static constexpr std::size_t most_standing = 8;

    /// A receive of the transport.
    struct standing {
        int peer;
        inner_request request;
        buffer_memory* room;
        bool probed;  ///< its message was there when it was posted
    };

    // ---- what comes ----

    void listen(Base& base, double now)
    {
        // Of peers that are waited for, receives stand ready, which also say when they are gone. Most
        // transports copy a message once more that arrives before its receive.
        for (const waiting_receive& r : receives_) {
            if (r.done) continue;
            auto ready = std::ranges::count(standing_, r.peer, &standing::peer);
            for (; ready < 1 || (ready < most_ready && standing_.size() < most_standing); ++ready)
                stand(base, r.peer, false);
        }
        take_standing(base, now);
        for (int most = 64; most > 0; --most) {
            const int peer = base.probe(departures::channel);
            if (peer == nobody) break;
            stand(base, peer, true);
            if (!base.test(standing_.back().request)) continue;
            standing s = standing_.back();
            standing_.pop_back();
            take_in(base, s.peer, s.request, s.room, now);
            base.memory().drop(s.room);
        }
    }
    /// Receives of one peer are filled in the order in which they were posted, so of each peer the first one
    /// is tested.
    void take_standing(Base& base, double now)
    {
        for (std::size_t i = 0; i < standing_.size();) {
            const auto at_i = standing_.begin() + static_cast<std::ptrdiff_t>(i);
            const bool behind =
                std::any_of(standing_.begin(), at_i, [&](const standing& s) { return s.peer == at_i->peer; });
            if (behind || !base.test(at_i->request)) {
                ++i;
                continue;
            }
            const standing s = *at_i;
            standing_.erase(at_i);
            take_in(base, s.peer, s.request, s.room, now);
            base.memory().drop(s.room);
        }
    }
    void stand(Base& base, int peer, bool probed)
    {
        buffer_memory* const room = base.memory().take(packet_room);
        standing_.push_back(
            {peer, base.post_recv(peer, departures::channel, room->room().first(packet_room)), room, probed});
    }
    void take_in(Base& base, int peer, const inner_request& r, buffer_memory* room, double now)
    {
        if (r.result == status::ok) hear_all(base, peer, room->room().first(r.bytes), now);
        else if (r.result == status::truncated) damaged(peer, acknowledgement::some_fragment);
        else lost(base, peer, r.result);
    }
    /// No message of this peer will come any more.
    void lost(Base& base, int peer, status why)
    {
        for (arriving_message& m : arriving_)
            if (m.peer == peer && m.receive != 0) keep_here(base, m);
        for (waiting_receive& r : receives_)
            if (r.peer == peer && !r.done) {
                r.done = true;
                r.result = why;
            }
        ++events_;
    }
    void damaged(int peer, std::uint64_t fragment)
    {
        ++counts_.detected;
        // On a bad link several come between two acknowledgements. One that is not named is sent again only
        // when the timer expires.
        if (auto& broken = at(peer).broken;
            std::ranges::find(broken, fragment) == broken.end() && broken.size() < end_of_link::most_broken)
            broken.push_back(fragment);
        at(peer).owes = true;
    }
    void hear_all(Base& base, int peer, byte_span packet, double now)
    {
        const std::size_t stride = fragment_stride(packet);
        do {
            const std::size_t bytes = std::min(stride, packet.size());
            heard(base, peer, packet.first(bytes), now);
            packet = packet.subspan(bytes);
        } while (!packet.empty());
    }
    void heard(Base& base, int peer, byte_span message, double now)
    {
        end_of_link& end = at(peer);
        const opened_fragment f = open_fragment(message);
        ++events_;
        end.heard = now;
        end.asks = 0;
        if (f.whole) counts_.corrected += f.corrected;
        const bool known = f.has_header && f.header.kind == fragment_kind::data;
        if (!f.whole || f.header.sender != peer)
            return damaged(peer, known ? f.header.number : acknowledgement::some_fragment);
        settle_theirs(base, end, peer, f.header.settled);
        if (f.header.kind == fragment_kind::acknowledgement) this->take_acknowledgement(base, peer, f, now);
        else take_fragment(base, peer, f, now);
        if (f.header.asks != 0) end.owes = true;
        match(base, now);
    }
    /// The peer waits for nothing up to here: what it gave up will not come.
    void settle_theirs(Base& base, end_of_link& end, int peer, std::uint64_t settled)
    {
        if (settled <= end.theirs_settled) return;
        end.theirs_settled = settled;
        end.seen.raise(settled);
        std::erase_if(arriving_, [&](const arriving_message& m) {
            const bool given_up = m.peer == peer && m.missing > 0 && m.last <= settled;
            if (given_up) base.memory().drop(m.memory);
            return given_up;
        });
    }
    void take_fragment(Base& base, int peer, const opened_fragment& f, double now)
    {
        end_of_link& end = at(peer);
        const fragment_header& h = f.header;
        const std::uint64_t i = h.number - h.first, last = h.first + fragments_of(h.message_bytes) - 1;
        if (h.number < h.first || h.number > last || h.message_bytes > longest_message ||
            f.body.size() != body_bytes(h, i)) {
            end.owes = true;
            return;
        }
        auto m = std::ranges::find_if(
            arriving_, [&](const arriving_message& a) { return a.peer == peer && a.first == h.first; });
        if (end.seen.has(h.number)) {  // a double; the sender may ask whether the message has been received
            if (m == arriving_.end()) end.note_taken(last);
            end.owes = true;
            return;
        }
        end.owe_fragment(now);
        if (!end.seen.takes(h.number)) {
            end.owes = true;
            return;
        }
        if (m == arriving_.end()) {
            arriving_message fresh{peer,           h.tag, h.first, last, h.previous, last - h.first + 1,
                                   h.message_bytes};
            if (const waiting_receive* const r = receive_for(fresh); r != nullptr) {
                fresh.into = r->into;
                fresh.receive = r->id;
            } else keep_here(base, fresh);
            arriving_.push_back(fresh);
            m = arriving_.end() - 1;
        }
        copy(m->into.subspan(i * fragment_body_bytes), f.body);
        --m->missing;
        end.seen.add(h.number);
        if (end.seen.floor() < h.number)
            end.owes = true;  // one before it is missing, and the peer should know
    }
    static std::size_t body_bytes(const fragment_header& h, std::uint64_t i)
    {
        return std::min<std::uint64_t>(fragment_body_bytes, h.message_bytes - i * fragment_body_bytes);
    }

    // ---- receives ----

    /// The receive that will get a message of which nothing has arrived so far. Then it need not be copied
    /// once more.
    const waiting_receive* receive_for(const arriving_message& m) const
    {
        const auto is_like = [&](const auto& each) { return each.peer == m.peer && each.tag == m.tag; };
        if (!at(m.peer).seen.has(m.previous) || std::ranges::any_of(arriving_, is_like)) return nullptr;
        const auto found =
            std::ranges::find_if(receives_, [&](const waiting_receive& r) { return !r.done && is_like(r); });
        return found != receives_.end() && found->into.size() >= m.bytes ? &*found : nullptr;
    }
    /// Gives a message memory of its own, for what has arrived of it and what will.
    void keep_here(Base& base, arriving_message& m)
    {
        m.memory = base.memory().take(std::max<std::size_t>(1, m.bytes));
        const byte_span room = m.memory->room().first(m.bytes);
        if (m.receive != 0) copy(room, m.into.first(m.bytes));
        m.into = room;
        m.receive = 0;
    }

    /// Does the peer not know yet that its fragments have arrived here, or that its messages have been
    /// received?
    bool is_owed(int peer) const
    {
        std::uint64_t known = at(peer).seen.last();  // although one before it may be missing that this rank
                                                     // does not need
        for (const arriving_message& m : arriving_)
            if (m.peer == peer && m.bytes > departures::short_message)
                known = std::min(known, m.first - 1);  // nobody has received it
        return at(peer).theirs_settled < known;
    }

    /// Messages of a peer and tag are received in the order in which they were sent.
    bool is_next(const arriving_message& m) const
    {
        if (m.missing > 0 || !at(m.peer).seen.has(m.previous)) return false;
        return std::ranges::none_of(arriving_, [&](const auto& a) {
            return a.peer == m.peer && a.tag == m.tag && a.first < m.first;
        });
    }
    void match(Base& base, double now)
    {
        for (waiting_receive& r : receives_) {
            if (r.done) continue;
            const auto found = std::ranges::find_if(arriving_, [&](const arriving_message& m) {
                return m.peer == r.peer && m.tag == r.tag && is_next(m);
            });
            if (found == arriving_.end()) continue;
            r.bytes = found->bytes;
            r.result = r.bytes > r.into.size() ? status::truncated : status::ok;
            if (r.result == status::ok && found->receive == 0) copy(r.into, found->into);
            r.done = true;
            at(r.peer).note_taken(found->last);
            at(r.peer).owe_taken(now);
            if (found->last - found->first >= departures::most_ahead)
                at(r.peer).owes = true;  // its sender waits
            base.memory().drop(found->memory);
            arriving_.erase(found);
            ++events_;
        }
    }

    std::vector<arriving_message> arriving_;
    std::vector<waiting_receive> receives_;
    std::vector<standing> standing_;
    std::uint64_t events_ = 0;
    double progressed_ = 0;
    int awaited_ = nobody;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
