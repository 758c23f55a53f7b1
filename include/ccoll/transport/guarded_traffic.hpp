// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/guarded_traffic.hpp - floor 2. The traffic of a guarded link. What leaves is cut into fragments,
// sealed, kept until it has been acknowledged, and sent again where that is due. What comes is taken in,
// acknowledged, and put together again.
//
// Everything goes over one tag of the transport, so whatever arrives is taken in by any call on the
// communicator. This object is kept with the communicator, and used by all of its calls.
#pragma once

#include <algorithm>
#include <utility>

#include <ccoll/base/clock.hpp>
#include <ccoll/transport/link_state.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <transport Base>
class guarded_traffic {
public:
    /// Behind those of collectives (agree/agree.hpp), in front of those of point-to-point calls.
    static constexpr int channel = 28656;
    /// A fragment that was sent so often to a peer that answers, in vain, is beyond repair.
    static constexpr unsigned most_tries = 40;
    /// A send of so many bytes is done at once; the transport of threads has the same limit.
    static constexpr std::size_t short_message = 256;
    /// Longer ones are done at once as long as so many fragments for the peer have not been received: 2 MiB,
    /// which is 17 ms of a link of 1 Gb/s. Acknowledgements wait behind data of the other direction, and a
    /// lane that waits for each would leave the link idle.
    static constexpr std::uint64_t most_ahead = 128;

    void open(Base& base)
    {
        if (ends_.empty()) ends_.resize(static_cast<std::size_t>(base.size()));
    }

    // ---- sends ----

    /// A number for each call that sends.
    std::uint64_t begin_call() { return ++last_id_; }

    std::uint64_t post_send(Base& base, const protection& how, std::uint64_t call, int peer, int tag,
                            const_byte_span data)
    {
        end_of_link& end = at(peer);
        leaving m;
        m.id = ++last_id_;
        m.peer = peer;
        m.tag = tag;
        m.bytes = data.size();
        m.how = how;
        m.call = call;
        m.missing = fragments_of(data.size());
        m.first = end.numbered + 1;
        m.last = end.numbered += m.missing;
        m.at_once = data.size() <= short_message;
        m.early = m.forgotten = !m.at_once && ahead_of(peer) + m.missing <= most_ahead;
        const std::size_t longest = sizeof(fragment_header) + std::min(data.size(), fragment_body_bytes);
        m.stride = longest + how.check_bytes(longest);
        m.memory = base.memory().take(m.missing * m.stride);
        fragment_header header;
        header.first = m.first;
        header.message_bytes = m.bytes;
        header.settled = settled_for(peer);
        header.tag = tag;
        header.sender = base.rank();
        for (const leaving& each : leaving_)
            if (each.peer == peer && each.tag == tag && !each.over()) header.previous = each.last;
        for (std::uint64_t i = 0; i < m.missing; ++i) {
            const byte_span room = m.memory->room().subspan(i * m.stride, m.stride);
            const const_byte_span body = part_of(data, i);
            header.number = m.first + i;
            copy(room.subspan(sizeof header), body);
            seal_fragment(room, header, body.size(), how);
        }
        leaving_.push_back(m);
        transmit(base, peer, now());
        return m.at_once || m.early ? 0 : m.id;
    }
    /// @return true when it is done
    bool test_send(std::uint64_t id, status& result)
    {
        for (leaving& m : leaving_)
            if (m.id == id) {
                if (!m.over() || m.result == status::undelivered)
                    return false;  // the whole call ends of that
                result = m.result;
                m.forgotten = true;
                return true;
            }
        return true;
    }
    void cancel_send(std::uint64_t id)
    {
        for (leaving& m : leaving_)
            if (m.id == id) {
                give_up(m, status::abandoned);
                m.forgotten = true;
            }
    }

