// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/portable.hpp - floor 2. The kernels of SZp in plain C++, shaped for a compiler that vectorises.
#pragma once

#include <ccoll/codec/szp/set.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC optimize("align-loops=32")  // else f64 is encoded at 6 or at 8 GB/s, by where its loop happens to begin
#endif

namespace ccoll::inline CCOLL_ABI::detail::szp::portable {

inline constexpr std::size_t lanes = 16;

struct quanta {
    i32 of[block_elements];
};
using running = i32;

CCOLL_INLINE i32 minus(i32 a, i32 b) noexcept { return static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b)); }
CCOLL_INLINE i32 plus(i32 a, i32 b) noexcept { return static_cast<i32>(static_cast<u32>(a) + static_cast<u32>(b)); }

template <class T, class In>
CCOLL_INLINE i32 rounded(In t) noexcept
{
    return static_cast<i32>(static_cast<u32>(fields_of<T>::of(t + rounder<T>)) - static_cast<u32>(fields_of<T>::of(rounder<T>)));
}
/// The quantum, or hold_out if |x| reaches the limit.
template <class T>
CCOLL_INLINE i32 kept_below(T x, typename fields_of<T>::word limit, i32 q) noexcept
{
    using number = typename fields_of<T>::signed_word;  // SSE2 compares only signed integers
    const auto out = static_cast<i32>(-static_cast<number>(fields_of<T>::signed_magnitude(x) >= static_cast<number>(limit)));
    return (q & ~out) | (hold_out & out);
}
CCOLL_INLINE void quantise(const float* x, const grid<float>& z, quanta& q) noexcept
{
    CCOLL_EXACT_BODY
    const float inverse = z.inverse_in_t;
    const u32 limit = z.usual;
    for (std::size_t i = 0; i < block_elements; ++i) q.of[i] = kept_below(x[i], limit, rounded<float>(x[i] * inverse));
}
template <class T>
CCOLL_INLINE void quantise_in_double(const T* x, const grid<T>& z, quanta& q) noexcept
{
    CCOLL_EXACT_BODY
    const double inverse = z.inverse;
    const auto limit = z.narrow;
    for (std::size_t i = 0; i < block_elements; ++i)
        q.of[i] = kept_below(x[i], limit, rounded<double>(static_cast<double>(x[i]) * inverse));
}

CCOLL_INLINE void store(const quanta& q, i32* to) noexcept { std::memcpy(to, q.of, sizeof q.of); }
CCOLL_INLINE void load(const i32* from, quanta& q) noexcept { std::memcpy(q.of, from, sizeof q.of); }
CCOLL_INLINE void difference(const i32* from, quanta& q) noexcept
{
    for (std::size_t i = 0; i < block_elements; ++i) q.of[i] = minus(from[i], from[static_cast<std::ptrdiff_t>(i) - 1]);
}
CCOLL_INLINE void subtract(const i32* from, quanta& q) noexcept
{
    for (std::size_t i = 0; i < block_elements; ++i) q.of[i] = minus(q.of[i], from[i]);
}
CCOLL_INLINE void subtract(const quanta& from, quanta& q) noexcept { subtract(from.of, q); }
CCOLL_INLINE void add_to(const i32* from, quanta& q) noexcept
{
    for (std::size_t i = 0; i < block_elements; ++i) q.of[i] = plus(q.of[i], from[i]);
}
CCOLL_INLINE void add_to(const quanta& from, quanta& q) noexcept { add_to(from.of, q); }

CCOLL_INLINE void swap_bits(u64& a, u64& b, int shift, u64 mask) noexcept
{
    const u64 t = ((a >> shift) ^ b) & mask;
    b ^= t;
    a ^= t << shift;
}
/// 8x8 bit transposes between 8 words, in each of their 4 bytes; word j in the low half of v[j % 4], word j + 4 in the high one.
CCOLL_INLINE void transpose(u64 v[4]) noexcept
{
    swap_bits(v[0], v[1], 1, 0x5555555555555555u);
    swap_bits(v[2], v[3], 1, 0x5555555555555555u);
    swap_bits(v[0], v[2], 2, 0x3333333333333333u);
    swap_bits(v[1], v[3], 2, 0x3333333333333333u);
    for (int j = 0; j < 4; ++j) {
        const u64 t = (v[j] ^ (v[j] >> 28)) & 0x00000000F0F0F0F0u;
        v[j] ^= t ^ (t << 28);
    }
}

