// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/read.cuh - floor 4. Where the parts of a frame of SZp are, for kernels that read it: header, index, head of a chunk, blocks. Any
// bytes are safe.
#pragma once

#include <ccoll/cuda/szp/layout.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// A chunk of an addend has as many bytes as its widest blocks and fill values in all places take.
template <class T>
CCOLL_DEVICE u32 longest_addend(u32 count)
{
    const u32 blocks = (count + 31) / 32, of_fills = 32 + sizeof(T) + 2 * (blocks + 2 * blocks + 4 * blocks + count);
    return 4 * (5 + code_words(blocks, false) + blocks * (widest + 2)) + of_fills;
}
template <class E>
CCOLL_DEVICE chunk_bytes find_chunk(const frame_reader<E>& r, u32 chunks, u32 chunk, u32 count)
{
    return r.find(chunks, chunk, count, longest_addend<number_of_element<E>>(count));
}

/// The head of a chunk, and whether it may be one.
struct chunk_head {
    u32 kind = flat, lowest = 0;
    u32 escaped = 0;  ///< of an addend: blocks with classes
    bool packed = false, alone = false, lists = false, good = false;
    u64 base = 0, largest = 0, step = 0;  ///< the step as bits
    u32 words = 0;                        ///< of the chunk, without its section
    u32 section = 0;                      ///< words of the section of special values, or, of an addend, of fill values; behind the others
    u32 in_front = 0, codes = 0;          ///< words in front of the codes, and of these
    u32 above = 0;                        ///< of a chunk with rows: the distances of row and plane, as it says them

    CCOLL_DEVICE bool is_flat() const { return kind == flat || kind == wide_flat; }
    CCOLL_DEVICE bool is_narrow() const { return kind <= flat || kind == rows; }
    CCOLL_DEVICE bool has_step() const { return kind == fine || kind == fine_rows; }
};
/// @param from  `bytes` bytes, aligned to 4    @param count  of values
template <class T, bool Addend>
CCOLL_DEVICE chunk_head read_head(const u32* from, u32 bytes, u32 blocks, u32 count)
{
    chunk_head h;
    if (bytes < 12 || bytes % 4 != 0) return h;
    const u32 w = from[0];
    h.kind = w & 15;
    h.packed = (w >> 4 & 1) != 0;
    h.lowest = w >> 5 & 127;
    const u32 escaped = w >> 12 & 0x3ffff, bit_30 = w >> 30 & 1;
    h.lists = w >> 31 != 0;
    h.words = bytes / 4;
    if (Addend) {
        h.escaped = escaped;
        if (bit_30 != 0) {  // the last word tells the length of the section in front of it
            h.section = from[h.words - 1];
            if (h.section == 0 || h.section >= h.words - 3) return h;
            h.words -= h.section + 1;
        }
    } else {
        h.alone = bit_30 != 0;
        h.section = escaped;
        if (h.section > h.words - 3) return h;
        h.words -= h.section;
    }
    const bool in_rows = h.kind == rows || (!Addend && is_f32<T> && h.kind == fine_rows);
    if (!in_rows && (h.kind > wide_flat || (Addend ? h.kind == fine : h.kind >= wide))) return h;
    if ((!h.packed && h.lowest != 0) || h.lowest > widest || (h.lists && (Addend || !h.packed || h.lowest != 0))) return h;
    if (h.alone && h.kind != narrow) return h;
    h.in_front = head_words<T>(h.kind);
    if (h.words < h.in_front) return h;
    const bool is_long = h.in_front == 5 && !in_rows;
    h.base = is_long ? from[1] | u64{from[2]} << 32 : static_cast<u64>(static_cast<i64>(static_cast<i32>(from[1])));
    const u64 second = is_long ? from[3] | u64{from[4]} << 32 : u64{from[2]};
    if (h.kind == fine) h.step = second;
    else h.largest = second;
    if (h.alone && h.base != 0) return h;
    if (in_rows) {
        h.above = from[3];
        if (h.kind == fine_rows) h.step = from[4];
        const u32 row = row_of(h.above), plane = plane_of(h.above);
        if (row < least_row || row + plane >= count || (plane != 0 && (plane <= row || plane < least_plane))) return h;
        if (h.largest >= (Addend ? limit_of_rows_of_addends : h.kind == rows ? limit_of_rows<T> : limit_of_fine_rows)) return h;
    }
    if (h.is_flat()) {
        h.good = h.words == h.in_front && w == (h.kind | (Addend ? bit_30 << 30 : escaped << 12));
        return h;
    }
    h.codes = code_words(blocks, h.packed);
    h.good = h.words >= h.in_front + h.codes;
    return h;
}
/// The code of block k.
CCOLL_DEVICE u32 code_of(const u32* codes, const chunk_head& h, u32 blocks, u32 k)
{
    const u8* const bytes = reinterpret_cast<const u8*>(codes);
    if (!h.packed) return bytes[k];
    const u32 half = (blocks + 1) / 2;
    return (k < half ? bytes[k] & 15u : bytes[k - half] >> 4) + h.lowest;
}

/// What threads tell each other about the blocks of a chunk that is read.
struct blocks_room {
    warp_words<u32> words, faults, quanta;
    warp_words<u64> sums;
};
/// The block of this thread in a chunk that is read.
struct block_place {
    u32 width = 0, before = 0, list_before = 0;
    bool has_class = false, is_list = false;
    u32 listed = 0;     ///< bytes of its list
    u32 all_words = 0;  ///< of all blocks
    u32 widest = 0;     ///< width in this warp
    bool good = false;  ///< the codes account for every byte: the same for all threads
};
/// By all threads; the head is good and not flat. There must be a barrier between two calls.
template <class T, bool Addend>
CCOLL_DEVICE block_place find_block(const u32* codes, const chunk_head& h, u32 blocks, blocks_room& s)
{
    const u32 most = h.kind == narrow || has_rows(h.kind) || (h.kind == fine && is_f32<T>) ? widest_narrow : widest;
    const bool active = me() < blocks;
    block_place p;
    u32 code = active ? code_of(codes, h, blocks, me()) : 0;
    if (h.lists) {
        p.is_list = code <= most_listed;
        p.listed = p.is_list ? code : 0;
        code = p.is_list ? 0 : code - planes_code;
    }
    p.has_class = Addend && code >= class_code;
    p.width = p.has_class ? code - class_code : code;
    const bool bad = p.width > most;
    if (bad) p.width = 0;
    p.widest = warp_max(p.width);
    const u32 classes = Addend ? ones_of(__ballot_sync(all_lanes, p.has_class)) : 0, faults = __ballot_sync(all_lanes, bad);
    if (lane() == 0) s.faults.of[warp()] = classes | (faults != 0 ? 1u << 31 : 0);
    const scanned<u32> at = exclusive((p.width + (p.has_class ? 2 : 0)) | p.listed << 16, s.words);
    u32 escaped = 0, any_fault = 0;
    CCOLL_UNROLL
    for (u32 w = 0; w < team_warps; ++w) {
        escaped += s.faults.of[w] & 0xffff;
        any_fault |= s.faults.of[w] >> 31;
    }
    p.before = at.before & 0xffff;
    p.list_before = at.before >> 16;
    p.all_words = at.all & 0xffff;
    const u32 list_words = ((at.all >> 16) + 3) / 4;
    p.good = any_fault == 0 && (!Addend || escaped == h.escaped) && h.in_front + h.codes + p.all_words + list_words == h.words;
    return p;
}

}  // namespace ccoll::detail::device::szp
