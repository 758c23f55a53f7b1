// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exact_numbers.hpp - the oracle of the tests of exact arithmetic: integers of any length, times a power of
// two.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/fields.hpp"

namespace exact {

/// limbs x 2^exponent, lowest limb first, of any length. Slow and simple.
struct number {
    std::vector<std::uint32_t> limbs;
    bool negative = false;
    int exponent = 0;

    number() = default;
    number(std::int64_t v) : negative(v < 0)
    {
        const auto m = v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
        limbs = {static_cast<std::uint32_t>(m), static_cast<std::uint32_t>(m >> 32)};
        trim();
    }
    static number of(double x)
    {
        int e = 0;
        const double m = std::frexp(x, &e);
        number r(static_cast<std::int64_t>(std::ldexp(m, 53)));
        r.exponent = e - 53;
        return r;
    }
    static number power_of_two(int e)
    {
        number r(1);
        r.exponent = e;
        return r;
    }
    bool is_zero() const { return limbs.empty(); }
    bool is_odd() const { return !limbs.empty() && (limbs[0] & 1) != 0; }
    number magnitude() const
    {
        number r = *this;
        r.negative = false;
        return r;
    }
    number operator-() const
    {
        number r = *this;
        r.negative = !negative && !is_zero();
        return r;
    }
    /// The same number with a lower exponent.
    number lowered(int to) const
    {
        number r = *this;
        for (; r.exponent - to >= 32; r.exponent -= 32) r.limbs.insert(r.limbs.begin(), 0);
        r = r.times(std::uint32_t{1} << (r.exponent - to));
        r.exponent = to;
        return r;
    }
    number times(std::uint32_t by) const
    {
        number r = *this;
        std::uint64_t carry = 0;
        for (auto& l : r.limbs) {
            carry += std::uint64_t{l} * by;
            l = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        r.limbs.push_back(static_cast<std::uint32_t>(carry));
        r.trim();
        return r;
    }
    friend number operator*(const number& a, const number& b)
    {
        number r;
        r.exponent = a.exponent + b.exponent;
        for (std::size_t i = 0; i < b.limbs.size(); ++i) {
            number part = a.magnitude().times(b.limbs[i]);
            part.exponent = r.exponent;
            part.limbs.insert(part.limbs.begin(), i, 0);
            r = r + part;
        }
        r.exponent = a.exponent + b.exponent;
        r.negative = a.negative != b.negative && !r.is_zero();
        return r;
    }
    friend number operator+(const number& a, const number& b)
    {
        const int e = std::min(a.exponent, b.exponent);
        number x = a.lowered(e), y = b.lowered(e);
        if (x.negative != y.negative) {
            if (below(x.limbs, y.limbs)) std::swap(x, y);
            std::int64_t borrow = 0;
            for (std::size_t i = 0; i < x.limbs.size(); ++i) {
                std::int64_t d =
                    std::int64_t{x.limbs[i]} - (i < y.limbs.size() ? std::int64_t{y.limbs[i]} : 0) - borrow;
                borrow = d < 0;
                x.limbs[i] = static_cast<std::uint32_t>(d);
            }
        } else {
            x.limbs.resize(std::max(x.limbs.size(), y.limbs.size()) + 1);
            std::uint64_t carry = 0;
            for (std::size_t i = 0; i < x.limbs.size(); ++i) {
                carry += std::uint64_t{x.limbs[i]} + (i < y.limbs.size() ? y.limbs[i] : 0);
                x.limbs[i] = static_cast<std::uint32_t>(carry);
                carry >>= 32;
            }
        }
        x.trim();
        return x;
    }
    friend number operator-(const number& a, const number& b) { return a + -b; }
    friend bool operator==(const number& a, const number& b) { return (a - b).is_zero(); }
    friend bool operator<(const number& a, const number& b) { return (a - b).negative; }

private:
    void trim()
    {
        while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
        if (limbs.empty()) negative = false;
    }
    static bool below(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b)
    {
        if (a.size() != b.size()) return a.size() < b.size();
        for (std::size_t i = a.size(); i-- > 0;)
            if (a[i] != b[i]) return a[i] < b[i];
        return false;
    }
};

/// The number that these bits stand for, where infinity is the next power of two.
template <class T>
number of_bits(fields::word<T> bits)
{
    const T x = std::bit_cast<T>(bits);
    if (!std::isinf(x)) return number::of(static_cast<double>(x));
    const number n = number::power_of_two(std::numeric_limits<T>::max_exponent);
    return std::signbit(x) ? -n : n;
}

/// Are these the bits of numerator / divisor, rounded to nearest, ties to even?
template <class T>
bool is_nearest(const number& numerator, std::int32_t divisor, fields::word<T> bits)
{
    using word = fields::word<T>;
    constexpr word sign = word{1} << (8 * sizeof(T) - 1);
    const word infinity = std::bit_cast<word>(std::numeric_limits<T>::infinity()), m = bits & ~sign;
    if (numerator.is_zero()) return bits == 0;
    if (m > infinity || ((bits & sign) != 0) != numerator.negative) return false;
    const auto distance = [&](word magnitude) {
        return (numerator.magnitude() - of_bits<T>(magnitude) * number(divisor)).magnitude();
    };
    if (m == infinity && of_bits<T>(m) * number(divisor) < numerator.magnitude()) return true;
    const number here = distance(m);
    for (const word other : {m == 0 ? m + 1 : m - 1, m == infinity ? m - 1 : m + 1}) {
        const number there = distance(static_cast<word>(other));
        if (there < here || (there == here && m % 2 != 0)) return false;
    }
    return true;
}

}  // namespace exact
