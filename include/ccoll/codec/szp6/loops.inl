// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp6/loops.inl - floor 2. The loops over the groups of a chunk: one text, compiled once for each instruction set.
//
// The namespace that includes this file has these primitives on the 32 values of a block:
//   quanta, running                            registers, or arrays; the last quantum
//   quantise(x, z, q)                          rint(x i) in T; a value from z.usual on becomes hold_out, or anything that differs from its
//                                              neighbours by 2^15 or more
//   quantise_in_double(x, z, q)                rint(x i) in double; the same from z.narrow on
//   quantise_each(x, z, q)                     in double from z.usual on, else in T
//   store(q, to), load(from, q)                32 numbers
//   difference(from, q)                        from[i] - from[i - 1]
//   subtract(from, q), add_to(from, q)         q[i] -= from[i], q[i] += from[i]; from: numbers, or quanta
//   put_planes(q, out) -> width                may write `slack` bytes
//   put_all_planes(q, out)                     all 32
//   get_planes(in, width, q)                   width 1..32
//   start(r, base), last(r)
//   restore(in, width, r, q)                   running sums on top of r, width 0..32
//   restore(in, width, r, step, to)            the same, as values: q step in T
//   dequantise(q, step, to)
//   add_blocks(a, wa, b, wb, out) -> width
//   fill(x, n, value, how)                     n equal values
//   streams, lines_of<T>                       is there a line writer (codec/lines), and which one
// and lanes, the bytes of a register.
// Kernels trust what they are given: chunk_view has checked it, `slack` bytes can be read behind a chunk, and written behind the room of
// one.

/// Registers that compilers make for the set.
typedef i32 vector_of_i32 __attribute__((vector_size(lanes), aligned(4), may_alias));
template <class T>
struct vector_of;
template <>
struct vector_of<float> {
    typedef i32 type __attribute__((vector_size(lanes), aligned(4), may_alias));
};
template <>
struct vector_of<double> {
    typedef i64 type __attribute__((vector_size(lanes), aligned(8), may_alias));
};

/// Are all values the same bits, or all below `small`? One pass of integer operations.
/// @param n  a multiple of 128
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline bool is_flat(const T* x, std::size_t n, T small) noexcept
{
    using vector = typename vector_of<T>::type;
    using word = typename fields_of<T>::signed_word;
    constexpr std::size_t count = lanes / sizeof(T), step = 256 / sizeof(T);
    const word first = std::bit_cast<word>(x[0]), least = std::bit_cast<word>(small), magnitude = std::numeric_limits<word>::max();
    vector differ = {}, large = {};
    const auto any = [](const vector& v) CCOLL_TARGET {
        word all = 0;
        for (std::size_t k = 0; k < count; ++k) all |= v[k];
        return all != 0;
    };
    for (std::size_t i = 0; i < n; i += step) {
        read_ahead(x + i, step * sizeof(T));
        for (std::size_t k = 0; k < step; k += count) {
            const vector v = *reinterpret_cast<const vector*>(x + i + k);
            differ |= v ^ first;
            large |= (v & magnitude) >= least;
        }
        if (i % (4 * step) == 0 && any(differ) && any(large)) return false;
    }
    return !any(differ) || !any(large);
}

/// Can all values of a group have one quantum? Four of the first 256 say so of most groups that are not flat.
template <class T>
CCOLL_INLINE bool may_be_flat(const T* x, T small) noexcept
{
    const auto word = [](T v) CCOLL_TARGET { return fields_of<T>::of(v); };
    const auto larger = [](T a, T b) CCOLL_TARGET { return std::max(fields_of<T>::magnitude(a), fields_of<T>::magnitude(b)); };
    return (word(x[31]) == word(x[0]) && word(x[63]) == word(x[0]) && word(x[255]) == word(x[0])) ||
           std::max(larger(x[0], x[31]), larger(x[63], x[255])) < fields_of<T>::of(small);
}

