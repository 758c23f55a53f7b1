// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/specials/kernels.hpp - floor 2. Special values by instruction set: three primitives each, and the loops of specials/loops.inl.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include <ccoll/base/isa.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/codec/specials/layer.hpp>
#include <ccoll/codec/specials/layout.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>
#endif

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::specials::portable {

/// Bit i says whether the bits of x[i] pass.
template <element T, class Test>
CCOLL_INLINE u32 mask_of(const T* x, Test test) noexcept
{
    u8 passes[block_elements];
    for (std::size_t i = 0; i < block_elements; ++i) passes[i] = test(bits_at(x, i));
    u32 mask = 0;
    for (unsigned g = 0; g < 4; ++g) {
        u64 eight;
        std::memcpy(&eight, passes + 8 * g, sizeof eight);
        mask |= static_cast<u32>(eight * 0x0102040810204080u >> 56) << 8 * g;  // one bit of each byte
    }
    return mask;
}
/// Is there an |x| from `limit` on?
template <element T>
CCOLL_INLINE bool reaches(const T* x, typename fields_of<T>::word limit) noexcept
{
    typename fields_of<T>::signed_word most = 0;  // SSE2 compares only signed integers
    for (std::size_t i = 0; i < block_elements; ++i) {
        const auto w = static_cast<typename fields_of<T>::signed_word>(bits_at(x, i) & ~fields_of<T>::sign);
        most = w > most ? w : most;
    }
    return static_cast<typename fields_of<T>::word>(most) >= limit;
}
template <element T>
CCOLL_INLINE u32 part(const T* x, const rule<T>& is, bool marked, T* to) noexcept
{
    std::memcpy(to, x, block_elements * sizeof(T));
    if (!marked && !reaches(x, is.limit)) return 0;  // most blocks
    const u32 mask = mask_of(x, [&](typename rule<T>::word w) { return is.holds(w); });
    if (mask == 0xffffffffu) std::memset(to, 0, block_elements * sizeof(T));
    else
        for (u32 left = mask; left != 0; left &= left - 1) to[std::countr_zero(left)] = T(0);
    return mask;
}
/// The largest |x| of those that are not special, as bits.
template <element T>
struct peak {
    typename rule<T>::word most = 0;

    typename rule<T>::word top() const noexcept { return most; }
};
template <element T>
CCOLL_INLINE u32 beyond_limit(const T* x, typename rule<T>::word limit, peak<T>& found) noexcept
{
    using signed_word = typename fields_of<T>::signed_word;  // SSE2 compares only signed integers
    const auto least = static_cast<signed_word>(limit);
    signed_word most = static_cast<signed_word>(found.most), beyond = 0;
    for (std::size_t i = 0; i < block_elements; ++i) {
        const auto w = static_cast<signed_word>(bits_at(x, i) & ~fields_of<T>::sign), other = w < least ? w : signed_word{0};
        most = other > most ? other : most;
        beyond = w > beyond ? w : beyond;
    }
    found.most = static_cast<typename rule<T>::word>(most);
    if (beyond < least) return 0;
    return mask_of(x, [=](typename rule<T>::word w) { return static_cast<u8>((w & ~fields_of<T>::sign) >= limit); });
}
/// The bridge over a single value, as ramp() has it.
template <element T>
CCOLL_INLINE T between(T a, T b) noexcept
{
    CCOLL_EXACT_BODY
    const double from = static_cast<double>(a), until = static_cast<double>(b), value = from * 0.5 + until * 0.5;
    const double low = from < until ? from : until, high = from < until ? until : from;
    const double raised = value < low ? low : value;
    return static_cast<T>(raised > high ? high : raised);
}
CCOLL_INLINE u32 equal_of_8(const u32* masks, u32 mask) noexcept
{
    u32 bits = 0;
    for (unsigned i = 0; i < 8; ++i) bits |= u32{masks[i] == mask} << i;
    return bits;
}
template <element T>
CCOLL_INLINE u32 equal(const T* x, typename rule<T>::word bits) noexcept
{
    return mask_of(x, [=](typename rule<T>::word w) { return static_cast<u8>(w == bits); });
}
template <element T>
CCOLL_INLINE void ramp(T* block, u32 mask, int before, std::size_t count, T a, T b) noexcept
{
    CCOLL_EXACT_BODY
    const double from = static_cast<double>(a), until = static_cast<double>(b), steps = static_cast<double>(count + 1);
    const double low = from < until ? from : until, high = from < until ? until : from;
    for (int i = std::countr_zero(mask), end = 32 - std::countl_zero(mask); i < end; ++i) {
        const double share = static_cast<double>(i - before) / steps, value = from * (1 - share) + until * share;
        const double raised = value < low ? low : value;
        block[i] = static_cast<T>(raised > high ? high : raised);
    }
}
template <element T>
CCOLL_INLINE void copy_with(const T* x, unsigned place, T value, T* to) noexcept
{
    std::memcpy(to, x, block_elements * sizeof(T));
    to[place] = value;
}
template <element T>
CCOLL_INLINE void copy_block(const T* x, T* to) noexcept
{
    std::memcpy(to, x, block_elements * sizeof(T));
}
template <element T>
CCOLL_INLINE void put_all(T* x, typename rule<T>::word bits) noexcept
{
    for (std::size_t i = 0; i < block_elements; ++i) std::memcpy(x + i, &bits, sizeof bits);
}
template <element T>
CCOLL_INLINE void put(T* x, u32 mask, typename rule<T>::word bits) noexcept
{
    if (mask == 0xffffffffu) put_all(x, bits);
    else
        for (u32 left = mask; left != 0; left &= left - 1) std::memcpy(x + std::countr_zero(left), &bits, sizeof bits);
}

#include <ccoll/codec/specials/loops.inl>

}  // namespace ccoll::inline CCOLL_ABI::detail::specials::portable

