// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/loops.inl - floor 2. The loops over the groups of a chunk: one text, compiled once for each
// instruction set.
// The namespace that includes this file has these primitives on the 32 values of a block:
//   quanta, running                            registers, or arrays; the last quantum
//   quantise(x, z, how, q)                     rint(x i); a value from z.usual on (f32, fast) or z.narrow on
//                                              becomes hold_out, or anything that differs from its neighbours
//                                              by 2^15 or more
//   store(q, to), load(from, q)                32 numbers
//   difference(from, q)                        from[i] - from[i - 1]
//   difference(q, last)                        q[i] -= q[i - 1], and the last q of the block before
//   subtract_above(above, planes, q)           numbers, or their differences in sets that do not fuse: what
//                                              is predicted from above
//   residual_of(number, above, planes)         that of the number in front of a block
//   add_above(above, planes, q, to)            to[i] = q[i] += row[i] + plane[i] - both[i]
//   put_planes(q, out, expected) -> width      may write `slack` bytes; put_all_planes(q, out): all 32
//   get_planes(in, width, q)                   width 1..32
//   start(r, base), restore(in, width, r, q)   running sums on top of r, width 0..32
//   dequantise(q, step, to)                    q step in T
//   add_blocks<Most>(a, wa, b, wb, out) -> width   Most: of both widths, or few_above_7
//   fill(x, n, value, how)                     n equal values
//   streams, lines_of<T>                       is there a line writer (codec/lines), and which one
// and lanes, the bytes of a register. Kernels trust what they are given: chunk_view has checked it, and
// `slack` bytes stand behind it.

#include <ccoll/codec/szp/survey.inl>

/// each(how).
/// @param Known  compiled for each rounding
template <bool Known = true, class Each>
CCOLL_INLINE void with(rounding how, const Each& each) noexcept
{
    if (!Known) each(how);
    else if (how == rounding::fast) each(rounding::fast);
    else if (how == rounding::mixed) each(rounding::mixed);
    else each(rounding::in_double);
}
/// The quanta of whole blocks.
template <class T>
CCOLL_INLINE void quantise_blocks(const T* x, std::size_t blocks, const grid<T>& z, rounding how,
                                  i32* to) noexcept
{
    CCOLL_EXACT_BODY
    with(how, [&](rounding r) CCOLL_TARGET __attribute__((always_inline)) {
        for (std::size_t i = 0; i < block_elements * blocks; i += block_elements) {
            quanta q;
            quantise(x + i, z, r, q);
            store(q, to + i);
        }
    });
}

#include <ccoll/codec/szp/lists.inl>

/// Writes the blocks of a group.
/// @param put_block  (offset, where its planes go, width of the block before) -> width
/// @param lists  @see put_lists; 0: none
/// @return           the width of the widest block
template <bool Wide = false, class PutBlock>
CCOLL_INLINE unsigned pack_group(writer& to, std::size_t blocks, const i32& base, const PutBlock& put_block,
                                 unsigned lists = 0) noexcept
{
    to.open();
    u8 *p = to.planes, *const widths = to.widths_of_next();
    constexpr unsigned step = Wide ? 2 : 1;
    u64 seen = 0;  // bit w: a block has w planes (wide: 2 w or 2 w - 1). A minimum and a maximum take longer
    unsigned width = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
        width = put_block(block_elements * b, p, width);
        widths[b] = static_cast<u8>(width);
        seen |= u64{1} << (width + step - 1) / step;
        p += 4 * width;
    }
    const unsigned highest = step * (63 - static_cast<unsigned>(std::countl_zero(seen)));
    if (step * static_cast<unsigned>(std::countr_zero(seen)) < least_beside(highest) + step - 1) [[unlikely]]
        p = to.template widen<Wide ? widest_wide : widest>(blocks, least_beside(highest));
    u8* end = nullptr;
    if (lists > 0 && highest <= widest_beside && highest > 0)
        to.lists_pay = (end = put_lists(to.planes, p, blocks, widths, lists, to.lists_pay)) != nullptr;
    to.close(end != nullptr ? end : p, base, end != nullptr);
    return highest;
}

/// Can a group be written as equal quanta? Then it is.
/// @param most  of |q|
template <class T>
CCOLL_INLINE bool put_flat(writer& to, const T* x, std::size_t count, const grid<T>& z, u32 most,
                           i64& base) noexcept
{
    const T least = static_cast<T>(0.4999 * z.step);
    if (count != group_elements || !may_be_flat(x, least)) [[likely]]
        return false;
    const i64 q = fields_of<T>::magnitude(x[0]) < z.narrow ? z.quantum(x[0]) : i64{1} << narrow_exponent;
    if (q >= most || -q >= most || !is_flat(x, count, least)) return false;
    to.close_flat(static_cast<i32>(base = q));
    return true;
}

