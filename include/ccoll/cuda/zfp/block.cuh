// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/zfp/block.cuh - floor 4. What one thread does with one block of ZFP: four values, a common exponent,
// and coefficients in bit planes, at a fixed rate. codec/zfp/block.hpp and codec/zfp/planes.hpp say the same
// for the host.
#pragma once

#include <ccoll/base/exact.hpp>
#include <ccoll/cuda/zfp/tables.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::zfp {

inline constexpr u32 block_values = 4;

template <class T>
using word_of = typename fields_of<T>::word;
template <class T>
using integer_of = typename fields_of<T>::signed_word;
template <class T>
inline constexpr bool is_f32 = sizeof(T) == 4;
template <class T>
inline constexpr i32 bias = (1 << (fields_of<T>::exponent_bits - 1)) - 1;
template <class T>
inline constexpr u32 header_bits = 1 + fields_of<T>::exponent_bits;

// ---- eight planes of four coefficients, as a byte of each coefficient or as four bits of each plane ----

/// Exchanges bits i of a number's places with bits j < i of them: what stands at place .. 1 .. 0 .. goes to
/// .. 0 .. 1 ..
template <u32 High, u32 Low>
CCOLL_DEVICE u32 exchange_places(u32 x)
{
    constexpr u32 by = (1u << High) - (1u << Low);
    constexpr u32 lower = [] {
        u32 m = 0;
        for (u32 p = 0; p < 32; ++p)
            if ((p >> Low & 1) != 0 && (p >> High & 1) == 0) m |= 1u << p;
        return m;
    }();
    const u32 t = (x >> by ^ x) & lower;
    return x ^ t ^ t << by;
}
/// Bit k of byte i goes to bit i of the four bits k.
CCOLL_DEVICE u32 planes_of_bytes(u32 bytes)
{
    return exchange_places<3, 2>(exchange_places<4, 2>(exchange_places<3, 0>(exchange_places<4, 1>(bytes))));
}
CCOLL_DEVICE u32 bytes_of_planes(u32 planes)
{
    return exchange_places<4, 1>(exchange_places<3, 0>(exchange_places<4, 2>(exchange_places<3, 2>(planes))));
}

/// Byte `octet` of four coefficients.
CCOLL_DEVICE u32 bytes_at(const u32 (&c)[4], u32 octet)
{
    const u32 pair = octet | (4 + octet) << 4;
    return __byte_perm(__byte_perm(c[0], c[1], pair), __byte_perm(c[2], c[3], pair), 0x5410);
}
CCOLL_DEVICE u32 bytes_at(const u64 (&c)[4], u32 octet)
{
    const u32 by = octet / 4 * 32;
    const u32 half[4] = {static_cast<u32>(c[0] >> by), static_cast<u32>(c[1] >> by),
                         static_cast<u32>(c[2] >> by), static_cast<u32>(c[3] >> by)};
    return bytes_at(half, octet % 4);
}

// ---- values and coefficients ----

template <class T>
CCOLL_DEVICE word_of<T> magnitude(T x)
{
    return bits_of(x) & ~fields_of<T>::sign;
}
template <class T>
CCOLL_DEVICE bool is_finite(T x)
{
    return magnitude(x) < fields_of<T>::exponent;
}

/// 2^k, a normal number.
template <class T>
CCOLL_DEVICE T power_of_two(i32 k)
{
    return number_of(static_cast<word_of<T>>(k + bias<T>) << fields_of<T>::mantissa_bits);
}
/// x 2^k in two steps, because 2^k may be no normal number. The host takes one step in f64 for floats, and
/// gets the same: either x is an integer or 0, and the first step is exact, or the result is cut to an
/// integer, which is 0 where the first step is not exact.
template <class T>
CCOLL_DEVICE T scaled(T x, i32 k)
{
    const i32 half = is_f32<T> || k < -1022 || k > 1023 ? k / 2 : 0;
    return times(times(x, power_of_two<T>(half)), power_of_two<T>(k - half));
}

/// The exponent e of a block, plus the bias: |x| < 2^e for all values.
/// @param most  bits of the largest |x|, not 0
template <class T>
CCOLL_DEVICE u32 raised_exponent(word_of<T> most)
{
    return static_cast<u32>(most >> fields_of<T>::mantissa_bits) + 1;
}
/// The lowest plane that there may be in a block.
template <class T>
CCOLL_DEVICE u32 lowest_plane(i32 exponent)
{
    constexpr i32 all = fields_of<T>::word_bits, lowest_exponent = -1074;
    const i32 planes = exponent - lowest_exponent + 4;
    return planes >= all ? 0 : static_cast<u32>(all - planes);
}

