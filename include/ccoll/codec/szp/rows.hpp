// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/rows.hpp - floor 2. Chunks of SZp that are predicted from the row before as well.
//
// Neighbouring rows of a field are alike, so that the differences along a row repeat at the distance of the row before. What is left,
// q[i] - q[i-1] - q[i-W] + q[i-W-1], is the residual of the two-dimensional Lorenzo predictor (Ibarria et al., Computer Graphics Forum
// 22(3), 2003). It is made in two steps, r[i] = q[i] - q[i-W] and the usual differences of r. So the primitives for blocks stay what they
// are: an encoder quantises the row before once more, and a decoder keeps the quanta of the chunk.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/szp/kernels.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// A destination of the kernels that restore blocks. They write r, as numbers of T. This adds the quanta of the row before, keeps the sums,
/// and writes the values.
/// @tparam To  a pointer, or a line writer
template <class T, class To>
struct row_writer {
    const T* before;  ///< the quanta of the row before
    T* own;           ///< where those of this block go
    T step;
    To& to;
};

namespace szp::portable {
#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

/// Subtracts the quanta of 32 values.
template <class T>
CCOLL_INLINE void subtract(const T* before, const quantiser<T>& z, quanta& q) noexcept
{
    i32 row[block_elements];
    quantise(before, z.inverse, row);
    const i32* const from = q.values;
    i32* const to = q.own();
    for (std::size_t i = 0; i < block_elements; ++i) to[i] = minus(from[i], row[i]);
}
template <class T>
CCOLL_INLINE void restore(const u8* in, unsigned width, running& r, T one, row_writer<T, T*>& w) noexcept
{
    CCOLL_EXACT_BODY
    T block[block_elements];
    restore(in, width, r, one, static_cast<T*>(block));
    const T* const before = w.before;
    T* const __restrict own = w.own;
    T* const __restrict to = w.to;
    const T step = w.step;
    for (std::size_t i = 0; i < block_elements; ++i) {
        const T sum = block[i] + before[i];
        own[i] = sum;
        to[i] = sum * step;
    }
}
#include <ccoll/codec/szp/rows.inl>
#include <ccoll/codec/szp/rows_pay.inl>

#include <ccoll/base/kernels_end.inl>
}  // namespace szp::portable

#if defined(CCOLL_X86_KERNELS)

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

template <class To>
CCOLL_INLINE void write(row_writer<float, To>& w, std::size_t at, __m256 v) noexcept
{
    const __m256 sum = _mm256_add_ps(v, _mm256_loadu_ps(w.before + at));
    _mm256_storeu_ps(w.own + at, sum);
    write(w.to, at, _mm256_mul_ps(sum, _mm256_set1_ps(w.step)));
}
template <class To>
CCOLL_INLINE void write(row_writer<double, To>& w, std::size_t at, __m256d v) noexcept
{
    const __m256d sum = _mm256_add_pd(v, _mm256_loadu_pd(w.before + at));
    _mm256_storeu_pd(w.own + at, sum);
    write(w.to, at, _mm256_mul_pd(sum, _mm256_set1_pd(w.step)));
}

namespace szp::avx2 {

template <class T>
CCOLL_INLINE void subtract(const T* before, const quantiser<T>& z, quanta& q) noexcept
{
    quanta row;
    magnitudes<T> unused;
    look_ahead<T>{}.quantise(before, 0, 0, before, z, row, unused);
    for (int i = 0; i < 4; ++i) q.v[i] = _mm256_sub_epi32(q.v[i], row.v[i]);
}
#include <ccoll/codec/szp/rows.inl>
#include <ccoll/codec/szp/rows_pay.inl>

}  // namespace szp::avx2

#include <ccoll/base/kernels_end.inl>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>

template <class To>
CCOLL_INLINE void write(row_writer<float, To>& w, std::size_t at, __m512 v) noexcept
{
    const __m512 sum = _mm512_add_ps(v, _mm512_loadu_ps(w.before + at));
    _mm512_storeu_ps(w.own + at, sum);
    write(w.to, at, _mm512_mul_ps(sum, _mm512_set1_ps(w.step)));
}
template <class To>
CCOLL_INLINE void write(row_writer<double, To>& w, std::size_t at, __m512d v) noexcept
{
    const __m512d sum = _mm512_add_pd(v, _mm512_loadu_pd(w.before + at));
    _mm512_storeu_pd(w.own + at, sum);
    write(w.to, at, _mm512_mul_pd(sum, _mm512_set1_pd(w.step)));
}

namespace szp::avx512 {

using avx2::rows_pay;

template <class T>
CCOLL_INLINE void subtract(const T* before, const quantiser<T>& z, quanta& q) noexcept
{
    quanta row;
    magnitudes<T> unused;
    look_ahead<T>{}.quantise(before, 0, 0, before, z, row, unused);
    q.a = _mm512_sub_epi32(q.a, row.a);
    q.b = _mm512_sub_epi32(q.b, row.b);
}
#include <ccoll/codec/szp/rows.inl>

}  // namespace szp::avx512

#include <ccoll/base/kernels_end.inl>

#define CCOLL_TARGET CCOLL_AVX512_GFNI
#include <ccoll/base/kernels_begin.inl>

namespace szp::avx512_gfni {

using avx2::rows_pay;
using avx512::subtract;
#include <ccoll/codec/szp/rows.inl>

}  // namespace szp::avx512_gfni

#include <ccoll/base/kernels_end.inl>

#elif defined(CCOLL_NEON_KERNELS)

namespace szp::neon {

using portable::decode_rows;
using portable::encode_rows;
using portable::rows_pay;

}  // namespace szp::neon

#endif

namespace szp::rows {

template <element T>
inline constexpr by_isa encoders{CCOLL_EACH_ISA(encode_rows<T>)};
template <element T>
inline constexpr by_isa decoders{CCOLL_EACH_ISA(decode_rows<T>)};
template <element T>
inline constexpr by_isa judges{CCOLL_EACH_ISA(rows_pay<T>)};

}  // namespace szp::rows

}  // namespace ccoll::inline CCOLL_ABI::detail
