// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/portable.hpp - floor 2. The kernels of SZp in plain C++, shaped for a compiler that vectorises; the reference for all others.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>

#include <ccoll/base/memory.hpp>
#include <ccoll/base/stores.hpp>
#include <ccoll/codec/specials/kernels.hpp>
#include <ccoll/codec/szp/blocks.hpp>
#include <ccoll/codec/szp/few_planes.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC optimize("align-loops=32")  // else f64 is encoded at 6 or at 8 GB/s, by where its loop happens to begin
#endif

namespace ccoll::inline CCOLL_ABI::detail::szp::portable {

using running = i32;
struct quanta {
    i32* values;  // of this block; values[-1] is for the one before them
    i32 store[block_elements + 1];

    /// Where they go if they are not elsewhere.
    CCOLL_INLINE i32* own() noexcept
    {
        store[0] = 0;
        return values = store + 1;
    }
};
struct differences {
    i32 of[block_elements];
};
template <class T>
struct magnitudes {
    typename fields_of<T>::word most;
};

CCOLL_INLINE void start(running& r, i32 base) noexcept { r = base; }
CCOLL_INLINE i32 last_of(running r) noexcept { return r; }

template <class T>
CCOLL_INLINE void clear(magnitudes<T>& m) noexcept
{
    m.most = 0;
}
template <class T>
CCOLL_INLINE void merge(magnitudes<T>& into, const magnitudes<T>& m) noexcept
{
    into.most = std::max(into.most, m.most);
}
template <class T>
CCOLL_INLINE auto top(const magnitudes<T>& m) noexcept
{
    return m.most;
}
template <class T>
CCOLL_INLINE bool over(const magnitudes<T>& m, typename fields_of<T>::word limit) noexcept
{
    return m.most >= limit;
}
template <class T>
CCOLL_INLINE void largest_of(const T* x, magnitudes<T>& m) noexcept
{
    using fields = fields_of<T>;
    typename fields::signed_word most = 0;
    for (std::size_t i = 0; i < block_elements; ++i) {
        const auto w = fields::signed_magnitude(x[i]);
        most = w > most ? w : most;
    }
    m.most = static_cast<typename fields::word>(most);
}

/// Rounds to the nearest integer, ties to even, by an addition: the low bits of the sum are the integer, modulo 2^32.
template <class T>
inline constexpr T rounder = is_f32<T> ? T(12582912.0) : T(6755399441055744.0);  // 1.5 * 2^mantissa_bits

/// Denormals count as 0 in any bound that is usable, whether the environment flushes them or not.
template <class T>
CCOLL_INLINE void quantise(const T* x, T inverse, i32* q) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    for (std::size_t i = 0; i < block_elements; ++i) {
        const T t = x[i] * inverse + rounder<T>;
        q[i] = static_cast<i32>(static_cast<u32>(fields::of(t)) - static_cast<u32>(fields::of(rounder<T>)));
    }
}

/// Differences read the quanta at an offset of one, and a load that overlaps two stores which are still under way waits for them:
/// quantising 16 blocks ahead doubles the speed of encoding.
template <class T>
struct look_ahead {
    static constexpr std::size_t batch = 16, lead = 4;
    alignas(16) i32 values[lead + batch * block_elements];  // those of a batch, and at lead - 1 the one before them
    typename fields_of<T>::word most[batch];
    std::size_t begin = ~std::size_t{0};  // of the batch

    CCOLL_INLINE void quantise(const T* x, std::size_t n, std::size_t k, const T* block, const quantiser<T>& z, quanta& q,
                               magnitudes<T>& m) noexcept
    {
        if (begin + batch == k || begin == ~std::size_t{0}) {
            values[lead - 1] = begin + batch == k ? values[lead + batch * block_elements - 1] : 0;
            begin = k;
            for (std::size_t j = 0; j < batch && block_elements * (k + j + 1) <= n; ++j) {
                const T* const next = x + block_elements * (k + j);
                magnitudes<T> largest;
                largest_of(next, largest);
                most[j] = largest.most;
                portable::quantise(next, z.inverse, values + lead + block_elements * j);
            }
        }
        if (block_elements * (k + 1) <= n) {
            q.values = values + lead + block_elements * (k - begin);
            m.most = most[k - begin];
        } else {
            largest_of(block, m);
            portable::quantise(block, z.inverse, q.own());
        }
    }
};

CCOLL_INLINE void quantise_f64(const float* x, double inverse, quanta& q) noexcept
{
    CCOLL_EXACT_BODY
    i32* const to = q.own();
    for (std::size_t i = 0; i < block_elements; ++i) {
        const double t = static_cast<double>(x[i]) * inverse + rounder<double>;
        to[i] = static_cast<i32>(static_cast<u32>(std::bit_cast<u64>(t)) - static_cast<u32>(std::bit_cast<u64>(rounder<double>)));
    }
}
CCOLL_INLINE void replace_from(const float* x, u32 limit, const quanta& with, quanta& q) noexcept
{
    const i32* const from = q.values;
    i32* const to = q.own();
    for (std::size_t i = 0; i < block_elements; ++i) to[i] = fields_of<float>::magnitude(x[i]) < limit ? from[i] : with.values[i];
}
CCOLL_INLINE void load(const i32* values, quanta& q) noexcept { std::memcpy(q.own(), values, sizeof(i32) * block_elements); }
CCOLL_INLINE void store(const quanta& q, i32* values) noexcept { std::memcpy(values, q.values, sizeof(i32) * block_elements); }
#include <ccoll/codec/szp/hold.inl>

