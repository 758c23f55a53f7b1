// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/changes/layout.hpp - floor 2. The bytes of changes: what to do to a vector that the reader holds, so
// that it becomes another one, bit by bit.
//
// Elements are seen as words: unsigned integers of 1, 2, 4 or 8 bytes, of which an element has one or more.
// The vector is cut into slices of 64 blocks, and these into blocks of 4096 words; the last ones are shorter.
// A stream has for each slice:
//
//   0  u32 bytes    of the blocks that follow; 0: no word of the slice has changed
//   4  blocks       one after another
//
// A block has a head, which says what follows:
//
//   0               no word of it has changed
//   1..64           changes, and the width of a value is the head
//       u16 bytes   of gaps
//       gaps        for each change one byte, the number of unchanged words in front of it. 255 is no change,
//                   but 255 unchanged words
//       values      a value for each change
//   65..128         changes, and the width of a value is the head less 64
//       mask        a bit for each word, the lowest bit first: has it changed?
//       values      a value for each change
//   255             all words, as they are
//
// A value is what is added to the old word, modulo 2^bits of a word, as a number z from 1 on: 1 is -1, 2 is
// 1, 3 is -2, and so on. What is stored is z - 1 in `width` bits, the lowest bit first. All ones say that z
// itself follows, in all bits of a word. Values stand one after another without gaps; the last byte is filled
// up with zeros.
//
// Weights that a step of training has changed have mostly moved by one or two units in the last place, so few
// bits hold the difference of their bits as integers. The width that takes the fewest bits is found for each
// block from the lengths of its values.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>

namespace ccoll::inline CCOLL_ABI::detail::changes {

inline constexpr std::size_t block_words = 4096, blocks_per_slice = 64;
inline constexpr std::size_t slice_words = block_words * blocks_per_slice;
inline constexpr std::size_t slice_head = 4;
inline constexpr unsigned unchanged_head = 0, mask_heads = 64, raw_head = 255;
inline constexpr unsigned skip = 255;  ///< a gap that is no change

template <class Word>
concept word = std::unsigned_integral<Word> && sizeof(Word) <= 8;
template <word Word>
inline constexpr unsigned bits_of = 8 * sizeof(Word);

/// A bit for each word of a block.
struct block_mask {
    std::uint64_t of[block_words / 64];
};

constexpr std::size_t slices_of(std::size_t words) noexcept
{
    return (words + slice_words - 1) / slice_words;
}
/// No slice of so many words is longer than this when it is encoded.
template <word Word>
constexpr std::size_t max_slice_bytes(std::size_t words) noexcept
{
    return slice_head + words * sizeof(Word) + (words + block_words - 1) / block_words;
}

}  // namespace ccoll::detail::changes
