// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/set.hpp - floor 2. What the kernels of all instruction sets have in common.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <ccoll/base/memory.hpp>
#include <ccoll/base/stores.hpp>
#include <ccoll/codec/szp/grid.hpp>
#include <ccoll/codec/szp/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// How quotients are computed: all in T, in T below grid::usual, or all in double.
enum class rounding { fast, mixed, in_double };

/// Quanta are below, in magnitude.
template <element T>
constexpr u32 quantum_limit(rounding how) noexcept
{
    return u32{1} << (how == rounding::fast ? usual_exponent<T> : narrow_exponent);
}

/// How an encoder packs a chunk.
struct packing {
    distances above = {};
    bool left = true;   ///< else values are not predicted at all
    bool lists = true;  ///< may there be lists? (movement)
    /// The second one where the first one does not hold a value.
    rounding usual = rounding::fast, unusual = rounding::fast;
    u8* limit = nullptr;  ///< where the room for it ends; null: there is enough
};

/// What a kernel makes of a value that has no quantum.
inline constexpr i32 hold_out = std::numeric_limits<i32>::min();

/// Rounds to the nearest integer, ties to even, by an addition: the low bits of the sum are the integer,
/// modulo 2^32.
template <class T>
inline constexpr T rounder = is_f32<T> ? T(12582912.0) : T(6755399441055744.0);  // 1.5 * 2^mantissa_bits

inline constexpr i32 zeros[block_elements] = {};

/// For sets that restore two blocks one after the other, and up to 8 planes in another way than more.
struct two_scanner {
    void operator()(const auto&...) const noexcept {}
};
inline constexpr unsigned few_planes = 8;

CCOLL_EXACT_BEGIN  // for its optimisation

/// A chunk that has been packed, but for its head, or a group of it.
struct packed {
    u8* end = nullptr;
    i64 base = 0;       ///< of a group, or the first one
    u64 largest = 0;    ///< not below any |q|
    bool held = true;   ///< false: a value has no quantum of this kind, and nothing else counts
    bool full = false;  ///< there was no room for all of it
    bool flat = false;  ///< all quanta are equal: `base`
    bool wide = false;
};

using integers::magnitude;

/// How far |q| may lie above the last quanta of blocks of up to this width: one of these is within 16
/// differences. 2^31: no limit.
inline u32 above_last(unsigned width) noexcept { return width < 27 ? u32{8} << width : u32{1} << 31; }

/// For sums: up to 9 of 32 blocks have more than 7 planes, none more than 14. With more of them, branches on
/// widths would be mispredicted.
inline constexpr unsigned few_above_7 = 8;
/// The least width of blocks in a group of which one is so wide: codes have four bits.
inline u8 least_beside(unsigned highest) noexcept { return static_cast<u8>(std::max(highest, 15u) - 15); }
/// Repeats the sign of a block up to `until` planes, and up to 15 more.
inline void repeat_sign(u8* planes, std::size_t width, std::size_t until) noexcept
{
    const u32 sign = width > 0 ? get<u32>(planes + 4 * (width - 1)) : 0;
    for (std::size_t k = width; k < until; k += 16)
        for (std::size_t i = 0; i < 16; ++i) put(planes + 4 * (k + i), sign);
}

/// Room for the planes of a group, and for what kernels write behind them.
template <unsigned Widest = widest>
struct planes_of_group {
    alignas(64) u8 bytes[4 * Widest * group_blocks + slack + unit];
};

/// Where the groups of a chunk go.
struct writer {
    u8 *chunk, *widths, *planes;  ///< widths: of all blocks
    std::size_t groups, group = 0, blocks;
    /// Home: where planes belong that are written aside.
    u8 *limit = nullptr, *aside = nullptr, *home = nullptr;
    std::size_t most = 0;                 ///< of the bytes that may be written for a group
    bool lists_pay = true, full = false;  ///< full: a group did not fit, and nothing has become of it

    writer(u8* to, std::size_t n, bool wide, u8* room) noexcept
        : chunk(to), widths(room), planes(to + front_bytes(groups_of(n), wide)), groups(groups_of(n)),
          blocks(blocks_of(n))
    {
        if (groups % 2 != 0 && !wide) put(to + bases_at(groups), u64{0});
    }
    /// @param end  of the room for the chunk, not in front of its planes
    /// @param spare  where groups are made near it
    template <unsigned Widest>
    writer(u8* to, std::size_t n, bool wide, u8* room, u8* end, planes_of_group<Widest>& spare) noexcept
        : writer(to, n, wide, room)
    {
        if (end == nullptr) return;
        limit = end;
        aside = spare.bytes;
        most = sizeof spare.bytes;
    }
    u8* widths_of_next() noexcept { return widths + group_blocks * group; }
    /// Before a group is written to `planes`.
    void open() noexcept
    {
        if (aside == nullptr || most <= static_cast<std::size_t>(limit - planes)) [[likely]]
            return;
        home = planes;
        planes = aside;
    }
    /// Puts a group in its place that has been written aside. @return its end there
    [[gnu::noinline]] u8* bring_home(const u8* end) noexcept
    {
        const auto bytes = static_cast<std::size_t>(end - planes);
        planes = home;
        home = nullptr;
        if (in_units(bytes) > static_cast<std::size_t>(limit - planes)) {
            full = true;
            return planes;
        }
        std::memcpy(planes, aside, bytes);
        std::memset(planes + bytes, 0, in_units(bytes) - bytes);
        return planes + bytes;
    }
    /// The planes of the next group end at `end`, or its lists, and its widths have been written, or codes.
    void close(u8* end, i32 base, bool lists = false) noexcept
    {
        u8* const place = chunk + places_at(groups) + 8 * group++;
        if (home != nullptr) [[unlikely]]
            end = bring_home(end);
        else std::memset(end, 0, unit);
        put(place, static_cast<u16>(static_cast<std::size_t>(planes - chunk) / unit));
        place[3] = lists;
        put(place + 4, base);
        planes = chunk + in_units(static_cast<std::size_t>(end - chunk));
    }
    void close_flat(i32 base) noexcept
    {
        std::memset(widths_of_next(), 0, group_blocks);
        open();
        close(planes, base);
    }
    /// The planes of another group.
    void copy(const group_view& from, i32 base) noexcept
    {
        std::memcpy(planes, from.planes, 4 * from.words);
        std::memcpy(widths_of_next(), from.widths, group_blocks);
        close(planes + 4 * from.words, base);
    }
    /// Gives narrow blocks of the next group so many planes that its codes fit four bits: more of them repeat
    /// the sign.
    /// @return the end of its planes
    template <unsigned Widest>
    [[gnu::noinline]] u8* widen(std::size_t count, unsigned least) noexcept
    {
        u8 wide[4 * Widest * group_blocks + 4 * (widest + 16)],
            *to = wide, *const of_group = widths_of_next();
        const u8* from = planes;
        for (std::size_t b = 0; b < count; ++b) {
            const std::size_t have = of_group[b], width = std::max<std::size_t>(have, least);
            // More than counts: ends of short loops would be mispredicted.
            for (std::size_t k = 0; k == 0 || k < have; k += widest)
                std::memcpy(to + 4 * k, from + 4 * k, 4 * widest);
            if (have < least) repeat_sign(to, have, least);
            of_group[b] = static_cast<u8>(width);
            from += 4 * have;
            to += 4 * width;
        }
        std::memcpy(planes, wide, static_cast<std::size_t>(to - wide));
        return planes + (to - wide);
    }
    /// Writes the codes of all groups at once: widths that have just been written would be waited for.
    /// @return the end of the chunk
    u8* finish() noexcept
    {
        for (std::size_t b = blocks; b < group_blocks * groups; ++b) widths[b] = 0;
        for (std::size_t g = 0; g < groups; ++g) {
            u8 *const place = chunk + places_at(groups) + 8 * g, *const of_group = widths + group_blocks * g;
            const u8 lowest = place[3] != 0 ? u8{0} : least_beside(highest_of(of_group));
            for (std::size_t b = blocks; b < group_blocks * (g + 1); ++b) widths[b] = lowest;
            place[2] = lowest;
            write_widths(of_group, lowest, chunk + head_bytes + 16 * g);
        }
        return planes;
    }
};

/// Room for the quanta of a chunk and some of those in front of it, which are all the same.
struct chunk_quanta {
    static constexpr std::size_t front = group_elements / 2;
    alignas(64) i32 space[16 + front + chunk_elements];

    i32* first() noexcept { return space + 16 + front; }
    /// In front of the chunk, as far as there is room.
    void fill_front(const distances& above, i32 base) noexcept
    {
        const std::size_t count = std::min(front, above.reach()) + 1;
        std::fill_n(first() - count, count, base);
    }
};
/// Where the values stand from which a block is predicted.
struct block_above {
    const i32 *row, *plane, *both;

    /// All of them are in memory. @param to  the block
    [[gnu::always_inline]] static block_above nearby(const i32* to, const distances& by) noexcept
    {
        return {to - by.row, to - by.plane, to - by.reach()};
    }
};
/// Of the values in front of a chunk, no more than one block is needed at a time.
class front_block {
public:
    explicit front_block(i32 base) noexcept { std::fill_n(same_, 1 + block_elements, base); }
    /// @param first  of a chunk, in chunk_quanta
    /// @param to  the block
    /// @return  what is `distance` before, and one number before that
    const i32* above(const i32* first, const i32* to, std::size_t distance) const noexcept
    {
        return static_cast<std::size_t>(to - first) + chunk_quanta::front >= distance ? to - distance
                                                                                      : same_ + 1;
    }
    [[gnu::noinline]] block_above above(const i32* first, const i32* to, const distances& by) const noexcept
    {
        return {above(first, to, by.row), above(first, to, by.plane), above(first, to, by.reach())};
    }

    /// Is all of it in the chunk, or in the room in front of it?
    static bool is_near(const i32* first, const i32* to, const distances& by) noexcept
    {
        return static_cast<std::size_t>(to - first) + chunk_quanta::front >= by.reach();
    }

private:
    i32 same_[1 + block_elements];
};

/// Quanta that are made group by group.
struct quanta_source {
    /// Those of group g. There is room for whole blocks.
    void (*group)(const quanta_source& me, std::size_t g, i64* to) noexcept;
};

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail::szp
