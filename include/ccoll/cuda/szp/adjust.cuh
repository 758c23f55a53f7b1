// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/adjust.cuh - floor 4. What the fast encoder does about a chunk that is not usual, in shared memory
// alone: exceptional values get bridges, and quanta on another grid take the place of values. Then the usual
// way goes on. Nothing of this is in its registers.
#pragma once

#include <ccoll/cuda/szp/law.cuh>
#include <ccoll/cuda/szp/place.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// What a chunk has beside its planes: masks, and the number of the value of each place. Of a sum also the
/// values of addends that are read.
template <u32 Frames>
struct beside {
    team_room team;
    sections_in<1> of[Frames];
    section_out out;

    CCOLL_DEVICE const u8* numbers() const { return of[of[0].entries[0] > 1 ? 0 : Frames - 1].entry; }
};
static_assert(sizeof(beside<2>) <= team_warps * staged_bytes,
              "ccoll: exceptional values take the place of planes");
/// Shared memory: of a warp for its values or planes, and of all.
template <class T, operation What>
struct fast_room {
    static constexpr u32 of_warp = has_values<What> ? tile<T>::bytes : staged_bytes,
                         of_warps = team_warps * of_warp, beside_at = of_warps + sizeof(chunk_control),
                         bytes = beside_at + (has_values<What> ? sizeof(beside<1>) : 0);

    CCOLL_DEVICE static chunk_control& control()
    {
        return reinterpret_cast<chunk_control&>((&shared_memory<u8>())[of_warps]);
    }
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

/// Of two addends it stands where planes take its room later.
template <operation What, class T>
CCOLL_DEVICE auto& beside_of()
{
    if constexpr (!has_values<What>) return shared_memory<beside<2>>();
    else return reinterpret_cast<beside<1>&>((&shared_memory<u8>())[fast_room<T, What>::beside_at]);
}

/// What tells exceptional values apart: in addends, all NaN are the same.
template <bool Moves, class T>
CCOLL_DEVICE word_of<T> key_of(const arguments<T>& a, word_of<T> bits)
{
    constexpr word_of<T> infinite = fields_of<T>::exponent;
    if (Moves || (bits & ~fields_of<T>::sign) <= infinite || a.is_missing(bits)) return bits;
    return a.missing == infinite + 1 ? infinite + 2 : infinite + 1;
}

template <class V, class T>
CCOLL_DEVICE V value_at(const arguments<T>& a, u32 chunk, u32 i)
{
    return load_as<V>(a.x + u64{chunk_elements} * chunk + i);
}
/// An entry of an addend, or of the sum of two: of x, which has the value at its place in the dictionary, and
/// of frames.
template <operation What, class T, class Beside>
CCOLL_DEVICE wide far_value(const arguments<T>& a, const Beside& b, u32 chunk, u32 entry)
{
    if constexpr (!has_values<What>) return b.of[0].wide_of_entry(0, entry) + b.of[1].wide_of_entry(0, entry);
    const word_of<T> v = value_at<word_of<T>>(a, chunk, b.out.dictionary[entry]);
    const wide w = wide_of<T>(v, a.z.common.step, a.is_missing(v));
    if constexpr (!has_frame<What>) return w;
    else return w + b.of[0].wide_of_entry(0, entry);
}
/// A sum of an addend whose exceptional places are those of x.
/// @return false: they are not, or a sum may be too large
template <class T>
CCOLL_DEVICE bool read_far(const arguments<T>& a, beside<1>& b, u32 chunk, u32 count, u32 mask)
{
    if (!read_sections(a.a, chunk, count, wide_bytes, b.of[0], b.team)) return false;
    bool good = mask == b.of[0].masks[0][me()];
    if (b.of[0].values[0] != nullptr && me() < b.of[0].entries[0]) {
        const wide w = load_wide(b.of[0].values[0] + wide_bytes * me());
        good = good && (w.is_state() || w.limb[2] + (u64{1} << 60) < u64{1} << 61);
    }
    return !team_any(!good, b.team.words);
}

/// Two addends with exceptional values in the same places, and the same runs of them, or one value alone.
template <class T>
CCOLL_DEVICE bool adjust_sum(const arguments<T>& a, u32 chunk, u32 count)
{
    chunk_control& control = fast_room<T, operation::add>::control();
    auto& b = beside_of<operation::add, T>();
    for (u32 k = 0; k < 2; ++k)
        if (!read_sections(k == 0 ? a.a : a.b, chunk, count, wide_bytes, b.of[k], b.team)) return false;
    const u32 mask = b.of[0].masks[0][me()], of_x = b.of[0].entries[0], of_y = b.of[1].entries[0],
              entries = larger(of_x, of_y);
    const places_out places(mask, count, b.team);
    if (places.all == 0) return false;
    bool good = mask == b.of[1].masks[0][me()] && (of_x == 1 || of_y == 1 || of_x == of_y);
    if (of_x > 1 && of_y > 1)
        for (u32 i = places.before; i < places.before + ones_of(mask); ++i)
            good = good && b.of[0].entry[i] == b.of[1].entry[i];
    if (team_any(!good, b.team.words)) return false;
    if (team_any(me() < entries && far_value<operation::add>(a, b, chunk, me()).is(wide::overflow),
                 b.team.words))
        return false;
    if (me() == 0) b.out.entries = entries;
    measure_section(b.out, places, b.numbers(), count, wide_bytes, entries > 1, b.team);
    if (me() == 0) {
        control.exceptions = b.out.bytes / unit_bytes;
        control.step = 0;
    }
    return true;
}
/// By all threads; there are barriers in here.
template <operation What, class T>
CCOLL_DEVICE adjusted<T> adjust(const arguments<T>& a, u32 chunk, u32 count)
{
    constexpr bool moves = What == operation::move;
    using fields = fields_of<T>;
    using word = word_of<T>;
    if (a.z.common.usual == 0 || (moves && count < host::least_values)) return {};
    chunk_control& control = fast_room<T, What>::control();
    auto& b = beside_of<What, T>();
    const shared_address tiles = shared_begin(), row = tiles + warp() * tile<T>::bytes + tile<T>::row(lane());
    const auto at = [&](u32 i) {
        return get_shared<word>(tiles + i / group_elements * tile<T>::bytes +
                                tile<T>::of_value(i % group_elements));
    };
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
    if constexpr (What == operation::add_values)
        if (!read_far(a, b, chunk, count, mask)) return {};
    const bool follows =
        // The values of x follow those of the frame.
        What == operation::add_values && first != ~0u && b.of[0].entries[0] > 1;
    const places_out places(mask, count, b.team);
    if (different) {
        const auto key_at = [&](u32 i) { return key_of<moves>(a, at(i)); };
        if (follows || !find_entries(b.out, places, b.of[0].entry, key_at, b.team)) return {};
    } else {
        b.out.dictionary[me()] = static_cast<u16>(first);
        if (me() == 0) b.out.entries = first == ~0u ? 0 : follows ? b.of[0].entries[0] : 1;
    }
    measure_section(b.out, places, b.of[0].entry, count, moves ? sizeof(T) : wide_bytes, different || follows,
                    b.team);
    if (moves && b.out.changes > most_changes(count)) return {};
    b.of[0].masks[0][me()] = mask;
    if (me() == 0) {
        control.exceptions = b.out.bytes / unit_bytes;
        control.step = is_own ? bits_of(z.step) : 0;
    }

    // Bridges.
    if (there && (replaces || __any_sync(all_lanes, all != 0) != 0)) {
        const u32 mine = 32 * me();
        word bridge = bridge_into<word>(all, ~all != 0 ? at(mine + lowest_bit(~all)) : 0,
                                        ~all != 0 ? at(mine + highest_bit(~all)) : 0);
        const auto shown = [&](word w) {
            if constexpr (is_f32<T>) return replaces ? as_quantum(w, z.usual, z.inverse_in_t, z.inverse) : w;
            else return w;
        };
        bridge = shown(bridge);
        __syncwarp();
        each_in_row<T, true>(row,
                             [&](u32 i, word w) { return bridge = (all >> i & 1) != 0 ? bridge : shown(w); });
        __syncwarp();
    }
    return {true, replaces ? T(1) : z.inverse_in_t, static_cast<u32>(size)};
}

}  // namespace ccoll::detail::device::szp
