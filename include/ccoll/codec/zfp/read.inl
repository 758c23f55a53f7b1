// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/read.inl - floor 2. The coefficients of codes, the reverse of codec/zfp/codes.inl. Compiled once
// per instruction set, for codec/zfp/decode.inl.

/// 64 bits from any bit on. Reads 16 bytes.
CCOLL_INLINE std::uint64_t word_at(const std::byte* from, std::size_t bit) noexcept
{
    std::uint64_t words[2];
    std::memcpy(words, from + bit / 8, sizeof words);
    return words[0] >> bit % 8 | words[1] << 1 << (63 - bit % 8);
}

/// A 1 in every n-th bit, the lowest one included.
constexpr std::uint64_t every(std::size_t n) noexcept
{
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < 64; i += n) all |= std::uint64_t{1} << i;
    return all;
}
/// @return the first n for which bit + n * Stride is the place of a 1; `most`, if there is no smaller one
template <std::size_t Stride>
CCOLL_INLINE std::size_t first_one(const std::byte* from, std::size_t bit, std::size_t most) noexcept
{
    constexpr std::uint64_t places = every(Stride);
    for (std::size_t n = 0; n < most; n += 63 / Stride + 1) {
        const std::uint64_t ones = word_at(from, bit + n * Stride) & places;
        if (ones != 0) return std::min(n + static_cast<std::size_t>(_tzcnt_u64(ones)) / Stride, most);
    }
    return most;
}

/// Where tails begin in one block, as in tail_lanes.
struct block_tails {
    std::uint32_t first[tails] = {}, own[tails] = {};

    /// Looks for the ones that say that a search finds something. Before the first one are only planes of one
    /// bit. Behind it, such a bit is the second one of each plane, and behind the next one the third. There
    /// are no branches.
    /// @param bits  the first 64 of the codes
    /// @return bits before that of the first coefficient of the last tail, in the plane in which that tail
    ///         begins. If there are less than 64, all tails were found
    CCOLL_INLINE std::size_t find(std::uint64_t bits) noexcept
    {
        constexpr std::uint64_t every_second = every(2), every_third = every(3);
        const std::uint64_t none = _tzcnt_u64(bits);
        bits = bits >> none % 64 >> 1;
        own[0] = bits & 1;
        bits >>= 1;
        const std::uint64_t pairs = _tzcnt_u64((bits & every_second) | (own[0] ^ 1));
        bits >>= (pairs + own[0]) % 64;
        own[1] = bits & 1;
        bits >>= 1;
        const std::uint64_t triples = _tzcnt_u64((bits & every_third) | (own[1] ^ 1));
        own[2] = bits >> (triples + own[1]) % 64 & 1;
        first[0] = static_cast<std::uint32_t>(none);
        first[1] = static_cast<std::uint32_t>(none + pairs / 2);
        first[2] = static_cast<std::uint32_t>(none + pairs / 2 + triples / 3);
        return none + pairs + triples + own[0] + own[1] + 3;
    }
    /// The same for any number of codes, with branches.
    /// @param room  bits of codes. What a search does not find before their end, it takes for the next bit
    ///              behind it
    CCOLL_TARGET void find_far(const std::byte* from, std::size_t bit, std::size_t room,
                               std::size_t planes) noexcept
    {
        std::size_t plane = 0, at = 0;
        for (std::size_t i = 0; i < tails; ++i, ++at) {
            if (i == 0 || own[i - 1] != 0) {
                const std::size_t tests = room > at ? (room - at + i) / (i + 1) : 0,
                                  most = std::min(planes - plane, tests);
                const std::size_t n = i == 0   ? first_one<1>(from, bit + at, most)
                                      : i == 1 ? first_one<2>(from, bit + at, most)
                                               : first_one<3>(from, bit + at, most);
                if (n == most) return std::fill(first + i, std::end(first), in_no_plane);
                plane += n;
                at += n * (i + 1) + 1;
            }
            first[i] = static_cast<std::uint32_t>(plane);
            own[i] = at >= room || (word_at(from, bit + at) & 1) != 0;
        }
    }
    /// Bits of the codes of so many planes.
    CCOLL_INLINE std::size_t bits(std::uint32_t planes) const noexcept
    {
        const auto from = [&](std::uint32_t plane) { return planes > plane ? planes - plane : 0; };
        const auto one = [&](std::size_t i) { return static_cast<std::uint32_t>(first[i] < planes); };
        return std::size_t{planes} + from(first[0]) + from(first[1]) + from(first[2] + 1 - own[2]) + one(0) +
               (one(1) & own[0]) + (one(2) & own[1]);
    }

private:
    static constexpr std::uint32_t in_no_plane = 1023;
};

