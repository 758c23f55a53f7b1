// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/avx512_gfni.hpp - floor 2. The kernels of SZp with AVX-512 and GFNI, VBMI, VBMI2, VNNI: Ice Lake, Zen 4. The same bytes as the
// portable ones.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <algorithm>
#include <bit>

#include <ccoll/codec/szp/avx512.hpp>

#define CCOLL_TARGET CCOLL_AVX512_GFNI
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szp {

namespace avx512_gfni {

// The primitives of AVX-512 that more instructions do not improve.
using avx2::all_places;
using avx2::fill;
using avx2::find_lattice;
using avx2::get_lists;
using avx2::is_noise;
using avx2::largest_below;
using avx2::largest_magnitude;
using avx2::ones_of;
using avx512::all_32;
using avx512::all_64;
using avx512::alone;
using avx512::clear;
using avx512::dequantise;
using avx512::difference;
using avx512::differences;
using avx512::halves;
using avx512::hold;
using avx512::lines_of;
using avx512::load;
using avx512::look_ahead;
using avx512::magnitudes;
using avx512::merge;
using avx512::over;
using avx512::put_16_planes;
using avx512::put_32_planes;
using avx512::quanta;
using avx512::quantise_f64;
using avx512::replace_from;
using avx512::running;
using avx512::scan;
using avx512::start;
using avx512::streams;
using avx512::top;

/// Byte permutations around an instruction that transposes 8x8 bits in each of eight groups. Group 4 p + g holds byte p of the
/// values 8 g .. 8 g + 7: those of 16 planes at once.
struct alignas(64) byte_order {
    u8 from[64];
};
struct orders {
    byte_order ordered;     ///< 16-bit values -> groups
    byte_order packed;      ///< the same, as two registers are packed
    byte_order planes;      ///< groups -> planes
    byte_order spread[17];  ///< [w] planes -> groups; those from w on repeat the sign
    byte_order words;       ///< groups -> 16-bit values
    byte_order sign;        ///< groups -> plane 7, in all words
    byte_order not_last;    ///< all bits but those of word 7
    byte_order ones;        ///< in all bytes
    byte_order triangle;    ///< ones in 1, 2, 3 and 4 bytes of four words
    byte_order fours[2];    ///< words 0..3 and 4..7, each in four words
    byte_order before[2];   ///< the word before that; the first four are not looked at
    byte_order last[2];     ///< word 3, word 7, in all words

    /// [w] the operand of the transposition; 0 for w = 0, so that zeros come out
    u64 transpose[17], transpose_back[17];
};
constexpr orders make_orders()
{
    orders o{};
    const auto u = [](unsigned v) { return static_cast<u8>(v); };
    for (unsigned p = 0; p < 2; ++p)
        for (unsigned g = 0; g < 4; ++g)
            for (unsigned m = 0; m < 8; ++m) {
                const unsigned at = 8 * (4 * p + g) + m;  // the instruction counts bytes from the highest
                const unsigned v = 8 * g + 7 - m;
                o.ordered.from[at] = u(2 * v + p);
                o.packed.from[at] = u(16 * (v % 16 / 4) + 8 * (v / 16) + 2 * (v % 4) + p);
                for (unsigned w = 1; w <= 16; ++w) o.spread[w].from[at] = u(4 * std::min(8 * p + 7 - m, w - 1) + g);
            }
    for (unsigned plane = 0; plane < 16; ++plane)
        for (unsigned g = 0; g < 4; ++g) {
            o.planes.from[4 * plane + g] = u(8 * (4 * (plane / 8) + g) + plane % 8);
            o.sign.from[4 * plane + g] = u(8 * g + 7);
            o.not_last.from[4 * plane + g] = plane == 7 ? 0 : 255;
        }
    for (unsigned v = 0; v < 32; ++v)
        for (unsigned p = 0; p < 2; ++p) o.words.from[2 * v + p] = u(32 * p + v);
    for (unsigned k = 0; k < 16; ++k) {
        for (unsigned p = 0; p < 4; ++p) {
            o.ones.from[4 * k + p] = 1;
            o.triangle.from[4 * k + p] = p <= k % 4;
        }
        for (unsigned h = 0; h < 2; ++h) {
            o.fours[h].from[4 * k] = u(4 * h + k / 4);
            o.before[h].from[4 * k] = u(k < 4 ? 0 : 4 * h + k / 4 - 1);
            o.last[h].from[4 * k] = u(4 * h + 3);
        }
    }
    for (unsigned w = 1; w <= 16; ++w) {
        o.transpose[w] = 0x8040201008040201u;
        o.transpose_back[w] = 0x0102040810204080u;
    }
    return o;
}
inline constexpr orders order = make_orders();

CCOLL_INLINE const orders& constants() noexcept { return in_memory(order); }
CCOLL_INLINE __m512i all(const byte_order& o) noexcept { return _mm512_load_si512(&o); }
CCOLL_INLINE __m256i half(const byte_order& o) noexcept { return _mm256_load_si256(reinterpret_cast<const __m256i*>(&o)); }

CCOLL_INLINE __m512i permuted(const byte_order& o, __m512i v) noexcept { return _mm512_permutexvar_epi8(all(o), v); }
CCOLL_INLINE __m512i transposed(__m512i v, u64 how) noexcept { return _mm512_gf2p8affine_epi64_epi8(all_64(how), v, 0); }

/// 32 words, as they are packed, to 16 planes.
CCOLL_INLINE __m512i planes_of(__m512i words) noexcept
{
    const orders& o = constants();
    return permuted(o.planes, transposed(permuted(o.packed, words), o.transpose[16]));
}
/// Up to 16 planes to groups.
CCOLL_INLINE __m512i get_groups(const orders& o, const u8* in, unsigned width, const u64 (&how)[17]) noexcept
{
    return transposed(permuted(o.spread[width], _mm512_loadu_si512(in)), how[width]);
}
CCOLL_INLINE __m512i words_of(const u8* in, unsigned width) noexcept
{
    const orders& o = constants();
    return permuted(o.words, get_groups(o, in, width, o.transpose));
}

#include <ccoll/codec/szp/avx512_planes.inl>

/// 8 planes, in the lower half of the orders above.
CCOLL_INLINE __m256i permuted_256(const byte_order& o, __m256i v) noexcept { return _mm256_permutexvar_epi8(half(o), v); }
CCOLL_INLINE __m256i transposed_256(__m256i v, u64 how) noexcept
{
    return _mm256_gf2p8affine_epi64_epi8(_mm256_set1_epi64x(static_cast<i64>(how)), v, 0);
}
CCOLL_INLINE __m256i get_8_groups(const orders& o, const u8* in, unsigned width, const u64 (&how)[17]) noexcept
{
    return transposed_256(permuted_256(o.spread[width], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in))), how[width]);
}

