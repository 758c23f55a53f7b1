// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// frame_edit.hpp - frames taken apart and put together by hand, for tests of readers.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include <ccoll/codec.hpp>

namespace frame_edit {

using bytes = std::vector<std::byte>;

/// Where the chunks of a frame with so many chunks begin: behind 48 bytes, 5 for each chunk, and zeros up to a multiple of 16.
constexpr std::size_t start(std::size_t chunks) { return (48 + 5 * chunks + 15) / 16 * 16; }
/// The same, where there is one chunk.
inline constexpr std::size_t start_of_one = start(1);
static_assert(start_of_one == 64);

constexpr std::size_t padded(std::size_t size) { return (size + 15) / 16 * 16; }

/// Gives the last chunk of `frame` the bytes from `begin` to its end: fills them up with zeros, and says so in the index.
inline void end_at(bytes& frame, std::size_t begin)
{
    const std::size_t chunks = ccoll::load<std::uint32_t>(frame, 28), last = chunks - 1, size = frame.size() - begin;
    frame.resize(begin + padded(size), std::byte{0});
    const bool raw = (ccoll::load<std::uint32_t>(frame, 48 + 4 * last) & ccoll::raw_chunk) != 0;
    ccoll::put_entry(frame, chunks, last, frame.size() - start(chunks), padded(size) - size, raw);
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
/// The frame up to the end of its last chunk: what end_at makes a frame of again.
inline bytes without_fill(const bytes& frame)
{
    const std::size_t chunks = ccoll::load<std::uint32_t>(frame, 28);
    return {frame.begin(), frame.end() - static_cast<std::ptrdiff_t>(frame[48 + 4 * chunks + chunks - 1])};
}

}  // namespace frame_edit
