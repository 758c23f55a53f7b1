// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/half_kernels.hpp: conversions and sums of arrays, in every instruction set, against tables of all
// numbers of a format that are made by arithmetic in double.
#include "support/catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <ccoll/base/half_kernels.hpp>

#include "support/isa.hpp"

namespace half_kernel_cases {

using ccoll::bfloat16;
using ccoll::half;
using namespace ccoll::detail;

namespace {

template <class T>
constexpr int exponent_bits = std::is_same_v<T, half> ? 5 : 8;
template <class T>
constexpr int mantissa_bits = 15 - exponent_bits<T>;
template <class T>
constexpr unsigned infinity = ((1u << exponent_bits<T>)-1) << mantissa_bits<T>;

/// Values of the finite magnitudes, in rising order.
template <class T>
const std::vector<double>& magnitudes()
{
    static const std::vector<double> all = [] {
        std::vector<double> x;
        constexpr int bias = (1 << (exponent_bits<T> - 1)) - 1;
        for (unsigned h = 0; h < infinity<T>; ++h) {
            const int e = static_cast<int>(h >> mantissa_bits<T>);
            const double m = static_cast<double>(h & ((1u << mantissa_bits<T>)-1));
            x.push_back(std::ldexp(e == 0 ? m : m + std::ldexp(1.0, mantissa_bits<T>),
                                   std::max(e, 1) - bias - mantissa_bits<T>));
        }
        return x;
    }();
    return all;
}

/// Bits of a float that has the value of two bytes, or as many of its NaN.
template <class T>
std::uint32_t widened(unsigned h)
{
    const unsigned magnitude = h & 0x7fff, sign = h >> 15;
    if (magnitude >= infinity<T>)
        return sign << 31 | 0x7f800000u | (magnitude - infinity<T>) << (23 - mantissa_bits<T>);
    const auto x = static_cast<float>(magnitudes<T>()[magnitude]);
    return std::bit_cast<std::uint32_t>(x) | sign << 31;
}

/// The nearest number, ties to the even one; beyond half the distance above the largest one, infinity or
/// that.
template <class T>
std::uint16_t nearest(std::uint32_t bits, bool within_range)
{
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        const std::uint32_t kept = (magnitude & 0x7fffffu) >> (23 - mantissa_bits<T>);
        return static_cast<std::uint16_t>(sign | infinity<T> |
                                          (kept != 0 ? kept : 1u << (mantissa_bits<T> - 1)));
    }
    if (magnitude == 0x7f800000u) return static_cast<std::uint16_t>(sign | infinity<T>);
    const auto& all = magnitudes<T>();
    const double x = static_cast<double>(std::bit_cast<float>(magnitude));
    const auto above = std::lower_bound(all.begin(), all.end(), x);
    auto at = static_cast<unsigned>(above - all.begin());
    const double next = at < all.size() ? all[at] : 2 * all[at - 1] - all[at - 2];
    if (next != x) {
        const double middle = (all[at - 1] + next) / 2;
        if (x < middle || (x == middle && (at - 1) % 2 == 0)) --at;
    }
    if (within_range) at = std::min(at, static_cast<unsigned>(all.size()) - 1);
    return static_cast<std::uint16_t>(sign | at);
}

/// All numbers as floats, their neighbours among floats, what is half way between two of them, and its
/// neighbours; and other bits.
template <class T>
std::vector<std::uint32_t> floats_around()
{
    std::vector<std::uint32_t> x;
    for (unsigned h = 0; h < 0x10000; ++h) {
        const std::uint32_t one = widened<T>(h);
        std::uint32_t middle = one;
        if ((h & 0x7fff) < infinity<T>) {
            const auto& all = magnitudes<T>();
            const unsigned m = h & 0x7fff;
            const double next = m + 1 < all.size() ? all[m + 1] : 2 * all[m] - all[m - 1];
            middle = std::bit_cast<std::uint32_t>(static_cast<float>((all[m] + next) / 2)) | (h >> 15) << 31;
        }
        for (const std::uint32_t v : {one, middle})
            for (const std::uint32_t by : {0xffffffffu, 0u, 1u}) x.push_back(v + by);
    }
    std::mt19937 random(1);
    for (int i = 0; i < 100000; ++i) x.push_back(static_cast<std::uint32_t>(random()));
    return x;
}

std::vector<float> as_floats(const std::vector<std::uint32_t>& bits)
{
    std::vector<float> x(bits.size());
    std::memcpy(x.data(), bits.data(), 4 * bits.size());
    return x;
}

}  // namespace

TEMPLATE_TEST_CASE("all numbers of two bytes become floats in every instruction set, at any place and count",
                   "[base][half][isa]", half, bfloat16)
{
    using T = TestType;
    std::vector<T> x;
    for (unsigned h = 0; h < 0x10000; ++h) x.push_back(T::of_bits(static_cast<std::uint16_t>(h)));
    std::vector<float> y(x.size() + 1);
    const auto wrong = [&](std::size_t from, std::size_t n) {
        std::fill(y.begin(), y.end(), -1.5f);
        two_byte::wideners<T>(x.data() + from, y.data(), n);
        std::size_t count = y[n] != -1.5f;
        for (std::size_t i = 0; i < n; ++i) {
            std::uint32_t bits;  // no float: on some machines a copy would change a NaN
            std::memcpy(&bits, y.data() + i, 4);
            count += bits != widened<T>(static_cast<unsigned>(from + i));
        }
        return count;
    };
    with_each_isa([&] {
        CHECK(wrong(0, x.size()) == 0);
        // Of a part without NaN, which takes another way, and parts with one NaN.
        CHECK(wrong(0, infinity<T> + 1) == 0);
        CHECK(wrong(0, infinity<T> + 2) == 0);
        for (std::size_t n = 0; n < 70; ++n) {
            CHECK(wrong(1000 + n % 5, n) == 0);
            CHECK(wrong(infinity<T> - n, 2 * n) == 0);
        }
    });
}