    // ---- receives ----

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
            if (end.sent > end.settled && end.looked + look_again < now) look_through(base, peer, now);
            if (end.sent < end.numbered) transmit(base, peer, now);
        }
        ask_again(base, now);
        tidy(base);
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
        if (now() - progressed_ > 50e-6) progress(base, how);
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
            if (!end.all_settled() && waited > has_left && has_ended(static_cast<int>(i), now)) {
                for (leaving& m : leaving_)
                    if (m.peer == static_cast<int>(i) && !m.over()) give_up(m, status::abandoned);
            } else if (!end.all_settled()) {
                settled = settled && failed && waited > news_of_failure;
                awaited_ = static_cast<int>(i);
            } else if (is_owed(static_cast<int>(i)) && end.asks < most_asks && waited < has_left) {
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
            if (m.missing == 0 && std::min(waited, now - at(m.peer).heard) > has_left) continue;
            settled = settled && failed && waited > news_of_failure;
            awaited_ = m.peer;
        }
        if (!settled) return false;
        // To peers that do not answer: what this call has sent, and news of its failure.
        for (leaving& m : leaving_)
            if (((failed && m.at_once) || (m.early && m.call == call)) && !m.over())
                give_up(m, status::abandoned);
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
            if (base.test(s.request)) take_in(base, s.peer, s.request, s.room, now());
            else if (s.probed) return false;  // its message is on its way
            withdraw(base, s.request, base.memory(), s.room);
            return true;
        });
        for (leaving& m : leaving_)
            if (m.result != status::ok) m.forgotten = true;
        tidy(base);
    }

    /// Grows with everything that arrives.
    std::uint64_t events() const { return events_; }

    /// What all timers of the link go by. It stands still as long as the rank does not look after the link,
    /// because it was stopped or in no call: peers may have answered meanwhile, and nobody has looked.
    double now() { return clock_.look(steady_seconds()); }

    const link_counts& counts() const { return counts_; }
    /// How many messages were beyond repair, and the last of them: peer, fragment, tries.
    std::uint64_t failures() const { return failures_; }
    const verdict& trouble() const { return trouble_; }

