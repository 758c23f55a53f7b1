// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/placed.hpp - floor 2. Several threads encode the chunks of a frame at once.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/base/stores.hpp>
#include <ccoll/wire/frame.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Runs the parts of a codec's work at once. run(parts, job) calls job(0) .. job(parts - 1) in any order,
/// from any threads, and returns when all of them have returned. width() is the number of parts that can
/// really run at once. Exec::Threads (exec.hpp) is one; your thread pool can be another. A part needs 64 KiB
/// of stack, with some codecs more (docs/limitations.md).
template <class E>
concept codec_executor = requires(const E& run, void (*job)(std::size_t)) {
    { run.width() } -> std::convertible_to<std::size_t>;
    run(std::size_t{}, job);
};

namespace detail {

/// How many threads work on so many chunks: each gets at least 8, because with fewer a thread costs more than
/// it gains.
inline constexpr std::size_t most_threads = 64;
constexpr std::size_t threads_for(std::size_t width, std::size_t chunks) noexcept
{
    return std::max<std::size_t>(1, std::min(std::min(width, most_threads), chunks / 8));
}

/// Uninitialised memory; empty if the allocation failed. Not a unique_ptr, because <memory> adds 15,000 lines
/// for whoever includes codec.hpp.
struct aside_memory {
    const byte_span bytes;

    explicit aside_memory(std::size_t most) noexcept : aside_memory(new (std::nothrow) std::byte[most], most)
    {}
    ~aside_memory() { delete[] bytes.data(); }
    aside_memory(const aside_memory&) = delete;
    aside_memory& operator=(const aside_memory&) = delete;

private:
    aside_memory(std::byte* first, std::size_t most) noexcept : bytes(first, first != nullptr ? most : 0) {}
};

/// As copy. Streamed stores are twice as fast into memory, because lines are not fetched first (frames of 80
/// MB: 19 instead of 10 GB/s), and a third slower into the last cache.
inline void put_in_place(byte_span to, const_byte_span from, [[maybe_unused]] stores how) noexcept
{
#if defined(__SSE2__)
    constexpr std::size_t line = 64;
    const std::size_t ahead = (0 - reinterpret_cast<std::uintptr_t>(to.data())) % line;
    if (how == stores::streamed && from.size() >= ahead) {
        copy(to, from.first(ahead));
        to = to.subspan(ahead);
        for (from = from.subspan(ahead); from.size() >= line;
             from = from.subspan(line), to = to.subspan(line))
            for (std::size_t i = 0; i < line; i += 16)
                _mm_stream_si128(reinterpret_cast<__m128i*>(to.data() + i),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(from.data() + i)));
        settle(how);
    }
#endif
    copy(to, from);
}

/// Writes the chunks of a frame, whose payload begins at offset `start` of `dst`. A thread encodes a chunk
/// into memory of its own, takes a place that is as long, and copies it there. So no thread waits for
/// another, and which chunk stands where depends on their timing. The copy comes from the nearest caches. A
/// single thread, or one that gets no memory, writes chunks where they belong.
///
/// @tparam MostBytes    that write_chunk needs
/// @param  how          how copies are stored
/// @param  write_chunk  (i, room) -> {result, bytes, raw}, as chunked::written
/// @return              bytes: the length of the frame. code: that of a chunk with another one than ok
template <std::size_t MostBytes, class Executor, class WriteChunk>
encode_result placed(const Executor& run, std::size_t chunks, byte_span dst, std::size_t start, stores how,
                     const WriteChunk& write_chunk)
{
    const std::size_t threads = threads_for(run.width(), chunks);
    std::atomic<std::size_t> next{0}, end{start}, raw_blocks{0}, special_values{0};
    std::atomic<status> code{status::ok};
    const auto count = [&](const encode_result& one) {
        raw_blocks.fetch_add(one.raw_blocks, std::memory_order_relaxed);
        special_values.fetch_add(one.special_values, std::memory_order_relaxed);
    };
    const auto take = [&](std::size_t& i) {
        return code.load(std::memory_order_relaxed) == status::ok &&
               (i = next.fetch_add(1, std::memory_order_relaxed)) < chunks;
    };
    if (threads > 1)
        run(threads, [&](std::size_t) {
            const exact_call environment;
            const aside_memory memory(MostBytes);
            if (memory.bytes.empty()) return;
            for (std::size_t i; take(i);) {
                const auto one = write_chunk(i, memory.bytes);
                if (one.result.code != status::ok)
                    return code.store(one.result.code, std::memory_order_relaxed);
                const std::size_t at = end.fetch_add(one.result.bytes, std::memory_order_relaxed);
                put_in_place(dst.subspan(at), memory.bytes.first(one.result.bytes), how);
                put_entry(dst, i, at - start, one.bytes, one.raw);
                count(one.result);
            }
        });
    const exact_call environment;
    for (std::size_t i; take(i);) {
        const std::size_t at = end.load(std::memory_order_relaxed);
        const auto one = write_chunk(i, dst.subspan(at));
        if (one.result.code != status::ok) code.store(one.result.code, std::memory_order_relaxed);
        put_entry(dst, i, at - start, one.bytes, one.raw);
        end.store(at + one.result.bytes, std::memory_order_relaxed);
        count(one.result);
    }
    put_payload(dst, end.load() - start);
    return {end.load(), code.load(), raw_blocks.load(), special_values.load()};
}

}  // namespace detail

}  // namespace ccoll::inline CCOLL_ABI
