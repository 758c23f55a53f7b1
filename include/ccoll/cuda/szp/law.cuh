// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/law.cuh - floor 4. What a value becomes, on a device: quanta on any grid, steps of a chunk's own,
// and the wide integers of exceptional values.
#pragma once

#include <ccoll/cuda/szp/quanta.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// A chunk of so many values in which more exceptional values differ from the one before is raw.
CCOLL_DEVICE u32 most_changes(u32 count) { return (count - 1) / 32; }

CCOLL_DEVICE float nearest(float x) { return rintf(x); }
CCOLL_DEVICE double nearest(double x) { return rint(x); }
/// The quantum of an ordinary value. Denormals count as 0.
template <class T>
CCOLL_DEVICE i64 quantum_on(const host::grid<T>& z, word_of<T> bits)
{
    const word_of<T> w = bits & ~fields_of<T>::sign;
    const T x = number_of(bits);
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
/// The grid of a chunk for movement. Step 0: the chunk is raw.
/// @param most  bits of the largest ordinary magnitude
/// @param lattice  the power of two of which all are multiples, or 0
template <class T>
CCOLL_DEVICE host::grid<T> grid_for(const law<T>& z, word_of<T> most, double lattice)
{
    if (lattice == 0 && most < z.common.usual) return z.common;
    host::grid<T> r;
    r.step = lattice;
    if (lattice == 0) {
        const double reach = plus(static_cast<double>(number_of(most)), times(2, z.eb));
        if (!(reach < largest_number<T> / 2)) return r;
        const double ulp =
            ldexp(1.0, static_cast<i32>(bits_of(reach) >> 52) - 1022 - std::numeric_limits<T>::digits);
        r.step = larger(z.power, times(floor(__ddiv_rn(times(times(2, z.eb), 1 - 0x1p-20), ulp)), ulp));
    }
    r.inverse = __ddiv_rn(1.0, r.step);
    r.inverse_in_t = static_cast<T>(r.inverse);
    r.usual = lattice != 0 ? fields_of<T>::exponent : 0;  // products with a power of two are exact
    r.narrow = is_f32<T> ? fields_of<T>::exponent : 0;
    return r;
}
/// Of some values: what says whether they are on a lattice.
template <class T>
struct lattice_range {
    u32 top = 0, lowest = 0x10000;  ///< exponents, as in the bits

    CCOLL_DEVICE void add(word_of<T> magnitude)
    {
        constexpr u64 one = fields_of<T>::exponent_one;
        if (magnitude == 0) return;
        const u32 exponent = static_cast<u32>(magnitude / one),
                  zeros =
                      static_cast<u32>(__ffsll(static_cast<long long>((magnitude & (one - 1)) | one))) - 1,
                  behind = u32{fields_of<T>::mantissa_bits} - zeros;
        top = larger(top, exponent);
        lowest = smaller(lowest, exponent > behind ? exponent - behind : 0);
    }
    /// The step for the values of all threads, or 0: there is none above `least`.
    CCOLL_DEVICE double of_team(double least, team_room& room)
    {
        top = team_max(top, room.words);
        lowest = team_min(lowest, room.words);
        constexpr u32 bias = (1u << (fields_of<T>::exponent_bits - 1)) - 1;
        if (top == 0 || lowest < 1 || top - lowest >= static_cast<u32>(std::numeric_limits<T>::digits))
            return 0;
        const double s = ldexp(1.0, static_cast<i32>(smaller(lowest, 2 * bias - 1)) - static_cast<i32>(bias));
        return s > least ? s : 0;
    }
};

/// The grid of a chunk for movement, of which a thread has some values. By all threads; there are barriers in
/// here.
/// @param each  (f) calls f (bits) for each of them
/// @param far_count  gets: far values are ordinary, because all are on a lattice
template <class T, class Each>
CCOLL_DEVICE_RARE host::grid<T> find_grid(const arguments<T>& a, Each each, bool& far_count, team_room& room)
{
    lattice_range<T> finite, others;
    word_of<T> most = 0;
    each([&](word_of<T> v) {
        const word_of<T> m = v & ~fields_of<T>::sign;
        if (m >= fields_of<T>::exponent || a.is_missing(v)) return;
        finite.add(m);
        if (m < a.z.too_large) {
            most = larger(most, m);
            others.add(m);
        }
    });
    double lattice = finite.of_team(a.z.common.step, room);
    far_count = lattice != 0;
    if (!far_count) lattice = others.of_team(a.z.common.step, room);
    return grid_for(a.z, static_cast<word_of<T>>(team_max(u64{most}, room.longs)), lattice);
}

using exceptions::wide;

/// What an addend has of an exceptional value.
template <class T>
CCOLL_DEVICE_RARE wide wide_of(word_of<T> bits, double step, bool is_missing)
{
    return is_missing ? wide::of(wide::missing)
                      : exceptions::wide_of_bits<T>(bits, exceptions::exact_step::of_bits(bits_of(step)));
}
/// What a wide integer is as a value, divided before it is rounded.
/// @param missing  bits of what stands for a missing value
template <class T>
CCOLL_DEVICE_RARE word_of<T> value_of_wide(const wide& w, i64 q, double step, u32 divisor, bool has_missing,
                                           word_of<T> missing)
{
    const word_of<T> nan = fields_of<T>::exponent | fields_of<T>::exponent_one >> 1;
    return exceptions::value_of<T>(w, q, exceptions::exact_step::of_bits(bits_of(step)),
                                   static_cast<i32>(divisor), has_missing ? missing : nan);
}

/// Those of a chunk with planes that the fast kernels take.
/// @return false: there is none, or it is for the list
CCOLL_DEVICE bool read_sections(const frame_in& f, u32 chunk, u32 count, u32 value_bytes, sections_in<1>& s,
                                team_room& room)
{
    const packed_chunk c(f, chunk, groups_of(count), ~u32{0});
    if (!c.is_there) return false;
    const u32 at = unit_bytes * (get_constant(c.at + 4) >> 16);
    return read_sections(c.at, c.bytes, at, count, value_bytes, s, room) == status::ok;
}

}  // namespace ccoll::detail::device::szp
