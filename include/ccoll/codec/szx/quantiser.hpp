// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx/quantiser.hpp - floor 2. The steps in which blocks of SZx are counted, and when they alone prove
// the bound.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/codec/szx/layout.hpp>
#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szx {

CCOLL_EXACT_BEGIN

/// What an error must stay strictly below: the largest T that is not above eb; 0 if that is no normal number.
template <element T>
T error_limit(double eb) noexcept
{
    CCOLL_EXACT_BODY
    if (!(eb >= static_cast<double>(std::numeric_limits<T>::min()))) return 0;
    if (eb >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    const T nearest = static_cast<T>(eb);
    return static_cast<double>(nearest) > eb ? std::bit_cast<T>(fields_of<T>::of(nearest) - 1) : nearest;
}

/// What a bound means for blocks. Half a step is 1/32 less than the limit, which leaves room for rounding
/// errors. Step and inverse are normal numbers.
template <element T>
struct block_scale {
    T limit;  ///< what errors stay below
    T step;
    T inverse;  ///< of the step

    /// @param limit  error_limit<T>(eb), not 0
    static block_scale of(T limit) noexcept
    {
        CCOLL_EXACT_BODY
        const T step = std::min(limit, std::numeric_limits<T>::max() / T(16)) * T(1.9375);
        return {limit, step, T(1) / step};
    }
};

/// Bits of the least |x| that counts as special where a chunk is encoded without its special values: no step
/// is exact enough from there on.
template <element T>
typename fields_of<T>::word far_limit(T limit) noexcept
{
    CCOLL_EXACT_BODY
    const double farthest = static_cast<double>(limit) * (sizeof(T) == 4 ? 0x1p24 : 0x1p53);
    const bool is_number = farthest < static_cast<double>(std::numeric_limits<T>::max());
    return is_number ? fields_of<T>::of(static_cast<T>(farthest)) : fields_of<T>::exponent;
}

// A count of steps q is kept as q + offset. These are the low bytes of the mantissa of q + origin, where the
// origin lies between 2^m and 2^(m+1) for a mantissa of m bits: adding it rounds to whole steps. Putting the
// upper bits of the origin before the bytes makes them a number again. This needs no conversions between
// floats and integers, which not every instruction set has for every type.

template <element T>
inline constexpr typename fields_of<T>::word origin_bits =
    fields_of<T>::of(static_cast<T>(std::uint64_t{1} << fields_of<T>::mantissa_bits));

/// @param bytes  1 .. sizeof(T) - 1. In so many bytes, counts are less than the offset, of either sign.
template <element T>
constexpr T offset_of(unsigned bytes) noexcept
{
    return static_cast<T>(
        std::uint64_t{1} << std::min(8 * static_cast<int>(bytes), fields_of<T>::mantissa_bits) >> 1);
}
template <element T>
constexpr T origin_of(unsigned bytes) noexcept
{
    return std::bit_cast<T>(origin_bits<T>) + offset_of<T>(bytes);
}

/// How a block is to be coded: the value in front of it, and how many bytes of each count of steps.
template <element T>
struct block_plan {
    T middle;
    unsigned bytes;        ///< 0: the block is constant; raw_code or more: keep it raw
    bool certain = false;  ///< all values pass; no check is needed
};

/// @param low, high  the least and the largest value of a block without NaN; of two zeros, either serves
///
/// When a block is certain. Let all magnitudes be below 2^(e+1), 2^l the power of two in the limit L, m the
/// bits of T's mantissa, and d the difference of a value from the middle. The middle is no larger than the
/// largest value, so |d| < 2^(e+2). What arithmetic adds to half a step: d is rounded by 2^(e-m) at most, its
/// quotient by |d| 2^-m (the inverse and the product), the product that a decoder takes by (|d| + step / 2)
/// 2^(-m-1), the sum, below 2^(e+3), by 2^(e+1-m). With step / 2 < L <= radius < 2^(e+2) that is at most (1 +
/// 4 + 4 + 2) 2^(e-m) and a little, less than 2^(e-m+4) * 3/4. Half a step is below L by more than 2^(l-5) *
/// (1 - 2^(5-m)). So e <= l+m-9 leaves every error below L, and by more than a rounding. Nothing overflows if
/// 2^(e+3) is a T.
template <element T>
block_plan<T> plan_of(T low, T high, const block_scale<T>& scale) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    using word = typename fields::word;
    // Adding 0 makes -0 a +0: which zero a minimum finds would depend on the order of comparisons. A sum that
    // overflows gives an infinite middle, infinite values give that or NaN, and then nothing passes.
    const T middle = rounded(T(0.5) * ((low + high) + T(0)));
    const word below = fields::magnitude(middle - low), above = fields::magnitude(high - middle);
    const word radius = below > above ? below : above;
    if (radius < fields::of(scale.limit)) return {middle, 0};

    const T most = rounded(std::bit_cast<T>(radius) * scale.inverse);
    if (!(most < offset_of<T>(sizeof(T) - 1) - T(1))) return {middle, raw_code<T>};
    const auto counts =
        static_cast<std::uint64_t>(fields::of(most + std::bit_cast<T>(origin_bits<T>)) - origin_bits<T>);
    const auto power = [](word magnitude) { return static_cast<int>(magnitude >> fields::mantissa_bits); };
    const int largest = power(std::max(fields::magnitude(low), fields::magnitude(high)));
    const bool certain = largest <= power(fields::of(scale.limit)) + fields::mantissa_bits - 9 &&
                         largest < power(fields::exponent) - 3;
    return {middle, static_cast<unsigned>(std::bit_width(counts) + 8) / 8, certain};
}

CCOLL_EXACT_END

}  // namespace ccoll::detail::szx
