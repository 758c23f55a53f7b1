// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wire/frame.hpp - floor 1. The frame around encoded chunks. Written once for all codecs; reading it is total.
// Drawn byte by byte in docs/wire_format.md.
//
//   0  u32 magic "CCOL"    4 u8 version    5 u8 codec    6 u8 dtype    7 u8 flags
//   8  u64 elements       16 f64 bound    24 u32 elements per chunk   28 u32 chunks
//  32  u32 size[chunks]     bytes of chunk i; top bit set: the chunk is the elements as they are
//  ..  chunks, one after another
//
// flags  1: an addend, which a homomorphic codec can add to others    2: an addend that its codec could not hold; no chunk has bytes
#pragma once

#include <cstdint>

#include <ccoll/base/config.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>

namespace ccoll::inline CCOLL_ABI {

inline constexpr std::uint8_t wire_version = 4;

struct frame_header {
    std::uint32_t magic = 0x4C4F4343;
    std::uint8_t version = wire_version, codec = 0, dtype = 0, flags = 0;
    std::uint64_t elements = 0;
    double bound = 0;
    std::uint32_t chunk_elements = 1, chunks = 0;

    friend constexpr bool operator==(const frame_header&, const frame_header&) = default;
};
static_assert(sizeof(frame_header) == 32, "ccoll: a frame header has 32 bytes on the wire");

inline constexpr std::uint8_t addend_flag = 1, too_large_flag = 2;
inline constexpr std::uint32_t raw_chunk = 0x80000000u;

/// A frame whose header and index have been checked: the chunks named by the index lie inside `payload`, which they fill.
struct frame_view {
    struct piece {
        const_byte_span data;
        bool raw;
    };

    frame_header header;
    const_byte_span whole, index, payload;

    std::uint32_t entry(std::uint32_t i) const noexcept { return load<std::uint32_t>(index, 4 * std::size_t{i}); }
    std::size_t bytes() const noexcept { return whole.size(); }
    bool is_addend() const noexcept;
    /// An addend that its codec could not hold. It has no chunks.
    bool says_too_large() const noexcept;

    /// Chunk i, which begins at `offset` of the payload; moves `offset` behind it. Read chunks in order, from offset 0.
    piece chunk(std::uint32_t i, std::size_t& offset) const noexcept
    {
        const std::size_t from = offset, size = entry(i) & ~raw_chunk;
        offset += size;
        return {payload.subspan(from, size), (entry(i) & raw_chunk) != 0};
    }
};

/// Checks header and index of the frame at the start of `from`; trailing bytes belong to whatever follows.
/// Total: any bytes are safe. Cost: O(chunks), no allocation.
/// @return ok, corrupt, or wire_version (a frame, but not of this version; nothing behind its first 5 bytes was believed).
inline status read_frame(const_byte_span from, frame_view& view) noexcept
{
    if (from.size() < sizeof(frame_header)) return status::corrupt;
    const auto h = load<frame_header>(from, 0);
    if (h.magic != frame_header{}.magic) return status::corrupt;
    if (h.version != wire_version) return status::wire_version;
    if (h.chunk_elements == 0 || (h.flags != 0 && h.flags != addend_flag && h.flags != (addend_flag | too_large_flag))) return status::corrupt;
    if (h.chunks != h.elements / h.chunk_elements + (h.elements % h.chunk_elements != 0)) return status::corrupt;
    const auto rest = from.subspan(sizeof h);
    if (rest.size() / 4 < h.chunks) return status::corrupt;
    view = {h, from, rest.first(4 * std::size_t{h.chunks}), rest.subspan(4 * std::size_t{h.chunks})};
    std::size_t length = 0;
    for (std::uint32_t i = 0; i < h.chunks; ++i) {
        length += view.entry(i) & ~raw_chunk;
        if (length > view.payload.size()) return status::corrupt;
    }
    view.payload = view.payload.first(length);
    view.whole = from.first(sizeof h + view.index.size() + length);
    return status::ok;
}

inline bool frame_view::is_addend() const noexcept { return (header.flags & addend_flag) != 0; }
inline bool frame_view::says_too_large() const noexcept { return (header.flags & too_large_flag) != 0; }

}  // namespace ccoll
