// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/decode.inl - floor 2. From the planes of a chunk to quanta, values, and sums; part of
// szp/loops.inl.
// Two more primitives: get_list(list, count, planes, beside, out), and two_scanner, if a set has one:
// restore() for two blocks.

/// Blocks `from` to `until` - 1 of a group: running sums of the differences, or without `left` those.
/// @param each  (block, quanta&)
template <class Each>
CCOLL_INLINE void read_blocks(const group_view& v, bool left, std::size_t from, std::size_t until,
                              const u8*& planes, running& sum, const Each& each) noexcept
{
    const u8 *p = planes, *const widths = v.widths;
    const std::size_t ahead = v.ahead;
    running r = sum;
    const two_scanner scan_two;
    const auto read = [&](const u8* in, unsigned width, quanta& q) CCOLL_TARGET
        __attribute__((always_inline)) {
            if (left) restore(in, width, r, q);
            else if (width > 0) get_planes(in, width, q);
            else load(zeros, q);
        };
    for (std::size_t b = from; b < until; b += 2) {
        const unsigned wa = widths[b], wb = b + 1 < until ? widths[b + 1] : 0;
        fetch(p, ahead, 1);
        quanta q[2];
        if (!std::is_empty_v<two_scanner> && left && std::max(wa, wb) <= 8) [[likely]] {
            scan_two(p, wa, wb, q, r);
        } else {
            read(p, wa, q[0]);
            read(p + 4 * wa, wb, q[1]);
        }
        p += 4 * (wa + wb);
        each(b, q[0]);
        if (b + 1 == until) break;
        each(b + 1, q[1]);
    }
    planes = p;
    sum = r;
}
/// The values of a group that is not flat.
template <class T>
CCOLL_INLINE void restore_group(const group_view& v, bool left, std::size_t count, T step, T* to,
                                std::size_t behind, stores how) noexcept
{
    const bool past = streams && how == stores::streamed;
    // No prefetch of what is written past the caches, nor behind all values: nobody may ever have touched
    // that.
    const std::size_t ahead = past || behind < fetch_distance ? 0 : fetch_distance,
                      whole = count / block_elements;
    running r;
    start(r, static_cast<i32>(v.base));
    const u8* p = v.planes;
    const auto restore = [&](std::size_t from, std::size_t until, auto& out) CCOLL_TARGET
        __attribute__((always_inline)) {
            read_blocks(v, left, from, until, p, r,
                        [&](std::size_t, quanta& q) CCOLL_TARGET __attribute__((always_inline)) {
                            if constexpr (std::is_same_v<decltype(out), T*&>)
                                fetch(out, ahead, sizeof(T) * block_elements);
                            dequantise(q, step, out);
                            if constexpr (std::is_same_v<decltype(out), T*&>) out += block_elements;
                        });
        };
    std::size_t b = 0;
    if constexpr (streams) {
        if (past && whole > 1) {
            restore(0, 1, to);  // a line writer needs the bytes before its first register
            lines_of<T> lines(to);
            restore(1, b = whole, lines);
            lines.finish();
            to += block_elements * (whole - 1);
        }
    }
    restore(b, whole, to);
    if (whole == v.blocks) return;
    T tail[block_elements], *at = tail;
    restore(whole, v.blocks, at);
    std::memcpy(to, tail, (count - block_elements * whole) * sizeof(T));
}

