// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/changes/coder.hpp - floor 2. Slices of changes: written from two vectors, and applied to one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ccoll/base/extremes.hpp>
#include <ccoll/codec/changes/kernels.hpp>
#include <ccoll/codec/changes/layout.hpp>

namespace ccoll::inline CCOLL_ABI::detail::changes {

// ---- bits ----

/// Values of up to 64 bits, one after another. Writes up to 8 bytes behind the last one.
class bit_writer {
public:
    explicit bit_writer(std::byte* to) noexcept : to_(to) {}
    /// @param width  1..64
    void put(std::uint64_t value, unsigned width) noexcept
    {
        held_ |= value << used_;
        used_ += width;
        if (used_ < 64) return;
        std::memcpy(to_, &held_, 8);
        to_ += 8;
        used_ -= 64;
        held_ = used_ == 0 ? 0 : value >> (width - used_);
    }
    /// @return behind the last byte
    std::byte* finish() noexcept
    {
        std::memcpy(to_, &held_, 8);
        return to_ + (used_ + 7) / 8;
    }

private:
    std::byte* to_;
    std::uint64_t held_ = 0;
    unsigned used_ = 0;
};

class bit_reader {
public:
    explicit bit_reader(const_byte_span from) noexcept : from_(from) {}
    /// @param width  1..64
    /// Behind the end there are zeros, which has_overrun() tells.
    std::uint64_t take(unsigned width) noexcept
    {
        if (width > 56) {
            const std::uint64_t low = take(32);
            return low | take(width - 32) << 32;
        }
        const std::size_t at = bit_ / 8;
        std::uint64_t held = 0;
        if (at + 8 <= from_.size()) std::memcpy(&held, from_.data() + at, 8);
        else if (at < from_.size()) std::memcpy(&held, from_.data() + at, from_.size() - at);
        held >>= bit_ % 8;
        bit_ += width;
        return held & ((std::uint64_t{1} << width) - 1);
    }
    bool has_overrun() const noexcept { return bit_ > 8 * from_.size(); }
    std::size_t bytes() const noexcept { return (bit_ + 7) / 8; }
    /// Is the rest of the last byte zero?
    bool ends_in_zeros() const noexcept
    {
        return bit_ % 8 == 0 || static_cast<unsigned>(from_[bit_ / 8]) >> (bit_ % 8) == 0;
    }

private:
    const_byte_span from_;
    std::size_t bit_ = 0;
};

// ---- values ----

/// z of a change by `difference`, which is not 0.
template <word Word>
constexpr Word number_of(Word difference) noexcept
{
    constexpr unsigned top = bits_of<Word> - 1;
    const auto sign = static_cast<Word>(difference >> top);
    return static_cast<Word>(static_cast<Word>(difference << 1) ^ static_cast<Word>(Word{0} - sign));
}
template <word Word>
constexpr Word difference_of(Word z) noexcept
{
    return static_cast<Word>((z >> 1) ^ static_cast<Word>(Word{0} - static_cast<Word>(z & 1)));
}

/// The width for values of these lengths that takes the fewest bits.
/// @param lengths  lengths[k]: how many values z need k bits
struct best_width {
    unsigned width = 1;
    std::size_t bits = 0;

    best_width(const std::uint16_t* lengths, unsigned word_bits, std::size_t count) noexcept
        : bits(std::size_t{0} - 1)
    {
        std::size_t longer = count;
        for (unsigned w = 1; w <= word_bits; ++w) {
            longer -= lengths[w];
            const std::size_t all = count * w + longer * word_bits;
            if (all < bits) {
                width = w;
                bits = all;
            }
            if (longer == 0) break;
        }
    }
};

template <word Word>
void put_values(bit_writer& to, const Word* values, std::size_t count, unsigned width) noexcept
{
    const std::uint64_t all_ones = ~std::uint64_t{0} >> (64 - width);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t z = values[i];
        const bool fits = z - 1 < all_ones;
        to.put(fits ? z - 1 : all_ones, width);
        if (!fits) to.put(z, bits_of<Word>);
    }
}
template <word Word>
Word take_value(bit_reader& from, unsigned width, std::uint64_t all_ones) noexcept
{
    const std::uint64_t code = from.take(width);
    return static_cast<Word>(code == all_ones ? from.take(bits_of<Word>) : code + 1);
}

// ---- blocks ----

/// Where the changes of a block are put while its form is chosen.
template <word Word>
struct block_changes {
    std::size_t count = 0, gap_bytes = 0;
    std::uint16_t lengths[bits_of<Word> + 1];  ///< of the values, in bits
    Word values[block_words];
    std::uint8_t gaps[block_words + block_words / skip + 1];

