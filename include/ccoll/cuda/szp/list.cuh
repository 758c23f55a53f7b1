// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/list.cuh - floor 4. The second kernel of a call: it works off the chunks that the fast kernel has
// listed, one thread block each, and ends the call. It knows all forms of the wire.
#pragma once

#include <ccoll/cuda/szp/law.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

template <operation What>
struct list_room {
    team_room team;
    i64 q[padded_elements];
    sections_in<2> of[What == operation::add ? 2 : 1];
    section_out out[2];
    u8 entry[chunk_elements];  ///< of the places of both sections
    u32 place;
};

static_assert(sizeof(list_room<operation::add>) <= 99 * 1024,
              "ccoll: what a thread block may have on all devices from 8.0 on");

// ---- chunks ----

/// Where a chunk stands, and whether it may be there.
template <class T>
CCOLL_DEVICE chunk_place find_chunk(const frame_in& f, u32 chunk, u32 count, bool is_addend)
{
    if (!is_addend) return device::find_chunk<T>(f, chunk, count);
    chunk_place c = device::find_chunk(f, chunk);
    c.good = c.good && !c.raw && c.bytes <= most_addend_bytes(count) && is_filled_with_zeros(c);
    return c;
}
/// The quanta and sections of an addend. @return the same for all
template <class T>
CCOLL_DEVICE status read_addend(const frame_in& f, u32 chunk, u32 count, chunk_head& h, i64* q,
                                sections_in<2>& s, team_room& room)
{
    const chunk_place c = find_chunk<T>(f, chunk, count, true);
    if (!c.good) return status::corrupt;
    if (const status r = read_quanta<T>(c.at, c.bytes, count, false, h, q, room); r != status::ok) return r;
    if (h.scale != scale_bound) return status::corrupt;
    return read_sections(c.at, c.bytes, h.exceptions, count, wide_bytes, s, room);
}
/// What the operands of a sum have in one place, or a value for movement, whose bits are w.
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
    CCOLL_DEVICE void add_near(i64 quantum)
    {
        q += static_cast<u64>(quantum);
        counts = true;
    }
    CCOLL_DEVICE void add_far(const wide& value)
    {
        w = w + value;
        is_far = true;
    }
};
/// A raw chunk: its elements as they are.
template <class T>
CCOLL_DEVICE_RARE status put_raw(const arguments<T>& a, const T* x, u32 chunk, u32 count, u32& room)
{
    if (me() == 0) {
        room = a.to.place(a.w, chunk, count * static_cast<u32>(sizeof(T)), true);
        atomicAdd(&a.w->raw_chunks, 1u);
    }
    __syncthreads();
    put_raw_elements(x, count, a.to.unit(room));
    return status::ok;
}

