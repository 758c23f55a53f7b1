// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/agree.hpp - floor 3. How ranks of one call talk about the call itself: they compare arguments, before the first
// element or after the last, and whoever must leave the schedule tells everybody. All of it goes over one tag per call.
#pragma once

#include <algorithm>
#include <vector>

#include <ccoll/transport/transport.hpp>
#include <ccoll/wire/message.hpp>

namespace ccoll {

/// Tags of one call: its lanes, then its control messages. A call number returns after 2048 calls; until then a message that
/// nobody received (after an error) is told by the number in its stamp.
struct call_tags {
    static constexpr int per_call = 16, lanes = 15;
    int base;
    explicit call_tags(std::uint32_t call) : base(static_cast<int>(call % 2048) * per_call) {}
    int lane(std::size_t i) const { return base + static_cast<int>(i); }
    int control() const { return base + lanes; }
};
static_assert(2048 * call_tags::per_call - 1 <= max_tag);

template <transport Link>
class control {
public:
    control(Link& link, std::uint32_t call) : link_(link), call_(call), tags_(call) {}
    control(const control&) = delete;
    control& operator=(const control&) = delete;
    ~control()
    {
        for (const early& e : early_data_) link_.memory().drop(e.message);
        link_.memory().drop(heard_memory_);
    }

    /// Merges the opinions of all ranks in ceil(log2 p) rounds: in round k a rank tells the one 2^k after it all that it has
    /// heard (dissemination). Merging takes extremes only, so hearing something twice does no harm, and every rank returns the
    /// same message, unless somebody gave up meanwhile. Every rank speaks before it listens: a rank that does not take part
    /// (its arguments say that no agreement is due) is spoken to by one that does, and listen() tells it.
    /// @param room_bytes  of the largest data message: a rank that does not take part may be sending already.
    control_message agree(control_message mine, std::size_t room_bytes)
    {
        const int me = link_.rank(), p = link_.size();
        mine.stamp.kind = message_kind::opinion;
        mine.least = mine.most = mine.stamp.arguments;
        mine.least.rank = mine.most.rank = me;
        for (int k = 0, distance = 1; distance < p; ++k, distance *= 2) {
            const int left = (me - distance + p) % p;
            mine.step = k;
            send((me + distance) % p, mine);
            control_message theirs;
            const status s = opinion_of(left, mine, k, room_bytes, theirs);
            if (!gave_up_.ok()) {
                mine.trouble = gave_up_;
                return mine;
            }
            if (s != status::ok) theirs.trouble = {s, me, left, -1}, theirs.least = mine.least, theirs.most = mine.most;
            merge(mine, theirs);
        }
        if (mine.trouble.ok() && !(mine.least == mine.most)) {
            const bool in_order = mine.least.rank < mine.most.rank;
            const call_arguments& low = in_order ? mine.least : mine.most;
            const call_arguments& high = in_order ? mine.most : mine.least;
            mine.trouble = compare(low, high);
            mine.trouble.rank = low.rank;
            mine.trouble.peer = high.rank;
        }
        return mine;
    }

    /// For a rank that has nothing to do: has anybody left the schedule, or begun to compare arguments although this rank's
    /// own do not ask for it? @return the trouble, or ok.
    verdict listen(const call_stamp& mine)
    {
        for (int peer = link_.probe(tags_.control()); peer != nobody && gave_up_.ok(); peer = link_.probe(tags_.control())) {
            if (!take(peer) || incoming_.stamp.kind != message_kind::opinion || incoming_.closing != 0) continue;
            verdict v = compare(mine.arguments, incoming_.stamp.arguments);
            if (v.ok()) v = {status::plan_differs};
            v.rank = link_.rank();
            v.peer = peer;
            return v;
        }
        return gave_up_;
    }

    /// Tells all ranks that this one has left the schedule. Whoever waits for it will listen.
    void give_up(const call_stamp& mine, const verdict& v)
    {
        control_message m;
        m.stamp = mine;
        m.stamp.kind = message_kind::give_up;
        m.trouble = v;
        for (int peer = 0; peer < link_.size(); ++peer)
            if (peer != link_.rank()) send(peer, m);
    }

    /// The oldest message of lane 0 that came from `peer` while this rank still compared arguments, or null.
    buffer_memory* early_message(int peer)
    {
        for (auto e = early_data_.begin(); e != early_data_.end(); ++e)
            if (e->peer == peer) {
                buffer_memory* message = e->message;
                early_data_.erase(e);
                return message;
            }
        return nullptr;
    }

private:
    static constexpr std::size_t most_rounds = 32;

    struct early {
        int peer;
        buffer_memory* message;
    };

    static byte_span bytes_of(control_message& m) { return std::as_writable_bytes(std::span(&m, 1)); }

    /// Control messages are short enough to be on their way at once on every transport; one that is not is left behind.
    void send(int peer, const control_message& m)
    {
        buffer_memory* b = link_.memory().take(sizeof m);
        store(b->room(), 0, m);
        typename Link::request r = link_.post_send(peer, tags_.control(), b->room().first(sizeof m));
        for (int tries = 0; tries < 1000 && !link_.test(r); ++tries) {}
        if (link_.test(r) || link_.cancel(r)) link_.memory().drop(b);
    }

