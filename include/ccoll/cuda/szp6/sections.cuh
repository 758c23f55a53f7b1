// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp6/sections.cuh - floor 4. Sections of exceptional values, read and written by a whole thread block. A thread has the places of a
// block of 32 values. Any bytes are safe to read.
#pragma once

#include <ccoll/cuda/szp6/quanta.cuh>
#include <ccoll/cuda/szp6/wide.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp6 {

inline constexpr u32 chunk_blocks = 256, most_entries = 256;
inline constexpr u32 section_own = 1, section_counts = 2, section_follows = 4;  // bits of its form
inline constexpr u32 kind_none = 0, kind_all = 1, kind_run = 2, kind_mask = 3;

CCOLL_DEVICE u32 up_to_multiple(u32 v, u32 of) { return (v + of - 1) / of * of; }
/// The mask of all values of a block.
CCOLL_DEVICE u32 whole_block(u32 count, u32 block) { return ones_below(smaller(count - 32 * block, 32u)); }

/// The sections of a chunk: [0] without counts, [1] with counts.
struct sections_in {
    u32 masks[2][chunk_blocks];
    u16 before[2][chunk_blocks];  ///< places in front of a block, of both sections that come before
    u8 entry[chunk_elements];     ///< of each place, in their order; nothing if own
    const u8* values[2];
    bool own[2];

    CCOLL_DEVICE bool has(u32 which, u32 i) const { return (masks[which][i / 32] >> i % 32 & 1) != 0; }
    /// Where the value of a place stands that the section has.
    CCOLL_DEVICE const u8* value_of(u32 which, u32 i, u32 value_bytes) const
    {
        const u32 rank = before[which][i / 32] + ones_of(masks[which][i / 32] & ones_below(i % 32));
        return values[which] + value_bytes * (own[which] ? rank : entry[rank]);
    }
};

