// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lines/avx512.hpp - floor 2. Line writers of AVX-512.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <ccoll/codec/lines/lines.hpp>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail {

class line_writer_512 {
public:
    CCOLL_INLINE explicit line_writer_512(void* to) noexcept
        : held_(_mm512_loadu_si512(static_cast<const char*>(to) - 64))
    {
        const unsigned ahead = words_ahead(to, 64);
        line_ = static_cast<char*>(to) + 4 * std::size_t{ahead} - 64;
        turn_ = _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                 _mm512_set1_epi32(static_cast<int>(ahead)));
        left_ = static_cast<__mmask16>(0xffffu >> ahead);
    }
    CCOLL_INLINE void put(__m512i v) noexcept
    {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(line_), _mm512_permutex2var_epi32(held_, turn_, v));
        line_ += 64;
        held_ = v;
    }
    CCOLL_INLINE void finish() noexcept
    {
        _mm512_mask_storeu_epi32(line_, left_, _mm512_permutexvar_epi32(turn_, held_));
    }

private:
    char* line_;
    __m512i held_, turn_;
    __mmask16 left_;
};

CCOLL_INLINE void write(line_writer_512& to, std::size_t, __m512 v) noexcept
{
    to.put(_mm512_castps_si512(v));
}
CCOLL_INLINE void write(line_writer_512& to, std::size_t, __m512d v) noexcept
{
    to.put(_mm512_castpd_si512(v));
}
CCOLL_INLINE void write(float* to, std::size_t at, __m512 v) noexcept { _mm512_storeu_ps(to + at, v); }
CCOLL_INLINE void write(double* to, std::size_t at, __m512d v) noexcept { _mm512_storeu_pd(to + at, v); }

}  // namespace ccoll::detail

#include <ccoll/base/kernels_end.inl>

#endif
