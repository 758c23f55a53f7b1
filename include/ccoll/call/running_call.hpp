// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// call/running_call.hpp - floor 3. One call from its arguments to its report: agree if that is due, run the
// schedule, and report what it cost. It never waits; pending.hpp does. Compiled once per element type and
// transport.
#pragma once

#include <optional>

#include <ccoll/call/call_head.hpp>
#include <ccoll/run/executor.hpp>
#include <ccoll/call/native.hpp>
#include <ccoll/call/overflow.hpp>
#include <ccoll/wait/pending.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Its buffers must remain valid until it has ended.
template <element T, transport Link, class Clock>
class running_call final : public pending_call {
public:
    /// @param may_block  inside a collective of the transport; not allowed if nonblocking calls have been
    ///                   started on the communicator
    running_call(const call_order<T, Link>& order, Link link, bool may_block)
        : d_(order.plan), link_(std::move(link)), head_(order, link_), what_(d_.what), may_block_(may_block)
    {
        if constexpr (requires { link_.note_request(); }) {
            if (!may_block) link_.note_request();
            may_block_ = may_block && !link_.has_requests();
        }
        last_words guard(*this);
        guarded([this] { begin(); });
        guard.needless = true;
    }
    ~running_call() override
    {
        if (stage_ != stage::ended) last_words guard(*this);  // an exception ends it
        engine_.reset();
    }

    bool advance() override
    {
        return guarded([this] { return go_on(); });
    }
    bool moved() const override { return moved_; }
    void idle() override
    {
        if (engine_) engine_->idle();
        else if (stage_ == stage::touching_elements) head_.elements.yield();
        else link_.idle();
    }
    resting_place rest() override
    {
        if (engine_) return engine_->rest();
        return stage_ == stage::touching_elements ? resting_place{} : rest_of(link_);
    }
    void abandon() override { give_up({status::abandoned, head_.me, head_.me}); }
    const outcome& result() const override { return result_; }
    const std::uint8_t* scales_of_blocks() const override { return head_.scales(); }
    bool may_change_thread() const override
    {
        return what_.threads == nullptr && what_.space.queue(0).at_once();
    }
    const char* name() const override
    {
        return head_.order.user.varied ? d_.what.facts.varied_name : d_.what.facts.name;
    }

private:
    enum class stage {
        touching_elements,
        comparing_arguments,
        handed_over,
        executing,
        comparing_sums,
        comparing_verdicts,
        ended
    };
    using continuation = void (running_call::*)();

    bool go_on()
    {
        moved_ = false;
        while (stage_ != stage::ended && turn()) moved_ = true;
        if (stage_ == stage::ended) return true;
        const verdict late =
            head_.after_turn(moved_, [&] { return engine_ ? engine_->awaited() : head_.talk->awaited(); });
        if (!late.ok()) give_up(late);
        return stage_ == stage::ended;
    }
    const char* words(const verdict& v) const { return words_of(d_.what.space, v, head_.me); }
    const char* explain(const verdict& v) const
    {
        return v.code == status::transport_failed ? link_.explain() : words(v);
    }
    template <class Part>
    auto guarded(Part part)
    {
        return with_names(*this, head_.me, last_word_, [this](const verdict& v) { return words(v); }, part);
    }

    // ---- before the first element moves ----

    void begin()
    {
        report& facts = result_.facts;
        take(d_.way);
        facts.codec = d_.codec_name;
        facts.reason = head_.order.reason;
        result_.transport_says = head_.objection();
        facts.direct = d_.what.space.afar != nullptr;
        facts.placement = what_.rules.name;
        overflow_ =
            overflow(what_.rules.reduce_encoded && head_.p > 1 && what_.sums != sums::held, what_.facts);
        if (!head_.open(true)) return end();
        if (head_.scales_blocks()) find_scales();
        else prepare();
    }
    void prepare()
    {
        const int p = head_.p, root = head_.order.root;
        what_.op = head_.operation();

        if (head_.trouble.code == status::not_direct) what_.space.keep_messages_on_host();
        what_.data = head_.fitted.data;
        what_.two_bytes = head_.two_bytes();
        what_.neighbors = head_.order.user.neighbors.get();
        what_.root = root;
        what_.strides = head_.order.user.shape.strides;
        if (head_.fitted.copy_send && head_.trouble.ok()) put_input_aside();
        what_.measure(p);
        if (d_.bound.lossy) {
            promise_.emplace(d_.bound, what_.path, what_.rules, link_.memory(), p, root, divides() ? p : 1);
            use_bound(promise_->of_one(head_.asked_bound()));
            if (overflow_.is_possible() && !relative() && !can_add(0)) reduce_exactly();
        }

        const bool always = head_.checks == check_level::collective;
        const bool counts = head_.order.user.varied;
        // No rank knows all counts of a v variant, but all must cut alike, and one rank's wrong count affects
        // only its partner.
        const bool must_compare = always || relative() || what_.data.varied || overflow_.needs_comparison();
        must_close_ = p > 1 && (always || (head_.checks == check_level::automatic && counts));
        cuts_if_compared_ = must_compare || compares_later();
        if (must_compare || head_.measures()) compare_arguments(&running_call::hand_over);
        else hand_over();
    }