CCOLL_INLINE i32 minus(i32 a, i32 b) noexcept { return static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b)); }
CCOLL_INLINE i32 plus(i32 a, i32 b) noexcept { return static_cast<i32>(static_cast<u32>(a) + static_cast<u32>(b)); }
CCOLL_INLINE void difference(quanta& q, running& r, differences& d) noexcept
{
    if (q.values[-1] != r) q.values[-1] = r;  // rare: the loads after such a store wait for it
    for (std::size_t i = 0; i < block_elements; ++i) d.of[i] = minus(q.values[i], q.values[static_cast<std::ptrdiff_t>(i) - 1]);
    r = q.values[block_elements - 1];
}

CCOLL_INLINE void alone(const quanta& q, differences& d) noexcept { std::memcpy(d.of, q.values, sizeof d.of); }
CCOLL_INLINE u32 sum_of_magnitudes(const differences& d) noexcept
{
    i32 sum = 0;
    for (const i32 v : d.of) sum += v < 0 ? -v : v;
    return static_cast<u32>(sum);
}

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
/// Between four groups of 8 bytes and 8 words that have a byte of each: transposes of 4x4 bytes in either half.
CCOLL_INLINE void transpose_bytes(u64 v[4]) noexcept
{
    swap_bits(v[0], v[1], 8, 0x00FF00FF00FF00FFu);
    swap_bits(v[2], v[3], 8, 0x00FF00FF00FF00FFu);
    swap_bits(v[0], v[2], 16, 0x0000FFFF0000FFFFu);
    swap_bits(v[1], v[3], 16, 0x0000FFFF0000FFFFu);
}

/// Planes shift .. shift + 7 of 32 words.
CCOLL_INLINE void put_8_planes(const i32* d, int shift, u8* out) noexcept
{
    u8 bytes[block_elements];
    for (std::size_t i = 0; i < block_elements; ++i) bytes[i] = static_cast<u8>(static_cast<u32>(d[i]) >> shift);
    u64 v[4];
    std::memcpy(v, bytes, sizeof v);
    transpose_bytes(v);
    transpose(v);
    for (std::size_t j = 0; j < 4; ++j) {
        put(out + 4 * j, static_cast<u32>(v[j]));
        put(out + 4 * j + 16, static_cast<u32>(v[j] >> 32));
    }
}
/// Planes 8 and up; as with get_many_planes.
[[gnu::noinline]] inline void put_more_planes(const i32* d, unsigned width, u8* out) noexcept
{
    for (unsigned at = 8; at < width; at += 8) put_8_planes(d, static_cast<int>(at), out + 4 * at);
}
CCOLL_INLINE unsigned put_planes(const differences& d, bool /*brief*/, u8* out) noexcept
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

/// 8 planes to bytes: value 8 g + j in byte g of b[j]. Planes from `width` on repeat the sign plane.
CCOLL_INLINE void get_8_planes(const u8* in, unsigned width, u32 b[8]) noexcept
{
    u64 v[4];
    const auto plane = [&](unsigned k) { return get<u32>(in + 4 * (k < width ? k : width - 1)); };
    for (unsigned j = 0; j < 4; ++j) v[j] = plane(j) | u64{plane(j + 4)} << 32;
    transpose(v);
    for (unsigned j = 0; j < 4; ++j) {
        b[j] = static_cast<u32>(v[j]);
        b[j + 4] = static_cast<u32>(v[j] >> 32);
    }
}
/// @param width  1..8; all, if there are more than 8 planes
CCOLL_INLINE void get_first_planes(const u8* in, unsigned width, i32* d) noexcept
{
    u32 b[8];
    get_8_planes(in, width, b);
    for (std::size_t j = 0; j < 8; ++j)
        for (std::size_t g = 0; g < 4; ++g) d[8 * g + j] = static_cast<i32>(b[j] << (24 - 8 * g)) >> 24;
}
/// @param width  9..32. Not inlined: there would be five copies to compile.
[[gnu::noinline]] inline void get_many_planes(const u8* in, unsigned width, i32* d) noexcept
{
    get_first_planes(in, width, d);
    for (unsigned at = 8; at < width; at += 8) {
        u32 b[8];
        get_8_planes(in + 4 * at, width - at, b);
        for (std::size_t j = 0; j < 8; ++j)
            for (std::size_t g = 0; g < 4; ++g) {
                const u32 low = static_cast<u32>(d[8 * g + j]) & ((u32{1} << at) - 1);
                d[8 * g + j] = static_cast<i32>(low | static_cast<u32>(static_cast<i32>(b[j] << (24 - 8 * g)) >> 24) << at);
            }
    }
}
/// @param width  1..32
CCOLL_INLINE void get_planes(const u8* in, unsigned width, i32* d) noexcept
{
    if (width <= 8) get_first_planes(in, width, d);
    else get_many_planes(in, width, d);
}
CCOLL_INLINE void get_planes(const u8* in, unsigned width, differences& d) noexcept { get_planes(in, width, d.of); }
template <class T>
CCOLL_INLINE void dequantise(const differences& d, T step, T* x) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t i = 0; i < block_elements; ++i) x[i] = static_cast<T>(d.of[i]) * step;
}

