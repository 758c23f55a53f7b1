// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp/slow_sum.cuh - floor 4. Addends of SZp: what an operand is, sums plane by plane, and chunks that are not usual, because they
// have quanta of more than 30 bits, NaN, infinities, or fill values. Those are added here by all threads of a block, in functions that are
// not inlined, so that the registers of the usual path are not spent on them.
#pragma once

#include <ccoll/cuda/szp/choice.cuh>
#include <ccoll/cuda/szp/fills.cuh>
#include <ccoll/cuda/szp/repredict.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp {

/// What a launch makes an addend of.
enum class addend_of : u32 {
    values,    ///< of values, plus an addend if there is one
    frames,    ///< the sum of two addends
    multiples  ///< the sum of two addends, each with a factor
};

/// What an addend is made of: values, a frame, or nothing.
template <class E>
struct operand {
    const E* values = nullptr;
    frame_reader<E> frame{nullptr, 0};
    i64 factor = 1;
};

/// What belongs to all of an operand's chunk.
struct addend_head {
    u64 base = 0, largest = 0;
    const u32* section = nullptr;  ///< of fill values
    u32 section_words = 0;         ///< without its length
    u32 escaped = 0;               ///< blocks with classes
    bool is_narrow = true;
    bool is_flat = false;
    u32 above = 0;  ///< the distances of its rows and planes; 0: it has none

    /// Can its differences be added to those over these distances?
    CCOLL_DEVICE bool is_over(u32 other) const { return above == other || is_flat; }
    CCOLL_DEVICE bool is_usual() const { return is_narrow && section_words == 0 && escaped == 0 && largest < narrow_limit; }
};

template <class T>
struct addend_room {
    static constexpr u32 image_words = 4 + chunk_blocks / 4 + chunk_blocks * widest_narrow;
    static constexpr u32 room_bytes = sizeof(T) == 8 ? chunk_elements * 8 : (4 * image_words + 15) / 16 * 16;
    alignas(16) u8 values[room_bytes];  // own values, staged; then the words of the sum
    layout_room layout;
    blocks_room blocks[2];
    specials_room specials;
    warp_words<u64> wide;
    warp_words<word_of<T>> most;
    addend_head heads[2];    // of the operands, behind a barrier
    i64 last[chunk_blocks];  // a quantum of each block
    u32 has_last[chunk_blocks];
    u64 place;
    u32 code, blocks_done;
};

/// This thread's block of an operand's chunk.
struct addend_block {
    const u32* at = nullptr;  ///< in the frame: classes, then planes
    u32 width = 0;
    bool has_class = false;

    CCOLL_DEVICE const u32* planes() const { return at + (has_class ? 2 : 0); }
    CCOLL_DEVICE u32 class_plane(u32 which) const { return has_class ? at[which] : 0; }
};

/// Reads where the blocks of a chunk are in the frame of an addend. By all threads; they see the head behind the next barrier.
/// @return a status
template <class E>
CCOLL_DEVICE status read_addend(const frame_reader<E>& r, u32 chunks, u32 chunk, u32 count, addend_head& head, addend_block& block,
                                blocks_room& s)
{
    const u32 blocks = (count + 31) / 32;
    const chunk_bytes from = find_chunk(r, chunks, chunk, count);
    if (!from.good) return status::corrupt;
    const u32* const words = reinterpret_cast<const u32*>(from.at);
    const chunk_head h = read_head<number_of_element<E>, true>(words, from.bytes, blocks, count);
    if (!h.good) return status::corrupt;
    if (me() == 0) head = {h.base, h.largest, words + h.words, h.section, h.escaped, h.is_narrow(), h.is_flat(), h.above};
    if (h.is_flat()) return status::ok;
    const block_place p = find_block<number_of_element<E>, true>(words + h.in_front, h, blocks, s);
    block = {words + h.in_front + h.codes + p.before, p.width, p.has_class};
    return p.good ? status::ok : status::corrupt;
}

