// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/agree.hpp - floor 3. How ranks of one call talk about the call itself: they compare arguments, before the first
// element or after the last, and whoever must leave the schedule tells everybody. All of it goes over one tag per call.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include <ccoll/algo/recursive.hpp>
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
    control(Link& link, std::uint32_t call) : link_(link), call_(call), tag_(call_tags(call).control()) {}

    /// Merges the opinions of all ranks by recursive doubling: log2(p) exchanges of 104 bytes. Every rank returns the same
    /// message (unless somebody gave up meanwhile). `trouble` names the lowest ranks that disagree or were in trouble.
    control_message agree(control_message mine)
    {
        using path = recursive_doubling_allreduce;
        const int me = link_.rank(), p = link_.size();
        mine.stamp.kind = message_kind::opinion;
        mine.representative = me;
        for (int k = 0; k < path::steps(p); ++k) {
            const step now = path::step_at(me, p, 0, k);
            mine.step = k;
            if (now.send_to != nobody) send(now.send_to, mine);
            if (now.recv_from == nobody) continue;
            control_message theirs;
            if (const status s = opinion_of(now.recv_from, mine.closing, k, theirs); s != status::ok)
                mine.trouble = {s, me, now.recv_from, k};
            else if (!gave_up_.ok())
                mine.trouble = gave_up_;
            else if (now.action == on_receive::replace)
                mine = theirs;
            else
                merge(mine, theirs);
            if (!gave_up_.ok()) break;
        }
        return mine;
    }

    /// For a rank that has nothing to do: has anybody left the schedule, or begun to compare arguments although this rank's
    /// plan does not? @return the trouble, or ok.
    verdict listen(const call_stamp& mine)
    {
        for (int peer = link_.probe(tag_); peer != nobody; peer = link_.probe(tag_)) {
            typename Link::request r = link_.post_recv(peer, tag_, bytes_of(incoming_));
            while (!link_.test(r)) {}
            if (r.result != status::ok || r.bytes != sizeof incoming_ || !belongs(incoming_)) continue;
            sort_in(incoming_);
            if (incoming_.stamp.kind == message_kind::opinion && incoming_.closing == 0) {
                verdict v = compare(mine, incoming_.stamp);
                if (v.ok()) v = {status::plan_differs};
                v.rank = link_.rank();
                v.peer = peer;
                return v;
            }
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

private:
    static constexpr int most_steps = 34;

    static byte_span bytes_of(control_message& m) { return std::as_writable_bytes(std::span(&m, 1)); }
    bool belongs(const control_message& m) const
    {
        call_stamp s;
        return read_stamp(std::as_bytes(std::span(&m, 1)), s) != status::corrupt && s.call == call_;
    }

    /// Control messages are short enough to be on their way at once on every transport; one that is not is left behind.
    void send(int peer, const control_message& m)
    {
        buffer_memory* b = link_.memory().take(sizeof m);
        store(b->room(), 0, m);
        typename Link::request r = link_.post_send(peer, tag_, b->room().first(sizeof m));
        for (int tries = 0; tries < 1000; ++tries)
            if (link_.test(r)) break;
        if (link_.test(r) || link_.cancel(r)) link_.memory().drop(b);
    }

    void sort_in(const control_message& m)
    {
        if (m.stamp.kind == message_kind::give_up) {
            if (gave_up_.ok()) gave_up_ = read_verdict(std::as_bytes(std::span(&m.trouble, 1)));
        } else if (m.step >= 0 && m.step < most_steps) {
            early_[static_cast<std::size_t>(m.closing != 0)][static_cast<std::size_t>(m.step)] = m;
        }
    }

    /// The opinion that `peer` sends in step k. Opinions of later steps and of the closing round may come first, from others.
    status opinion_of(int peer, int closing, int k, control_message& theirs)
    {
        control_message& slot = early_[static_cast<std::size_t>(closing != 0)][static_cast<std::size_t>(k)];
        const auto arrived = [&] { return slot.stamp.kind == message_kind::opinion; };
        typename Link::request r{};
        bool posted = false;
        while (!arrived() && gave_up_.ok()) {
            link_.poll();
            if (!posted) r = link_.post_recv(peer, tag_, bytes_of(expected_));
            posted = true;
            if (link_.test(r)) {
                posted = false;
                if (r.result != status::ok) return r.result;
                if (r.bytes == sizeof expected_ && belongs(expected_)) sort_in(expected_);
                continue;
            }
            const int other = link_.probe(tag_);
            if (other == nobody) {
                link_.idle();
                continue;
            }
            typename Link::request o = link_.post_recv(other, tag_, bytes_of(incoming_));
            while (!link_.test(o)) {}
            if (o.result == status::ok && o.bytes == sizeof incoming_ && belongs(incoming_)) sort_in(incoming_);
        }
        if (posted) link_.cancel(r);
        theirs = slot;
        slot = control_message{};
        return status::ok;
    }

    static void merge(control_message& mine, const control_message& theirs)
    {
        const bool mine_first = mine.representative <= theirs.representative;
        const control_message& low = mine_first ? mine : theirs;
        const control_message& high = mine_first ? theirs : mine;
        verdict v = !low.trouble.ok() ? low.trouble : high.trouble;
        if (!low.trouble.ok() && !high.trouble.ok() && high.trouble.rank < low.trouble.rank) v = high.trouble;
        if (v.ok()) {
            v = compare(low.stamp, high.stamp);
            if (!v.ok()) v.rank = low.representative, v.peer = high.representative;
        }
        mine.trouble = v;
        mine.lowest = std::min(mine.lowest, theirs.lowest);
        mine.highest = std::max(mine.highest, theirs.highest);
        mine.representative = low.representative;
        mine.stamp = low.stamp;
    }

    Link& link_;
    std::uint32_t call_;
    int tag_;
    verdict gave_up_;
    control_message incoming_, expected_;
    std::array<std::array<control_message, most_steps>, 2> early_{};  // kind data: nothing there
};

}  // namespace ccoll
