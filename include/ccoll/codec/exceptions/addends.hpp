// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/addends.hpp - floor 2. Exceptional values of addends: a section of wide integers W, and their sums.
//
// A place without `counts` is exceptional in all addends: its value is W, and its quantum is a bridge. A place with `counts` has quanta of
// other addends as well: its value is q + W. An addend has at most one section of either kind. A sum depends on what was added, not on the
// order: wide integers and quanta add up, and a place counts once one operand has a quantum there.
#pragma once

#include <ccoll/codec/exceptions.hpp>

namespace ccoll::inline CCOLL_ABI::detail::exceptions {

CCOLL_EXACT_BEGIN  // for its optimisation

/// Puts the values of an addend in their places.
/// @param step     of the grid of the bound    @param divisor  positive: values are divided by it, before they are rounded
/// @param missing  the bits of a missing value    @param quanta  of the n values; looked at if counts()
template <element T>
[[gnu::noinline]] void apply(const addend& a, double step, i32 divisor, typename fields_of<T>::word missing, const i64* quanta, T* x,
                             std::size_t n) noexcept
{
    const exact_step exact(step);
    if (a.alone.is_there()) {
        typename fields_of<T>::word of[most_entries];
        for (std::size_t i = 0; i < a.alone.entries; ++i) of[i] = value_of<T>(entry_of(a.alone, i), 0, exact, divisor, missing);
        put_entries<T>(a.alone, of, x, n);
    }
    if (!a.counts()) return;
    run_cursor run(a.counted);
    wide w = entry_of(a.counted, run.entry);
    a.counted.kinds.for_each(kind::none, [&](std::size_t k) {
        each_bit(a.counted.masks[k], [&](std::size_t bit) {
            if (run.left == 0) {
                run.next();
                w = entry_of(a.counted, run.entry);
            }
            --run.left;
            const std::size_t i = block_elements * k + bit;
            const auto bits = value_of<T>(w, quanta[i], exact, divisor, missing);
            std::memcpy(x + i, &bits, sizeof bits);
        });
    });
}

/// Sets the bridges of an addend to 0 where they meet a quantum of the other one.
inline void clear_bridges(const addend& of, const addend& other, std::size_t n, i64* quanta) noexcept
{
    for (std::size_t k = 0; k < blocks_of(n); ++k)
        each_bit(of.alone.masks[k] & ~other.alone.masks[k], [&](std::size_t i) { quanta[block_elements * k + i] = 0; });
}

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions
