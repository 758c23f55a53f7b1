// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// agree/agree.hpp - floor 3. How the ranks of one call talk about the call itself. They compare arguments
// before the first element or after the last one, and a rank that must leave the schedule tells all others.
// All of this uses one tag per call.
#pragma once

#include <optional>
#include <vector>

#include <ccoll/base/extremes.hpp>
#include <ccoll/transport/transport.hpp>
#include <ccoll/wire/message.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// The numbers that one call of the user needs. Every call reserves the same quantity, because ranks that
/// disagree on the plan must still agree on the numbers of the next call. A call on one level needs up to
/// three: for itself, for starting over if a rank has values that cannot be added, and for a second pass of
/// what could not be added. A call on several levels needs one for itself, and then one for each of three
/// levels or three for a call on one level.
///
/// Most calls take the next numbers of their communicator when they begin. Persistent calls may be started in
/// any order, so a start has numbers that follow from the place of its call among the persistent calls that
/// were prepared on the communicator, and from how often it has been started. These are the upper half of all
/// numbers.
class call_numbers {
public:
    static constexpr std::uint32_t per_call = 8;
    static constexpr std::uint32_t of_starts = std::uint32_t{1} << 31;  ///< the first number of a start
    /// So many persistent calls of a communicator have numbers of their own.
    static constexpr std::uint32_t most_prepared = 186;
    /// Numbers of one round of starts: each call has those of two starts, because a rank may begin the next
    /// one while others end the last.
    static constexpr std::uint32_t per_round = most_prepared * 2 * per_call;

    /// @param first  the first one, if it is given by the start of a persistent call; otherwise 0
    template <class Link>
    explicit call_numbers(Link& link, std::uint32_t first = 0) : next_(first)
    {
        if constexpr (requires { link.first_number(); }) next_ = link.first_number();
        else if (first == 0) next_ = link.begin_call() * per_call % of_starts;
    }
    std::uint32_t next() { return next_++; }

    /// The first number of a start.
    /// @param prepared  how many persistent calls were prepared before this one, less than most_prepared
    /// @param start  from 0 on
    static constexpr std::uint32_t of_start(std::uint32_t prepared, std::uint32_t start) noexcept
    {
        constexpr std::uint32_t rounds = of_starts / per_round;
        return of_starts + start / 2 % rounds * per_round + (2 * prepared + start % 2) * per_call;
    }
    static constexpr bool is_of_start(std::uint32_t number) noexcept { return number >= of_starts; }

private:
    std::uint32_t next_;
};

/// Tags of one number of a call: its lanes, then its control messages. Tags are reused after `period`
/// numbers, and by each second start of a persistent call. A message that nobody has received by then (after
/// an error) is recognised by the number in its stamp. The next 16 tags are for layers below the calls, and
/// guarded links use the first of them. Then come the tags of point-to-point calls (p2p_plan.hpp).
struct call_tags {
    static constexpr int per_call = 6, lanes = 5;
    static constexpr std::uint32_t period = 1791;
    static constexpr int end = 28656;  ///< the first tag behind them
    int base;
    explicit call_tags(std::uint32_t call) : base(static_cast<int>(place_of(call)) * per_call) {}
    int lane(std::size_t i) const { return base + static_cast<int>(i); }
    int control() const { return base + lanes; }

    /// By how much the numbers of two calls with the same tags differ, or a multiple of it.
    static constexpr std::uint32_t period_of(std::uint32_t call) noexcept
    {
        return call_numbers::is_of_start(call) ? call_numbers::per_round : period;
    }

private:
    static constexpr std::uint32_t place_of(std::uint32_t call) noexcept
    {
        if (!call_numbers::is_of_start(call)) return call % period;
        return period + (call - call_numbers::of_starts) % call_numbers::per_round;
    }
};
static_assert(static_cast<int>(call_tags::period + call_numbers::per_round) * call_tags::per_call <=
              call_tags::end);

/// Control messages that came before the start to which they belong, while an earlier start of the same call
/// was under way.
struct early_words {
    struct one {
        int peer;
        control_message said;
    };
    std::vector<one> all;
};

template <transport Link>
class control {
public:
    /// @param stamp  of this call; its arguments may still be filled in until the first message is sent.
    control(Link& link, const call_stamp& stamp)
        : link_(link), stamp_(stamp), tags_(stamp.call), opinions_(link.memory())
    {}
    control(const control&) = delete;
    control& operator=(const control&) = delete;
    ~control()
    {
        stop_receiving();
        link_.memory().drop(expected_);
    }

