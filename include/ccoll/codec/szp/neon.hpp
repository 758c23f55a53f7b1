// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/neon.hpp - floor 2. The kernels of SZp with NEON. The same bytes as the portable ones. Lists, which only loose bounds have, are
// those of the portable set.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_NEON_KERNELS)
#include <arm_neon.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>

#include <ccoll/codec/lines/neon.hpp>
#include <ccoll/codec/szp/portable.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// The values of a block.
struct values_neon {
    int32x4_t v[8];
};
/// 8 planes, or 32 bytes of as many values.
struct planes_neon {
    uint8x16_t low, high;
};

/// Where the bytes of 8 planes go: to groups, which are 8 bytes with the bits of 8 values, and back.
struct neon_orders {
    u8 groups[9][32];  ///< [w] planes from w on repeat the sign
    u8 planes[32];     ///< from groups
    u8 kept[9][32];    ///< [w] planes stay planes; those from w on repeat the sign
};
constexpr neon_orders make_neon_orders()
{
    neon_orders o{};
    for (unsigned k = 0; k < 8; ++k)
        for (unsigned g = 0; g < 4; ++g) {
            o.planes[4 * k + g] = static_cast<u8>(8 * g + k);
            for (unsigned w = 1; w <= 8; ++w) {
                o.groups[w][8 * g + k] = static_cast<u8>(4 * std::min(k, w - 1) + g);
                o.kept[w][4 * k + g] = static_cast<u8>(4 * std::min(k, w - 1) + g);
            }
        }
    return o;
}
inline constexpr neon_orders neon_order = make_neon_orders();

