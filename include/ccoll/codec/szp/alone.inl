// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/alone.inl - floor 2. Decodes quanta that stand alone. Not every instruction set has it. Uses the primitives of
// szp/loops.inl.

/// As decode_blocks, for quanta that stand alone in frames for movement. Never writes past the caches.
template <class T>
CCOLL_TARGET inline void decode_alone(const chunk_view& view, T step, T* x, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    for (block_runs<T> runs(view, x, n); runs.next();) {
        const u8* p = runs.planes;
        for (std::size_t k = 0; k < runs.blocks; ++k) {
            T* const to = runs.to + block_elements * k;
            const unsigned width = runs.codes[k];
            fetch_ahead(to, sizeof(T) * block_elements);
            fetch_ahead(p, 1);
            differences d{};
            if (width > 0) get_planes(p, width, d);
            dequantise(d, step, to);
            p += 4 * width;
        }
        runs.planes = p;
    }
}
