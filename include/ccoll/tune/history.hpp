// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tune/history.hpp - floor 2. What is known about the calls of one class on one communicator, and which
// candidate the next call takes. All of it follows from facts on which the ranks have agreed, and from the
// number of calls, so all ranks decide alike without asking.
//
// A class has candidates. The first is the incumbent: the plan to which a program loses nothing, which is
// MPI's own call where there is one.
//
//   exploring  The incumbent runs first. Ranks sample their values meanwhile, and a model predicts what the
//              others would take. Those that promise enough are tried, three times each, best first. Every
//              call compares its arguments, and the figures of the call before ride in that comparison.
//   settled    The fastest runs. Some calls, chosen at random, compare their arguments: each rank looks at
//              its values, and the last such call's seconds are told. The values of a call may be of another
//              kind than those of the calls before, and so cost more or less (tune/costs.hpp). If a call's
//              values speak against the choice, the next seven calls are looked at as well, and what all
//              eight together would take decides. Now and then the choice is timed against its rival, the
//              next best that was tried.
//
// Values can change faster than any rank can notice. So there is a balance. What calls have gained by leaving
// the incumbent is put there, and what they have lost is taken away, and a hundredth of the incumbent's own
// time is added. The incumbent is left only while the balance is positive. So whatever the values do, the
// class loses hardly more than that hundredth.
//
// The seconds of a call are those of its slowest rank, from the moment when all ranks have compared their
// arguments. So a rank that comes late does not count. Ranks that share a core may end the comparison 0.2 ms
// apart, and short calls seem longer by that: this speaks for the incumbent. The fastest rank, which began
// last, is no better: it finds messages that were sent while it was not there yet.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ccoll/tune/costs.hpp>
#include <ccoll/wire/message.hpp>

namespace ccoll::inline CCOLL_ABI::tune {

/// What the model needs to know about a candidate: multiples of the whole vector that the busiest rank sends,
/// encodes, adds and decodes.
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
    /// The best candidates by the model are tried although they promise little: no more than most_tried.
    bool searches = false;
};

/// Numbers of the decisions. Each is a ratio of seconds.
struct thresholds {
    double enter = 0.85;  ///< the incumbent is left for a candidate that takes at most this part of its time
    double leave = 1.0;   ///< and taken again if the candidate takes this part
    /// A candidate is tried if the model promises at most this part of the incumbent's time.
    double promise = 0.85;
    double changed = 1.25;  ///< figures have changed if they are larger or smaller by this factor,
    double jumped = 2;      ///< and have done so beyond doubt with this one
    /// A candidate is timed again if it has taken at most this multiple of the choice's time.
    double rival = 2;
    /// One compressing candidate is left for another one that takes at most this part of its time.
    double moved = 0.95;
    double share = 0.02;     ///< of the time of a class, for timing rivals,
    double watching = 0.01;  ///< for comparing arguments,
    double risk = 0.01;      ///< and for what may be lost by leaving the incumbent
    double gains = 0.0625;   ///< of what the choice saves, for comparing arguments besides, but
    double most = 0.03;      ///< not more than this part of its time
};

/// One class of calls on one communicator, as one rank sees it.
class call_class {
public:
    static constexpr std::size_t most_candidates = 8;
    static constexpr unsigned tries = 3;       ///< of each candidate in an exploration
    static constexpr unsigned most_tried = 2;  ///< candidates beside the incumbent in an exploration
    static constexpr unsigned calls_of_exploration = tries * (1 + most_tried) + 1;
    /// So many comparisons in a row must say that seconds have changed; twice as many after an exploration in
    /// vain, and four times as many after several.
    static constexpr unsigned patience = 2;
    static constexpr unsigned patience_short = 4;  ///< the same for the latter, whose seconds vary more
    /// Calls after which an exploration may follow although no figure has changed.
    static constexpr unsigned first_recheck = 256;
    static constexpr unsigned most_quiet = 4096;   ///< calls for which small changes are left alone at most
    static constexpr unsigned least_period = 5;    ///< of the incumbent's calls at most one in five compares
    static constexpr unsigned most_period = 1000;  ///< and at least one in 1000 of any choice
    /// At most. Four ranks, links of 1 Gb/s: 0.07 to 0.1 ms. In memory it takes no longer than the shortest
    /// calls that are measured.
    static constexpr double comparison_s = 1e-4;
    /// In memory, after calls of MPI alone, whose code has driven the library's out of the caches: the mean
    /// of what calls of 10 us take longer when they compare. The median is 30 us.
    /// (benchmarks/run.sh auto orders)
    static constexpr double least_comparison_s = 7e-5;
    static constexpr double glance_s = 3e-6;  ///< a look at 1024 values that are in no cache
    // The following were chosen with the simulation in tests/tune/history.cpp: seven machines, fourteen
    // orders of kinds.

    /// Of a call of the incumbent, which a comparison takes at most, in memory.
    static constexpr double comparison_part = 0.7;
    static constexpr double glance_part = 0.1;  ///< and a look at values that are in the caches
    static constexpr double slack = 3;          ///< calls of the incumbent that may be lost without a balance
    static constexpr double most_balance = 256;  ///< the largest balance, in calls of the incumbent
    static constexpr unsigned burst_calls = kind_mix::size - 1;  ///< that are looked at one after the other

    enum class stage : unsigned char { exploring, settled, frozen };

    /// What the next call does.
    struct turn {
        std::size_t candidate = 0;
        bool listens = false;  ///< it compares arguments, and figures ride in that
        bool samples = false;  ///< before that, each rank looks at a sample of its values,
        /// Of which it only wants to know what kind they are: few of them, and no seconds.
        bool glances = false;
    };
    /// What the model expects a candidate to take: the least if codec and link overlap fully, the most if not
    /// at all.
    struct expectation {
        double least = unknown, most = unknown;
    };

    /// @param works  of the candidates, of which the first is the incumbent; what is beyond most_candidates
    ///               is never taken
    call_class(std::span<const candidate_work> works, const class_facts& facts) : facts_(facts)
    {
        size_ = std::min(works.size(), most_candidates);
        std::copy(works.begin(), works.begin() + static_cast<std::ptrdiff_t>(size_), works_.begin());
        for (std::size_t c = 0; c < size_; ++c) {
            costs_.set(c, works_[c].compresses, works_[c].sent);
            compresses_ = compresses_ || works_[c].compresses;
        }
    }
    /// A class whose choice is given: by an override, or by a file.
    explicit call_class(std::size_t choice) : current_(choice), stage_(stage::frozen) {}

    /// For the next blocking call. When it begins, all figures of earlier calls have been heard on this rank,
    /// and so on all ranks.
    turn next() noexcept
    {
        ++calls_;
        turn t{current_};
        if (stage_ == stage::frozen) return t;
        if (stage_ == stage::exploring) t = {in_turn(), true};
        else if (round_ > 0 || is_rival_due()) t = {in_round(), true};
        else t.listens = is_look_due();
        t.samples = t.listens && compresses_;
        t.glances = t.samples && !(stage_ == stage::exploring && step_ == 0) &&
                    !(burst_ == burst_calls && has_untried());
        ++since_;
        ++since_round_;
        if (t.candidate == 0) {
            ++at_home_;
        } else {
            ++away_;
            away_with_ = t.candidate;
        }
        if (t.listens) {
            running_ = t.candidate;
            wait_ = next_wait();
        } else if (wait_ > 0) {
            --wait_;
        }
        return t;
    }
    /// Would next() take the first candidate, and say nothing to other ranks?
    bool passes() const noexcept
    {
        if (current_ != 0 || stage_ == stage::exploring) return false;
        return stage_ == stage::frozen || (round_ == 0 && !is_rival_due() && !is_look_due());
    }
    /// The choice for a call that cannot make trials, because calls before it may still be under way.
    std::size_t choice() const noexcept { return current_; }

    /// Called once in each call that listens, when ranks have compared their arguments.
    /// @param all  the largest figures of all ranks: the seconds of the last call that listened before, and
    ///             this call's sample
    void heard(const figures& all)
    {
        ++number_;
        if (all.encode_s > 0) speeds_ = all;
        const double part = static_cast<double>(all.bits) / facts_.value_bits;
        if (part > 0) mix_.add(part);
        const std::size_t kind = kind_of(part);
        const std::size_t timed = std::exchange(told_, running_),
                          kind_of_timed = std::exchange(told_kind_, kind);
        const auto seconds = static_cast<double>(all.seconds);
        const bool counts = seconds > 0 && (stage_ == stage::settled || step_ > 0);
        if (counts) costs_.note(timed, kind_of_timed, seconds);
        settle_accounts(kind);
        if (stage_ == stage::exploring) {
            if (step_ == tries - 1) plan_trials();
            if (step_++ >= tries && step_ > planned_) settle();
        } else if (stage_ == stage::settled && round_ > 0) {
            if (++round_ > calls_of_round) end_round();
        } else if (stage_ == stage::settled) {
            if (!(counts && timed == current_ && have_seconds_changed(kind_of_timed, seconds))) look_at(kind);
        }
    }
    /// Ranks have compared their arguments in vain. All of them forget what they knew.
    void forget()
    {
        if (stage_ == stage::frozen) return;
        forget_timings();
        explore();
        current_ = running_ = told_ = told_kind_ = 0;
        mix_.clear();
        at_home_ = away_ = 0;
        balance_ = 0;
        number_ = 0;
    }

    stage now() const noexcept { return stage_; }
    /// When the class settled last, also if it is being explored again since.
    struct settlement {
        /// Of the choice, and of the first candidate; unknown: it never settled.
        double seconds = unknown, first = unknown;
    };
    settlement last() const noexcept { return last_; }
    std::uint64_t calls() const noexcept { return calls_; }
    /// How often figures have been heard. Ranks with different numbers have different histories.
    std::uint32_t number() const noexcept { return number_; }

    /// For values of the latest calls.
    expectation expected(std::size_t candidate) const { return expected(candidate, mix_.mean_part()); }

private:
    double cost(std::size_t candidate) const { return costs_.of(candidate, mix_); }
    expectation expected(std::size_t candidate, double part) const
    {
        const double plain = cost(0);
        const candidate_work& w = works_[candidate];
        if (candidate == 0) return {plain, plain};
        if (!w.compresses)
            return {0, plain};  // the model does not know MPI's own algorithms, so only a trial tells
        if (!(part > 0)) return {};
        const double link = plain * w.sent * part / works_[0].sent;
        const double codec = facts_.values * ((w.encoded + w.added) * static_cast<double>(speeds_.encode_s) +
                                              w.decoded * static_cast<double>(speeds_.decode_s));
        return {std::max(link, codec), link + codec};
    }
    bool promises(std::size_t c, double plain, double part) const
    {
        return expected(c, part).least <= limits_.promise * plain;
    }

    // ---- exploring ----

    /// The incumbent's calls, the trials, and one more call in which the figures of the last trial are heard.
    /// The first call of a kind is slower than the others, because its memory is new.
    std::size_t in_turn() const { return step_ < tries ? 0 : step_ < planned_ ? trials_[step_] : chosen(); }
    void plan_trials()
    {
        std::array<std::size_t, most_candidates> order{};
        std::size_t promising = 0;
        for (std::size_t c = 1; c < size_; ++c) {
            if (!facts_.searches && !promises(c, cost(0), mix_.mean_part())) continue;
            std::size_t at = promising++;
            for (; at > 0 && expected(order[at - 1]).most > expected(c).most; --at) order[at] = order[at - 1];
            order[at] = c;
        }
        // In short calls messages take longer than their bytes. How long, no figure says, so the second trial
        // is that with the fewest rounds.
        if (!facts_.compares && promising > most_tried) {
            const auto fewer = [&](std::size_t a, std::size_t b) {
                return works_[a].compresses && (!works_[b].compresses || works_[a].rounds < works_[b].rounds);
            };
            const auto rest = order.begin() + 1,
                       fewest = std::min_element(rest, order.begin() + static_cast<std::ptrdiff_t>(promising),
                                                 fewer);
            std::rotate(rest, fewest, fewest + 1);
        }
        planned_ = tries;
        for (std::size_t i = 0; i < std::min<std::size_t>(promising, most_tried); ++i)
            for (unsigned k = 0; k < tries; ++k) trials_[planned_++] = static_cast<unsigned char>(order[i]);
    }
    /// The candidate that takes least for the kinds of the latest calls.
    std::size_t chosen() const
    {
        std::array<double, most_candidates> all{};
        for (std::size_t c = 0; c < size_; ++c) all[c] = cost(c);
        std::size_t found = 0;
        for (std::size_t c = 1; c < size_; ++c)
            if (all[c] < all[found]) found = c;
        if (stage_ == stage::settled && current_ != 0 && all[found] > limits_.moved * all[current_])
            found = current_;
        return all[found] <= (current_ != 0 ? limits_.leave : limits_.enter) * all[0] ? found : 0;
    }
    void settle()
    {
        const std::size_t before = std::exchange(current_, chosen());
        recheck_ = explorations_++ > 0 && current_ == before ? 2 * recheck_
                   : current_ != 0                           ? 16 * first_recheck
                                                             : first_recheck;
        in_vain_ = explorations_ > 1 && current_ == before ? in_vain_ + 1 : 0;
        if (explorations_ == 1) balance_ = 0;
        quiet_ = std::min(2 * quiet_, most_quiet);
        stage_ = stage::settled;
        since_ = changed_ = burst_ = calm_ = bursts_in_vain_ = 0;
        rounds_ = 0;
        remember();
    }
    /// A choice has been made, with or without an exploration.
    void remember()
    {
        remember_seconds();
        last_ = {cost(current_), cost(0)};
        period_ = period();
        most_wait_ = most_wait();
        wait_ = next_wait();
        plan_round();
    }
    void remember_seconds() noexcept
    {
        for (std::size_t k = 0; k < kinds; ++k) then_[k] = costs_.timed(current_, k).seconds();
    }
    void forget_timings() noexcept { costs_.forget(); }
    /// @param incumbent_is_known  its calls have just been timed
    void explore(bool incumbent_is_known = false)
    {
        stage_ = stage::exploring;
        step_ = planned_ = since_ = changed_ = round_ = burst_ = 0;
        if (!incumbent_is_known) return;
        plan_trials();
        step_ = tries;
    }

