// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/read.inl - floor 2. Planes of blocks, and coefficients of planes, by the tables of codec/zfp/steps.hpp. Compiled once per
// instruction set, for codec/zfp/decode.inl.

/// The next 14 planes, where a code is the plane.
CCOLL_INLINE void put_planes(std::uint64_t codes, std::byte* to) noexcept
{
    const std::uint64_t low = _pdep_u64(codes, 0x0f0f0f0f0f0f0f0fu), high = _pdep_u64(codes >> 32, 0x0f0f0f0f0f0f0f0fu);
    std::memcpy(to, &low, 8);
    std::memcpy(to + 8, &high, 8);
}

/// A block that is being read to planes, a byte of each, the first one first.
struct plane_reader {
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
    CCOLL_INLINE void rest() noexcept { put_planes(_bzhi_u64(bits, 63 - static_cast<std::uint32_t>(_lzcnt_u64(bits))), to); }

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

/// Planes of a block, a byte of each, and room for what may be written behind the last one: planes of a window, and those of a step.
template <native_float T>
struct block_planes {
    std::byte of[fields_of<T>::word_bits + window_bits + 8];

    CCOLL_INLINE void clear() noexcept { std::memset(of, 0, fields_of<T>::word_bits); }
};

/// Reads blocks of equal length. It is known where each of them begins, so blocks do not wait for each other: while one waits for the
/// table, the processor works on the next ones. For that, blocks take equally many steps, whatever they hold, and no branch depends on
/// them.
template <native_float T>
class rate_reader {
public:
    static constexpr std::size_t at_once = 2;  ///< blocks, in turns

    explicit rate_reader(std::size_t block_bits) noexcept
        : block_bits_(block_bits), bits_(block_bits - block<T>::header_bits), plain_(bits_ <= window_bits ? bits_ / step_bits : 5),
          last_(bits_ <= window_bits ? steps_for(bits_) - plain_ : 0)
    {}

    /// @param from  32 bytes may be read behind the blocks
    /// @param bit   where the first block begins
    CCOLL_INLINE void read(const std::byte* from, std::size_t bit, block_planes<T>* to) const noexcept
    {
        plane_reader block[at_once];
        for (std::size_t i = 0; i < at_once; ++i) {
            to[i].clear();
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
    CCOLL_INLINE void read_rest(const std::byte* from, std::size_t bit, plane_reader block, const std::byte* end) const noexcept
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
            put_planes(bits, block.to);
            if (left <= window_bits) return;
            left -= window_bits;
        }
    }

    std::size_t block_bits_, bits_, plain_, last_;
};

/// Reads the planes of a block that takes as many bits as it needs.
/// @param from   48 bytes may be read from the byte of `bit` on
/// @param bit    where the planes begin
/// @param count  planes, at least one. There is something behind them in `to`
/// @return where they end
template <native_float T>
CCOLL_INLINE std::size_t read_planes(const std::byte* from, std::size_t bit, std::size_t count, block_planes<T>& to) noexcept
{
    std::byte* at = to.of;
    std::byte* const end = at + count;
    std::size_t row = 0;
    for (;;) {
        std::uint64_t bits;
        std::memcpy(&bits, from + bit / 8, sizeof bits);
        bits >>= bit % 8;
        for (std::size_t k = 0; k < window_bits / step_bits; ++k) {
            const std::size_t index = step_row / 2 + (row + bits % (step_row / 2));
            const std::uint32_t s = all_steps.steps[index];
            std::memcpy(at, &all_steps.planes[index], 8);
            const std::size_t planes = s >> 8 & 255, left = static_cast<std::size_t>(end - at);
            row = s >> 16;
            if (planes >= left || row == 3 * step_row) {
                // The last step may have gone too far. Where all coefficients are known, codes are planes.
                bit += all_steps.ends[index] >> 4 * (std::min(planes, left) - 1) & 15;
                if (planes >= left) return bit;
                for (at += planes; at < end; at += window_bits / 4) {
                    std::memcpy(&bits, from + bit / 8, sizeof bits);
                    put_planes(bits >> bit % 8, at);
                    bit += std::min<std::size_t>(4 * static_cast<std::size_t>(end - at), window_bits);
                }
                return bit;
            }
            at += planes;
            bit += s % 64;
            bits >>= s % 64;
        }
    }
}

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