private:
    using inner_request = typename Base::request;
    using end_of_link = link_end<inner_request>;
    using leaving = leaving_message<inner_request>;

    static constexpr double look_again = 0.5e-3;
    /// A peer of which nothing arrives for so long, in seconds, does not answer.
    static constexpr double is_silent = 1;
    /// After so many seconds of silence it is taken to have ended, if nothing says that it needs anything.
    static constexpr double has_left = 5;

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

    struct departing {
        inner_request request;
        buffer_memory* memory;
    };

    /// A receive of the transport.
    struct standing {
        int peer;
        inner_request request;
        buffer_memory* room;
        bool probed;  ///< its message was there when it was posted
    };

    end_of_link& at(int peer) { return ends_[static_cast<std::size_t>(peer)]; }
    const end_of_link& at(int peer) const { return ends_[static_cast<std::size_t>(peer)]; }

    // ---- what leaves ----

    static const_byte_span part_of(const_byte_span data, std::uint64_t i)
    {
        const std::size_t from = std::min(data.size(), i * fragment_body_bytes);
        return data.subspan(from, std::min(fragment_body_bytes, data.size() - from));
    }

    /// Up to which fragment this rank needs no acknowledgement any more, nor to hear that a message has been
    /// received.
    std::uint64_t settled_for(int peer) const
    {
        std::uint64_t n = at(peer).settled;
        for (const leaving& m : leaving_)
            if (m.peer == peer && !m.over() && !m.at_once) n = std::min(n, m.first - 1);
        return n;
    }
    /// Fragments of longer messages that the peer has not received.
    std::uint64_t ahead_of(int peer) const
    {
        std::uint64_t n = 0;
        for (const leaving& m : leaving_)
            if (m.peer == peer && !m.over() && !m.at_once) n += m.last - m.first + 1;
        return n;
    }
    /// Has the peer been there, is it silent since, and are only short messages on their way to it? A
    /// question, for example, may reach a peer that has ended meanwhile. It does not answer, and needs no
    /// answer.
    bool has_ended(int peer, double now)
    {
        end_of_link& end = at(peer);
        if (now - end.heard < has_left || end.settled == end.sent ||
            end.heard < end.at(end.settled + 1).first_sent)
            return false;
        return std::ranges::none_of(
            leaving_, [&](const leaving& m) { return m.peer == peer && !m.over() && !m.at_once; });
    }
    leaving* owner_of(int peer, std::uint64_t fragment)
    {
        for (leaving& m : leaving_)
            if (m.peer == peer && m.first <= fragment && fragment <= m.last) return &m;
        return nullptr;
    }
    /// Some fragments of a message, as they leave.
    static const_byte_span sealed(const leaving& m, std::uint64_t first, std::uint64_t count)
    {
        const std::uint64_t from = first - m.first, last = from + count - 1;
        const std::size_t bytes =
            sizeof(fragment_header) +
            std::min<std::size_t>(fragment_body_bytes, m.bytes - last * fragment_body_bytes);
        return m.memory->room().subspan(from * m.stride,
                                        (count - 1) * m.stride + bytes + m.how.check_bytes(bytes));
    }
    void post(Base& base, end_of_link& end, leaving& m, std::uint64_t first, std::uint64_t count, double now)
    {
        for (std::uint64_t n = first; n < first + count; ++n) {
            flight<inner_request>& f = end.at(n);
            f.packet = first;
            f.sent = now;
            f.due = false;
            counts_.resent += ++f.tries > 1;
        }
        end.has_sent = true;
        end.at(first).request = base.post_send(m.peer, channel, sealed(m, first, count));
    }
    /// Has the transport done its part? It has for packets whose first fragment is settled: their flight may
    /// be another one's by now.
    static bool has_left_here(Base& base, end_of_link& end, std::uint64_t fragment)
    {
        const std::uint64_t packet = end.at(fragment).packet;
        return packet <= end.settled || base.test(end.at(packet).request);
    }
    static status result_of(end_of_link& end, std::uint64_t fragment)
    {
        const std::uint64_t packet = end.at(fragment).packet;
        return packet <= end.settled ? status::ok : end.at(packet).request.result;
    }
    /// Sends what has not yet left, as far as the peer can tell it apart.
    void transmit(Base& base, int peer, double now)
    {
        end_of_link& end = at(peer);
        if (end.flights.empty()) end.flights.resize(end_of_link::window);
        while (end.sent < end.numbered && end.sent < end.settled + end_of_link::window) {
            const std::uint64_t first = end.sent + 1;
            leaving* const m = owner_of(peer, first);
            const bool needless = m == nullptr || m->result != status::ok;
            const std::uint64_t room = end.settled + end_of_link::window - end.sent;
            const std::uint64_t count =
                needless ? 1 : std::min({packet_fragments(m->how), m->last - end.sent, room});
            for (std::uint64_t n = first; n < first + count; ++n) {
                end.at(n) = {};
                end.at(n).first_sent = now;
                end.at(n).needless = needless;
            }
            if (!needless) post(base, end, *m, first, count, now);
            end.sent += count;
        }
        advance(base, end);
    }
    void advance(Base& base, end_of_link& end)
    {
        while (end.settled < end.sent && end.at(end.settled + 1).needless &&
               has_left_here(base, end, end.settled + 1))
            ++end.settled;
    }
    /// Sends again what is known not to have arrived. If nothing new has been acknowledged for a while, the
    /// oldest fragment is sent again as well, because it may have been the last one or its acknowledgement
    /// may have got lost. An acknowledgement then tells what else is missing. More than that would be too
    /// much: a link on which fragments wait behind others is slow, and copies make it slower.
    void look_through(Base& base, int peer, double now)
    {
        end_of_link& end = at(peer);
        end.looked = now;
        bool oldest = true;
        std::uint64_t copies = end.copies;
        for (std::uint64_t n = end.settled + 1; n <= end.sent; ++n) {
            flight<inner_request>& f = end.at(n);
            if (f.needless || !has_left_here(base, end, n))
                continue;  // one that is still under way is not lost
            leaving* const m = owner_of(peer, n);
            const bool silent = end.heard < f.first_sent || now - end.heard > is_silent,
                       first = std::exchange(oldest, false);
            if (m == nullptr) continue;
            const bool late = copies > 0 && now - std::max(f.sent, end.advanced) > end.patience(silent);
            if (const status result = result_of(end, n); result != status::ok) {
                if (m->early) fail({result, base.rank(), peer});
                give_up(*m, result);
            } else if (f.due || late) {
                if (silent && !first) continue;  // one is enough to ask whether somebody is there
                if (!silent && f.tries >= most_tries) {
                    fail({status::undelivered, base.rank(), peer, -1, static_cast<double>(n),
                          static_cast<double>(f.tries)});
                    give_up(*m, status::undelivered);
                } else {
                    if (silent)
                        f.tries = std::min(f.tries, most_tries / 2);  // perhaps it is not yet in its call
                    if (!f.due) --copies;
                    post(base, end, *m, n, 1, now);
                }
            }
        }
        if (copies < end.copies) {
            ++end.expiries;
            // If the whole rest was lost, it is not sent one by one.
            end.copies = std::min(2 * end.copies, end_of_link::window);
        }
        advance(base, end);
    }
    /// Asks peers that have a message, but have not said that it was received: they may have, and it got
    /// lost.
    void ask_again(Base& base, double now)
    {
        for (leaving& m : leaving_) {
            if (m.missing > 0 || m.over() || now - m.asked < 0.03 || !base.test(m.asking)) continue;
            m.asked = now;
            m.asking = base.post_send(m.peer, channel, sealed(m, m.last, 1));
        }
    }
    void fail(const verdict& v)
    {
        ++failures_;
        trouble_ = v;
    }
    void give_up(leaving& m, status why)
    {
        end_of_link& end = at(m.peer);
        m.result = why;
        for (std::uint64_t n = std::max(m.first, end.settled + 1); n <= std::min(m.last, end.sent); ++n)
            end.at(n).needless = true;
    }
    /// Forgets messages that are over, once the transport does not need their memory.
    void tidy(Base& base)
    {
        std::erase_if(leaving_, [&](leaving& m) {
            end_of_link& end = at(m.peer);
            if (!m.over() || !(m.forgotten || m.at_once || m.result == status::ok) || !base.test(m.asking))
                return false;
            for (std::uint64_t n = std::max(m.first, end.settled + 1); n <= std::min(m.last, end.sent); ++n)
                if (!has_left_here(base, end, n)) return false;
            base.memory().drop(m.memory);
            return true;
        });
        std::erase_if(departing_, [&](departing& d) {
            if (!base.test(d.request)) return false;
            base.memory().drop(d.memory);
            return true;
        });
    }

    /// An acknowledgement names one damaged fragment, so there are as many of them.
    void acknowledge(Base& base, const protection& how, int peer, bool asks)
    {
        std::vector<std::uint64_t>& broken = at(peer).broken;
        for (const std::uint64_t each : broken) acknowledge(base, how, peer, asks, each);
        if (broken.empty()) acknowledge(base, how, peer, asks, 0);
        broken.clear();
    }
    void acknowledge(Base& base, const protection& how, int peer, bool asks, std::uint64_t broken)
    {
        end_of_link& end = at(peer);
        fragment_header header;
        header.kind = fragment_kind::acknowledgement;
        header.asks = asks ? 1 : 0;
        header.number = end.seen.floor();
        header.settled = settled_for(peer);
        header.sender = base.rank();
        acknowledgement body;
        body.beyond = end.seen.words();
        body.taken = end.taken;
        body.broken = broken;
        end.acknowledged();
        const std::size_t bytes = sizeof header + sizeof body;
        buffer_memory* const b = base.memory().take(bytes + how.of_short().check_bytes(bytes));
        store(b->room(), sizeof header, body);
        const std::size_t all = seal_fragment(b->room(), header, sizeof body, how.of_short());
        departing_.push_back({base.post_send(peer, channel, b->room().first(all)), b});
    }
    void take_acknowledgement(Base& base, int peer, const opened_fragment& f, double now)
    {
        if (f.body.size() != sizeof(acknowledgement)) return;
        end_of_link& end = at(peer);
        const auto a = load<acknowledgement>(f.body, 0);
        const std::uint64_t floor = f.header.number;
        double latest = 0;  // when the youngest fragment left that has arrived
        for (std::uint64_t n = end.settled + 1; n <= end.sent; ++n) {
            flight<inner_request>& each = end.at(n);
            const std::uint64_t bit = n - floor - 1;
            const bool arrived =
                n <= floor || (bit < acknowledgement::window && (a.beyond[bit / 64] >> bit % 64 & 1) != 0);
            if (arrived)
                latest = std::max(latest, each.first_sent);  // which of its copies arrived is not known
            if (!arrived || each.needless) continue;
            each.needless = true;
            if (leaving* const m = owner_of(peer, n); m != nullptr && --m->missing == 0) m->asked = now;
            // A fragment that was sent again too early was on its way for as long as this. Left out, the
            // estimate would stay too short.
            if (!each.lost) end.note_round_trip(now - each.first_sent);
            end.advanced = now;
            end.expiries = 0;
            if (each.tries == 1) end.copies = 1;
        }
        bool guessed = a.broken != acknowledgement::some_fragment;
        for (std::uint64_t n = end.settled + 1; n <= end.sent; ++n) {
            flight<inner_request>& each = end.at(n);
            if (each.needless) continue;
            const bool overtaken = each.sent < latest,
                       oldest = !guessed && now - each.sent > end.round_trip / 2;
            guessed = guessed || oldest;
            if (n == a.broken || overtaken || oldest) {
                each.due = each.lost = true;
                end.looked = 0;
            }
        }
        for (leaving& m : leaving_)
            if (m.peer == peer && std::ranges::find(a.taken, m.last) != a.taken.end()) m.received = true;
        advance(base, end);
    }

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
            const int peer = base.probe(channel);
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
            {peer, base.post_recv(peer, channel, room->room().first(packet_room)), room, probed});
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
        if (f.header.kind == fragment_kind::acknowledgement) take_acknowledgement(base, peer, f, now);
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

    // ---- whose they are ----

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
        // Although one before it may be missing that this rank does not need.
        std::uint64_t known = at(peer).seen.last();
        for (const arriving_message& m : arriving_)
            if (m.peer == peer && m.bytes > short_message)
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
            if (found->last - found->first >= most_ahead) at(r.peer).owes = true;  // its sender waits
            base.memory().drop(found->memory);
            arriving_.erase(found);
            ++events_;
        }
    }

    std::vector<end_of_link> ends_;
    std::vector<leaving> leaving_;
    std::vector<departing> departing_;
    std::vector<arriving_message> arriving_;
    std::vector<waiting_receive> receives_;
    std::vector<standing> standing_;
    link_counts counts_;
    waited_seconds clock_{0.1};
    double progressed_ = 0;
    std::uint64_t last_id_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t failures_ = 0;
    verdict trouble_;
    int awaited_ = nobody;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
