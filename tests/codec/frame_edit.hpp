// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// frame_edit.hpp - frames taken apart and put together by hand, for tests of readers.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include <ccoll/codec.hpp>

namespace frame_edit {

using bytes = std::vector<std::byte>;

constexpr std::size_t padded(std::size_t size) { return (size + 15) / 16 * 16; }

/// Where the payload of a frame with so many chunks begins: behind 48 bytes, 8 for each chunk, and zeros up
/// to a multiple of 16.
constexpr std::size_t start(std::size_t chunks) { return padded(48 + 8 * chunks); }
/// The same, where there is one chunk.
inline constexpr std::size_t start_of_one = start(1);
static_assert(start_of_one == 64);

inline std::size_t chunks_of(const bytes& frame) { return ccoll::load<std::uint32_t>(frame, 28); }

/// Where the entry of chunk i is.
constexpr std::size_t entry(std::size_t i) { return 48 + 8 * i; }
/// Where chunk i begins, and how long it is.
inline std::size_t begin_of(const bytes& frame, std::size_t i)
{
    return start(chunks_of(frame)) +
           16 * std::size_t{ccoll::load<std::uint32_t>(frame, entry(i)) & ~ccoll::raw_chunk};
}
inline std::size_t bytes_of(const bytes& frame, std::size_t i)
{
    return ccoll::load<std::uint32_t>(frame, entry(i) + 4);
}

/// Gives the last chunk of `frame` the bytes from `begin` to the end: fills them up with zeros, and says so
/// in index and header.
inline void end_at(bytes& frame, std::size_t begin)
{
    const std::size_t chunks = chunks_of(frame), last = chunks - 1, size = frame.size() - begin;
    frame.resize(begin + padded(size), std::byte{0});
    const bool raw = (ccoll::load<std::uint32_t>(frame, entry(last)) & ccoll::raw_chunk) != 0;
    ccoll::put_entry(frame, last, begin - start(chunks), size, raw);
    ccoll::put_payload(frame, frame.size() - start(chunks));
}
/// Of a frame with one chunk.
inline void end_at(bytes& frame) { end_at(frame, start_of_one); }

/// Header and index of a frame with one chunk.
inline bytes front_of(const bytes& frame) { return {frame.begin(), frame.begin() + start_of_one}; }

/// Chunk i, without its fill.
inline bytes chunk_of(const bytes& frame, std::size_t i = 0)
{
    ccoll::frame_view view;
    if (ccoll::read_frame(frame, view) != ccoll::status::ok) return {};
    const auto chunk = view.chunk(i).data;
    return {chunk.begin(), chunk.end()};
}
/// The frame up to the end of its last chunk, which is last in memory as well: what end_at makes a frame of
/// again.
inline bytes without_fill(const bytes& frame)
{
    const std::size_t last = chunks_of(frame) - 1;
    return {frame.begin(),
            frame.begin() + static_cast<std::ptrdiff_t>(begin_of(frame, last) + bytes_of(frame, last))};
}

/// The frame with its chunks in this order, `gap` units of zeros before each, and equal ones in one place if
/// `shared`.
inline bytes rearranged(const bytes& frame, const std::vector<std::size_t>& order, std::size_t gap = 0,
                        bool shared = false)
{
    const std::size_t front = start(chunks_of(frame));
    bytes out(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(front));
    std::vector<std::size_t> written;
    for (const std::size_t i : order) {
        const bytes chunk = chunk_of(frame, i);
        const bool raw = (ccoll::load<std::uint32_t>(frame, entry(i)) & ccoll::raw_chunk) != 0;
        const auto equal = std::find_if(written.begin(), written.end(),
                                        [&](std::size_t j) { return chunk_of(frame, j) == chunk; });
        std::size_t at = out.size() + 16 * gap;
        if (shared && equal != written.end()) {
            at = begin_of(out, *equal);
        } else {
            out.resize(at);
            out.insert(out.end(), chunk.begin(), chunk.end());
            out.resize(front + padded(out.size() - front), std::byte{0});
        }
        ccoll::put_entry(out, i, at - front, chunk.size(), raw);
        written.push_back(i);
    }
    ccoll::put_payload(out, out.size() - front);
    return out;
}

}  // namespace frame_edit
