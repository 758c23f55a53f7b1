// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The element types of the matrix: their data, and what a reduction of them must give, computed by plain
// loops in long double or with exact integers.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/fields.hpp"

#include <ccoll/policy/element.hpp>
#include <ccoll/policy/reduce_op.hpp>

namespace matrix {

/// A struct of 12 bytes that no arithmetic type resembles.
struct point {
    float x, y, z;
    friend constexpr point operator+(point a, point b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
};
using location = ccoll::located<float>;

// ---- operations of a user ----

/// The largest magnitude. It selects one of its operands, so lossy codecs may be used.
struct largest_magnitude : ccoll::op_tag<false> {
    static constexpr const char* name = "largest_magnitude";
    static constexpr ccoll::error_growth growth = ccoll::error_growth::selects;
    template <class T>
        requires(ccoll::native_float<T> || ccoll::small_float<T>)
    static T apply(T a, T b) noexcept
    {
        using real = std::conditional_t<ccoll::native_float<T>, T, float>;
        return static_cast<T>(std::fmax(std::fabs(static_cast<real>(a)), std::fabs(static_cast<real>(b))));
    }
};
/// A sum under another name. Homomorphic codecs add frames in place of it.
struct plus : ccoll::op_tag<true> {
    static constexpr const char* name = "plus";
    template <ccoll::native_float T>
    static T apply(T a, T b) noexcept
    {
        return a + b;
    }
};
/// Equal bits: commutative, associative, and not idempotent.
struct equal_bits : ccoll::op_tag<false> {
    static constexpr const char* name = "equal_bits";
    template <std::integral T>
    static T apply(T a, T b) noexcept
    {
        return static_cast<T>(~(a ^ b));
    }
};
/// The corner of the smallest box from the origin that holds both.
struct box : ccoll::op_tag<false> {
    static constexpr const char* name = "box";
    static point apply(point a, point b) noexcept
    {
        return {std::max(a.x, b.x), std::max(a.y, b.y), std::max(a.z, b.z)};
    }
};

// ---- element types ----

/// Properties of the arithmetic of one component.
template <class Real>
struct arithmetic {
    static constexpr long double unit = std::numeric_limits<Real>::epsilon() / 2;
    static constexpr long double most = std::numeric_limits<Real>::max(),
                                 least_normal = std::numeric_limits<Real>::min(),
                                 tiny = std::numeric_limits<Real>::denorm_min();
};
template <>
struct arithmetic<ccoll::half> {
    static constexpr long double unit = 0x1p-11L, most = 65504, least_normal = 0x1p-14L, tiny = 0x1p-24L;
};

/// `Components` numbers of type `Real`; 0 for whatever is compared bit for bit.
template <class Real, int Components>
struct made_of {
    using real = Real;
    static constexpr int components = Components;
};
template <class T>
struct kind;
template <> struct kind<float> : made_of<float, 1> {
    static constexpr const char* name = "float";
};
template <> struct kind<double> : made_of<double, 1> {
    static constexpr const char* name = "double";
};
template <> struct kind<ccoll::half> : made_of<ccoll::half, 1> {
    static constexpr const char* name = "half";
};
template <> struct kind<std::complex<float>> : made_of<float, 2> {
    static constexpr const char* name = "complex";
};
template <> struct kind<point> : made_of<float, 3> {
    static constexpr const char* name = "point";
};
template <> struct kind<location> : made_of<float, 0> {
    static constexpr const char* name = "location";
};
template <> struct kind<std::int32_t> : made_of<float, 0> {
    static constexpr const char* name = "int32";
};
template <> struct kind<std::uint8_t> : made_of<float, 0> {
    static constexpr const char* name = "uint8";
};

template <class T>
inline constexpr bool is_number = kind<T>::components > 0;

template <class Real>
long double wide(Real x)
{
    if constexpr (ccoll::small_float<Real>) return static_cast<long double>(static_cast<float>(x));
    else return static_cast<long double>(x);
}

template <class T>
typename kind<T>::real component(const T& x, int which)
{
    typename kind<T>::real part{};
    std::memcpy(&part, reinterpret_cast<const std::byte*>(&x) + static_cast<std::size_t>(which) * sizeof part,
                sizeof part);
    return part;
}

/// Moves bits and never values, because a signalling NaN must stay one.
template <class T>
bool same_bits(const T& a, const T& b)
{
    return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
bool is_finite(const T& x)
{
    for (int k = 0; k < kind<T>::components; ++k)
        if (!std::isfinite(wide(component(x, k)))) return false;
    return true;
}

// ---- data ----

inline constexpr const char* ordinary_fields[] = {"smooth", "random",   "quiet",     "ramp",
                                                  "offset", "constant", "half_steps"};
inline constexpr const char* special_fields[] = {"denormal", "wild", "largest", "non_finite", "bit_patterns"};

template <class T>
std::vector<T> floats_of(const std::string& field, std::size_t n, unsigned seed)
{
    using namespace fields;
    if (field == "random") return fields::random<T>(n, seed);
    if (field == "quiet") return quiet<T>(n, seed);
    if (field == "ramp") return ramp<T>(n, seed);
    if (field == "offset") return offset<T>(n, seed);
    if (field == "constant") return constant<T>(n, seed);
    if (field == "half_steps") return half_steps<T>(n, seed);
    if (field == "denormal") return denormal<T>(n, seed);
    if (field == "wild") return wild<T>(n, seed);
    if (field == "largest") return largest<T>(n, seed);
    if (field == "non_finite") return non_finite<T>(n, seed);
    if (field == "bit_patterns") return bit_patterns<T>(n, seed);
    return smooth<T>(n, seed);
}

template <class T>
std::vector<T> small_floats_of(const std::string& field, std::size_t n, unsigned seed)
{
    fields::generator random(seed);
    std::vector<T> x(n);
    constexpr std::uint16_t infinity = ccoll::exponent_bits_of<T> == 5 ? 0x7c00 : 0x7f80;
    constexpr unsigned mantissa = ccoll::exponent_bits_of<T> == 5 ? 0x3ff : 0x7f;
    const auto bits = [&](unsigned mask) {
        return static_cast<std::uint16_t>(static_cast<unsigned>(random.bits()) & mask);
    };
    if (field == "denormal" || field == "wild" || field == "largest" || field == "bit_patterns") {
        for (std::size_t i = 0; i < n; ++i) {
            std::uint16_t b = field == "denormal" ? bits(0x8000 | mantissa)
                              : field == "largest"
                                  ? static_cast<std::uint16_t>((infinity - 1) | (i % 2 << 15))
                                  : bits(0xffff);
            if (field == "wild" && (b & infinity) == infinity) b = static_cast<std::uint16_t>(b & 0x80ff);
            x[i] = T::of_bits(b);
        }
        return x;
    }
    const std::vector<float> from = floats_of<float>(field == "non_finite" ? "smooth" : field, n, seed);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = T(field == "ramp"     ? std::fmod(from[i], 200.0f)
                 : field == "offset" ? from[i] - 101325.0f + 1000
                                     : from[i]);
    if (field == "non_finite")
        for (std::size_t i = random.below(20); i < n; i += 1 + random.below(400))
            x[i] = T::of_bits(static_cast<std::uint16_t>(infinity | bits(0x8000) |
                                                         (random.below(3) == 0 ? 0 : bits(mantissa))));
    return x;
}

/// What rank `seed` contributes. It depends on the seed alone, and a longer vector begins with the shorter
/// one.
template <class T>
std::vector<T> data_of(const std::string& field, std::size_t n, unsigned seed)
{
    if constexpr (ccoll::native_float<T>) {
        return floats_of<T>(field, n, seed);
    } else if constexpr (ccoll::small_float<T>) {
        return small_floats_of<T>(field, n, seed);
    } else if constexpr (is_number<T>) {
        const std::size_t parts = static_cast<std::size_t>(kind<T>::components);
        const std::vector<float> from = floats_of<float>(field, n * parts, seed);
        std::vector<T> x(n);
        if (n > 0) std::memcpy(static_cast<void*>(x.data()), from.data(), n * sizeof(T));
        return x;
    } else if constexpr (std::is_same_v<T, location>) {
        const std::vector<float> from = floats_of<float>(field, n, seed);
        std::vector<T> x(n);
        for (std::size_t i = 0; i < n; ++i) {
            std::memcpy(&x[i].value, &from[i], sizeof(float));
            x[i].index = static_cast<int>((seed * 7 + i) % 23);
        }
        return x;
    } else {
        fields::generator random(seed);
        std::vector<T> x(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t any = random.bits();
            if (field == "constant") x[i] = static_cast<T>(seed);
            else if (field == "ramp") x[i] = static_cast<T>(i + seed);
            else if (field == "quiet") x[i] = static_cast<T>(any % 50 == 0 ? any >> 32 : 0);
            else if (field == "smooth")
                x[i] = static_cast<T>(
                    static_cast<long long>(100 * std::sin(0.01 * static_cast<double>(i + seed))));
            else x[i] = static_cast<T>(any);
        }
        return x;
    }
}

// ---- reductions ----

enum class operation {
    none,
    sum,
    average,
    min,
    max,
    prod,
    bit_and,
    bit_or,
    bit_xor,
    truth_and,
    truth_or,
    truth_xor,
    min_loc,
    max_loc,
    largest_magnitude,
    equal_bits,
    box
};

template <class Op>
inline constexpr operation operation_of = operation::none;
template <> inline constexpr operation operation_of<ccoll::policies::Op::Sum> = operation::sum;
template <> inline constexpr operation operation_of<ccoll::policies::Op::Average> = operation::average;
template <> inline constexpr operation operation_of<ccoll::policies::Op::Min> = operation::min;
template <> inline constexpr operation operation_of<ccoll::policies::Op::Max> = operation::max;
template <> inline constexpr operation operation_of<ccoll::policies::Op::Prod> = operation::prod;
template <> inline constexpr operation operation_of<ccoll::policies::Op::BitAnd> = operation::bit_and;
template <> inline constexpr operation operation_of<ccoll::policies::Op::BitOr> = operation::bit_or;
template <> inline constexpr operation operation_of<ccoll::policies::Op::BitXor> = operation::bit_xor;
template <> inline constexpr operation operation_of<ccoll::policies::Op::And> = operation::truth_and;
template <> inline constexpr operation operation_of<ccoll::policies::Op::Or> = operation::truth_or;
template <> inline constexpr operation operation_of<ccoll::policies::Op::Xor> = operation::truth_xor;
template <> inline constexpr operation operation_of<ccoll::policies::Op::MinLoc> = operation::min_loc;
template <> inline constexpr operation operation_of<ccoll::policies::Op::MaxLoc> = operation::max_loc;
template <> inline constexpr operation operation_of<largest_magnitude> = operation::largest_magnitude;
template <> inline constexpr operation operation_of<plus> = operation::sum;
template <> inline constexpr operation operation_of<equal_bits> = operation::equal_bits;
template <> inline constexpr operation operation_of<box> = operation::box;

/// One component of a result: the exact value, and what a tolerance is made of.
struct exact_number {
    long double value = 0;       ///< NaN and Inf count as exact values
    long double magnitudes = 0;  ///< the sum of those of the finite operands
    bool any = false;  ///< nothing is promised, because finite operands may overflow or underflow on the way
};

/// What the reduction over all ranks must give for one element.
template <class T>
struct exact_result {
    exact_number numbers[kind<T>::components > 0 ? kind<T>::components : 1];
    T bits{};  ///< for elements that are not numbers
};

template <class T>
T fold_integers(operation op, const std::vector<T>& all)
{
    using word = std::make_unsigned_t<T>;
    std::uint64_t x = static_cast<word>(all[0]);
    T low = all[0], high = all[0];
    std::size_t zeros = 0;
    for (const T v : all) {
        low = std::min(low, v);
        high = std::max(high, v);
        zeros += v == 0;
    }
    for (std::size_t i = 1; i < all.size(); ++i) {
        const std::uint64_t y = static_cast<word>(all[i]);
        switch (op) {
        case operation::sum: x += y; break;
        case operation::prod: x *= y; break;
        case operation::bit_and: x &= y; break;
        case operation::bit_or: x |= y; break;
        case operation::bit_xor: x ^= y; break;
        case operation::equal_bits: x = ~(x ^ y); break;
        default: break;
        }
    }
    switch (op) {
    case operation::min: return low;
    case operation::max: return high;
    case operation::truth_and: return static_cast<T>(zeros == 0);
    case operation::truth_or: return static_cast<T>(zeros < all.size());
    case operation::truth_xor: return static_cast<T>((all.size() - zeros) % 2);
    default: return static_cast<T>(x);
    }
}

inline location fold_locations(operation op, const std::vector<location>& all)
{
    bool nan = false;
    for (const location& each : all) nan = nan || std::isnan(each.value);
    location best{};
    bool first = true;
    for (const location& each : all) {
        if (nan && !std::isnan(each.value)) continue;
        const bool better =
            !nan && (op == operation::min_loc ? each.value < best.value : each.value > best.value);
        const bool as_good = nan || each.value == best.value;
        if (first || better || (as_good && each.index < best.index)) best = each;
        first = false;
    }
    return best;
}

template <class T>
exact_number fold_numbers(operation op, const std::vector<T>& all, int which)
{
    using limits = arithmetic<typename kind<T>::real>;
    exact_number e;
    long double sum = 0, product = 1, above_one = 1, below_one = 1,
                low = std::numeric_limits<long double>::infinity(), high = -low, magnitude = -1;
    bool nan = false, finite = true;
    for (const T& operand : all) {
        const long double x = wide(component(operand, which));
        nan = nan || std::isnan(x);
        finite = finite && std::isfinite(x);
        sum += x;
        product *= x;
        above_one *= std::max(1.0L, std::fabs(x));
        below_one *= std::min(1.0L, std::fabs(x));
        low = std::min(low, x);
        high = std::max(high, x);
        if (!std::isnan(x)) magnitude = std::max(magnitude, std::fabs(x));
        if (std::isfinite(x)) e.magnitudes += std::fabs(x);
    }
    const long double not_a_number = std::numeric_limits<long double>::quiet_NaN();
    switch (op) {
    case operation::min: e.value = nan ? not_a_number : low; break;
    case operation::max: e.value = nan ? not_a_number : high; break;
    case operation::box:
        e.value = high;
        e.any = nan;
        break;
    case operation::largest_magnitude:
        e.value = magnitude;
        e.any = nan;
        break;  // std::fmax drops a NaN, unless it is a signalling one
    case operation::prod:
        e.value = product;
        e.any = !finite || above_one > limits::most || (product != 0 && below_one < limits::least_normal);
        break;
    default: e.value = op == operation::average ? sum / static_cast<long double>(all.size()) : sum;
    }
    return e;
}

template <class T>
exact_result<T> fold(operation op, const std::vector<T>& all)
{
    exact_result<T> r;
    if constexpr (std::is_integral_v<T>) r.bits = fold_integers(op, all);
    else if constexpr (std::is_same_v<T, location>) r.bits = fold_locations(op, all);
    else {
        for (int k = 0; k < kind<T>::components; ++k) r.numbers[k] = fold_numbers(op, all, k);
        if constexpr (std::is_same_v<T, std::complex<float>>)
            if (op == operation::prod) {  // norms multiply, so they show overflow and the size of an error
                std::complex<long double> product = 1;
                long double above_one = 1, below_one = 1;
                bool finite = true;
                for (const T& x : all) {
                    const std::complex<long double> z(x.real(), x.imag());
                    const long double norm = std::abs(z);
                    finite = finite && std::isfinite(norm);
                    product *= z;
                    above_one *= std::max(1.0L, norm);
                    below_one *= std::min(1.0L, norm);
                }
                const bool any =
                    !finite || above_one > 0.5L * arithmetic<float>::most || below_one < 0x1p-90L;
                r.numbers[0] = {product.real(), std::abs(product), any};
                r.numbers[1] = {product.imag(), std::abs(product), any};
            }
    }
    return r;
}

/// How far a sum, a product or an average of p operands may be off because T rounds: docs/error_bounds.md,
/// section Rounding, with the longest possible chain, p - 1. The factor 1.01 is for the roundings of this
/// function and of fold().
template <class T>
long double rounding_of(operation op, const exact_number& e, int p, double worst)
{
    using limits = arithmetic<typename kind<T>::real>;
    const auto g = [](long double steps) {
        return 1.01L * steps * limits::unit / (1 - steps * limits::unit);
    };
    const long double chain = p - 1;
    switch (op) {
    case operation::sum: return g(chain) * (e.magnitudes + worst);
    case operation::average: return g(chain + 1) * (e.magnitudes + worst * p) / p + limits::tiny;
    // Of complex numbers each product is off by sqrt(2) * 2 u of its norm (Higham, lemma 3.5).
    case operation::prod:
        if (kind<T>::components == 2) return g(3 * chain) * e.magnitudes;
        return g(chain) * std::fabs(e.value);
    default: return 0;
    }
}

/// Is `found` within `worst` of what it must be?
template <class T>
bool holds(operation op, const T& found, const exact_result<T>& exact, int p, double worst)
{
    if constexpr (!is_number<T>) {
        if constexpr (std::is_same_v<T, location>)
            if (std::isnan(exact.bits.value))
                return std::isnan(found.value) && found.index == exact.bits.index;
        return found == exact.bits;
    } else {
        using limits = arithmetic<typename kind<T>::real>;
        for (int k = 0; k < kind<T>::components; ++k) {
            const exact_number& e = exact.numbers[k];
            const long double x = wide(component(found, k));
            const bool adds = op == operation::sum || op == operation::average;
            const long double slack = rounding_of<T>(op, e, p, worst);
            const long double total = e.magnitudes +
                                      static_cast<long double>(worst) * (op == operation::average ? p : 1) +
                                      (op == operation::average ? slack * p : slack);
            if (e.any || (adds && total > limits::most)) continue;
            if (std::isnan(e.value)) {
                if (!std::isnan(x)) return false;
            } else if (std::isinf(e.value)) {
                if (x != e.value) return false;
            } else if (!(std::fabs(x - e.value) <= static_cast<long double>(worst) + slack)) {
                return false;
            }
        }
        return true;
    }
}

template <class T>
std::string shown(const T& x)
{
    std::string s;
    char number[64];
    if constexpr (is_number<T>) {
        for (int k = 0; k < kind<T>::components; ++k) {
            std::snprintf(number, sizeof number, "%s%.17Lg", k > 0 ? ", " : "", wide(component(x, k)));
            s += number;
        }
    } else if constexpr (std::is_same_v<T, location>) {
        std::snprintf(number, sizeof number, "%.9g at %d", static_cast<double>(x.value), x.index);
        s = number;
    } else {
        s = std::to_string(x);
    }
    return s;
}
template <class T>
std::string shown(const exact_result<T>& e)
{
    if constexpr (!is_number<T>) return shown(e.bits);
    else {
        std::string s;
        char number[64];
        for (const exact_number& each : e.numbers) {
            std::snprintf(number, sizeof number, "%s%.17Lg", s.empty() ? "" : ", ", each.value);
            s += number;
        }
        return s;
    }
}

}  // namespace matrix