/// Bit-sliced ripple-carry addition of two blocks in two's complement, 8 planes at a time.
struct plane_adder {
    u32 carry = 0, sum = 0, last_a = 0, last_b = 0;
    u32 top = 0;  ///< the last plane that differs from the one below it

    /// Adds planes first .. first + 7. @param take  (k, plane first + k of the sum)
    template <class Take>
    CCOLL_DEVICE void add(const u32* a, u32 width_a, const u32* b, u32 width_b, u32 first, Take take)
    {
        u32 x[8], y[8];
        CCOLL_UNROLL
        for (u32 k = 0; k < 8; ++k) {  // all loads are under way before the first is looked at
            x[k] = y[k] = 0;
            if (first + k < width_a) x[k] = a[first + k];
            if (first + k < width_b) y[k] = b[first + k];
        }
        CCOLL_UNROLL
        for (u32 k = 0; k < 8; ++k) {  // the sign goes on behind the last plane
            if (first + k >= width_a) x[k] = last_a;
            if (first + k >= width_b) y[k] = last_b;
            last_a = x[k];
            last_b = y[k];
            const u32 differ = x[k] ^ y[k], below = sum;
            sum = differ ^ carry;
            carry = (x[k] & y[k]) | (carry & differ);
            if (first + k > 0 && sum != below) top = first + k;
            take(k, sum);
        }
    }
    /// Of the sum. An operand without planes leaves the other one as it is.
    CCOLL_DEVICE u32 width(u32 width_a, u32 width_b) const
    {
        if (width_a == 0 || width_b == 0) return larger(width_a, width_b);
        return top > 0 ? top + 1 : sum != 0;
    }
};
/// All planes of a sum. @param most  that there are, 32 or 64    @param take  (k, plane k)    @return the width
template <class Take>
CCOLL_DEVICE u32 add_planes(const addend_block& x, const addend_block& y, u32 most, Take take)
{
    const u32 planes = smaller(larger(x.width, y.width) + 1, most);
    const u32 *const of_x = x.planes(), *const of_y = y.planes();
    plane_adder adder;
    CCOLL_NO_UNROLL
    for (u32 first = 0; first < planes; first += 8)
        adder.add(of_x, x.width, of_y, y.width, first, [&](u32 k, u32 sum) { take(first + k, sum); });
    return adder.width(x.width, y.width);
}

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

/// 64-bit differences of own values, their classes and their fill values. Fills in base, largest and is_narrow. By all threads.
/// @param x  the chunk in device memory; it is staged as well    @return  too_large if a value cannot be added
template <class E, class T>
CCOLL_DEVICE_RARE status classify(const E* x, u32 count, const grid<T>& z, addend_head& c, i64 (&d)[32], u32& a, u32& b, fill_values<T>& f,
                                  addend_room<T>& s)
{
    using fields = fields_of<T>;
    const u32 blocks = (count + 31) / 32;
    const bool active = me() < blocks;
    const double farthest = times(0x1p52, static_cast<double>(z.step));
    bool fits = true, is_quantum = true, any = false;
    CCOLL_NO_UNROLL
    for (u32 i = 0; active && i < 32; ++i) {
        const T v = staged<T>(s.values, block_elements * me() + i);
        is_quantum = is_quantum && (magnitude(v) >= fields::exponent || fabs(static_cast<double>(v)) < farthest);
    }
    if (team_any(!is_quantum, s.specials.words))
        if (const status code = take_out_fills(x, count, farthest, s.values, f, s.specials); code != status::ok) return code;
    word_of<T> most = 0;  // of a block that has no class
    u64 of_class = 0, exact = 0;
    i64 last = 0;
    CCOLL_NO_UNROLL
    for (u32 i = 0; active && i < 32; ++i) {
        const T v = staged<T>(s.values, block_elements * me() + i);
        const auto w = magnitude(v);
        most = larger(most, w);
        if (w >= fields::exponent) {
            const bool nan = w > fields::exponent, negative = (bits_of(v) & fields::sign) != 0;
            a |= u32{nan || !negative} << i;
            b |= u32{nan || negative} << i;
            d[i] = 0;
            continue;
        }
        fits = fits && w < z.narrow;
        d[i] = addend_quantum(v, z);
        last = d[i];
        any = true;
        exact = larger(exact, static_cast<u64>(d[i] < 0 ? -d[i] : d[i]));
    }
    if ((a | b) != 0) {
        of_class = exact;
        most = 0;
    }
    c.is_narrow = !team_any(!fits, s.specials.words);
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
    CCOLL_NO_UNROLL
    for (u32 i = 0; i < 32; ++i) {
        const i64 q = active && ((a | b) >> i & 1) == 0 ? d[i] : before;
        d[i] = minus(q, before);
        before = q;
    }
    return status::ok;
}

