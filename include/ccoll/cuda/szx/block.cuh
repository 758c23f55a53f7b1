// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szx/block.cuh - floor 4. What one warp does with one block of SZx: 128 values, four in each lane,
// which are constant or counted in steps from their middle. codec/szx/quantiser.hpp and
// codec/szx/portable.hpp have the proofs that the bound holds.
#pragma once

#include <bit>
#include <limits>
#include <type_traits>

#include <ccoll/base/exact.hpp>
#include <ccoll/codec/szx/quantiser.hpp>
#include <ccoll/cuda/element.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szx {

namespace host = detail::szx;

inline constexpr u32 block_elements = 128, lane_values = 4;
static_assert(block_elements == host::block_elements && block_elements == 32 * lane_values);

template <class T>
using word_of = typename fields_of<T>::word;
template <class T>
inline constexpr bool is_f32 = sizeof(T) == 4;
template <class T>
inline constexpr u32 raw_code = sizeof(T);
template <class T>
inline constexpr word_of<T> origin_bits = host::origin_bits<T>;

// Constants stand here because nvcc calls no function of the host in device code, not even for a constant.
template <class T>
inline constexpr T smallest_normal = std::numeric_limits<T>::min();
template <class T>
inline constexpr T largest_finite = std::numeric_limits<T>::max();
template <class T>
/// A count is added to it, to become an integer.
inline constexpr T start_of_counts = std::bit_cast<T>(origin_bits<T>);
template <class T>
inline constexpr T too_many_counts = host::offset_of<T>(sizeof(T) - 1) - T(1);

/// Bytes of an encoded block of `count` values.
template <class T>
CCOLL_DEVICE u32 block_bytes(u32 code, u32 count)
{
    return code == raw_code<T> ? count * static_cast<u32>(sizeof(T))
                               : static_cast<u32>(sizeof(T)) + count * code;
}

/// What follows from a bound (host::block_scale), computed on the host: an encoder gets it as an argument.
template <class T>
struct scale {
    T limit = 0, step = 0, inverse = 0;
    double bound = 0;          ///< as the user gave it
    word_of<T> far_limit = 0;  ///< bits of the least |x| that counts as special
    bool usable = false;
};
template <class T>
scale<T> scale_of(double bound) noexcept
{
    scale<T> z;
    z.bound = bound;
    z.limit = host::error_limit<T>(bound);
    if (!(z.limit > 0)) return z;
    const auto of = host::block_scale<T>::of(z.limit);
    z.step = of.step;
    z.inverse = of.inverse;
    z.far_limit = host::far_limit(z.limit);
    z.usable = true;
    return z;
}
/// What an encoder of elements E gets.
template <class E>
using scales_of = of_bounds<scale<number_of_element<E>>, E>;

/// The step at a bound, for decoders, which find the bound in the header; 0 if the bound is too small.
template <class T>
CCOLL_DEVICE T step_of(double bound)
{
    constexpr T most = largest_finite<T> / 16;
    if (!(bound >= static_cast<double>(smallest_normal<T>))) return 0;
    T limit = largest_finite<T>;
    if (bound < static_cast<double>(limit)) {
        limit = static_cast<T>(bound);
        if (static_cast<double>(limit) > bound) limit = number_of(bits_of(limit) - 1);
    }
    return times(smaller(limit, most), T(1.9375));
}

/// @param bytes  1 .. sizeof(T) - 1. The number that counts in so many bytes are added to: its low bits are
///               the offset of the counts.
template <class T>
CCOLL_DEVICE T origin_of(u32 bytes)
{
    return number_of(
        origin_bits<T> | word_of<T>{1}
                             << (smaller(8 * bytes, static_cast<u32>(fields_of<T>::mantissa_bits)) - 1));
}

template <class T>
CCOLL_DEVICE word_of<T> magnitude(T x)
{
    return bits_of(x) & ~fields_of<T>::sign;
}

// ---- extremes ----

