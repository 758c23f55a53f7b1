// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tune/history.hpp - floor 2. What is known about the calls of one class on one communicator, and which candidate the next call takes. All
// of it follows from facts on which the ranks have agreed, and from the number of calls, so all ranks decide alike without asking.
//
// A class has candidates. The first is the incumbent: the plan to which a program loses nothing, which is MPI's own call where there is
// one.
//
//   exploring  The incumbent runs first. Ranks sample their values meanwhile, and a model predicts what the others would take. Those that
//              promise enough are tried, three times each, best first. Every call compares its arguments, and the figures of the call
//              before ride in that comparison.
//   settled    The fastest runs. Now and then it is timed against its rival, the next best that was tried, two calls each: three timings
//              are few where calls take half a millisecond. If figures change, the class is explored again; if they do not, rarely, and
//              ever more rarely.
//
// The seconds of a call are those of its slowest rank, from the moment when all ranks have compared their arguments. So a rank that comes
// late does not count. Ranks that share a core may end the comparison 0.2 ms apart, and short calls seem longer by that: this speaks for
// the incumbent. The fastest rank, which began last, is no better: it finds messages that were sent while it was not there yet.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <ccoll/wire/message.hpp>

namespace ccoll::inline CCOLL_ABI::tune {

inline constexpr double unknown = std::numeric_limits<double>::infinity();

/// What the model needs to know about a candidate: multiples of the whole vector that the busiest rank sends, encodes, adds and decodes.
struct candidate_work {
    double sent = 0, encoded = 0, added = 0, decoded = 0;
    bool compresses = false;
    double rounds = 0;  ///< messages that wait for each other
};
/// What calls of a class have in common.
struct class_facts {
    double values = 0;      ///< of the whole vector
    double value_bits = 0;  ///< of one of them before encoding
    bool compares = true;   ///< calls that compress compare their arguments anyway, as long ones do
    bool searches = false;  ///< all candidates are tried that there is time for, whatever the model says
};

/// The latest timings of a candidate.
class timings {
public:
    void add(double seconds) noexcept
    {
        all_[next_] = seconds;
        next_ = (next_ + 1) % all_.size();
        size_ = std::min(size_ + 1, all_.size());
    }
    /// The lower quartile, which of up to four is the least. Other programs and other ranks make a call longer, and never shorter.
    double seconds() const noexcept
    {
        if (size_ == 0) return unknown;
        auto sorted = all_;
        const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(size_),
                   middle = sorted.begin() + static_cast<std::ptrdiff_t>((size_ - 1) / 4);
        std::nth_element(sorted.begin(), middle, end);
        return *middle;
    }
    /// The least of the last four.
    double lately() const noexcept
    {
        double least = unknown;
        for (std::size_t i = 1; i <= std::min<std::size_t>(size_, 4); ++i)
            least = std::min(least, all_[(next_ + all_.size() - i) % all_.size()]);
        return least;
    }

private:
    std::array<double, 24> all_{};
    std::size_t size_ = 0, next_ = 0;
};

/// Numbers of the decisions. Each is a ratio of seconds.
struct thresholds {
    double enter = 0.85;    ///< the incumbent is left for a candidate that takes at most this part of its time
    double leave = 1.0;     ///< and taken again if the candidate takes this part
    double promise = 0.85;  ///< a candidate is tried if the model promises at most this part of the incumbent's time
    double changed = 1.25;  ///< figures have changed if they are larger or smaller by this factor,
    double jumped = 2;      ///< and have done so beyond doubt with this one
    double rival = 2;       ///< a candidate is timed again if it has taken at most this multiple of the choice's time
    double moved = 0.95;    ///< one compressing candidate is left for another one that takes at most this part of its time
    double share = 0.02;    ///< of the time of a class, for timing rivals
};

/// One class of calls on one communicator, as one rank sees it.
class call_class {
public:
    static constexpr std::size_t most_candidates = 8;
    static constexpr unsigned tries = 3;            ///< of each candidate in an exploration
    static constexpr unsigned most_tried = 2;       ///< candidates beside the incumbent in an exploration
    static constexpr unsigned period = 10;          ///< of the incumbent's calls; the last two of a period compare: one is timed, and
                                                    ///< the next one tells. Of shorter calls it is longer. @see comparison_s
    static constexpr unsigned rare_period = 200;    ///< where calls would not compare otherwise, whatever they take. A comparison and a
                                                    ///< sample take up to three times as long as the shortest calls that are measured, so
                                                    ///< these spend 2 % on it
    static constexpr unsigned samples_in = 4;       ///< periods of such calls, one has a sample if no seconds have changed
    static constexpr unsigned patience = 2;         ///< so many comparisons in a row must say that figures have changed; twice as many
                                                    ///< after an exploration in vain, and four times as many after several
    static constexpr unsigned patience_short = 4;   ///< the same for the latter, whose seconds vary more
    static constexpr unsigned first_recheck = 256;  ///< calls after which an exploration may follow although no figure has changed
    static constexpr unsigned most_quiet = 4096;    ///< calls for which small changes are left alone at most
    static constexpr double comparison_s = 8e-5;    ///< of two comparisons and a glance, where a vector of 1 MiB has filled the caches
    static constexpr double comparison_at_most_s = 1e-4;  ///< of one over links: four ranks, 1 Gb/s, 0.07 to 0.1 ms

    enum class stage : unsigned char { exploring, settled, frozen };

    /// What the next call does.
    struct turn {
        std::size_t candidate = 0;
        bool listens = false;  ///< it compares arguments, and figures ride in that
        bool samples = false;  ///< before that, each rank looks at a sample of its values,
        bool glances = false;  ///< of which it only wants to know whether they have changed: the bits, and no seconds
    };
    /// What the model expects a candidate to take: the least if codec and link overlap fully, the most if not at all.
    struct expectation {
        double least = unknown, most = unknown;
    };

    /// @param works  of the candidates, of which the first is the incumbent; what is beyond most_candidates is never taken
    call_class(std::span<const candidate_work> works, const class_facts& facts) : facts_(facts)
    {
        size_ = std::min(works.size(), most_candidates);
        std::copy(works.begin(), works.begin() + static_cast<std::ptrdiff_t>(size_), works_.begin());
        best_.fill(unknown);
    }
    /// A class whose choice is given: by an override, or by a file.
    explicit call_class(std::size_t choice) : current_(choice), stage_(stage::frozen) {}

    /// For the next blocking call. When it begins, all figures of earlier calls have been heard on this rank, and so on all ranks.
    turn next() noexcept
    {
        ++calls_;
        turn t{current_, false, false};
        if (stage_ == stage::frozen) return t;
        if (stage_ == stage::exploring) t = {in_turn(), true, step_ == 0};
        else if (round_ > 0 || is_rival_due()) t = {in_round(), true, false};
        else if (current_ != 0 && facts_.compares) t.listens = true;
        else t = watching();
        ++since_;
        ++since_round_;
        if (t.listens) running_ = t.candidate;
        return t;
    }
    /// Would next() take the first candidate, and say nothing to other ranks?
    bool passes() const noexcept
    {
        if (current_ != 0 || stage_ == stage::exploring) return false;
        return stage_ == stage::frozen || (round_ == 0 && !is_rival_due() && !watching().listens);
    }
    /// The choice for a call that cannot make trials, because calls before it may still be under way.
    std::size_t choice() const noexcept { return current_; }

    /// Called once in each call that listens, when ranks have compared their arguments.
    /// @param all  the largest figures of all ranks: the seconds of the last call that listened before, and this call's sample
    void heard(const figures& all)
    {
        ++number_;
        const std::size_t timed = std::exchange(told_, running_);
        const auto seconds = static_cast<double>(all.seconds);
        if (all.encode_s > 0) seen_ = all;
        else if (all.bits > 0) seen_.bits = all.bits;
        const bool counts = seconds > 0 && (stage_ == stage::settled || step_ > 0);
        if (counts) note(timed, seconds);
        if (stage_ == stage::exploring) {
            if (step_ == tries - 1) plan_trials();
            if (step_++ >= tries && step_ > planned_) settle();
        } else if (stage_ == stage::settled && round_ > 0) {
            if (++round_ > calls_of_round) end_round();
        } else if (counts && stage_ == stage::settled && timed == current_) {
            watch(seconds);
        }
    }
    /// Ranks have compared their arguments in vain. All of them forget what they knew.
    void forget() noexcept
    {
        if (stage_ == stage::frozen) return;
        forget_timings();
        explore();
        current_ = running_ = told_ = 0;
        number_ = 0;
    }

    stage now() const noexcept { return stage_; }
    /// When the class settled last, also if it is being explored again since.
    struct settlement {
        double seconds = unknown, first = unknown;  ///< of the choice, and of the first candidate; unknown: it never settled
    };
    settlement last() const noexcept { return last_; }
    std::uint64_t calls() const noexcept { return calls_; }
    /// How often figures have been heard. Ranks with different numbers have different histories.
    std::uint32_t number() const noexcept { return number_; }

