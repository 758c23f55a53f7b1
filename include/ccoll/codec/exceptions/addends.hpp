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

/// Reads the sections of an addend. Total: any bytes are safe. The addend refers to them.
/// @param bytes  that there are; sections may end before. 0: there are none
[[gnu::noinline]] inline bool read_addend(const u8* from, std::size_t bytes, std::size_t n, addend& to) noexcept
{
    to.alone.clear();
    to.counted.clear();
    for (bool more = bytes > 0; more;) {
        if (bytes < head_bytes) return false;
        section& s = (from[1] & counts_bit) != 0 ? to.counted : to.alone;
        if (s.place_count > 0 || !open(from, bytes, n, sizeof(wide), s) || !has_valid_runs(s)) return false;
        for (std::size_t i = 0; i < s.entries; ++i)
            if (!entry_of(s, i).is_valid()) return false;
        more = s.more();
        from += s.bytes(sizeof(wide));
        bytes -= s.bytes(sizeof(wide));
    }
    u32 both = 0;
    for (std::size_t k = 0; k < blocks_of(n); ++k) both |= to.alone.masks[k] & to.counted.masks[k];
    return both == 0;
}

/// Puts the values of an addend in their places.
/// @param step     of the grid of the bound    @param divisor  positive: values are divided by it, before they are rounded
/// @param missing  the bits of a missing value    @param quanta  of the n values; looked at if counts()
template <element T>
[[gnu::noinline]] void apply(const addend& a, double step, i32 divisor, typename fields_of<T>::word missing, const i64* quanta, T* x,
                             std::size_t n) noexcept
{
    const exact_step exact(step);
    if (a.alone.place_count > 0) {
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

/// Have two addends the same places, whose values change at the same ones? Then quanta do not matter. Total: any bytes are safe.
[[gnu::noinline]] inline bool are_alike(const u8* a, std::size_t a_bytes, const u8* b, std::size_t b_bytes, std::size_t n) noexcept
{
    for (bool more = true; more;) {
        section s;
        if (!find_parts(a, a_bytes, n, s)) return false;
        const std::size_t all = s.bytes(sizeof(wide));
        if (all > std::min(a_bytes, b_bytes) || std::memcmp(a, b, s.front_bytes()) != 0) return false;
        a += all, b += all;
        a_bytes -= all, b_bytes -= all;
        more = s.more();
    }
    return true;
}
/// The sum of such sections: those of an addend with other values. Total: any bytes are safe. @return ok, too_large or corrupt
[[gnu::noinline]] inline merged merge_alike(const u8* a, std::size_t a_bytes, const u8* b, std::size_t n, u8* to, const u8* end) noexcept
{
    for (bool more = true; more;) {
        section s;
        if (!find_parts(a, a_bytes, n, s)) return {nullptr, status::corrupt};
        const std::size_t front = s.front_bytes(), values_end = front + sizeof(wide) * s.entries, all = up_to(unit, values_end);
        if (all > a_bytes) return {nullptr, status::corrupt};
        if (all > static_cast<std::size_t>(end - to)) return {nullptr, status::too_large};
        std::memcpy(to, a, front);
        for (std::size_t at = front; at < values_end; at += sizeof(wide)) {
            const wide x = get<wide>(a + at), y = get<wide>(b + at);
            const wide sum = x + y;
            if (!x.is_valid() || !y.is_valid() || !sum.is_valid()) return {nullptr, status::too_large};
            integers::put(to + at, sum);
        }
        std::memset(to + values_end, 0, all - values_end);
        to += all, a += all, b += all;
        a_bytes -= all;
        more = s.more();
    }
    return {to};
}

/// Can quanta be added as they are? If the same ones are bridges, or all bridges stand for states, which stay states in a sum.
inline bool bridges_do_not_matter(const addend& a, const addend& b, std::size_t n) noexcept
{
    const auto are_states = [](const section& s) {
        for (std::size_t i = 0; s.place_count > 0 && i < s.entries; ++i)
            if (!entry_of(s, i).is_state()) return false;
        return true;
    };
    return (are_states(a.alone) && are_states(b.alone)) || std::memcmp(a.alone.masks, b.alone.masks, sizeof(u32) * blocks_of(n)) == 0;
}
/// Sets the bridges of an addend to 0 where they meet a quantum of the other one.
inline void clear_bridges(const addend& of, const addend& other, std::size_t n, i64* quanta) noexcept
{
    for (std::size_t k = 0; k < blocks_of(n); ++k)
        each_bit(of.alone.masks[k] & ~other.alone.masks[k], [&](std::size_t i) { quanta[block_elements * k + i] = 0; });
}

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions
