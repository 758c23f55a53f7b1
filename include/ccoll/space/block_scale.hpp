// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// space/block_scale.hpp - floor 3. Scales of blocks of elements (FixedBits<b, Block<n>>): how they are found
// and used on the host. A scale is a power of two, and a byte says which.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <ccoll/base/exact.hpp>
#include <ccoll/base/extremes.hpp>
#include <ccoll/policy/element.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

CCOLL_EXACT_BEGIN

/// Byte s stands for 2^(s - 127). The least one is 2^-126, and byte 0 means the same: a block without finite
/// values other than 0. Byte 255 is 2^128, of a block with values above 2^127.
struct block_scale {
    /// Both powers are normal numbers, although 2^128 and 2^-128 are none.
    struct factors {
        float first, second;
    };
    static factors multiplier(std::uint8_t s) noexcept { return power(std::max(int{s}, 1) - 127); }
    static factors divisor(std::uint8_t s) noexcept { return power(127 - std::max(int{s}, 1)); }
    static double value(std::uint8_t s) noexcept
    {
        const factors f = multiplier(s);
        return static_cast<double>(f.first) * static_cast<double>(f.second);
    }
    /// Of the largest finite magnitude, as bits of a float.
    static std::uint8_t of(std::uint32_t magnitude) noexcept
    {
        if (magnitude == 0) return 0;
        const std::uint32_t exponent = magnitude >> 23;
        return static_cast<std::uint8_t>(
            exponent == 0 ? 1 : exponent + std::uint32_t{(magnitude & 0x7fffff) != 0});
    }

private:
    static factors power(int e) noexcept
    {
        const auto of = [](int part) {
            return std::bit_cast<float>(static_cast<std::uint32_t>(part + 127) << 23);
        };
        return {of(e / 2), of(e - e / 2)};
    }
};

/// Elements of two or four bytes have scales.
template <class T>
concept scaled_element = std::is_same_v<T, float> || small_float<T>;

/// @param scales  one for each `block` of the n values; the last block may be shorter
template <scaled_element T>
void find_block_scales(const T* values, std::size_t n, std::size_t block, std::uint8_t* scales) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::uint32_t infinity = 0x7f800000;
    for (std::size_t from = 0; from < n; from += block) {
        const std::size_t some = std::min(block, n - from);
        std::uint32_t most = 0;
        for (std::size_t i = 0; i < some; ++i) {
            const float x = static_cast<float>(detail::to_number(values[from + i]));
            const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7fffffff;
            most = std::max(most, magnitude < infinity ? magnitude : 0);
        }
        scales[from / block] = block_scale::of(most);
    }
}

/// to[i] = from[i] divided by the scale of its block. `to` may be `from`.
/// @return the largest scale
template <scaled_element T>
std::uint8_t divide_blocks(const T* from, T* to, std::size_t n, std::size_t block,
                           const std::uint8_t* scales) noexcept
{
    CCOLL_EXACT_BODY
    std::uint8_t most = 0;
    for (std::size_t begin = 0; begin < n; begin += block) {
        const std::uint8_t s = scales[begin / block];
        const auto by = block_scale::divisor(s);
        most = std::max(most, s);
        for (std::size_t i = begin; i < std::min(n, begin + block); ++i)
            to[i] =
                detail::from_number<T>(static_cast<float>(detail::to_number(from[i])) * by.first * by.second);
    }
    return most;
}

/// What a result may become if it is too large for its elements. Its error may be to blame: a sum that is as
/// large as it can be lies between two steps, of which the upper one is too large.
struct block_ceiling {
    double greatest;  ///< finite number of the user's elements
    double error;     ///< that a result may have, in units of its scale
};

/// to[i] = from[i] times the scale of its block. `to` may be `from`.
/// @param first  the place of from[0] in the vector, whose blocks the scales are of
template <scaled_element T>
void multiply_blocks(const T* from, T* to, std::size_t n, std::size_t first, std::size_t block,
                     const std::uint8_t* scales, block_ceiling ceiling) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t begin = 0, end = 0; begin < n; begin = end) {
        const std::size_t which = (first + begin) / block;
        end = std::min(n, (which + 1) * block - first);
        const std::uint8_t s = scales[which];
        const auto by = block_scale::multiplier(s);
        const double scale = block_scale::value(s), limit = ceiling.greatest / scale;
        if (limit > 0x1p30) {  // far above the sums of all ranks
            for (std::size_t i = begin; i < end; ++i)
                to[i] = detail::from_number<T>(static_cast<float>(detail::to_number(from[i])) * by.first *
                                               by.second);
            continue;
        }
        for (std::size_t i = begin; i < end; ++i) {
            const double x = static_cast<double>(detail::to_number(from[i])), magnitude = std::fabs(x);
            const bool saturates = magnitude > limit && magnitude - ceiling.error <= limit;
            const double y = saturates ? std::copysign(ceiling.greatest, x) : x * scale;
            to[i] = detail::from_number<T>(static_cast<float>(y));
        }
    }
}

/// Scales of two ranks, as elements of a call: the larger one of each.
template <class T>
void larger_scales(T* into, const T* left, const T* right, std::size_t n) noexcept
{
    const auto* const a = reinterpret_cast<const std::uint8_t*>(left);
    const auto* const b = reinterpret_cast<const std::uint8_t*>(right);
    auto* const c = reinterpret_cast<std::uint8_t*>(into);
    for (std::size_t i = 0; i < n * sizeof(T); ++i) c[i] = std::max(a[i], b[i]);
}

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail
