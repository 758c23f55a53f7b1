// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// run/executor.hpp - floor 3. The one loop of the library. It runs any schedule with any codec, placement,
// memory space and transport.
//
// The vector is cut twice: into the blocks of the schedule, and every block into slices. A lane walks the
// whole schedule with slice j of all blocks. No lane ever needs another one, so lanes form the pipeline:
// while one lane waits for the link, the next one encodes.
//
// A step of a lane has four stages. Codec work that is begun in one is settled before the next, or at once if
// the queue works at once.
//
//   encode     the receive is posted, and what leaves is being encoded
//   exchange   it has left; the step's message is awaited
//   fetch      it has arrived where the host cannot read it; what the host has to read of it is being fetched
//              (far_work.hpp)
//   combine    what arrived is being decoded, added or reduced; the send is awaited
//
// Delivering a result begins when the last step of its block is over. It is awaited before the lane closes.
#pragma once

#include <utility>
#include <vector>

#include <ccoll/run/byte_work.hpp>
#include <ccoll/run/far_work.hpp>
#include <ccoll/run/lane_work.hpp>
#include <ccoll/instrument/report.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

template <element T, transport Link, class Clock>
class executor {
public:
    /// @param agreed  ranks have compared their arguments, so none can have another schedule.
    executor(const task<T>& what, Link& link, control<Link>& talk, bool agreed)
        : task_(what), link_(link), messages_(what.space.message_memory(link.memory())), talk_(talk),
          agreed_(agreed), me_(link.rank()), p_(link.size()), blocks_(what.blocks(p_)),
          steps_(what.steps(p_)), tags_(what.stamp.call),
          store_(what, me_, p_, link.memory(), messages_, what.space.element_memory(link.memory()))
    {
        lanes_ = store_.template table<lane>(store_.lanes());
        messages_.reserve(lanes_.size() * buffers_per_lane, task_.room_bytes);
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            lanes_[i].slice = i;
            lanes_[i].queue = queue_of_lane(task_.space, task_.threads, i, lanes_.size());
        }
        if (lanes_[0].queue.at_once()) return;
        const std::size_t most = work::most_per_block * static_cast<std::size_t>(blocks_);
        const std::span<piece> pieces = store_.template table<piece>(lanes_.size() * most);
        for (std::size_t i = 0; i < lanes_.size(); ++i)
            lanes_[i].begun = work(pieces.subspan(i * most, most));
    }
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    ~executor() { leave(); }

    /// Does what can be done without waiting. @return true when this rank is done
    bool progress()
    {
        link_.poll();
        moved_ = false;
        bool works = false;
        for (lane& l : lanes_) {
            if (!l.open && l.slice < store_.slices() && !left_) open(l);
            if (l.open) walk(l);
            works = works || !l.begun.empty();
        }
        if (moved_ || works) {
            asked_ = false;
            waited_.restart();
        }
        if (done() || moved_) {
            if (done() && !agreed_) talk_.listen(agreed_);  // receives questions that came too late to matter
            return done();
        }
        typename Clock::scope time(clock_, phase::wait);
        if (const verdict v = talk_.listen(agreed_); !v.ok()) leave_with(v);
        else if (!agreed_ && !asked_ && waited_.look(steady_seconds()) > control<Link>::patience_s) ask();
        return done();
    }
    /// Did the last progress() achieve anything?
    bool moved() const { return moved_; }
    /// Sleeps until something may have happened. With codec work under way it only yields, because the end of
    /// such work wakes no rank.
    void idle()
    {
        typename Clock::scope time(clock_, phase::wait);
        for (lane& l : lanes_)
            if (!l.begun.empty()) return l.queue.let_others_run();
        link_.idle();
    }
    /// Where idle() sleeps, if it does.
    resting_place rest()
    {
        for (const lane& l : lanes_)
            if (!l.begun.empty()) return {};
        return rest_of(link_);
    }

    /// The rank that this one waits for: the sender of the first message that is due, or else a receiver that
    /// has not taken its message.
    int awaited() const
    {
        for (const lane& l : lanes_)
            if (l.open && !l.received) return l.now.recv_from;
        for (const lane& l : lanes_)
            if (l.open) return l.now.send_to;
        return nobody;
    }

    /// From now on this rank sends poisoned messages instead of data, but keeps to the schedule, so no rank
    /// waits for ever.
    void poison(const verdict& v)
    {
        if (trouble_.ok()) trouble_ = v;
    }
    const verdict& trouble() const { return trouble_; }
    /// Leaves the schedule and tells all ranks.
    void give_up(const verdict& v)
    {
        talk_.give_up(v);
        leave_with(v);
    }
    /// What was not delivered, because its sums could not be held, in any order. All of it if a rank has said
    /// so in all of its frames.
    const std::vector<part>& not_held() const { return not_held_; }
    const report& counts() const { return counts_; }
    breakdown seconds() const { return clock_.seconds(); }

    // ---- what byte_work and far_work use, which begin the work on blocks ----

    using element_type = T;
    using clock_type = Clock;
    using block = typename block_store<T>::block;
    using piece = begun_work<T>;
    using lane = engine_lane<T, typename Link::request>;

    const task<T>& what() const { return task_; }
    int rank() const { return me_; }
    int ranks() const { return p_; }
    block_store<T>& store() { return store_; }
    Clock& clock() { return clock_; }
    /// Where the engine stands, for error sentences.
    message_place& here() { return here_; }
    /// The block of this number in a set, of a lane.
    block& at(lane& l, const block_set& set, int i)
    {
        return l.blocks[static_cast<std::size_t>(set.at(i, blocks_))];
    }
    /// Memory for a message.
    buffer_memory* fresh() { return messages_.take(task_.room_bytes); }
    const far_messages* afar() const { return task_.space.afar; }
    reduction<T> operation() const
    {
        reduction<T> op = task_.op;
        op.theirs_on_the_left = here_.sender < me_;
        return op;
    }
    codec_context context(const lane& l)
    {
        codec_context c{task_.eb, task_.strides, task_.missing};
        c.two_bytes = task_.two_bytes;
        if (l.queue.at_once()) c.between = {&poll_between, this};
        return c;
    }
    /// Begins a piece of work. If the queue works at once, the work is also settled.
    template <class Begin>
    void start(lane& l, piece p, Begin begin)
    {
        p.where = here_;
        if (l.queue.at_once()) {
            begin(p.work);
            settle(p);
        } else if (p.into == nullptr || afar() == nullptr) {
            begin(l.begun.add(p).work);
        } else {
            far_work<executor>{*this, l}.encode(p, begin);
        }
    }

private:
    static_assert(most_lanes <= static_cast<std::size_t>(call_tags::lanes));
    /// Arriving, leaving, kept, just encoded, and one more. They are borrowed in advance, so that allocations
    /// never depend on timing.
    static constexpr std::size_t buffers_per_lane = 5;
    using work = lane_work<T>;

    // ---- codec work ----

    void settle(piece& p)
    {
        const encode_result& r = p.work.result;
        if (p.into != nullptr) {
            seal(*p.into, task_.stamp, r.bytes);
            store_.hold(*p.of, p.into, p.into->message().subspan(sizeof(call_stamp)), {});
            messages_.drop(p.into);
            counts_.fallback_blocks += r.raw_blocks;
            counts_.special_values += r.special_values;
        }
        if (r.code != status::ok && (r.code != status::too_large || !p.may_be_too_large))
            poison(p.where.found(r.code));
        if (p.last) store_.release(*p.of);
    }
    /// Settles what is done. @return true when no message and no later step waits for any of the rest
    bool settled(lane& l)
    {
        while (!l.begun.empty() && l.queue.is_done(l.begun.oldest().work)) {
            settle(l.begun.oldest());
            l.begun.remove_oldest();
            moved_ = true;
        }
        return !l.begun.due();
    }

    // Not a lambda, because nvcc 13 crashes on this cast within one.
    static void poll_between(void* self, std::size_t n) noexcept { static_cast<executor*>(self)->between(n); }
    void between(std::size_t elements) noexcept
    {
        since_poll_ += elements;
        if (since_poll_ < task_.codec.elements_between_polls) return;
        since_poll_ = 0;
        typename Clock::scope time(clock_, phase::communicate);
        detail::went_well([&] {  // what throws here throws again in the turn that follows
            for (lane& l : lanes_) {
                link_.test(l.recv);
                link_.test(l.send);
            }
        });
    }

    // ---- a lane ----

    void open(lane& l)
    {
        l.step = 0;
        l.open = true;
        moved_ = true;
        l.blocks = store_.open(index_of(l), l.slice);
        for (int b = 0; b < blocks_; ++b) finish_block(l, -1, b);  // blocks that no step touches
        if (steps_ == 0) l.at = stage_of_step::close;
        else begin_step(l);
    }

    /// Takes a lane as far as its messages and its codec work allow.
    void walk(lane& l)
    {
        typename Clock::scope time(clock_, phase::communicate);
        for (;; moved_ = true) {
            const bool ready = settled(l);
            switch (l.at) {
            case stage_of_step::encode:
                if (!ready || !send(l)) return;
                l.at = stage_of_step::exchange;
                break;
            case stage_of_step::exchange:
                if (!l.received && !link_.test(l.recv)) return;
                if (l.received) l.at = stage_of_step::combine;
                else if (afar() != nullptr && l.recv.result == status::ok)
                    far_work<executor>{*this, l}.fetch();
                else l.received = receive(l);
                break;
            case stage_of_step::fetch:
                if (!ready) return;
                l.received = receive(l);
                l.at = stage_of_step::exchange;
                break;
            case stage_of_step::combine: {
                if (!ready) return;
                messages_.drop(std::exchange(l.inbox, nullptr));
                if (!link_.test(l.send)) return;
                if (l.send.result != status::ok) poison({l.send.result, me_, l.now.send_to, l.step});
                messages_.drop(std::exchange(l.outbox, nullptr));
                const int number = l.step++;
                const step was = l.now;
                if (l.step < steps_ && !left_) begin_step(l);
                else l.at = stage_of_step::close;
                finish(l, number, was);
                break;
            }
            case stage_of_step::close:
                if (!l.begun.empty()) return;
                l.open = false;
                l.slice += lanes_.size();
                ++finished_;
                moved_ = true;
                return;
            }
        }
    }

    /// Posts the receive, and begins to encode what leaves. What is encoded at once is sent at once, before
    /// results are delivered here.
    void begin_step(lane& l)
    {
        const step now = l.now = task_.step_at(me_, p_, l.step);
        l.at = stage_of_step::encode;
        l.received = now.recv_from == nobody;
        if (!l.received) {
            l.inbox = fresh();
            post_receive(l, now);
        }
        here_ = {me_, me_, l.step};
        for (int i = 0; i < now.send.count && trouble_.ok(); ++i) {
            byte_work<executor> transition{*this, l, at(l, now.send, i)};
            before_send(transition.mine.now, transition);
        }
        if (l.begun.due() || !send(l)) return;
        l.at = stage_of_step::exchange;
    }
    void post_receive(lane& l, const step& now)
    {
        l.recv =
            link_.post_recv(now.recv_from, tags_.lane(index_of(l)), l.inbox->room().first(task_.room_bytes));
    }
    /// @return false while far blocks are being packed
    bool send(lane& l)
    {
        const step& now = l.now;
        if (now.send_to != nobody) {
            if (!trouble_.ok())
                messages_.drop(std::exchange(l.outbox, nullptr));  // it may not have been packed
            if (l.outbox == nullptr) l.outbox = outgoing(l, now);
            if (l.begun.due()) return false;
            const buffer_memory& message = *l.outbox;
            l.send = link_.post_send(now.send_to, tags_.lane(index_of(l)),
                                     trouble_.ok() ? message.message() : message.host_message());
        }
        for (int i = 0; i < now.send.count; ++i) after_send(task_.rules, at(l, now.send, i).now);
        return true;
    }

    /// The message of a step, with a reference for the send. A single block is sent from where it is. Several
    /// blocks are packed.
    buffer_memory* outgoing(lane& l, const step& now)
    {
        for (int i = 0; i < now.send.count; ++i) counts_.raw_bytes += at(l, now.send, i).count * sizeof(T);
        buffer_memory* message = nullptr;
        if (!trouble_.ok()) {
            seal_poison(*(message = fresh()), task_.stamp, trouble_);
        } else if (now.send.count == 1 && at(l, now.send, 0).is_whole_message()) {
            message = at(l, now.send, 0).frame;
            ++message->references;
        } else if (afar() != nullptr) {
            far_work<executor>{*this, l}.pack(*(message = fresh()));
        } else {
            message = fresh();
            byte_span room = body_room<call_stamp>(*message);
            for (int i = 0; i < now.send.count; ++i) {
                const const_byte_span frame = at(l, now.send, i).frame_bytes();
                copy(room, frame);
                room = room.subspan(frame.size());
            }
            seal(*message, task_.stamp, body_room<call_stamp>(*message).size() - room.size());
        }
        counts_.sent_bytes += message->used;
        return message;
    }

    /// @return false if the message was left over from an earlier call, so that another one is awaited
    bool receive(lane& l)
    {
        const step& now = l.now;
        here_ = {me_, now.recv_from, l.step};
        l.inbox->used = l.recv.bytes;
        if (l.recv.result == status::truncated) {
            poison(here_.found(status::truncated, static_cast<double>(task_.room_bytes),
                               static_cast<double>(l.recv.bytes)));
        } else if (l.recv.result != status::ok) {
            lost(here_.found(l.recv.result));
        } else {
            const accepted message =
                accept(l.inbox->host_message(), task_.stamp, task_.slices_unasked, here_);
            if (message.what == arrival::left_over && !left_) {
                l.inbox->used = 0;
                post_receive(l, now);
                return false;
            }
            // A sender with another schedule does not keep to this one, so going on could mean waiting for
            // ever.
            if (message.what == arrival::other_way) give_up(trouble_.ok() ? message.why : trouble_);
            else if (message.what == arrival::trouble) poison(message.why);
            else if (message.what == arrival::data) take_frames(l, now, message.body);
        }
        return true;
    }

    void take_frames(lane& l, const step& now, const_byte_span rest)
    {
        for (int i = 0; i < now.recv.count && trouble_.ok(); ++i) {
            block& b = at(l, now.recv, i);
            frame_view view;
            if (const verdict v = open_frame(task_, b, now.action, here_, rest, view); !v.ok())
                return poison(v);
            show_codec(*l.inbox, view);
            byte_work<executor> transition{*this, l, b, &view, l.inbox};
            if (now.action == on_receive::reduce && fuses(l, now.recv.at(i, blocks_))) {
                if (b.now == form::encoded) transition.adopt();
                transition.combine_and_encode();
                b.now = form::encoded;
            } else {
                received(task_.rules, b.now, now.action, transition);
            }
            rest = rest.subspan(view.bytes());
        }
        if (trouble_.ok() && !rest.empty()) poison(here_.found(status::corrupt));
    }

    /// Is a reduced block going to be encoded for a send next? Then its partial result need not be stored.
    bool fuses(const lane& l, int b) const
    {
        return task_.rules.forward_encoded && !task_.rules.reduce_encoded && l.step + 1 < steps_ &&
               task_.step_at(me_, p_, l.step + 1).send.contains(b, blocks_);
    }

    /// Begins to deliver the blocks that no step after `number` touches.
    /// @param was  the step that has just been done
    void finish(lane& l, int number, const step& was)
    {
        for (int i = 0; i < was.send.count; ++i) finish_block(l, number, was.send.at(i, blocks_));
        for (int i = 0; i < was.recv.count; ++i)
            if (!was.send.contains(was.recv.at(i, blocks_), blocks_))
                finish_block(l, number, was.recv.at(i, blocks_));
    }
    void finish_block(lane& l, int number, int b)
    {
        if (store_.last_step(b) == number) deliver(l, number, b);
    }
    void deliver(lane& l, int number, int b)
    {
        block& mine = l.blocks[static_cast<std::size_t>(b)];
        if (mine.out != nullptr && mine.count != mine.out_count) {
            poison(store_.other_count(mine, b, l.slice, me_, p_, number));
        } else if (mine.out != nullptr && trouble_.ok()) {
            here_ = {me_, me_, l.step};
            byte_work<executor> transition{.engine = *this, .on = l, .mine = mine, .last = true};
            if (!task_.op.divides() || task_.rules.reduce_encoded)  // else it is read again
                transition.how = stores_for(task_.data.count * sizeof(T));
            at_end(mine.now, transition);
            if (!transition.not_held) transition.store_result();
            else not_held_.push_back({static_cast<std::size_t>(mine.out - task_.data.recv), mine.count});
        }
        release(l, mine);
    }
    /// Gives the block's memory back, now or when the work that has been begun is done.
    void release(lane& l, block& b)
    {
        if (l.begun.empty()) return store_.release(b);
        l.begun.add({.of = &b, .what = piece::kind::delivers, .last = true, .where = here_});
    }

    /// Once in each long wait.
    void ask()
    {
        asked_ = true;
        talk_.ask(awaited());
    }
    /// This peer will send no more messages. If it has said why, that is the trouble.
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

    /// Waits for codec work, which uses the user's buffers, and withdraws all messages.
    void leave()
    {
        for (lane& l : lanes_) {
            for (; !l.begun.empty(); l.begun.remove_oldest()) {
                l.queue.wait(l.begun.oldest().work);
                messages_.drop(l.begun.oldest().into);
            }
            detail::withdraw(link_, l.recv, messages_, std::exchange(l.inbox, nullptr));
            detail::withdraw(link_, l.send, messages_, std::exchange(l.outbox, nullptr));
        }
    }

    bool done() const { return finished_ == store_.slices() || left_; }
    std::size_t index_of(const lane& l) const { return static_cast<std::size_t>(&l - lanes_.data()); }

    const task<T>& task_;
    Link& link_;
    workspace& messages_;
    control<Link>& talk_;
    const bool agreed_;
    const int me_, p_, blocks_, steps_;
    const call_tags tags_;
    block_store<T> store_;
    std::span<lane> lanes_;
    std::size_t finished_ = 0, since_poll_ = 0;
    bool moved_ = false, left_ = false;
    std::vector<part> not_held_;
    bool asked_ = false;  // since something moved
    waited_seconds waited_{control<Link>::patience_s / 8};
    verdict trouble_;
    message_place here_;  // where the engine stands, for error sentences
    report counts_;
    [[no_unique_address]] Clock clock_;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
