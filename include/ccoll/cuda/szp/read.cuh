// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/read.cuh - floor 4. Where the parts of a frame of SZp are, for kernels that read it: header, index, head of a chunk, blocks. Any
// bytes are safe.
#pragma once

#include <ccoll/cuda/szp/layout.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// What a kernel reads of a frame that begins at a multiple of 16 bytes.
struct frame_reader {
    const u8* frame;
    u64 bytes;  ///< that may be read

    template <class V>
    CCOLL_DEVICE V field(u32 at) const
    {
        return load_as<V>(frame + at);
    }
    CCOLL_DEVICE double bound() const { return number_of(field<u64>(16)); }
    CCOLL_DEVICE u32 flags() const { return frame[7]; }
};

/// Are the last `fill` bytes, up to 15, of the 16 that end at `end` all 0?
CCOLL_DEVICE bool ends_with_zeros(const u8* end, u32 fill)
{
    const uint4 tail = load_as<uint4>(end - unit_bytes);
    const u64 low = u64{tail.y} << 32 | tail.x, high = u64{tail.w} << 32 | tail.z;
    if (fill == 0) return true;
    return fill < 8 ? high >> (64 - 8 * fill) == 0 : high == 0 && (fill == 8 || low >> (128 - 8 * fill) == 0);
}

/// Is this the header of a frame of n values of T that this version reads? By one thread or all.
template <class T>
CCOLL_DEVICE status check_header(const frame_reader& r, u64 n, u32 chunks)
{
    constexpr u32 dtype = is_f32<T> ? 0 : 1;
    const u64 in_front = 48 + (u64{5} * chunks + 15) / 16 * 16;
    if (r.bytes < 48 || r.field<u32>(0) != 0x4C4F4343u) return status::corrupt;
    const u32 word = r.field<u32>(4), flags = word >> 24;
    if ((word & 255) != wire_version) return status::wire_version;
    if ((word >> 8 & 0xffff) != (3 | dtype << 8) || r.field<u32>(24) != chunk_elements) return status::foreign_frame;
    if (r.field<u64>(8) != n) return status::count_differs;
    const double bound = r.bound();
    const bool good = (flags == 0 || flags == addend_flag || flags == (addend_flag | too_large_flag)) && r.field<u32>(28) == chunks &&
                      bound > 0 && bound < 1e300 && r.field<u64>(32) == static_cast<u64>(quality::absolute) && r.field<u64>(40) == 0 &&
                      r.bytes >= in_front;
    if (!good) return status::corrupt;
    return ends_with_zeros(r.frame + in_front, static_cast<u32>(in_front - 48 - u64{5} * chunks)) ? status::ok : status::corrupt;
}

/// Where a chunk stands in a frame whose header is good, as its entry and the one before it say.
struct piece {
    const u8* at = nullptr;
    u32 bytes = 0;
    bool raw = false, good = false;
};
/// A chunk of an addend has as many bytes as its widest blocks and fill values in all places take; any other one that is not raw has less
/// than its values.
template <class T>
CCOLL_DEVICE piece find_piece(const frame_reader& r, u32 chunks, u32 chunk, u32 count)
{
    const u32 entry = r.field<u32>(48 + 4 * chunk), before = chunk > 0 ? r.field<u32>(44 + 4 * chunk) & ~raw_chunk : 0;
    const u32 end = entry & ~raw_chunk, fill = r.frame[48 + u64{4} * chunks + chunk], raw_bytes = count * static_cast<u32>(sizeof(T));
    const u64 in_front = 48 + (u64{5} * chunks + 15) / 16 * 16, last = in_front + u64{unit_bytes} * end;
    const u32 blocks = (count + 31) / 32, of_fills = 32 + sizeof(T) + 2 * (blocks + 2 * blocks + 4 * blocks + count);
    const u32 longest = 4 * (5 + code_words(blocks, false) + blocks * (widest + 2)) + of_fills;
    piece p;
    p.raw = (entry & raw_chunk) != 0;
    p.good = end >= before && fill < unit_bytes && last <= r.bytes && u64{unit_bytes} * (end - before) <= longest + raw_bytes;
    if (!p.good) return p;
    p.good = fill <= unit_bytes * (end - before);
    p.at = r.frame + in_front + u64{unit_bytes} * before;
    p.bytes = unit_bytes * (end - before) - fill;
    const bool addend = r.flags() != 0;
    p.good = p.good && (addend ? !p.raw && p.bytes <= longest : p.raw ? p.bytes == raw_bytes : p.bytes < raw_bytes);
    if (!p.good || fill == 0) return p;
    p.good = ends_with_zeros(p.at + p.bytes + fill, fill);
    return p;
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

    CCOLL_DEVICE bool is_flat() const { return kind == flat || kind == wide_flat; }
    CCOLL_DEVICE bool is_narrow() const { return kind <= flat; }
};
/// @param from  `bytes` bytes, aligned to 4
template <class T, bool Addend>
CCOLL_DEVICE chunk_head read_head(const u32* from, u32 bytes, u32 blocks)
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
    if (h.kind > wide_flat || (Addend ? h.kind == fine : h.kind >= wide)) return h;
    if ((!h.packed && h.lowest != 0) || h.lowest > widest || (h.lists && (Addend || !h.packed || h.lowest != 0))) return h;
    if (h.alone && h.kind != narrow) return h;
    h.in_front = head_words<T>(h.kind);
    if (h.words < h.in_front) return h;
    const bool is_long = h.in_front == 5;
    h.base = is_long ? from[1] | u64{from[2]} << 32 : static_cast<u64>(static_cast<i64>(static_cast<i32>(from[1])));
    const u64 second = is_long ? from[3] | u64{from[4]} << 32 : u64{from[2]};
    if (h.kind == fine) h.step = second;
    else h.largest = second;
    if (h.alone && h.base != 0) return h;
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
    const u32 most = h.kind == narrow || (h.kind == fine && is_f32<T>) ? widest_narrow : widest;
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
