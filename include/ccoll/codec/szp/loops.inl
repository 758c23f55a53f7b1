// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/loops.inl - floor 2. The loops over the groups of a chunk: one text, compiled once for each instruction set.
//
// The namespace that includes this file has these primitives on the 32 values of a block:
//   quanta, running                            registers, or arrays; the last quantum
//   quantise(x, z, q)                          rint(x i) in T, of f32; a value from z.usual on becomes hold_out, or anything that differs
//                                              from its neighbours by 2^15 or more
//   quantise_in_double(x, z, q)                rint(x i) in double; the same from z.narrow on
//   store(q, to), load(from, q)                32 numbers
//   difference(from, q)                        from[i] - from[i - 1]
//   subtract(from, q), add_to(from, q)         q[i] -= from[i], q[i] += from[i]; from: numbers, or quanta
//   put_planes(q, out) -> width                may write `slack` bytes
//   put_all_planes(q, out)                     all 32
//   get_planes(in, width, q)                   width 1..32
//   start(r, base)
//   restore(in, width, r, q)                   running sums on top of r, width 0..32
//   restore(in, width, r, step, to)            the same, as values: q step in T
//   dequantise(q, step, to)
//   add_blocks(a, wa, b, wb, out) -> width
//   fill(x, n, value, how)                     n equal values
//   streams, lines_of<T>                       is there a line writer (codec/lines), and which one
// and lanes, the bytes of a register.
// Kernels trust what they are given: chunk_view has checked it, `slack` bytes can be read behind a chunk, and written behind the room of
// one.

#include <ccoll/codec/szp/survey.inl>

template <class T>
CCOLL_INLINE void quantise_block(const T* x, const grid<T>& z, rounding how, i32* to) noexcept
{
    quanta q;
    if constexpr (is_f32<T>) {
        if (how != rounding::in_double) {
            quantise(x, z, q);
            store(q, to);
        }
        if (how == rounding::fast) return;
    }
    quantise_in_double(x, z, q);
    if (!is_f32<T> || how == rounding::in_double) return store(q, to);
    // In double from z.usual on, else in T.
    const auto usual = static_cast<typename fields_of<T>::signed_word>(z.usual);
    i32 in_double[block_elements];
    store(q, in_double);
    for (std::size_t i = 0; i < block_elements; ++i) to[i] = fields_of<T>::signed_magnitude(x[i]) < usual ? to[i] : in_double[i];
}
/// The quanta of a group, the last block filled up with its last value.
template <class T>
CCOLL_INLINE void quantise_group(const T* x, std::size_t n, const grid<T>& z, rounding how, i32* to) noexcept
{
    CCOLL_EXACT_BODY
    const std::size_t whole = n / block_elements * block_elements;
    const auto all = [&](rounding r) CCOLL_TARGET __attribute__((always_inline)) {
        for (std::size_t i = 0; i < whole; i += block_elements) quantise_block(x + i, z, r, to + i);
    };
    if (how == rounding::fast) all(rounding::fast);
    else if (how == rounding::mixed) all(rounding::mixed);
    else all(rounding::in_double);
    if (whole == n) [[likely]]
        return;
    T tail[block_elements];
    for (std::size_t i = 0; i < block_elements; ++i) std::memcpy(tail + i, x + std::min(whole + i, n - 1), sizeof(T));
    quantise_block(tail, z, how, to + whole);
}

/// The quanta of a chunk of ordinary values. @param to  whole blocks
template <class T>
CCOLL_TARGET inline void quantise_chunk(const T* x, std::size_t n, const grid<T>& z, rounding how, i32* to) noexcept
{
    for (std::size_t g = 0; g < groups_of(n); ++g) quantise_group(x + group_elements * g, length_of(n, g), z, how, to + group_elements * g);
}

#include <ccoll/codec/szp/lists.inl>

/// Packs the differences of a group.
/// @param x            its values: later ones are fetched meanwhile, into the second cache alone
/// @param lists        may there be lists?
/// @param differences  (offset, quanta&)
/// @return             the width of the widest block
template <class T, class Differences>
CCOLL_INLINE unsigned pack_group(writer& to, const T* x, std::size_t blocks, i32 base, bool lists, const Differences& differences) noexcept
{
    group_widths w;
    u8* p = to.planes;
    unsigned lowest = widest_wide, highest = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
        // Nothing else is gained by fetching. Where `p` goes may never have been touched (a stack, a new frame): a prefetch there walks
        // through the page tables in vain, 0.1 us each.
        fetch<2>(x + block_elements * b, 8192 + group_elements * sizeof(T), block_elements * sizeof(T));
        quanta d;
        differences(block_elements * b, d);
        const unsigned width = put_planes(d, p);
        w.of[b] = static_cast<u8>(width);
        lowest = std::min(lowest, width);
        highest = std::max(highest, width);
        p += 4 * width;
    }
    if (lists && highest <= widest_beside && highest > 0)
        if (u8* const end = put_lists(to.planes, blocks, w); end != nullptr) {
            to.close_lists(end, w, blocks, base);
            return highest;
        }
    to.close(p, w, blocks, lowest, highest, base);
    return highest;
}

