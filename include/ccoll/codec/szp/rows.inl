// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/rows.inl - floor 2. The blocks of a chunk with rows: one text, compiled once for each instruction set. Rows are at least as
// long as a block, so that a block never overlaps the one above it. Uses the primitives of szp/loops.inl, and
//   subtract(before, z, q)                      subtracts the quanta of 32 values
//   restore(in, width, r, one, row_writer)      a further destination

/// Blocks of the differences of r[i] = q[i] - q[i - distance]. The first value of the chunk stands for all values before it.
/// @param grid  of_rows() of the common one    @param last, codes  @see encode_blocks
/// @return      code unsupported: there are values that are too large    code out_of_space: the blocks do not fit
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline encoded_blocks encode_rows(const T* x, std::size_t n, std::size_t distance, const quantiser<T>& grid,
                                                                 u8* out, const u8* last, u8* codes) noexcept
{
    CCOLL_EXACT_BODY
    const quantiser<T> z = grid;  // a compiler must assume that stores to `p` change the other one
    encoded_blocks all;
    magnitudes<T> most;
    clear(most);
    running r;
    start(r, 0);
    look_ahead<T> ahead;
    T own[block_elements], above[block_elements];
    std::fill_n(above, block_elements, x[0]);
    overhang beyond;
    const std::size_t blocks = blocks_of(n);
    std::size_t k = 0;
    u8* p = out;
    for (const u8* until = last;;) {
        for (; k < blocks && p <= until; ++k) {
            const std::size_t at = block_elements * k;
            const T *block = x + at, *before = at < distance ? above : block - distance;
            read_ahead(block, sizeof own);
            fetch_ahead(p, 1);
            if (at < distance && at + block_elements > distance) [[unlikely]]
                std::memcpy(above + (distance - at), x, (at + block_elements - distance) * sizeof(T));
            if (const std::size_t count = n - at; count < block_elements) [[unlikely]] {  // filled up so that differences are 0
                if (before != above) std::memcpy(above, before, sizeof above);
                std::memcpy(own, block, count * sizeof(T));
                std::fill(own + count, own + block_elements, own[count - 1]);
                std::fill(above + count, above + block_elements, above[count - 1]);
                block = own;
                before = above;
            }
            quanta q;
            magnitudes<T> m;
            ahead.quantise(x, n, k, block, z, q, m);
            if (over(m, z.safe)) [[unlikely]] {
                all.code = status::unsupported;
                return all;
            }
            merge(most, m);
            subtract(before, z, q);
            differences d;
            difference(q, r, d);
            const unsigned width = put_planes(d, !over(most, z.brief), p);
            codes[k] = static_cast<u8>(width);
            p += 4 * width;
        }
        if (k == blocks || beyond.in_use()) break;
        until = beyond.take_over(p, last);
    }
    if (k < blocks) {
        all.code = status::out_of_space;
        return all;
    }
    all.largest = z.largest_quantum(top(most));
    all.end = beyond.in_use() ? beyond.end(p) : p;
    if (all.end == nullptr) all.code = status::out_of_space;
    return all;
}

/// @see decode_blocks
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline void decode_rows(const chunk_view& view, T step, T* x, std::size_t n, stores how) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t in_line = 64 / sizeof(T);
    alignas(64) T kept[2 * chunk_elements + in_line];
    T* own = kept + (view.distance + in_line - 1) / in_line * in_line;  // loads may cross lines, stores do not
    const T* before = own - view.distance;
    std::fill(own - view.distance, own, static_cast<T>(static_cast<i32>(view.base)));
    const bool past = streams && how == stores::streamed;
    const std::size_t ahead = past ? 0 : fetch_distance;
    running r;
    start(r, 0);
    for (block_runs<T> runs(view, x, n); runs.next();) {
        const u8* const codes = runs.codes;
        const u8* p = runs.planes;
        T* to = runs.to;
        std::size_t k = 0;
        const auto add_row = [&](auto& destination) CCOLL_TARGET {
            row_writer<T, std::remove_reference_t<decltype(destination)>> w{before, own, step, destination};
            const unsigned width = width_behind_classes(p, codes[k]);
            restore(p, width, r, T(1), w);
            p += 4 * width;
            before += block_elements;
            own += block_elements;
        };
        for (const std::size_t cached = past && to == x ? std::min<std::size_t>(runs.blocks, 1) : runs.blocks; k < cached; ++k) {
            fetch(to, ahead, sizeof(T) * block_elements);
            fetch_ahead(p, 1);
            add_row(to);
            to += block_elements;
        }
        if constexpr (streams) {
            if (k < runs.blocks) {
                lines_of<T> lines(to);
                for (; k < runs.blocks; ++k) add_row(lines);
                lines.finish();
            }
        }
        runs.planes = p;
    }
    if (view.escaped != 0) put_classes(view, x, n);
}
