// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/sizes.hpp - floor 2. The most bytes that a chunk of SZp can have. Without kernels, because headers that only declare the codec
// need these numbers as well.
#pragma once

#include <cstddef>

#include <ccoll/codec/specials/layout.hpp>
#include <ccoll/codec/szp/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Room for any chunk of n values: the widest blocks, their codes, and what kernels write behind them.
template <element T>
constexpr std::size_t most_chunk_bytes(std::size_t n) noexcept
{
    return head_bytes(kind::wide, sizeof(T)) + blocks_of(n) * longest_block + width_bytes(blocks_of(n), false) + longest_block + slack;
}

namespace missing {

/// Room for the section of a chunk of n values with fill values.
constexpr std::size_t most_section_bytes(std::size_t n, std::size_t element_bytes) noexcept
{
    return element_bytes + 2 * specials::layer::most_in_front(specials::blocks_of(n)) + padded(2 * n) + 8 + 4;
}

}  // namespace missing

}  // namespace ccoll::detail::szp
