// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/encode.inl - floor 2. Writes the streams of ZFP, from the codes that codec/zfp/codes.inl finds.
// Compiled once per instruction set.

/// Appends up to 64 bits at a time, and always stores 16 bytes.
class word_writer {
public:
    /// @param held_bits  of the first byte, which stand there already: fewer than 8, with 0 behind them
    CCOLL_INLINE word_writer(std::byte* to, unsigned held_bits) noexcept
        : begin_(to), to_(to), held_(held_bits == 0 ? 0 : static_cast<std::uint64_t>(*to)),
          held_bits_(held_bits)
    {}
    /// @param value  others than the lowest bits are 0
    CCOLL_INLINE void put(std::uint64_t value, std::size_t bits) noexcept
    {
        const std::uint64_t words[2] = {held_ | value << held_bits_, value >> 1 >> (63 - held_bits_)};
        std::memcpy(to_, words, sizeof words);
        held_bits_ += bits;
        to_ += held_bits_ / 8;
        held_ = (held_bits_ < 64 ? words[0] : words[1]) >> (held_bits_ & 56);
        held_bits_ &= 7;
    }
    CCOLL_INLINE std::size_t bits() const noexcept
    {
        return 8 * static_cast<std::size_t>(to_ - begin_) + held_bits_;
    }

private:
    std::byte *begin_, *to_;
    std::uint64_t held_;
    std::size_t held_bits_;
};

/// Blocks of whole bytes. What is too much of one is written as well, and the next one over it.
template <std::size_t Words>
CCOLL_INLINE void store_blocks(const of_batch<std::uint64_t>* word, std::size_t blocks, std::size_t bytes,
                               std::byte* to) noexcept
{
    for (std::size_t b = 0; b < blocks; ++b, to += bytes)
        for (std::size_t j = 0; j < Words; ++j) std::memcpy(to + 8 * j, &word[j][b], 8);
}

/// @see portable::encode_stream
template <native_float T>
CCOLL_TARGET std::size_t encode_stream(std::span<const T> in, const precision& wanted, T limit,
                                       std::byte* stream, unsigned begin, exception_list& exceptions) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t batch_values = batch * block_values;
    word_writer to(stream, begin);
    const std::size_t at_rate = wanted.block_bits;
    const bool checked = limit > 0, whole_bytes = at_rate > 0 && at_rate % 8 == 0;
    for (std::size_t at = 0; at < in.size(); at += batch_values) {
        const std::size_t count = std::min(batch_values, in.size() - at),
                          blocks = (count + block_values - 1) / block_values;
        T original[batch_values], x[batch_values], decoded[batch_values];
        const T* from = in.data() + at;
        if (count < batch_values) {
            std::fill(std::copy_n(from, count, original), std::end(original), T(0));
            from = original;
        }
        for (std::size_t i = 0; i < batch_values; ++i)
            x[i] = fields_of<T>::signed_magnitude(from[i]) <
                           std::bit_cast<typename fields_of<T>::signed_word>(fields_of<T>::exponent)
                       ? from[i]
                       : T(0);
        if (count % block_values != 0) fill_up(x + count / block_values * block_values, count % block_values);

        coefficients<T> batch_coefficients;
        batch_coefficients.forward(x, wanted.lowest_exponent);
        block_codes<T> codes;
        codes.find(batch_coefficients, at_rate > 0 ? at_rate : 64 * block_codes<T>::most_words);
        of_batch<std::uint32_t> bits;
        const std::size_t words = at_rate > 0 ? (at_rate + 63) / 64 : codes.measure(bits);
        of_batch<std::uint64_t> word[block_codes<T>::most_words];
        if (words == 1) codes.template assemble<1>(word);
        else if (words == 2) codes.template assemble<2>(word);
        else codes.template assemble<block_codes<T>::most_words>(word);
        std::byte* const block = stream + at / block_values * at_rate / 8;
        if (whole_bytes && words == 1) store_blocks<1>(word, blocks, at_rate / 8, block);
        else if (whole_bytes && words == 2) store_blocks<2>(word, blocks, at_rate / 8, block);
        else if (whole_bytes) store_blocks<block_codes<T>::most_words>(word, blocks, at_rate / 8, block);
        for (std::size_t b = 0; b < blocks && !whole_bytes; ++b) {
            std::size_t left = at_rate > 0 ? at_rate : bits[b];
            for (std::size_t j = 0; j < words; ++j) {
                const std::size_t some = std::min<std::size_t>(left, 64);
                to.put(_bzhi_u64(word[j][b], static_cast<std::uint32_t>(some)), some);
                left -= some;
            }
        }

        std::size_t bad = 0;
        if (checked) {
            batch_coefficients.inverse(decoded);
            for (std::size_t i = 0; i < batch_values; ++i) bad += !(std::fabs(decoded[i] - from[i]) < limit);
        } else {
            for (std::size_t i = 0; i < batch_values; ++i) bad += !is_finite(from[i]);
        }
        if (bad == 0) continue;
        for (std::size_t i = 0; i < count; ++i) {
            if (checked ? std::fabs(decoded[i] - from[i]) < limit : is_finite(from[i])) continue;
            if (!exceptions.add(at + i)) return nowhere;
        }
    }
    return whole_bytes ? (in.size() + block_values - 1) / block_values * at_rate : to.bits();
}
