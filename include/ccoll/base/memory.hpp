// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/memory.hpp - floor 0. Memory spaces, unaligned loads and stores, and prefetching.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Where the elements of a buffer live.
struct host_space {};
struct cuda_space {};

using byte_span = std::span<std::byte>;
using const_byte_span = std::span<const std::byte>;

/// Reads a T at byte `at`, which need not be aligned. Precondition: at + sizeof(T) <= from.size().
template <class T>
    requires std::is_trivially_copyable_v<T>
T load(const_byte_span from, std::size_t at) noexcept
{
    T value;
    std::memcpy(&value, from.data() + at, sizeof(T));
    return value;
}

/// Writes `value` at byte `at`, which need not be aligned. Precondition: at + sizeof(T) <= to.size().
template <class T>
    requires std::is_trivially_copyable_v<T>
void store(byte_span to, std::size_t at, const T& value) noexcept
{
    std::memcpy(to.data() + at, &value, sizeof(T));
}

/// Copies all bytes of `from` to the beginning of `to`. Preconditions: to.size() >= from.size(), and the two
/// do not overlap.
inline void copy(byte_span to, const_byte_span from) noexcept
{
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

/// Whether no memory can be at this address: null, or the marker of an MPI (MPI_IN_PLACE is 1 or -1), also
/// after a cast to a pointer to elements. The first and the last page belong to no program.
inline bool is_no_memory(const void* at) noexcept
{
    constexpr std::uintptr_t page = 4096;
    return reinterpret_cast<std::uintptr_t>(at) + page < 2 * page;
}

/// Whether two ranges of memory, sizes in bytes, have a byte in common. An empty range shares nothing.
inline bool share_memory(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) noexcept
{
    const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
    return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

#if defined(__GNUC__)
// To g++ 12, a function that only prefetches has no effect, and it may remove the calls. Inlined prefetches
// stay.
#define CCOLL_PREFETCHES [[gnu::always_inline]] inline
#else
#define CCOLL_PREFETCHES inline
#endif

/// Prefetches `bytes` bytes at `at + distance`, which will soon be read or written. The address need not be
/// valid: a prefetch never faults.
/// @tparam Locality  3: into the innermost cache, 2: into the second one
template <int Locality = 3>
CCOLL_PREFETCHES void fetch([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t distance,
                            [[maybe_unused]] std::size_t bytes) noexcept
{
#if defined(__GNUC__)
    constexpr std::size_t line = 64;
    for (std::size_t i = 0; i < bytes; i += line)
        __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(at) + distance + i),
                           0, Locality);
#endif
}
/// In bytes. 4 to 6 KiB are equally good; 2 KiB is a tenth slower on processors whose last cache is far away.
inline constexpr std::size_t fetch_distance = 4096;
/// Prefetches the destination of a decoder; otherwise decoding stalls on line fetches most of the time,
/// because a kernel stores faster than the processor fetches lines on its own. Also prefetches frames that
/// are read, which are short but come from memory.
CCOLL_PREFETCHES void fetch_ahead(const void* at, std::size_t bytes) noexcept
{
    fetch(at, fetch_distance, bytes);
}
/// Prefetches what a fast kernel reads, 8 KiB ahead into the second cache and 2 KiB ahead into the innermost
/// one. The innermost cache can wait for about a dozen lines at a time, which is too few to hide the latency
/// of memory; the second one can wait for more. Using both is a tenth faster than using either one. 8 to 32
/// KiB and 1 to 2 KiB ahead are equally good.
CCOLL_PREFETCHES void read_ahead(const void* at, std::size_t bytes) noexcept
{
    fetch<2>(at, 8192, bytes);
    fetch(at, 2048, bytes);
}

#undef CCOLL_PREFETCHES

namespace detail {

/// n elements that begin as T(), for constexpr functions. std::vector is not constexpr with -D_GLIBCXX_DEBUG,
/// nor in g++ 11.
template <class T>
class array_of {
public:
    constexpr explicit array_of(std::integral auto n) : of_(new T[static_cast<std::size_t>(n)]()) {}
    array_of(const array_of&) = delete;
    array_of& operator=(const array_of&) = delete;
    constexpr ~array_of() { delete[] of_; }

    constexpr T& operator[](std::integral auto i) { return of_[static_cast<std::size_t>(i)]; }

private:
    T* of_;
};

}  // namespace detail

}  // namespace ccoll
