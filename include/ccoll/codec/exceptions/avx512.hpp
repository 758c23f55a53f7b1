// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/avx512.hpp - floor 2. The primitives on exceptional values for AVX-512.
#pragma once

#include <ccoll/codec/exceptions/avx2.hpp>

#if defined(CCOLL_X86_KERNELS)

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx512 {

inline constexpr unsigned register_bytes = 64;

CCOLL_INLINE __m512i all(u32 v) noexcept { return _mm512_set1_epi32(static_cast<int>(v)); }
CCOLL_INLINE __m512i all(u64 v) noexcept { return _mm512_set1_epi64(static_cast<long long>(v)); }
CCOLL_INLINE __m512i load(const void* x) noexcept { return _mm512_loadu_si512(x); }
CCOLL_INLINE void store(void* x, __m512i v) noexcept { _mm512_storeu_si512(x, v); }
CCOLL_INLINE u32 same(__m512i a, __m512i b, u32) noexcept { return _mm512_cmpeq_epi32_mask(a, b); }
CCOLL_INLINE u32 same(__m512i a, __m512i b, u64) noexcept { return _mm512_cmpeq_epi64_mask(a, b); }
CCOLL_INLINE u32 from(__m512i a, __m512i b, u32) noexcept { return _mm512_cmpge_epu32_mask(a, b); }
CCOLL_INLINE u32 from(__m512i a, __m512i b, u64) noexcept { return _mm512_cmpge_epu64_mask(a, b); }
CCOLL_INLINE __m512i zeroed(u32 mask, __m512i v, u32) noexcept { return _mm512_maskz_mov_epi32(static_cast<__mmask16>(mask), v); }
CCOLL_INLINE __m512i zeroed(u32 mask, __m512i v, u64) noexcept { return _mm512_maskz_mov_epi64(static_cast<__mmask8>(mask), v); }
CCOLL_INLINE __m512i blended(__m512i v, u32 mask, __m512i with, u32) noexcept
{
    return _mm512_mask_mov_epi32(v, static_cast<__mmask16>(mask), with);
}
CCOLL_INLINE __m512i blended(__m512i v, u32 mask, __m512i with, u64) noexcept
{
    return _mm512_mask_mov_epi64(v, static_cast<__mmask8>(mask), with);
}
CCOLL_INLINE void store(void* x, u32 mask, __m512i v, u32) noexcept { _mm512_mask_storeu_epi32(x, static_cast<__mmask16>(mask), v); }
CCOLL_INLINE void store(void* x, u32 mask, __m512i v, u64) noexcept { _mm512_mask_storeu_epi64(x, static_cast<__mmask8>(mask), v); }

template <element T>
CCOLL_INLINE u32 part(const T* x, const rule<T>& is, bool any_missing, T* to) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 64 / sizeof(T);
    const __m512i magnitude = all(static_cast<word>(~fields_of<T>::sign)), limit = all(is.limit);
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count) {
        const __m512i v = load(x + i);
        u32 exceptional = from(_mm512_and_si512(v, magnitude), limit, word{});
        if (any_missing) exceptional |= same(v, all(is.missing), word{});
        mask |= exceptional << i;
        store(to + i, zeroed(~exceptional, v, word{}));
    }
    return mask;
}
using avx2::between;
template <element T>
CCOLL_INLINE u32 equal(const T* x, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 64 / sizeof(T);
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count) mask |= same(load(x + i), all(bits), word{}) << i;
    return mask;
}
template <element T>
CCOLL_INLINE void put(T* x, u32 mask, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 64 / sizeof(T);
    for (unsigned i = 0; i < block_elements; i += count) store(x + i, mask >> i, all(bits), word{});
}

struct line {
    __m512d from, until, low, high, per_step;

    CCOLL_INLINE line(double a, double b, int steps) noexcept
        : from(_mm512_set1_pd(a)), until(_mm512_set1_pd(b)), low(_mm512_min_pd(until, from)), high(_mm512_max_pd(until, from)),
          per_step(_mm512_set1_pd(1 / static_cast<double>(steps)))
    {}
    CCOLL_INLINE __m512d values(int number) const noexcept
    {
        const __m512d one = _mm512_set1_pd(1);
        const __m512d numbers = _mm512_cvtepi32_pd(_mm256_add_epi32(_mm256_set1_epi32(number), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
        // clang -ffp-contract=fast makes FMA of products and sums, but not if the products say how they are rounded.
        constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        const __m512d share = _mm512_mul_round_pd(numbers, per_step, nearest);
        const __m512d descent = _mm512_mul_round_pd(from, _mm512_sub_pd(one, share), nearest);
        const __m512d value = _mm512_add_pd(descent, _mm512_mul_round_pd(until, share, nearest));
        return _mm512_min_pd(high, _mm512_max_pd(low, value));
    }
    CCOLL_INLINE __m512i values_of(int number, u32) const noexcept
    {
        const __m256 first = _mm512_cvtpd_ps(values(number)), second = _mm512_cvtpd_ps(values(number + 8));
        return _mm512_castps_si512(_mm512_insertf32x8(_mm512_castps256_ps512(first), second, 1));
    }
    CCOLL_INLINE __m512i values_of(int number, u64) const noexcept { return _mm512_castpd_si512(values(number)); }
};
#include <ccoll/codec/exceptions/registers.inl>

}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions::avx512

#include <ccoll/base/kernels_end.inl>

#endif
