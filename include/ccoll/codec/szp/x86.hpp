// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/x86.hpp - floor 2. Constants of SZp's kernels for x86, and the width of a block by its planes.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <algorithm>
#include <bit>

#include <ccoll/codec/szp/words.hpp>

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

/// Words that fill registers.
struct equal_words {
    u64 swapped[3] = {0x00AA00AA00AA00AA, 0x0000CCCC0000CCCC, 0x00000000F0F0F0F0};  ///< by the steps of an 8x8 bit transpose
    u32 low_words = 0x0000ffff, low_bytes = 0x00ff00ff;
    u32 one_bytes = 0x01010101, one_words = 0x00010001;
    u32 seven = 7, fifteen = 15;
};
inline constexpr equal_words equal_words_table;
CCOLL_INLINE const equal_words& equal() noexcept { return in_memory(equal_words_table); }

/// [w] where 8 planes come from, if those from w on repeat the sign.
struct alignas(32) plane_numbers {
    u32 of[9][8];
};
constexpr plane_numbers make_plane_numbers()
{
    plane_numbers n{};
    for (unsigned w = 1; w <= 8; ++w)
        for (unsigned k = 0; k < 8; ++k) n.of[w][k] = std::min(k, w - 1);
    return n;
}
inline constexpr plane_numbers kept_planes = make_plane_numbers();

/// [mask] the numbers of the bits that are set
struct bit_numbers {
    u8 of[256][8];
};
constexpr bit_numbers make_bit_numbers()
{
    bit_numbers n{};
    for (unsigned mask = 0; mask < 256; ++mask)
        for (unsigned bit = 0, count = 0; bit < 8; ++bit)
            if ((mask >> bit & 1) != 0) n.of[mask][count++] = static_cast<u8>(bit);
    return n;
}
inline constexpr bit_numbers set_bits = make_bit_numbers();

/// The number of planes to store: those that only repeat the sign plane are left out. Comparing planes is faster than reducing values.
/// @param mask  bit k: plane k differs from the sign plane; the highest bit: the sign plane is not 0.
template <class Mask>
CCOLL_INLINE unsigned width_of(Mask mask) noexcept
{
    return 32 - _lzcnt_u32(std::rotl(mask, 1));
}

}  // namespace ccoll::detail::szp

#include <ccoll/base/kernels_end.inl>

#endif
