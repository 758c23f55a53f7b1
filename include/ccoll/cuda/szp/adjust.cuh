// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/adjust.cuh - floor 4. What the fast encoder does about a chunk that is not usual, in shared memory alone: exceptional values
// get bridges, and quanta on another grid take the place of values. Then the usual way goes on. Nothing of this is in its registers.
#pragma once

#include <ccoll/cuda/szp/place.cuh>
#include <ccoll/cuda/szp/sections.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

enum class encoding { movement, addend, sum };

/// What a chunk has beside its planes.
struct beside {
    team_room team;
    sections_in<1> apart;  ///< masks and numbers of values of what is written, and for a sum the values of the addend in the frame
    section_out out;
};
/// What threads have found: sums of 256 do not run over.
inline constexpr u32 mark_off = 1, mark_large = 1u << 10, mark_different = 1u << 20, of_any = (1u << 10) - 1;

/// What the tiles have when they have been adjusted.
template <class T>
struct adjusted {
    bool good = false;  ///< no: the chunk is for the list
    T by = 0;           ///< its product with a value is the quantum
    u32 ceiling = 0;    ///< not below any |q|
};

template <class T>
CCOLL_DEVICE beside& beside_of()
{
    return reinterpret_cast<beside&>((&shared_memory<u8>())[team_warps * tile<T>::bytes + control_bytes]);
}

/// What tells exceptional values apart: in addends, all NaN are the same.
template <bool Moves, class T>
CCOLL_DEVICE word_of<T> key_of(const arguments<T>& a, word_of<T> bits)
{
    constexpr word_of<T> infinite = fields_of<T>::exponent;
    if (Moves || (bits & ~fields_of<T>::sign) <= infinite || a.is_missing(bits)) return bits;
    return a.missing == infinite + 1 ? infinite + 2 : infinite + 1;
}

/// The value of an exceptional place, for an addend: of x, and of the addend that it is added to.
template <encoding What, class T>
CCOLL_DEVICE wide far_value(const arguments<T>& a, const beside& b, u32 chunk, u32 entry)
{
    const word_of<T> v = load_as<word_of<T>>(a.x + u64{chunk_elements} * chunk + b.out.dictionary[entry]);
    const wide w = wide_of<T>(v, a.z.common.step, a.is_missing(v));
    if constexpr (What != encoding::sum) return w;
    return w + b.apart.wide_of_entry(0, entry);
}
/// A sum of an addend whose exceptional places are those of x. @return false: they are not, or a sum may be too large
template <class T>
CCOLL_DEVICE bool read_far(const arguments<T>& a, beside& b, u32 chunk, u32 count, u32 mask)
{
    if (!read_sections(a.a, chunk, count, wide_bytes, b.apart, b.team)) return false;
    bool good = mask == b.apart.masks[0][me()];
    if (b.apart.values[0] != nullptr && me() < b.apart.entries[0]) {
        const wide w = load_wide(b.apart.values[0] + wide_bytes * me());
        good = good && (w.is_state() || w.limb[2] + (u64{1} << 60) < u64{1} << 61);
    }
    return !team_any(!good, b.team.words);
}

