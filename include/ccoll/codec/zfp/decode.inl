// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/decode.inl - floor 2. The reverse of codec/zfp/encode.inl, compiled once per instruction set behind it.

/// The values of a batch.
/// @param all  its exponents; `kept` is 0 for blocks of zeros, and all ones for others
template <native_float T>
CCOLL_TARGET CCOLL_INLINE void restore(const block_planes<T>* planes, coefficients<T>& all, std::size_t blocks, int lowest_exponent,
                                       std::span<T> out) noexcept
{
    CCOLL_EXACT_BODY
    using word = typename coefficients<T>::word;
    for (std::size_t b = 0; b < blocks; ++b) {
        word c[block_values];
        collect(planes[b].of, c);
        for (std::size_t i = 0; i < block_values; ++i) all.c[i][b] = c[i];
    }
    for (std::size_t b = 0; b < batch; ++b) {
        const auto kept = coefficients<T>::planes_of(all.exponent[b], lowest_exponent);
        const auto mask = static_cast<word>(all.kept[b] & ~(~word{0} >> (kept >> 1) >> (kept - (kept >> 1))));
        for (std::size_t i = 0; i < block_values; ++i) all.c[i][b] &= mask;
    }
    if (out.size() == batch * block_values) {
        all.inverse(out.data());
    } else {
        T x[batch * block_values];
        all.inverse(x);
        std::memcpy(out.data(), x, out.size_bytes());
    }
}

/// @see portable::decode_stream, at a fixed rate.
template <native_float T>
CCOLL_TARGET std::size_t decode_at_rate(const_byte_span stream, const precision& wanted, std::span<T> out) noexcept
{
    using word = typename coefficients<T>::word;
    using integer = typename coefficients<T>::integer;
    constexpr std::size_t batch_values = batch * block_values, header = block<T>::header_bits;
    constexpr std::size_t read_ahead = 32, most_batch_bytes = batch * (header + 4 * fields_of<T>::word_bits + 4) / 8 + 1;
    const std::size_t block_bits = wanted.block_bits, end = (out.size() + block_values - 1) / block_values * block_bits;
    if (end > 8 * stream.size()) return nowhere;
    const rate_reader<T> reader(block_bits);
    std::byte tail[most_batch_bytes + read_ahead];
    std::size_t bit = 0;
    for (std::size_t at = 0; at < out.size(); at += batch_values) {
        const std::size_t count = std::min(batch_values, out.size() - at), blocks = (count + block_values - 1) / block_values;
        const std::byte* from = stream.data() + bit / 8;
        if (stream.size() - bit / 8 < sizeof tail) {
            std::fill(std::copy(from, stream.data() + stream.size(), tail), std::end(tail), std::byte{0});
            from = tail;
        }
        block_planes<T> planes[batch];
        coefficients<T> all;
        if (blocks < batch) all = {};
        for (std::size_t b = 0; b < blocks; ++b) {
            const std::size_t begin = bit % 8 + b * block_bits;
            std::uint64_t front;
            std::memcpy(&front, from + begin / 8, sizeof front);
            front >>= begin % 8;
            all.exponent[b] = static_cast<integer>(front >> 1 & ((std::uint64_t{1} << (header - 1)) - 1)) - integer{block<T>::bias};
            all.kept[b] = static_cast<word>(0 - (front & 1));
        }
        for (std::size_t b = 0; b < blocks; b += reader.at_once) reader.read(from, bit % 8 + b * block_bits, planes + b);
        restore(planes, all, blocks, wanted.lowest_exponent, out.subspan(at, count));
        bit += blocks * block_bits;
    }
    return end;
}

/// @see portable::decode_stream
template <native_float T>
CCOLL_TARGET std::size_t decode_stream(const_byte_span stream, const precision& wanted, std::span<T> out) noexcept
{
    CCOLL_EXACT_BODY
    if (wanted.block_bits > 0) return decode_at_rate(stream, wanted, out);
    using integer = typename coefficients<T>::integer;
    using word = typename coefficients<T>::word;
    constexpr std::size_t batch_values = batch * block_values, header = block<T>::header_bits;
    constexpr std::size_t read_ahead = 48;  // a block and a number: 271 + 7 + 64 bits at most
    std::byte tail[2 * read_ahead + 8];     // the last bytes, and zeros
    const std::byte* from = stream.data();
    std::size_t tail_begin = 0;
    bool in_tail = false;
    std::size_t bit = 0;  // of the stream
    for (std::size_t at = 0; at < out.size(); at += batch_values) {
        const std::size_t count = std::min(batch_values, out.size() - at), blocks = (count + block_values - 1) / block_values;
        coefficients<T> all;
        if (blocks < batch) all = {};
        block_planes<T> planes[batch];
        for (std::size_t b = 0; b < blocks; ++b) {
            if (bit / 8 + read_ahead > stream.size()) {
                if (bit / 8 > stream.size()) return nowhere;
                if (!in_tail) {
                    in_tail = true;
                    tail_begin = bit / 8;
                    std::fill(std::begin(tail), std::end(tail), std::byte{0});
                    std::memcpy(tail, stream.data() + tail_begin, stream.size() - tail_begin);
                }
            }
            if (in_tail) from = tail;
            std::size_t here = bit - 8 * tail_begin;
            std::uint64_t front;
            std::memcpy(&front, from + here / 8, sizeof front);
            front >>= here % 8;
            const auto e = static_cast<integer>(front >> 1 & ((std::uint64_t{1} << (header - 1)) - 1)) - integer{block<T>::bias};
            const auto kept = static_cast<std::size_t>(coefficients<T>::planes_of(e, wanted.lowest_exponent));
            all.exponent[b] = e;
            all.kept[b] = static_cast<word>(0 - (front & 1));
            if ((front & 1) == 0) here += 1;
            else here = kept == 0 ? here + header : read_planes(from, here + header, kept, planes[b]);
            bit = 8 * tail_begin + here;
        }
        restore(planes, all, blocks, wanted.lowest_exponent, out.subspan(at, count));
    }
    return bit;
}
