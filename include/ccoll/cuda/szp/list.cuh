// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/list.cuh - floor 4. The second kernel of a call: it works off the chunks that the fast kernel has listed, one thread block
// each, and ends the call. It knows all forms of the wire.
#pragma once

#include <ccoll/cuda/szp/law.cuh>
#include <ccoll/cuda/szp/sections.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

enum class operation { move, encode, add_values, add, decode };

template <class T>
struct list_arguments {
    const T* x = nullptr;  ///< values to encode
    T* out = nullptr;      ///< values to decode
    frame_facts facts;
    u32 blocks = 0;  ///< of this kernel
    bool has_missing = false;
    word_of<T> missing = 0;  ///< bits that are compared with nothing
    u32 divisor = 1;         ///< of a decoded sum
    law<T> z{0};             ///< of values to encode
    double bound = 0;        ///< the same, as the frame has it
    frame_in a, b;
    frame_out to;
    work* w = nullptr;
    outcome* told = nullptr;
};

template <operation What>
struct list_room {
    team_room team;
    i64 q[padded_elements];
    u32 masks[chunk_blocks];  ///< exceptional places of values to encode
    sections_in<2> of[What == operation::add ? 2 : 1];
    section_out out[2];
    u8 entry[chunk_elements];  ///< of the places of both sections
    u32 place;
};

static_assert(sizeof(list_room<operation::add>) <= 99 * 1024, "ccoll: what a thread block may have on all devices from 8.0 on");

// ---- chunks ----

/// A raw chunk: its elements as they are.
template <class T>
CCOLL_DEVICE void keep(const list_arguments<T>& a, const T* x, u32 chunk, u32 count, u32& room)
{
    constexpr u32 per_unit = unit_bytes / sizeof(T);
    const u32 units = (count + per_unit - 1) / per_unit;
    if (me() == 0) {
        room = atomicAdd(&a.w->units, units);
        a.to.put_entry(chunk, room, count * static_cast<u32>(sizeof(T)), true);
        atomicAdd(&a.w->raw_chunks, 1u);
    }
    __syncthreads();
    u8* const to = a.to.unit(room);
    for (u32 i = me(); i < units * per_unit; i += team_threads)
        store_as(to + sizeof(T) * i, i < count ? load_as<word_of<T>>(x + i) : word_of<T>{0});
}

/// The last place below `i` whose bit is `is_set`, or ~0. @param masks  of whole blocks
CCOLL_DEVICE u32 last_below(const u32* masks, u32 i, bool is_set)
{
    for (u32 block = i / 32 + 1; block-- > 0;) {
        const u32 m = (is_set ? masks[block] : ~masks[block]) & (block == i / 32 ? ones_below(i % 32) : all_lanes);
        if (m != 0) return 32 * block + highest_bit(m);
    }
    return ~0u;
}
/// The first place from `i` on that is not in a mask, or ~0.
CCOLL_DEVICE u32 first_ordinary(const u32* masks, u32 i, u32 count)
{
    for (; i < count; ++i)
        if ((masks[i / 32] >> i % 32 & 1) == 0) return i;
    return ~0u;
}
/// Quanta of the ordinary values; exceptional places get that of the last ordinary value before them.
template <class T>
CCOLL_DEVICE void get_quanta(const T* x, u32 count, const host::grid<T>& z, const u32* masks, i64* q)
{
    const u32 first = 32 * me();
    if (first >= count) return;
    i64 last = 0;
    if ((masks[me()] & 1) != 0) {
        u32 from = last_below(masks, first, false);
        if (from == ~0u) from = first_ordinary(masks, first, count);
        if (from != ~0u) last = quantum_on(z, load_as<T>(x + from));
    }
    for (u32 i = 0; i < 32 && first + i < count; ++i) {
        if ((masks[me()] >> i & 1) == 0) last = quantum_on(z, load_as<T>(x + first + i));
        q[padded(first + i)] = last;
    }
}

