// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/wide.inl - floor 2. Quanta of 64 bits, where 31 do not do: sums that have outgrown them, f64 at
// bounds below 1e-9 of its range. One text, compiled once for each set; plain loops, which compilers
// vectorise. Uses the primitives of szp/loops.inl and
//   CCOLL_FMA_TARGET   CCOLL_TARGET, with FMA if the set implies that
#if !defined(CCOLL_FMA_TARGET)
#define CCOLL_FMA_TARGET CCOLL_TARGET
#endif

/// The nearest quanta of 32 values.
template <class T>
CCOLL_FMA_TARGET inline void quantise_wide_block(const T* x, const grid<T>& z, i64* to) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    const double step = z.step, inverse = z.inverse;
    const auto narrow = static_cast<typename fields::signed_word>(z.narrow),
               usual = static_cast<typename fields::signed_word>(z.usual);
    const T inverse_in_t = z.inverse_in_t;
    double q[block_elements];
    for (std::size_t i = 0; i < block_elements; ++i) {
        const double v = static_cast<double>(x[i]), rounded = __builtin_nearbyint(v * inverse);
        const double rest = __builtin_nearbyint(__builtin_fma(-rounded, step, v) * inverse);
        // Selected by bits: comparisons of floats could trap, which keeps compilers from vectorising.
        const i64 corrected = -static_cast<i64>(fields::signed_magnitude(x[i]) >= narrow);
        q[i] = rounded + std::bit_cast<double>(std::bit_cast<i64>(rest) & corrected);
    }
    if constexpr (is_f32<T>)
        for (std::size_t i = 0; i < block_elements; ++i) {
            const double in_t = static_cast<double>(__builtin_nearbyintf(x[i] * inverse_in_t));
            q[i] = fields::signed_magnitude(x[i]) < usual ? in_t : q[i];
        }
    // Whole numbers below 2^62 as integers: near 1.5 2^52, bits count them. Not by floor, which g++ 12 does
    // not vectorise.
    constexpr double origin = 0x1.8p52;
    for (std::size_t i = 0; i < block_elements; ++i) {
        const double high = __builtin_nearbyint(q[i] * 0x1p-32), low = q[i] - high * 0x1p32;
        const u64 upper = std::bit_cast<u64>(high + origin) - std::bit_cast<u64>(origin);
        to[i] =
            static_cast<i64>((upper << 32) + (std::bit_cast<u64>(low + origin) - std::bit_cast<u64>(origin)));
    }
}
/// @param to  whole blocks
template <class T>
CCOLL_FMA_TARGET inline void quantise_wide(const T* x, std::size_t n, const grid<T>& z, i64* to) noexcept
{
    const std::size_t whole = n / block_elements * block_elements;
    for (std::size_t k = 0; k < whole; k += block_elements) quantise_wide_block(x + k, z, to + k);
    if (whole == n) return;
    T tail[block_elements] = {};
    std::memcpy(tail, x + whole, (n - whole) * sizeof(T));
    quantise_wide_block(tail, z, to + whole);
}

/// q step, a product in double that is rounded to T.
template <class T>
CCOLL_TARGET inline void dequantise_wide(const i64* q, std::size_t n, double step, T* x) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t i = 0; i < n; ++i) {
        // The nearest double of an integer: the upper half times 2^32 is exact, so that only the sum of both
        // is rounded.
        const u64 v = static_cast<u64>(q[i]);
        const double high = std::bit_cast<double>((v >> 32) ^ 0x4530000080000000u),
                     low = std::bit_cast<double>((v & 0xffffffffu) | 0x4330000000000000u);
        x[i] = static_cast<T>(((high - (0x1p84 + 0x1p63 + 0x1p52)) + low) * step);
    }
}

/// Planes of 32 differences. @return the width, 0..64
CCOLL_INLINE unsigned put_planes_wide(const i64* d, u8* out) noexcept
{
    i32 low[block_elements], high[block_elements], longer = 0;
    for (std::size_t i = 0; i < block_elements; ++i) {
        low[i] = static_cast<i32>(static_cast<u64>(d[i]));
        high[i] = static_cast<i32>(d[i] >> 32);
    }
    for (std::size_t i = 0; i < block_elements; ++i) longer |= high[i] ^ (low[i] >> 31);
    quanta v;
    load(low, v);
    if (longer == 0) return put_planes(v, out);
    put_all_planes(v, out);
    load(high, v);
    const unsigned more = put_planes(v, out + 4 * widest);
    if (more == 0) put(out + 4 * widest, u32{0});  // the sign
    return widest + std::max(more, 1u);
}
CCOLL_INLINE void get_planes_wide(const u8* in, unsigned width, i64* d) noexcept
{
    i32 low[block_elements], high[block_elements];
    quanta v;
    if (width > 0) get_planes(in, std::min(width, widest), v);
    else load(zeros, v);
    store(v, low);
    if (width <= widest) {
        for (std::size_t i = 0; i < block_elements; ++i) d[i] = low[i];
        return;
    }
    get_planes(in + 4 * widest, width - widest, v);
    store(v, high);
    for (std::size_t i = 0; i < block_elements; ++i)
        d[i] = static_cast<i64>(static_cast<u64>(static_cast<u32>(high[i])) << 32 | static_cast<u32>(low[i]));
}

