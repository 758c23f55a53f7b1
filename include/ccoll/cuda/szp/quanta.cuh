// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/quanta.cuh - floor 4. Any chunk to quanta of 64 bits in shared memory, and quanta to a chunk, by a
// whole thread block. This is the slower way: it has all forms of the wire.
#pragma once

#include <ccoll/cuda/sections.cuh>
#include <ccoll/cuda/szp/place.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// Value i stands at `padded(i)`, so that lanes that have a block each do not wait for each other.
CCOLL_DEVICE u32 padded(u32 i) { return i + i / 32; }
inline constexpr u32 padded_elements = chunk_elements + chunk_elements / 32;

struct chunk_head {
    u32 scale = 0, form = 0, row = 0, plane = 0, exceptions = 0;
    u64 largest = 0;

    CCOLL_DEVICE bool is(u32 bit) const { return (form & bit) != 0; }
    /// Quanta are counted modulo 2^32, unless they are wide.
    CCOLL_DEVICE i64 quantum(u64 sum) const
    {
        return is(form_wide) ? static_cast<i64>(sum) : static_cast<i32>(static_cast<u32>(sum));
    }
};

/// @return false: no chunk of `count` values begins so
template <class T>
CCOLL_DEVICE bool read_head(const u8* c, u32 bytes, u32 count, chunk_head& h)
{
    if (bytes < head_bytes) return false;
    const uint4 v = load_as<uint4>(c);
    h = {v.x & 255, v.x >> 8 & 255, v.x >> 16, v.y & 0xffff, unit_bytes * (v.y >> 16), u64{v.w} << 32 | v.z};
    const u32 least = h.is(form_flat) ? head_bytes + 8
                                      : in_units(front_bytes(groups_of(count), h.is(form_wide))) * unit_bytes;
    const bool no_row = h.row == 0 && h.plane == 0,
               rows = h.row >= 16 && (h.plane == 0 || h.plane >= 16) && h.row + h.plane < count;
    if (h.scale > scale_own || h.form > 7 || (!no_row && !rows) || h.exceptions > bytes || bytes < least)
        return false;
    if (h.scale == scale_bound) return true;
    const double step = number_of(h.largest);
    return step >= least_normal<T> && step <= largest_number<T> &&
           static_cast<double>(static_cast<T>(step)) == step;
}

