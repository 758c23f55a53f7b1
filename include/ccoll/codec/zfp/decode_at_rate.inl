// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/decode_at_rate.inl - floor 2. The reverse of codec/zfp/encode.inl at a fixed rate, compiled once per instruction set behind it.
// It is known where each block begins, so blocks do not wait for each other: while one waits for a table, the processor works on the next
// ones. For that, blocks take equally many steps, whatever they hold, and no branch depends on them.

/// A block that is being read to planes, a byte of each, the first one first.
struct plane_reader_at_rate {
    std::uint64_t bits;  ///< the next ones, and a 1 behind them
    std::size_t row;
    std::byte* to;

    CCOLL_INLINE void open(const std::byte* from, std::size_t bit, std::size_t count) noexcept
    {
        std::memcpy(&bits, from + bit / 8, sizeof bits);
        bits = _bzhi_u64(bits >> bit % 8, static_cast<std::uint32_t>(count)) | std::uint64_t{1} << count;
    }
    /// There are at least step_bits.
    CCOLL_INLINE void step() noexcept { take(step_row / 2 + (row + bits % (step_row / 2))); }
    CCOLL_INLINE void last_step() noexcept { take(row + std::min<std::uint64_t>(bits, bits % (step_row / 2) + step_row / 2)); }

    /// All that is left, if all coefficients are known: codes are planes.
    CCOLL_INLINE void rest() noexcept { put(_bzhi_u64(bits, 63 - static_cast<std::uint32_t>(_lzcnt_u64(bits)))); }
    /// 14 planes.
    CCOLL_INLINE void put(std::uint64_t nibbles) const noexcept
    {
        const std::uint64_t low = _pdep_u64(nibbles, 0x0f0f0f0f0f0f0f0fu), high = _pdep_u64(nibbles >> 32, 0x0f0f0f0f0f0f0f0fu);
        std::memcpy(to, &low, 8);
        std::memcpy(to + 8, &high, 8);
    }

private:
    CCOLL_INLINE void take(std::size_t at) noexcept
    {
        const std::uint32_t s = all_steps.steps[at];
        std::memcpy(to, &all_steps.planes[at], 8);
        bits >>= s % 64;
        to += s >> 8 & 255;
        row = s >> 16;
    }
};

/// Reads blocks of equal length.
template <native_float T>
class rate_reader {
public:
    static constexpr std::size_t at_once = 2;  ///< blocks, in turns
    /// There is room for as many planes as a step may write behind the last one.
    struct planes {
        std::byte of[fields_of<T>::word_bits + window_bits + 8 * (steps_for(window_bits) - window_bits / step_bits) + 8];
    };

    explicit rate_reader(std::size_t block_bits) noexcept
        : block_bits_(block_bits), bits_(block_bits - block<T>::header_bits), plain_(bits_ <= window_bits ? bits_ / step_bits : 5),
          last_(bits_ <= window_bits ? steps_for(bits_) - plain_ : 0)
    {}

