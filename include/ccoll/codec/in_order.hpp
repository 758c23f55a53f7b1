// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/in_order.hpp - floor 2. Several threads encode chunks at once and write
// them one behind another, so that the frame is that of one thread.
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

namespace ccoll::inline CCOLL_ABI {

/// Runs the parts of a codec's work at once. run(parts, job) calls job(0) .. job(parts - 1) in any order, from any threads, and returns
/// when all of them have returned. width() is the number of parts that can really run at once. Exec::Threads (exec.hpp) is one; your thread
/// pool can be another. A part needs 256 KiB of stack (chunks with special values the most). It may wait for a part that was begun before
/// it, so do not run two parts alternately on one thread (fibers).
template <class E>
concept codec_executor = requires(const E& run, void (*job)(std::size_t)) {
    { run.width() } -> std::convertible_to<std::size_t>;
    run(std::size_t{}, job);
};

namespace detail {

/// How many threads work on so many chunks: each gets at least 8, because with fewer a thread costs more than it gains.
inline constexpr std::size_t most_threads = 64;
constexpr std::size_t threads_for(std::size_t width, std::size_t chunks) noexcept
{
    return std::max<std::size_t>(1, std::min(std::min(width, most_threads), chunks / 8));
}

/// Whose turn it is, of groups that come one after another.
class turns {
public:
    bool is(std::uint32_t group) const noexcept { return now_.load(std::memory_order_acquire) == group; }
    void wait_for(std::uint32_t group) const noexcept
    {
        constexpr int patience = 4096;  // some us: the group before is nearly done, or its thread does not run
        for (int i = 0; i < patience; ++i)
            if (is(group)) return;
        for (std::uint32_t now; (now = now_.load(std::memory_order_acquire)) != group;) now_.wait(now, std::memory_order_acquire);
    }
    void pass(std::uint32_t group) noexcept
    {
        // libstdc++ 12 looks for waiters next. After a mere release a waiter could miss the store and sleep on.
        now_.store(group + 1, std::memory_order_seq_cst);
        now_.notify_all();
    }

private:
    std::atomic<std::uint32_t> now_{0};
};

/// Uninitialised memory; empty if the allocation failed. Not a unique_ptr, because <memory> adds 15,000 lines for whoever includes
/// codec.hpp.
struct aside_memory {
    const byte_span bytes;