    /// Receives a control message that probe has seen. @return false when it is of another call.
    bool take(int peer)
    {
        typename Link::request r = link_.post_recv(peer, tags_.control(), bytes_of(incoming_));
        while (!link_.test(r)) {}
        return r.result == status::ok && r.bytes == sizeof incoming_ && sort_in(incoming_, peer);
    }

    bool sort_in(const control_message& m, int peer)
    {
        call_stamp stamp;
        const status s = read_stamp(std::as_bytes(std::span(&m, 1)), stamp);
        if (s == status::corrupt || stamp.call != call_) return false;
        if (s == status::wire_version) {
            gave_up_ = {s, link_.rank(), peer, -1, static_cast<double>(wire_version), static_cast<double>(stamp.version)};
        } else if (stamp.kind == message_kind::give_up) {
            if (gave_up_.ok()) gave_up_ = read_verdict(std::as_bytes(std::span(&m.trouble, 1)));
        } else if (stamp.kind == message_kind::opinion && m.step >= 0 && static_cast<std::size_t>(m.step) < most_rounds) {
            hear(m);
        }
        return true;
    }

    /// Opinions that nobody has asked for yet. In borrowed memory: most calls hear none, and those shall not pay.
    void hear(const control_message& m)
    {
        if (heard_memory_ == nullptr) heard_memory_ = link_.memory().take(2 * most_rounds * sizeof m);
        if (heard_count_ < 2 * most_rounds) store(heard_memory_->room(), heard_count_++ * sizeof m, m);
    }
    bool heard(int closing, int round, control_message& found)
    {
        for (std::size_t i = 0; i < heard_count_; ++i) {
            found = load<control_message>(heard_memory_->room(), i * sizeof found);
            if (found.closing != closing || found.step != round) continue;
            const auto last = load<control_message>(heard_memory_->room(), --heard_count_ * sizeof found);
            store(heard_memory_->room(), i * sizeof last, last);
            return true;
        }
        return false;
    }

    /// The opinion that `peer` tells in round k. Others may come first: of later rounds, of the closing comparison.
    status opinion_of(int peer, const control_message& mine, int k, std::size_t room_bytes, control_message& theirs)
    {
        typename Link::request r{};
        bool posted = false;
        while (gave_up_.ok() && !heard(mine.closing, k, theirs)) {
            link_.poll();
            if (!posted) r = link_.post_recv(peer, tags_.control(), bytes_of(expected_));
            posted = !link_.test(r);
            if (!posted && r.result != status::ok) return r.result;
            if (!posted) {
                if (r.bytes == sizeof expected_) sort_in(expected_, peer);
            } else if (const int other = link_.probe(tags_.control()); other != nobody) {
                take(other);
            } else if (mine.closing != 0 || !take_early_data(mine.stamp, room_bytes)) {
                link_.idle();
            }
        }
        if (posted) link_.cancel(r);
        return status::ok;
    }

    /// Data that arrive during the opening comparison: from a rank that is through with it already, which is kept for the
    /// schedule, or from one that takes no part, which is trouble.
    bool take_early_data(const call_stamp& mine, std::size_t room_bytes)
    {
        const int peer = link_.probe(tags_.lane(0));
        if (peer == nobody) return false;
        buffer_memory* b = link_.memory().take(room_bytes);
        typename Link::request r = link_.post_recv(peer, tags_.lane(0), b->room().first(room_bytes));
        while (!link_.test(r)) {}
        b->used = r.bytes;
        call_stamp stamp;
        const bool ours = r.result == status::ok && read_stamp(b->message(), stamp) == status::ok && stamp.call == call_;
        verdict v = ours ? compare(mine.arguments, stamp.arguments) : verdict{};
        if (v.code == status::bound_differs) v = {};  // a relative bound is known only after the comparison
        if (ours && v.ok()) {
            early_data_.push_back({peer, b});
            return true;
        }
        link_.memory().drop(b);
        if (!v.ok()) {
            v.rank = link_.rank(), v.peer = peer;
            give_up(mine, v);
            gave_up_ = v;
        }
        return true;
    }

    static void merge(control_message& mine, const control_message& theirs)
    {
        const auto before = [](const verdict& a, const verdict& b) {
            if (a.ok() || b.ok()) return !a.ok();
            return a.rank != b.rank ? a.rank < b.rank : a.code < b.code;
        };
        if (before(theirs.trouble, mine.trouble)) mine.trouble = theirs.trouble;
        mine.lowest = std::min(mine.lowest, theirs.lowest);
        mine.highest = std::max(mine.highest, theirs.highest);
        mine.least = std::min(mine.least, theirs.least);
        mine.most = std::max(mine.most, theirs.most);
    }

    Link& link_;
    std::uint32_t call_;
    call_tags tags_;
    verdict gave_up_;
    control_message incoming_, expected_;
    buffer_memory* heard_memory_ = nullptr;
    std::size_t heard_count_ = 0;
    std::vector<early> early_data_;
};

}  // namespace ccoll
