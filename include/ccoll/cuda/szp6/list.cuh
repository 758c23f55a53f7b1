// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp6/list.cuh - floor 4. The second kernel of a call: it works off the chunks that the fast kernel has listed, one thread block
// each, and ends the call. It knows all forms of the wire.
#pragma once

#include <ccoll/cuda/szp6/frame.cuh>
#include <ccoll/cuda/szp6/sections.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp6 {

enum class operation { move, encode, add_values, add, decode };

template <class T>
struct list_arguments {
    const T* x = nullptr;  ///< values to encode
    T* out = nullptr;      ///< values to decode
    u64 n = 0;
    u32 chunks = 0, blocks = 0;  ///< blocks: of this kernel
    bool has_missing = false;
    word_of<T> missing = 0;  ///< bits that are compared with nothing
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
    sections_in of[What == operation::add ? 2 : 1];
    section_out out[2];
    ranked ranks;
    u32 place;
};

static_assert(sizeof(list_room<operation::add>) <= 99 * 1024, "ccoll: what a thread block may have on all devices from 8.0 on");

// ---- the law ----

template <class T>
CCOLL_DEVICE word_of<T> magnitude_of(T x)
{
    return bits_of(x) & ~fields_of<T>::sign;
}
CCOLL_DEVICE float nearest(float x) { return rintf(x); }
CCOLL_DEVICE double nearest(double x) { return rint(x); }
/// The quantum of an ordinary value. Denormals count as 0.
template <class T>
CCOLL_DEVICE i64 quantum_on(const host::grid<T>& z, T x)
{
    const word_of<T> w = magnitude_of(x);
    if (w < fields_of<T>::exponent_one) return 0;
    if (w < z.usual) return static_cast<i64>(nearest(times(x, z.inverse_in_t)));
    const double v = static_cast<double>(x), q = rint(times(v, z.inverse));
    if (w < z.narrow) return static_cast<i64>(q);
    return static_cast<i64>(plus(q, rint(times(__fma_rn(-q, z.step, v), z.inverse))));
}
/// A grid without bounds between the rows of the law.
template <class T>
CCOLL_DEVICE host::grid<T> own_grid(double step)
{
    host::grid<T> z;
    z.step = step;
    z.inverse = __ddiv_rn(1.0, step);
    z.narrow = is_f32<T> ? fields_of<T>::exponent : 0;
    return z;
}
/// The grid of a chunk whose values lie beyond that of the bound. Step 0: the chunk is kept.
template <class T>
CCOLL_DEVICE double own_step(const law<T>& z, word_of<T> most)
{
    const double reach = plus(static_cast<double>(number_of(most)), times(2, z.eb));
    if (!(reach < largest_number<T> / 2)) return 0;
    const i32 exponent = static_cast<i32>(bits_of(reach) >> 52) - 1022;
    const double ulp = ldexp(1.0, exponent - std::numeric_limits<T>::digits);
    const double all = times(floor(__ddiv_rn(times(times(2, z.eb), 1 - 0x1p-20), ulp)), ulp);
    return z.power > all ? z.power : all;
}
/// Of some values: what says whether they are on a lattice.
struct lattice_range {
    u32 top = 0, lowest = 0x10000;  ///< exponents, as in the bits

    template <class T>
    CCOLL_DEVICE void add(T x)
    {
        const word_of<T> w = magnitude_of(x), mantissa = w & (fields_of<T>::exponent_one - 1);
        if (w == 0) return;
        const u32 exponent = static_cast<u32>(w >> fields_of<T>::mantissa_bits);
        const u32 low = static_cast<u32>(mantissa), high = static_cast<u32>(u64{mantissa} >> 32);
        const u32 zeros = low != 0 ? lowest_bit(low) : high != 0 ? 32 + lowest_bit(high) : u32{fields_of<T>::mantissa_bits};
        top = larger(top, exponent);
        const u32 behind = u32{fields_of<T>::mantissa_bits} - zeros;
        lowest = smaller(lowest, exponent > behind ? exponent - behind : 0);
    }
    /// The step for the values of all threads, or 0: there is none above `least`.
    template <class T>
    CCOLL_DEVICE double of_team(double least, team_room& room)
    {
        top = team_max(top, room.words);
        lowest = team_min(lowest, room.words);
        constexpr u32 bias = (1u << (fields_of<T>::exponent_bits - 1)) - 1;
        if (top == 0 || lowest < 1 || top - lowest >= static_cast<u32>(std::numeric_limits<T>::digits)) return 0;
        const double s = ldexp(1.0, static_cast<i32>(smaller(lowest, 2 * bias - 1)) - static_cast<i32>(bias));
        return s > least ? s : 0;
    }
};