/// The largest |q| of n quanta, a multiple of 32.
CCOLL_TARGET inline u32 largest_of(const i32* q, std::size_t n) noexcept
{
    constexpr std::size_t count = lanes / sizeof(i32);
    vector_of_i32 high = {}, low = {};
    for (std::size_t i = 0; i < n; i += count) {
        const vector_of_i32 v = *reinterpret_cast<const vector_of_i32*>(q + i);
        high = v > high ? v : high;
        low = v < low ? v : low;
    }
    u32 most = 0;
    for (std::size_t k = 0; k < count; ++k)
        most = std::max({most, static_cast<u32>(high[k]), u32{0} - static_cast<u32>(low[k])});
    return most;
}

/// Bits of the largest |x|; of an infinity or more if there are NaN or infinities.
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline typename fields_of<T>::word largest_magnitude(const T* x, std::size_t n) noexcept
{
    typename fields_of<T>::signed_word most = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto w = fields_of<T>::signed_magnitude(x[i]);
        most = w > most ? w : most;
    }
    return static_cast<typename fields_of<T>::word>(most);
}

/// How many values, at least, are 0 at the beginning: a multiple of 256.
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline std::size_t leading_zeros(const T* x, std::size_t n) noexcept
{
    constexpr std::size_t step = 256;
    std::size_t i = 0;
    for (; i + step <= n; i += step) {
        read_ahead(x + i, step * sizeof(T));
        vector_of_i32 any = {};
        for (std::size_t k = 0; k < step * sizeof(T) / lanes; ++k) any |= reinterpret_cast<const vector_of_i32*>(x + i)[k];
        i32 one = 0;
        for (std::size_t k = 0; k < lanes / sizeof(i32); ++k) one |= any[k];
        if (one != 0) break;  // -0 is not asked for
    }
    return i;
}

/// The largest power of two above `least` of which all values are multiples (grid.hpp); 0 if there is none. Most data say so at once.
/// @param zero  so many values are 0 at the beginning
template <class T>
[[gnu::noinline]] CCOLL_TARGET inline double find_lattice(const T* x, std::size_t n, std::size_t zero, double least) noexcept
{
    CCOLL_EXACT_BODY
    bit_range all;
    T inverse = 0;
    for (std::size_t i = zero; i < n; i += block_elements) {
        const std::size_t count = std::min(block_elements, n - i);
        // A multiple of the power so far, or 0 as long as there is none?
        unsigned others = 0;
        if (inverse == T(0)) {
            typename fields_of<T>::word any = 0;
            for (std::size_t k = 0; k < count; ++k) any |= fields_of<T>::magnitude(x[i + k]);
            others = any != 0;
        } else {
            for (std::size_t k = 0; k < count; ++k) {
                const T t = x[i + k] * inverse;
                others |= !((t + portable::rounder<T>)-portable::rounder<T> == t);
            }
        }
        if (others == 0) continue;
        for (std::size_t k = 0; k < count; ++k) all.add(x[i + k]);
        if (all.top == 0) continue;
        const double step = all.template lattice<T>(least);
        if (step == 0) return 0;
        inverse = static_cast<T>(1 / step);
    }
    for (std::size_t i = 0; i < n; ++i) all.top = std::max(all.top, static_cast<int>(fields_of<T>::magnitude(x[i]) >> fields_of<T>::mantissa_bits));
    return all.top == 0 ? 0 : all.template lattice<T>(least);
}

template <class T>
CCOLL_INLINE void quantise_block(const T* x, const grid<T>& z, rounding how, i32* to) noexcept
{
    quanta q;
    if (how == rounding::fast) quantise(x, z, q);
    else if (how == rounding::mixed) quantise_each(x, z, q);
    else quantise_in_double(x, z, q);
    store(q, to);
}
/// The quanta of a group, the last block filled up with its last value.
template <class T>
CCOLL_INLINE void quantise_group(const T* x, std::size_t n, const grid<T>& z, rounding how, i32* to) noexcept
{
    CCOLL_EXACT_BODY
    const std::size_t whole = n / block_elements * block_elements;
    const auto all = [&](rounding r) CCOLL_TARGET __attribute__((always_inline)) {
        for (std::size_t i = 0; i < whole; i += block_elements) quantise_block(x + i, z, r, to + i);
    };
    if (how == rounding::fast) all(rounding::fast);
    else if (how == rounding::mixed) all(rounding::mixed);
    else all(rounding::in_double);
    if (whole == n) [[likely]]
        return;
    T tail[block_elements];
    for (std::size_t i = 0; i < block_elements; ++i) std::memcpy(tail + i, x + std::min(whole + i, n - 1), sizeof(T));
    quantise_block(tail, z, how, to + whole);
}

