// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/avx2_rows.hpp - floor 2. SZe with AVX2: how an encoder finds rows (sze/rows.hpp).
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/sze/avx2_residuals.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::sze::avx2 {

CCOLL_TARGET inline void to_bytes(const i32* d, std::size_t n, unsigned shift, u8* bytes) noexcept
{
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7),
                  zero = _mm256_set1_epi8(static_cast<char>(byte_of_0));
    const __m128i by = _mm_cvtsi32_si128(static_cast<int>(shift));
    const auto shifted = [&](std::size_t i) CCOLL_TARGET { return _mm256_sra_epi32(load(d + i), by); };
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i low = _mm256_packs_epi32(shifted(i), shifted(i + 8)),
                      high = _mm256_packs_epi32(shifted(i + 16), shifted(i + 24));
        const __m256i all = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), in_order);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes + i), _mm256_xor_si256(all, zero));
    }
    portable::to_bytes(d + i, n - i, shift, bytes + i);
}

CCOLL_TARGET inline std::size_t probe_of(const u8* bytes, std::size_t begin, std::size_t n) noexcept
{
    static_assert(probe_values == 32);
    const __m256i zero = _mm256_set1_epi8(static_cast<char>(byte_of_0));
    std::size_t best = begin;
    u32 most = 0;
    for (std::size_t at = begin; at + probe_values <= begin + n; at += probe_values) {
        const u32 sum = sum_of(_mm256_sad_epu8(load(bytes + at), zero));
        if (sum <= most) continue;
        most = sum;
        best = at;
    }
    return best;
}

/// About 2^10 log2(1 + |r|) of eight residuals, each above it by the bits of 1, which are a multiple of 2^13.
CCOLL_INLINE __m256i costs_of_8(__m256i r) noexcept
{
    const __m256i magnitude = _mm256_and_si256(_mm256_abs_epi32(r), _mm256_set1_epi32(0x7fffffff));
    const __m256 above_1 = _mm256_add_ps(_mm256_cvtepi32_ps(magnitude), _mm256_set1_ps(1));
    return _mm256_srli_epi32(_mm256_castps_si256(above_1), 13);
}
CCOLL_INLINE u32 cost_of_sums(__m256i sums) noexcept
{
    const __m256i pairs =
        _mm256_add_epi64(_mm256_and_si256(sums, _mm256_set1_epi64x(0xffffffff)), _mm256_srli_epi64(sums, 32));
    return sum_of(pairs) - static_cast<u32>(samples * sample_values) * (std::bit_cast<u32>(1.0f) >> 13);
}
CCOLL_TARGET inline u32 cost_of(const i32* d, std::size_t n) noexcept
{
    __m256i sums = _mm256_setzero_si256();
    for (std::size_t s = 0; s < samples; ++s)
        for (const i32 *at = d + sample_start(n, s), *const end = at + sample_values; at < end; at += lanes)
            sums = _mm256_add_epi32(sums, costs_of_8(load(at)));
    return cost_of_sums(sums);
}
CCOLL_TARGET inline costs costs_of(const i32* d, std::size_t n, std::size_t places) noexcept
{
    __m256i plain = _mm256_setzero_si256(), smooth = plain;
    for (std::size_t s = 0; s < samples; ++s)
        for (const i32 *at = d + sample_start(n, s), *const end = at + sample_values; at < end; at += lanes) {
            const __m256i eight = load(at);
            plain = _mm256_add_epi32(plain, costs_of_8(_mm256_sub_epi32(eight, behind<false>(at - places))));
            smooth = _mm256_add_epi32(smooth, costs_of_8(_mm256_sub_epi32(eight, behind<true>(at - places))));
        }
    return {cost_of_sums(plain), cost_of_sums(smooth)};
}

