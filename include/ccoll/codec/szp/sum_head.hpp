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
    rows::distances above;
    u64 base, largest;

    kind what() const noexcept { return !above.none() ? kind::rows : narrow ? kind::narrow : kind::wide; }
};
/// Rows win: a difference with rows is one of two without, so at most a bit longer than the longer one of these, while those without
/// may be longer by any number of bits. For the same reason planes win over rows alone. Otherwise the longer distance wins, so that the
/// order does not matter.
inline rows::distances distances_of_sum(bool narrow, u64 largest, rows::distances of_x, rows::distances of_y) noexcept
{
    return narrow && largest < rows::addend_limit ? rows::distances::of_word(std::max(of_x.word(), of_y.word())) : rows::distances{};
}
/// Can differences of this chunk be added to those over these distances?
inline bool is_over(const chunk_view& v, rows::distances above) noexcept { return v.above == above || is_flat(v); }
/// Have all differences 32 bits at most? Sums of operands that lie about their `largest` need not.
inline bool are_narrow(const block_codes& codes, std::size_t blocks) noexcept
{
    return std::all_of(codes.of, codes.of + blocks, [](u8 code) { return (code & ~class_code) <= widest_narrow; });
}

}  // namespace ccoll::detail::szp
