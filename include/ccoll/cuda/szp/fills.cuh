// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/fills.cuh - floor 4. Fill values in addends of SZp: where they are, how many times each has been added, and sums with them. By
// all threads of a block, each for its own 32 values. codec/szp/missing.hpp has the bytes and says what they mean.
#pragma once

#include <ccoll/codec/szp/missing.hpp>
#include <ccoll/cuda/szp/read.cuh>
#include <ccoll/cuda/szp/specials.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

inline constexpr u32 marked_layer = detail::specials::marked_layer, another_follows = host::missing::another_follows;
inline constexpr u32 most_fills = static_cast<u32>(host::missing::most_fills);
inline constexpr u32 most_fills_per_place = static_cast<u32>(host::missing::most_fills_per_place);
static_assert(host::missing::times_added(-1) < 0 && sizeof(host::missing::times_added) == 2);

/// A layer of a section: the places of this thread's block, and how many times the fill value has been added there. Without initialisers,
/// as a fill value is, because a chunk seldom has any.
struct fill_layer {
    u32 mask;
    u32 before;       ///< places of the blocks before this one, if each has a number of its own
    bool own;         ///< it has
    const u8* times;  ///< null: once everywhere

    CCOLL_DEVICE bool has(u32 i) const { return (mask >> i & 1) != 0; }
    /// @param i  a place that is in the mask
    CCOLL_DEVICE i64 times_at(u32 i) const
    {
        const u32 place = own ? before + ones_of(mask & ((1u << i) - 1)) : 0;
        return times == nullptr ? 1 : static_cast<std::int16_t>(load_as<u16>(times + 2 * place));
    }
};
/// One fill value of a chunk, and where this thread's block has it.
template <class T>
struct fill_value {
    word_of<T> bits;
    fill_layer in_all;   ///< every addend had a fill value, this or another one
    fill_layer in_some;  ///< others had a number

    CCOLL_DEVICE u32 mask() const { return in_all.mask | in_some.mask; }
    /// 0 where it is not.
    CCOLL_DEVICE i64 times_at(u32 i) const { return in_all.has(i) ? in_all.times_at(i) : in_some.has(i) ? in_some.times_at(i) : 0; }
};
/// The fill values of a chunk, in ascending order of their bits.
template <class T>
struct fill_values {
    u32 count = 0;  ///< the same for all threads, and so are the bits
    fill_value<T> of[most_fills];

    CCOLL_DEVICE u32 in_all() const
    {
        u32 mask = 0;
        CCOLL_NO_UNROLL
        for (u32 v = 0; v < count; ++v) mask |= of[v].in_all.mask;
        return mask;
    }
    CCOLL_DEVICE u32 in_some() const
    {
        u32 mask = 0;
        CCOLL_NO_UNROLL
        for (u32 v = 0; v < count; ++v) mask |= of[v].in_some.mask;
        return mask;
    }
    /// What the fill values of a place and `of_numbers` add up to. -0 leaves the first product as it is.
    CCOLL_DEVICE double sum_at(u32 i, double of_numbers) const
    {
        double sum = of_numbers;
        CCOLL_NO_UNROLL
        for (u32 v = 0; v < count; ++v)
            if ((of[v].mask() >> i & 1) != 0)
                sum = __fma_rn(static_cast<double>(of[v].times_at(i)), static_cast<double>(number_of(of[v].bits)), sum);
        return sum;
    }
};
/// The fill values of p x + q y, one after another, in ascending order. In memory and not inlined, because a function needs registers
/// beside those of its callers, and takes them from all kernels that call the same functions.
template <class T>
struct fills_of_sum {
    const fill_values<T>*x, *y;
    i64 p, q;
    u32 i = 0, j = 0;     ///< how many of those of x and y have been taken
    word_of<T> bits;      ///< of the present one
    u32 mask;             ///< its places in this thread's block
    u16 times[32];        ///< how many times it has been added there
    bool can_be_counted;  ///< these are the numbers, and not their lowest bits
    bool another_follows;

    CCOLL_DEVICE fills_of_sum(const fill_values<T>& of_x, i64 factor_x, const fill_values<T>& of_y, i64 factor_y)
        : x(&of_x), y(&of_y), p(factor_x), q(factor_y)
    {}
    /// @return false: there are no more
    CCOLL_DEVICE_RARE bool next()
    {
        if (i == x->count && j == y->count) return false;
        const bool in_x = i < x->count && (j == y->count || x->of[i].bits <= y->of[j].bits);
        const bool in_y = j < y->count && (i == x->count || y->of[j].bits <= x->of[i].bits);
        const fill_value<T>*const of_x = in_x ? &x->of[i] : nullptr, *const of_y = in_y ? &y->of[j] : nullptr;
        i += u32{in_x};
        j += u32{in_y};
        another_follows = i < x->count || j < y->count;
        bits = in_x ? of_x->bits : of_y->bits;
        mask = (in_x ? of_x->mask() : 0) | (in_y ? of_y->mask() : 0);
        can_be_counted = true;
        CCOLL_NO_UNROLL
        for (u32 left = mask; left != 0; left &= left - 1) {
            const u32 k = lowest_bit(left);
            const i64 t = (in_x ? p * of_x->times_at(k) : 0) + (in_y ? q * of_y->times_at(k) : 0);
            times[k] = static_cast<u16>(t);
            can_be_counted = can_be_counted && t == static_cast<std::int16_t>(t);
        }
        return true;
    }
};

