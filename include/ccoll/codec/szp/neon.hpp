// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/neon.hpp - floor 2. The kernels of SZp with NEON.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_NEON_KERNELS)
#include <arm_neon.h>

#include <ccoll/codec/lines/neon.hpp>
#include <ccoll/codec/szp/portable.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// The values of a block.
struct values_neon {
    int32x4_t v[8];
};
/// 32 bytes of as many values: first those of v[0], v[2], v[4], v[6], then the others. Or 8 planes.
struct bytes_neon {
    uint8x16_t even, odd;
};
/// 32 words, in the same order.
struct words_neon {
    int16x8_t v[4];
};

/// [w] bytes of planes 0, 2, 4, 6, and of 1, 3, 5, 7; those from w on repeat the sign, and without planes zeros come out.
struct neon_plane_bytes {
    u8 of[9][32];
};
constexpr neon_plane_bytes make_neon_plane_bytes()
{
    neon_plane_bytes n{};
    for (unsigned w = 0; w <= 8; ++w)
        for (unsigned k = 0; k < 8; ++k)
            for (unsigned c = 0; c < 4; ++c)
                n.of[w][16 * (k % 2) + 4 * (k / 2) + c] = static_cast<u8>(w == 0 ? 255 : 4 * std::min(k, w - 1) + c);
    return n;
}
inline constexpr neon_plane_bytes kept_plane_bytes = make_neon_plane_bytes();

namespace neon {

inline constexpr std::size_t lanes = 16;

using portable::fill;

using quanta = values_neon;
using running = int32x4_t;  // the last quantum in all words

// Conversions make 0 of NaN, and wrap or saturate. So comparisons, which NaN fails, put hold_out in place of all that is too large.

template <class T>
CCOLL_INLINE T number_of(typename fields_of<T>::word bits) noexcept
{
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
CCOLL_INLINE int32x4_t kept(uint32x4_t are_below, int32x4_t q) noexcept { return vbslq_s32(are_below, q, vdupq_n_s32(hold_out)); }
CCOLL_INLINE int32x4_t low_words(int64x2_t a, int64x2_t b) noexcept
{
    return vuzp1q_s32(vreinterpretq_s32_s64(a), vreinterpretq_s32_s64(b));
}

CCOLL_INLINE int32x4_t nearest(const float* x, const grid<float>& z) noexcept
{
    const float32x4_t v = vld1q_f32(x);
    return kept(vcaltq_f32(v, vdupq_n_f32(number_of<float>(z.usual))), vcvtnq_s32_f32(vmulq_n_f32(v, z.inverse_in_t)));
}
CCOLL_INLINE float64x2x2_t four_doubles(const double* x) noexcept { return {{vld1q_f64(x), vld1q_f64(x + 2)}}; }
CCOLL_INLINE float64x2x2_t four_doubles(const float* x) noexcept
{
    const float32x4_t v = vld1q_f32(x);
    return {{vcvt_f64_f32(vget_low_f32(v)), vcvt_high_f64_f32(v)}};
}
template <class T>
CCOLL_INLINE int32x4_t nearest_in_double(const T* x, const grid<T>& z) noexcept
{
    const float64x2_t limit = vdupq_n_f64(static_cast<double>(number_of<T>(z.narrow)));
    const auto [a, b] = four_doubles(x).val;
    const int64x2_t low = vreinterpretq_s64_u64(vcaltq_f64(a, limit)), high = vreinterpretq_s64_u64(vcaltq_f64(b, limit));
    const int64x2_t first = vcvtnq_s64_f64(vmulq_n_f64(a, z.inverse)), second = vcvtnq_s64_f64(vmulq_n_f64(b, z.inverse));
    return kept(vreinterpretq_u32_s32(low_words(low, high)), low_words(first, second));
}
CCOLL_INLINE float32x4_t times(int32x4_t q, float step) noexcept { return vmulq_n_f32(vcvtq_f32_s32(q), step); }
template <int Half>
CCOLL_INLINE float64x2_t times(int32x4_t q, double step) noexcept
{
    return vmulq_n_f64(vcvtq_f64_s64(Half == 0 ? vmovl_s32(vget_low_s32(q)) : vmovl_high_s32(q)), step);
}
#include <ccoll/codec/szp/registers.inl>

/// Swaps the bits of `a` and `b` that are By apart in a transposition: `a` keeps those of `low`, in each byte.
template <int By>
CCOLL_INLINE void swap_bits(uint8x16_t& a, uint8x16_t& b, uint8x16_t low) noexcept
{
    const uint8x16_t first = a;
    a = vbslq_u8(low, a, vshlq_n_u8(b, By));
    b = vbslq_u8(low, vshrq_n_u8(first, By), b);
}
CCOLL_INLINE uint64x2_t by_two(uint8x16_t v) noexcept { return vreinterpretq_u64_u8(v); }
CCOLL_INLINE uint32x4_t by_one(uint8x16_t v) noexcept { return vreinterpretq_u32_u8(v); }

/// 8x8 bit transposes between 8 words, in each of their 4 bytes, swap bits between words that are 4, 2 and 1 apart. Between the steps,
/// words change their registers, so that partners stand in the same place of both.
CCOLL_INLINE void put_8_planes(uint8x16_t a, uint8x16_t b, u8* out) noexcept
{
    const uint8x16_t first = a;  // words 0, 1, 2, 3; b: 4, 5, 6, 7
    a = vsliq_n_u8(a, b, 4);
    b = vsriq_n_u8(b, first, 4);
    uint8x16_t c = vreinterpretq_u8_u64(vzip1q_u64(by_two(a), by_two(b)));  // 0, 1, 4, 5
    uint8x16_t d = vreinterpretq_u8_u64(vzip2q_u64(by_two(a), by_two(b)));
    swap_bits<2>(c, d, vdupq_n_u8(0x33));
    uint8x16_t e = vreinterpretq_u8_u32(vtrn1q_u32(by_one(c), by_one(d)));  // 0, 2, 4, 6
    uint8x16_t f = vreinterpretq_u8_u32(vtrn2q_u32(by_one(c), by_one(d)));
    swap_bits<1>(e, f, vdupq_n_u8(0x55));
    vst1q_u8(out, vreinterpretq_u8_u32(vzip1q_u32(by_one(e), by_one(f))));
    vst1q_u8(out + 16, vreinterpretq_u8_u32(vzip2q_u32(by_one(e), by_one(f))));
}
/// 8 planes, of which those from `width` on repeat the sign.
CCOLL_INLINE bytes_neon get_8_planes(const u8* in, unsigned width) noexcept
{
    const uint8x16x2_t planes = {{vld1q_u8(in), vld1q_u8(in + 16)}};
    const u8* const from = kept_plane_bytes.of[std::min(width, 8u)];
    uint8x16_t e = vqtbl2q_u8(planes, vld1q_u8(from)), f = vqtbl2q_u8(planes, vld1q_u8(from + 16));
    swap_bits<1>(e, f, vdupq_n_u8(0x55));
    uint8x16_t c = vreinterpretq_u8_u32(vtrn1q_u32(by_one(e), by_one(f)));
    uint8x16_t d = vreinterpretq_u8_u32(vtrn2q_u32(by_one(e), by_one(f)));
    swap_bits<2>(c, d, vdupq_n_u8(0x33));
    const uint8x16_t a = vreinterpretq_u8_u64(vzip1q_u64(by_two(c), by_two(d)));
    const uint8x16_t b = vreinterpretq_u8_u64(vzip2q_u64(by_two(c), by_two(d)));
    return {vsliq_n_u8(a, b, 4), vsriq_n_u8(b, a, 4)};
}

/// The planes that numbers from `low` to `high` need: as many as 0, -1, 1, -2, 2 have bits as 0, 1, 2, 3, 4.
CCOLL_INLINE unsigned width_of(i32 low, i32 high) noexcept
{
    const auto number = [](i32 v) { return static_cast<u32>(v) << 1 ^ static_cast<u32>(v >> 31); };
    return 32 - static_cast<unsigned>(std::countl_zero(number(low) | number(high)));
}
CCOLL_INLINE unsigned width_of(const quanta& d) noexcept
{
    int32x4_t low = d.v[0], high = d.v[0];
    for (int i = 1; i < 8; ++i) {
        low = vminq_s32(low, d.v[i]);
        high = vmaxq_s32(high, d.v[i]);
    }
    return width_of(vminvq_s32(low), vmaxvq_s32(high));
}
CCOLL_INLINE uint8x16_t in_bytes(int16x8_t words) noexcept { return vreinterpretq_u8_s16(words); }
/// @param width  planes above may be left out
CCOLL_INLINE void put_16_planes(const words_neon& w, unsigned width, u8* out) noexcept
{
    const uint8x16_t a = in_bytes(w.v[0]), b = in_bytes(w.v[1]), c = in_bytes(w.v[2]), d = in_bytes(w.v[3]);
    put_8_planes(vuzp1q_u8(a, b), vuzp1q_u8(c, d), out);
    if (width > 8) put_8_planes(vuzp2q_u8(a, b), vuzp2q_u8(c, d), out + 32);
}
/// Which register has the first four of the values that stand in register i of words_neon; the others are two registers further.
constexpr int place_of(int i) noexcept { return 4 * (i % 2) + i / 2; }
/// The low (Half = 0) or the high words.
template <int Half>
CCOLL_INLINE words_neon half_words(const quanta& d) noexcept
{
    words_neon w;
    for (int i = 0; i < 4; ++i) {
        const int16x8_t a = vreinterpretq_s16_s32(d.v[place_of(i)]), b = vreinterpretq_s16_s32(d.v[place_of(i) + 2]);
        w.v[i] = Half == 0 ? vuzp1q_s16(a, b) : vuzp2q_s16(a, b);
    }
    return w;
}
CCOLL_INLINE void put_planes(const quanta& d, unsigned width, u8* out) noexcept
{
    put_16_planes(half_words<0>(d), width, out);
    if (width > 16) put_16_planes(half_words<1>(d), width - 16, out + 64);
}
CCOLL_INLINE unsigned put_planes(const quanta& d, u8* out) noexcept
{
    const unsigned width = width_of(d);
    if (width > 0) put_planes(d, width, out);
    return width;
}
CCOLL_INLINE void put_all_planes(const quanta& d, u8* out) noexcept { put_planes(d, widest, out); }

CCOLL_INLINE uint8x16_t signs(uint8x16_t bytes) noexcept { return vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(bytes), 7)); }
/// Up to 16 planes.
CCOLL_INLINE words_neon get_words(const u8* in, unsigned width) noexcept
{
    const bytes_neon low = get_8_planes(in, width);
    const bytes_neon high = width > 8 ? get_8_planes(in + 32, width - 8) : bytes_neon{signs(low.even), signs(low.odd)};
    return {{vreinterpretq_s16_u8(vzip1q_u8(low.even, high.even)), vreinterpretq_s16_u8(vzip2q_u8(low.even, high.even)),
             vreinterpretq_s16_u8(vzip1q_u8(low.odd, high.odd)), vreinterpretq_s16_u8(vzip2q_u8(low.odd, high.odd))}};
}
CCOLL_INLINE void get_planes(const u8* in, unsigned width, quanta& d) noexcept
{
    const words_neon low = get_words(in, std::min(width, 16u));
    words_neon high;
    if (width > 16) high = get_words(in + 64, width - 16);
    else
        for (int i = 0; i < 4; ++i) high.v[i] = vshrq_n_s16(low.v[i], 15);
    for (int i = 0; i < 4; ++i) {
        d.v[place_of(i)] = vreinterpretq_s32_s16(vzip1q_s16(low.v[i], high.v[i]));
        d.v[place_of(i) + 2] = vreinterpretq_s32_s16(vzip2q_s16(low.v[i], high.v[i]));
    }
}

