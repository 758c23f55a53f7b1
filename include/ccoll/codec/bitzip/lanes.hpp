// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitzip/lanes.hpp - floor 2. Linear prediction along several parts of a chunk at a time: the front
// half of ByteZip and BitZip.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/policy/element.hpp>

namespace ccoll::inline CCOLL_ABI::detail::bitzip {

/// A prediction waits for the values before it, about 40 cycles each time. A chunk therefore has lanes: parts
/// of consecutive values that are predicted on their own, each from its beginning. The loops below take one
/// value of every lane at a time.
inline constexpr std::size_t most_lanes = 8;
constexpr std::size_t lanes_of(std::size_t n) noexcept { return n < 512 ? 1 : most_lanes; }

/// Where the lanes of n values begin. The first n % lanes lanes have one value more than the others.
struct lane_ranges {
    /// The number of lanes, the length of most, and how many have one value more.
    std::size_t lanes, shorter, longer;

    explicit constexpr lane_ranges(std::size_t n) noexcept
        : lanes(lanes_of(n)), shorter(n / lanes), longer(n % lanes)
    {}
    constexpr std::size_t start(std::size_t lane) const noexcept
    {
        return lane * shorter + std::min(lane, longer);
    }
    constexpr std::size_t length(std::size_t lane) const noexcept
    {
        return shorter + (lane < longer ? 1 : 0);
    }
    constexpr std::size_t steps() const noexcept { return shorter + (longer > 0 ? 1 : 0); }
    constexpr std::size_t active(std::size_t step) const noexcept { return step < shorter ? lanes : longer; }
};

/// The prediction of a symbol is its order. This one says that none was good enough.
inline constexpr std::uint8_t missed = 4;

/// How many orders may be tried for the value at place i of its lane.
enum class beginning {
    /// the first three values are never predicted. An order 3 at the fourth value takes 0 for the value
    /// before the first
    three_kept,
    as_they_come  ///< an order n needs n + 1 values before it
};
template <beginning Rule>
constexpr int orders_at(std::size_t i) noexcept
{
    if constexpr (Rule == beginning::three_kept) return i < 3 ? 0 : 4;
    else return static_cast<int>(std::min<std::size_t>(i, 4));
}

CCOLL_EXACT_BEGIN

/// The last four decoded values of each lane, newest first.
template <native_float T, std::size_t Lanes>
struct histories {
    T last[4][Lanes] = {};