    expectation expected(std::size_t candidate) const noexcept
    {
        const double plain = best_[0];
        const candidate_work& w = works_[candidate];
        if (candidate == 0) return {plain, plain};
        if (!w.compresses) return {0, plain};  // the model does not know MPI's own algorithms, so only a trial tells
        if (!(seen_.bits > 0)) return {};
        const double link = plain * w.sent * static_cast<double>(seen_.bits) / (works_[0].sent * facts_.value_bits);
        const double codec =
            facts_.values * ((w.encoded + w.added) * static_cast<double>(seen_.encode_s) + w.decoded * static_cast<double>(seen_.decode_s));
        return {std::max(link, codec), link + codec};
    }

private:
    /// The incumbent's calls, the trials, and one more call in which the figures of the last trial are heard. The first call of a kind is
    /// slower than the others, because its memory is new.
    std::size_t in_turn() const noexcept { return step_ < tries ? 0 : step_ < planned_ ? trials_[step_] : chosen(); }
    turn watching() const noexcept
    {
        const unsigned n = period_, at = since_ % n;
        const bool samples = facts_.compares || since_ / n % samples_in == samples_in - 1;
        const bool doubts = changed_ > 0;
        return {current_, doubts || at >= n - 2, current_ == 0 && (doubts || (samples && at == n - 1)), !doubts};
    }

    /// A round: two calls of the rival, two of the choice, and one more in which the last figure is heard.
    static constexpr unsigned calls_of_round = 5;
    std::size_t in_round() noexcept
    {
        if (round_ == 0) round_ = 1;
        return round_ <= 2 ? rival_ : current_;
    }
    /// The calls of the class since the last round have taken so long that another one may follow.
    bool is_rival_due() const noexcept { return rival_ != current_ && changed_ == 0 && since_round_ >= round_after_; }
    void end_round() noexcept
    {
        round_ = 0;
        ++rounds_;
        if (const std::size_t best = chosen(); best != current_) {
            current_ = best;
            rounds_ = 0;
            then_.seconds = static_cast<float>(best_[best]);
            last_ = {best_[best], best_[0]};
        }
        plan_round();
    }
    /// Which candidate will be timed again, and after how many calls. After some rounds a mistake is unlikely, and they become rarer.
    void plan_round() noexcept
    {
        since_round_ = 0;
        rival_ = current_;
        for (std::size_t c = 0; c < size_; ++c)
            if (c != current_ && best_[c] <= limits_.rival * best_[current_] && (rival_ == current_ || best_[c] < best_[rival_]))
                rival_ = c;
        const double slower = std::max(0.0, best_[rival_] / best_[current_] - 1);
        // Sums of SZp have the same bits with every algorithm, so such rounds may be frequent. In others a comparison counts as a call.
        const bool same_bits = works_[current_].compresses && works_[rival_].compresses;
        const double comparison = !same_bits ? 1 : facts_.compares ? 0 : std::min(1.0, comparison_at_most_s / best_[current_]);
        const double cost = calls_of_round * comparison + 2 * slower;  // in calls
        round_after_ = std::max(least_between_rounds, static_cast<unsigned>(cost / limits_.share))
                       << std::min(rounds_ - std::min(rounds_, steady_rounds), most_doublings);
    }
    static constexpr unsigned steady_rounds = 8, most_doublings = 6, least_between_rounds = 25;
    void note(std::size_t candidate, double seconds) noexcept
    {
        all_[candidate].add(seconds);
        best_[candidate] = all_[candidate].seconds();
    }
    bool promises(std::size_t c, double plain) const noexcept { return expected(c).least <= limits_.promise * plain; }

    void plan_trials()
    {
        std::array<std::size_t, most_candidates> order{};
        std::size_t promising = 0;
        for (std::size_t c = 1; c < size_; ++c) {
            if (!facts_.searches && !promises(c, best_[0])) continue;
            std::size_t at = promising++;
            for (; at > 0 && expected(order[at - 1]).most > expected(c).most; --at) order[at] = order[at - 1];
            order[at] = c;
        }
        // In short calls messages take longer than their bytes. How long, no figure says, so the second trial is that with the fewest
        // rounds.
        if (!facts_.compares && promising > most_tried) {
            const auto fewer = [&](std::size_t a, std::size_t b) {
                return works_[a].compresses && (!works_[b].compresses || works_[a].rounds < works_[b].rounds);
            };
            const auto rest = order.begin() + 1,
                       fewest = std::min_element(rest, order.begin() + static_cast<std::ptrdiff_t>(promising), fewer);
            std::rotate(rest, fewest, fewest + 1);
        }
        planned_ = tries;
        for (std::size_t i = 0; i < std::min<std::size_t>(promising, most_tried); ++i)
            for (unsigned k = 0; k < tries; ++k) trials_[planned_++] = static_cast<unsigned char>(order[i]);
    }
    std::size_t chosen() const noexcept
    {
        std::size_t found = 0;
        for (std::size_t c = 1; c < size_; ++c)
            if (best_[c] < best_[found]) found = c;
        if (stage_ == stage::settled && current_ != 0 && best_[found] > limits_.moved * best_[current_]) found = current_;
        return best_[found] <= (current_ != 0 ? limits_.leave : limits_.enter) * best_[0] ? found : 0;
    }
    void settle()
    {
        const std::size_t before = std::exchange(current_, chosen());
        recheck_ = explorations_++ > 0 && current_ == before ? 2 * recheck_ : current_ != 0 ? 16 * first_recheck : first_recheck;
        in_vain_ = explorations_ > 1 && current_ == before ? in_vain_ + 1 : 0;
        quiet_ = std::min(2 * quiet_, most_quiet);
        stage_ = stage::settled;
        since_ = changed_ = 0;
        then_ = seen_;
        then_.seconds = static_cast<float>(best_[current_]);
        last_ = {best_[current_], best_[0]};
        rounds_ = 0;
        const double enough = comparison_s / (limits_.share * best_[0]);  // so that watching takes no more than this share
        period_ = !facts_.compares ? rare_period : enough >= rare_period ? rare_period : std::max(period, static_cast<unsigned>(enough));
        plan_round();
    }
    static bool differ(double a, double b, double factor) noexcept { return a > b * factor || b > a * factor; }

    /// Settled: do the figures say that another exploration is due? Seconds vary, so small changes count only if the least of four timings
    /// shows them, and the more often a class has been explored, the longer they are left alone.
    void watch(double seconds)
    {
        const auto differ_by = [&](double factor) {
            const double shown = factor < limits_.jumped ? all_[current_].lately() : seconds;
            return differ(shown, static_cast<double>(then_.seconds), factor) || (current_ == 0 && differ(seen_.bits, then_.bits, factor));
        };
        const bool worse = current_ != 0 && seconds > limits_.leave * best_[0];
        const bool by_a_quarter = facts_.compares && since_ >= quiet_ && differ_by(limits_.changed);  // in short calls it is usually chance
        changed_ = worse || by_a_quarter || differ_by(limits_.jumped) ? changed_ + 1 : 0;
        const bool has_changed = changed_ >= (facts_.compares ? patience : patience_short) << std::min(in_vain_, 2u);
        if (!has_changed && since_ < recheck_) return;
        if (current_ == 0) {
            const double plain = std::exchange(best_[0], seconds);
            bool any = false;
            for (std::size_t c = 1; c < size_; ++c)
                any = any || (works_[c].compresses ? promises(c, seconds) : differ_by(limits_.jumped) || since_ >= recheck_);
            best_[0] = plain;
            if (!any) return;
        }
        if (has_changed) forget_timings();
        explore();
    }
    void forget_timings() noexcept
    {
        best_.fill(unknown);
        all_.fill({});
    }
    void explore() noexcept
    {
        stage_ = stage::exploring;
        step_ = planned_ = since_ = changed_ = round_ = 0;
    }

    class_facts facts_;
    std::size_t size_ = 0;
    std::array<candidate_work, most_candidates> works_{};
    std::array<timings, most_candidates> all_{};
    std::array<double, most_candidates> best_{};  // what all_ come to
    std::array<unsigned char, tries * (1 + most_tried)> trials_{};
    thresholds limits_;
    figures seen_, then_;                               // the latest sample; sample and seconds when the class settled
    std::size_t current_ = 0, running_ = 0, told_ = 0;  // the choice; what the last listening call took; what the figures are about
    unsigned step_ = 0, planned_ = 0, since_ = 0, changed_ = 0, recheck_ = first_recheck, explorations_ = 0, quiet_ = 4, in_vain_ = 0;
    unsigned period_ = period;
    std::size_t rival_ = 0;                                                // the choice itself: there is none
    unsigned round_ = 0, rounds_ = 0, since_round_ = 0, round_after_ = 0;  // the call of a round that comes next; rounds so far; calls
    std::uint32_t number_ = 0;
    std::uint64_t calls_ = 0;
    settlement last_;
    stage stage_ = stage::exploring;
};

}  // namespace ccoll::inline CCOLL_ABI::tune
