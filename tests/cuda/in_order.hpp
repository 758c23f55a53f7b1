// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Frames of which only what follows from the values is compared: kernels place chunks as they come, and pack
// exceptional values as they like.
#pragma once

#include <ccoll/codec.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

/// A frame with its chunks one after another: kernels place them as they come. What stands in gaps is left
/// out.
/// @param length  (chunk) -> bytes of it that count; all by default
template <class Length>
std::vector<std::byte> in_order(const std::vector<std::byte>& frame, Length length)
{
    ccoll::frame_view view;
    if (ccoll::read_frame(frame, view) != ccoll::status::ok) return frame;
    constexpr std::size_t of_payload = offsetof(ccoll::frame_header, payload);
    std::vector<std::byte> all(frame.begin(), frame.begin() + of_payload);
    for (std::size_t i = 0; i < view.header.chunks; ++i) {
        const ccoll::frame_view::piece chunk = view.chunk(i);
        const ccoll::const_byte_span counts = chunk.data.first(length(chunk));
        const std::uint64_t in_front = std::uint64_t{counts.size()} << 1 | chunk.raw;
        for (const ccoll::const_byte_span each : {std::as_bytes(std::span(&in_front, 1)), counts})
            all.insert(all.end(), each.begin(), each.end());
    }
    return all;
}
inline std::vector<std::byte> in_order(const std::vector<std::byte>& frame)
{
    return in_order(frame, [](const ccoll::frame_view::piece& chunk) { return chunk.data.size(); });
}

/// Bytes of a chunk that follow from its values. How exceptional values are packed behind them is free.
template <class Codec>
std::size_t bytes_of_law(const ccoll::frame_view::piece& chunk)
{
    constexpr bool has_sections = std::is_same_v<Codec, ccoll::policies::Codec::SZx> ||
                                  std::is_same_v<Codec, ccoll::policies::Codec::PipeSZx>;
    if (!has_sections || chunk.raw || chunk.data[0] != std::byte{255}) return chunk.data.size();
    return std::min<std::size_t>(16 * ccoll::load<std::uint16_t>(chunk.data, 2), chunk.data.size());
}
