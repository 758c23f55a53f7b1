// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/x86.hpp - floor 2. Constants of SZp's kernels for x86, and the width of a block by its planes.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/szp/set.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Makes g++ read a table of constants from memory. Constants that it knows are built from immediates in every block, by instructions that
/// compete with the permutations for their only port.
template <class Table>
CCOLL_INLINE const Table& in_memory(const Table& table) noexcept
{
    const Table* there = &table;
#if !defined(__clang__)
    __asm__("" : "+r"(there));
#endif
    return *there;
}

/// [w] where 8 planes come from, if those from w on repeat the sign.
struct alignas(32) plane_numbers {
    u32 of[9][8];
};
constexpr plane_numbers plane_numbers_in(const unsigned (&order)[8])
{
    plane_numbers n{};
    for (unsigned w = 1; w <= 8; ++w)
        for (unsigned k = 0; k < 8; ++k) n.of[w][k] = std::min(order[k], w - 1);
    return n;
}
inline constexpr plane_numbers kept_planes = plane_numbers_in({0, 1, 2, 3, 4, 5, 6, 7});
/// Words that are 4 apart side by side, then those that are 2 apart.
inline constexpr plane_numbers turned_planes = plane_numbers_in({0, 4, 2, 6, 1, 5, 3, 7});

/// 8x8 bit transposes between 8 words, in each of their 4 bytes, swap bits between words that are 4, 2 and 1 apart: word j keeps `keep`
/// bits, and gets the others of its partner, turned to the left. Twice, for registers of 64 bytes.
struct alignas(64) turn_words {
    u32 around[3][16], keep[3][16];
};
constexpr turn_words make_turn_words()
{
    turn_words t{};
    for (unsigned s = 0; s < 3; ++s)
        for (unsigned j = 0; j < 16; ++j) {
            const u32 by = 4u >> s, low = s == 0 ? 0x0f0f0f0fu : s == 1 ? 0x33333333u : 0x55555555u;
            const bool high = (j & by) != 0;
            t.around[s][j] = high ? 32 - by : by;
            t.keep[s][j] = high ? ~low : low;
        }
    return t;
}
inline constexpr turn_words turn_table = make_turn_words();

/// The number of planes to store: those that only repeat the sign plane are left out. Comparing planes is faster than reducing values.
/// @param mask  bit k: plane k differs from the sign plane; the highest bit: the sign plane is not 0.
template <class Mask>
CCOLL_INLINE unsigned width_of(Mask mask) noexcept
{
    return 32 - _lzcnt_u32(std::rotl(mask, 1));
}

}  // namespace ccoll::inline CCOLL_ABI::detail::szp

#include <ccoll/base/kernels_end.inl>

#endif
