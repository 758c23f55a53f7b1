// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// integrity/content_hash.hpp - floor 1. A hash of 128 bits, at the speed of memory: by it ranks find out that
// they hold the same vector without sending it. It is not meant against an attacker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/isa.hpp>
#include <ccoll/base/memory.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>
#endif

namespace ccoll::inline CCOLL_ABI {

namespace detail::content {

// The bytes are taken in tiles of four pages, because a core reads four pages side by side at nearly twice
// the speed of one after another. A page is 128 rows of four 64-bit words. Each page of a tile has
// accumulators of its own, one per word of a row, and each row has keys of its own. With w, a word, and k,
// its key:
//
//   accumulator[i]     += low half of (w ^ k) * high half of (w ^ k)
//   accumulator[i ^ 1] += w
//
// So a change of one word always changes an accumulator. After each tile the accumulators are mixed, one by
// one and reversibly, so that the order of tiles counts.
inline constexpr std::size_t page_bytes = 4096, pages = 4, tile_bytes = pages * page_bytes;
inline constexpr std::size_t row_words = 4, row_bytes = 8 * row_words;

/// The finaliser of SplitMix64: each bit of x changes half of the bits of the result. Reversible.
constexpr std::uint64_t mixed_word(std::uint64_t x) noexcept
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}
/// Number i of SplitMix64, seed 0.
constexpr std::uint64_t random_word(std::uint64_t i) noexcept
{
    return mixed_word((i + 1) * 0x9E3779B97F4A7C15u);
}
struct words_of_row {
    std::uint64_t at[row_words];
};
/// Keys of the first row, what is added to them from row to row, and what accumulators are mixed with.
inline constexpr words_of_row first_keys = {{random_word(0), random_word(1), random_word(2), random_word(3)}};
inline constexpr words_of_row key_steps = {
    {random_word(4) | 1, random_word(5) | 1, random_word(6) | 1, random_word(7) | 1}};
inline constexpr words_of_row mixing_keys = {
    {random_word(8), random_word(9), random_word(10), random_word(11)}};
inline constexpr std::uint32_t mixing_prime = 0x9E3779B1u;

struct accumulators {
    std::uint64_t of[pages][row_words];

    constexpr accumulators() : of{}
    {
        for (std::size_t page = 0; page < pages; ++page)
            for (std::size_t i = 0; i < row_words; ++i) of[page][i] = random_word(12 + row_words * page + i);
    }
};

namespace portable {
inline void take_tiles(accumulators& a, const std::byte* at, std::size_t tiles) noexcept
{
    for (; tiles > 0; --tiles, at += tile_bytes) {
        words_of_row keys = first_keys;
        for (std::size_t row = 0; row < page_bytes; row += row_bytes) {
            for (std::size_t page = 0; page < pages; ++page) {
                std::uint64_t w[row_words];
                std::memcpy(w, at + page * page_bytes + row, row_bytes);
                for (std::size_t i = 0; i < row_words; ++i) {
                    const std::uint64_t keyed = w[i] ^ keys.at[i];
                    a.of[page][i] += (keyed & 0xFFFFFFFFu) * (keyed >> 32) + w[i ^ 1];
                }
            }
            for (std::size_t i = 0; i < row_words; ++i) keys.at[i] += key_steps.at[i];
        }
        for (auto& page : a.of)
            for (std::size_t i = 0; i < row_words; ++i)
                page[i] = (page[i] ^ (page[i] >> 47) ^ mixing_keys.at[i]) * mixing_prime;
    }
}
}  // namespace portable

}  // namespace detail::content
}  // namespace ccoll::inline CCOLL_ABI

#if defined(CCOLL_X86_KERNELS)
#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::content::avx2 {

CCOLL_INLINE __m256i row_at(const void* at) noexcept
{
    return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}
