// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx_block.hpp - floor 2. One block of SZx: 128 values in, bytes out, and back. Portable, f32 and f64 in one text.
// A faster version for one instruction set (szx_x86.hpp) replaces plan_block, encode_block and decode_block, and must give the
// same bytes.
//
//   code 0                  constant: the middle value
//   code 1..sizeof(T)-1     the middle value, then for each value the steps that it is away from the middle, in so many bytes
//   code sizeof(T)          raw: the values as they are
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szx {

inline constexpr std::size_t block_elements = 128;  ///< tests/codec/szx.cpp fixes it, the wire version protects it

/// Kernels may write so many bytes behind a block, and read so many: one register of the widest instruction set.
inline constexpr std::size_t block_slack = 64;

template <element T>
inline constexpr std::size_t block_room = block_elements * sizeof(T) + block_slack;

template <element T>
inline constexpr unsigned raw_code = sizeof(T);

/// Bytes of an encoded block of `count` values.  @param code  0..raw_code
template <element T>
constexpr std::size_t block_bytes(unsigned code, std::size_t count) noexcept
{
    return code == raw_code<T> ? count * sizeof(T) : sizeof(T) + count * code;
}

CCOLL_EXACT_BEGIN

/// Are these the codes of blocks? This and bytes_of_blocks are loops that compilers make registers of; code by code a chunk takes 4 % longer.
template <element T>
bool are_codes(const_byte_span codes) noexcept
{
    unsigned char highest = 0;
    for (const std::byte code : codes) highest = std::max(highest, static_cast<unsigned char>(code));
    return highest <= raw_code<T>;
}

/// Bytes of whole blocks with these codes.
template <element T>
std::size_t bytes_of_blocks(const_byte_span codes) noexcept
{
    std::uint32_t units = 0, middles = 0;
    for (const std::byte code : codes) {
        units += static_cast<unsigned char>(code);
        middles += static_cast<unsigned char>(code) != raw_code<T>;
    }
    return units * block_elements + middles * sizeof(T);
}

/// What an error must stay strictly below: the largest T that is not above eb; 0 if that is no normal number.
template <element T>
T error_limit(double eb) noexcept
{
    CCOLL_EXACT_BODY
    if (!(eb >= static_cast<double>(std::numeric_limits<T>::min()))) return 0;
    if (eb >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    const T nearest = static_cast<T>(eb);
    return static_cast<double>(nearest) > eb ? std::bit_cast<T>(fields_of<T>::of(nearest) - 1) : nearest;
}

/// What a bound means for blocks. Half a step is 1/32 less than the limit, which is room for the roundings of arithmetic; and neither
/// step nor inverse leaves the normal numbers.
template <element T>
struct block_scale {
    T limit;    ///< what errors stay below
    T step;
    T inverse;  ///< of the step

    /// @param limit  error_limit<T>(eb), not 0
    static block_scale of(T limit) noexcept
    {
        CCOLL_EXACT_BODY
        const T step = std::min(limit, std::numeric_limits<T>::max() / T(16)) * T(1.9375);
        return {limit, step, T(1) / step};
    }
};

// A count of steps q is kept as q + offset, the low bytes of the mantissa of q + origin: adding the origin, between 2^m and 2^(m+1) for a mantissa
// of m bits, rounds to whole steps and leaves the count there; its upper bits put before the bytes make it a number again. No conversion, which
// not every instruction set has for every type.

template <element T>
inline constexpr typename fields_of<T>::word origin_bits = fields_of<T>::of(static_cast<T>(std::uint64_t{1} << fields_of<T>::mantissa_bits));

/// @param bytes  1 .. sizeof(T) - 1. In so many bytes, counts are less than the offset, of either sign.
template <element T>
constexpr T offset_of(unsigned bytes) noexcept
{
    return static_cast<T>(std::uint64_t{1} << std::min(8 * static_cast<int>(bytes), fields_of<T>::mantissa_bits) >> 1);
}
template <element T>
constexpr T origin_of(unsigned bytes) noexcept
{
    return std::bit_cast<T>(origin_bits<T>) + offset_of<T>(bytes);
}

/// The narrowest type that holds `Bytes` bytes in one store, or all of T: then the next value overwrites what is too much.
template <element T, unsigned Bytes>
using unit = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, typename fields_of<T>::word>>>;

/// Stores the low `bytes` bytes of each word. Instantiated for each number of bytes: the stride is then a constant.
template <element T, unsigned Bytes = 1>
void store_low_bytes(unsigned bytes, const typename fields_of<T>::word* words, std::byte* out) noexcept
{
    if (bytes != Bytes) {
        if constexpr (Bytes + 1 < sizeof(T)) store_low_bytes<T, Bytes + 1>(bytes, words, out);
        return;
    }
    for (std::size_t i = 0; i < block_elements; ++i) {
        const auto low = static_cast<unit<T, Bytes>>(words[i]);
        std::memcpy(out + Bytes * i, &low, sizeof low);
    }
}

template <element T, unsigned Bytes = 1>
void add_steps(unsigned bytes, T middle, T step, const std::byte* in, T* x) noexcept
{
    CCOLL_EXACT_BODY
    using word = typename fields_of<T>::word;
    if (bytes != Bytes) {
        if constexpr (Bytes + 1 < sizeof(T)) add_steps<T, Bytes + 1>(bytes, middle, step, in, x);
        return;
    }
    constexpr T origin = origin_of<T>(Bytes);
    for (std::size_t i = 0; i < block_elements; ++i) {
        unit<T, Bytes> low;
        std::memcpy(&low, in + Bytes * i, sizeof low);
        const word count = (static_cast<word>(low) & (~word{0} >> (8 * (sizeof(T) - Bytes)))) | origin_bits<T>;
        x[i] = middle + (std::bit_cast<T>(count) - origin) * step;
    }
}

/// How a block is to be coded: the value in front of it, and how many bytes of each count of steps.
template <element T>
struct block_plan {
    T middle;
    unsigned bytes;  ///< 0: the block is constant; raw_code or more: nothing is to be tried
    bool certain = false;  ///< all values pass: nobody needs to look
};

/// @param low, high  the least and the largest value of a block without NaN; of two zeros, either serves
///
/// When a block is certain. Let all magnitudes be below 2^(e+1), 2^l the power of two in the limit L, m the bits of T's mantissa, and d the
/// difference of a value from the middle. The middle is no larger than the largest value, so |d| < 2^(e+2). What arithmetic adds to half a
/// step: d is rounded by 2^(e-m) at most, its quotient by |d| 2^-m (the inverse and the product), the product that a decoder
/// takes by (|d| + step / 2) 2^(-m-1), the sum, below 2^(e+3), by 2^(e+1-m). With step / 2 < L <= radius < 2^(e+2) that is at most (1 + 4 + 4 + 2) 2^(e-m) and
/// a little, less than 2^(e-m+4) * 3/4. Half a step is below L by more than 2^(l-5) * (1 - 2^(5-m)). So e <= l+m-9 leaves every error below
/// L, and by more than a rounding. Nothing overflows if 2^(e+3) is a T.
template <element T>
block_plan<T> plan_of(T low, T high, const block_scale<T>& scale) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    using word = typename fields::word;
    // Adding 0 makes -0 a +0: which zero a minimum finds would depend on the order of comparisons. A sum that overflows
    // gives an infinite middle, infinite values give that or NaN, and then nothing passes.
    const T middle = T(0.5) * ((low + high) + T(0));
    const word below = fields::magnitude(middle - low), above = fields::magnitude(high - middle);
    const word radius = below > above ? below : above;
    if (radius < fields::of(scale.limit)) return {middle, 0};

    const T most = std::bit_cast<T>(radius) * scale.inverse;
    if (!(most < offset_of<T>(sizeof(T) - 1) - T(1))) return {middle, raw_code<T>};
    const auto counts = static_cast<std::uint64_t>(fields::of(most + std::bit_cast<T>(origin_bits<T>)) - origin_bits<T>);
    const auto power = [](word magnitude) { return static_cast<int>(magnitude >> fields::mantissa_bits); };
    const int largest = power(std::max(fields::magnitude(low), fields::magnitude(high)));
    const bool certain = largest <= power(fields::of(scale.limit)) + fields::mantissa_bits - 9 && largest < power(fields::exponent) - 3;
    return {middle, static_cast<unsigned>(std::bit_width(counts) + 8) / 8, certain};
}

/// Folds 2 * Half values into the least and the largest. A loop per step: compilers make registers of that, not of one long loop.
template <std::size_t Half, element T>
void fold(T* low, T* high) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t k = 0; k < Half; ++k) {
        low[k] = low[k + Half] < low[k] ? low[k + Half] : low[k];
        high[k] = high[k + Half] > high[k] ? high[k + Half] : high[k];
    }
    if constexpr (Half > 1) fold<Half / 2>(low, high);
}

/// The first half of the work, apart: plan the next block before encoding this one, and the processor does both at a time. What
/// decides on the bytes is one long chain of operations, and waiting for it leaves no room for anything else.
/// @param x      block_elements values, any
template <element T>
block_plan<T> plan_block(const T* x, const block_scale<T>& scale) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    typename fields::word wild = 0;
    for (std::size_t i = 0; i < block_elements; ++i)
        wild |= (fields::of(x[i]) & fields::exponent) + fields::exponent_one;  // reaches the sign where all ones
    if ((wild & fields::sign) != 0) return {T(0), raw_code<T>};

    constexpr std::size_t half = block_elements / 2;
    T low[half], high[half];
    for (std::size_t k = 0; k < half; ++k) {
        low[k] = x[k + half] < x[k] ? x[k + half] : x[k];
        high[k] = x[k + half] > x[k] ? x[k + half] : x[k];
    }
    fold<half / 2>(low, high);
    return plan_of(low[0], high[0], scale);
}

/// Encodes one block so that decode_block returns values within the bound.
///
/// @param x      block_elements values, any
/// @param plan   plan_block(x, scale)
/// @param out    block_room<T> bytes, need not be aligned; block_bytes of them are the block, the rest is unspecified
/// @return       the code of the block
///
/// Why the bound holds. Let x' be what the decoder computes from the same operands, L = limit <= eb, and fl the rounding of T.
/// A value passes if fl(|x' - x|) < L. fl is monotone and L is a T: |x' - x| >= L would give fl(|x' - x|) >= fl(L) = L.
/// Hence |x' - x| < L <= eb, exactly; no margin is needed beyond the strict "<". The comparison is one of integers, where
/// NaN and Inf are larger than every finite L: a value that is, or decodes to, no finite number never passes.
/// Constant blocks: all values are finite and between low and high; |middle - x| is largest at one of these two.
template <element T>
unsigned encode_block(const T* x, block_plan<T> plan, const block_scale<T>& scale, std::byte* out) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    using word = typename fields::word;
    const T middle = plan.middle;
    std::memcpy(out, &middle, sizeof middle);
    if (plan.bytes == 0) return 0;
    if (plan.bytes < raw_code<T>) {
        const T origin = origin_of<T>(plan.bytes), inverse = scale.inverse, step = scale.step;
        word counts[block_elements], wrong = 0;
        if (plan.certain) {
            for (std::size_t i = 0; i < block_elements; ++i) counts[i] = fields::of((x[i] - middle) * inverse + origin);
        } else {
            const word bound = fields::of(scale.limit);
            for (std::size_t i = 0; i < block_elements; ++i) {
                const T moved = (x[i] - middle) * inverse + origin;
                counts[i] = fields::of(moved);
                const T decoded = middle + (moved - origin) * step;
                wrong |= (bound - 1) - fields::magnitude(decoded - x[i]);  // negative unless strictly below the bound
            }
        }
        if ((wrong & fields::sign) == 0) {
            store_low_bytes<T>(plan.bytes, counts, out + sizeof middle);
            return plan.bytes;
        }
    }
    std::memcpy(out, x, block_elements * sizeof(T));
    return raw_code<T>;
}

/// @param code  0..raw_code<T>    @param in  block_room<T> readable bytes, need not be aligned    @param x  block_elements values
/// What an encoder wrote gives the same bits everywhere, and so do other bytes.
template <element T>
void decode_block(unsigned code, const std::byte* in, T step, T* x) noexcept
{
    fetch_ahead(x, block_elements * sizeof(T));
    fetch_ahead(in, block_bytes<T>(code, block_elements));
    if (code == raw_code<T>) {
        std::memcpy(x, in, block_elements * sizeof(T));
        return;
    }
    T middle;
    std::memcpy(&middle, in, sizeof middle);
    if (code == 0)
        for (std::size_t i = 0; i < block_elements; ++i) x[i] = middle;
    else
        add_steps<T>(code, middle, step, in + sizeof middle, x);
}

CCOLL_EXACT_END

}  // namespace ccoll::detail::szx
