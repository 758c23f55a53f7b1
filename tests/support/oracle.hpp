// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// oracle.hpp - the result that a collective must give, computed serially in long double, and how far a real
// result may be from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace oracle {

enum class op { sum, average, min, max, prod };

/// An element of the result: its exact value, and how much rounding in T may add to the promised error. For
/// NaN and Inf, the value must be exact.
struct wanted {
    long double value = 0;
    long double rounding = 0;
    bool any = false;  ///< finite operands may overflow in an intermediate result, so any value is right
};

/// The reduction of one element over all ranks.
///
/// Rounding of a sum of p numbers of T in any order: (p - 1) u sum|x| / (1 - p u) (Higham, Accuracy and
/// Stability of Numerical Algorithms, section 4.2). The numbers that are really added may be larger by the
/// errors of encoding, which are `worst` in total for a sum. The factor 1.01 covers 1 - p u and the rounding
/// in the oracle itself, which is 2048 times finer for f64. A product has as many roundings, each relative.
/// The division of an average rounds once more.
template <class T>
wanted reduce(op what, std::span<const T> operands, double worst)
{
    const auto p = static_cast<long double>(operands.size());
    const long double unit = static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2;
    const long double tiny = std::numeric_limits<T>::denorm_min(), most = std::numeric_limits<T>::max();
    long double sum = 0, magnitudes = 0, product = 1, above_one = 1, below_one = 1,
                low = std::numeric_limits<long double>::infinity(), high = -low;
    bool nan = false, infinite = false;
    for (const T x : operands) {
        const auto value = static_cast<long double>(x);
        nan = nan || std::isnan(x);
        infinite = infinite || std::isinf(x);
        sum += value;
        product *= value;
        above_one *= std::max(1.0L, std::fabs(value));
        below_one *= std::min(1.0L, std::fabs(value));
        magnitudes += std::fabs(value);
        low = std::min(low, value);
        high = std::max(high, value);
    }
    const bool selects = what == op::min || what == op::max;
    if (selects)
        return {nan ? std::numeric_limits<long double>::quiet_NaN() : what == op::min ? low : high, 0};
    // Some order of the factors may overflow, or lose digits below the smallest normal number.
    if (what == op::prod)
        return {product, 1.01L * (p - 1) * unit * std::fabs(product),
                nan || infinite || above_one > most ||
                    (product != 0 && below_one < std::numeric_limits<T>::min())};
    const long double scale = what == op::average ? p : 1;
    if (nan || infinite) {
        long double finite = 0;
        for (const T x : operands)
            if (std::isfinite(x)) finite += std::fabs(static_cast<long double>(x));
        return {sum, 0, finite + worst * scale > most};
    }
    const long double total = magnitudes + worst * scale;
    const long double division = what == op::average ? 1.01L * unit * total / p + tiny : 0;
    return {sum / scale, 1.01L * (p - 1) * unit * total / scale + division, total > most};
}

/// The same for data that only move.
template <class T>
wanted moved(T value)
{
    return {static_cast<long double>(value), 0};
}

/// Is `found` the wanted value, within `worst`?
template <class T>
bool holds(T found, const wanted& w, double worst)
{
    if (w.any) return true;
    if (std::isnan(w.value)) return std::isnan(found);
    if (std::isinf(w.value)) return static_cast<long double>(found) == w.value;
    if (!std::isfinite(found)) return false;
    return std::fabs(static_cast<long double>(found) - w.value) <=
           static_cast<long double>(worst) + w.rounding;
}

