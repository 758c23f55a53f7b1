// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/words.hpp - floor 2. What all parts of SZp count in: words, blocks, codes of blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr std::size_t block_elements = 32;  ///< a plane is one word, and one ballot of a GPU's warp
inline constexpr std::size_t chunk_elements = 8192;
inline constexpr std::size_t chunk_blocks = chunk_elements / block_elements;

/// Kernels may write so many bytes behind the planes of a block: one register of the widest instruction set.
inline constexpr std::size_t slack = 64;

template <class Word>
inline Word get(const u8* from) noexcept
{
    Word w;
    std::memcpy(&w, from, sizeof w);
    return w;
}
template <class Word>
inline void put(u8* to, Word w) noexcept
{
    std::memcpy(to, &w, sizeof w);
}

constexpr std::size_t blocks_of(std::size_t n) noexcept { return (n + block_elements - 1) / block_elements; }
constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 3) / 4 * 4; }

/// Bytes of the codes of a chunk's blocks.
constexpr std::size_t width_bytes(std::size_t blocks, bool packed) noexcept { return padded(packed ? (blocks + 1) / 2 : blocks); }

/// The codes of a chunk's blocks, one byte each. Behind them is room for a register.
struct block_codes {
    alignas(64) u8 of[chunk_blocks + slack];
};

CCOLL_EXACT_BEGIN  // for its optimisation: these loops of bytes run before and after every chunk

/// Packed: byte i has block i in its low half and block i + ceil(blocks / 2) in its high half, less the lowest code.
/// @param to  width_bytes(blocks, true) bytes
inline void pack_codes(const u8* codes, std::size_t blocks, u8 lowest, u8* to) noexcept
{
    const std::size_t half = (blocks + 1) / 2;
    put(to + width_bytes(blocks, true) - 4, u32{0});
    for (std::size_t k = 0; k < blocks / 2; ++k) to[k] = static_cast<u8>((codes[k] - lowest) | (codes[half + k] - lowest) << 4);
    if (blocks % 2 != 0) to[half - 1] = static_cast<u8>(codes[half - 1] - lowest);
}
inline void unpack_codes(const u8* from, std::size_t blocks, u8 lowest, u8* codes) noexcept
{
    const std::size_t half = (blocks + 1) / 2;
    for (std::size_t k = 0; k < half; ++k) codes[k] = static_cast<u8>((from[k] & 15) + lowest);
    for (std::size_t k = half; k < blocks; ++k) codes[k] = static_cast<u8>((from[k - half] >> 4) + lowest);
}

// Of up to a chunk's codes. Not inlined: a compiler spends a tenth of a second on each copy.

[[gnu::noinline]] inline std::size_t sum_of(const u8* codes, std::size_t blocks) noexcept
{
    std::uint16_t sum = 0;
    for (std::size_t k = 0; k < blocks; ++k) sum = static_cast<std::uint16_t>(sum + codes[k]);
    return sum;
}
/// Of those that are no larger than `most`.
[[gnu::noinline]] inline std::size_t sum_up_to(u8 most, const u8* codes, std::size_t blocks) noexcept
{
    std::uint16_t sum = 0;
    for (std::size_t k = 0; k < blocks; ++k) sum = static_cast<std::uint16_t>(sum + (codes[k] <= most ? codes[k] : 0));
    return sum;
}
struct code_range {
    u8 lowest, highest;
};
[[gnu::noinline]] inline code_range range_of(const u8* codes, std::size_t blocks) noexcept
{
    u8 lowest = 255, highest = 0;  // in a struct they would stay out of registers
    for (std::size_t k = 0; k < blocks; ++k) {
        lowest = std::min(lowest, codes[k]);
        highest = std::max(highest, codes[k]);
    }
    return {lowest, highest};
}

CCOLL_EXACT_END

}  // namespace ccoll::detail::szp
