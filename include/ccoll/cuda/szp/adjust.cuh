// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/adjust.cuh - floor 4. What the fast encoder does about a chunk that is not usual, in shared memory alone: exceptional values
// get bridges, and quanta on another grid take the place of values. Then the usual way goes on. Nothing of this is in its registers.
#pragma once

#include <ccoll/cuda/szp/law.cuh>
#include <ccoll/cuda/szp/sections.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

enum class encoding { movement, addend, sum };

template <class T>
struct encode_arguments {
    const T* x = nullptr;
    u64 n = 0;
    bool is_aligned = false;  ///< x is a multiple of 16 bytes
    law<T> z{0};
    T lattice = 0;          ///< 1 / L, where L is the least power of two above the step
    word_of<T> beyond = 0;  ///< bits of 2^187 steps: wide integers of less are never too large
    bool has_missing = false;
    word_of<T> missing = 0;  ///< bits of the value that stands for a missing one
    frame_in other;          ///< of a sum
    frame_out to;
    work* w = nullptr;
};

/// What a chunk has beside its planes.
struct beside {
    team_room team;
    sections_in<1> apart;  ///< masks and numbers of values of what is written, and for a sum the values of the addend in the frame
    section_out out;
    struct {
        u64 most;           ///< bits of the largest ordinary magnitude
        u64 key;            ///< of the first exceptional value
        u32 first, counts;  ///< its place, or ~0; places, and from bit 16 on blocks with a mask
        u32 marks;
    } of[team_warps];  ///< what the warps have found
};
inline constexpr u32 mark_off = 1, mark_large = 2, mark_different = 4;

/// What the tiles have when they have been adjusted.
template <class T>
struct adjusted {
    bool good = false;  ///< no: the chunk is for the list
    T by = 0;           ///< its product with a value is the quantum
    u32 ceiling = 0;    ///< not below any |q|
};

template <class T>
CCOLL_DEVICE bool is_missing(const encode_arguments<T>& a, word_of<T> bits)
{
    return a.has_missing && bits == a.missing;
}
template <class T>
CCOLL_DEVICE beside& beside_of()
{
    return reinterpret_cast<beside&>((&shared_memory<u8>())[team_warps * tile<T>::bytes + control_bytes]);
}

/// What tells exceptional values apart: in addends, all NaN are the same.
template <bool Moves, class T>
CCOLL_DEVICE word_of<T> key_of(const encode_arguments<T>& a, word_of<T> bits)
{
    constexpr word_of<T> infinite = fields_of<T>::exponent;
    if (Moves || (bits & ~fields_of<T>::sign) <= infinite || is_missing(a, bits)) return bits;
    return a.missing == infinite + 1 ? infinite + 2 : infinite + 1;
}

/// The step of a chunk for movement whose ordinary values are multiples of the least power of two that counts, or 0. By all threads.
/// @param large  there are far values, which may be ordinary for that; then `good` becomes false: this is not for us
template <class T>
CCOLL_DEVICE_RARE double lattice_step(const encode_arguments<T>& a, shared_address row, bool there, u32 mask, bool large, bool& good,
                                      team_room& room)
{
    lattice_range finite, others;
    if (there)
        each_in_row<T>(row, [&](u32 i, word_of<T> w) {
            if ((w & ~fields_of<T>::sign) < fields_of<T>::exponent && !is_missing(a, w)) finite.add(number_of(w));
            if ((mask >> i & 1) == 0) others.add(number_of(w));
            return w;
        });
    const double of_all = finite.template of_team<T>(a.z.common.step, room);
    good = of_all == 0 || !large;
    return of_all != 0 ? of_all : others.template of_team<T>(a.z.common.step, room);
}

