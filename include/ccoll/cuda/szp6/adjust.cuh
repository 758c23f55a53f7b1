// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp6/adjust.cuh - floor 4. What the fast encoder does about a chunk that is not usual, in shared memory alone: exceptional values
// get bridges, and quanta on another grid take the place of values. Then the usual way goes on. Nothing of this is in its registers.
#pragma once

#include <ccoll/cuda/szp6/law.cuh>
#include <ccoll/cuda/szp6/sections.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp6 {

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
    u64 by;       ///< the factor of what the tile has, as bits of a double
    u32 ceiling;  ///< not below any |q|
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
/// @param large  far values of this thread's block, which may be ordinary for that; then `good` becomes false: this is not for us
template <class T>
CCOLL_DEVICE_RARE double lattice_step(const encode_arguments<T>& a, shared_address row, bool there, u32 mask, u32 large, bool& good,
                                      team_room& room)
{
    lattice_range finite, others;
    if (there)
        each_in_row<T>(row, [&](u32 i, word_of<T> w) {
            if (((mask & ~large) >> i & 1) == 0) finite.add(number_of(w));
            if ((mask >> i & 1) == 0) others.add(number_of(w));
            return w;
        });
    const double of_all = finite.template of_team<T>(a.z.common.step, room);
    good = of_all == 0 || !team_any(large != 0, room.words);
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

/// By all threads; there are barriers in here. @return false: the chunk is for the list
template <encoding What, class T>
CCOLL_DEVICE bool adjust(const encode_arguments<T>& a, u32 chunk, u32 count)
{
    constexpr bool moves = What == encoding::movement;
    using fields = fields_of<T>;
    using word = word_of<T>;
    const host::grid<T>& z = a.z.common;
    if (z.usual == 0 || (moves && count < host::least_values)) return false;
    const shared_address tiles = shared_begin(), row = tiles + warp() * tile<T>::bytes + tile<T>::row(lane());
    const placing p{tiles + team_warps * tile<T>::bytes};
    beside& b = beside_of<T>();
    const bool there = warp() < groups_of(count);

    // What is in the row. What stands behind the last value is a copy of it.
    u32 all = 0, large = 0;
    word most = 0, first_key = 0;
    bool off = false, same = true;
    const word least = moves ? a.z.too_large : a.z.too_large_addend;
    if (there)
        each_in_row<T>(row, [&](u32 i, word w) {
            const word m = w & ~fields::sign;
            const bool missing = is_missing(a, w);
            if (m >= least || missing) {
                const word key = key_of<moves>(a, w);
                if (all == 0) first_key = key;
                same = same && key == first_key;
                all |= 1u << i;
                if (m < fields::exponent && !missing && (moves || m >= a.beyond)) large |= 1u << i;
            } else {
                most = larger(most, m);
                if constexpr (moves) {
                    const T on = times(number_of(w), a.lattice);
                    off = off || nearest(on) != on;
                }
            }
            return w;
        });
    const u32 mask = me() < blocks_of(count) ? all & whole_block(count, me()) : 0;
    most = static_cast<word>(team_max(u64{most}, b.team.longs));
    const u32 marks = team_sum((off ? 1u : 0u) | (large != 0 ? 0x10000u : 0u), b.team.words);
    if (!moves && marks >> 16 != 0) return false;
    double lattice = 0;
    if (moves && (marks & 0xffff) == 0) {
        bool good = true;
        lattice = lattice_step(a, row, there, all, large, good, b.team);
        if (!good) return false;
    }

    // The grid, and whether quanta are small.
    double step = z.step, inverse = z.inverse, by = static_cast<double>(z.inverse_in_t);
    word usual = z.usual;
    const bool is_own = lattice != 0 || (moves && most >= z.usual);
    if (is_own) {
        step = lattice != 0 ? lattice : is_f32<T> ? own_step(a.z, most) : 0;
        if (step == 0) return false;
        by = inverse = __ddiv_rn(1.0, step);
        usual = 0;
    }
    const bool replaces = lattice == 0 && most >= usual;
    const double size = rint(times(static_cast<double>(number_of(most)), inverse)) + 1;
    if ((replaces && !is_f32<T>) || !(size < fast_limit<T>)) return false;

    // The dictionary.
    const auto key = [&](u32 i) {
        return key_of<moves>(a, get_shared<word>(tiles + i / group_elements * tile<T>::bytes + tile<T>::of_value(i % group_elements)));
    };
    if constexpr (What == encoding::sum)
        if (!read_far(a, b, chunk, count, mask)) return false;
    const u32 first = team_min(mask != 0 ? 32 * me() + lowest_bit(mask) : ~0u, b.team.words);
    const bool one = first == ~0u || !team_any(mask != 0 && !(same && first_key == key(first)), b.team.words);
    const bool follows = What == encoding::sum && first != ~0u && b.apart.entries[0] > 1;  // the values of x follow those of the frame
    if (one) {
        b.out.dictionary[me()] = static_cast<u16>(first);
        if (me() == 0) b.out.entries = first == ~0u ? 0 : follows ? b.apart.entries[0] : 1;
        __syncthreads();
    } else if (follows || !find_entries(b.out, mask, b.apart.entry, key, b.team)) {
        return false;
    }
    measure_section(b.out, mask, b.apart.entry, count, moves ? sizeof(T) : wide_bytes, b.team);
    if (moves && b.out.changes > most_changes(count)) return false;
    b.apart.masks[0][me()] = mask;
    if (me() == 0) {
        b.by = bits_of(replaces ? 1.0 : by);
        b.ceiling = static_cast<u32>(size);
        put_shared(p.exceptions(), b.out.bytes / unit_bytes);
        put_shared(p.step(), is_own ? bits_of(step) : u64{0});
    }
    __syncthreads();

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
            if ((all >> i & 1) == 0) bridge = shown(w);
            return bridge;
        });
        __syncwarp();
    }
    return true;
}

}  // namespace ccoll::detail::device::szp6
