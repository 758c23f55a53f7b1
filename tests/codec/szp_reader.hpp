// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// szp_reader.hpp - quanta and classes of SZp's addends, and quanta of frames for movement on the common grid, read bit by bit as
// codec/szp/layout.hpp draws them: what a frame must contain, without any kernel of the library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include <ccoll/wire/frame.hpp>

namespace szp_reader {

/// Of one value, as in the class planes.
enum value_class : unsigned { finite = 0, plus_infinity = 1, minus_infinity = 2, nan = 3 };

struct contents {
    std::vector<std::int64_t> quanta;  ///< of all elements; of one that is not finite: the quantum that stands in its place
    std::vector<unsigned> classes;
    std::vector<std::uint64_t> largest;  ///< per chunk, as the chunk says
    std::vector<unsigned> kinds;         ///< per chunk: 0 narrow, 1 flat, 3 wide, 4 wide_flat, 6 rows
    std::vector<std::uint32_t> above;    ///< per chunk: the distance of its rows, and 2^16 times that of its planes; 0: it has none
    std::vector<bool> has_lists, alone;  ///< per chunk
    bool fills = false;                  ///< a chunk of an addend has a fill value
    bool honest = true;  ///< no quantum, also of the base and the values that fill up a block, is larger than its chunk says, and the kind
                         ///< can hold that
    bool shortest = true;  ///< no block has a plane that only repeats the sign, or class planes of finite values only
};

namespace detail {

template <class Word>
Word word(ccoll::const_byte_span bytes, std::size_t at)
{
    return ccoll::load<Word>(bytes, at);
}

inline void read_chunk(ccoll::const_byte_span chunk, std::size_t n, bool addend, contents& all)
{
    const auto head = word<std::uint32_t>(chunk, 0);
    const unsigned kind = head & 15, lowest = head >> 5 & 127;
    const bool packed = (head >> 4 & 1) != 0, wide = kind == 3 || kind == 4, has_rows = kind == 6, flat = kind == 1 || kind == 4;
    std::size_t at = wide ? 20 : has_rows ? 16 : 12;
    const std::uint32_t above = has_rows ? word<std::uint32_t>(chunk, 12) : 0;
    const std::size_t of_row = above & 0xffff, of_plane = above >> 16;
    const std::int64_t base = wide ? word<std::int64_t>(chunk, 4) : word<std::int32_t>(chunk, 4);
    const std::uint64_t largest = wide ? word<std::uint64_t>(chunk, 12) : word<std::uint32_t>(chunk, 8);
    const std::uint64_t least_wide = std::uint64_t{1} << (has_rows ? 28 : 30), too_large = std::uint64_t{1} << 62;
    all.kinds.push_back(kind);
    all.above.push_back(above);
    all.largest.push_back(largest);
    all.honest = all.honest && (wide ? largest >= least_wide && largest < too_large : largest < least_wide);

    const std::size_t blocks = (n + 31) / 32, half = (blocks + 1) / 2;
    const bool alone = (head >> 30 & 1) != 0 && !addend, has_lists = head >> 31 != 0;
    all.alone.push_back(alone);
    all.fills = all.fills || (addend && (head >> 30 & 1) != 0);
    all.has_lists.push_back(has_lists);
    std::vector<unsigned> codes(blocks);
    if (!flat) {
        for (std::size_t k = 0; k < blocks; ++k) {
            const auto byte = static_cast<unsigned>(chunk[at + (packed && k >= half ? k - half : k)]);
            codes[k] = packed ? (k < half ? byte & 15 : byte >> 4) + lowest : byte;
        }
        at += ((packed ? half : blocks) + 3) / 4 * 4;
    }
    std::size_t list = at;  // behind the planes of all blocks
    for (const unsigned code : codes) list += code > 7 ? 4 * (code - 7) : 0;
    // Sums of honest quanta do not wrap; those of others may, and are told by the wrap of the sum that is kept in 128 bits.
    __extension__ using exact = __int128;
    all.honest = all.honest && static_cast<exact>(base < 0 ? -exact{base} : exact{base}) <= static_cast<exact>(largest);
    exact sum = has_rows ? 0 : base;
    std::vector<std::int64_t> quanta;  // of the chunk, and those that fill it up
    const auto quantum_above = [&](std::size_t distance) {
        return exact{quanta.size() < distance ? base : quanta[quanta.size() - distance]};
    };
    for (std::size_t k = 0; k < blocks; ++k) {
        std::uint32_t a = 0, b = 0;
        if (codes[k] >= 128) {
            a = word<std::uint32_t>(chunk, at), b = word<std::uint32_t>(chunk, at + 4);
            at += 8;
            all.shortest = all.shortest && (a | b) != 0;
        }
        std::uint8_t listed[32] = {};  // the three bits of each difference
        if (has_lists && codes[k] <= 7) {
            for (int before = -1; codes[k] > 0; --codes[k], ++list) {
                const auto entry = static_cast<unsigned>(chunk[list]);
                const int place = static_cast<int>(entry & 31);
                all.shortest = all.shortest && place > before && entry > 31;
                listed[place] = static_cast<std::uint8_t>(entry >> 5);
                before = place;
            }
        } else if (has_lists) {
            codes[k] -= 7;
        }
        const unsigned width = codes[k] & 127;
        const auto plane = [&](unsigned bit) { return word<std::uint32_t>(chunk, at + 4 * std::size_t{bit}); };
        if (width > 0) all.shortest = all.shortest && plane(width - 1) != (width > 1 ? plane(width - 2) : 0);
        for (unsigned i = 0; i < 32; ++i) {
            std::uint64_t difference = 0;
            for (unsigned bit = 0; bit < width; ++bit) difference |= std::uint64_t{plane(bit) >> i & 1} << bit;
            if (listed[i] != 0) difference = listed[i] < 4 ? listed[i] : listed[i] - std::uint64_t{8};
            if (width > 0 && width < 64 && (difference >> (width - 1) & 1) != 0) difference |= ~std::uint64_t{0} << width;
            sum = (alone ? 0 : sum) + static_cast<std::int64_t>(difference);
            const bool filling = 32 * k + i >= n;  // repeats what the last value has
            exact q = sum;
            if (has_rows) q = filling ? exact{quanta.back()} : sum + quantum_above(of_row);
            if (of_plane > 0 && !filling) q += quantum_above(of_plane) - quantum_above(of_plane + of_row);
            all.shortest = all.shortest && !(has_rows && filling && difference != 0);
            quanta.push_back(static_cast<std::int64_t>(q));
            const exact magnitude = q < 0 ? -q : q;
            all.honest = all.honest && magnitude <= static_cast<exact>(largest);
            if (32 * k + i >= n) continue;
            all.quanta.push_back(static_cast<std::int64_t>(q));
            all.classes.push_back((a >> i & 1) | (b >> i & 1) << 1);
        }
        at += 4 * std::size_t{width};
    }
}

}  // namespace detail

/// @param frame  one that ccoll::decode has accepted; if it is for movement, of narrow and flat chunks without special values
inline contents read(ccoll::const_byte_span frame)
{
    contents all;
    ccoll::frame_view view;
    if (ccoll::read_frame(frame, view) != ccoll::status::ok) return all;
    for (std::uint32_t i = 0; i < view.header.chunks; ++i) {
        const std::size_t from = std::size_t{i} * view.header.chunk_elements, n = static_cast<std::size_t>(view.header.elements);
        detail::read_chunk(view.chunk(i).data, std::min<std::size_t>(view.header.chunk_elements, n - from), view.is_addend(), all);
    }
    return all;
}

}  // namespace szp_reader
