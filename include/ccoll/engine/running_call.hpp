// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/running_call.hpp - floor 3. One call from its arguments to its report: agree where that is due, run the schedule,
// say what it cost. It never waits: whoever wants to, does so in pending.hpp. Compiled once per element type and transport.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include <ccoll/base/exact.hpp>
#include <ccoll/engine/buffers.hpp>
#include <ccoll/engine/error_model.hpp>
#include <ccoll/engine/executor.hpp>
#include <ccoll/engine/pending.hpp>
#include <ccoll/policy/error_bound.hpp>

namespace ccoll::inline CCOLL_ABI {

enum class check_level { local, automatic, collective };

/// The transport's own collective, where it has one: false when nothing was done, for a count is too large for it.
template <element T, transport Link>
using native_call = bool (*)(Link&, const task<T>&, T* recv, typename Link::request* begun);

/// An algorithm for one collective.
struct algorithm_way {
    const char* name = "";
    schedule path;
    std::uint32_t hash = 0;  ///< of collective and algorithm, for the stamp
};

/// A plan as values. `what` lacks only what a call adds: way, buffers, root, bound and sizes.
template <element T>
struct decision {
    algorithm_way way;
    const char* codec_name = "";
    task<T> what;
    double (*units)(const schedule&, placement_rules, error_growth, int p, int root) = nullptr;
    error_growth growth = error_growth::adds;
    bool lossy = false;
    bound_kind bound = bound_kind::none;
    bool end_to_end = false, bound_at_run_time = false;
    double bound_value = 0;
    check_level checks = check_level::automatic;
    double timeout_s = 0;         ///< 0: for ever
    double (*now_s)() = nullptr;  ///< a clock, where there is a time-out
};

namespace detail {

/// What values of T are looked at as.
template <floating_element T>
using looked_at = std::conditional_t<native_float<T>, T, float>;

/// Smallest and largest finite value; lowest > highest when there is none.
template <floating_element T>
void widen_range(const T* values, std::size_t n, double& lowest, double& highest)
{
    using real = looked_at<T>;
    real low = std::numeric_limits<real>::max(), high = std::numeric_limits<real>::lowest();
    for (std::size_t i = 0; i < n; ++i) {
        const auto x = static_cast<real>(values[i]);
        const bool finite = std::fabs(x) <= std::numeric_limits<real>::max();
        low = finite && x < low ? x : low;
        high = finite && x > high ? x : high;
    }
    if (n > 0) lowest = std::min(lowest, static_cast<double>(low)), highest = std::max(highest, static_cast<double>(high));
}

CCOLL_EXACT_BEGIN  // for its optimisation

/// Largest |x|. Inf and NaN do not count, or are larger than all.
template <floating_element T>
double largest_magnitude(const T* values, std::size_t n, bool counts_non_finite)
{
    using fields = fields_of<looked_at<T>>;
    constexpr auto infinite = static_cast<typename fields::signed_word>(fields::exponent);
    typename fields::signed_word largest = 0, finite = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto w = fields::signed_magnitude(static_cast<looked_at<T>>(values[i])), counted = w < infinite ? w : 0;
        largest = w > largest ? w : largest;
        finite = counted > finite ? counted : finite;
    }
    if (largest >= infinite && counts_non_finite) return std::numeric_limits<double>::infinity();
    return static_cast<double>(std::bit_cast<looked_at<T>>(static_cast<typename fields::word>(finite)));
}

CCOLL_EXACT_END

/// What worst_case_units depends on beside the schedule.
constexpr int variant_of(placement_rules rules, error_growth growth, int root)
{
    return ((root * 2 + int{rules.forward_encoded}) * 2 + int{rules.reduce_encoded}) * 3 + static_cast<int>(growth);
}

/// How often the bound of a decided call adds up on p ranks, before any division: computed once.
template <element T>
double units_of(const decision<T>& d, workspace& memory, int p, int root)
{
    return memory.remember(reinterpret_cast<const void*>(d.way.path.step_at), variant_of(d.what.rules, d.growth, root), p,
                           [&] { return d.units(d.way.path, d.what.rules, d.growth, p, root); });
}

/// What a report says of a lossy call. @param units  after division    @param divisor  by which a sum was divided, else 1
inline void promise(report& facts, double eb, double units, double divisor, error_growth growth, placement_rules rules)
{
    facts.error_bound = eb;
    facts.worst_case_error = eb * units;
    facts.probable_error = eb * probable_units(units * divisor, growth) / divisor;
    facts.exact = false;
    facts.same_bits = rules.forward_encoded;
}

/// A bound of which `parts` do not exceed `whole`, rounding of the product included.
inline double share_of(double whole, double parts)
{
    double share = whole / parts;
    while (share * parts > whole) share = std::nextafter(share, 0.0);
    return share;
}

/// The absolute bound that a relative one stands for. Data without a range are constant: any bound is kept exactly.
template <floating_element T>
double bound_from_range(double fraction, double lowest, double highest)
{
    const double eb = fraction * (highest - lowest);
    constexpr double least = std::numeric_limits<looked_at<T>>::min();
    if (!(lowest < highest) || !(eb >= least)) return least;
    return std::min(eb, 1e299);
}

}  // namespace detail