TEMPLATE_TEST_CASE("floats are rounded to the nearest number of two bytes in every instruction set",
                   "[base][half][isa]", half, bfloat16)
{
    using T = TestType;
    const std::vector<std::uint32_t> all = floats_around<T>();
    std::vector<std::uint32_t> tame;  // no NaN, no infinity: kernels look for these at once
    for (const std::uint32_t v : all)
        if ((nearest<T>(v, false) & 0x7fff) < infinity<T>) tame.push_back(v);
    const std::vector<std::uint32_t>* const both[] = {&all, &tame};
    for (const auto* bits : both) {
        const std::vector<float> x = as_floats(*bits);
        std::vector<T> y(x.size() + 1), z(x.size() + 1);
        with_each_isa([&] {
            y.back() = z.back() = T(7.0f);
            two_byte::rounders<T>(x.data(), y.data(), x.size());
            two_byte::range_rounders<T>(x.data(), z.data(), x.size());
            std::size_t wrong = 0, beyond = 0;
            for (std::size_t k = 0; k < x.size(); ++k) {
                wrong += y[k].bits() != nearest<T>((*bits)[k], false);
                beyond += z[k].bits() != nearest<T>((*bits)[k], true);
            }
            CHECK(wrong == 0);
            CHECK(beyond == 0);
            CHECK(float{y.back()} == 7.0f);
            CHECK(float{z.back()} == 7.0f);
        });
    }
    // Each of them among others that are tame, and every count.
    with_each_isa([&] {
        std::size_t wrong = 0;
        for (std::size_t n = 1; n < 70; ++n)
            for (const std::uint32_t strange : {0x7f800000u, 0xff800001u, 0x7fffffffu, 0xffffffffu,
                                                0x7f7fffffu, 0xff7f8000u, 0x477ff000u, 0xc77fefffu}) {
                std::vector<std::uint32_t> bits(tame.begin() + 1000,
                                                tame.begin() + 1000 + static_cast<long>(n));
                bits[(7 * n) % n] = bits[n - 1] = strange;
                const std::vector<float> x = as_floats(bits);
                std::vector<T> y(n), z(n);
                two_byte::rounders<T>(x.data(), y.data(), n);
                two_byte::range_rounders<T>(x.data(), z.data(), n);
                for (std::size_t k = 0; k < n; ++k) {
                    wrong += y[k].bits() != nearest<T>(bits[k], false);
                    wrong += z[k].bits() != nearest<T>(bits[k], true);
                }
            }
        CHECK(wrong == 0);
    });
}

TEMPLATE_TEST_CASE("sums, quotients and largest magnitudes of numbers of two bytes in every instruction set",
                   "[base][half][isa]", half, bfloat16)
{
    using T = TestType;
    std::vector<T> a, b;
    std::mt19937 random(2);
    for (unsigned h = 0; h < 0x20000; ++h) {
        a.push_back(T::of_bits(static_cast<std::uint16_t>(h)));
        b.push_back(T::of_bits(static_cast<std::uint16_t>(random())));
    }
    with_each_isa([&] {
        std::vector<T> sum(a.size()), into_a = a, into_b = b;
        two_byte::adders<T>(sum.data(), a.data(), b.data(), a.size());
        two_byte::adders<T>(into_a.data(), into_a.data(), b.data(), a.size());
        two_byte::adders<T>(into_b.data(), a.data(), into_b.data(), a.size());
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < a.size(); ++k) {
            const std::uint32_t x = widened<T>(a[k].bits()), y = widened<T>(b[k].bits());
            const float exact = std::bit_cast<float>(x) + std::bit_cast<float>(y);  // of few bits: or rounded
                                                                                    // once
            const bool is_nan = std::isnan(exact);
            const std::uint16_t expected =
                is_nan ? 0 : nearest<T>(std::bit_cast<std::uint32_t>(exact), false);
            for (const T found : {sum[k], into_a[k], into_b[k]})
                wrong += is_nan ? (found.bits() & 0x7fff) <= infinity<T> : found.bits() != expected;
        }
        CHECK(wrong == 0);
        for (const float by : {3.0f, 1000.0f}) {
            std::vector<T> parts = a;
            two_byte::dividers<T>(parts.data(), by, a.size());
            wrong = 0;
            for (std::size_t k = 0; k < a.size(); ++k) {
                const float quotient = std::bit_cast<float>(widened<T>(a[k].bits())) / by;
                const auto bits = std::bit_cast<std::uint32_t>(quotient);
                wrong += std::isnan(quotient) ? (parts[k].bits() & 0x7fff) <= infinity<T>
                                              : parts[k].bits() != nearest<T>(bits, false);
            }
            CHECK(wrong == 0);
        }
        for (std::size_t n = 0; n < 2000; n += 37) {
            float most = 0;
            for (std::size_t k = 0; k < n; ++k)
                if (std::isfinite(float{b[k]})) most = std::max(most, std::fabs(float{b[k]}));
            CHECK(two_byte::largest_finders<T>(b.data(), n) == most);
        }
    });
}

}  // namespace half_kernel_cases
