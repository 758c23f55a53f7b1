// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/frame.cuh - floor 4. What all kernels of codecs do with the frame around their chunks: header and index are written and read, and a
// launch ends. wire/frame.hpp has the bytes. A format says whose frame it is:
//
//   struct format { static constexpr u32 codec, chunk_elements; static constexpr quality kind; static constexpr bool adds; };
//
// `adds`: there are addends, too. E is the type of the elements.
#pragma once

#include <ccoll/base/error.hpp>
#include <ccoll/cuda/element.cuh>
#include <ccoll/policy/element.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll::inline CCOLL_ABI::detail::device {

/// Where the payload of a frame begins.
CCOLL_DEVICE u64 payload_begin(u32 chunks) { return sizeof(frame_header) + (u64{5} * chunks + 15) / 16 * 16; }

/// A frame of n elements as a kernel writes it. It begins at a multiple of 16 bytes.
template <class Format, class E>
struct frame_output {
    u8* frame;
    u32 chunks;

    CCOLL_DEVICE u8* payload() const { return frame + payload_begin(chunks); }
    /// @param end  where the chunk ends, in units of 16 bytes    @param fill  bytes of 0 behind the chunk
    CCOLL_DEVICE void put_entry(u32 chunk, u32 end, u32 fill, bool raw) const
    {
        store_as<u32>(frame + sizeof(frame_header) + u64{4} * chunk, end | (raw ? raw_chunk : 0));
        frame[sizeof(frame_header) + u64{4} * chunks + chunk] = static_cast<u8>(fill);
    }
    /// Header, and the zeros behind the index. By the first threads of a block.
    CCOLL_DEVICE void put_header(u64 n, double bound, u32 flags = 0) const
    {
        constexpr u32 dtype = dtype_of<E>;
        const u64 eb = bits_of(bound);
        if (me() == 0) {
            const u32 first = u32{wire_version} | Format::codec << 8 | dtype << 16 | flags << 24;
            store_as(frame, uint4{0x4C4F4343u, first, static_cast<u32>(n), static_cast<u32>(n >> 32)});
            store_as(frame + 16, uint4{static_cast<u32>(eb), static_cast<u32>(eb >> 32), Format::chunk_elements, chunks});
            store_as(frame + 32, uint4{static_cast<u32>(Format::kind), 0, 0, 0});
        }
        const u64 at = sizeof(frame_header) + u64{5} * chunks + me();
        if (at < payload_begin(chunks)) frame[at] = 0;
    }
    /// What the last block of a launch does: tells the host, and leaves `s` as it was.
    CCOLL_DEVICE void end_launch(scratch* s, outcome* out) const
    {
        const u64 end = chunks > 0 ? s->sizes[chunks - 1] & ~state_mask : 0;
        __syncthreads();
        if (me() == 0) {
            out->bytes = payload_begin(chunks) + frame_unit * end;
            out->code = s->code;
            out->raw_chunks = s->raw_chunks;
            out->special_values = s->special_values;
            s->blocks_done = s->code = s->raw_chunks = s->special_values = 0;
        }
        for (u32 i = me(); i < chunks; i += team_threads) s->sizes[i] = 0;
    }
};

/// Bytes that stand in shared memory, in 16-byte pieces. By all threads.
CCOLL_DEVICE void put_pieces(const u8* image, u32 pieces, u8* to)
{
    CCOLL_NO_UNROLL
    for (u32 i = me(); i < pieces; i += team_threads) store_as(to + 16 * i, load_as<uint4>(image + 16 * i));
}

// ---- reading: any bytes are safe ----

/// Words from any address, by whole words. Nothing is read from `end` on, but for the rest of its last word.
struct word_reader {
    const u8* at;
    const u8* end;
    u32 shift;  ///< bits

    CCOLL_DEVICE word_reader(const u8* from, const u8* behind)
        : at(from - reinterpret_cast<std::uintptr_t>(from) % 4), end(behind), shift(8 * (reinterpret_cast<std::uintptr_t>(from) % 4))
    {}
    CCOLL_DEVICE u32 word(u32 i) const
    {
        const u8* const p = at + 4 * i;
        u32 w = p < end ? load_as<u32>(p) : 0;
        if (shift > 0) w = w >> shift | (p + 4 < end ? load_as<u32>(p + 4) << (32 - shift) : 0);
        return w;
    }
};

/// Are the last `fill` bytes, up to 15, of the 16 that end at `end` all 0?
CCOLL_DEVICE bool are_zeros(const u8* end, u32 fill)
{
    const uint4 tail = load_as<uint4>(end - frame_unit);
    const u64 low = u64{tail.y} << 32 | tail.x, high = u64{tail.w} << 32 | tail.z;
    if (fill == 0) return true;
    return fill < 8 ? high >> (64 - 8 * fill) == 0 : high == 0 && (fill == 8 || low >> (128 - 8 * fill) == 0);
}

