// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/grid.hpp - floor 2. The law of SZp: what a value becomes. It is a function of the values and the
// bound, which hosts, devices and all instruction sets have in common (docs/wire_format.md).
// docs/error_bounds.md has the proofs.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/codec/szp/layout.hpp>
#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

CCOLL_EXACT_BEGIN

template <element T>
inline constexpr bool is_f32 = sizeof(T) == 4;

/// |q| of numbers of which the usual kernels can say at once that the bound holds, and of those that fit 32
/// bits.
template <element T>
inline constexpr int usual_exponent = is_f32<T> ? 14 : 30;
inline constexpr int narrow_exponent = 30;
/// Values of addends are below so many steps, and quanta are not above: fewer than 2^17 ranks can add them
/// below 2^62.
inline constexpr int addend_exponent = 45;
/// Chunks for movement with fewer values are raw, and so are those in which more exceptional values differ
/// from the one before them. All others are shorter than their values, so that what is decoded never depends
/// on how a chunk was packed: at most 26 planes (f64: 55), and a thirty-second of the values once more, which
/// a dictionary can hold. Values that are all the same take less.
inline constexpr std::size_t least_values = 512, least_constant = 32;
constexpr std::size_t most_changes(std::size_t n) noexcept { return (n - 1) / 32; }

/// A step, and what kernels need of it.
template <element T>
struct grid {
    using fields = fields_of<T>;
    using word = typename fields::word;

    double step = 0, inverse = 0;  ///< inverse: 1 / step
    T inverse_in_t = 0;
    word usual = 0;   ///< bits of the least |x| whose quotient has to be computed in double (f64: corrected)
    word narrow = 0;  ///< bits of the least |x| of 2^30 steps or more

    grid() = default;
    /// @param all_in_double  no quotient is computed in T (a chunk's own grid)
    grid(double of, bool all_in_double) noexcept
    {
        CCOLL_EXACT_BODY
        step = of;
        inverse = 1 / of;
        inverse_in_t = static_cast<T>(inverse);
        usual = all_in_double ? 0 : steps(usual_exponent<T>);
        narrow = all_in_double && !is_f32<T> ? 0 : steps(narrow_exponent);
    }
    /// The bits of 2^exponent steps, cut to a number of T; infinity if there is none.
    word steps(int exponent) const noexcept
    {
        CCOLL_EXACT_BODY
        const double reach = step * std::bit_cast<double>(static_cast<u64>(1023 + exponent)
                                                          << 52);  // std::ldexp would be called
        return reach < static_cast<double>(std::numeric_limits<T>::max()) ? fields::of(static_cast<T>(reach))
                                                                          : fields::exponent;
    }
    /// The quantum of a value below 2^53 steps.
    i64 quantum(T x) const noexcept
    {
        CCOLL_EXACT_BODY
        const word w = fields::magnitude(x);
        if (w < fields::exponent_one) return 0;
        if (w < usual) return static_cast<i64>(std::nearbyint(x * inverse_in_t));
        const double wide = static_cast<double>(x), q = std::nearbyint(wide * inverse);
        // From there on the quotient is corrected by the exact remainder, so that |x - q step| <= step / 2 (1
        // + 2^-40).
        return static_cast<i64>(w < narrow ? q : q + std::nearbyint(std::fma(-q, step, wide) * inverse));
    }
    T value(i64 q) const noexcept
    {
        CCOLL_EXACT_BODY
        return static_cast<T>(static_cast<double>(q) * step);
    }
};
/// The same on a step of the chunk's own, which is a number of T. Encoders write no quantum that T cannot
/// hold; kernels multiply in T.
template <element T>
T value_on_own_step(i64 q, T step) noexcept
{
    CCOLL_EXACT_BODY
    return static_cast<T>(q) * step;
}

/// What follows from a bound alone.
template <element T>
struct law {
    using fields = fields_of<T>;
    using word = typename fields::word;
    static constexpr int step_bits = is_f32<T> ? 10 : 22, digits = std::numeric_limits<T>::digits;
    /// Larger bounds are taken for this one, so that 2^30 steps are a number of T.
    static constexpr double max_bound = is_f32<T> ? 0x1p94 : 0x1p990;

    double eb = 0;
    grid<T> common;
    double power = 0;           ///< P, the largest power of two that is within the bound as a step
    word too_large = 0;         ///< bits of the least |x| that is exceptional in movement
    word too_large_addend = 0;  ///< the same for addends
    bool usable = false;        ///< no: the bound is below 4 times the smallest normal number

    explicit law(double bound) noexcept
    {
        CCOLL_EXACT_BODY
        constexpr double margin = is_f32<T> ? 0x1p-8 : 0x1p-20, above_1 = 1 + margin * 1.001;
        eb = std::min(bound, max_bound);
        usable = eb >= 4 * static_cast<double>(std::numeric_limits<T>::min());
        if (!usable) return;
        const u64 bits = std::bit_cast<u64>(2 * eb / above_1);
        common = grid<T>(std::bit_cast<double>(bits >> (53 - step_bits) << (53 - step_bits)), false);
        power = std::bit_cast<double>(std::bit_cast<u64>(2 * eb) >> 52 << 52);
        too_large = grid<T>(power, false).steps(digits);
        too_large_addend = common.steps(addend_exponent);
    }

    /// The grid of a chunk for movement, if it is not that of the bound.
    /// @param most     bits of the largest |x| of the ordinary values, below `too_large`
    /// @param lattice  their greatest power of two, or 0
    /// @return         step 0: there is none, the chunk is raw
    grid<T> own(word most, double lattice) const noexcept
    {
        CCOLL_EXACT_BODY
        if (lattice > common.step)
            return grid<T>(lattice, false);  // a power of two: quotients are exact in T as well
        // q step may lie in the next power of two.
        const double reach = static_cast<double>(std::bit_cast<T>(most)) + 2 * eb;
        if (!(reach < static_cast<double>(std::numeric_limits<T>::max()) / 2)) return {};
        int exponent = 0;
        std::frexp(reach, &exponent);
        const double ulp = std::ldexp(1.0, exponent - digits);
        return grid<T>(std::max(power, std::floor(2 * eb * (1 - 0x1p-20) / ulp) * ulp), true);
    }
};

/// What is exceptional in a chunk that is packed group by group.
template <element T>
struct search {
    exceptions::rule<T> is;
    bool everywhere;  ///< look in all groups, not where values cannot be packed as they are, and behind that
    exceptions::places found;  ///< no masks before there are any
    search(const exceptions::rule<T>& r, bool in_all_groups) noexcept : is(r), everywhere(in_all_groups) {}
};

CCOLL_EXACT_END

}  // namespace ccoll::inline CCOLL_ABI::detail::szp
