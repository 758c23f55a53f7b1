// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/portable.hpp - floor 2. The kernels of SZp over registers of 16 bytes that compilers make: SSE2
// and NEON, or plain code.
#pragma once

#include <utility>

#include <ccoll/codec/exceptions.hpp>
#include <ccoll/codec/szp/set.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
// Otherwise f64 is encoded at 6 or at 8 GB/s, by where its loop happens to begin.
#pragma GCC optimize("align-loops=32")
#endif

namespace ccoll::inline CCOLL_ABI::detail::szp {

namespace portable {

inline constexpr std::size_t lanes = 16;

typedef u32 words_128 __attribute__((vector_size(16)));
struct quanta {
    words_128 v[8];
};
using running = words_128;  // the last quantum in all words

typedef i32 numbers __attribute__((vector_size(16)));
typedef float floats __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(16)));
typedef i64 pairs __attribute__((vector_size(16)));
typedef std::int16_t shorts __attribute__((vector_size(16)));
typedef signed char chars __attribute__((vector_size(16)));
typedef floats floats_in_memory __attribute__((aligned(4), may_alias));
typedef doubles doubles_in_memory __attribute__((aligned(8), may_alias));
typedef float two_floats __attribute__((vector_size(8)));
typedef two_floats two_floats_in_memory __attribute__((aligned(4), may_alias));

