// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/loops.inl - floor 2. Loops of SZe that compilers vectorise: the same text for each instruction set. Included in a namespace of
// the set, between kernels_begin.inl and kernels_end.inl.

/// Differences of n values from the planes of a chunk of SZp, filled up with 0.
/// @param d  filled_up(n) of them
CCOLL_TARGET inline void get_differences(const szp::chunk_view& view, std::size_t n, i32* d) noexcept
{
    const u8 *from = view.blocks, *const end = view.blocks + view.blocks_bytes;
    for (std::size_t k = 0; k < view.count; ++k, d += szp::block_elements) {
        const unsigned width = view.codes.of[k];
        if (width == 0) std::memset(d, 0, sizeof(i32) * szp::block_elements);
        else planes_to_differences(from, width, end, d);
        from += 4 * width;
    }
    const std::size_t whole_blocks = szp::block_elements * view.count, filled = filled_up(n);
    std::memset(d + n - whole_blocks, 0, sizeof(i32) * (filled - n));
}

/// Value i less value i - w, for all i from w on.
CCOLL_TARGET inline void subtract_behind(i32* d, std::size_t n, std::size_t w) noexcept
{
    constexpr std::size_t step = loop_elements;
    std::size_t i = n;
    for (; i >= w + step; i -= step) {  // from the end, so that what is subtracted is still as it was
        i32 behind[step];
        i32* const a = d + i - step;
        for (std::size_t j = 0; j < step; ++j) behind[j] = a[static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(w)];
        for (std::size_t j = 0; j < step; ++j) a[j] = static_cast<i32>(static_cast<u32>(a[j]) - static_cast<u32>(behind[j]));
    }
    for (; i > w; --i) d[i - 1] = static_cast<i32>(static_cast<u32>(d[i - 1]) - static_cast<u32>(d[i - 1 - w]));
}
/// The reverse.
CCOLL_TARGET inline void add_behind(i32* d, std::size_t n, std::size_t w) noexcept
{
    constexpr std::size_t step = 8;
    std::size_t i = w;
    if (w >= step)
        for (; i + step <= n; i += step) {
            i32 sum[step];
            const i32 *const a = d + i, *const b = a - w;
            for (std::size_t j = 0; j < step; ++j) sum[j] = static_cast<i32>(static_cast<u32>(a[j]) + static_cast<u32>(b[j]));
            std::memcpy(d + i, sum, sizeof sum);
        }
    for (; i < n; ++i) d[i] = static_cast<i32>(static_cast<u32>(d[i]) + static_cast<u32>(d[i - w]));
}

/// Values from the residuals of `chunk`, whose other distances have been undone.
template <element T>
CCOLL_TARGET inline void restore(const i32* d, std::size_t n, bool is_alone, i32 base, T step, T* x) noexcept
{
    CCOLL_EXACT_BODY
    if (is_alone) {
        for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(d[i]) * step;
        return;
    }
    u32 q = static_cast<u32>(base);
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 8
#endif
    for (std::size_t i = 0; i < n; ++i) {
        q += static_cast<u32>(d[i]);
        x[i] = static_cast<T>(static_cast<i32>(q)) * step;
    }
}

/// Differences as bytes, on a scale on which most of them fit.
CCOLL_TARGET inline void to_bytes(const i32* d, std::size_t n, unsigned shift, u8* bytes) noexcept
{
    for (std::size_t i = 0; i < n; ++i) {
        const i32 v = d[i] >> shift;
        bytes[i] = static_cast<u8>((v < -127 ? -127 : v > 127 ? 127 : v) + 128);
    }
}
/// The distances at which differences repeat best, by two short probes.
CCOLL_TARGET inline void find_candidates(const u8* bytes, std::size_t n, candidates& best) noexcept
{
    const u8 *const a = bytes + n - probe_values, *const b = bytes + probe_start(n);
    u32 worst = ~u32{0};
    for (std::size_t w = least_row; w <= most_row(n); ++w) {
        const u32 sum = distance_of(a, b, w);
        if (sum < worst) worst = best.add(static_cast<u16>(w), sum);
    }
}

/// About 2^10 times the sum of log2(1 + |r|) over samples, where r is a residual of these distances; 0 stands for none.
CCOLL_TARGET inline u32 cost_of(const i32* d, std::size_t n, std::size_t v, std::size_t w) noexcept
{
    u32 cost = 0;
    for (std::size_t s = 0; s < samples; ++s) {
        const i32* const at = d + sample_start(n, s);
        for (std::size_t i = 0; i < sample_values; ++i) {
            const i32* const one = at + i;
            u32 r = static_cast<u32>(one[0]);
            if (w != 0) r -= static_cast<u32>(*(one - w));
            if (v != 0) r -= static_cast<u32>(*(one - v));
            if (v != 0 && w != 0) r += static_cast<u32>(*(one - v - w));
            const i32 m = static_cast<i32>(r) < 0 ? static_cast<i32>(~r) : static_cast<i32>(r);
            const float magnitude = static_cast<float>(m) + 1.0f;
            cost += (std::bit_cast<u32>(magnitude) - 0x3f800000u) >> 13;
        }
    }
    return cost;
}

/// Residuals to tokens.
/// @param n  a multiple of loop_elements
CCOLL_TARGET inline void to_tokens(const i32* d, std::size_t n, u8* t) noexcept
{
    constexpr std::size_t step = loop_elements;
    for (std::size_t at = 0; at < n; at += step) {
        u32 u[step], any = 0;
        for (std::size_t i = 0; i < step; ++i) {
            u[i] = folded(d[at + i]);
            any |= u[i];
        }
        if (any < direct)
            for (std::size_t i = 0; i < step; ++i) t[at + i] = static_cast<u8>(u[i]);
        else if (any < u32{1} << 24)  // exact as f32, whose exponent and upper mantissa bits are the token
            for (std::size_t i = 0; i < step; ++i) {
                const u32 code = (std::bit_cast<u32>(static_cast<float>(static_cast<i32>(u[i]))) >> 21) - (127 << 2);
                t[at + i] = static_cast<u8>(u[i] < direct ? u[i] : code);
            }
        else
            for (std::size_t i = 0; i < step; ++i) t[at + i] = static_cast<u8>(token_of(u[i]).code);
    }
}
CCOLL_TARGET inline void activities_of(const u8* t, std::size_t groups, u8* activity) noexcept
{
    for (std::size_t g = 0; g < groups; ++g) {
        u32 sum = 0;
        for (std::size_t j = 0; j < lanes; ++j) sum += t[lanes * g + j] < most_active ? t[lanes * g + j] : most_active;
        activity[g] = static_cast<u8>(sum);
    }
}
