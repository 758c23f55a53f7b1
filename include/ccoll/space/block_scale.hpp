// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// space/block_scale.hpp - floor 3. Scales of blocks of elements (FixedBits<b, Block<n>>): how they are found
// and used on the host. A scale is a power of two, and a byte says which.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ccoll/base/exact.hpp>
#include <ccoll/base/isa.hpp>
#include <ccoll/policy/element.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

CCOLL_EXACT_BEGIN

/// Byte s stands for 2^(s - 127). The least one is 2^-126, and byte 0 means the same: a block without finite
/// values other than 0. Byte 255 is 2^128, of a block with values above 2^127. Functions of a device, too.
struct block_scale {
    /// Both powers are normal numbers, although 2^128 and 2^-128 are none.
    struct factors {
        float first, second;

        CCOLL_HOST_DEVICE float times(float x) const noexcept { return x * first * second; }
    };
    CCOLL_HOST_DEVICE static factors multiplier(std::uint8_t s) noexcept { return power(exponent_of(s)); }
    CCOLL_HOST_DEVICE static factors divisor(std::uint8_t s) noexcept { return power(-exponent_of(s)); }
    CCOLL_HOST_DEVICE static double value(std::uint8_t s) noexcept
    {
        const factors f = multiplier(s);
        return static_cast<double>(f.first) * static_cast<double>(f.second);
    }
    /// Of the largest finite magnitude, as bits of a float.
    CCOLL_HOST_DEVICE static std::uint8_t of(std::uint32_t magnitude) noexcept
    {
        if (magnitude == 0) return 0;
        const std::uint32_t exponent = magnitude >> 23;
        return static_cast<std::uint8_t>(
            exponent == 0 ? 1 : exponent + std::uint32_t{(magnitude & 0x7fffff) != 0});
    }

private:
    CCOLL_HOST_DEVICE static int exponent_of(std::uint8_t s) noexcept { return (s > 1 ? int{s} : 1) - 127; }
    CCOLL_HOST_DEVICE static float power_of_two(int e) noexcept
    {
        return __builtin_bit_cast(float, static_cast<std::uint32_t>(e + 127) << 23);
    }
    CCOLL_HOST_DEVICE static factors power(int e) noexcept
    {
        return {power_of_two(e / 2), power_of_two(e - e / 2)};
    }
};

/// What a result may become if it is too large for its elements. Its error may be to blame: a sum that is as
/// large as it can be lies between two steps, of which the upper one is too large.
struct block_ceiling {
    double greatest;  ///< finite number of the user's elements
    double error;     ///< that a result may have, in units of its scale
    double most;      ///< no finite result is as large, in units of its scale
};

/// Results of a block, from units of its scale.
struct block_results {
    block_scale::factors by;
    double scale, limit;  ///< limit: the greatest number, in units of the scale
    block_ceiling ceiling;

    CCOLL_HOST_DEVICE static block_results of(std::uint8_t s, block_ceiling ceiling) noexcept
    {
        const double scale = block_scale::value(s);
        return {block_scale::multiplier(s), scale, ceiling.greatest / scale, ceiling};
    }
    /// Is no result too large?
    CCOLL_HOST_DEVICE bool are_plain() const noexcept { return limit > ceiling.most; }
    CCOLL_HOST_DEVICE float plain(float x) const noexcept { return by.times(x); }
    CCOLL_HOST_DEVICE float below_ceiling(float x) const noexcept
    {
        const double units = static_cast<double>(x), magnitude = units < 0 ? -units : units;
        const bool saturates = magnitude > limit && magnitude - ceiling.error <= limit;
        const double greatest = units < 0 ? -ceiling.greatest : ceiling.greatest;
        return static_cast<float>(saturates ? greatest : units * scale);
    }
};

/// Elements of two or four bytes have scales.
template <class T>
concept scaled_element = std::is_same_v<T, float> || small_float<T>;

namespace of_block {

inline constexpr std::size_t piece_elements = 256;

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>
namespace portable {
#include <ccoll/space/block_scale.inl>
}  // namespace portable
#include <ccoll/base/kernels_end.inl>

#if defined(CCOLL_X86_KERNELS)
#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>
namespace avx2 {
#include <ccoll/space/block_scale.inl>
}  // namespace avx2
#include <ccoll/base/kernels_end.inl>
#endif

template <scaled_element T>
inline constexpr by_isa magnitude_finders{CCOLL_UP_TO_AVX2(largest_magnitude<T>)};
template <scaled_element T>
inline constexpr by_isa multipliers{CCOLL_UP_TO_AVX2(times<T>)};

}  // namespace of_block

/// @param scales  one for each `block` of the n values; the last block may be shorter
template <scaled_element T>
void find_block_scales(const T* values, std::size_t n, std::size_t block, std::uint8_t* scales) noexcept
{
    const auto largest = of_block::magnitude_finders<T>.in_use();
    for (std::size_t from = 0; from < n; from += block)
        scales[from / block] =
            block_scale::of(static_cast<std::uint32_t>(largest(values + from, std::min(block, n - from))));
}

/// to[i] = from[i] divided by the scale of its block. `to` may be `from`.
/// @return the largest scale
template <scaled_element T>
std::uint8_t divide_blocks(const T* from, T* to, std::size_t n, std::size_t block,
                           const std::uint8_t* scales) noexcept
{
    const auto multiply = of_block::multipliers<T>.in_use();
    std::uint8_t most = 0;
    for (std::size_t begin = 0; begin < n; begin += block) {
        const std::uint8_t s = scales[begin / block];
        most = std::max(most, s);
        multiply(from + begin, to + begin, std::min(block, n - begin), block_scale::divisor(s));
    }
    return most;
}

/// to[i] = from[i] times the scale of its block. `to` may be `from`.
/// @param first  the place of from[0] in the vector, whose blocks the scales are of
template <scaled_element T>
void multiply_blocks(const T* from, T* to, std::size_t n, std::size_t first, std::size_t block,
                     const std::uint8_t* scales, block_ceiling ceiling) noexcept
{
    CCOLL_EXACT_BODY
    const auto multiply = of_block::multipliers<T>.in_use();
    for (std::size_t begin = 0, end = 0; begin < n; begin = end) {
        const std::size_t which = (first + begin) / block;
        end = std::min(n, (which + 1) * block - first);
        const auto results = block_results::of(scales[which], ceiling);
        if (results.are_plain()) {
            multiply(from + begin, to + begin, end - begin, results.by);
            continue;
        }
        for (std::size_t i = begin; i < end; ++i)
            to[i] =
                detail::from_number<T>(results.below_ceiling(static_cast<float>(detail::to_number(from[i]))));
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
