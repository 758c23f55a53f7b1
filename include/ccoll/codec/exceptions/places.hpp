// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/places.hpp - floor 2. Which values of a chunk are exceptional. Nothing here depends on an instruction set.
#pragma once

#include <cstddef>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/codec/integers.hpp>
#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI::detail::exceptions {

using integers::u8, integers::u16, integers::u32, integers::u64, integers::i32, integers::i64;

/// Blocks are 32 values, whatever the blocks of a codec are.
inline constexpr std::size_t block_elements = 32, most_blocks = 256, most_elements = most_blocks * block_elements;

constexpr std::size_t blocks_of(std::size_t n) noexcept { return (n + block_elements - 1) / block_elements; }
/// Values of block k.
constexpr std::size_t length_of(std::size_t n, std::size_t k) noexcept
{
    return n - block_elements * k < block_elements ? n - block_elements * k : block_elements;
}
/// The mask of a block all of whose values are exceptional.
constexpr u32 whole(std::size_t n, std::size_t k) noexcept { return 0xffffffffu >> (block_elements - length_of(n, k)); }
/// Are the bits of a mask other than 0 next to each other?
constexpr bool is_run(u32 mask) noexcept { return (mask & (mask + (mask & (0u - mask)))) == 0; }

/// Which values of a chunk are exceptional.
struct places {
    u32 masks[most_blocks];
    std::size_t blocks = 0;
    std::size_t values = 0;  ///< exceptional ones
};

/// What counts as exceptional: |x| from `limit` on, as bits, NaN and infinities among them, and a missing value.
template <element T>
struct rule {
    using word = typename fields_of<T>::word;

    word limit;
    word missing = static_cast<word>(~word{0});  ///< a NaN, which is exceptional in any case

    bool has_missing() const noexcept { return missing != static_cast<word>(~word{0}); }
    u8 holds(word w) const noexcept { return static_cast<u8>(((w & ~fields_of<T>::sign) >= limit) | (w == missing)); }
};

template <element T>
typename fields_of<T>::word bits_at(const T* x, std::size_t i) noexcept
{
    typename fields_of<T>::word w;
    std::memcpy(&w, x + i, sizeof w);
    return w;
}

}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions
