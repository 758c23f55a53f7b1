// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/changes/kernels.hpp - floor 2. Which words of two vectors differ: a bit for each word.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/changes/layout.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>
#endif

namespace ccoll::inline CCOLL_ABI::detail::changes {

namespace portable {

/// The bits of up to 64 words.
template <word Word>
std::uint64_t mask_of(const std::byte* now, const std::byte* before, std::size_t words) noexcept
{
    Word a[64], b[64];
    std::memcpy(a, now, words * sizeof(Word));
    std::memcpy(b, before, words * sizeof(Word));
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < words; ++i) mask |= std::uint64_t{a[i] != b[i]} << i;
    return mask;
}

/// @param mask   a word of it for each 64 words of the vectors
/// @param words  a multiple of 64
/// @return how many differ
template <word Word>
std::size_t find(const std::byte* now, const std::byte* before, std::size_t words,
                 std::uint64_t* mask) noexcept
{
    std::size_t count = 0;
    for (; words >= 64; words -= 64, now += 64 * sizeof(Word), before += 64 * sizeof(Word)) {
        // Where nothing has changed, comparing bytes is several times as fast.
        const bool same = std::memcmp(now, before, 64 * sizeof(Word)) == 0;
        *mask = same ? 0 : mask_of<Word>(now, before, 64);
        count += static_cast<std::size_t>(std::popcount(*mask++));
    }
    return count;
}

}  // namespace portable

}  // namespace ccoll::detail::changes

#if defined(CCOLL_X86_KERNELS)
#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::changes::avx2 {

CCOLL_INLINE __m256i at(const std::byte* from) noexcept
{
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
CCOLL_INLINE std::uint64_t bits_of_bytes(__m256i equal) noexcept
{
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(equal));
}

/// A bit for each of 64 words that are equal.
template <word Word>
CCOLL_INLINE std::uint64_t equal_words(const std::byte* a, const std::byte* b) noexcept
{
    std::uint64_t equal = 0;
    if constexpr (sizeof(Word) == 1) {
        equal = bits_of_bytes(_mm256_cmpeq_epi8(at(a), at(b)));
        equal |= bits_of_bytes(_mm256_cmpeq_epi8(at(a + 32), at(b + 32))) << 32;
    } else if constexpr (sizeof(Word) == 2) {
        for (std::size_t i = 0; i < 2; ++i, a += 64, b += 64) {
            const __m256i first = _mm256_cmpeq_epi16(at(a), at(b)),
                          second = _mm256_cmpeq_epi16(at(a + 32), at(b + 32));
            equal |= bits_of_bytes(_mm256_permute4x64_epi64(_mm256_packs_epi16(first, second), 0xD8))
                     << (32 * i);
        }
    } else if constexpr (sizeof(Word) == 4) {
        for (std::size_t i = 0; i < 64; i += 8, a += 32, b += 32) {
            const __m256 same = _mm256_castsi256_ps(_mm256_cmpeq_epi32(at(a), at(b)));
            equal |= static_cast<std::uint64_t>(_mm256_movemask_ps(same)) << i;
        }
    } else {
        for (std::size_t i = 0; i < 64; i += 4, a += 32, b += 32) {
            const __m256d same = _mm256_castsi256_pd(_mm256_cmpeq_epi64(at(a), at(b)));
            equal |= static_cast<std::uint64_t>(_mm256_movemask_pd(same)) << i;
        }
    }
    return equal;
}

template <word Word>
CCOLL_TARGET std::size_t find(const std::byte* now, const std::byte* before, std::size_t words,
                              std::uint64_t* mask) noexcept
{
    std::size_t count = 0;
    for (; words >= 64; words -= 64, now += 64 * sizeof(Word), before += 64 * sizeof(Word)) {
        fetch(now, 2048, 64 * sizeof(Word));
        const std::uint64_t changed = ~equal_words<Word>(now, before);
        *mask++ = changed;
        count += static_cast<std::size_t>(__builtin_popcountll(changed));
    }
    return count;
}

}  // namespace ccoll::detail::changes::avx2
#include <ccoll/base/kernels_end.inl>
#endif

namespace ccoll::inline CCOLL_ABI::detail::changes {

using find_kernel = std::size_t (*)(const std::byte*, const std::byte*, std::size_t, std::uint64_t*) noexcept;
template <word Word>
inline constexpr by_isa<find_kernel> find{CCOLL_UP_TO_AVX2(find<Word>)};

/// The same for any number of words, up to a block.
template <word Word>
std::size_t find_changes(const std::byte* now, const std::byte* before, std::size_t words,
                         block_mask& mask) noexcept
{
    const std::size_t even = words / 64 * 64;
    std::size_t count = find<Word>(now, before, even, mask.of);
    if (even < words) {
        const std::size_t from = even * sizeof(Word);
        mask.of[even / 64] = portable::mask_of<Word>(now + from, before + from, words - even);
        count += static_cast<std::size_t>(std::popcount(mask.of[even / 64]));
    }
    return count;
}

}  // namespace ccoll::detail::changes
