// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// p2p/p2p.hpp - floor 3. One point-to-point call: a send to one rank, a receive from another, or both at
// once. Slices are encoded while others are on their way, and decoded while more arrive. A call never waits
// (pending.hpp), and is compiled once per element type, transport and clock.
//
// Both ends cut a vector alike, because slices follow from plan and count (p2p_plan.hpp). The messages of one
// call are numbered, and each says how many there are. So a receiver that expected another count still takes
// all of them, and the next call is not affected.
#pragma once

#include <array>
#include <bit>
#include <utility>

#include <ccoll/run/blocks.hpp>
#include <ccoll/space/element_work.hpp>
#include <ccoll/run/message.hpp>
#include <ccoll/p2p/p2p_plan.hpp>
#include <ccoll/wait/pending.hpp>
#include <ccoll/call/promise.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// One call from its arguments to its report. Its buffers must remain valid until it has ended.
template <element T, transport Link, class Clock>
class p2p_call final : public pending_call {
public:
    p2p_call(const p2p_order<T>& order, Link link, bool) : p2p_call(order, std::move(link))
    {
        guarded([&] { begin(order.eb); });  // if it throws, the destructor runs and tells the receiver
    }
    ~p2p_call() override
    {
        say_last_words();
        cancel_receives();
        leave_sends();
    }

    bool advance() override
    {
        return guarded([this] { return go_on(); });
    }
    bool moved() const override { return moved_; }
    /// While codec work is under way it only yields, because the end of such work wakes no rank.
    void idle() override
    {
        typename Clock::scope time(clock_, phase::wait);
        if (!elements_.done()) return elements_.yield();
        for (const end_point* e : {&out_, &in_})
            for (const slot& s : e->all)
                if (!s.work.done()) return s.queue.let_others_run();
        link_.idle();
    }
    resting_place rest() override
    {
        for (const end_point* e : {&out_, &in_})
            for (const slot& s : e->all)
                if (!s.work.done()) return {};
        return elements_.done() ? rest_of(link_) : resting_place{};
    }
    void abandon() override { give_up({status::abandoned, me_, me_}); }
    const outcome& result() const override { return result_; }
    const char* name() const override { return user_.call; }

private:
    using slot = detail::p2p_slot<typename Link::request>;
    using end_point = detail::p2p_end<typename Link::request>;
    static constexpr std::size_t window = end_point::window;

    bool go_on()
    {
        if (ended_) return true;
        link_.poll();
        moved_ = false;
        while (turn()) moved_ = true;
        if (out_.done() && in_.done()) {
            end();
        } else {
            const verdict late =
                watch_.after_turn(moved_, me_, [&] { return in_.done() ? out_.peer : in_.peer; });
            if (!late.ok()) give_up(late);
        }
        return ended_;
    }
    template <class Part>
    auto guarded(Part part)
    {
        return with_names(
            *this, me_, last_word_, [this](const verdict& v) { return words_of(d_.space, v, me_); }, part);
    }
    p2p_call(const p2p_order<T>& order, Link link)
        : d_(order.plan), user_(order.user), link_(std::move(link)), me_(link_.rank()),
          messages_(d_.space.message_memory(link_.memory())),
          elements_(d_.space, d_.space.queue(0), link_.memory()), watch_(d_.patience)
    {}