/// The value of an exceptional place, for an addend: of x, and of the addend that it is added to.
template <encoding What, class T>
CCOLL_DEVICE wide far_value(const encode_arguments<T>& a, const beside& b, u32 chunk, u32 entry)
{
    const T v = load_as<T>(a.x + u64{chunk_elements} * chunk + b.out.dictionary[entry]);
    const wide w = wide_of(v, a.z.common.step, is_missing(a, bits_of(v)));
    if constexpr (What != encoding::sum) return w;
    return sum_of(w, b.apart.wide_of_entry(0, entry));
}
/// A sum of an addend whose exceptional places are those of x. @return false: they are not, or a sum may be too large
template <class T>
CCOLL_DEVICE bool read_far(const encode_arguments<T>& a, beside& b, u32 chunk, u32 count, u32 mask)
{
    const chunk_place c = find_chunk(a.other, chunk);
    if (!has_front(c, groups_of(count))) return false;
    const u32 at = exceptions_at(c);
    if (read_sections<1>(c.at, c.bytes, at, count, true, wide_bytes, b.apart, b.team) != status::ok) return false;
    bool good = mask == b.apart.masks[0][me()];
    if (at > 0 && me() < b.apart.entries[0]) {
        const wide w = load_wide(b.apart.values[0] + wide_bytes * me());
        good = good && (is_state(w) || w.limb[2] + (u64{1} << 60) < u64{1} << 61);
    }
    return !team_any(!good, b.team.words);
}