#include <ccoll/base/kernels_end.inl>

#if defined(CCOLL_NEON_KERNELS)
namespace ccoll::inline CCOLL_ABI::detail::specials {
namespace neon = portable;  // compilers make NEON of it
}
#endif

#if defined(CCOLL_X86_KERNELS)

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::specials::avx2 {

CCOLL_INLINE __m256i all(u32 v) noexcept { return _mm256_set1_epi32(static_cast<int>(v)); }
CCOLL_INLINE __m256i all(u64 v) noexcept { return _mm256_set1_epi64x(static_cast<long long>(v)); }
CCOLL_INLINE __m256i load(const void* x) noexcept { return _mm256_loadu_si256(static_cast<const __m256i*>(x)); }
CCOLL_INLINE void store(void* x, __m256i v) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(x), v); }
CCOLL_INLINE __m256i same(__m256i a, __m256i b, u32) noexcept { return _mm256_cmpeq_epi32(a, b); }
CCOLL_INLINE __m256i same(__m256i a, __m256i b, u64) noexcept { return _mm256_cmpeq_epi64(a, b); }
CCOLL_INLINE __m256i above(__m256i a, __m256i b, u32) noexcept { return _mm256_cmpgt_epi32(a, b); }
CCOLL_INLINE __m256i above(__m256i a, __m256i b, u64) noexcept { return _mm256_cmpgt_epi64(a, b); }
CCOLL_INLINE u32 signs(__m256i v, u32) noexcept { return static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(v))); }
CCOLL_INLINE u32 signs(__m256i v, u64) noexcept { return static_cast<u32>(_mm256_movemask_pd(_mm256_castsi256_pd(v))); }
/// All bits of lane i are bit i of the mask.
CCOLL_INLINE __m256i lanes(u32 mask, u32) noexcept
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(all(mask), bit), bit);
}
CCOLL_INLINE __m256i lanes(u32 mask, u64) noexcept
{
    const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
    return _mm256_cmpeq_epi64(_mm256_and_si256(all(u64{mask}), bit), bit);
}

