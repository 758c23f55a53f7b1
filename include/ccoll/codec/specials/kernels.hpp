// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/specials/kernels.hpp - floor 2. Special values by instruction set: three primitives each, and the loops of specials/loops.inl.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include <ccoll/base/isa.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/codec/specials/layout.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>
#endif

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::specials::portable {

/// Bit i says whether the bits of x[i] pass.
template <element T, class Test>
CCOLL_INLINE u32 mask_of(const T* x, Test test) noexcept
{
    u8 passes[block_elements];
    for (std::size_t i = 0; i < block_elements; ++i) passes[i] = test(bits_at(x, i));
    u32 mask = 0;
    for (unsigned g = 0; g < 4; ++g) {
        u64 eight;
        std::memcpy(&eight, passes + 8 * g, sizeof eight);
        mask |= static_cast<u32>(eight * 0x0102040810204080u >> 56) << 8 * g;  // one bit of each byte
    }
    return mask;
}
/// Is there an |x| from `limit` on?
template <element T>
CCOLL_INLINE bool reaches(const T* x, typename fields_of<T>::word limit) noexcept
{
    typename fields_of<T>::signed_word most = 0;  // SSE2 compares only signed integers
    for (std::size_t i = 0; i < block_elements; ++i) {
        const auto w = static_cast<typename fields_of<T>::signed_word>(bits_at(x, i) & ~fields_of<T>::sign);
        most = w > most ? w : most;
    }
    return static_cast<typename fields_of<T>::word>(most) >= limit;
}
template <element T>
CCOLL_INLINE u32 part(const T* x, const rule<T>& is, bool marked, T* to) noexcept
{
    std::memcpy(to, x, block_elements * sizeof(T));
    if (!marked && !reaches(x, is.limit)) return 0;  // most blocks
    const u32 mask = mask_of(x, [&](typename rule<T>::word w) { return is.holds(w); });
    if (mask == 0xffffffffu) std::memset(to, 0, block_elements * sizeof(T));
    else
        for (u32 left = mask; left != 0; left &= left - 1) to[std::countr_zero(left)] = T(0);
    return mask;
}
template <element T>
CCOLL_INLINE u32 beyond_limit(const T* x, typename rule<T>::word limit) noexcept
{
    if (!reaches(x, limit)) return 0;
    return mask_of(x, [=](typename rule<T>::word w) { return static_cast<u8>((w & ~fields_of<T>::sign) >= limit); });
}
CCOLL_INLINE u32 equal_of_8(const u32* masks, u32 mask) noexcept
{
    u32 bits = 0;
    for (unsigned i = 0; i < 8; ++i) bits |= u32{masks[i] == mask} << i;
    return bits;
}
template <element T>
CCOLL_INLINE u32 equal(const T* x, typename rule<T>::word bits) noexcept
{
    return mask_of(x, [=](typename rule<T>::word w) { return static_cast<u8>(w == bits); });
}
template <element T>
CCOLL_INLINE void ramp(T* to, std::size_t count, T a, T b) noexcept
{
    CCOLL_EXACT_BODY
    const double from = static_cast<double>(a), until = static_cast<double>(b), steps = static_cast<double>(count + 1);
    const double low = from < until ? from : until, high = from < until ? until : from;
    for (int i = 0; i < static_cast<int>(count); ++i) {
        const double share = static_cast<double>(i + 1) / steps, value = from * (1 - share) + until * share;
        const double raised = value < low ? low : value;
        to[i] = static_cast<T>(raised > high ? high : raised);
    }
}
template <element T>
CCOLL_INLINE void put(T* x, u32 mask, typename rule<T>::word bits) noexcept
{
    if (mask == 0xffffffffu)
        for (std::size_t i = 0; i < block_elements; ++i) std::memcpy(x + i, &bits, sizeof bits);
    else
        for (u32 left = mask; left != 0; left &= left - 1) std::memcpy(x + std::countr_zero(left), &bits, sizeof bits);
}

#include <ccoll/codec/specials/loops.inl>

}  // namespace ccoll::inline CCOLL_ABI::detail::specials::portable

#include <ccoll/base/kernels_end.inl>

#if defined(CCOLL_NEON_KERNELS)
namespace ccoll::inline CCOLL_ABI::detail::specials {
namespace neon = portable;  // compilers make NEON of it
}
#endif

#if defined(CCOLL_X86_KERNELS)

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::specials::avx2 {

CCOLL_INLINE __m256i all(u32 v) noexcept { return _mm256_set1_epi32(static_cast<int>(v)); }
CCOLL_INLINE __m256i all(u64 v) noexcept { return _mm256_set1_epi64x(static_cast<long long>(v)); }
CCOLL_INLINE __m256i load(const void* x) noexcept { return _mm256_loadu_si256(static_cast<const __m256i*>(x)); }
CCOLL_INLINE void store(void* x, __m256i v) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(x), v); }
CCOLL_INLINE __m256i same(__m256i a, __m256i b, u32) noexcept { return _mm256_cmpeq_epi32(a, b); }
CCOLL_INLINE __m256i same(__m256i a, __m256i b, u64) noexcept { return _mm256_cmpeq_epi64(a, b); }
CCOLL_INLINE __m256i above(__m256i a, __m256i b, u32) noexcept { return _mm256_cmpgt_epi32(a, b); }
CCOLL_INLINE __m256i above(__m256i a, __m256i b, u64) noexcept { return _mm256_cmpgt_epi64(a, b); }
CCOLL_INLINE u32 signs(__m256i v, u32) noexcept { return static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(v))); }
CCOLL_INLINE u32 signs(__m256i v, u64) noexcept { return static_cast<u32>(_mm256_movemask_pd(_mm256_castsi256_pd(v))); }
/// All bits of lane i are bit i of the mask.
CCOLL_INLINE __m256i lanes(u32 mask, u32) noexcept
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(all(mask), bit), bit);
}
CCOLL_INLINE __m256i lanes(u32 mask, u64) noexcept
{
    const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
    return _mm256_cmpeq_epi64(_mm256_and_si256(all(u64{mask}), bit), bit);
}

template <element T>
CCOLL_INLINE u32 part(const T* x, const rule<T>& is, bool marked, T* to) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 32 / sizeof(T);
    const __m256i magnitude = all(static_cast<word>(~fields_of<T>::sign)), below = all(static_cast<word>(is.limit - 1));
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count) {
        const __m256i v = load(x + i);
        __m256i special = above(_mm256_and_si256(v, magnitude), below, word{});
        if (marked)
            for (const word marker : is.markers) special = _mm256_or_si256(special, same(v, all(marker), word{}));
        mask |= signs(special, word{}) << i;
        store(to + i, _mm256_andnot_si256(special, v));
    }
    return mask;
}
template <element T>
CCOLL_INLINE u32 beyond_limit(const T* x, typename rule<T>::word limit) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 32 / sizeof(T);
    const __m256i magnitude = all(static_cast<word>(~fields_of<T>::sign)), below = all(static_cast<word>(limit - 1));
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count)
        mask |= signs(above(_mm256_and_si256(load(x + i), magnitude), below, word{}), word{}) << i;
    return mask;
}
CCOLL_INLINE u32 equal_of_8(const u32* masks, u32 mask) noexcept { return signs(same(load(masks), all(mask), u32{}), u32{}); }
template <element T>
CCOLL_INLINE u32 equal(const T* x, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 32 / sizeof(T);
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count) mask |= signs(same(load(x + i), all(bits), word{}), word{}) << i;
    return mask;
}
template <element T>
CCOLL_INLINE void put(T* x, u32 mask, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 32 / sizeof(T);
    for (unsigned i = 0; i < block_elements; i += count) store(x + i, _mm256_blendv_epi8(load(x + i), all(bits), lanes(mask >> i, word{})));
}

CCOLL_INLINE void store_first(float* to, std::size_t count, __m256d v) noexcept
{
    const __m128i wanted = _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(count)), _mm_setr_epi32(0, 1, 2, 3));
    _mm_maskstore_ps(to, wanted, _mm256_cvtpd_ps(v));
}
CCOLL_INLINE void store_first(double* to, std::size_t count, __m256d v) noexcept
{
    const __m256i wanted = _mm256_cmpgt_epi64(_mm256_set1_epi64x(static_cast<long long>(count)), _mm256_setr_epi64x(0, 1, 2, 3));
    _mm256_maskstore_pd(to, wanted, v);
}
template <element T>
CCOLL_INLINE void ramp(T* to, std::size_t count, T a, T b) noexcept
{
    const __m256d from = _mm256_set1_pd(static_cast<double>(a)), until = _mm256_set1_pd(static_cast<double>(b)), one = _mm256_set1_pd(1);
    const __m256d low = _mm256_min_pd(until, from), high = _mm256_max_pd(until, from);
    const __m256d steps = _mm256_set1_pd(static_cast<double>(static_cast<int>(count + 1)));
    __m256d number = _mm256_setr_pd(1, 2, 3, 4);
    for (std::size_t i = 0; i < count; i += 4) {
        const __m256d share = _mm256_div_pd(number, steps);
        const __m256d value = _mm256_add_pd(_mm256_mul_pd(from, _mm256_sub_pd(one, share)), _mm256_mul_pd(until, share));
        store_first(to + i, count - i, _mm256_min_pd(high, _mm256_max_pd(low, value)));
        number = _mm256_add_pd(number, _mm256_set1_pd(4));
    }
}

#include <ccoll/codec/specials/loops.inl>

}  // namespace ccoll::inline CCOLL_ABI::detail::specials::avx2

#include <ccoll/base/kernels_end.inl>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::specials::avx512 {