/// The decisions of Algo::Hierarchical for what happens within a node.
template <element T>
struct inner_decisions {
    const decision<T>* reduce = nullptr;
    const decision<T>* bcast = nullptr;
};

/// All that a facade hands over to begin a call.
template <element T, transport Link>
struct call_order {
    const decision<T>& plan;
    user_buffers<T> user;
    int root;
    double eb;                     ///< the bound, where the plan says RuntimeBound
    native_call<T, Link> native;   ///< null, or what the plan may hand over to
    inner_decisions<T> inner{};    ///< of Algo::Hierarchical
};

/// One call from its arguments to its report. Its buffers must stay until it has ended.
template <element T, transport Link, class Clock>
class running_call final : public pending_call {
public:
    /// @param may_block  inside a collective of the transport's own; not where nonblocking calls have been started on the communicator
    running_call(const call_order<T, Link>& order, Link link, bool may_block)
        : d_(order.plan), link_(std::move(link)), native_(order.native), me_(link_.rank()), p_(link_.size()), what_(d_.what),
          run_time_bound_(order.eb), may_block_(may_block)
    {
        if constexpr (requires { link_.note_request(); }) {
            if (!may_block) link_.note_request();
            may_block_ = may_block && !link_.has_requests();
        }
        begin(order.user, order.root);
    }
    ~running_call() override
    {
        engine_.reset();
        link_.memory().drop(tables_);
        link_.memory().drop(copied_);
    }

    bool progress() override
    {
        moved_ = false;
        while (stage_ != stage::ended && turn()) moved_ = true;
        if (stage_ != stage::ended && d_.timeout_s > 0) watch();
        return stage_ == stage::ended;
    }
    bool moved() const override { return moved_; }
    void idle() override
    {
        if (engine_) engine_->idle();
        else link_.idle();
    }
    void abandon() override { give_up({status::abandoned, me_, me_}); }
    const outcome& result() const override { return result_; }
    const char* name() const override { return d_.what.facts.name; }

private:
    enum class stage { comparing_first, comparing, handed_over, executing, comparing_verdicts, ended };

    void begin(const user_buffers<T>& user, int root)
    {
        report& facts = result_.facts;
        take(d_.way);
        facts.codec = d_.codec_name;
        facts.placement = what_.rules.name;
        call_numbers numbers(link_);
        what_.stamp.call = numbers.next();
        second_call_ = numbers.next();  // for what cannot be added
        adds_ = what_.rules.reduce_encoded && p_ > 1;
        talk_.emplace(link_, what_.stamp);

        // A root that does not exist leaves no schedule to keep to: tell everybody, and go.
        if (root < 0 || root >= p_) {
            trouble_ = {status::bad_argument, me_, me_, -1, static_cast<double>(p_ - 1), static_cast<double>(root)};
            talk_->give_up(trouble_);
            return end();
        }
        std::span<part> tables;
        if (user.varied) {
            const std::size_t entries = 2 * static_cast<std::size_t>(p_);
            tables_ = link_.memory().take(entries * sizeof(part));
            std::uninitialized_value_construct_n(reinterpret_cast<part*>(tables_->bytes.get()), entries);
            tables = {reinterpret_cast<part*>(tables_->bytes.get()), entries};
        }
        fitted_ = fit(user, what_.facts, me_, p_, root, tables);
        trouble_ = fitted_.trouble;
        what_.data = fitted_.data;
        what_.root = what_.stamp.arguments.root = root;
        what_.stamp.arguments.count = fitted_.data.count;
        if (fitted_.copy_send && trouble_.ok()) keep_input();
        const int blocks = what_.path.blocks(p_);
        what_.longest = what_.data.varied ? longest_part() : equal_part(what_.data.count, blocks, 0).count;
        what_.room_bytes = p_ > 1 ? room_for(what_, what_.path.widest(p_)) : 0;
        decide_bound(root);

        // No rank knows all counts of a v variant, but all must cut alike; and one rank's wrong count concerns only its partner. That a
        // sum could not be added encoded is seen where the result is: with a root nobody else would hear of it.
        const bool must_compare = d_.bound == bound_kind::relative || d_.checks == check_level::collective || what_.data.varied || (adds_ && what_.facts.rooted);
        must_close_ = p_ > 1 && (d_.checks == check_level::collective || (d_.checks == check_level::automatic && what_.data.varied));
        if (must_compare) compare_arguments(stage::comparing_first);
        else hand_over();
    }

