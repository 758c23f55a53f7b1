// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The law of SZp as docs/wire_format.md says it, value by value. szp_chunks.hpp and szp_reference.hpp have
// the rest of the page. Slow, and made from it alone, so that it can judge codecs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace szp_reference {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using bytes = std::vector<u8>;
using wide = std::array<u64, 3>;  ///< 192 bits, the lowest limb first

template <class T>
using word = std::conditional_t<sizeof(T) == 4, u32, u64>;
template <class T>
word<T> bits_of(T x)
{
    word<T> w;
    std::memcpy(&w, &x, sizeof w);
    return w;
}
template <class T>
T number_of(word<T> w)
{
    T x;
    std::memcpy(&x, &w, sizeof x);
    return x;
}

inline wide add(const wide& a, const wide& b)
{
    wide r{};
    unsigned __int128 sum = 0;
    for (std::size_t i = 0; i < 3; ++i) r[i] = static_cast<u64>(sum = (sum >> 64) + a[i] + b[i]);
    return r;
}
inline wide widened(i64 q) { return {static_cast<u64>(q), q < 0 ? ~u64{0} : 0, q < 0 ? ~u64{0} : 0}; }
inline wide negated(const wide& a) { return add({~a[0], ~a[1], ~a[2]}, {1, 0, 0}); }
inline wide state(u64 which) { return {which, 0, u64{1} << 63}; }  ///< 0 NaN, 1 +Inf, 2 -Inf, 3 missing
inline bool is_state(const wide& a) { return a[2] == u64{1} << 63; }
/// A state that there is, or below 2^190 in magnitude.
inline bool is_valid(const wide& a)
{
    if (is_state(a)) return a[1] == 0 && a[0] <= 3;
    const wide magnitude = a[2] >> 63 != 0 ? negated(a) : a;
    return magnitude[2] >> 62 == 0;
}

// ---- the law ----

template <class T>
struct law {
    static constexpr bool f32 = sizeof(T) == 4;
    double eb, step, power, far;
    bool usable;
    bool has_missing;
    word<T> missing_bits;

    explicit law(double bound, std::optional<word<T>> marker = {})
        : has_missing(marker.has_value()), missing_bits(marker.value_or(word<T>{0}))
    {
        eb = std::min(bound, f32 ? 0x1p94 : 0x1p990);
        usable = !(eb < 4 * static_cast<double>(std::numeric_limits<T>::min()));
        int e = 0;
        const double m = std::frexp(2 * eb / (1 + 1.001 * (f32 ? 0x1p-8 : 0x1p-20)), &e),
                     scale = f32 ? 0x1p10 : 0x1p22;
        step = std::ldexp(std::floor(m * scale) / scale, e);
        std::frexp(2 * eb, &e);
        power = std::ldexp(1.0, e - 1);
        far = std::ldexp(power, f32 ? 24 : 53);
        if (!(far <= static_cast<double>(std::numeric_limits<T>::max())))
            far = std::numeric_limits<double>::infinity();
    }
    bool is_missing(T x) const { return has_missing && bits_of(x) == missing_bits; }
    std::optional<word<T>> missing() const
    {
        return has_missing ? std::optional<word<T>>(missing_bits) : std::nullopt;
    }
    bool far_in_movement(T x) const
    {
        return is_missing(x) || !std::isfinite(x) || std::fabs(static_cast<double>(x)) >= far;
    }
    bool far_in_addend(T x) const
    {
        return is_missing(x) || !std::isfinite(x) || std::fabs(static_cast<double>(x)) >= 0x1p45 * step;
    }
    static i64 row_2(T x, double s)
    {
        return static_cast<i64>(std::nearbyint(static_cast<double>(x) * (1 / s)));
    }
    static i64 row_3(T x, double s)
    {
        const double i = 1 / s, q = std::nearbyint(static_cast<double>(x) * i);
        return static_cast<i64>(q + std::nearbyint(std::fma(-q, s, static_cast<double>(x)) * i));
    }
    i64 quantum(T x) const
    {
        const double a = std::fabs(static_cast<double>(x));
        if (a < static_cast<double>(std::numeric_limits<T>::min())) return 0;
        if (a < step * (f32 ? 0x1p14 : 0x1p30))
            return static_cast<i64>(std::nearbyint(x * static_cast<T>(1 / step)));
        return a < step * 0x1p30 ? row_2(x, step) : row_3(x, step);
    }
};

/// What a chunk for movement becomes.
template <class T>
std::vector<T> moved(const law<T>& z, const std::vector<T>& x)
{
    const std::size_t n = x.size();
    const bool constant =
        n >= 32 && std::all_of(x.begin(), x.end(), [&](T v) { return bits_of(v) == bits_of(x[0]); });
    if (!z.usable || (n < 512 && !constant)) return x;
    constexpr bool f32 = law<T>::f32;
    // The step of rule 1 for the values that are not `far`, or 0.
    const auto lattice_of = [&](auto far) {
        int lowest = 5000;
        double most = 0;
        for (const T v : x) {
            const double a = std::fabs(static_cast<double>(v));
            if (far(v) || a == 0) continue;
            if (a < static_cast<double>(std::numeric_limits<T>::min())) return 0.0;
            int e = 0;
            const auto m = static_cast<u64>(std::ldexp(std::frexp(a, &e), 53));
            lowest = std::min(lowest, e - 53 + std::countr_zero(m));
            most = std::max(most, a);
        }
        const double l = std::ldexp(1.0, std::min(lowest, f32 ? 126 : 1022));
        return most > 0 && l > z.step && most < std::ldexp(1.0, lowest) * (f32 ? 0x1p24 : 0x1p53) ? l : 0.0;
    };
    const auto not_finite = [&](T v) { return z.is_missing(v) || !std::isfinite(v); };
    const auto far_usually = [&](T v) { return z.far_in_movement(v); };
    const bool all_on_lattice = lattice_of(not_finite) > 0;
    const auto is_far = [&](T v) { return all_on_lattice ? not_finite(v) : far_usually(v); };
    std::size_t changes = 0;
    std::optional<word<T>> before;
    double most = 0;
    for (const T v : x) {
        if (!is_far(v)) {
            most = std::max(most, std::fabs(static_cast<double>(v)));
            continue;
        }
        changes += before && *before != bits_of(v);
        before = bits_of(v);
    }
    if (changes > (n - 1) / 32) return x;
    double step = all_on_lattice ? lattice_of(not_finite) : lattice_of(far_usually);
    int rule = step > 0 ? 1 : 3;
    if (rule == 3 && most < z.step * (f32 ? 0x1p14 : 0x1p30)) rule = 2;
    if (rule == 3) {
        const double r = most + 2 * z.eb;
        if (!(r < static_cast<double>(std::numeric_limits<T>::max()) / 2)) return x;
        int k = 0;
        std::frexp(r, &k);
        const double ulp = std::ldexp(1.0, k - (f32 ? 24 : 53));
        step = std::max(z.power, std::floor(2 * z.eb * (1 - 0x1p-20) / ulp) * ulp);
    }
    std::vector<T> y = x;
    for (T& v : y) {
        if (is_far(v)) continue;
        if (rule == 2) v = static_cast<T>(static_cast<double>(z.quantum(v)) * z.step);
        else if (std::fabs(v) < std::numeric_limits<T>::min()) v = 0;
        else
            v = static_cast<T>(static_cast<double>(f32 ? law<T>::row_2(v, step) : law<T>::row_3(v, step)) *
                               step);
    }
    return y;
}

}  // namespace szp_reference
