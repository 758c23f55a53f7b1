// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error_feedback.hpp - floor 5. Averages gradients with a bound that may be as large as the gradients
// themselves: what a step cuts off is kept on the rank and added to the gradient of the next step.
//
// It rests on two facts about sums in encoded form (Codec::SZp). What a rank contributes to the sum is
// decode(encode_addend(x)), a function of its own values and the bound alone, so it can compute by itself
// what it failed to contribute. And the sum of the addends of all ranks (reduce_encoded) decodes to the bits
// of the allreduce.
// Source: Karimireddy et al., Error Feedback Fixes SignSGD and other Gradient Compression Schemes, ICML 2019.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/codec.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// Which bounds error feedback is for.
template <class T, class Bound>
concept feedback_bound = (std::is_same_v<T, float> || std::is_same_v<T, double> || small_float<T>) &&
                         (std::is_same_v<Bound, policies::RuntimeBound> ||
                          (Bound::block != 0 && !Bound::end_to_end && !std::is_same_v<T, double>));

/// What error feedback refuses, on this rank alone.
inline void check_feedback_step(bool is_under_way, std::size_t expected, std::size_t found)
{
    if (is_under_way)
        raise("error_feedback::average", {status::out_of_turn},
              "the last average has not ended; wait for its request first");
    if (found != expected)
        raise("error_feedback::average", {status::size_mismatch, nobody, nobody, -1,
                                          static_cast<double>(expected), static_cast<double>(found)});
}

/// An average that has begun: the end of the step when its allreduce has ended well.
/// @tparam Feedback  a class with
///   status end_step(Gradient, report&, const std::uint8_t* scales)
///                                        begins to store the average and what is kept. `scales` are those
///                                        of blocks, or null; they live as long as this object
///   bool has_ended_step(status&)         has it been stored, or could it not be?
///   void let_go() noexcept               waits for what still uses the gradient
///   const char* explain()                the words for trouble that it had, or ""
/// @tparam Gradient  a span
template <class Feedback, class Gradient>
class feedback_call final : public pending_call {
public:
    /// @param begun  how this rank's part began; if it is trouble, all ranks are told
    /// @param me     this rank
    feedback_call(Feedback& memory, Gradient gradient, std::unique_ptr<pending_call> sum, status begun,
                  int me)
        : memory_(&memory), gradient_(gradient), sum_(std::move(sum)), me_(me)
    {
        sum_->leave();
        memory_->under_way_ = true;
        if (begun == status::ok) return;
        sum_->give_up({begun, me});
        result_ = sum_->result();
        note(begun);
        end(false);
    }
    ~feedback_call() override
    {
        leave();
        end(false);
    }

    bool advance() override
    {
        if (ended_) return true;
        if (!is_summed_) {
            if (!sum_->progress()) return false;
            is_summed_ = true;
            result_ = sum_->result();
            if (result_.trouble.ok())
                note(memory_->end_step(gradient_, result_.facts, sum_->scales_of_blocks()));
        }
        if (result_.trouble.ok()) {
            status stored = status::ok;
            if (!memory_->has_ended_step(stored)) return false;
            note(stored);
        }
        end(result_.trouble.ok());
        return true;
    }
    bool moved() const override { return !is_summed_ && sum_->moved(); }
    /// Nothing wakes a rank that sleeps when a device has done its work, so that is asked for.
    void idle() override
    {
        if (!is_summed_) sum_->idle();
    }
    resting_place rest() override { return is_summed_ ? resting_place{} : sum_->rest(); }
    void abandon() override
    {
        sum_->abandon();
        end(false);
    }
    /// A sum that has ended cannot be given up any more: all ranks have it.
    void give_up(const verdict& why) override
    {
        if (ended_) return;
        if (!is_summed_) {
            sum_->give_up(why);
            result_ = sum_->result();
        }
        end(false);
    }
    const outcome& result() const override { return result_; }
    const char* name() const override { return sum_->name(); }
    bool may_change_thread() const override { return sum_->may_change_thread(); }

private:
    void note(status own)
    {
        if (own == status::ok) return;
        result_.trouble = {own, me_};
        result_.transport_says = memory_->explain();
    }
    /// @param nothing_uses  the gradient any more
    void end(bool nothing_uses) noexcept
    {
        if (ended_) return;
        if (!nothing_uses) memory_->let_go();
        memory_->under_way_ = false;
        ended_ = true;
    }

    Feedback* memory_;
    Gradient gradient_;
    std::unique_ptr<pending_call> sum_;
    int me_;
    outcome result_;
    bool is_summed_ = false, ended_ = false;
};

/// Goes on with a step whose sum has begun.
/// @param begun  how this rank's part began
template <class Feedback, class Gradient, class Comm>
request go_on_with_feedback(Feedback& memory, Gradient gradient, status begun, request sum, const Comm& comm)
{
    auto call = std::make_unique<feedback_call<Feedback, Gradient>>(memory, gradient, sum.release(), begun,
                                                                    as_transport(comm, 0).rank());
    if (!call->progress()) call->join();
    return request(std::move(call));
}

}  // namespace detail

// [doc:error_feedback]
/// The memory of one vector of n gradients on one rank: float, double, or a two-byte float (half, bfloat16,
/// or a registered one).
/// @tparam Bound  RuntimeBound: each average is told its bound. Or FixedBits<b, Block<m>>, not of double: the
///                bound of each m elements follows from their scale, and so does that of what is kept of them
template <class T, class Bound = policies::RuntimeBound>
    requires detail::feedback_bound<T, Bound>
class error_feedback {
    using number = std::conditional_t<small_float<T>, float, T>;  // two-byte floats are averaged as floats
    using plan =
        plan_of<policies::Op::Average, policies::Codec::SZp, Bound, policies::Placement::Homomorphic>;
    static constexpr bool has_blocks = Bound::block != 0;

public:
    explicit error_feedback(std::size_t n)
        : sum_(n), kept_(n), cut_off_(n), share_(has_blocks ? std::min(n, most_at_once) : 0),
          frame_(max_addend_bytes<policies::Codec::SZp, number>(has_blocks ? share_.size() : n))
    {}

    /// `gradient` becomes the average over the ranks, the same bits on all. Nothing is lost over time: the
    /// averages of all steps add up to the averages of all gradients, less what the ranks keep at the end,
    /// which is at most `bound` per element (with blocks 2^-b times their scale, with two-byte floats, and
    /// half the distance of neighbours at the last average). A call that fails changes neither the gradient
    /// nor what is kept, so it may be made again.
    ///
    /// @param gradient  as many elements as the constructor was told; otherwise size_mismatch is thrown, by
    ///                  this rank alone
    /// @param bound     the same on all ranks
    /// Where a gradient is NaN or infinite, so is the average, and nothing is kept.
    /// Cost: that of the allreduce, one encode and one decode, and two passes. Nothing is allocated for it in
    /// each step.
    template <communicator Comm>
    report average(std::span<T> gradient, double bound, const Comm& comm)
        requires(!has_blocks)
    {
        begin_step(gradient, bound);
        report facts = allreduce<plan>(sum_, comm, bound);
        end_step(gradient, facts);
        return facts;
    }
    /// With blocks.
    template <communicator Comm>
    report average(std::span<T> gradient, const Comm& comm)
        requires has_blocks
    {
        return iaverage(gradient, comm).wait();
    }

    /// The same, begun: see ccoll::request. Until it has ended, the gradient and this object belong to the
    /// library: it must live, and takes no other call (out_of_turn).
    template <communicator Comm>
    request iaverage(std::span<T> gradient, double bound, const Comm& comm)
        requires(!has_blocks)
    {
        begin_step(gradient, bound);
        return detail::go_on_with_feedback(*this, gradient, status::ok, iallreduce<plan>(sum_, comm, bound),
                                           comm);
    }
    template <communicator Comm>
    request iaverage(std::span<T> gradient, const Comm& comm)
        requires has_blocks
    {
        add_kept(gradient, cut_off_);
        return detail::go_on_with_feedback(*this, gradient, status::ok,
                                           iallreduce<plan>(cut_off_, sum_, comm), comm);
    }