/// Values, or addends, or both, to a chunk.
template <operation What, class T, class Room>
CCOLL_DEVICE_RARE status write_chunk(const arguments<T>& a, Room& room, u32 chunk, u32 count)
{
    constexpr bool moves = What == operation::move, of_values = has_values<What>, of_frame = has_frame<What>;
    constexpr u32 value_bytes = moves ? sizeof(T) : wide_bytes;
    const T* const x = of_values ? a.x + u64{chunk_elements} * chunk : nullptr;
    const u32 first = 32 * me(), there = first < count ? smaller(count - first, 32u) : 0;
    host::grid<T> z = a.z.common;
    word_of<T> least = a.z.too_large_addend;
    if constexpr (moves) {
        bool far_count = false;
        const auto each = [&](auto f) {
            for (u32 i = 0; i < there; ++i) f(load_as<word_of<T>>(x + first + i));
        };
        bool is_raw = !a.z.usable || count < host::least_constant;
        for (u32 i = 0; i < there && count < host::least_values; ++i)
            // So few values are only stored if they are all the same.
            is_raw = is_raw || load_as<word_of<T>>(x + first + i) != load_as<word_of<T>>(x);
        if (!team_any(is_raw, room.team.words)) z = find_grid(a, each, far_count, room.team);
        else z.step = 0;
        if (z.step == 0) return put_raw(a, x, chunk, count, room.place);
        least = far_count ? fields_of<T>::exponent : a.z.too_large;
    }
    chunk_head h, h_of_b;
    i64 of_a[32];  // quanta of this thread's places: shared memory has room for those of one operand
    if constexpr (of_frame)
        if (const status s = read_addend<T>(a.a, chunk, count, h, room.q, room.of[0], room.team);
            s != status::ok)
            return s;
    for (u32 i = 0; of_frame && i < there; ++i) of_a[i] = room.q[padded(first + i)];
    if constexpr (What == operation::add)
        if (const status s = read_addend<T>(a.b, chunk, count, h_of_b, room.q, room.of[1], room.team);
            s != status::ok)
            return s;
    const u64 largest = h.largest + h_of_b.largest;
    if (largest < h.largest || largest >> 62 != 0) return status::too_large;

    const auto term_at = [&](u32 i, i64 q_of_a, i64 q_of_b) {
        term t;
        if constexpr (of_frame) t.add(room.of[0], i, q_of_a);
        if constexpr (What == operation::add) t.add(room.of[1], i, q_of_b);
        if constexpr (of_values) {
            const word_of<T> v = load_as<word_of<T>>(x + i);
            const bool lacks = a.is_missing(v);
            if (!lacks && (v & ~fields_of<T>::sign) < least) t.add_near(quantum_on(z, v));
            else t.add_far(moves ? wide{{u64{v}}} : wide_of<T>(v, z.step, lacks));
        }
        return t;
    };
    // Places without a quantum; of the two sections.
    u32 apart = ones_below(there) ^ all_lanes, masks[2] = {};
    bool beyond = false;
    for (u32 i = 0; i < there; ++i) {
        i64& q = room.q[padded(first + i)];
        const term t = term_at(first + i, of_frame ? of_a[i] : 0, q);
        if (t.is_far) masks[t.counts] |= 1u << i;
        if (!t.counts) apart |= 1u << i;
        beyond = beyond || t.w.is(wide::overflow);
        q = static_cast<i64>(t.q);
    }
    const auto q_at = [&](u32 i) { return apart != all_lanes ? room.q[padded(first + i)] : i64{0}; };
    i64 bridge = bridge_into(apart, q_at(lowest_bit(~apart)), q_at(highest_bit(~apart)));
    for (u32 i = 0; i < there; ++i) {
        i64& q = room.q[padded(first + i)];
        q = bridge = (apart >> i & 1) != 0 ? bridge : q;
    }
    if (team_any(beyond, room.team.words)) return status::too_large;

    u32 special = 0, bytes = 0;
    const auto value = [&](u32 i) { return term_at(i, 0, 0).w; };
    for (u32 k = 0; k < 2; ++k) {
        section_out& s = room.out[k];
        const places_out p(masks[k], count, room.team);
        bool good = find_entries(s, p, room.entry + special, value, room.team);
        if (good) measure_section(s, p, room.entry + special, count, value_bytes, true, room.team);
        if (moves && (!good || s.changes > most_changes(count)))
            return put_raw(a, x, chunk, count, room.place);
        if (!good) return status::too_large;
        special += s.places;
        bytes += s.bytes;
    }
    const packing p = prepare(room.q, count, room.team);
    if (me() == 0) {
        room.place = a.to.place(a.w, chunk, unit_bytes * p.units + bytes, false);
        if (special > 0) atomicAdd(&a.w->special_values, static_cast<unsigned long long>(special));
    }
    __syncthreads();
    u8* to = a.to.unit(room.place);
    put_packed(p, room.q, count, z.step != a.z.common.step ? scale_own : scale_bound, bits_of(z.step),
               bytes > 0 ? p.units : 0, to);
    to += unit_bytes * p.units;
    for (u32 k = 0; k < 2; ++k) {
        const section_out& s = room.out[k];
        const auto put = [&](u8* at, u32 i) {
            const wide w = value(s.dictionary[i]);
            if constexpr (moves) store_as(at, static_cast<word_of<T>>(w.limb[0]));
            else store_wide(at, w);
        };
        const u32 form = k == 1 ? section_counts : room.out[1].bytes > 0 ? section_follows : 0;
        put_section(s, masks[k], room.entry + (k == 0 ? 0 : room.out[0].places), count, value_bytes, form,
                    put, to, room.team);
        to += s.bytes;
    }
    return status::ok;
}

/// A sum of quanta divided by the number of ranks. As on the host it may be too large for T, but shares of it
/// are not. (Sums of the fast kernel are not, either: its quanta and steps are small enough.)
template <class T>
CCOLL_DEVICE_RARE T mean_of(i64 q, double step, u32 ranks)
{
    // 1 / parts_of_share(ranks)
    const double share = step >= 0x1p-30 ? number_of(u64{1022 - highest_bit(ranks - 1)} << 52) : 1;
    return ratio(static_cast<T>(times(static_cast<double>(q), times(step, share))),
                 times(static_cast<T>(ranks), static_cast<T>(share)));
}

