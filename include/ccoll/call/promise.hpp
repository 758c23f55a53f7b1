// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// call/promise.hpp - floor 3. From the bound that a user asks for to the bound of one compression, and from
// there to the bound that the result is promised.
#pragma once

#include <limits>

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/numbers.hpp>
#include <ccoll/base/workspace.hpp>
#include <ccoll/call/decision.hpp>
#include <ccoll/plan/error_model.hpp>
#include <ccoll/space/space.hpp>
#include <ccoll/instrument/report.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

CCOLL_EXACT_BEGIN

/// A bound such that `parts` times it is not above `whole`, even after rounding.
inline double share_of(double whole, double parts)
{
    CCOLL_EXACT_BODY
    double share = whole / parts;
    while (share * parts > whole) share = next_to(share, 0.0);
    return share;
}

/// The absolute bound that a relative one stands for. Data without a range are constant, and should stay what
/// they are: the bound is far below half an ulp of the constant, and large enough for sums of 2^50 of them in
/// the 190 bits of a wide integer (codec/exceptions). It is never below what all codecs can use, a few times
/// the smallest normal number (SZp: 4 times, of which half is left for two-byte floats), unless the constant
/// itself is so small.
template <element T>
double bound_from_range(double fraction, double lowest, double highest)
{
    CCOLL_EXACT_BODY
    if constexpr (floating_element<T>) {
        using limits = std::numeric_limits<looked_at<T>>;
        const double eb = fraction * (highest - lowest);
        constexpr double least = limits::min(), usable = 16 * least;
        if (lowest < highest) return eb >= least ? std::min(eb, 1e299) : least;
        if (lowest != highest) return usable;  // there are no values
        const double constant = std::abs(lowest);
        const bool tiny = constant != 0 && constant < usable * 4 / static_cast<double>(limits::epsilon());
        return tiny ? least : std::max(usable, constant * 0x1p-140);
    } else {
        return 0;
    }
}

/// The same for FixedBits, whose range is that of the largest magnitude.
template <element T>
double bound_from_range(bool of_magnitude, double fraction, double lowest, double highest)
{
    const double largest = std::max(std::abs(lowest), std::abs(highest));
    const bool widens = of_magnitude && lowest <= highest;  // else there are no values
    return widens ? bound_from_range<T>(fraction, -largest, largest)
                  : bound_from_range<T>(fraction, lowest, highest);
}

/// Does every sum of addends up to this magnitude stay the same when it is decoded to T and encoded again?
/// The decoded sum is a multiple of the step, rounded to T. If rounding moves it by less than a quarter of
/// the step, the nearest multiple is still the same.
/// @param step  of the codec's grid; 0: not known
template <element T>
bool survives_decoding(double magnitude, double step)
{
    CCOLL_EXACT_BODY
    if constexpr (floating_element<T>) {
        constexpr int exponent_bits = exponent_bits_of<T>;
        constexpr int digits =
            exponent_bits > 0 ? 16 - exponent_bits : std::numeric_limits<looked_at<T>>::digits;
        // A usable step is far above the denormals of other types.
        constexpr double least = exponent_bits == 5 ? 0x1p-24 : 0;
        return magnitude < greatest_number<T> &&
               std::max(times_power_of_two(magnitude, -digits), least / 2) < step / 4;
    } else {
        return false;
    }
}

CCOLL_EXACT_END

/// What worst_case_units depends on, besides the schedule.
constexpr int variant_of(placement_rules rules, error_growth growth, int root)
{
    return ((root * 2 + int{rules.forward_encoded}) * 2 + int{rules.reduce_encoded}) * 3 +
           static_cast<int>(growth);
}

/// How three figures are related: the bound of one compression, the bound of the result, and the number of
/// compressions in between.
class promise {
public:
    promise() = default;

    /// @param p, root   of the ranks among which a codec is used
    /// @param divides   what the sum is divided by at the end: 1, or the number of ranks for an average
    promise(const bound_wish& wish, const schedule& path, placement_rules rules, workspace& memory, int p,
            int root, int divides)
        : divides_(divides), growth_(wish.growth), rules_(rules), at_rate_(wish.kind == bound_kind::rate)
    {
        const double sum =
            memory.remember(reinterpret_cast<const void*>(path.step_at), variant_of(rules, wish.growth, root),
                            p, [&] { return wish.units(path, rules, wish.growth, p, root); });
        units_ = sum / divides;
        if (wish.end_to_end && units_ > 0) parts_ = units_;
    }

    /// The bound of one compression. @param asked  for one compression or for the result, as the plan says
    double of_one(double asked) const { return share_of(asked, parts_); }

    /// The largest error of an element of the result. @param eb  of one compression
    double worst(double eb) const { return eb * units_; }
    /// @param eb  of one compression
    void write(report& facts, double eb) const
    {
        if (at_rate_) eb = std::numeric_limits<double>::infinity();
        facts.error_bound = eb;
        facts.worst_case_error = eb * units_;
        facts.probable_error = eb * probable_units(units_ * divides_, growth_) / divides_;
        facts.exact = false;
        facts.same_bits = rules_.forward_encoded;
    }

private:
    double units_ = 0, parts_ = 1, divides_ = 1;
    error_growth growth_ = error_growth::adds;
    placement_rules rules_{};
    bool at_rate_ = false;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
