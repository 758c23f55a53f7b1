// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/lists.hpp - floor 2. Chunks of SZp of which most differences are 0, at loose bounds: a byte for each that is not, instead of
// bit planes for all. What a field of 1 to 2 bits per value needs falls to a half (docs/szp.md).
//
// An encoder makes lists of the planes that a kernel has written, and a decoder planes of the lists before a kernel reads them; only
// AVX-512 with GFNI decodes lists as they are (szp/avx512_lists.inl). It takes about as long as the kernel, hence lists are written only
// where they make a chunk a quarter shorter; and never in addends, because planes are added ten times as fast as lists could be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/codec/szp/kernels.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp::lists {

/// Room for all lists of a chunk, and what is read or written behind them.
struct all_lists {
    u8 of[chunk_blocks * most_listed + 32];
};

/// Lists take as long as the kernels, so they have to save that many bytes of codes and planes.
inline std::size_t least_saving(const u8* front, const u8* end) noexcept { return static_cast<std::size_t>(end - front) / 4; }

/// Most chunks that gain nothing are known at a glance: they have more than 4 bits per value, or most planes in wide blocks.
/// @param listable  bytes of planes in blocks that can be lists, which hardly ever become shorter than a half
inline bool may_pay(std::size_t listable, const u8* front, const u8* end, std::size_t blocks) noexcept
{
    constexpr std::size_t most_bits = 4;
    return static_cast<std::size_t>(end - front) <= width_bytes(blocks, true) + 4 * most_bits * blocks &&
           listable >= 2 * least_saving(front, end);
}

/// About how many bytes lists would save, from eight blocks in a row in each quarter of the chunk.
inline std::size_t savings(const u8* widths, std::size_t blocks, const u8* in) noexcept
{
    constexpr std::size_t run = 8;
    std::size_t bytes = 0, seen = 0;
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
        const std::size_t begin = blocks * quarter / 4, end = blocks * (quarter + 1) / 4;
        const u8* at = in;
        for (std::size_t k = begin; k < std::min(begin + run, end); at += 4 * std::size_t{widths[k++]}, ++seen) {
            const unsigned width = widths[k];
            if (width == 0 || width > widest_listed) continue;
            const unsigned code = code_of(width, portable::ones_of(few_planes(at, width).any()));
            if (code <= most_listed) bytes += 4 * width - code;
        }
        in += 4 * sum_of(widths + begin, end - begin);
    }
    return bytes * blocks / seen;
}

/// Makes lists of planes, in place.
/// @param widths  none above widest_beside
/// @param front   where the codes go, width_bytes(blocks, true) bytes; behind them stand the planes, and `slack`
/// @param end     of the planes
/// @return        the new end; null and nothing written if lists would not save least_saving().
inline u8* write(const u8* widths, std::size_t blocks, u8* front, const u8* end) noexcept
{
    u8* const begin = front + width_bytes(blocks, true);
    const std::size_t least = least_saving(front, end);
    constexpr std::ptrdiff_t few = 512;  // bytes: there is little to look at, and too little in any part of it to judge by
    if (end - begin > few && savings(widths, blocks, begin) < least * 7 / 8) return nullptr;
    block_codes codes;
    all_lists lists;
    u8 planes[most_bytes];
    const list_ends ends = list_writers.in_use()(widths, blocks, begin, codes.of, lists.of, planes);
    const auto listed = static_cast<std::size_t>(ends.lists - lists.of), kept = static_cast<std::size_t>(ends.planes - planes);
    if (kept + padded(listed) + least > static_cast<std::size_t>(end - begin)) return nullptr;

    std::memcpy(begin, planes, kept);
    std::memset(ends.lists, 0, padded(listed) - listed);
    std::memcpy(begin + kept, lists.of, padded(listed));
    pack_codes(codes.of, blocks, 0, front);
    return begin + kept + padded(listed);
}

/// Checks a chunk with lists.
/// @param front  codes, then planes, then lists, up to `end`; the codes are there
/// @param view   knows how many blocks there are
/// @return       false if the codes do not give the bytes up to `end`
inline bool open(const u8* front, const u8* end, chunk_view& view) noexcept
{
    unpack_codes(front, view.count, 0, view.codes.of);
    view.blocks = front + width_bytes(view.count, true);
    std::size_t words = 0, entries = 0;
    for (std::size_t k = 0; k < view.count; ++k) {
        const unsigned code = view.codes.of[k];
        words += code <= most_listed ? 0 : code - planes_code;
        entries += code <= most_listed ? code : 0;
    }
    view.lists = view.blocks + 4 * words;
    view.blocks_bytes = static_cast<std::size_t>(end - view.blocks);
    return view.blocks_bytes == 4 * words + padded(entries);
}

/// Makes planes of the lists of such a chunk. Total: any lists are some differences.
inline void expand(chunk_view& view) noexcept
{
    const block_codes codes = view.codes;
    const auto bytes = static_cast<std::size_t>(view.blocks + view.blocks_bytes - view.lists);
    all_lists lists;
    std::memcpy(lists.of, view.lists, bytes);
    std::memset(lists.of + bytes, 0, 8);
    const u8* const end = list_readers.in_use()(codes.of, view.count, view.blocks, lists.of, view.planes_of_lists, view.codes.of);
    view.blocks = view.planes_of_lists;
    view.blocks_bytes = static_cast<std::size_t>(end - view.blocks);
    view.lists = nullptr;
}

}  // namespace ccoll::detail::szp::lists
