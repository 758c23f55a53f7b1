// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/wide.hpp - floor 2. The wide integers W that stand for exceptional values in addends: 192
// bits in two's complement, and four states that are no numbers. All of it is exact integer arithmetic on
// bits of values. Kernels call it, so it does without <bit>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/codec/integers.hpp>
#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI::detail::exceptions {

using integers::u8, integers::u16, integers::u32, integers::u64, integers::i32, integers::i64,
    integers::leading_zeros;

CCOLL_EXACT_BEGIN  // for its optimisation

struct wide {
    u64 limb[3] = {};  ///< lowest first

    static constexpr u64 state_limb = u64{1} << 63;
    enum state : u64 { nan, plus_infinity, minus_infinity, missing, overflow };

    /// `overflow` is what operations return in place of 2^190 or more. No section has it.
    CCOLL_HOST_DEVICE static constexpr wide of(state s) noexcept { return {{s, 0, state_limb}}; }
    CCOLL_HOST_DEVICE static constexpr wide too_large() noexcept { return of(overflow); }
    CCOLL_HOST_DEVICE static constexpr wide of(i64 q) noexcept
    {
        const u64 above = q < 0 ? ~u64{0} : 0;
        return {{static_cast<u64>(q), above, above}};
    }

    CCOLL_HOST_DEVICE constexpr bool is_state() const noexcept { return limb[2] == state_limb; }
    CCOLL_HOST_DEVICE constexpr bool is(state s) const noexcept { return *this == of(s); }
    CCOLL_HOST_DEVICE constexpr bool is_zero() const noexcept { return (limb[0] | limb[1] | limb[2]) == 0; }
    CCOLL_HOST_DEVICE constexpr bool is_negative() const noexcept { return limb[2] >> 63 != 0; }
    /// May it stand in a section? A number is below 2^190 in magnitude.
    CCOLL_HOST_DEVICE constexpr bool is_valid() const noexcept
    {
        if (is_state()) return limb[1] == 0 && limb[0] <= missing;
        const u64 top = limb[2] >> 62;
        return top == 0 || (top == 3 && (limb[2] << 2 | limb[1] | limb[0]) != 0);
    }
    CCOLL_HOST_DEVICE friend constexpr bool operator==(const wide& a, const wide& b) noexcept
    {
        return a.limb[0] == b.limb[0] && a.limb[1] == b.limb[1] && a.limb[2] == b.limb[2];
    }
};
static_assert(sizeof(wide) == 24);

/// The sum of two integers below 2^191 in magnitude.
CCOLL_HOST_DEVICE constexpr wide plain_sum(const wide& a, const wide& b) noexcept
{
    wide sum;
    u64 carry = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        const u64 once = a.limb[i] + b.limb[i];
        sum.limb[i] = once + carry;
        carry = (once < a.limb[i]) | (sum.limb[i] < once);
    }
    return sum;
}
CCOLL_HOST_DEVICE constexpr wide negated(wide a) noexcept
{
    for (u64& l : a.limb) l = ~l;
    return plain_sum(a, wide::of(i64{1}));
}
CCOLL_HOST_DEVICE constexpr wide checked(const wide& a) noexcept
{
    return a.is_valid() ? a : wide::too_large();
}

CCOLL_HOST_DEVICE constexpr wide operator+(const wide& a, const wide& b) noexcept
{
    if (!a.is_state() && !b.is_state()) [[likely]] {
        const wide sum = plain_sum(a, b);
        return sum.is_state() ? wide::too_large() : checked(sum);
    }
    constexpr wide::state order[] = {wide::overflow, wide::missing, wide::nan};
    for (const wide::state s : order)
        if (a.is(s) || b.is(s)) return wide::of(s);
    if (a.is_state() && b.is_state() && a != b) return wide::of(wide::nan);
    return a.is_state() ? a : b;
}

/// Multiplies an unsigned integer. @return what overflows
template <std::size_t Limbs>
CCOLL_HOST_DEVICE constexpr u64 multiply(u64 (&a)[Limbs], u32 by) noexcept
{
    u64 carry = 0;
    for (u64& l : a) {
        const u64 low = (l & 0xffffffffu) * by + carry, high = (l >> 32) * by + (low >> 32);
        l = high << 32 | (low & 0xffffffffu);
        carry = high >> 32;
    }
    return carry;
}
/// Divides an unsigned integer. @return the remainder
template <std::size_t Limbs>
CCOLL_HOST_DEVICE constexpr u64 divide(u64 (&a)[Limbs], u32 by) noexcept
{
    u64 rest = 0;
    for (std::size_t i = Limbs; i-- > 0;) {
        const u64 high = rest << 32 | a[i] >> 32, low = (high % by) << 32 | (a[i] & 0xffffffffu);
        a[i] = (high / by) << 32 | low / by;
        rest = low % by;
    }
    return rest;
}
/// @param by  below 64
template <std::size_t Limbs>
CCOLL_HOST_DEVICE constexpr void shift_up(u64 (&a)[Limbs], int by) noexcept
{
    if (by == 0) return;
    for (std::size_t i = Limbs; i-- > 0;) a[i] = a[i] << by | (i > 0 ? a[i - 1] >> (64 - by) : 0);
}

/// A step: an odd integer below 2^32 times a power of two. Law: at most 22 significant bits.
struct exact_step {
    u32 odd = 1;
    int exponent = 0;

