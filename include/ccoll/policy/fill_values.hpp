// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/fill_values.hpp - floor 1. Numbers that stand for missing values although nobody has declared them.
// Those that are declared are in policy/missing.hpp.
#pragma once

#include <limits>
#include <type_traits>

#include <ccoll/base/exact.hpp>
#include <ccoll/base/extremes.hpp>
#include <ccoll/base/numbers.hpp>
#include <ccoll/policy/element.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// The type in which values of T are examined.
template <floating_element T>
using looked_at = std::conditional_t<native_float<T>, T, float>;

CCOLL_EXACT_BEGIN

/// From here on a number may stand for missing data.
inline constexpr double least_fill_value = 1e15;

/// Does a finite number, by the conventions of data formats and their users, say that there is no value? Such
/// numbers are, with either sign, d x 10^k for one digit d and k >= 15 (1e20, 1e35, -9e33), 0x1.Ep+122
/// (NetCDF's 9.96921e36), and the largest float and double. A number may differ from these by its rounding to
/// float, or to its own type if that is shorter. No other number is left out of a range, so real data are
/// kept in it, whatever their unit. A number that is left out by mistake makes bounds tighter, never wider.
/// @param rounding  relative
inline bool is_fill_value(double x, double rounding) noexcept
{
    CCOLL_EXACT_BODY
    const double m = std::abs(x);
    const auto is = [=](double fill) { return std::abs(m - fill) <= rounding * fill; };
    if (!(m >= least_fill_value * (1 - rounding))) return false;
    if (is(0x1.Ep+122) || is(std::numeric_limits<float>::max()) || m == std::numeric_limits<double>::max())
        return true;
    double power = least_fill_value;
    while (m >= 9.5 * power)
        power *= 10;  // its error, up to 300 roundings to double, is far less than `rounding`
    return is(rounded(rounded_down(m / power + 0.5) * power));
}

/// How much a fill value may differ from the number that was written, relative to it.
template <floating_element T>
inline constexpr double fill_rounding =
    std::max(0x1.001p-24, static_cast<double>(std::numeric_limits<looked_at<T>>::epsilon()) *
                              (sizeof(T) < sizeof(looked_at<T>) ? 0x1.001p+15 : 0x1p-1));

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail
