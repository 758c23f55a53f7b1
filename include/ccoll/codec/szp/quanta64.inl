// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/quanta64.inl - floor 2. Blocks of quanta of 64 bits without classes: f64 at bounds below 1e-9 of its range. One text, compiled
// once for each instruction set that has no better way. Uses the primitives of szp/loops.inl.

/// Quanta of 32 values and their planes.
/// @param before  the quantum before them; becomes their last one    @param largest  is raised to the largest |q|
/// @return        the width; no_width_64, and nothing changed, if a value is beyond the limit
CCOLL_TARGET inline unsigned encode_block_64(const double* x, const grid_64& grid, i64& before, u64& largest, u8* out) noexcept
{
    CCOLL_EXACT_BODY
    const grid_64 g = grid;
    double rounded[block_elements];
    i64 q[block_elements + 1];
    u64 beyond = 0;
    for (std::size_t i = 0; i < block_elements; ++i) rounded[i] = std::nearbyint(x[i] * g.inverse);
    for (std::size_t i = 0; i < block_elements; ++i) {
        const double rest = std::nearbyint(std::fma(-rounded[i], g.step, x[i]) * g.inverse), size = std::fabs(x[i]);
        beyond |= static_cast<u64>(!(size < g.limit));
        rounded[i] += size < g.direct ? 0.0 : rest;
    }
    if (beyond != 0) return no_width_64;
    q[0] = before;
    for (std::size_t i = 0; i < block_elements; ++i) q[i + 1] = static_cast<i64>(rounded[i]);
    i32 low[block_elements], high[block_elements];
    u64 other = 0, most = 0;
    for (std::size_t i = 0; i < block_elements; ++i) {
        const i64 d = q[i + 1] - q[i];
        low[i] = static_cast<i32>(static_cast<u64>(d));
        high[i] = static_cast<i32>(d >> 32);
        other |= static_cast<u64>(d) ^ static_cast<u64>(i64{low[i]});
        const u64 size = static_cast<u64>(q[i + 1] < 0 ? -q[i + 1] : q[i + 1]);
        most = size > most ? size : most;
    }
    before = q[block_elements];
    largest = most > largest ? most : largest;
    quanta values;
    differences d;
    const bool is_long = other != 0;
    load(is_long ? high : low, values);
    alone(values, d);
    if (!is_long) return put_planes(d, false, out);
    for (int k = 0; k < 32; k += 8) portable::put_8_planes(low, k, out + 4 * k);
    const unsigned more = put_planes(d, false, out + 4 * widest_narrow);
    if (more == 0) put(out + 4 * widest_narrow, u32{0});  // the sign
    return widest_narrow + (more > 0 ? more : 1);
}

/// Bytes that decode_block_64 may read.
inline constexpr std::size_t reach_64 = 4 * widest + 8;

/// 1 to 32 planes as 32 integers.
CCOLL_TARGET inline void get_integers(const u8* in, unsigned width, i64* v) noexcept
{
    CCOLL_EXACT_BODY
    differences planes;
    get_planes(in, width, planes);
    double d[block_elements], *to = d;
    dequantise(planes, 1.0, to);
    for (std::size_t i = 0; i < block_elements; ++i) v[i] = static_cast<i64>(d[i]);
}
/// @param width  0..64    @param base  the quantum before the block; becomes its last one
template <class T>
CCOLL_TARGET inline void decode_block_64(const u8* in, unsigned width, u64& base, double step, T* x) noexcept
{
    CCOLL_EXACT_BODY
    i64 d[block_elements] = {};
    if (width > 0) get_integers(in, width < widest_narrow ? width : widest_narrow, d);
    if (width > widest_narrow) {
        i64 high[block_elements];
        get_integers(in + 4 * widest_narrow, width - widest_narrow, high);
        for (std::size_t i = 0; i < block_elements; ++i)
            d[i] = static_cast<i64>(static_cast<u64>(high[i]) << 32 | (static_cast<u64>(d[i]) & 0xffffffffu));
    }
    u64 sums[block_elements], sum = base;
    for (std::size_t i = 0; i < block_elements; ++i) sums[i] = sum += static_cast<u64>(d[i]);
    base = sum;
    for (std::size_t i = 0; i < block_elements; ++i) x[i] = static_cast<T>(static_cast<double>(static_cast<i64>(sums[i])) * step);
}
