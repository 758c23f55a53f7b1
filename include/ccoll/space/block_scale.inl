// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// space/block_scale.inl - floor 3. Passes over the elements of a block: one text, compiled once per
// instruction set. Compilers vectorise these loops. Plain x86-64 has no minimum of integers and registers of
// half the width, so AVX2 pays. Two-byte numbers become floats in pieces that stay in the nearest cache,
// because a loop that reads them, computes and writes them in place is not vectorised.

/// The largest finite magnitude of floats, as bits.
CCOLL_TARGET inline std::int32_t largest_of(const float* x, std::size_t n) noexcept
{
    std::int32_t most = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t magnitude = std::bit_cast<std::int32_t>(x[i]) & 0x7fffffff,
                           finite = magnitude < 0x7f800000 ? magnitude : 0;
        most = finite > most ? finite : most;
    }
    return most;
}
CCOLL_TARGET inline void multiply(const float* from, float* to, std::size_t n,
                                  block_scale::factors by) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i] * by.first * by.second;
}
template <small_float T>
CCOLL_TARGET void widen(const T* from, float* to, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t i = 0; i < n; ++i) {
        std::uint16_t bits;
        std::memcpy(&bits, from + i, sizeof bits);
        to[i] = float16_format<exponent_bits_of<T>>::to_float(bits);
    }
}
template <small_float T>
CCOLL_TARGET void narrow(const float* from, T* to, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint16_t bits = float16_format<exponent_bits_of<T>>::from_float(from[i]);
        std::memcpy(static_cast<void*>(to + i), &bits, sizeof bits);
    }
}

template <scaled_element T>
CCOLL_TARGET std::int32_t largest_magnitude(const T* x, std::size_t n) noexcept
{
    if constexpr (std::is_same_v<T, float>) return largest_of(x, n);
    else {
        std::int32_t most = 0;
        float piece[piece_elements];
        for (std::size_t begin = 0; begin < n; begin += piece_elements) {
            const std::size_t some = std::min(piece_elements, n - begin);
            widen(x + begin, piece, some);
            most = std::max(most, largest_of(piece, some));
        }
        return most;
    }
}

/// to[i] = from[i] times both factors. `to` may be `from`.
template <scaled_element T>
CCOLL_TARGET void times(const T* from, T* to, std::size_t n, block_scale::factors by) noexcept
{
    if constexpr (std::is_same_v<T, float>) multiply(from, to, n, by);
    else {
        float piece[piece_elements];
        for (std::size_t begin = 0; begin < n; begin += piece_elements) {
            const std::size_t some = std::min(piece_elements, n - begin);
            widen(from + begin, piece, some);
            multiply(piece, piece, some, by);
            narrow(piece, to + begin, some);
        }
    }
}
