// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// slices.hpp - what a call on other memory promises beside the same call on host memory. A memory space may
// cut long vectors into slices of a length of its own. Messages are then fewer, and so are headers; and where
// a sum cannot be held, a whole slice is reduced exactly, so other elements are exact. Plan, promise and, of
// all other sums, bits are the same.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <ccoll/space/space.hpp>
#include <ccoll/run/task.hpp>

namespace slices {

/// May slices of blocks of up to n elements have another length in `Space` than on the host?
/// @param widest  blocks in a message, at most
template <class Space, class T>
constexpr bool may_differ(std::size_t n, std::size_t widest)
{
    return ccoll::detail::memory_space<Space, T>::operations.slice_elements >
               ccoll::detail::usual_slice_elements &&
           n * widest > 4 * ccoll::detail::usual_slice_elements;
}

/// The bytes that both sent, if they differ in headers alone: 48 bytes of the stamp, 48 of the frame, and
/// less than 16 that fill up its index. A slice has at least one chunk, and a chunk at least 5120 elements.
inline bool only_headers_differ(const ccoll::report& of_host, const ccoll::report& found,
                                std::size_t element_bytes)
{
    const std::size_t most_messages = of_host.raw_bytes / (5120 * element_bytes);
    return found.sent_bytes <= of_host.sent_bytes &&
           of_host.sent_bytes - found.sent_bytes <= 112 * most_messages;
}

/// Are two results of a call as near to each other as both promise to be to the exact one, of which each may
/// be rounded p times?
template <class T>
bool both_hold(T a, T b, const ccoll::report& of_a, const ccoll::report& of_b, int p)
{
    if constexpr (ccoll::floating_element<T>) {
        double x = 0, y = 0, eps = 0x1p-7;
        if constexpr (ccoll::small_float<T>) {
            using format = ccoll::detail::float16_format<ccoll::exponent_bits_of<T>>;
            x = format::to_float(std::bit_cast<std::uint16_t>(a));
            y = format::to_float(std::bit_cast<std::uint16_t>(b));
        } else {
            x = a;
            y = b;
            eps = std::numeric_limits<T>::epsilon();
        }
        return x == y || (std::isnan(x) && std::isnan(y)) ||
               std::fabs(x - y) <= of_a.worst_case_error + of_b.worst_case_error +
                                       p * eps * std::max(std::fabs(x), std::fabs(y));
    } else {
        return false;
    }
}

}  // namespace slices
