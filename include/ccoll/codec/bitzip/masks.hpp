// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/masks.hpp - floor 2. A dictionary of up to eight bit masks, for the upper bits of cut values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ccoll/codec/bitzip/cut.hpp>
#include <ccoll/codec/codec_impl.hpp>

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
    using value = typename bit_cut<T>::value;

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
            const word differs = difference(cut, j);
            const unsigned length = masked_bits(differs, b);
            if (length >= best.length) continue;
            const std::uint64_t head = front << index_bits | j;
            best = {head << 1, length};
            if (kept_of(differs, b) == 0) continue;
            const unsigned place = place_of(differs), left = b - shared_bits(place);
            best.bits =
                (head << 3 | 4u | place) << left | (cutter.code(cut) & ((std::uint64_t{1} << left) - 1));
        }
        return best;
    }
    /// The length of this code. The fewer bits differ from a mask, the shorter it is.
    unsigned code_bits(word cut, const bit_cut<T>& cutter) const noexcept
    {
        word differs = difference(cut, 0);
        for (std::size_t j = 1; j < count(); ++j) differs = std::min(differs, difference(cut, j));
        return std::min(cutter.code_bits(cut), masked_bits(differs, cutter.mantissa_bits_of(cut)));
    }

    /// The reverse. @param top  the next 64 bits of a stream
    value decode(std::uint64_t top, const bit_cut<T>& cutter) const noexcept
    {
        const auto is_masked = (top << 1 >> (64 - flag_bits)) == (1u << flag_bits) - 1;
        if (!is_masked) return cutter.read(top);
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
    word difference(word cut, std::size_t j) const noexcept
    {
        return static_cast<word>((cut ^ mask[j]) & ~fields::sign);
    }
    /// Without the bits that are not kept.
    static word kept_of(word differs, unsigned b) noexcept
    {
        return static_cast<word>(differs >> (static_cast<unsigned>(fields::mantissa_bits) - b));
    }
    /// The length of a code with a mask that differs so; that of none, if the exponent does.
    unsigned masked_bits(word differs, unsigned b) const noexcept
    {
        if (differs >> fields::mantissa_bits != 0) return ~0u;
        const unsigned front = 2 + flag_bits + index_bits;
        return kept_of(differs, b) == 0 ? front : front + 2 + b - shared_bits(place_of(differs));
    }
    static unsigned place_of(word differs) noexcept
    {
        const unsigned equal =
            static_cast<unsigned>(fields::mantissa_bits) - static_cast<unsigned>(std::bit_width(differs));
        return equal >= 8 ? 3u : equal >= 4 ? 2u : equal >= 2 ? 1u : 0u;
    }
    static constexpr unsigned shared_bits(unsigned place) noexcept { return place == 0 ? 0u : 1u << place; }
};

/// Up to max_chunk_elements numbers in order.
///
/// Only their upper halves are, because the whole numbers of a chunk of f64 would take 64 KiB of stack. The
/// numbers that have one upper half are a range of places, which has room for their lower halves.
template <class Word>
class numbers_in_order {
public:
    /// @param each  each(visit) calls visit(number) for all of them
    template <class Each>
    explicit numbers_in_order(const Each& each) noexcept
    {
        each([&](Word number) { half_[count_++] = upper_half(number); });
        std::sort(half_, half_ + count_);
    }
    std::size_t count() const noexcept { return count_; }
    /// The highest number, with 0 for its lower half. There is one.
    Word highest() const noexcept { return Word{half_[count_ - 1]} << lower_bits; }

    /// The numbers at some places. May be called once.
    /// @param each  as above
    template <class Each, std::size_t Wanted>
    void find(const Each& each, const std::size_t (&place)[Wanted], Word (&found)[Wanted]) noexcept
    {
        for (std::size_t k = 0; k < Wanted; ++k) found[k] = Word{half_[place[k]]} << lower_bits;
        if constexpr (lower_bits != 0) {
            range ranges[Wanted];
            std::size_t different = 0;
            for (const Word number : found) {
                const std::uint32_t upper = upper_half(number);
                const auto same = [&](const range& r) { return r.upper == upper; };
                if (std::any_of(ranges, ranges + different, same)) continue;
                const auto begin =
                    static_cast<std::size_t>(std::lower_bound(half_, half_ + count_, upper) - half_);
                ranges[different++] = {upper, begin, begin};
            }
            each([&](Word number) {
                for (std::size_t k = 0; k < different; ++k)
                    if (ranges[k].upper == upper_half(number))
                        half_[ranges[k].end++] = static_cast<std::uint32_t>(number);
            });
            for (std::size_t k = 0; k < different; ++k)
                std::sort(half_ + ranges[k].begin, half_ + ranges[k].end);
            for (std::size_t k = 0; k < Wanted; ++k) found[k] |= half_[place[k]];
        }
    }

private:
    static constexpr unsigned lower_bits = 8 * sizeof(Word) - 32;
    struct range {
        std::uint32_t upper;
        std::size_t begin, end;
    };
    static std::uint32_t upper_half(Word number) noexcept
    {
        return static_cast<std::uint32_t>(number >> lower_bits);
    }

    std::uint32_t half_[max_chunk_elements];
    std::size_t count_ = 0;
};

/// Masks for some cut numbers: the middles of 1, 2, 4 or 8 equal parts of their magnitudes in order, as many
/// as make the codes shortest. One mask is the median, as in the paper.
/// @param each  each(visit) calls visit(magnitude) for all of them, at most max_chunk_elements
/// @return false if no masks make them shorter by more than they cost themselves
template <native_float T, class Each>
bool choose_masks(const Each& each, const bit_cut<T>& cutter, mask_dictionary<T>& best) noexcept
{
    using word = typename fields_of<T>::word;
    numbers_in_order<word> magnitudes(each);
    const std::size_t n = magnitudes.count();
    if (n == 0) return false;
    const unsigned flag_bits =
        mask_dictionary<T>::flag_bits_for(bit_cut<T>::exponent_of(magnitudes.highest()));
    if (flag_bits > 3) return false;

    constexpr unsigned dictionaries = 4, masks = 1 + 2 + 4 + 8;
    std::size_t place[masks];
    word found[masks];
    for (std::size_t count = 1, k = 0; k < masks; count *= 2)
        for (std::size_t j = 0; j < count; ++j) place[k++] = (2 * j + 1) * n / (2 * count);
    magnitudes.find(each, place, found);

    mask_dictionary<T> tried[dictionaries];
    std::size_t bits[dictionaries], least = 0;
    const word* next = found;
    for (unsigned d = 0; d < dictionaries; ++d) {
        tried[d].flag_bits = flag_bits;
        tried[d].index_bits = d;
        std::copy_n(next, tried[d].count(), tried[d].mask);
        next += tried[d].count();
        bits[d] = 8 * sizeof(T) * tried[d].count();
    }
    each([&](word magnitude) {
        least += cutter.code_bits(magnitude);
        for (unsigned d = 0; d < dictionaries; ++d) bits[d] += tried[d].code_bits(magnitude, cutter);
    });
    bool shorter = false;
    for (unsigned d = 0; d < dictionaries; ++d) {
        if (bits[d] >= least) continue;
        least = bits[d];
        best = tried[d];
        shorter = true;
    }
    return shorter;
}

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip
