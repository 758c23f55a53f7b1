// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/executor.hpp - floor 3. The one loop of the library: runs any schedule with any codec, placement and transport.
//
// The vector is cut twice: into the blocks of the schedule, and every block into slices. Slice j of all blocks is a lane.
// A lane walks the whole schedule on its own and no lane ever needs another, so lanes are the pipeline, within a step and
// across steps: while one waits for the link, the next encodes.
#pragma once

#include <ccoll/engine/agree.hpp>
#include <ccoll/engine/blocks.hpp>
#include <ccoll/instrument/report.hpp>

namespace ccoll::inline CCOLL_ABI {

template <element T, transport Link, class Clock>
class executor {
public:
    /// @param agreed  ranks have compared their arguments: nobody can be on another way.
    executor(const task<T>& what, Link& link, control<Link>& talk, bool agreed)
        : task_(what), link_(link), talk_(talk), agreed_(agreed), me_(link.rank()), p_(link.size()), blocks_(what.path.blocks(p_)),
          steps_(what.path.steps(p_)), tags_(what.stamp.call), store_(what, me_, p_, link.memory())
    {
        lanes_ = store_.template table<lane>(store_.lanes());
        link_.memory().reserve(lanes_.size() * buffers_per_lane, task_.room_bytes);
        for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i].slice = i;
    }
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    ~executor() { leave(); }

    /// Does what can be done without waiting. @return true when this rank is done.
    bool progress()
    {
        link_.poll();
        moved_ = false;
        for (lane& l : lanes_) {
            if (!l.open && l.slice < store_.slices() && !left_) open(l);
            while (l.open && advance(l)) moved_ = true;
        }
        vain_ = moved_ ? 0 : vain_ + 1;
        if (done() || moved_) {
            if (done() && !agreed_) talk_.listen(agreed_);  // takes questions that came too late to matter
            return done();
        }
        typename Clock::scope time(clock_, phase::wait);
        if (const verdict v = talk_.listen(agreed_); !v.ok()) leave_with(v);
        else if (!agreed_ && vain_ == control<Link>::patience) talk_.ask(awaited());
        return done();
    }
    /// Did the last progress() come any further?
    bool moved() const { return moved_; }
    /// After a progress() in vain: sleeps until something may have moved.
    void idle()
    {
        typename Clock::scope time(clock_, phase::wait);
        link_.idle();
    }

    /// Whom this rank waits for: the sender of the first message that is due, or else the one who has not taken its own.
    int awaited() const
    {
        for (const lane& l : lanes_)
            if (l.open && !l.received) return step_at(l).recv_from;
        for (const lane& l : lanes_)
            if (l.open) return step_at(l).send_to;
        return nobody;
    }

    /// From now on this rank sends poisoned messages instead of data, but keeps to the schedule: nobody waits in vain.
    void poison(const verdict& v)
    {
        if (trouble_.ok()) trouble_ = v;
    }
    const verdict& trouble() const { return trouble_; }
    /// Leaves the schedule and says so to everybody.
    void give_up(const verdict& v)
    {
        talk_.give_up(v);
        leave_with(v);
    }
    /// A result of this rank could not be added encoded because of what some rank contributed. No element was delivered, on no
    /// rank: whoever cannot add refuses for all of its frames.
    bool too_large() const { return too_large_; }
    const report& counts() const { return counts_; }
    breakdown seconds() const { return clock_.seconds(); }

private:
    static_assert(block_store<T>::most_lanes <= static_cast<std::size_t>(call_tags::lanes));
    /// Arriving, leaving, kept, just encoded, and one more: borrowed ahead, so that what is allocated never depends on timing.
    static constexpr std::size_t buffers_per_lane = 5;
    using block = typename block_store<T>::block;

    /// Lane i of L walks slices i, i + L, i + 2 L, ... on every rank, so that its tag is enough to tell messages apart.
    struct lane {
        std::size_t slice = 0;  // the current one, or the next if the lane is not open
        int step = 0;
        bool open = false, received = false;
        std::span<block> blocks;
        buffer_memory* inbox = nullptr;   // where the message of this step arrives
        buffer_memory* outbox = nullptr;  // what leaves in this step
        typename Link::request send{}, recv{};
    };

    /// The transitions of placement.hpp on real bytes.
    struct byte_work {
        executor& engine;
        block& mine;
        const frame_view* incoming;      // one frame, opened
        buffer_memory* holder = nullptr;  // of the message that it arrived in
        stores how = stores::cached;      // of what is decoded

        using scope = typename Clock::scope;

