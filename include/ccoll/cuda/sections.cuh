// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/sections.cuh - floor 4. Sections of exceptional values in chunks of SZx and SZp, read and written by a
// whole thread block. A thread has the places of a block of 32 values. Any bytes are safe to read.
#pragma once

#include <ccoll/codec/exceptions/wide.hpp>
#include <ccoll/cuda/frame.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device {

/// What threads tell each other.
struct team_room {
    warp_words<u32> words, more[3];
    warp_words<u64> longs;
};

using wide_integer = exceptions::wide;
inline constexpr u32 wide_bytes = sizeof(wide_integer);

CCOLL_DEVICE wide_integer load_wide(const u8* p)
{
    return {{load_as<u64>(p), load_as<u64>(p + 8), load_as<u64>(p + 16)}};
}
CCOLL_DEVICE void store_wide(u8* p, const wide_integer& a)
{
    CCOLL_UNROLL
    for (u32 i = 0; i < 3; ++i) store_as(p + 8 * i, a.limb[i]);
}

/// Blocks of 32 values, and values, of the longest chunk; values of a dictionary.
inline constexpr u32 most_blocks = 256, most_places = 32 * most_blocks, most_entries = 256;
inline constexpr u32 section_counts = 1, section_follows = 2;  // bits of its form

CCOLL_DEVICE u32 up_to_multiple(u32 v, u32 of) { return (v + of - 1) / of * of; }
CCOLL_DEVICE u32 section_blocks(u32 count) { return (count + 31) / 32; }
/// Words of a set of blocks, and where the masks of a section begin.
CCOLL_DEVICE u32 set_words(u32 count) { return (count + 1023) / 1024; }
CCOLL_DEVICE u32 masks_at(u32 count) { return 4 + 8 * set_words(count); }
/// The mask of all values of a block.
CCOLL_DEVICE u32 whole_block(u32 count, u32 block) { return ones_below(smaller(count - 32 * block, 32u)); }

/// The sections of a chunk: [0] without counts, [1] with counts.
template <u32 Kinds>
struct sections_in {
    u32 masks[Kinds][most_blocks];
    u16 before[Kinds][most_blocks];  ///< places in front of a block, of both sections that come before
    u8 entry[most_places];           ///< of each place, in their order; nothing where there is one entry
    const u8* values[Kinds];         ///< null: there is no such section
    u32 entries[Kinds];              ///< 0: each place has a value of its own

    CCOLL_DEVICE bool has(u32 which, u32 i) const { return (masks[which][i / 32] >> i % 32 & 1) != 0; }
    /// The number of the value of the place of this rank.
    CCOLL_DEVICE u32 number_at(u32 which, u32 rank) const { return entries[which] == 1 ? 0 : entry[rank]; }
    /// Of an addend: entry i, or the only one.
    CCOLL_DEVICE wide_integer wide_of_entry(u32 which, u32 i) const
    {
        return load_wide(values[which] + wide_bytes * (entries[which] == 1 ? 0 : i));
    }
    /// Where the value of a place stands that the section has.
    CCOLL_DEVICE const u8* value_of(u32 which, u32 i, u32 value_bytes) const
    {
        const u32 rank = before[which][i / 32] + ones_of(masks[which][i / 32] & ones_below(i % 32));
        return values[which] + value_bytes * number_at(which, rank);
    }
};