/// A bit for each value of a block, of which all bits of a lane are set or none.
CCOLL_INLINE u32 mask_of(const __m256i (&v)[4]) noexcept
{
    const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
    const __m256i in_order = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return static_cast<u32>(_mm256_movemask_epi8(in_order));
}
CCOLL_INLINE u32 mask_of(const __m256i (&v)[8]) noexcept
{
    __m256i words[4];
    for (unsigned i = 0; i < 4; ++i) {
        const __m256 a = _mm256_castsi256_ps(v[2 * i]), b = _mm256_castsi256_ps(v[2 * i + 1]);
        words[i] = _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)), 0xd8);
    }
    return mask_of(words);
}

template <element T>
CCOLL_INLINE u32 part(const T* x, const rule<T>& is, bool marked, T* to) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 32 / sizeof(T);
    const __m256i magnitude = all(static_cast<word>(~fields_of<T>::sign)), below = all(static_cast<word>(is.limit - 1));
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count) {
        const __m256i v = load(x + i);
        __m256i special = above(_mm256_and_si256(v, magnitude), below, word{});
        if (marked)
            for (const word marker : is.markers) special = _mm256_or_si256(special, same(v, all(marker), word{}));
        mask |= signs(special, word{}) << i;
        store(to + i, _mm256_andnot_si256(special, v));
    }
    return mask;
}
/// The largest |x| of those that are not special, as bits.
template <element T>
struct peak {
    using word = typename rule<T>::word;
    __m256i most;

    CCOLL_INLINE peak() noexcept : most(_mm256_setzero_si256()) {}
    CCOLL_INLINE void add(__m256i v, u32) noexcept { most = _mm256_max_epi32(most, v); }
    CCOLL_INLINE void add(__m256i v, u64) noexcept
    {
        most = _mm256_castpd_si256(_mm256_max_pd(_mm256_castsi256_pd(most), _mm256_castsi256_pd(v)));  // numbers of which none is negative
    }
    CCOLL_TARGET word top() const noexcept
    {
        word each[32 / sizeof(word)], largest = 0;
        store(each, most);
        for (const word w : each) largest = w > largest ? w : largest;
        return largest;
    }
};
template <element T>
CCOLL_INLINE u32 beyond_limit(const T* x, typename rule<T>::word limit, peak<T>& found) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 32 / sizeof(T);
    const __m256i magnitude = all(static_cast<word>(~fields_of<T>::sign)), below = all(static_cast<word>(limit - 1));
    __m256i beyond[block_elements / count];
    for (unsigned i = 0; i < block_elements; i += count) {
        const __m256i v = _mm256_and_si256(load(x + i), magnitude);
        beyond[i / count] = above(v, below, word{});
        found.add(_mm256_andnot_si256(beyond[i / count], v), word{});
    }
    return mask_of(beyond);
}
CCOLL_INLINE float between(float a, float b) noexcept  // of which the rounded sum is never outside
{
    const __m128d half = _mm_set_sd(0.5), zero = _mm_setzero_pd();
    const __m128d value =
        _mm_add_sd(_mm_mul_sd(_mm_cvtss_sd(zero, _mm_set_ss(a)), half), _mm_mul_sd(_mm_cvtss_sd(zero, _mm_set_ss(b)), half));
    return _mm_cvtss_f32(_mm_cvtsd_ss(_mm_setzero_ps(), value));
}
CCOLL_INLINE double between(double a, double b) noexcept
{
    const __m128d from = _mm_set_sd(a), until = _mm_set_sd(b), half = _mm_set_sd(0.5);
    const __m128d value = _mm_add_sd(_mm_mul_sd(from, half), _mm_mul_sd(until, half));
    return _mm_cvtsd_f64(_mm_min_sd(_mm_max_sd(until, from), _mm_max_sd(_mm_min_sd(until, from), value)));
}
CCOLL_INLINE u32 equal_of_8(const u32* masks, u32 mask) noexcept { return signs(same(load(masks), all(mask), u32{}), u32{}); }
template <element T>
CCOLL_INLINE u32 equal(const T* x, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 32 / sizeof(T);
    __m256i equal[block_elements / count];
    for (unsigned i = 0; i < block_elements; i += count) equal[i / count] = same(load(x + i), all(bits), word{});
    return mask_of(equal);
}
template <element T>
CCOLL_INLINE void put_all(T* x, typename rule<T>::word bits) noexcept
{
    for (unsigned i = 0; i < block_elements; i += 32 / sizeof(T)) store(x + i, all(bits));
}
template <element T>
CCOLL_INLINE void put(T* x, u32 mask, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 32 / sizeof(T);
    for (unsigned i = 0; i < block_elements; i += count) store(x + i, _mm256_blendv_epi8(load(x + i), all(bits), lanes(mask >> i, word{})));
}

