// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/sizes.hpp - floor 2. How much memory chunks take, for those who do not compile the codec.
#pragma once

#include <ccoll/codec/exceptions/layout.hpp>
#include <ccoll/codec/szp/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Room for any addend of n values, and for what kernels write behind it.
constexpr std::size_t most_addend_bytes(std::size_t n) noexcept { return most_bytes(n, true) + exceptions::most_addend_bytes(n) + slack; }
/// Room in which every chunk of n values can be made. Chunks may be longer while they are made.
template <element T>
constexpr std::size_t most_room(std::size_t n) noexcept
{
    return std::max(most_bytes(n, true) + exceptions::most_bytes(n, sizeof(T)) + slack, most_addend_bytes(n));
}

}  // namespace ccoll::detail::szp