#include <ccoll/codec/szp6/lists.inl>

/// Packs the differences of a group.
/// @param lists        may there be lists?
/// @param differences  (offset, quanta&)
template <class Differences>
CCOLL_INLINE void pack_group(writer& to, std::size_t blocks, i32 base, bool lists, unsigned& highest,
                             const Differences& differences) noexcept
{
    group_widths w;
    u8* p = to.planes;
    unsigned lowest = widest_wide;
    highest = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
        fetch_ahead(p, 1);
        quanta d;
        differences(block_elements * b, d);
        const unsigned width = put_planes(d, p);
        w.of[b] = static_cast<u8>(width);
        lowest = std::min(lowest, width);
        highest = std::max(highest, width);
        p += 4 * width;
    }
    if (lists && highest <= widest_beside && highest > 0)
        if (u8* const end = put_lists(to.planes, blocks, w); end != nullptr) {
            to.close_lists(end, w, blocks, base);
            return;
        }
    to.close(p, w, blocks, lowest, highest, base);
}

/// Packs a chunk whose values are predicted from their left neighbour, or (!left) not at all.
/// @param x      n values, 1..chunk_elements
/// @param lists  may there be lists? (movement)
/// @param zero   so many values are 0 at the beginning
/// @param chunk  most_bytes() and `slack` bytes
/// @return       held: false if a value has no quantum of this kind: in movement |x| from z.usual on, else from z.narrow on
template <class T>
CCOLL_TARGET inline packed encode(const T* x, std::size_t n, const grid<T>& grid_of_chunk, bool left, bool lists, rounding usual,
                                  rounding unusual, std::size_t zero, u8* chunk) noexcept
{
    CCOLL_EXACT_BODY
    const grid<T> z = grid_of_chunk;
    const T small = static_cast<T>(0.4999 * z.step);
    alignas(64) i32 space[16 + group_elements];
    i32* const q = space + 16;
    packed all;
    all.flat = true;
    writer to(chunk, n, false);
    i32 first = 0;
    rounding how = usual;
    for (std::size_t g = 0; g < to.groups; ++g) {
        const T* const from = x + group_elements * g;
        const std::size_t count = length_of(n, g), blocks = blocks_of(count);
        if (left && group_elements * (g + 1) <= zero) [[unlikely]] {
            to.close_flat(0);
            continue;
        }
        if (left && count == group_elements && may_be_flat(from, small)) [[unlikely]] {
            const i64 q0 = fields_of<T>::magnitude(from[0]) < z.narrow ? z.quantum(from[0]) : i64{1} << narrow_exponent;
            if (q0 < quantum_limit<T>(unusual) && -q0 < quantum_limit<T>(unusual) && is_flat(from, count, small)) {
                const i32 base = static_cast<i32>(q0);
                to.close_flat(base);
                all.largest = std::max<u64>(all.largest, magnitude(base));
                if (g == 0) first = base;
                all.flat = all.flat && base == first;
                continue;
            }
        }
        for (;;) {
            quantise_group(from, count, z, how, q);
            const i32 base = left ? q[0] : 0;
            q[-1] = base;
            unsigned highest = 0;
            u32 most = magnitude(base);
            const writer before = to;
            if (left) {
                pack_group(to, blocks, base, lists, highest, [&](std::size_t i, quanta& d) CCOLL_TARGET __attribute__((always_inline)) {
                    fetch<2>(from + i, 8192 + group_elements * sizeof(T), block_elements * sizeof(T));
                    fetch(from + i, group_elements * sizeof(T), block_elements * sizeof(T));
                    difference(q + i, d);
                    most = std::max(most, magnitude(q[i + block_elements - 1]));
                });
                most = most + above_last(highest) < most ? u32{1} << 31 : most + above_last(highest);
            } else {
                pack_group(to, blocks, base, lists, highest, [&](std::size_t i, quanta& d) CCOLL_TARGET __attribute__((always_inline)) {
                    fetch<2>(from + i, 8192 + group_elements * sizeof(T), block_elements * sizeof(T));
                    fetch(from + i, group_elements * sizeof(T), block_elements * sizeof(T));
                    load(q + i, d);
                });
                most = highest > 0 ? u32{1} << (highest - 1) : 0;
            }
            if (most >= quantum_limit<T>(how)) [[unlikely]] {
                // An upper bound only: look. A value below the limit may have been rounded up to it.
                most = largest_of(q, block_elements * blocks);
                if (most < quantum_limit<T>(how) ||
                    (most == quantum_limit<T>(how) && largest_magnitude(from, count) < (how == rounding::fast ? z.usual : z.narrow))) {
                } else if (how != unusual) {
                    to = before;
                    how = unusual;
                    continue;
                } else {
                    all.held = false;
                    return all;
                }
            }
            all.largest = std::max<u64>(all.largest, most);
            if (g == 0) first = base;
            all.flat = all.flat && highest == 0 && (left ? base == first : true);
            how = usual != unusual && most < quantum_limit<T>(usual) ? usual : how;
            break;
        }
    }
    all.end = to.planes;
    return all;
}