    constexpr explicit exact_step(double step) noexcept : exact_step(of_bits(fields_of<double>::of(step))) {}
    CCOLL_HOST_DEVICE constexpr exact_step(u32 integer, int power) noexcept : odd(integer), exponent(power) {}
    /// @param bits  of a positive normal number
    CCOLL_HOST_DEVICE static constexpr exact_step of_bits(u64 bits) noexcept
    {
        constexpr u64 one = fields_of<double>::exponent_one;
        const u64 mantissa = (bits & (one - 1)) | one;
        const int zeros = 63 - leading_zeros(mantissa & (0 - mantissa));
        return {static_cast<u32>(mantissa >> zeros), static_cast<int>(bits / one) - 1075 + zeros};
    }
};

/// rint(x / step), ties to even, without an error; NaN and infinities become states. @param bits  of x
template <element T>
CCOLL_HOST_DEVICE constexpr wide wide_of_bits(typename fields_of<T>::word bits,
                                              const exact_step& step) noexcept
{
    using fields = fields_of<T>;
    const u64 w = bits & ~fields::sign;
    const bool negative = (bits & fields::sign) != 0;
    if (w > fields::exponent) return wide::of(wide::nan);
    if (w == fields::exponent) return wide::of(negative ? wide::minus_infinity : wide::plus_infinity);
    const bool normal = w >= fields::exponent_one;
    const u64 mantissa = (w & (fields::exponent_one - 1)) | (normal ? fields::exponent_one : 0);
    constexpr int bias = (1 << (fields::exponent_bits - 1)) - 1;
    int left = (normal ? static_cast<int>(w >> fields::mantissa_bits) : 1) - bias - fields::mantissa_bits -
               step.exponent;
    // The quotient of mantissa x 2^left by the step's odd part: 32 bits at a time.
    u64 by = step.odd;
    wide q;
    if (left < 0) {
        if (64 - leading_zeros(by) - left > 62) return q;  // the mantissa is below 2^53: less than half
        by <<= -left;
        left = 0;
    }
    q.limb[0] = mantissa / by;
    u64 rest = mantissa % by;
    while (left > 0) {
        const int digits = left < 32 ? left : 32;
        if (q.limb[2] >> (62 - digits) != 0) return wide::too_large();
        shift_up(q.limb, digits);
        rest <<= digits;
        q.limb[0] |= rest / by;  // below 2^digits
        rest %= by;
        left -= digits;
        if (rest == 0 && q.is_zero()) return q;
    }
    if (rest > by - rest || (rest == by - rest && (q.limb[0] & 1) != 0)) q = plain_sum(q, wide::of(i64{1}));
    if (q.limb[2] >> 62 != 0) return wide::too_large();
    return negative ? negated(q) : q;
}

/// The bits of (W + q) step / divisor, rounded once to T, ties to even.
/// @param divisor  positive    @param missing  the bits of a missing value
template <element T>
CCOLL_HOST_DEVICE constexpr typename fields_of<T>::word value_of(const wide& w, i64 q, const exact_step& step,
                                                                 i32 divisor,
                                                                 typename fields_of<T>::word missing) noexcept
{
    using fields = fields_of<T>;
    using word = typename fields::word;
    if (w.is_state()) {
        if (w.is(wide::missing)) return missing;
        if (w.is(wide::plus_infinity)) return fields::exponent;
        if (w.is(wide::minus_infinity)) return fields::exponent | fields::sign;
        return fields::exponent | fields::exponent_one >> 1;
    }
    const wide sum = plain_sum(w, wide::of(q));
    if (sum.is_zero()) return 0;
    const wide positive = sum.is_negative() ? negated(sum) : sum;
    const word sign = sum.is_negative() ? fields::sign : 0;
    // The highest bit of the numerator goes to bit 255, so that its quotient has 224 bits or more.
    u64 a[4] = {positive.limb[0], positive.limb[1], positive.limb[2], 0};
    multiply(a, step.odd);
    int exponent = 255 + step.exponent;  // of the value: 2^exponent <= |value| < 2^(exponent + 1)
    const auto normalise = [&] {
        for (; a[3] == 0; exponent -= 64) a[3] = a[2], a[2] = a[1], a[1] = a[0], a[0] = 0;
        const int zeros = leading_zeros(a[3]);
        shift_up(a, zeros);
        exponent -= zeros;
    };
    normalise();
    u64 below = 0;  // not 0: the value is above the 64 highest bits
    if (divisor != 1) {
        below = divide(a, static_cast<u32>(divisor));
        normalise();
    }
    below |= a[2] | a[1] | a[0];
    constexpr int digits = std::numeric_limits<T>::digits, least = std::numeric_limits<T>::min_exponent - 1,
                  most = std::numeric_limits<T>::max_exponent - 1;
    if (exponent > most) return fields::exponent | sign;
    const int dropped = 64 - digits + (exponent < least ? least - exponent : 0);
    if (dropped > 64) return sign;  // less than half of the smallest denormal number
    u64 mantissa = dropped < 64 ? a[3] >> dropped : 0;
    const u64 half = u64{1} << (dropped - 1), rest = a[3] & (half - 1);
    if ((a[3] & half) != 0 && ((rest | below) != 0 || (mantissa & 1) != 0)) ++mantissa;
    // The highest bit of the mantissa of a normal number raises the exponent by one.
    const u64 raised = exponent < least ? 0 : static_cast<u64>(exponent - least);
    return static_cast<word>((raised << fields::mantissa_bits) + mantissa) | sign;
}

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions
