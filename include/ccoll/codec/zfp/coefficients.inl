// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/coefficients.inl - floor 2. Sixteen blocks of ZFP at a time are transformed, in loops that
// compilers vectorise. Compiled once per instruction set, for codec/zfp/codes.inl and what follows.

/// Blocks in a batch. An array has one number of each block.
inline constexpr std::size_t batch = 16;
template <class Number>
using of_batch = Number[batch];

/// x 2^k for each k that a block may have, in two steps because 2^k may be no normal number. Rounds once at
/// most: where the first step rounds, the result is far below 1, and only its whole part is used.
template <native_float T>
CCOLL_INLINE T scaled(T x, typename fields_of<T>::signed_word k) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    const auto power = [](typename fields::signed_word e) {
        return std::bit_cast<T>(static_cast<typename fields::word>(e + block<T>::bias)
                                << fields::mantissa_bits);
    };
    const auto half = static_cast<typename fields::signed_word>(k >> 1);
    return x * power(half) * power(k - half);
}

CCOLL_INLINE void transpose(__m256 (&x)[block_values]) noexcept
{
    const __m256d low[2] = {_mm256_castps_pd(_mm256_unpacklo_ps(x[0], x[1])),
                            _mm256_castps_pd(_mm256_unpacklo_ps(x[2], x[3]))};
    const __m256d high[2] = {_mm256_castps_pd(_mm256_unpackhi_ps(x[0], x[1])),
                             _mm256_castps_pd(_mm256_unpackhi_ps(x[2], x[3]))};
    x[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(low[0], low[1]));
    x[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low[0], low[1]));
    x[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(high[0], high[1]));
    x[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(high[0], high[1]));
}
CCOLL_INLINE void transpose(__m256d (&x)[block_values]) noexcept
{
    const __m256d low[2] = {_mm256_unpacklo_pd(x[0], x[1]), _mm256_unpacklo_pd(x[2], x[3])};
    const __m256d high[2] = {_mm256_unpackhi_pd(x[0], x[1]), _mm256_unpackhi_pd(x[2], x[3])};
    x[0] = _mm256_permute2f128_pd(low[0], low[1], 0x20);
    x[1] = _mm256_permute2f128_pd(high[0], high[1], 0x20);
    x[2] = _mm256_permute2f128_pd(low[0], low[1], 0x31);
    x[3] = _mm256_permute2f128_pd(high[0], high[1], 0x31);
}
/// The values of a batch, by their place in a block.
CCOLL_INLINE void transpose(const float* from, of_batch<float> (&to)[block_values]) noexcept
{
    for (std::size_t b = 0; b < batch; b += 8) {
        __m256 x[block_values];
        for (std::size_t k = 0; k < 4; ++k)
            x[k] = _mm256_loadu2_m128(from + 4 * (b + 4 + k), from + 4 * (b + k));
        transpose(x);
        for (std::size_t i = 0; i < block_values; ++i) _mm256_storeu_ps(to[i] + b, x[i]);
    }
}
CCOLL_INLINE void transpose(const double* from, of_batch<double> (&to)[block_values]) noexcept
{
    for (std::size_t b = 0; b < batch; b += 4) {
        __m256d x[block_values];
        for (std::size_t k = 0; k < 4; ++k) x[k] = _mm256_loadu_pd(from + 4 * (b + k));
        transpose(x);
        for (std::size_t i = 0; i < block_values; ++i) _mm256_storeu_pd(to[i] + b, x[i]);
    }
}
/// The reverse.
CCOLL_INLINE void transpose(const of_batch<float> (&from)[block_values], float* to) noexcept
{
    for (std::size_t b = 0; b < batch; b += 8) {
        __m256 x[block_values];
        for (std::size_t i = 0; i < block_values; ++i) x[i] = _mm256_loadu_ps(from[i] + b);
        transpose(x);
        for (std::size_t k = 0; k < 4; ++k) _mm256_storeu2_m128(to + 4 * (b + 4 + k), to + 4 * (b + k), x[k]);
    }
}
CCOLL_INLINE void transpose(const of_batch<double> (&from)[block_values], double* to) noexcept
{
    for (std::size_t b = 0; b < batch; b += 4) {
        __m256d x[block_values];
        for (std::size_t i = 0; i < block_values; ++i) x[i] = _mm256_loadu_pd(from[i] + b);
        transpose(x);
        for (std::size_t k = 0; k < 4; ++k) _mm256_storeu_pd(to + 4 * (b + k), x[k]);
    }
}

