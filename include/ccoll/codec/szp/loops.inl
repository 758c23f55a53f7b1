// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/loops.inl - floor 2. The loops over the blocks of a chunk of SZp: one text, compiled once for each instruction set.
//
// The namespace that includes this file has these primitives on 32 values, which a concept checks:
//   quanta, differences, running (the last quantum), magnitudes<T>         registers, or arrays
//   look_ahead<T>::quantise(x, n, k, block, z, q, m)    quanta on the common grid and largest |x| of block k
//   quantise_f64(block, inverse, q), load(i32[32], q)   quanta by a product in double; quanta as they are
//   replace_from(block, limit, with, q)                 quanta of the values with |x| >= limit
//   hold(q, mask, r) -> largest |q|                     quanta of the mask repeat the one before them
//   clear(m), merge, top, over                          maxima of |x| as integers: Inf and NaN are large
//   difference(q, r, d), alone(q, d)                    differences to the value before; moves r on. The quanta as they are
//   streams, lines_of<T>                                is there a line writer, and which one: the other destination of restore
//   put_planes(d, brief, out) -> width, brief: of 15 bits, restore(in, width, r, step, x), get_planes(in, width, d),
//   dequantise(d, step, x), add_blocks(a, wa, b, wb, out) -> width
// and by_mask, for szp/classes.inl.
// Kernels trust what they are given: read_chunk() has checked it, and `last` keeps them inside the destination.

#include <ccoll/codec/szp/classes.inl>

/// What the loops hold of a block.
struct block_in_registers {
    using byte = u8;
    quanta q;
    differences d;
    running r;
};

template <class T, class Block>
concept set_for = requires(Block& b, magnitudes<T>& m, const T* x, T* to, T step, i32* values, typename fields_of<T>::word limit,
                           const typename Block::byte* in, typename Block::byte* out, unsigned width, std::size_t n, const quantiser<T>& z,
                           look_ahead<T>& ahead) {
    start(b.r, *values);
    clear(m);
    merge(m, m);
    { top(m) } -> std::same_as<typename fields_of<T>::word>;
    { over(m, limit) } -> std::same_as<bool>;
    ahead.quantise(x, n, n, x, z, b.q, m);
    load(values, b.q);
    { hold(b.q, width, b.r) } -> std::same_as<u32>;
    difference(b.q, b.r, b.d);
    alone(b.q, b.d);
    { put_planes(b.d, streams, out) } -> std::same_as<unsigned>;
    get_planes(in, width, b.d);
    dequantise(b.d, step, to);
    restore(in, width, b.r, step, to);
    { add_blocks(in, width, in, width, out) } -> std::same_as<unsigned>;
};
template <class T, class Block>
concept set_for_f32 = set_for<T, Block> && requires(Block& b, const T* x, double inverse, u32 limit) {
    quantise_f64(x, inverse, b.q);
    replace_from(x, limit, b.q, b.q);
};
static_assert(set_for_f32<float, block_in_registers> && set_for<double, block_in_registers>,
              "ccoll: an instruction set of SZp must have every primitive that szp/loops.inl lists, for float and double");

/// How far a chunk is encoded.
template <class T>
struct encoding {
    std::size_t k = 0;  // the next block
    u8* p;              // where it goes
    running r;
    magnitudes<T> most;
    bool brief_before;
    encoded_blocks all;
};

/// Encodes blocks as long as they may begin: see encode_blocks(). It ends in front of a block that the grid does not hold, which
/// `at.all.code` tells.
template <class T>
CCOLL_TARGET inline void encode_while_room(const T* x, std::size_t n, const quantiser<T>& grid, beyond_safe rule, bool none_before,
                                           const u8* last, u8* codes, encoding<T>& at) noexcept
{
    CCOLL_EXACT_BODY
    const quantiser<T> z = grid;  // a compiler must assume that stores to `p` change the other one
    u8* p = at.p;
    running r = at.r;
    magnitudes<T> most = at.most;
    bool brief_before = at.brief_before;
    look_ahead<T> ahead;
    T tail[block_elements];
    u8 *code = codes + at.k, *const end = codes + blocks_of(n);
    for (; code != end && p <= last; ++code) {
        const auto k = static_cast<std::size_t>(code - codes);
        const T* block = x + block_elements * k;
        read_ahead(block, sizeof tail);  // a fifth faster on arrays in the last cache, twice as fast in memory
        fetch_ahead(p, 1);               // 3 %
        if (n - block_elements * k < block_elements) [[unlikely]] {
            const std::size_t count = n - block_elements * k;
            for (std::size_t i = 0; i < block_elements; ++i) std::memcpy(tail + i, block + std::min(i, count - 1), sizeof(T));
            block = tail;
        }
        quanta q;
        magnitudes<T> m;
        ahead.quantise(x, n, k, block, z, q, m);
        if constexpr (is_f32<T>)
            if (rule == beyond_safe::fine) quantise_f64(block, z.inverse_f64, q);
        unsigned escape = 0;
        const bool brief = !over(m, z.brief);
        if (!brief && over(m, z.safe)) [[unlikely]] {
            if (rule != beyond_safe::addend) {
                at.all.code = status::unsupported;
                break;
            }
            if constexpr (is_f32<T>) {
                quanta precise;
                quantise_f64(block, z.inverse_f64, precise);
                replace_from(block, z.safe, precise, q);  // value by value: sums must not depend on where blocks begin
            }
            if (over(m, z.narrow)) {
                const block_class c = class_of(block, z);
                if (!c.fits) {
                    at.all.code = status::unsupported;
                    break;
                }
                put(p, c.a);
                put(p + 4, c.b);
                p += 8;
                escape = class_code;
                ++at.all.escaped;
                at.all.largest = std::max(at.all.largest, hold(q, c.a | c.b, r));
                clear(m);
            }
        }
        merge(most, m);
        differences d;
        if (none_before) alone(q, d);
        else difference(q, r, d);
        const unsigned width = put_planes(d, brief && brief_before, p);
        brief_before = brief;
        *code = static_cast<u8>(width | escape);
        p += 4 * width;
    }
    at.k = static_cast<std::size_t>(code - codes);
    at.p = p;
    at.r = r;
    at.most = most;
    at.brief_before = brief_before;
}