/// The same with rows, and planes.
template <class T>
CCOLL_TARGET inline packed encode_above(const T* x, std::size_t n, const grid<T>& grid_of_chunk, distances above, bool lists, rounding how,
                                        u8* chunk) noexcept
{
    CCOLL_EXACT_BODY
    const grid<T> z = grid_of_chunk;
    chunk_quanta room;
    i32* const first = room.first(above);
    packed all;
    writer to(chunk, n, false);
    i32 front = 0;
    for (std::size_t g = 0; g < to.groups; ++g) {
        const T* const from = x + group_elements * g;
        const std::size_t count = length_of(n, g), blocks = blocks_of(count);
        i32* const q = first + group_elements * g;
        quantise_group(from, count, z, how, q);
        if (g == 0) {
            front = q[0];
            for (std::size_t i = 0; i < above.reach() + 1; ++i) q[-1 - static_cast<std::ptrdiff_t>(i)] = front;
        }
        const u32 most = largest_of(q, block_elements * blocks);
        if (most >= quantum_limit<T>(how)) {
            all.held = false;
            return all;
        }
        all.largest = std::max<u64>(all.largest, most);
        const i32 *const row = q - above.row, *const plane = q - above.plane, *const both = q - above.reach();
        // The base stands for the residual before the group. In the first group it stands for the quanta before the chunk.
        const i32 before = q[-1] - row[-1] - (above.plane != 0 ? plane[-1] - both[-1] : 0);
        unsigned highest = 0;
        const auto pack = [&](auto with_planes) CCOLL_TARGET __attribute__((always_inline)) {
            pack_group(to, blocks, g == 0 ? front : before, lists, highest, [&](std::size_t i, quanta& d) CCOLL_TARGET __attribute__((always_inline)) {
                fetch<2>(from + i, 8192 + group_elements * sizeof(T), block_elements * sizeof(T));
                fetch(from + i, group_elements * sizeof(T), block_elements * sizeof(T));
                difference(q + i, d);
                quanta e;
                difference(row + i, e);
                subtract(e, d);
                if constexpr (with_planes.value) {
                    difference(plane + i, e);
                    subtract(e, d);
                    difference(both + i, e);
                    add_to(e, d);
                }
            });
        };
        if (above.plane != 0) pack(std::true_type{});
        else pack(std::false_type{});
        (void)highest;
    }
    all.end = to.planes;
    return all;
}

/// Blocks `from` to `until` - 1 of a group to values.
template <bool Left, class T, class To>
CCOLL_INLINE void restore_blocks(const group_view& v, std::size_t from, std::size_t until, const u8*& planes, running& sum, T step,
                                 std::size_t ahead, To& to) noexcept
{
    const u8* p = planes;
    running r = sum;
    for (std::size_t b = from; b < until; ++b) {
        if constexpr (std::is_pointer_v<To>) fetch(to, ahead, sizeof(T) * block_elements);
        fetch_ahead(p, 1);
        const unsigned width = v.widths.of[b];
        if constexpr (Left) {
            restore(p, width, r, step, to);
        } else {
            quanta q;
            if (width > 0) get_planes(p, width, q);
            else load(zeros, q);
            dequantise(q, step, to);
        }
        p += 4 * width;
        if constexpr (std::is_pointer_v<To>) to += block_elements;
    }
    planes = p;
    sum = r;
}

