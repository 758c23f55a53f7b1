// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/quanta64_512.inl - floor 2. As szp/quanta64.inl, for the two sets with AVX-512. Four registers hold the quanta of a block, so
// that none of them is read back from memory at an offset of one.

CCOLL_INLINE __m512i low_words(const __m512i (&v)[4], int i) noexcept
{
    return halves(_mm512_cvtepi64_epi32(v[i]), _mm512_cvtepi64_epi32(v[i + 1]));
}

/// Quanta of 32 values and their planes.
/// @param before  the quantum before them; becomes their last one    @param largest  is raised to the largest |q|
/// @return        the width; no_width_64, and nothing changed, if a value is beyond the limit
CCOLL_TARGET inline unsigned encode_block_64(const double* x, const grid_64& g, i64& before, u64& largest, u8* out) noexcept
{
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const __m512d inverse = _mm512_set1_pd(g.inverse), step = _mm512_set1_pd(g.step);
    const __m512d direct = _mm512_set1_pd(g.direct), limit = _mm512_set1_pd(g.limit);
    __m512i q[4], most = _mm512_setzero_si512();
    unsigned beyond = 0;
    for (int i = 0; i < 4; ++i) {
        const __m512d v = _mm512_loadu_pd(x + 8 * i), size = _mm512_abs_pd(v);
        const __m512d rounded = _mm512_roundscale_pd(_mm512_mul_pd(v, inverse), nearest);
        const __m512d rest = _mm512_roundscale_pd(_mm512_mul_pd(_mm512_fnmadd_pd(rounded, step, v), inverse), nearest);
        beyond |= _mm512_cmp_pd_mask(size, limit, _CMP_NLT_UQ);
        const __mmask8 corrected = _mm512_cmp_pd_mask(size, direct, _CMP_NLT_UQ);
        q[i] = _mm512_cvtpd_epi64(_mm512_mask_add_pd(rounded, corrected, rounded, rest));
        most = _mm512_max_epu64(most, _mm512_abs_epi64(q[i]));
    }
    if (beyond != 0) return no_width_64;
    __m512i last = all_64(static_cast<u64>(before)), d[4], high[4];
    unsigned is_long = 0;
    for (int i = 0; i < 4; ++i) {
        d[i] = _mm512_sub_epi64(q[i], _mm512_alignr_epi64(q[i], last, 7));
        last = q[i];
        high[i] = _mm512_srai_epi64(d[i], 32);
        is_long |= _mm512_cmpneq_epi64_mask(_mm512_cvtepi32_epi64(_mm512_cvtepi64_epi32(d[i])), d[i]);
    }
    before = _mm_extract_epi64(_mm512_extracti64x2_epi64(last, 3), 1);
    largest = std::max(largest, static_cast<u64>(_mm512_reduce_max_epu64(most)));
    const differences low{low_words(d, 0), low_words(d, 2)};
    if (is_long == 0) return put_planes(low, out);
    const __m512i low_word = all_32(equal().low_words);
    _mm512_storeu_si512(out, planes_of(_mm512_packus_epi32(_mm512_and_si512(low.a, low_word), _mm512_and_si512(low.b, low_word))));
    _mm512_storeu_si512(out + 64, planes_of(_mm512_packs_epi32(_mm512_srai_epi32(low.a, 16), _mm512_srai_epi32(low.b, 16))));
    const unsigned more = put_planes(differences{low_words(high, 0), low_words(high, 2)}, out + 4 * widest_narrow);
    if (more == 0) put(out + 4 * widest_narrow, u32{0});  // the sign
    return widest_narrow + (more > 0 ? more : 1);
}

/// Bytes that decode_block_64 may read.
inline constexpr std::size_t reach_64 = 4 * widest + 8;

/// Running sums of eight words on top of the last one of `r`.
CCOLL_INLINE __m512i sums_64(__m512i v, __m512i r) noexcept
{
    const __m512i none = _mm512_setzero_si512();
    v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, none, 7));
    v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, none, 6));
    v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, none, 4));
    return _mm512_add_epi64(v, _mm512_permutexvar_epi64(_mm512_set1_epi64(7), r));
}
CCOLL_INLINE void store_f64(float* to, __m512d v) noexcept { _mm256_storeu_ps(to, _mm512_cvtpd_ps(v)); }
CCOLL_INLINE void store_f64(double* to, __m512d v) noexcept { _mm512_storeu_pd(to, v); }

/// @param width  0..64    @param base  the quantum before the block; becomes its last one
template <class T>
CCOLL_TARGET inline void decode_block_64(const u8* in, unsigned width, u64& base, double step, T* x) noexcept
{
    differences low{}, high{};
    if (width > 0) get_planes(in, width < widest_narrow ? width : widest_narrow, low);
    const bool is_long = width > widest_narrow;
    if (is_long) get_planes(in + 4 * widest_narrow, width - widest_narrow, high);
    const __m512d by = _mm512_set1_pd(step);
    __m512i r = all_64(base);
    for (int i = 0; i < 4; ++i) {
        const __m512i of_low = i < 2 ? low.a : low.b, of_high = i < 2 ? high.a : high.b;
        const __m256i l = i % 2 == 0 ? _mm512_castsi512_si256(of_low) : _mm512_extracti64x4_epi64(of_low, 1);
        __m512i d = _mm512_cvtepi32_epi64(l);
        if (is_long) {
            const __m256i h = i % 2 == 0 ? _mm512_castsi512_si256(of_high) : _mm512_extracti64x4_epi64(of_high, 1);
            d = _mm512_or_si512(_mm512_slli_epi64(_mm512_cvtepi32_epi64(h), 32), _mm512_cvtepu32_epi64(l));
        }
        r = sums_64(d, r);
        store_f64(x + 8 * i, _mm512_mul_pd(_mm512_cvtepi64_pd(r), by));
    }
    base = static_cast<u64>(_mm_extract_epi64(_mm512_extracti64x2_epi64(r, 3), 1));
}
