// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/passes.inl - floor 2. The passes over a chunk of SZe, in order: the same text for each
// instruction set. Included in a namespace of the set, between kernels_begin.inl and kernels_end.inl. Each
// set has its own
//   cost_of, costs_of, probe_of, find_candidates, to_tokens, activities_of, encode_tokens, decode_tokens,
//   put_low_bits, get_residuals, restore

/// Quanta of a chunk to differences, unless they themselves are shorter, filled up with 0.
/// @return true: neighbours predict nothing
CCOLL_TARGET inline bool to_differences(i32* d, std::size_t n) noexcept
{
    const bool is_alone = cost_of(d, n) < costs_of(d, n, 1).plain;
    if (!is_alone) {
        subtract_behind(d, n, {1, false});
        d[0] = 0;
    }
    std::memset(d + n, 0, sizeof(i32) * (filled_up(n) - n));
    return is_alone;
}

/// Finds distances for differences d of n values, and puts residuals in their places. A distance saves
/// nothing in its first values, so it counts for the others.
/// @param row    the length of the rows, if it is known; 0: the rows are looked for
/// @param bytes  room for n
CCOLL_TARGET inline void predict(i32* d, std::size_t n, std::size_t row, model& m, u8* bytes,
                                 sums_of_rows& sums) noexcept
{
    u32 cost = cost_of(d, n);
    const u32 mean = cost / static_cast<u32>(samples * sample_values) >> 10;  // bits of a difference, about
    candidates rows;
    if (row <= most_row(n)) {
        to_bytes(d, n, mean > 4 ? mean - 4 : 0, bytes);
        // Planes are some rows away.
        const std::size_t all = row != 0 ? row : 1, first = row != 0 ? row : least_row;
        find_candidates(bytes + probe_of(bytes, n / 2, n / 4), bytes + probe_of(bytes, n / 2 + n / 4, n / 4),
                        first, most_row(n), all, rows, sums);
        if (row != 0) rows.of[candidates::most - 1] = static_cast<u16>(row);
    }
    for (std::size_t places = 0; m.count < most_distances;) {
        distance best;
        u64 least = u64{cost} * n;
        u32 next = cost;
        const auto consider = [&](distance by, u32 one) {
            const std::size_t unpredicted = places + by.places;
            const u64 all = u64{one} * (n - unpredicted) + u64{cost} * unpredicted;
            if (all + all / 128 >= least) return;  // a small gain is noise
            least = all;
            next = one;
            best = by;
        };
        consider({1, false}, costs_of(d, n, 1).plain);
        for (const u16 w : rows.of) {
            if (w == 0 || places + w > n / 2) continue;
            const costs of = costs_of(d, n, w);
            consider({w, false}, of.plain);
            consider({w, true}, of.smooth);
        }
        if (best.places == 0) return;
        subtract_behind(d, n, best, places);
        m.distances[m.count++] = best;
        places = best.places;
        cost = next;
        if (row == 0) {  // a second one is the first once more
            rows = {};
            if (best.places >= least_row) rows.of[0] = best.places;
        }
    }
}

/// Classes of about equal size, but groups without activity apart if there are many. Few groups are one
/// class: a table has to pay.
CCOLL_TARGET inline void find_limits(const u8* activity, std::size_t groups, model& m) noexcept
{
    u16 count[256] = {};
    for (std::size_t g = 1; g < groups; g += 2) ++count[activity[g]];  // a half will do
    std::size_t left = groups / 2;
    const std::size_t active = left - count[0];
    const std::size_t wanted = active >= 128 ? classes : active >= 24 ? 2 : 1;
    u32 s = 0;
    for (std::size_t k = 0; k + 1 < wanted; ++k) {
        const std::size_t part = left / (wanted - k);
        std::size_t below = 0;
        do below += count[s++];
        while (below < part && s < never);
        left -= below;
        m.limits[k] = static_cast<u8>(s);
    }
}

/// How often each token of a class occurs. Four times, because an increment waits for one of the same token
/// before it; if it is of u16, it waits longer.
using token_counts = u32[4][classes * tokens];

