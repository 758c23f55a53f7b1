// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp_layout.hpp - floor 2. A chunk of SZp: what its bytes mean, checked once for all readers. Nothing here depends on an
// instruction set or an element type. Little-endian; every part is a multiple of 4 bytes.
//
//   0  u32 head       kind (4 bits) | widths packed (1) | lowest width (7) | escaped blocks (20)
//   kind narrow     4 i32 base   8 u32 largest    12 widths, blocks
//   kind flat       4 i32 base   8 u32 largest       all differences are 0
//   kind fine       4 base       .. step           .. widths, blocks      base and step as long as an element
//   kind wide       4 i64 base  12 u64 largest    20 widths, blocks
//   kind wide_flat  4 i64 base  12 u64 largest
//
//   block   planes: word k, bit i = bit k of the difference of value i; `width` words, two's complement. Width 0: nothing.
//           raw:    32 elements as they are                                         code 127, frames for movement only
//           class:  word A, word B, then the planes; value i is finite (A,B = 0,0),  code 128 + width, addends only
//                   +Inf (1,0), -Inf (0,1) or NaN (1,1)
//   widths  one code per block. Packed: byte i holds block i in its low half and block i + ceil(blocks / 2) in its high half,
//           less the lowest width. Else a byte each. Padded with 0 to a multiple of 4.
//
// Difference i is q[i] - q[i-1]; before the first value of a chunk stands the base. A raw block leaves the running q alone, a
// value that is not finite repeats it. The last block is filled up with its last value.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>

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

enum class kind : u32 { narrow, flat, fine, wide, wide_flat };
inline constexpr unsigned raw_code = 127, class_code = 128, widest_narrow = 32, widest = 64;

/// Bytes: 64 planes and two class planes. Raw blocks of f64 have 256.
inline constexpr std::size_t longest_block = 4 * widest + 8;

/// |q| <= largest < narrow_limit: differences have at most 32 bits and do not wrap, so that planes widen by repeating the sign.
inline constexpr u64 narrow_limit = u64{1} << 30, wide_limit = u64{1} << 62;

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

/// Bytes in front of the blocks.
constexpr std::size_t head_bytes(kind k, std::size_t element_bytes) noexcept
{
    return k == kind::wide || k == kind::wide_flat ? 20 : k == kind::fine ? 4 + 2 * element_bytes : 12;
}
constexpr std::size_t width_bytes(std::size_t blocks, bool packed) noexcept { return padded(packed ? (blocks + 1) / 2 : blocks); }

/// The codes of a chunk's blocks, one byte each. Behind them is room for a register.
struct block_codes {
    alignas(64) u8 of[chunk_blocks + slack];
};

CCOLL_EXACT_BEGIN  // for its optimisation: these loops of bytes run before and after every chunk

/// Writes the codes in front of the blocks, in the shorter of the two forms, and says in `head` which. `to` is where they begin, and the
/// blocks stand behind the shorter form: for the longer one they move. @return the end of the chunk.
inline u8* write_codes(const u8* codes, std::size_t blocks, u8* to, u8* end, u32& head) noexcept
{
    u8 lowest = 255, highest = 0;
    for (std::size_t k = 0; k < blocks; ++k) {
        lowest = std::min(lowest, codes[k]);
        highest = std::max(highest, codes[k]);
    }
    const bool packed = highest - lowest <= 15 && highest <= widest;
    const std::size_t bytes = width_bytes(blocks, packed), expected = width_bytes(blocks, true), half = (blocks + 1) / 2;
    if (!packed) {
        std::memmove(to + bytes, to + expected, static_cast<std::size_t>(end - to) - expected);
        end += bytes - expected;
    }
    put(to + bytes - 4, u32{0});
    if (packed) {
        for (std::size_t k = 0; k < blocks / 2; ++k) to[k] = static_cast<u8>((codes[k] - lowest) | (codes[half + k] - lowest) << 4);
        if (blocks % 2 != 0) to[half - 1] = static_cast<u8>(codes[half - 1] - lowest);
    } else {
        std::memcpy(to, codes, blocks);
    }
    head |= u32{packed} << 4 | (packed ? u32{lowest} : 0) << 5;
    return end;
}

/// The reverse. @param from  width_bytes(blocks, packed) bytes
inline void read_codes(const u8* from, std::size_t blocks, bool packed, u8 lowest, u8* codes) noexcept
{
    if (!packed) {
        std::memcpy(codes, from, blocks);
        return;
    }
    const std::size_t half = (blocks + 1) / 2;
    for (std::size_t k = 0; k < half; ++k) codes[k] = static_cast<u8>((from[k] & 15) + lowest);
    for (std::size_t k = half; k < blocks; ++k) codes[k] = static_cast<u8>((from[k - half] >> 4) + lowest);
}

/// A chunk whose bytes have been checked: the codes are valid for its kind and account for every byte.
struct chunk_view {
    kind what = kind::flat;
    i64 base = 0;
    u64 largest = 0;
    const u8* step = nullptr;  ///< of a fine chunk; not looked at yet
    const u8* blocks = nullptr;
    std::size_t blocks_bytes = 0;
    std::size_t count = 0;  ///< of blocks
    u32 escaped = 0;
    block_codes codes;
};

/// Checks a chunk of n values. Total: any bytes give a status.
/// @param addend  of a frame that can be added: no raw block and no fine chunk; otherwise no class block.
inline status read_chunk(const_byte_span src, std::size_t n, std::size_t element_bytes, bool addend, chunk_view& view) noexcept
{
    const u8* const from = reinterpret_cast<const u8*>(src.data());
    if (src.size() < 12 || src.size() % 4 != 0) return status::corrupt;
    const u32 head = get<u32>(from);
    view.what = static_cast<kind>(head & 15);
    const bool packed = (head >> 4 & 1) != 0;
    const u8 lowest = head >> 5 & 127;
    view.escaped = head >> 12;
    const bool is_wide = view.what == kind::wide || view.what == kind::wide_flat;
    if (view.what > kind::wide_flat || (addend ? view.what == kind::fine : is_wide) || (!packed && lowest != 0) || lowest > widest) return status::corrupt;
    const std::size_t in_front = head_bytes(view.what, element_bytes);
    if (src.size() < in_front) return status::corrupt;
    const bool long_base = is_wide || (view.what == kind::fine && element_bytes == 8);
    view.base = long_base ? get<i64>(from + 4) : get<i32>(from + 4);
    view.largest = view.what == kind::fine ? 0 : long_base ? get<u64>(from + 12) : get<u32>(from + 8);
    view.step = from + 4 + element_bytes;
    view.count = blocks_of(n);
    if (view.what == kind::flat || view.what == kind::wide_flat)
        return src.size() == in_front && view.escaped == 0 && head >> 4 == 0 ? status::ok : status::corrupt;

    const std::size_t of_widths = width_bytes(view.count, packed);
    if (src.size() < in_front + of_widths) return status::corrupt;
    view.blocks = from + in_front + of_widths;
    read_codes(from + in_front, view.count, packed, lowest, view.codes.of);
    const unsigned most = view.what == kind::narrow || (view.what == kind::fine && element_bytes == 4) ? widest_narrow : widest;
    u8 highest = 0;
    std::uint16_t sum = 0;
    for (std::size_t k = 0; k < view.count; ++k) {
        sum = static_cast<std::uint16_t>(sum + view.codes.of[k]);
        highest = std::max(highest, view.codes.of[k]);
    }
    u32 words = sum, escaped = 0;
    if (highest > most) {
        words = 0;
        for (std::size_t k = 0; k < view.count; ++k) {
            const unsigned code = view.codes.of[k];
            if (code <= most) words += code;
            else if (!addend && code == raw_code) words += static_cast<u32>(block_elements * element_bytes / 4), ++escaped;
            else if (addend && code >= class_code && code - class_code <= most) words += code - class_code + 2, ++escaped;
            else return status::corrupt;
        }
    }
    view.blocks_bytes = 4 * std::size_t{words};
    if (escaped != view.escaped || in_front + of_widths + view.blocks_bytes != src.size()) return status::corrupt;
    return status::ok;
}

/// Bit-sliced ripple-carry addition of two blocks of two's-complement planes: 32 lanes at once in one word, no transposition and
/// no intrinsics, the same on a GPU's thread. Planes that repeat the sign are dropped. `o` has room for max(wa, wb) + 1 words
/// and may not be an operand. @return the width of the sum. Not inlined: the loops that call it for wide blocks only would be a tenth slower.
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