/// A section at c + at. By all threads; there are barriers in here.
/// @param ranks  places of the section before, if any; those of this one are added
/// @param follows  where another one stands, or 0
/// @return the same for all
template <u32 Kinds>
CCOLL_DEVICE status read_section(const u8* c, u32 bytes, u32& at, u32 count, u32 value_bytes, u32& seen,
                                 u32& ranks, bool& follows, sections_in<Kinds>& s, team_room& room)
{
    const bool is_addend = value_bytes == wide_bytes;
    const u32 mine = me(), word = mine / 32;
    const u64 end = bytes;
    u64 p = u64{at} + masks_at(count);
    if (p > end) return status::corrupt;
    const u32 head = load_as<u32>(c + at), entries = (head & 255) + 1, form = head >> 8 & 255,
              runs = head >> 16;
    const u32 which = (form & section_counts) != 0;
    if (form > 3 || (seen >> which & 1) != 0 || (which != 0 && !is_addend) || which >= Kinds)
        return status::corrupt;
    seen |= 1u << which;
    follows = (form & section_follows) != 0;

    const auto in_set = [&](u32 begin) {
        return word < set_words(count) && (load_as<u32>(c + at + begin + 4 * word) >> mine % 32 & 1) != 0;
    };
    const bool has_mask = in_set(4), all = in_set(4 + 4 * set_words(count));
    const scanned<u32> masked = exclusive(has_mask ? 1u : 0u, room.words);
    const u64 masks = p, value_runs = masks + 4 * masked.all;
    p = value_runs;
    if (p > end) return status::corrupt;
    const u32 whole = mine < section_blocks(count) ? whole_block(count, mine) : 0;
    const u32 mask = has_mask ? load_as<u32>(c + masks + 4 * masked.before) : all ? whole : 0;
    bool good = (mask != 0) == (has_mask || all) && !(has_mask && all) && (mask & ~whole) == 0;
    if (Kinds > 1 && (seen & ~(1u << which)) != 0)
        good = good && (mask & s.masks[(which ^ 1) % Kinds][mine]) == 0;
    s.masks[which][mine] = mask;
    const scanned<u32> places = exclusive(ones_of(mask), room.more[0]);
    s.before[which][mine] = static_cast<u16>(ranks + places.before);
    // Each thread takes some runs.
    p = (value_runs + 2 * runs + 7) / 8 * 8;
    if (p > end || runs > places.all) return status::corrupt;
    const u32 each = (runs + team_threads - 1) / team_threads, first = smaller(each * mine, runs),
              last = smaller(first + each, runs);
    u32 length = 0;
    for (u32 i = first; i < last; ++i) {
        good = good && c[value_runs + 2 * i] < entries;
        length += c[value_runs + 2 * i + 1] + 1u;
    }
    const scanned<u32> lengths = exclusive(length, room.more[1]);
    good = good && places.all > 0 && (runs == 0 || lengths.all == places.all);
    u32 rank = lengths.before;
    for (u32 i = first; i < last && good; ++i)
        for (u32 k = c[value_runs + 2 * i + 1] + 1u; k > 0; --k)
            s.entry[ranks + rank++] = c[value_runs + 2 * i];
    if (me() == 0) {
        s.values[which] = c + p;
        s.entries[which] = runs > 0 ? entries : 1;
    }
    const u64 next = (p + u64{value_bytes} * entries + unit_bytes - 1) / unit_bytes * unit_bytes;
    good = good && next <= end;
    static_assert(team_threads >= most_entries, "ccoll: a thread looks at an entry");
    if (is_addend && next <= end && mine < entries)
        good = good && load_wide(c + p + wide_bytes * mine).is_valid();
    ranks += places.all;
    at = static_cast<u32>(next);
    return exclusive(good ? 0u : 1u, room.more[2]).all > 0 ? status::corrupt : status::ok;
}
/// All sections of a chunk. By all threads.
/// @param at  0: there are none
/// @tparam Kinds  1: what has counts is not read either
template <u32 Kinds>
CCOLL_DEVICE_RARE status read_sections(const u8* c, u32 bytes, u32 at, u32 count, u32 value_bytes,
                                       sections_in<Kinds>& s, team_room& room)
{
    if (at > 0 && me() < 16 && at + 128 * me() < bytes) fetch(c + at + 128 * me());
    for (u32 k = 0; k < Kinds; ++k) s.masks[k][me()] = 0;
    if (me() < Kinds) {
        s.entries[me()] = 1;
        s.values[me()] = nullptr;
    }
    __syncthreads();
    u32 seen = 0, ranks = 0;
    bool more = at > 0;
    while (more)
        if (const status r = read_section(c, bytes, at, count, value_bytes, seen, ranks, more, s, room);
            r != status::ok)
            return r;
    return status::ok;
}

// ---- writing ----

/// The places of a section in the block of this thread, and among those of the chunk. By all threads; there
/// are barriers in here.
struct places_out {
    u32 mask, before, masks_before, all, masks;
    bool is_whole, has_mask;

    CCOLL_DEVICE places_out(u32 of_block, u32 count, team_room& room) : mask(of_block)
    {
        is_whole = me() < section_blocks(count) && mask == whole_block(count, me());
        has_mask = mask != 0 && !is_whole;
        const scanned<u32> r = team_exclusive(ones_of(mask) | (has_mask ? 0x10000u : 0), room.words);
        before = r.before & 0xffff;
        masks_before = r.before >> 16;
        all = r.all & 0xffff;
        masks = r.all >> 16;
    }
};
/// A section that is about to be written: the same for all threads.
struct section_out {
    u16 dictionary[most_entries];  ///< a place of each value
    u32 entries = 0, places = 0, runs = 0, bytes = 0;
    u32 changes = 0;  ///< places whose value differs from that of the place before
};

/// Looks for the different values, one after another: there are few. By all threads; there are barriers in
/// here.
/// @param mask   the places of this thread's block    @param key  (place) -> what tells values apart
/// @param entry  gets the number of the value of each place, in their order
/// @return       false: there are too many, and nothing else counts
template <class Key>
CCOLL_DEVICE bool find_entries(section_out& s, const places_out& p, u8* entry, Key key, team_room& room)
{
    u32 left = p.mask, found = 0;
    for (;; ++found) {
        const u32 first = team_min(left != 0 ? 32 * me() + lowest_bit(left) : ~0u, room.words);
        if (first == ~0u) break;
        if (found == most_entries) return false;
        if (me() == 0) s.dictionary[found] = static_cast<u16>(first);
        const auto one = key(first);
        for (u32 rest = left; rest != 0; rest &= rest - 1) {
            const u32 bit = lowest_bit(rest);
            if (!(key(32 * me() + bit) == one)) continue;
            left &= ~(1u << bit);
            entry[p.before + ones_of(p.mask & ones_below(bit))] = static_cast<u8>(found);
        }
    }
    if (me() == 0) s.entries = found;
    return true;
}
/// A run begins where the entry differs, and at every 256th place, so that none is too long.
CCOLL_DEVICE bool run_begins(const u8* entry, u32 rank)
{
    return rank % 256 == 0 || entry[rank] != entry[rank - 1];
}
/// Calls f (place) for each run that begins in the block of this thread.
template <class F>
CCOLL_DEVICE void each_run(const places_out& p, const u8* entry, F f)
{
    for (u32 r = p.before; r < p.before + ones_of(p.mask); ++r)
        if (run_begins(entry, r)) f(r);
}
/// How long the section is. By all threads; there are barriers in here.
/// @param entry  of each place, which is not read if there are not several
CCOLL_DEVICE_RARE void measure_section(section_out& s, const places_out& p, const u8* entry, u32 count,
                                       u32 value_bytes, bool several, team_room& room)
{
    u32 found = 0;
    if (several)
        each_run(p, entry, [&](u32 r) { found += r > 0 && entry[r] != entry[r - 1] ? 0x10001u : 1u; });
    found = team_sum(found, room.words);
    if (me() == 0) {
        s.places = p.all;
        s.runs = s.entries > 1 ? found & 0xffff : 0;
        s.changes = found >> 16;
        const u32 front = masks_at(count) + 4 * p.masks + 2 * s.runs;
        s.bytes =
            p.all == 0 ? 0 : up_to_multiple(up_to_multiple(front, 8) + value_bytes * s.entries, unit_bytes);
    }
    __syncthreads();
}
/// Writes it. By all threads; there are barriers in here. @param put  (to, number of an entry) writes a value
template <class Put>
CCOLL_DEVICE void put_section(const section_out& s, u32 mask, const u8* entry, u32 count, u32 value_bytes,
                              u32 form, Put put, u8* to, team_room& room)
{
    if (s.bytes == 0) return;
    for (u32 i = me(); i < s.bytes / unit_bytes; i += team_threads)
        store_as(to + unit_bytes * i, uint4{0, 0, 0, 0});
    const places_out p(mask, count, room);  // behind a barrier
    const u32 runs_at = masks_at(count) + 4 * p.masks, masked = __ballot_sync(all_lanes, p.has_mask),
              whole = __ballot_sync(all_lanes, p.is_whole);
    if (lane() == 0 && me() / 32 < set_words(count)) {
        store_as(to + 4 + 4 * (me() / 32), masked);
        store_as(to + 4 + 4 * (set_words(count) + me() / 32), whole);
    }
    if (me() == 0) store_as(to, (s.entries - 1) | form << 8 | s.runs << 16);
    if (p.has_mask) store_as(to + masks_at(count) + 4 * p.masks_before, p.mask);
    if (s.runs > 0) {
        u32 starts = 0;
        each_run(p, entry, [&](u32) { ++starts; });
        u32 run = team_exclusive(starts, room.words).before;
        each_run(p, entry, [&](u32 r) {
            u32 end = r + 1;
            while (end < s.places && !run_begins(entry, end)) ++end;
            to[runs_at + 2 * run] = entry[r];
            to[runs_at + 2 * run++ + 1] = static_cast<u8>(end - r - 1);
        });
    }
    u8* const values = to + up_to_multiple(runs_at + 2 * s.runs, 8);
    for (u32 i = me(); i < s.entries; i += team_threads) put(values + value_bytes * i, i);
}

}  // namespace ccoll::detail::device