/// By all threads; there are barriers in here.
template <encoding What, class T>
CCOLL_DEVICE adjusted<T> adjust(const encode_arguments<T>& a, u32 chunk, u32 count)
{
    constexpr bool moves = What == encoding::movement;
    using fields = fields_of<T>;
    using word = word_of<T>;
    const host::grid<T>& z = a.z.common;
    if (z.usual == 0 || (moves && count < host::least_values)) return {};
    const shared_address tiles = shared_begin(), row = tiles + warp() * tile<T>::bytes + tile<T>::row(lane());
    const placing p{tiles + team_warps * tile<T>::bytes};
    beside& b = beside_of<T>();
    const bool there = warp() < groups_of(count);

    // What is in the row. What stands behind the last value is a copy of it.
    u32 all = 0, marks = 0;
    word most = 0, key = 0;
    const word least = moves ? a.z.too_large : a.z.too_large_addend;
    if (there)
        each_in_row<T>(row, [&](u32 i, word w) {
            const word m = w & ~fields::sign;
            if (m >= least || is_missing(a, w)) {
                const word k = key_of<moves>(a, w);
                if (all == 0) key = k;
                if (key != k) marks |= mark_different;
                all |= 1u << i;
                if (m < fields::exponent && !is_missing(a, w) && (moves || m >= a.beyond)) marks |= mark_large;
            } else {
                most = larger(most, m);
                if constexpr (moves) {
                    constexpr T integers = is_f32<T> ? T(0x1p23) : T(0x1p52);  // all numbers from there on
                    const T on = smaller(times(number_of(m), a.lattice), integers);
                    if (plus(plus(on, integers), -integers) != on) marks |= mark_off;
                }
            }
            return w;
        });
    const u32 whole = me() < blocks_of(count) ? whole_block(count, me()) : 0, mask = all & whole;
    {
        const u32 has = __ballot_sync(all_lanes, mask != 0), leader = has != 0 ? lowest_bit(has) : 0;
        const word of_warp = __shfl_sync(all_lanes, key, leader);
        if (mask != 0 && key != of_warp) marks |= mark_different;
        const u32 first = __shfl_sync(all_lanes, mask != 0 ? 32 * me() + lowest_bit(mask) : ~0u, leader);
        const u32 counts = warp_sum(ones_of(mask) | (mask != 0 && mask != whole ? 0x10000u : 0u));
        most = warp_max(most);
        marks = (__any_sync(all_lanes, marks & mark_off) != 0 ? mark_off : 0) |
                (__any_sync(all_lanes, marks & mark_large) != 0 ? mark_large : 0) |
                (__any_sync(all_lanes, marks & mark_different) != 0 ? mark_different : 0);
        if (lane() == 0) b.of[warp()] = {u64{most}, u64{of_warp}, first, counts, marks};
    }
    __syncthreads();
    u32 first = ~0u, counts = 0;
    CCOLL_UNROLL
    for (u32 w = team_warps; w-- > 0;) {
        const auto& of = b.of[w];
        most = larger(most, static_cast<word>(of.most));
        marks |= of.marks;
        counts += of.counts;
        if (of.first == ~0u) continue;
        if (first != ~0u && key != static_cast<word>(of.key)) marks |= mark_different;
        first = of.first;
        key = static_cast<word>(of.key);
    }
    if (!moves && (marks & mark_large) != 0) return {};
    double lattice = 0;
    if (moves && (marks & mark_off) == 0) {
        bool good = true;
        lattice = lattice_step(a, row, there, all, (marks & mark_large) != 0, good, b.team);
        if (!good) return {};
    }

    // The grid, and whether quanta are small.
    double step = z.step, inverse = z.inverse;
    word usual = z.usual;
    const bool is_own = lattice != 0 || (moves && most >= z.usual);
    if (is_own) {
        step = lattice != 0 ? lattice : is_f32<T> ? own_step(a.z, most) : 0;
        if (step == 0) return {};
        inverse = __ddiv_rn(1.0, step);
        usual = 0;
    }
    const bool replaces = lattice == 0 && most >= usual;
    const double size = rint(times(static_cast<double>(number_of(most)), inverse)) + 1;
    if ((replaces && !is_f32<T>) || !(size < fast_limit<T>)) return {};

    // The dictionary.
    if constexpr (What == encoding::sum)
        if (!read_far(a, b, chunk, count, mask)) return {};
    const bool is_different = (marks & mark_different) != 0;
    const bool follows = What == encoding::sum && first != ~0u && b.apart.entries[0] > 1;  // the values of x follow those of the frame
    constexpr u32 value_bytes = moves ? sizeof(T) : wide_bytes;
    if (is_different) {
        const auto key_at = [&](u32 i) {
            return key_of<moves>(a, get_shared<word>(tiles + i / group_elements * tile<T>::bytes + tile<T>::of_value(i % group_elements)));
        };
        if (follows || !find_entries(b.out, mask, b.apart.entry, key_at, b.team)) return {};
    } else {
        b.out.dictionary[me()] = static_cast<u16>(first);
        if (me() == 0) b.out.entries = first == ~0u ? 0 : follows ? b.apart.entries[0] : 1;
    }
    measure_section(b.out, b.apart.entry, count, value_bytes, is_different || follows, counts, b.team);
    if (moves && is_different && b.out.changes > most_changes(count)) return {};
    b.apart.masks[0][me()] = mask;
    if (me() == 0) {
        put_shared(p.exceptions(), b.out.bytes / unit_bytes);
        put_shared(p.step(), is_own ? bits_of(step) : u64{0});
    }

    // Bridges: the last ordinary value in front, or the first one behind, of the group.
    if (there && (replaces || __any_sync(all_lanes, all != 0) != 0)) {
        const auto at = [&](u32 i) { return get_shared<word>(tiles + warp() * tile<T>::bytes + tile<T>::of_value(32 * lane() + i)); };
        const u32 has = __ballot_sync(all_lanes, ~all != 0), lower = has & ones_below(lane());
        const word last = ~all != 0 ? at(highest_bit(~all)) : 0, lead = ~all != 0 ? at(lowest_bit(~all)) : 0;
        const word of_lower = __shfl_sync(all_lanes, last, lower != 0 ? highest_bit(lower) : 0);
        const word of_first = __shfl_sync(all_lanes, lead, has != 0 ? lowest_bit(has) : 0);
        const auto shown = [&](word w) {
            if constexpr (is_f32<T>) return replaces ? as_quantum(w, usual, z.inverse_in_t, inverse) : w;
            else return w;
        };
        word bridge = shown(lower != 0 ? of_lower : has != 0 ? of_first : 0);
        __syncwarp();
        each_in_row<T, true>(row, [&](u32 i, word w) {
            const word v = shown(w);
            bridge = (all >> i & 1) != 0 ? bridge : v;
            return bridge;
        });
        __syncwarp();
    }
    return {true, replaces ? T(1) : is_own ? static_cast<T>(inverse) : z.inverse_in_t, static_cast<u32>(size)};
}

}  // namespace ccoll::detail::device::szp
