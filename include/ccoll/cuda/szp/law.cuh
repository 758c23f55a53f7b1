// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/law.cuh - floor 4. What a value becomes, on a device: quanta on any grid, steps of a chunk's own, and the wide integers of
// exceptional values.
#pragma once

#include <ccoll/cuda/szp/quanta.cuh>
#include <ccoll/cuda/szp/wide.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// A chunk of so many values in which more exceptional values differ from the one before is raw.
CCOLL_DEVICE u32 most_changes(u32 count) { return (count - 1) / 32; }

template <class T>
CCOLL_DEVICE word_of<T> magnitude_of(T x)
{
    return bits_of(x) & ~fields_of<T>::sign;
}
CCOLL_DEVICE float nearest(float x) { return rintf(x); }
CCOLL_DEVICE double nearest(double x) { return rint(x); }
/// The quantum of an ordinary value. Denormals count as 0.
template <class T>
CCOLL_DEVICE i64 quantum_on(const host::grid<T>& z, T x)
{
    const word_of<T> w = magnitude_of(x);
    if (w < fields_of<T>::exponent_one) return 0;
    if (w < z.usual) return static_cast<i64>(nearest(times(x, z.inverse_in_t)));
    const double v = static_cast<double>(x), q = rint(times(v, z.inverse));
    if (w < z.narrow) return static_cast<i64>(q);
    return static_cast<i64>(plus(q, rint(times(__fma_rn(-q, z.step, v), z.inverse))));
}
/// The quantum of a value, below 2^22, as a float.
CCOLL_DEVICE u32 as_quantum(u32 x, u32 usual, float inverse, double inverse_in_double)
{
    constexpr float nearest = 12582912.0f;
    const float v = number_of(x), q = plus(plus(times(v, inverse), nearest), -nearest);
    const u64 sum = bits_of(plus(times(static_cast<double>(v), inverse_in_double), 0x1.8p52));
    const float of_double = plus(number_of(static_cast<u32>(sum) + bits_of(nearest)), -nearest);
    return bits_of((x & ~fields_of<float>::sign) < usual ? q : of_double);
}
/// A grid without bounds between the rows of the law.
template <class T>
CCOLL_DEVICE host::grid<T> own_grid(double step)
{
    host::grid<T> z;
    z.step = step;
    z.inverse = __ddiv_rn(1.0, step);
    z.narrow = is_f32<T> ? fields_of<T>::exponent : 0;
    return z;
}
/// The grid of a chunk whose values lie beyond that of the bound. Step 0: the chunk is raw.
template <class T>
CCOLL_DEVICE double own_step(const law<T>& z, word_of<T> most)
{
    const double reach = plus(static_cast<double>(number_of(most)), times(2, z.eb));
    if (!(reach < largest_number<T> / 2)) return 0;
    const i32 exponent = static_cast<i32>(bits_of(reach) >> 52) - 1022;
    const double ulp = ldexp(1.0, exponent - std::numeric_limits<T>::digits);
    const double all = times(floor(__ddiv_rn(times(times(2, z.eb), 1 - 0x1p-20), ulp)), ulp);
    return z.power > all ? z.power : all;
}
/// Of some values: what says whether they are on a lattice.
struct lattice_range {
    u32 top = 0, lowest = 0x10000;  ///< exponents, as in the bits

    template <class T>
    CCOLL_DEVICE void add(T x)
    {
        const word_of<T> w = magnitude_of(x), mantissa = w & (fields_of<T>::exponent_one - 1);
        if (w == 0) return;
        const u32 exponent = static_cast<u32>(w >> fields_of<T>::mantissa_bits);
        const u32 low = static_cast<u32>(mantissa), high = static_cast<u32>(u64{mantissa} >> 32);
        const u32 zeros = low != 0 ? lowest_bit(low) : high != 0 ? 32 + lowest_bit(high) : u32{fields_of<T>::mantissa_bits};
        top = larger(top, exponent);
        const u32 behind = u32{fields_of<T>::mantissa_bits} - zeros;
        lowest = smaller(lowest, exponent > behind ? exponent - behind : 0);
    }
    /// The step for the values of all threads, or 0: there is none above `least`.
    template <class T>
    CCOLL_DEVICE double of_team(double least, team_room& room)
    {
        top = team_max(top, room.words);
        lowest = team_min(lowest, room.words);
        constexpr u32 bias = (1u << (fields_of<T>::exponent_bits - 1)) - 1;
        if (top == 0 || lowest < 1 || top - lowest >= static_cast<u32>(std::numeric_limits<T>::digits)) return 0;
        const double s = ldexp(1.0, static_cast<i32>(smaller(lowest, 2 * bias - 1)) - static_cast<i32>(bias));
        return s > least ? s : 0;
    }
};
/// What an addend has of an exceptional value.
template <class T>
CCOLL_DEVICE wide wide_of(T v, double step, bool is_missing)
{
    if (is_missing) return state(state_missing);
    if (magnitude_of(v) > fields_of<T>::exponent) return state(state_nan);
    if (magnitude_of(v) == fields_of<T>::exponent) return state(v > 0 ? state_inf : state_minus_inf);
    return quotient(static_cast<double>(v), step);
}
/// What a wide integer is as a value, divided before it is rounded. @param missing  bits of what stands for a missing value
template <class T>
CCOLL_DEVICE word_of<T> value_of_wide(const wide& a, double step, u32 divisor, bool has_missing, word_of<T> missing)
{
    using fields = fields_of<T>;
    if (!is_state(a)) return bits_of(product<T>(a, step, divisor));
    if (a.limb[0] == state_inf) return fields::exponent;
    if (a.limb[0] == state_minus_inf) return fields::exponent | fields::sign;
    return a.limb[0] == state_missing && has_missing ? missing : fields::exponent | fields::exponent_one >> 1;
}

}  // namespace ccoll::detail::device::szp