CCOLL_INLINE words_128 even(words_128 a, words_128 b) noexcept
{
    return __builtin_shufflevector(a, b, 0, 2, 4, 6);
}
CCOLL_INLINE words_128 odd(words_128 a, words_128 b) noexcept
{
    return __builtin_shufflevector(a, b, 1, 3, 5, 7);
}
CCOLL_INLINE words_128 low_of(words_128 a, words_128 b) noexcept
{
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
CCOLL_INLINE words_128 high_of(words_128 a, words_128 b) noexcept
{
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

CCOLL_INLINE words_128 nearest(const float* x, const grid<float>& z) noexcept
{
    CCOLL_EXACT_BODY
    const floats v = *reinterpret_cast<const floats_in_memory*>(x);
    floats steps = v * z.inverse_in_t;
    CCOLL_ROUNDED(steps);
    const auto q = (words_128)(steps + rounder<float>)-fields_of<float>::of(rounder<float>);
    const auto out = (words_128)(((numbers)v & 0x7fffffff) >= static_cast<i32>(z.usual));
    return (q & ~out) | (out & static_cast<u32>(hold_out));
}
CCOLL_INLINE doubles two_doubles(const double* x) noexcept
{
    return *reinterpret_cast<const doubles_in_memory*>(x);
}
CCOLL_INLINE doubles two_doubles(const float* x) noexcept
{
    return __builtin_convertvector(*reinterpret_cast<const two_floats_in_memory*>(x), doubles);
}
/// Every other word is a quantum.
template <class T>
CCOLL_INLINE words_128 two_nearest(const T* x, double inverse) noexcept
{
    CCOLL_EXACT_BODY
    static_assert(static_cast<u32>(fields_of<double>::of(rounder<double>)) == 0);
    doubles steps = two_doubles(x) * inverse;
    CCOLL_ROUNDED(steps);
    return (words_128)(steps + rounder<double>);
}
CCOLL_INLINE words_128 are_below(const float* x, u32 limit) noexcept
{
    const floats v = *reinterpret_cast<const floats_in_memory*>(x);
    return (words_128)(((numbers)v & 0x7fffffff) < static_cast<i32>(limit));
}
CCOLL_INLINE words_128 are_below(const double* x, u64 limit) noexcept
{
    const auto magnitude = [](doubles v) { return (doubles)((pairs)v & std::numeric_limits<i64>::max()); };
    const double least = std::bit_cast<double>(limit);
    const auto low = magnitude(two_doubles(x)) < least, high = magnitude(two_doubles(x + 2)) < least;
    return even((words_128)low, (words_128)high);
}
template <class T>
CCOLL_INLINE words_128 nearest_in_double(const T* x, const grid<T>& z) noexcept
{
    const words_128 q = even(two_nearest(x, z.inverse), two_nearest(x + 2, z.inverse)),
                    kept = are_below(x, z.narrow);
    return (q & kept) | (~kept & static_cast<u32>(hold_out));
}
CCOLL_INLINE words_128 moved_up(words_128 last, words_128 v) noexcept
{
    return __builtin_shufflevector(last, v, 3, 4, 5, 6);
}
CCOLL_INLINE floats times(words_128 q, float step) noexcept
{
    return __builtin_convertvector((numbers)q, floats) * step;
}
template <int Half>
CCOLL_INLINE doubles times(words_128 q, double step) noexcept
{
    CCOLL_EXACT_BODY
    // Compilers convert two words one by one. As low words of numbers from 2^52 on, they are 2^52 + 2^31 too
    // large.
    const words_128 raised = q ^ 0x80000000u, above = words_128{} + 0x43300000u;
    return ((doubles)(Half == 0 ? low_of(raised, above) : high_of(raised, above)) - 0x1.000008p52) * step;
}
CCOLL_INLINE void write(float* to, std::size_t at, floats v) noexcept
{
    *reinterpret_cast<floats_in_memory*>(to + at) = v;
}
CCOLL_INLINE void write(double* to, std::size_t at, doubles v) noexcept
{
    *reinterpret_cast<doubles_in_memory*>(to + at) = v;
}
CCOLL_INLINE words_128 low_of(shorts a, shorts b) noexcept
{
    return (words_128)__builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
CCOLL_INLINE words_128 high_of(shorts a, shorts b) noexcept
{
    return (words_128)__builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
CCOLL_INLINE shorts low_of(chars a, chars b) noexcept
{
    return (shorts)__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
CCOLL_INLINE shorts high_of(chars a, chars b) noexcept
{
    return (shorts)__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                           31);
}
CCOLL_INLINE chars even(chars a, chars b) noexcept
{
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}

/// A step of an 8x8 bit transpose (turn_words in avx2.hpp): `a` keeps the bits of `low`, and gets the others
/// from its partners in `b`.
template <int By>
CCOLL_INLINE void swap_bits(words_128& a, words_128& b, u64 low) noexcept
{
    const auto keep = pairs{} + static_cast<i64>(low), p = (pairs)a, q = (pairs)b;
    a = (words_128)((p & keep) | ((q << By) & ~keep));
    b = (words_128)(((p >> By) & keep) | (q & ~keep));
}
/// Bytes of 32 values: words 0, 4, 1, 5 of the transpose, and 2, 6, 3, 7.
struct bytes_of_values {
    chars low, high;
};
CCOLL_INLINE void put_8_planes(const bytes_of_values& of, u8* out) noexcept
{
    auto a = (words_128)of.low, b = (words_128)of.high;
    swap_bits<2>(a, b, 0x3333333333333333u);
    auto c = low_of(a, b), d = high_of(a, b);  // 0, 2, 4, 6 and 1, 3, 5, 7
    swap_bits<1>(c, d, 0x5555555555555555u);
    auto e = low_of(c, d), f = high_of(c, d);
    swap_bits<4>(e, f, 0x0f0f0f0f0f0f0f0fu);
    std::memcpy(out, &e, 16);
    std::memcpy(out + 16, &f, 16);
}
/// 8 planes, of which those from `width` on repeat the sign.
CCOLL_INLINE bytes_of_values get_8_planes(const u8* in, unsigned width) noexcept
{
    words_128 e, f;
    std::memcpy(&e, in, 16);
    std::memcpy(&f, in + 16, 16);
    const numbers number = {0, 1, 2, 3};
    const words_128 sign = words_128{} + get<u32>(in + 4 * (std::min(width, 8u) - 1));
    const auto keep_e = (words_128)(number < static_cast<i32>(width)),
               keep_f = (words_128)(number + 4 < static_cast<i32>(width));
    e = (e & keep_e) | (sign & ~keep_e);
    f = (f & keep_f) | (sign & ~keep_f);
    swap_bits<4>(e, f, 0x0f0f0f0f0f0f0f0fu);
    auto c = even(e, f), d = odd(e, f);
    swap_bits<1>(c, d, 0x5555555555555555u);
    auto a = even(c, d), b = odd(c, d);
    swap_bits<2>(a, b, 0x3333333333333333u);
    return {(chars)a, (chars)b};
}

/// The lowest bytes of 32 numbers.
CCOLL_INLINE bytes_of_values lowest_bytes(const quanta& d) noexcept
{
    chars two[4];
    CCOLL_UNROLLED for (int i = 0; i < 4; ++i) two[i] = even((chars)d.v[2 * i], (chars)d.v[2 * i + 1]);
    return {even(two[0], two[1]), even(two[2], two[3])};
}
/// Planes 8 and up. Not inlined: rare, and there would be many copies to compile.
[[gnu::noinline]] inline void put_more_planes(const quanta& d, unsigned width, u8* out) noexcept
{
    quanta above = d;
    for (unsigned at = 8; at < width; at += 8) {
        CCOLL_UNROLLED for (words_128& v : above.v) v >>= 8;
        put_8_planes(lowest_bytes(above), out + 4 * at);
    }
}
CCOLL_INLINE unsigned put_planes(const quanta& d, u8* out, unsigned /*expected*/ = 0) noexcept
{
    words_128 folded = {}, negative = {};
    CCOLL_UNROLLED for (const words_128& v : d.v)
    {
        folded |= v ^ (words_128)((numbers)v >> 31);
        negative |= v;
    }
    const auto all = (pairs)folded, any = (pairs)negative;
    const u64 both = static_cast<u64>(all[0] | all[1]), of_signs = static_cast<u64>(any[0] | any[1]);
    const u32 bits = static_cast<u32>(both | both >> 32);
    const unsigned width = bits != 0 ? 33u - static_cast<unsigned>(std::countl_zero(bits))
                                     : (of_signs >> 63 | of_signs >> 31) & 1;
    if (width > 0) put_8_planes(lowest_bytes(d), out);
    if (width > 8) put_more_planes(d, width, out);
    return width;
}
CCOLL_INLINE void put_all_planes(const quanta& d, u8* out) noexcept
{
    put_8_planes(lowest_bytes(d), out);
    put_more_planes(d, widest, out);
}

/// 32 numbers of 16 bits.
struct shorts_of_values {
    shorts v[4];
};
CCOLL_INLINE shorts_of_values with_sign(const bytes_of_values& low, const bytes_of_values& high) noexcept
{
    return {{low_of(low.low, high.low), high_of(low.low, high.low), low_of(low.high, high.high),
             high_of(low.high, high.high)}};
}
CCOLL_INLINE bytes_of_values signs_of(const bytes_of_values& v) noexcept { return {v.low < 0, v.high < 0}; }
/// Up to 16 planes.
CCOLL_INLINE shorts_of_values get_shorts(const u8* in, unsigned width) noexcept
{
    const bytes_of_values low = get_8_planes(in, width);
    return with_sign(low, width > 8 ? get_8_planes(in + 32, width - 8) : signs_of(low));
}
[[gnu::noinline]] inline void get_planes(const u8* in, unsigned width, quanta& d) noexcept
{
    const shorts_of_values low = get_shorts(in, width);
    shorts_of_values high;
    if (width > 16) high = get_shorts(in + 64, width - 16);
    else CCOLL_UNROLLED for (int i = 0; i < 4; ++i) high.v[i] = low.v[i] < 0;
    CCOLL_UNROLLED for (int i = 0; i < 4; ++i)
    {
        d.v[2 * i] = low_of(low.v[i], high.v[i]);
        d.v[2 * i + 1] = high_of(low.v[i], high.v[i]);
    }
}

/// Prefix sum of 32 differences on top of `r`.
CCOLL_INLINE void scan(quanta& d, running& r) noexcept
{
    const words_128 zero = {};
    words_128 total = {};
    CCOLL_UNROLLED for (words_128& v : d.v)
    {
        v += __builtin_shufflevector(zero, v, 3, 4, 5, 6);
        v += __builtin_shufflevector(zero, v, 2, 3, 4, 5) + total;
        total = __builtin_shufflevector(v, v, 3, 3, 3, 3);
        v += r;
    }
    r += total;
}
/// Sums of bytes fit 16 bits.
CCOLL_INLINE void scan_few_planes(const u8* in, unsigned width, quanta& q, running& r) noexcept
{
    const bytes_of_values differences = get_8_planes(in, width);
    const shorts_of_values of = with_sign(differences, signs_of(differences));
    const shorts zero = {};
    shorts total = {};
    CCOLL_UNROLLED for (int i = 0; i < 4; ++i)
    {
        shorts v = of.v[i] + __builtin_shufflevector(zero, of.v[i], 7, 8, 9, 10, 11, 12, 13, 14);
        v += __builtin_shufflevector(zero, v, 6, 7, 8, 9, 10, 11, 12, 13);
        v += __builtin_shufflevector(zero, v, 4, 5, 6, 7, 8, 9, 10, 11) + total;
        total = __builtin_shufflevector(v, v, 7, 7, 7, 7, 7, 7, 7, 7);
        const shorts sign = v < 0;
        q.v[2 * i] = low_of(v, sign) + r;
        q.v[2 * i + 1] = high_of(v, sign) + r;
    }
    r = __builtin_shufflevector(q.v[7], q.v[7], 3, 3, 3, 3);
}
#include <ccoll/codec/szp/registers.inl>

CCOLL_INLINE void get_list(const u8* list, unsigned count, const u8* planes, bool beside, u8* out) noexcept
{
    std::memcpy(out, planes, 32);
    if (beside) return;
    u64 entries = get<u64>(list) & ((u64{1} << 8 * count) - 1);  // an entry of 0 adds nothing
    u32 p[3] = {};
    for (; entries != 0; entries >>= 8)
        for (unsigned k = 0; k < 3; ++k) p[k] |= static_cast<u32>(entries >> (5 + k) & 1) << (entries & 31);
    std::memcpy(out, p, sizeof p);
}

/// Copies the planes of a block, eight at a time. @return the width
CCOLL_INLINE std::size_t copy_planes(const u8* from, std::size_t width, u8* out) noexcept
{
    for (std::size_t k = 0; k == 0 || k < width; k += 8) std::memcpy(out + 4 * k, from + 4 * k, 4 * 8);
    return width;
}
/// Bit-sliced addition of two blocks of two's-complement planes: 32 numbers at once in a word. Planes that
/// repeat the sign are dropped.
/// @param most  planes of the sum: it is made modulo 2^most    @return the width of the sum
[[gnu::noinline]] inline std::size_t add_planes(const u8* a, std::size_t wa, const u8* b, std::size_t wb,
                                                std::size_t most, u8* out) noexcept
{
    const u8 *const narrow = wa < wb ? a : b, *const other = wa < wb ? b : a;
    const std::size_t least = std::min(wa, wb), width = std::max(wa, wb);
    if (least == 0) return copy_planes(other, width, out);
    u32 sum = 0, carry = 0;
    std::size_t last = 0;  // plane that differs from the one below it
    const auto add = [&](std::size_t k, u32 x, u32 y) {
        const u32 differ = x ^ y, below = sum;
        sum = differ ^ carry;
        carry = (x & y) | (carry & differ);
        put(out + 4 * k, sum);
        last = k > 0 && sum != below ? k : last;
    };
    const u32 sign = get<u32>(narrow + 4 * (least - 1)), sign_of_other = get<u32>(other + 4 * (width - 1));
    std::size_t k = 0;
    const auto add_both = [&] { add(k, get<u32>(narrow + 4 * k), get<u32>(other + 4 * k)); };
    // Most of these have one or two more planes, so that the ends of the loops are foreseen.
    if (least >= 8) { CCOLL_UNROLLED for (; k < 8; ++k) add_both(); }
    for (; k < least; ++k) add_both();
    for (; k < width; ++k) add(k, sign, get<u32>(other + 4 * k));
    if (width < most) add(width, sign, sign_of_other);
    return last > 0 ? last + 1 : sum != 0;
}
/// Without a loop for widths up to 7: its exits would be mispredicted.
template <unsigned Most>
CCOLL_INLINE std::size_t add_blocks(const u8* a, std::size_t wa, const u8* b, std::size_t wb,
                                    u8* out) noexcept
{
    if (wa == 0 || wb == 0) return copy_planes(wa == 0 ? b : a, wa | wb, out);
    if (Most > 7 && (wa | wb) > 7) return add_planes(a, wa, b, wb, widest, out);
    // The sign behind the planes, by whole registers: choosing it plane by plane takes as long as adding.
    u32 x[16], y[16], sum[8], carry = 0;
    const auto extend = [](const u8* in, std::size_t width, u32* to) {
        const u32 sign = get<u32>(in + 4 * (width - 1));
        std::memcpy(to, in, 32);
        for (std::size_t k = 0; k < 8; ++k) to[width + k] = sign;
    };
    extend(a, wa, x);
    extend(b, wb, y);
    CCOLL_UNROLLED for (std::size_t k = 0; k < 8; ++k)
    {
        const u32 differ = x[k] ^ y[k];
        sum[k] = differ ^ carry;
        carry = (x[k] & y[k]) | (carry & differ);
        put(out + 4 * k, sum[k]);
    }
    unsigned width = sum[7] != 0;
    CCOLL_UNROLLED for (unsigned k = 0; k < 7; ++k) width = sum[k] != sum[7] ? k + 2 : width;
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

}  // namespace portable

#if defined(CCOLL_NEON_KERNELS)
namespace neon = portable;  // compilers make NEON of it
#endif

}  // namespace ccoll::inline CCOLL_ABI::detail::szp

#include <ccoll/base/kernels_end.inl>