/// Exponents and coefficients of a batch. The loops are short and many, because compilers vectorise those.
template <native_float T>
struct coefficients {
    using fields = fields_of<T>;
    using word = typename fields::word;
    using integer = typename fields::signed_word;
    static constexpr int bias = block<T>::bias;
    static constexpr word alternating = static_cast<word>(0xaaaaaaaaaaaaaaaau);

    of_batch<integer> exponent;
    of_batch<integer> planes;  ///< that are kept
    of_batch<word> kept;       ///< the same as bits
    of_batch<word> c[block_values];

    CCOLL_INLINE static word half(word a) noexcept { return static_cast<word>(static_cast<integer>(a) >> 1); }
    CCOLL_INLINE static integer planes_of(integer exponent, int lowest_exponent) noexcept
    {
        const auto count = static_cast<integer>(exponent - lowest_exponent + 4);
        const integer some = count > 0 ? count : 0;
        return some < fields::word_bits ? some : integer{fields::word_bits};
    }

    /// What block::encode does before it writes; planes that are not kept become 0.
    CCOLL_INLINE void forward(const T* x, int lowest_exponent) noexcept
    {
        CCOLL_EXACT_BODY
        of_batch<T> v[block_values];
        transpose(x, v);
        for (std::size_t b = 0; b < batch; ++b) {
            const auto largest = [](integer p, integer q) { return p > q ? p : q; };
            const integer most =
                largest(largest(fields::signed_magnitude(v[0][b]), fields::signed_magnitude(v[1][b])),
                        largest(fields::signed_magnitude(v[2][b]), fields::signed_magnitude(v[3][b])));
            const integer e = largest((most >> fields::mantissa_bits) - bias + 1, 1 - bias);
            const integer count = planes_of(e, lowest_exponent), p = most == 0 ? 0 : count;
            exponent[b] = e;
            planes[b] = p;
            kept[b] = static_cast<word>(~(~word{0} >> (p >> 1) >> (p - (p >> 1))));  // p may be all bits
        }
        for (std::size_t i = 0; i < block_values; ++i)
            for (std::size_t b = 0; b < batch; ++b)
                c[i][b] = static_cast<word>(
                    static_cast<integer>(scaled(v[i][b], integer{fields::word_bits - 2} - exponent[b])));
        for (std::size_t b = 0; b < batch; ++b) {
            word p = c[0][b], r = c[1][b], s = c[2][b], t = c[3][b];
            p = half(p + t);
            t -= p;
            s = half(s + r);
            r -= s;
            p = half(p + s);
            s -= p;
            t = half(t + r);
            r -= t;
            t += half(r);
            r -= half(t);
            c[0][b] = ((p + alternating) ^ alternating) & kept[b];
            c[1][b] = ((r + alternating) ^ alternating) & kept[b];
            c[2][b] = ((s + alternating) ^ alternating) & kept[b];
            c[3][b] = ((t + alternating) ^ alternating) & kept[b];
        }
    }
    CCOLL_INLINE void inverse(T* x) const noexcept
    {
        CCOLL_EXACT_BODY
        of_batch<T> v[block_values];
        for (std::size_t b = 0; b < batch; ++b) {
            word p = (c[0][b] ^ alternating) - alternating, r = (c[1][b] ^ alternating) - alternating;
            word s = (c[2][b] ^ alternating) - alternating, t = (c[3][b] ^ alternating) - alternating;
            r += half(t);
            t -= half(r);
            r += t;
            t <<= 1;
            t -= r;
            s += p;
            p <<= 1;
            p -= s;
            r += s;
            s <<= 1;
            s -= r;
            t += p;
            p <<= 1;
            p -= t;
            const integer k = exponent[b] - integer{fields::word_bits - 2};
            v[0][b] = scaled(static_cast<T>(static_cast<integer>(p)), k);
            v[1][b] = scaled(static_cast<T>(static_cast<integer>(r)), k);
            v[2][b] = scaled(static_cast<T>(static_cast<integer>(s)), k);
            v[3][b] = scaled(static_cast<T>(static_cast<integer>(t)), k);
        }
        transpose(v, x);
    }
};