/// The groups of a chunk that is encoded: whole blocks, and bridges where values are exceptional.
template <class T>
struct group_source {
    const T* x;
    std::size_t n;
    search<T>* apart;               ///< null: no value is exceptional
    T* room;                        ///< of a group
    bool looks, looked = false;     ///< for exceptional values, before the next group is packed; in this one
    const T *from = x, *ahead = x;  ///< ahead: where later values are read

    CCOLL_INLINE void open(std::size_t g, bool look) noexcept
    {
        const std::size_t count = length_of(n, g);
        from = ahead = x + group_elements * g;
        if (looked = look; look) {
            ahead += group_elements - 2048 / sizeof(T);  // the next group is looked at before it is packed
            from = exceptions::take_out<T>(x, n, group_elements * g, apart->is, apart->found, room);
            looks = from == room || apart->everywhere;
        }
        if (count % block_elements == 0) return;
        std::memmove(room, from, count * sizeof(T));
        for (std::size_t i = count; i < block_elements * blocks_of(count); ++i)
            std::memcpy(room + i, room + count - 1, sizeof(T));
        from = room;
    }
};

/// In a chunk that is predicted from above: its quanta, and the first one.
struct start_of_chunk {
    chunk_quanta* room = nullptr;
    i32 base = 0;
};

/// Packs the next group. @param q  @see encode_groups
template <bool Above, class T>
CCOLL_INLINE packed pack_values(writer& to, const group_source<T>& in, std::size_t blocks, const grid<T>& z,
                                const packing& as, rounding how, i32* q, start_of_chunk& in_front) noexcept
{
    CCOLL_EXACT_BODY
    const T *const from = in.from, *const ahead = in.ahead;
    const distances above = as.above;
    const bool first_group = to.group == 0;
    unsigned highest = 0;
    u32 most = 0;
    i32 base = 0;
    if constexpr (!fuses) quantise_blocks(from, blocks, z, how, q);
    const auto pack = [&](const auto& differences) CCOLL_TARGET __attribute__((always_inline)) {
        const auto put_block = [&](std::size_t i, u8* p, unsigned expected) CCOLL_TARGET
            __attribute__((always_inline)) {
                // Values that have not been read yet. Nothing is gained by fetching where `p` goes, which may
                // never have been touched (a stack, a new frame): a prefetch there walks through the page
                // tables in vain, 0.1 us each.
                if constexpr (fuses) read_ahead(ahead + i, block_elements * sizeof(T));
                else fetch<2>(ahead + i, 8192 + group_elements * sizeof(T), block_elements * sizeof(T));
                quanta d;
                differences(i, d);
                return put_planes(d, p, expected);
            };
        // Decoders of rows lose a fifteenth by lists.
        highest = pack_group(to, blocks, base, put_block, as.lists ? Above ? 3 : 4 : 0);
    };
    const auto pack_differences = [&](rounding r) CCOLL_TARGET __attribute__((always_inline)) {
        const i32 first = first_of(quanta_at(from, z, r));
        if (Above && first_group) {
            in_front.base = first;
            in_front.room->fill_front(above, first);
        }
        if (!Above) q[-1] = first;
        const i32* const chunk = Above ? in_front.room->first() : q;
        const front_block front(in_front.base);
        const bool planes = above.plane != 0, nearby = front_block::is_near(chunk, q, above);
        base = Above && !first_group
                   ? residual_of(q[-1], nearby ? block_above::nearby(q, above) : front.above(chunk, q, above),
                                 planes)
                   : first;
        running last;
        start(last, Above && first_group ? 0 : base);
        range_of_registers range(first);
        const auto pack_them = [&](auto is_near) CCOLL_TARGET __attribute__((always_inline)) {
            pack([&](std::size_t i, quanta& d) CCOLL_TARGET __attribute__((always_inline)) {
                if constexpr (fuses) quantise(from + i, z, r, d);
                else load(q + i, d);
                for (const running v : d.v)
                    if constexpr (Above) range.add(v);
                if constexpr (Above && fuses) store(d, q + i);
                if constexpr (!fuses) difference(q + i, d);
                if constexpr (Above)
                    subtract_above(
                        is_near ? block_above::nearby(q + i, above) : front.above(chunk, q + i, above),
                        planes, d);
                if constexpr (fuses) difference(d, last);
                else last = register_at(q + i + block_elements - in_register);
                if constexpr (!Above) range.add(last);
            });
        };
        if (!Above || nearby) pack_them(std::true_type{});
        else pack_them(std::false_type{});
        most = range.largest(Above ? 0 : in_register - 1);
        if (!Above) most = most + above_last(highest) < most ? u32{1} << 31 : most + above_last(highest);
    };
    const auto pack_quanta = [&](rounding r) CCOLL_TARGET __attribute__((always_inline)) {
        pack([&](std::size_t i, quanta& d) CCOLL_TARGET __attribute__((always_inline)) {
            if constexpr (fuses) quantise(from + i, z, r, d);
            else load(q + i, d);
        });
        most = highest > 0 ? u32{1} << (highest - 1) : 0;
    };
    if (Above || as.left) with<fuses>(how, pack_differences);
    else with<fuses>(how, pack_quanta);
    return {.base = base, .largest = most, .flat = highest == 0};
}

