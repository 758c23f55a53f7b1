// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/buffer.hpp - floor 1. What an element is and what a buffer is.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

#include <ccoll/base/memory.hpp>

namespace ccoll {

template <class T>
concept element = std::same_as<T, float> || std::same_as<T, double>;

/// The code of an element type in frames.
template <element T>
inline constexpr std::uint8_t dtype_of = std::same_as<T, float> ? 0 : 1;

/// How to see a foreign container as contiguous elements. Specialise it for a view that is not a contiguous range:
/// `space`, `static T* data(B&)`, `static std::size_t size(B&)`; for B and for const B, as which a send buffer is seen.
template <class Buffer>
struct buffer_traits;

template <class Buffer>
    requires requires(Buffer& b) {
        { std::data(b) } -> std::convertible_to<const volatile void*>;
        { std::size(b) } -> std::convertible_to<std::size_t>;
    }
struct buffer_traits<Buffer> {
    using space = host_space;
    static constexpr auto* data(Buffer& b) { return std::data(b); }
    static constexpr std::size_t size(Buffer& b) { return std::size(b); }
};

template <class Buffer>
concept buffer = requires(std::remove_reference_t<Buffer>& b) { buffer_traits<std::remove_reference_t<Buffer>>::data(b); };

template <buffer Buffer>
using buffer_pointee = std::remove_pointer_t<decltype(buffer_traits<std::remove_reference_t<Buffer>>::data(
    std::declval<std::remove_reference_t<Buffer>&>()))>;

template <buffer Buffer>
using buffer_space = typename buffer_traits<std::remove_reference_t<Buffer>>::space;

template <buffer Buffer>
constexpr std::span<buffer_pointee<Buffer>> as_span(Buffer&& b)
{
    using traits = buffer_traits<std::remove_reference_t<Buffer>>;
    return {traits::data(b), traits::size(b)};
}

}  // namespace ccoll
