// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp_avx512.inl - what both AVX-512 kernels of SZp share; included into their namespaces (szp_x86.hpp).

struct lanes {
    __m512i a, b;  // values 0..15, 16..31
};
using quanta = lanes;
using differences = lanes;
using running = __m512i;  // the last quantum in all lanes, or (while encoding) in the last one
template <class T>
struct magnitudes {
    __m512i most;
};

CCOLL_SZP_INLINE __m512i all_32(u32 v) noexcept { return _mm512_set1_epi32(static_cast<int>(v)); }
CCOLL_SZP_INLINE __m512i all_64(u64 v) noexcept { return _mm512_set1_epi64(static_cast<long long>(v)); }
CCOLL_SZP_INLINE __m512i halves(__m256i low, __m256i high) noexcept { return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1); }

CCOLL_SZP_INLINE void start(running& r, i32 base) noexcept { r = _mm512_set1_epi32(base); }
CCOLL_SZP_INLINE i32 last_of(running r) noexcept { return _mm_extract_epi32(_mm512_extracti32x4_epi32(r, 3), 3); }

template <class T>
CCOLL_SZP_INLINE void clear(magnitudes<T>& m) noexcept
{
    m.most = _mm512_setzero_si512();
}
CCOLL_SZP_INLINE void merge(magnitudes<float>& into, const magnitudes<float>& m) noexcept { into.most = _mm512_max_epu32(into.most, m.most); }
CCOLL_SZP_INLINE void merge(magnitudes<double>& into, const magnitudes<double>& m) noexcept { into.most = _mm512_max_epu64(into.most, m.most); }
CCOLL_SZP_INLINE u32 top(const magnitudes<float>& m) noexcept { return static_cast<u32>(_mm512_reduce_max_epu32(m.most)); }
CCOLL_SZP_INLINE u64 top(const magnitudes<double>& m) noexcept { return static_cast<u64>(_mm512_reduce_max_epu64(m.most)); }
CCOLL_SZP_INLINE bool over(const magnitudes<float>& m, u32 limit) noexcept { return _mm512_cmpge_epu32_mask(m.most, all_32(limit)) != 0; }
CCOLL_SZP_INLINE bool over(const magnitudes<double>& m, u64 limit) noexcept { return _mm512_cmpge_epu64_mask(m.most, all_64(limit)) != 0; }

template <class T>
struct look_ahead {
    CCOLL_SZP_INLINE void quantise(const float*, std::size_t, std::size_t, const float* x, const quantiser<float>& z, quanta& q,
                                   magnitudes<float>& m) const noexcept
    {
        const __m512 inverse = _mm512_set1_ps(z.inverse);
        const __m512i low = all_32(0x7fffffffu);
        const __m512i a = _mm512_loadu_si512(x), b = _mm512_loadu_si512(x + 16);
        m.most = _mm512_max_epu32(_mm512_and_si512(a, low), _mm512_and_si512(b, low));
        q.a = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_castsi512_ps(a), inverse));
        q.b = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_castsi512_ps(b), inverse));
    }
    CCOLL_SZP_INLINE void quantise(const double*, std::size_t, std::size_t, const double* x, const quantiser<double>& z, quanta& q,
                                   magnitudes<double>& m) const noexcept
    {
        const __m512d inverse = _mm512_set1_pd(z.inverse);
        const __m512i low = all_64(0x7fffffffffffffffu);
        m.most = _mm512_setzero_si512();
        __m256i part[4];
        for (int i = 0; i < 4; ++i) {
            const __m512i v = _mm512_loadu_si512(x + 8 * i);
            m.most = _mm512_max_epu64(m.most, _mm512_and_si512(v, low));
            part[i] = _mm512_cvtpd_epi32(_mm512_mul_pd(_mm512_castsi512_pd(v), inverse));
        }
        q.a = halves(part[0], part[1]);
        q.b = halves(part[2], part[3]);
    }
};

CCOLL_SZP_INLINE void quantise_f64(const float* x, double inverse, quanta& q) noexcept
{
    const __m512d by = _mm512_set1_pd(inverse);
    __m256i part[4];
    for (int i = 0; i < 4; ++i) part[i] = _mm512_cvtpd_epi32(_mm512_mul_pd(_mm512_cvtps_pd(_mm256_loadu_ps(x + 8 * i)), by));
    q.a = halves(part[0], part[1]);
    q.b = halves(part[2], part[3]);
}
CCOLL_SZP_INLINE void replace_from(const float* x, u32 limit, const quanta& with, quanta& q) noexcept
{
    const __m512i low = all_32(0x7fffffffu), least = all_32(limit);
    q.a = _mm512_mask_mov_epi32(q.a, _mm512_cmpge_epu32_mask(_mm512_and_si512(_mm512_loadu_si512(x), low), least), with.a);
    q.b = _mm512_mask_mov_epi32(q.b, _mm512_cmpge_epu32_mask(_mm512_and_si512(_mm512_loadu_si512(x + 16), low), least), with.b);
}
CCOLL_SZP_INLINE void load(const i32* values, quanta& q) noexcept
{
    q.a = _mm512_loadu_si512(values);
    q.b = _mm512_loadu_si512(values + 16);
}

CCOLL_SZP_INLINE void difference(const quanta& q, running& r, differences& d) noexcept
{
    d.a = _mm512_sub_epi32(q.a, _mm512_alignr_epi32(q.a, r, 15));
    d.b = _mm512_sub_epi32(q.b, _mm512_alignr_epi32(q.b, q.a, 15));
    r = q.b;
}

CCOLL_SZP_INLINE void alone(const quanta& q, differences& d) noexcept { d = q; }

