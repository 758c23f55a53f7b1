// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/parts.hpp - floor 1. Counts and displacements of the parts of a buffer, as one argument.
#pragma once

#include <span>
#include <type_traits>

#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Counts together with displacements, as in MPI's v calls, for parts that are not contiguous. It refers to
/// both. `OfTemporaries`: one of them was a temporary, so the layout is valid only within the expression that
/// made it.
template <class Counts, class Displacements, bool OfTemporaries>
struct part_layout {
    static constexpr bool of_temporaries = OfTemporaries;
    Counts counts;
    Displacements displacements;
};

/// @param counts, displacements  any contiguous ranges of integers, one per rank, in elements. They are read
///                               when a call begins, and must live until then: for `..._init` until the last
///                               start.
template <buffer Counts, buffer Displacements>
constexpr auto parts(Counts&& counts, Displacements&& displacements)
{
    using count = std::span<const std::remove_const_t<buffer_pointee<Counts>>>;
    using displacement = std::span<const std::remove_const_t<buffer_pointee<Displacements>>>;
    constexpr bool of_temporaries =
        detail::is_owning_temporary<Counts> || detail::is_owning_temporary<Displacements>;
    return part_layout<count, displacement, of_temporaries>{count(as_span(counts)),
                                                            displacement(as_span(displacements))};
}

}  // namespace ccoll::inline CCOLL_ABI