template <class T>
bool same_bits(T a, T b)
{
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// How many elements of a result are not what they must be, and how many are the declared missing value, as
/// they must.
struct judged {
    std::size_t wrong = 0, missing = 0;
};

/// Compares `got` with elements `at`, `at` + 1, ... of the sum over the first `ranks` inputs, divided by
/// `divisor`. It may be off by `worst`, and by `roundings` of T. If an operand is `*missing`, so must be the
/// result.
template <class T>
judged judge_sums(const std::vector<std::vector<T>>& inputs, std::size_t ranks, const std::vector<T>& got,
                  std::size_t at, double worst, double divisor, std::size_t roundings, const T* missing)
{
    judged told;
    const long double unit = static_cast<long double>(roundings) *
                             static_cast<long double>(std::numeric_limits<T>::epsilon()) / divisor;
    for (std::size_t i = 0; i < got.size(); ++i) {
        long double sum = 0, magnitude = 0;
        bool is_missing = false;
        for (std::size_t r = 0; r < ranks; ++r) {
            const T x = inputs[r][at + i];
            is_missing = is_missing || (missing != nullptr && std::memcmp(&x, missing, sizeof x) == 0);
            sum += x;
            magnitude += std::fabs(static_cast<long double>(x));
        }
        const bool right = is_missing ? std::memcmp(&got[i], missing, sizeof(T)) == 0
                                      : std::fabs(static_cast<long double>(got[i]) - sum / divisor) <=
                                            worst + unit * magnitude;
        told.wrong += !right;
        told.missing += is_missing && right;
    }
    return told;
}

/// How many elements of `got` are not the reduction of the first `ranks` inputs.
template <class T>
std::size_t wrong_reductions(op what, const std::vector<std::vector<T>>& inputs, std::size_t ranks,
                             const std::vector<T>& got, double worst)
{
    std::size_t wrong = 0;
    std::vector<T> operands(ranks);
    for (std::size_t i = 0; i < got.size(); ++i) {
        for (std::size_t r = 0; r < ranks; ++r) operands[r] = inputs[r][i];
        wrong += !holds(got[i], reduce<T>(what, operands, worst), worst);
    }
    return wrong;
}

/// The largest difference between `got` and the reduction of the inputs, and the largest rounding that may be
/// in it.
struct largest {
    double error = 0, rounding = 0;
};
template <class T>
largest largest_error(op what, const std::vector<std::vector<T>>& inputs, const std::vector<T>& got,
                      double worst)
{
    largest found;
    std::vector<T> operands(inputs.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        for (std::size_t r = 0; r < inputs.size(); ++r) operands[r] = inputs[r][i];
        const wanted want = reduce<T>(what, operands, worst);
        found.error = std::max(found.error,
                               static_cast<double>(std::fabs(static_cast<long double>(got[i]) - want.value)));
        found.rounding = std::max(found.rounding, static_cast<double>(want.rounding));
    }
    return found;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// FNV-1a over the bytes of the values.
template <class T>
std::uint64_t hash(std::span<const T> values)
{
    std::uint64_t h = 14695981039346656037u;
    for (const std::byte b : std::as_bytes(values)) h = (h ^ static_cast<std::uint64_t>(b)) * 1099511628211u;
    return h;
}
template <class T>
std::uint64_t hash(const std::vector<T>& values)
{
    return hash(std::span<const T>(values));
}

}  // namespace oracle

// Compiled once, as fields are.
#define CCOLL_TEST_ORACLE(storage, T)                                                                        \
    storage template oracle::wanted oracle::reduce<T>(oracle::op, std::span<const T>, double);               \
    storage template bool oracle::holds<T>(T, const oracle::wanted&, double);                                \
    storage template oracle::judged oracle::judge_sums<T>(const std::vector<std::vector<T>>&, std::size_t,   \
                                                          const std::vector<T>&, std::size_t, double,        \
                                                          double, std::size_t, const T*);                    \
    storage template std::size_t oracle::wrong_reductions<T>(oracle::op, const std::vector<std::vector<T>>&, \
                                                             std::size_t, const std::vector<T>&, double);    \
    storage template oracle::largest oracle::largest_error<T>(                                               \
        oracle::op, const std::vector<std::vector<T>>&, const std::vector<T>&, double);                      \
    storage template std::uint64_t oracle::hash<T>(std::span<const T>)
#if defined(CCOLL_TEST_SUPPORT)
CCOLL_TEST_ORACLE(extern, float);
CCOLL_TEST_ORACLE(extern, double);
#endif