/// 32-bit values as their low and high words, in order.
struct halves_of_words {
    __m512i low, high;

    CCOLL_INLINE halves_of_words(const u8* in, unsigned width) noexcept
    {
        low = words_of(in, std::min(width, 16u));
        high = width > 16 ? words_of(in + 64, width - 16) : _mm512_srai_epi16(low, 15);
    }
};
CCOLL_INLINE __m512i planes_of_ordered(__m512i words) noexcept
{
    const orders& o = constants();
    return permuted(o.planes, transposed(permuted(o.ordered, words), o.transpose[16]));
}
/// Widths up to 7: sums are bytes. Widths up to 15: sums fit 16 bits. Low bytes stand in the lower half of a register, high bytes in
/// the upper one, so that carries move by 32 bytes.
CCOLL_INLINE unsigned add_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    const orders& o = constants();
    if ((wa | wb) <= 7) {
        const __m256i sum = _mm256_add_epi8(get_8_groups(o, a, wa, o.transpose_back), get_8_groups(o, b, wb, o.transpose_back));
        const __m256i groups = transposed_256(sum, o.transpose[16]);
        const __m256i planes = permuted_256(o.planes, groups), sign = _mm256_and_si256(permuted_256(o.sign, groups), half(o.not_last));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), planes);
        return width_of(_mm256_cmpneq_epi32_mask(planes, sign));
    }
    if ((wa | wb) > 15) [[unlikely]] {
        const halves_of_words x(a, wa), y(b, wb);
        const __m512i low = _mm512_add_epi16(x.low, y.low), high = _mm512_add_epi16(x.high, y.high), ones = _mm512_set1_epi16(-1);
        const __m512i carried = _mm512_mask_sub_epi16(high, _mm512_cmplt_epu16_mask(low, x.low), high, ones);
        return put_32_planes(planes_of_ordered(low), planes_of_ordered(carried), out);
    }
    const __m512i x = get_groups(o, a, wa, o.transpose_back);
    __m512i sum = _mm512_add_epi8(x, get_groups(o, b, wb, o.transpose_back));
    const __mmask64 carry = _mm512_cmplt_epu8_mask(sum, x) << 32;
    sum = _mm512_mask_add_epi8(sum, carry, sum, all(o.ones));
    return put_16_planes(permuted(o.planes, transposed(sum, o.transpose[16])), out);
}

/// Nobody reads the upper half. If it is unspecified, clang fills it from a register on which the next block then waits; zeros cost g++ a
/// move.
CCOLL_INLINE __m512i low_half(__m256i v) noexcept
{
#if defined(__clang__)
    return _mm512_zextsi256_si512(v);
#else
    return _mm512_castsi256_si512(v);
#endif
}
/// From 32 differences: the prefix sum is two dot products of bytes. Four values against a triangle of ones, on top of the running total of
/// groups of four, of which there are only eight.
template <class T, class To>
CCOLL_INLINE void restore_bytes(__m256i v, running& r, T step, To& x) noexcept
{
    const orders& o = constants();
    quanta q;
    __m256i total = _mm256_dpbusd_epi32(_mm256_setzero_si256(), half(o.ones), v);
    total = _mm256_add_epi32(total, _mm256_slli_si256(total, 4));
    total = _mm256_add_epi32(total, _mm256_slli_si256(total, 8));
    const __m512i bytes = low_half(v), triangle = all(o.triangle);
    // The first half's groups, on top of which the second one's are.
    const __m512i low = low_half(_mm256_add_epi32(total, _mm512_castsi512_si256(r)));
    const __m512i middle = _mm512_permutexvar_epi32(all(o.last[0]), low);
    const __m512i high = low_half(_mm256_add_epi32(total, _mm512_castsi512_si256(middle)));
    q.a = _mm512_dpbusd_epi32(_mm512_mask_permutexvar_epi32(r, 0xfff0, all(o.before[0]), low), triangle,
                              _mm512_permutexvar_epi32(all(o.fours[0]), bytes));
    q.b = _mm512_dpbusd_epi32(_mm512_mask_permutexvar_epi32(middle, 0xfff0, all(o.before[1]), high), triangle,
                              _mm512_permutexvar_epi32(all(o.fours[1]), bytes));
    r = _mm512_permutexvar_epi32(all(o.last[1]), high);
    dequantise(q, step, x);
}
template <class T, class To>
CCOLL_INLINE void restore(const u8* in, unsigned width, running& r, T step, To& x) noexcept
{
    if (width > 8) {
        quanta q;
        get_planes(in, width, q);
        scan(q, r);
        dequantise(q, step, x);
        return;
    }
    const orders& o = constants();
    restore_bytes(get_8_groups(o, in, width, o.transpose), r, step, x);
}

namespace by_mask = specials::avx512_gfni;
#include <ccoll/codec/szp/loops.inl>
inline constexpr bool takes_out = true;
#include <ccoll/codec/szp/encode.inl>
#include <ccoll/codec/szp/quanta64_512.inl>
#include <ccoll/codec/szp/alone.inl>

using namespace lists;
#include <ccoll/codec/szp/avx512_lists.inl>

}  // namespace avx512_gfni

}  // namespace ccoll::detail::szp

#include <ccoll/base/kernels_end.inl>

#endif