/// The values of a group that is not flat.
template <bool Left, class T>
CCOLL_INLINE void restore_group(const group_view& v, std::size_t count, T step, T* to, stores how) noexcept
{
    const bool past = streams && how == stores::streamed;
    const std::size_t ahead = past ? 0 : fetch_distance;  // no prefetch of what is written past the caches
    const std::size_t whole = count / block_elements;
    running r;
    start(r, static_cast<i32>(v.base));
    const u8* p = v.planes;
    std::size_t b = 0;
    if constexpr (streams) {
        if (past && whole > 1) {
            restore_blocks<Left>(v, 0, 1, p, r, step, ahead, to);  // a line writer needs the bytes before its first register
            lines_of<T> lines(to);
            restore_blocks<Left>(v, 1, whole, p, r, step, ahead, lines);
            lines.finish();
            to += block_elements * (whole - 1);
            b = whole;
        }
    }
    restore_blocks<Left>(v, b, whole, p, r, step, ahead, to);
    if (whole == v.blocks) return;
    T tail[block_elements], *at = tail;
    restore_blocks<Left>(v, whole, v.blocks, p, r, step, 0, at);
    std::memcpy(to, tail, (count - block_elements * whole) * sizeof(T));
}

template <class T>
CCOLL_INLINE void restore_group(bool left, group_view& v, std::size_t count, T step, T* to, stores how) noexcept
{
    if (!v.lists) [[likely]] {
        if (left) restore_group<true>(v, count, step, to, how);
        else restore_group<false>(v, count, step, to, how);
        return;
    }
    group_planes planes;
    get_lists(v, planes);
    if (left) restore_group<true>(v, count, step, to, how);
    else restore_group<false>(v, count, step, to, how);
}

/// Values of a narrow chunk without distances: q step in T.
template <class T>
CCOLL_TARGET inline status decode(const chunk_view& view, T step, T* x, stores how) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t g = 0; g < view.groups; ++g) {
        group_view v;
        if (!view.open(g, v)) return status::corrupt;
        T* const to = x + group_elements * g;
        const std::size_t count = length_of(view.n, g);
        if (v.flat) fill(to, count, view.head.left ? static_cast<T>(static_cast<i32>(v.base)) * step : T(0), how);
        else restore_group(view.head.left, v, count, step, to, how);
    }
    return status::ok;
}

/// The quanta of a narrow chunk, whatever it is predicted from, block by block.
/// @param first  where the quanta of the chunk go, whole blocks; they are looked at again. In front of them is room for reach() + 1
/// @param each   (number of the first value of the block, quanta&)
template <class Each>
CCOLL_INLINE status for_each_block(const chunk_view& view, i32* first, const Each& each) noexcept
{
    const distances above = view.head.above;
    const bool left = view.head.left, by_blocks = above.row >= block_elements && (above.plane == 0 || above.plane >= block_elements);
    for (std::size_t g = 0; g < view.groups; ++g) {
        group_view v;
        if (!view.open(g, v)) return status::corrupt;
        const auto base = static_cast<i32>(v.base);
        if (g == 0)
            for (std::size_t i = 0; i < above.reach() + 1; ++i) first[-1 - static_cast<std::ptrdiff_t>(i)] = base;
        group_planes planes;
        if (v.lists && !v.flat) [[unlikely]]
            get_lists(v, planes);
        running r;
        start(r, g == 0 && !above.none() ? 0 : base);
        const u8* p = v.planes;
        for (std::size_t b = 0; b < v.blocks; ++b) {
            const std::size_t at = group_elements * g + block_elements * b;
            i32* const q = first + at;
            const unsigned width = v.flat ? 0 : v.widths.of[b];
            fetch_ahead(p, 1);
            quanta d;
            if (left) restore(p, width, r, d);
            else if (width > 0) get_planes(p, width, d);
            else load(zeros, d);
            p += 4 * width;
            if (by_blocks) [[likely]] {
                add_to(q - above.row, d);
                if (above.plane != 0) {
                    add_to(q - above.plane, d);
                    subtract(q - above.reach(), d);
                }
                store(d, q);
            } else {
                store(d, q);
                if (!above.none()) {
                    for (std::size_t i = 0; i < block_elements; ++i) {
                        u32 sum = static_cast<u32>(q[i]) + static_cast<u32>(q[i - above.row]);
                        if (above.plane != 0) sum += static_cast<u32>(q[i - above.plane]) - static_cast<u32>(q[i - above.reach()]);
                        q[i] = static_cast<i32>(sum);
                    }
                    load(q, d);
                }
            }
            each(at, d);
        }
    }
    return status::ok;
}