/// @param q     where quanta go: those of the chunk; without distances, those of a group
/// @param room_of_q  with distances: where the first of them is
template <bool Above, class T>
CCOLL_INLINE packed encode_groups(const T* x, std::size_t n, const grid<T>& grid_of_chunk, const packing& as,
                                  i32* q, chunk_quanta* room_of_q, u8* chunk, search<T>* apart) noexcept
{
    CCOLL_EXACT_BODY
    const grid<T> z = grid_of_chunk;
    packed all{.flat = !Above};
    alignas(64) u8 widths[group_blocks * chunk_groups];
    alignas(64) T room[group_elements];
    planes_of_group<> spare;
    start_of_chunk in_front{room_of_q};
    writer to(chunk, n, false, widths, as.limit, spare);
    group_source<T> in{
        x, n, apart, room,
        apart != nullptr && (apart->everywhere || fields_of<T>::magnitude(x[0]) >= apart->is.limit)};
    rounding how = in.looks || fields_of<T>::magnitude(x[0]) < z.usual ? as.usual : as.unusual;
    for (std::size_t g = 0; g < to.groups; ++g, q += Above ? group_elements : 0) {
        const std::size_t count = length_of(n, g), blocks = blocks_of(count);
        packed group{.flat = true};
        in.open(g, in.looks);
        if (!Above && as.left && put_flat(to, in.from, count, z, quantum_limit<T>(as.unusual), group.base))
            [[unlikely]] {
            group.largest = magnitude(static_cast<i32>(group.base));
        } else {
            for (;;) {
                u8* const planes = to.planes;
                const bool full = to.full;
                group = pack_values<Above>(to, in, blocks, z, as, how, q, in_front);
                if (group.largest < quantum_limit<T>(how)) break;
                // An upper bound only: look. A value below the limit may have been rounded up to it.
                if constexpr (!Above && fuses) quantise_blocks(in.from, blocks, z, how, q);
                group.largest = largest_of(q, block_elements * blocks);
                if (group.largest < quantum_limit<T>(how) ||
                    (group.largest == quantum_limit<T>(how) &&
                     largest_magnitude(in.from, count, {fields_of<T>::sign}) <
                         (how == rounding::fast ? z.usual : z.narrow)))
                    break;
                const bool known = in.looked || apart == nullptr;
                if (!known) in.open(g, true);
                if ((known || !in.looks) && std::exchange(how, as.unusual) == as.unusual)
                    return {.held = false};
                to.planes = planes;  // once more
                to.group = g;
                to.full = full;
            }
            how = group.largest < quantum_limit<T>(as.usual) ? as.usual : how;
        }
        all.largest = std::max(all.largest, group.largest);
        if (g == 0) all.base = group.base;
        all.flat = all.flat && group.flat && group.base == all.base;
    }
    all.end = to.finish();
    all.full = to.full;
    return all;
}
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline packed encode_above(const T* x, std::size_t n, const grid<T>& z,
                                                          const packing& as, u8* chunk,
                                                          search<T>* apart) noexcept
{
    chunk_quanta room;
    return encode_groups<true>(x, n, z, as, room.first(), &room, chunk, apart);
}
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline packed encode_beside(const T* x, std::size_t n, const grid<T>& z,
                                                           const packing& as, u8* chunk,
                                                           search<T>* apart) noexcept
{
    alignas(64) i32 space[16 + group_elements];
    return encode_groups<false>(x, n, z, as, space + 16, nullptr, chunk, apart);
}
/// Packs a chunk of n values, 1..chunk_elements.
/// @param chunk  as.limit says how many bytes    @param apart  what is exceptional; null: nothing
/// @return       held: false if a value that is not exceptional has no quantum of these kinds
template <class T>
CCOLL_TARGET inline packed encode(const T* x, std::size_t n, const grid<T>& z, const packing& as, u8* chunk,
                                  search<T>* apart) noexcept
{
    return as.above.none() ? encode_beside(x, n, z, as, chunk, apart)
                           : encode_above(x, n, z, as, chunk, apart);
}

#include <ccoll/codec/szp/decode.inl>
#include <ccoll/codec/szp/wide.inl>