CCOLL_INLINE void take_row(__m256i& a, const std::byte* at, __m256i keys) noexcept
{
    const __m256i w = row_at(at), keyed = _mm256_xor_si256(w, keys);
    const __m256i product = _mm256_mul_epu32(keyed, _mm256_srli_epi64(keyed, 32));
    a = _mm256_add_epi64(a, _mm256_add_epi64(product, _mm256_shuffle_epi32(w, 0x4E)));
}
CCOLL_INLINE void mix(__m256i& a) noexcept
{
    const __m256i prime = _mm256_set1_epi32(static_cast<int>(mixing_prime));
    const __m256i x = _mm256_xor_si256(_mm256_xor_si256(a, _mm256_srli_epi64(a, 47)), row_at(mixing_keys.at));
    const __m256i upper = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), prime);
    a = _mm256_add_epi64(_mm256_mul_epu32(x, prime), _mm256_slli_epi64(upper, 32));
}
CCOLL_TARGET inline void take_tiles(accumulators& all, const std::byte* at, std::size_t tiles) noexcept
{
    static_assert(pages == 4, "ccoll: this kernel has a register for each page");
    __m256i a = row_at(all.of[0]), b = row_at(all.of[1]), c = row_at(all.of[2]), d = row_at(all.of[3]);
    const __m256i steps = row_at(key_steps.at);
    for (; tiles > 0; --tiles, at += tile_bytes) {
        __m256i keys = row_at(first_keys.at);
        for (std::size_t row = 0; row < page_bytes; row += 2 * row_bytes) {
            const std::byte* const from = at + row;
            for (std::size_t page = 0; page < pages; ++page)
                fetch<2>(from + page * page_bytes, 2 * tile_bytes, 64);
            for (std::size_t half = 0; half < 2 * row_bytes; half += row_bytes) {
                take_row(a, from + half, keys);
                take_row(b, from + half + page_bytes, keys);
                take_row(c, from + half + 2 * page_bytes, keys);
                take_row(d, from + half + 3 * page_bytes, keys);
                keys = _mm256_add_epi64(keys, steps);
            }
        }
        mix(a);
        mix(b);
        mix(c);
        mix(d);
    }
    const __m256i results[pages] = {a, b, c, d};
    std::memcpy(all.of, results, sizeof results);
}

}  // namespace ccoll::detail::content::avx2
#include <ccoll/base/kernels_end.inl>
#endif

namespace ccoll::inline CCOLL_ABI {

namespace detail::content {
using kernel = void (*)(accumulators&, const std::byte*, std::size_t) noexcept;
inline constexpr by_isa<kernel> take_tiles{CCOLL_UP_TO_AVX2(take_tiles)};
}  // namespace detail::content

namespace detail {

/// 128 bits that stand for the content of a vector.
struct content_digest {
    std::uint64_t low = 0, high = 0;
    friend constexpr bool operator==(const content_digest&, const content_digest&) = default;
};

/// The hash of bytes that are given one after another, in pieces of any length. The value does not depend on
/// the pieces, nor on the machine.
///
/// Two vectors of which one word of 8 bytes differs have different accumulators. For any others, the chance
/// that they have the same hash is that of 2^-64 or less, as far as is known.
/// Cost: one pass; 10 GB/s and more from memory with AVX2. The last tile, if it is not whole, is copied.
/// Source: the accumulation is that of Collet's XXH3 (xxHash 0.8), with other keys and over four pages.
class content_hash {
public:
    void add(const_byte_span bytes) noexcept
    {
        total_ += bytes.size();
        if (held_ > 0) {
            const std::size_t more = std::min(bytes.size(), content::tile_bytes - held_);
            copy({tile_ + held_, more}, bytes.first(more));
            held_ += more;
            bytes = bytes.subspan(more);
            if (held_ < content::tile_bytes) return;
            content::take_tiles(sums_, tile_, 1);
            held_ = 0;
        }
        const std::size_t whole = bytes.size() / content::tile_bytes;
        if (whole > 0) content::take_tiles(sums_, bytes.data(), whole);
        bytes = bytes.subspan(whole * content::tile_bytes);
        copy({tile_, bytes.size()}, bytes);
        held_ = bytes.size();
    }

    /// The hash of all bytes so far. Nothing may be added afterwards.
    content_digest finish() noexcept
    {
        if (held_ > 0) {
            std::memset(tile_ + held_, 0, content::tile_bytes - held_);
            content::take_tiles(sums_, tile_, 1);
        }
        content_digest d{content::mixed_word(total_), content::mixed_word(~total_)};
        for (const auto& page : sums_.of)
            for (const std::uint64_t sum : page) {
                d.low = content::mixed_word(d.low ^ sum) + 0x9E3779B97F4A7C15u;
                d.high = content::mixed_word(d.high + sum) ^ 0xD6E8FEB86659FD93u;
            }
        return d;
    }

private:
    content::accumulators sums_;
    std::uint64_t total_ = 0;
    std::size_t held_ = 0;
    std::byte tile_[content::tile_bytes];
};

}  // namespace detail
}  // namespace ccoll::inline CCOLL_ABI
