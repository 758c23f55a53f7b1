// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels for AVX-512 on machines that have AVX2: the SIMDe library computes what their instructions mean,
// and what version 0.7.4 of it lacks stands here. Included before the library, in a program that is compiled
// with -mavx2.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/gfni.h>

#include <ccoll/base/config.hpp>

#define CCOLL_TEST_EMULATED_AVX512
#undef CCOLL_AVX512
#undef CCOLL_AVX512_GFNI
#define CCOLL_AVX512 CCOLL_AVX2_FMA
#define CCOLL_AVX512_GFNI CCOLL_AVX2_FMA

namespace emulated {

template <class To, class From>
inline To bits(const From& from)
{
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
struct words_16 {
    std::int32_t of[16];
};
/// Each word by itself.
template <class Each>
inline __m512i for_words(Each each)
{
    words_16 r;
    for (int i = 0; i < 16; ++i) r.of[i] = static_cast<std::int32_t>(each(i));
    return bits<__m512i>(r);
}
/// Two halves of a register, from two halves or from a half.
struct halves_256 {
    __m256i of[2];
};
inline __m512i shuffle_epi32(__m512i v, int how)
{
    const auto w = bits<words_16>(v);
    return for_words([&](int i) { return w.of[i / 4 * 4 + (how >> i % 4 * 2 & 3)]; });
}
inline __m512i permutex_epi64(__m512i v, int how)
{
    const auto w = bits<words_16>(v);
    return for_words([&](int i) { return w.of[i / 8 * 8 + 2 * (how >> i % 8 / 2 * 2 & 3) + i % 2]; });
}
inline __m512i bslli_epi128(__m512i v, int bytes)
{
    const auto w = bits<words_16>(v);
    return for_words([&](int i) { return i % 4 >= bytes / 4 ? w.of[i - bytes / 4] : 0; });
}
inline __m512i srai_epi32(__m512i v, unsigned by)
{
    const auto w = bits<words_16>(v);
    return for_words([&](int i) { return w.of[i] >> by; });
}
inline __mmask16 cmpneq_epi32_mask(__m512i a, __m512i b)
{
    const auto x = bits<words_16>(a), y = bits<words_16>(b);
    unsigned mask = 0;
    for (int i = 0; i < 16; ++i) mask |= unsigned{x.of[i] != y.of[i]} << i;
    return static_cast<__mmask16>(mask);
}
inline __m512i cvtepi16_epi32(__m256i v)
{
    std::int16_t w[16];
    std::memcpy(w, &v, sizeof w);
    return for_words([&](int i) { return w[i]; });
}
inline __m512i cvtps_epi32(__m512 v)
{
    struct halves {
        __m256 of[2];
    };
    const auto h = bits<halves>(v);
    return bits<__m512i>(halves_256{{_mm256_cvtps_epi32(h.of[0]), _mm256_cvtps_epi32(h.of[1])}});
}
inline __m512 cvtepi32_ps(__m512i v)
{
    struct halves {
        __m256 of[2];
    };
    const auto h = bits<halves_256>(v);
    return bits<__m512>(halves{{_mm256_cvtepi32_ps(h.of[0]), _mm256_cvtepi32_ps(h.of[1])}});
}
struct halves_256d {
    __m256d of[2];
};
inline __m256i cvtpd_epi32(__m512d v)
{
    const auto h = bits<halves_256d>(v);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm256_cvtpd_epi32(h.of[0])),
                                   _mm256_cvtpd_epi32(h.of[1]), 1);
}
inline __m512d cvtepi32_pd(__m256i v)
{
    return bits<__m512d>(halves_256d{
        {_mm256_cvtepi32_pd(_mm256_castsi256_si128(v)), _mm256_cvtepi32_pd(_mm256_extracti128_si256(v, 1))}});
}
inline __m512d cvtps_pd(__m256 v)
{
    return bits<__m512d>(halves_256d{
        {_mm256_cvtps_pd(_mm256_castps256_ps128(v)), _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))}});
}
inline void mask_storeu_epi32(void* to, __mmask16 mask, __m512i v)
{
    const auto w = bits<words_16>(v);
    for (int i = 0; i < 16; ++i)
        if ((mask >> i & 1) != 0) std::memcpy(static_cast<char*>(to) + 4 * i, &w.of[i], 4);
}
inline void stream_si512(__m512i* to, __m512i v)
{
    if (reinterpret_cast<std::uintptr_t>(to) % 64 != 0) __builtin_trap();  // as the instruction
    std::memcpy(static_cast<void*>(to), &v, sizeof v);
}
inline __m512i zextsi256_si512(__m256i v) { return bits<__m512i>(halves_256{{v, _mm256_setzero_si256()}}); }

}  // namespace emulated

#undef _mm512_shuffle_epi32
#undef _mm512_permutex_epi64
#undef _mm512_bslli_epi128
#undef _mm512_srai_epi32
#undef _mm512_cmpneq_epi32_mask
#undef _mm512_madd_epi16  // its alias has the arguments of another one
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16(a, b)
#undef _mm512_maskz_shuffle_i32x4
#define _mm512_maskz_shuffle_i32x4(mask, a, b, how) simde_mm512_maskz_shuffle_i32x4(mask, a, b, how)
#define _mm512_shuffle_epi32(v, how) emulated::shuffle_epi32(v, how)
#define _mm512_permutex_epi64(v, how) emulated::permutex_epi64(v, how)
#define _mm512_bslli_epi128(v, bytes) emulated::bslli_epi128(v, bytes)
#define _mm512_srai_epi32(v, by) emulated::srai_epi32(v, by)
#define _mm512_cmpneq_epi32_mask(a, b) emulated::cmpneq_epi32_mask(a, b)
#define _mm512_cvtepi16_epi32(v) emulated::cvtepi16_epi32(v)
#define _mm512_cvtps_epi32(v) emulated::cvtps_epi32(v)
#define _mm512_cvtepi32_ps(v) emulated::cvtepi32_ps(v)
#define _mm512_cvtpd_epi32(v) emulated::cvtpd_epi32(v)
#define _mm512_cvtepi32_pd(v) emulated::cvtepi32_pd(v)
#define _mm512_cvtps_pd(v) emulated::cvtps_pd(v)
#define _mm512_mask_storeu_epi32(to, mask, v) emulated::mask_storeu_epi32(to, mask, v)
#define _mm512_stream_si512(to, v) emulated::stream_si512(to, v)
#define _mm512_zextsi256_si512(v) emulated::zextsi256_si512(v)
