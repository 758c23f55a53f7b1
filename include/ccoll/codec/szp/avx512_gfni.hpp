// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/avx512_gfni.hpp - floor 2. The kernels of SZp with AVX-512 and GFNI, VBMI, VBMI2, VNNI: Ice Lake,
// Zen 4.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/szp/avx512.hpp>

#define CCOLL_TARGET CCOLL_AVX512_GFNI
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Byte permutations around an instruction that transposes 8x8 bits in each of eight groups of 8 bytes. Group
/// 4 p + c has byte p of values 4 i + c, the one whose bit is j of byte c of a plane at j: those of 16 planes
/// at once. The instruction counts bytes from the highest.
struct alignas(64) byte_order {
    u8 from[64];
};
/// One of planes, and the operands of the transposition that belong to it.
struct plane_order : byte_order {
    u64 transpose, transpose_back;
};
struct byte_orders {
    byte_order packed;       ///< 16-bit values, as two registers are packed -> groups
    byte_order ordered;      ///< the same for 16-bit values in order
    byte_order planes;       ///< groups -> planes
    plane_order spread[17];  ///< [w] planes -> groups; those from w on repeat the sign. w = 0: zeros come out
    byte_order second[9];    ///< the same for 8 planes in the upper half; the lower half is not looked at
    byte_order words;        ///< groups -> 16-bit values
    byte_order values;       ///< groups -> bytes in the order of the values
    /// The same for values 0..15, 16..31 and those of a second block, each group of four of them four times.
    byte_order fours[4];
    byte_order places;    ///< 0, 1, 2 and so on
    byte_order triangle;  ///< ones in 1, 2, 3 and 4 bytes of four words
    /// The words before words 0..3, 4..7, 8..11, 12..15, each four times; the first four are not looked at.
    byte_order before[4];
};
inline constexpr u64 transpose = 0x8040201008040201u;
constexpr byte_orders make_byte_orders()
{
    byte_orders o{};
    const auto u = [](unsigned v) { return static_cast<u8>(v); };
    for (unsigned p = 0; p < 2; ++p)
        for (unsigned c = 0; c < 4; ++c)
            for (unsigned m = 0; m < 8; ++m) {
                const unsigned at = 8 * (4 * p + c) + m, j = 7 - m, v = 8 * (j % 4) + 4 * (j / 4) + c;
                o.ordered.from[at] = u(2 * v + p);
                o.packed.from[at] = u(16 * (v % 16 / 4) + 8 * (v / 16) + 2 * (v % 4) + p);
                for (unsigned w = 1; w <= 16; ++w)
                    o.spread[w].from[at] = u(4 * std::min(8 * p + j, w - 1) + c);
                for (unsigned w = 1; w <= 8; ++w) o.second[w].from[at] = u(32 + 4 * std::min(j, w - 1) + c);
            }
    for (unsigned k = 0; k < 64; ++k) o.planes.from[k] = u(8 * (4 * (k / 32) + k % 4) + k / 4 % 8);
    const auto group_byte = [](unsigned v) { return 8 * (v % 4) + 4 * (v / 4 % 2) + v / 8; };
    for (unsigned v = 0; v < 32; ++v) {
        o.places.from[v] = u(v);
        for (unsigned b = 0; b < 2; ++b) o.values.from[v + 32 * b] = u(group_byte(v) + 32 * b);
        for (unsigned p = 0; p < 2; ++p) o.words.from[2 * v + p] = u(32 * p + group_byte(v));
    }
    for (unsigned k = 0; k < 16; ++k) {
        for (unsigned p = 0; p < 4; ++p) o.triangle.from[4 * k + p] = p <= k % 4;
        for (unsigned h = 0; h < 4; ++h) {
            for (unsigned p = 0; p < 4; ++p)
                o.fours[h].from[4 * k + p] = u(group_byte(4 * (4 * (h % 2) + k / 4) + p) + 32 * (h / 2));
            o.before[h].from[4 * k] = u(h == 0 && k < 4 ? 0 : 4 * h + k / 4 - 1);
        }
    }
    for (unsigned w = 1; w <= 16; ++w) {
        o.spread[w].transpose = transpose;
        o.spread[w].transpose_back = 0x0102040810204080u;
    }
    return o;
}
inline constexpr byte_orders byte_orders_table = make_byte_orders();

