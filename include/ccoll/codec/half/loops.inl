// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/half/loops.inl - floor 2. Between numbers of two bytes and floats: one text, compiled once per
// instruction set. Compilers vectorise these loops. Plain x86-64 has no minimum of integers and registers of
// half the width, so AVX2 pays.

template <small_float T>
CCOLL_TARGET void to_floats(const T* from, float* to, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t i = 0; i < n; ++i) {
        std::uint16_t bits;
        std::memcpy(&bits, from + i, sizeof bits);
        to[i] = format_of<T>::to_float(bits);
    }
}

/// Rounds to the nearest finite T. Infinities stay what they are; no others arise.
template <small_float T>
CCOLL_TARGET void round_within_range(const float* from, T* to, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::int32_t infinity = 0x7f800000,
                           most = std::bit_cast<std::int32_t>(format_of<T>::to_float(format_of<T>::largest));
    for (std::size_t i = 0; i < n; ++i) {
        const auto bits = std::bit_cast<std::int32_t>(from[i]), magnitude = bits & 0x7fffffff;
        const std::int32_t clamped = select(magnitude < infinity, std::min(magnitude, most), magnitude);
        const std::uint16_t rounded =
            format_of<T>::from_float(std::bit_cast<float>(clamped | (bits ^ magnitude)));
        std::memcpy(static_cast<void*>(to + i), &rounded, sizeof rounded);
    }
}

/// Rounds as arithmetic in T does: a sum that is too large becomes an infinity.
template <small_float T>
CCOLL_TARGET void round(const float* from, T* to, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint16_t rounded = format_of<T>::from_float(from[i]);
        std::memcpy(static_cast<void*>(to + i), &rounded, sizeof rounded);
    }
}

/// The largest finite magnitude.
CCOLL_TARGET inline float largest_of(const float* x, std::size_t n) noexcept
{
    std::int32_t most = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t magnitude = std::bit_cast<std::int32_t>(x[i]) & 0x7fffffff;
        most = std::max(most, select(magnitude < 0x7f800000, magnitude, 0));
    }
    return std::bit_cast<float>(most);
}
