// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/fills.cuh - floor 4. A fill value in addends of SZp: where it is, how many times it has been added, and sums with it. By all
// threads of a block, each for its own 32 values. codec/szp/missing.hpp has the bytes and says what they mean.
#pragma once

#include <ccoll/codec/szp/missing.hpp>
#include <ccoll/cuda/szp/read.cuh>
#include <ccoll/cuda/szp/specials.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

inline constexpr int of_marked_layer = 29;
static_assert(host::missing::times_added(-1) < 0 && sizeof(host::missing::times_added) == 2 &&
              detail::specials::marked_layer == 1u << of_marked_layer);

/// A layer of a section: the places of the block, and how many times the fill value has been added there.
struct fill_layer {
    layer_block at;
    const u8* times = nullptr;  ///< null: once everywhere

    CCOLL_DEVICE bool has(u32 i) const { return (at.mask >> i & 1) != 0; }
    /// @param i  a place that is in the mask
    CCOLL_DEVICE i64 times_at(u32 i) const
    {
        return times == nullptr ? 1 : static_cast<std::int16_t>(load_as<u16>(times + 2 * at.place(i)));
    }
};
/// The fill value of a chunk, and where this thread's block has it.
template <class T>
struct fill_places {
    bool any = false;  ///< in the chunk
    word_of<T> value = 0;
    fill_layer in_all;   ///< every addend had it
    fill_layer in_some;  ///< others had a number

    CCOLL_DEVICE u32 mask() const { return in_all.at.mask | in_some.at.mask; }
    /// 0 where it is not.
    CCOLL_DEVICE i64 times_at(u32 i) const { return in_all.has(i) ? in_all.times_at(i) : in_some.has(i) ? in_some.times_at(i) : 0; }
};

/// Any bytes are safe. By all threads.
/// @param from  `bytes` bytes, a multiple of 4; none: there is no section    @return  false if this is no section of so many values
template <class T>
CCOLL_DEVICE_RARE bool read_fills(const u8* from, u32 bytes, u32 count, fill_places<T>& f, specials_room& s)
{
    using fields = fields_of<T>;
    if (bytes == 0) return true;
    if (bytes < sizeof(T)) return false;
    f.value = get_value<word_of<T>>(from);
    const word_of<T> size = f.value & ~fields::sign;
    if (size >= fields::exponent || size < fields::exponent_one) return false;
    from += sizeof(T);
    bytes -= static_cast<u32>(sizeof(T));
    bool last = false;
    while (bytes > 0) {
        const layer_block b = read_layer(from, bytes, count, true, s);
        const u32 in_all = (b.bytes + 2 * (b.own ? b.values : 1) + 3) / 4 * 4;
        if (b.values == 0 || in_all > bytes || (!b.marked && f.any) || last) return false;
        last = b.marked;
        if (b.marked && team_any((f.in_all.at.mask & b.mask) != 0, s.words)) return false;
        (b.marked ? f.in_some : f.in_all) = {b, from + b.bytes};
        f.any = true;
        from += in_all;
        bytes -= in_all;
    }
    return f.any;
}

/// Writes a section and its length behind a chunk. By all threads.
/// @param times  (i) -> i64, of places in the masks    @param to  null: only the size is asked for    @return words, that of the length too
template <class T, class Times>
CCOLL_DEVICE_RARE u32 put_fills(word_of<T> value, u32 in_all, u32 in_some, Times times, u32 count, u8* to, specials_room& s)
{
    u32 words = sizeof(T) / 4;
    if (to != nullptr && me() == 0) put_value(to, value);
    for (const bool marked : {false, true}) {
        const u32 mask = marked ? in_some : in_all;
        const auto number = [=](u32 i) { return static_cast<u16>(times(i)); };
        u32 most = 0, least = 0;  // of times + 2^15, and of ~(times + 2^15): 0 where there are none
        for (u32 left = mask; left != 0; left &= left - 1) {
            const u32 t = number(lowest_bit(left)) ^ 0x8000u;
            most = larger(most, t + 1);
            least = larger(least, 0x10000 - t);
        }
        most = team_max(most, s.words);
        if (most == 0) continue;
        least = team_max(least, s.words);
        const bool equal = most - 1 == 0x10000 - least;
        const u32 flag = marked ? 1u << of_marked_layer : 0;
        words += put_layer<u16>(number, count, mask, !equal, static_cast<u16>((most - 1) ^ 0x8000u), flag,
                                to != nullptr ? to + 4 * words : nullptr, s);
    }
    if (to != nullptr && me() == 0) store_as<u32>(to + 4 * words, words);
    return words + 1;
}