/// A section at c + at. By all threads; there are barriers in here.
/// @param ranks  places of the section before, if any; those of this one are added    @param follows  where another one stands, or 0
/// @return the same for all
CCOLL_DEVICE_RARE status read_section(const u8* c, u32 bytes, u32& at, u32 count, bool is_addend, u32 value_bytes, u32& seen, u32& ranks,
                                      bool& follows, sections_in& s, team_room& room)
{
    const u32 blocks = blocks_of(count), mine = me();
    const u64 end = bytes;
    u64 p = u64{at} + 4 + (blocks + 15) / 16 * 4;
    if (p > end) return status::corrupt;
    const u32 head = load_as<u32>(c + at), entries = (head & 255) + 1, form = head >> 8 & 255, runs = head >> 16;
    const bool own = (form & section_own) != 0;
    const u32 which = (form & section_counts) != 0;
    if (form > 7 || (seen >> which & 1) != 0 || (own && (is_addend || (head & 255) != 0 || runs != 0)) || (which != 0 && !is_addend))
        return status::corrupt;
    seen |= 1u << which;
    follows = (form & section_follows) != 0;

    const u32 kind = mine < blocks ? c[at + 4 + mine / 4] >> 2 * (mine % 4) & 3 : kind_none;
    const scanned<u32> forms = team_exclusive((kind == kind_run ? 1u : 0u) | (kind == kind_mask ? 0x10000u : 0u), room.words);
    const u64 place_runs = p, masks = place_runs + up_to_multiple(2 * (forms.all & 0xffff), 4), value_runs = masks + 4 * (forms.all >> 16);
    p = value_runs;
    if (p > end) return status::corrupt;
    u32 mask = 0;
    const u32 whole = mine < blocks ? whole_block(count, mine) : 0;
    if (kind == kind_all) mask = whole;
    if (kind == kind_mask) mask = load_as<u32>(c + masks + 4 * (forms.before >> 16));
    bool good = kind != kind_mask || mask != 0;
    if (kind == kind_run) {
        const u32 run = load_as<u16>(c + place_runs + 2 * (forms.before & 0xffff)), first = run & 31, last = run >> 5 & 31;
        good = first <= last && run < 0x800;
        mask = ones_below(last + 1) & ~ones_below(first);
        if ((run & 0x400) != 0) mask = whole & ~mask;
        good = good && mask != 0;
    }
    good = good && (mask & ~whole) == 0;
    if (mine < blocks && (seen & ~(1u << which)) != 0) good = good && (mask & s.masks[which ^ 1][mine]) == 0;
    s.masks[which][mine] = mask;
    const scanned<u32> places = team_exclusive(ones_of(mask), room.words);
    s.before[which][mine] = static_cast<u16>((own ? 0 : ranks) + places.before);
    if (!own) {
        // Each thread takes some runs.
        p = (value_runs + 2 * runs + 7) / 8 * 8;
        if (p > end || runs > places.all) return status::corrupt;
        const u32 each = (runs + team_threads - 1) / team_threads, first = smaller(each * mine, runs), last = smaller(first + each, runs);
        u32 length = 0;
        for (u32 i = first; i < last; ++i) {
            good = good && c[value_runs + 2 * i] < entries;
            length += c[value_runs + 2 * i + 1] + 1u;
        }
        const scanned<u32> lengths = team_exclusive(length, room.words);
        good = good && lengths.all == places.all;
        u32 rank = lengths.before;
        for (u32 i = first; i < last && good; ++i)
            for (u32 k = c[value_runs + 2 * i + 1] + 1u; k > 0; --k) s.entry[ranks + rank++] = c[value_runs + 2 * i];
    } else {
        p = (p + 7) / 8 * 8;
    }
    if (me() == 0) {
        s.values[which] = c + p;
        s.own[which] = own;
    }
    p += u64{value_bytes} * (own ? places.all : entries);
    ranks += own ? 0 : places.all;
    good = good && p <= end;
    at = static_cast<u32>((p + unit_bytes - 1) / unit_bytes * unit_bytes);
    return team_any(!good, room.words) ? status::corrupt : status::ok;
}
/// All sections of a chunk. By all threads. @param at  0: there are none
CCOLL_DEVICE_RARE status read_sections(const u8* c, u32 bytes, u32 at, u32 count, bool is_addend, u32 value_bytes, sections_in& s,
                                       team_room& room)
{
    s.masks[0][me()] = s.masks[1][me()] = 0;
    __syncthreads();
    u32 seen = 0, ranks = 0;
    bool more = at > 0;
    while (more)
        if (const status r = read_section(c, bytes, at, count, is_addend, value_bytes, seen, ranks, more, s, room); r != status::ok)
            return r;
    __syncthreads();
    return status::ok;
}

// ---- writing ----

/// A section that is about to be written.
struct section_out {
    u16 dictionary[most_entries];                                      ///< a place of each value
    u32 entries = 0, places = 0, runs = 0, first_rank = 0, bytes = 0;  ///< of all threads the same
};
/// Numbers of entries, by the place in the order of places, of both sections.
struct ranked {
    u8 entry[chunk_elements];
};

