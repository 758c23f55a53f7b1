// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/guarded_departures.hpp - floor 2. What leaves over a guarded link: messages are cut into
// fragments, sealed, kept until they have been acknowledged, and sent again where that is due.
#pragma once

#include <algorithm>
#include <utility>

#include <ccoll/base/clock.hpp>
#include <ccoll/transport/link_state.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <transport Base>
class guarded_departures {
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

    /// What all timers of the link go by. It stands still as long as the rank does not look after the link,
    /// because it was stopped or in no call: peers may have answered meanwhile, and nobody has looked.
    double now() { return clock_.look(steady_seconds()); }

    const link_counts& counts() const { return counts_; }
    /// How many messages were beyond repair, and the last of them: peer, fragment, tries.
    std::uint64_t failures() const { return failures_; }
    const verdict& trouble() const { return trouble_; }

protected:
    using inner_request = typename Base::request;
    using end_of_link = link_end<inner_request>;
    using leaving = leaving_message<inner_request>;

    static constexpr double look_again = 0.5e-3;
    /// A peer of which nothing arrives for so long, in seconds, does not answer.
    static constexpr double is_silent = 1;
    /// After so many seconds of silence it is taken to have ended, if nothing says that it needs anything.
    static constexpr double has_left = 5;

    end_of_link& at(int peer) { return ends_[static_cast<std::size_t>(peer)]; }
    const end_of_link& at(int peer) const { return ends_[static_cast<std::size_t>(peer)]; }
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
            end.copies = std::min(2 * end.copies, end_of_link::window);  // if the whole rest was lost, it is
                                                                         // not sent one by one
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

    std::vector<end_of_link> ends_;
    std::vector<leaving> leaving_;
    link_counts counts_;
    std::uint64_t last_id_ = 0;

private:
    struct departing {
        inner_request request;
        buffer_memory* memory;
    };

    std::vector<departing> departing_;
    waited_seconds clock_{0.1};
    std::uint64_t failures_ = 0;
    verdict trouble_;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
