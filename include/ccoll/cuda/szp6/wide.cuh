// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp6/wide.cuh - floor 4. Integers of 192 bits, which stand for the exceptional values of addends, and the states beside them.
#pragma once

#include <cmath>

#include <ccoll/cuda/szp6/layout.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp6 {

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
    u32 limb[8] = {};
    if (shift > 170) return beyond;
    // v.m 2^(shift + 32), so that nothing is cut: the lowest 32 bits are behind the point.
    const u32 at = static_cast<u32>(shift + 32);
    for (u32 i = 0; i < 3; ++i) {
        const u64 part = i == 0 ? v.m << at % 32 & 0xffffffffu : i == 1 ? v.m >> (32 - at % 32) & 0xffffffffu : v.m >> 32 >> (32 - at % 32);
        if (at / 32 + i < 8) limb[at / 32 + i] = static_cast<u32>(part);
    }
    u64 rest = 0;
    for (u32 i = 8; i-- > 0;) {
        const u64 two = rest << 32 | limb[i];
        limb[i] = static_cast<u32>(two / s.m);
        rest = two % s.m;
    }
    const bool odd = (limb[1] & 1) != 0, above_half = limb[0] > 0x80000000u || (limb[0] == 0x80000000u && rest > 0);
    const bool up = above_half || (limb[0] == 0x80000000u && rest == 0 && odd);
    if (limb[7] != 0) return beyond;
    wide r{{limb[1] | u64{limb[2]} << 32, limb[3] | u64{limb[4]} << 32, limb[5] | u64{limb[6]} << 32}};
    if (r.limb[2] >> 62 != 0) return beyond;
    if (up) r = plain_sum(r, {{1, 0, 0}});
    return bits_of(x) >> 63 != 0 ? negative(r) : r;
}

/// a step, rounded once to T.
template <class T>
CCOLL_DEVICE_RARE T product(const wide& a, double step)
{
    constexpr i32 digits = std::numeric_limits<T>::digits;
    const factored s = factors_of_step(step);
    const wide m = is_negative(a) ? negative(a) : a;
    u32 limb[7];
    u64 carry = 0;
    i32 length = 0;  // in bits
    for (u32 i = 0; i < 7; ++i) {
        carry += i < 6 ? (m.limb[i / 2] >> 32 * (i % 2) & 0xffffffffu) * s.m : 0;
        limb[i] = static_cast<u32>(carry);
        carry >>= 32;
        if (limb[i] != 0) length = static_cast<i32>(32 * i + highest_bit(limb[i]) + 1);
    }
    const auto bit = [&](i32 k) { return limb[k / 32] >> k % 32 & 1; };
    u64 top = 0;
    const i32 cut = length > digits ? length - digits : 0;
    for (i32 k = length; k-- > cut;) top = 2 * top + bit(k);
    if (cut > 0 && bit(cut - 1) != 0) {
        bool more = (top & 1) != 0;
        for (i32 k = 0; k + 1 < cut; ++k) more = more || bit(k) != 0;
        top += more;
    }
    const double r = ldexp(static_cast<double>(top), cut + s.exponent);
    return static_cast<T>(is_negative(a) ? -r : r);
}

CCOLL_DEVICE wide load_wide(const u8* p) { return {{load_as<u64>(p), load_as<u64>(p + 8), load_as<u64>(p + 16)}}; }
CCOLL_DEVICE void store_wide(u8* p, const wide& a)
{
    CCOLL_UNROLL
    for (u32 i = 0; i < 3; ++i) store_as(p + 8 * i, a.limb[i]);
}

}  // namespace ccoll::detail::device::szp6