    // ---- looking at calls ----

    bool is_look_due() const noexcept { return wait_ == 0 || burst_ > 0 || changed_ > 0; }
    /// What it takes to compare arguments and to look at the values.
    double look_s() const
    {
        const bool compares_anyway = current_ != 0 && facts_.compares;
        return (compares_anyway ? 0 : std::min(comparison_part * cost(0), comparison_s)) +
               (compresses_ ? std::min(glance_part * cost(0), glance_s) : 0);
    }
    /// The same of a call that comes after many which were MPI's alone. Away from the incumbent there are
    /// none.
    double rare_look_s() const noexcept { return current_ != 0 ? 0 : least_comparison_s; }
    /// So many calls from one that compares to the next, on average. What comparisons take is a share of the
    /// time of the calls.
    unsigned period() const
    {
        const double mine = cost(current_), plain = cost(0);
        if (mine == unknown || plain == unknown) return most_period;
        const double takes = std::max(look_s(), rare_look_s());
        const double may_take = limits_.watching * mine +
                                std::min(limits_.most * mine, limits_.gains * std::max(0.0, plain - mine));
        const double n = std::ceil(takes / may_take);
        const unsigned least = current_ != 0 ? 1 : least_period;
        return n >= most_period ? most_period : std::max(least, static_cast<unsigned>(n));
    }
    /// Calls before the next one that compares: at random, because the kinds of calls may have a period as
    /// well. Away from the incumbent there are no more of them than may be lost.
    unsigned next_wait() noexcept
    {
        if (period_ <= 1) return 0;
        const unsigned random = mixed(hash_seed, calls_);
        const unsigned usual = random % (2 * period_ - 1);
        const unsigned wait = usual + std::exchange(debt_, 0u);
        return wait < most_wait_ ? wait : std::max(1u, random % (most_wait_ + 1));
    }
    /// How many calls may follow each other unseen, if each of them loses as much as one can.
    unsigned most_wait() const
    {
        const double plain = cost(0);
        double worst = 0;
        for (std::size_t k = 0; k < kinds; ++k) worst = std::max(worst, costs_.of(current_, k));
        if (current_ == 0 || plain == unknown || worst == unknown) return most_period;
        const double loss = std::max(worst - plain, 0.0);
        const double bearable = slack * plain + std::max(0.0, balance_);
        return loss * most_period <= bearable ? most_period : static_cast<unsigned>(bearable / loss);
    }

    /// The balance of what was gained and lost since the last comparison. Calls of which nothing is known
    /// were like the latest.
    void settle_accounts(std::size_t kind)
    {
        const double plain = costs_.of(0, kind), away = away_ > 0 ? costs_.of(away_with_, kind) : 0;
        if (plain < unknown && away < unknown) {
            balance_ += at_home_ * limits_.risk * plain + away_ * (plain - away);
            if (stage_ == stage::settled ? current_ != 0 || burst_ > 0 : explorations_ > 0)
                balance_ -= look_s();
            balance_ = std::min(balance_, most_balance * plain);
        }
        at_home_ = away_ = 0;
        most_wait_ = most_wait();
        wait_ = std::min(wait_, most_wait_);
    }

    /// Do the values of this call speak against the choice? One call decides nothing: the next ones may be of
    /// another kind.
    bool speaks_against_choice(std::size_t kind) const
    {
        const double plain = costs_.of(0, kind);
        if (current_ != 0) return costs_.of(current_, kind) > limits_.leave * plain;
        for (std::size_t c = 1; c < size_; ++c) {
            if (costs_.was_tried(c) ? costs_.of(c, kind) <= limits_.enter * plain
                                    : works_[c].compresses && works_[c].sent * most_of_kind[kind] <=
                                                                  limits_.promise * works_[0].sent)
                return true;
        }
        return false;
    }
    bool has_untried() const noexcept
    {
        for (std::size_t c = 1; c < size_; ++c)
            if (works_[c].compresses && !costs_.was_tried(c)) return true;
        return false;
    }
    void look_at(std::size_t kind)
    {
        if (burst_ > 0) {
            debt_ += period_;
            if (--burst_ == 0) decide();
            return;
        }
        if (calm_ > 0) --calm_;
        if (current_ != 0) {
            if (balance_ < -slack * cost(0)) return take(0);
            const std::size_t best = period_ == 1 || balance_ < 0 ? chosen() : current_;
            if (best != current_) return take(best);
        }
        if (period_ > 1 && calm_ == 0 &&
            (current_ != 0 || balance_ >= burst_calls * std::max(0.0, rare_look_s() - look_s())) &&
            speaks_against_choice(kind))
            burst_ = burst_calls;
    }
    /// After eight calls that were looked at, one after the other.
    void decide()
    {
        const std::size_t best = chosen();
        if (best != current_) {
            bursts_in_vain_ = 0;
            return take(best);
        }
        if (current_ == 0 && balance_ >= 0)
            for (std::size_t c = 1; c < size_; ++c)
                if (!costs_.was_tried(c) && works_[c].compresses && promises(c, cost(0), mix_.mean_part()))
                    return explore(true);
        calm_ = 4u << std::min(bursts_in_vain_++, 4u);
    }
    void take(std::size_t candidate)
    {
        current_ = candidate;
        calm_ = changed_ = rounds_ = 0;
        remember();
    }

    static bool differ(double a, double b, double factor) noexcept
    {
        return a > b * factor || b > a * factor;
    }
    /// Do the seconds of calls of the choice say that another exploration is due? Seconds vary, so small
    /// changes count only if the least of four timings shows them, and the more often a class has been
    /// explored, the longer they are left alone.
    bool have_seconds_changed(std::size_t kind, double seconds)
    {
        const timings& timed = costs_.timed(current_, kind);
        double& then = then_[kind];
        if (then == unknown) then = timed.seconds();
        const auto differ_by = [&](double factor) {
            return differ(factor < limits_.jumped ? timed.lately() : seconds, then, factor);
        };
        const bool by_a_quarter = facts_.compares && since_ >= quiet_ &&
                                  differ_by(limits_.changed);  // in short calls it is usually chance
        if (changed_ > 0) debt_ += period_;
        changed_ = by_a_quarter || differ_by(limits_.jumped) ? changed_ + 1 : 0;
        const bool has_changed = changed_ >= (facts_.compares ? patience : patience_short)
                                                 << std::min(in_vain_, 2u);
        if (!has_changed && since_ < recheck_) return changed_ > 0;
        if (current_ == 0) {
            bool any = false;
            for (std::size_t c = 1; c < size_; ++c)
                any = any || (works_[c].compresses ? promises(c, seconds, mix_.mean_part())
                                                   : differ_by(limits_.jumped) || since_ >= recheck_);
            const double needed = has_changed ? 0 : calls_of_exploration * std::max(look_s(), rare_look_s());
            if (!any || balance_ < needed) {  // calls take so long now, and nothing follows from it
                remember_seconds();
                since_ = changed_ = 0;
                return false;
            }
        }
        if (has_changed) forget_timings();
        explore();
        return true;
    }

    // ---- rounds ----

    /// A round: two calls of the rival, two of the choice, and one more in which the last figure is heard.
    static constexpr unsigned calls_of_round = 5;
    std::size_t in_round() noexcept
    {
        if (round_ == 0) round_ = 1;
        return round_ <= 2 ? rival_ : current_;
    }
    /// The calls of the class since the last round have taken so long that another one may follow.
    bool is_rival_due() const noexcept
    {
        return rival_ != current_ && changed_ == 0 && burst_ == 0 && since_round_ >= round_after_;
    }
    void end_round()
    {
        round_ = 0;
        ++rounds_;
        if (const std::size_t best = chosen(); best != current_ && (current_ != 0 || balance_ >= 0))
            take(best);
        else plan_round();
    }
    /// Which candidate will be timed again, and after how many calls. After some rounds a mistake is
    /// unlikely, and they become rarer.
    void plan_round()
    {
        since_round_ = 0;
        rival_ = current_;
        const double mine = cost(current_);
        double least = unknown;
        for (std::size_t c = 0; c < size_; ++c) {
            const double theirs = c == current_ ? unknown : cost(c);
            if (theirs <= limits_.rival * mine && theirs < least) {
                rival_ = c;
                least = theirs;
            }
        }
        if (rival_ == current_) return;
        const double slower = std::max(0.0, least / mine - 1);
        // Sums of SZp have the same bits with every algorithm, so such rounds may be frequent. In others a
        // comparison counts as a call.
        const bool same_bits = works_[current_].compresses && works_[rival_].compresses;
        const double alone = std::max(1.0, least_comparison_s / mine);
        const double comparison = !same_bits        ? alone
                                  : facts_.compares ? 0
                                                    : std::min(alone, comparison_s / mine);
        const double cost_in_calls = calls_of_round * comparison + 2 * slower;
        round_after_ =
            std::max(least_between_rounds,
                     static_cast<unsigned>(cost_in_calls / (current_ == 0 ? limits_.risk : limits_.share)))
            << std::min(rounds_ - std::min(rounds_, steady_rounds), most_doublings);
    }
    static constexpr unsigned steady_rounds = 8, most_doublings = 6, least_between_rounds = 25;

    class_facts facts_;
    std::size_t size_ = 0;
    bool compresses_ = false;  // a candidate does
    std::array<candidate_work, most_candidates> works_{};
    cost_table<most_candidates> costs_;
    kind_mix mix_;
    std::array<unsigned char, tries * (1 + most_tried)> trials_{};
    thresholds limits_;
    figures speeds_;                        // the latest sample that was timed
    std::array<double, kinds> then_{};      // seconds of the choice when it was made, by kind
    std::size_t current_ = 0;               // the choice
    std::size_t running_ = 0;               // what the last listening call took
    std::size_t told_ = 0, told_kind_ = 0;  // what the figures are about
    unsigned step_ = 0, planned_ = 0;       // of an exploration
    unsigned since_ = 0, recheck_ = first_recheck, explorations_ = 0, quiet_ = 4, in_vain_ = 0;
    unsigned changed_ = 0;            // comparisons in a row which say that seconds have changed
    unsigned period_ = 1, wait_ = 0;  // from one comparison to the next on average; calls until the next one
    unsigned most_wait_ = most_period;        // of the latter, by what may be lost
    unsigned debt_ = 0;                       // of the same, for comparisons that came out of turn
    unsigned burst_ = 0;                      // calls that will still be looked at
    unsigned calm_ = 0, bursts_in_vain_ = 0;  // comparisons after which one call's values may lead to others
    unsigned at_home_ = 0, away_ = 0;  // calls since the last comparison, of the incumbent and of others
    std::size_t away_with_ = 0;
    double balance_ = 0;
    std::size_t rival_ = 0;  // the choice itself: there is none
    // The call of a round that comes next; rounds so far; calls.
    unsigned round_ = 0, rounds_ = 0, since_round_ = 0, round_after_ = 0;
    std::uint32_t number_ = 0;
    std::uint64_t calls_ = 0;
    settlement last_;
    stage stage_ = stage::exploring;
};

}  // namespace ccoll::inline CCOLL_ABI::tune
