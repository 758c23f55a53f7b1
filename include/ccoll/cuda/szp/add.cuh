// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/add.cuh - floor 4. The kernel that makes addends of SZp: of values; of two addends, their sum without decoding; of values and an
// addend at once, so that the addend of a rank's own values is never written; of multiples of two addends. One thread block a chunk, one
// thread a block of 32.
//
// Usual are narrow chunks without classes and fill values, and two addends whose rows and planes are equally long. Two addends are added
// plane by plane, 32 lanes of a ripple-carry adder in one word. A constant operand has no planes, so those of the other one are copied. Own
// values are differences in registers. Chunks that are not usual are added in slow_sum.cuh.
#pragma once

#include <ccoll/cuda/szp/slow_sum.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// Adds the 32-bit differences of a block that was read.
CCOLL_DEVICE void add_block(const addend_block& c, i32 (&d)[32])
{
    const u32 most = warp_max(c.width);
    const auto plane = [&](u32 k) { return c.at[k]; };
    if (most <= 8) get_differences<1, true>(c.width, plane, d);
    else if (most <= 16) get_differences<2, true>(c.width, plane, d);
    else get_differences<4, true>(c.width, plane, d);
}

/// The header, and what two operands have to have in common. By one thread. @return a status
template <class E>
CCOLL_DEVICE_RARE status check_operands(const operand<E>& a, const operand<E>& b, u64 n, u32 chunks, double bound)
{
    bool too_large = false;
    for (const operand<E>* each : {&a, &b}) {
        if (each->frame.frame == nullptr) continue;
        if (const status s = each->frame.check_header(n, chunks); s != status::ok) return s;
        if (each->frame.flags() == 0) return status::not_an_addend;
        if (bits_of(each->frame.bound()) != bits_of(bound)) return status::bound_differs;
        too_large = too_large || (each->frame.flags() & too_large_flag) != 0;
    }
    return too_large ? status::too_large : status::ok;
}

/// Writes an addend of n elements. The bytes are those of the host.
/// Launch: max(1, chunks) blocks of team_threads threads, sizeof(addend_room) bytes, of numbers.
/// @tparam What  values: a.values is what is encoded; else a.frame is an addend
/// @param b        an addend; without a frame there is none
/// @param z        of the bound; without values the bound alone counts, and a negative one stands for that of `a`
/// @param frame    a multiple of 16 bytes, room for max_addend_bytes(n); it must not overlap an operand
template <class E, addend_of What>
__global__ __launch_bounds__(team_threads,
                             is_f32<number_of_element<E>> ? 4 : 2) void add(const __grid_constant__ operand<E> a,
                                                                            const __grid_constant__ operand<E> b, u64 n,
                                                                            const __grid_constant__ grid<number_of_element<E>> z, u8* frame,
                                                                            u32 chunks, scratch* s, outcome* out)
{
    using T = number_of_element<E>;
    constexpr bool has_values = What == addend_of::values;
    auto& room = shared_memory<addend_room<T>>();
    const frame_writer<E> writer{frame, chunks};
    const u32 chunk = blockIdx.x;
    const double bound = has_values || z.bound >= 0 ? z.bound : a.frame.bytes >= 48 ? a.frame.bound() : 0;
    if (me() == 0) {
        status code = check_operands(a, b, n, chunks, bound);
        if (has_values && code == status::ok && !z.usable) code = status::too_large;
        room.code = static_cast<u32>(code);
    }
    const u64 first = u64{chunk} * chunk_elements;
    const u32 count = static_cast<u32>(smaller(n - first, u64{chunk_elements})), blocks = (count + 31) / 32;
    const bool active = me() < blocks;
    if (has_values && chunks > 0) stage(a.values + first, count, room.values);
    if (chunk == 0) writer.put_header(n, bound, addend_flag);
    __syncthreads();
    status code = static_cast<status>(room.code);
    addend_block x, y;
    if (me() < 2) room.heads[me()] = {};
    if (code == status::ok && chunks > 0) {
        __syncthreads();
        if (!has_values) code = read_addend<E>(a.frame, chunks, chunk, count, room.heads[0], x, room.blocks[0]);
        if (code == status::ok && b.frame.frame != nullptr)
            code = read_addend<E>(b.frame, chunks, chunk, count, room.heads[1], y, room.blocks[1]);
    }
    const bool works = code == status::ok && chunks > 0;
    bool usual = works && What != addend_of::multiples;
    if (usual && has_values) {
        T v[32];
        unstage(room.values, v);
        const word_of<T> most_of_warp = warp_max(active ? largest_magnitude(v) : word_of<T>{0});
        if (lane() == 0) room.most.of[warp()] = most_of_warp;
    }
    __syncthreads();
    u64 largest = 0, base = 0;
    // Of the rows of a usual sum. From shared memory each time, so that no register is spent on it.
    const auto above = [&] { return has_values ? 0 : larger(room.heads[0].above, room.heads[1].above); };
    if (usual) {
        u64 own = room.heads[0].largest;
        base = room.heads[0].base + room.heads[1].base;
        if (has_values) {
            const word_of<T> most = largest_of(room.most);
            usual = most < z.safe;
            own = usual ? u64{largest_quantum<T>(most, z.inverse_f64)} : 0;
            base += static_cast<u64>(static_cast<i64>(quantum(staged<T>(room.values, 0), z.inverse)));
        }
        largest = own + room.heads[1].largest;
        usual = usual && room.heads[0].is_usual() && room.heads[1].is_usual() && own < narrow_limit && largest < narrow_limit;
        usual = usual && (has_values || above() == 0 || largest < limit_of_rows_of_addends);
        usual = usual && (has_values || room.heads[0].is_over(above())) && room.heads[1].is_over(above());
    }
    u32 units = 0, fill = 0;
    slow_sum<T> slow;  // in memory
    // The two paths have nothing in common, so that registers of one are not kept while the other one runs.
    if (usual) {
        u32* const image = reinterpret_cast<u32*>(room.values);
        const auto in_front = [&] { return above() != 0 ? 4u : 3u; };
        const auto lay = [&](u32 width) {
            const chunk_layout l = lay_out<true>(blocks, active ? width : 0, false, above() != 0, [] { return 0u; }, room.layout);
            const u32 words = in_front() + l.body_words();
            units = (4 * words + unit_bytes - 1) / unit_bytes;
            fill = unit_bytes * units - 4 * words;
            if (me() == 0) publish_size(s, chunk, units);
            if (!l.flat) put_codes(l, blocks, room.layout, image + in_front());
            if (me() == 0) {
                image[0] = l.head(l.flat ? flat : above() != 0 ? rows : narrow, 0, false);
                image[1] = static_cast<u32>(base);
                image[2] = static_cast<u32>(largest);
                if (above() != 0) image[3] = above();
            }
            if (me() < fill / 4) image[words + me()] = 0;
            return l;
        };
        const auto planes_at = [&](const chunk_layout& l) { return image + in_front() + l.codes + l.before; };
        if (has_values) {
            i32 before = quantum(staged<T>(room.values, me() > 0 && active ? block_elements * me() - 1 : 0), z.inverse), d[32];
            {
                T v[32];
                unstage(room.values, v);
                CCOLL_UNROLL
                for (u32 i = 0; i < 32; ++i) {
                    const i32 q = quantum(v[i], z.inverse);
                    d[i] = active ? minus(q, before) : 0;
                    before = q;
                }
            }
            if (b.frame.frame != nullptr) add_block(y, d);
            const chunk_layout l = lay(width_of(d));
            if (!l.flat) put_planes(d, l.words, planes_at(l));
        } else {
            u32 sum[8];
            const bool few = __ballot_sync(all_lanes, x.width > 7 || y.width > 7) == 0;  // in this warp, so that they stay in `sum`
            u32 width = 0;
            if (few) {
                plane_adder adder;
                adder.add(x.at, x.width, y.at, y.width, 0, [&](u32 k, u32 plane) { sum[k] = plane; });
                width = adder.width(x.width, y.width);
            } else {
                width = add_planes(x, y, 32, [](u32, u32) {});
            }
            const chunk_layout l = lay(width);
            u32* const to = planes_at(l);
            if (few) {
                CCOLL_UNROLL
                for (u32 k = 0; k < 8; ++k)
                    if (k < l.words) to[k] = sum[k];
            } else {
                add_planes(x, y, 32, [&](u32 k, u32 plane) {
                    if (k < l.words) to[k] = plane;
                });
            }
        }
    } else if (works) {
        slow.x = room.heads[0];
        slow.y = room.heads[1];
        slow.of_x = x;
        slow.of_y = y;
        slow.p = a.factor;
        slow.q = b.factor;
        slow.is_sum = b.frame.frame != nullptr;
        add_slowly<What>(a.values != nullptr ? a.values + first : nullptr, count, z, slow, room);
        code = slow.code;
        if (code != status::ok) slow.words = 0;
        units = (4 * slow.words + unit_bytes - 1) / unit_bytes;
        fill = unit_bytes * units - 4 * slow.words;
    }
    if (chunks > 0 && !usual && me() == 0) publish_size(s, chunk, units);
    if (chunks > 0 && warp() == 0) {
        const u64 before = look_back(s, chunk, units);
        if (lane() == 0) room.place = before;
    }
    __syncthreads();
    if (units > 0) {
        u8* const to = writer.payload() + unit_bytes * room.place;
        if (usual) {
            put_pieces(room.values, units, to);
        } else {
            put_slowly(slow, count, room, reinterpret_cast<u32*>(to));
            if (me() < fill / 4) store_as<u32>(to + unit_bytes * units - fill + 4 * me(), 0);
            if (me() == 0 && !slow.is_sum && slow.taken_out > 0) atomicAdd(&s->special_values, slow.taken_out);
        }
    }
    if (chunks > 0 && me() == 0) writer.put_entry(chunk, static_cast<u32>(room.place) + units, fill, false);
    if (code != status::ok && me() == 0) report(s, static_cast<u32>(code));
    if (is_last_block(s, larger(chunks, 1u), room.blocks_done)) end_adding(writer, n, bound, s, out);
}

}  // namespace ccoll::detail::device::szp