    /// @param from  32 bytes may be read behind the blocks
    /// @param bit   where the first block begins
    CCOLL_INLINE void read(const std::byte* from, std::size_t bit, planes* to) const noexcept
    {
        plane_reader_at_rate block[at_once];
        for (std::size_t i = 0; i < at_once; ++i) {
            std::memset(to[i].of, 0, fields_of<T>::word_bits);
            block[i] = {0, 0, to[i].of};
            block[i].open(from, bit + i * block_bits_ + zfp::block<T>::header_bits, std::min(bits_, window_bits));
        }
        for (std::size_t k = 0; k < plain_; ++k)
            for (auto& b : block) b.step();
        if (bits_ <= window_bits) {
            // Many bits are likely to make all coefficients known.
            if (last_ > 3 && (block[0].row & block[1].row) == 3 * step_row) {
                for (auto& b : block) b.rest();
            } else {
                for (std::size_t k = 0; k < last_; ++k)
                    for (auto& b : block) b.last_step();
            }
            return;
        }
        for (std::size_t i = 0; i < at_once; ++i)
            read_rest(from, bit + i * block_bits_ + zfp::block<T>::header_bits, block[i], to[i].of + fields_of<T>::word_bits);
    }

private:
    CCOLL_INLINE void read_rest(const std::byte* from, std::size_t bit, plane_reader_at_rate block, const std::byte* end) const noexcept
    {
        std::size_t left = bits_;
        for (;;) {
            const auto used = static_cast<std::size_t>(_lzcnt_u64(block.bits)) - (63 - window_bits);
            bit += used;
            left -= used;
            if (block.row == 3 * step_row || block.to >= end) break;
            block.open(from, bit, std::min(left, window_bits));
            if (left <= window_bits) {
                while (block.bits != 0) block.last_step();
                return;
            }
            for (std::size_t k = 0; k < window_bits / step_bits; ++k) block.step();
        }
        // All coefficients are known, so what is left are planes.
        for (; block.to < end; bit += window_bits, block.to += window_bits / 4) {
            std::uint64_t bits;
            std::memcpy(&bits, from + bit / 8, sizeof bits);
            bits = _bzhi_u64(bits >> bit % 8, static_cast<std::uint32_t>(std::min(left, window_bits)));
            block.put(bits);
            if (left <= window_bits) return;
            left -= window_bits;
        }
    }

    std::size_t block_bits_, bits_, plain_, last_;
};

/// Turns planes into coefficients.
CCOLL_TARGET CCOLL_INLINE void collect(const std::byte* planes, std::uint32_t (&to)[block_values]) noexcept
{
    // The first plane comes last, where movemask finds the highest bits.
    const __m256i last_first = _mm256_broadcastsi128_si256(_mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    const __m256i x = _mm256_shuffle_epi8(_mm256_set_m128i(_mm_loadu_si128(reinterpret_cast<const __m128i*>(planes)),
                                                           _mm_loadu_si128(reinterpret_cast<const __m128i*>(planes + 16))),
                                          last_first);
    to[0] = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_slli_epi16(x, 7)));
    to[1] = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_slli_epi16(x, 6)));
    to[2] = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_slli_epi16(x, 5)));
    to[3] = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_slli_epi16(x, 4)));
}
CCOLL_TARGET CCOLL_INLINE void collect(const std::byte* planes, std::uint64_t (&to)[block_values]) noexcept
{
    std::uint32_t high[block_values], low[block_values];
    collect(planes, high);
    collect(planes + 32, low);
    for (std::size_t i = 0; i < block_values; ++i) to[i] = std::uint64_t{high[i]} << 32 | low[i];
}

/// @see portable::decode_stream
template <native_float T>
CCOLL_TARGET std::size_t decode_at_rate(const_byte_span stream, const precision& wanted, std::span<T> out) noexcept
{
    CCOLL_EXACT_BODY
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
        typename rate_reader<T>::planes planes[batch];
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
        for (std::size_t b = 0; b < blocks; ++b) {
            word c[block_values];
            collect(planes[b].of, c);
            for (std::size_t i = 0; i < block_values; ++i) all.c[i][b] = c[i];
        }
        for (std::size_t b = 0; b < batch; ++b) {
            const integer kept = coefficients<T>::planes_of(all.exponent[b], wanted.lowest_exponent);
            const auto mask = static_cast<word>(all.kept[b] & ~(~word{0} >> (kept >> 1) >> (kept - (kept >> 1))));
            for (std::size_t i = 0; i < block_values; ++i) all.c[i][b] &= mask;
        }
        if (count == batch_values) {
            all.inverse(out.data() + at);
        } else {
            T x[batch_values];
            all.inverse(x);
            std::memcpy(out.data() + at, x, count * sizeof(T));
        }
        bit += blocks * block_bits;
    }
    return end;
}
