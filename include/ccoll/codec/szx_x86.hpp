// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx_x86.hpp - floor 2. The blocks of SZx in registers of AVX2 and AVX-512: what one register can do, then szx_kernel.inl.
// Every function names its own target, so that a program compiled for any x86-64 has them; who calls one has asked the machine.
// AVX-512 needs F and BW only: shuffling bytes in one instruction less, as VBMI can, was not worth a third kernel (5 %).
#pragma once

#include <ccoll/codec/szx_block.hpp>

#if defined(__x86_64__) && defined(__GNUC__)
#include <array>

#include <immintrin.h>

#include <ccoll/codec/line_writer.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szx {

// Between a register and its packed bytes lie two steps: within each 16 bytes ("lane"), byte by byte, and between lanes, of which
// each has an even number of packed bytes, whatever the type. Tables are indexed by the bytes that are kept of a value.

template <element T>
inline constexpr std::size_t lane_elements = 16 / sizeof(T);

/// Where each byte of a lane comes from.
struct alignas(16) lane_shuffle {
    std::uint8_t from[16];
};
inline constexpr std::uint8_t zero_byte = 0x80;  ///< from nowhere

/// Where each 16-bit word of 64 bytes comes from.
struct alignas(64) word_shuffle {
    std::uint16_t from[32];
};

/// The low bytes of all values, together.
template <element T>
inline constexpr auto squeeze_lane = [] {
    std::array<lane_shuffle, sizeof(T)> table{};
    for (std::size_t bytes = 1; bytes < sizeof(T); ++bytes)
        for (std::size_t i = 0; i < 16; ++i) {
            const std::size_t value = i / bytes, byte = i % bytes;
            table[bytes].from[i] = value < lane_elements<T> ? static_cast<std::uint8_t>(value * sizeof(T) + byte) : zero_byte;
        }
    return table;
}();

/// And back.
template <element T>
inline constexpr auto spread_lane = [] {
    std::array<lane_shuffle, sizeof(T)> table{};
    for (std::size_t bytes = 1; bytes < sizeof(T); ++bytes)
        for (std::size_t i = 0; i < 16; ++i) {
            const std::size_t value = i / sizeof(T), byte = i % sizeof(T);
            table[bytes].from[i] = byte < bytes ? static_cast<std::uint8_t>(value * bytes + byte) : zero_byte;
        }
    return table;
}();

/// Four squeezed lanes, together. What follows them is unspecified.
template <element T>
inline constexpr auto join_lanes = [] {
    std::array<word_shuffle, sizeof(T)> table{};
    for (std::size_t bytes = 1; bytes < sizeof(T); ++bytes)
        for (std::size_t i = 0, words = bytes * lane_elements<T> / 2; i < 32; ++i)
            table[bytes].from[i] = static_cast<std::uint16_t>((i / words * 8 + i % words) % 32);
    return table;
}();

/// And apart.
template <element T>
inline constexpr auto part_lanes = [] {
    std::array<word_shuffle, sizeof(T)> table{};
    for (std::size_t bytes = 1; bytes < sizeof(T); ++bytes)
        for (std::size_t i = 0, words = bytes * lane_elements<T> / 2; i < 32; ++i)
            table[bytes].from[i] = static_cast<std::uint16_t>((i / 8 * words + i % 8) % 32);
    return table;
}();

CCOLL_EXACT_BEGIN
#if !defined(__clang__)  // g++ 12 warns of the undefined values in its own header
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// The operations of one instruction set. `unordered` and `either` make a mask of lanes, `any` asks it. `low_bytes` are
// completed to numbers by the origin's upper bits. `worse` collects errors, as their largest magnitude or as a mask, whichever is cheap, and `below` gives the verdict.

#define CCOLL_TARGET __attribute__((target("avx512f,avx512bw")))
#define CCOLL_OPERATION CCOLL_TARGET __attribute__((always_inline)) inline

namespace avx512 {

inline constexpr std::size_t register_bytes = 64;
using lines = line_writer_512;

CCOLL_OPERATION __m512 load(const float* x) { return _mm512_loadu_ps(x); }
CCOLL_OPERATION __m512d load(const double* x) { return _mm512_loadu_pd(x); }
CCOLL_OPERATION __m512 fill(float x) { return _mm512_set1_ps(x); }
CCOLL_OPERATION __m512d fill(double x) { return _mm512_set1_pd(x); }
CCOLL_OPERATION __m512i bits(__m512 v) { return _mm512_castps_si512(v); }
CCOLL_OPERATION __m512i bits(__m512d v) { return _mm512_castpd_si512(v); }

CCOLL_OPERATION __m512 lower(__m512 a, __m512 b) { return _mm512_min_ps(a, b); }
CCOLL_OPERATION __m512d lower(__m512d a, __m512d b) { return _mm512_min_pd(a, b); }
CCOLL_OPERATION __m512 higher(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
CCOLL_OPERATION __m512d higher(__m512d a, __m512d b) { return _mm512_max_pd(a, b); }
CCOLL_OPERATION float lowest_of(__m512 v) { return _mm512_reduce_min_ps(v); }
CCOLL_OPERATION double lowest_of(__m512d v) { return _mm512_reduce_min_pd(v); }
CCOLL_OPERATION float highest_of(__m512 v) { return _mm512_reduce_max_ps(v); }
CCOLL_OPERATION double highest_of(__m512d v) { return _mm512_reduce_max_pd(v); }
CCOLL_OPERATION unsigned unordered(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
CCOLL_OPERATION unsigned unordered(__m512d a, __m512d b) { return _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q); }
CCOLL_OPERATION unsigned either(unsigned a, unsigned b) { return a | b; }
CCOLL_OPERATION bool any(unsigned mask) { return mask != 0; }

CCOLL_OPERATION __m512 worse(__m512 worst, __m512 error, __m512)
{
    return _mm512_castsi512_ps(_mm512_max_epu32(bits(worst), bits(_mm512_abs_ps(error))));
}
CCOLL_OPERATION __m512d worse(__m512d worst, __m512d error, __m512d)
{
    return _mm512_castsi512_pd(_mm512_max_epu64(bits(worst), bits(_mm512_abs_pd(error))));
}
CCOLL_OPERATION bool below(__m512 worst, __m512 bound) { return _mm512_cmp_ps_mask(worst, bound, _CMP_NLT_UQ) == 0; }
CCOLL_OPERATION bool below(__m512d worst, __m512d bound) { return _mm512_cmp_pd_mask(worst, bound, _CMP_NLT_UQ) == 0; }

struct shuffles {
    __m512i bytes, words;
};
CCOLL_OPERATION shuffles load(const lane_shuffle& bytes, const word_shuffle& words)
{
    return {_mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(&bytes))), _mm512_load_si512(&words)};
}
template <element T>
CCOLL_OPERATION shuffles squeeze_of(unsigned bytes)
{
    return load(squeeze_lane<T>[bytes], join_lanes<T>[bytes]);
}
template <element T>
CCOLL_OPERATION shuffles spread_of(unsigned bytes)
{
    return load(spread_lane<T>[bytes], part_lanes<T>[bytes]);
}
// No more than half a register where that holds it: what crosses lines for nothing costs a tenth.
template <element T>
CCOLL_OPERATION void put_low_bytes(std::byte* out, __m512i v, const shuffles& squeeze, unsigned bytes)
{
    const __m512i packed = _mm512_permutexvar_epi16(squeeze.words, _mm512_shuffle_epi8(v, squeeze.bytes));
    if (2 * bytes <= sizeof(T)) _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(packed));
    else _mm512_storeu_si512(out, packed);
}
template <element T>
CCOLL_OPERATION auto low_bytes(const std::byte* in, const shuffles& spread, unsigned bytes)
{
    const __m512i packed = 2 * bytes <= sizeof(T) ? _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in))) : _mm512_loadu_si512(in);
    const __m512i low = _mm512_shuffle_epi8(_mm512_permutexvar_epi16(spread.words, packed), spread.bytes);
    const __m512i v = _mm512_or_si512(low, bits(fill(std::bit_cast<T>(origin_bits<T>))));
    if constexpr (sizeof(T) == 4) return _mm512_castsi512_ps(v);
    else return _mm512_castsi512_pd(v);
}

#include <ccoll/codec/szx_kernel.inl>

}  // namespace avx512

#undef CCOLL_OPERATION
#undef CCOLL_TARGET

#define CCOLL_TARGET __attribute__((target("avx2")))
#define CCOLL_OPERATION CCOLL_TARGET __attribute__((always_inline)) inline