/// The sums of differences of both probes with what is w, w + step .. w + 7 step before them.
CCOLL_INLINE __m128i differences_of_8(__m256i a, __m256i b, const u8* from_a, const u8* from_b, std::size_t w,
                                      std::size_t step) noexcept
{
    const auto of = [&](std::size_t k) CCOLL_TARGET {
        const std::size_t at = w + k * step;
        return _mm256_add_epi16(_mm256_sad_epu8(a, load(from_a - at)),
                                _mm256_sad_epu8(b, load(from_b - at)));  // four parts
    };
    const auto of_4 = [&](std::size_t k) CCOLL_TARGET {
        const __m256i parts = _mm256_packus_epi32(_mm256_packus_epi32(of(k), of(k + 1)),
                                                  _mm256_packus_epi32(of(k + 2), of(k + 3)));
        return _mm256_madd_epi16(parts, _mm256_set1_epi16(1));
    };
    const __m256i halves = _mm256_packus_epi32(of_4(0), of_4(4));
    return _mm_add_epi16(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}
/// 64 sums, of which the least is known.
CCOLL_INLINE __m128i least_of_64(const __m128i* sums) noexcept
{
    const __m128i a = _mm_min_epu16(_mm_min_epu16(sums[0], sums[1]), _mm_min_epu16(sums[2], sums[3]));
    const __m128i b = _mm_min_epu16(_mm_min_epu16(sums[4], sums[5]), _mm_min_epu16(sums[6], sums[7]));
    return _mm_minpos_epu16(_mm_min_epu16(a, b));
}
/// Which of 64 sums is the first that is equal to the lowest word of `sum`.
CCOLL_INLINE std::size_t first_of_64(const __m128i* sums, __m128i sum) noexcept
{
    const __m128i all = _mm_broadcastw_epi16(sum);
    u64 mask = 0;
    for (unsigned k = 0; k < 4; ++k) {
        const __m128i equal =
            _mm_packs_epi16(_mm_cmpeq_epi16(sums[2 * k], all), _mm_cmpeq_epi16(sums[2 * k + 1], all));
        mask |= u64{static_cast<u32>(_mm_movemask_epi8(equal))} << 16 * k;
    }
    return static_cast<std::size_t>(std::countr_zero(mask));
}
/// All sums, in `room`, are computed before any is compared with others: a processor would not foresee which
/// are among the best.
CCOLL_TARGET inline void find_candidates(const u8* from_a, const u8* from_b, std::size_t first,
                                         std::size_t last, std::size_t step, candidates& best,
                                         sums_of_rows& room) noexcept
{
    constexpr std::size_t at_once = 64, most_blocks = chunk_elements / 2 / at_once;
    static_assert(most_blocks == at_once);
    u16* const sums = room.of;
    alignas(16) u16 least[most_blocks];
    const __m256i a = load(from_a), b = load(from_b);
    const std::size_t count = last >= first ? (last - first) / step + 1 : 0;
    std::size_t k = 0;
    for (; k + 8 <= count; k += 8)
        _mm_store_si128(reinterpret_cast<__m128i*>(sums + k),
                        differences_of_8(a, b, from_a, from_b, first + k * step, step));
    for (; k < count; ++k) {
        const std::size_t w = first + k * step;
        sums[k] = static_cast<u16>(sum_of(_mm256_sad_epu8(a, load(from_a - w))) +
                                   sum_of(_mm256_sad_epu8(b, load(from_b - w))));
    }
    const std::size_t blocks = (count + at_once - 1) / at_once;
    std::memset(sums + count, 0xff, sizeof(u16) * (at_once * blocks - count));
    std::memset(least, 0xff, sizeof least);
    const auto block = [&](std::size_t j)
                           CCOLL_TARGET { return reinterpret_cast<const __m128i*>(sums + at_once * j); };
    for (std::size_t j = 0; j < blocks; ++j)
        least[j] = static_cast<u16>(_mm_cvtsi128_si32(least_of_64(block(j))));
    for (std::size_t i = 0; i < std::min(candidates::most, count); ++i) {
        const __m128i* const of_blocks = reinterpret_cast<const __m128i*>(least);
        const __m128i sum = least_of_64(of_blocks);
        const std::size_t j = first_of_64(of_blocks, sum), at = at_once * j + first_of_64(block(j), sum);
        best.of[i] = static_cast<u16>(first + at * step);
        sums[at] = 0xffff;
        least[j] = static_cast<u16>(_mm_cvtsi128_si32(least_of_64(block(j))));
    }
}

}  // namespace ccoll::detail::sze::avx2

#include <ccoll/base/kernels_end.inl>

#endif