/// The running sums of the differences of a group, or the differences. By a warp.
/// @param may_list  lists are allowed
/// @return false: the group does not lie within the chunk
CCOLL_DEVICE_RARE bool read_group(const u8* c, u32 bytes, u32 count, const chunk_head& h, u32 g,
                                  bool may_list, i64* q)
{
    const u32 groups = groups_of(count), blocks = blocks_in_group(count, g), most = h.is(form_wide) ? 64 : 32;
    const uint2 place = load_as<uint2>(c + head_bytes + 16 * groups + 8 * g);
    const u32 lowest = place.x >> 16 & 255,
              code = c[head_bytes + 16 * g + lane() / 2] >> 4 * (lane() % 2) & 15, form = place.x >> 24;
    const bool there = lane() < blocks, lists = form == 1;
    const u32 w = !there     ? 0
                  : !lists   ? lowest + code
                  : code > 7 ? code - 7
                             : 0,
              listed = there && lists && code <= 7 ? code : 0;
    const u32 up_to = sum_up_to(w | listed << 16), all = __shfl_sync(all_lanes, up_to, 31),
              words = all & 0xffff, widest = warp_max(w), at = unit_bytes * (place.x & 0xffff);
    const u64 base = h.is(form_wide) ? load_as<u64>(c + head_bytes + 24 * groups + 8 * g)
                                     : static_cast<u64>(i64{static_cast<i32>(place.y)});
    if (form > 1 || widest > most || lowest > most ||
        (lists && (!may_list || h.is(form_wide) || lowest != 0)))
        return false;
    if (all > 0 && at + 4 * words + (all >> 16) > bytes) return false;
    const u32* const planes = reinterpret_cast<const u32*>(c + at) + ((up_to & 0xffff) - w);
    const u8* const list = c + at + 4 * words + ((up_to >> 16) - listed);
    const u32 sign = w > 0 ? load_as<u32>(planes + w - 1) : 0, octets = (widest + 7) / 8,
              rest = octets > 0 ? 64 - 8 * octets : 0;
    i64* const mine = q + padded(group_elements * g + 32 * lane());
    for (u32 i = 0; i < 32; ++i) mine[i] = 0;
    for (u32 o = 0; o < octets; ++o) {
        u32 b[8];
        CCOLL_UNROLL
        for (u32 k = 0; k < 8; ++k) b[k] = 8 * o + k < w ? load_as<u32>(planes + 8 * o + k) : sign;
        transpose(b);
        CCOLL_UNROLL
        for (u32 j = 0; j < 8; ++j) CCOLL_UNROLL
        for (u32 i = 0; i < 4; ++i)
            mine[4 * j + i] |= static_cast<i64>(u64{b[octet_place(j)] >> 8 * i & 255} << 8 * o);
    }
    for (u32 i = 0; i < listed; ++i) {  // bit 8 c + 4 h + k is value 8 k + 4 h + c
        const u32 bit = list[i] & 31;
        mine[8 * (bit & 3) + (bit & 4) + bit / 8] |= static_cast<i64>(u64{list[i]} << 56) >> 61;
    }
    const bool left = h.is(form_left), from_zero = g == 0 && h.row != 0;
    u64 sum = 0;
    for (u32 i = 0; i < 32; ++i) {
        const i64 d = static_cast<i64>(static_cast<u64>(mine[i]) << rest) >> rest;
        sum = (left ? sum : 0) + static_cast<u64>(d);
        mine[i] = h.quantum(sum);
    }
    if (!left) return true;
    const u64 before = warp_inclusive(sum) - sum + (from_zero ? 0 : base);
    for (u32 i = 0; i < 32; ++i) mine[i] = h.quantum(static_cast<u64>(mine[i]) + before);
    return true;
}
/// q[i] += q[i - distance], from the front on; `before` stands in front of the chunk.
CCOLL_DEVICE void add_above(const chunk_head& h, i64* q, u32 count, u32 distance, u64 before)
{
    for (u32 from = me(); from < distance; from += team_threads) {
        u64 sum = before;
        for (u32 i = from; i < count; i += distance) {
            sum += static_cast<u64>(q[padded(i)]);
            q[padded(i)] = h.quantum(sum);
        }
    }
}
/// By all threads; there are barriers in here, but none at the end: quanta can be read behind the next one.
/// @return the same for all
template <class T>
CCOLL_DEVICE_RARE status read_quanta(const u8* c, u32 bytes, u32 count, bool may_list, chunk_head& h, i64* q,
                                     team_room& room)
{
    if (!read_head<T>(c, bytes, count, h)) return status::corrupt;
    const u32 groups = groups_of(count);
    if (h.is(form_flat)) {
        const i64 base = load_as<i64>(c + head_bytes);
        for (u32 i = 0; i < 32; ++i) q[padded(32 * me() + i)] = base;
        return status::ok;
    }
    const bool good = warp() >= groups || read_group(c, bytes, count, h, warp(), may_list, q);
    if (team_any(!good, room.words)) return status::corrupt;
    if (h.row != 0) {
        const u64 base = h.is(form_wide)
                             ? load_as<u64>(c + head_bytes + 24 * groups)
                             : static_cast<u64>(i64{load_as<i32>(c + head_bytes + 16 * groups + 4)});
        if (h.plane != 0) {
            add_above(h, q, count, h.plane, 0);
            __syncthreads();
        }
        add_above(h, q, count, h.row, base);
    }
    return status::ok;
}

