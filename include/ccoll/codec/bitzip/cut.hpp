// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/cut.hpp - floor 2. Bit cut: as many mantissa bits of a number as its bound needs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/policy/element.hpp>

namespace ccoll::inline CCOLL_ABI::detail::bitzip {

/// The b of the papers: with 2^-x <= E < 2^(1-x) and 2^y <= |d| < 2^(y+1), the upper x + y mantissa bits are
/// kept, but none if that is negative, and never more than there are. In place of the others a decoder puts
/// 1000..., so errors are at most 2^(y-b-1), half of E. Numbers with the exponent field 0 become 0, because
/// bounds are normal numbers.
template <native_float T>
class bit_cut {
public:
    using fields = fields_of<T>;
    using word = typename fields::word;
    static constexpr unsigned front_bits = 1 + fields::exponent_bits;  ///< sign and exponent

    /// @param limit  the bound: a normal number > 0
    explicit bit_cut(T limit) noexcept : lowest_(static_cast<int>(fields::of(limit) >> fields::mantissa_bits))
    {}

    /// b for a number with this exponent field.
    unsigned mantissa_bits(word exponent) const noexcept
    {
        const int b = static_cast<int>(exponent) - lowest_;
        return exponent == 0 ? 0u : static_cast<unsigned>(std::clamp(b, 0, int{fields::mantissa_bits}));
    }
    static word exponent_of(word bits) noexcept { return (bits & fields::exponent) >> fields::mantissa_bits; }
    unsigned mantissa_bits_of(word bits) const noexcept { return mantissa_bits(exponent_of(bits)); }

    /// The number that a decoder has in place of one with these bits.
    word cut(word bits) const noexcept
    {
        const word exponent = exponent_of(bits);
        return exponent == 0 ? word{0} : filled(bits, mantissa_bits(exponent));
    }

    /// Sign, exponent and b mantissa bits, from the lowest bit on.
    word code(word bits) const noexcept
    {
        return static_cast<word>(bits >>
                                 (static_cast<unsigned>(fields::mantissa_bits) - mantissa_bits_of(bits)));
    }
    unsigned code_bits(word bits) const noexcept { return front_bits + mantissa_bits_of(bits); }

    /// The reverse of code: from the top bits of a stream, of which code_bits(result) belong to it.
    word decode(std::uint64_t top) const noexcept
    {
        const auto bits = static_cast<word>(top >> (64 - fields::word_bits));
        const word exponent = exponent_of(bits);
        return exponent == 0 ? word{0} : filled(bits, mantissa_bits(exponent));
    }
    struct value {
        word bits;        ///< of the number that a decoder has
        unsigned length;  ///< of its code; 0: nobody writes such a code
    };
    /// The same with the length, where streams may be damaged.
    value read(std::uint64_t top) const noexcept
    {
        const word kept = decode(top);
        const bool minus_zero = kept == 0 && top >> 63 != 0;
        return {kept, minus_zero ? 0 : code_bits(kept)};
    }

private:
    static word filled(word bits, unsigned kept) noexcept
    {
        const unsigned dropped = static_cast<unsigned>(fields::mantissa_bits) - kept;
        return static_cast<word>((bits >> dropped << dropped) | (word{1} << dropped >> 1));
    }

    int lowest_;  ///< the exponent field of the largest power of two that is not above the bound
};

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip
