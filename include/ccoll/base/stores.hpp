// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/stores.hpp - floor 0. Whether results are written into the caches or past them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

/// streamed: past the caches, in whole lines that need not be fetched first. This is 1.5 times as fast as
/// cached stores to memory that is in no cache, and half as fast to memory that is.
enum class stores : unsigned char { cached, streamed };

namespace detail {

/// Bytes of the largest cache that a core of this machine writes to; 0 if unknown.
inline std::size_t find_last_cache() noexcept
{
    std::size_t largest = 0;
#if defined(__x86_64__) && defined(__GNUC__)
    for (const unsigned leaf : {0x4u, 0x8000001du})  // Intel's, AMD's
        for (unsigned i = 0, a = 0, b = 0, c = 0, d = 0;
             i < 16 && __get_cpuid_count(leaf, i, &a, &b, &c, &d) != 0 && (a & 31) != 0; ++i) {
            const std::size_t ways = (b >> 22) + 1, partitions = (b >> 12 & 1023) + 1, line = (b & 4095) + 1,
                              sets = std::size_t{c} + 1;
            const std::size_t bytes = ways * partitions * line * sets;
            if (bytes > largest) largest = bytes;
        }
#endif
    return largest;
}
inline std::size_t last_cache() noexcept
{
    static const std::size_t bytes = find_last_cache();
    return bytes;
}

}  // namespace detail

/// How to store a result of `bytes` bytes in all. What is longer than the last cache cannot be in it.
inline stores stores_for(std::size_t bytes) noexcept
{
    constexpr std::size_t any_inner_cache = std::size_t{4} << 20;  // shorter results are in a cache anyway
    return bytes > any_inner_cache && detail::last_cache() > 0 && bytes > detail::last_cache()
               ? stores::streamed
               : stores::cached;
}

/// `how` if streamed stores can begin at `to`: lines are made of 4-byte words.
inline stores stores_at(const void* to, stores how) noexcept
{
    return reinterpret_cast<std::uintptr_t>(to) % 4 == 0 ? how : stores::cached;
}

/// To be called after streamed stores, before another thread or a device reads them.
inline void settle([[maybe_unused]] stores how) noexcept
{
#if defined(__SSE__) && defined(__GNUC__)
    if (how == stores::streamed) __builtin_ia32_sfence();
#endif
}

}  // namespace ccoll
