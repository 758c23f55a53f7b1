// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/element.hpp - floor 1. What an element is, and the number of its type in frames.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ccoll/base/half.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Anything that may be copied byte by byte and means the same on another rank. Lossy codecs require more;
/// see has_codec.
template <class T>
concept element = std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> &&
                  std::same_as<T, std::remove_cv_t<T>> && alignof(T) <= alignof(std::max_align_t) &&
                  !std::is_pointer_v<T> && !std::is_member_pointer_v<T> && !std::is_array_v<T> &&
                  !std::same_as<T, std::nullptr_t>;

/// The types that the lossy codecs are written for.
template <class T>
concept native_float = std::same_as<T, float> || std::same_as<T, double>;

/// Elements for which an error bound can be given, because they have a range and a magnitude.
template <class T>
concept floating_element = native_float<T> || small_float<T>;

/// Two numbers side by side, such as std::complex<float>. It is recognised by its members, so <complex> need
/// not be included. Where real and imaginary parts are treated alike (moved or added), n of them travel as 2
/// n numbers, and a bound holds for each part.
template <class T>
concept complex_element = element<T> && requires(const T& z) {
    typename T::value_type;
    { z.real() } -> std::convertible_to<typename T::value_type>;
    { z.imag() } -> std::convertible_to<typename T::value_type>;
} && std::floating_point<typename T::value_type> && sizeof(T) == 2 * sizeof(typename T::value_type);

/// The number of an element type in frames. 0: float, 1: double, 2: half, 3: bfloat16; signed integers: 16 +
/// log2(size), unsigned ones:
/// 24 + log2(size); any other type: 128 + size, where size is in bytes and at most 127 (255: 127 bytes or
/// more).
template <element T>
inline constexpr std::uint8_t dtype_of = [] {
    if constexpr (std::same_as<T, float>) return std::uint8_t{0};
    else if constexpr (std::same_as<T, double>) return std::uint8_t{1};
    else if constexpr (small_float<T>) return std::uint8_t{exponent_bits_of<T> == 5 ? 2 : 3};
    else if constexpr (std::is_integral_v<T>)
        return static_cast<std::uint8_t>((std::is_signed_v<T> ? 16 : 24) + std::countr_zero(sizeof(T)));
    else return static_cast<std::uint8_t>(128 + (sizeof(T) < 127 ? sizeof(T) : 127));
}();

}  // namespace ccoll
