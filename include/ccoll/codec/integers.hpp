// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/integers.hpp - floor 2. Integers of 8 to 64 bits, and how codecs read and write them at any address.
#pragma once

#include <cstdint>
#include <cstring>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI::detail::integers {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

constexpr u32 magnitude(i32 v) noexcept { return v < 0 ? u32{0} - static_cast<u32>(v) : static_cast<u32>(v); }

/// Zeros above the highest bit of v, which is not 0. Kernels call it, too.
CCOLL_HOST_DEVICE constexpr int leading_zeros(u64 v) noexcept
{
    int zeros = 0;
    for (int by = 32; by > 0; by /= 2)
        if (v >> (64 - by) == 0) {
            v <<= by;
            zeros += by;
        }
    return zeros;
}

template <class Word>
inline Word get(const u8* from) noexcept
{
    Word w;
    std::memcpy(&w, from, sizeof w);
    return w;
}
template <class Word>
inline void put(u8* to, Word w) noexcept
{
    std::memcpy(to, &w, sizeof w);
}

}  // namespace ccoll::inline CCOLL_ABI::detail::integers
