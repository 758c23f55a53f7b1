// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/buffer.hpp - floor 1. What a buffer is.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

#include <ccoll/base/memory.hpp>
#include <ccoll/policy/element.hpp>

namespace ccoll::inline CCOLL_ABI {

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

/// Views of std::mdspan's shape.
template <class Buffer>
    requires(!requires(Buffer& b) { std::data(b); } && requires(Buffer& b) {
        { b.data_handle() } -> std::convertible_to<const volatile void*>;
        { b.size() } -> std::convertible_to<std::size_t>;
        { b.is_exhaustive() } -> std::convertible_to<bool>;
    })
struct buffer_traits<Buffer> {
    using space = host_space;
    static constexpr auto* data(Buffer& b) { return b.data_handle(); }
    static constexpr std::size_t size(Buffer& b) { return static_cast<std::size_t>(b.size()); }
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

/// False when a view that may be strided says that it is: std::mdspan (is_exhaustive), Kokkos::View (span_is_contiguous).
template <class Buffer>
constexpr bool is_contiguous(const Buffer& b)
{
    if constexpr (requires { { b.is_exhaustive() } -> std::convertible_to<bool>; }) return b.is_exhaustive();
    else if constexpr (requires { { b.span_is_contiguous() } -> std::convertible_to<bool>; }) return b.span_is_contiguous();
    else return true;
}

}  // namespace ccoll
