// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/repredict.inl - floor 2. The blocks of a chunk with another predictor: one text, compiled once for each instruction set. Uses
// the primitives of szp/loops.inl.

/// Adds to 32 values, or subtracts from them, the quanta above those at `at`.
template <bool Add>
CCOLL_TARGET inline void move_above(i32* values, const i32* at, const rows::distances& above) noexcept
{
    if (above.none()) return;
    const auto move = [&](const i32* from, bool add) CCOLL_TARGET {
        for (std::size_t i = 0; i < block_elements; ++i) {
            const u32 value = static_cast<u32>(values[i]), other = static_cast<u32>(from[i]);
            values[i] = static_cast<i32>(add ? value + other : value - other);
        }
    };
    if (above.plane != 0) {
        move(at - above.plane, Add);
        move(at - above.reach(), !Add);
    }
    move(at - above.row, Add);  // at last, because a row that is shorter than a block adds sums that are made here
}

/// Blocks of the quanta of a chunk, predicted over other distances. Classes stay where they are.
/// @param view   narrow, or with rows    @param n  of its values
/// @param above  none: predicted from the value before alone
/// @param out    longest_narrow_blocks bytes
[[gnu::noinline]] CCOLL_TARGET inline encoded_blocks repredict(const chunk_view& view, std::size_t n, rows::distances above, u8* out,
                                                               u8* codes) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t room = chunk_elements + block_elements;
    i32 kept[chunk_elements + room];
    i32* const quanta_of_chunk = kept + std::max(view.above.reach(), above.reach());
    const i32 base = static_cast<i32>(view.base);
    std::fill(kept, quanta_of_chunk, base);
    running from, to;
    start(from, view.above.none() ? base : 0);
    start(to, above.none() ? base : 0);
    encoded_blocks all;
    block_source source(view);
    const u8* p = view.blocks;
    for (std::size_t k = 0; k < view.count; ++k) {
        p = source.readable(p);
        unsigned code = view.codes.of[k];
        unsigned escape = 0;
        if (code >= class_code) {
            std::memcpy(out, p, 8);
            out += 8;
            escape = class_code;
            ++all.escaped;
            skip_class(p, code);
        }
        double sums[block_elements], *sum = sums;  // of the differences: exact
        restore(p, code, from, 1.0, sum);
        p += 4 * code;
        i32 *const own = quanta_of_chunk + block_elements * k, predicted[block_elements];
        for (std::size_t i = 0; i < block_elements; ++i) own[i] = static_cast<i32>(sums[i]);
        move_above<true>(own, own, view.above);
        std::memcpy(predicted, own, sizeof predicted);
        move_above<false>(predicted, own, above);
        for (std::size_t i = n - block_elements * k; i < block_elements; ++i) predicted[i] = predicted[i - 1];
        quanta q;
        load(predicted, q);
        differences d;
        difference(q, to, d);
        const unsigned width = put_planes(d, false, out);
        codes[k] = static_cast<u8>(width | escape);
        out += 4 * width;
    }
    all.end = out;
    return all;
}
