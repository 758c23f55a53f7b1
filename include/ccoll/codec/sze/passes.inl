// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/passes.inl - floor 2. The passes over a chunk of SZe, in order. Included as loops.inl is.

/// Finds distances for differences d, of n values. A distance saves nothing in its first values, so it counts for the others.
CCOLL_TARGET inline void find_distances(const i32* d, std::size_t n, model& m) noexcept
{
    const u32 plain = cost_of(d, n, 0, 0);
    const u32 mean = plain / static_cast<u32>(samples * sample_values) >> 10;  // bits of a difference, about
    candidates rows;
    u8 bytes[chunk_elements];
    to_bytes(d, n, mean > 4 ? mean - 4 : 0, bytes);
    find_candidates(bytes, n, rows);
    u64 best = u64{plain} * n;
    u32 best_cost = plain;
    const auto consider = [&](std::size_t v, std::size_t w) {
        const u32 cost = cost_of(d, n, v, w);
        const std::size_t unpredicted = v + w;
        const u64 all = u64{cost} * (n - unpredicted) + u64{best_cost} * unpredicted;
        return all + all / 128 < best ? all : ~u64{0};  // a small gain is noise
    };
    const auto add = [&](std::size_t w) {
        const u64 all = consider(m.count > 0 ? m.distances[0] : 0, w);
        if (all >= best) return false;
        best = all;
        return true;
    };
    u16 found = 0;
    if (add(1)) found = 1;
    for (const u16 w : rows.of)
        if (w != 0 && add(w)) found = w;
    if (found == 0) return;
    m.distances[m.count++] = found;
    best_cost = cost_of(d, n, 0, found);
    found = 0;
    if (add(1)) found = 1;
    if (m.distances[0] != 1 && m.distances[0] <= n / 4 && add(m.distances[0])) found = m.distances[0];
    if (found != 0) m.distances[m.count++] = found;
}

/// Classes of about equal size, but groups without activity apart if there are many. Few groups are one class: a table has to pay.
CCOLL_TARGET inline void find_limits(const u8* activity, std::size_t groups, model& m) noexcept
{
    u16 count[256] = {};
    for (std::size_t g = 0; g + 1 < groups; ++g) ++count[activity[g]];
    std::size_t left = groups - 1;
    const std::size_t active = left - count[0];
    const std::size_t wanted = active >= 256 ? classes : active >= 48 ? 2 : 1;
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

/// A chunk of SZp with differences, coded. @param out  most_coded_bytes bytes
/// @return its end, in front of its section of special values
CCOLL_TARGET inline u8* encode_coded(const szp::chunk_view& view, std::size_t n, u8* out) noexcept
{
    alignas(64) i32 d[chunk_elements];
    alignas(64) u8 t[chunk_elements];
    u8 of_group[most_groups];
    model m;
    get_differences(view, n, d);
    if (!view.alone) find_distances(d, n, m);
    for (u8 k = 0; k < m.count; ++k) subtract_behind(d, n, m.distances[k]);

    const std::size_t groups = groups_of(n);
    to_tokens(d, filled_up(n), t);
    activities_of(t, groups, of_group);
    find_limits(of_group, groups, m);
    u16 counts[4][classes][tokens] = {};  // four, because an increment waits for one of the same token before it
    u32 before = 0;
    for (std::size_t g = 0; g < groups; ++g) {
        const u32 activity = of_group[g];
        const unsigned c = m.class_of(before);
        of_group[g] = static_cast<u8>(c);
        before = activity;
        for (std::size_t j = 0; j < lanes; ++j) ++counts[j % 4][c][t[lanes * g + j]];
    }
    encoding_step steps[classes][tokens];
    share_table tables[classes];
    for (std::size_t c = 0; c < classes; ++c) {
        for (std::size_t k = 0; k < tokens; ++k)
            counts[0][c][k] = static_cast<u16>(counts[0][c][k] + counts[1][c][k] + counts[2][c][k] + counts[3][c][k]);
        tables[c].choose(counts[0][c]);
        make_steps(tables[c], steps[c]);
    }

    u8 stream[2 * most_words];
    u32 states[lanes];
    const u8* const first = encode_tokens(t, of_group, groups, steps, stream + sizeof stream, states);
    const auto words = static_cast<std::size_t>(stream + sizeof stream - first) / 2;
    out[0] = static_cast<u8>(coded | (view.what == szp::kind::fine ? fine : 0) | (view.alone ? alone : 0) | m.count << 4);
    std::memcpy(out + 1, m.limits, sizeof m.limits);
    put(out + 4, static_cast<u16>(words));
    put(out + 6, static_cast<u16>(view.specials.size() / 4));
    put(out + 8, static_cast<i32>(view.base));
    u8* to = out + 12;
    if (view.what == szp::kind::fine) {
        std::memcpy(to, view.step, 4);
        to += 4;
    }
    std::memcpy(to, m.distances, 2 * std::size_t{m.count});
    to += 2 * std::size_t{m.count};
    std::memcpy(to, first, 2 * words);
    bit_writer bits(to + 2 * words);
    for (const share_table& one : tables) one.write(bits);
    put_low_bits(d, t, lanes * groups, bits);
    std::memcpy(bits.end(), states, sizeof states);
    return bits.end() + sizeof states;
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
        u32 slots[classes][whole];
        bit_reader tables(view.bits, view.bits_bytes);
        for (auto& of : slots) {
            share_table one;
            if (!one.read(tables)) return status::corrupt;
            make_slots(one, of);
        }
        if (tables.is_beyond()) return status::corrupt;
        bit = tables.at();
        if (!decode_tokens(view.words, view.bits, view.states, slots, view.how, groups, t)) return status::corrupt;
    }
    if (!get_residuals(t, lanes * groups, view.bits, bit, view.bits_bytes, d)) return status::corrupt;
    for (u8 k = 0; k < view.how.count; ++k) add_behind(d, n, view.how.distances[k]);
    restore(d, n, view.is_alone, view.base, step, out.data());
    return status::ok;
}
