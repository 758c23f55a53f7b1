// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/avx2_predict.hpp - floor 2. The predictions of bitzip/lanes.hpp for the lanes of one register.
#pragma once

#include <ccoll/base/config.hpp>

#if defined(CCOLL_X86_KERNELS)
#include <immintrin.h>

#include <ccoll/codec/bitzip/avx2_rows.hpp>

#define CCOLL_TARGET CCOLL_AVX2
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::inline CCOLL_ABI::detail::bitzip::avx2 {

/// What predictions need of the past. The differences of the step before are those that this step would
/// compute again.
template <native_float T>
struct past {
    vector<T> a, b;    ///< the last two values, newest first
    vector<T> d1, d2;  ///< first and second difference before the last value came

    CCOLL_INLINE past() : a(fill(T(0))), b(a), d1(a), d2(a) {}
    /// @param p  predictions of order 0 to 3
    CCOLL_INLINE void predict(vector<T> (&p)[4])
    {
        const vector<T> e1 = d1, e2 = d2;
        d1 = sub(a, b);
        d2 = sub(d1, e1);
        p[0] = a;
        p[1] = add(a, d1);
        p[2] = add(p[1], d2);
        p[3] = add(p[2], sub(d2, e2));
    }
    CCOLL_INLINE void push(vector<T> newest)
    {
        b = a;
        a = newest;
    }
};

template <native_float T>
struct chosen {
    vector<T> nearest, error;
    vector<T> odd, upper;  ///< masks: is the order 1 or 3, is it 2 or 3?
};
/// The prediction nearest to d, the lowest of equals. Two pairs, and then the better of both: a chain as
/// short as that of one pair. It finds what a search in turn finds, because a prediction of order 2 that is
/// no number makes that of order 3 no number either.
/// @param orders  how many may be used. None: the error is no number
template <int Orders, native_float T>
CCOLL_INLINE chosen<T> choose(const vector<T> (&p)[4], vector<T> d)
{
    const vector<T> none = as_values<T>(_mm256_set1_epi32(-1));
    vector<T> e[4];
    for (int k = 0; k < 4; ++k) e[k] = k < Orders ? magnitude(sub(p[k], d)) : none;
    const vector<T> second = less(e[1], e[0]), fourth = less(e[3], e[2]);
    const vector<T> low = lower(e[1], e[0]), high = lower(e[3], e[2]), upper = less(high, low);
    return {choice(upper, choice(fourth, p[3], p[2]), choice(second, p[1], p[0])), lower(high, low),
            choice(upper, fourth, second), upper};
}
template <native_float T>
CCOLL_INLINE __m256i order_of(const chosen<T>& c)
{
    return _mm256_or_si256(_mm256_and_si256(bits(c.odd), words<T>(1)),
                           _mm256_and_si256(bits(c.upper), words<T>(2)));
}

/// The prediction of the order that two masks give.
template <native_float T>
CCOLL_INLINE vector<T> of_order(const vector<T> (&p)[4], vector<T> odd, vector<T> upper)
{
    return choice(upper, choice(odd, p[3], p[2]), choice(odd, p[1], p[0]));
}

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip::avx2

#include <ccoll/base/kernels_end.inl>

#endif