/// Ones in each number of 64 bits.
CCOLL_INLINE __m256i ones_of(__m256i x) noexcept
{
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i ones =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i bytes =
        _mm256_add_epi8(_mm256_shuffle_epi8(ones, _mm256_and_si256(x, nibble)),
                        _mm256_shuffle_epi8(ones, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble)));
    return _mm256_sad_epu8(bytes, _mm256_setzero_si256());
}
CCOLL_INLINE __m256i trailing_zeros(__m256i x) noexcept
{
    return ones_of(_mm256_andnot_si256(x, _mm256_add_epi64(x, _mm256_set1_epi64x(-1))));
}
/// block_tails::find for four blocks, in numbers of 64 bits.
CCOLL_INLINE tail_lanes find_tails(__m256i bits) noexcept
{
    const __m256i one = _mm256_set1_epi64x(1);
    constexpr std::uint64_t second = every(2), third = every(3);
    const __m256i every_second = _mm256_set1_epi64x(static_cast<long long>(second));
    const __m256i every_third = _mm256_set1_epi64x(static_cast<long long>(third));
    tail_lanes t;
    t.first[0] = trailing_zeros(bits);
    bits = _mm256_srli_epi64(_mm256_srlv_epi64(bits, t.first[0]), 1);
    t.own[0] = _mm256_and_si256(bits, one);
    bits = _mm256_srli_epi64(bits, 1);
    const __m256i pairs = trailing_zeros(
        _mm256_or_si256(_mm256_and_si256(bits, every_second), _mm256_xor_si256(t.own[0], one)));
    bits = _mm256_srlv_epi64(bits, _mm256_add_epi64(pairs, t.own[0]));
    t.own[1] = _mm256_and_si256(bits, one);
    bits = _mm256_srli_epi64(bits, 1);
    const __m256i triples =
        trailing_zeros(_mm256_or_si256(_mm256_and_si256(bits, every_third), _mm256_xor_si256(t.own[1], one)));
    t.own[2] = _mm256_and_si256(_mm256_srlv_epi64(bits, _mm256_add_epi64(triples, t.own[1])), one);
    const __m256i planes =
        _mm256_srli_epi64(_mm256_mullo_epi16(triples, _mm256_set1_epi64x(43)), 7);  // triples / 3, up to 64
    t.first[1] = _mm256_add_epi64(t.first[0], _mm256_srli_epi64(pairs, 1));
    t.first[2] = _mm256_add_epi64(t.first[1], planes);
    return t;
}

/// The codes of a batch, and then its coefficients.
template <native_float T>
class block_reader {
public:
    static constexpr std::size_t header = block<T>::header_bits;
    static constexpr std::size_t most_bits =
        header + 4 * std::size_t{fields_of<T>::word_bits} + block_values;  // at a rate
    static constexpr std::size_t most_words = (most_bits + 63) / 64;
    /// Bytes that may be read from where a block begins.
    static constexpr std::size_t read_ahead = 8 * most_words + 16;

    /// Reads the exponents and codes of a batch at a rate, for finish<Words>, where a block has no more
    /// words.
    template <std::size_t Words>
    CCOLL_INLINE void read(const std::byte* from, std::size_t bit, const precision& wanted,
                           coefficients<T>& to) noexcept
    {
        const std::size_t block_bits = wanted.block_bits, room = block_bits - header;
        read_words<Words>(from, bit, block_bits);
        __m256i own_bits[Words];
        for (std::size_t j = 0; j < Words; ++j) {
            const auto bits = static_cast<std::uint32_t>(
                std::min<std::size_t>(block_bits - std::min(block_bits, 64 * j), 64));
            own_bits[j] = _mm256_set1_epi64x(static_cast<long long>(_bzhi_u64(~std::uint64_t{0}, bits)));
        }
        const __m256i end =
            _mm256_set1_epi64x(room < 64 ? static_cast<long long>(std::uint64_t{1} << room) : 0);
        of_batch<std::uint32_t> front;
        unsigned behind_64 = 0;
        for (std::size_t b = 0; b < batch; b += 8) {
            tail_lanes half[2], t;
            __m256i first_word[2];
            for (std::size_t h = 0; h < 2; ++h) {
                __m256i word[Words];
                for (std::size_t j = 0; j < Words; ++j) {
                    word[j] = _mm256_and_si256(load_4(word_[j], b + 4 * h), own_bits[j]);
                    store_lanes(word[j], word_[j], b + 4 * h);
                }
                __m256i codes = _mm256_or_si256(_mm256_srli_epi64(word[0], header), end);
                if constexpr (Words > 1)
                    codes = _mm256_or_si256(codes, _mm256_slli_epi64(word[1], 64 - header));
                half[h] = find_tails(codes);
                first_word[h] = word[0];
            }
            store_lanes(low_halves(first_word[0], first_word[1]), front, b);
            for (std::size_t i = 0; i < tails; ++i) {
                t.first[i] = low_halves(half[0].first[i], half[1].first[i]);
                t.own[i] = low_halves(half[0].own[i], half[1].own[i]);
                store_lanes(t.first[i], first_[i], b);
                store_lanes(t.own[i], own_[i], b);
            }
            __m256i place[tails];
            t.places(place);
            const __m256i behind = _mm256_cmpgt_epi32(place[2], _mm256_set1_epi32(63));
            behind_64 |= static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(behind))) << b;
        }
        for (std::size_t b = 0; b < batch; ++b) {
            to.exponent[b] =
                static_cast<int>(front[b] >> 1 & ((1u << fields_of<T>::exponent_bits) - 1)) - block<T>::bias;
            layout_.planes[b] =
                static_cast<std::uint32_t>(to.planes_of(to.exponent[b], wanted.lowest_exponent)) &
                -(front[b] & 1);
            layout_.begin[0][b] = header;
        }
        if (room < 64) return;
        for (; behind_64 != 0; behind_64 &= behind_64 - 1) {
            const auto b = static_cast<std::size_t>(std::countr_zero(behind_64));
            block_tails t;
            t.find_far(from, bit + b * block_bits + header, room, layout_.planes[b]);
            put(b, t);
        }
    }

    /// Reads the first codes of a block that has all its planes, for finish<1>.
    /// @param bit  behind the exponent
    /// @return     how many bits all codes take
    CCOLL_INLINE std::size_t read(std::size_t b, const std::byte* from, std::size_t bit,
                                  std::uint32_t planes) noexcept
    {
        word_[0][b] = word_at(from, bit);
        layout_.planes[b] = planes;
        layout_.begin[0][b] = 0;
        block_tails t;
        if (t.find(word_[0][b]) >= 64) t.find_far(from, bit, unlimited, planes);
        put(b, t);
        return t.bits(planes);
    }
    /// The other codes of such blocks, for finish<Words>.
    template <std::size_t Words>
    CCOLL_INLINE void read_more(const std::byte* from, const std::size_t (&bit)[batch]) noexcept
    {
        for (std::size_t j = 1; j < Words; ++j)
            for (std::size_t b = 0; b < batch; ++b) word_[j][b] = word_at(from, bit[b] + 64 * j);
    }

    /// The coefficients of the batch.
    /// @param room  bits of codes that a block has
    template <std::size_t Words>
    CCOLL_INLINE void finish(std::size_t room, coefficients<T>& to) noexcept
    {
        // The one of the last search, whose bit may be missing. In planes of four bits.
        of_batch<std::uint32_t> last_one;
        for (std::size_t b = 0; b < batch; b += 8) {
            tail_lanes t;
            for (std::size_t i = 0; i < tails; ++i) {
                t.first[i] = load_8(first_[i], b);
                t.own[i] = load_8(own_[i], b);
            }
            layout_.set(b, t, room);
            store_lanes(last_one_of(t), last_one, b);
        }
        for (std::size_t b = 0; b < batch; b += 4) {
            __m256i word[Words];
            for (std::size_t j = 0; j < Words; ++j) word[j] = load_4(word_[j], b);
            for (std::size_t i = tails; i-- > 0;) remove_one(load_4(layout_.one[i], b), word);
            for (std::size_t j = 0; j < Words; ++j) store_lanes(word[j], word_[j], b);
        }
        std::uint64_t all_planes[batch][2];
        bool whole = false;
        for (std::size_t k = 0; k < fields_of<T>::word_bits / piece_planes; ++k) {
            if (whole) {
                for (auto& p : all_planes) p[k % 2] = 0;
            } else {
                of_batch<std::uint64_t> piece, mask, one;
                for (std::size_t b = 0; b < batch; b += 4) {
                    store_lanes(piece_at<Words>(load_4(layout_.begin[k], b), b), piece, b);
                    store_lanes(layout_.masks(b, piece_planes * k), mask, b);
                    const __m256i at = _mm256_sub_epi64(load_4(last_one, b),
                                                        _mm256_set1_epi64x(static_cast<long long>(64 * k)));
                    store_lanes(_mm256_sllv_epi64(_mm256_set1_epi64x(1), at), one, b);
                }
                for (std::size_t b = 0; b < batch; ++b)
                    all_planes[b][k % 2] = _pdep_u64(piece[b], mask[b]) | one[b];
                whole = layout_.end_piece(k, header + room);
            }
            if (k % 2 == 0) continue;
            for (std::size_t b = 0; b < batch; b += 8) {
                __m256i c[block_values];
                deinterleave(all_planes + b, c);
                put_half(c, b, k / 2, to);
            }
            if (whole) break;
        }
    }

