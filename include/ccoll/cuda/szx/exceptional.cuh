// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szx/exceptional.cuh - floor 4. The exceptional values of a chunk of SZx: found, and replaced by
// others. By all threads of a block, each for its own 32 values.
#pragma once

#include <ccoll/cuda/sections.cuh>
#include <ccoll/cuda/staged.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szx::exceptional {

using staged_values::block_elements, staged_values::staged, staged_values::stage_one;

/// What counts as exceptional: |x| from `limit` on, as bits, and a missing value.
template <class T>
struct rule {
    /// `missing`: if there is no missing value, a NaN, which is exceptional in any case.
    word_of<T> limit = 0, missing = ~word_of<T>{0};

    CCOLL_DEVICE bool operator()(word_of<T> w) const
    {
        return (w & ~fields_of<T>::sign) >= limit || w == missing;
    }
};

/// The bits of all values of this thread's block; 0 if it has none.
CCOLL_DEVICE u32 whole_mask(u32 count)
{
    return block_elements * me() < count ? whole_block(count, me()) : 0;
}

/// The exceptional values of this thread's block.
/// @param x  the chunk, in device memory
template <class E, class T>
CCOLL_DEVICE_RARE u32 find(const E* x, u32 count, const rule<T>& is)
{
    u32 mask = 0;
    CCOLL_NO_UNROLL
    for (u32 left = whole_mask(count); left != 0; left &= left - 1) {
        const u32 i = lowest_bit(left);
        mask |= u32{is(bits_at(x, block_elements * me() + i))} << i;
    }
    return mask;
}

/// Exceptional values become the ordinary value before them, and those at the beginning of the chunk the
/// first one; 0 if there is none. As on the host. By all threads, with a barrier behind.
/// @param values  staged; each thread's own block is there
/// @param masks  of each block, with room for all threads
template <class T>
CCOLL_DEVICE_RARE void repeat_ordinary(void* values, u32 count, u32 mask, u32* masks)
{
    const u32 ordinary = whole_mask(count) & ~mask, begin = block_elements * me(), blocks = (count + 31) / 32;
    masks[me()] = ordinary;
    __syncthreads();
    if (mask != 0) {
        u32 before_block = 0;  // plus 1, as below
        for (u32 k = me(); k-- > 0 && before_block == 0;)
            if (masks[k] != 0) before_block = block_elements * k + highest_bit(masks[k]) + 1;
        for (u32 k = 0; k < blocks && before_block == 0; ++k)
            if (masks[k] != 0) before_block = block_elements * k + lowest_bit(masks[k]) + 1;
        CCOLL_NO_UNROLL
        for (u32 left = mask; left != 0; left &= left - 1) {
            const u32 bit = lowest_bit(left), lower = ordinary & ones_below(bit);
            const u32 from = lower != 0 ? begin + highest_bit(lower) + 1 : before_block;
            stage_one<T>(values, begin + bit, from != 0 ? bits_of(staged<T>(values, from - 1)) : 0);
        }
    }
    // The values that fill up a last block repeat its last one.
    if (begin < count && begin + block_elements > count)
        for (u32 i = count; i < begin + block_elements; ++i)
            stage_one<T>(values, i, bits_of(staged<T>(values, count - 1)));
    __syncthreads();
}

}  // namespace ccoll::detail::device::szx::exceptional