    /// Begins to merge the opinions of all ranks in ceil(log2 p) rounds. In round k a rank tells the rank 2^k
    /// after it all that it has heard so far (dissemination). Merging only takes extremes, so hearing
    /// something twice does no harm, and every rank ends with the same message unless one of them gave up.
    /// Every rank speaks before it listens. So a rank that does not take part, because its arguments say that
    /// no agreement is due, hears from one that does, and listen() reports it.
    void begin(const control_message& mine)
    {
        control_message& all = merged_.emplace(mine);
        all.stamp = stamp_;
        all.stamp.kind = message_kind::opinion;
        all.least = all.most = stamp_.arguments;
        all.least.rank = all.most.rank = link_.rank();
        opening_ = mine.closing == 0;
        opinions_.reserve(2 * most_rounds);
        if (expected_ == nullptr) expected_ = link_.memory().take(sizeof(control_message));
        round_ = 0;
        spoken_ = false;
    }

    /// Does what can be done without waiting. @return true when merged() is what all ranks hold
    bool progress()
    {
        link_.poll();
        recall();
        moved_ = false;
        const int me = link_.rank(), p = link_.size();
        control_message& all = *merged_;
        for (int distance = 1 << round_; distance < p && gave_up_.ok(); distance = 1 << ++round_) {
            const int left = (me - distance + p) % p;
            if (!spoken_) {
                peer_in_turn_ = left;
                all.round = round_;
                send((me + distance) % p, all);
                spoken_ = moved_ = true;
            }
            control_message theirs;
            status heard_it = status::ok;
            while (gave_up_.ok() && heard_it == status::ok && !heard(all.closing, round_, theirs)) {
                if (!listen_to(left, heard_it)) return false;
                moved_ = true;
            }
            // Ranks that this one has told its opinion already would not hear of it in a later round.
            if (heard_it != status::ok) give_up({heard_it, me, left});
            if (!gave_up_.ok()) break;
            merge(all, theirs);
            stop_receiving();
            spoken_ = false;
        }
        stop_receiving();
        if (!gave_up_.ok()) {
            pass_on();
            all.trouble = gave_up_;
            return true;
        }
        opened_ = true;
        opening_ = false;
        if (all.trouble.ok() && !(all.least == all.most)) {
            const bool least_is_lower = all.least.rank < all.most.rank;
            const call_arguments& low = least_is_lower ? all.least : all.most;
            const call_arguments& high = least_is_lower ? all.most : all.least;
            all.trouble = compare(low, high);
            all.trouble.rank = low.rank;
            all.trouble.peer = high.rank;
        }
        return true;
    }
    /// The message given to begin(), merged with what has been heard since.
    const control_message& merged() const { return *merged_; }
    /// Did the last progress() achieve anything?
    bool moved() const { return moved_; }
    /// The rank whose opinion is due next.
    int awaited() const { return peer_in_turn_; }

    /// For a rank that has nothing else to do. Has another rank left the schedule, or begun an agreement that
    /// this rank's own arguments do not call for, or asked a question that shows a disagreement?
    /// @return that trouble, or ok
    verdict listen(bool agreed)
    {
        recall();
        for (int peer = link_.probe(tags_.control()); peer != nobody && gave_up_.ok();
             peer = link_.probe(tags_.control())) {
            receive_opinion(peer);
            if (opinions_.size() == 0 || agreed) continue;
            const control_message theirs = opinions_.take(opinions_.size() - 1);
            verdict v = compare(stamp_.arguments, theirs.stamp.arguments);
            if (v.ok()) v = {status::plan_differs};
            v.rank = link_.rank();
            v.peer = peer;
            give_up(v);
        }
        return gave_up_;
    }

    /// Tells all ranks that this one leaves the schedule. A rank that waits for it will listen for this.
    void give_up(const verdict& v)
    {
        if (!gave_up_.ok()) return;
        leave(v);
        has_told_ = true;
        for (int peer = 0; peer < link_.size(); ++peer)
            if (peer != link_.rank()) tell(peer);
    }

    /// Shows this rank's arguments to `peer` after a long wait for it. Ranks with different schedules may all
    /// wait although none of them has sent what another expects. But the last rank of such a chain waits for
    /// a rank with another schedule, and that rank reads this and gives up. Healthy peers ignore it.
    void ask(int peer)
    {
        control_message m;
        m.stamp = stamp_;
        m.stamp.kind = message_kind::question;
        if constexpr (requires { link_.send_aside(peer, tags_.control(), bytes_of(m)); })
            link_.send_aside(peer, tags_.control(), bytes_of(m));
        else send(peer, m);
    }