/// The quanta of a narrow chunk, whatever it is predicted from, block by block.
/// @param room   where the quanta of the chunk go, whole blocks; they are looked at again
/// @param once   later quanta may take the place of earlier ones, so that fewer lines of the cache are
///               written
/// @param each   (number of the first value of the block, quanta&)
template <class Each>
CCOLL_INLINE status for_each_block(const chunk_view& view, chunk_quanta& room, bool once,
                                   const Each& each) noexcept
{
    const distances above = view.head.above;
    const std::size_t reach = above.reach();
    i32 *const first = room.first(), *of_group = first;
    const bool planes_above = above.plane != 0;
    chunk_planes all;
    if (!view.open(all)) return status::corrupt;
    const front_block front(static_cast<i32>(all.of[0].base));
    room.fill_front(above, static_cast<i32>(all.of[0].base));
    for (std::size_t g = 0; g < view.groups; ++g) {
        group_view& v = all.of[g];
        const auto base = static_cast<i32>(v.base);
        group_planes planes;
        if (v.lists) [[unlikely]]
            get_lists(v, planes);
        running r;
        start(r, g == 0 && !above.none() ? 0 : base);
        const u8* p = v.planes;
        const bool nearby = front_block::is_near(first, of_group, above);
        if (v.flat) std::memset(v.widths, 0, group_blocks);
        const auto read_them = [&](auto is_near) CCOLL_TARGET __attribute__((always_inline)) {
            read_blocks(v, view.head.left, 0, v.blocks, p, r,
                        [&](std::size_t b, quanta& q) CCOLL_TARGET __attribute__((always_inline)) {
                            i32* const to = of_group + block_elements * b;
                            if (above.none()) add_above(block_above{zeros, zeros, zeros}, false, q, to);
                            else
                                add_above(
                                    is_near ? block_above::nearby(to, above) : front.above(first, to, above),
                                    planes_above, q, to);
                            each(group_elements * g + block_elements * b, q);
                        });
        };
        if (nearby) read_them(std::true_type{});
        else read_them(std::false_type{});
        if (once && reach <= chunk_quanta::front)
            std::memcpy(first - reach, first + group_elements - reach, reach * sizeof(i32));
        else of_group += group_elements;
    }
    return status::ok;
}

/// Values of a narrow chunk with distances: q step in T.
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline status decode_above(const chunk_view& view, T step, T* x) noexcept
{
    CCOLL_EXACT_BODY
    chunk_quanta room;
    const std::size_t n = view.n, next = view.written_next;
    return for_each_block(view, room, true,
                          [=](std::size_t at, quanta& q) CCOLL_TARGET __attribute__((always_inline)) {
                              T* to = x + at;
                              if (sizeof(T) * (n - at) + next > fetch_distance)
                                  fetch(to, fetch_distance, sizeof(T) * block_elements);
                              if (n - at >= block_elements) [[likely]]
                                  return dequantise(q, step, to);
                              T tail[block_elements], *in = tail;
                              dequantise(q, step, in);
                              std::memcpy(to, tail, (n - at) * sizeof(T));
                          });
}

/// And of one without them.
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline status decode_beside(const chunk_view& view, T step, T* x,
                                                           stores how) noexcept
{
    CCOLL_EXACT_BODY
    chunk_planes all;
    if (!view.open(all)) return status::corrupt;
    for (std::size_t g = 0; g < view.groups; ++g) {
        group_view& v = all.of[g];
        T* const to = x + group_elements * g;
        const std::size_t count = length_of(view.n, g),
                          behind = sizeof(T) * (view.n - group_elements * g - count) + view.written_next;
        group_planes planes;
        if (v.lists) [[unlikely]]
            get_lists(v, planes);
        if (v.flat)
            fill(to, count, view.head.left ? static_cast<T>(static_cast<i32>(v.base)) * step : T(0), how);
        else if (view.head.left) restore_group(v, true, count, step, to, behind, how);
        else restore_group(v, false, count, step, to, behind, how);
    }
    return status::ok;
}

/// Values of a narrow chunk: q step in T.
template <class T>
CCOLL_TARGET inline status decode(const chunk_view& view, T step, T* x, stores how) noexcept
{
    return view.head.above.none() ? decode_beside(view, step, x, how) : decode_above(view, step, x);
}

/// The quanta of a narrow chunk.
CCOLL_TARGET inline status read_narrow(const chunk_view& view, chunk_quanta& room) noexcept
{
    return for_each_block(view, room, false, [](std::size_t, quanta&) CCOLL_TARGET {});
}