template <class Word>
CCOLL_DEVICE void drop_planes(Word (&c)[4], u32 lowest)
{
    if constexpr (sizeof(Word) == 8) {  // floats keep all planes
        CCOLL_UNROLL
        for (u32 i = 0; i < 4; ++i) c[i] = lowest > 63 ? 0 : c[i] >> lowest << lowest;
    }
}

template <class T>
inline constexpr word_of<T> alternating = static_cast<word_of<T>>(0xaaaaaaaaaaaaaaaau);

/// Coefficients in negabinary of four finite values.
template <class T>
CCOLL_DEVICE void forward(const T (&x)[4], i32 exponent, word_of<T> (&c)[4])
{
    using word = word_of<T>;
    using integer = integer_of<T>;
    CCOLL_UNROLL
    for (u32 i = 0; i < 4; ++i)
        c[i] = static_cast<word>(static_cast<integer>(scaled(x[i], fields_of<T>::word_bits - 2 - exponent)));
    const auto half = [](word a) { return static_cast<word>(static_cast<integer>(a) >> 1); };
    word a = c[0], b = c[1], d = c[2], e = c[3];
    a = half(a + e);
    e -= a;
    d = half(d + b);
    b -= d;
    a = half(a + d);
    d -= a;
    e = half(e + b);
    b -= e;
    e += half(b);
    b -= half(e);
    c[0] = (a + alternating<T>)^alternating<T>;
    c[1] = (b + alternating<T>)^alternating<T>;
    c[2] = (d + alternating<T>)^alternating<T>;
    c[3] = (e + alternating<T>)^alternating<T>;
}
template <class T>
CCOLL_DEVICE void inverse(const word_of<T> (&c)[4], i32 exponent, T (&x)[4])
{
    using word = word_of<T>;
    using integer = integer_of<T>;
    const auto half = [](word a) { return static_cast<word>(static_cast<integer>(a) >> 1); };
    const auto plain = [](word a) { return static_cast<word>((a ^ alternating<T>)-alternating<T>); };
    word a = plain(c[0]), b = plain(c[1]), d = plain(c[2]), e = plain(c[3]);
    b += half(e);
    e -= half(b);
    b += e;
    e <<= 1;
    e -= b;
    d += a;
    a <<= 1;
    a -= d;
    b += d;
    d <<= 1;
    d -= b;
    e += a;
    a <<= 1;
    a -= e;
    const word all[4] = {a, b, d, e};
    CCOLL_UNROLL
    for (u32 i = 0; i < 4; ++i)
        x[i] = scaled(static_cast<T>(static_cast<integer>(all[i])), exponent - (fields_of<T>::word_bits - 2));
}

// ---- blocks and bits. A thread's bits begin at a whole byte, because eight blocks do. ----

/// Appends bits to bytes of shared memory, a word at a time. The bytes before the first one and behind the
/// last one belong to others.
class bit_writer {
public:
    /// @param image  a multiple of 4 bytes    @param at  the first byte
    CCOLL_DEVICE bit_writer(u8* image, u32 at) : to_(image + at / 4 * 4), have_(8 * (at % 4)), skip_(at % 4)
    {}

    /// @param bits  nothing but the lowest `count` ones, up to 32
    CCOLL_DEVICE void put(u32 bits, u32 count)
    {
        held_ |= u64{bits} << have_;
        have_ += count;
        if (have_ < 32) return;
        if (skip_ == 0) store_as<u32>(to_, static_cast<u32>(held_));
        else put_bytes(4);
        skip_ = 0;
        to_ += 4;
        held_ >>= 32;
        have_ -= 32;
    }
    CCOLL_DEVICE void pad(u32 count)
    {
        for (; count > 32; count -= 32) put(0, 32);
        put(0, count);
    }
    /// Fills the last byte up with zeros.
    CCOLL_DEVICE void end() { put_bytes((have_ + 7) / 8); }

private:
    CCOLL_DEVICE void put_bytes(u32 behind)
    {
        for (u32 i = skip_; i < behind; ++i) to_[i] = static_cast<u8>(held_ >> 8 * i);
    }

    u8* to_;
    u64 held_ = 0;
    u32 have_, skip_;
};