    /// The last average failed on this rank, which has heard from others that theirs succeeded. So what it
    /// contributed has arrived, and what it cut off is kept. Of slices that were reduced exactly
    /// (report.fallback_blocks on the others) it may keep up to the bound too much. With blocks it may not
    /// know their scales: then nothing is kept.
    void assume_success()
    {
        if constexpr (has_blocks) std::fill(kept_.begin(), kept_.end(), number{0});
        else kept_.swap(cut_off_);
    }

private:
    template <class, class>
    friend class detail::feedback_call;

    /// Adds what was kept to the gradient, and finds what this rank will fail to contribute. What is kept
    /// does not change before the sum has succeeded.
    void begin_step(std::span<const T> gradient, double bound)
    {
        add_kept(gradient, sum_);
        const bool is_addend = find_share(sum_, cut_off_, bound);
        for (std::size_t i = 0; i < sum_.size(); ++i)
            cut_off_[i] = is_addend ? finite(sum_[i] - cut_off_[i]) : 0;
    }
    void add_kept(std::span<const T> gradient, std::span<number> to)
    {
        detail::check_feedback_step(under_way_, kept_.size(), gradient.size());
        for (std::size_t i = 0; i < gradient.size(); ++i)
            to[i] = static_cast<number>(detail::to_number(gradient[i])) + kept_[i];
    }
    /// What this rank contributes of `values`; `share` may be `values`.
    bool find_share(std::span<const number> values, std::span<number> share, double bound)
    {
        return encode_addend<policies::Codec::SZp>(values, frame_, bound).code == status::ok &&
               decode<policies::Codec::SZp>(frame_, share) == status::ok;
    }
    /// In cut_off_ are the values, of which the sum is known now, and with it the scales.
    void find_cut_off([[maybe_unused]] const std::uint8_t* scales)
    {
        if constexpr (has_blocks)
            for (std::size_t from = 0; from < cut_off_.size(); from += most_at_once) {
                number* const values = cut_off_.data() + from;
                const std::span<number> share =
                    std::span(share_).first(std::min(most_at_once, cut_off_.size() - from));
                const std::uint8_t* const some = scales + from / Bound::block;
                detail::divide_blocks(values, share.data(), share.size(), Bound::block, some);
                const bool is_addend = find_share(share, share, Bound::value);
                detail::multiply_blocks(share.data(), share.data(), share.size(), 0, Bound::block, some,
                                        {detail::greatest_number<number>, Bound::value, 2});
                for (std::size_t i = 0; i < share.size(); ++i)
                    values[i] = is_addend ? finite(values[i] - share[i]) : 0;
            }
    }
    status end_step(std::span<T> gradient, report& facts, const std::uint8_t* scales = nullptr)
    {
        if (scales != nullptr) find_cut_off(scales);
        kept_.swap(cut_off_);
        // One rank, or values that no sum holds: of these slices nothing was cut off, and a rank does not
        // know which they are.
        if (facts.exact || facts.fallback_blocks > 0) std::fill(kept_.begin(), kept_.end(), number{0});
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            gradient[i] = detail::from_number<T>(sum_[i]);
            // Of what is rounded off the average every rank keeps the same, so that it is added to the next
            // average once.
            if constexpr (small_float<T>)
                kept_[i] += finite(sum_[i] - static_cast<float>(detail::to_number(gradient[i])));
        }
        if constexpr (small_float<T>) facts.raw_bytes /= 2;  // of the gradients, and not of floats
        return status::ok;
    }
    static constexpr bool has_ended_step(status&) { return true; }
    static constexpr void let_go() noexcept {}
    static constexpr const char* explain() { return ""; }
    static number finite(number x) { return std::isfinite(x) ? x : 0; }

    static constexpr std::size_t most_at_once = std::size_t{1} << 16;  ///< whole blocks

    std::vector<number> sum_, kept_, cut_off_;
    std::vector<number> share_;  ///< of some blocks
    std::vector<std::byte> frame_;
    bool under_way_ = false;
};
// [/doc:error_feedback]

}  // namespace ccoll::inline CCOLL_ABI