private:
    template <std::size_t Words>
    CCOLL_INLINE void read_words(const std::byte* from, std::size_t bit, std::size_t block_bits) noexcept
    {
        if (bit % 8 == 0 && block_bits % 8 == 0) {
            const std::byte* block = from + bit / 8;
            for (std::size_t b = 0; b < batch; ++b, block += block_bits / 8)
                for (std::size_t j = 0; j < Words; ++j) std::memcpy(&word_[j][b], block + 8 * j, 8);
        } else {
            for (std::size_t b = 0; b < batch; ++b)
                for (std::size_t j = 0; j < Words; ++j)
                    word_[j][b] = word_at(from, bit + b * block_bits + 64 * j);
        }
    }
    CCOLL_INLINE void put(std::size_t b, const block_tails& t) noexcept
    {
        for (std::size_t i = 0; i < tails; ++i) {
            first_[i][b] = t.first[i];
            own_[i][b] = t.own[i];
        }
    }

    CCOLL_INLINE static __m256i last_one_of(const tail_lanes& t) noexcept
    {
        const __m256i most = _mm256_set1_epi32(fields_of<T>::word_bits - 1), one = _mm256_set1_epi32(1),
                      three = _mm256_set1_epi32(3);
        const __m256i place[tails] = {
            _mm256_slli_epi32(t.first[0], 2), _mm256_add_epi32(_mm256_slli_epi32(t.first[1], 2), one),
            _mm256_sub_epi32(_mm256_add_epi32(_mm256_slli_epi32(t.first[2], 2), three), t.own[2])};
        const __m256i before = _mm256_blendv_epi8(place[1], place[0], _mm256_cmpgt_epi32(t.first[1], most));
        return _mm256_blendv_epi8(place[2], before, _mm256_cmpgt_epi32(t.first[2], most));
    }
    template <std::size_t Words>
    CCOLL_INLINE static void remove_one(__m256i at, __m256i (&word)[Words]) noexcept
    {
        for (std::size_t j = 0; j < Words; ++j) {
            const __m256i word_begin = _mm256_set1_epi64x(static_cast<long long>(64 * j));
            // All bits, where the one is in a word behind this one.
            __m256i stays = _mm256_sllv_epi64(_mm256_set1_epi64x(1), _mm256_sub_epi64(at, word_begin));
            stays = _mm256_add_epi64(stays, _mm256_set1_epi64x(-1));
            if (j > 0) stays = _mm256_andnot_si256(_mm256_cmpgt_epi64(word_begin, at), stays);
            __m256i moved = _mm256_srli_epi64(word[j], 1);
            if (j + 1 < Words) moved = _mm256_or_si256(moved, _mm256_slli_epi64(word[j + 1], 63));
            word[j] = _mm256_or_si256(_mm256_and_si256(stays, word[j]), _mm256_andnot_si256(stays, moved));
        }
    }
    template <std::size_t Words>
    CCOLL_INLINE __m256i piece_at(__m256i begin, std::size_t b) const noexcept
    {
        __m256i piece = _mm256_srlv_epi64(load_4(word_[0], b), begin);
        for (std::size_t j = 1; j < Words; ++j) {
            const __m256i word = load_4(word_[j], b),
                          word_begin = _mm256_set1_epi64x(static_cast<long long>(64 * j));
            piece = _mm256_or_si256(
                piece, _mm256_or_si256(_mm256_srlv_epi64(word, _mm256_sub_epi64(begin, word_begin)),
                                       _mm256_sllv_epi64(word, _mm256_sub_epi64(word_begin, begin))));
        }
        return piece;
    }
    CCOLL_INLINE static void put_half(const __m256i (&c)[block_values], std::size_t b, std::size_t half,
                                      coefficients<T>& to) noexcept
    {
        for (std::size_t i = 0; i < block_values; ++i) {
            if constexpr (sizeof(T) == 4) {
                store_lanes(c[i], to.c[i], b);
            } else {
                const __m256i wide[2] = {_mm256_cvtepu32_epi64(_mm256_castsi256_si128(c[i])),
                                         _mm256_cvtepu32_epi64(_mm256_extracti128_si256(c[i], 1))};
                for (std::size_t h = 0; h < 2; ++h)
                    store_lanes(half == 0 ? _mm256_slli_epi64(wide[h], 32)
                                          : _mm256_or_si256(load_4(to.c[i], b + 4 * h), wide[h]),
                                to.c[i], b + 4 * h);
            }
        }
    }

    code_layout layout_;
    of_batch<std::uint64_t> word_[most_words];
    of_batch<std::uint32_t> first_[tails], own_[tails];
};
