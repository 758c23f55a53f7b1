// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/avx2_rows.hpp - floor 2. Eight steps of eight lanes in registers of AVX2. Lanes are runs of
// consecutive values in memory; a row has one value of each lane, so eight rows are a matrix that is turned
// on its way in and out. Eight lanes of float fill a register, so wider ones would gain little.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/exact.hpp>
#include <ccoll/codec/bitzip/lanes.hpp>
#include <ccoll/policy/element.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::bitzip::avx2 {

inline constexpr std::size_t block_steps = 8;
static_assert(most_lanes == 8);

/// Eight float or four double.
template <native_float T>
struct vector_of {
    using type = __m256;
};
template <>
struct vector_of<double> {
    using type = __m256d;
};
template <native_float T>
using vector = typename vector_of<T>::type;
template <native_float T>
inline constexpr std::size_t registers = most_lanes * sizeof(T) / 32;  ///< of a row

// Not by intrinsics: in clang's headers the user's flags allow other orders of sums.
template <class V>
CCOLL_INLINE V add(V a, V b)
{
    CCOLL_EXACT_BODY
    return a + b;
}
template <class V>
CCOLL_INLINE V sub(V a, V b)
{
    CCOLL_EXACT_BODY
    return a - b;
}
/// b, unless a is less.
CCOLL_INLINE __m256 lower(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
CCOLL_INLINE __m256d lower(__m256d a, __m256d b) { return _mm256_min_pd(a, b); }
CCOLL_INLINE __m256 magnitude(__m256 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
CCOLL_INLINE __m256d magnitude(__m256d a) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a); }
CCOLL_INLINE __m256 both(__m256 a, __m256 b) { return _mm256_and_ps(a, b); }
CCOLL_INLINE __m256d both(__m256d a, __m256d b) { return _mm256_and_pd(a, b); }
CCOLL_INLINE __m256 any(__m256 a, __m256 b) { return _mm256_or_ps(a, b); }
CCOLL_INLINE __m256d any(__m256d a, __m256d b) { return _mm256_or_pd(a, b); }
CCOLL_INLINE __m256 without(__m256 a, __m256 b) { return _mm256_andnot_ps(b, a); }
CCOLL_INLINE __m256d without(__m256d a, __m256d b) { return _mm256_andnot_pd(b, a); }
CCOLL_INLINE __m256 less(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
CCOLL_INLINE __m256d less(__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
CCOLL_INLINE __m256 not_less(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_NLT_UQ); }
CCOLL_INLINE __m256d not_less(__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_NLT_UQ); }
/// Where the top bit of the mask is 1, `then`; elsewhere `otherwise`.
CCOLL_INLINE __m256 choice(__m256 mask, __m256 then, __m256 otherwise)
{
    return _mm256_blendv_ps(otherwise, then, mask);
}
CCOLL_INLINE __m256d choice(__m256d mask, __m256d then, __m256d otherwise)
{
    return _mm256_blendv_pd(otherwise, then, mask);
}
CCOLL_INLINE unsigned top_bits(__m256 a) { return static_cast<unsigned>(_mm256_movemask_ps(a)); }
CCOLL_INLINE unsigned top_bits(__m256d a) { return static_cast<unsigned>(_mm256_movemask_pd(a)); }

CCOLL_INLINE __m256i bits(__m256 a) { return _mm256_castps_si256(a); }
CCOLL_INLINE __m256i bits(__m256d a) { return _mm256_castpd_si256(a); }
template <native_float T>
CCOLL_INLINE vector<T> as_values(__m256i a)
{
    if constexpr (sizeof(T) == 4) return _mm256_castsi256_ps(a);
    else return _mm256_castsi256_pd(a);
}
CCOLL_INLINE __m256 fill(float x) { return _mm256_set1_ps(x); }
CCOLL_INLINE __m256d fill(double x) { return _mm256_set1_pd(x); }
/// The same number in every word as long as a T.
template <native_float T>
CCOLL_INLINE __m256i words(std::uint64_t x)
{
    if constexpr (sizeof(T) == 4) return _mm256_set1_epi32(static_cast<int>(x));
    else return _mm256_set1_epi64x(static_cast<long long>(x));
}

template <int Bits, native_float T>
CCOLL_INLINE __m256i shifted_up(__m256i a)
{
    if constexpr (sizeof(T) == 4) return _mm256_slli_epi32(a, Bits);
    else return _mm256_slli_epi64(a, Bits);
}

template <int Bits, native_float T>
CCOLL_INLINE __m256i shifted_down(__m256i a)
{
    if constexpr (sizeof(T) == 4) return _mm256_srli_epi32(a, Bits);
    else return _mm256_srli_epi64(a, Bits);
}
template <native_float T>
CCOLL_INLINE __m256i shifted_up(__m256i a, __m256i by)
{
    if constexpr (sizeof(T) == 4) return _mm256_sllv_epi32(a, by);
    else return _mm256_sllv_epi64(a, by);
}
template <native_float T>
CCOLL_INLINE __m256i shifted_down(__m256i a, __m256i by)
{
    if constexpr (sizeof(T) == 4) return _mm256_srlv_epi32(a, by);
    else return _mm256_srlv_epi64(a, by);
}
template <native_float T>
CCOLL_INLINE __m256i equal(__m256i a, __m256i b)
{
    if constexpr (sizeof(T) == 4) return _mm256_cmpeq_epi32(a, b);
    else return _mm256_cmpeq_epi64(a, b);
}

CCOLL_INLINE __m256 load(const float* x) { return _mm256_loadu_ps(x); }
CCOLL_INLINE __m256d load(const double* x) { return _mm256_loadu_pd(x); }
CCOLL_INLINE void store(float* to, __m256 x) { _mm256_storeu_ps(to, x); }
CCOLL_INLINE void store(double* to, __m256d x) { _mm256_storeu_pd(to, x); }
CCOLL_INLINE void store(void* to, __m256i x) { _mm256_storeu_si256(static_cast<__m256i*>(to), x); }

/// One value of each lane, in order.
template <native_float T>
struct row {
    vector<T> v[registers<T>];
};

CCOLL_INLINE __m256 halves(const float* low, const float* high)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
CCOLL_INLINE __m256d halves(const double* low, const double* high)
{
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
}
CCOLL_INLINE void put_halves(float* low, float* high, __m256 v)
{
    _mm_storeu_ps(low, _mm256_castps256_ps128(v));
    _mm_storeu_ps(high, _mm256_extractf128_ps(v, 1));
}
CCOLL_INLINE void put_halves(double* low, double* high, __m256d v)
{
    _mm_storeu_pd(low, _mm256_castpd256_pd128(v));
    _mm_storeu_pd(high, _mm256_extractf128_pd(v, 1));
}
/// Turns the 4 x 4 values in the lower half of the registers, and those in the upper half.
CCOLL_INLINE void turn_halves(__m256 a, __m256 b, __m256 c, __m256 d, __m256 (&to)[4])
{
    const __m256 e = _mm256_unpacklo_ps(a, b), f = _mm256_unpacklo_ps(c, d), g = _mm256_unpackhi_ps(a, b),
                 h = _mm256_unpackhi_ps(c, d);
    to[0] = _mm256_shuffle_ps(e, f, 0x44);
    to[1] = _mm256_shuffle_ps(e, f, 0xee);
    to[2] = _mm256_shuffle_ps(g, h, 0x44);
    to[3] = _mm256_shuffle_ps(g, h, 0xee);
}

/// @param lane  where the eight values of each lane are
CCOLL_INLINE void get_rows(const float* const (&lane)[most_lanes], row<float> (&to)[block_steps])
{
    for (std::size_t half = 0; half < block_steps; half += 4) {
        __m256 turned[4];
        turn_halves(halves(lane[0] + half, lane[4] + half), halves(lane[1] + half, lane[5] + half),
                    halves(lane[2] + half, lane[6] + half), halves(lane[3] + half, lane[7] + half), turned);
        for (std::size_t i = 0; i < 4; ++i) to[half + i].v[0] = turned[i];
    }
}
CCOLL_INLINE void get_rows(const double* const (&lane)[most_lanes], row<double> (&to)[block_steps])
{
    for (std::size_t i = 0; i < block_steps; i += 2)
        for (std::size_t r = 0; r < 2; ++r) {
            const __m256d even = halves(lane[4 * r] + i, lane[4 * r + 2] + i),
                          odd = halves(lane[4 * r + 1] + i, lane[4 * r + 3] + i);
            to[i].v[r] = _mm256_unpacklo_pd(even, odd);
            to[i + 1].v[r] = _mm256_unpackhi_pd(even, odd);
        }
}
/// The reverse.
CCOLL_INLINE void put_rows(const row<float> (&from)[block_steps], float* const (&lane)[most_lanes])
{
    for (std::size_t half = 0; half < block_steps; half += 4) {
        __m256 turned[4];
        turn_halves(from[half].v[0], from[half + 1].v[0], from[half + 2].v[0], from[half + 3].v[0], turned);
        for (std::size_t l = 0; l < 4; ++l) put_halves(lane[l] + half, lane[l + 4] + half, turned[l]);
    }
}
CCOLL_INLINE void put_rows(const row<double> (&from)[block_steps], double* const (&lane)[most_lanes])
{
    for (std::size_t i = 0; i < block_steps; i += 2)
        for (std::size_t r = 0; r < 2; ++r) {
            const __m256d a = from[i].v[r], b = from[i + 1].v[r];
            put_halves(lane[4 * r] + i, lane[4 * r + 2] + i, _mm256_unpacklo_pd(a, b));
            put_halves(lane[4 * r + 1] + i, lane[4 * r + 3] + i, _mm256_unpackhi_pd(a, b));
        }
}

/// Small numbers, one of each lane, in words as long as a T.
template <native_float T>
struct numbers {
    __m256i v[registers<T>];
};
/// The lanes of double are then 0, 1, 4, 5, 2, 3, 6, 7.
template <native_float T>
CCOLL_INLINE __m256i narrowed(const numbers<T>& of)
{
    if constexpr (sizeof(T) == 4) return of.v[0];
    else
        return _mm256_castps_si256(
            _mm256_shuffle_ps(_mm256_castsi256_ps(of.v[0]), _mm256_castsi256_ps(of.v[1]), 0x88));
}
/// The numbers of four steps as bytes: those of a lane are neighbours.
template <native_float T>
CCOLL_INLINE __m256i lane_bytes(const numbers<T>* of)
{
    const __m256i first = _mm256_packs_epi32(narrowed<T>(of[0]), narrowed<T>(of[1]));
    const __m256i second = _mm256_packs_epi32(narrowed<T>(of[2]), narrowed<T>(of[3]));
    const __m256i turn =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    return _mm256_shuffle_epi8(_mm256_packus_epi16(first, second), turn);
}
/// The numbers of eight steps as bytes: four lanes in a register.
struct block_bytes {
    __m256i low, high;
};
template <native_float T>
CCOLL_INLINE block_bytes bytes_of(const numbers<T> (&of)[block_steps])
{
    const __m256i first = lane_bytes<T>(of), second = lane_bytes<T>(of + 4);
    return {_mm256_unpacklo_epi32(first, second), _mm256_unpackhi_epi32(first, second)};
}
/// Which lanes are in block_bytes, by eight bytes.
template <native_float T>
inline constexpr std::size_t lane_in_bytes[most_lanes] = {
    0, 1, sizeof(T) == 4 ? 4 : 2, sizeof(T) == 4 ? 5 : 3, sizeof(T) == 4 ? 2 : 4, sizeof(T) == 4 ? 3 : 5,
    6, 7};
template <native_float T>
CCOLL_INLINE void put_bytes(const block_bytes& from, std::uint8_t* const (&lane)[most_lanes])
{
    const auto put = lane_in_bytes<T>;
    const __m128i all[4] = {_mm256_castsi256_si128(from.low), _mm256_extracti128_si256(from.low, 1),
                            _mm256_castsi256_si128(from.high), _mm256_extracti128_si256(from.high, 1)};
    for (std::size_t k = 0; k < 4; ++k) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(lane[put[2 * k]]), all[k]);
        _mm_storeh_pd(reinterpret_cast<double*>(lane[put[2 * k + 1]]), _mm_castsi128_pd(all[k]));
    }
}
/// Eight bytes of each lane, turned: those of a step are neighbours.
CCOLL_INLINE void get_bytes(const std::uint8_t* const (&lane)[most_lanes],
                            std::uint8_t (&steps)[block_steps * most_lanes])
{
    __m128i pair[4];
    for (std::size_t k = 0; k < 4; ++k)
        pair[k] = _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(lane[2 * k])),
                                    _mm_loadl_epi64(reinterpret_cast<const __m128i*>(lane[2 * k + 1])));
    const __m128i a = _mm_unpacklo_epi16(pair[0], pair[1]), b = _mm_unpackhi_epi16(pair[0], pair[1]);
    const __m128i c = _mm_unpacklo_epi16(pair[2], pair[3]), d = _mm_unpackhi_epi16(pair[2], pair[3]);
    auto* const to = reinterpret_cast<__m128i*>(steps);
    _mm_storeu_si128(to, _mm_unpacklo_epi32(a, c));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi32(a, c));
    _mm_storeu_si128(to + 2, _mm_unpacklo_epi32(b, d));
    _mm_storeu_si128(to + 3, _mm_unpackhi_epi32(b, d));
}
/// Bytes of one step, in words as long as a T, for register r of a row.
template <native_float T>
CCOLL_INLINE __m256i step_words(const std::uint8_t* step, std::size_t r)
{
    if constexpr (sizeof(T) == 4) {
        (void)r;
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(step)));
    } else {
        return _mm256_cvtepu8_epi64(_mm_loadu_si32(step + 4 * r));
    }
}

/// Fewer than eight steps, or lanes of which some have ended: a copy that can be read and written as a whole
/// block.
template <class Element>
struct short_block {
    Element values[most_lanes][block_steps] = {};
    std::size_t count[most_lanes];

    /// @param first  the step with which the block begins
    CCOLL_INLINE short_block(const lane_ranges& at, std::size_t first)
    {
        for (std::size_t l = 0; l < most_lanes; ++l) count[l] = at.length(l) - first;
    }
    /// @tparam From  Element, with const or without: nvcc does not convert arrays of pointers from one to the
    ///               other
    template <class From>
    CCOLL_INLINE void get(From* const (&lane)[most_lanes])
    {
        for (std::size_t l = 0; l < most_lanes; ++l)
            std::memcpy(values[l], lane[l], count[l] * sizeof(Element));
    }
    CCOLL_INLINE void put(Element* const (&lane)[most_lanes]) const
    {
        for (std::size_t l = 0; l < most_lanes; ++l)
            std::memcpy(lane[l], values[l], count[l] * sizeof(Element));
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip::avx2

#include <ccoll/base/kernels_end.inl>

#endif
