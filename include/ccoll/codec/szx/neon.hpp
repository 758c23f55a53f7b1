// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx/neon.hpp - floor 2. The blocks of SZx in registers of NEON.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_NEON_KERNELS)
#include <arm_neon.h>

#include <bit>
#include <concepts>
#include <cstring>

#include <ccoll/codec/lines/neon.hpp>
#include <ccoll/codec/szx/portable.hpp>
#include <ccoll/codec/szx/shuffles.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szx::neon {

inline constexpr std::size_t register_bytes = 16;

CCOLL_INLINE float32x4_t load(const float* x) { return vld1q_f32(x); }
CCOLL_INLINE float64x2_t load(const double* x) { return vld1q_f64(x); }
CCOLL_INLINE float32x4_t fill(float x) { return vdupq_n_f32(x); }
CCOLL_INLINE float64x2_t fill(double x) { return vdupq_n_f64(x); }
CCOLL_INLINE uint8x16_t bits(float32x4_t v) { return vreinterpretq_u8_f32(v); }
CCOLL_INLINE uint8x16_t bits(float64x2_t v) { return vreinterpretq_u8_f64(v); }

CCOLL_INLINE float32x4_t lower(float32x4_t a, float32x4_t b) { return vminq_f32(a, b); }
CCOLL_INLINE float64x2_t lower(float64x2_t a, float64x2_t b) { return vminq_f64(a, b); }
CCOLL_INLINE float32x4_t higher(float32x4_t a, float32x4_t b) { return vmaxq_f32(a, b); }
CCOLL_INLINE float64x2_t higher(float64x2_t a, float64x2_t b) { return vmaxq_f64(a, b); }
CCOLL_INLINE float lowest_of(float32x4_t v) { return vminvq_f32(v); }
CCOLL_INLINE double lowest_of(float64x2_t v) { return vminvq_f64(v); }
CCOLL_INLINE float highest_of(float32x4_t v) { return vmaxvq_f32(v); }
CCOLL_INLINE double highest_of(float64x2_t v) { return vmaxvq_f64(v); }

// A mask is 0 where there is nothing to report. NEON compares for equality only, so a NaN is what does not
// equal itself.
CCOLL_INLINE uint32x4_t unordered(float32x4_t a, float32x4_t b)
{
    return vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b)));
}
CCOLL_INLINE uint64x2_t unordered(float64x2_t a, float64x2_t b)
{
    return vreinterpretq_u64_u32(
        vmvnq_u32(vreinterpretq_u32_u64(vandq_u64(vceqq_f64(a, a), vceqq_f64(b, b)))));
}
CCOLL_INLINE uint32x4_t either(uint32x4_t a, uint32x4_t b) { return vorrq_u32(a, b); }
CCOLL_INLINE uint64x2_t either(uint64x2_t a, uint64x2_t b) { return vorrq_u64(a, b); }
CCOLL_INLINE bool any(uint32x4_t mask) { return vmaxvq_u32(mask) != 0; }
CCOLL_INLINE bool any(uint64x2_t mask) { return any(vreinterpretq_u32_u64(mask)); }

/// The largest magnitude, as an integer: a NaN is larger than any bound.
CCOLL_INLINE float32x4_t worse(float32x4_t worst, float32x4_t error, float32x4_t)
{
    return vreinterpretq_f32_u32(
        vmaxq_u32(vreinterpretq_u32_f32(worst), vreinterpretq_u32_f32(vabsq_f32(error))));
}
/// NEON has no maximum of 64-bit integers, so this is a mask of the errors that are not below the bound.
CCOLL_INLINE float64x2_t worse(float64x2_t worst, float64x2_t error, float64x2_t bound)
{
    const uint32x4_t below = vreinterpretq_u32_u64(vcaltq_f64(error, bound));
    return vreinterpretq_f64_u32(vornq_u32(vreinterpretq_u32_f64(worst), below));
}
CCOLL_INLINE bool below(float32x4_t worst, float32x4_t bound)
{
    return !any(vcgeq_u32(vreinterpretq_u32_f32(worst), vreinterpretq_u32_f32(bound)));
}
CCOLL_INLINE bool below(float64x2_t worst, float64x2_t) { return !any(vreinterpretq_u64_f64(worst)); }

CCOLL_INLINE uint8x16_t load(const row_shuffle& s) { return vld1q_u8(s.from); }
template <element T>
CCOLL_INLINE uint8x16_t squeeze_of(unsigned bytes)
{
    return load(squeeze_row<T>[bytes]);
}
template <element T>
CCOLL_INLINE uint8x16_t spread_of(unsigned bytes)
{
    return load(spread_row<T>[bytes]);
}
template <element T>
CCOLL_INLINE void put_low_bytes(std::byte* out, uint8x16_t v, uint8x16_t squeeze, unsigned)
{
    vst1q_u8(reinterpret_cast<std::uint8_t*>(out), vqtbl1q_u8(v, squeeze));
}
template <element T>
CCOLL_INLINE auto low_bytes(const std::byte* in, uint8x16_t spread, unsigned)
{
    const uint8x16_t low = vqtbl1q_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(in)), spread);
    const uint8x16_t v = vorrq_u8(low, bits(fill(std::bit_cast<T>(origin_bits<T>))));
    if constexpr (sizeof(T) == 4) return vreinterpretq_f32_u8(v);
    else return vreinterpretq_f64_u8(v);
}

#include <ccoll/codec/szx/loops.inl>

using portable::stream_blocks;

}  // namespace ccoll::detail::szx::neon

#include <ccoll/base/kernels_end.inl>

#endif