/// Any bytes are safe. By all threads.
/// @param from  `bytes` bytes, a multiple of 4; none: there is no section    @return  false if this is no section of so many values
template <class T>
CCOLL_DEVICE_RARE bool read_fills(const u8* from, u32 bytes, u32 count, fill_values<T>& f, specials_room& s)
{
    using fields = fields_of<T>;
    u32 pairs = 0, in_all = 0, in_some = 0;
    while (bytes > 0) {
        if (bytes < sizeof(T) || f.count == most_fills) return false;
        fill_value<T>& v = f.of[f.count];
        v = fill_value<T>{};
        v.bits = get_value<word_of<T>>(from);
        const word_of<T> size = v.bits & ~fields::sign;
        if (size >= fields::exponent || size < fields::exponent_one || (f.count > 0 && v.bits <= f.of[f.count - 1].bits)) return false;
        ++f.count;
        from += sizeof(T);
        bytes -= static_cast<u32>(sizeof(T));
        bool another = false, any = false, last = false;
        while (!any || (bytes > 0 && !another)) {
            const layer_block b = read_layer(from, bytes, count, marked_layer | another_follows, s);
            const u32 of_layer = (b.bytes + 2 * (b.own ? b.values : 1) + 3) / 4 * 4;
            pairs += b.values;
            const bool marked = (b.flags & marked_layer) != 0;
            if (b.values == 0 || of_layer > bytes || (!marked && any) || last || pairs > most_fills_per_place * count) return false;
            (marked ? in_some : in_all) |= b.mask;
            (marked ? v.in_some : v.in_all) = {b.mask, b.before, b.own, from + b.bytes};
            if (team_any((in_all & in_some) != 0, s.words)) return false;
            any = true;
            last = marked;
            another = (b.flags & another_follows) != 0;
            from += of_layer;
            bytes -= of_layer;
        }
        if (another && bytes == 0) return false;
    }
    return true;
}

/// Can p x + q y be held? Not with too many fill values, or too many in the same places, or more times than can be counted. By all threads.
template <class T>
CCOLL_DEVICE_RARE bool fills_fit(const fill_values<T>& x, i64 p, const fill_values<T>& y, i64 q, u32 count, specials_room& s)
{
    fills_of_sum<T> sum(x, p, y, q);
    u32 values = 0, pairs = 0;
    bool good = true;
    while (sum.next()) {
        ++values;
        pairs += ones_of(sum.mask);
        good = good && sum.can_be_counted;
    }
    const u32 all_pairs = team_sum(pairs, s.words);
    return !team_any(!good, s.words) && values <= most_fills && all_pairs <= most_fills_per_place * count;
}

/// The section of p x + q y, which can be held, as it is being written.
template <class T>
struct section_of_sum {
    fills_of_sum<T> sum;
    u32 in_all, count;  ///< the places where every addend had a fill value; values of the chunk
    u8* to;             ///< null: only the size is asked for
    u32 words = 0;

    CCOLL_DEVICE u8* at() const { return to != nullptr ? to + 4 * words : nullptr; }
    /// Writes the present fill value and its layers. By all threads.
    CCOLL_DEVICE_RARE void put(specials_room& s)
    {
        if (to != nullptr && me() == 0) put_value(at(), sum.bits);
        words += static_cast<u32>(sizeof(T)) / 4;
        const bool some_are_mixed = team_any((sum.mask & ~in_all) != 0, s.words);
        CCOLL_NO_UNROLL
        for (u32 marked = 0; marked < 2; ++marked) {
            const u32 mask = sum.mask & (marked != 0 ? ~in_all : in_all);
            u32 most = 0, least = 0;  // of times + 2^15, and of ~(times + 2^15): 0 where there are none
            CCOLL_NO_UNROLL
            for (u32 left = mask; left != 0; left &= left - 1) {
                const u32 t = sum.times[lowest_bit(left)] ^ 0x8000u;
                most = larger(most, t + 1);
                least = larger(least, 0x10000 - t);
            }
            most = team_max(most, s.words);
            if (most == 0) continue;
            least = team_max(least, s.words);
            const bool equal = most - 1 == 0x10000 - least, is_last = (marked != 0) == some_are_mixed;
            const u32 flags = (marked != 0 ? marked_layer : 0) | (is_last && sum.another_follows ? another_follows : 0);
            const u16* const times = sum.times;
            words += put_layer<u16>([=](u32 i) { return times[i]; }, count, mask, !equal, static_cast<u16>((most - 1) ^ 0x8000u), flags,
                                    at(), s);
        }
    }
};
/// Writes the section of p x + q y, which can be held, and its length behind a chunk. By all threads.
/// @param in_all  the places where every addend had a fill value
/// @param to      null: only the size is asked for    @return words, that of the length too; 0: there are no fill values
template <class T>
CCOLL_DEVICE_RARE u32 put_fills(const fill_values<T>& x, i64 p, const fill_values<T>& y, i64 q, u32 in_all, u32 count, u8* to,
                                specials_room& s)
{
    if (x.count == 0 && y.count == 0) return 0;
    section_of_sum<T> section{fills_of_sum<T>(x, p, y, q), in_all, count, to};
    while (section.sum.next()) section.put(s);
    if (section.to != nullptr && me() == 0) store_as<u32>(section.at(), section.words);
    return section.words + 1;
}

