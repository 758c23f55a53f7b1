// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error_feedback.hpp - averages gradients with a bound that may be as large as the gradients themselves: what a step cuts off is kept on
// the rank and added to the gradient of the next step.
//
// It rests on two facts about sums in encoded form (Codec::SZp). What a rank contributes to the sum is decode(encode_addend(x)), a function
// of its own values and the bound alone, so it can compute by itself what it failed to contribute. And the sum of the addends of all ranks
// (ccoll::reduce_encoded) decodes to the bits of the allreduce.
// Source: Karimireddy et al., Error Feedback Fixes SignSGD and other Gradient Compression Schemes, ICML 2019.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/codec.hpp>

// [doc:error_feedback]
class error_feedback {
public:
    explicit error_feedback(std::size_t n)
        : kept_(n), contributed_(n), frame_(ccoll::max_addend_bytes<ccoll::policies::Codec::SZp, float>(n))
    {}

    /// `gradient` becomes the average over the ranks. Nothing is lost over time: the averages of all steps add up to the averages of all
    /// gradients, less what the ranks keep at the end, which is at most `bound` per element.
    template <class Comm>
    ccoll::report average(std::vector<float>& gradient, double bound, const Comm& comm)
    {
        using namespace ccoll::policies;
        for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += kept_[i];
        const auto encoded = ccoll::encode_addend<Codec::SZp>(gradient, frame_, bound);
        const bool is_addend = encoded.code == ccoll::status::ok && ccoll::decode<Codec::SZp>(frame_, contributed_) == ccoll::status::ok;
        for (std::size_t i = 0; i < gradient.size(); ++i) kept_[i] = is_addend ? gradient[i] - contributed_[i] : 0;

        const auto facts = ccoll::allreduce<Op::Average, Codec::SZp, RuntimeBound, Placement::Homomorphic>(gradient, comm, bound);
        // One rank, or values that no sum holds: of these slices nothing was cut off, and a rank does not know which they are.
        if (facts.exact || facts.fallback_blocks > 0) std::fill(kept_.begin(), kept_.end(), 0.0f);
        return facts;
    }

private:
    std::vector<float> kept_, contributed_;
    std::vector<std::byte> frame_;
};
// [/doc:error_feedback]
