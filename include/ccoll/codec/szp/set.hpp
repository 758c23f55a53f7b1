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
    bool left = true;                                           ///< else values are not predicted at all
    bool lists = true;                                          ///< may there be lists? (movement)
    rounding usual = rounding::fast, unusual = rounding::fast;  ///< the second one where the first one does not hold a value
    std::size_t zero = 0;                                       ///< so many values are 0 at the beginning
};

/// What a kernel makes of a value that has no quantum.
inline constexpr i32 hold_out = std::numeric_limits<i32>::min();

/// Rounds to the nearest integer, ties to even, by an addition: the low bits of the sum are the integer, modulo 2^32.
template <class T>
inline constexpr T rounder = is_f32<T> ? T(12582912.0) : T(6755399441055744.0);  // 1.5 * 2^mantissa_bits

inline constexpr i32 zeros[block_elements] = {};

CCOLL_EXACT_BEGIN  // for its optimisation

/// A chunk that has been packed, but for its head.
struct packed {
    u8* end = nullptr;
    u64 largest = 0;    ///< not below any |q|
    bool held = true;   ///< false: a value has no quantum of this kind, and nothing else counts
    bool flat = false;  ///< all quanta are equal
    bool wide = false;
};

using exceptions::magnitude;

/// How far |q| may lie above the last quantum of a block of this width; more than any quantum has if that says nothing.
inline u32 above_last(unsigned width) noexcept { return width < 26 ? u32{16} << width : u32{1} << 31; }

/// Blocks narrower than `least` get more planes, which repeat the sign: codes have four bits.
/// @param end  of the planes of all blocks    @return their new end
[[gnu::noinline]] inline u8* widen(u8* end, group_widths& w, std::size_t blocks, unsigned least) noexcept
{
    std::size_t more = 0;
    for (std::size_t b = 0; b < blocks; ++b) more += std::max<unsigned>(w.of[b], least) - w.of[b];
    const u8* from = end;
    u8* to = end += 4 * more;
    for (std::size_t b = blocks; b-- > 0;) {  // none is written over before it has been moved
        const unsigned have = w.of[b], want = std::max(have, least);
        from -= 4 * have;
        to -= 4 * want;
        const u32 sign = have > 0 ? get<u32>(from + 4 * (have - 1)) : 0;
        std::memmove(to, from, 4 * have);
        for (unsigned k = have; k < want; ++k) put(to + 4 * k, sign);
        w.of[b] = static_cast<u8>(want);
    }
    return end;
}

/// Where the groups of a chunk go.
struct writer {
    u8 *chunk, *codes, *places, *planes;
    std::size_t groups;

    writer(u8* to, std::size_t n, bool wide) noexcept
        : chunk(to), codes(to + head_bytes), places(to + places_at(groups_of(n))), planes(to + front_bytes(groups_of(n), wide)),
          groups(groups_of(n))
    {
        if (groups % 2 != 0 && !wide) put(to + bases_at(groups), u64{0});
    }
    /// The planes of the next group end at `end`, or its lists, whose codes are in w.
    void close(u8* end, group_widths& w, std::size_t blocks, unsigned lowest, unsigned highest, i32 base, bool lists = false) noexcept
    {
        if (highest > lowest + 15) [[unlikely]] {
            lowest = highest - 15;
            end = widen(end, w, blocks, lowest);
        }
        for (std::size_t b = blocks; b < group_blocks; ++b) w.of[b] = static_cast<u8>(lowest);
        write_widths(w, lowest, codes);
        end_group(end, lowest, lists, base);
    }
    /// The planes of another group.
    void copy(const group_view& from, i32 base) noexcept
    {
        std::memcpy(planes, from.planes, 4 * from.words);
        std::memcpy(codes, from.codes, 16);
        end_group(planes + 4 * from.words, from.lowest, false, base);
    }
    void close_flat(i32 base) noexcept
    {
        std::memset(codes, 0, 16);
        next(0, false, base);
    }

private:
    void end_group(u8* end, unsigned lowest, bool lists, i32 base) noexcept
    {
        next(lowest, lists, base);
        std::memset(end, 0, unit);
        planes = chunk + in_units(static_cast<std::size_t>(end - chunk));
    }
    void next(unsigned lowest, bool lists, i32 base) noexcept
    {
        put(places, static_cast<u16>(static_cast<std::size_t>(planes - chunk) / unit));
        places[2] = static_cast<u8>(lowest);
        places[3] = lists;
        put(places + 4, base);
        codes += 16;
        places += 8;
    }
};

/// Room for the quanta of a chunk and those in front of it.
struct chunk_quanta {
    alignas(64) i32 space[32 + 2 * chunk_elements];

    i32* first(const distances& above) noexcept { return space + 16 + (above.reach() + 15) / 16 * 16; }
};

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail::szp
