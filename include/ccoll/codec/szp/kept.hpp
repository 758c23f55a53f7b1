// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/kept.hpp - floor 2. A chunk of SZp in a frame for movement whose values no grid shortens: u32 head, which is kind 5 alone, then
// the chunk as Codec::Lossless has it, filled up with 0 to a multiple of 4 bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include <ccoll/codec/lossless.hpp>
#include <ccoll/codec/szp/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp::kept {

inline constexpr u32 head = 5;

template <element T>
using coder = lossless::stream_coder<lossless::word_of<sizeof(T)>, sizeof(T)>;

/// @return  code out_of_space: it would not be shorter than its values, or than `room`. What stood at `out` is lost only if it is ok
template <element T>
[[gnu::noinline]] encode_result encode(std::span<const T> in, u8* out, std::size_t room) noexcept
{
    const std::size_t most = std::min(room, in.size_bytes() - 1) / 4 * 4;
    if (most < 4) return {0, status::out_of_space};
    const byte_span to(reinterpret_cast<std::byte*>(out) + 4, most - 4);
    const encode_result r = coder<T>::encode(std::as_bytes(in).data(), in.size(), to);
    if (r.code != status::ok) return r;
    put(out, head);
    std::memset(out + 4 + r.bytes, 0, padded(r.bytes) - r.bytes);
    return {4 + padded(r.bytes), status::ok, 1};  // stored as it is, as a report counts it
}

inline bool is_kept(const_byte_span chunk) noexcept
{
    return chunk.size() >= 4 && get<u32>(reinterpret_cast<const u8*>(chunk.data())) == head;
}

/// Total: any bytes are safe.
template <element T>
[[gnu::noinline]] status decode(const_byte_span chunk, std::span<T> out) noexcept
{
    const_byte_span rest = chunk.subspan(4);
    if (const status s = coder<T>::decode(rest, std::as_writable_bytes(out).data(), out.size()); s != status::ok) return s;
    const bool filled =
        rest.size() < 4 && chunk.size() % 4 == 0 && std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; });
    return filled ? status::ok : status::corrupt;
}

}  // namespace ccoll::detail::szp::kept