CCOLL_INLINE __m512i all(u32 v) noexcept { return _mm512_set1_epi32(static_cast<int>(v)); }
CCOLL_INLINE __m512i all(u64 v) noexcept { return _mm512_set1_epi64(static_cast<long long>(v)); }
CCOLL_INLINE u32 same(__m512i a, __m512i b, u32) noexcept { return _mm512_cmpeq_epi32_mask(a, b); }
CCOLL_INLINE u32 same(__m512i a, __m512i b, u64) noexcept { return _mm512_cmpeq_epi64_mask(a, b); }
CCOLL_INLINE u32 from(__m512i a, __m512i b, u32) noexcept { return _mm512_cmpge_epu32_mask(a, b); }
CCOLL_INLINE u32 from(__m512i a, __m512i b, u64) noexcept { return _mm512_cmpge_epu64_mask(a, b); }
CCOLL_INLINE __m512i zeroed(u32 mask, __m512i v, u32) noexcept { return _mm512_maskz_mov_epi32(static_cast<__mmask16>(mask), v); }
CCOLL_INLINE __m512i zeroed(u32 mask, __m512i v, u64) noexcept { return _mm512_maskz_mov_epi64(static_cast<__mmask8>(mask), v); }
CCOLL_INLINE void store(void* x, u32 mask, __m512i v, u32) noexcept { _mm512_mask_storeu_epi32(x, static_cast<__mmask16>(mask), v); }
CCOLL_INLINE void store(void* x, u32 mask, __m512i v, u64) noexcept { _mm512_mask_storeu_epi64(x, static_cast<__mmask8>(mask), v); }

template <element T>
CCOLL_INLINE u32 part(const T* x, const rule<T>& is, bool marked, T* to) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 64 / sizeof(T);
    const __m512i magnitude = all(static_cast<word>(~fields_of<T>::sign)), limit = all(is.limit);
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count) {
        const __m512i v = _mm512_loadu_si512(x + i);
        u32 special = from(_mm512_and_si512(v, magnitude), limit, word{});
        if (marked)
            for (const word marker : is.markers) special |= same(v, all(marker), word{});
        mask |= special << i;
        _mm512_storeu_si512(to + i, zeroed(~special, v, word{}));
    }
    return mask;
}
template <element T>
CCOLL_INLINE u32 beyond_limit(const T* x, typename rule<T>::word limit) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 64 / sizeof(T);
    const __m512i magnitude = all(static_cast<word>(~fields_of<T>::sign)), least = all(limit);
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count)
        mask |= from(_mm512_and_si512(_mm512_loadu_si512(x + i), magnitude), least, word{}) << i;
    return mask;
}
using avx2::equal_of_8;
template <element T>
CCOLL_INLINE u32 equal(const T* x, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 64 / sizeof(T);
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count) mask |= same(_mm512_loadu_si512(x + i), all(bits), word{}) << i;
    return mask;
}
template <element T>
CCOLL_INLINE void put(T* x, u32 mask, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 64 / sizeof(T);
    for (unsigned i = 0; i < block_elements; i += count) store(x + i, mask >> i, all(bits), word{});
}

CCOLL_INLINE void store(float* to, u32 mask, __m512d v) noexcept
{
    _mm256_mask_storeu_ps(to, static_cast<__mmask8>(mask), _mm512_cvtpd_ps(v));
}
CCOLL_INLINE void store(double* to, u32 mask, __m512d v) noexcept { _mm512_mask_storeu_pd(to, static_cast<__mmask8>(mask), v); }
template <element T>
CCOLL_INLINE void ramp(T* to, std::size_t count, T a, T b) noexcept
{
    const __m512d from = _mm512_set1_pd(static_cast<double>(a)), until = _mm512_set1_pd(static_cast<double>(b)), one = _mm512_set1_pd(1);
    const __m512d low = _mm512_min_pd(until, from), high = _mm512_max_pd(until, from);
    const __m512d steps = _mm512_set1_pd(static_cast<double>(static_cast<int>(count + 1)));
    __m512d number = _mm512_setr_pd(1, 2, 3, 4, 5, 6, 7, 8);
    for (std::size_t i = 0; i < count; i += 8) {
        const __m512d share = _mm512_div_pd(number, steps);
        // clang -ffp-contract=fast makes FMA of products and sums, but not if the products say how they are rounded.
        constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        const __m512d descent = _mm512_mul_round_pd(from, _mm512_sub_pd(one, share), nearest);
        const __m512d value = _mm512_add_pd(descent, _mm512_mul_round_pd(until, share, nearest));
        store(to + i, count - i < 8 ? 0xffu >> (8 - (count - i)) : 0xffu, _mm512_min_pd(high, _mm512_max_pd(low, value)));
        number = _mm512_add_pd(number, _mm512_set1_pd(8));
    }
}

#include <ccoll/codec/specials/loops.inl>

}  // namespace ccoll::inline CCOLL_ABI::detail::specials::avx512

#include <ccoll/base/kernels_end.inl>

namespace ccoll::inline CCOLL_ABI::detail::specials {
namespace avx512_gfni = avx512;
}

#endif
