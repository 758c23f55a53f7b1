// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/loops.inl - floor 2. Loops of SZe that compilers vectorise: the same text for each instruction set. Included in a namespace of
// the set, between kernels_begin.inl and kernels_end.inl.

/// Differences of n values from the planes of a chunk of SZp, filled up with 0.
/// @param d  filled_up(n) of them
CCOLL_TARGET inline void get_differences(const szp::chunk_view& view, std::size_t n, i32* d) noexcept
{
    const u8 *from = view.blocks, *const end = view.blocks + view.blocks_bytes;
    for (std::size_t k = 0; k < view.count; ++k, d += szp::block_elements) {
        const unsigned width = view.codes.of[k];
        if (width == 0) std::memset(d, 0, sizeof(i32) * szp::block_elements);
        else planes_to_differences(from, width, end, d);
        from += 4 * width;
    }
    const std::size_t whole_blocks = szp::block_elements * view.count, filled = filled_up(n);
    std::memset(d + n - whole_blocks, 0, sizeof(i32) * (filled - n));
}

/// About 2^10 times the sum of log2(1 + |r|) over samples, where r is the residual of a distance; 0 places stand for none.
CCOLL_TARGET inline u32 cost_of(const i32* d, std::size_t n, distance by) noexcept
{
    u32 cost = 0;
    for (std::size_t s = 0; s < samples; ++s) {
        const i32* const at = d + sample_start(n, s);
        const i32* const from = at - by.places;
        i32 behind[sample_values];
        if (by.smooth)
            for (std::size_t i = 0; i < sample_values; ++i) behind[i] = smoothed(*(from + i - 1), from[i], from[i + 1]);
        else if (by.places != 0)
            for (std::size_t i = 0; i < sample_values; ++i) behind[i] = from[i];
        else
            for (std::size_t i = 0; i < sample_values; ++i) behind[i] = 0;
        for (std::size_t i = 0; i < sample_values; ++i) {
            const i32 r = static_cast<i32>(static_cast<u32>(at[i]) - static_cast<u32>(behind[i]));
            const i32 m = static_cast<i32>((folded(r) + 1) >> 1);
            const float magnitude = static_cast<float>(m) + 1.0f;
            cost += (std::bit_cast<u32>(magnitude) - 0x3f800000u) >> 13;
        }
    }
    return cost;
}