namespace neon {

using quanta = values_neon;
using differences = values_neon;
using running = int32x4_t;  // the last quantum in all words, or (while encoding) in the last one
template <class T>
struct magnitudes;
template <>
struct magnitudes<float> {
    uint32x4_t most;
};
template <>
struct magnitudes<double> {
    uint64x2_t most;
};

inline constexpr bool streams = false;
template <class T>
struct lines_of;

CCOLL_INLINE void start(running& r, i32 base) noexcept { r = vdupq_n_s32(base); }
CCOLL_INLINE i32 last_of(running r) noexcept { return vgetq_lane_s32(r, 3); }

CCOLL_INLINE uint64x2_t larger(uint64x2_t a, uint64x2_t b) noexcept { return vbslq_u64(vcgtq_u64(a, b), a, b); }
CCOLL_INLINE void clear(magnitudes<float>& m) noexcept { m.most = vdupq_n_u32(0); }
CCOLL_INLINE void clear(magnitudes<double>& m) noexcept { m.most = vdupq_n_u64(0); }
CCOLL_INLINE void merge(magnitudes<float>& into, const magnitudes<float>& m) noexcept { into.most = vmaxq_u32(into.most, m.most); }
CCOLL_INLINE void merge(magnitudes<double>& into, const magnitudes<double>& m) noexcept { into.most = larger(into.most, m.most); }
CCOLL_INLINE u32 top(const magnitudes<float>& m) noexcept { return vmaxvq_u32(m.most); }
CCOLL_INLINE u64 top(const magnitudes<double>& m) noexcept { return std::max(vgetq_lane_u64(m.most, 0), vgetq_lane_u64(m.most, 1)); }
CCOLL_INLINE bool over(const magnitudes<float>& m, u32 limit) noexcept { return top(m) >= limit; }
CCOLL_INLINE bool over(const magnitudes<double>& m, u64 limit) noexcept { return top(m) >= limit; }

CCOLL_INLINE uint32x4_t magnitude(float32x4_t v) noexcept { return vreinterpretq_u32_f32(vabsq_f32(v)); }
CCOLL_INLINE uint64x2_t magnitude(float64x2_t v) noexcept { return vreinterpretq_u64_f64(vabsq_f64(v)); }
CCOLL_INLINE void largest_of(const float* x, magnitudes<float>& m) noexcept
{
    m.most = magnitude(vld1q_f32(x));
    for (std::size_t i = 4; i < block_elements; i += 4) m.most = vmaxq_u32(m.most, magnitude(vld1q_f32(x + i)));
}

CCOLL_INLINE void largest_of(const double* x, magnitudes<double>& m) noexcept
{
    m.most = magnitude(vld1q_f64(x));
    for (std::size_t i = 2; i < block_elements; i += 2) m.most = larger(m.most, magnitude(vld1q_f64(x + i)));
}

/// Rounded to nearest, ties to even. Beyond 32 bits whatever comes of it: nobody looks at such a quantum.
CCOLL_INLINE int32x4_t rounded(float64x2_t low, float64x2_t high) noexcept
{
    return vcombine_s32(vmovn_s64(vcvtnq_s64_f64(low)), vmovn_s64(vcvtnq_s64_f64(high)));
}

template <class T>
struct look_ahead {
    CCOLL_INLINE void quantise(const float*, std::size_t, std::size_t, const float* x, const quantiser<float>& z, quanta& q,
                               magnitudes<float>& m) const noexcept
    {
        const float32x4_t inverse = vdupq_n_f32(z.inverse);
        for (int i = 0; i < 8; ++i) q.v[i] = vcvtnq_s32_f32(vmulq_f32(vld1q_f32(x + 4 * i), inverse));
        largest_of(x, m);
    }
    CCOLL_INLINE void quantise(const double*, std::size_t, std::size_t, const double* x, const quantiser<double>& z, quanta& q,
                               magnitudes<double>& m) const noexcept
    {
        const float64x2_t inverse = vdupq_n_f64(z.inverse);
        clear(m);
        for (int i = 0; i < 8; ++i) {
            const float64x2_t low = vld1q_f64(x + 4 * i), high = vld1q_f64(x + 4 * i + 2);
            m.most = larger(m.most, larger(magnitude(low), magnitude(high)));
            q.v[i] = rounded(vmulq_f64(low, inverse), vmulq_f64(high, inverse));
        }
    }
};

CCOLL_INLINE void quantise_f64(const float* x, double inverse, quanta& q) noexcept
{
    const float64x2_t by = vdupq_n_f64(inverse);
    for (int i = 0; i < 8; ++i) {
        const float32x4_t v = vld1q_f32(x + 4 * i);
        q.v[i] = rounded(vmulq_f64(vcvt_f64_f32(vget_low_f32(v)), by), vmulq_f64(vcvt_high_f64_f32(v), by));
    }
}
CCOLL_INLINE void replace_from(const float* x, u32 limit, const quanta& with, quanta& q) noexcept
{
    for (int i = 0; i < 8; ++i) q.v[i] = vbslq_s32(vcgeq_u32(magnitude(vld1q_f32(x + 4 * i)), vdupq_n_u32(limit)), with.v[i], q.v[i]);
}
CCOLL_INLINE void load(const i32* values, quanta& q) noexcept
{
    for (int i = 0; i < 8; ++i) q.v[i] = vld1q_s32(values + 4 * i);
}
CCOLL_INLINE void store(const quanta& q, i32* values) noexcept { std::memcpy(values, q.v, sizeof q.v); }
#include <ccoll/codec/szp/hold.inl>

CCOLL_INLINE void difference(const quanta& q, running& r, differences& d) noexcept
{
    for (int i = 0; i < 8; ++i) {
        d.v[i] = vsubq_s32(q.v[i], vextq_s32(r, q.v[i], 3));
        r = q.v[i];
    }
}
CCOLL_INLINE void alone(const quanta& q, differences& d) noexcept { d = q; }
CCOLL_INLINE u32 sum_of_magnitudes(const differences& d) noexcept
{
    int32x4_t sum = vabsq_s32(d.v[0]);
    for (int i = 1; i < 8; ++i) sum = vaddq_s32(sum, vabsq_s32(d.v[i]));
    return static_cast<u32>(vaddvq_s32(sum));
}

/// 8x8 bit transposes, one in each 64 bits.
CCOLL_INLINE uint8x16_t transposed(uint8x16_t bytes) noexcept
{
    uint64x2_t v = vreinterpretq_u64_u8(bytes);
    uint64x2_t t = vandq_u64(veorq_u64(v, vshrq_n_u64(v, 7)), vdupq_n_u64(0x00AA00AA00AA00AA));
    v = veorq_u64(veorq_u64(v, t), vshlq_n_u64(t, 7));
    t = vandq_u64(veorq_u64(v, vshrq_n_u64(v, 14)), vdupq_n_u64(0x0000CCCC0000CCCC));
    v = veorq_u64(veorq_u64(v, t), vshlq_n_u64(t, 14));
    t = vandq_u64(veorq_u64(v, vshrq_n_u64(v, 28)), vdupq_n_u64(0x00000000F0F0F0F0));
    return vreinterpretq_u8_u64(veorq_u64(veorq_u64(v, t), vshlq_n_u64(t, 28)));
}
CCOLL_INLINE planes_neon permuted(const planes_neon& p, const u8* order) noexcept
{
    const uint8x16x2_t both = {{p.low, p.high}};
    return {vqtbl2q_u8(both, vld1q_u8(order)), vqtbl2q_u8(both, vld1q_u8(order + 16))};
}
CCOLL_INLINE planes_neon load_32(const u8* in) noexcept { return {vld1q_u8(in), vld1q_u8(in + 16)}; }
CCOLL_INLINE void store_32(const planes_neon& p, u8* out) noexcept
{
    vst1q_u8(out, p.low);
    vst1q_u8(out + 16, p.high);
}
/// 8 planes of 32 bytes. All of them: the next block overwrites what is too much.
CCOLL_INLINE void put_8_planes(uint8x16_t low, uint8x16_t high, u8* out) noexcept
{
    store_32(permuted({transposed(low), transposed(high)}, neon_order.planes), out);
}
/// 8 planes, of which those from `width` on repeat the sign, to 32 bytes in the order of the values.
CCOLL_INLINE planes_neon get_8_planes(const u8* in, unsigned width) noexcept
{
    const planes_neon groups = permuted(load_32(in), neon_order.groups[std::min(width, 8u)]);
    return {transposed(groups.low), transposed(groups.high)};
}

/// The low (Half = 0) or the high words of 8 values.
template <int Half>
CCOLL_INLINE uint8x16_t words_of(int32x4_t a, int32x4_t b) noexcept
{
    const int16x8_t x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
    return vreinterpretq_u8_s16(Half == 0 ? vuzp1q_s16(x, y) : vuzp2q_s16(x, y));
}
/// Up to 16 planes: those of one half of all values.
template <int Half>
CCOLL_INLINE void put_16_planes(const differences& d, unsigned width, u8* out) noexcept
{
    const uint8x16_t a = words_of<Half>(d.v[0], d.v[1]), b = words_of<Half>(d.v[2], d.v[3]);
    const uint8x16_t e = words_of<Half>(d.v[4], d.v[5]), f = words_of<Half>(d.v[6], d.v[7]);
    put_8_planes(vuzp1q_u8(a, b), vuzp1q_u8(e, f), out);
    if (width > 8) put_8_planes(vuzp2q_u8(a, b), vuzp2q_u8(e, f), out + 32);
}
CCOLL_INLINE unsigned put_planes(const differences& d, bool /*brief*/, u8* out) noexcept
{
    // 0, -1, 1, -2, 2 as 0, 1, 2, 3, 4: of as many bits as their planes.
    int32x4_t any = vdupq_n_s32(0);
    for (int i = 0; i < 8; ++i) any = vorrq_s32(any, veorq_s32(vshlq_n_s32(d.v[i], 1), vshrq_n_s32(d.v[i], 31)));
    const unsigned width = 32 - static_cast<unsigned>(std::countl_zero(vmaxvq_u32(vreinterpretq_u32_s32(any))));
    if (width == 0) return 0;
    put_16_planes<0>(d, width, out);
    if (width > 16) put_16_planes<1>(d, width - 16, out + 64);
    return width;
}

CCOLL_INLINE void widen(int8x16_t bytes, int32x4_t* v) noexcept
{
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
    v[0] = vmovl_s16(vget_low_s16(low));
    v[1] = vmovl_high_s16(low);
    v[2] = vmovl_s16(vget_low_s16(high));
    v[3] = vmovl_high_s16(high);
}
/// Up to 16 planes, as 16-bit words of 8 values each.
struct words_32 {
    int16x8_t v[4];