/// Between 32 words, as they are packed, and 16 planes; to words in order, those from `width` on repeating the sign. Each kernel's own.
CCOLL_SZP_INLINE __m512i planes_of(__m512i words) noexcept;
CCOLL_SZP_INLINE __m512i words_of(const u8* in, unsigned width) noexcept;

/// The sign plane in all words, and with 0 in the last one, where it would be compared with itself.
CCOLL_SZP_INLINE __m512i sign_of(__m512i planes) noexcept { return _mm512_permutexvar_epi32(all_32(equal().fifteen), planes); }
CCOLL_SZP_INLINE __m512i but_last(__m512i sign) noexcept { return _mm512_and_si512(sign, _mm512_setr_epi32(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0)); }

/// Stores all 16 planes: the next block overwrites what is too much.
CCOLL_SZP_INLINE unsigned put_16_planes(__m512i planes, u8* out) noexcept
{
    _mm512_storeu_si512(out, planes);
    return width_of(_mm512_cmpneq_epi32_mask(planes, but_last(sign_of(planes))));
}
CCOLL_SZP_INLINE unsigned put_32_planes(__m512i low, __m512i high, u8* out) noexcept
{
    const __m512i sign = sign_of(high);
    const u32 differs = _mm512_cmpneq_epi32_mask(low, sign), differs_high = _mm512_cmpneq_epi32_mask(high, but_last(sign));
    const unsigned width = width_of(differs | differs_high << 16);
    _mm512_storeu_si512(out, low);
    if (width > 16) [[unlikely]] _mm512_storeu_si512(out + 64, high);
    return width;
}
CCOLL_SZP_INLINE unsigned put_small(const differences& d, u8* out) noexcept { return put_16_planes(planes_of(_mm512_packs_epi32(d.a, d.b)), out); }
CCOLL_SZP_INLINE unsigned put_planes(const differences& d, u8* out) noexcept
{
    const __m512i low_word = all_32(equal().low_words);
    const __m512i low = planes_of(_mm512_packus_epi32(_mm512_and_si512(d.a, low_word), _mm512_and_si512(d.b, low_word)));
    const __m512i high = planes_of(_mm512_packs_epi32(_mm512_srai_epi32(d.a, 16), _mm512_srai_epi32(d.b, 16)));
    return put_32_planes(low, high, out);
}
CCOLL_SZP_INLINE unsigned put_planes(const differences& d, bool brief, u8* out) noexcept { return brief ? put_small(d, out) : put_planes(d, out); }
/// @param width  1..32
CCOLL_SZP_INLINE void get_planes(const u8* in, unsigned width, differences& d) noexcept
{
    const __m512i low = words_of(in, std::min(width, 16u));
    d.a = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(low));
    d.b = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(low, 1));
    if (width <= 16) [[likely]] return;
    const __m512i high = words_of(in + 64, width - 16);  // over the low words' repeated signs
    d.a = _mm512_mask_blend_epi16(0xaaaaaaaau, d.a, _mm512_slli_epi32(_mm512_cvtepi16_epi32(_mm512_castsi512_si256(high)), 16));
    d.b = _mm512_mask_blend_epi16(0xaaaaaaaau, d.b, _mm512_slli_epi32(_mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(high, 1)), 16));
}

/// Prefix sum of 16 lanes: within 128 bits, then the totals of those.
CCOLL_SZP_INLINE __m512i scan_16(__m512i v) noexcept
{
    v = _mm512_add_epi32(v, _mm512_bslli_epi128(v, 4));
    v = _mm512_add_epi32(v, _mm512_bslli_epi128(v, 8));
    __m512i total = _mm512_shuffle_epi32(v, _MM_PERM_DDDD);
    v = _mm512_add_epi32(v, _mm512_maskz_shuffle_i32x4(0xfff0, total, total, 0x90));
    total = _mm512_shuffle_epi32(v, _MM_PERM_DDDD);
    return _mm512_add_epi32(v, _mm512_maskz_shuffle_i32x4(0xff00, total, total, 0x40));
}
CCOLL_SZP_INLINE void scan(differences& d, running& r) noexcept
{
    const __m512i last = all_32(equal().fifteen), a = scan_16(d.a), b = _mm512_add_epi32(scan_16(d.b), _mm512_permutexvar_epi32(last, a));
    d.a = _mm512_add_epi32(a, r);
    d.b = _mm512_add_epi32(b, r);
    r = _mm512_add_epi32(r, _mm512_permutexvar_epi32(last, b));
}

inline constexpr bool streams = true;
template <class T>
using lines_of = line_writer_512;

/// @param to  a pointer, or a line_writer
template <class To>
CCOLL_SZP_INLINE void dequantise(const quanta& q, float step, To& to) noexcept
{
    const __m512 by = _mm512_set1_ps(step);
    write(to, 0, _mm512_mul_ps(_mm512_cvtepi32_ps(q.a), by));
    write(to, 16, _mm512_mul_ps(_mm512_cvtepi32_ps(q.b), by));
}
template <class To>
CCOLL_SZP_INLINE void dequantise(const quanta& q, double step, To& to) noexcept
{
    const __m512d by = _mm512_set1_pd(step);
    write(to, 0, _mm512_mul_pd(_mm512_cvtepi32_pd(_mm512_castsi512_si256(q.a)), by));
    write(to, 8, _mm512_mul_pd(_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(q.a, 1)), by));
    write(to, 16, _mm512_mul_pd(_mm512_cvtepi32_pd(_mm512_castsi512_si256(q.b)), by));
    write(to, 24, _mm512_mul_pd(_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(q.b, 1)), by));
}