    /// After so many seconds without progress, perhaps all ranks wait. Turns do not say so: where messages
    /// come in pieces, each piece is a turn. If the question crosses the awaited message, it is received at
    /// the end of the call or stays unread. After so long a wait this is rare.
    static constexpr double patience_s = 0.1;

private:
    static constexpr int most_rounds = 31;

    static byte_span bytes_of(control_message& m) { return std::as_writable_bytes(std::span(&m, 1)); }

    /// Tells a rank of gave_up_.
    void tell(int peer)
    {
        control_message m;
        m.stamp = stamp_;
        m.stamp.kind = message_kind::give_up;
        m.trouble = gave_up_;
        send(peer, m);
    }
    /// A rank that has heard of trouble may end before those hear of it that will wait for it in this round
    /// or a later one. They would take it for the lost one.
    void pass_on()
    {
        if (std::exchange(has_told_, true)) return;
        for (int distance = 1 << (spoken_ ? round_ + 1 : round_); distance < link_.size(); distance *= 2)
            tell((link_.rank() + distance) % link_.size());
    }
    /// Control messages are short enough for every transport to send them at once. One that cannot be sent at
    /// once is left behind.
    void send(int peer, const control_message& m)
    {
        buffer_memory* b = link_.memory().take(sizeof m);
        store(b->room(), 0, m);
        typename Link::request r = link_.post_send(peer, tags_.control(), b->room().first(sizeof m));
        for (int tries = 0; tries < 1000 && !link_.test(r); ++tries) {}
        detail::withdraw(link_, r, link_.memory(), b);
    }

    /// Receives a message that probe has seen, so there is nothing to wait for.
    typename Link::request receive(int peer, int tag, byte_span room)
    {
        typename Link::request r = link_.post_recv(peer, tag, room);
        while (!link_.test(r)) {}
        return r;
    }
    void receive_opinion(int peer)
    {
        control_message m;
        const auto r = receive(peer, tags_.control(), bytes_of(m));
        if (r.result == status::ok) sort_in(m, r.bytes, peer);
    }

    /// At the beginning of a start: reads what has come for it already.
    void recall()
    {
        if (std::exchange(has_recalled_, true) || !call_numbers::is_of_start(stamp_.call)) return;
        early_words* const early = link_.memory().template kept_so_far<early_words>();
        for (std::size_t i = 0; early != nullptr && i < early->all.size();) {
            const early_words::one each = early->all[i];
            const belonging whose =
                belongs(stamp_.call, each.said.stamp.call, call_tags::period_of(stamp_.call));
            if (whose == belonging::damaged) {  // of another call, or of a later start
                ++i;
                continue;
            }
            early->all.erase(early->all.begin() + static_cast<std::ptrdiff_t>(i));
            sort_in(each.said, sizeof each.said, each.peer);
        }
    }

    /// Checks everything. A message that no rank can have sent becomes trouble for all ranks, because its
    /// sender will not repeat it.
    void sort_in(const control_message& m, std::size_t bytes, int peer)
    {
        call_stamp stamp;
        const status s =
            bytes == sizeof m ? read_stamp(std::as_bytes(std::span(&m, 1)), stamp) : status::corrupt;
        const std::uint32_t period = call_tags::period_of(stamp_.call);
        const belonging whose =
            s == status::corrupt ? belonging::damaged : belongs(stamp_.call, stamp.call, period);
        if (call_numbers::is_of_start(stamp_.call) && s == status::ok &&
            belongs(stamp.call, stamp_.call, period) == belonging::left_over)
            return link_.memory().template kept<early_words>().all.push_back({peer, m});
        const int p = link_.size();
        const bool is_opinion = stamp.kind == message_kind::opinion;
        const bool possible =
            is_opinion
                ? m.round >= 0 && m.round < most_rounds && (peer + (1 << m.round) % p) % p == link_.rank() &&
                      m.trouble.code <= last_status && in_order(m.closing, peer)
                : stamp.kind == message_kind::give_up || stamp.kind == message_kind::question;
        if (whose == belonging::left_over) return;
        if (s == status::wire_version)
            give_up({s, link_.rank(), peer, -1, static_cast<double>(wire_version),
                     static_cast<double>(stamp.version)});
        else if (whose == belonging::damaged || !possible) give_up({status::corrupt, link_.rank(), peer});
        else if (is_opinion) opinions_.push(m);
        else if (stamp.kind == message_kind::question) answer(stamp, peer);
        else if (gave_up_.ok()) hear_of(read_verdict(std::as_bytes(std::span(&m.trouble, 1))));
    }

