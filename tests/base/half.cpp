// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized, aarch64
// base/half.hpp: conversions of every pattern, compared with tables made of powers of two, and with the
// compiler's own types.
#include "support/catch.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <ccoll/policy/reduce_op.hpp>

#include "support/fields.hpp"

using ccoll::bfloat16;
using ccoll::half;
namespace Op = ccoll::policies::Op;

namespace {

template <class T>
struct format;
template <>
struct format<half> {
    static constexpr int mantissa = 10, bias = 15;
};
template <>
struct format<bfloat16> {
    static constexpr int mantissa = 7, bias = 127;
};

/// The value of a finite pattern without its sign.
template <class T>
double value_of(unsigned magnitude)
{
    constexpr int mantissa = format<T>::mantissa, bias = format<T>::bias;
    const int exponent = static_cast<int>(magnitude >> mantissa);
    const double fraction = magnitude & ((1u << mantissa) - 1);
    return exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa)
                         : std::ldexp(1 + std::ldexp(fraction, -mantissa), exponent - bias);
}
template <class T>
constexpr unsigned infinity_of = 0x7fffu >> format<T>::mantissa << format<T>::mantissa;

/// All finite values >= 0 in rising order; the index is the pattern.
template <class T>
const std::vector<double>& table()
{
    static const std::vector<double> all = [] {
        std::vector<double> v;
        for (unsigned m = 0; m < infinity_of<T>; ++m) v.push_back(value_of<T>(m));
        return v;
    }();
    return all;
}

/// The pattern nearest to x >= 0; in a tie the even one; infinity from half a step above the largest on.
template <class T>
unsigned nearest(double x)
{
    const auto& all = table<T>();
    const auto above = std::lower_bound(all.begin(), all.end(), x);
    if (above == all.begin()) return 0;
    const auto i = static_cast<unsigned>(above - all.begin());
    const double low = all[i - 1], high = i < all.size() ? all[i] : 2 * all[i - 1] - all[i - 2];
    const double to_low = x - low, to_high = high - x;
    return to_low < to_high || (to_low == to_high && i % 2 == 1) ? i - 1 : i;
}

float of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// Every float near every place where rounding changes, all kinds of NaN, and random patterns.
template <class T>
std::vector<float> floats()
{
    std::vector<float> x;
    const auto add = [&](double at) {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(at));
        for (std::uint32_t d = 0; d < 5; ++d)
            if (bits + d >= 2) x.push_back(of_bits(bits + d - 2));
    };
    for (unsigned m = 0; m < infinity_of<T>; ++m) {
        const double here = value_of<T>(m),
                     next = m + 1 < infinity_of<T> ? value_of<T>(m + 1) : 2 * here - value_of<T>(m - 1);
        add(here);
        add((here + next) / 2);
    }
    fields::generator random(3);
    for (int i = 0; i < 200000; ++i)
        x.push_back(of_bits(static_cast<std::uint32_t>(random.bits()) & 0x7fffffffu));
    for (int i = 0; i < 200000; ++i)
        x.push_back(std::ldexp(1 + std::fabs(static_cast<float>(random.unit())),
                               static_cast<int>(random.below(60)) - 40));
    return x;
}

}  // namespace

TEMPLATE_TEST_CASE("every pattern of half and bfloat16 becomes the float of its value and comes back",
                   "[base][half]", half, bfloat16)
{
    using T = TestType;
    std::size_t wrong = 0;
    for (unsigned pattern = 0; pattern < 0x10000; ++pattern) {
        const auto x = T::of_bits(static_cast<std::uint16_t>(pattern));
        const float wide = x;
        const unsigned magnitude = pattern & 0x7fff;
        if (magnitude < infinity_of<T>)
            wrong += wide != (pattern > 0x7fff ? -1 : 1) * static_cast<float>(value_of<T>(magnitude));
        else if (magnitude == infinity_of<T>)
            wrong += wide != (pattern > 0x7fff ? -1 : 1) * std::numeric_limits<float>::infinity();
        else
            wrong +=
                !std::isnan(wide) || (std::bit_cast<std::uint32_t>(wide) >> (23 - format<T>::mantissa) &
                                      0x7fffu >> (15 - format<T>::mantissa)) != (magnitude & ~infinity_of<T>);
        wrong += std::signbit(wide) != (pattern > 0x7fff);
        wrong += T(wide).bits() != pattern;
    }
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("floats are rounded to the nearest half and bfloat16, ties to even", "[base][half]", half,
                   bfloat16)
{
    using T = TestType;
    std::size_t wrong = 0, nan = 0;
    for (const float x : floats<T>()) {
        if (std::isnan(x)) {
            const unsigned payload =
                std::bit_cast<std::uint32_t>(x) >> (23 - format<T>::mantissa) & ~infinity_of<T> & 0x7fff;
            const unsigned expected =
                infinity_of<T> | (payload != 0 ? payload : 1u << (format<T>::mantissa - 1));
            wrong += T(x).bits() != expected || T(-x).bits() != (expected | 0x8000);
            ++nan;
            continue;
        }
        const unsigned expected = std::isinf(x) ? infinity_of<T> : nearest<T>(x);
        wrong += T(x).bits() != expected || T(-x).bits() != (expected | 0x8000);
    }
    CHECK(wrong == 0);
    CHECK(nan > 100);
    CHECK(T(std::numeric_limits<float>::infinity()).bits() == infinity_of<T>);
    CHECK(T(std::numeric_limits<float>::quiet_NaN()).bits() > infinity_of<T>);
    CHECK(T(of_bits(0x7f800001)).bits() > infinity_of<T>);  // its payload does not fit, but it remains a NaN
}

TEMPLATE_TEST_CASE("rounding to two bytes is the same in every environment", "[base][half]", half, bfloat16)
{
    using T = TestType;
    const auto x = floats<T>();
    std::vector<std::uint16_t> expected;
    for (const float v : x) expected.push_back(T(v).bits());
    const auto differences = [&] {
        std::size_t count = 0;
        for (std::size_t i = 0; i < x.size(); ++i) count += T(x[i]).bits() != expected[i];
        for (unsigned pattern = 0; pattern < 0x8000; ++pattern)
            count += T(float{T::of_bits(static_cast<std::uint16_t>(pattern))}).bits() != pattern;
        return count;
    };
    for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        std::fesetround(rounding);
        const std::size_t count = differences();
        std::fesetround(FE_TONEAREST);
        CHECK(count == 0);
    }
#if defined(__SSE2__)
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);  // denormal inputs and results become zero
    const std::size_t count = differences();
    _mm_setcsr(before);
    CHECK(count == 0);