/// Are these sections of addends that have one and the same fill value, in the same places, and each of them all over equally often? By all
/// threads.
template <class T>
CCOLL_DEVICE_RARE bool are_alike(const addend_head& x, const addend_head& y, u32 count, warp_words<u32>& room)
{
    constexpr u32 of_value = sizeof(T) / 4;
    const u32 words = x.section_words;
    if (words != y.section_words || words < of_value + 2) return false;
    const u32 head = x.section[of_value];
    layer_parts l;
    for (u32 f = mask_form; f <= throughout_form; ++f) l.of[f] = head >> 9 * (f - 1) & 511;
    l.dense = (head >> 27 & 1) != 0;
    l.place((count + 31) / 32);
    if (head >> 28 != 0 || 4 * of_value + l.values + 4 != 4 * words) return false;  // one layer in all
    bool differ = false;
    for (u32 i = me(); i + 1 < words; i += team_threads) differ = differ || x.section[i] != y.section[i];
    return !team_any(differ, room);
}

/// A chunk that is not usual, before it is written.
template <class T>
struct slow_sum {
    addend_head x, y;
    addend_block of_x, of_y;
    i64 p = 1, q = 1;    ///< what they are multiplied by
    bool is_sum = true;  ///< of two; else it is an addend of own values
    status code = status::ok;
    bool in_planes = false;  ///< the sum is that of the planes of x and y; else it is in d
    bool alike = false;      ///< both have one section, and how often is the sum of two numbers
    bool is_narrow = true;
    u32 kind = flat, above = 0;
    u32 body = 0, words = 0;  ///< of the chunk without its section, and with it
    u64 base = 0, largest = 0;
    u32 a = 0, b = 0;   ///< class planes
    u32 taken_out = 0;  ///< own values that are fill values, in the chunk
    i64 alike_times = 0;
    fill_values<T> fx, fy;
    chunk_layout l;
    i64 d[32];

    /// Writes the section of the sum, or, without a place, tells its size. By all threads. @return words
    CCOLL_DEVICE u32 put_fill_section(u32 count, u32* to, specials_room& s) const
    {
        if (alike) {
            const u32 words_of_one = x.section_words;
            if (to == nullptr) return words_of_one + 1;
            for (u32 i = me(); i + 1 < words_of_one; i += team_threads) to[i] = x.section[i];
            if (me() == 0) {
                to[words_of_one - 1] = static_cast<u16>(alike_times);
                to[words_of_one] = words_of_one;
            }
            return words_of_one + 1;
        }
        const u32 in_all = is_sum ? fx.in_all() & fy.in_all() : fx.in_all();
        return put_fills<T>(fx, p, fy, q, in_all, count, reinterpret_cast<u8*>(to), s);
    }
};

/// The differences of a block, and its classes as a factor turns them; 0 leaves them out. @param d  gets 32 differences
template <class T>
CCOLL_DEVICE_RARE void get_for_factor(const addend_block& c, i64 factor, i64 (&d)[32], u32& a, u32& b)
{
    const u32 positive = factor > 0 ? 0 : 1;
    if (factor != 0) {
        a |= c.class_plane(positive);
        b |= c.class_plane(1 - positive);
    }
    get_differences(c.planes(), factor != 0 ? c.width : 0, d);
}

