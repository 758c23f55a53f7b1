// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/rows.hpp - floor 2. Chunks of SZp that are predicted from the row before as well, and from the plane before.
//
// Neighbouring rows of a field are alike, so that the differences along a row repeat at the distance of the row before. What is left,
// q[i] - q[i-1] - q[i-W] + q[i-W-1], is the residual of the two-dimensional Lorenzo predictor (Ibarria et al., Computer Graphics Forum
// 22(3), 2003). It is made in two steps, r[i] = q[i] - q[i-W] and the usual differences of r. So the primitives for blocks stay what they
// are: encoder and decoder keep the quanta of the chunk. In three dimensions r[i] is q[i] - q[i-W] - q[i-P] + q[i-P-W], where P is the
// distance of the plane before.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include <ccoll/base/isa.hpp>
#include <ccoll/codec/szp/kernels.hpp>
#include <ccoll/codec/szp/window.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// A destination of the kernels that restore blocks. They write r, as numbers of T. This adds the quanta of the row before (and those of
/// the plane before, less those of the row before in it), keeps the sums, and writes the values.
/// @tparam To  a pointer, or a line writer
template <class T, class To, bool Planes>
struct row_writer {
    T* own;  ///< where the quanta of this block go
    const T *row, *plane, *row_of_plane;
    T step;
    To& to;
};

namespace szp::rows {

/// The first block by which a chunk is judged (szp/rows_pay.inl): one that has values above it.
constexpr std::size_t first_judged(const distances& above) noexcept { return above.reach() / block_elements + 1; }

}  // namespace szp::rows

namespace szp::portable {
#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

CCOLL_INLINE void subtract(const i32* other, quanta& q) noexcept
{
    const i32* const from = q.values;
    i32* const to = q.own();
    for (std::size_t i = 0; i < block_elements; ++i) to[i] = minus(from[i], other[i]);
}
CCOLL_INLINE void add(const i32* other, quanta& q) noexcept
{
    const i32* const from = q.values;
    i32* const to = q.own();
    for (std::size_t i = 0; i < block_elements; ++i) to[i] = plus(from[i], other[i]);
}
template <class T, bool Planes>
CCOLL_INLINE void restore(const u8* in, unsigned width, running& r, T one, row_writer<T, T*, Planes>& w) noexcept
{
    CCOLL_EXACT_BODY
    T block[block_elements];
    restore(in, width, r, one, static_cast<T*>(block));
    T* const own = w.own;
    const T *const row = w.row, *const plane = w.plane, *const row_of_plane = w.row_of_plane;
    T* const to = w.to;
    const T step = w.step;
    for (std::size_t at = 0; at < block_elements; at += szp::rows::least) {
        T sums[szp::rows::least], values[szp::rows::least];
        for (std::size_t i = 0; i < szp::rows::least; ++i) {
            T sum = block[at + i] + row[at + i];
            if constexpr (Planes) sum += plane[at + i] - row_of_plane[at + i];
            sums[i] = sum;
            values[i] = sum * step;
        }
        std::memcpy(own + at, sums, sizeof sums);
        std::memcpy(to + at, values, sizeof values);
    }
}
#include <ccoll/codec/szp/rows.inl>
#include <ccoll/codec/szp/rows_pay.inl>

#include <ccoll/base/kernels_end.inl>
}  // namespace szp::portable

#if defined(CCOLL_X86_KERNELS)

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

template <class To, bool Planes>
CCOLL_INLINE void write(row_writer<float, To, Planes>& w, std::size_t at, __m256 v) noexcept
{
    __m256 sum = _mm256_add_ps(v, _mm256_loadu_ps(w.row + at));
    if constexpr (Planes) sum = _mm256_add_ps(sum, _mm256_sub_ps(_mm256_loadu_ps(w.plane + at), _mm256_loadu_ps(w.row_of_plane + at)));
    _mm256_storeu_ps(w.own + at, sum);
    write(w.to, at, _mm256_mul_ps(sum, _mm256_set1_ps(w.step)));
}
template <class To, bool Planes>
CCOLL_INLINE void write(row_writer<double, To, Planes>& w, std::size_t at, __m256d v) noexcept
{
    __m256d sum = _mm256_add_pd(v, _mm256_loadu_pd(w.row + at));
    if constexpr (Planes) sum = _mm256_add_pd(sum, _mm256_sub_pd(_mm256_loadu_pd(w.plane + at), _mm256_loadu_pd(w.row_of_plane + at)));
    _mm256_storeu_pd(w.own + at, sum);
    write(w.to, at, _mm256_mul_pd(sum, _mm256_set1_pd(w.step)));
}