namespace avx512_gfni {

// What more instructions do not improve.
using avx2::choose_above, avx2::fill, avx2::get_list, avx2::is_noise, avx512::all_32, avx512::lanes,
    avx512::lines_of, avx512::low_half, avx512::moved_up, avx512::nearest, avx512::nearest_in_double,
    avx512::put_16_planes, avx512::put_32_planes, avx512::quanta, avx512::running, avx512::scan,
    avx512::streams, avx512::times;

CCOLL_INLINE const byte_orders& orders() noexcept { return in_memory(byte_orders_table); }
CCOLL_INLINE __m512i all(const byte_order& o) noexcept { return _mm512_load_si512(&o); }
CCOLL_INLINE __m256i half(const byte_order& o) noexcept
{
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(&o));
}
CCOLL_INLINE __m512i permuted(const byte_order& o, __m512i v) noexcept
{
    return _mm512_permutexvar_epi8(all(o), v);
}
CCOLL_INLINE __m256i permuted(const byte_order& o, __m256i v) noexcept
{
    return _mm256_permutexvar_epi8(half(o), v);
}
CCOLL_INLINE __m512i transposed(__m512i v, u64 how) noexcept
{
    return _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64(static_cast<i64>(how)), v, 0);
}
CCOLL_INLINE __m256i transposed(__m256i v, u64 how) noexcept
{
    return _mm256_gf2p8affine_epi64_epi8(_mm256_set1_epi64x(static_cast<i64>(how)), v, 0);
}

/// Up to 16 planes to groups, and up to 8 of them.
/// @param how  of.transpose; or transpose_back, if the groups become planes again: bytes stand in reverse
///             then
CCOLL_INLINE __m512i get_groups(const plane_order& of, const u8* in, u64 how) noexcept
{
    return transposed(permuted(of, _mm512_loadu_si512(in)), how);
}
CCOLL_INLINE __m256i get_8_groups(const plane_order& of, const u8* in, u64 how) noexcept
{
    return transposed(permuted(of, avx2::load_256(in)), how);
}
CCOLL_INLINE __m512i planes_of(__m512i packed_words) noexcept
{
    const byte_orders& o = orders();
    return permuted(o.planes, transposed(permuted(o.packed, packed_words), transpose));
}
CCOLL_INLINE __m512i words_of(const u8* in, unsigned width) noexcept
{
    const byte_orders& o = orders();
    const plane_order& of = o.spread[width];
    return permuted(o.words, get_groups(of, in, of.transpose));
}
#include <ccoll/codec/szp/planes_512.inl>

/// The same for two blocks, one behind the other, of widths 0..8: four bytes against a triangle. Constants
/// stay in registers.
struct two_scanner {
    const byte_orders& o = orders();
    __m512i triangle = all(o.triangle), values = all(o.values), last = avx512::all(avx512::words().last);
    __m512i lane = avx512::all(avx512::words().lane[0]), two_lanes = avx512::all(avx512::words().lane[1]);
    __m512i fours[4] = {all(o.fours[0]), all(o.fours[1]), all(o.fours[2]), all(o.fours[3])};
    __m512i before[4] = {all(o.before[0]), all(o.before[1]), all(o.before[2]), all(o.before[3])};

    CCOLL_INLINE two_scanner() noexcept {}
    CCOLL_INLINE void operator()(const u8* in, unsigned wa, unsigned wb, quanta (&q)[2],
                                 running& r) const noexcept
    {
        const __m512i planes =
            _mm512_inserti64x4(low_half(avx2::load_256(in)), avx2::load_256(in + 4 * wa), 1);
        const __m512i from =
            _mm512_inserti64x4(low_half(half(o.spread[wa])), avx2::load_256(o.second[wb].from + 32), 1);
        const __m512i how =
            _mm512_mask_set1_epi64(_mm512_set1_epi64(static_cast<i64>(o.spread[wa].transpose)), 0xf0,
                                   static_cast<i64>(o.spread[wb].transpose));
        const __m512i groups = _mm512_gf2p8affine_epi64_epi8(how, _mm512_permutexvar_epi8(from, planes), 0);
        const __m512i sums = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1),
                                                 _mm512_permutexvar_epi8(values, groups));
        const __m512i total = avx512::totals_of(sums, r, lane, two_lanes);
        const auto put = [&](unsigned k, __m512i below) CCOLL_TARGET {
            q[k / 2].v[k % 2] =
                _mm512_dpbusd_epi32(below, triangle, _mm512_permutexvar_epi8(fours[k], groups));
        };
        put(0, _mm512_mask_permutexvar_epi32(r, 0xfff0, before[0], total));
        CCOLL_UNROLLED for (unsigned k = 1; k < 4; ++k) put(k, _mm512_permutexvar_epi32(before[k], total));
        r = _mm512_permutexvar_epi32(last, total);
    }
};
#include <ccoll/codec/szp/registers.inl>