    void begin(double run_time_bound)
    {
        report& facts = result_.facts;
        facts.ran_by = ran_by::point_to_point;
        facts.algorithm = "PointToPoint";
        facts.codec = d_.codec_name;
        facts.direct = d_.space.afar != nullptr;
        facts.placement = "Once";
        if (const verdict v = detail::first_fault(user_, me_, link_.size()); !v.ok()) return fail_at_once(v);
        if (const status s = detail::enter_space(d_, user_, link_); s != status::ok)
            return fail_at_once({s, me_});

        const double eb = d_.lossy ? (d_.bound_at_run_time ? run_time_bound : d_.bound_value) : 0;
        if (d_.lossy && !is_bound(eb)) return fail_at_once({status::bad_bound, me_, me_, -1, 0, eb});
        in_.eb = d_.relative ? 0 : eb;  // only the sender knows the range
        out_.eb = eb;
        const bool sends = user_.destination != nobody, receives = user_.source != nobody;
        if (left_sends* const left = link_.memory().template kept_so_far<left_sends>(); left != nullptr)
            left->finish(link_);
        if (sends) {
            slice_out_ = d_.slice(user_.send_count);
            const std::size_t needed =
                sizeof(pair_stamp) + d_.codec.max_bytes(std::min(slice_out_, user_.send_count));
            // Rounded up to powers of two, so that messages of many lengths share memory.
            const std::size_t room = needed > p2p_room / 2
                                         ? std::max(needed, p2p_room)
                                         : std::bit_ceil(std::max<std::size_t>(needed, 4096));
            open(out_, user_.destination, d_.messages(user_.send_count), room, true);
        }
        if (receives) {
            slice_in_ = d_.slice(user_.recv_count);
            room_in_ = std::max(p2p_room, sizeof(pair_stamp) + d_.codec.max_bytes(d_.codec.chunk_elements));
            open(in_, user_.source, d_.messages(user_.recv_count), room_in_, false);
        }
        if (d_.relative && sends) {
            elements_.ask({.range = true, .missing = d_.missing});
            elements_.look(user_.send, user_.send_count);
        }
        if (sends && receives && static_cast<const void*>(user_.send) == user_.recv && user_.send_count > 0)
            user_.send = elements_.put_aside(user_.send, user_.send_count);
    }

    void fail_at_once(const verdict& v)
    {
        user_.destination = user_.source = nobody;
        fail(v);
        end();
    }

    /// Borrows the memory of all messages that may be under way, so that allocations never depend on timing.
    void open(end_point& e, int peer, std::size_t messages, std::size_t room, bool sends)
    {
        e.peer = peer;
        e.total = messages;
        e.slots = std::min(window, messages);
        e.turn.join({&link_.memory(), peer, sends ? user_.send_tag : user_.recv_tag, sends});
        for (std::size_t i = 0; i < e.slots; ++i) {
            e.all[i].memory = messages_.take(room);
            e.all[i].queue = queue_of_lane(d_.space, d_.threads, i, e.slots);
        }
    }
    int send_tag() const { return first_p2p_tag + user_.send_tag; }
    int recv_tag() const { return first_p2p_tag + user_.recv_tag; }

    /// One step in each direction. @return true when something moved
    bool turn()
    {
        typename Clock::scope time(clock_, phase::communicate);
        if (!prepared_ && !prepare()) return false;
        const bool sent = !out_.done() && send_more(), received = !in_.done() && receive_more();
        return sent || received;
    }

    /// @return false while input is being copied, because nothing may overwrite it before, or while its range
    ///     is not yet known
    bool prepare()
    {
        if (!elements_.done()) return false;
        if (const status s = elements_.trouble(); s != status::ok) fail({s, me_, me_});
        if (elements_.found().range)
            out_.eb = detail::bound_from_range<T>(d_.of_magnitude, out_.eb, elements_.found().lowest,
                                                  elements_.found().highest);
        return prepared_ = true;
    }

    // ---- sending ----

    bool send_more()
    {
        bool moved = false;
        while (out_.finished < out_.halfway && link_.test(out_.at(out_.finished).request)) {
            const status s = out_.at(out_.finished++).request.result;
            moved = true;
            if (s == status::ok) continue;
            fail({s, me_, out_.peer});
            out_.total = out_.begun = out_.halfway;  // no one receives the rest
        }
        if (out_.begun < out_.total && out_.begun - out_.finished < out_.slots && out_.turn.has_come()) {
            encode_slice();
            moved = true;
        }
        while (out_.halfway < out_.begun && out_.at(out_.halfway).is_done()) {
            post_slice();
            moved = true;
        }
        if (out_.halfway >= out_.total) out_.turn.leave();
        return moved;
    }
    std::size_t slice_count(std::size_t number) const
    {
        return std::min(slice_out_, user_.send_count - number * slice_out_);
    }
    void encode_slice()
    {
        typename Clock::scope time(clock_, phase::encode);
        const std::size_t number = out_.begun++;
        slot& s = out_.at(number);
        const std::span<const T> values(user_.send + number * slice_out_, slice_count(number));
        if (d_.space.afar != nullptr) put_stamp(s, number);
        d_.codec.encode(s.queue, values, body_room<pair_stamp>(*s.memory), context(out_, s), s.work);
    }
    void post_slice()
    {
        slot& s = out_.at(out_.halfway);
        const encode_result& r = s.work.result;
        if (r.code != status::ok) {  // the codec broke its promise
            fail({r.code, me_, me_});
            return stop_sending(trouble_);
        }
        seal(*s.memory, stamp(out_.halfway, out_.total), r.bytes);
        s.request = link_.post_send(out_.peer, send_tag(), s.memory->message());
        result_.facts.sent_bytes += s.memory->used;
        result_.facts.raw_bytes += slice_count(out_.halfway) * sizeof(T);
        result_.facts.fallback_blocks += r.raw_blocks;
        result_.facts.special_values += r.special_values;
        ++out_.halfway;
    }
    /// The stamp of a message that the host cannot reach. The codec works behind it, on the same queue.
    CCOLL_OPAQUE void put_stamp(slot& s, std::size_t number)
    {
        store(s.memory->host_room(), 0, stamp(number, out_.total));
        d_.space.afar->copy(s.queue, s.memory->host_room().first(sizeof(pair_stamp)), s.memory->bytes.get(),
                            s.work);
    }
    pair_stamp stamp(std::size_t number, std::size_t total) const
    {
        pair_stamp s;
        s.number = static_cast<std::uint32_t>(number);
        s.total = static_cast<std::uint32_t>(total);
        s.count = user_.send_count;
        s.bound = out_.eb;
        s.plan = d_.plan;
        s.check = counted_check(s);
        return s;
    }

    /// Does not send the rest of the messages. The receiver may wait for as many messages as there are slots,
    /// so it gets poison in their place. If no message has left yet, the receiver has heard nothing of this
    /// call and will not, unless it is told now.
    void stop_sending(const verdict& v, bool tell_of_the_first = false)
    {
        const std::size_t total = out_.halfway > 0    ? std::min(out_.total, out_.halfway + window)
                                  : tell_of_the_first ? 1
                                                      : 0;
        for (std::size_t i = out_.halfway; i < total; ++i) {
            buffer_memory* b = messages_.take(sizeof(pair_stamp) + sizeof v);
            seal_poison(*b, stamp(i, total), v);
            auto r = link_.post_send(out_.peer, send_tag(), b->host_message());
            for (int tries = 0; tries < 1000 && !link_.test(r); ++tries) {}
            leave_behind(r, b);
        }
        out_.wait_for_work();
        out_.total = out_.begun = out_.halfway;
        out_.turn.leave();
    }

    // ---- receiving ----

    bool receive_more()
    {
        bool moved = false;
        // Only the sender can say how many messages follow. Until it has, this call may wait for one message
        // only, because another receive would take a message of the next call.
        const std::size_t limit = in_.counted ? std::min(in_.total, in_.finished + in_.slots) : 1;
        while (in_.begun < limit && in_.turn.has_come()) {
            slot& s = in_.at(in_.begun++);
            s.request = link_.post_recv(in_.peer, recv_tag(), s.memory->room().first(room_in_));
            s.fetched = false;
            moved = true;
        }
        if (in_.counted && in_.begun >= in_.total) in_.turn.leave();
        if (in_.halfway < in_.begun && link_.test(in_.at(in_.halfway).request) &&
            can_read(in_.at(in_.halfway))) {
            take(in_.at(in_.halfway));
            moved = true;
        }
        while (in_.finished < in_.halfway && in_.at(in_.finished).is_done()) {
            if (const status s = in_.at(in_.finished++).work.result.code; s != status::ok)
                fail({s, me_, in_.peer});
            moved = true;
        }
        return moved;
    }