    /// Over a guarded link the message of the rank that gave up may not reach all ranks, so the others pass
    /// it on.
    void hear_of(const verdict& v)
    {
        if constexpr (detail::may_not_reach<Link>) give_up(v);
        else leave(v);
    }

    void leave(const verdict& v)
    {
        gave_up_ = v;
        detail::leave_unread(link_);
    }

    void answer(const call_stamp& theirs, int peer)
    {
        const verdict v = compare(stamp_.arguments, theirs.arguments);
        if (v.ok() || (opening_ && v.code == status::bound_differs))
            return;  // a relative bound is not yet known
        give_up({v.code, link_.rank(), peer, -1, v.expected, v.found});
    }

    /// Each rank sends this one its opening opinion first, and its closing opinion later.
    bool in_order(int closing, int peer) const
    {
        if (closing != 0) return closing == 1 && (!opening_ || told_opening(peer));
        return !opened_;
    }
    bool told_opening(int peer) const
    {
        const int me = link_.rank(), p = link_.size(), distance = (me - peer + p) % p;
        if (distance < (me - peer_in_turn_ + p) % p) return true;
        for (std::size_t i = 0; i < opinions_.size(); ++i)
            if (opinions_[i].closing == 0 && (1 << opinions_[i].round) == distance) return true;
        return false;
    }

    bool heard(int closing, int round, control_message& found)
    {
        for (std::size_t i = 0; i < opinions_.size(); ++i)
            if (opinions_[i].closing == closing && opinions_[i].round == round) {
                found = opinions_.take(i);
                return true;
            }
        return false;
    }

    /// One turn of listening to the peer whose opinion is due. Messages from other ranks may come first, of
    /// later rounds or of the closing agreement.
    /// @return false when there was nothing to hear.    @param heard_it  not ok when the transport failed
    bool listen_to(int peer, status& heard_it)
    {
        if (expected_ == nullptr) expected_ = link_.memory().take(sizeof(control_message));
        if (!receiving_)
            request_ =
                link_.post_recv(peer, tags_.control(), expected_->room().first(sizeof(control_message)));
        receiving_ = !link_.test(request_);
        if (!receiving_ && request_.result != status::ok && request_.result != status::truncated) {
            heard_it = request_.result;  // unless another rank has said why it will not come
            for (int other = link_.probe(tags_.control()); other != nobody && gave_up_.ok();
                 other = link_.probe(tags_.control()))
                receive_opinion(other);
        } else if (!receiving_) {
            sort_in(load<control_message>(expected_->room(), 0), request_.bytes, peer);
        } else if (const int other = link_.probe(tags_.control()); other != nobody) {
            // If the second message is from the same peer, its first has come since it was tested for, and
            // must be read first.
            if (other != peer) receive_opinion(other);
        } else {
            return false;
        }
        return true;
    }
    void stop_receiving()
    {
        if (receiving_) detail::withdraw(link_, request_, link_.memory(), std::exchange(expected_, nullptr));
        receiving_ = false;
    }

    static void merge(control_message& mine, const control_message& theirs)
    {
        const auto before = [](const verdict& a, const verdict& b) {
            if (a.ok() || b.ok()) return !a.ok();
            return a.rank != b.rank ? a.rank < b.rank : a.code < b.code;
        };
        if (before(theirs.trouble, mine.trouble)) mine.trouble = theirs.trouble;
        mine.facts.merge(theirs.facts);
        mine.least = std::min(mine.least, theirs.least);
        mine.most = std::max(mine.most, theirs.most);
    }

    Link& link_;
    const call_stamp& stamp_;
    call_tags tags_;
    verdict gave_up_;
    bool has_told_ = false;  // others of gave_up_
    bool opening_ = false, opened_ = false;
    int round_ = 0;  // of the comparison under way
    bool spoken_ = false, receiving_ = false, moved_ = false, has_recalled_ = false;
    typename Link::request request_{};  // receives into expected_
    buffer_memory* expected_ = nullptr;
    int peer_in_turn_ = nobody;
    std::optional<control_message> merged_;    // most short calls never need it
    borrowed_list<control_message> opinions_;  // not yet asked for
};

}  // namespace ccoll::inline CCOLL_ABI::detail
