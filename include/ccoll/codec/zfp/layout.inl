// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/layout.inl - floor 2. Where the codes of a block have the bits of its planes: what an encoder
// needs to write all planes without a loop over them, and a decoder to read them so. Compiled once per
// instruction set.
//
// Take the planes as they are, four bits each, one behind the other. Tail i are the coefficients from i on.
// It begins in the first plane in which one of them has a 1. By the rules in codec/zfp/planes.hpp, the codes
// differ from the planes in three things only:
//
// - Coefficient 0 has a bit in each plane, and coefficient i + 1 has one from that plane on in which tail i
//   begins. Other bits of the planes are 0, and are left out.
// - A search that begins at coefficient i = 0, 1 or 2 finds something once in a block: in the plane in which
//   tail i begins. The 1 that says so comes before the bit of coefficient i. Where coefficient i - 1 has a 0
//   there, a search from before it goes on, and there is no 1.
// - Where the search that finds coefficient 3 begins before it, its 1 is left out.
//
// So the codes are what pext takes from the planes, and at most three ones that are inserted. Their places
// follow from where tails begin.

inline constexpr std::size_t tails = block_values - 1, piece_planes = 16;
inline constexpr std::uint32_t no_place = ~std::uint32_t{0};

/// Where tails begin in eight blocks.
struct tail_lanes {
    __m256i first[tails];  ///< the plane; at most 1023, where there is none
    __m256i own[tails];    ///< 1, if the first coefficient of the tail has a 1 there; 0

    /// Bits before that of this coefficient in this plane, without the exponent: one of each plane before
    /// tail 0 begins, two of each plane from there on, and three from where tail 1 begins; the bits of its
    /// own plane; and ones, with that of its own search, if any.
    CCOLL_INLINE void places(__m256i (&to)[tails]) const noexcept
    {
        const auto &l = first, &s = own;
        const __m256i one = _mm256_set1_epi32(1), both = _mm256_add_epi32(l[0], l[1]);
        to[0] = _mm256_add_epi32(l[0], one);
        to[1] = _mm256_add_epi32(_mm256_sub_epi32(_mm256_slli_epi32(l[1], 1), l[0]),
                                 _mm256_add_epi32(s[0], _mm256_set1_epi32(2)));
        to[2] = _mm256_add_epi32(_mm256_sub_epi32(_mm256_add_epi32(_mm256_slli_epi32(l[2], 1), l[2]), both),
                                 _mm256_add_epi32(_mm256_add_epi32(s[0], s[1]), _mm256_set1_epi32(3)));
    }
};

/// Which bits of the planes of a batch are in the stream, and where ones are inserted.
struct code_layout {
    of_batch<std::uint32_t> planes;  ///< that are kept
    /// The first plane with a bit of coefficient 1, 2, 3; or a plane far behind all.
    of_batch<std::uint32_t> from[tails];
    of_batch<std::uint32_t> one[tails];  ///< bits before an inserted one; or no_place
    /// Bits before the first plane, and before each piece of 16 planes that was ended, without inserted ones.
    of_batch<std::uint32_t> begin[5];

    /// Sets `from` and `one`. Tails that begin behind the planes, or behind `room` bits, have no beginning
    /// afterwards.
    CCOLL_INLINE void set(std::size_t b, tail_lanes& t, std::size_t room) noexcept
    {
        __m256i place[tails];
        t.places(place);
        const __m256i minus_one = _mm256_set1_epi32(-1),
                      last = _mm256_add_epi32(load_8(planes, b), minus_one);
        const __m256i before_place = _mm256_add_epi32(load_8(begin[0], b), minus_one),
                      most = _mm256_set1_epi32(static_cast<int>(room));
        for (std::size_t i = 0; i < tails; ++i) {
            const __m256i none =
                _mm256_or_si256(_mm256_cmpgt_epi32(t.first[i], last), _mm256_cmpgt_epi32(place[i], most));
            const __m256i no_one =
                i > 0 ? _mm256_or_si256(none, _mm256_add_epi32(t.own[i - 1], minus_one)) : none;
            t.first[i] = _mm256_or_si256(t.first[i], _mm256_srli_epi32(none, 22));
            store_lanes(_mm256_or_si256(_mm256_add_epi32(place[i], before_place), no_one), one[i], b);
        }
        store_lanes(t.first[0], from[0], b);
        store_lanes(t.first[1], from[1], b);
        store_lanes(_mm256_sub_epi32(_mm256_sub_epi32(t.first[2], minus_one), t.own[2]), from[2], b);
    }

    /// Masks of 16 planes of four blocks.
    /// @param first  of these planes
    CCOLL_INLINE __m256i masks(std::size_t b, std::size_t first) const noexcept
    {
        __m256i all = _mm256_set1_epi64x(0x1111111111111111);
        const __m256i bits[tails] = {_mm256_slli_epi64(all, 1), _mm256_slli_epi64(all, 2),
                                     _mm256_slli_epi64(all, 3)};
        for (std::size_t i = 0; i < tails; ++i)
            all = _mm256_or_si256(all, _mm256_sllv_epi64(bits[i], four_times(from[i], b, first)));
        return _mm256_andnot_si256(_mm256_sllv_epi64(_mm256_set1_epi64x(-1), four_times(planes, b, first)),
                                   all);
    }
    /// @return has each block all its planes, or `room` bits, before the end of a piece?
    CCOLL_INLINE bool end_piece(std::size_t k, std::size_t room) noexcept
    {
        const int end = static_cast<int>(piece_planes * (k + 1));
        __m256i all_done = _mm256_set1_epi32(-1);
        for (std::size_t b = 0; b < batch; b += 8) {
            const __m256i kept = load_8(planes, b), count = _mm256_min_epi32(kept, _mm256_set1_epi32(end));
            __m256i bits = _mm256_add_epi32(load_8(begin[0], b), count);
            for (const auto& f : from)
                bits = _mm256_add_epi32(
                    bits, _mm256_max_epi32(_mm256_sub_epi32(count, load_8(f, b)), _mm256_setzero_si256()));
            store_lanes(bits, begin[k + 1], b);
            const __m256i full = _mm256_cmpgt_epi32(bits, _mm256_set1_epi32(static_cast<int>(room) - 1));
            all_done = _mm256_and_si256(
                all_done, _mm256_or_si256(full, _mm256_cmpgt_epi32(_mm256_set1_epi32(end + 1), kept)));
        }
        return _mm256_movemask_epi8(all_done) == -1;
    }

private:
    /// (plane - first) * 4, or 0 for planes before the first one.
    CCOLL_INLINE static __m256i four_times(const of_batch<std::uint32_t>& plane, std::size_t b,
                                           std::size_t first) noexcept
    {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(plane + b));
        const __m128i behind =
            _mm_max_epi32(_mm_sub_epi32(x, _mm_set1_epi32(static_cast<int>(first))), _mm_setzero_si128());
        return _mm256_cvtepu32_epi64(_mm_slli_epi32(behind, 2));
    }
};

/// What no stream has bits for.
inline constexpr std::size_t unlimited = 1u << 20;