/// By all threads; there are barriers in here.
template <encoding What, class T>
CCOLL_DEVICE adjusted<T> adjust(const arguments<T>& a, u32 chunk, u32 count)
{
    constexpr bool moves = What == encoding::movement;
    using fields = fields_of<T>;
    using word = word_of<T>;
    if (a.z.common.usual == 0 || (moves && count < host::least_values)) return {};
    const shared_address row = warp() * tile<T>::bytes + tile<T>::row(lane());
    const placing p{team_warps * tile<T>::bytes};
    const auto at = [&](u32 i) { return get_shared<word>(i / group_elements * tile<T>::bytes + tile<T>::of_value(i % group_elements)); };
    beside& b = beside_of<T>();
    const bool there = warp() < groups_of(count);

    // What is in the row. What stands behind the last value is a copy of it.
    u32 all = 0, marks = 0;
    word most = 0, key = 0;
    const word least = moves ? a.z.too_large : a.z.too_large_addend;
    if (there)
        each_in_row<T>(row, [&](u32 i, word w) {
            const word m = w & ~fields::sign;
            if (m >= least || a.is_missing(w)) {
                const word k = key_of<moves>(a, w);
                if (all != 0 && key != k) marks |= mark_different;
                key = k;
                all |= 1u << i;
                if (m < fields::exponent && !a.is_missing(w) && (moves || m >= a.beyond)) marks |= mark_large;
            } else {
                most = larger(most, m);
                if constexpr (moves) {
                    constexpr T integers = is_f32<T> ? T(0x1p23) : T(0x1p52);  // all numbers from there on
                    const T on = smaller(times(number_of(m), a.lattice), integers);
                    if (plus(plus(on, integers), -integers) != on) marks |= mark_off;
                }
            }
        });
    const u32 mask = me() < blocks_of(count) ? all & whole_block(count, me()) : 0;
    const u32 first = team_min(mask != 0 ? 32 * me() + lowest_bit(mask) : ~0u, b.team.words);
    if (mask != 0 && key != key_of<moves>(a, at(first))) marks |= mark_different;
    marks = team_sum(marks, b.team.words);
    most = static_cast<word>(team_max(u64{most}, b.team.longs));
    const bool large = (marks / mark_large & of_any) != 0, different = marks >= mark_different;
    if (!moves && large) return {};

    // The grid, and whether quanta are small.
    host::grid<T> z = a.z.common;
    if constexpr (moves) {
        bool far_count = false;
        const auto each = [&](auto f) {
            if (there) each_in_row<T>(row, [&](u32, word w) { f(w); });
        };
        z = (marks & of_any) == 0 ? find_grid(a, each, far_count, b.team) : grid_for(a.z, most, 0);
        if (large && far_count) return {};
    }
    const bool is_own = z.step != a.z.common.step, replaces = most >= z.usual;
    const double size = rint(times(static_cast<double>(number_of(most)), z.inverse)) + 1;
    if (z.step == 0 || (replaces && !is_f32<T>) || !(size < fast_limit<T>)) return {};

    // The dictionary.
    if constexpr (What == encoding::sum)
        if (!read_far(a, b, chunk, count, mask)) return {};
    const bool follows = What == encoding::sum && first != ~0u && b.apart.entries[0] > 1;  // the values of x follow those of the frame
    const places_out places(mask, count, b.team);
    if (different) {
        const auto key_at = [&](u32 i) { return key_of<moves>(a, at(i)); };
        if (follows || !find_entries(b.out, places, b.apart.entry, key_at, b.team)) return {};
    } else {
        b.out.dictionary[me()] = static_cast<u16>(first);
        if (me() == 0) b.out.entries = first == ~0u ? 0 : follows ? b.apart.entries[0] : 1;
    }
    measure_section(b.out, places, b.apart.entry, count, moves ? sizeof(T) : wide_bytes, different || follows, b.team);
    if (moves && b.out.changes > most_changes(count)) return {};
    b.apart.masks[0][me()] = mask;
    if (me() == 0) {
        put_shared(p.exceptions(), b.out.bytes / unit_bytes);
        put_shared(p.step(), is_own ? bits_of(z.step) : u64{0});
    }

    // Bridges.
    if (there && (replaces || __any_sync(all_lanes, all != 0) != 0)) {
        const u32 mine = 32 * me();
        word bridge = bridge_into<word>(all, ~all != 0 ? at(mine + lowest_bit(~all)) : 0, ~all != 0 ? at(mine + highest_bit(~all)) : 0);
        const auto shown = [&](word w) {
            if constexpr (is_f32<T>) return replaces ? as_quantum(w, z.usual, z.inverse_in_t, z.inverse) : w;
            else return w;
        };
        bridge = shown(bridge);
        __syncwarp();
        each_in_row<T, true>(row, [&](u32 i, word w) { return bridge = (all >> i & 1) != 0 ? bridge : shown(w); });
        __syncwarp();
    }
    return {true, replaces ? T(1) : z.inverse_in_t, static_cast<u32>(size)};
}

}  // namespace ccoll::detail::device::szp