/// The bits of a block. Whole words are read, the last of them up to 6 bits behind the block. These are
/// always in the chunk.
class bit_reader {
public:
    /// @param stream  a multiple of 4 bytes    @param bit  where the block begins
    CCOLL_DEVICE bit_reader(const u8* stream, u32 bit) : from_(stream + bit / 32 * 4), have_(32 - bit % 32)
    {
        held_ = load_as<u32>(from_) >> bit % 32;
    }
    /// The next bits, `count` of them at least.
    CCOLL_DEVICE u32 peek(u32 count)
    {
        if (have_ < count) {
            from_ += 4;
            held_ |= u64{load_as<u32>(from_)} << have_;
            have_ += 32;
        }
        return static_cast<u32>(held_);
    }
    CCOLL_DEVICE void drop(u32 count)
    {
        held_ >>= count;
        have_ -= count;
    }

private:
    const u8* from_;
    u64 held_;
    u32 have_;
};

/// Writes four finite values in `block_bits` bits.
template <class T>
CCOLL_DEVICE void encode_block(const T (&x)[4], u32 block_bits, const pair_table& codes, bit_writer& to)
{
    const word_of<T> most =
        larger(larger(magnitude(x[0]), magnitude(x[1])), larger(magnitude(x[2]), magnitude(x[3])));
    if (most == 0) {
        to.pad(block_bits);
        return;
    }
    const u32 raised = raised_exponent<T>(most);
    const i32 exponent = static_cast<i32>(raised) - bias<T>;
    word_of<T> c[4];
    forward(x, exponent, c);
    to.put(2 * raised + 1, header_bits<T>);
    drop_planes(c, lowest_plane<T>(exponent));
    const word_of<T> last_first[4] = {c[3], c[2], c[1], c[0]};
    u32 left = block_bits - header_bits<T>, row = 0;
    CCOLL_NO_UNROLL
    for (u32 octet = sizeof(T); left > 0 && octet > 0;) {
        --octet;
        const u32 planes = reversed(planes_of_bytes(bytes_at(last_first, octet)));
        u32 done = 0;
        CCOLL_NO_UNROLL
        for (; done < 32 && left > 0 && row != pair_table::all_known; done += 8) {
            const u32 code = codes.of[row + (planes >> done & 255)];
            const u32 length = smaller(pair_table::length(code), left);
            to.put(code & ones_below(length), length);
            left -= length;
            row = pair_table::row(code);
        }
        if (done < 32 && left > 0) {  // codes are planes
            const u32 length = smaller(32 - done, left);
            to.put(planes >> done & ones_below(length), length);
            left -= length;
        }
    }
    to.pad(left);
}

/// Any bits are safe. @param bit  where the block begins in `stream`
template <class T>
CCOLL_DEVICE void decode_block(const u8* stream, u32 bit, u32 block_bits, const step_table& steps, T (&x)[4])
{
    bit_reader from(stream, bit);
    const u32 front = from.peek(header_bits<T>);
    word_of<T> c[4] = {};
    if ((front & 1) == 0) {
        CCOLL_UNROLL
        for (u32 i = 0; i < 4; ++i) x[i] = 0;
        return;
    }
    const i32 exponent = static_cast<i32>(front >> 1 & ((1u << fields_of<T>::exponent_bits) - 1)) - bias<T>;
    from.drop(header_bits<T>);
    u32 left = block_bits - header_bits<T>, row = 0, count = 0;
    u64 planes = 0;  // `count` of them, the first one lowest
    CCOLL_NO_UNROLL
    for (u32 octet = sizeof(T); left + count > 0 && octet > 0;) {
        --octet;
        CCOLL_NO_UNROLL
        while (count < 8 && left > 0 && row != step_table::all_known) {
            const u32 next = from.peek(7);
            const bool last = left < 7;
            const u32 step =
                steps.of[row + (last ? (next & ones_below(left)) | 1u << left : 128 | (next & 127))];
            const u32 used = last ? left : step_table::used(step);
            planes |= u64{step_table::planes(step)} << 4 * count;
            count += step_table::count(step);
            row = step_table::row(step);
            from.drop(used);
            left -= used;
        }
        if (count < 8 && left > 0) {  // codes are planes
            const u32 used = smaller(32 - 4 * count, left);
            planes |= u64{from.peek(used) & ones_below(used)} << 4 * count;
            count = 8;
            from.drop(used);
            left -= used;
        }
        const u32 bytes = bytes_of_planes(reversed(static_cast<u32>(planes)));
        CCOLL_UNROLL
        for (u32 i = 0; i < 4; ++i) c[3 - i] |= static_cast<word_of<T>>(bytes >> 8 * i & 255) << 8 * octet;
        planes >>= 32;
        count = count > 8 ? count - 8 : 0;
    }
    drop_planes(c, lowest_plane<T>(exponent));
    inverse(c, exponent, x);
}

}  // namespace ccoll::detail::device::zfp
