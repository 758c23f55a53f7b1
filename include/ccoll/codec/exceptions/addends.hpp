// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/addends.hpp - floor 2. Exceptional values of addends: a section of wide integers W, and their sums.
//
// A place without `counts` is exceptional in all addends: its value is W, and its quantum is a bridge. A place with `counts` has quanta of
// other addends as well: its value is q + W. An addend has at most one section of either kind. A sum depends on what was added, not on the
// order: wide integers and quanta add up, and a place counts once one operand has a quantum there.
#pragma once

#include <ccoll/base/error.hpp>
#include <ccoll/codec/exceptions.hpp>

namespace ccoll::inline CCOLL_ABI::detail::exceptions {

CCOLL_EXACT_BEGIN  // for its optimisation

/// Writes the section of an addend that is no sum. most_addend_bytes(n) is always enough room.
/// @param at       the exceptional values of a chunk, at least one
/// @param missing  the bits of a missing value; null: there is none
/// @return         the end of the section, a multiple of 16 bytes behind `to`. Null: too large, which is a W from 2^190 on or the 257th
///                 different one; or no room
template <element T>
u8* write_addend(const T* x, std::size_t n, const places& at, double step, const typename fields_of<T>::word* missing, u8* to,
                 const u8* end) noexcept
{
    return wide_writers<T>.in_use()(x, n, at, step, missing, to, end);
}

/// The exceptional values of an addend.
struct addend {
    section alone, counted;

