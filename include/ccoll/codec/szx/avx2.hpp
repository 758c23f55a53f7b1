// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx/avx2.hpp - floor 2. The blocks of SZx in registers of AVX2.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <bit>
#include <concepts>
#include <cstring>

#include <ccoll/codec/lines/avx2.hpp>
#include <ccoll/codec/szx/quantiser.hpp>
#include <ccoll/codec/szx/shuffles.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szx {

namespace avx2 {

inline constexpr std::size_t register_bytes = 32;
using lines = line_writer_256;

CCOLL_INLINE __m256 load(const float* x) { return _mm256_loadu_ps(x); }
CCOLL_INLINE __m256d load(const double* x) { return _mm256_loadu_pd(x); }
CCOLL_INLINE __m256 fill(float x) { return _mm256_set1_ps(x); }
CCOLL_INLINE __m256d fill(double x) { return _mm256_set1_pd(x); }
CCOLL_INLINE __m256i bits(__m256 v) { return _mm256_castps_si256(v); }
CCOLL_INLINE __m256i bits(__m256d v) { return _mm256_castpd_si256(v); }

CCOLL_INLINE __m256 lower(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
CCOLL_INLINE __m256d lower(__m256d a, __m256d b) { return _mm256_min_pd(a, b); }
CCOLL_INLINE __m256 higher(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
CCOLL_INLINE __m256d higher(__m256d a, __m256d b) { return _mm256_max_pd(a, b); }
CCOLL_INLINE float lowest_of(__m256 v)
{
    __m128 r = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    r = _mm_min_ps(r, _mm_movehl_ps(r, r));
    return _mm_cvtss_f32(_mm_min_ss(r, _mm_movehdup_ps(r)));
}
CCOLL_INLINE double lowest_of(__m256d v)
{
    const __m128d r = _mm_min_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_min_sd(r, _mm_unpackhi_pd(r, r)));
}
template <class V>
CCOLL_INLINE auto highest_of(V v)
{
    return -lowest_of(-v);
}
CCOLL_INLINE __m256 unordered(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_UNORD_Q); }
CCOLL_INLINE __m256d unordered(__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_UNORD_Q); }
CCOLL_INLINE __m256 either(__m256 a, __m256 b) { return _mm256_or_ps(a, b); }
CCOLL_INLINE __m256d either(__m256d a, __m256d b) { return _mm256_or_pd(a, b); }
CCOLL_INLINE bool any(__m256 mask) { return _mm256_movemask_ps(mask) != 0; }
CCOLL_INLINE bool any(__m256d mask) { return _mm256_movemask_pd(mask) != 0; }

CCOLL_INLINE __m256 worse(__m256 worst, __m256 error, __m256 bound)
{
    return either(worst, _mm256_cmp_ps(_mm256_andnot_ps(fill(-0.0f), error), bound, _CMP_NLT_UQ));
}
CCOLL_INLINE __m256d worse(__m256d worst, __m256d error, __m256d bound)
{
    return either(worst, _mm256_cmp_pd(_mm256_andnot_pd(fill(-0.0), error), bound, _CMP_NLT_UQ));
}
CCOLL_INLINE bool below(__m256 worst, __m256) { return !any(worst); }
CCOLL_INLINE bool below(__m256d worst, __m256d) { return !any(worst); }

CCOLL_INLINE __m256i load(const row_shuffle& s)
{
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(&s)));
}
template <element T>
CCOLL_INLINE __m256i squeeze_of(unsigned bytes)
{
    return load(squeeze_row<T>[bytes]);
}
template <element T>
CCOLL_INLINE __m256i spread_of(unsigned bytes)
{
    return load(spread_row<T>[bytes]);
}
template <element T>
CCOLL_INLINE void put_low_bytes(std::byte* out, __m256i v, __m256i squeeze, unsigned bytes)
{
    const __m256i packed = _mm256_shuffle_epi8(v, squeeze);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(packed));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + bytes * row_elements<T>),
                     _mm256_extracti128_si256(packed, 1));
}
template <element T>
CCOLL_INLINE auto low_bytes(const std::byte* in, __m256i spread, unsigned bytes)
{
    const auto* const second = reinterpret_cast<const __m128i*>(in + bytes * row_elements<T>);
    const __m256i low =
        _mm256_shuffle_epi8(_mm256_loadu2_m128i(second, reinterpret_cast<const __m128i*>(in)), spread);
    const __m256i v = _mm256_or_si256(low, bits(fill(std::bit_cast<T>(origin_bits<T>))));
    if constexpr (sizeof(T) == 4) return _mm256_castsi256_ps(v);
    else return _mm256_castsi256_pd(v);
}

#include <ccoll/codec/szx/loops.inl>
#include <ccoll/codec/szx/streams.inl>

}  // namespace avx2

}  // namespace ccoll::detail::szx

#include <ccoll/base/kernels_end.inl>

#endif
