// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/repredict.cuh - floor 4. Addends of SZp with rows: their quanta, and the same quanta with another predictor. By all threads of a
// block, each for its own 32 values. codec/szp/repredict.hpp does it on the host.
#pragma once

#include <ccoll/cuda/szp/read.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// Adds up the columns of values that are `distance` apart, one thread a column. By all threads, between barriers.
/// @param first  what stands above each column
CCOLL_DEVICE void add_columns(u32* values, u32 distance, u32 first, u32 count)
{
    for (u32 column = me(); column < distance; column += team_threads) {
        u32 sum = first;
        for (u32 i = column; i < count; i += distance) values[i] = sum += values[i];
    }
}

/// The quanta of a chunk. By all threads.
/// @param d         differences of the block; gets its quanta    @param above  distances of rows and planes; 0: there are none
/// @param quanta    room for the chunk; gets all of them, which are there for all threads at the end
CCOLL_DEVICE_RARE void quanta_of(i64 (&d)[32], u32 base, u32 above, u32 count, u32* quanta, warp_words<u32>& room)
{
    const u32 first = block_elements * me();
    u32 sum = 0;
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32; ++i) d[i] = sum += static_cast<u32>(d[i]);
    const u32 before = team_exclusive(sum, room).before + (above == 0 ? base : 0);
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32 && first < count; ++i) quanta[first + i] = static_cast<u32>(d[i]) + before;
    __syncthreads();
    if (above != 0) {
        add_columns(quanta, row_of(above), plane_of(above) == 0 ? base : 0, count);
        __syncthreads();
        add_columns(quanta, plane_of(above), base, count);
        __syncthreads();
    }
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32 && first < count; ++i) d[i] = static_cast<i32>(quanta[first + i]);
}

/// The differences of a block over other distances. By all threads.
/// @param from, to  0: to the value before alone    @param quanta  room for the chunk; it may be read until the next barrier
CCOLL_DEVICE_RARE void repredict(i64 (&d)[32], u32 base, u32 from, u32 to, u32 count, u32* quanta, warp_words<u32>& room)
{
    quanta_of(d, base, from, count, quanta, room);
    const u32 row = row_of(to), plane = plane_of(to);
    const auto at = [=](u32 i, u32 distance) { return i < distance ? base : quanta[i - distance]; };
    const auto predicted = [=](u32 i) {
        u32 r = quanta[i];
        if (row != 0) r -= at(i, row);
        if (plane != 0) r -= at(i, plane) - at(i, plane + row);
        return r;
    };
    const u32 first = block_elements * me();
    u32 before = first >= count ? 0 : me() > 0 ? predicted(first - 1) : to == 0 ? base : 0;
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32; ++i) {
        const u32 r = first + i < count ? predicted(first + i) : before;  // a last block is filled up so that differences are 0
        d[i] = static_cast<i32>(r - before);
        before = r;
    }
}

}  // namespace ccoll::detail::device::szp
