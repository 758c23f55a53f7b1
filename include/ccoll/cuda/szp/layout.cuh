// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/layout.cuh - floor 4. Where the parts of a chunk of SZp go, once the widths of its blocks are known, and its index entry.
// codec/szp/layout.hpp has the bytes, docs/wire_format.md the choices of an encoder.
#pragma once

#include <ccoll/cuda/frame.cuh>
#include <ccoll/cuda/szp/block.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

inline constexpr u32 most_listed = host::lists::most_listed, widest_listed = host::lists::widest_listed;
inline constexpr u32 widest_beside = host::lists::widest_beside, planes_code = host::lists::planes_code;
inline constexpr u32 unit_bytes = frame_unit;

/// Words in front of the codes of a chunk.
template <class T>
CCOLL_DEVICE u32 head_words(u32 kind)
{
    return kind == rows ? 4 : kind >= wide ? 5 : kind == fine ? 1 + 2 * sizeof(T) / 4 : 3;
}
CCOLL_DEVICE u32 packed_words(u32 blocks) { return ((blocks + 1) / 2 + 3) / 4; }
CCOLL_DEVICE u32 code_words(u32 blocks, bool packed) { return packed ? packed_words(blocks) : (blocks + 3) / 4; }

/// What threads tell each other to lay out a chunk.
struct layout_room {
    u8 codes[chunk_blocks];
    warp_words<u32> lowest, highest, words, saved, lists;
};

/// The layout of a chunk. All but the first four members are the same for all threads.
struct chunk_layout {
    u32 code = 0;                         ///< of this thread's block
    u32 words = 0;                        ///< of this block, without a list
    u32 before = 0;                       ///< words of the blocks before this one
    u32 list_before = 0;                  ///< bytes of the lists before this one
    u32 block_words = 0, list_bytes = 0;  ///< of all blocks
    u32 codes = 0;                        ///< words of the codes
    u32 lowest = 0, escaped = 0;
    u32 steep = chunk_blocks;  ///< the first of the widest blocks, if that is much wider than the narrowest; else chunk_blocks
    bool packed = false, flat = false, lists = false;

    /// Words behind the head: codes, blocks and lists.
    CCOLL_DEVICE u32 body_words() const { return codes + block_words + (list_bytes + 3) / 4; }
    /// The first word of the chunk.
    CCOLL_DEVICE u32 head(u32 kind, u32 escaped_ones, bool alone) const
    {
        return kind | u32{packed} << 4 | lowest << 5 | escaped_ones << 12 | u32{alone} << 30 | u32{lists} << 31;
    }
};