    /// Can the host read the message that has arrived? If not, what it reads of it is being fetched.
    bool can_read(slot& s)
    {
        return d_.space.afar == nullptr || s.request.result != status::ok || has_fetched(s);
    }
    CCOLL_OPAQUE bool has_fetched(slot& s)
    {
        if (!std::exchange(s.fetched, true)) {
            s.memory->used = s.request.bytes;
            forget(*s.memory, 0);
            d_.space.afar->fetch(s.queue, s.memory->message(), s.memory->host, 1, s.work);
        }
        return s.is_done();
    }
    void take(slot& s)
    {
        if (s.fetched && s.work.result.code != status::ok) fail({s.work.result.code, me_, me_});
        const typename Link::request& r = s.request;
        if (r.result != status::ok) {
            const bool longer = r.result == status::truncated;
            fail({r.result, me_, in_.peer, -1, longer ? static_cast<double>(room_in_) : 0,
                  longer ? static_cast<double>(r.bytes) : 0});
            return cancel_receives();
        }
        s.memory->used = r.bytes;
        const pair_message m = read_pair_message(s.memory->host_message());
        if (!in_.counted) {
            if (m.read != status::ok) {
                const bool foreign = m.read == status::wire_version;
                fail({m.read, me_, in_.peer, -1, foreign ? static_cast<double>(wire_version) : 0,
                      foreign ? static_cast<double>(m.stamp.version) : 0});
                return cancel_receives();
            }
            if (m.stamp.number != 0) {  // it belongs to the rest of a call that this rank gave up
                in_.begun = 0;
                return;
            }
            if (!begins_well(m.stamp)) return cancel_receives();
        }
        const std::size_t number = in_.halfway++;
        if (m.read == status::ok && m.stamp.kind == message_kind::poison && m.stamp.total >= in_.begun) {
            in_.total = m.stamp.total;
            fail(read_verdict(m.body));
        } else if (m.read != status::ok || m.stamp.number != number || m.stamp.kind != message_kind::data) {
            fail({m.read != status::ok ? m.read : status::corrupt, me_, in_.peer});
        } else if (takes_data_) {
            decode(m.body, number, s);
        }
    }

    /// Examines the first message of a call: is it what this rank expects? If not, the call is still received
    /// to its end.
    /// @return false if its end cannot be known
    bool begins_well(const pair_stamp& theirs)
    {
        const auto differs = [&](status code, double mine, double other) {
            fail({code, me_, in_.peer, -1, mine, other});
        };
        const std::size_t expected = in_.total;
        in_.counted = true;
        in_.total = theirs.total;
        if (theirs.kind == message_kind::poison)
            return true;  // which says how many follow, and what went wrong
        if (theirs.plan != d_.plan) return differs(status::plan_differs, 0, 0), true;
        if (theirs.count != user_.recv_count) {
            differs(status::count_differs, static_cast<double>(user_.recv_count),
                    static_cast<double>(theirs.count));
            return true;
        }
        if (theirs.total != expected) {
            differs(status::corrupt, 0, 0);
            return false;
        }
        if (d_.relative ? !is_bound(theirs.bound) : theirs.bound != in_.eb) {
            differs(status::bound_differs, in_.eb, theirs.bound);
            return true;
        }
        in_.eb = theirs.bound;
        takes_data_ = true;
        return true;
    }

    void decode(const_byte_span frame, std::size_t number, slot& s)
    {
        const std::size_t first = number * slice_in_, count = std::min(slice_in_, user_.recv_count - first);
        frame_view view;
        status read = d_.codec.open(frame, count, view);
        if (read == status::count_differs ||
            (read == status::ok && (view.header.bound != in_.eb || view.bytes() != frame.size())))
            read = status::corrupt;
        if (read != status::ok) return fail({read, me_, in_.peer});
        show_codec(*s.memory, view);
        typename Clock::scope time(clock_, phase::decode);
        codec_context c = context(in_, s);
        c.how = stores_for(user_.recv_count * sizeof(T));
        d_.codec.decode(s.queue, view, std::span<T>(user_.recv + first, count), c, s.work);
    }

    // ---- both ----