/// Places a chunk and writes it with its sections.
/// @param masks  of this thread, for each section    @param put  (to, place) writes a value
template <class T, class Room, class Put>
CCOLL_DEVICE void put_whole_chunk(const list_arguments<T>& a, Room& room, u32 chunk, u32 count, const packing& p, const u32 (&masks)[2],
                                  u32 scale, double step, u32 value_bytes, Put put)
{
    const u32 sections[2] = {room.out[0].bytes / unit_bytes, room.out[1].bytes / unit_bytes}, both = sections[0] + sections[1];
    if (me() == 0) {
        room.place = atomicAdd(&a.w->units, p.units + both);
        a.to.put_entry(chunk, room.place, unit_bytes * (p.units + both), false);
        const u32 special = (sections[0] > 0 ? room.out[0].places : 0) + (sections[1] > 0 ? room.out[1].places : 0);
        if (special > 0) atomicAdd(&a.w->special_values, static_cast<unsigned long long>(special));
    }
    __syncthreads();
    u8* const to = a.to.unit(room.place);
    put_packed(p, room.q, count, scale, bits_of(step), both > 0 ? p.units : 0, to);
    u8* const at = to + unit_bytes * p.units;
    for (u32 k = 0; k < 2; ++k)
        put_section(
            room.out[k], masks[k], room.entry + (k == 0 ? 0 : room.out[0].places), count, value_bytes,
            k != 0            ? section_counts
            : sections[1] > 0 ? section_follows
                              : 0,
            [&](u8* value, u32 i) { put(value, u32{room.out[k].dictionary[i]}); }, at + (k == 0 ? 0 : unit_bytes * sections[0]), room.team);
}

/// Values to a chunk for movement.
template <class T, class Room>
CCOLL_DEVICE_RARE void move_chunk(const list_arguments<T>& a, Room& room, u32 chunk, u32 count)
{
    const T* const x = a.x + u64{chunk_elements} * chunk;
    const u32 first = 32 * me(), there = first < count ? smaller(count - first, 32u) : 0;
    bool few = count < host::least_constant;
    for (u32 i = 0; i < there && count < host::least_values; ++i)
        few = few || load_as<word_of<T>>(x + first + i) != load_as<word_of<T>>(x);  // nothing but a constant
    if (!a.z.usable || team_any(few, room.team.words)) return keep(a, x, chunk, count, room.place);
    u32 mask = 0, large = 0;
    word_of<T> most = 0;
    lattice_range finite, others;
    for (u32 i = 0; i < there; ++i) {
        const T v = load_as<T>(x + first + i);
        if (magnitude_of(v) >= fields_of<T>::exponent || (a.has_missing && bits_of(v) == a.missing)) {
            mask |= 1u << i;
            continue;
        }
        finite.add(v);
        if (magnitude_of(v) >= a.z.too_large) {
            large |= 1u << i;
        } else {
            most = larger(most, magnitude_of(v));
            others.add(v);
        }
    }
    // Far values are ordinary where all finite values are on a lattice.
    double lattice = finite.template of_team<T>(a.z.common.step, room.team);
    if (lattice == 0) {
        mask |= large;
        lattice = others.template of_team<T>(a.z.common.step, room.team);
    }
    most = static_cast<word_of<T>>(team_max(u64{most}, room.team.longs));
    room.masks[me()] = mask;
    const auto key = [&](u32 i) { return load_as<word_of<T>>(x + i); };
    if (!find_entries(room.out[0], mask, room.entry, key, room.team)) return keep(a, x, chunk, count, room.place);
    measure_section(room.out[0], mask, room.entry, count, sizeof(T), true, room.team);
    if (room.out[0].changes > most_changes(count)) return keep(a, x, chunk, count, room.place);
    const bool common = lattice == 0 && most < a.z.common.usual;
    const double step = common ? a.z.common.step : lattice != 0 ? lattice : own_step(a.z, most);
    if (step == 0) return keep(a, x, chunk, count, room.place);
    const host::grid<T> z = common ? a.z.common : own_grid<T>(step);
    get_quanta(x, count, z, room.masks, room.q);
    if (me() == 0) room.out[1].bytes = 0;
    __syncthreads();
    const packing p = prepare(room.q, count, room.team);
    put_whole_chunk(a, room, chunk, count, p, {mask, 0}, common ? scale_bound : scale_own, step, sizeof(T),
                    [&](u8* to, u32 i) { store_as(to, key(i)); });
}

/// The quanta and sections of an addend. @return the same for all
template <class T>
CCOLL_DEVICE status read_addend(const frame_in& f, u32 chunk, u32 count, chunk_head& h, i64* q, sections_in<2>& s, team_room& room)
{
    const chunk_place c = find_chunk(f, chunk);
    if (!c.good || c.raw) return status::corrupt;
    if (const status r = read_quanta<T>(c.at, c.bytes, count, false, h, q, room); r != status::ok) return r;
    if (h.scale != scale_bound) return status::corrupt;
    return read_sections(c.at, c.bytes, h.exceptions, count, true, wide_bytes, s, room);
}
/// What the operands of a sum have in one place.
struct term {
    wide w;                               ///< the sum of the exceptional values
    u64 q = 0;                            ///< and of the quanta
    bool is_far = false, counts = false;  ///< is there any exceptional value, and any quantum?

    CCOLL_DEVICE void add(const sections_in<2>& s, u32 i, i64 quantum)
    {
        const bool alone = s.has(0, i), with = s.has(1, i);
        if (alone || with) add_far(load_wide(s.value_of(with, i, wide_bytes)));
        if (!alone) add_near(quantum);
    }
    CCOLL_DEVICE void add_near(i64 quantum) { q += static_cast<u64>(quantum), counts = true; }
    CCOLL_DEVICE void add_far(const wide& value) { w = sum_of(w, value), is_far = true; }
};

/// Values, and addends, to an addend.
template <operation What, class T, class Room>
CCOLL_DEVICE_RARE status add_any_chunk(const list_arguments<T>& a, Room& room, u32 chunk, u32 count)
{
    constexpr bool has_values = What != operation::add, has_frame = What != operation::encode;
    const T* const x = has_values ? a.x + u64{chunk_elements} * chunk : nullptr;
    const u32 first = 32 * me(), there = first < count ? smaller(count - first, 32u) : 0;
    chunk_head h, h_of_b;
    i64 of_a[32];  // quanta of this thread's places: shared memory has room for those of one operand
    if constexpr (has_frame)
        if (const status s = read_addend<T>(a.a, chunk, count, h, room.q, room.of[0], room.team); s != status::ok) return s;
    for (u32 i = 0; has_frame && i < there; ++i) of_a[i] = room.q[padded(first + i)];
    if constexpr (What == operation::add)
        if (const status s = read_addend<T>(a.b, chunk, count, h_of_b, room.q, room.of[1], room.team); s != status::ok) return s;
    const auto term_at = [&](u32 i, i64 q_of_a, i64 q_of_b) {
        term t;
        if constexpr (has_frame) t.add(room.of[0], i, q_of_a);
        if constexpr (What == operation::add) t.add(room.of[1], i, q_of_b);
        if constexpr (has_values) {
            const T v = load_as<T>(x + i);
            const bool is_missing = a.has_missing && bits_of(v) == a.missing;
            if (is_missing || magnitude_of(v) >= a.z.too_large_addend) t.add_far(wide_of(v, a.z.common.step, is_missing));
            else t.add_near(quantum_on(a.z.common, v));
        }
        return t;
    };
    const auto value = [&](u32 i) { return term_at(i, 0, 0).w; };
    u32 plain = 0, counted = 0;
    bool beyond = false;
    i64 last = 0;
    for (u32 i = 0; i < there; ++i) {
        const term t = term_at(first + i, has_frame ? of_a[i] : 0, room.q[padded(first + i)]);
        if (t.is_far) (t.counts ? counted : plain) |= 1u << i;
        beyond = beyond || (t.is_far && is_too_large(t.w));
        if (t.counts) last = static_cast<i64>(t.q);
        room.q[padded(first + i)] = last;
    }
    if (team_any(beyond, room.team.words)) return status::too_large;
    const u64 largest = h.largest + h_of_b.largest;
    if (largest < h.largest || largest >> 62 != 0) return status::too_large;
    for (u32 k = 0; k < 2; ++k) {
        const u32 mask = k == 0 ? plain : counted;
        u8* const entry = room.entry + (k == 0 ? 0 : room.out[0].places);
        if (!find_entries(room.out[k], mask, entry, value, room.team)) return status::too_large;
        measure_section(room.out[k], mask, entry, count, wide_bytes, true, room.team);
    }
    const packing p = prepare(room.q, count, room.team);
    put_whole_chunk(a, room, chunk, count, p, {plain, counted}, scale_bound, 0, wide_bytes,
                    [&](u8* to, u32 i) { store_wide(to, value(i)); });
    return status::ok;
}

