// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/codes.inl - floor 2. The codes of all bit planes of a block, without a loop over planes. Compiled once per instruction set, for
// codec/zfp/encode.inl.
//
// Take the planes as they are, four bits each, one behind the other. Tail i are the coefficients from i on. It begins in the first plane in
// which one of them has a 1. By the rules in codec/zfp/planes.hpp, the codes differ from the planes in three things only:
//
// - Coefficient 0 has a bit in each plane, and coefficient i + 1 has one from that plane on in which tail i begins. Other bits of the
//   planes are 0, and are left out.
// - A search that begins at coefficient i = 0, 1 or 2 finds something once in a block: in the plane in which tail i begins. The 1 that says
//   so comes before the bit of coefficient i. Where coefficient i - 1 has a 0 there, a search from before it goes on, and there is no 1.
// - Where the search that finds coefficient 3 begins before it, its 1 is left out.
//
// So the codes are what pext takes from the planes, and at most three ones that are inserted. Their places follow from where tails begin.

inline constexpr std::size_t tails = block_values - 1;

template <class Number>
CCOLL_INLINE __m256i load_8(const of_batch<Number>& from, std::size_t b) noexcept
{
    static_assert(sizeof(Number) == 4);
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + b));
}
template <class Number>
CCOLL_INLINE __m256i load_4(const of_batch<Number>& from, std::size_t b) noexcept
{
    static_assert(sizeof(Number) == 8);
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + b));
}
/// As numbers of 64 bits.
CCOLL_INLINE __m256i load_4(const of_batch<std::uint32_t>& from, std::size_t b) noexcept
{
    return _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + b)));
}
template <class Number>
CCOLL_INLINE void store_lanes(__m256i x, of_batch<Number>& to, std::size_t b) noexcept
{
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + b), x);
}

/// Zeros above the highest 1 of numbers of 32 bits; 158, if there is no 1.
CCOLL_INLINE __m256i leading_zeros(__m256i x) noexcept
{
    const __m256i never_rounds_up = _mm256_andnot_si256(_mm256_srli_epi32(x, 8), x);
    const __m256i exponent = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(never_rounds_up)), 23);
    return _mm256_subs_epu16(_mm256_set1_epi32(158), exponent);  // the highest bit makes it negative, and the result 0
}
CCOLL_INLINE __m256i leading_zeros_64(__m256i x) noexcept
{
    const __m256i of_halves = leading_zeros(x);
    return _mm256_min_epu32(_mm256_srli_epi64(of_halves, 32), _mm256_add_epi32(of_halves, _mm256_set1_epi32(32)));
}
/// The low halves of eight numbers of 64 bits, and the high ones.
CCOLL_INLINE __m256i low_halves(__m256i first, __m256i second) noexcept
{
    const __m256 mixed = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), 0x88);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8);
}
CCOLL_INLINE __m256i high_halves(__m256i first, __m256i second) noexcept
{
    const __m256 mixed = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), 0xdd);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8);
}

/// 32 planes of eight blocks, four bits each, the first one lowest, in two words.
/// @param c  32 bits of each coefficient, the one of the first plane highest
CCOLL_INLINE void interleave(const __m256i (&c)[block_values], std::uint64_t (*to)[2]) noexcept
{
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i highest_byte_first = _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    // Of a nibble: bit 3 stays apart from bit 2, which belongs to the next plane, and bit 1 from bit 0.
    const __m256i first_two = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 16, 16, 16, 16, 1, 1, 1, 1, 17, 17, 17, 17));
    const __m256i last_two = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 16, 1, 17, 0, 16, 1, 17, 0, 16, 1, 17, 0, 16, 1, 17));
    __m256i two[4] = {};
    for (std::size_t i = block_values; i-- > 0;) {
        const __m256i x = _mm256_shuffle_epi8(c[i], highest_byte_first);
        const __m256i high = _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble), low = _mm256_and_si256(x, nibble);
        const __m256i all[4] = {_mm256_shuffle_epi8(first_two, high), _mm256_shuffle_epi8(last_two, high),
                                _mm256_shuffle_epi8(first_two, low), _mm256_shuffle_epi8(last_two, low)};
        for (std::size_t k = 0; k < 4; ++k) two[k] = _mm256_or_si256(_mm256_add_epi8(two[k], two[k]), all[k]);
    }
    const __m256i first_blocks[2] = {_mm256_unpacklo_epi8(two[0], two[1]), _mm256_unpacklo_epi8(two[2], two[3])};
    const __m256i last_blocks[2] = {_mm256_unpackhi_epi8(two[0], two[1]), _mm256_unpackhi_epi8(two[2], two[3])};
    const __m256i blocks[4] = {
        _mm256_unpacklo_epi16(first_blocks[0], first_blocks[1]), _mm256_unpackhi_epi16(first_blocks[0], first_blocks[1]),
        _mm256_unpacklo_epi16(last_blocks[0], last_blocks[1]), _mm256_unpackhi_epi16(last_blocks[0], last_blocks[1])};
    for (std::size_t k = 0; k < 4; ++k) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to[k]), _mm256_castsi256_si128(blocks[k]));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to[4 + k]), _mm256_extracti128_si256(blocks[k], 1));
    }
}

