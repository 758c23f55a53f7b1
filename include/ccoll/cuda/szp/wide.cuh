// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/wide.cuh - floor 4. Integers of 192 bits, which stand for the exceptional values of addends, and the states beside them.
#pragma once

#include <cmath>

#include <ccoll/cuda/szp/layout.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// In two's complement, the lowest limb first.
struct wide {
    u64 limb[3] = {};

    friend CCOLL_DEVICE bool operator==(const wide& a, const wide& b)
    {
        return a.limb[0] == b.limb[0] && a.limb[1] == b.limb[1] && a.limb[2] == b.limb[2];
    }
};
inline constexpr u32 wide_bytes = 24;
inline constexpr u64 state_limb = u64{1} << 63;  ///< the highest
inline constexpr u32 state_nan = 0, state_inf = 1, state_minus_inf = 2, state_missing = 3;

CCOLL_DEVICE wide state(u32 which) { return {{which, 0, state_limb}}; }
CCOLL_DEVICE bool is_state(const wide& a) { return a.limb[2] == state_limb; }
CCOLL_DEVICE bool is_negative(const wide& a) { return a.limb[2] >> 63 != 0; }

CCOLL_DEVICE wide plain_sum(const wide& a, const wide& b)
{
    wide r;
    u64 carry = 0;
    CCOLL_UNROLL
    for (u32 i = 0; i < 3; ++i) {
        const u64 s = a.limb[i] + carry;
        carry = s < carry;
        r.limb[i] = s + b.limb[i];
        carry += r.limb[i] < s;
    }
    return r;
}
CCOLL_DEVICE wide negative(const wide& a) { return plain_sum({{~a.limb[0], ~a.limb[1], ~a.limb[2]}}, {{1, 0, 0}}); }
CCOLL_DEVICE wide widened(i64 q)
{
    const u64 sign = q < 0 ? ~u64{0} : 0;
    return {{static_cast<u64>(q), sign, sign}};
}
/// Is it 2^190 or more in magnitude?
CCOLL_DEVICE bool is_too_large(const wide& a)
{
    const wide m = is_negative(a) ? negative(a) : a;
    return !is_state(a) && m.limb[2] >> 62 != 0;
}
/// Missing wins over all, then NaN. Both infinities are NaN, and one wins over numbers.
CCOLL_DEVICE wide sum_of(const wide& a, const wide& b)
{
    if (!is_state(a) && !is_state(b)) return plain_sum(a, b);
    if (!is_state(a)) return b;
    if (!is_state(b) || a == b) return a;
    const bool missing = a.limb[0] == state_missing || b.limb[0] == state_missing;
    return state(missing ? state_missing : state_nan);
}

/// A positive normal number as m 2^exponent with m odd, or less than 2^32.
struct factored {
    u64 m;
    i32 exponent;
};
CCOLL_DEVICE factored factors_of(double x)
{
    const u64 bits = bits_of(x), mantissa = bits & ((u64{1} << 52) - 1);
    return {mantissa | u64{1} << 52, static_cast<i32>(bits >> 52 & 2047) - 1075};
}
/// A step has 22 bits at most.
CCOLL_DEVICE factored factors_of_step(double step)
{
    const factored f = factors_of(step);
    return {f.m >> 31, f.exponent + 31};
}

