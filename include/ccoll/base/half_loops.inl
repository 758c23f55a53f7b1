// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/half_loops.inl - floor 0. Between numbers of two bytes and floats: one text, compiled once per
// instruction set. Compilers vectorise these loops. Plain x86-64 has no minimum of integers and registers of
// half the width, so AVX2 pays.
// The namespace that includes this file says whether the set has instructions for binary16 (`converts`) that
// give our bits for all numbers but NaN:
//   widen_8(from, to), narrow_8(from, to)      eight numbers

/// Bits of the largest magnitude; beyond those of infinity if there is a NaN.
template <small_float T>
CCOLL_TARGET std::int16_t largest_bits(const T* from, std::size_t n) noexcept
{
    std::int16_t most = 0;
    for (std::size_t i = 0; i < n; ++i) {
        std::int16_t bits;
        std::memcpy(&bits, from + i, sizeof bits);
        most = std::max(most, static_cast<std::int16_t>(bits & 0x7fff));
    }
    return most;
}

/// The largest finite magnitude.
template <small_float T>
CCOLL_TARGET float largest_of(const T* from, std::size_t n) noexcept
{
    constexpr std::int16_t infinity = format_of<T>::largest + 1;
    std::int16_t most = largest_bits(from, n);
    if (most >= infinity) {
        most = 0;
        for (std::size_t i = 0; i < n; ++i) {
            std::int16_t bits;
            std::memcpy(&bits, from + i, sizeof bits);
            bits = static_cast<std::int16_t>(bits & 0x7fff);
            most = std::max(most, static_cast<std::int16_t>(bits & -static_cast<int>(bits < infinity)));
        }
    }
    return format_of<T>::to_float(static_cast<std::uint16_t>(most));
}

template <small_float T>
CCOLL_TARGET void to_floats(const T* from, float* to, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    std::size_t done = 0;
    if constexpr (converts && exponent_bits_of<T> == 5)
        if (largest_bits(from, n) <= format_of<T>::largest + 1) {
            done = n / 8 * 8;
            for (std::size_t i = 0; i < done; i += 8) widen_8(from + i, to + i);
        }
    for (std::size_t i = done; i < n; ++i) {
        std::uint16_t bits;
        std::memcpy(&bits, from + i, sizeof bits);
        to[i] = format_of<T>::to_float(bits);
    }
}

/// Rounds values of which none is a NaN, as arithmetic in T does.
/// @return true: none was. With `finite`, none has become an infinity either
template <bool finite, small_float T>
CCOLL_TARGET bool round_numbers(const float* from, T* to, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    if constexpr (exponent_bits_of<T> == 5) {
        std::size_t done = 0;
        if constexpr (converts) {
            done = n / 8 * 8;
            for (std::size_t i = 0; i < done; i += 8) narrow_8(from + i, to + i);
        }
        for (std::size_t i = done; i < n; ++i) {
            const std::uint16_t rounded = format_of<T>::from_float(from[i]);
            std::memcpy(static_cast<void*>(to + i), &rounded, sizeof rounded);
        }
        return largest_bits(to, n) <= format_of<T>::largest + !finite;
    } else {
        constexpr std::int32_t limit =
            finite ? std::bit_cast<std::int32_t>(format_of<T>::to_float(format_of<T>::largest)) : 0x7f800000;
        std::int32_t most = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const auto bits = std::bit_cast<std::uint32_t>(from[i]);
            most = std::max(most, static_cast<std::int32_t>(bits & 0x7fffffff));
            const auto rounded = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
            std::memcpy(static_cast<void*>(to + i), &rounded, sizeof rounded);
        }
        return most <= limit;
    }
}

/// Rounds to the nearest finite T. Infinities stay what they are; no others arise.
template <small_float T>
CCOLL_TARGET void round_within_range(const float* from, T* to, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::int32_t infinity = 0x7f800000,
                           most = std::bit_cast<std::int32_t>(format_of<T>::to_float(format_of<T>::largest));
    if (round_numbers<true>(from, to, n)) [[likely]]
        return;
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
    if (round_numbers<false>(from, to, n)) [[likely]]
        return;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint16_t rounded = format_of<T>::from_float(from[i]);
        std::memcpy(static_cast<void*>(to + i), &rounded, sizeof rounded);
    }
}

/// into[i] = left[i] + right[i] as arithmetic in T does it: in float, rounded once. `into` may be an operand.
template <small_float T>
CCOLL_TARGET void add(T* into, const T* left, const T* right, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t most = 512;
    alignas(64) float a[most], b[most];
    for (std::size_t i = 0; i < n; i += most) {
        const std::size_t count = std::min(most, n - i);
        to_floats(left + i, a, count);
        to_floats(right + i, b, count);
        for (std::size_t k = 0; k < count; ++k) a[k] += b[k];
        round(a, into + i, count);
    }
}

/// Each number divided in float, and rounded.
template <small_float T>
CCOLL_TARGET void divide(T* into, float divisor, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t most = 512;
    alignas(64) float x[most];
    for (std::size_t i = 0; i < n; i += most) {
        const std::size_t count = std::min(most, n - i);
        to_floats(into + i, x, count);
        for (std::size_t k = 0; k < count; ++k) x[k] /= divisor;
        round(x, into + i, count);
    }
}