/// Where tails begin in a batch, and with it, which bits of the planes are in the stream.
struct plane_masks {
    of_batch<std::uint32_t> planes;       ///< that are kept
    of_batch<std::uint32_t> from[tails];  ///< the first plane with a bit of coefficient 1, 2, 3; 158 or more: none

    /// Masks of 16 planes of four blocks.
    /// @param first  of these planes
    CCOLL_INLINE __m256i at(std::size_t b, std::size_t first) const noexcept
    {
        __m256i all = _mm256_set1_epi64x(0x1111111111111111);
        const __m256i bits[tails] = {_mm256_slli_epi64(all, 1), _mm256_slli_epi64(all, 2), _mm256_slli_epi64(all, 3)};
        for (std::size_t i = 0; i < tails; ++i) all = _mm256_or_si256(all, _mm256_sllv_epi64(bits[i], four_times(from[i], b, first)));
        return _mm256_andnot_si256(_mm256_sllv_epi64(_mm256_set1_epi64x(-1), four_times(planes, b, first)), all);
    }
    /// How many bits of eight blocks are in the planes before `end`.
    CCOLL_INLINE __m256i bits_before(std::size_t b, std::size_t end) const noexcept
    {
        const __m256i count = _mm256_min_epi32(load_8(planes, b), _mm256_set1_epi32(static_cast<int>(end)));
        __m256i all = count;
        for (const auto& f : from)
            all = _mm256_add_epi32(all, _mm256_max_epi32(_mm256_sub_epi32(count, load_8(f, b)), _mm256_setzero_si256()));
        return all;
    }

private:
    /// (plane - first) * 4, or 0 for planes before the first one.
    CCOLL_INLINE static __m256i four_times(const of_batch<std::uint32_t>& plane, std::size_t b, std::size_t first) noexcept
    {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(plane + b));
        const __m128i behind = _mm_max_epi32(_mm_sub_epi32(x, _mm_set1_epi32(static_cast<int>(first))), _mm_setzero_si128());
        return _mm256_cvtepu32_epi64(_mm_slli_epi32(behind, 2));
    }
};

/// The codes of a batch: first in pieces, 16 planes each, then in words that begin with the exponent.
template <native_float T>
class block_codes {
public:
    static constexpr std::size_t most_words = (block<T>::header_bits + 4 * std::size_t{fields_of<T>::word_bits} + tails + 63) / 64;

    /// @param room  bits of a block: planes that are behind it in all blocks are not needed
    CCOLL_INLINE void find(const coefficients<T>& from, std::size_t room) noexcept
    {
        for (std::size_t b = 0; b < batch; ++b) {
            const auto some = static_cast<std::uint32_t>(-(from.planes[b] > 0));  // all ones or 0
            masks_.planes[b] = static_cast<std::uint32_t>(from.planes[b]);
            front_[b] = static_cast<std::uint32_t>(2 * (from.exponent[b] + block<T>::bias) + 1) & some;
            begin_[0][b] = ((block<T>::header_bits - 1) & some) + 1;
        }
        for (std::size_t b = 0; b < batch; b += 8) find_tails(from, b);
        bool whole = false;
        for (pieces_ = 0; !whole; ++pieces_) {
            if (pieces_ % 2 == 0)
                for (std::size_t b = 0; b < batch; b += 8) interleave_half(from, b, pieces_ / 2);
            of_batch<std::uint64_t> mask;
            for (std::size_t b = 0; b < batch; b += 4) store_lanes(masks_.at(b, piece_planes * pieces_), mask, b);
            for (std::size_t b = 0; b < batch; ++b) piece_[pieces_][b] = _pext_u64(planes_[b][pieces_ % 2], mask[b]);
            whole = end_piece(room);
        }
    }
    /// How many bits each block takes, and @return words for the longest one, if all planes were found.
    CCOLL_INLINE std::size_t measure(of_batch<std::uint32_t>& bits) const noexcept
    {
        std::uint32_t most = 0;
        for (std::size_t b = 0; b < batch; ++b) {
            bits[b] = begin_[pieces_][b];
            for (const auto& o : one_) bits[b] += o[b] != nowhere;
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
                const __m256i piece = load_4(piece_[k], b), begin = load_4(begin_[k], b);
                for (std::size_t j = 0; j < Words; ++j) {
                    const __m256i word_begin = _mm256_set1_epi64x(static_cast<long long>(64 * j));
                    word[j] = _mm256_or_si256(word[j], _mm256_sllv_epi64(piece, _mm256_sub_epi64(begin, word_begin)));
                    if (j > 0) word[j] = _mm256_or_si256(word[j], _mm256_srlv_epi64(piece, _mm256_sub_epi64(word_begin, begin)));
                }
            }
            for (const auto& o : one_) insert_one(load_4(o, b), word);
            for (std::size_t j = 0; j < Words; ++j) store_lanes(word[j], to[j], b);
        }
    }

private:
    static constexpr std::size_t piece_planes = 16, most_pieces = fields_of<T>::word_bits / piece_planes;
    static constexpr std::uint32_t nowhere = ~std::uint32_t{0};

    CCOLL_INLINE static void insert_one(__m256i at, auto& word) noexcept
    {
        for (std::size_t j = std::size(word); j-- > 0;) {
            const __m256i word_begin = _mm256_set1_epi64x(static_cast<long long>(64 * j));
            __m256i one = _mm256_sllv_epi64(_mm256_set1_epi64x(1), _mm256_sub_epi64(at, word_begin));
            __m256i moved = _mm256_sub_epi64(_mm256_setzero_si256(), one);  // bits from the one on, which move up by adding them
            if (j > 0) {
                const __m256i before = _mm256_cmpgt_epi64(word_begin, at);
                moved = _mm256_or_si256(moved, before);
                one = _mm256_or_si256(one, _mm256_and_si256(before, _mm256_srli_epi64(word[j - 1], 63)));
            }
            word[j] = _mm256_add_epi64(_mm256_add_epi64(word[j], _mm256_and_si256(word[j], moved)), one);
        }
    }

    CCOLL_INLINE void find_tails(const coefficients<T>& from, std::size_t b) noexcept
    {
        // first: plane in which the tail begins; own: 1, if its first coefficient has a 1 there.
        __m256i first[tails], own[tails];
        if constexpr (sizeof(T) == 4) {
            const __m256i c[block_values] = {load_8(from.c[0], b), load_8(from.c[1], b), load_8(from.c[2], b), load_8(from.c[3], b)};
            __m256i tail = c[3];
            for (std::size_t i = tails; i-- > 0;) {
                tail = _mm256_or_si256(tail, c[i]);
                first[i] = leading_zeros(tail);
                own[i] = _mm256_srli_epi32(_mm256_sllv_epi32(c[i], first[i]), 31);
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
                first[i] = low_halves(zeros[0], zeros[1]);
                own[i] = low_halves(bit[0], bit[1]);
            }
        }
        // Bits before each inserted one. Those of planes where no tail has begun, and one, two and three of planes behind them.
        const __m256i one = _mm256_set1_epi32(1), last_plane = _mm256_set1_epi32(fields_of<T>::word_bits - 1);
        const __m256i sum = _mm256_add_epi32(first[0], first[1]);
        const __m256i begin = load_8(begin_[0], b);
        __m256i at[tails];
        at[0] = _mm256_add_epi32(begin, first[0]);
        at[1] = _mm256_add_epi32(begin, _mm256_add_epi32(_mm256_sub_epi32(_mm256_slli_epi32(first[1], 1), first[0]), _mm256_set1_epi32(2)));
        at[2] =
            _mm256_add_epi32(_mm256_add_epi32(begin, _mm256_set1_epi32(3)),
                             _mm256_sub_epi32(_mm256_add_epi32(_mm256_slli_epi32(first[2], 1), _mm256_add_epi32(first[2], own[0])), sum));
        for (std::size_t i = 0; i < tails; ++i) {
            __m256i absent = _mm256_cmpgt_epi32(first[i], last_plane);
            if (i > 0) absent = _mm256_or_si256(absent, _mm256_sub_epi32(own[i - 1], one));
            store_lanes(_mm256_or_si256(at[i], absent), one_[i], b);
        }
        store_lanes(first[0], masks_.from[0], b);
        store_lanes(first[1], masks_.from[1], b);
        store_lanes(_mm256_sub_epi32(_mm256_add_epi32(first[2], one), own[2]), masks_.from[2], b);
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
    /// @return is each block full, or all its planes found?
    CCOLL_INLINE bool end_piece(std::size_t room) noexcept
    {
        const std::size_t end = piece_planes * (pieces_ + 1);
        const __m256i full = _mm256_set1_epi32(static_cast<int>(room) - 1), last = _mm256_set1_epi32(static_cast<int>(end) + 1);
        __m256i done = _mm256_set1_epi32(-1);
        for (std::size_t b = 0; b < batch; b += 8) {
            const __m256i bits = _mm256_add_epi32(load_8(begin_[0], b), masks_.bits_before(b, end));
            store_lanes(bits, begin_[pieces_ + 1], b);
            done =
                _mm256_and_si256(done, _mm256_or_si256(_mm256_cmpgt_epi32(last, load_8(masks_.planes, b)), _mm256_cmpgt_epi32(bits, full)));
        }
        return _mm256_movemask_epi8(done) == -1;
    }

    plane_masks masks_;
    std::size_t pieces_;
    of_batch<std::uint32_t> front_;                   ///< exponent and the bit before it
    of_batch<std::uint32_t> begin_[most_pieces + 1];  ///< bits before a piece, without ones
    of_batch<std::uint32_t> one_[tails];              ///< bits before an inserted one; or nowhere
    std::uint64_t planes_[batch][2];
    of_batch<std::uint64_t> piece_[most_pieces];
};