    bool counts() const noexcept { return counted.place_count > 0; }
};

inline wide entry_of(const section& s, std::size_t i) noexcept { return get<wide>(s.values + sizeof(wide) * i); }

/// Reads the sections of an addend. Total: any bytes are safe. The addend refers to them.
/// @param bytes  that there are; sections may end before. 0: there are none
[[gnu::noinline]] inline bool read_addend(const u8* from, std::size_t bytes, std::size_t n, addend& to) noexcept
{
    to.alone.clear();
    to.counted.clear();
    for (bool more = bytes > 0; more;) {
        if (bytes < head_bytes) return false;
        section& s = (from[1] & counts_bit) != 0 ? to.counted : to.alone;
        if (s.place_count > 0 || !openers.in_use()(from, bytes, n, sizeof(wide), s) || s.entries == 0 || !has_valid_runs(s)) return false;
        for (std::size_t i = 0; i < s.entries; ++i)
            if (!entry_of(s, i).is_valid()) return false;
        more = s.more();
        from += s.bytes(sizeof(wide));
        bytes -= s.bytes(sizeof(wide));
    }
    for (std::size_t k = 0; k < blocks_of(n); ++k)
        if ((to.alone.mask(k) & to.counted.mask(k)) != 0) return false;
    return true;
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
        entry_putters<T>.in_use()(a.alone, of, x, n);
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

struct merged {
    u8* end = nullptr;
    status code = status::ok;
};

/// Copies the sections of an addend with other values: entry i of a section gets of(section, i).
template <class Entry>
merged with_entries(const u8* from, std::size_t bytes, std::size_t n, u8* to, const u8* end, Entry of) noexcept
{
    for (bool more = true; more;) {
        section s;
        if (!find_parts(from, bytes, n, s) || s.entries == 0) return {nullptr, status::corrupt};
        const std::size_t front = s.front_bytes(), values_end = front + sizeof(wide) * s.entries, all = up_to(unit, values_end);
        if (all > bytes) return {nullptr, status::corrupt};
        if (all > static_cast<std::size_t>(end - to)) return {nullptr, status::too_large};
        std::memcpy(to, from, front);
        for (std::size_t i = 0; i < s.entries; ++i) {
            const wide w = of(s, i);
            if (!w.is_valid()) return {nullptr, status::too_large};
            put_word(to + front + sizeof(wide) * i, w);
        }
        std::memset(to + values_end, 0, all - values_end);
        to += all;
        from += all;
        bytes -= all;
        more = s.more();
    }
    return {to};
}

/// The sections of an addend times a factor that is not 0. Total: any bytes are safe. @return ok, too_large or corrupt
[[gnu::noinline]] inline merged scale(const u8* from, std::size_t bytes, std::size_t n, i32 factor, u8* to, const u8* end) noexcept
{
    return with_entries(from, bytes, n, to, end, [=](const section& s, std::size_t i) {
        const wide w = entry_of(s, i);
        return w.is_valid() ? w * factor : w;
    });
}

/// Do two addends have the same exceptional places, whose values change at the same places? Then their sum has them, too, and quanta do not
/// matter. Total: any bytes are safe.
[[gnu::noinline]] inline bool are_alike(const u8* a, std::size_t a_bytes, const u8* b, std::size_t b_bytes, std::size_t n) noexcept
{
    for (bool more = true; more;) {
        section s;
        if (!find_parts(a, a_bytes, n, s) || s.entries == 0) return false;
        const std::size_t all = s.bytes(sizeof(wide));
        if (all > std::min(a_bytes, b_bytes) || std::memcmp(a, b, s.front_bytes()) != 0) return false;
        a += all, b += all;
        a_bytes -= all, b_bytes -= all;
        more = s.more();
    }
    return true;
}
/// The sum of such sections.
[[gnu::noinline]] inline merged merge_alike(const u8* a, std::size_t a_bytes, const u8* b, std::size_t n, u8* to, const u8* end) noexcept
{
    const std::ptrdiff_t to_b = b - a;
    return with_entries(a, a_bytes, n, to, end, [=](const section& s, std::size_t i) {
        const wide x = entry_of(s, i), y = get<wide>(s.values + to_b + sizeof(wide) * i);
        return x.is_valid() && y.is_valid() ? x + y : wide::too_large();
    });
}

/// Are the same quanta of two addends bridges? Then merge() needs no quanta.
inline bool have_same_bridges(const addend& a, const addend& b, std::size_t n) noexcept
{
    for (std::size_t k = 0; k < blocks_of(n); ++k)
        if (a.alone.mask(k) != b.alone.mask(k)) return false;
    return true;
}

/// The entries of an operand of a sum, by its places in order.
class operand {
public:
    explicit operand(const addend& of) noexcept : of_(of), alone_(of.alone), counted_(of.counted) {}

    u32 alone(std::size_t k) const noexcept { return of_.alone.mask(k); }
    u32 counted(std::size_t k) const noexcept { return of_.counted.mask(k); }
    /// Of some places of block k that have not been taken yet: those up to where a value changes.
    u32 even(std::size_t k, u32 places) noexcept
    {
        return up_to_change(alone_, alone(k) & places, places) & up_to_change(counted_, counted(k) & places, places);
    }
    /// How the first of some places is exceptional, and all those that are like it. 0: it is not. Numbers of entries begin at 1 and 257.
    std::size_t entry(std::size_t k, u32 first, u32& alike) const noexcept
    {
        const u32 a = alone(k), c = counted(k);
        alike &= (a & first) != 0 ? a : (c & first) != 0 ? c : ~(a | c);
        return (a & first) != 0 ? 1 + alone_.entry : (c & first) != 0 ? 1 + most_entries + counted_.entry : 0;
    }
    wide value(std::size_t entry) const noexcept
    {
        if (entry == 0) return {};
        return entry <= most_entries ? entry_of(of_.alone, entry - 1) : entry_of(of_.counted, entry - 1 - most_entries);
    }
    /// All of these places have been dealt with.
    void take(std::size_t k, u32 places) noexcept
    {
        alone_.left -= static_cast<std::size_t>(std::popcount(alone(k) & places));
        counted_.left -= static_cast<std::size_t>(std::popcount(counted(k) & places));
    }

private:
    static u32 up_to_change(run_cursor& run, u32 mine, u32 places) noexcept
    {
        if (mine == 0) return places;
        if (run.left == 0) run.next();
        for (std::size_t i = 0; i < run.left && mine != 0; ++i) mine &= mine - 1;
        return mine == 0 ? places : places & ((mine & (0u - mine)) - 1);
    }

    const addend& of_;
    run_cursor alone_, counted_;
};

/// Writes one section of a sum. @param masks  the places of the sum that it has, at least one
inline u8* merge_section(const addend& a, const addend& b, std::size_t n, const u32* masks, u8 form, u8* to, const u8* end) noexcept
{
    u8* const runs = beginnings.in_use()(masks, n, to, end);
    if (runs == nullptr) return nullptr;
    value_writer<wide> values(to, runs, end);
    operand x(a), y(b);
    std::size_t last_x = 0, last_y = 0, entry = 0, pending = 0;
    for (std::size_t k = 0; k < blocks_of(n); ++k)
        for (u32 left = x.alone(k) | x.counted(k) | y.alone(k) | y.counted(k), even; left != 0; left &= ~even) {
            even = x.even(k, left);
            even &= y.even(k, even);
            for (u32 mine = masks[k] & even; mine != 0;) {
                const u32 first = mine & (0u - mine);
                u32 alike = mine;
                const std::size_t in_x = x.entry(k, first, alike), in_y = y.entry(k, first, alike);
                const u32 others = mine & ~alike, piece = others == 0 ? mine : mine & ((others & (0u - others)) - 1);
                if (in_x != last_x || in_y != last_y) {
                    const wide sum = x.value(in_x) + y.value(in_y);
                    const std::size_t next = sum.is_valid() ? values.entry_of(sum) : most_entries;
                    if (next != entry && pending > 0) {
                        if (!values.add(entry, pending)) return nullptr;
                        pending = 0;
                    }
                    entry = next;
                    last_x = in_x, last_y = in_y;
                }
                pending += static_cast<std::size_t>(std::popcount(piece));
                mine &= ~piece;
            }
            x.take(k, even);
            y.take(k, even);
        }
    return values.add(entry, pending) ? values.finish(form) : nullptr;
}

/// Writes the sections of a sum, and sets the bridges that meet a quantum to 0.
/// @param quanta_a, quanta_b  of the operands, which the caller adds afterwards; null if have_same_bridges()
/// @return                    ok, and the end, which is `to` if no place is exceptional; or too_large: a W from 2^190 on, more than 256
///                            different ones, or no room
[[gnu::noinline]] inline merged merge(const addend& a, const addend& b, std::size_t n, i64* quanta_a, i64* quanta_b, u8* to,
                                      const u8* end) noexcept
{
    u32 alone[most_blocks], counted[most_blocks], any_alone = 0, any_counted = 0;
    for (std::size_t k = 0; k < blocks_of(n); ++k) {
        const u32 in_a = a.alone.mask(k), in_b = b.alone.mask(k);
        alone[k] = in_a & in_b;
        counted[k] = (in_a ^ in_b) | a.counted.mask(k) | b.counted.mask(k);
        any_alone |= alone[k];
        any_counted |= counted[k];
        each_bit(in_a & ~in_b, [&](std::size_t i) { quanta_a[block_elements * k + i] = 0; });
        each_bit(in_b & ~in_a, [&](std::size_t i) { quanta_b[block_elements * k + i] = 0; });
    }
    if (any_alone != 0) to = merge_section(a, b, n, alone, any_counted != 0 ? more_bit : 0, to, end);
    if (any_counted != 0 && to != nullptr) to = merge_section(a, b, n, counted, counts_bit, to, end);
    return {to, to != nullptr ? status::ok : status::too_large};
}

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail::exceptions
