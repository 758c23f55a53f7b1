// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wire/frame.hpp - floor 1. The frame around encoded chunks, the same for all codecs. Any bytes are safe to
// read as a frame. Drawn byte by byte in docs/wire_format.md.
//
//   0  u32 magic "CCOL"    4 u8 version    5 u8 codec    6 u8 dtype    7 u8 flags
//   8  u64 elements       16 f64 bound    24 u32 elements per chunk   28 u32 chunks
//  32  u8 quality         33 u8 inner codec    34 u16 0               36 u32 units of the payload
//  40  u32 bytes of the trailer               44 u32 0
//  48  {u32 place, u32 bytes}[chunks]
//                          where chunk i begins, in units of 16 bytes from the start of the payload, and how
//                          long it is; top bit of place: the chunk is the elements as they are
//  ..  zeros               up to a multiple of 16 bytes from the start of the frame
//  ..  payload             chunks in any order, each at a multiple of 16 bytes and with zeros behind it up to
//                          the next one
//
// flags  1: an addend, which a homomorphic codec can add to others    2: an addend that its codec could not
//                                                                     hold; no chunk has bytes
//
// Chunks say where they begin, so threads and thread blocks of a GPU put them where there is room, and nobody
// waits for the lengths of the chunks before. They say how long they are, so a codec is given exactly the
// bytes that it wrote, without a load that depends on another load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>

namespace ccoll::inline CCOLL_ABI {

inline constexpr std::uint8_t wire_version = 9;

/// What `bound` in a header means.
enum class quality : std::uint8_t {
    exact,     ///< nothing is lost; bound is 0
    absolute,  ///< every value is within `bound` of the original
    rate       ///< `bound` bits per element; nothing is promised about the error
};

struct frame_header {
    std::uint32_t magic = 0x4C4F4343;
    std::uint8_t version = wire_version, codec = 0, dtype = 0, flags = 0;
    std::uint64_t elements = 0;
    double bound = 0;
    std::uint32_t chunk_elements = 1, chunks = 0;
    quality kind = quality::exact;
    std::uint8_t inner_codec = 0;  ///< what a wrapping codec wraps; 0: nothing
    std::uint16_t reserved = 0;
    std::uint32_t payload = 0;  ///< its length in units of 16 bytes
    /// Bytes after the payload that belong to the frame. No version has any yet: 0.
    std::uint32_t trailer = 0;
    std::uint32_t reserved_too = 0;

    friend constexpr bool operator==(const frame_header&, const frame_header&) = default;
};
static_assert(sizeof(frame_header) == 48, "ccoll: a frame header has 48 bytes on the wire");
static_assert(offsetof(frame_header, kind) == 32 && offsetof(frame_header, payload) == 36 &&
              offsetof(frame_header, trailer) == 40);

inline constexpr std::uint8_t addend_flag = 1, too_large_flag = 2;
inline constexpr std::uint32_t raw_chunk = 0x80000000u;

/// Every chunk, and the payload itself, begin at a multiple of this many bytes.
inline constexpr std::size_t frame_unit = 16;
constexpr std::size_t padded_to_unit(std::size_t bytes) noexcept
{
    return (bytes + frame_unit - 1) / frame_unit * frame_unit;
}

/// Bytes of a chunk's entry in the index.
inline constexpr std::size_t entry_bytes = 8;

/// Bytes before the payload of a frame with this many chunks.
constexpr std::size_t payload_offset(std::size_t chunks) noexcept
{
    return sizeof(frame_header) + padded_to_unit(entry_bytes * chunks);
}

/// The largest payload in which a place of 31 bits reaches every chunk: 32 GiB.
inline constexpr std::uint64_t most_payload_bytes = std::uint64_t{frame_unit} * (raw_chunk - 1);

/// Writes the entry of chunk i in the index of a frame: it begins `at` bytes behind the start of the payload.
/// Entries of different chunks may be written by different threads.
inline void put_entry(byte_span frame, std::size_t i, std::size_t at, std::size_t bytes, bool raw) noexcept
{
    store(frame, sizeof(frame_header) + entry_bytes * i,
          static_cast<std::uint32_t>(at / frame_unit) | (raw ? raw_chunk : 0));
    store(frame, sizeof(frame_header) + entry_bytes * i + 4, static_cast<std::uint32_t>(bytes));
}
/// Writes the length of the payload, which is known when all chunks have been placed.
inline void put_payload(byte_span frame, std::size_t bytes) noexcept
{
    store(frame, offsetof(frame_header, payload), static_cast<std::uint32_t>(bytes / frame_unit));
}

/// A frame, with the parts that its header and index describe, as views into the bytes it was read from.
struct frame_view {
    struct piece {
        const_byte_span data;  ///< the bytes of the chunk
        std::size_t readable;  ///< bytes after `data` that belong to the frame, too
        bool raw;