/// Planes shift .. shift + 7 of 32 numbers.
CCOLL_INLINE void put_8_planes(const i32* d, int shift, u8* out) noexcept
{
    u8 bytes[block_elements];
    for (std::size_t i = 0; i < block_elements; ++i) bytes[i] = static_cast<u8>(static_cast<u32>(d[i]) >> shift);
    u64 v[4];
    std::memcpy(v, bytes, sizeof v);
    transpose(v);
    for (std::size_t j = 0; j < 4; ++j) {
        put(out + 4 * j, static_cast<u32>(v[j]));
        put(out + 4 * j + 16, static_cast<u32>(v[j] >> 32));
    }
}
/// Planes 8 and up. Not inlined: rare, and there would be many copies to compile.
[[gnu::noinline]] inline void put_more_planes(const i32* d, unsigned width, u8* out) noexcept
{
    for (unsigned at = 8; at < width; at += 8) put_8_planes(d, static_cast<int>(at), out + 4 * at);
}
CCOLL_INLINE unsigned put_planes(const quanta& d, u8* out) noexcept
{
    u32 folded = 0, negative = 0;
    for (const i32 v : d.of) {
        folded |= static_cast<u32>(v ^ (v >> 31));
        negative |= static_cast<u32>(v);
    }
    const unsigned width = folded != 0 ? 33u - static_cast<unsigned>(std::countl_zero(folded)) : negative >> 31;
    if (width > 0) put_8_planes(d.of, 0, out);
    if (width > 8) put_more_planes(d.of, width, out);
    return width;
}
CCOLL_INLINE void put_all_planes(const quanta& d, u8* out) noexcept
{
    put_8_planes(d.of, 0, out);
    put_more_planes(d.of, widest, out);
}

/// 8 planes to the bytes of 32 numbers. Planes from `width` on repeat the sign.
CCOLL_INLINE void get_8_planes(const u8* in, unsigned width, u64 v[4]) noexcept
{
    const auto plane = [&](unsigned k) { return get<u32>(in + 4 * (k < width ? k : width - 1)); };
    for (unsigned j = 0; j < 4; ++j) v[j] = plane(j) | u64{plane(j + 4)} << 32;
    transpose(v);
}
[[gnu::noinline]] inline void get_many_planes(const u8* in, unsigned width, i32* d) noexcept
{
    for (unsigned at = 0; at < width; at += 8) {
        u64 v[4];
        get_8_planes(in + 4 * at, width - at, v);
        signed char bytes[block_elements];
        std::memcpy(bytes, v, sizeof bytes);
        for (std::size_t i = 0; i < block_elements; ++i) {
            const u32 low = at == 0 ? 0 : static_cast<u32>(d[i]) & ((u32{1} << at) - 1);
            d[i] = static_cast<i32>(low | static_cast<u32>(static_cast<i32>(bytes[i])) << at);
        }
    }
}
CCOLL_INLINE void get_planes(const u8* in, unsigned width, quanta& d) noexcept { get_many_planes(in, width, d.of); }

CCOLL_INLINE void start(running& r, i32 base) noexcept { r = base; }

/// The running sum stays in a register and its conversion inside the loop: in an array it would be read before it is there.
/// @param each  (place, sum)
template <class Each>
CCOLL_INLINE void for_each_sum(const u8* in, unsigned width, running& r, const Each& each) noexcept
{
    u32 sum = static_cast<u32>(r);
    if (width <= 8) {
        u64 v[4];
        get_8_planes(in, width, v);
        for (unsigned j = 0; j < 4; ++j) {
            CCOLL_UNROLLED for (unsigned i = 0; i < 8; ++i)
            {
                sum += static_cast<u32>(static_cast<i32>(static_cast<signed char>(v[j] >> 8 * i)));
                each(8 * j + i, static_cast<i32>(sum));
            }
        }
    } else {
        i32 d[block_elements];
        get_many_planes(in, width, d);
        CCOLL_UNROLLED for (unsigned i = 0; i < block_elements; ++i)
        {
            sum += static_cast<u32>(d[i]);
            each(i, static_cast<i32>(sum));
        }
    }
    r = static_cast<i32>(sum);
}
CCOLL_INLINE void restore(const u8* in, unsigned width, running& r, quanta& q) noexcept
{
    if (width == 0) {
        for (i32& v : q.of) v = r;
        return;
    }
    for_each_sum(in, width, r, [&](unsigned i, i32 sum) { q.of[i] = sum; });
}
template <class T>
CCOLL_INLINE void restore(const u8* in, unsigned width, running& r, T step, T* x) noexcept
{
    CCOLL_EXACT_BODY
    if (width == 0) {
        const T value = static_cast<T>(r) * step;
        for (std::size_t i = 0; i < block_elements; ++i) x[i] = value;
        return;
    }
    for_each_sum(in, width, r, [=](unsigned i, i32 sum) { x[i] = static_cast<T>(sum) * step; });
}
template <class T>
CCOLL_INLINE void dequantise(const quanta& q, T step, T* x) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t i = 0; i < block_elements; ++i) x[i] = static_cast<T>(q.of[i]) * step;
}

