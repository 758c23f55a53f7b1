// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/layout.hpp - floor 2. A chunk of SZp: what its bytes mean, and the reader that checks them. Drawn
// in docs/wire_format.md. Nothing here depends on an instruction set or an element type.
//
//   0  u8 scale | u8 form | u16 row | u16 plane | u16 exceptions | u64 largest, or f64 step
//  16  i64 base                                          flat chunks: that is all
//  16  codes, 16 bytes per group                         half a byte per block: its width, less the lowest
//                                                        one of the group
//  ..  places, 8 bytes per group                         u16 where its planes stand | u8 lowest width | u8 1:
//                                                        lists | i32 base
//  ..  i64 base per group                                wide chunks
//  ..  planes and exceptions, at multiples of 16 bytes, in any order
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/codec/exceptions/layout.hpp>
#include <ccoll/codec/integers.hpp>
#include <ccoll/policy/strides.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

using integers::u8, integers::u16, integers::u32, integers::u64, integers::i32, integers::i64, integers::get,
    integers::put;

inline constexpr std::size_t block_elements = 32, group_elements = 1024, chunk_elements = 8192;
inline constexpr std::size_t group_blocks = group_elements / block_elements,
                             chunk_groups = chunk_elements / group_elements;
inline constexpr std::size_t unit = 16;  ///< bytes; places count in it

/// Kernels may write so many bytes behind the planes of a block, and read so many.
inline constexpr std::size_t slack = 128;

inline constexpr unsigned widest = 32, widest_wide = 64;

constexpr std::size_t blocks_of(std::size_t n) noexcept { return (n + block_elements - 1) / block_elements; }
constexpr std::size_t groups_of(std::size_t n) noexcept { return (n + group_elements - 1) / group_elements; }
constexpr std::size_t in_units(std::size_t bytes) noexcept { return (bytes + unit - 1) / unit * unit; }
/// Values of group i of n.
constexpr std::size_t length_of(std::size_t n, std::size_t i) noexcept
{
    return std::min(group_elements, n - group_elements * i);
}

/// From where values are predicted beside their left neighbour: differences over these distances are taken
/// one after another.
struct distances {
    static constexpr std::size_t least = 16;  ///< as long as the widest registers

    std::size_t row = 0;    ///< 0: there are neither
    std::size_t plane = 0;  ///< 0: rows alone

    /// Those of a chunk of n values of a field.
    static constexpr distances within(std::size_t n, const field_strides& strides) noexcept
    {
        distances all{strides.first_from(least)};
        if (all.none() || all.row >= n) return {};
        all.plane = strides.first_from(all.row + 1);
        return all.reach() < n ? all : distances{all.row};
    }
    constexpr bool none() const noexcept { return row == 0; }
    constexpr std::size_t reach() const noexcept { return row + plane; }
    constexpr bool are_valid(std::size_t n) const noexcept
    {
        return none() ? plane == 0 : row >= least && (plane == 0 || plane >= least) && reach() < n;
    }
    friend constexpr bool operator==(const distances&, const distances&) = default;
};

/// The first 16 bytes of a chunk.
struct chunk_head {
    bool own = false;  ///< scale: the step is in the head, else it follows from the bound
    bool left = true;  ///< is the value before part of the prediction?
    bool wide = false;
    bool flat = false;
    distances above;
    std::size_t exceptions = 0;  ///< bytes from the beginning of the chunk; 0: there are none
    u64 largest = 0;             ///< not below any |q|; own: the bits of the step, an f64

    static constexpr u8 left_bit = 1, wide_bit = 2, flat_bit = 4;

    void write(u8* to) const noexcept
    {
        put(to, static_cast<u8>(own));
        put(to + 1, static_cast<u8>((left ? left_bit : 0) | (wide ? wide_bit : 0) | (flat ? flat_bit : 0)));
        put(to + 2, static_cast<u16>(above.row));
        put(to + 4, static_cast<u16>(above.plane));
        put(to + 6, static_cast<u16>(exceptions / unit));
        put(to + 8, largest);
    }
};
inline constexpr std::size_t head_bytes = 16, flat_bytes = head_bytes + 8;