    CCOLL_INLINE words_32(const u8* in, unsigned width) noexcept
    {
        const planes_neon low = get_8_planes(in, width);
        planes_neon high;
        if (width > 8) {
            high = get_8_planes(in + 32, width - 8);
        } else {
            high.low = vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(low.low), 7));
            high.high = vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(low.high), 7));
        }
        v[0] = vreinterpretq_s16_u8(vzip1q_u8(low.low, high.low));
        v[1] = vreinterpretq_s16_u8(vzip2q_u8(low.low, high.low));
        v[2] = vreinterpretq_s16_u8(vzip1q_u8(low.high, high.high));
        v[3] = vreinterpretq_s16_u8(vzip2q_u8(low.high, high.high));
    }
};
/// @param width  1..32
CCOLL_INLINE void get_planes(const u8* in, unsigned width, differences& d) noexcept
{
    if (width <= 8) {
        const planes_neon bytes = get_8_planes(in, width);
        widen(vreinterpretq_s8_u8(bytes.low), d.v);
        widen(vreinterpretq_s8_u8(bytes.high), d.v + 4);
        return;
    }
    const words_32 low(in, std::min(width, 16u));
    if (width <= 16) {
        for (int i = 0; i < 4; ++i) {
            d.v[2 * i] = vmovl_s16(vget_low_s16(low.v[i]));
            d.v[2 * i + 1] = vmovl_high_s16(low.v[i]);
        }
        return;
    }
    const words_32 high(in + 64, width - 16);
    for (int i = 0; i < 4; ++i) {
        d.v[2 * i] = vreinterpretq_s32_s16(vzip1q_s16(low.v[i], high.v[i]));
        d.v[2 * i + 1] = vreinterpretq_s32_s16(vzip2q_s16(low.v[i], high.v[i]));
    }
}

template <class To>
CCOLL_INLINE void dequantise(const quanta& q, float step, To& to) noexcept
{
    for (std::size_t i = 0; i < 8; ++i) write(to, 4 * i, vmulq_n_f32(vcvtq_f32_s32(q.v[i]), step));
}
template <class To>
CCOLL_INLINE void dequantise(const quanta& q, double step, To& to) noexcept
{
    for (std::size_t i = 0; i < 8; ++i) {
        write(to, 4 * i, vmulq_n_f64(vcvtq_f64_s64(vmovl_s32(vget_low_s32(q.v[i]))), step));
        write(to, 4 * i + 2, vmulq_n_f64(vcvtq_f64_s64(vmovl_high_s32(q.v[i])), step));
    }
}

/// Prefix sum of 32 differences on top of `r`.
CCOLL_INLINE void scan(differences& d, running& r) noexcept
{
    const int32x4_t zero = vdupq_n_s32(0);
    for (int i = 0; i < 8; ++i) {
        int32x4_t v = vaddq_s32(d.v[i], vextq_s32(zero, d.v[i], 3));
        v = vaddq_s32(v, vextq_s32(zero, v, 2));
        d.v[i] = vaddq_s32(v, r);
        r = vdupq_laneq_s32(d.v[i], 3);
    }
}
/// The same for bytes: sums of 8 of them fit 16 bits.
CCOLL_INLINE void scan_bytes(const planes_neon& bytes, quanta& q, running& r) noexcept
{
    const int8x16_t low = vreinterpretq_s8_u8(bytes.low), high = vreinterpretq_s8_u8(bytes.high);
    const int16x8_t words[4] = {vmovl_s8(vget_low_s8(low)), vmovl_high_s8(low), vmovl_s8(vget_low_s8(high)), vmovl_high_s8(high)},
                    zero = vdupq_n_s16(0);
    for (int i = 0; i < 4; ++i) {
        int16x8_t v = vaddq_s16(words[i], vextq_s16(zero, words[i], 7));
        v = vaddq_s16(v, vextq_s16(zero, v, 6));
        v = vaddq_s16(v, vextq_s16(zero, v, 4));
        q.v[2 * i] = vaddw_s16(r, vget_low_s16(v));
        q.v[2 * i + 1] = vaddw_high_s16(r, v);
        r = vdupq_laneq_s32(q.v[2 * i + 1], 3);
    }
}
CCOLL_INLINE void repeat(running r, quanta& q) noexcept
{
    for (int i = 0; i < 8; ++i) q.v[i] = r;
}

/// Planes at .. at + 7; beyond the width, the sign.
CCOLL_INLINE planes_neon planes_from(const u8* in, unsigned width, unsigned at) noexcept
{
    if (at < width) return permuted(load_32(in + 4 * at), neon_order.kept[std::min(width - at, 8u)]);
    const uint8x16_t sign = vreinterpretq_u8_u32(vdupq_n_u32(get<u32>(in + 4 * (width - 1))));
    return {sign, sign};
}
/// Plane k gets plane k - By; `in` comes in: it has all its planes equal.
template <int By>
CCOLL_INLINE planes_neon planes_up(const planes_neon& p, uint8x16_t in) noexcept
{
    if constexpr (By == 4) return {in, p.low};
    else return {vextq_u8(in, p.low, 16 - 4 * By), vextq_u8(p.low, p.high, 16 - 4 * By)};
}
/// What carries over `By` planes more: a plane makes a carry, or passes on one that is made below.
template <int By>
CCOLL_INLINE void carry_over(planes_neon& makes, planes_neon& passes) noexcept
{
    const planes_neon below = planes_up<By>(makes, vdupq_n_u8(0)), passed = planes_up<By>(passes, vdupq_n_u8(0xff));
    makes.low = vorrq_u8(makes.low, vandq_u8(passes.low, below.low));
    makes.high = vorrq_u8(makes.high, vandq_u8(passes.high, below.high));
    passes.low = vandq_u8(passes.low, passed.low);
    passes.high = vandq_u8(passes.high, passed.high);
}
/// Planes of the sum, 8 at once: carries run over the planes in three steps (Kogge-Stone).
/// @param carry  all values' carry into the first plane, and then out of the last one
CCOLL_INLINE planes_neon add_8_planes(const planes_neon& a, const planes_neon& b, uint8x16_t& carry) noexcept
{
    const planes_neon differ = {veorq_u8(a.low, b.low), veorq_u8(a.high, b.high)};
    planes_neon makes = {vandq_u8(a.low, b.low), vandq_u8(a.high, b.high)}, passes = differ;
    carry_over<1>(makes, passes);
    carry_over<2>(makes, passes);
    carry_over<4>(makes, passes);
    makes.low = vorrq_u8(makes.low, vandq_u8(passes.low, carry));
    makes.high = vorrq_u8(makes.high, vandq_u8(passes.high, carry));
    const planes_neon into = planes_up<1>(makes, carry);
    carry = vreinterpretq_u8_u32(vdupq_laneq_u32(vreinterpretq_u32_u8(makes.high), 3));
    return {veorq_u8(differ.low, into.low), veorq_u8(differ.high, into.high)};
}
/// Of up to 8 planes: those that repeat the sign, in the last one, are not counted.
CCOLL_INLINE unsigned width_of(const planes_neon& p) noexcept
{
    const uint32x4_t low = vreinterpretq_u32_u8(p.low), high = vreinterpretq_u32_u8(p.high), sign = vdupq_laneq_u32(high, 3);
    const uint32x4_t but_last = vsetq_lane_u32(0, sign, 3);  // there it would be compared with itself
    const uint16x8_t same = vcombine_u16(vmovn_u32(vceqq_u32(low, sign)), vmovn_u32(vceqq_u32(high, but_last)));
    const u64 other = ~vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(same)), 0);  // a byte per plane
    return (71 - static_cast<unsigned>(std::countl_zero(std::rotl(other, 8)))) / 8;
}
CCOLL_INLINE unsigned add_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    if (wa == 0 || wb == 0) {
        const unsigned width = wa | wb;
        const u8* const from = wa == 0 ? b : a;
        for (unsigned at = 0; at < width; at += 8) store_32(load_32(from + 4 * at), out + 4 * at);
        return width;
    }
    uint8x16_t carry = vdupq_n_u8(0);
    if ((wa | wb) <= 7) [[likely]] {
        const planes_neon sum = add_8_planes(planes_from(a, wa, 0), planes_from(b, wb, 0), carry);
        store_32(sum, out);
        return width_of(sum);
    }
    unsigned width = std::min(std::max(wa, wb) + 1, widest_narrow);
    for (unsigned at = 0; at < width; at += 8) store_32(add_8_planes(planes_from(a, wa, at), planes_from(b, wb, at), carry), out + 4 * at);
    const u32 sign = get<u32>(out + 4 * (width - 1));
    while (width > 0 && get<u32>(out + 4 * (width - 1)) == sign) --width;
    return width > 0 || sign != 0 ? width + 1 : 0;
}

#include <ccoll/codec/szp/restore.inl>

namespace by_mask = specials::neon;
#include <ccoll/codec/szp/loops.inl>
#include <ccoll/codec/szp/quanta64.inl>

#include <ccoll/codec/szp/alone.inl>
#include <ccoll/codec/szp/survey.inl>
inline constexpr bool takes_out = true;
#include <ccoll/codec/szp/encode.inl>

using portable::decode_lists;
using portable::fill;
using portable::get_lists;
using portable::put_lists;

}  // namespace neon

}  // namespace ccoll::detail::szp

#include <ccoll/base/kernels_end.inl>

#endif