/// rint(x / step) for a finite |x| of 2^45 steps or more: long division in limbs of 32 bits. Where it is too large, the result is, too.
CCOLL_DEVICE_RARE wide quotient(double x, double step)
{
    const wide beyond{{0, 0, u64{1} << 62}};
    const factored v = factors_of(x), s = factors_of_step(step);
    const i32 shift = v.exponent - s.exponent;  // not below -53 + 22
    if (shift > 170) return beyond;
    // v.m 2^(shift + 32), so that nothing is cut: the lowest 32 bits are behind the point.
    const u32 at = static_cast<u32>(shift + 32), low = at % 32;
    const u64 parts = v.m << low, top = v.m >> 32 >> (32 - low);
    const double inverse = __ddiv_rn(1.0, static_cast<double>(s.m));
    u32 limb[8] = {};
    u64 rest = 0;
    CCOLL_UNROLL
    for (u32 i = 8; i-- > 0;) {
        const u32 k = i - at / 32, part = static_cast<u32>(k == 0 ? parts : k == 1 ? parts >> 32 : k == 2 ? top : 0);
        // The estimate is off by one at most.
        const u64 two = rest << 32 | part;
        u64 q = static_cast<u64>(times(static_cast<double>(two), inverse));
        i64 r = static_cast<i64>(two - q * s.m);
        if (r < 0) --q, r += static_cast<i64>(s.m);
        if (r >= static_cast<i64>(s.m)) ++q, r -= static_cast<i64>(s.m);
        limb[i] = static_cast<u32>(q);
        rest = static_cast<u64>(r);
    }
    const bool odd = (limb[1] & 1) != 0, half = limb[0] == 0x80000000u;
    const bool up = limb[0] > 0x80000000u || (half && (rest > 0 || odd));
    wide r{{limb[1] | u64{limb[2]} << 32, limb[3] | u64{limb[4]} << 32, limb[5] | u64{limb[6]} << 32}};
    if (limb[7] != 0 || r.limb[2] >> 62 != 0) return beyond;
    if (up) r = plain_sum(r, {{1, 0, 0}});
    return bits_of(x) >> 63 != 0 ? negative(r) : r;
}

/// a step / divisor, rounded once to T. @param divisor  positive
template <class T>
CCOLL_DEVICE_RARE T product(const wide& a, double step, u32 divisor)
{
    constexpr u32 digits = std::numeric_limits<T>::digits, behind = 2;  // limbs behind the point, so that a quotient has enough digits
    constexpr i32 least = std::numeric_limits<T>::min_exponent - static_cast<i32>(digits);
    const factored s = factors_of_step(step);
    const wide m = is_negative(a) ? negative(a) : a;
    u64 limb[behind + 4] = {}, carry = 0;  // of m s.m
    CCOLL_UNROLL
    for (u32 i = 0; i < 3; ++i) {
        const u64 low = (m.limb[i] & 0xffffffffu) * s.m + carry, high = (m.limb[i] >> 32) * s.m + (low >> 32);
        limb[behind + i] = high << 32 | (low & 0xffffffffu);
        carry = high >> 32;
    }
    limb[behind + 3] = carry;
    u64 rest = 0;
    if (divisor != 1) {
        CCOLL_UNROLL
        for (u32 i = behind + 4; i-- > 0;) {
            const u64 high = rest << 32 | limb[i] >> 32, low = high % divisor << 32 | (limb[i] & 0xffffffffu);
            limb[i] = high / divisor << 32 | low / divisor;
            rest = low % divisor;
        }
    }
    u32 k = behind + 3;  // the highest limb that is not 0
    while (k > 0 && limb[k] == 0) --k;
    u64 top = 0, next = 0;
    CCOLL_UNROLL
    for (u32 i = 0; i < behind + 4; ++i) {
        if (i == k) top = limb[i];
        else if (i + 1 == k) next = limb[i];
        else if (i < k) rest |= limb[i];
    }
    if (top == 0) return T(0);
    const u32 high = static_cast<u32>(top >> 32), zeros = high != 0 ? 31 - highest_bit(high) : 63 - highest_bit(static_cast<u32>(top));
    rest |= next << zeros;
    top = top << zeros | next >> 1 >> (63 - zeros);
    const i32 exponent = 64 * (static_cast<i32>(k) - static_cast<i32>(behind)) - static_cast<i32>(zeros) + s.exponent;  // of its bit 0
    const i32 cut = 64 - static_cast<i32>(digits) + larger(0, least - exponent - 64 + static_cast<i32>(digits));
    if (cut > 64) return T(0);
    const u64 half = u64{1} << (cut - 1), part = top & (half | (half - 1));
    top = cut < 64 ? top >> cut : 0;
    if (part > half || (part == half && (rest != 0 || (top & 1) != 0))) ++top;
    const double r = ldexp(static_cast<double>(top), cut + exponent);
    return static_cast<T>(is_negative(a) ? -r : r);
}

CCOLL_DEVICE wide load_wide(const u8* p) { return {{load_as<u64>(p), load_as<u64>(p + 8), load_as<u64>(p + 16)}}; }
CCOLL_DEVICE void store_wide(u8* p, const wide& a)
{
    CCOLL_UNROLL
    for (u32 i = 0; i < 3; ++i) store_as(p + 8 * i, a.limb[i]);
}

}  // namespace ccoll::detail::device::szp