/// Bytes in front of the planes of a chunk that is not flat.
constexpr std::size_t front_bytes(std::size_t groups, bool wide) noexcept
{
    return in_units(head_bytes + (wide ? 32 : 24) * groups);
}
constexpr std::size_t places_at(std::size_t groups) noexcept { return head_bytes + 16 * groups; }
constexpr std::size_t bases_at(std::size_t groups) noexcept { return head_bytes + 24 * groups; }

/// A chunk of narrow or wide quanta has at most so many bytes, without exceptions.
constexpr std::size_t most_bytes(std::size_t n, bool wide) noexcept
{
    const std::size_t blocks = blocks_of(n), groups = groups_of(n);
    return front_bytes(groups, wide) + 4 * std::size_t{wide ? widest_wide : widest} * blocks + unit * groups;
}

/// Room for any addend of n values, and for what kernels write behind it.
constexpr std::size_t most_addend_bytes(std::size_t n) noexcept
{
    return most_bytes(n, true) + exceptions::most_addend_bytes(n) + slack;
}
/// Room in which every chunk of n values can be made. Chunks may be longer while they are made.
template <element T>
constexpr std::size_t most_room(std::size_t n) noexcept
{
    return std::max(most_bytes(n, true) + exceptions::most_bytes(n, sizeof(T)) + slack, most_addend_bytes(n));
}

CCOLL_EXACT_BEGIN  // for its optimisation

/// Half bytes to widths, 0 behind the last block. @return the planes of all blocks
[[gnu::always_inline]] inline std::size_t read_widths(const u8* codes, unsigned lowest, std::size_t blocks,
                                                      u8* widths) noexcept
{
    u8 w[group_blocks], c[group_blocks / 2];  // apart from all others: vectors
    std::memcpy(c, codes, sizeof c);
    for (std::size_t j = 0; j < sizeof c; ++j) {
        w[2 * j] = static_cast<u8>((c[j] & 15) + lowest);
        w[2 * j + 1] = static_cast<u8>((c[j] >> 4) + lowest);
    }
    std::memcpy(widths, w, sizeof w);
    constexpr u64 half_bytes = ~u64{0} / 17, every_other = ~u64{0} / 257;
    u64 sum = 0;
    for (std::size_t j = 0; j < sizeof c; j += 8)
        sum += (get<u64>(c + j) & half_bytes) + (get<u64>(c + j) >> 4 & half_bytes);
    sum = ((sum & every_other) + (sum >> 8 & every_other)) * (~u64{0} / 65535) >> 48;
    for (std::size_t k = blocks; k < group_blocks; ++k) {
        sum -= w[k] - lowest;
        widths[k] = 0;
    }
    return sum + lowest * blocks;
}
inline unsigned highest_of(const u8* widths) noexcept
{
    u8 highest = 0;
    for (std::size_t k = 0; k < group_blocks; ++k) highest = std::max(highest, widths[k]);
    return highest;
}
/// Bytes of the planes and lists of a group.
inline std::size_t bytes_of_lists(const u8* codes) noexcept
{
    u16 bytes = 0;
    for (std::size_t k = 0; k < group_blocks; ++k)
        bytes = static_cast<u16>(bytes + (codes[k] <= 7 ? codes[k] : 4 * (codes[k] - 7)));
    return bytes;
}
inline void write_widths(const u8* widths, unsigned lowest, u8* codes) noexcept
{
    u8 w[group_blocks], c[group_blocks / 2];  // apart from all others: vectors
    std::memcpy(w, widths, sizeof w);
    for (std::size_t j = 0; j < sizeof c; ++j)
        c[j] = static_cast<u8>((w[2 * j] - lowest) | (w[2 * j + 1] - lowest) << 4);
    std::memcpy(codes, c, sizeof c);
}

CCOLL_EXACT_END

/// The planes of a group.
struct group_view {
    const u8* planes;
    u8* widths;
    i64 base;
    std::size_t blocks, words;  ///< words: of all planes
    /// Where planes are prefetched; 0: they are at the end of the frame, or on the stack. There it walks
    /// through the page tables in vain.
    std::size_t ahead;
    bool flat;   ///< all differences are 0
    bool lists;  ///< `widths` are codes of a group with lists (lists.inl)
};
/// All groups of a chunk.
struct chunk_planes {
    group_view of[chunk_groups];
    alignas(64) u8 widths[group_blocks * chunk_groups];
    /// A copy of the last bytes that can be read, as far as planes stand there behind which too little can be
    /// read.
    alignas(64) u8 last[4 * widest_wide * group_blocks + 2 * slack];
};

