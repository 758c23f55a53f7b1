// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/line_writer.hpp - floor 2. What decoders write past the caches. Functions name their target; who calls one has asked the machine.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// 4-byte words from an address up to the next multiple of `unit` bytes.
inline unsigned words_ahead(const void* to, std::size_t unit) noexcept
{
    return static_cast<unsigned>((0 - reinterpret_cast<std::uintptr_t>(to)) % unit / 4);
}

// Registers on their way past the caches, each to a whole line (or half of one) wherever the destination begins: what is stored
// is the end of one register and the begin of the next. The constructor's `to` is where the first register belongs, a multiple of 4; the bytes
// before it, as many as a register has, are there already. finish() stores the rest.

#define CCOLL_TARGET __attribute__((target("avx512f"), always_inline))

class line_writer_512 {
public:
    CCOLL_TARGET explicit line_writer_512(void* to) noexcept : held_(_mm512_loadu_si512(static_cast<const char*>(to) - 64))
    {
        const unsigned ahead = words_ahead(to, 64);
        line_ = static_cast<char*>(to) + 4 * std::size_t{ahead} - 64;
        turn_ = _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32(static_cast<int>(ahead)));
        left_ = static_cast<__mmask16>(0xffffu >> ahead);
    }
    CCOLL_TARGET void put(__m512i v) noexcept
    {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(line_), _mm512_permutex2var_epi32(held_, turn_, v));
        line_ += 64;
        held_ = v;
    }
    CCOLL_TARGET void finish() noexcept { _mm512_mask_storeu_epi32(line_, left_, _mm512_permutexvar_epi32(turn_, held_)); }

private:
    char* line_;
    __m512i held_, turn_;
    __mmask16 left_;
};

/// A register of results, to where its decoder was told.
CCOLL_TARGET inline void write(line_writer_512& to, std::size_t, __m512 v) noexcept { to.put(_mm512_castps_si512(v)); }
CCOLL_TARGET inline void write(line_writer_512& to, std::size_t, __m512d v) noexcept { to.put(_mm512_castpd_si512(v)); }
CCOLL_TARGET inline void write(float* to, std::size_t at, __m512 v) noexcept { _mm512_storeu_ps(to + at, v); }
CCOLL_TARGET inline void write(double* to, std::size_t at, __m512d v) noexcept { _mm512_storeu_pd(to + at, v); }

#undef CCOLL_TARGET
#define CCOLL_TARGET __attribute__((target("avx2"), always_inline))

class line_writer_256 {
public:
    CCOLL_TARGET explicit line_writer_256(void* to) noexcept
    {
        const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const int ahead = static_cast<int>(words_ahead(to, 32));
        half_line_ = static_cast<char*>(to) + 4 * ahead - 32;
        turn_ = _mm256_add_epi32(numbers, _mm256_set1_epi32(ahead));  // modulo 8, says the instruction
        from_next_ = _mm256_cmpgt_epi32(numbers, _mm256_set1_epi32(7 - ahead));
        held_ = turned(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(static_cast<const char*>(to) - 32)));
    }
    CCOLL_TARGET void put(__m256i v) noexcept
    {
        const __m256i next = turned(v);
        _mm256_stream_si256(reinterpret_cast<__m256i*>(half_line_), _mm256_blendv_epi8(held_, next, from_next_));
        half_line_ += 32;
        held_ = next;
    }
    CCOLL_TARGET void finish() noexcept
    {
        _mm256_maskstore_epi32(reinterpret_cast<int*>(half_line_), _mm256_xor_si256(from_next_, _mm256_set1_epi32(-1)), held_);
    }

private:
    CCOLL_TARGET __m256i turned(__m256i v) const noexcept { return _mm256_permutevar8x32_epi32(v, turn_); }

    char* half_line_;
    __m256i held_, turn_, from_next_;
};

CCOLL_TARGET inline void write(line_writer_256& to, std::size_t, __m256 v) noexcept { to.put(_mm256_castps_si256(v)); }
CCOLL_TARGET inline void write(line_writer_256& to, std::size_t, __m256d v) noexcept { to.put(_mm256_castpd_si256(v)); }
CCOLL_TARGET inline void write(float* to, std::size_t at, __m256 v) noexcept { _mm256_storeu_ps(to + at, v); }
CCOLL_TARGET inline void write(double* to, std::size_t at, __m256d v) noexcept { _mm256_storeu_pd(to + at, v); }

#undef CCOLL_TARGET

}  // namespace ccoll::detail
