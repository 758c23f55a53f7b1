// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// outer_steps.hpp - floor 5. Training over slow links: each rank makes many steps of its own, and then all
// agree on weights again (DiLoCo). What is sent is the difference of the weights since the last such step,
// in few bits, with error feedback.
// Source: Douillard et al., DiLoCo: Distributed Low-Communication Training of Language Models, 2023.
// Differences: the average is compressed. What compression cuts off is kept and sent with a later step.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/base/clock.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/error_feedback.hpp>
#include <ccoll/rooted.hpp>

namespace ccoll::inline CCOLL_ABI {

/// What an outer step makes of the average difference d of the weights since the last outer step. With the
/// velocity v, which begins as 0:
///   v = momentum v + d;   weights -= rate (nesterov ? momentum v + d : v)
/// The defaults are DiLoCo's. {1, 0, false} gives the average of the weights.
struct outer_settings {
    double rate = 0.7;
    double momentum = 0.9;
    bool nesterov = true;
};

namespace detail {

/// What the ranks of an outer step have in common, or should have: maxima over the ranks.
struct outer_agreement {
    double largest = 0;  ///< finite magnitude of a difference
    double most_steps = 0, least_steps = 0;
    double most_elements = 0, least_elements = 0;
    double attempt = 0;  ///< the same number on the ranks of one attempt to make a step, and on no others

    outer_agreement(double of_difference, std::uint64_t steps, std::size_t elements)
        : largest(of_difference), most_steps(static_cast<double>(steps)), least_steps(most_steps),
          most_elements(static_cast<double>(elements)), least_elements(most_elements),
          attempt(steady_seconds())
    {}

    template <class Plan, communicator Comm>
    void agree(const char* call, const Comm& comm)
    {
        double all[] = {largest, most_steps, -least_steps, most_elements, -least_elements, attempt};
        allreduce<Plan>(std::span<double>(all), comm);
        largest = all[0];
        most_steps = all[1];
        least_steps = -all[2];
        most_elements = all[3];
        least_elements = -all[4];
        attempt = all[5];
        if (most_elements != least_elements)
            raise(call, {status::count_differs, nobody, nobody, -1, least_elements, most_elements});
    }
};

CCOLL_EXACT_BEGIN

/// The weights with which ranks begin to train are those of `start`, rounded to T.
template <class T, class Number>
Number weight_given(Number start) noexcept
{
    return static_cast<Number>(to_number(from_number<T>(start)));
}

/// difference = weights given - weights now. @return its largest finite magnitude
template <class T, class Number>
double outer_difference(std::span<const Number> start, std::span<const T> weights,
                        std::span<Number> difference) noexcept
{
    CCOLL_EXACT_BODY
    const exact_environment environment;
    Number largest = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        difference[i] = weight_given<T>(start[i]) - static_cast<Number>(to_number(weights[i]));
        const Number size = std::fabs(difference[i]);
        if (size <= std::numeric_limits<Number>::max()) largest = std::max(largest, size);
    }
    return static_cast<double>(largest);
}

/// The same bits on all ranks, whatever flags their programs were compiled with. @see outer_settings
template <class Number>
void outer_advance(std::span<const Number> difference, const outer_settings& how, std::span<Number> velocity,
                   std::span<Number> start) noexcept
{
    CCOLL_EXACT_BODY
    const exact_environment environment;
    const auto rate = static_cast<Number>(how.rate), momentum = static_cast<Number>(how.momentum);
    for (std::size_t i = 0; i < start.size(); ++i) {
        const Number d = difference[i];
        velocity[i] = rounded(momentum * velocity[i]) + d;
        const Number by = how.nesterov ? rounded(momentum * velocity[i]) + d : velocity[i];
        start[i] -= rounded(rate * by);
    }
}

CCOLL_EXACT_END

}  // namespace detail

// [doc:outer_steps]
/// The outer steps of one model on one rank, whose n weights are float, double, or two-byte floats.
///
/// @tparam Bound  of the average: FixedBits<4> to FixedBits<8> (of the largest difference on any rank),
///                FixedBits<b, Block<m>> (of that in each m elements; not of double), or ErrorBound<E>
/// Memory: seven vectors of n numbers (of floats, for two-byte weights).
template <class T, class Bound = policies::FixedBits<8>>
    requires(std::is_same_v<T, float> || std::is_same_v<T, double> || small_float<T>)
class outer_steps {
    using number = std::conditional_t<small_float<T>, float, T>;

public:
    /// @param weights  as training begins; the same on all ranks
    explicit outer_steps(std::span<const T> weights, outer_settings how = {})
        : how_(how), start_(weights.size()), velocity_(weights.size()), difference_(weights.size()),
          feedback_(weights.size())
    {
        for (std::size_t i = 0; i < weights.size(); ++i)
            start_[i] = static_cast<number>(detail::to_number(weights[i]));
    }

