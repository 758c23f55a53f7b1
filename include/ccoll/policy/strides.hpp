// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/strides.hpp - floor 1. What a buffer says about the shape of the field that its elements are.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>

#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI {

/// How far apart neighbours of a field are, in elements, along every dimension but the fastest one: from a
/// row to the next, from a plane to the next, and so on. Ascending, without 1 and without repetitions; 0
/// behind the last one. Only the shortest ones are kept, because codecs do not look farther back.
struct field_strides {
    static constexpr std::size_t most = 3;
    std::size_t of[most] = {};

    constexpr field_strides() = default;
    constexpr field_strides(std::size_t row, std::size_t plane = 0) : of{row, plane} {}

    constexpr bool none() const { return of[0] == 0; }
    /// The shortest stride of at least `least`; 0: there is none.
    constexpr std::size_t first_from(std::size_t least) const
    {
        for (const std::size_t stride : of)
            if (stride >= least) return stride;
        return 0;
    }
    /// In elements of which `times` make one of these.
    constexpr field_strides in_elements(std::size_t times) const
    {
        field_strides all = *this;
        for (std::size_t& stride : all.of) stride *= times;
        return all;
    }
    constexpr void add(std::size_t stride)
    {
        if (stride <= 1) return;
        for (std::size_t& other : of) {
            if (other == stride) return;
            if (other != 0 && other < stride) continue;
            const std::size_t longer = other;
            other = stride;
            if (longer == 0) return;
            stride = longer;
        }
    }
    /// Of a field whose last dimension varies fastest.
    static constexpr field_strides of_extents(std::initializer_list<std::size_t> extents)
    {
        field_strides all;
        std::size_t product = 1;
        for (const std::size_t* extent = extents.end(); extent != extents.begin();) {
            if (*--extent > 1) all.add(product);
            product *= *extent;
        }
        return all;
    }
    friend constexpr bool operator==(const field_strides&, const field_strides&) = default;
};

/// The strides of a buffer whose elements are a field of two or more dimensions. This is what
/// `buffer_traits<B>::strides(b)` says, if there is such a member. Otherwise views with rank(), extent(d) and
/// stride(d) are asked, such as std::mdspan and
/// Kokkos::View, and those with shape() and strides(), such as xtensor's.
template <class Buffer>
constexpr field_strides strides_of(const Buffer& b)
{
    field_strides all;
    if constexpr (requires {
                      { buffer_traits<const Buffer>::strides(b) } -> std::convertible_to<field_strides>;
                  }) {
        all = buffer_traits<const Buffer>::strides(b);
    } else if constexpr (requires {
                             { b.rank() } -> std::convertible_to<std::size_t>;
                             { b.extent(0) } -> std::convertible_to<std::size_t>;
                             { b.stride(0) } -> std::convertible_to<std::size_t>;
                         }) {
        for (std::size_t d = 0; d < static_cast<std::size_t>(b.rank()); ++d)
            if (static_cast<std::size_t>(b.extent(d)) > 1) all.add(static_cast<std::size_t>(b.stride(d)));
    } else if constexpr (has_data_offset<const Buffer>) {
        for (std::size_t d = 0; d < std::size(b.shape()); ++d)
            if (b.shape()[d] > 1) all.add(static_cast<std::size_t>(b.strides()[d]));
    }
    return all;
}

}  // namespace ccoll