/// Values `at` to `at` + 3 of a ramp as numbers of double; those of a register of T.
struct ramp_256 {
    __m256d from, until, low, high, steps;

    CCOLL_INLINE __m256d values(int number) const noexcept
    {
        const __m256d one = _mm256_set1_pd(1);
        const __m256d numbers = _mm256_cvtepi32_pd(_mm_add_epi32(_mm_set1_epi32(number), _mm_setr_epi32(0, 1, 2, 3)));
        const __m256d share = _mm256_div_pd(numbers, steps);
        const __m256d value = _mm256_add_pd(_mm256_mul_pd(from, _mm256_sub_pd(one, share)), _mm256_mul_pd(until, share));
        return _mm256_min_pd(high, _mm256_max_pd(low, value));
    }
    CCOLL_INLINE __m256i values_of(int number, u32) const noexcept
    {
        const __m128 first = _mm256_cvtpd_ps(values(number)), second = _mm256_cvtpd_ps(values(number + 4));
        return _mm256_castps_si256(_mm256_insertf128_ps(_mm256_castps128_ps256(first), second, 1));
    }
    CCOLL_INLINE __m256i values_of(int number, u64) const noexcept { return _mm256_castpd_si256(values(number)); }
};
template <element T>
CCOLL_INLINE void ramp(T* block, u32 mask, int before, std::size_t count, T a, T b) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned lanes_of_T = 32 / sizeof(T);
    const __m256d from = _mm256_set1_pd(static_cast<double>(a)), until = _mm256_set1_pd(static_cast<double>(b));
    const ramp_256 r{from, until, _mm256_min_pd(until, from), _mm256_max_pd(until, from),
                     _mm256_set1_pd(static_cast<double>(static_cast<int>(count + 1)))};
    for (unsigned i = static_cast<unsigned>(std::countr_zero(mask)) / lanes_of_T * lanes_of_T; i < block_elements && mask >> i != 0;
         i += lanes_of_T)
        store(block + i, _mm256_blendv_epi8(load(block + i), r.values_of(static_cast<int>(i) - before, word{}), lanes(mask >> i, word{})));
}
template <element T>
CCOLL_INLINE void copy_block(const T* x, T* to) noexcept
{
    for (unsigned i = 0; i < block_elements; i += 32 / sizeof(T)) store(to + i, load(x + i));
}
template <element T>
CCOLL_INLINE void copy_with(const T* x, unsigned place, T value, T* to) noexcept
{
    using word = typename rule<T>::word;
    copy_block(x, to);
    const unsigned lane = place % (32 / sizeof(T)), i = place - lane;
    store(to + i, _mm256_blendv_epi8(load(x + i), all(std::bit_cast<word>(value)), lanes(u32{1} << lane, word{})));
}

#include <ccoll/codec/specials/loops.inl>

}  // namespace ccoll::inline CCOLL_ABI::detail::specials::avx2

#include <ccoll/base/kernels_end.inl>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::specials::avx512 {