/// Looks for the different values, one after another: there are few. By all threads; there are barriers in here.
/// @param mask      the places of this thread's block    @param value  (place) -> wide
/// @param first_rank  places of the section before
/// @return          false: there are too many, and nothing else counts
template <class Value>
CCOLL_DEVICE bool find_entries(section_out& s, u32 mask, ranked& all, u32 first_rank, u32 count, u32 value_bytes, Value value,
                               team_room& room)
{
    const scanned<u32> places = team_exclusive(ones_of(mask), room.words);
    u32 left = mask, found = 0;
    for (;; ++found) {
        const u32 first = team_min(left != 0 ? 32 * me() + lowest_bit(left) : ~0u, room.words);
        if (first == ~0u) break;
        if (found == most_entries) return false;
        if (me() == 0) s.dictionary[found] = static_cast<u16>(first);
        const wide entry = value(first);
        for (u32 rest = left; rest != 0; rest &= rest - 1) {
            const u32 bit = lowest_bit(rest);
            if (!(value(32 * me() + bit) == entry)) continue;
            left &= ~(1u << bit);
            all.entry[first_rank + places.before + ones_of(mask & ones_below(bit))] = static_cast<u8>(found);
        }
    }
    __syncthreads();
    // A run begins where the entry differs, and at every 256th place, so that none is too long.
    u32 starts = 0;
    for (u32 r = 32 * me(); r < smaller(32 * me() + 32, places.all); ++r) {
        const u8* const e = all.entry + first_rank + r;
        starts += r % 256 == 0 || e[0] != e[-1];
    }
    const u32 runs = team_sum(starts, room.words);
    const u32 blocks = blocks_of(count), whole = me() < blocks ? whole_block(count, me()) : 0;
    const u32 masks = team_sum(mask != 0 && mask != whole, room.words);
    if (me() == 0) {
        s.entries = found;
        s.places = places.all;
        s.runs = runs;
        s.first_rank = first_rank;
        const u32 front = 4 + (blocks + 15) / 16 * 4 + 4 * masks;
        s.bytes = places.all == 0 ? 0 : up_to_multiple(up_to_multiple(front + 2 * s.runs, 8) + value_bytes * found, unit_bytes);
    }
    __syncthreads();
    return true;
}
/// Writes it. By all threads; there are barriers in here. @param put  (bytes, value) writes one value
template <class Put, class Value>
CCOLL_DEVICE void put_section(const section_out& s, u32 mask, const ranked& all, u32 count, u32 value_bytes, u32 form, Put put, Value value,
                              u8* to, team_room& room)
{
    if (s.bytes == 0) return;
    for (u32 i = me(); i < s.bytes / unit_bytes; i += team_threads) store_as(to + unit_bytes * i, uint4{0, 0, 0, 0});
    __syncthreads();
    const u32 blocks = blocks_of(count), whole = me() < blocks ? whole_block(count, me()) : 0;
    const u32 kind = mask == 0 ? kind_none : mask == whole ? kind_all : kind_mask;
    u32 kinds = kind << 2 * (me() % 4);
    kinds |= __shfl_xor_sync(all_lanes, kinds, 1);
    kinds |= __shfl_xor_sync(all_lanes, kinds, 2);
    if (me() % 4 == 0 && me() < blocks) to[4 + me() / 4] = static_cast<u8>(kinds);
    if (me() == 0) store_as(to, (s.entries - 1) | form << 8 | s.runs << 16);
    u32 at = 4 + (blocks + 15) / 16 * 4;
    const scanned<u32> masks = team_exclusive(kind == kind_mask ? 1u : 0u, room.words);
    if (kind == kind_mask) store_as(to + at + 4 * masks.before, mask);
    at += 4 * masks.all;
    u32 starts = 0;
    const u8* const e = all.entry + s.first_rank;
    const auto begins = [&](u32 r) { return r % 256 == 0 || e[r] != e[r - 1]; };
    const u32 last = smaller(32 * me() + 32, s.places);
    for (u32 r = 32 * me(); r < last; ++r) starts += begins(r);
    u32 run = team_exclusive(starts, room.words).before;
    for (u32 r = 32 * me(); r < last; ++r) {
        if (!begins(r)) continue;
        u32 end = r + 1;
        while (end < s.places && !begins(end)) ++end;
        to[at + 2 * run] = e[r];
        to[at + 2 * run + 1] = static_cast<u8>(end - r - 1);
        ++run;
    }
    at = up_to_multiple(at + 2 * s.runs, 8);
    for (u32 i = me(); i < s.entries; i += team_threads) put(to + at + value_bytes * i, value(s.dictionary[i]));
}

}  // namespace ccoll::detail::device::szp6