/// @param of_group  activities, in whose places classes are put    @return the low bits of all tokens
CCOLL_TARGET inline std::size_t make_tables(const u8* t, u8* of_group, std::size_t groups, const model& m,
                                            share_table* tables, token_counts& counts) noexcept
{
    u8 last = 0;
    for (std::size_t i = 0; i < lanes * groups; ++i) last = t[i] > last ? t[i] : last;
    const std::size_t end = std::size_t{last} + 1;
    constexpr std::size_t ways = std::extent_v<token_counts>;
    for (auto& of_way : counts)
        for (std::size_t c = 0; c < classes; ++c) std::memset(of_way + tokens * c, 0, sizeof(u32) * end);
    u8 class_of[256];
    for (u32 a = 0; a < 256; ++a) class_of[a] = static_cast<u8>(m.class_of(a));
    for (std::size_t g = 0; g < groups; ++g, t += lanes) {
        const u8 c = of_group[g] = class_of[of_group[g]];
        for (std::size_t j = 0; j < lanes; ++j) ++counts[j % ways][tokens * c + t[j]];
    }
    std::size_t low_bits = 0;
    for (std::size_t c = 0; c < classes; ++c) {
        u32* const of = counts[0] + tokens * c;
        for (std::size_t k = 0; k < end; ++k) {
            of[k] += counts[1][tokens * c + k] + counts[2][tokens * c + k] + counts[3][tokens * c + k];
            low_bits += of[k] * token_values[k].low_bits;
        }
        tables[c].choose(of, static_cast<u32>(end));
    }
    return low_bits;
}

/// @param row   @see predict
/// @param room  bytes at `out`. Nothing is written if they are too few
/// @return      the bytes of the chunk without its section of exceptional values
CCOLL_TARGET inline std::size_t encode_coded(const coded_source& from, std::size_t row, u8* out,
                                             std::size_t room) noexcept
{
    alignas(64) u8 t[chunk_elements];
    u8 of_group[most_groups];
    union {  // one after the other
        sums_of_rows sums;
        token_counts counts;
        u8 stream[2 * most_words];
    } work;
    model m;
    const std::size_t n = from.n;
    i32* const d = from.q;
    const i32 base = d[0];
    const bool is_alone = to_differences(d, n);
    if (row > most_row(n) && from.judged_row == row && !is_alone) {  // too far to be judged by samples
        m.distances[m.count++] = distance(row, false);
        subtract_behind(d, n, m.distances[0]);
    } else if (!is_alone) {
        predict(d, n, row, m, t, work.sums);
    }

    const std::size_t groups = groups_of(n);
    to_tokens(d, filled_up(n), t);
    activities_of(t, groups, m, of_group);
    find_limits(of_group, groups, m);
    share_table tables[classes];
    const std::size_t low_bits = make_tables(t, of_group, groups, m, tables, work.counts);

    u32 states[lanes];
    u8* const end = work.stream + sizeof work.stream;
    const u8* const first = encode_tokens(t, of_group, groups, tables, end, states);
    const auto words = static_cast<std::size_t>(end - first) / 2;
    std::size_t table_bits = 0;
    for (const share_table& one : tables) table_bits += one.bits();
    const std::size_t bytes =
        step_at + from.step_bytes + 2 * m.count + 2 * words + (table_bits + low_bits + 7) / 8 + sizeof states;
    if (bytes > room) return bytes;
    out[0] = static_cast<u8>(coded | (from.step_bytes > 0 ? own : 0) | (is_alone ? alone : 0) |
                             m.count << count_at);
    std::memcpy(out + 1, m.limits, sizeof m.limits);
    put(out + 4, static_cast<u16>(words));
    put(out + 6, static_cast<u16>(from.section_bytes / exceptions::unit));
    put(out + 8, is_alone ? i32{0} : base);
    u8* to = out + step_at;
    if (from.step_bytes > 0) std::memcpy(to, from.step, from.step_bytes);
    to += from.step_bytes;
    for (u8 k = 0; k < m.count; ++k, to += 2) put(to, m.distances[k].word());
    std::memcpy(to, first, 2 * words);
    bit_writer bits(to + 2 * words);
    for (const share_table& one : tables) one.write(bits);
    put_low_bits(d, t, lanes * groups, bits);
    std::memcpy(bits.end(), states, sizeof states);  // behind these, bit_writer writes nothing
    return bytes;
}

/// Values of a coded chunk. Total: any bytes give a status.
template <element T>
CCOLL_TARGET inline status decode_coded(const coded_view& view, T step, std::span<T> out) noexcept
{
    alignas(64) i32 d[chunk_elements];
    alignas(64) u8 t[chunk_elements];
    const std::size_t n = out.size(), groups = groups_of(n);
    std::size_t bit = 0;
    {
        slot_table slots[classes];
        bit_reader tables(view.bits, view.bits_bytes);
        for (auto& of : slots) {
            share_table one;
            if (!one.read(tables)) return status::corrupt;
            make_slots(one, of);
        }
        if (tables.is_beyond()) return status::corrupt;
        bit = tables.at();
        if (!decode_tokens(view.words, view.bits, view.states, slots, view.how, groups, t))
            return status::corrupt;
    }
    if (!get_residuals(t, lanes * groups, view.bits, bit, view.bits_bytes, d)) return status::corrupt;
    for (u8 k = view.how.count; k-- > 0;)
        add_behind(d, n, view.how.distances[k], k > 0 ? view.how.distances[0].places : 0);
    restore(d, n, view.is_alone, view.base, step, out.data());
    return status::ok;
}
