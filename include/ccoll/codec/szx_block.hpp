// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx_block.hpp - floor 2. One block of SZx: 128 values in, bytes out, and back. Portable, f32 and f64 in one text.
// A faster version for one instruction set (szx_x86.hpp) replaces plan_block, encode_block and decode_block, and must give the
// same bytes.
//
//   code 0                  constant: the middle value
//   code 1..sizeof(T)-1     the middle value, then for each value the top `code` bytes of (value - middle)
//   code sizeof(T)          raw: the values as they are
#pragma once

#include <algorithm>
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

/// The narrowest type that holds `Bytes` bytes in one store, or all of T: then the next value overwrites what is too much.
template <element T, unsigned Bytes>
using unit = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, typename fields_of<T>::word>>>;

/// Stores the top `bytes` bytes of each word. Instantiated for each number of bytes: the stride is then a constant.
template <element T, unsigned Bytes = 1>
void store_top_bytes(unsigned bytes, const typename fields_of<T>::word* words, std::byte* out) noexcept
{
    if (bytes != Bytes) {
        if constexpr (Bytes + 1 < sizeof(T)) store_top_bytes<T, Bytes + 1>(bytes, words, out);
        return;
    }
    for (std::size_t i = 0; i < block_elements; ++i) {
        const auto top = static_cast<unit<T, Bytes>>(words[i] >> (8 * (sizeof(T) - Bytes)));
        std::memcpy(out + Bytes * i, &top, sizeof top);
    }
}

template <element T, unsigned Bytes = 1>
void add_top_bytes(unsigned bytes, T middle, const std::byte* in, T* x) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    if (bytes != Bytes) {
        if constexpr (Bytes + 1 < sizeof(T)) add_top_bytes<T, Bytes + 1>(bytes, middle, in, x);
        return;
    }
    for (std::size_t i = 0; i < block_elements; ++i) {
        unit<T, Bytes> top;
        std::memcpy(&top, in + Bytes * i, sizeof top);
        const auto word = static_cast<typename fields::word>(static_cast<typename fields::word>(top) << (8 * (sizeof(T) - Bytes)));
        x[i] = middle + std::bit_cast<T>(word);
    }
}

/// How a block is to be coded: the value in front of it, and how many bytes of each difference to try first.
template <element T>
struct block_plan {
    T middle;
    unsigned bytes;  ///< 0: the block is constant; raw_code or more: nothing is to be tried
    bool certain = false;  ///< all values pass with so many bytes: nobody needs to look
};

/// @param low, high  the least and the largest value of a block without NaN; of two zeros, either serves
///
/// When a block is certain. Let all magnitudes be below 2^(e+1), the radius below 2^(r+1), 2^b the power of two in `room`, and m the
/// bits of T's mantissa. A difference from the middle is rounded when it is taken, by at most 2^(r-m-1), and cut, by at most 2^b.
/// The middle is no larger than the largest value: r <= e+1, the sum that a decoder takes is below 2^(e+1) + 2^(r+1) < 2^(e+3), and
/// its rounding at most 2^(e-m+1). So arithmetic errs by 3 * 2^(e-m) at most, which for e <= b+m-9 is 3/4 of 2^(b-7), and the bound
/// is at least 2^b + 2^(b-7): every value passes, and by more than a rounding. Nothing overflows if 2^(e+3) is a T.
template <element T>
block_plan<T> plan_of(T low, T high, T limit) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    using word = typename fields::word;
    // Adding 0 makes -0 a +0: which zero a minimum finds would depend on the order of comparisons. A sum that overflows
    // gives an infinite middle, infinite values give that or NaN, and then nothing passes.
    const T middle = T(0.5) * ((low + high) + T(0));
    const word below = fields::magnitude(middle - low), above = fields::magnitude(high - middle);
    const word radius = below > above ? below : above, bound = fields::of(limit);
    if (radius < bound) return {middle, 0};

    // Rounding a difference of exponent e to m bits of mantissa errs by at most 2^(e - m - 1), which may be the bound if
    // that is at least 1 % above a power of two (for other roundings in the way); else half the bound.
    const word room = bound - (fields::exponent_one >> 7);
    const auto power = [](word magnitude) { return static_cast<int>(magnitude >> fields::mantissa_bits); };
    const auto excess = static_cast<unsigned>(power(radius) - power(room));
    const int largest = power(std::max(fields::magnitude(low), fields::magnitude(high)));
    const bool certain = power(room) > 0 && largest <= power(room) + fields::mantissa_bits - 9 && largest < power(fields::exponent) - 3;
    return {middle, (static_cast<unsigned>(fields::exponent_bits) + excess + 7) / 8, certain};
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
/// @param x      block_elements values, any.
/// @param limit  error_limit<T>(eb), not 0.
template <element T>
block_plan<T> plan_block(const T* x, T limit) noexcept
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
    return plan_of(low[0], high[0], limit);
}

