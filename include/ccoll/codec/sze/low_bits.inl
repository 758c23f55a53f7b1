// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze/low_bits.inl - floor 2. Residuals from and to tokens and the bits below. Included as loops.inl is.

/// The low bits of the residuals.
CCOLL_TARGET inline void put_low_bits(const i32* d, const u8* t, std::size_t n, bit_writer& to) noexcept
{
    for (std::size_t g = 0; g < n; g += lanes) {
        u64 eight;
        std::memcpy(&eight, t + g, sizeof eight);
        if ((eight & 0xf0f0f0f0f0f0f0f0u) == 0) continue;
        for (std::size_t i = g; i < g + lanes; ++i) {
            const token_value v = token_values[t[i]];
            to.put((folded(d[i]) - v.least) & ((u32{1} << v.low_bits) - 1), v.low_bits);
        }
    }
}

/// Residuals of tokens and low bits. @return false: the bits are not `bits` in number. Reads up to 8 bytes behind the last of them.
CCOLL_TARGET inline bool get_residuals(const u8* t, std::size_t n, const u8* from, std::size_t at, std::size_t bytes, i32* d) noexcept
{
    const std::size_t bits = 8 * bytes;
    for (std::size_t g = 0; g < n; g += lanes) {
        u64 eight;
        std::memcpy(&eight, t + g, sizeof eight);
        if ((eight & 0xf0f0f0f0f0f0f0f0u) == 0) {
            for (std::size_t i = g; i < g + lanes; ++i) d[i] = unfolded(t[i]);
            continue;
        }
        for (std::size_t i = g; i < g + lanes; ++i) {
            const token_value v = token_values[t[i]];
            if (at > bits) return false;
            const u64 next = get<u64>(from + at / 8) >> at % 8;
            d[i] = unfolded(v.least + (static_cast<u32>(next) & ((u32{1} << v.low_bits) - 1)));
            at += v.low_bits;
        }
    }
    return (at + 7) / 8 == bytes;
}