    void collect(const block_mask& mask, const std::byte* now, const std::byte* before,
                 std::size_t words) noexcept
    {
        std::memset(lengths, 0, sizeof lengths);
        std::size_t n = 0, next = 0;
        std::uint8_t* gap = gaps;
        for (std::size_t base = 0; base < words; base += 64)
            for (std::uint64_t bits = mask.of[base / 64]; bits != 0; bits &= bits - 1) {
                const std::size_t i = base + static_cast<std::size_t>(std::countr_zero(bits));
                Word a, b;
                std::memcpy(&a, now + i * sizeof(Word), sizeof(Word));
                std::memcpy(&b, before + i * sizeof(Word), sizeof(Word));
                const Word z = number_of(static_cast<Word>(a - b));
                values[n++] = z;
                ++lengths[std::bit_width(z)];
                std::size_t distance = i - next;
                for (; distance >= skip; distance -= skip) *gap++ = skip;
                *gap++ = static_cast<std::uint8_t>(distance);
                next = i + 1;
            }
        count = n;
        gap_bytes = static_cast<std::size_t>(gap - gaps);
    }
};

/// Appends a block.
/// @param to  room for 1 + words * sizeof(Word) bytes, and for 8 more, which are written
/// @return behind its last byte
template <word Word>
std::byte* put_block(std::byte* to, const std::byte* now, const std::byte* before, std::size_t words,
                     block_changes<Word>& work) noexcept
{
    block_mask mask;
    if (find_changes<Word>(now, before, words, mask) == 0) {
        *to++ = std::byte{unchanged_head};
        return to;
    }
    work.collect(mask, now, before, words);
    const best_width best(work.lengths, bits_of<Word>, work.count);
    const std::size_t by_gaps = 2 + work.gap_bytes, by_mask = (words + 7) / 8;
    if (std::min(by_gaps, by_mask) + (best.bits + 7) / 8 >= words * sizeof(Word)) {
        *to++ = std::byte{raw_head};
        std::memcpy(to, now, words * sizeof(Word));
        return to + words * sizeof(Word);
    }
    if (by_gaps <= by_mask) {
        *to++ = static_cast<std::byte>(best.width);
        const auto bytes = static_cast<std::uint16_t>(work.gap_bytes);
        std::memcpy(to, &bytes, 2);
        std::memcpy(to + 2, work.gaps, work.gap_bytes);
        to += by_gaps;
    } else {
        *to++ = static_cast<std::byte>(mask_heads + best.width);
        std::memcpy(to, mask.of, by_mask);
        to += by_mask;
    }
    bit_writer values(to);
    put_values<Word>(values, work.values, work.count, best.width);
    return values.finish();
}

template <word Word>
void change(std::byte* at, Word z) noexcept
{
    Word w;
    std::memcpy(&w, at, sizeof(Word));
    w = static_cast<Word>(w + difference_of(z));
    std::memcpy(at, &w, sizeof(Word));
}

/// Changes on their way to memory. Their words are far from each other, so that the processor does not guess
/// the next one, and each would be waited for: so the line of a change is fetched when it is read, and the
/// change is made when some more have been read.
template <word Word>
class delayed_changes {
public:
    delayed_changes() = default;
    delayed_changes(const delayed_changes&) = delete;
    delayed_changes& operator=(const delayed_changes&) = delete;
    ~delayed_changes()
    {
        const std::size_t n = count_ < delay ? count_ : delay;
        for (std::size_t i = 0; i < n; ++i) change(at_[i], z_[i]);
    }
    void put(std::byte* at, Word z) noexcept
    {
        fetch<2>(at, 0, 1);
        const std::size_t i = count_++ % delay;
        if (count_ > delay) change(at_[i], z_[i]);
        at_[i] = at;
        z_[i] = z;
    }

private:
    static constexpr std::size_t delay = 64;

    std::byte* at_[delay];
    Word z_[delay];
    std::size_t count_ = 0;
};