/// The running sum stays in a register and its conversion inside the loop: in an array it would be read before it is there.
template <class T>
CCOLL_INLINE void restore(const u8* in, unsigned width, running& r, T step, T* x) noexcept
{
    CCOLL_EXACT_BODY
    if (width == 0) {
        const T value = static_cast<T>(r) * step;
        for (std::size_t i = 0; i < block_elements; ++i) x[i] = value;
        return;
    }
    i32 d[block_elements];
    get_planes(in, width, d);
    u32 sum = static_cast<u32>(r);
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 8
#endif
    for (std::size_t i = 0; i < block_elements; ++i) {
        sum += static_cast<u32>(d[i]);
        x[i] = static_cast<T>(static_cast<i32>(sum)) * step;
    }
    r = static_cast<i32>(sum);
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
[[gnu::noinline]] inline unsigned add_wide_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    if ((wa | wb) > 15) return add_planes(a, wa, b, wb, out);
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
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 8
#endif
    for (unsigned k = 0; k < 8; ++k) add(k);
    for (unsigned k = 8; k <= std::max(wa, wb); ++k) add(k);
    return last > 0 ? last + 1 : sum != 0;
}
/// The adder of add_planes, without a loop for widths up to 7: its exits would be mispredicted.
CCOLL_INLINE unsigned add_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    if ((wa == 0 || wb == 0) && (wa | wb) <= 16) {  // a longer one is copied by add_planes
        std::memcpy(out, wa == 0 ? b : a, 64);
        return wa | wb;
    }
    if ((wa | wb) > 7) return add_wide_blocks(a, wa, b, wb, out);
    const extended_planes<8> x(a, wa), y(b, wb);
    u32 sum[8], carry = 0;
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 8
#endif
    for (std::size_t k = 0; k < 8; ++k) {
        const u32 differ = x.of[k] ^ y.of[k];
        sum[k] = differ ^ carry;
        carry = (x.of[k] & y.of[k]) | (carry & differ);
        put(out + 4 * k, sum[k]);
    }
    unsigned width = sum[7] != 0;
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 8
#endif
    for (unsigned k = 0; k < 7; ++k) width = sum[k] != sum[7] ? k + 2 : width;
    return width;
}

/// n equal values. std::fill_n is not vectorised at -O2.
template <class T>
inline void fill(T* x, std::size_t n, T value, stores /*how*/) noexcept
{
    for (std::size_t i = 0; i < n; ++i) x[i] = value;
}

inline constexpr bool streams = false;
template <class T>
struct lines_of;

namespace by_mask = specials::portable;
#include <ccoll/codec/szp/loops.inl>
#include <ccoll/codec/szp/quanta64.inl>
#include <ccoll/codec/szp/alone.inl>
#include <ccoll/codec/szp/survey.inl>
inline constexpr bool takes_out = false;  // quantises ahead; and two passes are faster
#include <ccoll/codec/szp/encode.inl>

using namespace lists;

/// std::popcount is a call without -mpopcnt.
CCOLL_INLINE unsigned ones_of(u32 v) noexcept
{
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return ((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
CCOLL_INLINE void put_list(const few_planes& p, unsigned count, u8* to) noexcept { put_one_by_one(p, count, to); }
/// [the three bits of an entry] planes 0 and 1
inline constexpr u64 low_planes[8] = {0, 1, u64{1} << 32, u64{1} << 32 | 1, 0, 1, u64{1} << 32, u64{1} << 32 | 1};
CCOLL_INLINE few_planes get_list(const u8* from, unsigned count) noexcept
{
    u64 low = 0;
    u32 high = 0;
    const auto add = [&](u32 entry) {
        low |= low_planes[entry >> 5] << (entry & 31);
        high |= (entry >> 7) << (entry & 31);
    };
    const u32 four = get<u32>(from) & static_cast<u32>((u64{1} << 8 * (count < 4 ? count : 4)) - 1);  // an entry of 0 adds nothing
    add(four & 255), add(four >> 8 & 255), add(four >> 16 & 255), add(four >> 24);
    for (unsigned j = 4; j < count; ++j) add(from[j]);
    return {static_cast<u32>(low), static_cast<u32>(low >> 32), high};
}
#include <ccoll/codec/szp/lists.inl>

/// Sets that cannot decode lists as they are. @return false: lists::expand() first
template <class T>
bool decode_lists(const chunk_view&, T, T*, std::size_t, stores) noexcept
{
    return false;
}

}  // namespace ccoll::detail::szp::portable

#include <ccoll/base/kernels_end.inl>
