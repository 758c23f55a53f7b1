// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/memory.hpp - floor 0. Where data lives, unaligned loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

struct host_space {};
struct cuda_space {};

using byte_span = std::span<std::byte>;
using const_byte_span = std::span<const std::byte>;

template <class T>
    requires std::is_trivially_copyable_v<T>
T load(const_byte_span from, std::size_t at) noexcept
{
    T value;
    std::memcpy(&value, from.data() + at, sizeof(T));
    return value;
}

template <class T>
    requires std::is_trivially_copyable_v<T>
void store(byte_span to, std::size_t at, const T& value) noexcept
{
    std::memcpy(to.data() + at, &value, sizeof(T));
}

inline void copy(byte_span to, const_byte_span from) noexcept
{
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

inline bool share_memory(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) noexcept
{
    const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
    return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

#if defined(__GNUC__)
#define CCOLL_PREFETCHES [[gnu::always_inline]] inline  // to g++ 12 a function that only prefetches has no effect: it may drop calls
#else
#define CCOLL_PREFETCHES inline
#endif

/// Asks for the `bytes` bytes that are `distance` further on, and soon read or written; what lies there does not matter, and no fault comes of it.
/// @tparam Locality  3: into the innermost cache, 2: into the second one
template <int Locality = 3>
CCOLL_PREFETCHES void fetch([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t distance, [[maybe_unused]] std::size_t bytes) noexcept
{
#if defined(__GNUC__)
    constexpr std::size_t line = 64;
    for (std::size_t i = 0; i < bytes; i += line)
        __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(at) + distance + i), 0, Locality);
#endif
}
/// 4 to 6 KiB; 2 KiB are a tenth slower where the last cache is far away.
inline constexpr std::size_t fetch_distance = 4096;
/// For what is written: without it decoding waits for memory most of the time, for a kernel stores faster than the processor fetches lines
/// on its own. And for frames that are read: they are short, but come from memory.
CCOLL_PREFETCHES void fetch_ahead(const void* at, std::size_t bytes) noexcept { fetch(at, fetch_distance, bytes); }
/// For what a fast kernel reads: the innermost cache waits for a dozen lines at a time, which is too few for memory; the second one for
/// more. Both together are a tenth faster than either one, 8 to 32 KiB and 1 to 2 KiB ahead.
CCOLL_PREFETCHES void read_ahead(const void* at, std::size_t bytes) noexcept
{
    fetch<2>(at, 8192, bytes);
    fetch(at, 2048, bytes);
}

#undef CCOLL_PREFETCHES

}  // namespace ccoll
