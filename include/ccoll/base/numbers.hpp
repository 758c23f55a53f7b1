// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/numbers.hpp - floor 0. The few functions of <cmath> that every call needs. <cmath> itself costs every
// file that includes it 0.07 s of compiling, most of it for special functions.
#pragma once

#include <cstdlib>  // std::abs, also for floating-point numbers

#include <ccoll/base/config.hpp>

#if !defined(__GNUC__)
#include <cmath>
#endif

namespace ccoll::inline CCOLL_ABI::detail {

#if defined(__GNUC__)
inline double sqrt_of(double x) noexcept { return __builtin_sqrt(x); }
inline double rounded_down(double x) noexcept { return __builtin_floor(x); }
inline double next_to(double x, double towards) noexcept { return __builtin_nextafter(x, towards); }
inline double times_power_of_two(double x, int power) noexcept { return __builtin_ldexp(x, power); }
#else
inline double sqrt_of(double x) noexcept { return std::sqrt(x); }
inline double rounded_down(double x) noexcept { return std::floor(x); }
inline double next_to(double x, double towards) noexcept { return std::nextafter(x, towards); }
inline double times_power_of_two(double x, int power) noexcept { return std::ldexp(x, power); }
#endif

}  // namespace ccoll::inline CCOLL_ABI::detail