/// Bits of numbers, in the order of the numbers. -0 is below 0, and NaN is beyond infinity.
template <class T>
CCOLL_DEVICE word_of<T> key_of(T x)
{
    const word_of<T> w = bits_of(x);
    return w ^ (static_cast<word_of<T>>(static_cast<typename fields_of<T>::signed_word>(w) >>
                                        (8 * sizeof(T) - 1)) |
                fields_of<T>::sign);
}
template <class T>
CCOLL_DEVICE T number_of_key(word_of<T> key)
{
    return number_of(
        static_cast<word_of<T>>((key & fields_of<T>::sign) != 0 ? key ^ fields_of<T>::sign : ~key));
}
CCOLL_DEVICE u32 highest_in_warp(u32 v) { return warp_max(v); }
CCOLL_DEVICE u64 highest_in_warp(u64 v)
{
    const u32 upper = warp_max(static_cast<u32>(v >> 32));
    return u64{upper} << 32 | warp_max(static_cast<u32>(v >> 32) == upper ? static_cast<u32>(v) : 0);
}
template <class Word>
CCOLL_DEVICE Word lowest_in_warp(Word v)
{
    return static_cast<Word>(~highest_in_warp(static_cast<Word>(~v)));
}

// ---- plans ----

template <class T>
struct block_plan {
    T middle = 0;
    u32 bytes = raw_code<T>;  ///< of each count of steps; 0: constant; raw_code: keep the values
    bool certain = false;     ///< all values pass; no check is needed
};
CCOLL_DEVICE u32 bit_width(u32 v) { return 32 - static_cast<u32>(__clz(static_cast<int>(v))); }
CCOLL_DEVICE u32 bit_width(u64 v) { return 64 - static_cast<u32>(__clzll(static_cast<long long>(v))); }

/// @param low, high  keys of the least and the largest value    @see host::plan_of
template <class T>
CCOLL_DEVICE block_plan<T> plan_of(word_of<T> low_key, word_of<T> high_key, const scale<T>& z)
{
    using fields = fields_of<T>;
    constexpr u32 bits = fields::mantissa_bits;
    block_plan<T> p;
    if (high_key > key_of(largest_finite<T>) || low_key < key_of(-largest_finite<T>)) return p;  // NaN or Inf
    const T low = number_of_key<T>(low_key), high = number_of_key<T>(high_key);
    p.middle = times(T(0.5), plus(plus(low, high), T(0)));
    const word_of<T> radius = larger(magnitude(plus(p.middle, -low)), magnitude(plus(high, -p.middle)));
    if (radius < bits_of(z.limit)) {
        p.bytes = 0;
        return p;
    }
    const T most = times(number_of(radius), z.inverse);
    if (!(most < too_many_counts<T>)) return p;
    p.bytes =
        (bit_width(static_cast<word_of<T>>(bits_of(plus(most, start_of_counts<T>)) - origin_bits<T>)) + 8) /
        8;
    const i32 power = static_cast<i32>(larger(magnitude(low), magnitude(high)) >> bits),
              of_limit = static_cast<i32>(bits_of(z.limit) >> bits);
    p.certain = power <= of_limit + static_cast<i32>(bits) - 9 &&
                power < static_cast<i32>(fields::exponent >> bits) - 3;
    return p;
}

/// A value in counts of steps: the low bytes are kept.
template <class T>
CCOLL_DEVICE word_of<T> count_of(T x, T middle, T inverse, T origin)
{
    return bits_of(plus(times(plus(x, -middle), inverse), origin));
}
template <class T>
CCOLL_DEVICE T value_of(word_of<T> count, T middle, T step, T origin)
{
    return plus(middle, times(plus(number_of(count), -origin), step));
}
/// Does a value decode to within the bound? NaN and Inf never do.
template <class T>
CCOLL_DEVICE bool passes(T x, T middle, T origin, const scale<T>& z)
{
    const T decoded = value_of(count_of(x, middle, z.inverse, origin), middle, z.step, origin);
    return magnitude(plus(decoded, -x)) < bits_of(z.limit);
}

// ---- the bytes of four values ----