/// The largest magnitude. Apart, because g++ 12 makes no vectors of this loop where it is inlined.
[[gnu::noinline]] CCOLL_TARGET inline u64 largest_of(const i64* q, std::size_t n) noexcept
{
    u64 largest = 0;
    for (std::size_t i = 0; i < n; ++i)
        largest = std::max(largest, q[i] < 0 ? u64{0} - static_cast<u64>(q[i]) : static_cast<u64>(q[i]));
    return largest;
}

template <bool Wide>
CCOLL_INLINE packed pack_groups(const quanta_source& from, std::size_t n, u8* chunk, u8* limit) noexcept
{
    packed all{.flat = true, .wide = Wide};
    alignas(64) u8 widths[group_blocks * chunk_groups];
    alignas(64) i64 q[group_elements];
    alignas(64) i32 narrow[16 + (Wide ? 0 : group_elements)];
    planes_of_group<Wide ? widest_wide : widest> spare;
    writer to(chunk, n, Wide, widths, limit, spare);
    for (std::size_t g = 0; g < to.groups; ++g) {
        const std::size_t count = length_of(n, g), whole = block_elements * blocks_of(count);
        from.group(from, g, q);
        for (std::size_t i = count; i < whole; ++i) q[i] = q[count - 1];
        if (g == 0) all.base = q[0];
        all.largest = std::max(all.largest, largest_of(q, count));
        for (std::size_t i = 0; !Wide && i < whole; ++i) narrow[16 + i] = static_cast<i32>(q[i]);
        if (Wide) put(chunk + bases_at(to.groups) + 8 * g, q[0]);
        else narrow[15] = narrow[16];
        const unsigned highest = pack_group<true>(
            to, blocks_of(count), Wide ? 0 : narrow[15],
            [&](std::size_t i, u8* p, unsigned expected) CCOLL_TARGET {
                if constexpr (!Wide) {
                    quanta v;
                    difference(narrow + 16 + i, v);
                    return put_planes(v, p, expected);
                } else {
                    i64 d[block_elements];
                    const i64* const block = q + i;
                    d[0] = i == 0
                               ? 0
                               : static_cast<i64>(static_cast<u64>(block[0]) - static_cast<u64>(block[-1]));
                    for (std::size_t k = 1; k < block_elements; ++k)
                        d[k] = static_cast<i64>(static_cast<u64>(block[k]) - static_cast<u64>(block[k - 1]));
                    return put_planes_wide(d, p);
                }
            });
        all.flat = all.flat && highest == 0 && q[0] == all.base;
    }
    all.end = to.finish();
    all.full = to.full;
    return all;
}
/// Packs quanta, predicted from their left neighbour.
/// @param wide   may they have 2^30 or more? Else none has
/// @param chunk  up to `limit`; null: most_bytes() of such a chunk and `slack` bytes
CCOLL_TARGET inline packed pack(const quanta_source& from, std::size_t n, bool wide, u8* chunk,
                                u8* limit) noexcept
{
    if (wide)
        if (const packed all = pack_groups<true>(from, n, chunk, limit);
            all.largest >= u64{1} << narrow_exponent)
            return all;
    return pack_groups<false>(from, n, chunk, limit);
}

/// The quanta of a group, or what is left of them when those above are subtracted.
/// @param base  that of the group, or 0
/// @param narrow  they are integers modulo 2^32
/// @param to  whole blocks
CCOLL_TARGET inline void read_group(const group_view& of, bool left, i64 base, bool narrow, i64* to) noexcept
{
    group_view v = of;
    group_planes planes;
    if (v.lists) [[unlikely]]
        get_lists(v, planes);
    u64 r = static_cast<u64>(base);
    const u8* p = v.planes;
    for (std::size_t b = 0; b < v.blocks; ++b, to += block_elements) {
        i64 d[block_elements];
        const unsigned width = v.flat ? 0 : v.widths[b];
        get_planes_wide(p, width, d);
        p += 4 * width;
        if (left)
            for (i64& one : d) one = static_cast<i64>(r += static_cast<u64>(one));
        if (narrow)
            for (i64& one : d) one = static_cast<i32>(static_cast<u32>(static_cast<u64>(one)));
        std::memcpy(to, d, sizeof d);
    }
}
#undef CCOLL_FMA_TARGET
