// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/decode.inl - floor 2. The reverse of codec/zfp/encode.inl, compiled once per instruction set behind it.

/// Reads the planes of a block, as decode_planes does.
class plane_reader {
public:
    /// @param from    48 bytes may be read from the byte of `bit` on
    /// @param end     the bit where the block ends, if not before
    /// @param planes  4 bits for each plane, the first plane lowest: as many bytes as a block has, all 0, and 8 more
    CCOLL_INLINE plane_reader(const std::byte* from, std::size_t bit, std::size_t end, std::size_t count, std::byte* planes) noexcept
        : from_(from), planes_(planes), bit_(bit), end_(end), count_(count)
    {}

    /// @return where the planes end
    CCOLL_INLINE std::size_t read() noexcept
    {
        skip_zeros();
        while (known_ < 3 && plane_ < count_ && bit_ < end_) find();
        while (plane_ < count_ && bit_ < end_) {
            const std::size_t count = std::min(count_ - plane_, longest_run);
            add(_bzhi_u64(next(), static_cast<std::uint32_t>(4 * count)), count);
            bit_ += 4 * count;
        }
        return bit_;
    }

private:
    /// 57 bits or more, without those behind the end.
    CCOLL_INLINE std::uint64_t next() const noexcept
    {
        std::uint64_t bits;
        std::memcpy(&bits, from_ + bit_ / 8, sizeof bits);
        const std::size_t left = end_ - bit_;
        return _bzhi_u64(bits >> bit_ % 8, static_cast<std::uint32_t>(left < 63 ? left : 63));
    }
    /// The code behind the first `used` of some bits, as a plane.
    CCOLL_INLINE plane_code code_at(std::uint64_t bits, std::size_t used, std::size_t known) const noexcept
    {
        const auto code = static_cast<unsigned>(bits >> used & 127);
        plane_code c = planes_of_codes[128 * known + code];
        const std::size_t left = end_ - bit_ - used;
        if (__builtin_expect(c.length > left, 0)) {
            c.bits = static_cast<std::uint8_t>(plane_of_cut_code(code, static_cast<unsigned>(known), left));
            c.length = static_cast<std::uint8_t>(left);
        }
        return c;
    }
    /// Adds so many planes.
    CCOLL_INLINE void add(std::uint64_t planes, std::size_t count) noexcept
    {
        held_ |= planes << (plane_ % 2 * 4);
        std::memcpy(planes_ + plane_ / 2, &held_, sizeof held_);
        held_ >>= (plane_ % 2 * 4 + 4 * count) & ~std::size_t{7};
        plane_ += count;
    }
    /// The first planes of a block, if it has some that are 0, and the next one.
    CCOLL_INLINE void skip_zeros() noexcept
    {
        const std::uint64_t bits = next();
        const auto zeros = static_cast<std::size_t>(_tzcnt_u64(bits));
        if (zeros > 48 || zeros >= count_) return;
        const plane_code c = code_at(bits, zeros, 0);
        plane_ = zeros;
        add(c.bits, 1);
        bit_ += zeros + c.length;
        known_ = c.known;
    }
    /// Planes that find nothing new, at most longest_run, and the one behind them. Fewer than three coefficients are known.
    CCOLL_INLINE void find() noexcept
    {
        const plane_run& run = plane_runs[known_];
        const std::uint64_t bits = next();
        const std::size_t where = static_cast<std::size_t>(_tzcnt_u64(bits & run.search)) * run.reciprocal >> 8, left = count_ - plane_;
        const std::size_t found = std::min(std::min(where, longest_run), left);
        std::size_t used = found * run.period;
        std::uint64_t planes = _pdep_u64(_bzhi_u64(bits, static_cast<std::uint32_t>(used)), run.places);
        std::size_t count = found;
        if (found < longest_run && found < left) {
            const plane_code c = code_at(bits, used, known_);
            planes |= std::uint64_t{c.bits} << 4 * found;
            used += c.length;
            known_ = c.known;
            ++count;
        }
        bit_ += used;
        add(planes, count);
    }

    const std::byte* from_;
    std::byte* planes_;
    std::size_t bit_, end_, count_, plane_ = 0, known_ = 0;
    std::uint64_t held_ = 0;  ///< the half byte that is not full yet
};

