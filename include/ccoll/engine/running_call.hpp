// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/running_call.hpp - floor 3. One call from its arguments to its report: agree where that is due, run the schedule,
// say what it cost. Compiled once per collective, element type and transport.
#pragma once

#include <cmath>
#include <limits>

#include <ccoll/base/exact.hpp>
#include <ccoll/engine/buffers.hpp>
#include <ccoll/engine/error_model.hpp>
#include <ccoll/engine/executor.hpp>
#include <ccoll/engine/native.hpp>
#include <ccoll/policy/error_bound.hpp>

namespace ccoll {

enum class check_level { local, automatic, collective };

/// A plan as values. `what` lacks only what a call adds: buffers, root, bound and sizes.
template <element T>
struct decision {
    const char* call = "";
    const char* algorithm = "";
    const char* codec_name = "";
    task<T> what;
    double (*units)(const schedule&, placement_rules, error_growth, int p, int root) = nullptr;
    error_growth growth = error_growth::adds;
    bool lossy = false;
    bound_kind bound = bound_kind::none;
    bool end_to_end = false, bound_at_run_time = false;
    double bound_value = 0;
    check_level checks = check_level::automatic;
};

struct outcome {
    report facts;
    verdict trouble;
    const char* transport_says = "";
};

namespace detail {

/// Smallest and largest finite value; lowest > highest when there is none.
template <element T>
void widen_range(const T* values, std::size_t n, double& lowest, double& highest)
{
    T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
    for (std::size_t i = 0; i < n; ++i) {
        const T x = values[i];
        const bool finite = std::fabs(x) <= std::numeric_limits<T>::max();
        low = finite && x < low ? x : low;
        high = finite && x > high ? x : high;
    }
    if (n > 0) lowest = std::min(lowest, static_cast<double>(low)), highest = std::max(highest, static_cast<double>(high));
}

CCOLL_EXACT_BEGIN  // for its optimisation

/// Largest |x|. Inf and NaN do not count, or are larger than all.
template <element T>
double largest_magnitude(const T* values, std::size_t n, bool counts_non_finite)
{
    using fields = fields_of<T>;
    constexpr auto infinite = static_cast<typename fields::signed_word>(fields::exponent);
    typename fields::signed_word largest = 0, finite = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto w = fields::signed_magnitude(values[i]), counted = w < infinite ? w : 0;
        largest = w > largest ? w : largest;
        finite = counted > finite ? counted : finite;
    }
    if (largest >= infinite && counts_non_finite) return std::numeric_limits<double>::infinity();
    return static_cast<double>(std::bit_cast<T>(static_cast<typename fields::word>(finite)));
}

CCOLL_EXACT_END

/// What worst_case_units depends on beside the schedule.
constexpr int variant_of(placement_rules rules, error_growth growth, int root)
{
    return ((root * 2 + int{rules.forward_encoded}) * 2 + int{rules.reduce_encoded}) * 3 + static_cast<int>(growth);
}

/// A bound of which `parts` do not exceed `whole`, rounding of the product included.
inline double share_of(double whole, double parts)
{
    double share = whole / parts;
    while (share * parts > whole) share = std::nextafter(share, 0.0);
    return share;
}

/// The absolute bound that a relative one stands for. Data without a range are constant: any bound is kept exactly.
template <element T>
double bound_from_range(double fraction, double lowest, double highest)
{
    const double eb = fraction * (highest - lowest);
    if (!(lowest < highest) || !(eb >= static_cast<double>(std::numeric_limits<T>::min())))
        return static_cast<double>(std::numeric_limits<T>::min());
    return std::min(eb, 1e299);
}

}  // namespace detail

/// @tparam Native  native_if_possible<Op> when the plan leaves everything to the transport, else never_native.
template <class Collective, class Native, class Clock, element T, transport Link>
CCOLL_OPAQUE outcome run_call(const decision<T>& d, const user_buffers<T>& user, int root, Link& link, double run_time_bound)
{
    const int me = link.rank(), p = link.size();
    outcome result;
    report& facts = result.facts;
    facts.algorithm = d.algorithm;
    facts.codec = d.codec_name;
    facts.placement = d.what.rules.name;

    task<T> what = d.what;
    what.stamp.call = link.begin_call();
    const bool adds = what.rules.reduce_encoded && p > 1;
    const std::uint32_t second_call = adds ? link.begin_call() : 0;  // for what cannot be added; on all ranks, needed or not
    control<Link> talk(link, what.stamp);
    const auto failed = [&](const verdict& v) {
        result.trouble = v;
        if (v.code == status::transport_failed) result.transport_says = link.explain();
        return result;
    };

    // A root that does not exist leaves no schedule to keep to: tell everybody, and go.
    if (root < 0 || root >= p) {
        const verdict v{status::bad_argument, me, me, -1, static_cast<double>(p - 1), static_cast<double>(root)};
        talk.give_up(v);
        return failed(v);
    }
    const fitted_buffers<T> fitted = fit<Collective>(user, me, p, root);
    verdict trouble = fitted.trouble;
    what.data = fitted.data;
    what.root = what.stamp.arguments.root = root;
    what.stamp.arguments.count = fitted.data.count;

    const int widest = what.path.widest(p);
    what.room_bytes = p > 1 ? room_for(what, widest) : 0;

    // The bound, as far as it follows from plan and p; a relative one waits for the range of the data.
    double units = 0, divisor = 1;
    if (d.lossy) {
        units = link.memory().remember(reinterpret_cast<const void*>(what.path.step_at), detail::variant_of(what.rules, d.growth, root),
                                       [&] { return d.units(what.path, what.rules, d.growth, p, root); });
        if (what.op.divide_by_ranks) units /= p;
        if (d.end_to_end && units > 0) divisor = units;
        const double bound = d.bound_at_run_time ? run_time_bound : d.bound_value;
        if (!is_bound(bound) && trouble.ok()) trouble = {status::bad_bound, me, me};
        what.eb = what.stamp.arguments.bound = is_bound(bound) ? detail::share_of(bound, divisor) : 1;
    }

    const bool relative = d.bound == bound_kind::relative;
    bool lossy = d.lossy;
    const std::size_t own = what.data.count / static_cast<std::size_t>(p);
    const std::size_t sends = what.data.send_holds == extent::whole ? what.data.count : own;
    const auto largest = [&] { return detail::largest_magnitude(what.data.send, sends, !what.addends.adds_non_finite); };
    // What quanta cannot hold is reduced exactly, on all ranks or on none.
    const auto reduce_exactly = [&] {
        what.codec = what.exact;
        what.rules = {"DecodeReduceEncode", true, false};
        what.eb = what.stamp.arguments.bound = 0;
        lossy = false;
        facts.codec = policies::Codec::None::name;
        facts.placement = what.rules.name;
    };
    const auto compare_arguments = [&] {
        control_message mine;
        mine.trouble = trouble;
        mine.lowest = std::numeric_limits<double>::infinity();
        mine.highest = -mine.lowest;
        if (relative && trouble.ok() && what.before(me, root, p).count > 0) detail::widen_range(what.data.send, sends, mine.lowest, mine.highest);
        if (adds && trouble.ok()) {
            const bool range_tells = relative && what.addends.adds_non_finite;  // the same finite values: one pass over them is enough
            if (!range_tells) mine.largest = largest();
            else if (mine.lowest <= mine.highest) mine.largest = std::max(std::fabs(mine.lowest), std::fabs(mine.highest));
        }
        const control_message all = p > 1 ? talk.agree(mine, what.room_bytes) : mine;
        facts.agreed = p > 1;
        trouble = all.trouble;
        if (relative) what.eb = what.stamp.arguments.bound = detail::bound_from_range<T>(detail::share_of(d.bound_value, divisor), all.lowest, all.highest);
        if (adds && trouble.ok() && !what.addends.can_add(all.largest, what.eb, static_cast<std::size_t>(p))) reduce_exactly();
    };
    const auto compare_verdicts = [&](const verdict& v) {
        if (d.checks != check_level::collective || p == 1) return v;
        control_message mine;
        mine.trouble = v;
        mine.closing = 1;
        return talk.agree(mine, what.room_bytes).trouble;
    };
    if (relative || d.checks == check_level::collective) {
        compare_arguments();
        if (!trouble.ok() && p > 1) return failed(trouble);  // the same on every rank
    }

    if constexpr (Native::template possible<Link, T>) {
        // Inside MPI's own call nobody can be told of one rank's bad argument; docs/limitations.md says so.
        if (!trouble.ok()) return failed(trouble);
        if (Native::template run<Collective>(link, what, fitted.move_to != nullptr ? fitted.move_to : what.data.recv)) {
            facts.algorithm = "MPI";
            facts.placement = "none";
            facts.same_bits = !std::is_same_v<Collective, collective::allreduce>;  // MPI recommends it, no more
            const status s = link.native_result();
            return failed(compare_verdicts(s == status::ok ? verdict{} : verdict{s, me, me}));
        }
    }

    // Small vectors of one-way collectives, too: ranks that each believe to be the root, or send what nobody expects, would not
    // hear of it from any message of the schedule.
    const bool large = what.data.count * sizeof(T) >= agreement_bytes;
    if (d.checks == check_level::automatic && (large || Collective::rooted) && p > 1 && !facts.agreed) {
        compare_arguments();
        if (!trouble.ok()) return failed(trouble);
    }
    // Below the threshold one slice per block, however long: then message counts do not depend on the count.
    const bool sliced = facts.agreed || d.checks == check_level::local;
    const std::size_t longest = block_range(what.data.count, what.path.blocks(p), 0).count;
    what.slice_elements = sliced ? slice_for(longest, d.what.codec.chunk_elements, widest) : std::max<std::size_t>(1, longest);

    const auto run = [&](control<Link>& over) {
        executor<T, Link, Clock> engine(what, link, over, facts.agreed);
        engine.poison(trouble);
        engine.run();
        trouble = engine.trouble();
        facts.raw_bytes = engine.counts().raw_bytes;
        facts.sent_bytes += engine.counts().sent_bytes;
        facts.fallback_blocks = engine.counts().fallback_blocks;
        facts.breakdown += engine.seconds();
        return engine.too_large();
    };
    if (!adds || facts.agreed) {
        run(talk);
    } else {
        // Nobody has asked the others: a rank that cannot add says so in all of its frames, hence every rank reads it in its result.
        what.refuses = trouble.ok() && !what.addends.can_add(largest(), what.eb, static_cast<std::size_t>(p));
        const bool too_large = run(talk);
        what.stamp.call = second_call;
        control<Link> talk_again(link, what.stamp);
        if (!trouble.ok()) {
            talk_again.give_up(trouble);  // some may be waiting there
        } else if (too_large) {
            reduce_exactly();
            run(talk_again);
        }
    }
    failed(compare_verdicts(trouble));
    if (result.trouble.ok() && fitted.move_to != nullptr)
        std::copy_n(what.data.recv, own, fitted.move_to);
    if (lossy && p > 1) {
        const double ranks = what.op.divide_by_ranks ? p : 1;
        facts.error_bound = what.eb;
        facts.worst_case_error = what.eb * units;
        facts.probable_error = what.eb * probable_units(units * ranks, d.growth) / ranks;
        facts.exact = false;
        facts.same_bits = what.rules.forward_encoded;
    }
    return result;
}

}  // namespace ccoll
