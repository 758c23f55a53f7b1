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

/// Fill values of a chunk. Those of a field are often one and seldom more than two, and every message has room for the places of each.
inline constexpr std::size_t most_fills = 4;
/// Places of all its fill values together, per value of the chunk.
inline constexpr std::size_t most_fills_per_place = 2;
constexpr std::size_t most_pairs(std::size_t n) noexcept { return most_fills_per_place * n; }
/// Room for the section of a chunk of n values with fill values.
constexpr std::size_t most_section_bytes(std::size_t n, std::size_t element_bytes) noexcept
{
    constexpr std::size_t of_times = 2, layers = 2, most_padding = 4;
    return most_fills * (element_bytes + layers * (specials::layer::most_in_front(specials::blocks_of(n)) + most_padding)) +
           of_times * most_pairs(n) + 4;
}

}  // namespace missing

}  // namespace ccoll::detail::szp
