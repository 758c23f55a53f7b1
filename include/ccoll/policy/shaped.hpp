// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/shaped.hpp - floor 1. Buffers whose elements are a field of several dimensions, from whose
// neighbours codecs may predict.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>

#include <ccoll/policy/buffer.hpp>
#include <ccoll/policy/strides.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Contiguous elements, the strides of the field that they are, and how many there should be by their shape.
/// It refers to the elements.
template <class T, class Space = host_space>
struct shaped_view {
    std::span<T> elements;
    field_strides strides{};
    std::size_t expected = 0;  ///< the product of the extents
    bool contiguous = true;    ///< the buffer does not say otherwise

    constexpr bool is_exhaustive() const { return contiguous; }
};

/// A buffer whose elements are a field of one or more dimensions, the last of which varies fastest:
/// `shaped(field, {nz, ny, nx})`. It goes wherever `field` goes, and gives the same values with the same
/// bound. Codec::SZp writes fewer bytes for it, because it also predicts from the row and the plane before
/// (docs/choosing.md), and Codec::SZe need not look for rows. Other codecs ignore the shape. Ranks need not
/// agree on it.
///
/// @param buffer   contiguous elements, or calls fail with status::strided. They must outlive the view
/// Views with the interface of std::mdspan or Kokkos::View need no shaped(): they say their extents
/// themselves (policy/strides.hpp).
///
/// @param extents  of the dimensions. Their product is the number of elements; otherwise calls fail with
///                 status::size_mismatch
template <buffer Buffer>
constexpr auto shaped(Buffer&& buffer, std::initializer_list<std::size_t> extents)
{
    static_assert(std::is_lvalue_reference_v<Buffer> || is_view<Buffer>,
                  "ccoll::shaped: the buffer must outlive the view; pass a variable or a view such as "
                  "std::span, not a temporary container");
    std::size_t product = 1;
    for (const std::size_t extent : extents) product *= extent;
    return shaped_view<buffer_pointee<Buffer>, buffer_space<Buffer>>{
        as_span(buffer), field_strides::of_extents(extents), product, is_contiguous(buffer)};
}

/// Extents without braces are a slip, which gets a sentence.
template <buffer Buffer, class... Extents>
    requires(std::is_convertible_v<Extents, std::size_t> && ...)
constexpr auto shaped(Buffer&& buffer, Extents...)
{
    static_assert(std::is_void_v<Buffer>,
                  "ccoll::shaped: the extents stand in braces, as in shaped(field, {nz, ny, nx})");
    return as_span(buffer);
}

namespace detail {

template <class View, class Space>
struct shaped_traits {
    using space = Space;
    static constexpr bool is_view = true;
    static constexpr auto* data(View& v) { return v.elements.data(); }
    static constexpr std::size_t size(View& v) { return v.elements.size(); }
    static constexpr field_strides strides(View& v) { return v.strides; }
};

}  // namespace detail

template <class T, class Space>
struct buffer_traits<shaped_view<T, Space>> : detail::shaped_traits<shaped_view<T, Space>, Space> {};
template <class T, class Space>
struct buffer_traits<const shaped_view<T, Space>>
    : detail::shaped_traits<const shaped_view<T, Space>, Space> {};

namespace detail {

/// What the shape of a buffer says about a call.
struct shape_facts {
    field_strides strides{};
    std::size_t expected = 0;  ///< how many elements the shape has, if the buffer has another number
    std::size_t found = 0;     ///< that number

    constexpr bool fits() const { return expected == found; }

    template <class... Buffers>
    static constexpr shape_facts of(const Buffers&... buffers)
    {
        shape_facts all;
        (all.take(buffers), ...);
        return all;
    }
    /// In elements of the engine, of which `times` make one of the user.
    constexpr shape_facts in_elements(std::size_t times) const
    {
        return {strides.in_elements(times), expected * times, found * times};
    }

private:
    template <class Buffer>
    constexpr void take(const Buffer& b)
    {
        if (strides.none()) strides = strides_of(b);
        if constexpr (requires {
                          b.expected;
                          b.elements.size();
                      })
            if (fits() && b.expected != b.elements.size()) {
                expected = b.expected;
                found = b.elements.size();
            }
    }
};

}  // namespace detail

}  // namespace ccoll::inline CCOLL_ABI
