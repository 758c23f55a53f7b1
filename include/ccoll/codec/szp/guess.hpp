// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/guess.hpp - floor 2. Chunks of f32 with a marker such as -9999, which the common grid does not hold. By the rules, an encoder
// first encodes the values as they are, on a grid of the chunk's own, and then compares that with the chunk without the marker. Here an
// encoder that has guessed the marker makes sure, without the first encoding, what the comparison would say.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include <ccoll/codec/specials/layout.hpp>
#include <ccoll/codec/szp/blocks.hpp>
#include <ccoll/codec/szp/layout.hpp>
#include <ccoll/codec/szp/lists.hpp>
#include <ccoll/codec/szp/portable.hpp>
#include <ccoll/codec/szp/quantiser.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp::guess {

inline constexpr std::size_t not_certain = ~std::size_t{0};

CCOLL_EXACT_BEGIN

/// The codes of a narrow chunk that stands alone. @return false if it has others
inline bool read_codes(const u8* chunk, std::size_t blocks, block_codes& codes) noexcept
{
    const chunk_head head(get<u32>(chunk));
    if (head.what != kind::narrow || head.alone || head.lists) return false;
    const u8* const from = chunk + head_bytes(kind::narrow, sizeof(float));
    if (head.packed) unpack_codes(from, blocks, head.lowest, codes.of);
    else std::memcpy(codes.of, from, blocks);
    return true;
}

/// What the chunk would be with its markers. Where a marker stands beside another value, the width of a block is that of the difference
/// between them. Blocks that only have other values have nearly the same widths as on the common grid: let r be the quotient of the two
/// steps, 0.99 to 2. A difference d on the common grid is one of r d on the other, up to (1 + r) for the rounding of four quanta, so that a
/// width w is one of w + 3 at most, and of w - 1 at least (4: 2; 3 and below: 0).
/// @param markers    where they are; all other values are on the common grid
/// @param marker     its bits; |marker| is not on the common grid
/// @param without    the chunk without the markers, as it was encoded    @param bytes  of it, with its section
/// @param steepness  how far the widest code of a chunk with a steep block is above the lowest one
/// @return  the first of the widest blocks, if it would be steep, and the chunk longer than `bytes` and shorter than its values;
///          not_certain if that cannot be told
[[gnu::noinline]] inline std::size_t steepest_block(const float* x, std::size_t n, const quantiser<float>& z,
                                                    const specials::places& markers, u32 marker, const u8* without, std::size_t bytes,
                                                    unsigned steepness) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<float>;
    const fine_grid<float> own = fine_grid_for<float>(marker & ~fields::sign, z);
    if (!(own.step <= z.step * 1.01f && own.step >= z.step * 0.5f)) return not_certain;
    if (find_lattice(x, n, power_step(z)).step > own.step) return not_certain;
    const std::size_t blocks = blocks_of(n);
    block_codes codes;
    if (!read_codes(without, blocks, codes)) return not_certain;

    const double inverse = 1 / static_cast<double>(own.step);
    const auto quantum = [=](float value) {  // as the portable kernel has it
        CCOLL_EXACT_BODY
        const double sum = static_cast<double>(value) * inverse + portable::rounder<double>;
        return static_cast<u32>(std::bit_cast<u64>(sum)) - static_cast<u32>(std::bit_cast<u64>(portable::rounder<double>));
    };
    const u32 of_marker = quantum(std::bit_cast<float>(marker));
    constexpr unsigned more = 3;
    unsigned lowest = widest, highest = 0, highest_of_others = 0;
    std::size_t least_words = 0, most_words = 0, steep = 0;
    u32 before = markers.masks[0] & 1;
    for (std::size_t k = 0; k < blocks; ++k) {
        const u32 mask = markers.masks[k];
        const unsigned code = codes.of[k];
        u32 jumps = (mask ^ (mask << 1 | before)) & specials::whole(n, k);
        before = mask >> 31;
        unsigned least = 0, most = 0;
        if (jumps != 0) {
            u32 folded = 0;
            for (; jumps != 0; jumps &= jumps - 1) {
                const auto i = static_cast<unsigned>(std::countr_zero(jumps));
                const std::size_t at = block_elements * k + i;
                const bool to_marker = (mask >> i & 1) != 0;
                const u32 other = quantum(x[to_marker ? at - 1 : at]);
                const i32 d = static_cast<i32>(to_marker ? of_marker - other : other - of_marker);
                folded |= static_cast<u32>(d ^ (d >> 31));
            }
            least = most = 33u - static_cast<unsigned>(std::countl_zero(folded));
            if (least <= code + more) return not_certain;
            if (least > highest) {
                highest = least;
                steep = k;
            }
        } else if (mask == 0) {
            least = code > 4 ? code - 1 : code == 4 ? 2 : 0;
            most = code + more;
            highest_of_others = std::max(highest_of_others, most);
        }
        lowest = std::min(lowest, most);
        least_words += least;
        most_words += most;
    }
    if (highest <= highest_of_others || highest <= lists::widest_beside || highest < lowest + steepness) return not_certain;
    const std::size_t in_front = head_bytes(kind::fine, sizeof(float));
    const std::size_t least_bytes = in_front + width_bytes(blocks, true) + 4 * least_words;
    const std::size_t most_bytes = in_front + width_bytes(blocks, false) + 4 * most_words;
    return least_bytes > bytes && most_bytes < n * sizeof(float) ? steep : not_certain;
}

CCOLL_EXACT_END

}  // namespace ccoll::detail::szp::guess
