// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/limit.hpp - floor 2. The bound as a number of the element type.
#pragma once

#include <bit>
#include <limits>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/policy/element.hpp>

namespace ccoll::inline CCOLL_ABI::detail::bitzip {

/// The largest T that is not above eb, which errors stay strictly below; 0 if that is no normal number. A
/// difference of two T that is rounded to T and is below a limit was below it before.
template <native_float T>
T limit_of(double eb) noexcept
{
    if (!(eb >= static_cast<double>(std::numeric_limits<T>::min()))) return 0;
    if (eb >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    const T nearest = static_cast<T>(eb);
    return static_cast<double>(nearest) > eb ? std::bit_cast<T>(fields_of<T>::of(nearest) - 1) : nearest;
}

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip
