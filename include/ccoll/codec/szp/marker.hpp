// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/marker.hpp - floor 2. Finds a value such as -9999 that stands for missing ones, by the jumps to it and back.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <ccoll/codec/specials.hpp>
#include <ccoll/codec/szp/words.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

CCOLL_EXACT_BEGIN  // for its optimisation

/// The first place from `begin` on, 1 or more, whose value is farthest from the one before it; 0 if there is no place.
/// @param end  at most begin + block_elements
template <element T>
std::size_t farthest_jump(const T* x, std::size_t begin, std::size_t end) noexcept
{
    CCOLL_EXACT_BODY
    if (end <= begin) return 0;
    double jumps[block_elements] = {}, most[4] = {};
    for (std::size_t i = 0; i < end - begin; ++i)
        jumps[i] = std::fabs(static_cast<double>(x[begin + i]) - static_cast<double>(x[begin + i - 1]));
    for (std::size_t i = 0; i < block_elements; i += 4)
        for (std::size_t j = 0; j < 4; ++j) most[j] = jumps[i + j] > most[j] ? jumps[i + j] : most[j];
    const double farthest = std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
    std::size_t i = 0;
    while (jumps[i] != farthest) ++i;
    return begin + i;
}

CCOLL_EXACT_END

/// The values around block k that are not special are those nearer to the one side of its largest jump, and those nearer to the other.
/// A marker is a side where all values are equal, bit for bit, and there are two at least; of two such sides the one with more values.
/// @param x  n values, with bridges in the places of `gone`    @return its bits, or rule::nothing
template <element T>
[[gnu::noinline]] typename fields_of<T>::word find_marker(const T* x, std::size_t n, std::size_t k, const specials::places& gone) noexcept
{
    CCOLL_EXACT_BODY
    constexpr auto nothing = specials::rule<T>::nothing;
    const std::size_t begin = block_elements * k, end = std::min(n, begin + block_elements);
    const std::size_t at = farthest_jump(x, std::max<std::size_t>(begin, 1), end);
    if (at == 0) return nothing;
    struct side {
        double value;
        typename fields_of<T>::word bits;
        std::size_t values = 0;
        bool equal = true;

        explicit side(const T* one) noexcept : value(static_cast<double>(*one)), bits(specials::bits_at(one, 0)) {}
    };
    side before(x + at - 1), behind(x + at);
    for (std::size_t i = begin - std::min(begin, block_elements); i < std::min(n, end + block_elements); ++i) {
        if (gone.values > 0 && (gone.masks[i / block_elements] >> i % block_elements & 1) != 0) continue;
        const double value = static_cast<double>(x[i]);
        side& nearer = std::fabs(value - before.value) < std::fabs(value - behind.value) ? before : behind;
        ++nearer.values;
        nearer.equal = nearer.equal && specials::bits_at(x, i) == nearer.bits;
        if (!before.equal && !behind.equal) break;
    }
    const bool is_before = before.equal && before.values > 1, is_behind = behind.equal && behind.values > 1;
    if (!is_before && !is_behind) return nothing;
    return is_behind && (!is_before || behind.values >= before.values) ? behind.bits : before.bits;
}

}  // namespace ccoll::detail::szp