    /// Collective. `weights` were trained since the last step; they become the new weights of all ranks, the
    /// same bits on all.
    ///
    /// A step that fails on a rank changes nothing there: neither the weights nor what is kept. If a rank was
    /// lost, the others may go on over a communicator without it: settle(weights, comm), then step again.
    /// @param weights  as many elements as the constructor was told; otherwise size_mismatch is thrown, by
    ///                 this rank alone
    /// @throws error   besides what an allreduce throws, on every rank: count_differs, and out_of_turn if not
    ///                 all ranks have made the same number of steps; settle() helps
    /// Cost: an allreduce of a few numbers, an error_feedback::average, and three passes over n elements.
    template <communicator Comm>
    report step(std::span<T> weights, const Comm& comm)
    {
        check_length("outer_steps::step", weights.size());
        const double largest = detail::outer_difference<T, number>(start_, weights, difference_);
        detail::outer_agreement all(largest, steps_, weights.size());
        all.agree<maxima>("outer_steps::step", comm);
        if (all.most_steps != all.least_steps)
            raise("outer_steps::step", {status::out_of_turn},
                  "not all ranks have made the same number of outer steps; call settle() first");
        attempt_ = all.attempt;
        const report facts = average(all.largest, comm);
        detail::outer_advance<number>(difference_, how_, velocity_, start_);
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = detail::from_number<T>(start_[i]);
        ++steps_;
        return facts;
    }

    /// Collective, over a communicator that has changed: ranks were lost, have come, or do not know whether a
    /// step that failed here succeeded elsewhere. The state of a rank with the most steps, the lowest of
    /// these, becomes that of all; it is sent exactly. What was cut off stays with the rank that has it (with
    /// blocks not that of a step that failed here and succeeded elsewhere).
    ///
    /// @param weights  of a rank that had made fewer steps become the weights after the last one. Others keep
    ///                 what they have trained since then.
    /// @return whether this rank has been given other weights
    /// @throws error   as the collectives that it uses; count_differs on every rank
    template <communicator Comm>
    bool settle(std::span<T> weights, const Comm& comm)
    {
        check_length("outer_steps::settle", weights.size());
        detail::outer_agreement all(0, steps_, weights.size());
        all.agree<maxima>("outer_steps::settle", comm);
        const auto most = static_cast<std::uint64_t>(all.most_steps);
        const bool is_behind = steps_ < most;
        const auto link = as_transport(comm);
        double first = -static_cast<double>(is_behind ? link.size() : link.rank());
        allreduce<maxima>(std::span<double>(&first, 1), comm);
        const int leader = static_cast<int>(-first);

        // Nothing may change before all has come.
        std::vector<number> start(start_), velocity(velocity_);
        double attempt = attempt_;
        bcast(start, leader, comm);
        bcast(velocity, leader, comm);
        bcast(std::span<double>(&attempt, 1), leader, comm);
        start_.swap(start);
        velocity_.swap(velocity);
        if (!is_behind) return false;
        // In the average that this rank did not see is what it contributed.
        if (attempt == attempt_) feedback_.assume_success();
        attempt_ = attempt;
        steps_ = most;
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = detail::from_number<T>(start_[i]);
        return true;
    }

    /// That have succeeded.
    std::uint64_t steps() const noexcept { return steps_; }

private:
    using maxima = plan_of<policies::Op::Max>;

    static constexpr bool has_blocks = Bound::block != 0;
    using feedback = error_feedback<number, std::conditional_t<has_blocks, Bound, policies::RuntimeBound>>;

    static_assert(Bound::bits > 0 || (Bound::kind == bound_kind::absolute && !Bound::given_at_run_time),
                  "ccoll::outer_steps: the bound is FixedBits<b>, FixedBits<b, Block<m>> or ErrorBound<E>");
    void check_length(const char* call, std::size_t found) const
    {
        if (found != start_.size())
            raise(call, {status::size_mismatch, nobody, nobody, -1, static_cast<double>(start_.size()),
                         static_cast<double>(found)});
    }
    template <class Comm>
    report average([[maybe_unused]] double largest, const Comm& comm)
    {
        if constexpr (has_blocks) return feedback_.average(difference_, comm);
        else if constexpr (Bound::kind == bound_kind::absolute)
            return feedback_.average(difference_, Bound::value, comm);
        else {  // zeros are exact with any bound
            const double bound = largest > 0 ? std::max(std::ldexp(largest, -Bound::bits), 1e-300) : 1e-30;
            return feedback_.average(difference_, bound, comm);
        }
    }

    outer_settings how_;
    std::vector<number> start_, velocity_, difference_;
    feedback feedback_;
    std::uint64_t steps_ = 0;
    double attempt_ = 0;  ///< the last one in which this rank took part, or that of the state that it was
                          ///< given
};
// [/doc:outer_steps]

}  // namespace ccoll::inline CCOLL_ABI