    codec_context context(const end_point& e, const slot& s)
    {
        codec_context c;
        c.eb = e.eb;
        c.strides = user_.shape.strides;
        c.missing = d_.missing;
        if (s.queue.at_once())
            c.between = {[](void* self, std::size_t elements) noexcept {
                             static_cast<p2p_call*>(self)->between(elements);
                         },
                         this};
        return c;
    }
    void between(std::size_t elements) noexcept
    {
        since_poll_ += elements;
        if (since_poll_ < d_.codec.elements_between_polls) return;
        since_poll_ = 0;
        typename Clock::scope time(clock_, phase::communicate);
        detail::went_well([&] {  // what throws here throws again in the turn that follows
            for (std::size_t i = out_.finished; i < out_.halfway; ++i) link_.test(out_.at(i).request);
            for (std::size_t i = in_.halfway; i < in_.begun; ++i) link_.test(in_.at(i).request);
        });
    }
    /// When an exception ends the call on this rank: tells its receiver, which should not wait for the rest.
    /// Before its turn a call cannot say anything, because the receiver would take it for a message of an
    /// earlier call.
    void say_last_words() noexcept
    {
        detail::went_well([&] {
            if (!ended_ && !out_.done() && out_.turn.has_come()) stop_sending({last_word_, me_, me_}, true);
        });
    }
    void fail(const verdict& v)
    {
        if (trouble_.ok()) trouble_ = v;
        takes_data_ = false;
    }
    void cancel_receives()
    {
        in_.wait_for_work();
        for (std::size_t i = in_.halfway; i < in_.begun; ++i)
            detail::withdraw(link_, in_.at(i).request, messages_, std::exchange(in_.at(i).memory, nullptr));
        in_.close(messages_);
    }
    /// What has left is not withdrawn, because its receiver counts the messages.
    void leave_sends()
    {
        out_.wait_for_work();
        for (std::size_t i = out_.finished; i < out_.halfway; ++i)
            leave_behind(out_.at(i).request, std::exchange(out_.at(i).memory, nullptr));
        out_.close(messages_);
    }
    using left_sends = detail::p2p_left_sends<typename Link::request>;
    void leave_behind(typename Link::request& r, buffer_memory* b) noexcept
    {
        if (link_.test(r)) return messages_.drop(b);
        // Without memory for the list, nobody uses that of the message again.
        detail::went_well([&] { link_.memory().template kept<left_sends>().add(r, messages_, b); });
    }

    void end()
    {
        ended_ = true;
        out_.turn.leave();
        in_.turn.leave();
        report& facts = result_.facts;
        result_.trouble = trouble_;
        if (!trouble_.ok()) detail::leave_unread(link_);
        result_.transport_says =
            trouble_.code == status::transport_failed ? link_.explain() : words_of(d_.space, trouble_, me_);
        facts.breakdown = clock_.seconds();
        if (!d_.lossy || (user_.destination == nobody && user_.source == nobody)) return;
        const double eb =
            std::max(user_.destination != nobody ? out_.eb : 0.0, user_.source != nobody ? in_.eb : 0.0);
        facts.error_bound = facts.worst_case_error =
            d_.at_rate ? std::numeric_limits<double>::infinity() : eb;
        facts.probable_error = facts.error_bound * probable_units(1, error_growth::adds);
        facts.exact = false;
    }

    void give_up(const verdict& v) override
    {
        if (ended_) return;
        elements_.wait();
        if (!out_.done()) stop_sending(v);
        leave_sends();
        cancel_receives();
        trouble_ = v;
        end();
    }

    const p2p_decision<T>& d_;
    p2p_buffers<T> user_;
    Link link_;
    const int me_;
    workspace& messages_;
    element_work<T> elements_;
    end_point out_, in_;
    std::size_t slice_out_ = 0, slice_in_ = 0, room_in_ = 0, since_poll_ = 0;
    bool ended_ = false, moved_ = false, takes_data_ = false, prepared_ = false;
    stop_watch watch_;
    verdict trouble_;
    status last_word_ = status::out_of_memory;  // where an exception ends the call
    outcome result_;
    [[no_unique_address]] Clock clock_;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
