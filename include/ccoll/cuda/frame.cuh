// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/frame.cuh - floor 4. What all kernels of codecs do with the frame around their chunks: chunks get a
// place and an entry in the index, header and index are read, and a call ends. wire/frame.hpp has the bytes.
// A format says whose frame it is:
//
//   struct format {
//       static constexpr u32 codec, chunk_elements;
//       static constexpr quality kind;
//       static constexpr bool adds;
//   };
//
// `adds`: there are addends, too. E is the type of the elements.
#pragma once

#include <algorithm>

#include <ccoll/cuda/element.cuh>
#include <ccoll/policy/element.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll::inline CCOLL_ABI::detail::device {

inline constexpr u32 unit_bytes = frame_unit, index_begin = sizeof(frame_header),
                     payload_field = offsetof(frame_header, payload);

/// Where the payload of a frame begins.
__host__ __device__ constexpr u64 payload_begin(u64 chunks)
{
    return index_begin + (u64{entry_bytes} * chunks + 15) / 16 * 16;
}

/// What the frames of a call have in common: elements, their type, and chunks.
struct frame_facts {
    u64 n = 0;
    u32 chunks = 0, dtype = 0;
};
template <class E>
CCOLL_DEVICE frame_facts facts_of(u64 n, u32 chunks)
{
    constexpr u32 dtype = dtype_of<E>;
    return {n, chunks, dtype};
}
template <class Format>
CCOLL_DEVICE u32 values_of_chunk(u64 n, u32 chunk)
{
    return static_cast<u32>(smaller(n - u64{Format::chunk_elements} * chunk, u64{Format::chunk_elements}));
}

// ---- writing ----

/// A frame that is written. It begins at a multiple of 16 bytes.
struct frame_out {
    u8* frame = nullptr;
    u64 begin = 0;  ///< of the payload

    CCOLL_DEVICE void put_entry(u32 chunk, u32 place, u32 bytes, bool raw) const
    {
        store_as(frame + index_begin + u64{entry_bytes} * chunk,
                 u64{bytes} << 32 | place | (raw ? raw_chunk : 0));
    }
    CCOLL_DEVICE u8* unit(u32 place) const { return frame + begin + u64{unit_bytes} * place; }
    /// Finds a place for a chunk, and writes its entry. By one thread.
    CCOLL_DEVICE u32 place(scratch* s, u32 chunk, u32 bytes, bool raw) const
    {
        const u32 at = atomicAdd(&s->units, (bytes + unit_bytes - 1) / unit_bytes);
        put_entry(chunk, at, bytes, raw);
        return at;
    }
};
inline frame_out frame_to(void* at, u64 chunks) { return {static_cast<u8*>(at), payload_begin(chunks)}; }

/// Bytes that stand in shared memory, in 16-byte pieces. By all threads.
CCOLL_DEVICE void put_pieces(const u8* image, u32 pieces, u8* to)
{
    CCOLL_NO_UNROLL
    for (u32 i = me(); i < pieces; i += team_threads) store_as(to + 16 * i, load_as<uint4>(image + 16 * i));
}

/// By one thread. @param units  of the payload
template <class Format>
CCOLL_DEVICE void put_header(u8* frame, const frame_facts& f, double bound, u32 flags, u32 units)
{
    const u64 eb = bits_of(bound);
    const u32 first = u32{wire_version} | Format::codec << 8 | f.dtype << 16 | flags << 24;
    store_as(frame, uint4{0x4C4F4343u, first, static_cast<u32>(f.n), static_cast<u32>(f.n >> 32)});
    store_as(frame + 16,
             uint4{static_cast<u32>(eb), static_cast<u32>(eb >> 32), Format::chunk_elements, f.chunks});
    store_as(frame + 32, uint4{static_cast<u32>(Format::kind), units, 0, 0});
    if (f.chunks % 2 != 0) store_as(frame + index_begin + u64{entry_bytes} * f.chunks, u64{0});
}

/// The last thread block of a call tells the host, and leaves `s` as it was. An addend that cannot be held
/// becomes a frame that says so. By the first warp, of which thread 0 has reported what this block found.
/// @param to  the frame that has been written, if any
/// @tparam Counts  exceptional values, which nobody counts in sums
template <class Format, bool Counts = true>
CCOLL_DEVICE void end_call(const frame_out& to, const frame_facts& f, double bound, u32 flags, u32 blocks,
                           scratch* s, outcome* told)
{
    if (warp() != 0) return;
    const u32 before = lane() == 0 ? count_up(&s->blocks_done) : 0;
    if (__shfl_sync(all_lanes, before, 0) + 1 != blocks) return;
    __syncwarp();
    const u32 code = s->code;
    const bool writes = to.frame != nullptr,
               too_large = Format::adds && code == static_cast<u32>(status::too_large);
    if (writes && too_large)
        for (u32 i = lane(); i < f.chunks; i += 32) to.put_entry(i, 0, 0, false);
    __syncwarp();
    if (lane() != 0) return;
    const u32 units = too_large ? 0 : s->units;
    if (writes) put_header<Format>(to.frame, f, bound, flags | (too_large ? too_large_flag : 0), units);
    told->bytes = writes ? to.begin + u64{unit_bytes} * units : 0;
    told->code = code;
    told->raw_chunks = s->raw_chunks;
    told->special_values = too_large || !Counts ? 0 : s->special_values;
    s->units = s->listed = s->blocks_done = s->code = s->raw_chunks = 0;
    s->special_values = 0;
}
/// Of a decoder. @param mine  what this block has found
template <class Format>
CCOLL_DEVICE void end_decoding(status mine, u32 blocks, scratch* s, outcome* told)
{
    if (mine != status::ok && me() == 0) report(s, mine);
    end_call<Format>({}, {}, 0, 0, blocks, s, told);
}

// ---- reading: any bytes are safe ----

/// A frame that is read. It begins at a multiple of 16 bytes.
struct frame_in {
    const u8* frame = nullptr;
    u64 bytes = 0;  ///< that may be read
    const u8* payload = nullptr;
    u32 units = 0;  ///< that may be read of the payload

    frame_in() = default;
    frame_in(const void* at, u64 n, u64 chunks) : frame(static_cast<const u8*>(at)), bytes(n)
    {
        const u64 begin = payload_begin(chunks);
        if (bytes < begin) return;
        payload = frame + begin;
        units = static_cast<u32>(std::min<u64>((bytes - begin) / unit_bytes, raw_chunk));
    }
    bool has_index() const { return payload != nullptr; }
};
/// Of a frame whose header is good.
CCOLL_DEVICE u32 flags_of(const frame_in& f) { return f.frame[7]; }
CCOLL_DEVICE double bound_of(const frame_in& f) { return number_of(load_as<u64>(f.frame + 16)); }

/// Is this the header of such a frame that this version reads? The bytes in front of the payload that mean
/// nothing are 0.
template <class Format>
CCOLL_DEVICE status check_header(const frame_in& f, const frame_facts& expected)
{
    const u8* const p = f.frame;
    const u32 chunks = expected.chunks;
    if (f.bytes < index_begin || load_as<u32>(p) != 0x4C4F4343u) return status::corrupt;
    const u32 word = load_as<u32>(p + 4), flags = word >> 24;
    if ((word & 255) != wire_version) return status::wire_version;
    if ((word >> 8 & 0xffff) != (Format::codec | expected.dtype << 8) ||
        load_as<u32>(p + 24) != Format::chunk_elements)
        return status::foreign_frame;
    if (load_as<u64>(p + 8) != expected.n) return status::count_differs;
    const double b = bound_of(f);
    const u32 units = load_as<u32>(p + payload_field);
    const bool is_addend = Format::adds && (flags == addend_flag || flags == (addend_flag | too_large_flag));
    const bool good = (flags == 0 || is_addend) && load_as<u32>(p + 28) == chunks && b > 0 && b < 1e300 &&
                      load_as<u32>(p + 32) == static_cast<u32>(Format::kind) && load_as<u64>(p + 40) == 0 &&
                      f.payload != nullptr && units <= f.units;
    if (!good) return status::corrupt;
    return chunks % 2 == 0 || load_as<u64>(p + index_begin + u64{entry_bytes} * chunks) == 0
               ? status::ok
               : status::corrupt;
}

/// Where a chunk stands, by the index.
struct chunk_place {
    const u8* at;
    u32 bytes;
    bool raw, good;
};
CCOLL_DEVICE chunk_place find_chunk(const frame_in& f, u32 chunk)
{
    const uint2 entry = get_constant_pair(f.frame + index_begin + u64{entry_bytes} * chunk);
    const u32 place = entry.x & ~raw_chunk, limit = smaller(get_constant(f.frame + payload_field), f.units);
    const bool good = (place < limit) & ((entry.y - 1) / unit_bytes < limit - place);  // no chunk has 0 bytes
    return {f.payload + u64{unit_bytes} * place, entry.y, (entry.x & raw_chunk) != 0, good};
}
/// Are all bytes of a unit 0, but for its first ones? @param used  how many these are, below 16
CCOLL_DEVICE bool ends_with_zeros(const uint4& unit, u32 used)
{
    const u64 low = u64{unit.y} << 32 | unit.x, high = u64{unit.w} << 32 | unit.z;
    return used < 8 ? (high | low >> 8 * used) == 0 : high >> (8 * used - 64) == 0;
}
/// Are the bytes behind a chunk, up to the next multiple of 16, all 0?
CCOLL_DEVICE bool is_filled_with_zeros(const chunk_place& c)
{
    const u32 used = c.bytes % unit_bytes;
    return used == 0 || ends_with_zeros(load_as<uint4>(c.at + (c.bytes - used)), used);
}
/// The same of `count` elements that are not an addend. Chunks that are not raw are shorter than their
/// elements.
template <class E>
CCOLL_DEVICE chunk_place find_chunk(const frame_in& f, u32 chunk, u32 count)
{
    chunk_place c = find_chunk(f, chunk);
    const u32 raw_bytes = count * static_cast<u32>(sizeof(E));
    c.good = c.good && (c.raw ? c.bytes == raw_bytes : c.bytes < raw_bytes) && is_filled_with_zeros(c);
    return c;
}
/// The bound of a chunk for movement. At the end of a chunk of two-byte numbers that is not raw stands its
/// exponent, which is taken away.
template <class E>
CCOLL_DEVICE double take_bound(const frame_in& f, chunk_place& chunk)
{
    if constexpr (is_small<E>)
        return bound_of_chunk(bound_of(f), static_cast<std::int8_t>(chunk.at[--chunk.bytes]));
    else return bound_of(f);
}

/// Words from any address, by whole words. Nothing is read from `end` on, but for the rest of its last word.
struct word_reader {
    const u8* at;
    const u8* end;
    u32 shift;  ///< bits

    CCOLL_DEVICE word_reader(const u8* from, const u8* behind)
        : at(from - reinterpret_cast<std::uintptr_t>(from) % 4), end(behind),
          shift(8 * (reinterpret_cast<std::uintptr_t>(from) % 4))
    {}
    CCOLL_DEVICE u32 word(u32 i) const
    {
        const u8* const p = at + 4 * i;
        u32 w = p < end ? load_as<u32>(p) : 0;
        if (shift > 0) w = w >> shift | (p + 4 < end ? load_as<u32>(p + 4) << (32 - shift) : 0);
        return w;
    }
};

}  // namespace ccoll::detail::device