/// Where a chunk stands in a frame, as its entry and the one before it say.
struct chunk_bytes {
    const u8* at = nullptr;
    u32 bytes = 0;
    bool raw = false, good = false;
};

/// A frame that begins at a multiple of 16 bytes, and of which `bytes` bytes may be read.
template <class Format, class E>
struct frame_input {
    const u8* frame;
    u64 bytes;

    template <class V>
    CCOLL_DEVICE V field(u32 at) const
    {
        return load_as<V>(frame + at);
    }
    // Of a frame whose header is good.
    CCOLL_DEVICE u32 flags() const { return Format::adds ? frame[7] : 0; }
    CCOLL_DEVICE double bound() const { return number_of(field<u64>(16)); }

    /// Is this the header of a frame of n elements that this version reads?
    CCOLL_DEVICE status check_header(u64 n, u32 chunks) const
    {
        if (bytes < sizeof(frame_header) || field<u32>(0) != 0x4C4F4343u) return status::corrupt;
        constexpr u32 dtype = dtype_of<E>;
        const u32 word = field<u32>(4), of_frame = word >> 24;
        if ((word & 255) != wire_version) return status::wire_version;
        if ((word >> 8 & 0xffff) != (Format::codec | dtype << 8) || field<u32>(24) != Format::chunk_elements) return status::foreign_frame;
        if (field<u64>(8) != n) return status::count_differs;
        const u64 in_front = payload_begin(chunks);
        const double b = bound();
        const bool is_addend = Format::adds && (of_frame == addend_flag || of_frame == (addend_flag | too_large_flag));
        const bool good = (of_frame == 0 || is_addend) && field<u32>(28) == chunks && b > 0 && b < 1e300 &&
                          field<u64>(32) == static_cast<u64>(Format::kind) && field<u64>(40) == 0 && bytes >= in_front;
        if (!good) return status::corrupt;
        return are_zeros(frame + in_front, static_cast<u32>(in_front - sizeof(frame_header) - u64{5} * chunks)) ? status::ok
                                                                                                                : status::corrupt;
    }
    /// A chunk of `count` values. The header is good.
    /// @param longest  bytes that a chunk of an addend may have; such chunks are not raw
    CCOLL_DEVICE chunk_bytes find(u32 chunks, u32 chunk, u32 count, u32 longest = 0) const
    {
        constexpr u32 index = sizeof(frame_header);
        const u32 entry = load_as<u32>(frame + index + u64{4} * chunk);
        const u32 before = chunk > 0 ? load_as<u32>(frame + index + u64{4} * (chunk - 1)) & ~raw_chunk : 0;
        const u32 end = entry & ~raw_chunk, fill = frame[index + u64{4} * chunks + chunk], raw_bytes = count * static_cast<u32>(sizeof(E));
        const bool is_addend = flags() != 0;
        const u64 in_front = payload_begin(chunks);
        chunk_bytes p;
        p.raw = (entry & raw_chunk) != 0;
        if (end < before || fill >= frame_unit || in_front + u64{frame_unit} * end > bytes) return p;
        const u64 length = u64{frame_unit} * (end - before);
        if (fill > length || length - fill > (is_addend ? longest : raw_bytes)) return p;
        p.at = frame + in_front + u64{frame_unit} * before;
        p.bytes = static_cast<u32>(length) - fill;
        p.good = is_addend ? !p.raw : p.raw ? p.bytes == raw_bytes : p.bytes < raw_bytes;
        p.good = p.good && (fill == 0 || are_zeros(p.at + length, fill));
        return p;
    }
    /// Takes the exponent of the bound from the end of a chunk of two-byte numbers that is not raw. @return the bound of the chunk
    CCOLL_DEVICE double take_bound(chunk_bytes& chunk) const
    {
        if constexpr (is_small<E>) {
            if (flags() == 0) {
                if (chunk.bytes == 0) return 0;
                return bound_of_chunk(bound(), static_cast<std::int8_t>(chunk.at[--chunk.bytes]));
            }
        }
        return bound();
    }
};

/// The end of a launch that decodes: its last block tells the host whether all chunks were in order. By all threads.
/// @param room  a word of shared memory
CCOLL_DEVICE void end_decoding(status mine, u32 chunks, scratch* s, outcome* out, u32& room)
{
    if (mine != status::ok && me() == 0) report(s, static_cast<u32>(mine));
    if (!is_last_block(s, larger(chunks, 1u), room) || me() != 0) return;
    out->bytes = 0;
    out->code = s->code;
    s->blocks_done = s->code = 0;
}

}  // namespace ccoll::detail::device