/// base and largest of a sum. @return false if it cannot be held
template <addend_of What, class T>
CCOLL_DEVICE bool sum_heads(slow_sum<T>& r)
{
    const u64 p = static_cast<u64>(r.p < 0 ? -r.p : r.p), q = static_cast<u64>(r.q < 0 ? -r.q : r.q);
    r.base = r.x.base * static_cast<u64>(r.p) + r.y.base * static_cast<u64>(r.q);
    r.largest = r.x.largest * p + r.y.largest * q;
    if (What == addend_of::multiples) {
        const double of_x = times(static_cast<double>(r.x.largest), static_cast<double>(p));
        const double of_y = times(static_cast<double>(r.y.largest), static_cast<double>(q));
        if (!(plus(of_x, of_y) < times(0.99, static_cast<double>(wide_limit)))) return false;
    } else if (larger(r.x.largest, r.y.largest) >= wide_limit || r.largest >= wide_limit) {
        return false;
    }
    r.is_narrow = r.x.is_narrow && r.y.is_narrow && r.largest < narrow_limit;
    if (r.is_narrow && r.is_sum && r.largest < limit_of_rows_of_addends)
        r.above = larger(r.p != 0 ? r.x.above : 0, r.q != 0 ? r.y.above : 0);
    if (!r.is_narrow) r.largest = larger(r.largest, narrow_limit);
    return true;
}

/// The differences of a sum that is not made plane by plane. By all threads.
template <class T, addend_of What>
CCOLL_DEVICE_RARE void add_differences(u32 count, slow_sum<T>& r, addend_room<T>& s)
{
    const bool has_fills = !r.alike && (r.x.section_words > 0 || r.y.section_words > 0 || r.fx.count > 0);
    const u32 above = has_fills ? 0 : r.above;  // bridges are dropped from quanta, not from differences
    const auto repredicted = [&](i64(&d)[32], const addend_head& c, u32 from, u32 to) {
        repredict(d, static_cast<u32>(c.base), from, to, count, reinterpret_cast<u32*>(s.values), s.blocks[0].quanta);
    };
    const auto get_operand = [&](const addend_head& c, const addend_block& block, i64 factor, i64(&d)[32]) {
        get_for_factor<T>(block, factor, d, r.a, r.b);
        if (factor != 0 && !c.is_over(above)) repredicted(d, c, c.above, above);
        CCOLL_NO_UNROLL
        for (u32 i = 0; i < 32 && factor != 1; ++i) d[i] = static_cast<i64>(static_cast<u64>(d[i]) * static_cast<u64>(factor));
    };
    if (What != addend_of::values) get_operand(r.x, r.of_x, r.p, r.d);
    if (!r.is_sum) return;
    if (What == addend_of::values && above != 0) repredicted(r.d, r.x, 0, above);
    i64 theirs[32];
    get_operand(r.y, r.of_y, r.q, theirs);
    if (!has_fills) {
        CCOLL_NO_UNROLL
        for (u32 i = 0; i < 32; ++i) r.d[i] = static_cast<i64>(static_cast<u64>(r.d[i]) + static_cast<u64>(theirs[i]));
        return;
    }
    const auto read = [&](const addend_head& c, fill_values<T>& f) {
        return read_fills<T>(reinterpret_cast<const u8*>(c.section), 4 * c.section_words, count, f, s.specials);
    };
    if ((What != addend_of::values && r.p != 0 && !read(r.x, r.fx)) || (r.q != 0 && !read(r.y, r.fy))) {
        r.code = status::corrupt;
        return;
    }
    if (!fills_fit(r.fx, r.p, r.fy, r.q, count, s.specials)) {
        r.code = status::too_large;
        return;
    }
    combine_fills(r.d, r.x.base * static_cast<u64>(r.p), r.fx.in_all(), theirs, r.y.base * static_cast<u64>(r.q), r.fy.in_all(), count, r.d,
                  s.last, s.wide);
    if (r.above == 0) return;
    if (team_any(width_of(r.d) > widest_narrow, s.specials.words)) r.code = status::corrupt;  // an operand lies about its `largest`
    else repredict(r.d, static_cast<u32>(r.base), 0, r.above, count, reinterpret_cast<u32*>(s.values), s.blocks[0].quanta);
}

