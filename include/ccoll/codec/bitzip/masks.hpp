// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/masks.hpp - floor 2. A dictionary of up to eight bit masks, for the upper bits of cut values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ccoll/codec/bitzip/cut.hpp>

namespace ccoll::inline CCOLL_ABI::detail::bitzip {

inline constexpr std::size_t most_masks = 8;

/// A cut value that shares its upper bits with a mask has, behind its first bit (the sign, or the 0 that
/// tells it from a prediction):
///
///   1...1 (f bits)   no exponent field of the chunk begins so
///   mask             0 to 3 bits: which one
///   0                all kept bits are those of the mask
///   1 pp mantissa    exponent and 0, 2, 4 or 8 mantissa bits are those of the mask; the other kept bits
///                    follow
///
/// With one mask, which has no number, these are encodings 3 and 4 of figure 6 of Hu, IEEE Access 2023.
template <native_float T>
struct mask_dictionary {
    using fields = fields_of<T>;
    using word = typename fields::word;
    struct code {
        std::uint64_t bits;  ///< from the lowest bit on
        unsigned length;
    };
    struct value {
        word bits;
        unsigned length;  ///< of its code; 0: nobody writes such a code
    };

    unsigned flag_bits = 1;   ///< 1..3
    unsigned index_bits = 0;  ///< 0..3
    word mask[most_masks] = {};

    std::size_t count() const noexcept { return std::size_t{1} << index_bits; }

    /// The least number of flag bits that tells masks from all exponents up to this one; more than 3, if
    /// there is none.
    static unsigned flag_bits_for(word highest_exponent) noexcept
    {
        for (unsigned f = 1; f <= 3; ++f) {
            const word flags = (word{1} << f) - 1;
            if ((highest_exponent >> (static_cast<unsigned>(fields::exponent_bits) - f)) < flags) return f;
        }
        return 4;
    }

    /// The shortest code of a cut number, as it is or by the first mask with which it is so short.
    code encode(word cut, const bit_cut<T>& cutter) const noexcept
    {
        const unsigned b = cutter.mantissa_bits_of(cut);
        code best{cutter.code(cut), cutter.code_bits(cut)};
        const std::uint64_t front =
            (std::uint64_t{cut >> (fields::word_bits - 1)} << flag_bits) | ((1u << flag_bits) - 1);
        for (std::size_t j = 0; j < count(); ++j) {
            const auto differs = static_cast<word>((cut ^ mask[j]) & ~fields::sign);
            if (differs >> fields::mantissa_bits != 0) continue;
            const std::uint64_t head = front << index_bits | j;
            if (differs >> (static_cast<unsigned>(fields::mantissa_bits) - b) == 0) {
                if (2 + flag_bits + index_bits < best.length) best = {head << 1, 2 + flag_bits + index_bits};
                continue;
            }
            const unsigned equal =
                static_cast<unsigned>(fields::mantissa_bits) - static_cast<unsigned>(std::bit_width(differs));
            const unsigned place = equal >= 8 ? 3u : equal >= 4 ? 2u : equal >= 2 ? 1u : 0u;
            const unsigned left = b - shared_bits(place), length = 4 + flag_bits + index_bits + left;
            if (length < best.length)
                best = {
                    (head << 3 | 4u | place) << left | (cutter.code(cut) & ((std::uint64_t{1} << left) - 1)),
                    length};
        }
        return best;
    }

    /// The reverse. @param top  the next 64 bits of a stream
    value decode(std::uint64_t top, const bit_cut<T>& cutter) const noexcept
    {
        const auto is_masked = (top << 1 >> (64 - flag_bits)) == (1u << flag_bits) - 1;
        if (!is_masked) {
            const word plain = cutter.decode(top);
            const unsigned length = cutter.code_bits(plain);
            return {plain, cutter.code(plain) == top >> (64 - length) ? length : 0};  // 0 has no sign
        }
        const auto sign = static_cast<word>(top >> 63 << (fields::word_bits - 1));
        unsigned at = 1 + flag_bits;
        const auto take = [&](unsigned bits) {
            const std::uint64_t taken = bits == 0 ? 0 : top << at >> (64 - bits);
            at += bits;
            return taken;
        };
        const word like = mask[take(index_bits)];
        if (sign != 0 && like < fields::exponent_one) return {0, 0};
        if (take(1) == 0) return {static_cast<word>(like | sign), at};
        const unsigned b = cutter.mantissa_bits_of(like),
                       shared = shared_bits(static_cast<unsigned>(take(2)));
        if (shared >= b) return {0, 0};
        const unsigned dropped = static_cast<unsigned>(fields::mantissa_bits) - b, left = b - shared;
        const word upper =
            static_cast<word>(like >> (dropped + left) << left) | static_cast<word>(take(left));
        return {static_cast<word>(cutter.cut(static_cast<word>(upper << dropped)) | sign), at};
    }

private:
    static constexpr unsigned shared_bits(unsigned place) noexcept { return place == 0 ? 0u : 1u << place; }
};

/// Masks for some cut numbers: the middles of 1, 2, 4 or 8 equal parts of their magnitudes in order, as many
/// as make the codes shortest. One mask is the median, as in the paper.
/// @param magnitudes  without signs; are put in order
/// @return false if no masks make them shorter by more than they cost themselves
template <native_float T>
bool choose_masks(typename fields_of<T>::word* magnitudes, std::size_t n, const bit_cut<T>& cutter,
                  mask_dictionary<T>& best) noexcept
{
    if (n == 0) return false;
    std::sort(magnitudes, magnitudes + n);
    mask_dictionary<T> tried;
    tried.flag_bits = tried.flag_bits_for(bit_cut<T>::exponent_of(magnitudes[n - 1]));
    if (tried.flag_bits > 3) return false;
    std::size_t least = 0;
    for (std::size_t i = 0; i < n; ++i) least += cutter.code_bits(magnitudes[i]);
    bool found = false;
    for (tried.index_bits = 0; tried.index_bits <= 3; ++tried.index_bits) {
        const std::size_t count = tried.count();
        for (std::size_t j = 0; j < count; ++j) tried.mask[j] = magnitudes[(2 * j + 1) * n / (2 * count)];
        std::size_t bits = 8 * sizeof(T) * count;
        for (std::size_t i = 0; i < n; ++i) bits += tried.encode(magnitudes[i], cutter).length;
        if (bits >= least) continue;
        least = bits;
        best = tried;
        found = true;
    }
    return found;
}

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip
