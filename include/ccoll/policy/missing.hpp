// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/missing.hpp - floor 1. What stands for missing values, as a policy.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <ccoll/base/half.hpp>
#include <ccoll/policy/error_bound.hpp>
#include <ccoll/policy/field_facts.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace policies {

/// Elements with the bits of V, converted to their type, are missing. They come back bit for bit from every
/// codec, a reduction with one is missing, an average leaves it as it is, and the range of a RelativeBound
/// leaves it out. Equal on all ranks, which compare it. Missing<-9999.0>, Missing<1e20f>,
/// Missing<std::numeric_limits<double>::quiet_NaN()> (of all NaN, the one with these bits).
/// For floating-point elements, and codecs that keep such values: None, Lossless, SZp, SZe, SZx, PipeSZx.
/// Cost: with SZp, one comparison per value of a chunk (docs/missing_values.md).
template <literal V>
struct Missing : policy<axis::missing> {
    static constexpr const char* name = "Missing";
    static constexpr bool declared = true;
    static constexpr double value = V.value();
};

}  // namespace policies

/// What a plan holds if no value was named.
struct no_missing : policy<axis::missing> {
    static constexpr const char* name = "none";
    static constexpr bool declared = false;
    static constexpr double value = 0;
};

namespace detail {

/// The integer with the bits of a floating-point element.
template <class T>
using bits_of_element = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                           std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

template <class Policy, class T>
constexpr missing_value missing_value_of() noexcept
{
    if constexpr (!Policy::declared) return {};
    else if constexpr (sizeof(T) == 2)
        return {std::bit_cast<bits_of_element<T>>(from_number<T>(static_cast<float>(Policy::value))), true};
    else return {std::bit_cast<bits_of_element<T>>(static_cast<T>(Policy::value)), true};
}

/// Has x these bits?
template <class T>
bool is_missing(const T& x, const missing_value& m) noexcept
{
    return std::bit_cast<bits_of_element<T>>(x) == m.bits;
}

/// What an operation does to elements, but in the places that are missing.
/// @param of       (from, n): does it to n elements
/// @param missing  (i) -> is element i missing, before anything is done?
template <class T, class Of, class Missing>
void around_missing(T* into, std::size_t n, const missing_value& m, Of of, Missing missing) noexcept
{
    constexpr std::size_t most = 512;
    const T gone = std::bit_cast<T>(static_cast<bits_of_element<T>>(m.bits));
    for (std::size_t from = 0; from < n; from += most) {
        const std::size_t some = n - from < most ? n - from : most;
        bool is[most];
        for (std::size_t i = 0; i < some; ++i) is[i] = missing(from + i);
        of(from, some);
        for (std::size_t i = 0; i < some; ++i)
            if (is[i]) into[from + i] = gone;
    }
}

}  // namespace detail

}  // namespace ccoll