template <class T, class Room>
CCOLL_DEVICE_RARE status decode_chunk(const list_arguments<T>& a, Room& room, u32 chunk, u32 count)
{
    T* const x = a.out + u64{chunk_elements} * chunk;
    const chunk_place c = find_chunk(a.a, chunk);
    const bool is_addend = flags_of(a.a) != 0;
    const double bound = bound_of(a.a);
    if (!c.good || (c.raw && (is_addend || c.bytes != count * sizeof(T)))) return status::corrupt;
    if (c.raw) {
        for (u32 i = me(); i < count; i += team_threads) store_as(x + i, load_as<word_of<T>>(c.at + sizeof(T) * i));
        return status::ok;
    }
    chunk_head h;
    if (const status s = read_quanta<T>(c.at, c.bytes, count, !is_addend, h, room.q, room.team); s != status::ok) return s;
    if (is_addend && h.scale != scale_bound) return status::corrupt;
    if (!(bound >= 4 * least_normal<T>)) return status::corrupt;
    const u32 value_bytes = is_addend ? wide_bytes : sizeof(T);
    if (const status s = read_sections(c.at, c.bytes, h.exceptions, count, is_addend, value_bytes, room.of[0], room.team); s != status::ok)
        return s;
    const double step = h.scale == scale_own ? number_of(h.largest) : step_of<T>(bound);
    const sections_in<2>& s = room.of[0];
    for (u32 i = me(); i < count; i += team_threads) {
        const i64 q = room.q[padded(i)];
        const u32 which = s.has(1, i);
        word_of<T> bits;
        if (which != 0 || s.has(0, i)) {
            const u8* const at = s.value_of(which, i, value_bytes);
            if (is_addend) {
                bits = value_of_wide<T>(sum_of(load_wide(at), which != 0 ? widened(q) : wide{}), step, a.divisor, a.has_missing, a.missing);
            } else {
                bits = load_as<word_of<T>>(at);
            }
        } else {
            T v = static_cast<T>(times(static_cast<double>(q), step));
            if (is_addend && a.divisor != 1) v = ratio(v, static_cast<T>(a.divisor));
            bits = bits_of(v);
        }
        store_as(x + i, bits);
    }
    return status::ok;
}

// ---- the kernel ----

/// What an addend has to have in common with a call.
CCOLL_DEVICE_RARE status check_addend(const frame_in& f, const frame_facts& expected, double bound)
{
    if (const status s = check_header<format>(f, expected); s != status::ok) return s;
    if (flags_of(f) == 0) return status::not_an_addend;
    return bits_of(bound_of(f)) == bits_of(bound) ? status::ok : status::bound_differs;
}
template <class T, operation What>
CCOLL_DEVICE status check_call(const list_arguments<T>& a, double& bound)
{
    if constexpr (What == operation::move) return status::ok;
    if constexpr (What == operation::encode) return a.z.usable ? status::ok : status::too_large;
    if constexpr (What == operation::decode) {
        if (const status s = check_header<format>(a.a, a.facts); s != status::ok) return s;
        return (flags_of(a.a) & too_large_flag) != 0 ? status::too_large : status::ok;
    }
    if (What == operation::add && a.a.bytes >= index_begin) bound = bound_of(a.a);
    if (const status s = check_addend(a.a, a.facts, bound); s != status::ok) return s;
    u32 flags = flags_of(a.a);
    if constexpr (What == operation::add) {
        if (const status s = check_addend(a.b, a.facts, bound); s != status::ok) return s;
        flags |= flags_of(a.b);
    }
    const bool usable = What == operation::add || a.z.usable;
    return usable && (flags & too_large_flag) == 0 ? status::ok : status::too_large;
}

template <class T, operation What>
__global__ __launch_bounds__(team_threads) void work_off(const __grid_constant__ list_arguments<T> a)
{
    wait_for_kernel_before();
    auto& room = shared_memory<list_room<What>>();
    double bound = a.bound;
    const status of_call = check_call<T, What>(a, bound);
    if (of_call != status::ok && blockIdx.x == 0 && me() == 0) report(a.w, of_call);
    const u32 listed = a.w->listed;
    for (u32 k = blockIdx.x;; k += a.blocks) {
        __syncthreads();  // all have done the chunk before, and know how many there are
        if (k >= listed) break;
        const u32 chunk = a.w->list[k].chunk, count = values_of_chunk(a.facts.n, chunk);
        if (me() == 0) a.w->list[chunk].is_listed = 0;
        if (of_call != status::ok) continue;
        status s = status::ok;
        if constexpr (What == operation::move) move_chunk(a, room, chunk, count);
        else if constexpr (What == operation::decode) s = decode_chunk(a, room, chunk, count);
        else s = add_any_chunk<What>(a, room, chunk, count);
        if (s != status::ok && me() == 0) report(a.w, s);
    }
    const u32 flags = What == operation::move ? 0 : addend_flag;
    end_call<format, What != operation::add && What != operation::add_values>(a.to, a.facts, bound, flags, a.blocks, a.w, a.told);
}

}  // namespace ccoll::detail::device::szp