CCOLL_INLINE __m512i all(u32 v) noexcept { return _mm512_set1_epi32(static_cast<int>(v)); }
CCOLL_INLINE __m512i all(u64 v) noexcept { return _mm512_set1_epi64(static_cast<long long>(v)); }
CCOLL_INLINE u32 same(__m512i a, __m512i b, u32) noexcept { return _mm512_cmpeq_epi32_mask(a, b); }
CCOLL_INLINE u32 same(__m512i a, __m512i b, u64) noexcept { return _mm512_cmpeq_epi64_mask(a, b); }
CCOLL_INLINE u32 from(__m512i a, __m512i b, u32) noexcept { return _mm512_cmpge_epu32_mask(a, b); }
CCOLL_INLINE u32 from(__m512i a, __m512i b, u64) noexcept { return _mm512_cmpge_epu64_mask(a, b); }
CCOLL_INLINE __m512i zeroed(u32 mask, __m512i v, u32) noexcept { return _mm512_maskz_mov_epi32(static_cast<__mmask16>(mask), v); }
CCOLL_INLINE __m512i zeroed(u32 mask, __m512i v, u64) noexcept { return _mm512_maskz_mov_epi64(static_cast<__mmask8>(mask), v); }
CCOLL_INLINE __m512i blended(__m512i v, u32 mask, __m512i with, u32) noexcept
{
    return _mm512_mask_mov_epi32(v, static_cast<__mmask16>(mask), with);
}
CCOLL_INLINE __m512i blended(__m512i v, u32 mask, __m512i with, u64) noexcept
{
    return _mm512_mask_mov_epi64(v, static_cast<__mmask8>(mask), with);
}
CCOLL_INLINE void store(void* x, u32 mask, __m512i v, u32) noexcept { _mm512_mask_storeu_epi32(x, static_cast<__mmask16>(mask), v); }
CCOLL_INLINE void store(void* x, u32 mask, __m512i v, u64) noexcept { _mm512_mask_storeu_epi64(x, static_cast<__mmask8>(mask), v); }

template <element T>
CCOLL_INLINE u32 part(const T* x, const rule<T>& is, bool marked, T* to) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 64 / sizeof(T);
    const __m512i magnitude = all(static_cast<word>(~fields_of<T>::sign)), limit = all(is.limit);
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count) {
        const __m512i v = _mm512_loadu_si512(x + i);
        u32 special = from(_mm512_and_si512(v, magnitude), limit, word{});
        if (marked)
            for (const word marker : is.markers) special |= same(v, all(marker), word{});
        mask |= special << i;
        _mm512_storeu_si512(to + i, zeroed(~special, v, word{}));
    }
    return mask;
}
template <element T>
struct peak {
    using word = typename rule<T>::word;
    __m512i most;

    CCOLL_INLINE peak() noexcept : most(_mm512_setzero_si512()) {}
    CCOLL_INLINE void add(u32 mask, __m512i v, u32) noexcept { most = _mm512_mask_max_epu32(most, static_cast<__mmask16>(mask), most, v); }
    CCOLL_INLINE void add(u32 mask, __m512i v, u64) noexcept { most = _mm512_mask_max_epu64(most, static_cast<__mmask8>(mask), most, v); }
    CCOLL_TARGET u32 top(u32) const noexcept { return static_cast<u32>(_mm512_reduce_max_epu32(most)); }
    CCOLL_TARGET u64 top(u64) const noexcept { return static_cast<u64>(_mm512_reduce_max_epu64(most)); }
    CCOLL_TARGET word top() const noexcept { return top(word{}); }
};
template <element T>
CCOLL_INLINE u32 beyond_limit(const T* x, typename rule<T>::word limit, peak<T>& found) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 64 / sizeof(T);
    const __m512i magnitude = all(static_cast<word>(~fields_of<T>::sign)), least = all(limit);
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count) {
        const __m512i v = _mm512_and_si512(_mm512_loadu_si512(x + i), magnitude);
        const u32 beyond = from(v, least, word{});
        found.add(~beyond, v, word{});
        mask |= beyond << i;
    }
    return mask;
}
using avx2::between;
using avx2::equal_of_8;
template <element T>
CCOLL_INLINE u32 equal(const T* x, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 64 / sizeof(T);
    u32 mask = 0;
    for (unsigned i = 0; i < block_elements; i += count) mask |= same(_mm512_loadu_si512(x + i), all(bits), word{}) << i;
    return mask;
}
template <element T>
CCOLL_INLINE void put_all(T* x, typename rule<T>::word bits) noexcept
{
    for (unsigned i = 0; i < block_elements; i += 64 / sizeof(T)) _mm512_storeu_si512(x + i, all(bits));
}
template <element T>
CCOLL_INLINE void put(T* x, u32 mask, typename rule<T>::word bits) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned count = 64 / sizeof(T);
    for (unsigned i = 0; i < block_elements; i += count) store(x + i, mask >> i, all(bits), word{});
}