/// The low `Bytes` bytes of four words, one after another.
template <u32 Bytes, class Word>
CCOLL_DEVICE void pack(const Word (&c)[4], u32 (&w)[Bytes])
{
    if constexpr (Bytes <= 4) {
        const u32 a = static_cast<u32>(c[0]), b = static_cast<u32>(c[1]), d = static_cast<u32>(c[2]),
                  e = static_cast<u32>(c[3]);
        if constexpr (Bytes == 1) {
            w[0] = __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(d, e, 0x0040), 0x5410);
        } else if constexpr (Bytes == 2) {
            w[0] = __byte_perm(a, b, 0x5410);
            w[1] = __byte_perm(d, e, 0x5410);
        } else if constexpr (Bytes == 3) {
            w[0] = __byte_perm(a, b, 0x4210);
            w[1] = __byte_perm(b, d, 0x5421);
            w[2] = __byte_perm(d, e, 0x6542);
        } else {
            w[0] = a;
            w[1] = b;
            w[2] = d;
            w[3] = e;
        }
    } else {
        constexpr u64 mask = ~u64{0} >> (64 - 8 * Bytes);
        CCOLL_UNROLL
        for (u32 i = 0; i < Bytes; ++i) {
            // The first byte of this word: of which value, and which of it.
            const u32 j = 4 * i / Bytes, from = 4 * i - j * Bytes;
            w[i] = static_cast<u32>((c[j] & mask) >> 8 * from);
            if (Bytes - from < 4) w[i] |= static_cast<u32>((c[(j + 1) % 4] & mask) << 8 * (Bytes - from));
        }
    }
}
/// The reverse.
template <u32 Bytes, class Word>
CCOLL_DEVICE void unpack(const u32 (&w)[Bytes], Word (&c)[4])
{
    constexpr Word mask = static_cast<Word>(~Word{0}) >> (8 * (sizeof(Word) - Bytes));
    CCOLL_UNROLL
    for (u32 j = 0; j < 4; ++j) {
        const u32 i = j * Bytes / 4, by = 8 * (j * Bytes % 4);
        Word v = w[i];
        if constexpr (sizeof(Word) == 8)
            if (i + 1 < Bytes) v |= static_cast<Word>(w[(i + 1) % Bytes]) << 32;
        v >>= by;
        const u32 next = i + sizeof(Word) / 4;
        if (by > 0 && next < Bytes)
            v |= static_cast<Word>(w[next % Bytes]) << (8 * sizeof(Word) - by) % (8 * sizeof(Word));
        c[j] = v & mask;
    }
}

/// Calls f with the number of bytes as a constant.  @param bytes  1 .. sizeof(T) - 1
template <class T, u32 Bytes = 1, class Function>
CCOLL_DEVICE void with_bytes(u32 bytes, Function f)
{
    if constexpr (Bytes + 1 < sizeof(T)) {
        if (bytes != Bytes) return with_bytes<T, Bytes + 1>(bytes, f);
    }
    f(std::integral_constant<u32, Bytes>{});
}

// ---- where the blocks of a chunk stand ----

/// Bytes of the blocks of a chunk: of two in each lane. Each warp has all of them.
template <class T>
struct block_ends {
    u32 first = 0, before = 0;    ///< bytes of this lane's first block; of all blocks before it
    u32 all = 0, raw_blocks = 0;  ///< bytes of all blocks
    bool valid = false;           ///< all codes are codes

    /// @param codes  of the blocks of a chunk of `count` values, at most 64
    CCOLL_DEVICE static block_ends of(const u8* codes, u32 count)
    {
        const u32 blocks = (count + block_elements - 1) / block_elements, k = 2 * lane();
        const u32 a = k < blocks ? codes[k] : 0, b = k + 1 < blocks ? codes[k + 1] : 0;
        const auto bytes = [&](u32 block, u32 code) {
            return block < blocks
                       ? block_bytes<T>(code, smaller(block_elements, count - block_elements * block))
                       : 0;
        };
        block_ends e;
        e.first = bytes(k, a);
        const u32 both = e.first + bytes(k + 1, b), up_to = warp_inclusive(both);
        e.before = up_to - both;
        e.all = __shfl_sync(all_lanes, up_to, 31);
        e.raw_blocks = ones_of(__ballot_sync(all_lanes, a == raw_code<T>)) +
                       ones_of(__ballot_sync(all_lanes, b == raw_code<T>));
        e.valid = __ballot_sync(all_lanes, a > raw_code<T> || b > raw_code<T>) == 0;
        return e;
    }
    /// Where a block begins. By a whole warp.
    CCOLL_DEVICE u32 begin(u32 block) const
    {
        const u32 even = __shfl_sync(all_lanes, before, block / 2),
                  more = __shfl_sync(all_lanes, first, block / 2);
        return even + (block % 2 != 0 ? more : 0);
    }
};

}  // namespace ccoll::detail::device::szx