#endif
}

#if defined(__FLT16_MAX__) && (defined(__clang__) || !defined(__aarch64__) || __GNUC__ >= 13)
TEST_CASE("half agrees with the compiler's _Float16", "[base][half]")
{
    static_assert(ccoll::dtype_of<_Float16> == 2 && ccoll::small_float<_Float16>);
    std::size_t wrong = 0;
    for (unsigned pattern = 0; pattern < 0x10000; ++pattern) {
        const auto native = std::bit_cast<_Float16>(static_cast<std::uint16_t>(pattern));
        const auto x = half::of_bits(static_cast<std::uint16_t>(pattern));
        const auto wide = static_cast<float>(native);
        wrong += std::isnan(wide) ? !std::isnan(float{x}) : wide != float{x};
    }
    for (const float v : floats<half>())
        if (!std::isnan(v)) wrong += std::bit_cast<std::uint16_t>(static_cast<_Float16>(v)) != half(v).bits();
    fields::generator random(8);
    for (int i = 0; i < 300000; ++i) {  // rounded twice, but with the same result
        const auto a = std::bit_cast<_Float16>(static_cast<std::uint16_t>(random.bits())),
                   b = std::bit_cast<_Float16>(static_cast<std::uint16_t>(random.bits()));
        const half x = std::bit_cast<half>(a), y = std::bit_cast<half>(b);
        const auto same = [](half found, _Float16 expected) {
            return std::isnan(static_cast<float>(expected))
                       ? std::isnan(float{found})
                       : found.bits() == std::bit_cast<std::uint16_t>(expected);
        };
        wrong += !same(x + y, static_cast<_Float16>(a + b)) || !same(x - y, static_cast<_Float16>(a - b)) ||
                 !same(x * y, static_cast<_Float16>(a * b)) || !same(x / y, static_cast<_Float16>(a / b));
        wrong += (x < y) != (a < b) || (x == y) != (a == b) || (x != y) != (a != b);
    }
    CHECK(wrong == 0);
}
#endif

TEMPLATE_TEST_CASE("two-byte numbers are elements that can be summed, averaged, compared and multiplied",
                   "[base][half]", half, bfloat16)
{
    using T = TestType;
    static_assert(ccoll::element<T> && ccoll::divisible_element<T> && sizeof(T) == 2);
    static_assert(ccoll::dtype_of<T> == (std::is_same_v<T, half> ? 2 : 3));
    static_assert(T(1.5f) + T(2) == 3.5f && -T(1) == T(-1) && T(1) / T(4) == T(0.25f));
    const T a(1.5f), b(-2.25f), nan = T(std::numeric_limits<float>::quiet_NaN());
    CHECK(Op::Sum::apply(a, b) == -0.75f);
    CHECK(Op::Prod::apply(a, b) == -3.375f);
    CHECK(Op::Min::apply(a, b) == b);
    CHECK(Op::Max::apply(a, b) == a);
    CHECK(std::isnan(float{Op::Max::apply(a, nan)}));
    const ccoll::located<T> x{a, 3}, y{b, 1};
    CHECK(Op::MaxLoc::apply(x, y).index == 3);
    T sum = a, mean(6);
    sum += b;
    sum -= T(1);
    sum *= T(4);
    sum /= T(2);
    CHECK(sum == -3.5f);
    ccoll::reduction_of<Op::Average, T>.divide(&mean, 4, 1);
    CHECK(mean == 1.5f);
}