/// @param step  of the frame, or of a fine chunk
template <class T>
CCOLL_TARGET inline void decode_blocks(const chunk_view& view, T step, T* x, std::size_t n, stores how) noexcept
{
    CCOLL_EXACT_BODY
    const bool past = streams && how == stores::streamed;
    const std::size_t ahead = past ? 0 : fetch_distance;  // no prefetch of what is written past the caches
    running r;
    start(r, static_cast<i32>(view.base));
    for (block_runs<T> runs(view, x, n); runs.next();) {
        const u8* const codes = runs.codes;
        const u8* p = runs.planes;
        T* to = runs.to;
        std::size_t k = 0;
        // A line writer needs the bytes before its first register. So it does not begin with the first block, nor in a later run, where
        // those bytes are on their way to memory.
        for (const std::size_t cached = past && to == x ? std::min<std::size_t>(runs.blocks, 1) : runs.blocks; k < cached; ++k) {
            fetch(to, ahead, sizeof(T) * block_elements);  // a tenth faster on arrays in the last cache, a half in memory
            fetch_ahead(p, 1);                             // a tenth faster if the frame is in no cache
            const unsigned width = width_behind_classes(p, codes[k]);
            restore(p, width, r, step, to);
            p += 4 * width;
            to += block_elements;
        }
        if constexpr (streams) {
            if (k < runs.blocks) {
                lines_of<T> lines(to);
                for (; k < runs.blocks; ++k) {
                    const unsigned width = width_behind_classes(p, codes[k]);
                    restore(p, width, r, step, lines);
                    p += 4 * width;
                }
                lines.finish();
            }
        }
        runs.planes = p;
    }
    if (view.escaped != 0) put_classes(view, x, n);
}

/// Sums of two chunks of equal length (portable: of any width; else narrow). `slack` bytes are writable behind the result's planes.
CCOLL_TARGET inline encoded_blocks add_chunk_blocks(const chunk_view& a, const chunk_view& b, u8* out, u8* codes) noexcept
{
    encoded_blocks all;
    block_source from_a(a), from_b(b);
    const u8 *pa = a.blocks, *pb = b.blocks;
    u8* p = out;
    std::size_t k = 0;
    const bool classes = a.escaped + b.escaped != 0;
    for (const std::size_t plain = classes ? 0 : std::min(block_source::plain_blocks(a), block_source::plain_blocks(b)); k < plain; ++k) {
        const unsigned wa = a.codes.of[k], wb = b.codes.of[k];
        for (const u8* const stream : {pa, pb, static_cast<const u8*>(p)}) fetch_ahead(stream, 1);  // a sixth faster in memory
        const unsigned width = add_blocks(pa, wa, pb, wb, p);
        pa += 4 * wa;
        pb += 4 * wb;
        p += 4 * width;
        codes[k] = static_cast<u8>(width);
    }
    for (; k < a.count; ++k) {
        unsigned wa = a.codes.of[k], wb = b.codes.of[k], escape = 0;
        pa = from_a.readable(pa);
        pb = from_b.readable(pb);
        if (((wa | wb) & class_code) != 0) [[unlikely]] {
            put(p, class_plane(pa, wa, 0) | class_plane(pb, wb, 0));
            put(p + 4, class_plane(pa, wa, 1) | class_plane(pb, wb, 1));
            skip_class(pa, wa);
            skip_class(pb, wb);
            p += 8;
            escape = class_code;
            ++all.escaped;
        }
        const unsigned width = add_blocks(pa, wa, pb, wb, p);
        pa += 4 * wa;
        pb += 4 * wb;
        p += 4 * width;
        codes[k] = static_cast<u8>(width | escape);
    }
    all.end = p;
    return all;
}