/// The values of a chunk that cannot be quanta are taken out of it: fill values, with NaN and infinities, which stay. By all threads; the
/// blocks of others are there behind the next barrier.
/// @param x       the chunk in device memory    @param values  the same, staged; gets bridges instead of fill values
/// @param farthest  a finite |x| from here on is no quantum    @return  too_large if there are too many fill values
template <class E, class T>
CCOLL_DEVICE_RARE status take_out_fills(const E* x, u32 count, double farthest, void* values, fill_values<T>& f, specials_room& s)
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
    u32 untried = beyond & ~not_finite;
    while (true) {
        const u32 first = team_min(untried != 0 ? block_elements * me() + lowest_bit(untried) : ~0u, s.words);
        if (first == ~0u) break;
        if (f.count == most_fills) return status::too_large;
        const word_of<T> bits = bits_at(x, first);
        const u32 same = places_of(x, bits, untried);
        untried &= ~same;
        u32 at = f.count++;
        CCOLL_NO_UNROLL
        for (; at > 0 && f.of[at - 1].bits > bits; --at) f.of[at] = f.of[at - 1];
        f.of[at] = fill_value<T>{};
        f.of[at].bits = bits;
        f.of[at].in_all.mask = same;
    }
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
    fill_values<T> f;
    if (!read_fills<T>(reinterpret_cast<const u8*>(words + h.words), 4 * h.section, count, f, s)) return false;
    const u32 in_all = f.in_all(), in_some = f.in_some();
    const auto put_sum = [&](u32 i, double of_numbers) {
        stage_one<T>(values, block_elements * me() + i, bits_of(static_cast<T>(f.sum_at(i, of_numbers))));
    };
    CCOLL_NO_UNROLL
    for (u32 left = in_all; left != 0; left &= left - 1) put_sum(lowest_bit(left), -0.0);
    if (team_any(in_some != 0, s.words)) {  // the quanta are needed once more
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
            if ((in_some & ~(a | b)) >> i & 1)  // beside NaN and infinities it does not count
                put_sum(i, times(static_cast<double>(static_cast<i64>(q)), step));
        }
    }
    __syncthreads();
    return true;
}

/// The differences of p x + q y, where x or y has fill values. By all threads. A number takes the place of a bridge.
/// @param dx, dy  differences, those of x times p and of y times q    @param base_x, base_y  likewise    @param d  gets those of the sum
/// @param all_x, all_y  the places where every addend had a fill value    @param last    room for a quantum of each block
CCOLL_DEVICE_RARE void combine_fills(const i64 (&dx)[32], u64 base_x, u32 all_x, const i64 (&dy)[32], u64 base_y, u32 all_y, u32 count,
                                     i64 (&d)[32], i64* last, warp_words<u64>& room)
{
    const u32 whole = whole_mask(count), bridge_x = all_x & ~all_y, bridge_y = all_y & ~all_x;
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
        d[i] = static_cast<i64>(((bridge_x >> i & 1) != 0 ? 0 : at_x) + ((bridge_y >> i & 1) != 0 ? 0 : at_y));
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
}

/// Puts fill values themselves in the places of a decoded sum that has one of them alone, `times` times, and no numbers: their averages.
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
    fill_values<T> f;
    if (!h.good || h.section == 0 || !read_fills<T>(from.at + 4 * h.words, 4 * h.section, count, f, room)) return;
    CCOLL_NO_UNROLL
    for (u32 v = 0; v < f.count; ++v)
        for (u32 left = f.of[v].in_all.mask; left != 0; left &= left - 1) {
            const u32 i = lowest_bit(left);
            if (f.of[v].in_all.times_at(i) == times) put_element(x + first + block_elements * me() + i, f.of[v].bits, rounding::of_sums);
        }
}

}  // namespace ccoll::detail::device::szp
