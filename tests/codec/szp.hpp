// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// szp.hpp - fields and bounds for the tests of SZp.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"
#include "support/szp_law.hpp"

namespace szp_cases {

using namespace ccoll::policies;
using ccoll::status;

using C = Codec::SZp;
using bytes = std::vector<std::byte>;

/// The step of the grid that a bound asks for.
template <class T>
double step_of(double eb)
{
    return szp_reference::law<T>(eb).step;
}

template <class T>
T value_of(double x)  // as a conversion that overflows to the largest number instead of Inf
{
    const auto most = static_cast<double>(std::numeric_limits<T>::max());
    return static_cast<T>(std::fmax(-most, std::fmin(most, x)));
}

/// @param number  of i, double
template <class T, class Number>
std::vector<T> numbers(std::size_t n, Number number)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(number(i));
    return x;
}

/// 0, 1, 2, ... in no order, below `count` (a prime).
inline std::size_t mixed(std::size_t i, std::size_t count = 251) { return i * 97 % count; }

/// Bounds without end: every 25th power of ten, the range of the values, then one ulp around each limit that
/// the codec knows.
template <class T>
std::vector<double> bounds_for(double range)
{
    using limits = std::numeric_limits<T>;
    const auto smallest = static_cast<double>(limits::min()), eps = static_cast<double>(limits::epsilon());
    const double largest = sizeof(T) == 4 ? 0x1p94 : 0x1p990;
    std::vector<double> bounds{5e-324,
                               1e-310,
                               1e-320,
                               3e-308,
                               1e-45,
                               1e-40,
                               std::nextafter(1e300, 0.0),
                               0x1p975,
                               0x1p100,
                               static_cast<double>(limits::max()) / 2};
    for (int exponent = -300; exponent <= 275; exponent += 25) bounds.push_back(std::pow(10.0, exponent));
    for (const double relative :
         {0.5, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-9, 1e-12, eps, eps / 4, 0x1p-10, 0x1p-24, 0x1p-53})
        bounds.push_back(relative * range);
    for (const double at : {smallest, 4 * smallest, largest})
        for (const double eb : {std::nextafter(at, 0.0), at, std::nextafter(at, 1e300)}) bounds.push_back(eb);
    std::erase_if(bounds, [](double eb) { return !ccoll::is_bound(eb); });
    return bounds;
}

/// What no general field has: one of each kind of chunk and block.
template <class T>
std::vector<fields::named<T>> special(std::size_t n)
{
    const auto off_at_the_end = [&](std::vector<T> x) {
        if (n > 0) x[n - 1] = static_cast<T>(3.14159);
        return x;
    };
    const auto sixteenths = numbers<T>(n, [](std::size_t i) { return static_cast<double>(mixed(i)) / 16; });
    const auto eighths =
        numbers<T>(n, [](std::size_t i) { return 4096 + static_cast<double>(mixed(i)) / 8; });
    const auto integers =
        numbers<T>(n, [](std::size_t i) { return static_cast<double>(mixed(i, 100003)) - 50000; });
    return {
        {"sixteenths", sixteenths},
        {"sixteenths, not the last", off_at_the_end(sixteenths)},
        {"eighths on an offset", eighths},
        {"eighths, not the last", off_at_the_end(eighths)},
        {"integers", integers},
        {"integers, not the last", off_at_the_end(integers)},
        {"an outlier in some blocks",
         numbers<T>(
             n, [](std::size_t i) { return i % 500 == 77 ? 1e30 : 1e-3 * static_cast<double>(mixed(i)); })},
        {"a tight bound",
         numbers<T>(n, [](std::size_t i) { return 100 + 1e-3 * static_cast<double>(mixed(i)); })},
        {"the largest numbers in turn",
         numbers<T>(n,
                    [](std::size_t i) {
                        return (i % 2 == 0 ? 1 : -1) * static_cast<double>(std::numeric_limits<T>::max());
                    })},
        {"a NaN in each block", numbers<T>(n,
                                           [](std::size_t i) {
                                               return i % 32 == i / 32 % 32
                                                          ? std::nan("")
                                                          : 1e-3 * static_cast<double>(mixed(i));
                                           })},
        {"Inf in each block", numbers<T>(n, [](std::size_t i) {
             return i % 32 == 5 ? HUGE_VAL : i % 32 == 9 ? -HUGE_VAL : 0.25 * static_cast<double>(mixed(i));
         })}};
}

template <class T>
std::vector<fields::named<T>> all_fields(std::size_t n)
{
    auto list = fields::all<T>(n);
    for (auto& field : special<T>(n)) list.push_back(std::move(field));
    return list;
}

template <class T>
bytes addend_of(const std::vector<T>& x, double eb)
{
    bytes frame(ccoll::max_addend_bytes<C, T>(x.size()));
    const auto result = ccoll::encode_addend<C>(x, frame, eb);
    return {frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(result.bytes)};
}

/// Bytes of header and index.
inline std::size_t start_of(std::size_t n) { return frame_edit::start((n + 8191) / 8192); }

/// Chunks for movement with fewer values are raw.
constexpr std::size_t least = 512;

}  // namespace szp_cases