template <class T, class Room>
CCOLL_DEVICE_RARE status decode_chunk(const arguments<T>& a, Room& room, u32 chunk, u32 count)
{
    T* const x = a.out + u64{chunk_elements} * chunk;
    const bool is_addend = flags_of(a.a) != 0;
    const chunk_place c = find_chunk<T>(a.a, chunk, count, is_addend);
    const double bound = bound_of(a.a);
    if (!c.good) return status::corrupt;
    if (c.raw) {
        get_raw_elements(c.at, count, x);
        return status::ok;
    }
    chunk_head h;
    if (const status s = read_quanta<T>(c.at, c.bytes, count, !is_addend, h, room.q, room.team);
        s != status::ok)
        return s;
    if (is_addend && h.scale != scale_bound) return status::corrupt;
    if (!(bound >= 4 * least_normal<T>)) return status::corrupt;
    const sections_in<2>& s = room.of[0];
    const u32 value_bytes = is_addend ? wide_bytes : sizeof(T);
    if (const status r =
            read_sections(c.at, c.bytes, h.exceptions, count, value_bytes, room.of[0], room.team);
        r != status::ok)
        return r;
    const bool is_own = h.scale == scale_own;
    const double step = is_own ? number_of(h.largest) : step_of<T>(smaller(bound, law<T>::max_bound));
    for (u32 i = me(); i < count; i += team_threads) {
        const i64 q = room.q[padded(i)];
        const u32 which = s.has(1, i);
        word_of<T> bits;
        if (which != 0 || s.has(0, i)) {
            const u8* const at = s.value_of(which, i, value_bytes);
            if (is_addend)
                bits = value_of_wide<T>(load_wide(at), which != 0 ? q : 0, step, a.divisor, a.has_missing,
                                        a.missing);
            else bits = load_as<word_of<T>>(at);
        } else {
            T v;
            if (is_own) v = times(static_cast<T>(q), static_cast<T>(step));
            else if (is_addend && a.divisor != 1) v = mean_of<T>(q, step, a.divisor);
            else v = static_cast<T>(times(static_cast<double>(q), step));
            bits = bits_of(v);
        }
        store_as(x + i, bits);
    }
    return status::ok;
}

// ---- the kernel ----

/// Is it a frame that the call can read? Addends have the bound of the call.
template <operation What>
CCOLL_DEVICE_RARE status check_frame(const frame_in& f, const frame_facts& expected, double bound)
{
    if (const status s = check_header<format>(f, expected); s != status::ok) return s;
    if (What != operation::decode && flags_of(f) == 0) return status::not_an_addend;
    if (What != operation::decode && bits_of(bound_of(f)) != bits_of(bound)) return status::bound_differs;
    return (flags_of(f) & too_large_flag) == 0 ? status::ok : status::too_large;
}
template <class T, operation What>
CCOLL_DEVICE status check_call(const arguments<T>& a, double& bound)
{
    if constexpr (!has_frame<What>)
        return What == operation::move || a.z.usable ? status::ok : status::too_large;
    if (What == operation::add && a.a.bytes >= index_begin) bound = bound_of(a.a);
    const status of_a = check_frame<What>(a.a, a.facts, bound);
    if (of_a != status::ok && of_a != status::too_large) return of_a;
    const status of_b = What == operation::add ? check_frame<What>(a.b, a.facts, bound) : status::ok;
    if (of_b != status::ok) return of_b;
    // No encoder writes chunks of addends for such a bound.
    if (What == operation::add && of_a == status::ok && a.facts.chunks > 0 && !(bound >= 4 * least_normal<T>))
        return status::corrupt;
    return What != operation::add_values || a.z.usable ? of_a : status::too_large;
}

template <class T, operation What>
__global__ __launch_bounds__(team_threads) void work_off(const __grid_constant__ arguments<T> a)
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
        const u32 chunk = a.w->list[k].chunk, count = values_of_chunk(a.facts, chunk);
        if (me() == 0) a.w->list[chunk].is_listed = 0;
        if (of_call != status::ok) continue;
        status s = status::ok;
        if constexpr (What == operation::decode) s = decode_chunk(a, room, chunk, count);
        else s = write_chunk<What>(a, room, chunk, count);
        if (s != status::ok && me() == 0) report(a.w, s);
    }
    const u32 flags = What == operation::move ? 0 : addend_flag;
    end_call<format, !has_frame<What>>(a.to, a.facts, bound, flags, a.blocks, a.w, a.told);
}

}  // namespace ccoll::detail::device::szp