/// Packs a chunk whose values are predicted from their left neighbour, or (!left) not at all.
/// @param x      n values, 1..chunk_elements
/// @param lists  may there be lists? (movement)
/// @param zero   so many values are 0 at the beginning
/// @param chunk  most_bytes() and `slack` bytes
/// @return       held: false if a value has no quantum of this kind: in movement |x| from z.usual on, else from z.narrow on
template <class T>
CCOLL_TARGET inline packed encode(const T* x, std::size_t n, const grid<T>& grid_of_chunk, bool left, bool lists, rounding usual,
                                  rounding unusual, std::size_t zero, u8* chunk) noexcept
{
    CCOLL_EXACT_BODY
    const grid<T> z = grid_of_chunk;
    const T least = static_cast<T>(0.4999 * z.step);
    alignas(64) i32 space[16 + group_elements];
    i32* const q = space + 16;
    packed all;
    all.flat = true;
    writer to(chunk, n, false);
    i32 first = 0;
    rounding how = usual;
    for (std::size_t g = 0; g < to.groups; ++g) {
        const T* const from = x + group_elements * g;
        const std::size_t count = length_of(n, g), blocks = blocks_of(count);
        if (left && group_elements * (g + 1) <= zero) [[unlikely]] {
            to.close_flat(0);
            continue;
        }
        if (left && count == group_elements && may_be_flat(from, least)) [[unlikely]] {
            const i64 q0 = fields_of<T>::magnitude(from[0]) < z.narrow ? z.quantum(from[0]) : i64{1} << narrow_exponent;
            if (q0 < quantum_limit<T>(unusual) && -q0 < quantum_limit<T>(unusual) && is_flat(from, count, least)) {
                const i32 base = static_cast<i32>(q0);
                to.close_flat(base);
                all.largest = std::max<u64>(all.largest, magnitude(base));
                if (g == 0) first = base;
                all.flat = all.flat && base == first;
                continue;
            }
        }
        for (;;) {
            quantise_group(from, count, z, how, q);
            const i32 base = left ? q[0] : 0;
            q[-1] = base;
            unsigned highest = 0;
            u32 most = magnitude(base);
            const writer before = to;
            if (left) {
                highest =
                    pack_group(to, from, blocks, base, lists, [&](std::size_t i, quanta& d) CCOLL_TARGET __attribute__((always_inline)) {
                        difference(q + i, d);
                        most = std::max(most, magnitude(q[i + block_elements - 1]));
                    });
                most = most + above_last(highest) < most ? u32{1} << 31 : most + above_last(highest);
            } else {
                highest = pack_group(to, from, blocks, base, lists,
                                     [&](std::size_t i, quanta& d) CCOLL_TARGET __attribute__((always_inline)) { load(q + i, d); });
                most = highest > 0 ? u32{1} << (highest - 1) : 0;
            }
            if (most >= quantum_limit<T>(how)) [[unlikely]] {
                // An upper bound only: look. A value below the limit may have been rounded up to it.
                most = largest_of(q, block_elements * blocks);
                const bool is_held =
                    most < quantum_limit<T>(how) ||
                    (most == quantum_limit<T>(how) && largest_magnitude(from, count) < (how == rounding::fast ? z.usual : z.narrow));
                if (!is_held && how == unusual) {
                    all.held = false;
                    return all;
                }
                if (!is_held) {
                    to = before;
                    how = unusual;
                    continue;
                }
            }
            all.largest = std::max<u64>(all.largest, most);
            if (g == 0) first = base;
            all.flat = all.flat && highest == 0 && (left ? base == first : true);
            how = usual != unusual && most < quantum_limit<T>(usual) ? usual : how;
            break;
        }
    }
    all.end = to.planes;
    return all;
}

/// The same with rows, and planes.
template <class T>
CCOLL_TARGET inline packed encode_above(const T* x, std::size_t n, const grid<T>& grid_of_chunk, distances above, bool lists, rounding how,
                                        u8* chunk) noexcept
{
    CCOLL_EXACT_BODY
    const grid<T> z = grid_of_chunk;
    chunk_quanta room;
    i32* const first = room.first(above);
    packed all;
    writer to(chunk, n, false);
    i32 front = 0;
    for (std::size_t g = 0; g < to.groups; ++g) {
        const T* const from = x + group_elements * g;
        const std::size_t count = length_of(n, g), blocks = blocks_of(count);
        i32* const q = first + group_elements * g;
        quantise_group(from, count, z, how, q);
        if (g == 0) {
            front = q[0];
            for (std::size_t i = 0; i < above.reach() + 1; ++i) q[-1 - static_cast<std::ptrdiff_t>(i)] = front;
        }
        const u32 most = largest_of(q, block_elements * blocks);
        if (most >= quantum_limit<T>(how)) {
            all.held = false;
            return all;
        }
        all.largest = std::max<u64>(all.largest, most);
        const i32 *const row = q - above.row, *const plane = q - above.plane, *const both = q - above.reach();
        // The base stands for the residual before the group. In the first group it stands for the quanta before the chunk.
        const i32 before = q[-1] - row[-1] - (above.plane != 0 ? plane[-1] - both[-1] : 0);
        const auto pack = [&](auto with_planes) CCOLL_TARGET __attribute__((always_inline)) {
            pack_group(to, from, blocks, g == 0 ? front : before, lists,
                       [&](std::size_t i, quanta& d) CCOLL_TARGET __attribute__((always_inline)) {
                           difference(q + i, d);
                           quanta e;
                           difference(row + i, e);
                           subtract(e, d);
                           if constexpr (with_planes.value) {
                               difference(plane + i, e);
                               subtract(e, d);
                               difference(both + i, e);
                               add_to(e, d);
                           }
                       });
        };
        if (above.plane != 0) pack(std::true_type{});
        else pack(std::false_type{});
    }
    all.end = to.planes;
    return all;
}

#include <ccoll/codec/szp/decode.inl>
