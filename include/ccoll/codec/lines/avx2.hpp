// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lines/avx2.hpp - floor 2. Line writers of AVX2.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <ccoll/codec/lines/lines.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail {

class line_writer_256 {
public:
    CCOLL_INLINE explicit line_writer_256(void* to) noexcept
    {
        const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const int ahead = static_cast<int>(words_ahead(to, 32));
        half_line_ = static_cast<char*>(to) + 4 * ahead - 32;
        turn_ = _mm256_add_epi32(numbers, _mm256_set1_epi32(ahead));  // the instruction takes it modulo 8
        from_next_ = _mm256_cmpgt_epi32(numbers, _mm256_set1_epi32(7 - ahead));
        held_ =
            turned(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(static_cast<const char*>(to) - 32)));
    }
    CCOLL_INLINE void put(__m256i v) noexcept
    {
        const __m256i next = turned(v);
        _mm256_stream_si256(reinterpret_cast<__m256i*>(half_line_),
                            _mm256_blendv_epi8(held_, next, from_next_));
        half_line_ += 32;
        held_ = next;
    }
    CCOLL_INLINE void finish() noexcept
    {
        _mm256_maskstore_epi32(reinterpret_cast<int*>(half_line_),
                               _mm256_xor_si256(from_next_, _mm256_set1_epi32(-1)), held_);
    }

private:
    CCOLL_INLINE __m256i turned(__m256i v) const noexcept { return _mm256_permutevar8x32_epi32(v, turn_); }

    char* half_line_;
    __m256i held_, turn_, from_next_;
};

CCOLL_INLINE void write(line_writer_256& to, std::size_t, __m256 v) noexcept
{
    to.put(_mm256_castps_si256(v));
}
CCOLL_INLINE void write(line_writer_256& to, std::size_t, __m256d v) noexcept
{
    to.put(_mm256_castpd_si256(v));
}
CCOLL_INLINE void write(float* to, std::size_t at, __m256 v) noexcept { _mm256_storeu_ps(to + at, v); }
CCOLL_INLINE void write(double* to, std::size_t at, __m256d v) noexcept { _mm256_storeu_pd(to + at, v); }

}  // namespace ccoll::detail

#include <ccoll/base/kernels_end.inl>

#endif
