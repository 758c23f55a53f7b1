// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/sum_head.hpp - floor 2. What stands in front of the blocks of a sum of addends of SZp, and from what its values are predicted.
#pragma once

#include <algorithm>

#include <ccoll/codec/szp/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

inline bool is_flat(const chunk_view& v) noexcept { return v.what == kind::flat || v.what == kind::wide_flat; }
inline bool is_narrow(const chunk_view& v) noexcept { return v.what == kind::narrow || v.what == kind::flat || v.what == kind::rows; }

/// What stands in front of the blocks of a sum.
struct sum_head {
    bool narrow;
    std::size_t distance;  ///< of its rows; 0: none
    u64 base, largest;

    kind what() const noexcept { return distance != 0 ? kind::rows : narrow ? kind::narrow : kind::wide; }
};
/// Rows win: a difference with rows is one of two without, so at most a bit longer than the longer one of these, while those without
/// may be longer by any number of bits. Of two distances the longer one wins, so that the order does not matter.
inline std::size_t distance_of_sum(bool narrow, u64 largest, std::size_t of_x, std::size_t of_y) noexcept
{
    return narrow && largest < rows::addend_limit ? std::max(of_x, of_y) : 0;
}
/// Can differences of this chunk be added to those over this distance?
inline bool is_over(const chunk_view& v, std::size_t distance) noexcept { return v.distance == distance || is_flat(v); }
/// Have all differences 32 bits at most? Sums of operands that lie about their `largest` need not.
inline bool are_narrow(const block_codes& codes, std::size_t blocks) noexcept
{
    return std::all_of(codes.of, codes.of + blocks, [](u8 code) { return (code & ~class_code) <= widest_narrow; });
}

}  // namespace ccoll::detail::szp