/// Prefix sum of 32 differences on top of `r`.
CCOLL_INLINE void scan(quanta& d, running& r) noexcept
{
    const int32x4_t zero = vdupq_n_s32(0);
    int32x4_t total = zero;
    for (int i = 0; i < 8; ++i) {
        int32x4_t v = vaddq_s32(d.v[i], vextq_s32(zero, d.v[i], 3));
        v = vaddq_s32(vaddq_s32(v, vextq_s32(zero, v, 2)), total);
        total = vdupq_laneq_s32(v, 3);
        d.v[i] = vaddq_s32(v, r);
    }
    r = vaddq_s32(r, total);
}
/// The same for bytes, whose sums fit 16 bits.
CCOLL_INLINE void scan_8_planes(const u8* in, unsigned width, quanta& q, running& r) noexcept
{
    const bytes_neon bytes = get_8_planes(in, width);
    const int8x16_t low = vreinterpretq_s8_u32(vzip1q_u32(by_one(bytes.even), by_one(bytes.odd)));
    const int8x16_t high = vreinterpretq_s8_u32(vzip2q_u32(by_one(bytes.even), by_one(bytes.odd)));
    const int16x8_t words[4] = {vmovl_s8(vget_low_s8(low)), vmovl_high_s8(low), vmovl_s8(vget_low_s8(high)), vmovl_high_s8(high)},
                    zero = vdupq_n_s16(0);
    int16x8_t total = zero;
    for (int i = 0; i < 4; ++i) {
        int16x8_t v = vaddq_s16(words[i], vextq_s16(zero, words[i], 7));
        v = vaddq_s16(v, vextq_s16(zero, v, 6));
        v = vaddq_s16(vaddq_s16(v, vextq_s16(zero, v, 4)), total);
        total = vdupq_laneq_s16(v, 7);
        q.v[2 * i] = vaddw_s16(r, vget_low_s16(v));
        q.v[2 * i + 1] = vaddw_high_s16(r, v);
    }
    r = vdupq_laneq_s32(q.v[7], 3);
}
#include <ccoll/codec/szp/restore.inl>