/// The values of a chunk that cannot be quanta are taken out of it: one fill value, with NaN and infinities, which stay. By all threads;
/// the blocks of others are there behind the next barrier.
/// @param x       the chunk in device memory    @param values  the same, staged; gets bridges instead of the fill value
/// @param farthest  a finite |x| from here on is no quantum    @return  too_large if there are two such values
template <class E, class T>
CCOLL_DEVICE_RARE status take_out_fills(const E* x, u32 count, double farthest, void* values, fill_places<T>& f, specials_room& s)
{
    using fields = fields_of<T>;
    u32 beyond = 0, not_finite = 0;
    CCOLL_NO_UNROLL
    for (u32 left = whole_mask(count); left != 0; left &= left - 1) {
        const u32 i = lowest_bit(left);
        const word_of<T> w = bits_at(x, block_elements * me() + i) & ~fields::sign;
        not_finite |= u32{w >= fields::exponent} << i;
        beyond |= u32{w >= fields::exponent || !(static_cast<double>(number_of(w)) < farthest)} << i;
    }
    const u32 finite = beyond & ~not_finite;
    const u32 first = team_min(finite != 0 ? block_elements * me() + lowest_bit(finite) : ~0u, s.words);
    f.value = bits_at(x, first);
    f.any = true;
    u32 same = 0;
    CCOLL_NO_UNROLL
    for (u32 left = finite; left != 0; left &= left - 1) {
        const u32 i = lowest_bit(left);
        same |= u32{bits_at(x, block_elements * me() + i) == f.value} << i;
    }
    if (team_any(same != finite, s.words)) return status::too_large;
    f.in_all.at.mask = same;
    bridge<T>(values, count, beyond, s);
    CCOLL_NO_UNROLL
    for (u32 left = not_finite; left != 0; left &= left - 1) {
        const u32 i = block_elements * me() + lowest_bit(left);
        stage_one<T>(values, i, bits_at(x, i));
    }
    if (const u32 begin = block_elements * me(); begin < count && begin + block_elements > count)  // a last block repeats its last value
        for (u32 i = count; i < begin + block_elements; ++i) stage_one<T>(values, i, bits_of(staged<T>(values, count - 1)));
    return status::ok;
}

/// The class planes of a block that is read, and its differences of 64 bits.
template <class T>
CCOLL_DEVICE_RARE void get_block(const u32* block, const block_place& p, i64 (&d)[32], u32& a, u32& b)
{
    if (p.has_class) {
        a = block[0];
        b = block[1];
        block += 2;
    }
    get_differences(block, p.width, d);
}

/// Puts fill values where a sum has them. Any bytes are safe. By all threads; what the quanta decode to is staged, behind a barrier.
/// @param words  the chunk    @return  false if its section is none
template <class T>
CCOLL_DEVICE_RARE bool apply_fills(const u32* words, const chunk_head& h, u32 count, double step, void* values, blocks_room& room,
                                   specials_room& s)
{
    const u32 blocks = (count + 31) / 32;
    fill_places<T> f;
    if (!read_fills<T>(reinterpret_cast<const u8*>(words + h.words), 4 * h.section, count, f, s)) return false;
    const double value = static_cast<double>(number_of(f.value));
    CCOLL_NO_UNROLL
    for (u32 left = f.in_all.at.mask; left != 0; left &= left - 1) {
        const u32 i = lowest_bit(left);
        const T sum = static_cast<T>(times(static_cast<double>(f.in_all.times_at(i)), value));
        stage_one<T>(values, block_elements * me() + i, bits_of(sum));
    }
    if (f.in_some.times != nullptr) {  // the quanta are needed once more
        block_place p;
        i64 d[32];
        u32 a = 0, b = 0;
        CCOLL_NO_UNROLL
        for (u32 i = 0; i < 32; ++i) d[i] = 0;
        if (!h.is_flat()) {
            p = find_block<T, true>(words + h.in_front, h, blocks, room);
            if (me() < blocks) get_block<T>(words + h.in_front + h.codes + p.before, p, d, a, b);
        }
        u64 sum = 0;
        CCOLL_NO_UNROLL
        for (u32 i = 0; i < 32; ++i) sum += static_cast<u64>(d[i]);
        u64 q = team_exclusive(sum, room.sums).before + h.base;
        CCOLL_NO_UNROLL
        for (u32 i = 0; i < 32; ++i) {
            q += static_cast<u64>(d[i]);
            if ((f.in_some.at.mask & ~(a | b)) >> i & 1) {  // beside NaN and infinities it does not count
                const double of_numbers = times(static_cast<double>(static_cast<i64>(q)), step);
                const double times = static_cast<double>(f.in_some.times_at(i));
                stage_one<T>(values, block_elements * me() + i, bits_of(static_cast<T>(__fma_rn(times, value, of_numbers))));
            }
        }
    }
    __syncthreads();
    return true;
}

