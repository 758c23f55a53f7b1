// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/layout.hpp - floor 2. A chunk of SZp: what its bytes mean. Nothing here depends on an instruction set or an element type.
// Little-endian; every part is a multiple of 4 bytes.
//
//   0  u32 head       kind (4 bits) | widths packed (1) | lowest width (7) | escaped (18) | alone (1) | lists (1)
//                     escaped: addends: blocks with classes; movement: words of the section of special values
//   kind narrow     4 i32 base   8 u32 largest    12 widths, blocks
//   kind flat       4 i32 base   8 u32 largest       all differences are 0
//   kind fine       4 base       .. step           .. widths, blocks      base and step as long as an element
//   kind wide       4 i64 base  12 u64 largest    20 widths, blocks
//   kind wide_flat  4 i64 base  12 u64 largest
//   kind rows       4 i32 base   8 u32 largest   12 u32 distances   16 widths, blocks
//   kind fine_rows  4 i32 base   8 u32 largest   12 u32 distances   16 f32 step   20 widths, blocks   movement only, f32 only
//   (kind 5)        kept: the chunk of Codec::Lossless, filled up with 0 to a multiple of 4 bytes (szp/kept.hpp)
//
//   block   planes: word k, bit i = bit k of the difference of value i; `width` words, two's complement. Width 0: nothing.
//           class:  word A, word B, then the planes; value i is finite (A,B = 0,0),  code 128 + width, addends only
//                   +Inf (1,0), -Inf (0,1) or NaN (1,1)
//   widths  one code per block. Packed: byte i holds block i in its low half and block i + ceil(blocks / 2) in its high half,
//           less the lowest width. Else a byte each. Padded with 0 to a multiple of 4.
//
// Difference i is q[i] - q[i-1]; before the first value of a chunk stands the base. A value that is not finite repeats the running q. The
// last block is filled up with its last value.
//
// Rows (szp/rows.hpp): the distances are those of the row before (16 bits) and of the plane before (16 bits, 0: it does not take part). The
// blocks have the differences of r. r[i] is s[i] - s[i - row], where s[i] is q[i] - q[i - plane], or q[i]. The base takes the place of all
// quanta before the first one, so that r[-1] is 0.
//
// Addends: bit `alone` says that a section with fill values stands behind the blocks (szp/missing.hpp).
//
// Three forms that only frames for movement have:
// Special values: behind the blocks stands a section (codec/specials.hpp) with the values that quanta cannot hold.
// Alone: difference i is q[i]. Narrow chunks; the base is 0.
// Lists (szp/lists.hpp), where most differences are 0: the codes are packed, the lowest is 0, and
//   code 0..7       a list of so many bytes: the place of a difference that is not 0 (5 bits) | its planes 0, 1, 2
//   code 8..15      code - 7 planes
// First stand the planes of all blocks, then all lists, padded with 0.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/codec/szp/words.hpp>
#include <ccoll/policy/strides.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

namespace lists {

/// Blocks of up to 3 planes can be lists, of up to 7 differences; those of up to 8 planes can stand beside them.
inline constexpr unsigned most_listed = 7, widest_listed = 3, widest_beside = 8;
inline constexpr unsigned planes_code = most_listed;  ///< code planes_code + w: w planes

/// Room for the planes of any chunk with lists.
inline constexpr std::size_t most_bytes = chunk_blocks * 4 * widest_beside + slack;

}  // namespace lists

enum class kind : u32 { narrow, flat, fine, wide, wide_flat, rows = 6, fine_rows = 7 };
inline constexpr unsigned class_code = 128, widest_narrow = 32, widest = 64;

/// Bytes: 64 planes and two class planes.
inline constexpr std::size_t longest_block = 4 * widest + 8;

/// |q| <= largest < narrow_limit: differences have at most 32 bits and do not wrap, so that planes widen by repeating the sign.
inline constexpr u64 narrow_limit = u64{1} << 30, wide_limit = u64{1} << 62;

namespace rows {

/// Rows are as long as what a decoder writes at once, and planes as long as a block.
inline constexpr std::size_t least = 16, least_plane = block_elements;

/// How far away the value of the row before is, and that of the plane before.
struct distances {
    std::size_t row = 0;    ///< 0: there are neither rows nor planes
    std::size_t plane = 0;  ///< 0: only rows

    /// Those of a chunk of n values of a field.
    static constexpr distances within(std::size_t n, const field_strides& strides) noexcept
    {
        distances all{strides.first_from(least)};
        if (all.none() || all.row >= n) return {};
        all.plane = strides.first_from(std::max(all.row + 1, least_plane));
        return all.reach() < n ? all : distances{all.row};
    }
    /// As a chunk says them. The larger one of two words has a plane if one of them has.
    static constexpr distances of_word(u32 word) noexcept { return {word & 0xffff, word >> 16}; }
    constexpr u32 word() const noexcept { return static_cast<u32>(row | plane << 16); }

    constexpr bool none() const noexcept { return row == 0; }
    /// How many values the first one of a chunk stands for.
    constexpr std::size_t reach() const noexcept { return row + plane; }
    constexpr bool are_valid(std::size_t n) const noexcept
    {
        return row >= least && (plane == 0 || (plane > row && plane >= least_plane)) && reach() < n;
    }