/// Widths up to 7: sums are bytes. Widths up to 15: sums fit 16 bits.
CCOLL_INLINE unsigned add_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    if ((wa | wb) <= 7) {
        const bytes_neon x = get_8_planes(a, wa), y = get_8_planes(b, wb);
        const uint8x16_t even = vaddq_u8(x.even, y.even), odd = vaddq_u8(x.odd, y.odd);
        const int8x16_t e = vreinterpretq_s8_u8(even), o = vreinterpretq_s8_u8(odd);
        put_8_planes(even, odd, out);
        return width_of(vminvq_s8(vminq_s8(e, o)), vmaxvq_s8(vmaxq_s8(e, o)));
    }
    if ((wa | wb) <= 15) {
        words_neon sum = get_words(a, wa);
        const words_neon other = get_words(b, wb);
        for (int i = 0; i < 4; ++i) sum.v[i] = vaddq_s16(sum.v[i], other.v[i]);
        int16x8_t low = sum.v[0], high = sum.v[0];
        for (int i = 1; i < 4; ++i) {
            low = vminq_s16(low, sum.v[i]);
            high = vmaxq_s16(high, sum.v[i]);
        }
        const unsigned width = width_of(vminvq_s16(low), vmaxvq_s16(high));
        put_16_planes(sum, width, out);
        return width;
    }
    quanta x, y;
    get_planes(a, wa, x);
    get_planes(b, wb, y);
    add_to(x, y);
    return put_planes(y, out);
}

inline constexpr bool streams = false;
template <class T>
struct lines_of;

#include <ccoll/codec/szp/loops.inl>
#include <ccoll/codec/szp/choose.inl>
#define CCOLL_FMA_TARGET CCOLL_TARGET
#include <ccoll/codec/szp/wide.inl>
#undef CCOLL_FMA_TARGET

}  // namespace neon

}  // namespace ccoll::inline CCOLL_ABI::detail::szp

#include <ccoll/base/kernels_end.inl>

#endif