/// Bit-sliced addition of two blocks of two's-complement planes: 32 numbers at once in a word. Planes that repeat the sign are dropped.
/// @param most  planes of the sum: it is made modulo 2^most    @return the width of the sum
[[gnu::noinline]] inline unsigned add_planes(const u8* a, unsigned wa, const u8* b, unsigned wb, unsigned most, u8* out) noexcept
{
    if (wa == 0 || wb == 0) {
        std::memcpy(out, wa == 0 ? b : a, 4 * (wa | wb));
        return wa | wb;
    }
    const u32 sign_a = get<u32>(a + 4 * (wa - 1)), sign_b = get<u32>(b + 4 * (wb - 1));
    u32 carry = 0, sum = 0;
    unsigned width = 0;  // behind the last plane that differs from the one below it
    const unsigned planes = std::min(std::max(wa, wb) + 1, most);
    for (unsigned k = 0; k < planes; ++k) {
        const u32 x = k < wa ? get<u32>(a + 4 * k) : sign_a, y = k < wb ? get<u32>(b + 4 * k) : sign_b;
        const u32 differ = x ^ y, below = sum;
        sum = differ ^ carry;
        carry = (x & y) | (carry & differ);
        put(out + 4 * k, sum);
        if (k > 0 && sum != below) width = k;
    }
    return width > 0 ? width + 1 : sum != 0;
}
/// 1 to Planes - 1 planes and the sign behind them, by whole registers: choosing it plane by plane takes as long as adding.
template <std::size_t Planes>
struct extended_planes {
    u32 of[2 * Planes];

    CCOLL_INLINE extended_planes(const u8* in, unsigned width) noexcept
    {
        const u32 sign = get<u32>(in + 4 * (width - 1));
        std::memcpy(of, in, 4 * Planes);
        for (std::size_t k = 0; k < Planes; ++k) of[width + k] = sign;
    }
};
/// Widths from 8 on: 8 planes and then some. Most blocks have one or two more, so that the end of the loop is foreseen.
[[gnu::noinline]] inline unsigned add_many_planes(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    if ((wa | wb) > 15) return add_planes(a, wa, b, wb, widest, out);
    const extended_planes<16> x(a, wa), y(b, wb);
    u32 sum = 0, carry = 0;
    unsigned last = 0;  // plane that differs from the one below it
    const auto add = [&](unsigned k) {
        const u32 differ = x.of[k] ^ y.of[k], below = sum;
        sum = differ ^ carry;
        carry = (x.of[k] & y.of[k]) | (carry & differ);
        put(out + 4 * k, sum);
        last = k > 0 && sum != below ? k : last;
    };
    CCOLL_UNROLLED
    for (unsigned k = 0; k < 8; ++k) add(k);
    for (unsigned k = 8; k <= std::max(wa, wb); ++k) add(k);
    return last > 0 ? last + 1 : sum != 0;
}
/// Without a loop for widths up to 7: its exits would be mispredicted.
CCOLL_INLINE unsigned add_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    if (wa == 0 || wb == 0) {
        std::memcpy(out, wa == 0 ? b : a, 4 * widest);
        return wa | wb;
    }
    if ((wa | wb) > 7) return add_many_planes(a, wa, b, wb, out);
    const extended_planes<8> x(a, wa), y(b, wb);
    u32 sum[8], carry = 0;
    CCOLL_UNROLLED for (std::size_t k = 0; k < 8; ++k)
    {
        const u32 differ = x.of[k] ^ y.of[k];
        sum[k] = differ ^ carry;
        carry = (x.of[k] & y.of[k]) | (carry & differ);
        put(out + 4 * k, sum[k]);
    }
    unsigned width = sum[7] != 0;
    CCOLL_UNROLLED
    for (unsigned k = 0; k < 7; ++k) width = sum[k] != sum[7] ? k + 2 : width;
    return width;
}

/// std::fill_n is not vectorised at -O2.
template <class T>
CCOLL_TARGET inline void fill(T* x, std::size_t n, T value, stores /*how*/) noexcept
{
    for (std::size_t i = 0; i < n; ++i) x[i] = value;
}

inline constexpr bool streams = false;
template <class T>
struct lines_of;

#include <ccoll/codec/szp/loops.inl>
#include <ccoll/codec/szp/choose.inl>
#define CCOLL_FMA_TARGET CCOLL_TARGET
#include <ccoll/codec/szp/wide.inl>
#undef CCOLL_FMA_TARGET

}  // namespace ccoll::inline CCOLL_ABI::detail::szp::portable

#include <ccoll/base/kernels_end.inl>
