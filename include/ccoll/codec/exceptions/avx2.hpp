// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/avx2.hpp - floor 2. The primitives on exceptional values for AVX2.
#pragma once

#include <ccoll/codec/exceptions/portable.hpp>

#if defined(CCOLL_X86_KERNELS)

#include <immintrin.h>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx2 {

inline constexpr unsigned register_bytes = 32;

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
template <class Word>
CCOLL_INLINE __m256i blended(__m256i v, u32 mask, __m256i with, Word) noexcept
{
    return _mm256_blendv_epi8(v, with, lanes(mask, Word{}));
}

/// A bit for each value of a block, of which all bits of a lane are set or none.
CCOLL_INLINE u32 mask_of(const __m256i (&v)[4]) noexcept
{
    const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
    const __m256i in_order = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return static_cast<u32>(_mm256_movemask_epi8(in_order));
}
CCOLL_INLINE u32 mask_of(const __m256i (&v)[8]) noexcept
{
    __m256i words[4];
    for (unsigned i = 0; i < 4; ++i) {
        const __m256 a = _mm256_castsi256_ps(v[2 * i]), b = _mm256_castsi256_ps(v[2 * i + 1]);
        words[i] = _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)), 0xd8);
    }
    return mask_of(words);
}

template <element T>
CCOLL_INLINE u32 part(const T* x, const rule<T>& is, bool any_missing, T* to) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 32 / sizeof(T);
    const __m256i magnitude = all(static_cast<word>(~fields_of<T>::sign)), below = all(static_cast<word>(is.limit - 1));
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count) {
        const __m256i v = load(x + i);
        __m256i exceptional = above(_mm256_and_si256(v, magnitude), below, word{});
        if (any_missing) exceptional = _mm256_or_si256(exceptional, same(v, all(is.missing), word{}));
        mask |= signs(exceptional, word{}) << i;
        store(to + i, _mm256_andnot_si256(exceptional, v));
    }
    return mask;
}
CCOLL_INLINE float between(float a, float b) noexcept  // of which the rounded sum is never outside
{
    const __m128d half = _mm_set_sd(0.5), zero = _mm_setzero_pd();
    const __m128d value =
        _mm_add_sd(_mm_mul_sd(_mm_cvtss_sd(zero, _mm_set_ss(a)), half), _mm_mul_sd(_mm_cvtss_sd(zero, _mm_set_ss(b)), half));
    return _mm_cvtss_f32(_mm_cvtsd_ss(_mm_setzero_ps(), value));
}
CCOLL_INLINE double between(double a, double b) noexcept
{
    const __m128d from = _mm_set_sd(a), until = _mm_set_sd(b), half = _mm_set_sd(0.5);
    const __m128d value = _mm_add_sd(_mm_mul_sd(from, half), _mm_mul_sd(until, half));
    return _mm_cvtsd_f64(_mm_min_sd(_mm_max_sd(until, from), _mm_max_sd(_mm_min_sd(until, from), value)));
}
template <element T>
CCOLL_INLINE u32 equal(const T* x, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 32 / sizeof(T);
    __m256i equal[block_elements / count];
    for (unsigned i = 0; i < block_elements; i += count) equal[i / count] = same(load(x + i), all(bits), word{});
    return mask_of(equal);
}
template <element T>
CCOLL_INLINE void put(T* x, u32 mask, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 32 / sizeof(T);
    for (unsigned i = 0; i < block_elements; i += count) store(x + i, blended(load(x + i), mask >> i, all(bits), word{}));
}

/// Values `at` to `at` + 3 of a ramp as numbers of double; those of a register of T.
struct line {
    __m256d from, until, low, high, per_step;

    CCOLL_INLINE line(double a, double b, int steps) noexcept
        : from(_mm256_set1_pd(a)), until(_mm256_set1_pd(b)), low(_mm256_min_pd(until, from)), high(_mm256_max_pd(until, from)),
          per_step(_mm256_set1_pd(1 / static_cast<double>(steps)))
    {}
    CCOLL_INLINE __m256d values(int number) const noexcept
    {
        const __m256d one = _mm256_set1_pd(1);
        const __m256d numbers = _mm256_cvtepi32_pd(_mm_add_epi32(_mm_set1_epi32(number), _mm_setr_epi32(0, 1, 2, 3)));
        const __m256d share = _mm256_mul_pd(numbers, per_step);
        const __m256d value = _mm256_add_pd(_mm256_mul_pd(from, _mm256_sub_pd(one, share)), _mm256_mul_pd(until, share));
        return _mm256_min_pd(high, _mm256_max_pd(low, value));
    }
    CCOLL_INLINE __m256i values_of(int number, u32) const noexcept
    {
        const __m128 first = _mm256_cvtpd_ps(values(number)), second = _mm256_cvtpd_ps(values(number + 4));
        return _mm256_castps_si256(_mm256_insertf128_ps(_mm256_castps128_ps256(first), second, 1));
    }
    CCOLL_INLINE __m256i values_of(int number, u64) const noexcept { return _mm256_castpd_si256(values(number)); }
};
#include <ccoll/codec/exceptions/registers.inl>

}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx2

#include <ccoll/base/kernels_end.inl>

#endif