/// The differences of p x + q y, where x or y has the fill value. By all threads. A number takes the place of a bridge.
/// @param dx, dy  differences, those of x times p and of y times q    @param base_x, base_y  likewise    @param d  gets those of the sum
/// @param last    room for a quantum of each block    @return  false: two different fill values, or more times than can be counted
template <class T>
CCOLL_DEVICE_RARE bool combine_fills(const i64 (&dx)[32], i64 p, u64 base_x, const fill_places<T>& fx, const i64 (&dy)[32], i64 q,
                                     u64 base_y, const fill_places<T>& fy, u32 count, i64 (&d)[32], i64* last, warp_words<u64>& room,
                                     specials_room& s)
{
    bool good = !(fx.any && fy.any && fx.value != fy.value);
    const u32 here = fx.mask() | fy.mask(), whole = whole_mask(count);
    u64 sum_x = 0, sum_y = 0;
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32; ++i) {
        sum_x += static_cast<u64>(dx[i]);
        sum_y += static_cast<u64>(dy[i]);
    }
    u64 at_x = team_exclusive(sum_x, room).before + base_x, at_y = team_exclusive(sum_y, room).before + base_y;
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32; ++i) {
        at_x += static_cast<u64>(dx[i]);
        at_y += static_cast<u64>(dy[i]);
        u64 quantum = at_x + at_y;
        if ((here >> i & 1) != 0) {
            const bool bridge_x = fx.in_all.has(i), bridge_y = fy.in_all.has(i);
            if (bridge_x != bridge_y) quantum = bridge_x ? at_y : at_x;
            const i64 times = p * fx.times_at(i) + q * fy.times_at(i);
            good = good && times == static_cast<std::int16_t>(times);
        }
        d[i] = static_cast<i64>(quantum);
    }
    last[me()] = d[31];  // every block but the last one is whole
    __syncthreads();
    i64 before = static_cast<i64>(me() == 0 ? base_x + base_y : static_cast<u64>(last[me() - 1]));
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32; ++i) {
        const i64 quantum = d[i];
        d[i] = (whole >> i & 1) != 0 ? minus(quantum, before) : 0;
        before = quantum;
    }
    return !team_any(!good, s.words);
}

/// Puts the fill value itself in the places of a decoded sum where every addend had it, `times` times in all: the average of fill values.
/// Launch: max(1, chunks) blocks of team_threads threads, sizeof(specials_room) bytes.
/// @param frame  a sum of n values at a multiple of 16 bytes, which has been decoded    @param x  its n values
template <class E>
__global__ __launch_bounds__(team_threads) void put_average_of_fills(const u8* frame, u64 bytes, u64 n, E* x, u32 chunks, i64 times)
{
    using T = number_of_element<E>;
    auto& room = shared_memory<specials_room>();
    const frame_reader<E> reader{frame, bytes};
    const u32 chunk = blockIdx.x;
    if (chunks == 0 || reader.check_header(n, chunks) != status::ok || reader.flags() != addend_flag) return;
    const u64 first = u64{chunk} * chunk_elements;
    const u32 count = static_cast<u32>(smaller(n - first, u64{chunk_elements}));
    const chunk_bytes from = find_chunk(reader, chunks, chunk, count);
    if (!from.good) return;
    const u32* const words = reinterpret_cast<const u32*>(from.at);
    const chunk_head h = read_head<T, true>(words, from.bytes, (count + 31) / 32, count);
    fill_places<T> f;
    if (!h.good || h.section == 0 || !read_fills<T>(from.at + 4 * h.words, 4 * h.section, count, f, room)) return;
    CCOLL_NO_UNROLL
    for (u32 left = f.in_all.at.mask; left != 0; left &= left - 1) {
        const u32 i = lowest_bit(left);
        if (f.in_all.times_at(i) == times) put_element(x + first + block_elements * me() + i, f.value, rounding::of_sums);
    }
}

}  // namespace ccoll::detail::device::szp