    void take(const algorithm_way& way)
    {
        result_.facts.algorithm = way.name;
        what_.path = way.path;
        what_.stamp.arguments.path = way.hash;
    }

    /// What is sent is read from a copy from now on: the call overwrites it before it has left.
    void keep_input()
    {
        copied_ = link_.memory().take(std::max<std::size_t>(1, fitted_.send_elements * sizeof(T)));
        copy(copied_->room(), std::as_bytes(std::span<const T>(what_.data.send, fitted_.send_elements)));
        what_.data.send = reinterpret_cast<const T*>(copied_->bytes.get());
    }

    /// The bound, as far as it follows from plan and p; a relative one waits for the range of the data.
    void decide_bound(int root)
    {
        if (!d_.lossy) return;
        units_ = detail::units_of(d_, link_.memory(), p_, root);
        if (what_.op.divide != nullptr) units_ /= p_;
        if (d_.end_to_end && units_ > 0) divisor_ = units_;
        const double bound = d_.bound_at_run_time ? run_time_bound_ : d_.bound_value;
        if (!is_bound(bound) && trouble_.ok()) trouble_ = {status::bad_bound, me_, me_};
        what_.eb = what_.stamp.arguments.bound = is_bound(bound) ? detail::share_of(bound, divisor_) : 1;
        lossy_ = true;
    }

    /// As far as this rank knows.
    std::size_t longest_part() const
    {
        std::size_t longest = what_.data.own;
        for (const part& each : what_.data.send_parts) longest = std::max(longest, each.count);
        for (const part& each : what_.data.recv_parts) longest = std::max(longest, each.count);
        return longest;
    }

    /// What this rank puts in, piece by piece.
    template <class Look>
    void look_at_input(Look look) const
    {
        if (what_.data.send_parts.empty()) look(what_.data.send, fitted_.send_elements);
        for (const part& each : what_.data.send_parts) look(what_.data.send + each.offset, each.count);
    }
    double largest_input() const
    {
        double largest = 0;
        if constexpr (floating_element<T>)
            look_at_input([&](const T* x, std::size_t n) { largest = std::max(largest, detail::largest_magnitude(x, n, !what_.addends.adds_non_finite)); });
        return largest;
    }

    bool can_add_input() const { return what_.addends.can_add(largest_input(), what_.eb, static_cast<std::size_t>(p_)); }

    void compare_arguments(stage when)
    {
        control_message mine;
        mine.trouble = trouble_;
        mine.lowest = std::numeric_limits<double>::infinity();
        mine.highest = -mine.lowest;
        const bool relative = d_.bound == bound_kind::relative;
        if constexpr (floating_element<T>)
            if (relative && trouble_.ok())
                look_at_input([&](const T* x, std::size_t n) { detail::widen_range(x, n, mine.lowest, mine.highest); });
        if (adds_ && trouble_.ok()) {
            const bool range_tells = relative && what_.addends.adds_non_finite;  // the same finite values: one pass over them is enough
            // A result that is too large is seen by all ranks, and the input is still there for a second, exact call: nobody has to look
            // at it first. Unless it is overwritten here or elsewhere; the range, which is not needed otherwise, tells that to all.
            looks_later_ = !relative && what_.facts.one_vector() && !what_.facts.rooted && what_.data.send != what_.data.recv &&
                           static_cast<std::size_t>(p_) <= what_.addends.self_checked_addends;
            if (looks_later_) mine.highest = 1;
            else if (!range_tells) mine.largest = largest_input();
            else if (mine.lowest <= mine.highest) mine.largest = std::max(std::fabs(mine.lowest), std::fabs(mine.highest));
            if (!looks_later_ && !relative) mine.lowest = -1;
        } else if (what_.data.varied) {
            mine.largest = static_cast<double>(what_.longest);
        }
        talk_->begin(mine);
        stage_ = when;
    }
    /// @return false when the call ended here, the same on every rank
    bool arguments_compared()
    {
        const control_message& all = talk_->merged();
        result_.facts.agreed = p_ > 1;
        trouble_ = all.trouble;
        if (!trouble_.ok() && p_ > 1) return end(), false;
        if constexpr (floating_element<T>)
            if (d_.bound == bound_kind::relative)
                what_.eb = what_.stamp.arguments.bound = detail::bound_from_range<T>(detail::share_of(d_.bound_value, divisor_), all.lowest, all.highest);
        if (adds_ && !what_.addends.can_add(all.largest, what_.eb, static_cast<std::size_t>(p_))) {
            reduce_exactly();
        } else if (adds_ && d_.bound != bound_kind::relative) {
            unasked_ = what_.unlooked = all.highest == 1;
            what_.refuses = unasked_ && looks_later_ && all.lowest == -1 && !can_add_input();
        }
        if (what_.data.varied && !what_.facts.reduces && all.largest < 0x1p53) what_.longest = static_cast<std::size_t>(all.largest);
        return true;
    }
    /// What quanta cannot hold is reduced exactly, on all ranks or on none.
    void reduce_exactly()
    {
        what_.reduce_exactly();
        what_.eb = what_.stamp.arguments.bound = 0;
        lossy_ = false;
        result_.facts.codec = policies::Codec::None::name;
        result_.facts.placement = what_.rules.name;
    }

    /// To the transport's own collective, if the plan leaves it everything.
    void hand_over()
    {
        // Inside MPI's own call nobody can be told of one rank's bad argument; docs/limitations.md says so.
        if (native_ != nullptr && !trouble_.ok()) return end();
        if (native_ != nullptr) {
            if (!may_block_ && what_.facts.reduces && what_.facts.rooted && me_ == what_.root && what_.data.send == what_.data.recv) keep_input();
            if (native_(link_, what_, fitted_.move_to != nullptr ? fitted_.move_to : what_.data.recv, may_block_ ? nullptr : &native_request_)) {
                result_.facts.algorithm = "MPI";
                result_.facts.placement = "none";
                result_.facts.same_bits = !what_.facts.reduces || !what_.facts.one_vector() || what_.facts.rooted;  // of allreduce MPI recommends it, no more
                if (!may_block_) stage_ = stage::handed_over;
                else if constexpr (requires { link_.native_result(); }) came_back(link_.native_result());
                return;
            }
        }
        // Small vectors of one-way collectives, too: ranks that each believe to be the root, or send what nobody expects, would not
        // hear of it from any message of the schedule.
        const bool large = what_.data.count * sizeof(T) >= agreement_bytes;
        if (d_.checks == check_level::automatic && (large || what_.facts.rooted) && p_ > 1 && !result_.facts.agreed) compare_arguments(stage::comparing);
        else execute();
    }

    void came_back(status s)
    {
        if (s != status::ok) trouble_ = {s, me_, me_};
        if (what_.op.divide != nullptr && fitted_.recv_elements > 0)
            what_.op.divide(fitted_.move_to != nullptr ? fitted_.move_to : what_.data.recv, p_, fitted_.recv_elements);
        fitted_.move_to = nullptr;
        compare_verdicts();
    }

    void execute()
    {
        // Below the threshold one slice per block, however long: then message counts do not depend on the count.
        const bool sliced = result_.facts.agreed || d_.checks == check_level::local;
        what_.slice_elements = sliced ? slice_for(what_.longest, d_.what.codec.chunk_elements, what_.path.widest(p_)) : std::max<std::size_t>(1, what_.longest);
        // Nobody has asked the others: a rank that cannot add says so in all of its frames, hence every rank reads it in its result.
        if (adds_ && !result_.facts.agreed) {
            unasked_ = true;
            what_.refuses = trouble_.ok() && !can_add_input();
        }
        run_schedule();
    }
    void run_schedule()
    {
        engine_.emplace(what_, link_, *talk_, result_.facts.agreed);
        engine_->poison(trouble_);
        stage_ = stage::executing;
    }
    void executed()
    {
        report& facts = result_.facts;
        trouble_ = engine_->trouble();
        facts.raw_bytes = engine_->counts().raw_bytes;
        facts.sent_bytes += engine_->counts().sent_bytes;
        facts.fallback_blocks = engine_->counts().fallback_blocks;
        facts.breakdown += engine_->seconds();
        const bool too_large = engine_->too_large();
        engine_.reset();
        if (unasked_) {
            unasked_ = false;
            what_.stamp.call = second_call_;
            talk_.emplace(link_, what_.stamp);
            if (!trouble_.ok()) {
                talk_->give_up(trouble_);  // some may be waiting there
            } else if (too_large) {
                reduce_exactly();
                return run_schedule();
            }
        }
        compare_verdicts();
    }

    void compare_verdicts()
    {
        if (!must_close_) return end();
        control_message mine;
        mine.trouble = trouble_;
        mine.closing = 1;
        talk_->begin(mine);
        stage_ = stage::comparing_verdicts;
    }

    void end()
    {
        stage_ = stage::ended;
        report& facts = result_.facts;
        result_.trouble = trouble_;
        if (trouble_.code == status::transport_failed) result_.transport_says = link_.explain();
        if (trouble_.ok() && fitted_.move_to != nullptr) std::copy_n(what_.data.recv, what_.data.own, fitted_.move_to);
        if (!lossy_ || p_ == 1) return;
        detail::promise(facts, what_.eb, units_, what_.op.divide != nullptr ? p_ : 1, d_.growth, what_.rules);
    }

    /// @return true when something moved
    bool turn()
    {
        switch (stage_) {
        case stage::executing:
            if (engine_->progress()) return executed(), true;
            return engine_->moved();
        case stage::handed_over:
            link_.poll();
            if (!link_.test(native_request_)) return false;
            came_back(native_request_.result);
            return true;
        case stage::comparing_first:
        case stage::comparing:
        case stage::comparing_verdicts:
            if (p_ > 1 && !talk_->progress()) return talk_->moved();
            if (stage_ == stage::comparing_verdicts) {
                trouble_ = talk_->merged().trouble;
                end();
            } else if (const bool first = stage_ == stage::comparing_first; arguments_compared()) {
                if (first) hand_over();
                else execute();
            }
            return true;
        case stage::ended: break;
        }
        return false;
    }

    void watch()
    {
        const double waited = patience_.waited(moved_, d_.now_s());
        if (waited > d_.timeout_s) give_up({status::timed_out, me_, engine_ ? engine_->awaited() : talk_->awaited(), -1, d_.timeout_s, waited});
    }
    void give_up(const verdict& v)
    {
        if (stage_ == stage::ended) return;
        if (stage_ == stage::handed_over) {  // nobody listens inside MPI's own call: see it through
            while (!link_.test(native_request_)) link_.idle();
            return came_back(native_request_.result);
        }
        if (engine_) engine_->give_up(v);
        else talk_->give_up(v);
        engine_.reset();
        trouble_ = v;
        end();
    }

    const decision<T>& d_;
    Link link_;
    native_call<T, Link> native_;
    const int me_, p_;
    task<T> what_;
    const double run_time_bound_;
    bool may_block_;
    typename Link::request native_request_{};
    outcome result_;
    fitted_buffers<T> fitted_;
    verdict trouble_;
    buffer_memory *tables_ = nullptr, *copied_ = nullptr;
    std::optional<control<Link>> talk_;
    std::optional<executor<T, Link, Clock>> engine_;
    stage stage_ = stage::ended;
    std::uint32_t second_call_ = 0;
    double units_ = 0, divisor_ = 1;
    bool adds_ = false, lossy_ = false;
    bool unasked_ = false, looks_later_ = false;  // may values be too large to be added, here or elsewhere?
    bool must_close_ = false, moved_ = false;
    stop_watch patience_;
};

}  // namespace ccoll
