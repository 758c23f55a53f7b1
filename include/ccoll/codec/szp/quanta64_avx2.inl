// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/quanta64_avx2.inl - floor 2. As szp/quanta64.inl, for AVX2, which has no conversions between double and 64-bit integers.

CCOLL_INLINE __m256d all_f64(double v) noexcept { return _mm256_set1_pd(v); }

/// Whole numbers below 2^62 as integers: each half is the low bits of a number near 1.5 2^52.
CCOLL_INLINE __m256i integers_of(__m256d whole) noexcept
{
    const __m256d high = _mm256_floor_pd(_mm256_mul_pd(whole, all_f64(0x1p-32)));
    const __m256d low = _mm256_sub_pd(whole, _mm256_mul_pd(high, all_f64(0x1p32)));  // exact
    const __m256i high_word = _mm256_castpd_si256(_mm256_add_pd(high, all_f64(0x1.8p52)));
    return _mm256_blend_epi32(_mm256_castpd_si256(_mm256_add_pd(low, all_f64(0x1.8p52))), _mm256_slli_epi64(high_word, 32), 0xaa);
}
/// Any integers as the nearest doubles: the upper half times 2^32 is exact, so that only the sum of both is rounded.
CCOLL_INLINE __m256d doubles_of(__m256i v) noexcept
{
    const __m256i low = _mm256_blend_epi32(_mm256_castpd_si256(all_f64(0x1p52)), v, 0x55);
    const __m256i high = _mm256_xor_si256(_mm256_srli_epi64(v, 32), _mm256_castpd_si256(all_f64(0x1p84 + 0x1p63)));
    return _mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(high), all_f64(0x1p84 + 0x1p63 + 0x1p52)), _mm256_castsi256_pd(low));
}

/// Words 2 i + Odd of eight 64-bit integers.
template <int Odd>
CCOLL_INLINE __m256i words_of_8(__m256i a, __m256i b) noexcept
{
    const __m256 words = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), Odd ? 0xdd : 0x88);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(words), 0xd8);
}

/// Quanta of 32 values and their planes.
/// @param before  the quantum before them; becomes their last one    @param largest  is raised to the largest |q|
/// @return        the width; no_width_64, and nothing changed, if a value is beyond the limit
CCOLL_AVX2_FMA inline unsigned encode_block_64(const double* x, const grid_64& g, i64& before, u64& largest, u8* out) noexcept
{
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const __m256d inverse = all_f64(g.inverse), step = all_f64(g.step), direct = all_f64(g.direct), limit = all_f64(g.limit);
    const __m256d magnitude = _mm256_castsi256_pd(_mm256_set1_epi64x(0x7fffffffffffffff));
    __m256d q[8], beyond = _mm256_setzero_pd(), most = beyond;
    for (int i = 0; i < 8; ++i) {
        const __m256d v = _mm256_loadu_pd(x + 4 * i), size = _mm256_and_pd(v, magnitude);
        const __m256d rounded = _mm256_round_pd(_mm256_mul_pd(v, inverse), nearest);
        const __m256d rest = _mm256_round_pd(_mm256_mul_pd(_mm256_fnmadd_pd(rounded, step, v), inverse), nearest);
        beyond = _mm256_or_pd(beyond, _mm256_cmp_pd(size, limit, _CMP_NLT_UQ));
        q[i] = _mm256_add_pd(rounded, _mm256_and_pd(rest, _mm256_cmp_pd(size, direct, _CMP_NLT_UQ)));
        most = _mm256_max_pd(most, _mm256_and_pd(q[i], magnitude));
    }
    if (_mm256_movemask_pd(beyond) != 0) return no_width_64;
    __m256i last = _mm256_set1_epi64x(before), longer = _mm256_setzero_si256();
    differences low, high;
    for (int i = 0; i < 4; ++i) {
        __m256i d[2];
        for (int j = 0; j < 2; ++j) {
            const __m256i own = integers_of(q[2 * i + j]), turned = _mm256_permute4x64_epi64(own, 0x93);
            d[j] = _mm256_sub_epi64(own, _mm256_blend_epi32(turned, last, 0x03));
            last = turned;
        }
        low.v[i] = words_of_8<0>(d[0], d[1]);
        high.v[i] = words_of_8<1>(d[0], d[1]);
        longer = _mm256_or_si256(longer, _mm256_xor_si256(high.v[i], _mm256_srai_epi32(low.v[i], 31)));
    }
    before = _mm256_extract_epi64(last, 0);
    double each[4];
    _mm256_storeu_pd(each, most);
    largest = std::max(largest, static_cast<u64>(std::max(std::max(each[0], each[1]), std::max(each[2], each[3]))));
    if (_mm256_testz_si256(longer, longer) != 0) return put_planes(low, out);
    put_low_planes(low, out);
    put_high_planes(low, out);
    const unsigned more = put_planes(high, out + 4 * widest_narrow);
    if (more == 0) put(out + 4 * widest_narrow, u32{0});  // the sign
    return widest_narrow + (more > 0 ? more : 1);
}

/// Bytes that decode_block_64 may read.
inline constexpr std::size_t reach_64 = 4 * widest + 8;

/// Running sums of four integers.
CCOLL_INLINE __m256i sums_64(__m256i v) noexcept
{
    v = _mm256_add_epi64(v, _mm256_slli_si256(v, 8));
    const __m256i sums = _mm256_shuffle_epi32(v, 0xee);
    return _mm256_add_epi64(v, _mm256_permute2x128_si256(sums, sums, 0x08));
}
CCOLL_INLINE void store_f64(float* to, __m256d v) noexcept { _mm_storeu_ps(to, _mm256_cvtpd_ps(v)); }
CCOLL_INLINE void store_f64(double* to, __m256d v) noexcept { _mm256_storeu_pd(to, v); }

/// @param width  0..64    @param base  the quantum before the block; becomes its last one
template <class T>
CCOLL_TARGET inline void decode_block_64(const u8* in, unsigned width, u64& base, double step, T* x) noexcept
{
    differences low, high;
    if (width > 0) get_planes(in, width < widest_narrow ? width : widest_narrow, low);
    else low = {};
    if (width > widest_narrow) get_planes(in + 4 * widest_narrow, width - widest_narrow, high);
    else
        for (int i = 0; i < 4; ++i) high.v[i] = _mm256_srai_epi32(low.v[i], 31);
    const __m256d by = all_f64(step);
    __m256i r = repeat_256(base);
    for (int i = 0; i < 4; ++i) {
        const __m256i outer = _mm256_unpacklo_epi32(low.v[i], high.v[i]), inner = _mm256_unpackhi_epi32(low.v[i], high.v[i]);
        for (int j = 0; j < 2; ++j) {
            const __m256i d = j == 0 ? _mm256_permute2x128_si256(outer, inner, 0x20) : _mm256_permute2x128_si256(outer, inner, 0x31);
            const __m256i sums = sums_64(d);
            store_f64(x + 8 * i + 4 * j, _mm256_mul_pd(doubles_of(_mm256_add_epi64(sums, r)), by));
            r = _mm256_add_epi64(r, _mm256_permute4x64_epi64(sums, 0xff));
        }
    }
    base = static_cast<u64>(_mm256_extract_epi64(r, 0));
}