    // ---- scales of blocks: an exact reduction of their own, under the first number of the call ----

    void find_scales()
    {
        const user_buffers<T> scales = head_.find_scales();
        scales_.emplace(d_.what);
        scales_->reduce_exactly();
        scales_->path = d_.way_of_scales;
        scales_->facts = facts_of<collective::allreduce>;
        scales_->facts.name = what_.facts.name;
        scales_->op = d_.what.space.larger_scales;
        scales_->data = detail::fit(scales, scales_->facts, head_.me, head_.p, 0, {}).data;
        scales_->measure(head_.p);
        when_elements_are_done(&running_call::compare_scales);
    }
    void compare_scales()
    {
        const std::size_t chunk = d_.what.codec.chunk_elements;
        use_bound(head_.asked_bound());
        scales_->cut_into_slices(chunk, false, head_.checks == check_level::local, head_.p);
        scales_->stamp = head_.stamp;
        run(*scales_);
    }
    void scales_compared()
    {
        head_.trouble = engine_->trouble();
        result_.facts.sent_bytes += engine_->counts().sent_bytes;
        result_.facts.breakdown += engine_->seconds();
        engine_.reset();
        scales_.reset();
        head_.next_number();
        if (!head_.trouble.ok()) {
            head_.talk->give_up(head_.trouble);  // some may be waiting there
            return end();
        }
        head_.use_scales();
        when_elements_are_done(&running_call::prepare);
    }

    /// @param eb  of one compression
    void use_bound(double eb)
    {
        what_.eb = eb;
        head_.stamp.arguments.bound = eb;
    }

    bool relative() const { return d_.bound.kind == bound_kind::relative; }
    bool divides() const { return what_.op.divides(); }

    void take(const algorithm_way& way)
    {
        result_.facts.ran_by = ran_by::engine;
        result_.facts.algorithm = way.name;
        what_.path = way.path;
        const std::uint32_t layout = head_.order.user.layout;
        head_.stamp.arguments.path = layout == 0 ? way.hash : mixed(way.hash, std::uint64_t{layout});
    }

    /// From now on input is read from a copy, because the call overwrites the input before it has been sent.
    void put_input_aside() { what_.data.send = head_.put_input_aside(what_.data.send); }

    // ---- the agreement ----

    /// @param then  what follows if all ranks have the same arguments
    void compare_arguments(continuation then)
    {
        after_agreement_ = then;
        value_survey wanted;
        wanted.range = relative();
        wanted.magnitude = overflow_.needs_magnitude();
        look_at_input(wanted, &running_call::tell_arguments);
    }
    bool can_add(double largest) const { return what_.can_add(largest, head_.p); }
    void look_at_input(value_survey wanted, continuation then)
    {
        wanted.counts_non_finite = !what_.addends.adds_non_finite;
        wanted.missing = what_.missing;
        head_.look_at_input(wanted);
        when_elements_are_done(then);
    }
    void tell_arguments()
    {
        const value_survey found = head_.found();
        shared_facts mine;
        if (found.range) {
            mine.lowest = found.lowest;
            mine.highest = found.highest;
        }
        mine.largest = found.largest;
        if (what_.data.varied) mine.longest_part = what_.longest;
        head_.compare(mine, false);
        stage_ = stage::comparing_arguments;
    }
    void arguments_compared()
    {
        const control_message& all = head_.compared();
        result_.facts.agreed = head_.p > 1;
        if (!head_.trouble.ok() && head_.p > 1) return end();
        if (relative())
            use_bound(detail::bound_from_range<T>(d_.bound.of_magnitude,
                                                  promise_->of_one(head_.asked_bound()), all.facts.lowest,
                                                  all.facts.highest));
        if (what_.data.varied) what_.longest = static_cast<std::size_t>(all.facts.longest_part);
        if (overflow_.is_possible()) {
            if (can_add(0)) add_as_compared(all.facts.largest);
            else reduce_exactly();
        }
        (this->*after_agreement_)();
    }
    /// @param largest  magnitude of all ranks, if overflow_ needed it
    void add_as_compared(double largest)
    {
        what_.sums = overflow_.compared(can_add(largest));
        const bool overwrites = head_.order.user.in_place || what_.data.send == what_.data.recv;
        // If sums are not held, ranks need their input once more.
        if (overflow_.shown_by_run() == overflow::notice::by_asking && overwrites) put_input_aside();
    }
    /// Values that do not fit the codec's integers are reduced exactly, on all ranks or on none.
    /// @param all  of the vector; otherwise the report remains that of the other parts
    void reduce_exactly(bool all = true)
    {
        what_.reduce_exactly();
        if (!rest_.began()) head_.share_input(what_.data.send);
        what_.op = head_.operation();
        use_bound(0);
        promise_.reset();
        if (!all) return;
        overflow_.is_excluded();
        result_.facts.codec = policies::Codec::None::name;
        result_.facts.placement = what_.rules.name;
    }

    // ---- the transport's own collective ----

    /// Ranks must enter it in the same order as the collectives before and after it. A call that was begun,
    /// and has compared its arguments, comes here at another time on each rank.
    bool comes_in_order() const { return may_block_ || !result_.facts.agreed; }
    /// If the plan leaves everything to it.
    void hand_over()
    {
        const bool may_hand_over = head_.order.user.narrow == nullptr && comes_in_order();
        const auto native = may_hand_over ? head_.order.native : nullptr;
        // Inside MPI's own call no rank can be told of another rank's bad argument; docs/limitations.md says
        // so.
        if (native != nullptr && !head_.trouble.ok()) return end();
        if (native != nullptr) {
            if (!may_block_ && what_.facts.reduces && what_.facts.rooted && head_.me == what_.root &&
                what_.data.send == what_.data.recv)
                put_input_aside();
            if (native(link_, what_.data, what_.root, result_place(),
                       may_block_ ? nullptr : &native_request_)) {
                detail::report_native(result_.facts, what_.facts);
                if (!may_block_) stage_ = stage::handed_over;
                else if constexpr (requires { link_.native_result(); }) came_back(link_.native_result());
                return;
            }
        }
        if (compares_later() && !result_.facts.agreed) compare_arguments(&running_call::execute);
        else execute();
    }
    bool compares_later() const
    {
        return head_.checks == check_level::automatic && what_.compares_itself(head_.p);
    }
    T* result_place() const
    {
        return head_.fitted.move_to != nullptr ? head_.fitted.move_to : what_.data.recv;
    }
    void came_back(status s)
    {
        if (s == status::truncated) result_.transport_says = detail::counts_probably_differ;
        if (s != status::ok) head_.trouble = {s, head_.me, s == status::truncated ? nobody : head_.me};
        if (divides() && head_.fitted.recv_elements > 0)
            head_.elements.divide(what_.op, result_place(), head_.p, head_.fitted.recv_elements);
        head_.fitted.move_to = nullptr;
        when_elements_are_done(&running_call::compare_verdicts);
    }

    // ---- the schedule ----

    void execute()
    {
        cut_into_slices();
        if (!overflow_.is_possible() || result_.facts.agreed)
            return when_elements_are_done(&running_call::run_schedule);
        what_.sums = overflow_.not_compared();
        value_survey wanted;
        wanted.magnitude = overflow_.needs_magnitude();
        look_at_input(wanted, &running_call::refuse_or_run);
    }
    /// A call that compares arguments only to measure sends the same messages as the calls that it measures
    /// for.
    void cut_into_slices()
    {
        what_.cut_into_slices(d_.what.codec.chunk_elements, result_.facts.agreed && cuts_if_compared_,
                              head_.checks == check_level::local, head_.p);
    }
    void refuse_or_run()
    {
        if (head_.trouble.ok() && !can_add(head_.elements.found().largest)) what_.sums = sums::refused;
        run_schedule();
    }
    void run_schedule()
    {
        what_.stamp = head_.stamp;
        run(what_);
    }
    void run(const task<T>& what)
    {
        engine_.emplace(what, link_, *head_.talk, result_.facts.agreed);
        // A rank with wrong arguments cannot know how many messages the others expect, unless all ranks send
        // one message per block.
        if (what.slices_unasked && !head_.trouble.ok()) engine_->give_up(head_.trouble);
        else engine_->poison(head_.trouble);
        stage_ = stage::executing;
    }
    void executed()
    {
        if (scales_) return scales_compared();
        head_.trouble = engine_->trouble();
        take_counts(engine_->counts());
        result_.facts.breakdown += engine_->seconds();
        const std::vector<part> not_held = engine_->not_held();
        engine_.reset();
        if (rest_.began() && head_.trouble.ok()) head_.deliver_part(what_.data.recv, what_.data.count);
        const overflow::notice shown = overflow_.after_run();
        if (shown == overflow::notice::by_asking) return tell_sums(!not_held.empty());
        const bool shows = shown != overflow::notice::none;
        if (shows) head_.next_number();  // one for all parts, because a call has few
        if ((shows || rest_.more()) && !head_.trouble.ok())
            head_.talk->give_up(head_.trouble);  // some may be waiting there
        else if (shows && !not_held.empty())
            return shown == overflow::notice::in_results ? run_again(not_held) : start_over();
        else if (rest_.next(what_.data)) return run_part();
        compare_verdicts();
    }
    void take_counts(const report& counts)
    {
        report& facts = result_.facts;
        facts.sent_bytes += counts.sent_bytes;
        if (rest_.began()) return;  // the other counts are those of the whole vector
        facts.raw_bytes = head_.bytes_of_user(counts.raw_bytes);
        facts.fallback_blocks = counts.fallback_blocks;
        facts.special_values = counts.special_values;
    }
    /// A rank may have had values that it could not add, and has refused all of its sums. So every rank knows
    /// that of every result, and nothing has been stored. Ranks now compare their values, as they do in long
    /// vectors.
    void start_over()
    {
        what_.sums = sums::unknown;
        after_agreement_ = &running_call::execute;
        tell_arguments();
    }
    /// @param not_held  has this rank found sums that could not be held?
    void tell_sums(bool not_held)
    {
        shared_facts mine;
        mine.not_held = not_held ? 1 : 0;
        head_.next_number();
        head_.compare(mine, false);
        stage_ = stage::comparing_sums;
    }
    void sums_compared()
    {
        head_.trouble = head_.talk->merged().trouble;
        if (!head_.trouble.ok()) return end();
        if (head_.talk->merged().facts.not_held == 0) return compare_verdicts();
        reduce_exactly();
        cut_into_slices();
        run_schedule();
    }
    /// Exactly, the parts whose sums could not be held, one after another. All ranks have found the same
    /// ones.
    void run_again(const std::vector<part>& not_held)
    {
        rest_ = {not_held, what_.data};
        const std::size_t chunk = d_.what.codec.chunk_elements;
        const bool all = rest_.elements() == what_.data.count;
        if (!all) {
            promise_->write(result_.facts, in_units_of_user(what_.eb));  // of the other parts
            result_.facts.fallback_blocks += rest_.elements() / chunk + (rest_.elements() % chunk != 0);
        }
        rest_.next(what_.data);
        reduce_exactly(all);
        run_part();
    }
    void run_part()
    {
        head_.share(what_.data.send, what_.data.count);
        what_.op = head_.operation();
        head_.stamp.arguments.count = what_.data.count;
        what_.longest = what_.longest_block(head_.p);
        cut_into_slices();
        run_schedule();
    }

    // ---- the end ----

