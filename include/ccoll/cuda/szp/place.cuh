// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/place.cuh - floor 4. A usual chunk on its way into a frame: eight warps have a group each, one
// addition finds the place of all, and planes go through shared memory, so that they leave in pieces of 16
// bytes.
#pragma once

#include <ccoll/cuda/szp/planes.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// What an exceptional place at the beginning of this lane's block gets: the last ordinary value in front of
/// it, or the first one behind it, of those of the group.
/// @param apart  places of the block that have none
/// @param first, last  of the others
template <class V>
CCOLL_DEVICE V bridge_into(u32 apart, V first, V last)
{
    const u32 has = __ballot_sync(all_lanes, ~apart != 0), lower = has & ones_below(lane());
    const V of_lower = __shfl_sync(all_lanes, last, lower != 0 ? highest_bit(lower) : 0),
            of_first = __shfl_sync(all_lanes, first, has != 0 ? lowest_bit(has) : 0);
    return lower != 0 ? of_lower : has != 0 ? of_first : V{0};
}

/// What warps tell each other: two words of each, and of the chunk its place, the units of its exceptional
/// values, and a step of its own.
struct chunk_control {
    u64 told[team_warps];
    u32 place, exceptions;
    u64 step;
};

/// Bits of a warp's first word above the units of its group: what it found. Sums of eight do not run over.
inline constexpr u32 found_unusual = 1u << 16, found_off_lattice = 1u << 20, found_non_zero = 1u << 24;

/// A group to write.
struct group_out {
    u32 width = 0;   ///< planes of this lane's block; 0 where there is none
    u32 lowest = 0;  ///< of the group
    u32 widest = 0;
    u32 before = 0;  ///< words of the lanes below
    u32 words = 0;
    u32 base = 0;

    CCOLL_DEVICE u32 units() const { return (words + 3) / 4; }
};
/// From the widths of the blocks. Codes have four bits: narrow blocks get more planes.
/// @param has_block  else this lane has no planes
CCOLL_DEVICE void lay_out(group_out& r, u32 width, bool has_block)
{
    r.widest = warp_max(width);
    const u32 least = r.widest > 15 ? r.widest - 15 : 0;
    r.width = larger(width, least);
    r.lowest = warp_min(r.width);
    if (!has_block) r.width = 0;
    const u32 up_to = sum_up_to(r.width);
    r.before = up_to - r.width;
    r.words = __shfl_sync(all_lanes, up_to, 31);
}
/// What stands of group g in the front of a chunk. By its warp. @param place  of its planes, in units
CCOLL_DEVICE void put_group_head(const group_out& o, u8* chunk, u32 g, u32 groups, u32 place, u32 base)
{
    u32 code = o.width > 0 ? (o.width - o.lowest) << 4 * (lane() & 7) : 0;
    code |= __shfl_xor_sync(all_lanes, code, 1);
    code |= __shfl_xor_sync(all_lanes, code, 2);
    code |= __shfl_xor_sync(all_lanes, code, 4);
    if ((lane() & 7) == 0) store_as(chunk + head_bytes + 16 * g + lane() / 2, code);
    if (lane() == 1)
        store_as(chunk + head_bytes + 16 * groups + 8 * g, u64{base} << 32 | o.lowest << 16 | place);
}

/// A chunk of which all groups are known.
struct placing {
    chunk_control& control;
    u64 told = 0;           ///< the words of warp lane % 8
    u32 found = 0;          ///< the sum of all first words
    bool adjusted = false;  ///< the chunk has exceptional values or a step of its own
    bool is_known = false;  ///< its place is known

    /// By all warps; `first` is the units of the group, and what was found.
    CCOLL_DEVICE void tell(u32 first, u32 ceiling)
    {
        if (lane() == 0) control.told[warp()] = u64{ceiling} << 32 | first;
        __syncthreads();
        told = control.told[lane() & 7];
        found = warp_sum(lane() < team_warps ? static_cast<u32>(told) : 0);
    }
    /// Begins to look for the place.
    CCOLL_DEVICE u32 ask(work* w, u32 front) const
    {
        if (me() != 0 || is_known) return 0;
        return atomicAdd(&w->units, front + (found & 0xffff) + (adjusted ? control.exceptions : 0));
    }
};

template <u32 Octet>
CCOLL_DEVICE void stage_octet(const u32 (&s)[8], const group_out& g, shared_address to)
{
    CCOLL_UNROLL
    for (u32 k = 0; k < 4; ++k)
        if (8 * Octet + k < g.width) put_shared(to + 4 * (8 * Octet + k), s[k]);
    if (g.widest <= 8 * Octet + 4) return;
    CCOLL_UNROLL
    for (u32 k = 4; k < 8; ++k)
        if (8 * Octet + k < g.width) put_shared(to + 4 * (8 * Octet + k), s[k]);
}

/// Writes a chunk whose groups are all usual. By all warps of a block, also those without a group.
/// @param p       has been told and summed up
/// @param tile    memory of the warp, of which nothing is read any more
template <u32 Octets>
CCOLL_DEVICE void put_chunk(const placing& p, const frame_out& to, work* w, u32 chunk, u32 groups,
                            const group_out& g, shared_address tile, const u32 (&s)[3][8])
{
    const u32 front = in_units(front_bytes(groups, false)), mine = p.ask(w, front);
    const bool writes = warp() < groups;
    if (writes) {
        const shared_address at = tile + 4 * g.before;
        each_octet<Octets>(g.widest, [&](auto o) { stage_octet<o>(s[o], g, at); });
        if (lane() < 4 * g.units() - g.words) put_shared(tile + 4 * (g.words + lane()), 0u);
    }
    if (me() == 0 && !p.is_known) p.control.place = mine;
    __syncthreads();
    if (!writes) return;
    const u32 place = p.control.place;
    const u32 before = front + warp_sum(lane() < warp() ? static_cast<u32>(p.told) & 0xffff : 0);
    u8* const chunk_at = to.unit(place);
    u8* const planes = chunk_at + unit_bytes * (before + lane());
    const u32 of_group = g.units();
    const shared_address from = tile + unit_bytes * lane();
    if (lane() < of_group) store_as(planes, get_shared<uint4>(from));
    if (lane() + 32 < of_group) store_as(planes + 512, get_shared<uint4>(from + 512));
    CCOLL_NO_UNROLL
    for (u32 i = 64; i + lane() < of_group; i += 32)
        store_as(planes + 16 * i, get_shared<uint4>(from + 16 * i));

    put_group_head(g, chunk_at, warp(), groups, before, g.base);
    if (warp() != 0) return;
    const u32 largest = warp_max(static_cast<u32>(p.told >> 32));
    if (lane() == 0) {
        const u32 units = front + (p.found & 0xffff), exceptions = p.adjusted ? p.control.exceptions : 0;
        const u64 step = p.adjusted ? p.control.step : 0, word = step != 0 ? step : largest;
        store_as(chunk_at, uint4{form_left << 8 | (step != 0 ? scale_own : scale_bound),
                                 exceptions > 0 ? units << 16 : 0, static_cast<u32>(word),
                                 static_cast<u32>(word >> 32)});
        if (groups % 2 != 0) store_as(chunk_at + front_bytes(groups, false), u64{0});
        to.put_entry(chunk, place, unit_bytes * (units + exceptions), false);
    }
}

}  // namespace ccoll::detail::device::szp
