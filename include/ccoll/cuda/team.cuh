// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/team.cuh - floor 4. What the 256 threads of a block do together: scans and maxima; and what the blocks
// of one call tell each other and the host. One thread block works on one chunk.
//
// CUB would do for the scans. These are a few lines, run under the emulator, and scan two counts in one word.
#pragma once

#include <ccoll/base/error.hpp>
#include <ccoll/cuda/kernel.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device {

inline constexpr u32 team_threads = 256, team_warps = team_threads / 32;

CCOLL_DEVICE u32 me() { return threadIdx.x; }
CCOLL_DEVICE u32 lane() { return threadIdx.x % 32; }
CCOLL_DEVICE u32 warp() { return threadIdx.x / 32; }

/// A word from each warp, then a barrier, then everybody has all of them.
template <class Word>
struct warp_words {
    alignas(16) Word of[team_warps];
};

// ---- in a warp ----

template <class Word>
CCOLL_DEVICE Word warp_inclusive(Word v)
{
    CCOLL_UNROLL
    for (u32 by = 1; by < 32; by *= 2) {
        const Word below = __shfl_up_sync(all_lanes, v, by);
        if (lane() >= by) v += below;
    }
    return v;
}
CCOLL_DEVICE u32 warp_max(u32 v) { return __reduce_max_sync(all_lanes, v); }
CCOLL_DEVICE u32 warp_min(u32 v) { return __reduce_min_sync(all_lanes, v); }
CCOLL_DEVICE u32 warp_sum(u32 v) { return __reduce_add_sync(all_lanes, v); }
CCOLL_DEVICE u64 warp_max(u64 v)
{
    CCOLL_UNROLL
    for (u32 with = 16; with > 0; with /= 2) v = larger(v, __shfl_xor_sync(all_lanes, v, with));
    return v;
}

// ---- in a block. Between two calls on the same room there must be another barrier. ----

template <class Word>
struct scanned {
    Word before, all;
};
template <class Word>
CCOLL_DEVICE scanned<Word> exclusive(Word v, warp_words<Word>& room)
{
    const Word up_to = warp_inclusive(v);
    if (lane() == 31) room.of[warp()] = up_to;
    __syncthreads();
    scanned<Word> r{static_cast<Word>(up_to - v), 0};
    CCOLL_UNROLL
    for (u32 w = 0; w < team_warps; ++w) {
        const Word t = room.of[w];
        r.before += w < warp() ? t : 0;
        r.all += t;
    }
    return r;
}
/// Behind the barrier that follows `room.of[warp()] = ...`.
template <class Word>
CCOLL_DEVICE Word largest_of(const warp_words<Word>& room)
{
    Word r = 0;
    CCOLL_UNROLL
    for (u32 w = 0; w < team_warps; ++w) r = larger(r, room.of[w]);
    return r;
}

// ---- in a block, as often as one likes: for what is rare. Each has two barriers. ----

template <class Word>
CCOLL_DEVICE_RARE scanned<Word> team_exclusive(Word v, warp_words<Word>& room)
{
    __syncthreads();
    return exclusive(v, room);
}
template <class Word>
CCOLL_DEVICE_RARE Word team_max(Word v, warp_words<Word>& room)
{
    const Word most = warp_max(v);
    __syncthreads();
    if (lane() == 0) room.of[warp()] = most;
    __syncthreads();
    return largest_of(room);
}
CCOLL_DEVICE u32 team_min(u32 v, warp_words<u32>& room) { return ~team_max(~v, room); }
CCOLL_DEVICE u32 team_sum(u32 v, warp_words<u32>& room) { return team_exclusive(v, room).all; }
CCOLL_DEVICE bool team_any(bool v, warp_words<u32>& room) { return team_max(static_cast<u32>(v), room) != 0; }

// ---- among blocks ----

/// What a launch tells, in memory that the host reads when the launch is done.
struct outcome {
    u64 bytes = 0;  ///< of the frame that was written
    u32 code = 0;   ///< a ccoll::status
    u32 raw_chunks = 0;
    u64 special_values = 0;
};

/// What thread blocks and kernels of one call tell each other. All 0 before a call, and again behind it, but
/// for the chunks on the list: it can be used again at once by the next call on the same stream, also in a
/// graph that is replayed.
struct scratch {
    u32 units;   ///< of the payload that have been given away, 16 bytes each
    u32 listed;  ///< chunks for a second kernel
    u32 blocks_done, code, raw_chunks, unused;
    unsigned long long special_values;
    struct entry {
        u32 chunk;      ///< entry k of the list
        u32 is_listed;  ///< entry k: is chunk k on the list?
    };
    entry list[1];

    static constexpr std::size_t bytes_of(std::size_t chunks)
    {
        return sizeof(scratch) + sizeof(entry) * chunks;
    }
};
/// Warps need not agree on who lists their chunk.
CCOLL_DEVICE void list_chunk(scratch* s, u32 chunk)
{
    if (atomicMax(&s->list[chunk].is_listed, 1u) == 0) s->list[atomicAdd(&s->listed, 1u)].chunk = chunk;
}
CCOLL_DEVICE void report(scratch* s, status code) { atomicMax(&s->code, static_cast<u32>(code)); }

}  // namespace ccoll::detail::device