/// Applies a block.
/// @param src  begins with the block; becomes what is behind it
/// @param out  `words` words, which are the old ones
template <word Word>
status apply_block(const_byte_span& src, std::byte* out, std::size_t words,
                   delayed_changes<Word>& changes) noexcept
{
    if (src.empty()) return status::corrupt;
    const auto head = static_cast<unsigned>(src[0]);
    src = src.subspan(1);
    if (head == unchanged_head) return status::ok;
    if (head == raw_head) {
        const std::size_t bytes = words * sizeof(Word);
        if (src.size() < bytes) return status::corrupt;
        std::memcpy(out, src.data(), bytes);
        src = src.subspan(bytes);
        return status::ok;
    }
    const bool has_mask = head > mask_heads;
    const unsigned width = has_mask ? head - mask_heads : head;
    if (width > bits_of<Word>) return status::corrupt;
    const std::uint64_t all_ones = ~std::uint64_t{0} >> (64 - width);
    if (!has_mask) {
        if (src.size() < 2) return status::corrupt;
        const std::size_t gap_bytes = load<std::uint16_t>(src, 0);
        if (src.size() - 2 < gap_bytes) return status::corrupt;
        const const_byte_span gaps = src.subspan(2, gap_bytes);
        src = src.subspan(2 + gap_bytes);
        bit_reader values(src);
        std::size_t at = 0;
        for (const std::byte each : gaps) {
            const auto gap = static_cast<unsigned>(each);
            at += gap;
            if (gap == skip) continue;
            if (at >= words) return status::corrupt;
            changes.put(out + at * sizeof(Word), take_value<Word>(values, width, all_ones));
            ++at;
        }
        if (values.has_overrun() || !values.ends_in_zeros()) return status::corrupt;
        src = src.subspan(values.bytes());
        return status::ok;
    }
    const std::size_t mask_bytes = (words + 7) / 8;
    if (src.size() < mask_bytes) return status::corrupt;
    block_mask mask;
    mask.of[(words - 1) / 64] = 0;
    std::memcpy(mask.of, src.data(), mask_bytes);
    if (words % 8 != 0 && static_cast<unsigned>(src[mask_bytes - 1]) >> (words % 8) != 0)
        return status::corrupt;
    src = src.subspan(mask_bytes);
    bit_reader values(src);
    for (std::size_t base = 0; base < words; base += 64)
        for (std::uint64_t bits = mask.of[base / 64]; bits != 0; bits &= bits - 1) {
            const std::size_t i = base + static_cast<std::size_t>(std::countr_zero(bits));
            changes.put(out + i * sizeof(Word), take_value<Word>(values, width, all_ones));
        }
    if (values.has_overrun() || !values.ends_in_zeros()) return status::corrupt;
    src = src.subspan(values.bytes());
    return status::ok;
}

// ---- slices ----

/// Appends a slice.
/// @param to     room for max_slice_bytes(words) and 8 more, which are written
/// @param words  up to slice_words
/// @return behind its last byte
template <word Word>
std::byte* put_slice(std::byte* to, const std::byte* now, const std::byte* before, std::size_t words,
                     block_changes<Word>& work) noexcept
{
    std::byte* const first = to + slice_head;
    std::byte* end = first;
    bool changed = false;
    for (std::size_t at = 0; at < words; at += block_words) {
        const std::size_t n = std::min(block_words, words - at);
        std::byte* const head = end;
        end = put_block<Word>(end, now + at * sizeof(Word), before + at * sizeof(Word), n, work);
        changed = changed || static_cast<unsigned>(*head) != unchanged_head;
    }
    if (!changed) end = first;
    const auto bytes = static_cast<std::uint32_t>(end - first);
    std::memcpy(to, &bytes, slice_head);
    return end;
}

/// The first slice of a stream, or of its beginning.
struct slice_view {
    bool whole = false;  ///< is all of it there?
    const_byte_span blocks;
    std::size_t bytes = 0;  ///< with its head

    explicit slice_view(const_byte_span stream) noexcept
    {
        if (stream.size() < slice_head) return;
        const std::size_t n = load<std::uint32_t>(stream, 0);
        if (stream.size() - slice_head < n) return;
        blocks = stream.subspan(slice_head, n);
        bytes = slice_head + n;
        whole = true;
    }
};

/// Applies a slice. After an error the words are unspecified.
/// @param blocks  of slice_view
/// @param out     the old words; become the new ones
template <word Word>
status apply_slice(const_byte_span blocks, std::byte* out, std::size_t words) noexcept
{
    if (blocks.empty()) return status::ok;
    delayed_changes<Word> changes;
    for (std::size_t at = 0; at < words; at += block_words) {
        const std::size_t n = std::min(block_words, words - at);
        if (const status s = apply_block<Word>(blocks, out + at * sizeof(Word), n, changes); s != status::ok)
            return s;
    }
    return blocks.empty() ? status::ok : status::corrupt;
}

}  // namespace ccoll::detail::changes
