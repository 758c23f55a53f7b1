// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx/layout.hpp - floor 2. The bytes of SZx's blocks.
//
//   code 0                  constant: the middle value
//   code 1..sizeof(T)-1     the middle value, then for each value the steps that it is away from the middle,
//                           in so many bytes
//   code sizeof(T)          raw: the values as they are
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ccoll/base/config.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szx {

/// tests/codec/szx.cpp fixes it, the wire version protects it.
inline constexpr std::size_t block_elements = 128;

/// Kernels may write or read this many bytes behind a block: one register of the widest instruction set.
inline constexpr std::size_t block_slack = 64;

template <element T>
inline constexpr std::size_t block_room = block_elements * sizeof(T) + block_slack;

template <element T>
inline constexpr unsigned raw_code = sizeof(T);

/// Bytes of an encoded block of `count` values.  @param code  0..raw_code
template <element T>
constexpr std::size_t block_bytes(unsigned code, std::size_t count) noexcept
{
    return code == raw_code<T> ? count * sizeof(T) : sizeof(T) + count * code;
}

CCOLL_EXACT_BEGIN

/// Are these the codes of blocks? Compilers vectorise this loop and that of bytes_of_blocks; checking code by
/// code makes a chunk take 4 % longer.
template <element T>
bool are_codes(const_byte_span codes) noexcept
{
    unsigned char highest = 0;
    for (const std::byte code : codes) highest = std::max(highest, static_cast<unsigned char>(code));
    return highest <= raw_code<T>;
}

/// Bytes of whole blocks with these codes.
template <element T>
std::size_t bytes_of_blocks(const_byte_span codes) noexcept
{
    std::uint32_t units = 0, middles = 0;
    for (const std::byte code : codes) {
        units += static_cast<unsigned char>(code);
        middles += static_cast<unsigned char>(code) != raw_code<T>;
    }
    return units * block_elements + middles * sizeof(T);
}

CCOLL_EXACT_END

}  // namespace ccoll::detail::szx
