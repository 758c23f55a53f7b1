// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/codes.inl - floor 2. The codes of the planes of a batch. codec/zfp/layout.inl says how they are
// found. Compiled once per instruction set, for codec/zfp/encode.inl.

/// Zeros above the highest 1 of numbers of 32 bits; 158, if there is no 1.
CCOLL_INLINE __m256i leading_zeros(__m256i x) noexcept
{
    const __m256i never_rounds_up = _mm256_andnot_si256(_mm256_srli_epi32(x, 8), x);
    const __m256i exponent = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(never_rounds_up)), 23);
    // The highest bit makes it negative, and the result 0.
    return _mm256_subs_epu16(_mm256_set1_epi32(158), exponent);
}
CCOLL_INLINE __m256i leading_zeros_64(__m256i x) noexcept
{
    const __m256i of_halves = leading_zeros(x);
    return _mm256_min_epu32(_mm256_srli_epi64(of_halves, 32),
                            _mm256_add_epi32(of_halves, _mm256_set1_epi32(32)));
}
/// The codes of a batch: first in pieces, 16 planes each, then in words that begin with the exponent.
template <native_float T>
class block_codes {
public:
    static constexpr std::size_t most_words =
        (block<T>::header_bits + 4 * std::size_t{fields_of<T>::word_bits} + tails + 63) / 64;

    /// @param room  bits of a block: planes that are behind it in all blocks are not needed
    CCOLL_INLINE void find(const coefficients<T>& from, std::size_t room) noexcept
    {
        for (std::size_t b = 0; b < batch; ++b) {
            const auto some = static_cast<std::uint32_t>(-(from.planes[b] > 0));  // all ones or 0
            layout_.planes[b] = static_cast<std::uint32_t>(from.planes[b]);
            front_[b] = static_cast<std::uint32_t>(2 * (from.exponent[b] + block<T>::bias) + 1) & some;
            layout_.begin[0][b] = ((block<T>::header_bits - 1) & some) + 1;
        }
        for (std::size_t b = 0; b < batch; b += 8) {
            tail_lanes t = tails_of(from, b);
            layout_.set(b, t, unlimited);
        }
        bool whole = false;
        for (pieces_ = 0; !whole; ++pieces_) {
            if (pieces_ % 2 == 0)
                for (std::size_t b = 0; b < batch; b += 8) interleave_half(from, b, pieces_ / 2);
            of_batch<std::uint64_t> mask;
            for (std::size_t b = 0; b < batch; b += 4)
                store_lanes(layout_.masks(b, piece_planes * pieces_), mask, b);
            for (std::size_t b = 0; b < batch; ++b)
                piece_[pieces_][b] = _pext_u64(planes_[b][pieces_ % 2], mask[b]);
            whole = layout_.end_piece(pieces_, room);
        }
    }
    /// How many bits each block takes, and @return words for the longest one, if all planes were found.
    CCOLL_INLINE std::size_t measure(of_batch<std::uint32_t>& bits) const noexcept
    {
        std::uint32_t most = 0;
        for (std::size_t b = 0; b < batch; ++b) {
            bits[b] = layout_.begin[pieces_][b];
            for (const auto& o : layout_.one) bits[b] += o[b] != no_place;
            most = std::max(most, bits[b]);
        }
        return (most + 63) / 64;
    }
    /// The first words of each block. Zeros are behind the last code.
    template <std::size_t Words>
    CCOLL_INLINE void assemble(of_batch<std::uint64_t>* to) const noexcept
    {
        for (std::size_t b = 0; b < batch; b += 4) {
            __m256i word[Words] = {load_4(front_, b)};
            for (std::size_t k = 0; k < pieces_; ++k) {
                const __m256i piece = load_4(piece_[k], b), begin = load_4(layout_.begin[k], b);
                for (std::size_t j = 0; j < Words; ++j) {
                    const __m256i word_begin = _mm256_set1_epi64x(static_cast<long long>(64 * j));
                    word[j] = _mm256_or_si256(word[j],
                                              _mm256_sllv_epi64(piece, _mm256_sub_epi64(begin, word_begin)));
                    if (j > 0)
                        word[j] = _mm256_or_si256(
                            word[j], _mm256_srlv_epi64(piece, _mm256_sub_epi64(word_begin, begin)));
                }
            }
            for (const auto& o : layout_.one) insert_one(load_4(o, b), word);
            for (std::size_t j = 0; j < Words; ++j) store_lanes(word[j], to[j], b);
        }
    }

private:
    template <std::size_t Words>
    CCOLL_INLINE static void insert_one(__m256i at, __m256i (&word)[Words]) noexcept
    {
        for (std::size_t j = Words; j-- > 0;) {
            const __m256i word_begin = _mm256_set1_epi64x(static_cast<long long>(64 * j));
            __m256i one = _mm256_sllv_epi64(_mm256_set1_epi64x(1), _mm256_sub_epi64(at, word_begin));
            // Bits from the one on, which move up by adding them.
            __m256i moved = _mm256_sub_epi64(_mm256_setzero_si256(), one);
            if (j > 0) {
                const __m256i before = _mm256_cmpgt_epi64(word_begin, at);
                moved = _mm256_or_si256(moved, before);
                one = _mm256_or_si256(one, _mm256_and_si256(before, _mm256_srli_epi64(word[j - 1], 63)));
            }
            word[j] = _mm256_add_epi64(_mm256_add_epi64(word[j], _mm256_and_si256(word[j], moved)), one);
        }
    }

    CCOLL_INLINE static tail_lanes tails_of(const coefficients<T>& from, std::size_t b) noexcept
    {
        tail_lanes t;
        if constexpr (sizeof(T) == 4) {
            __m256i tail = load_8(from.c[3], b);
            for (std::size_t i = tails; i-- > 0;) {
                const __m256i c = load_8(from.c[i], b);
                tail = _mm256_or_si256(tail, c);
                t.first[i] = leading_zeros(tail);
                t.own[i] = _mm256_srli_epi32(_mm256_sllv_epi32(c, t.first[i]), 31);
            }
        } else {
            __m256i tail[2] = {load_4(from.c[3], b), load_4(from.c[3], b + 4)};
            for (std::size_t i = tails; i-- > 0;) {
                __m256i zeros[2], bit[2];
                for (std::size_t h = 0; h < 2; ++h) {
                    const __m256i c = load_4(from.c[i], b + 4 * h);
                    tail[h] = _mm256_or_si256(tail[h], c);
                    zeros[h] = leading_zeros_64(tail[h]);
                    bit[h] = _mm256_srli_epi64(_mm256_sllv_epi64(c, zeros[h]), 63);
                }
                t.first[i] = low_halves(zeros[0], zeros[1]);
                t.own[i] = low_halves(bit[0], bit[1]);
            }
        }
        return t;
    }
    CCOLL_INLINE void interleave_half(const coefficients<T>& from, std::size_t b, std::size_t half) noexcept
    {
        __m256i c[block_values];
        for (std::size_t i = 0; i < block_values; ++i) {
            if constexpr (sizeof(T) == 4) {
                c[i] = load_8(from.c[i], b);
            } else {
                const __m256i x = load_4(from.c[i], b), y = load_4(from.c[i], b + 4);
                c[i] = half == 0 ? high_halves(x, y) : low_halves(x, y);
            }
        }
        interleave(c, planes_ + b);
    }
    code_layout layout_;
    std::size_t pieces_;
    of_batch<std::uint32_t> front_;  ///< exponent and the bit before it
    std::uint64_t planes_[batch][2];
    of_batch<std::uint64_t> piece_[fields_of<T>::word_bits / piece_planes];
};