    void compare_verdicts()
    {
        if (!must_close_) return end();
        head_.compare({}, true);
        stage_ = stage::comparing_verdicts;
    }
    void end()
    {
        if (head_.trouble.ok() && head_.fitted.move_to != nullptr) {
            head_.elements.copy(what_.data.recv, std::exchange(head_.fitted.move_to, nullptr),
                                what_.data.own);
            return when_elements_are_done(&running_call::end);
        }
        if (head_.trouble.ok() && head_.deliver_copies(promise_ ? promise_->worst(what_.eb) : 0))
            return when_elements_are_done(&running_call::end);
        stage_ = stage::ended;
        head_.ended();
        result_.trouble = head_.in_units_of_user(head_.trouble);
        if (*result_.transport_says == 0) result_.transport_says = explain(head_.trouble);
        if (promise_ && head_.p > 1) promise_->write(result_.facts, in_units_of_user(what_.eb));
    }
    double in_units_of_user(double eb) const { return eb * head_.parts() * head_.largest_scale(); }

    // ---- turns ----

    /// Goes on with `then`, at once if no work is under way.
    void when_elements_are_done(continuation then)
    {
        after_elements_ = then;
        stage_ = stage::touching_elements;
        if (head_.elements.done()) elements_are_done();
    }
    void elements_are_done()
    {
        head_.note_trouble_of_elements();
        (this->*after_elements_)();
    }

    /// @return true when something moved
    bool turn()
    {
        switch (stage_) {
        case stage::executing:
            if (engine_->progress()) {
                executed();
                return true;
            }
            return engine_->moved();
        case stage::touching_elements:
            if (!head_.elements.done()) return false;
            elements_are_done();
            return true;
        case stage::handed_over:
            link_.poll();
            if (!link_.test(native_request_)) return false;
            came_back(native_request_.result);
            return true;
        case stage::comparing_arguments:
        case stage::comparing_sums:
        case stage::comparing_verdicts:
            if (head_.p > 1 && !head_.talk->progress()) return head_.talk->moved();
            if (stage_ == stage::comparing_arguments) {
                arguments_compared();
                return true;
            }
            if (stage_ == stage::comparing_sums) {
                sums_compared();
                return true;
            }
            head_.trouble = head_.talk->merged().trouble;
            end();
            return true;
        case stage::ended: break;
        }
        return false;
    }

    void give_up(const verdict& v) override
    {
        if (stage_ == stage::ended) return;
        // No rank listens inside MPI's own call, so it must be completed. Ranks that have compared their
        // arguments may be in it already.
        if (v.code == status::abandoned && may_block_ && head_.order.native != nullptr)
            while (stage_ == stage::comparing_arguments)
                if (!turn()) link_.idle();
        if (stage_ == stage::ended) return;
        if (stage_ == stage::handed_over) {
            while (!link_.test(native_request_)) link_.idle();
            came_back(native_request_.result);
            if (stage_ == stage::ended) return;  // else others wait for this rank's verdict
        }
        if (engine_) engine_->give_up(v);
        else head_.talk->give_up(v);
        engine_.reset();
        if (scales_ || overflow_.shown_by_run() != overflow::notice::none) {
            // Others may already be where this rank would have gone on.
            head_.next_number();
            head_.talk->give_up(v);
        }
        head_.elements.wait();  // it may use the user's buffers
        head_.trouble = v;
        end();
    }

    /// Tells the others when an exception ends the call here, for example because there is no memory.
    /// Otherwise they would wait.
    struct last_words {
        explicit last_words(running_call& call) : of(call) {}
        ~last_words()
        {
            if (!needless) of.head_.say_last_words(of.last_word_);
        }
        running_call& of;
        bool needless = false;
    };

    const decision<T>& d_;
    Link link_;
    call_head<T, Link> head_;
    task<T> what_;
    std::optional<task<T>> scales_;  // while ranks agree on those of blocks
    bool may_block_;
    typename Link::request native_request_{};
    outcome result_;
    status last_word_ = status::out_of_memory;  // where an exception ends the call
    std::optional<executor<T, Link, Clock>> engine_;
    std::optional<detail::promise> promise_;  // of the result, unless that is exact
    overflow overflow_;
    parts_not_held<T> rest_;
    stage stage_ = stage::ended;
    continuation after_elements_ = nullptr;
    continuation after_agreement_ = nullptr;
    bool cuts_if_compared_ = false;  // if arguments are compared, long blocks are cut into slices
    bool must_close_ = false;        // verdicts are compared at the end
    bool moved_ = false;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