/// Widths up to 7: sums are bytes. Up to 15: 16 bits, whose high bytes stand in the upper half of a register,
/// so carries move by 32 bytes.
template <unsigned Most>
CCOLL_INLINE std::size_t add_blocks(const u8* a, std::size_t wa, const u8* b, std::size_t wb,
                                    u8* out) noexcept
{
    const byte_orders& o = orders();
    if (Most <= 7 || (Most == few_above_7 && (wa | wb) <= 7)) {
        const plane_order &x = o.spread[wa], &y = o.spread[wb];
        const __m256i sum =
            _mm256_add_epi8(get_8_groups(x, a, x.transpose_back), get_8_groups(y, b, y.transpose_back));
        const __m256i planes = permuted(o.planes, transposed(sum, transpose));
        avx2::store_256(out, planes);
        return width_of<u8>(
            _mm256_cmpneq_epi32_mask(planes, _mm256_maskz_permutexvar_epi32(0x7f, avx2::all_32(7), planes)));
    }
    if (Most <= 15 || (wa | wb) <= 15) [[likely]] {
        const plane_order &of_a = o.spread[wa], &of_b = o.spread[wb];
        const __m512i x = get_groups(of_a, a, of_a.transpose_back),
                      y = get_groups(of_b, b, of_b.transpose_back);
        __m512i sum = _mm512_add_epi8(x, y);
        const __mmask64 carry = _mm512_cmplt_epu8_mask(sum, x) << 32;
        sum = _mm512_mask_add_epi8(sum, carry, sum, _mm512_set1_epi8(1));
        return put_16_planes(permuted(o.planes, transposed(sum, transpose)), out);
    }
    const auto low_of = [&](const u8* in, unsigned width)
                            CCOLL_TARGET { return words_of(in, std::min(width, 16u)); };
    const auto high_of = [&](const u8* in, unsigned width) CCOLL_TARGET {  // up to 16 planes: their sign
        const unsigned least = std::min(width, 1u);
        return words_of(in + (width > 16 ? 64 : 4 * (width - least)), width > 16 ? width - 16 : least);
    };
    const auto more_a = static_cast<unsigned>(wa), more_b = static_cast<unsigned>(wb);
    const auto planes = [&](__m512i words) CCOLL_TARGET {
        return permuted(o.planes, transposed(permuted(o.ordered, words), transpose));
    };
    const __m512i x = low_of(a, more_a), low = _mm512_add_epi16(x, low_of(b, more_b));
    const __m512i high = _mm512_add_epi16(high_of(a, more_a), high_of(b, more_b));
    const __m512i carried =
        _mm512_mask_sub_epi16(high, _mm512_cmplt_epu16_mask(low, x), high, _mm512_set1_epi16(-1));
    return put_32_planes(planes(low), planes(carried), out);
}

/// Entries of a list (lists.inl). Bytes of differences, of which those are kept that are not 0.
CCOLL_INLINE unsigned put_entries(const u8* planes, unsigned width, u8* to) noexcept
{
    const byte_orders& o = orders();
    // In the order of the bits of planes.
    const __m256i bytes = get_8_groups(o.spread[width], planes, o.spread[width].transpose);
    const u32 any = _mm256_test_epi8_mask(bytes, bytes);
    const __m256i low_bits = _mm256_and_si256(_mm256_slli_epi16(bytes, 5), _mm256_set1_epi8(-32));
    avx2::store_256(to, _mm256_maskz_compress_epi8(any, _mm256_or_si256(low_bits, half(o.places))));
    return static_cast<unsigned>(_mm_popcnt_u32(any));
}

#include <ccoll/codec/szp/loops.inl>

}  // namespace avx512_gfni

}  // namespace ccoll::inline CCOLL_ABI::detail::szp

#include <ccoll/base/kernels_end.inl>

#endif