struct ramp_512 {
    __m512d from, until, low, high, steps;

    CCOLL_INLINE __m512d values(int number) const noexcept
    {
        const __m512d one = _mm512_set1_pd(1);
        const __m512d numbers = _mm512_cvtepi32_pd(_mm256_add_epi32(_mm256_set1_epi32(number), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
        const __m512d share = _mm512_div_pd(numbers, steps);
        // clang -ffp-contract=fast makes FMA of products and sums, but not if the products say how they are rounded.
        constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        const __m512d descent = _mm512_mul_round_pd(from, _mm512_sub_pd(one, share), nearest);
        const __m512d value = _mm512_add_pd(descent, _mm512_mul_round_pd(until, share, nearest));
        return _mm512_min_pd(high, _mm512_max_pd(low, value));
    }
    CCOLL_INLINE __m512i values_of(int number, u32) const noexcept
    {
        const __m256 first = _mm512_cvtpd_ps(values(number)), second = _mm512_cvtpd_ps(values(number + 8));
        return _mm512_castps_si512(_mm512_insertf32x8(_mm512_castps256_ps512(first), second, 1));
    }
    CCOLL_INLINE __m512i values_of(int number, u64) const noexcept { return _mm512_castpd_si512(values(number)); }
};
template <element T>
CCOLL_INLINE void ramp(T* block, u32 mask, int before, std::size_t count, T a, T b) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned lanes_of_T = 64 / sizeof(T);
    const __m512d from = _mm512_set1_pd(static_cast<double>(a)), until = _mm512_set1_pd(static_cast<double>(b));
    const ramp_512 r{from, until, _mm512_min_pd(until, from), _mm512_max_pd(until, from),
                     _mm512_set1_pd(static_cast<double>(static_cast<int>(count + 1)))};
    for (unsigned i = static_cast<unsigned>(std::countr_zero(mask)) / lanes_of_T * lanes_of_T; i < block_elements && mask >> i != 0;
         i += lanes_of_T)
        _mm512_storeu_si512(block + i,
                            blended(_mm512_loadu_si512(block + i), mask >> i, r.values_of(static_cast<int>(i) - before, word{}), word{}));
}
template <element T>
CCOLL_INLINE void copy_block(const T* x, T* to) noexcept
{
    for (unsigned i = 0; i < block_elements; i += 64 / sizeof(T)) _mm512_storeu_si512(to + i, _mm512_loadu_si512(x + i));
}
template <element T>
CCOLL_INLINE void copy_with(const T* x, unsigned place, T value, T* to) noexcept
{
    using word = typename rule<T>::word;
    for (unsigned i = 0; i < block_elements; i += 64 / sizeof(T))
        _mm512_storeu_si512(to + i, blended(_mm512_loadu_si512(x + i), (u32{1} << place) >> i, all(std::bit_cast<word>(value)), word{}));
}

#include <ccoll/codec/specials/loops.inl>

}  // namespace ccoll::inline CCOLL_ABI::detail::specials::avx512

#include <ccoll/base/kernels_end.inl>

namespace ccoll::inline CCOLL_ABI::detail::specials {
namespace avx512_gfni = avx512;
}

#endif