        void encode()
        {
            scope time(engine.clock_, phase::encode);
            buffer_memory* b = engine.fresh();
            const task<T>& what = engine.task_;
            const std::span<const T> own(mine.elements, mine.count);
            if (!what.rules.reduce_encoded) take(b, what.codec.encode(own, frame_room(b), what.eb, engine.polling()));
            else if (what.refuses) take(b, what.addends.refuse(own.size(), frame_room(b), what.eb), true);
            else take(b, what.addends.encode(own, frame_room(b), what.eb, engine.polling()), what.unlooked);
        }
        void adopt()
        {
            scope time(engine.clock_, phase::decode);
            frame_view own;
            status s = engine.task_.codec.open(mine.frame_bytes(), mine.count, own);
            if (engine.task_.rules.reduce_encoded && s == status::too_large) {
                engine.too_large_ = true;
                return;
            }
            if (s == status::ok) s = engine.task_.codec.decode(own, engine.store_.writable(mine), how, engine.polling());
            check(s);
        }
        void keep() { engine.store_.hold(mine, holder, incoming->whole); }
        void decode()
        {
            scope time(engine.clock_, phase::decode);
            check(engine.task_.codec.decode(*incoming, engine.store_.writable(mine), how, engine.polling()));
        }
        void combine()
        {
            scope time(engine.clock_, phase::reduce);
            const std::span<const T> own(mine.elements, mine.count);
            T* const into = engine.store_.writable(mine).data();
            check(engine.task_.codec.decode_reduce(*incoming, own, into, engine.operation(), engine.polling()));
        }
        void add()
        {
            scope time(engine.clock_, phase::encode);
            buffer_memory* b = engine.fresh();
            const bool theirs_first = engine.operation().theirs_on_the_left;
            frame_view own;
            encode_result sum{0, engine.task_.codec.open(mine.frame_bytes(), mine.count, own)};
            if (sum.code == status::ok || sum.code == status::too_large)
                sum = engine.task_.addends.add(theirs_first ? *incoming : own, theirs_first ? own : *incoming, frame_room(b), engine.polling());
            take(b, sum, incoming->says_too_large() || own.says_too_large());
        }
        /// combine() and the encode() that is going to follow, in one pass that never stores the partial result.
        void combine_and_encode()
        {
            scope time(engine.clock_, phase::reduce);
            buffer_memory* b = engine.fresh();
            const std::span<const T> own(mine.elements, mine.count);
            take(b, engine.task_.codec.decode_reduce_encode(*incoming, own, frame_room(b), engine.task_.eb, engine.operation(), engine.polling()));
        }

        static byte_span frame_room(buffer_memory* b) { return b->room().subspan(sizeof(call_stamp)); }
        /// @param expected  the frame says too_large because another one does. Otherwise a codec has broken its word that it can add.
        void take(buffer_memory* b, const encode_result& r, bool expected = false)
        {
            store(b->room(), 0, engine.task_.stamp);
            b->used = sizeof(call_stamp) + r.bytes;
            engine.store_.hold(mine, b, b->message().subspan(sizeof(call_stamp)));
            engine.link_.memory().drop(b);
            engine.counts_.fallback_blocks += r.raw_blocks;
            if (r.code != status::too_large || !expected) check(r.code);
        }
        void check(status s)
        {
            if (s != status::ok) engine.poison({s, engine.me_, engine.peer_, engine.step_});
        }
    };

    reduction<T> operation() const
    {
        reduction<T> op = task_.op;
        op.theirs_on_the_left = peer_ < me_;
        return op;
    }

    buffer_memory* fresh() { return link_.memory().take(task_.room_bytes); }

    between_chunks polling()
    {
        return {[](void* self, std::size_t elements) noexcept { static_cast<executor*>(self)->between(elements); }, this};
    }
    void between(std::size_t elements) noexcept
    {
        if ((since_poll_ += elements) < task_.codec.elements_between_polls) return;
        since_poll_ = 0;
        typename Clock::scope time(clock_, phase::communicate);
        for (lane& l : lanes_) {
            link_.test(l.recv);
            link_.test(l.send);
        }
    }

    void open(lane& l)
    {
        l.step = 0;
        l.open = true;
        moved_ = true;
        l.blocks = store_.open(index_of(l), l.slice);
        finish(l, -1);
        if (steps_ == 0) close(l);
        else post(l);
    }

    /// One transition of a lane, if its messages allow it.
    bool advance(lane& l)
    {
        typename Clock::scope time(clock_, phase::communicate);
        if (!l.received) {
            if (!link_.test(l.recv)) return false;
            l.received = receive(l);
            return true;
        }
        if (!link_.test(l.send)) return false;
        if (l.send.result != status::ok) poison({l.send.result, me_, step_at(l).send_to, l.step});
        link_.memory().drop(std::exchange(l.outbox, nullptr));
        const int done = l.step++;
        if (l.step < steps_ && !left_) post(l);
        finish(l, done);
        if (l.step == steps_) close(l);
        return true;
    }

    void post(lane& l)
    {
        const step now = step_at(l);
        l.received = now.recv_from == nobody;
        if (!l.received) {
            l.inbox = fresh();
            l.recv = link_.post_recv(now.recv_from, tags_.lane(index_of(l)), l.inbox->room().first(task_.room_bytes));
        }
        note_position(me_, l.step);
        for (int i = 0; i < now.send.count && trouble_.ok(); ++i) {
            byte_work work{*this, at(l, now.send, i), nullptr};
            before_send(work.mine.now, work);
        }
        if (now.send_to != nobody) {
            l.outbox = outgoing(l, now);
            l.send = link_.post_send(now.send_to, tags_.lane(index_of(l)), l.outbox->message());
        }
        for (int i = 0; i < now.send.count; ++i) after_send(task_.rules, at(l, now.send, i).now);
    }

    /// The message of a step, with a reference for the send. One block leaves from where it is, also one that only passes
    /// through; several are packed.
    buffer_memory* outgoing(lane& l, const step& now)
    {
        for (int i = 0; i < now.send.count; ++i) counts_.raw_bytes += at(l, now.send, i).count * sizeof(T);
        buffer_memory* message = nullptr;
        if (trouble_.ok() && now.send.count == 1 && at(l, now.send, 0).is_whole_message()) {
            message = at(l, now.send, 0).frame;
            ++message->references;
        } else {
            message = fresh();
            call_stamp stamp = task_.stamp;
            if (!trouble_.ok()) stamp.kind = message_kind::poison;
            store(message->room(), 0, stamp);
            message->used = sizeof stamp;
            if (!trouble_.ok()) {
                store(message->room(), message->used, trouble_);
                message->used += sizeof trouble_;
            }
            for (int i = 0; i < now.send.count && trouble_.ok(); ++i) {
                const const_byte_span frame = at(l, now.send, i).frame_bytes();
                copy(message->room().subspan(message->used), frame);
                message->used += frame.size();
            }
        }
        counts_.sent_bytes += message->used;
        return message;
    }

    /// @return false when the message was a left-over of an earlier call, and another one is awaited.
    bool receive(lane& l)
    {
        const step now = step_at(l);
        buffer_memory* const inbox = std::exchange(l.inbox, nullptr);
        inbox->used = l.recv.bytes;
        note_position(now.recv_from, l.step);
        const bool mine = l.recv.result != status::ok || read_message(l, now, inbox);
        if (!mine && !left_) {
            l.inbox = inbox;
            inbox->used = 0;
            l.recv = link_.post_recv(now.recv_from, tags_.lane(index_of(l)), inbox->room().first(task_.room_bytes));
            return false;
        }
        if (l.recv.result == status::truncated)
            poison({status::truncated, me_, peer_, step_, static_cast<double>(task_.room_bytes), static_cast<double>(l.recv.bytes)});
        else if (l.recv.result != status::ok) lost({l.recv.result, me_, peer_, step_});
        link_.memory().drop(inbox);
        return true;
    }

    /// @return false when the message belongs to another call.
    bool read_message(lane& l, const step& now, buffer_memory* inbox)
    {
        const const_byte_span message = inbox->message();
        call_stamp stamp;
        if (const status s = read_stamp(message, stamp); s != status::ok) return poison({s, me_, peer_, step_}), true;
        const belonging whose = belongs(task_.stamp.call, stamp.call, call_tags::period);
        if (whose == belonging::left_over) return false;
        verdict v = compare(task_.stamp.arguments, stamp.arguments);
        if (whose == belonging::damaged) v = {status::corrupt};
        if (!v.ok()) v.rank = me_, v.peer = peer_, v.step = step_;
        if (stamp.kind == message_kind::poison) v = read_verdict(message.subspan(sizeof stamp));
        else if (v.ok() && stamp.kind != message_kind::data) v = {status::corrupt, me_, peer_, step_};
        if (!v.ok()) {
            // A sender on another way does not keep to this schedule: to go on could mean to wait for ever.
            if (same_way(stamp.arguments, task_.stamp.arguments)) poison(v);
            else give_up(v);
            return true;
        }
        const_byte_span rest = message.subspan(sizeof stamp);
        for (int i = 0; i < now.recv.count && trouble_.ok(); ++i) {
            frame_view view;
            block& b = at(l, now.recv, i);
            status s = task_.codec.open(rest, b.count, view);
            if (s == status::count_differs || (s == status::too_large && task_.rules.reduce_encoded)) s = status::ok;
            if (s != status::ok) return poison({s, me_, peer_, step_}), true;
            if (task_.data.varied && now.action == on_receive::replace && view.header.elements <= task_.slice_elements)
                b.count = static_cast<std::size_t>(view.header.elements);  // the sender knows how long its part is
            if (task_.data.varied && view.header.elements != b.count)
                return poison({status::count_differs, me_, peer_, step_, static_cast<double>(b.count), static_cast<double>(view.header.elements)}), true;
            if (view.header.elements != b.count || view.header.bound != task_.eb || view.bytes() > task_.max_frame_bytes(b.count))
                return poison({status::corrupt, me_, peer_, step_}), true;
            byte_work work{*this, b, &view, inbox};
            if (now.action == on_receive::reduce && fuses(l, now.recv.at(i, blocks_))) {
                if (b.now == form::encoded) work.adopt();
                work.combine_and_encode();
                b.now = form::encoded;
            } else {
                received(task_.rules, b.now, now.action, work);
            }
            rest = rest.subspan(view.bytes());
        }
        if (trouble_.ok() && !rest.empty()) poison({status::corrupt, me_, peer_, step_});
        return true;
    }