/// Values of a narrow chunk with distances: q step in T.
template <class T>
CCOLL_TARGET inline status decode_above(const chunk_view& view, T step, T* x, stores) noexcept
{
    CCOLL_EXACT_BODY
    chunk_quanta room;
    return for_each_block(view, room.first(view.head.above), [&](std::size_t at, quanta& q) CCOLL_TARGET __attribute__((always_inline)) {
        T* to = x + at;
        fetch(to, fetch_distance, sizeof(T) * block_elements);
        if (view.n - at >= block_elements) [[likely]] {
            dequantise(q, step, to);
            return;
        }
        T tail[block_elements], *in = tail;
        dequantise(q, step, in);
        std::memcpy(to, tail, (view.n - at) * sizeof(T));
    });
}

/// The quanta of a narrow chunk as 64-bit integers. @param to  whole blocks
CCOLL_TARGET inline status read_narrow(const chunk_view& view, i64* to) noexcept
{
    chunk_quanta room;
    i32* const first = room.first(view.head.above);
    return for_each_block(view, first, [&](std::size_t at, quanta&) CCOLL_TARGET __attribute__((always_inline)) {
        for (std::size_t i = at; i < at + block_elements; ++i) to[i] = first[i];
    });
}

/// The sum of two chunks that are predicted alike, of which neither is flat.
/// @param wide  else no quantum of the sum has more than 31 bits, and both are narrow
/// @return      end: null if one of them is corrupt
CCOLL_TARGET inline packed add(const chunk_view& a, const chunk_view& b, bool wide, u8* chunk) noexcept
{
    packed all;
    writer to(chunk, a.n, wide);
    for (std::size_t g = 0; g < a.groups; ++g) {
        group_view x, y;
        if (!a.open(g, x) || !b.open(g, y) || x.lists || y.lists) return {};
        const i64 base = static_cast<i64>(static_cast<u64>(x.base) + static_cast<u64>(y.base));
        if (wide) put(chunk + bases_at(to.groups) + 8 * g, base);
        const i32 narrow_base = wide ? 0 : static_cast<i32>(base);
        if (x.flat && y.flat) {
            to.close_flat(narrow_base);
            continue;
        }
        group_widths w;
        u8* p = to.planes;
        unsigned lowest = widest_wide, highest = 0;
        if (x.flat || y.flat) {
            const group_view& other = x.flat ? y : x;
            w = other.widths;
            std::size_t words = 0;
            for (std::size_t k = 0; k < other.blocks; ++k) {
                words += w.of[k];
                lowest = std::min<unsigned>(lowest, w.of[k]);
                highest = std::max<unsigned>(highest, w.of[k]);
            }
            std::memcpy(p, other.planes, 4 * words);
            to.close(p + 4 * words, w, other.blocks, lowest, highest, narrow_base);
            continue;
        }
        const u8 *pa = x.planes, *pb = y.planes;
        for (std::size_t k = 0; k < x.blocks; ++k) {
            fetch_ahead(pa, 1);  // a sixth faster in memory
            fetch_ahead(pb, 1);
            fetch_ahead(p, 1);
            const unsigned wa = x.widths.of[k], wb = y.widths.of[k];
            const unsigned width = wide ? portable::add_planes(pa, wa, pb, wb, widest_wide, p) : add_blocks(pa, wa, pb, wb, p);
            w.of[k] = static_cast<u8>(width);
            lowest = std::min(lowest, width);
            highest = std::max(highest, width);
            pa += 4 * wa;
            pb += 4 * wb;
            p += 4 * width;
        }
        to.close(p, w, x.blocks, lowest, highest, narrow_base);
    }
    all.end = to.planes;
    return all;
}
