// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/rows.inl - floor 2. The blocks of a chunk with rows: one text, compiled once for each instruction set. A row may be shorter
// than a block. Then a block is predicted from quanta of its own, which decoders have written before they need them, because they write
// them piece by piece. Uses the primitives of szp/loops.inl, and
//   store(q, i32[32])                           the reverse of load
//   subtract(i32[32], q), add(i32[32], q)       of other quanta
//   restore(in, width, r, one, row_writer)      a further destination, to which up to rows::least values are written at once

/// What predicts the quantum at `at`, but for the quantum before it.
template <bool Planes>
CCOLL_TARGET inline i32 predicted_from(const i32* at, const rows::distances& above) noexcept
{
    const auto before = [at](std::size_t distance) { return *(at - distance); };
    return before(above.row) + (Planes ? before(above.plane) - before(above.reach()) : 0);
}

/// Blocks of the differences of r (szp/layout.hpp). The first value of the chunk stands for all values before it.
///
/// Some blocks are quantised at once, before the first one of them is encoded. If each were quantised when its turn comes, the quanta of
/// short rows would be loaded while they are still being stored, which such loads wait for: f32 would be a quarter slower with AVX-512.
template <bool Planes, class T>
CCOLL_TARGET inline encoded_blocks encode_above(const T* x, std::size_t n, rows::distances above, const quantiser<T>& grid, u8* out,
                                                const u8* last, u8* codes) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t at_once = 8, in_line = 64 / sizeof(i32);
    const quantiser<T> z = grid;  // a compiler must assume that stores to `p` change the other one
    encoded_blocks all;
    if (quantiser<T>::fields::magnitude(x[0]) >= z.in_rows) {
        all.code = status::unsupported;
        return all;
    }
    alignas(64) i32 kept[2 * chunk_elements];
    i32* own = kept + (above.reach() + in_line - 1) / in_line * in_line;  // loads may cross lines, stores do not
    i32* next = own;
    std::fill(own - above.reach(), own, z.quantum_in_rows(x[0]));
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
        while (k < blocks && p <= until) {
            if (k == quantised) {
                const std::size_t end = std::min(k + at_once, blocks);
                for (; quantised < end; ++quantised, next += block_elements) {
                    const T* block = x + block_elements * quantised;
                    T tail[block_elements];
                    const std::size_t count = n - block_elements * quantised;
                    read_ahead(block, sizeof tail);
                    if (quantised == whole) [[unlikely]] {
                        for (std::size_t i = 0; i < block_elements; ++i) tail[i] = block[std::min(i, count - 1)];
                        block = tail;
                    }
                    quanta q;
                    magnitudes<T> m;
                    ahead.quantise(x, n, quantised, block, z, q, m);
                    if (over(m, z.in_rows)) [[unlikely]] {
                        all.code = status::unsupported;
                        return all;
                    }
                    if constexpr (is_f32<T>)
                        if (over(m, z.safe)) {
                            quanta precise;
                            quantise_f64(block, z.inverse_f64, precise);
                            replace_from(block, z.safe, precise, q);
                        }
                    merge(most, m);
                    store(q, next);
                    if (quantised == whole) [[unlikely]] {  // filled up so that differences are 0
                        const i32 last_r = next[count - 1] - predicted_from<Planes>(next + count - 1, above);
                        for (std::size_t i = count; i < block_elements; ++i) next[i] = last_r + predicted_from<Planes>(next + i, above);
                    }
                }
                brief = !over(most, z.brief);
            }
            for (; k < quantised && p <= until; ++k, own += block_elements) {
                fetch_ahead(p, 1);
                quanta q;
                load(own, q);
                subtract(own - above.row, q);
                if constexpr (Planes) {
                    subtract(own - above.plane, q);
                    add(own - above.reach(), q);
                }
                differences d;
                difference(q, r, d);
                const unsigned width = put_planes(d, brief, p);
                codes[k] = static_cast<u8>(width);
                p += 4 * width;
            }
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
/// @param grid  of_rows() of the common one, or of_rows_on()    @param last, codes  @see encode_blocks
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
    const rows::distances above = view.above;
    quanta_window<T> window(above, static_cast<T>(static_cast<i32>(view.base)));
    T *own = window.begin(), *const full = window.end();
    const bool past = streams && how == stores::streamed;
    const std::size_t ahead = past ? 0 : fetch_distance;
    running r;
    start(r, 0);
    for (block_runs<T> runs(view, x, n); runs.next();) {
        const u8* const codes = runs.codes;
        const u8* p = runs.planes;
        T* to = runs.to;
        std::size_t k = 0;
        const auto add_above = [&](auto& destination) CCOLL_TARGET __attribute__((always_inline)) {
            row_writer<T, std::remove_reference_t<decltype(destination)>, Planes> w{
                own, own - above.row, own - above.plane, own - above.reach(), step, destination};
            const unsigned width = width_behind_classes(p, codes[k]);
            restore(p, width, r, T(1), w);
            p += 4 * width;
            own += block_elements;
        };
        // The window slides outside of the innermost loop, because a call in there would cost the registers of vectors.
        const auto for_each_until = [&](std::size_t end, auto block) CCOLL_TARGET __attribute__((always_inline)) {
            while (k < end) {
                for (const std::size_t stop = std::min(end, k + static_cast<std::size_t>(full - own) / block_elements); k < stop; ++k)
                    block();
                if (own == full) own = window.slide();
            }
        };
        for_each_until(past && to == x ? std::min<std::size_t>(runs.blocks, 1) : runs.blocks,
                       [&]() CCOLL_TARGET __attribute__((always_inline)) {
                           fetch(to, ahead, sizeof(T) * block_elements);
                           fetch_ahead(p, 1);
                           add_above(to);
                           to += block_elements;
                       });
        if constexpr (streams) {
            if (k < runs.blocks) {
                lines_of<T> lines(to);
                for_each_until(runs.blocks, [&]() CCOLL_TARGET __attribute__((always_inline)) { add_above(lines); });
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