    explicit aside_memory(std::size_t most) noexcept : aside_memory(new (std::nothrow) std::byte[most], most) {}
    ~aside_memory() { delete[] bytes.data(); }
    aside_memory(const aside_memory&) = delete;
    aside_memory& operator=(const aside_memory&) = delete;

private:
    aside_memory(std::byte* first, std::size_t most) noexcept : bytes(first, first != nullptr ? most : 0) {}
};

/// Chunks that a thread takes at once. Each group costs some waiting, and the copy of about half its chunks, because the thread's turn
/// comes in the middle of the group: with groups of 4 instead of 32, two threads add only 1.4 instead of 1.6 times as fast as one. Every
/// thread takes at least 16 groups, so that all threads finish at about the same time.
constexpr std::size_t group_for(std::size_t threads, std::size_t chunks) noexcept
{
    return std::min<std::size_t>(std::max<std::size_t>(chunks / (16 * threads), 1), 32);
}

/// As copy. Streamed stores are twice as fast into memory, because lines are not fetched first (frames of 80 MB: 19 instead of 10 GB/s),
/// and a third slower into the last cache.
inline void put_in_place(byte_span to, const_byte_span from, [[maybe_unused]] stores how) noexcept
{
#if defined(__SSE2__)
    constexpr std::size_t line = 64;
    const std::size_t ahead = (0 - reinterpret_cast<std::uintptr_t>(to.data())) % line;
    if (how == stores::streamed && from.size() >= ahead) {
        copy(to, from.first(ahead));
        to = to.subspan(ahead);
        for (from = from.subspan(ahead); from.size() >= line; from = from.subspan(line), to = to.subspan(line))
            for (std::size_t i = 0; i < line; i += 16)
                _mm_stream_si128(reinterpret_cast<__m128i*>(to.data() + i),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(from.data() + i)));
        settle(how);
    }
#endif
    copy(to, from);
}

/// Writes chunks 0 .. chunks - 1 to `dst` from offset `start` on. Threads take groups of chunks in order. What a thread encodes before the
/// place of its group is known waits in memory of its own. Copying it from there costs less than moving parts of the frame together at the
/// end, when they have left the caches. A thread hands the place for the next group on before it copies, so that several threads copy at
/// once. A thread that gets no memory waits for its turn.
///
/// @tparam MostBytes    of any chunk
/// @param  how          how copies are stored
/// @param  make_writer  () -> write, one for each thread; write(i, to, begin, at) -> encode_result appends chunk i at offset `at` of `to`,
///                      where chunks begin at offset `begin`: bytes is the offset behind
/// @param  placed       (first, last, distance): chunks first .. last - 1 were appended where chunks begin at offset 0; their place is
///                      `distance` bytes behind the start of chunk 0
/// @return              bytes: the offset behind the last chunk. code: that of the first chunk with another one than ok
template <std::size_t MostBytes, class Executor, class MakeWriter, class Placed>
encode_result in_order(const Executor& run, std::size_t chunks, byte_span dst, std::size_t start, stores how, MakeWriter make_writer,
                       Placed placed)
{
    const std::size_t threads = threads_for(run.width(), chunks), group_chunks = group_for(threads, chunks);
    const std::size_t groups = chunks / group_chunks + (chunks % group_chunks != 0);
    std::atomic<std::size_t> next{0};
    turns turn;
    encode_result all{start};  // belongs to the thread whose turn it is
    run(threads, [&](std::size_t) {
        const exact_environment environment;
        const aside_memory memory(threads > 1 ? group_chunks * MostBytes : 0);
        const byte_span room = memory.bytes;
        auto write = make_writer();
        for (std::size_t taken; (taken = next.fetch_add(1, std::memory_order_relaxed)) < groups;) {
            const auto group = static_cast<std::uint32_t>(taken);
            encode_result aside{0};
            const std::size_t first = taken * group_chunks, last = std::min(chunks, first + group_chunks);
            const auto add_aside = [&](std::size_t behind) {  // chunks `first` .. `behind` - 1, which stand at the end of `all` now
                placed(first, behind, all.bytes - start);
                all.bytes += aside.bytes;
                all.raw_blocks += aside.raw_blocks;
                all.special_values += aside.special_values;
                if (all.code == status::ok) all.code = aside.code;
            };
            bool ours = false;
            for (std::size_t i = first; i < last; ++i) {
                if (!ours && (turn.is(group) || room.empty())) {
                    turn.wait_for(group);
                    ours = true;
                    put_in_place(dst.subspan(all.bytes), room.first(aside.bytes), how);
                    add_aside(i);
                }
                encode_result& so_far = ours ? all : aside;
                if (so_far.code != status::ok) break;
                const encode_result one = write(i, ours ? dst : room, ours ? start : 0, so_far.bytes);
                so_far.code = one.code;
                if (one.code != status::ok) break;
                so_far.bytes = one.bytes;
                so_far.raw_blocks += one.raw_blocks;
                so_far.special_values += one.special_values;
            }
            if (!ours) turn.wait_for(group);
            const std::size_t at = all.bytes;
            const bool to_copy = !ours && all.code == status::ok;
            if (to_copy) add_aside(last);
            if (all.code != status::ok) next.store(groups, std::memory_order_relaxed);
            turn.pass(group);
            if (to_copy) put_in_place(dst.subspan(at), room.first(aside.bytes), how);
        }
    });
    return all;
}

}  // namespace detail

}  // namespace ccoll::inline CCOLL_ABI