/// By all threads. There must be a barrier between two calls. Behind it, s.codes has all codes only after the next barrier.
/// @param width       of this thread's block, 0 if it has none
/// @param classes     the block has class planes
/// @param never_flat  fine chunks, and those with rows
/// @param non_zero    the number of differences that are not 0, asked of blocks of up to three planes
template <bool Addend, class NonZero>
CCOLL_DEVICE chunk_layout lay_out(u32 blocks, u32 width, bool classes, bool never_flat, NonZero non_zero, layout_room& s)
{
    constexpr u32 steepness = 4;
    const bool active = me() < blocks;
    chunk_layout r;
    r.code = width | (classes ? class_code : 0);
    r.words = width + (classes ? 2 : 0);
    if (active) s.codes[me()] = static_cast<u8>(r.code);
    // The upper bits decide, the lower ones name the first block that has them.
    const u32 low = warp_min(active ? r.code : 255), high = warp_max(active ? r.code << 8 | (255 - me()) : 0);
    const u32 escapes = Addend ? ones_of(__ballot_sync(all_lanes, active && classes)) : 0;
    if (lane() == 0) {
        s.lowest.of[warp()] = low | escapes << 16;
        s.highest.of[warp()] = high;
    }
    const scanned<u32> at = exclusive(r.words, s.words);
    u32 lowest = 255;
    CCOLL_UNROLL
    for (u32 w = 0; w < team_warps; ++w) {
        lowest = smaller(lowest, s.lowest.of[w] & 0xffff);
        r.escaped += s.lowest.of[w] >> 16;
    }
    const u32 top = largest_of(s.highest), highest = top >> 8;
    r.before = at.before;
    r.block_words = at.all;
    r.flat = at.all == 0 && !never_flat;
    r.packed = highest - lowest <= 15 && highest <= widest;
    r.lowest = r.packed ? lowest : 0;
    r.codes = code_words(blocks, r.packed);
    if (highest >= lowest + steepness) r.steep = 255 - (top & 255);
    if (r.flat) {
        r.packed = false;
        r.lowest = r.codes = 0;
        return r;
    }
    if constexpr (!Addend) {
        if (highest > widest_beside) return r;
        const u32 least = (4 * r.codes + 4 * at.all) / 4;  // bytes that lists have to save
        const bool narrow_enough = width >= 1 && width <= widest_listed;
        const u32 ones = narrow_enough ? non_zero() : 0;
        const bool can_be_list = width == 0 || (narrow_enough && ones < 4 * width && ones <= most_listed);
        bool sampled = false;
        u32 samples = 0;
        CCOLL_UNROLL
        for (u32 quarter = 0; quarter < 4; ++quarter) {
            const u32 begin = blocks * quarter / 4, end = smaller(begin + 8, blocks * (quarter + 1) / 4);
            sampled = sampled || (me() >= begin && me() < end);
            samples += end - begin;
        }
        const u32 saves = narrow_enough && can_be_list && sampled ? 4 * width - ones : 0;
        const u32 both = warp_sum(saves | (narrow_enough ? width : 0) << 16);
        if (lane() == 0) s.saved.of[warp()] = both;
        const scanned<u32> split = exclusive(can_be_list ? ones << 16 : width, s.lists);
        u32 savings = 0, of_narrow = 0;
        CCOLL_UNROLL
        for (u32 w = 0; w < team_warps; ++w) {
            savings += s.saved.of[w] & 0xffff;
            of_narrow += s.saved.of[w] >> 16;
        }
        const u32 planes = split.all & 0xffff, bytes = split.all >> 16, plane_bytes = 4 * at.all;
        const bool may_pay = plane_bytes <= 16 * blocks && 4 * of_narrow >= 2 * least;
        const bool seems_to = plane_bytes <= 512 || savings * blocks / samples >= least * 7 / 8;
        if (!may_pay || !seems_to || 4 * planes + (bytes + 3) / 4 * 4 + least > plane_bytes) return r;
        r.lists = true;
        r.code = can_be_list ? ones : planes_code + width;
        r.words = can_be_list ? 0 : width;
        r.before = split.before & 0xffff;
        r.list_before = split.before >> 16;
        r.block_words = planes;
        r.list_bytes = bytes;
        r.lowest = 0;
        if (active) s.codes[me()] = static_cast<u8>(r.code);
    }
    return r;
}

/// The codes of a chunk, by all threads; s.codes are there. @param to  aligned to 4 bytes
CCOLL_DEVICE void put_codes(const chunk_layout& l, u32 blocks, const layout_room& s, u32* to)
{
    u8* const bytes = reinterpret_cast<u8*>(to);
    const u32 half = (blocks + 1) / 2, k = me();
    if (k >= 4 * l.codes) return;
    u32 byte = 0;
    if (!l.packed) {
        byte = k < blocks ? s.codes[k] : 0;
    } else if (k < half) {
        byte = (s.codes[k] - l.lowest) | (k + half < blocks ? (s.codes[k + half] - l.lowest) << 4 : 0);
    }
    bytes[k] = static_cast<u8>(byte);
}
/// One entry of a list.
CCOLL_DEVICE u8 list_entry(u32 place, u32 difference) { return static_cast<u8>(place | (difference & 7) << 5); }

// ---- the frame ----

struct format {
    static constexpr u32 codec = 3, chunk_elements = szp::chunk_elements;
    static constexpr quality kind = quality::absolute;
    static constexpr bool adds = true;
};
template <class E>
using frame_writer = frame_output<format, E>;
template <class E>
using frame_reader = frame_input<format, E>;

/// What the last block of a launch that adds does. An addend that cannot be held becomes a frame that says so.
template <class E>
CCOLL_DEVICE void end_adding(const frame_writer<E>& w, u64 n, double bound, scratch* s, outcome* out)
{
    const bool too_large = s->code == static_cast<u32>(status::too_large);
    if (too_large) {
        w.put_header(n, bound, addend_flag | too_large_flag);
        for (u64 i = me(); i < 5 * u64{w.chunks}; i += team_threads) w.frame[sizeof(frame_header) + i] = 0;
    }
    w.end_launch(s, out);
    if (me() != 0 || !too_large) return;
    out->bytes = payload_begin(w.chunks);
    out->special_values = 0;
}

}  // namespace ccoll::detail::device::szp
