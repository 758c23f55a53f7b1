// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: sanitized, optimised
// codec/exceptions/wide.hpp: the wide integers of exceptional values are exact, and become values by one
// rounding.
#include "support/catch.hpp"

#include "codec/exact_numbers.hpp"

#include <ccoll/codec/exceptions/wide.hpp>

namespace exceptions_wide_cases {

using namespace ccoll::detail::exceptions;
using exact::number;

namespace {

template <class T>
constexpr wide wide_of(T x, const exact_step& step)
{
    return wide_of_bits<T>(ccoll::detail::fields_of<T>::of(x), step);
}
number number_of(const wide& w)
{
    const number word(std::int64_t{1} << 32);
    number n;
    for (std::size_t i = 3; i-- > 0;)
        for (const u64 half : {w.limb[i] >> 32, w.limb[i] & 0xffffffffu})
            n = n * word + number(static_cast<std::int64_t>(half));
    if (w.is_negative()) n = n - number::power_of_two(192);
    return n;
}
const number too_much = number::power_of_two(190);

/// Steps with as many significant bits as the law allows.
double random_step(fields::generator& random, int bits, int lowest, int highest)
{
    const double mantissa =
        static_cast<double>((std::uint64_t{1} << (bits - 1)) | random.below(std::size_t{1} << (bits - 1)));
    return std::ldexp(
        mantissa,
        lowest + static_cast<int>(random.below(static_cast<std::size_t>(highest - lowest))) - bits + 1);
}
template <class T>
T random_value(fields::generator& random, int lowest, int highest)
{
    const double m = 1 + static_cast<double>(random.bits() >> 12) * 0x1p-52;
    const auto x = static_cast<T>(
        std::ldexp(m, lowest + static_cast<int>(random.below(static_cast<std::size_t>(highest - lowest)))));
    return random.below(2) == 0 ? x : -x;
}
wide random_wide(fields::generator& random)
{
    wide w{{random.bits(), random.bits(), random.bits()}};
    const std::size_t bits = random.below(190);
    for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t keep = bits > 64 * i ? bits - 64 * i : 0;
        if (keep < 64) w.limb[i] &= (u64{1} << keep) - 1;
    }
    return random.below(2) == 0 ? w : negated(w);
}
template <class T>
bool is_rounded_quotient(T x, double step, const wide& w)
{
    const number remainder = number::of(static_cast<double>(x)) - number_of(w) * number::of(step);
    const number twice = remainder.magnitude() * number(2), one = number::of(step);
    return twice < one || (twice == one && (w.limb[0] & 1) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE(
    "a wide integer is the value over the step, rounded without an error, or too large from 2^190 on",
    "[codec][exceptions]", float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    constexpr int bits = sizeof(T) == 4 ? 10 : 22;
    fields::generator random(1);
    std::size_t wrong = 0, large = 0;
    const auto check = [&](T x, double step) {
        const wide w = wide_of(x, exact_step(step));
        if (w.is(wide::overflow)) {
            ++large;  // x / step >= 2^190 - 1/2: there, the nearest integer is that or more
            const number half = number::of(step) * number::power_of_two(-1);
            wrong += number::of(std::fabs(static_cast<double>(x))) < too_much * number::of(step) - half;
        } else {
            wrong += !w.is_valid() || !is_rounded_quotient(x, step, w);
        }
    };
    for (int i = 0; i < 4000; ++i) {
        const double step = random_step(random, bits, limits::min_exponent + 2, limits::max_exponent - bits);
        int exponent = 0;
        std::frexp(step, &exponent);
        check(random_value<T>(random, std::max(exponent - 70, limits::min_exponent),
                              std::min(exponent + 200, limits::max_exponent)),
              step);
        check(random_value<T>(random, limits::min_exponent - limits::digits, limits::max_exponent), step);
    }
    for (const T x :
         {T(0), limits::denorm_min(), limits::min(), T(1), T(1e20), limits::max(), limits::lowest()})
        for (const double step :
             {std::ldexp(1.0, limits::min_exponent + 1), 1.5, 0.001220703125, std::ldexp(1023.0, 80)})
            check(x, step);
    CHECK(wrong == 0);
    CHECK(large > 100);
    // Ties go to the even integer.
    for (int k = 0; k < 100; ++k) check(static_cast<T>(k * 0.75 + 0.375), 0.75);
    CHECK(wrong == 0);
    CHECK(wide_of(T(1.5), exact_step(1)) == wide::of(i64{2}));
    CHECK(wide_of(T(2.5), exact_step(1)) == wide::of(i64{2}));
    CHECK(wide_of(T(-2.5), exact_step(1)) == wide::of(i64{-2}));
    CHECK(wide_of(limits::quiet_NaN(), exact_step(1)).is(wide::nan));
    CHECK(wide_of(limits::infinity(), exact_step(1)).is(wide::plus_infinity));
    CHECK(wide_of(-limits::infinity(), exact_step(1)).is(wide::minus_infinity));
}

TEST_CASE("the largest wide integer is 2^190 - 1, in values and sums", "[codec][exceptions]")
{
    const double most = 0x1.fffffffffffffp189;  // 2^190 - 2^137
    CHECK(number_of(wide_of(most, exact_step(1))) == number::of(most));
    CHECK(number_of(wide_of(-most, exact_step(1))) == number::of(-most));
    CHECK(wide_of(0x1p190, exact_step(1)).is(wide::overflow));
    CHECK(wide_of(-0x1p190, exact_step(1)).is(wide::overflow));
    CHECK(number_of(wide_of(0x1p100, exact_step(0x1.8p-89))) ==
          number_of(wide_of(0x1p101, exact_step(0x1.8p-88))));
    wide one = wide::of(i64{1});
    wide top = wide_of(0x1p189, exact_step(1));
    top = top + (top + wide::of(i64{-1}));  // 2^190 - 1
    CHECK(top.is_valid());
    CHECK((top + one).is(wide::overflow));
    CHECK((negated(top) + wide::of(i64{-1})).is(wide::overflow));
    CHECK((top + top).is(wide::overflow));
    CHECK((negated(top) + negated(top)).is(wide::overflow));
    CHECK((top + negated(top)).is_zero());
    CHECK_FALSE(wide{{0, 0, u64{3} << 62}}.is_valid());  // -2^190
    CHECK(wide{{1, 0, u64{3} << 62}}.is_valid());
    CHECK_FALSE(wide{{0, 0, u64{1} << 62}}.is_valid());
    CHECK_FALSE(wide{{4, 0, u64{1} << 63}}.is_valid());
    CHECK_FALSE(wide{{0, 1, u64{1} << 63}}.is_valid());
    static_assert(wide::of(i64{-3}) + wide::of(i64{5}) == wide::of(i64{2}));
    static_assert(wide_of(1e20f, exact_step(0.5)).is_valid());
}

TEST_CASE("sums of wide integers are those of numbers", "[codec][exceptions]")
{
    fields::generator random(2);
    std::size_t wrong = 0;
    for (int i = 0; i < 4000; ++i) {
        const wide a = random_wide(random), b = random_wide(random);
        const wide sum = a + b;
        const number exact_sum = number_of(a) + number_of(b);
        wrong += sum.is_valid() ? !(number_of(sum) == exact_sum) : exact_sum.magnitude() < too_much;
    }
    CHECK(wrong == 0);
}

TEST_CASE("of the states, missing wins over all, then NaN, and both infinities together are NaN",
          "[codec][exceptions]")
{
    const wide finite = wide::of(i64{-12}), nan = wide::of(wide::nan), up = wide::of(wide::plus_infinity),
               down = wide::of(wide::minus_infinity), missing = wide::of(wide::missing);
    const wide ranked[] = {finite, up, nan, missing};
    for (const wide& a : ranked)
        for (const wide& b : ranked)
            if (!(a == finite && b == finite)) CHECK(a + b == (&a < &b ? b : a));
    CHECK(up + down == nan);
    CHECK(down + up == nan);
    CHECK(down + finite == down);
    CHECK(missing + down == missing);
    for (const double step : {0.25, 0x1p-100}) {
        const exact_step s(step);
        CHECK(value_of<float>(missing, 5, s, 1, 0x12345678) == 0x12345678);
        CHECK(std::isnan(std::bit_cast<float>(value_of<float>(nan, 5, s, 1, 0))));
        CHECK(std::bit_cast<double>(value_of<double>(up, -5, s, 3, 0)) ==
              std::numeric_limits<double>::infinity());
        CHECK(std::bit_cast<double>(value_of<double>(down, 5, s, 3, 0)) ==
              -std::numeric_limits<double>::infinity());
    }
}

TEMPLATE_TEST_CASE(
    "a value is rounded once, to the nearest number of the type, also if that is denormal or infinite",
    "[codec][exceptions]", float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    constexpr int bits = sizeof(T) == 4 ? 10 : 22;
    fields::generator random(3);
    std::size_t wrong = 0, denormal = 0, infinite = 0, zero = 0;
    const auto check = [&](const wide& w, i64 q, double step, i32 divisor) {
        const auto word = value_of<T>(w, q, exact_step(step), divisor, 0);
        const T x = std::bit_cast<T>(word);
        infinite += std::isinf(x);
        denormal += x != 0 && std::fabs(x) < limits::min();
        zero += x == 0;
        wrong += !exact::is_nearest<T>((number_of(w) + number(q)) * number::of(step), divisor, word);
    };
    for (int i = 0; i < 4000; ++i) {
        const auto divisor = static_cast<i32>(1 + (random.bits() >> (33 + random.below(30))));
        const i64 q = static_cast<i64>(random.bits()) >> (2 + random.below(62));
        check(random_wide(random), q,
              random_step(random, bits, limits::min_exponent + 2, limits::max_exponent - bits), divisor);
        check(random_wide(random), 0, random_step(random, bits, -20, 20), 1);
        check(wide{}, q % 1000,
              random_step(random, bits, limits::min_exponent + 2, limits::min_exponent + 40), divisor);
    }
    CHECK(denormal > 100);
    CHECK(infinite > 100);
    // Halves of the last bit: of normal and denormal numbers, and of the largest one.
    for (i64 k = -40; k <= 40; ++k) {
        const i64 large = i64{1} << limits::digits;
        check(wide::of(large), k, 1, 1);
        check(wide::of(large), k, 0.75, 2);
        check(wide::of(-2 * large), k, 1, 1);
        for (const i32 divisor : {1, 2, 3, 4, 1 << 20, 1 << 30, std::numeric_limits<i32>::max()})
            for (const int above : {0, 1, 2, 20, 24, 52})
                check(wide{}, k, std::ldexp(1.0, limits::min_exponent - 1 + above), divisor);
        check(wide::of((large - 1) * 4), k, std::ldexp(1.0, limits::max_exponent - limits::digits - 2), 1);
    }
    CHECK(wrong == 0);
    CHECK(zero > 0);
}

TEMPLATE_TEST_CASE("averages of equal fill values are the fill value", "[codec][exceptions]", float, double)
{
    using T = TestType;
    for (const T fill : {T(1e20), T(-1e34), T(9.96921e36), std::numeric_limits<T>::max()})
        for (const double step : {0.001220703125, 0.75, 1023.0})
            for (const i32 p : {1, 2, 3, 7, 13, 1000, 131072}) {
                const wide one = wide_of(fill, exact_step(step));
                wide sum = one;
                for (i32 r = 1; r < p; ++r) sum = sum + one;
                if (sum.is_valid())
                    CHECK(std::bit_cast<T>(value_of<T>(sum, 0, exact_step(step), p, 0)) == fill);
            }
}

}  // namespace exceptions_wide_cases