/// Encodes one block so that decode_block returns values within the bound.
///
/// @param x      block_elements values, any.
/// @param plan   plan_block(x, limit).
/// @param limit  error_limit<T>(eb), not 0.
/// @param out    block_room<T> bytes, need not be aligned; block_bytes of them are the block, the rest is unspecified.
/// @return       the code of the block.
///
/// Why the bound holds. Let x' be what the decoder computes from the same operands, L = limit <= eb, and fl the rounding of T.
/// A value passes if fl(|x' - x|) < L. fl is monotone and L is a T: |x' - x| >= L would give fl(|x' - x|) >= fl(L) = L.
/// Hence |x' - x| < L <= eb, exactly; no margin is needed beyond the strict "<". The comparison is one of integers, where
/// NaN and Inf are larger than every finite L: a value that is, or decodes to, no finite number never passes.
/// Constant blocks: all values are finite and between low and high; |middle - x| is largest at one of these two.
template <element T>
unsigned encode_block(const T* x, block_plan<T> plan, T limit, std::byte* out) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    using word = typename fields::word;
    const T middle = plan.middle;
    const word bound = fields::of(limit);
    std::memcpy(out, &middle, sizeof middle);
    if (plan.bytes == 0) return 0;
    for (unsigned bytes = plan.bytes; bytes < raw_code<T> && bytes <= plan.bytes + 1; ++bytes) {
        const unsigned dropped = 8 * (raw_code<T> - bytes);
        const word half = static_cast<word>(word{1} << (dropped - 1)), keep = static_cast<word>(~word{0} << dropped);
        word kept[block_elements], wrong = 0;
        if (plan.certain) {
            for (std::size_t i = 0; i < block_elements; ++i) kept[i] = (fields::of(x[i] - middle) + half) & keep;
        } else {
            for (std::size_t i = 0; i < block_elements; ++i) {
                kept[i] = (fields::of(x[i] - middle) + half) & keep;
                const T decoded = middle + std::bit_cast<T>(kept[i]);
                wrong |= (bound - 1) - fields::magnitude(decoded - x[i]);  // negative unless strictly below the bound
            }
        }
        if ((wrong & fields::sign) == 0) {
            store_top_bytes<T>(bytes, kept, out + sizeof middle);
            return bytes;
        }
    }
    std::memcpy(out, x, block_elements * sizeof(T));
    return raw_code<T>;
}

/// @param code  0..raw_code<T>    @param in  block_room<T> readable bytes, need not be aligned    @param x  block_elements values
/// What an encoder wrote gives the same bits everywhere; so do other bytes, but for the payload of the sum of two NaN.
template <element T>
void decode_block(unsigned code, const std::byte* in, T* x) noexcept
{
    fetch_ahead(x, block_elements * sizeof(T));
    fetch<2>(in, 2 * fetch_distance, block_bytes<T>(code, block_elements));
    if (code == raw_code<T>) {
        std::memcpy(x, in, block_elements * sizeof(T));
        return;
    }
    T middle;
    std::memcpy(&middle, in, sizeof middle);
    if (code == 0)
        for (std::size_t i = 0; i < block_elements; ++i) x[i] = middle;
    else
        add_top_bytes<T>(code, middle, in + sizeof middle, x);
}

CCOLL_EXACT_END

}  // namespace ccoll::detail::szx
