// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error_feedback.hpp - floor 5. Averages gradients with a bound that may be as large as the gradients themselves: what a step cuts off is
// kept on the rank and added to the gradient of the next step.
//
// It rests on two facts about sums in encoded form (Codec::SZp). What a rank contributes to the sum is decode(encode_addend(x)), a function
// of its own values and the bound alone, so it can compute by itself what it failed to contribute. And the sum of the addends of all ranks
// (reduce_encoded) decodes to the bits of the allreduce.
// Source: Karimireddy et al., Error Feedback Fixes SignSGD and other Gradient Compression Schemes, ICML 2019.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/codec.hpp>

namespace ccoll::inline CCOLL_ABI {

// [doc:error_feedback]
/// The memory of one vector of n gradients on one rank: float, double, or a two-byte float (half, bfloat16, or a registered one).
template <class T>
    requires(std::is_same_v<T, float> || std::is_same_v<T, double> || small_float<T>)
class error_feedback {
    using number = std::conditional_t<small_float<T>, float, T>;  // two-byte floats are averaged as floats

public:
    explicit error_feedback(std::size_t n) : sum_(n), kept_(n), contributed_(n), frame_(max_addend_bytes<policies::Codec::SZp, number>(n))
    {}

    /// `gradient` becomes the average over the ranks, the same bits on all. Nothing is lost over time: the averages of all steps add up to
    /// the averages of all gradients, less what the ranks keep at the end, which is at most `bound` per element (with two-byte floats, and
    /// half the distance of neighbours at the last average).
    ///
    /// @param gradient  as many elements as the constructor was told; otherwise size_mismatch is thrown, by this rank alone
    /// @param bound     the same on all ranks
    /// Where a gradient is NaN or infinite, so is the average, and nothing is kept.
    /// Cost: that of the allreduce, one encode and one decode, and two passes. Nothing is allocated for it in each step.
    template <communicator Comm>
    report average(std::span<T> gradient, double bound, const Comm& comm)
    {
        using namespace policies;
        const std::size_t n = gradient.size();
        if (n != kept_.size())
            raise("error_feedback::average",
                  {status::size_mismatch, nobody, nobody, -1, static_cast<double>(kept_.size()), static_cast<double>(n)});
        for (std::size_t i = 0; i < n; ++i) sum_[i] = static_cast<number>(detail::to_number(gradient[i])) + kept_[i];
        const encode_result encoded = encode_addend<Codec::SZp>(sum_, frame_, bound);
        const bool is_addend = encoded.code == status::ok && decode<Codec::SZp>(frame_, contributed_) == status::ok;
        for (std::size_t i = 0; i < n; ++i) kept_[i] = is_addend ? finite(sum_[i] - contributed_[i]) : 0;

        report facts = allreduce<Op::Average, Codec::SZp, RuntimeBound, Placement::Homomorphic>(sum_, comm, bound);
        // One rank, or values that no sum holds: of these slices nothing was cut off, and a rank does not know which they are.
        if (facts.exact || facts.fallback_blocks > 0) std::fill(kept_.begin(), kept_.end(), number{0});
        for (std::size_t i = 0; i < n; ++i) {
            gradient[i] = detail::from_number<T>(sum_[i]);
            // Of what is rounded off the average every rank keeps the same, so that it is added to the next average once.
            if constexpr (small_float<T>) kept_[i] += finite(sum_[i] - static_cast<float>(detail::to_number(gradient[i])));
        }
        if constexpr (small_float<T>) facts.raw_bytes /= 2;  // of the gradients, and not of floats
        return facts;
    }

private:
    static number finite(number x) { return std::isfinite(x) ? x : 0; }

    std::vector<number> sum_, kept_, contributed_;
    std::vector<std::byte> frame_;
};
// [/doc:error_feedback]

}  // namespace ccoll::inline CCOLL_ABI