/// Adds a chunk that is not usual. By all threads, behind a barrier.
/// @param own   the chunk of own values in device memory; it is staged as well
/// @param r     both operands, p, q and is_sum are there; own values are not an operand yet
template <addend_of What, class E, class T>
CCOLL_DEVICE_RARE void add_slowly(const E* own, u32 count, const grid<T>& z, slow_sum<T>& r, addend_room<T>& s)
{
    const u32 blocks = (count + 31) / 32;
    const bool active = me() < blocks;
    u32 width = 0;
    if (What == addend_of::values) {
        CCOLL_NO_UNROLL
        for (u32 i = 0; i < 32; ++i) r.d[i] = 0;
        r.code = classify(own, count, z, r.x, r.d, r.a, r.b, r.fx, s);
        if (r.code != status::ok) return;
        if (r.fx.count > 0) r.taken_out = team_sum(ones_of(r.fx.in_all()), s.specials.words);
    }
    if (!sum_heads<What>(r)) {
        r.code = status::too_large;
        return;
    }
    if (What == addend_of::frames) {
        const bool has_fills = r.x.section_words > 0 || r.y.section_words > 0;
        r.alike = has_fills && are_alike<T>(r.x, r.y, count, s.specials.words);
        r.in_planes = (r.alike || !has_fills) && r.x.is_over(r.above) && r.y.is_over(r.above);
    }
    if (r.in_planes) {
        r.a = r.of_x.class_plane(0) | r.of_y.class_plane(0);
        r.b = r.of_x.class_plane(1) | r.of_y.class_plane(1);
        width = add_planes(r.of_x, r.of_y, r.is_narrow ? 32 : 64, [](u32, u32) {});
    } else {
        add_differences<T, What>(count, r, s);
        width = width_of(r.d);
    }
    if (r.alike) {
        const auto times_of = [](const addend_head& c) { return static_cast<std::int16_t>(c.section[c.section_words - 1] & 0xffff); };
        r.alike_times = i64{times_of(r.x)} + times_of(r.y);
        if (r.alike_times != static_cast<std::int16_t>(r.alike_times)) r.code = status::too_large;
    }
    if (r.code != status::ok) return;
    r.l = lay_out<true>(blocks, active ? width : 0, active && (r.a | r.b) != 0, r.above != 0, [] { return 0u; }, s.layout);
    r.kind = r.above != 0 ? rows : r.l.flat ? (r.is_narrow ? flat : wide_flat) : r.is_narrow ? narrow : wide;
    r.body = head_words<T>(r.kind) + r.l.body_words();
    r.words = r.body + r.put_fill_section(count, nullptr, s.specials);
}
/// Writes it. By all threads, behind a barrier.
template <class T>
CCOLL_DEVICE_RARE void put_slowly(const slow_sum<T>& r, u32 count, addend_room<T>& s, u32* to)
{
    const u32 blocks = (count + 31) / 32;
    u32* const planes =
        put_front<T>(r.l, r.kind, r.l.flat ? 0 : r.l.escaped, r.words > r.body, r.base, r.largest, r.a, r.b, blocks, s.layout, to);
    if (r.kind == rows && me() == 0) to[3] = r.above;
    if (!r.l.flat) {
        const u32 width = r.l.code >= class_code ? r.l.code - class_code : r.l.code;
        const auto put = [=](u32 k, u32 plane) {
            if (k < width) planes[k] = plane;
        };
        if (r.in_planes) add_planes(r.of_x, r.of_y, r.is_narrow ? 32 : 64, put);
        else put_planes(r.d, width, planes);
    }
    r.put_fill_section(count, to + r.body, s.specials);
}

}  // namespace ccoll::detail::device::szp
