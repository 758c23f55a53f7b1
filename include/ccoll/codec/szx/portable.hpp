// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx/portable.hpp - floor 2. One block of SZx in plain C++: 128 values in, bytes out, and back; f32
// and f64 in one text. All other instruction sets must give the same bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/codec/szx/quantiser.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szx::portable {

/// The narrowest type that holds `Bytes` bytes in one store, or else all of T. The next value then overwrites
/// the bytes that are too many.
template <element T, unsigned Bytes>
using unit = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, typename fields_of<T>::word>>>;

/// Stores the low `bytes` bytes of each word. Instantiated for each number of bytes, so that the stride is a
/// constant.
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

/// A product that a sum will meet. Nothing is to be done where plain code has no FMA: loops with a fence are
/// not vectorised.
template <element T>
T product(T a, T b) noexcept
{
    CCOLL_EXACT_BODY
#if defined(__x86_64__) && !defined(__FMA__)
    return a * b;
#else
    return rounded(a * b);
#endif
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
        const word count =
            (static_cast<word>(low) & (~word{0} >> (8 * (sizeof(T) - Bytes)))) | origin_bits<T>;
        x[i] = middle + product(std::bit_cast<T>(count) - origin, step);
    }
}

/// Folds 2 * Half values into the least and the largest. There is one loop per step because compilers
/// vectorise these, but not one long loop.
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

/// The first half of the work. Plan the next block before you encode this one, so that the processor does
/// both at the same time. A plan is one long chain of operations, and a processor that waits for it does
/// nothing else.
/// @param x      block_elements values, any
template <element T>
block_plan<T> plan_block(const T* x, const block_scale<T>& scale) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    typename fields::word wild = 0;
    for (std::size_t i = 0; i < block_elements; ++i)
        // Reaches the sign where all ones.
        wild |= (fields::of(x[i]) & fields::exponent) + fields::exponent_one;
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
/// @param out    block_room<T> bytes, need not be aligned; block_bytes of them are the block, the rest is
///               unspecified
/// @return       the code of the block
///
/// Why the bound holds. Let x' be what the decoder computes from the same operands, L = limit <= eb, and fl
/// the rounding of T.
/// A value passes if fl(|x' - x|) < L. fl is monotone and L is a T: |x' - x| >= L would give fl(|x' - x|) >=
/// fl(L) = L.
/// Hence |x' - x| < L <= eb, exactly; no margin is needed beyond the strict "<". The comparison is one of
/// integers, where NaN and Inf are larger than every finite L: a value that is not finite, or does not decode
/// to a finite number, never passes.
/// Constant blocks: all values are finite and between low and high; |middle - x| is largest at one of these
/// two.
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
            for (std::size_t i = 0; i < block_elements; ++i)
                counts[i] = fields::of(product(x[i] - middle, inverse) + origin);
        } else {
            const word bound = fields::of(scale.limit);
            for (std::size_t i = 0; i < block_elements; ++i) {
                const T scaled = product(x[i] - middle, inverse) + origin;
                counts[i] = fields::of(scaled);
                const T decoded = middle + product(scaled - origin, step);
                // Negative unless strictly below the bound.
                wrong |= (bound - 1) - fields::magnitude(decoded - x[i]);
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

/// @param code  0..raw_code<T>
/// @param in  block_room<T> readable bytes, need not be aligned
/// @param x  block_elements values
/// Any bytes give the same values on every machine, whether an encoder wrote them or not.
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
    else add_steps<T>(code, middle, step, in + sizeof middle, x);
}

/// Other sets write whole blocks past the caches; this one does not. @return 0 blocks
template <element T>
std::size_t stream_blocks(const std::byte*, std::size_t, const_byte_span, T, T*) noexcept
{
    return 0;
}

}  // namespace ccoll::detail::szx::portable

#include <ccoll/base/kernels_end.inl>
