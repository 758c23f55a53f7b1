// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/writing.hpp - floor 2. What encoders of addends and of movement share: where the parts of a chunk of SZp go, and its end.
#pragma once

#include <cmath>
#include <cstring>

#include <ccoll/base/error.hpp>
#include <ccoll/codec/szp/chunk.hpp>
#include <ccoll/codec/szp/quantiser.hpp>
#include <ccoll/codec/szp/sizes.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// In `room` bytes from `out` a block may begin up to here.
inline const u8* last_begin(const u8* out, std::size_t room) noexcept { return out + room - block_room; }

/// Where encoders put the blocks: behind head and packed widths.
template <element T>
u8* blocks_at(u8* out, kind what, std::size_t n) noexcept
{
    return out + head_bytes(what, sizeof(T)) + width_bytes(blocks_of(n), true);
}

/// Codes and head, in front of the blocks.
/// @param range  of the codes
template <element T>
encode_result finish(u8* out, bool addend, chunk_head head, const u8* blocks, u8* end, const block_codes& codes, code_range range,
                     std::size_t n) noexcept
{
    u8* const front = out + head_bytes(head.what, sizeof(T));
    if (end != blocks || head.what == kind::fine || head.what == kind::rows) {
        end = write_codes(codes.of, range, blocks_of(n), addend, front, end, head);
    } else {
        head = {head.what == kind::narrow ? kind::flat : kind::wide_flat, 0};
        end = front;
    }
    put(out, head.word());
    return {static_cast<std::size_t>(end - out)};
}
template <element T>
encode_result finish_addend(u8* out, chunk_head head, const u8* blocks, u8* end, const block_codes& codes, std::size_t n) noexcept
{
    const bool has_codes = end != blocks || head.what == kind::rows;  // a flat chunk has none
    return finish<T>(out, true, head, blocks, end, codes, has_codes ? range_of(codes.of, blocks_of(n)) : code_range{}, n);
}

}  // namespace ccoll::detail::szp
