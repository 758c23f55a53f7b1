// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/buffer.hpp - floor 1. What may be passed as a buffer.
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

/// How a container is seen as contiguous elements. Anything with std::data and std::size is already a buffer.
/// For any other type B, specialise this template with `space`, `static T* data(B&)` and `static std::size_t
/// size(B&)` (in elements). Do so for B and for const B, because a send buffer is seen as const. If B only
/// refers to elements that live elsewhere, add `static constexpr bool is_view = true`. Then temporaries of
/// type B may be passed to nonblocking calls. If the elements are a field of two or more dimensions, a member
/// `static field_strides strides(B&)` may say so (policy/strides.hpp).
template <class Buffer>
struct buffer_traits;

/// Containers and views of xtensor. `data()` of a view is that of what it looks at, and `data_offset()` says
/// where the view begins there.
template <class Buffer>
concept has_data_offset = requires(Buffer& b) {
    { b.data() } -> std::convertible_to<const volatile void*>;
    { b.data_offset() } -> std::convertible_to<std::size_t>;
    { b.size() } -> std::convertible_to<std::size_t>;
    std::size(b.shape());
    std::size(b.strides());
};

template <class Buffer>
    requires(!has_data_offset<Buffer> &&
             requires(Buffer& b) {
                 { std::data(b) } -> std::convertible_to<const volatile void*>;
                 { std::size(b) } -> std::convertible_to<std::size_t>;
             })
struct buffer_traits<Buffer> {
    using space = host_space;
    static constexpr auto* data(Buffer& b) { return std::data(b); }
    static constexpr std::size_t size(Buffer& b) { return static_cast<std::size_t>(std::size(b)); }
};

template <has_data_offset Buffer>
struct buffer_traits<Buffer> {
    using space = host_space;
    static constexpr auto* data(Buffer& b) { return b.data() + b.data_offset(); }
    static constexpr std::size_t size(Buffer& b) { return static_cast<std::size_t>(b.size()); }
};

/// Views with the interface of std::mdspan.
template <class Buffer>
    requires(
        !requires(Buffer& b) { std::data(b); } &&
        requires(Buffer& b) {
            { b.data_handle() } -> std::convertible_to<const volatile void*>;
            { b.size() } -> std::convertible_to<std::size_t>;
            { b.is_exhaustive() } -> std::convertible_to<bool>;
        })
struct buffer_traits<Buffer> {
    using space = host_space;
    static constexpr bool is_view = true;
    static constexpr auto* data(Buffer& b) { return b.data_handle(); }
    static constexpr std::size_t size(Buffer& b) { return static_cast<std::size_t>(b.size()); }
};

template <class Buffer>
concept buffer =
    requires(std::remove_reference_t<Buffer>& b) { buffer_traits<std::remove_reference_t<Buffer>>::data(b); };

template <buffer Buffer>
using buffer_pointee = std::remove_pointer_t<decltype(buffer_traits<std::remove_reference_t<Buffer>>::data(
    std::declval<std::remove_reference_t<Buffer>&>()))>;

template <buffer Buffer>
using buffer_space = typename buffer_traits<std::remove_reference_t<Buffer>>::space;

/// Whether the elements of a buffer outlive it, because it only refers to them: what buffer_traits says, or
/// else std::ranges::enable_borrowed_range, as for std::span.
template <buffer Buffer>
inline constexpr bool is_view = [] {
    using plain = std::remove_cvref_t<Buffer>;
    if constexpr (requires { buffer_traits<plain>::is_view; }) return bool{buffer_traits<plain>::is_view};
    else return std::ranges::enable_borrowed_range<plain>;
}();

namespace detail {

/// Was this argument written as a temporary that owns its elements?
/// @tparam Spelled  as a forwarding reference deduces it
template <class Spelled>
inline constexpr bool is_owning_temporary = false;
template <class Spelled>
    requires(!std::is_reference_v<Spelled> && buffer<Spelled>)
inline constexpr bool is_owning_temporary<Spelled> = !is_view<Spelled>;

/// Is what a call writes to this argument destroyed with it? A view that does not say that it is one can be
/// told from a container: the elements of a constant container are constant, too.
template <class Spelled>
inline constexpr bool loses_result = false;
template <class Spelled>
    requires is_owning_temporary<Spelled>
inline constexpr bool loses_result<Spelled> = [] {
    if constexpr (buffer<const Spelled>) return std::is_const_v<buffer_pointee<const Spelled>>;
    else return true;
}();

/// Stands in for the buffer of a pointer that does not say what its elements are.
struct untyped_buffer {};
/// Elements of a memory space, behind a pointer that does not say so.
template <class T, class Space>
struct span_in {
    T* first;
    std::size_t n;
};
template <class T, class Space>
using range_in = std::conditional_t<std::is_same_v<Space, host_space>, std::span<T>, span_in<T, Space>>;
template <class T, class Space = host_space>
using pointer_range = std::conditional_t<std::is_void_v<T>, untyped_buffer,
                                         range_in<std::conditional_t<std::is_void_v<T>, char, T>, Space>>;

}  // namespace detail

template <class T, class Space>
struct buffer_traits<detail::span_in<T, Space>> {
    using space = Space;
    static constexpr bool is_view = true;
    static constexpr T* data(const detail::span_in<T, Space>& b) { return b.first; }
    static constexpr std::size_t size(const detail::span_in<T, Space>& b) { return b.n; }
};
template <class T, class Space>
struct buffer_traits<const detail::span_in<T, Space>> : buffer_traits<detail::span_in<T, Space>> {};

/// The elements of a buffer.
template <buffer Buffer>
constexpr std::span<buffer_pointee<Buffer>> as_span(Buffer&& b)
{
    using traits = buffer_traits<std::remove_reference_t<Buffer>>;
    return {traits::data(b), traits::size(b)};
}

/// Views that say at run time whether their elements are contiguous. @see is_contiguous
template <class Buffer>
inline constexpr bool may_have_gaps =
    requires(const Buffer& b) { b.is_exhaustive(); } || requires(const Buffer& b) {
        b.span_is_contiguous();
    } || requires(const Buffer& b) { b.innerStride(), b.outerStride(); } || has_data_offset<const Buffer>;

namespace detail {

/// Do the elements follow each other, by rows or by columns?
template <class Buffer>
constexpr bool fills_its_extents(const Buffer& b)
{
    const auto& shape = b.shape();
    const auto& strides = b.strides();
    const std::size_t rank = std::size(shape);
    std::size_t by_rows = 1, by_columns = 1;
    bool rows = true, columns = true;
    for (std::size_t i = 0; i < rank; ++i) {
        const auto from_behind = static_cast<std::size_t>(shape[rank - 1 - i]),
                   from_front = static_cast<std::size_t>(shape[i]);
        if (from_front == 0) return true;
        rows = rows && (from_behind == 1 || static_cast<std::size_t>(strides[rank - 1 - i]) == by_rows);
        columns = columns && (from_front == 1 || static_cast<std::size_t>(strides[i]) == by_columns);
        by_rows *= from_behind;
        by_columns *= from_front;
    }
    return rows || columns;
}

}  // namespace detail

/// False if the buffer is a view that says at run time that its elements are not contiguous. std::mdspan says
/// so with is_exhaustive(), Kokkos::View with span_is_contiguous(), and Eigen's blocks and maps, and views of
/// xtensor, with their strides.
template <class Buffer>
constexpr bool is_contiguous(const Buffer& b)
{
    if constexpr (requires {
                      { b.is_exhaustive() } -> std::convertible_to<bool>;
                  })
        return b.is_exhaustive();
    else if constexpr (requires {
                           { b.span_is_contiguous() } -> std::convertible_to<bool>;
                       })
        return b.span_is_contiguous();
    else if constexpr (requires {
                           { b.innerStride() } -> std::convertible_to<std::ptrdiff_t>;
                           { b.outerStride() } -> std::convertible_to<std::ptrdiff_t>;
                           { b.innerSize() } -> std::convertible_to<std::ptrdiff_t>;
                           { b.outerSize() } -> std::convertible_to<std::ptrdiff_t>;
                       })
        return (b.innerStride() == 1 || b.innerSize() <= 1) &&
               (b.outerStride() == b.innerSize() || b.outerSize() <= 1 || b.innerSize() == 0);
    else if constexpr (has_data_offset<const Buffer>) return detail::fills_its_extents(b);
    else return true;
}

}  // namespace ccoll
