// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/decode.inl - floor 2. The reverse of codec/zfp/encode.inl, compiled once per instruction set.

/// Blocks of a stream, sixteen at a time, and what may be read behind them.
template <native_float T>
class block_window {
public:
    explicit block_window(const_byte_span stream) noexcept : stream_(stream) {}

    /// @param bit  of the stream, where a batch begins
    CCOLL_INLINE const std::byte* at(std::size_t bit) noexcept
    {
        const std::byte* const from = stream_.data() + bit / 8;
        const std::size_t left = stream_.size() - bit / 8;
        if (left >= sizeof tail_) return from;
        std::fill(std::copy_n(from, left, tail_), std::end(tail_), std::byte{0});
        return tail_;
    }

private:
    const_byte_span stream_;
    std::byte tail_[batch * block_reader<T>::most_bits / 8 + 1 + block_reader<T>::read_ahead];
};

/// Values of a batch.
template <native_float T>
CCOLL_INLINE void restore(const coefficients<T>& from, std::span<T> out) noexcept
{
    CCOLL_EXACT_BODY
    if (out.size() == batch * block_values) {
        from.inverse(out.data());
    } else {
        T x[batch * block_values];
        from.inverse(x);
        std::memcpy(out.data(), x, out.size_bytes());
    }
}

/// Bits of a front: is there a block that is not 0, and its exponent.
template <native_float T>
struct block_front {
    using integer = typename coefficients<T>::integer;
    bool some;
    integer exponent;

    CCOLL_INLINE block_front(const std::byte* from, std::size_t bit) noexcept
    {
        constexpr std::uint64_t mask = (std::uint64_t{1} << fields_of<T>::exponent_bits) - 1;
        std::uint32_t front;
        std::memcpy(&front, from + bit / 8, sizeof front);
        front >>= bit % 8;
        some = front & 1;
        exponent = static_cast<integer>(front >> 1 & mask) - integer{block<T>::bias};
    }
};

/// @see portable::decode_stream, at a fixed rate. A block has no more words.
template <std::size_t Words, native_float T>
CCOLL_TARGET std::size_t decode_at_rate(const_byte_span stream, const precision& wanted,
                                        std::span<T> out) noexcept
{
    constexpr std::size_t batch_values = batch * block_values;
    const std::size_t block_bits = wanted.block_bits,
                      end = (out.size() + block_values - 1) / block_values * block_bits;
    if (end > 8 * stream.size()) return nowhere;
    block_window<T> window(stream);
    std::size_t bit = 0;
    for (std::size_t at = 0; at < out.size(); at += batch_values) {
        const std::size_t count = std::min(batch_values, out.size() - at);
        const std::byte* const from = window.at(bit);
        block_reader<T> reader;
        coefficients<T> all;
        reader.template read<Words>(from, bit % 8, wanted, all);
        reader.template finish<Words>(block_bits - block<T>::header_bits, all);
        restore(all, out.subspan(at, count));
        bit += batch * block_bits;
    }
    return end;
}

/// @see portable::decode_stream
template <native_float T>
CCOLL_TARGET std::size_t decode_stream(const_byte_span stream, const precision& wanted,
                                       std::span<T> out) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t batch_values = batch * block_values, header = block<T>::header_bits,
                          most_words = block_reader<T>::most_words;
    if (wanted.block_bits > 0) {
        const std::size_t words = (wanted.block_bits + 63) / 64;
        if (words == 1) return decode_at_rate<1>(stream, wanted, out);
        if (words == 2) return decode_at_rate<2>(stream, wanted, out);
        return decode_at_rate<most_words>(stream, wanted, out);
    }
    block_window<T> window(stream);
    std::size_t bit = 0;  // of the stream
    for (std::size_t at = 0; at < out.size(); at += batch_values) {
        const std::size_t count = std::min(batch_values, out.size() - at),
                          blocks = (count + block_values - 1) / block_values;
        if (bit / 8 > stream.size()) return nowhere;
        const std::byte* const from = window.at(bit);
        block_reader<T> reader;
        coefficients<T> all;
        if (blocks < batch) {
            all = {};
            reader = {};
        }
        std::size_t here = bit % 8, most = 0, begins[batch] = {};
        for (std::size_t b = 0; b < blocks; ++b) {
            const block_front<T> front(from, here);
            all.exponent[b] = front.exponent;
            begins[b] = here + header;
            const auto planes =
                static_cast<std::uint32_t>(all.planes_of(front.exponent, wanted.lowest_exponent));
            const std::size_t bits = reader.read(b, from, here + header, front.some ? planes : 0);
            here += front.some ? header + bits : 1;
            most = std::max(most, bits);
        }
        if (most <= 64) {
            reader.template finish<1>(unlimited, all);
        } else if (most <= 128) {
            reader.template read_more<2>(from, begins);
            reader.template finish<2>(unlimited, all);
        } else {
            reader.template read_more<most_words>(from, begins);
            reader.template finish<most_words>(unlimited, all);
        }
        restore(all, out.subspan(at, count));
        bit = bit / 8 * 8 + here;
    }
    return bit;
}