namespace szp::avx2 {

CCOLL_INLINE void subtract(const i32* other, quanta& q) noexcept
{
    for (int i = 0; i < 4; ++i) q.v[i] = _mm256_sub_epi32(q.v[i], load_256(other + 8 * i));
}
CCOLL_INLINE void add(const i32* other, quanta& q) noexcept
{
    for (int i = 0; i < 4; ++i) q.v[i] = _mm256_add_epi32(q.v[i], load_256(other + 8 * i));
}
#include <ccoll/codec/szp/rows.inl>
#include <ccoll/codec/szp/rows_pay.inl>

}  // namespace szp::avx2

#include <ccoll/base/kernels_end.inl>

#define CCOLL_TARGET CCOLL_AVX512
#include <ccoll/base/kernels_begin.inl>

template <class To, bool Planes>
CCOLL_INLINE void write(row_writer<float, To, Planes>& w, std::size_t at, __m512 v) noexcept
{
    __m512 sum = _mm512_add_ps(v, _mm512_loadu_ps(w.row + at));
    if constexpr (Planes) sum = _mm512_add_ps(sum, _mm512_sub_ps(_mm512_loadu_ps(w.plane + at), _mm512_loadu_ps(w.row_of_plane + at)));
    _mm512_storeu_ps(w.own + at, sum);
    write(w.to, at, _mm512_mul_ps(sum, _mm512_set1_ps(w.step)));
}
template <class To, bool Planes>
CCOLL_INLINE void write(row_writer<double, To, Planes>& w, std::size_t at, __m512d v) noexcept
{
    __m512d sum = _mm512_add_pd(v, _mm512_loadu_pd(w.row + at));
    if constexpr (Planes) sum = _mm512_add_pd(sum, _mm512_sub_pd(_mm512_loadu_pd(w.plane + at), _mm512_loadu_pd(w.row_of_plane + at)));
    _mm512_storeu_pd(w.own + at, sum);
    write(w.to, at, _mm512_mul_pd(sum, _mm512_set1_pd(w.step)));
}

namespace szp::avx512 {

using avx2::choose_above;

CCOLL_INLINE void store(const quanta& q, i32* values) noexcept
{
    _mm512_storeu_si512(values, q.a);
    _mm512_storeu_si512(values + 16, q.b);
}
CCOLL_INLINE void subtract(const i32* other, quanta& q) noexcept
{
    q.a = _mm512_sub_epi32(q.a, _mm512_loadu_si512(other));
    q.b = _mm512_sub_epi32(q.b, _mm512_loadu_si512(other + 16));
}
CCOLL_INLINE void add(const i32* other, quanta& q) noexcept
{
    q.a = _mm512_add_epi32(q.a, _mm512_loadu_si512(other));
    q.b = _mm512_add_epi32(q.b, _mm512_loadu_si512(other + 16));
}
#include <ccoll/codec/szp/rows.inl>

}  // namespace szp::avx512

#include <ccoll/base/kernels_end.inl>

#define CCOLL_TARGET CCOLL_AVX512_GFNI
#include <ccoll/base/kernels_begin.inl>

namespace szp::avx512_gfni {

using avx2::choose_above;
using avx512::add;
using avx512::store;
using avx512::subtract;
#include <ccoll/codec/szp/rows.inl>

}  // namespace szp::avx512_gfni

#include <ccoll/base/kernels_end.inl>

#elif defined(CCOLL_NEON_KERNELS)

namespace szp::neon {

using portable::choose_above;
using portable::decode_rows;
using portable::encode_rows;

}  // namespace szp::neon

#endif

namespace szp::rows {

template <element T>
inline constexpr by_isa encoders{CCOLL_EACH_ISA(encode_rows<T>)};
template <element T>
inline constexpr by_isa decoders{CCOLL_EACH_ISA(decode_rows<T>)};
template <element T>
inline constexpr by_isa judges{CCOLL_EACH_ISA(choose_above<T>)};

}  // namespace szp::rows

}  // namespace ccoll::inline CCOLL_ABI::detail