/// The coefficients of planes as a plane_reader leaves them.
template <native_float T>
CCOLL_INLINE void collect_planes(const std::uint64_t* planes, std::size_t words, coefficients<T>& to) noexcept
{
    using word = typename coefficients<T>::word;
    constexpr std::size_t block_words = sizeof(T) / 2;
    for (std::size_t i = 0; i < block_values; ++i)
        for (std::size_t b = 0; b < batch; ++b) to.c[i][b] = 0;
    for (std::size_t w = 0; w < words; ++w)
        for (std::size_t b = 0; b < batch; ++b) {
            // The first plane highest, and the first coefficient last.
            std::uint64_t x = planes[b * block_words + w];
            x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
            x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
            x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
            x = (x >> 8 & 0x00ff00ff00ff00ffu) | (x & 0x00ff00ff00ff00ffu) << 8;
            x = (x >> 16 & 0x0000ffff0000ffffu) | (x & 0x0000ffff0000ffffu) << 16;
            x = x >> 32 | x << 32;
            const auto gather = [](std::uint64_t y) {
                y &= 0x1111111111111111u;
                y = (y | y >> 3) & 0x0303030303030303u;
                y = (y | y >> 6) & 0x000f000f000f000fu;
                y = (y | y >> 12) & 0x000000ff000000ffu;
                return (y | y >> 24) & 0xffffu;
            };
            const auto low = static_cast<int>(8 * sizeof(T) - 16 * (w + 1));
            to.c[0][b] |= static_cast<word>(static_cast<word>(gather(x >> 3)) << low);
            to.c[1][b] |= static_cast<word>(static_cast<word>(gather(x >> 2)) << low);
            to.c[2][b] |= static_cast<word>(static_cast<word>(gather(x >> 1)) << low);
            to.c[3][b] |= static_cast<word>(static_cast<word>(gather(x)) << low);
        }
}

/// @see portable::decode_stream
template <native_float T>
CCOLL_TARGET std::size_t decode_stream(const_byte_span stream, const precision& wanted, std::span<T> out) noexcept
{
    CCOLL_EXACT_BODY
    if (wanted.block_bits > 0) return decode_at_rate(stream, wanted, out);
    using integer = typename coefficients<T>::integer;
    constexpr std::size_t batch_values = batch * block_values, block_words = sizeof(T) / 2, header = block<T>::header_bits;
    constexpr std::size_t read_ahead = 48;  // a block and a number: 271 + 7 + 64 bits at most
    std::byte tail[2 * read_ahead + 8];     // the last bytes, and zeros
    const std::byte* from = stream.data();
    std::size_t tail_begin = 0;
    bool in_tail = false;
    std::size_t bit = 0;  // of the stream
    for (std::size_t at = 0; at < out.size(); at += batch_values) {
        const std::size_t count = std::min(batch_values, out.size() - at), blocks = (count + block_values - 1) / block_values;
        coefficients<T> all;
        std::uint64_t planes[batch * block_words + 1];
        std::size_t words = 0;
        for (std::size_t b = 0; b < batch; ++b) {
            for (std::size_t w = 0; w < block_words; ++w) planes[b * block_words + w] = 0;
            all.exponent[b] = 0;
            if (b >= blocks) continue;
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
            const std::size_t end = wanted.block_bits > 0 ? here + wanted.block_bits : nowhere >> 1;
            std::uint64_t front;
            std::memcpy(&front, from + here / 8, sizeof front);
            front >>= here % 8;
            if ((front & 1) != 0) {
                const auto e = static_cast<integer>(front >> 1 & ((std::uint64_t{1} << (header - 1)) - 1)) - integer{block<T>::bias};
                const auto kept = static_cast<std::size_t>(coefficients<T>::planes_of(e, wanted.lowest_exponent));
                all.exponent[b] = e;
                here += header;
                here = plane_reader(from, here, end, kept, reinterpret_cast<std::byte*>(planes + b * block_words)).read();
                words = std::max(words, (kept + 15) / 16);
            } else {
                here += 1;
            }
            bit = 8 * tail_begin + (wanted.block_bits > 0 ? end : here);
        }
        collect_planes(planes, words, all);
        if (count == batch_values) {
            all.inverse(out.data() + at);
        } else {
            T x[batch_values];
            all.inverse(x);
            std::memcpy(out.data() + at, x, count * sizeof(T));
        }
    }
    return bit;
}
