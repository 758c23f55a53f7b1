// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/lossless/streams.hpp - floor 2. Words of the same place in all elements, in as many bits as
// neighbours differ by.
//
// An element is seen as words of 8, 4, 2 or 1 bytes: a number is one word, a struct has several, roughly one
// for each member. The first words of all elements of a chunk form a stream, the second words the next one,
// and so on. A chunk is its streams:
//
//   0  u8 head      lowest 7 bits: `shift`, the number of low bits that all words share with the base; top
//                   bit: `alone`
//   1  base         the first word
//   ..  blocks      of 64 words, the last may be shorter; none where all words are equal (shift: all bits)
//
//   block   u8 width, then `width` bits of each residual, in parts (see pack); a shorter block: whole bytes
//           of each
//
// Residuals: if `alone`, a word xor the base. Otherwise a word less the word before it (before the first one:
// the base), with the sign in the lowest bit. The lowest `shift` bits of a residual are 0 or repeat the sign,
// and are not stored.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <ccoll/codec/codec_impl.hpp>

namespace ccoll::inline CCOLL_ABI::detail::lossless {

inline constexpr std::size_t block_words = 64;
/// Width of the vectors that compilers use by default; does not change the bytes.
inline constexpr std::size_t vector_bytes = 16;
inline constexpr unsigned alone_flag = 0x80;

/// An element with more words than this is treated as an array rather than a record: all its words are one
/// stream.
inline constexpr std::size_t most_streams = 32;

/// A struct is cut into words of its alignment, of 4 bytes at most. A member of 8 bytes loses a bit or two
/// when it is treated as two words, while two members of 4 bytes would gain nothing as one word.
template <element T>
inline constexpr std::size_t word_bytes = [] {
    std::size_t whole = sizeof(T), word = 8;
    if constexpr (complex_element<T>) whole = sizeof(typename T::value_type);
    else if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
        whole = alignof(T);
        word = 4;
    }
    while (whole % word != 0) word /= 2;
    return word;
}();

template <std::size_t Bytes>
using word_of =
    std::conditional_t<Bytes == 8, std::uint64_t,
                       std::conditional_t<Bytes == 4, std::uint32_t,
                                          std::conditional_t<Bytes == 2, std::uint16_t, std::uint8_t>>>;

CCOLL_EXACT_BEGIN  // for its optimisation

/// Words that lie `Step` bytes apart.
template <class Word, std::size_t Step>
struct stream_coder {
    /// What residuals cost.
    struct survey {
        std::size_t bytes;
        unsigned shift;
        bool is_alone;
    };
    static survey look(const std::byte* from, std::size_t n) noexcept
    {
        Word base, copy[1 + block_words];
        std::memcpy(&base, from, sizeof base);
        cost alone, chained;
        Word any = 0;
        for (std::size_t at = 0; at < n; at += block_words) {
            const std::byte* const x = words_at(from, n, at, copy);
            Word a = 0, c = 0;
            for (std::size_t i = 0; i < block_words; ++i) {
                a = static_cast<Word>(a | (get(x, i) ^ base));
                c = static_cast<Word>(c | difference(get(x, i), get(x - sizeof(Word), i)));
            }
            any = static_cast<Word>(any | a);
            alone.add(a, n - at);
            chained.add(c, n - at);
        }
        const unsigned shift = any != 0 ? static_cast<unsigned>(std::countr_zero(any)) : word_bits;
        const bool is_alone = alone.bytes(shift) <= chained.bytes(shift);
        const std::size_t blocks = (n + block_words - 1) / block_words;
        return {any == 0 ? front : front + blocks + (is_alone ? alone : chained).bytes(shift), shift,
                is_alone};
    }

    static encode_result encode(const std::byte* from, std::size_t n, byte_span dst) noexcept
    {
        return encode(from, n, dst, look(from, n));
    }
    static encode_result encode(const std::byte* from, std::size_t n, byte_span dst,
                                const survey& of) noexcept
    {
        const auto [bytes, shift, is_alone] = of;
        if (bytes > dst.size()) return {0, status::out_of_space};
        Word base, copy[1 + block_words];
        std::memcpy(&base, from, sizeof base);

        std::byte* out = dst.data();
        out[0] = static_cast<std::byte>(shift | (is_alone ? alone_flag : 0));
        std::memcpy(out + 1, &base, sizeof base);
        if (shift == word_bits) return {bytes};
        out += front;
        for (std::size_t at = 0; at < n; at += block_words) {
            const std::byte* const x = words_at(from, n, at, copy);
            Word residual[block_words], all = 0;
            if (is_alone)
                for (std::size_t i = 0; i < block_words; ++i)
                    residual[i] = static_cast<Word>(get(x, i) ^ base);
            else
                for (std::size_t i = 0; i < block_words; ++i)
                    residual[i] = difference(get(x, i), get(x - sizeof(Word), i));
            if (shift != 0)
                for (Word& r : residual) r = static_cast<Word>(r >> shift);
            for (const Word r : residual) all = static_cast<Word>(all | r);
            const auto width = static_cast<unsigned>(std::bit_width(all));
            *out++ = static_cast<std::byte>(width);
            if (n - at >= block_words) {
                pack<word_bits>(residual, width, out);
            } else {
                for (std::size_t i = 0; i < n - at; ++i)
                    std::memcpy(out + i * whole_bytes(width), residual + i, whole_bytes(width));
            }
            out += packed_bytes(n - at, width);
        }
        return {bytes};
    }

    /// Decodes the stream at the front of `src`, and removes it from there.
    static status decode(const_byte_span& src, std::byte* to, std::size_t n) noexcept
    {
        if (src.size() < 1 + sizeof(Word)) return status::corrupt;
        const auto head = static_cast<unsigned>(src[0]), shift = head & ~alone_flag;
        if (shift > word_bits) return status::corrupt;
        const Word base = ccoll::load<Word>(src, 1);
        src = src.subspan(1 + sizeof base);
        Word x[block_words], running = base;
        std::fill_n(x, block_words, base);
        for (std::size_t at = 0; at < n; at += block_words, to += block_words * Step) {
            const std::size_t count = std::min(block_words, n - at);
            if (shift < word_bits) {
                if (src.empty()) return status::corrupt;
                const auto width = static_cast<unsigned>(src[0]);
                const std::size_t bytes = packed_bytes(count, width);
                src = src.subspan(1);
                if (width > word_bits - shift || src.size() < bytes) return status::corrupt;
                std::fill_n(x, block_words, Word{0});
                if (count == block_words) {
                    unpack<1>(x, width, src.data() + bytes);
                } else {
                    for (std::size_t i = 0; i < count; ++i)
                        std::memcpy(x + i, src.data() + i * whole_bytes(width), whole_bytes(width));
                }
                src = src.subspan(bytes);
                const bool is_alone = (head & alone_flag) != 0;
                if (!is_alone)
                    for (Word& v : x) v = static_cast<Word>((v >> 1) ^ (0 - (v & 1)));
                if (shift != 0)
                    for (Word& v : x) v = static_cast<Word>(v << shift);
                if (is_alone)
                    for (Word& v : x) v = static_cast<Word>(v ^ base);
                else
                    for (std::size_t i = 0; i < count; ++i)
                        put(to, i, running = static_cast<Word>(running + x[i]));
                if (!is_alone) continue;
            }
            for (std::size_t i = 0; i < count; ++i) put(to, i, x[i]);
        }
        return status::ok;
    }

private:
    static constexpr unsigned word_bits = 8 * sizeof(Word);
    static constexpr std::size_t front = 1 + sizeof(Word);

    static constexpr std::size_t whole_bytes(unsigned width) noexcept { return (width + 7) / 8; }
    static constexpr std::size_t packed_bytes(std::size_t words, unsigned width) noexcept
    {
        return words >= block_words ? width * block_words / 8 : words * whole_bytes(width);
    }

    /// The bytes of all blocks, without their widths, for one kind of residuals.
    struct cost {
        std::size_t planes = 0, blocks = 0;  // of the blocks before the last one that have any bits
        std::size_t last_words = 0;
        unsigned last_width = 0;

        void add(Word all, std::size_t words) noexcept
        {
            planes += last_width;
            blocks += last_width != 0;
            last_width = static_cast<unsigned>(std::bit_width(all));
            last_words = words;
        }
        /// A residual that is not 0 has more than `shift` bits.
        std::size_t bytes(unsigned shift) const noexcept
        {
            return (planes - shift * blocks) * block_words / 8 +
                   packed_bytes(last_words, last_width != 0 ? last_width - shift : 0);
        }
    };

    static Word get(const std::byte* x, std::size_t i) noexcept
    {
        Word w;
        std::memcpy(&w, x + i * sizeof w, sizeof w);
        return w;
    }
    static void put(std::byte* to, std::size_t i, Word w) noexcept
    {
        std::memcpy(to + i * Step, &w, sizeof w);
    }
    static Word difference(Word a, Word b) noexcept
    {
        const auto d = static_cast<Word>(a - b);
        return static_cast<Word>(static_cast<Word>(d << 1) ^ static_cast<Word>(0 - (d >> (word_bits - 1))));
    }

    /// A block of words side by side, with the word before them in front. Beyond the end, the last word is
    /// repeated.
    static const std::byte* words_at(const std::byte* from, std::size_t n, std::size_t at,
                                     Word* copy) noexcept
    {
        from += at * Step;
        const std::size_t count = std::min(block_words, n - at);
        if (Step == sizeof(Word) && count == block_words && at > 0) return from;
        std::memcpy(copy, at > 0 ? from - Step : from, sizeof *copy);
        for (std::size_t i = 0; i < count; ++i) std::memcpy(copy + 1 + i, from + i * Step, sizeof *copy);
        std::fill(copy + 1 + count, copy + 1 + block_words, copy[count]);
        return reinterpret_cast<const std::byte*>(copy + 1);
    }

    template <unsigned Bits>
    static constexpr Word low = static_cast<Word>(static_cast<Word>(~Word{0}) >> (word_bits - Bits));

    // `width` is a sum of powers of two. Each of them is a part: so many bits of all residuals, from their
    // lowest bit on, the largest part first. A part consists of words; word j has the bits of residuals j, j
    // + words, j + 2 words, ... from its lowest bit on.
    // The loops have constant lengths and shifts and no branches, so that any compiler vectorises them.

    template <unsigned Bits>
    static constexpr std::size_t part_words = Bits * block_words / word_bits;

    template <unsigned Bits>
    static void pack(Word* residual, unsigned width, std::byte* out) noexcept
    {
        if ((width & Bits) != 0) {
            Word part[block_words];
            for (std::size_t i = 0; i < block_words; ++i) {
                part[i] = static_cast<Word>(residual[i] & low<Bits>);
                if constexpr (Bits < word_bits) residual[i] = static_cast<Word>(residual[i] >> Bits);
            }
            fold<Bits, word_bits / 2, block_words / 2>(part);
            std::memcpy(out, part, part_words<Bits> * sizeof(Word));
            out += part_words<Bits> * sizeof(Word);
        }
        if constexpr (Bits > 1) pack<Bits / 2>(residual, width, out);
    }
    template <unsigned Bits, unsigned Shift, std::size_t Count>
    static void fold(Word* part) noexcept
    {
        if constexpr (Shift >= Bits) {
            for (std::size_t i = 0; i < Count; ++i)
                part[i] = static_cast<Word>(part[i] | static_cast<Word>(part[i + Count] << Shift));
            fold<Bits, Shift / 2, Count / 2>(part);
        }
    }

    /// From the end of a block, into words that are 0.
    template <unsigned Bits>
    static void unpack(Word* residual, unsigned width, const std::byte* end) noexcept
    {
        if ((width & Bits) != 0) {
            constexpr std::size_t words = part_words<Bits>,
                                  wide = std::max(words, vector_bytes / sizeof(Word));
            Word part[wide];
            end -= words * sizeof(Word);
            std::memcpy(part, end, words * sizeof(Word));
            for (std::size_t i = words; i < wide; ++i)
                part[i] = static_cast<Word>(part[i % words] >> i / words * Bits);
            unfold<Bits, wide>(residual, part, std::make_index_sequence<block_words / wide>{});
        }
        if constexpr (Bits < word_bits) unpack<2 * Bits>(residual, width, end);
    }
    template <unsigned Bits, std::size_t Wide, std::size_t... Row>
    static void unfold(Word* residual, const Word* part, std::index_sequence<Row...>) noexcept
    {
        (unfold_row<Bits, Wide, Row>(residual + Row * Wide, part), ...);
    }
    template <unsigned Bits, std::size_t Wide, std::size_t Row>
    static void unfold_row(Word* residual, const Word* part) noexcept
    {
        for (std::size_t i = 0; i < Wide; ++i) {
            constexpr std::size_t first_bit = Row * Wide / part_words<Bits> * Bits;
            if constexpr (Bits == word_bits) residual[i] = part[i];
            else
                residual[i] = static_cast<Word>(static_cast<Word>(residual[i] << Bits) |
                                                (static_cast<Word>(part[i] >> first_bit) & low<Bits>));
        }
    }
};

CCOLL_EXACT_END

}  // namespace ccoll::detail::lossless
