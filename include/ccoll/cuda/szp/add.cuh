// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/add.cuh - floor 4. The kernel that makes addends of SZp: of values, of two addends (their sum, without decoding), and of values
// and an addend at once, so that the addend of a rank's own values is never written. One thread block a chunk, one thread a block of 32.
//
// Usual are narrow chunks without classes. Sums of up to 7 planes are added as they are, 32 lanes of a ripple-carry adder in one
// word; wider ones, and own values, as differences in registers. All else takes the slower way of 64-bit differences.
#pragma once

#include <ccoll/cuda/szp/choice.cuh>
#include <ccoll/cuda/szp/decode.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// What an addend is made of: values, a frame, or nothing.
template <class T>
struct operand {
    const T* values = nullptr;
    frame_reader frame{nullptr, 0};
};

template <class T>
struct addend_room {
    static constexpr u32 image_words = 3 + chunk_blocks / 4 + chunk_blocks * widest_narrow;
    static constexpr u32 room_bytes = sizeof(T) == 8 ? chunk_elements * 8 : (4 * image_words + 15) / 16 * 16;
    alignas(16) u8 values[room_bytes];  // own values, staged; then the words of the sum
    layout_room layout;
    blocks_room blocks[2];
    warp_words<u32> words;
    warp_words<u64> wide;
    warp_words<word_of<T>> most;
    i64 last[chunk_blocks];  // the quantum of the last finite value of each block
    u32 has_last[chunk_blocks];
    u64 place;
    u32 code, blocks_done;
};

/// An operand's chunk: what belongs to all of it, and this thread's block.
struct addend_chunk {
    u64 base = 0, largest = 0;
    bool is_narrow = true, usual = true;
    const u32* block = nullptr;  ///< in the frame: classes, then planes
    u32 width = 0;
    bool has_class = false;
};

/// quantum_of of the host.
template <class T>
CCOLL_DEVICE_RARE i64 addend_quantum(T x, const grid<T>& z)
{
    const auto w = magnitude(x);
    if (w < fields_of<T>::exponent_one) return 0;
    if (w < z.safe) return quantum(x, z.inverse);
    if (w < z.narrow) return quantum(static_cast<double>(x), z.inverse_f64);
    return nearest_quantum(static_cast<double>(x), static_cast<double>(z.step), z.inverse_f64);
}

/// 64-bit differences of own values, and their classes. Fills in base, largest and is_narrow. By all threads.
/// @return false if a value cannot be added
template <class T>
CCOLL_DEVICE_RARE bool classify(const grid<T>& z, u32 blocks, addend_chunk& c, i64 (&d)[32], u32& a, u32& b, addend_room<T>& s)
{
    using fields = fields_of<T>;
    const bool active = me() < blocks;
    const double farthest = times(0x1p52, static_cast<double>(z.step));
    word_of<T> most = 0;  // of a block that has no class
    u64 of_class = 0, exact = 0;
    bool fits = true, is_quantum = true, any = false;
    i64 last = 0;
    for (u32 i = 0; active && i < 32; ++i) {
        const T x = staged<T>(s.values, block_elements * me() + i);
        const auto w = magnitude(x);
        most = larger(most, w);
        if (w >= fields::exponent) {
            const bool nan = w > fields::exponent, negative = (bits_of(x) & fields::sign) != 0;
            a |= u32{nan || !negative} << i;
            b |= u32{nan || negative} << i;
            d[i] = 0;
            continue;
        }
        fits = fits && w < z.narrow;
        is_quantum = is_quantum && fabs(static_cast<double>(x)) < farthest;
        d[i] = is_quantum ? addend_quantum(x, z) : 0;
        last = d[i];
        any = true;
        exact = larger(exact, static_cast<u64>(d[i] < 0 ? -d[i] : d[i]));
    }
    if ((a | b) != 0) {
        of_class = exact;
        most = 0;
    }
    if (team_any(!is_quantum, s.words)) return false;
    c.is_narrow = !team_any(!fits, s.words);
    const u64 usual = largest_quantum<T>(team_max(c.is_narrow ? most : word_of<T>{0}, s.most), z.inverse_f64);
    c.largest = larger(usual, team_max(of_class, s.wide));
    if (c.largest >= narrow_limit) c.is_narrow = false;
    exact = team_max(exact, s.wide);
    if (!c.is_narrow) c.largest = larger(exact, narrow_limit);
    const T first = staged<T>(s.values, 0);
    const bool has_base = c.is_narrow ? magnitude(first) < z.narrow : times(fabs(static_cast<double>(first)), z.inverse_f64) < 0x1p52;
    c.base = has_base ? static_cast<u64>(addend_quantum(first, z)) : 0;
    // A value that is not finite repeats the quantum before it.
    s.last[me()] = last;
    s.has_last[me()] = any;
    __syncthreads();
    i64 before = static_cast<i64>(c.base);
    for (u32 k = smaller(me(), blocks); k-- > 0;)
        if (s.has_last[k] != 0) {
            before = s.last[k];
            break;
        }
    for (u32 i = 0; i < 32; ++i) {
        const i64 q = active && ((a | b) >> i & 1) == 0 ? d[i] : before;
        d[i] = minus(q, before);
        before = q;
    }
    __syncthreads();
    return true;
}

/// Reads where the blocks of a chunk are in the frame of an addend. By all threads. @return a status
template <class T>
CCOLL_DEVICE status read_addend(const frame_reader& r, u32 chunks, u32 chunk, u32 count, addend_chunk& c, blocks_room& s)
{
    const u32 blocks = (count + 31) / 32;
    const piece from = find_piece<T>(r, chunks, chunk, count);
    if (!from.good) return status::corrupt;
    const u32* const words = reinterpret_cast<const u32*>(from.at);
    const chunk_head h = read_head<T, true>(words, from.bytes, blocks);
    if (!h.good) return status::corrupt;
    c.base = h.base;
    c.largest = h.largest;
    c.is_narrow = c.usual = h.is_narrow();
    if (h.is_flat()) return status::ok;
    const block_place p = find_block<T, true>(words + h.in_front, h, blocks, s);
    if (!p.good) return status::corrupt;
    c.block = words + h.in_front + h.codes + p.before;
    c.width = p.width;
    c.has_class = p.has_class;
    c.usual = c.usual && h.escaped == 0;
    return status::ok;
}
/// Adds the 64-bit differences and classes of a block that was read.
CCOLL_DEVICE_RARE void add_block(const addend_chunk& c, i64 (&d)[32], u32& a, u32& b)
{
    const u32* planes = c.block;
    if (c.has_class) {
        a |= planes[0];
        b |= planes[1];
        planes += 2;
    }
    i64 theirs[32];
    get_differences(planes, c.width, theirs);
    for (u32 i = 0; i < 32; ++i) d[i] = static_cast<i64>(static_cast<u64>(d[i]) + static_cast<u64>(theirs[i]));
}
/// The 32-bit differences of a block that was read.
CCOLL_DEVICE void get_block(const addend_chunk& c, i32 (&d)[32])
{
    const u32 most = warp_max(c.width);
    const auto plane = [&](u32 k) { return c.block[k]; };
    if (most <= 8) get_differences<1>(c.width, plane, d);
    else if (most <= 16) get_differences<2>(c.width, plane, d);
    else get_differences<4>(c.width, plane, d);
}

/// Sum of up to 7 planes each. @return its width
CCOLL_DEVICE u32 add_planes(const u32* a, u32 wa, const u32* b, u32 wb, u32 (&sum)[8])
{
    u32 x[8], y[8];
    CCOLL_UNROLL
    for (u32 k = 0; k < 8; ++k) {  // all loads are under way before the first is looked at
        x[k] = y[k] = 0;
        if (k < wa) x[k] = a[k];
        if (k < wb) y[k] = b[k];
    }
    CCOLL_UNROLL
    for (u32 k = 1; k < 8; ++k) {  // the sign goes on behind the last plane
        if (k >= wa) x[k] = x[k - 1];
        if (k >= wb) y[k] = y[k - 1];
    }
    u32 carry = 0, last = 0;
    CCOLL_UNROLL
    for (u32 k = 0; k < 8; ++k) {
        const u32 differ = x[k] ^ y[k];
        sum[k] = differ ^ carry;
        carry = (x[k] & y[k]) | (carry & differ);
        if (k > 0 && sum[k] != sum[k - 1]) last = k;
    }
    return last > 0 ? last + 1 : sum[0] != 0;
}