/// The operands of a sum. All widths are a fixed distance apart, because registers are scarce.
struct operands {
    chunk_planes a, b;
    alignas(64) u8 widths_of_sum[group_blocks * chunk_groups];
};
/// The planes of the sum of group g.
/// @param Most  of its widths, or few_above_7
/// @param least  of those of the sum
/// @return their end
template <unsigned Most>
[[gnu::noinline]] CCOLL_TARGET inline u8* add_group(operands& of, std::size_t g, std::size_t least,
                                                    u8* p) noexcept
{
    const u8 *pa = of.a.of[g].planes, *pb = of.b.of[g].planes;
    const std::ptrdiff_t a_widths = of.a.widths - of.widths_of_sum, b_widths = of.b.widths - of.widths_of_sum;
    const std::size_t ahead = std::min(of.a.of[g].ahead, of.b.of[g].ahead);
    u8 *w = of.widths_of_sum + group_blocks * g, *const end = w + of.a.of[g].blocks;
    for (; w != end; ++w) {
        fetch(pa, ahead, 1);  // a sixth faster in memory
        fetch(pb, ahead, 1);
        fetch(p, ahead, 1);
        const std::size_t wa = w[a_widths], wb = w[b_widths];
        std::size_t width = Most > widest ? portable::add_planes(pa, wa, pb, wb, Most, p)
                                          : add_blocks<Most>(pa, wa, pb, wb, p);
        if (Most > 15 && width < least) [[unlikely]]
            repeat_sign(p, width, least), width = least;
        *w = static_cast<u8>(width);
        pa += 4 * wa;
        pb += 4 * wb;
        p += 4 * width;
    }
    return p;
}
/// The sum of two chunks that are predicted alike, of which neither has lists. A flat one is predicted as the
/// other.
/// @param wide  else no quantum of the sum has more than 31 bits, and both are narrow
/// @return end: null if one of them is corrupt
CCOLL_TARGET inline packed add(const chunk_view& a, const chunk_view& b, distances above, bool wide,
                               u8* chunk) noexcept
{
    packed all{.wide = wide};
    operands of;
    if (!a.open(of.a) || !b.open(of.b)) return all;
    writer to(chunk, a.n, wide, of.widths_of_sum);
    for (std::size_t g = 0; g < a.groups; ++g) {
        const group_view &x = of.a.of[g], &y = of.b.of[g];
        const auto base_of = [&](const chunk_view& c, const group_view& v) CCOLL_TARGET {
            // Bases of later groups are differences.
            return static_cast<u64>(c.head.flat && g > 0 && !above.none() ? 0 : v.base);
        };
        const i64 base = static_cast<i64>(base_of(a, x) + base_of(b, y));
        if (wide) put(chunk + bases_at(to.groups) + 8 * g, base);
        const i32 narrow_base = wide ? 0 : static_cast<i32>(base);
        if (x.flat || y.flat) {
            to.copy(x.flat && !b.head.flat ? y : x, narrow_base);
        } else {
            const unsigned highest = std::max(highest_of(x.widths), highest_of(y.widths));
            const auto few = [&]() CCOLL_TARGET {
                u8 wider = 0;
                for (std::size_t k = 0; k < group_blocks; ++k)
                    wider = static_cast<u8>(wider + ((x.widths[k] | y.widths[k]) > 7));
                return wider <= 9;
            };
            const auto add_planes_of = wide            ? add_group<widest_wide>
                                       : highest <= 7  ? add_group<7>
                                       : highest >= 15 ? add_group<widest>
                                       : few()         ? add_group<few_above_7>
                                                       : add_group<15>;
            to.close(add_planes_of(of, g, least_beside(std::min(highest + 1, wide ? widest_wide : widest)),
                                   to.planes),
                     narrow_base);
        }
    }
    all.end = to.finish();
    return all;
}