/// A chunk whose head has been checked. Groups are checked as they are opened.
struct chunk_view {
    chunk_head head;
    const u8* bytes = nullptr;
    std::size_t size = 0, n = 0, groups = 0;
    std::size_t behind = 0;        ///< bytes behind it that can be read
    std::size_t written_next = 0;  ///< bytes behind its values: they can be prefetched
    i64 base = 0;                  ///< of a flat chunk; else that of group 0
    bool is_addend = false;        ///< then no group may have lists

    double step() const noexcept { return std::bit_cast<double>(head.largest); }
    /// All groups at once, so that nothing stands between their planes.
    /// @return false: one of them does not lie within the chunk
    [[gnu::noinline]] bool open(chunk_planes& to) const noexcept
    {
        const chunk_view me = *this;  // what is written cannot change it
        const unsigned most = me.head.wide ? widest_wide : widest;
        const std::size_t ahead = me.behind < fetch_distance ? 0 : fetch_distance;
        const u8 *codes = me.bytes + head_bytes, *place = me.bytes + places_at(me.groups);
        u8* widths = to.widths;
        const std::size_t readable = me.size + me.behind,
                          last_at = readable - std::min(readable, sizeof to.last - slack);
        for (std::size_t g = 0; g < me.groups; ++g, codes += 16, place += 8, widths += group_blocks) {
            const std::size_t blocks = blocks_of(length_of(me.n, g));
            if (me.head.flat) {
                to.of[g] = {me.bytes, widths, me.base, blocks, 0, ahead, true, false};
                continue;
            }
            const unsigned lowest = place[2], form = place[3];
            const i64 base_of_group =
                me.head.wide ? get<i64>(me.bytes + bases_at(me.groups) + 8 * g) : get<i32>(place + 4);
            const std::size_t words = read_widths(codes, lowest, blocks, widths);
            const bool flat = words == 0, lists = form == 1 && !flat;
            // Without planes the place means nothing, but kernels load planes before they look at the width.
            const std::size_t at = flat ? 0 : unit * get<u16>(place),
                              all = lists ? bytes_of_lists(widths) : 4 * words;
            if (form > u8{!me.is_addend} || lowest > most || (form == 1 && (me.head.wide || lowest != 0)))
                return false;
            if (at > me.size || all > me.size - at || (lowest + 15 > most && highest_of(widths) > most))
                return false;
            to.of[g] = {me.bytes + at, widths, base_of_group, blocks, words, ahead, flat, lists};
            if (at + all + slack <= readable) [[likely]]
                continue;
            to.of[g].planes =
                static_cast<const u8*>(std::memcpy(to.last + (at - last_at), me.bytes + at, all));
            to.of[g].ahead = 0;
        }
        return true;
    }
};

/// Reads the head of a chunk of n values, `behind` which so many bytes can be read. Any bytes are safe.
/// @return corrupt, or ok
inline status read_chunk(const_byte_span src, std::size_t behind, std::size_t n, bool is_addend,
                         chunk_view& v) noexcept
{
    const u8* const from = reinterpret_cast<const u8*>(src.data());
    if (src.size() < head_bytes || from[0] > 1 || from[1] > 7) return status::corrupt;
    chunk_head& h = v.head;
    const auto form = [&](u8 bit) { return (from[1] & bit) != 0; };
    const distances above{get<u16>(from + 2), get<u16>(from + 4)};
    h = {from[0] != 0, form(h.left_bit),          form(h.wide_bit),  form(h.flat_bit),
         above,        unit * get<u16>(from + 6), get<u64>(from + 8)};
    if (!h.above.are_valid(n) || h.exceptions >= src.size() || (is_addend && h.own)) return status::corrupt;
    v.bytes = from;
    v.size = src.size();
    v.behind = behind;
    v.is_addend = is_addend;
    v.n = n;
    v.groups = groups_of(n);
    if (src.size() < (h.flat ? flat_bytes : front_bytes(v.groups, h.wide))) return status::corrupt;
    if (h.flat) v.base = get<i64>(from + head_bytes);
    else v.base = h.wide ? get<i64>(from + bases_at(v.groups)) : get<i32>(from + places_at(v.groups) + 4);
    return status::ok;
}

}  // namespace ccoll::inline CCOLL_ABI::detail::szp