        constexpr piece(const_byte_span bytes, std::size_t behind = 0, bool is_raw = false) noexcept
            : data(bytes), readable(behind), raw(is_raw)
        {}
    };

    frame_header header;
    const_byte_span whole, index, payload;

    std::size_t bytes() const noexcept { return whole.size(); }
    bool is_addend() const noexcept { return (header.flags & addend_flag) != 0; }
    /// An addend that its codec could not hold. It has no chunks.
    bool says_too_large() const noexcept { return (header.flags & too_large_flag) != 0; }

    // These are for a frame whose index has been checked (chunked<>::open).

    bool is_raw(std::size_t i) const noexcept { return (place_of(i) & raw_chunk) != 0; }
    std::size_t begin_of(std::size_t i) const noexcept { return frame_unit * (place_of(i) & ~raw_chunk); }
    std::size_t bytes_of(std::size_t i) const noexcept
    {
        return load<std::uint32_t>(index, entry_bytes * i + 4);
    }
    piece chunk(std::size_t i) const noexcept
    {
        const std::size_t begin = begin_of(i), bytes = bytes_of(i);
        return {payload.subspan(begin, bytes), payload.size() - begin - bytes, is_raw(i)};
    }

private:
    std::uint32_t place_of(std::size_t i) const noexcept
    {
        return load<std::uint32_t>(index, entry_bytes * i);
    }
};

/// Are the last `fill` bytes of the 16 that end at `end` all 0? At most 15 of them.
inline bool ends_with_zeros(const std::byte* end, std::size_t fill) noexcept
{
    if (fill == 0) return true;
    std::uint64_t low, high;
    std::memcpy(&low, end - frame_unit, sizeof low);
    std::memcpy(&high, end - frame_unit + sizeof low, sizeof high);
    return fill < 8 ? high >> (64 - 8 * fill) == 0 : high == 0 && (fill == 8 || low >> (128 - 8 * fill) == 0);
}

/// Are all bytes after a chunk, up to the next multiple of 16, 0? The reader of a chunk asks this, so that
/// opening a frame touches no chunk.
inline bool is_filled_with_zeros(const frame_view::piece& p) noexcept
{
    const std::size_t fill = padded_to_unit(p.data.size()) - p.data.size();
    return ends_with_zeros(p.data.data() + p.data.size() + fill, fill);
}

/// Finds the parts of the frame at the start of `from`; trailing bytes are ignored. The index itself is
/// checked by chunked<>::open, which knows what its chunks may be. Any bytes are safe.
/// Cost: O(1), no allocation.
/// @return ok, corrupt, or wire_version (a frame of another version; only its first 5 bytes have been read).
inline status read_frame(const const_byte_span from, frame_view& view) noexcept
{
    if (from.size() < 5 || load<std::uint32_t>(from, 0) != frame_header{}.magic) return status::corrupt;
    if (load<std::uint8_t>(from, 4) != wire_version) return status::wire_version;
    if (from.size() < sizeof(frame_header)) return status::corrupt;
    const auto h = load<frame_header>(from, 0);
    if (h.chunk_elements == 0 ||
        (h.flags != 0 && h.flags != addend_flag && h.flags != (addend_flag | too_large_flag)))
        return status::corrupt;
    // Does not overflow; a division would cost more.
    const std::uint64_t room = std::uint64_t{h.chunks} * h.chunk_elements;
    if (h.elements > room || room - h.elements >= h.chunk_elements) return status::corrupt;
    if (h.kind > quality::rate || (h.kind == quality::exact) != (h.bound == 0)) return status::corrupt;
    if (h.reserved != 0 || h.trailer != 0 || h.reserved_too != 0) return status::corrupt;
    const std::uint64_t in_front =
        sizeof h + (std::uint64_t{entry_bytes} * h.chunks + frame_unit - 1) / frame_unit * frame_unit;
    if (from.size() < in_front) return status::corrupt;
    view.header = h;
    view.index = from.subspan(sizeof h, entry_bytes * std::size_t{h.chunks});
    if (!ends_with_zeros(from.data() + in_front,
                         static_cast<std::size_t>(in_front) - sizeof h - view.index.size()))
        return status::corrupt;
    view.payload = from.subspan(static_cast<std::size_t>(in_front));
    const std::size_t length = frame_unit * std::size_t{h.payload};
    if (length > view.payload.size()) return status::corrupt;
    view.payload = view.payload.first(length);
    view.whole = from.first(static_cast<std::size_t>(in_front) + length);
    return status::ok;
}

}  // namespace ccoll::inline CCOLL_ABI