    friend constexpr bool operator==(const distances&, const distances&) = default;
};

constexpr bool has_rows(kind k) noexcept { return k == kind::rows || k == kind::fine_rows; }

/// Quanta of addends with rows lie below, because differences have up to eight terms and must fit 32 bits.
inline constexpr u64 addend_limit = u64{1} << 28;
/// The same in movement, where they are also exact in an element, as are the sums of four of them.
constexpr u64 limit(kind k, std::size_t element_bytes, bool addend) noexcept
{
    if (addend) return addend_limit;
    return u64{1} << (k == kind::fine_rows ? 22 : element_bytes == 4 ? 15 : 28);
}

}  // namespace rows

/// Bytes in front of the blocks.
constexpr std::size_t head_bytes(kind k, std::size_t element_bytes) noexcept
{
    if (rows::has_rows(k)) return k == kind::rows ? 16 : 20;
    return k == kind::wide || k == kind::wide_flat ? 20 : k == kind::fine ? 4 + 2 * element_bytes : 12;
}

/// The first word of a chunk.
struct chunk_head {
    kind what = kind::flat;
    bool packed = false;
    u8 lowest = 0;       ///< width, if packed
    u32 escaped = 0;     ///< addends: blocks with classes; movement: words of the section of special values
    bool alone = false;  ///< addends: there is a section of fill values
    bool lists = false;

    explicit chunk_head(u32 word) noexcept
        : what(static_cast<kind>(word & 15)), packed((word >> 4 & 1) != 0), lowest(word >> 5 & 127), escaped(word >> 12 & 0x3ffff),
          alone((word >> 30 & 1) != 0), lists(word >> 31 != 0)
    {}
    chunk_head(kind k, u32 escaped_ones) noexcept : what(k), escaped(escaped_ones) {}
    u32 word() const noexcept
    {
        return static_cast<u32>(what) | u32{packed} << 4 | u32{lowest} << 5 | escaped << 12 | u32{alone} << 30 | u32{lists} << 31;
    }
};

/// Are the codes of a chunk packed?
constexpr bool packs(unsigned lowest, unsigned highest) noexcept { return highest - lowest <= 15 && highest <= widest; }

/// A chunk whose bytes have been checked: the codes are valid for its kind and account for every byte.
struct chunk_view {
    kind what = kind::flat;
    i64 base = 0;
    u64 largest = 0;
    const u8* step = nullptr;  ///< of a chunk with a step of its own; not looked at yet
    rows::distances above;     ///< of a chunk with rows
    const u8* blocks = nullptr;
    std::size_t blocks_bytes = 0;
    std::size_t count = 0;      ///< of blocks
    u32 escaped = 0;            ///< blocks with classes
    const_byte_span specials;   ///< the section of special values; not looked at yet
    bool alone = false;         ///< the differences are the quanta
    const u8* lists = nullptr;  ///< behind the planes, if there are lists: then `codes` are not widths, until lists::expand() has been
                                ///< called
    block_codes codes;
    alignas(64) u8 planes_of_lists[lists::most_bytes];  ///< `blocks`, if the chunk has lists

    chunk_view() noexcept = default;
    chunk_view(const chunk_view&) = delete;
    chunk_view& operator=(const chunk_view&) = delete;
};

CCOLL_EXACT_BEGIN  // for its optimisation

/// Bit-sliced ripple-carry addition of two blocks of two's-complement planes: 32 lanes at once in one word, no transposition and
/// no intrinsics, the same on a GPU's thread. Planes that repeat the sign are dropped. `o` has room for max(wa, wb) + 1 words
/// and may not be an operand. @return the width of the sum. Not inlined: the loops that call it for wide blocks only would be a tenth
/// slower.
[[gnu::noinline]] inline unsigned add_planes(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* o) noexcept
{
    const auto plane = [](const u8* p, unsigned k) { return get<u32>(p + 4 * k); };
    if (wa < wb) {
        const u8* const p = a;
        a = b, b = p;
        const unsigned w = wa;
        wa = wb, wb = w;
    }
    if (wb == 0) {
        std::memcpy(o, a, 4 * wa);
        return wa;
    }
    u32 carry = 0, before = 0, sum = 0;
    unsigned width = 0;  // behind the last plane that differs from the one below it
    const auto add = [&](unsigned k, u32 x, u32 y) {
        const u32 t = x ^ y;
        before = sum;
        sum = t ^ carry;
        carry = (x & y) | (carry & t);
        put(o + 4 * k, sum);
        if (k > 0 && sum != before) width = k;
    };
    for (unsigned k = 0; k < wb; ++k) add(k, plane(a, k), plane(b, k));
    const u32 sign_a = plane(a, wa - 1), sign_b = plane(b, wb - 1);
    for (unsigned k = wb; k < wa; ++k) add(k, plane(a, k), sign_b);
    if (wa < widest) add(wa, sign_a, sign_b);
    return width > 0 ? width + 1 : sum != 0;
}

CCOLL_EXACT_END

}  // namespace ccoll::detail::szp
