// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// space/survey.hpp - floor 3. What a call asks about its values before it encodes them: their range, and
// their largest magnitude. On the host; a device has reductions of its own.
#pragma once

#include <bit>
#include <cstddef>
#include <limits>

#include <ccoll/base/exact.hpp>
#include <ccoll/base/extremes.hpp>
#include <ccoll/base/half_kernels.hpp>
#include <ccoll/policy/element.hpp>
#include <ccoll/policy/fill_values.hpp>
#include <ccoll/policy/missing.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// A question about some values, and what was found in the values seen so far.
struct value_survey {
    bool range = false;              ///< asks for lowest and highest, in which fill values do not count
    bool magnitude = false;          ///< asks for largest
    bool counts_non_finite = false;  ///< Inf and NaN are larger than all others; otherwise they do not count
    /// Of the values that count; above `highest` when there are none.
    double lowest = std::numeric_limits<double>::infinity();
    double highest = -std::numeric_limits<double>::infinity();
    double largest = 0;          ///< |x|
    missing_value missing = {};  ///< does not count
};

CCOLL_EXACT_BEGIN

/// Finds the lowest and highest of the values without NaN, infinities and fill values.
template <floating_element T>
void widen_range(const T* values, std::size_t n, value_survey& found)
{
    CCOLL_EXACT_BODY
    using real = looked_at<T>;
    constexpr real most = std::numeric_limits<real>::max();
    // Less the rounding of the type, half and bfloat16 included.
    constexpr real limit = static_cast<real>(least_fill_value * 0.99);
    real low = most;
    real high = std::numeric_limits<real>::lowest();
    real top = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto x = static_cast<real>(to_number(values[i])), m = std::abs(x);
        low = m < limit && x < low ? x : low;
        high = m < limit && x > high ? x : high;
        top = m > top ? m : top;
    }
    if (top >= limit) {
        real last_fill = 0;  // seldom another one
        for (std::size_t i = 0; i < n; ++i) {
            const auto x = static_cast<real>(to_number(values[i])), m = std::abs(x);
            if (!(m >= limit && m <= most) || x == last_fill) continue;
            if (is_fill_value(static_cast<double>(x), fill_rounding<T>)) {
                last_fill = x;
                continue;
            }
            low = std::min(low, x);
            high = std::max(high, x);
        }
    }
    if (low <= high) {
        found.lowest = std::min(found.lowest, static_cast<double>(low));
        found.highest = std::max(found.highest, static_cast<double>(high));
    }
}

/// Largest |x|. Inf and NaN do not count, or are larger than all.
template <floating_element T>
double largest_magnitude(const T* values, std::size_t n, bool counts_non_finite)
{
    if constexpr (small_float<T>)
        if (!counts_non_finite) return static_cast<double>(two_byte::largest_finders<T>(values, n));
    using fields = fields_of<looked_at<T>>;
    constexpr auto infinite = static_cast<typename fields::signed_word>(fields::exponent);
    const auto magnitude = [&](std::size_t i) {
        return fields::signed_magnitude(static_cast<looked_at<T>>(to_number(values[i])));
    };
    typename fields::signed_word largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = magnitude(i) > largest ? magnitude(i) : largest;
    if (largest >= infinite) {
        if (counts_non_finite) return std::numeric_limits<double>::infinity();
        largest = 0;
        for (std::size_t i = 0; i < n; ++i)
            if (magnitude(i) > largest && magnitude(i) < infinite) largest = magnitude(i);
    }
    return static_cast<double>(std::bit_cast<looked_at<T>>(static_cast<typename fields::word>(largest)));
}

CCOLL_EXACT_END

template <floating_element T>
void look_at_present(const T* values, std::size_t n, value_survey& found) noexcept
{
    if (found.range) widen_range(values, n, found);
    if (found.magnitude)
        found.largest = std::max(found.largest, largest_magnitude(values, n, found.counts_non_finite));
}

/// Adds `n` values to what has been found. On the host; a device has a reduction of its own. Elements that
/// are no floats are not looked at.
template <element T>
void look_at([[maybe_unused]] const T* values, [[maybe_unused]] std::size_t n,
             [[maybe_unused]] value_survey& found) noexcept
{
    if constexpr (floating_element<T>) {
        if (!found.missing.declared) return detail::look_at_present(values, n, found);
        constexpr std::size_t most = 512;
        T present[most];
        for (std::size_t from = 0; from < n;) {
            std::size_t some = 0;
            for (; from < n && some < most; ++from)
                if (!detail::is_missing(values[from], found.missing)) present[some++] = values[from];
            detail::look_at_present(present, some, found);
        }
    }
}

}  // namespace ccoll::inline CCOLL_ABI::detail