    /// Predictions of order 0 to 3 by differences: order n adds the n-th difference to order n - 1.
    void predict(T (&p)[4][Lanes]) const noexcept
    {
        CCOLL_EXACT_BODY
        for (std::size_t l = 0; l < Lanes; ++l) {
            const T a = last[0][l], d1 = a - last[1][l], e1 = last[1][l] - last[2][l],
                    f1 = last[2][l] - last[3][l];
            const T d2 = d1 - e1, e2 = e1 - f1, d3 = d2 - e2;
            p[0][l] = a;
            p[1][l] = a + d1;
            p[2][l] = p[1][l] + d2;
            p[3][l] = p[2][l] + d3;
        }
    }
    void push(const T (&newest)[Lanes]) noexcept
    {
        for (std::size_t k = 3; k > 0; --k)
            for (std::size_t l = 0; l < Lanes; ++l) last[k][l] = last[k - 1][l];
        for (std::size_t l = 0; l < Lanes; ++l) last[0][l] = newest[l];
    }
};

/// For each lane the order whose prediction is nearest to x - offset, the lowest of equals; or `missed`,
/// where a decoder would get a value that is not within the limit.
template <int Orders, native_float T, std::size_t Lanes>
void choose(const T (&p)[4][Lanes], const T (&x)[Lanes], T offset, T limit, T (&best)[Lanes],
            typename fields_of<T>::word (&order)[Lanes]) noexcept
{
    CCOLL_EXACT_BODY
    using word = typename fields_of<T>::word;
    for (std::size_t l = 0; l < Lanes; ++l) {
        const T d = x[l] - offset;
        T nearest = p[0][l], error = std::fabs(p[0][l] - d);
        word n = 0;
        for (int k = 1; k < Orders; ++k) {
            const T other = std::fabs(p[k][l] - d);
            const bool nearer = other < error;
            nearest = nearer ? p[k][l] : nearest;
            n = nearer ? static_cast<word>(k) : n;
            error = nearer ? other : error;
        }
        best[l] = nearest;
        order[l] = std::fabs((nearest + offset) - x[l]) < limit ? n : word{missed};
    }
}

/// Predicts the values of a chunk.
///
/// @param symbols  one for each value, step by step: the symbol of lane l at step i is symbols[i * Lanes + l]
/// @param keep     (lane, step, value, symbol, last) -> T: what a decoder has in place of a value that was
///                 missed. `last` is what it has of the value before. Where orders_at(step) > 0, keep may
///                 change the symbol to 0; then it returns `last`
template <beginning Rule, std::size_t Lanes, native_float T, class Keep>
void predict_values(std::span<const T> in, const lane_ranges& at, T offset, T limit, std::uint8_t* symbols,
                    Keep keep) noexcept
{
    CCOLL_EXACT_BODY
    using word = typename fields_of<T>::word;
    histories<T, Lanes> history;
    const T* from[Lanes];
    for (std::size_t l = 0; l < Lanes; ++l) from[l] = in.data() + at.start(l);
    const auto step = [&]<int Orders>(std::size_t i, std::size_t active,
                                      std::integral_constant<int, Orders>) {
        T x[Lanes] = {}, p[4][Lanes], now[Lanes];
        word order[Lanes];
        for (std::size_t l = 0; l < active; ++l) x[l] = from[l][i];
        if constexpr (Orders > 0) {
            history.predict(p);
            choose<Orders>(p, x, offset, limit, now, order);
        } else {
            for (std::size_t l = 0; l < Lanes; ++l) {
                now[l] = 0;
                order[l] = missed;
            }
        }
        std::uint8_t* const to = symbols + i * Lanes;
        for (std::size_t l = 0; l < active; ++l) {
            to[l] = static_cast<std::uint8_t>(order[l]);
            if (order[l] == missed) now[l] = keep(l, i, x[l], to[l], history.last[0][l]);
        }
        history.push(now);
    };
    const auto begin = [&](std::size_t i, std::size_t active) {
        switch (orders_at<Rule>(i)) {
        case 0: return step(i, active, std::integral_constant<int, 0>{});
        case 1: return step(i, active, std::integral_constant<int, 1>{});
        case 2: return step(i, active, std::integral_constant<int, 2>{});
        case 3: return step(i, active, std::integral_constant<int, 3>{});
        default: return step(i, active, std::integral_constant<int, 4>{});
        }
    };
    std::size_t i = 0;
    for (; i < 4 && i < at.shorter; ++i) begin(i, Lanes);
    for (; i < at.shorter; ++i)
        step(i, Lanes, std::integral_constant<int, 4>{});  // the number of lanes is a constant here
    if (at.longer > 0) begin(i, at.longer);
}

/// The reverse.
/// @tparam Shifted  is the offset added to values? If not, kept values keep every bit
/// @param symbols   as above, none larger than `missed`
/// @param kept      (lane, step, what stands in its place) -> T: the value that was missed there
/// @param settle    (value, last) -> T: what predictions see of such a value
template <std::size_t Lanes, bool Shifted, native_float T, class Kept, class Settle>
void restore_values(std::span<T> out, const lane_ranges& at, T offset, const std::uint8_t* symbols, Kept kept,
                    Settle settle) noexcept
{
    CCOLL_EXACT_BODY
    histories<T, Lanes> history;
    T* to[Lanes];
    for (std::size_t l = 0; l < Lanes; ++l) to[l] = out.data() + at.start(l);
    const auto step = [&](std::size_t i, std::size_t active) {
        const std::uint8_t* const s = symbols + i * Lanes;
        T p[4][Lanes], now[Lanes] = {};
        history.predict(p);
        for (std::size_t l = 0; l < active; ++l) {
            T value;
            if (s[l] == missed) {
                value = kept(l, i, to[l][i]);
                now[l] = settle(value, history.last[0][l]);
            } else {
                now[l] = value = p[s[l]][l];
            }
            if constexpr (Shifted) value += offset;
            to[l][i] = value;
        }
        history.push(now);
    };
    for (std::size_t i = 0; i < at.shorter; ++i) step(i, Lanes);
    if (at.longer > 0) step(at.shorter, at.longer);
}

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail::bitzip