namespace avx2 {

inline constexpr std::size_t register_bytes = 32;
using lines = line_writer_256;

CCOLL_OPERATION __m256 load(const float* x) { return _mm256_loadu_ps(x); }
CCOLL_OPERATION __m256d load(const double* x) { return _mm256_loadu_pd(x); }
CCOLL_OPERATION __m256 fill(float x) { return _mm256_set1_ps(x); }
CCOLL_OPERATION __m256d fill(double x) { return _mm256_set1_pd(x); }
CCOLL_OPERATION __m256i bits(__m256 v) { return _mm256_castps_si256(v); }
CCOLL_OPERATION __m256i bits(__m256d v) { return _mm256_castpd_si256(v); }

CCOLL_OPERATION __m256 lower(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
CCOLL_OPERATION __m256d lower(__m256d a, __m256d b) { return _mm256_min_pd(a, b); }
CCOLL_OPERATION __m256 higher(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
CCOLL_OPERATION __m256d higher(__m256d a, __m256d b) { return _mm256_max_pd(a, b); }
CCOLL_OPERATION float lowest_of(__m256 v)
{
    __m128 r = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    r = _mm_min_ps(r, _mm_movehl_ps(r, r));
    return _mm_cvtss_f32(_mm_min_ss(r, _mm_movehdup_ps(r)));
}
CCOLL_OPERATION double lowest_of(__m256d v)
{
    const __m128d r = _mm_min_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_min_sd(r, _mm_unpackhi_pd(r, r)));
}
template <class V>
CCOLL_OPERATION auto highest_of(V v)
{
    return -lowest_of(-v);
}
CCOLL_OPERATION __m256 unordered(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_UNORD_Q); }
CCOLL_OPERATION __m256d unordered(__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_UNORD_Q); }
CCOLL_OPERATION __m256 either(__m256 a, __m256 b) { return _mm256_or_ps(a, b); }
CCOLL_OPERATION __m256d either(__m256d a, __m256d b) { return _mm256_or_pd(a, b); }
CCOLL_OPERATION bool any(__m256 mask) { return _mm256_movemask_ps(mask) != 0; }
CCOLL_OPERATION bool any(__m256d mask) { return _mm256_movemask_pd(mask) != 0; }

CCOLL_OPERATION __m256 worse(__m256 worst, __m256 error, __m256 bound)
{
    return either(worst, _mm256_cmp_ps(_mm256_andnot_ps(fill(-0.0f), error), bound, _CMP_NLT_UQ));
}
CCOLL_OPERATION __m256d worse(__m256d worst, __m256d error, __m256d bound)
{
    return either(worst, _mm256_cmp_pd(_mm256_andnot_pd(fill(-0.0), error), bound, _CMP_NLT_UQ));
}
CCOLL_OPERATION bool below(__m256 worst, __m256) { return !any(worst); }
CCOLL_OPERATION bool below(__m256d worst, __m256d) { return !any(worst); }

CCOLL_OPERATION __m256i load(const lane_shuffle& s)
{
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(&s)));
}
template <element T>
CCOLL_OPERATION __m256i squeeze_of(unsigned bytes)
{
    return load(squeeze_lane<T>[bytes]);
}
template <element T>
CCOLL_OPERATION __m256i spread_of(unsigned bytes)
{
    return load(spread_lane<T>[bytes]);
}
template <element T>
CCOLL_OPERATION void put_low_bytes(std::byte* out, __m256i v, __m256i squeeze, unsigned bytes)
{
    const __m256i packed = _mm256_shuffle_epi8(v, squeeze);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(packed));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + bytes * lane_elements<T>), _mm256_extracti128_si256(packed, 1));
}
template <element T>
CCOLL_OPERATION auto low_bytes(const std::byte* in, __m256i spread, unsigned bytes)
{
    const auto* const second = reinterpret_cast<const __m128i*>(in + bytes * lane_elements<T>);
    const __m256i low = _mm256_shuffle_epi8(_mm256_loadu2_m128i(second, reinterpret_cast<const __m128i*>(in)), spread);
    const __m256i v = _mm256_or_si256(low, bits(fill(std::bit_cast<T>(origin_bits<T>))));
    if constexpr (sizeof(T) == 4) return _mm256_castsi256_ps(v);
    else return _mm256_castsi256_pd(v);
}

#include <ccoll/codec/szx_kernel.inl>

}  // namespace avx2

#undef CCOLL_OPERATION
#undef CCOLL_TARGET

#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
CCOLL_EXACT_END

}  // namespace ccoll::detail::szx

#endif
