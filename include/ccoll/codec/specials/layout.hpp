// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/specials/layout.hpp - floor 2. What the bytes of a section of special values mean (codec/specials.hpp draws it), and which values
// are special. Nothing here depends on an instruction set.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI::detail::specials {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

inline constexpr std::size_t block_elements = 32, most_blocks = 256, most_elements = most_blocks * block_elements;

/// So many equal values get a layer of their own, if they are among the first so many different ones that remain.
inline constexpr std::size_t least_equal = 4, most_candidates = 8;

/// Which values of a chunk are special.
struct places {
    u32 masks[most_blocks];
    std::size_t blocks = 0;
    std::size_t values = 0;  ///< special ones
};

constexpr std::size_t blocks_of(std::size_t n) noexcept { return (n + block_elements - 1) / block_elements; }
/// Values of block k.
constexpr std::size_t length_of(std::size_t n, std::size_t k) noexcept
{
    return n - block_elements * k < block_elements ? n - block_elements * k : block_elements;
}
/// The mask of a block all of whose values are special.
constexpr u32 whole(std::size_t n, std::size_t k) noexcept { return 0xffffffffu >> (block_elements - length_of(n, k)); }

/// What counts as special: |x| from `limit` on, as bits, NaN and infinities among them, and up to three markers.
template <element T>
struct rule {
    using word = typename fields_of<T>::word;
    static constexpr std::size_t most_markers = 3;

    word limit;
    word markers[most_markers] = {nothing, nothing, nothing};

    static constexpr word nothing = static_cast<word>(~word{0});  ///< a NaN: special in any case

    bool has_markers() const noexcept { return markers[0] != nothing; }
    u8 holds(word w) const noexcept
    {
        return static_cast<u8>(((w & ~fields_of<T>::sign) >= limit) | (w == markers[0]) | (w == markers[1]) | (w == markers[2]));
    }
};

template <element T>
typename fields_of<T>::word bits_at(const T* x, std::size_t i) noexcept
{
    typename fields_of<T>::word w;
    std::memcpy(&w, x + i, sizeof w);
    return w;
}

/// A bit for each block of a chunk.
class block_bits {
public:
    /// Of blocks k to k + 7, for k that is a multiple of 8.
    void put_8(std::size_t k, u32 bits) noexcept { words_[k / 64] |= u64{bits & 255} << k % 64; }
    /// Blocks from `end` on have none.
    void cut(std::size_t end) noexcept
    {
        for (std::size_t i = end / 64; i < words; ++i) words_[i] &= i > end / 64 || end % 64 == 0 ? 0 : ~u64{0} >> (64 - end % 64);
    }
    void set(std::size_t k) noexcept { words_[k / 64] |= u64{1} << k % 64; }
    bool has(std::size_t k) const noexcept { return (words_[k / 64] >> k % 64 & 1) != 0; }
    std::size_t count() const noexcept
    {
        int all = 0;
        for (const u64 w : words_) all += std::popcount(w);
        return static_cast<std::size_t>(all);
    }
    /// Calls each(k) for all blocks that have the bit, in order.
    template <class Each>
#if defined(__GNUC__)
    __attribute__((always_inline))  // into kernels
#endif
    void
    for_each(Each each) const noexcept
    {
        for (std::size_t i = 0; i < words; ++i)
            for (u64 left = words_[i]; left != 0; left &= left - 1) each(64 * i + static_cast<std::size_t>(std::countr_zero(left)));
    }
    friend block_bits operator&(block_bits a, const block_bits& b) noexcept
    {
        for (std::size_t i = 0; i < words; ++i) a.words_[i] &= b.words_[i];
        return a;
    }
    block_bits or_with(const block_bits& b) const noexcept
    {
        block_bits a = *this;
        for (std::size_t i = 0; i < words; ++i) a.words_[i] |= b.words_[i];
        return a;
    }
    /// Those of a without those of b.
    friend block_bits operator-(block_bits a, const block_bits& b) noexcept
    {
        for (std::size_t i = 0; i < words; ++i) a.words_[i] &= ~b.words_[i];
        return a;
    }

private:
    static constexpr std::size_t words = most_blocks / 64;

    u64 words_[words] = {};
};

/// The most values of a ramp: one less than a block has.
inline constexpr std::size_t most_in_ramp = block_elements - 1;

/// [steps] 1 / steps, rounded. Up to 4096 steps, dividing by it and correcting the quotient by its remainder, fma(fma(-q, steps, n), 1 /
/// steps, q) with q = n (1 / steps), gives n / steps as a division does, in a fifth of the time. (All quotients were compared.)
struct reciprocal_table {
    double of[most_in_ramp + 2] = {};
};
constexpr reciprocal_table make_reciprocals()
{
    reciprocal_table t;
    for (std::size_t s = 1; s < most_in_ramp + 2; ++s) t.of[s] = 1.0 / static_cast<double>(s);
    return t;
}
inline constexpr reciprocal_table reciprocals = make_reciprocals();

/// The blocks of a layer that have special values.
struct named_blocks {
    block_bits partial, throughout;
};

/// Bit of the head of a layer that a codec may give a meaning.
inline constexpr u32 marked_layer = u32{1} << 29;

inline constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 3) / 4 * 4; }

/// How a block is told of in a layer.
enum class form : u8 { none, mask, run, throughout };

/// Where the parts of a layer begin.
struct layer {
    std::size_t of[4] = {};  ///< blocks by form
    bool dense = false;
    std::size_t numbers = 4, runs = 0, masks = 0, values = 0;

    void place(std::size_t blocks) noexcept
    {
        runs = numbers + padded(dense ? (blocks + 3) / 4 : named());
        masks = runs + padded(2 * count(form::run));
        values = masks + 4 * count(form::mask);
    }
    /// The most bytes in front of the values, of a chunk with so many blocks.
    static constexpr std::size_t most_in_front(std::size_t blocks) noexcept
    {
        return 4 + padded((blocks + 3) / 4) + padded(2 * blocks) + 4 * blocks;
    }
    std::size_t count(form f) const noexcept { return of[static_cast<u8>(f)]; }
    std::size_t named() const noexcept { return of[1] + of[2] + of[3]; }
};

}  // namespace ccoll::detail::specials