/// A chunk that is about to be written: one group for each warp. Its quanta have 64 bits, whatever they are.
struct packing {
    group_out group;
    u64 base = 0, largest = 0;  ///< the base of the group; the largest |q|
    /// In units: in front of all planes, in front of those of this group, of both together.
    u32 front = 0, before = 0, units = 0;
};
/// Quanta to differences, in place. By all threads; there are barriers in here.
CCOLL_DEVICE_RARE packing prepare(i64* q, u32 count, team_room& room)
{
    packing p;
    const u32 groups = groups_of(count), g = warp(), first = group_elements * g + 32 * lane();
    u64 most = 0, folded = 0, negative = 0;
    p.front = in_units(front_bytes(groups, true));
    if (g < groups) {
        const u32 blocks = blocks_in_group(count, g),
                  values = lane() < blocks ? smaller(count - first, 32u) : 0;
        p.base = static_cast<u64>(q[padded(group_elements * g)]);
        u64 before = lane() == 0 || values == 0 ? p.base : static_cast<u64>(q[padded(first - 1)]);
        __syncwarp();
        for (u32 i = 0; i < 32; ++i) {
            const u64 v = i < values ? static_cast<u64>(q[padded(first + i)]) : before;
            const i64 d = static_cast<i64>(v - before);
            before = v;
            most = larger(most, v >> 63 != 0 ? 0 - v : v);
            folded |= static_cast<u64>(d ^ d >> 63);
            negative |= static_cast<u64>(d);
            q[padded(first + i)] = d;
        }
        const u32 high = static_cast<u32>(folded >> 32), low = static_cast<u32>(folded);
        const u32 width = high != 0  ? 34 + highest_bit(high)
                          : low != 0 ? 2 + highest_bit(low)
                                     : static_cast<u32>(negative >> 63);
        lay_out(p.group, width, lane() < blocks);
    }
    p.largest = team_max(most, room.longs);
    const scanned<u32> all = team_exclusive(lane() == 0 ? p.group.units() : 0, room.words);
    p.before = p.front + __shfl_sync(all_lanes, all.before, 0);
    p.units = p.front + all.all;
    return p;
}
/// Writes it. @param exceptions  where they stand, in units; 0: there are none
CCOLL_DEVICE_RARE void put_packed(const packing& p, const i64* q, u32 count, u32 scale, u64 step,
                                  u32 exceptions, u8* c)
{
    const u32 groups = groups_of(count), g = warp();
    if (me() == 0) {
        const u64 word = scale == scale_bound ? p.largest : step;
        store_as(c, uint4{scale | (form_left | form_wide) << 8, exceptions << 16, static_cast<u32>(word),
                          static_cast<u32>(word >> 32)});
    }
    if (g >= groups) return;
    const group_out& o = p.group;
    u32* const planes = reinterpret_cast<u32*>(c + unit_bytes * p.before) + o.before;
    for (u32 octet = 0; 8 * octet < o.width; ++octet) {
        const i64* const mine = q + padded(group_elements * g + 32 * lane());
        u32 s[8];
        CCOLL_UNROLL
        for (u32 j = 0; j < 8; ++j) {
            u32 four = 0;
            CCOLL_UNROLL
            for (u32 i = 0; i < 4; ++i)
                four |= (static_cast<u32>(static_cast<u64>(mine[4 * j + i]) >> 8 * octet) & 255) << 8 * i;
            s[octet_place(j)] = four;
        }
        transpose(s);
        CCOLL_UNROLL
        for (u32 k = 0; k < 8; ++k)
            if (8 * octet + k < o.width) store_as(planes + 8 * octet + k, s[k]);
    }
    if (lane() < 4 * o.units() - o.words) store_as(c + unit_bytes * p.before + 4 * (o.words + lane()), 0u);
    put_group_head(o, c, g, groups, p.before, 0);
    if (lane() == 0) store_as(c + head_bytes + 24 * groups + 8 * g, p.base);
}

}  // namespace ccoll::detail::device::szp
