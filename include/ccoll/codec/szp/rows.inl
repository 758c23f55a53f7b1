// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/rows.inl - floor 2. The blocks of a chunk with rows: one text, compiled once for each instruction set. A row may be shorter
// than a block. Then a block is predicted from quanta of its own, which decoders have written before they need them, because they write
// them piece by piece. Uses the primitives of szp/loops.inl, and
//   store(q, i32[32])                           the reverse of load
//   subtract(i32[32], q), add(i32[32], q)       of other quanta
//   restore(in, width, r, one, row_writer)      a further destination, to which up to rows::least values are written at once

/// Blocks of the differences of r (szp/layout.hpp). The first value of the chunk stands for all values before it.
///
/// Some blocks are quantised at once, before the first one of them is encoded. If each were quantised when its turn comes, the quanta of
/// short rows would be loaded while they are still being stored, which such loads wait for: f32 would be a quarter slower with AVX-512.
template <bool Planes, class T>
CCOLL_TARGET inline encoded_blocks encode_above(const T* x, std::size_t n, rows::distances above, const quantiser<T>& grid, u8* out,
                                                const u8* last, u8* codes) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t in_line = 64 / sizeof(i32), at_once = 8;
    const quantiser<T> z = grid;  // a compiler must assume that stores to `p` change the other one
    encoded_blocks all;
    if (quantiser<T>::fields::magnitude(x[0]) >= z.safe) {
        all.code = status::unsupported;
        return all;
    }
    alignas(64) i32 kept[2 * chunk_elements + in_line];
    i32* own = kept + (above.reach() + in_line - 1) / in_line * in_line;  // loads may cross lines, stores do not
    i32* next = own;
    std::fill(own - above.reach(), own, static_cast<i32>(std::nearbyint(x[0] * z.inverse)));
    magnitudes<T> most;
    clear(most);
    running r;
    start(r, 0);
    look_ahead<T> ahead;
    overhang beyond;
    const std::size_t blocks = blocks_of(n), whole = n / block_elements;
    std::size_t k = 0, quantised = 0;
    u8* p = out;
    bool brief = true;
    for (const u8* until = last;;) {
        for (; k < blocks && p <= until; ++k) {
            if (k == quantised) {
                for (const std::size_t end = std::min(k + at_once, blocks); quantised < end; ++quantised, next += block_elements) {
                    const T* block = x + block_elements * quantised;
                    T tail[block_elements];
                    read_ahead(block, sizeof tail);
                    if (quantised == whole) [[unlikely]] {
                        const std::size_t count = n - block_elements * whole;
                        std::memcpy(tail, block, count * sizeof(T));
                        std::fill(tail + count, tail + block_elements, tail[count - 1]);
                        block = tail;
                    }
                    quanta q;
                    magnitudes<T> m;
                    ahead.quantise(x, n, quantised, block, z, q, m);
                    if (over(m, z.safe)) [[unlikely]] {
                        all.code = status::unsupported;
                        return all;
                    }
                    merge(most, m);
                    store(q, next);
                }
                brief = !over(most, z.brief);
            }
            fetch_ahead(p, 1);
            quanta q;
            load(own, q);
            subtract(own - above.row, q);
            if constexpr (Planes) {
                subtract(own - above.plane, q);
                add(own - above.reach(), q);
            }
            if (k == whole) [[unlikely]] {  // filled up so that differences are 0
                const std::size_t count = n - block_elements * whole;
                i32 filled[block_elements];
                store(q, filled);
                std::fill(filled + count, filled + block_elements, filled[count - 1]);
                load(filled, q);
            }
            own += block_elements;
            differences d;
            difference(q, r, d);
            const unsigned width = put_planes(d, brief, p);
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
/// @param grid  of_rows() of the common one    @param last, codes  @see encode_blocks
/// @return      code unsupported: there are values that are too large    code out_of_space: the blocks do not fit
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline encoded_blocks encode_rows(const T* x, std::size_t n, rows::distances above, const quantiser<T>& grid,
                                                                 u8* out, const u8* last, u8* codes) noexcept
{
    if (above.plane == 0) return encode_above<false>(x, n, above, grid, out, last, codes);
    return encode_above<true>(x, n, above, grid, out, last, codes);
}

template <bool Planes, class T>
CCOLL_TARGET inline void decode_above(const chunk_view& view, T step, T* x, std::size_t n, stores how) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t in_line = 64 / sizeof(T);
    const rows::distances above = view.above;
    alignas(64) T kept[2 * chunk_elements + in_line];
    T* own = kept + (above.reach() + in_line - 1) / in_line * in_line;  // loads may cross lines, stores do not
    std::fill(own - above.reach(), own, static_cast<T>(static_cast<i32>(view.base)));
    const bool past = streams && how == stores::streamed;
    const std::size_t ahead = past ? 0 : fetch_distance;
    running r;
    start(r, 0);
    for (block_runs<T> runs(view, x, n); runs.next();) {
        const u8* const codes = runs.codes;
        const u8* p = runs.planes;
        T* to = runs.to;
        std::size_t k = 0;
        const auto add_above = [&](auto& destination) CCOLL_TARGET {
            row_writer<T, std::remove_reference_t<decltype(destination)>, Planes> w{
                own, own - above.row, own - above.plane, own - above.reach(), step, destination};
            const unsigned width = width_behind_classes(p, codes[k]);
            restore(p, width, r, T(1), w);
            p += 4 * width;
            own += block_elements;
        };
        for (const std::size_t cached = past && to == x ? std::min<std::size_t>(runs.blocks, 1) : runs.blocks; k < cached; ++k) {
            fetch(to, ahead, sizeof(T) * block_elements);
            fetch_ahead(p, 1);
            add_above(to);
            to += block_elements;
        }
        if constexpr (streams) {
            if (k < runs.blocks) {
                lines_of<T> lines(to);
                for (; k < runs.blocks; ++k) add_above(lines);
                lines.finish();
            }
        }
        runs.planes = p;
    }
    if (view.escaped != 0) put_classes(view, x, n);
}
/// @see decode_blocks
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline void decode_rows(const chunk_view& view, T step, T* x, std::size_t n, stores how) noexcept
{
    if (view.above.plane == 0) decode_above<false>(view, step, x, n, how);
    else decode_above<true>(view, step, x, n, how);
}