/// The header, and what two operands have to have in common. By one thread. @return a status
template <class T>
CCOLL_DEVICE_RARE status check_operands(const operand<T>& a, const operand<T>& b, u64 n, u32 chunks, double bound)
{
    bool too_large = false;
    for (const operand<T>* each : {&a, &b}) {
        if (each->frame.frame == nullptr) continue;
        if (const status s = check_header<T>(each->frame, n, chunks); s != status::ok) return s;
        if (each->frame.flags() == 0) return status::not_an_addend;
        if (bits_of(each->frame.bound()) != bits_of(bound)) return status::bound_differs;
        too_large = too_large || (each->frame.flags() & too_large_flag) != 0;
    }
    return too_large ? status::too_large : status::ok;
}

/// Writes an addend of n values: that of `a`, or of the sum of `a` and `b`. The bytes are those of the host. Launch: max(1, chunks) blocks
/// of team_threads threads, sizeof(addend_room<T>) bytes.
/// @tparam Values  a.values is what is encoded; else a.frame is an addend
/// @param b        an addend; without a frame there is none
/// @param z        of the bound; without values the bound alone counts, and a negative one stands for that of `a`
/// @param frame    a multiple of 16 bytes, room for max_addend_bytes(n); it must not overlap an operand
template <class T, bool Values>
__global__ __launch_bounds__(team_threads, is_f32<T> ? 4 : 2) void add(operand<T> a, operand<T> b, u64 n, grid<T> z, u8* frame, u32 chunks,
                                                                       scratch* s, outcome* out)
{
    auto& room = shared_memory<addend_room<T>>();
    const frame_writer writer{frame, chunks};
    const u32 chunk = blockIdx.x;
    const double bound = Values || z.bound >= 0 ? z.bound : a.frame.bytes >= 48 ? a.frame.bound() : 0;
    if (me() == 0) {
        status code = check_operands(a, b, n, chunks, bound);
        if (Values && code == status::ok && !z.usable) code = status::too_large;
        room.code = static_cast<u32>(code);
    }
    const u64 first = u64{chunk} * chunk_elements;
    const u32 count = static_cast<u32>(smaller(n - first, u64{chunk_elements})), blocks = (count + 31) / 32;
    const bool active = me() < blocks;
    if (Values && chunks > 0) stage(a.values + first, count, room.values);
    if (chunk == 0) writer.template put_header<T>(n, bound, addend_flag);
    __syncthreads();
    status code = static_cast<status>(room.code);
    u32 units = 0, words = 0, width = 0;
    bool usual = true, narrow_sum = true;
    addend_chunk x, y;
    u64 base = 0, largest = 0;
    i32 d[32];
    u32 sum[8];
    bool in_planes = false;  // the sum is in `sum`; else in d
    chunk_layout l;
    if (code == status::ok && chunks > 0) {
        if (!Values) code = read_addend<T>(a.frame, chunks, chunk, count, x, room.blocks[0]);
        if (code == status::ok && b.frame.frame != nullptr) code = read_addend<T>(b.frame, chunks, chunk, count, y, room.blocks[1]);
    }
    const bool works = code == status::ok && chunks > 0;
    if (works && Values) {
        T v[32];
        unstage(room.values, v);
        const word_of<T> most_of_warp = warp_max(active ? largest_magnitude(v) : word_of<T>{0});
        if (lane() == 0) room.most.of[warp()] = most_of_warp;
        const T last_before = me() > 0 && active ? staged<T>(room.values, block_elements * me() - 1) : v[0];
        const T first_value = staged<T>(room.values, 0);
        __syncthreads();
        const word_of<T> most = largest_of(room.most);
        x.largest = largest_quantum<T>(most < z.safe ? most : word_of<T>{0}, z.inverse_f64);
        x.usual = most < z.safe && x.largest < narrow_limit;
        const i32 own_base = quantum(first_value, z.inverse);
        x.base = static_cast<u64>(static_cast<i64>(own_base));
        i32 before = me() == 0 ? own_base : quantum(last_before, z.inverse);
        CCOLL_UNROLL
        for (u32 i = 0; i < 32; ++i) {
            const i32 q = quantum(v[i], z.inverse);
            d[i] = active ? minus(q, before) : 0;
            before = q;
        }
    }
    if (works) {
        largest = x.largest + y.largest;
        base = x.base + y.base;
        usual = x.usual && y.usual && largest < narrow_limit && x.largest < narrow_limit && y.largest < narrow_limit;
    }
    if (works && usual) {
        if (!Values && __ballot_sync(all_lanes, x.width > 7 || y.width > 7) == 0) {
            in_planes = true;
            width = add_planes(x.block, x.width, y.block, y.width, sum);
        } else {
            if (!Values) get_block(x, d);
            if (b.frame.frame != nullptr) {
                i32 theirs[32];
                get_block(y, theirs);
                CCOLL_UNROLL
                for (u32 i = 0; i < 32; ++i) d[i] = static_cast<i32>(static_cast<u32>(d[i]) + static_cast<u32>(theirs[i]));
            }
            width = width_of(d);
        }
        if (x.width == 0 && !Values) width = y.width;  // as they were, if one is nothing
        if (y.width == 0 && !Values) width = x.width;
        l = lay_out<true>(blocks, active ? width : 0, false, false, [] { return 0u; }, room.layout);
        words = 3 + l.body_words();
    }
    i64 wide_d[32];
    u32 class_a = 0, class_b = 0;
    if (works && !usual) {
        for (u32 i = 0; i < 32; ++i) wide_d[i] = 0;
        __syncthreads();
        if (Values && !classify(z, blocks, x, wide_d, class_a, class_b, room)) code = status::too_large;
        if (!Values) add_block(x, wide_d, class_a, class_b);
        add_block(y, wide_d, class_a, class_b);
        largest = x.largest + y.largest;
        base = x.base + y.base;
        if (larger(x.largest, y.largest) >= wide_limit || largest >= wide_limit) code = status::too_large;
        narrow_sum = x.is_narrow && y.is_narrow && largest < narrow_limit;
        if (!narrow_sum) largest = larger(largest, narrow_limit);
        __syncthreads();
        l = lay_out<true>(blocks, active ? width_of(wide_d) : 0, active && (class_a | class_b) != 0, false, [] { return 0u; }, room.layout);
        words = (narrow_sum ? 3 : 5) + l.body_words();
    }
    const u32 kind = l.flat ? (narrow_sum ? flat : wide_flat) : narrow_sum ? narrow : wide;
    if (code != status::ok) words = 0;
    units = (4 * words + unit_bytes - 1) / unit_bytes;
    if (chunks > 0 && me() == 0) publish_size(s, chunk, units);
    if (works && usual && code == status::ok) {
        u32* const image = reinterpret_cast<u32*>(room.values);
        if (!l.flat) {
            u32* const to = image + 3 + l.codes + l.before;
            if (in_planes) {
                CCOLL_UNROLL
                for (u32 k = 0; k < 8; ++k)
                    if (k < l.words) to[k] = sum[k];
            } else {
                put_planes(d, l.words, to);
            }
            put_codes(l, blocks, room.layout, image + 3);
        }
        if (me() == 0) {
            image[0] = l.head(kind, 0, false);
            image[1] = static_cast<u32>(base);
            image[2] = static_cast<u32>(largest);
        }
        if (me() < 4 * units - words) image[words + me()] = 0;
    }
    if (chunks > 0 && warp() == 0) {
        const u64 before = look_back(s, chunk, units);
        if (lane() == 0) room.place = before;
    }
    __syncthreads();
    if (works && code == status::ok) {
        u8* const to = frame + writer.payload() + unit_bytes * room.place;
        if (usual) {
            put_image(room.values, units, to);
        } else {
            put_chunk<T, true>(l, kind, l.flat ? 0 : l.escaped, false, base, largest, wide_d, class_a, class_b, blocks, room.layout,
                               reinterpret_cast<u32*>(to));
            if (me() < 4 * units - words) store_as<u32>(to + 4 * (words + me()), 0);
        }
    }
    if (chunks > 0 && me() == 0) writer.put_entry(chunk, static_cast<u32>(room.place) + units, unit_bytes * units - 4 * words, false);
    if (code != status::ok && me() == 0) report(s, static_cast<u32>(code));
    if (is_last_block(s, larger(chunks, 1u), room.blocks_done)) end_launch<T, true>(writer, n, bound, s, out);
}

}  // namespace ccoll::detail::device::szp
