// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/block.hpp - floor 2. A block of ZFP in one dimension: four values, a common exponent, and
// coefficients in bit planes.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/codec/zfp/planes.hpp>
#include <ccoll/policy/element.hpp>

namespace ccoll::inline CCOLL_ABI::detail::zfp {

inline constexpr std::size_t block_values = 4;

/// What a stream keeps of each block.
struct precision {
    std::size_t block_bits;  ///< of a block, padded; 0: as many as it needs
    int lowest_exponent;  ///< nothing below two to this power is kept, but for four bits that rounding needs

    /// @param floor  2^lowest_exponent is the largest power of two that is not above the bound
    static precision of_bound(int floor) noexcept { return {0, floor}; }
};

CCOLL_EXACT_BEGIN

template <native_float T>
struct block {
    using fields = fields_of<T>;
    using word = typename fields::word;
    using integer = typename fields::signed_word;
    static constexpr int bias = (1 << (fields::exponent_bits - 1)) - 1;
    static constexpr unsigned header_bits = 1 + fields::exponent_bits;

    /// The least e with |x| < 2^e for all four finite values, -bias where all are 0, and 1 - bias or more
    /// otherwise.
    static int exponent(const T* x) noexcept
    {
        word most = 0;
        for (std::size_t i = 0; i < block_values; ++i) most = std::max(most, fields::magnitude(x[i]));
        if (most == 0) return -bias;
        return std::max(static_cast<int>(most >> fields::mantissa_bits) - bias + 1, 1 - bias);
    }
    /// How many bit planes are kept of a block with this exponent.
    static unsigned planes(int exponent, int lowest_exponent) noexcept
    {
        return static_cast<unsigned>(std::clamp(exponent - lowest_exponent + 4, 0, int{fields::word_bits}));
    }

    /// x 2^k, also where 2^k is no normal number. Rounded at once, because it may be a denormal number.
    static T scaled(T x, int k) noexcept
    {
        CCOLL_EXACT_BODY
        const auto power = [](int e) {
            return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
        };
        if constexpr (sizeof(T) == 4) return static_cast<T>(static_cast<double>(x) * power(k));
        else return rounded(k >= -1022 && k <= 1023 ? x * power(k) : x * power(k / 2) * power(k - k / 2));
    }

    /// Coefficients in negabinary, whose upper planes are 0 where they are small.
    static void forward(const T* x, int exponent, word (&coefficient)[block_values]) noexcept
    {
        CCOLL_EXACT_BODY
        integer q[block_values];
        for (std::size_t i = 0; i < block_values; ++i)
            q[i] = static_cast<integer>(scaled(x[i], fields::word_bits - 2 - exponent));
        // Wrapping, as in the decoder.
        const auto mean = [](word a, word b) { return static_cast<word>(static_cast<integer>(a + b) >> 1); };
        const auto half = [](word a) { return static_cast<word>(static_cast<integer>(a) >> 1); };
        word a = static_cast<word>(q[0]), b = static_cast<word>(q[1]), c = static_cast<word>(q[2]),
             d = static_cast<word>(q[3]);
        a = mean(a, d);
        d -= a;
        c = mean(c, b);
        b -= c;
        a = mean(a, c);
        c -= a;
        d = mean(d, b);
        b -= d;
        d += half(b);
        b -= half(d);
        const word all[block_values] = {a, b, c, d};
        for (std::size_t i = 0; i < block_values; ++i) coefficient[i] = (all[i] + alternating) ^ alternating;
    }
    static void inverse(const word (&coefficient)[block_values], int exponent, T* x) noexcept
    {
        CCOLL_EXACT_BODY
        word all[block_values];
        for (std::size_t i = 0; i < block_values; ++i) all[i] = (coefficient[i] ^ alternating) - alternating;
        const auto half = [](word a) { return static_cast<word>(static_cast<integer>(a) >> 1); };
        word a = all[0], b = all[1], c = all[2], d = all[3];
        b += half(d);
        d -= half(b);
        b += d;
        d <<= 1;
        d -= b;
        c += a;
        a <<= 1;
        a -= c;
        b += c;
        c <<= 1;
        c -= b;
        d += a;
        a <<= 1;
        a -= d;
        const integer q[block_values] = {static_cast<integer>(a), static_cast<integer>(b),
                                         static_cast<integer>(c), static_cast<integer>(d)};
        for (std::size_t i = 0; i < block_values; ++i)
            x[i] = scaled(static_cast<T>(q[i]), exponent - (fields::word_bits - 2));
    }

    /// Encodes four finite values.
    /// @param decoded  what decode will make of them. Only if the precision has no block_bits
    static void encode(const T* x, const precision& wanted, bit_writer& to, T* decoded) noexcept
    {
        const int e = exponent(x);
        const unsigned count = planes(e, wanted.lowest_exponent);
        std::size_t used = 1;
        if (count > 0 && e > -bias) {
            const unsigned lowest = static_cast<unsigned>(fields::word_bits) - count;
            word coefficient[block_values];
            forward(x, e, coefficient);
            to.put(2 * static_cast<std::uint64_t>(e + bias) + 1, header_bits);
            used = header_bits + encode_planes(coefficient, lowest,
                                               wanted.block_bits > 0 ? wanted.block_bits - header_bits
                                                                     : ~std::size_t{0} >> 1,
                                               to);
            if (decoded != nullptr) {
                for (word& c : coefficient) c = static_cast<word>(c >> lowest << lowest);
                inverse(coefficient, e, decoded);
            }
        } else {
            to.put(0, 1);
            if (decoded != nullptr) std::fill_n(decoded, block_values, T(0));
        }
        if (wanted.block_bits > used) to.pad(wanted.block_bits - used);
    }
    /// Total. @param bit  where the block begins; then where it ends
    static void decode(const bit_source& from, std::size_t& bit, const precision& wanted, T* x) noexcept
    {
        const std::size_t begin = bit;
        const std::uint64_t front = from.peek(bit);
        if ((front & 1) != 0) {
            const int e =
                static_cast<int>(front >> 1 & ((std::uint64_t{1} << fields::exponent_bits) - 1)) - bias;
            const unsigned count = planes(e, wanted.lowest_exponent);
            word coefficient[block_values];
            bit += header_bits;
            decode_planes(from, bit, static_cast<unsigned>(fields::word_bits) - count,
                          wanted.block_bits > 0 ? wanted.block_bits - header_bits : ~std::size_t{0} >> 1,
                          coefficient);
            inverse(coefficient, e, x);
        } else {
            bit += 1;
            std::fill_n(x, block_values, T(0));
        }
        if (wanted.block_bits > 0) bit = begin + wanted.block_bits;
    }

private:
    static constexpr word alternating = static_cast<word>(0xaaaaaaaaaaaaaaaau);
};

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail::zfp
