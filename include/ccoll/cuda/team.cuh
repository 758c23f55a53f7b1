// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/team.cuh - floor 4. What the 256 threads of a block do together: scans, maxima, the place of a block's output among those of all
// blocks, and the last word of a launch. One thread block works on one chunk.
//
// CUB would do for the scans. These are a few lines, run under the emulator, and scan two counts in one word.
#pragma once

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
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800  // no reductions in hardware; nvcc's default is such an architecture
template <class Word, class Combine>
CCOLL_DEVICE Word warp_combined(Word v, Combine&& combine)
{
    CCOLL_UNROLL
    for (u32 with = 16; with > 0; with /= 2) v = combine(v, __shfl_xor_sync(all_lanes, v, with));
    return v;
}
CCOLL_DEVICE u32 warp_max(u32 v)
{
    return warp_combined(v, [](u32 a, u32 b) { return a < b ? b : a; });
}
CCOLL_DEVICE u32 warp_min(u32 v)
{
    return warp_combined(v, [](u32 a, u32 b) { return a < b ? a : b; });
}
CCOLL_DEVICE u32 warp_sum(u32 v)
{
    return warp_combined(v, [](u32 a, u32 b) { return a + b; });
}
#else
CCOLL_DEVICE u32 warp_max(u32 v) { return __reduce_max_sync(all_lanes, v); }
CCOLL_DEVICE u32 warp_min(u32 v) { return __reduce_min_sync(all_lanes, v); }
CCOLL_DEVICE u32 warp_sum(u32 v) { return __reduce_add_sync(all_lanes, v); }
#endif
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

/// Working memory of a launch: `bytes_of(chunks)` bytes, all 0. It is all 0 again when the launch is done, so it can be used again at once
/// by the next launch on the same stream, also in a graph that is replayed.
struct scratch {
    u32 blocks_done, code, raw_chunks, special_values;
    u64 sizes[1];  ///< of each chunk, and sums of them

    static constexpr std::size_t bytes_of(std::size_t chunks) { return sizeof(scratch) + sizeof(u64) * chunks; }
};

CCOLL_DEVICE void report(scratch* s, u32 code) { atomicMax(&s->code, code); }

// Decoupled look-back (Merrill and Garland, 2016): one word per chunk says all, so nothing else has to be ordered. Its upper two bits are
// 0: nothing is known yet, 1: the size of the chunk, 2: the sum of the sizes up to this chunk. Blocks are dispatched in order, so those
// that are waited for have begun.
inline constexpr u64 size_known = u64{1} << 62, sum_known = u64{2} << 62, state_mask = u64{3} << 62;

/// By one thread, as early as the size is known.
CCOLL_DEVICE void publish_size(scratch* s, u32 chunk, u64 size)
{
    store_relaxed(s->sizes + chunk, (chunk == 0 ? sum_known : size_known) | size);
}

/// By one whole warp. @return the sum of the sizes of all chunks before this one
CCOLL_DEVICE u64 look_back(scratch* s, u32 chunk, u64 size)
{
    u64 sum = 0;
    for (i64 first = static_cast<i64>(chunk) - 1; first >= 0; first -= 32) {
        const i64 at = first - static_cast<i64>(lane());
        u64 word = at >= 0 ? load_relaxed(s->sizes + at) : sum_known;
        while (__any_sync(all_lanes, (word & state_mask) == 0)) {
            stand_by();
            if ((word & state_mask) == 0) word = load_relaxed(s->sizes + at);
        }
        const u32 complete = __ballot_sync(all_lanes, (word & state_mask) == sum_known);
        const u32 nearest = complete != 0 ? lowest_bit(complete) : 32;
        sum += warp_sum(lane() < nearest ? static_cast<u32>(word) : 0);  // the sizes of 32 chunks fit 32 bits
        if (nearest < 32) {
            sum += __shfl_sync(all_lanes, word & ~state_mask, nearest);
            break;
        }
    }
    if (chunk > 0 && lane() == 0) store_relaxed(s->sizes + chunk, sum_known | (sum + size));
    return sum;
}

/// By all threads of a block that has nothing more to do with `s`. No barrier is needed in front: what a block tells the others, in `s` and
/// in the index of a frame, its thread 0 has written, and its warps have looked back before an earlier barrier.
/// @return whether this is the last block of the launch
CCOLL_DEVICE bool is_last_block(scratch* s, u32 blocks, u32& room)
{
    if (me() == 0) room = count_up(&s->blocks_done);
    __syncthreads();
    return room + 1 == blocks;
}

}  // namespace ccoll::detail::device
