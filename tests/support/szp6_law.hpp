// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// szp6_law.hpp - the law of SZp, written from docs/wire_format_6.md alone: what values decode to, in plain and slow code.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

namespace szp6_law {

template <class T>
struct law {
    static constexpr bool f32 = sizeof(T) == 4;
    static constexpr int digits = std::numeric_limits<T>::digits;

    double e, step, p, f;
    bool usable;

    explicit law(double bound)
    {
        e = std::min(bound, f32 ? std::ldexp(1.0, 94) : std::ldexp(1.0, 990));
        usable = e >= 4 * static_cast<double>(std::numeric_limits<T>::min());
        int exponent = 0;
        const int bits = f32 ? 10 : 22;
        const double mantissa = std::frexp(2 * e / (1 + 1.001 * std::ldexp(1.0, f32 ? -8 : -20)), &exponent);
        step = std::ldexp(std::floor(std::ldexp(mantissa, bits)), exponent - bits);
        std::frexp(2 * e, &exponent);
        p = std::ldexp(1.0, exponent - 1);
        f = std::ldexp(p, digits);
        if (f > static_cast<double>(std::numeric_limits<T>::max())) f = std::numeric_limits<double>::infinity();
    }
    static bool is_denormal(T x) { return x == 0 || std::fabs(x) < std::numeric_limits<T>::min(); }

    /// Row 1, 2 or 3 of the table.
    double quantum(T x, double of, int row) const
    {
        if (is_denormal(x)) return 0;
        const double i = 1 / of, v = static_cast<double>(x);
        if (row == 1) return static_cast<double>(std::rint(x * static_cast<T>(i)));
        const double q = std::rint(v * i);
        return row == 2 ? q : q + std::rint(std::fma(-q, of, v) * i);
    }
    int row_of(T x) const
    {
        const double size = std::fabs(static_cast<double>(x));
        return size < std::ldexp(step, f32 ? 14 : 30) ? 1 : size < std::ldexp(step, 30) ? 2 : 3;
    }
    /// Of an addend.
    double quantum(T x) const { return quantum(x, step, row_of(x)); }
    bool is_exceptional_in_addend(T x) const { return !std::isfinite(x) || std::fabs(static_cast<double>(x)) >= std::ldexp(step, 45); }
};

template <class T>
bool same_bits(T a, T b)
{
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// The greatest power of two of which all are multiples, at most 2^126 (f64: 2^1022); 0 if there is none above `step`, a value is denormal,
/// or one is 2^24 (f64: 2^53) times it or more.
template <class T>
double lattice(const std::vector<T>& x, double step)
{
    constexpr int digits = std::numeric_limits<T>::digits;
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const T v : x) {
        if (v == 0) continue;
        if (std::fabs(v) < std::numeric_limits<T>::min()) return 0;
        int exponent = 0;
        double mantissa = std::fabs(std::frexp(static_cast<double>(v), &exponent));
        int bits = 0;
        while (mantissa != std::floor(mantissa)) {
            mantissa *= 2;
            ++bits;
        }
        least = std::min(least, std::ldexp(1.0, exponent - bits));
        most = std::max(most, std::fabs(static_cast<double>(v)));
    }
    if (most == 0 || most >= std::ldexp(least, digits)) return 0;
    const double step_of = std::min(least, std::ldexp(1.0, digits == 24 ? 126 : 1022));
    return step_of > step ? step_of : 0;
}

/// What a chunk for movement decodes to.
template <class T>
std::vector<T> moved(const std::vector<T>& x, double bound, std::optional<T> missing = {})
{
    const law<T> z(bound);
    if (!z.usable || x.size() < 256) return x;
    const auto exceptional = [&](T v, double f) {
        return (missing && same_bits(v, *missing)) || !std::isfinite(v) || std::fabs(static_cast<double>(v)) >= f;
    };
    double f = z.f;
    std::vector<T> ordinary;
    const auto collect = [&] {
        ordinary.clear();
        for (const T v : x)
            if (!exceptional(v, f)) ordinary.push_back(v);
    };
    f = std::numeric_limits<double>::infinity();
    collect();
    double step = lattice(ordinary, z.step);
    if (step == 0) {
        f = z.f;
        collect();
        step = lattice(ordinary, z.step);
    }
    std::size_t changes = 0;
    const T* before = nullptr;
    for (const T& v : x) {
        if (!exceptional(v, f)) continue;
        changes += before != nullptr && !same_bits(*before, v);
        before = &v;
    }
    if (changes > x.size() / 8) return x;
    double most = 0;
    for (const T v : ordinary) most = std::max(most, std::fabs(static_cast<double>(v)));
    int row = law<T>::f32 ? 2 : 3;
    if (step == 0 && most < std::ldexp(z.step, law<T>::f32 ? 14 : 30)) {
        step = z.step;
        row = 1;
    } else if (step == 0) {
        const double r = most + 2 * z.e;
        if (!(r < static_cast<double>(std::numeric_limits<T>::max()) / 2)) return x;
        int exponent = 0;
        std::frexp(r, &exponent);
        const double ulp = std::ldexp(1.0, exponent - law<T>::digits);
        step = std::max(z.p, std::floor(2 * z.e * (1 - std::ldexp(1.0, -20)) / ulp) * ulp);
    }
    std::vector<T> y;
    for (const T v : x)
        y.push_back(exceptional(v, f) ? v : static_cast<T>((z.quantum(v, step, row) + 0.0) * step));  // an integer has no sign of 0
    return y;
}

}  // namespace szp6_law
