// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fields.hpp - the data that all tests give to codecs and collectives, for f32 and f64. It depends only on
// the seed.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace fields {

/// splitmix64. It is used because the distributions of <random> differ between standard libraries.
class generator {
public:
    explicit generator(unsigned seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
    std::uint64_t bits()
    {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(bits() % n); }
    /// In [-1, 1), exact in float and double.
    double unit() { return static_cast<double>(bits() >> 41) * 0x1p-22 - 1; }

private:
    std::uint64_t state_;
};

template <class T>
using word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Copies the bits, so that a signalling NaN stays one.
template <class T>
void set_bits(T& value, word<T> bits)
{
    std::memcpy(&value, &bits, sizeof value);
}

/// Data like that of simulations, in which neighbours differ little. Codecs are made for it.
template <class T>
std::vector<T> smooth(std::size_t n, unsigned seed = 1)
{
    generator random(seed);
    const double a = random.unit(), b = random.unit(), c = random.unit();
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double t = static_cast<double>(i);
        x[i] = static_cast<T>(std::sin(0.003 * t + 3 * a) + 0.3 * std::sin(0.017 * t + 3 * b) +
                              0.05 * std::sin(0.11 * t + 3 * c));
    }
    return x;
}

/// Mostly zeros of either sign, then a wave: has constant blocks, and the change from them to others.
template <class T>
std::vector<T> quiet(std::size_t n, unsigned seed = 1)
{
    std::vector<T> x = smooth<T>(n, seed);
    for (std::size_t i = 0; i < n; ++i)
        if (i % 1000 < 900) x[i] = i % 3 == 0 ? -T(0) : T(0);
    return x;
}

/// Uniform in [-1, 1): neighbours do not help, and the whole range is used.
template <class T>
std::vector<T> random(std::size_t n, unsigned seed = 1)
{
    generator random(seed);
    std::vector<T> x(n);
    for (T& v : x) v = static_cast<T>(random.unit());
    return x;
}

/// The same value everywhere, not a power of two: gives the shortest possible stream.
template <class T>
std::vector<T> constant(std::size_t n, unsigned seed = 1)
{
    return std::vector<T>(n, static_cast<T>(generator(seed).unit() + 2.1));
}

/// 1..100000, again and again: exact integers, large against a bound that may lie below their ulp.
template <class T>
std::vector<T> ramp(std::size_t n, unsigned seed = 1)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>((i + seed - 1) % 100000 + 1);
    return x;
}

/// Small changes on a large offset (pressure, temperature), so that the bound is near the rounding of T.
template <class T>
std::vector<T> offset(std::size_t n, unsigned seed = 1)
{
    std::vector<T> x = smooth<T>(n, seed);
    for (T& v : x) v = static_cast<T>(static_cast<double>(v) + 101325.0);
    return x;
}

/// Only denormals and zeros, of either sign. Processors may be slow on them, or set to flush them.
template <class T>
std::vector<T> denormal(std::size_t n, unsigned seed = 1)
{
    generator random(seed);
    const auto least_normal = std::bit_cast<word<T>>(std::numeric_limits<T>::min());
    const word<T> sign = ~(~word<T>{0} >> 1);
    std::vector<T> x(n);
    for (T& v : x) set_bits(v, static_cast<word<T>>(random.bits()) & ((least_normal - 1) | sign));
    return x;
}

/// All orders of magnitude of normal numbers next to each other: one block holds 1e-38 and 1e38.
template <class T>
std::vector<T> wild(std::size_t n, unsigned seed = 1)
{
    generator random(seed);
    const int lowest = std::numeric_limits<T>::min_exponent - 1,
              count = std::numeric_limits<T>::max_exponent - lowest;
    std::vector<T> x(n);
    for (T& v : x) {
        const int exponent = lowest + static_cast<int>(random.below(static_cast<std::size_t>(count)));
        v = static_cast<T>(std::ldexp(random.unit() < 0 ? -1.25 : 1.75, exponent));
    }
    return x;
}

/// NaN (quiet and signalling, with payloads) and both infinities among smooth values, in some blocks and not
/// in others.
template <class T>
std::vector<T> non_finite(std::size_t n, unsigned seed = 1)
{
    generator random(seed);
    const auto infinity = std::bit_cast<word<T>>(std::numeric_limits<T>::infinity());
    const word<T> sign = ~(~word<T>{0} >> 1), payload = 0x1234;
    std::vector<T> x = smooth<T>(n, seed);
    for (std::size_t i = random.below(20); i < n; i += 1 + random.below(400)) {
        const auto negative = random.bits() % 2 == 0 ? sign : word<T>{0};
        switch (random.below(3)) {
        case 0: set_bits(x[i], infinity | negative); break;
        case 1:
            set_bits(x[i], infinity | negative | (payload + static_cast<word<T>>(random.below(1000) + 1)));
            break;  // signalling
        default:
            set_bits(x[i], std::bit_cast<word<T>>(std::numeric_limits<T>::quiet_NaN()) | negative | payload);
        }
    }
    return x;
}

/// Within one ulp of the middle between two numbers of fewer bytes, so that a wrong rounding shows.
template <class T>
std::vector<T> half_steps(std::size_t n, unsigned seed = 1)
{
    generator random(seed);
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto dropped = static_cast<int>(8 * (1 + random.below(sizeof(T) - 2)));
        const auto top = std::bit_cast<word<T>>(static_cast<T>(random.unit())) >> dropped << dropped;
        set_bits(x[i], static_cast<word<T>>(top + (word<T>{1} << (dropped - 1)) - 1 +
                                            static_cast<word<T>>(random.below(3))));
        if (i % 64 < 2) x[i] = i % 2 == 0 ? T(2) : T(-2);  // their middle is 0
    }
    return x;
}

/// The largest numbers in alternation, then all of one sign: differences overflow, then sums do.
template <class T>
std::vector<T> largest(std::size_t n, unsigned seed = 1)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = std::numeric_limits<T>::max();
        if ((i + seed) % 600 < 300 && i % 2 == 0) x[i] = -x[i];
        if (i % 7 == 0) x[i] *= T(0.75);
    }
    return x;
}

/// Random bit patterns, for cases that no other field covers.
template <class T>
std::vector<T> bit_patterns(std::size_t n, unsigned seed = 1)
{
    generator random(seed);
    std::vector<T> x(n);
    for (T& v : x) set_bits(v, static_cast<word<T>>(random.bits()));
    return x;
}

template <class T>
struct named {
    const char* name;
    std::vector<T> values;
};

/// Finite, and so are their sums over many ranks.
template <class T>
std::vector<named<T>> ordinary(std::size_t n, unsigned seed = 1)
{
    return {{"smooth", smooth<T>(n, seed)},     {"quiet", quiet<T>(n, seed)},
            {"random", random<T>(n, seed)},     {"constant", constant<T>(n, seed)},
            {"ramp", ramp<T>(n, seed)},         {"offset", offset<T>(n, seed)},
            {"denormal", denormal<T>(n, seed)}, {"half_steps", half_steps<T>(n, seed)}};
}

template <class T>
std::vector<named<T>> all(std::size_t n, unsigned seed = 1)
{
    std::vector<named<T>> list = ordinary<T>(n, seed);
    list.push_back({"wild", wild<T>(n, seed)});
    list.push_back({"non_finite", non_finite<T>(n, seed)});
    list.push_back({"largest", largest<T>(n, seed)});
    list.push_back({"bit_patterns", bit_patterns<T>(n, seed)});
    return list;
}

/// Largest minus smallest finite value, or 1 if there is no difference. For bounds relative to the range.
template <class T>
double range(const std::vector<T>& x)
{
    double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
    for (const T v : x)
        if (std::isfinite(v)) {
            lowest = std::fmin(lowest, static_cast<double>(v));
            highest = std::fmax(highest, static_cast<double>(v));
        }
    return highest > lowest ? highest - lowest : 1;
}

}  // namespace fields

// Unit tests are not optimised, and spend much of their time here: these are compiled once, optimised
// (support.cpp).
#define CCOLL_TEST_FIELDS(storage, T)                                                          \
    storage template std::vector<T> fields::smooth<T>(std::size_t, unsigned);                  \
    storage template std::vector<T> fields::quiet<T>(std::size_t, unsigned);                   \
    storage template std::vector<T> fields::random<T>(std::size_t, unsigned);                  \
    storage template std::vector<T> fields::constant<T>(std::size_t, unsigned);                \
    storage template std::vector<T> fields::ramp<T>(std::size_t, unsigned);                    \
    storage template std::vector<T> fields::offset<T>(std::size_t, unsigned);                  \
    storage template std::vector<T> fields::denormal<T>(std::size_t, unsigned);                \
    storage template std::vector<T> fields::wild<T>(std::size_t, unsigned);                    \
    storage template std::vector<T> fields::non_finite<T>(std::size_t, unsigned);              \
    storage template std::vector<T> fields::half_steps<T>(std::size_t, unsigned);              \
    storage template std::vector<T> fields::largest<T>(std::size_t, unsigned);                 \
    storage template std::vector<T> fields::bit_patterns<T>(std::size_t, unsigned);            \
    storage template std::vector<fields::named<T>> fields::ordinary<T>(std::size_t, unsigned); \
    storage template std::vector<fields::named<T>> fields::all<T>(std::size_t, unsigned);      \
    storage template double fields::range<T>(const std::vector<T>&);                           \
    storage template class std::vector<T>;                                                     \
    storage template class std::vector<std::vector<T>>
#if defined(CCOLL_TEST_SUPPORT)
CCOLL_TEST_FIELDS(extern, float);
CCOLL_TEST_FIELDS(extern, double);
#endif