    /// A reduced block whose next event is to be encoded for a send: the partial result itself is needed by nobody.
    bool fuses(const lane& l, int b) const
    {
        return task_.rules.forward_encoded && !task_.rules.reduce_encoded && l.step + 1 < steps_ &&
               task_.path.step_at(me_, p_, task_.root, l.step + 1).send.contains(b, blocks_);
    }

    /// Delivers blocks that no later step touches and gives their memory back.
    void finish(lane& l, int step)
    {
        const auto last_used = [&](int b) {
            block& mine = l.blocks[static_cast<std::size_t>(b)];
            if (store_.last_step(b) != step) return;
            if (mine.out != nullptr && mine.count != mine.out_count) {
                poison({status::count_differs, me_, peer_, step_, static_cast<double>(mine.out_count), static_cast<double>(mine.count)});
            } else if (mine.out != nullptr && trouble_.ok()) {
                note_position(me_, l.step);
                byte_work work{*this, mine, nullptr};
                if (task_.op.divide == nullptr) work.how = stores_for(task_.data.count * sizeof(T));  // else it is read again
                at_end(mine.now, work);
                typename Clock::scope time(clock_, phase::copy);
                if (!too_large_) store_.deliver(mine, p_);
            }
            store_.release(mine);
        };
        if (step < 0) {
            for (int b = 0; b < blocks_; ++b) last_used(b);
            return;
        }
        const auto now = task_.path.step_at(me_, p_, task_.root, step);
        for (int i = 0; i < now.send.count; ++i) last_used(now.send.at(i, blocks_));
        for (int i = 0; i < now.recv.count; ++i)
            if (!now.send.contains(now.recv.at(i, blocks_), blocks_)) last_used(now.recv.at(i, blocks_));
    }

    void close(lane& l)
    {
        l.open = false;
        l.slice += lanes_.size();
        ++finished_;
    }

    /// No message of this peer will come any more. If it has said why, that is the trouble.
    void lost(const verdict& v)
    {
        const verdict reason = talk_.listen(true);
        if (reason.ok()) poison(v);
        else leave_with(reason);
    }
    void leave_with(const verdict& v)
    {
        poison(v);
        left_ = true;
    }

    /// Takes back whatever is under way. Memory of a send that cannot be taken back is never handed out again.
    void leave()
    {
        for (lane& l : lanes_) {
            if (!link_.test(l.recv)) link_.cancel(l.recv);
            link_.memory().drop(std::exchange(l.inbox, nullptr));
            if (link_.test(l.send) || link_.cancel(l.send)) link_.memory().drop(std::exchange(l.outbox, nullptr));
        }
    }

    bool done() const { return finished_ == store_.slices() || left_; }
    std::size_t index_of(const lane& l) const { return static_cast<std::size_t>(&l - lanes_.data()); }
    step step_at(const lane& l) const { return task_.path.step_at(me_, p_, task_.root, l.step); }
    block& at(lane& l, const block_set& set, int i) { return l.blocks[static_cast<std::size_t>(set.at(i, blocks_))]; }
    void note_position(int peer, int step) { peer_ = peer, step_ = step; }

    const task<T>& task_;
    Link& link_;
    control<Link>& talk_;
    const bool agreed_;
    const int me_, p_, blocks_, steps_;
    const call_tags tags_;
    block_store<T> store_;
    std::span<lane> lanes_;
    std::size_t finished_ = 0, since_poll_ = 0;
    bool moved_ = false, left_ = false, too_large_ = false;
    std::uint64_t vain_ = 0;  // turns since something moved
    verdict trouble_;
    int peer_ = 0, step_ = 0;  // where the engine stands, for error sentences
    report counts_;
    [[no_unique_address]] Clock clock_;
};

}  // namespace ccoll
