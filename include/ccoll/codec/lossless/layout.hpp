// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lossless/layout.hpp - floor 2. The other form of a chunk of Codec::Lossless, for floats of 2 and 4
// bytes whose neighbours differ in everything, but whose exponents are not all equally frequent: weights,
// gradients, noise.
//
// The upper half of an f32 is treated as a bfloat16, and is turned left by one bit. Its top byte is then the
// exponent, and is called the symbol of the value. The byte below, of mantissa and sign, travels as it is.
//
//   0  u8 head      127, or 126: f32 whose lower halves are all 0. Neither is a shift of streams.hpp
//   ..  high        that byte of all values
//   ..  low         f32, unless they are all 0: the lower halves of all values
//   ..  levels      0..16; each is u8 bits (1..4), 2^bits - 1 symbols, and a plane for each bit:
//                   that bit of all codes
//   ..  u8 0        no level follows
//   ..  escapes     a byte for each value that no level has coded
//
// A level codes each value as the place of its symbol in the list of the level. The highest code, all ones,
// says that the symbol is not there. The values with this code, in their order, are those of the next level.
// With two bits for each level, symbols cost 2, 4, 6, .. bits by their frequency. An optimal code for the
// exponents of normally distributed values needs 0.1 bit less (measured beside SZe's entropy stage), but bits
// of one level stand side by side, and so are made and read 32 at a time.
#pragma once

#include <cstddef>

#include <ccoll/codec/codec_impl.hpp>
#include <ccoll/codec/integers.hpp>

namespace ccoll::inline CCOLL_ABI::detail::lossless {

using namespace integers;

/// The head: this, or one less where lower halves are 0 and not there.
inline constexpr unsigned exponents_head = 127;
constexpr bool is_exponents_head(unsigned head) noexcept
{
    return head == exponents_head || head == exponents_head - 1;
}
/// Shorter chunks have no such form: what it gains is less than its head.
inline constexpr std::size_t least_values = 1024;
inline constexpr std::size_t most_values = 8192;
inline constexpr unsigned most_levels = 16;
inline constexpr unsigned most_level_bits = 4;
/// Symbols after these are in no level.
inline constexpr std::size_t most_listed = 48;
/// Kernels read and write so many bytes behind symbols.
inline constexpr std::size_t slack = 64;

struct level {
    u32 bits = 0;
    u8 symbols[1 << most_level_bits] = {};  ///< that of the highest code is 0

    constexpr u32 escape() const noexcept { return (u32{1} << bits) - 1; }
};

/// How the symbols of a chunk are coded.
struct cascade {
    u32 levels = 0;
    level of[most_levels];
};

/// Chunks of floats of so many bytes.
template <class Word>
struct float_chunks {
    /// @param in  least_values..most_values words
    static encode_result encode(const_byte_span in, byte_span dst) noexcept;
    /// @param src  a chunk for which is_exponents_head
    static status decode(const_byte_span src, byte_span out) noexcept;
};

constexpr std::size_t plane_bytes(std::size_t values) noexcept { return (values + 7) / 8; }

}  // namespace ccoll::detail::lossless