// ---- chunks ----

/// A kept chunk: its elements as they are.
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
/// @param masks  of this thread, for each section    @param value  (place) -> wide    @param put  writes a value
template <class T, class Room, class Value, class Put>
CCOLL_DEVICE void put_whole_chunk(const list_arguments<T>& a, Room& room, u32 chunk, u32 count, const packing& p, const u32 (&masks)[2],
                                  u32 scale, double step, u32 value_bytes, Value value, Put put)
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
    put_section(room.out[0], masks[0], room.ranks, count, value_bytes, sections[1] > 0 ? section_follows : 0, put, value, at, room.team);
    put_section(room.out[1], masks[1], room.ranks, count, value_bytes, section_counts, put, value, at + unit_bytes * sections[0],
                room.team);
}

/// Values to a chunk for movement.
template <class T, class Room>
CCOLL_DEVICE_RARE void move_chunk(const list_arguments<T>& a, Room& room, u32 chunk, u32 count)
{
    const T* const x = a.x + u64{chunk_elements} * chunk;
    const u32 first = 32 * me(), there = first < count ? smaller(count - first, 32u) : 0;
    if (!a.z.usable || count < host::least_values) return keep(a, x, chunk, count, room.place);
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
    __syncthreads();
    u32 changes = 0, before = mask != 0 ? last_below(room.masks, first, true) : ~0u;
    for (u32 rest = mask; rest != 0; rest &= rest - 1) {
        const u32 i = first + lowest_bit(rest);
        changes += before != ~0u && load_as<word_of<T>>(x + i) != load_as<word_of<T>>(x + before);
        before = i;
    }
    if (team_sum(changes, room.team.words) > (count - 1) / 32) return keep(a, x, chunk, count, room.place);
    const bool common = lattice == 0 && most < a.z.common.usual;
    const double step = common ? a.z.common.step : lattice != 0 ? lattice : own_step(a.z, most);
    if (step == 0) return keep(a, x, chunk, count, room.place);
    const host::grid<T> z = common ? a.z.common : own_grid<T>(step);
    get_quanta(x, count, z, room.masks, room.q);
    const auto value = [&](u32 i) { return wide{{u64{load_as<word_of<T>>(x + i)}, 0, 0}}; };
    find_entries(room.out[0], mask, room.ranks, 0, count, sizeof(T), value, room.team);
    if (me() == 0) room.out[1].bytes = 0;
    __syncthreads();
    const packing p = prepare(room.q, count, room.team);
    put_whole_chunk(a, room, chunk, count, p, {mask, 0}, common ? scale_bound : scale_own, step, sizeof(T), value,
                    [](u8* to, const wide& v) { store_as(to, static_cast<word_of<T>>(v.limb[0])); });
}

/// The quanta and sections of an addend. @return the same for all
template <class T>
CCOLL_DEVICE status read_addend(const frame_in& f, u32 chunk, u32 count, chunk_head& h, i64* q, sections_in& s, team_room& room)
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

    CCOLL_DEVICE void add(const sections_in& s, u32 i, i64 quantum)
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
CCOLL_DEVICE_RARE status add_chunk(const list_arguments<T>& a, Room& room, u32 chunk, u32 count)
{
    constexpr bool has_values = What != operation::add, has_frame = What != operation::encode;
    const T* const x = has_values ? a.x + u64{chunk_elements} * chunk : nullptr;
    const u32 first = 32 * me(), there = first < count ? smaller(count - first, 32u) : 0;
    chunk_head h, h_of_b;
    i64 of_a[32];  // quanta of this thread's places: shared memory has room for those of one operand
    if constexpr (has_frame)
        if (const status s = read_addend<T>(a.a, chunk, count, h, room.q, room.of[0], room.team); s != status::ok) return s;
    for (u32 i = 0; has_frame && i < there; ++i) of_a[i] = room.q[padded(first + i)];
    if constexpr (What == operation::add) {
        __syncthreads();
        if (const status s = read_addend<T>(a.b, chunk, count, h_of_b, room.q, room.of[1], room.team); s != status::ok) return s;
    }
    const auto of_value = [&](T v) {
        if (a.has_missing && bits_of(v) == a.missing) return state(state_missing);
        if (magnitude_of(v) > fields_of<T>::exponent) return state(state_nan);
        if (magnitude_of(v) == fields_of<T>::exponent) return state(v > 0 ? state_inf : state_minus_inf);
        return quotient(static_cast<double>(v), a.z.common.step);
    };
    const auto term_at = [&](u32 i, i64 q_of_a, i64 q_of_b) {
        term t;
        if constexpr (has_frame) t.add(room.of[0], i, q_of_a);
        if constexpr (What == operation::add) t.add(room.of[1], i, q_of_b);
        if constexpr (has_values) {
            const T v = load_as<T>(x + i);
            if (magnitude_of(v) >= a.z.too_large_addend || (a.has_missing && bits_of(v) == a.missing)) t.add_far(of_value(v));
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
    if (!find_entries(room.out[0], plain, room.ranks, 0, count, wide_bytes, value, room.team)) return status::too_large;
    if (!find_entries(room.out[1], counted, room.ranks, room.out[0].places, count, wide_bytes, value, room.team)) return status::too_large;
    const packing p = prepare(room.q, count, room.team);
    put_whole_chunk(a, room, chunk, count, p, {plain, counted}, scale_bound, 0, wide_bytes, value,
                    [](u8* to, const wide& v) { store_wide(to, v); });
    return status::ok;
}

template <class T, class Room>
CCOLL_DEVICE_RARE status decode_chunk(const list_arguments<T>& a, Room& room, u32 chunk, u32 count)
{
    using fields = fields_of<T>;
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
    if (h.scale != scale_bits && !(bound >= 4 * least_normal<T>)) return status::corrupt;
    const u32 value_bytes = is_addend ? wide_bytes : sizeof(T);
    if (const status s = read_sections(c.at, c.bytes, h.exceptions, count, is_addend, value_bytes, room.of[0], room.team); s != status::ok)
        return s;
    const double step = h.scale == scale_own ? number_of(h.largest) : step_of<T>(bound);
    const sections_in& s = room.of[0];
    for (u32 i = me(); i < count; i += team_threads) {
        const i64 q = room.q[padded(i)];
        const u32 which = s.has(1, i);
        word_of<T> bits;
        if (which != 0 || s.has(0, i)) {
            const u8* const at = s.value_of(which, i, value_bytes);
            if (is_addend) {
                const wide w = sum_of(load_wide(at), which != 0 ? widened(q) : wide{});
                bits = bits_of(product<T>(w, step));
                if (is_state(w)) {
                    bits = fields::exponent | (w.limb[0] == state_minus_inf ? fields::sign : 0);
                    if (w.limb[0] != state_inf && w.limb[0] != state_minus_inf) bits |= fields::exponent_one >> 1;
                    if (w.limb[0] == state_missing && a.has_missing) bits = a.missing;
                }
            } else {
                bits = load_as<word_of<T>>(at);
            }
        } else if (h.scale == scale_bits) {
            bits = static_cast<word_of<T>>(q);
            if ((bits & fields::sign) != 0) bits ^= fields::sign - 1;
        } else {
            bits = bits_of(static_cast<T>(times(static_cast<double>(q), step)));
        }
        store_as(x + i, bits);
    }
    return status::ok;
}

// ---- the kernel ----

template <class T, operation What>
CCOLL_DEVICE status check_call(const list_arguments<T>& a, double& bound)
{
    if constexpr (What == operation::move) return status::ok;
    if constexpr (What == operation::encode) return a.z.usable ? status::ok : status::too_large;
    if constexpr (What == operation::decode) {
        if (const status s = check_header<T>(a.a, a.n, a.chunks); s != status::ok) return s;
        return (flags_of(a.a) & too_large_flag) != 0 ? status::too_large : status::ok;
    }
    if (What == operation::add && a.a.bytes >= index_begin) bound = bound_of(a.a);
    if (const status s = check_addend<T>(a.a, a.n, a.chunks, bound); s != status::ok) return s;
    u32 flags = flags_of(a.a);
    if constexpr (What == operation::add) {
        if (const status s = check_addend<T>(a.b, a.n, a.chunks, bound); s != status::ok) return s;
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
    for (u32 k = blockIdx.x; k < listed; k += a.blocks) {
        const u32 chunk = a.w->list[k].chunk, count = values_of_chunk(a.n, chunk);
        if (me() == 0) a.w->list[chunk].is_listed = 0;
        if (of_call != status::ok) continue;
        status s = status::ok;
        if constexpr (What == operation::move) move_chunk(a, room, chunk, count);
        else if constexpr (What == operation::decode) s = decode_chunk(a, room, chunk, count);
        else s = add_chunk<What>(a, room, chunk, count);
        if (s != status::ok && me() == 0) report(a.w, s);
        __syncthreads();
    }
    const u32 flags = What == operation::move ? 0 : addend_flag;
    end_call<T>(a.to, a.n, a.chunks, bound, flags, a.blocks, a.w, a.told, room.place);
}

}  // namespace ccoll::detail::device::szp6
