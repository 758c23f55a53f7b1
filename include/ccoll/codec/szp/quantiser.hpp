// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/quantiser.hpp - floor 2. From values to integers and back: the arithmetic on which SZp's bound rests.
// docs/error_bounds.md has the proofs in full.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <ccoll/base/config.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/codec/szp/layout.hpp>
#include <ccoll/policy/buffer.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

CCOLL_EXACT_BEGIN

template <element T>
inline constexpr bool is_f32 = sizeof(T) == 4;

/// The grid that a bound asks for: q = rint(x / step), x' = q step.
///
/// step is 2 eb less a margin for the rounding of the quotient, cut down to `step_bits` significant bits; it costs at most
/// 0.0085 bits per value. Let t = x / step.
/// - |t| < safe: q = rint(fl(x fl(1 / step))) errs by at most 1/2 + |t| 2^(1 - digits) from t, and q step is exact in T, because q and
///   step have no more than `digits` significant bits together. So |x - x'| <= eb, and nothing needs to be looked at.
/// - |t| < 2^30, in double: the same with 2^-52; x' rounds once more, which belongs to the rounding of the result.
/// It follows from eb alone, so that all ranks and all readers agree on it.
template <element T>
struct quantiser {
    using fields = fields_of<T>;
    using word = typename fields::word;
    static constexpr int step_bits = is_f32<T> ? 10 : 22, safe_exponent = is_f32<T> ? 14 : 30, fine_row_exponent = 21;
    /// Larger bounds are taken for this one, so that 2^30 steps are a number of T. 2^94, 2^990.
    static constexpr double max_bound = is_f32<T> ? 0x1p94 : 0x1p990;

    T step = 0, inverse = 0;
    double inverse_f64 = 0;
    double eb = 0;
    word brief = 0;       ///< bits of the least |x| for which differences may not fit 16 bits
    word safe = 0;        ///< bits of the least |x| for which the fast quotient does not do
    word narrow = 0;      ///< bits of the least |x| whose quantum may not be a narrow one
    word in_rows = 0;     ///< bits of the least |x| that chunks with rows do not hold
    bool usable = false;  ///< no: the bound is below 4 times the smallest normal number

    explicit quantiser(double bound) noexcept
    {
        CCOLL_EXACT_BODY
        const double margin = is_f32<T> ? 0x1p-8 : 0x1p-20;
        eb = std::min(bound, max_bound);
        usable = eb >= 4 * static_cast<double>(std::numeric_limits<T>::min());
        if (!usable) return;
        const u64 bits = std::bit_cast<u64>(2 * eb / (1 + margin * 1.001));
        const double exact = std::bit_cast<double>(bits >> (53 - step_bits) << (53 - step_bits));
        step = static_cast<T>(exact);
        inverse_f64 = 1 / exact;
        inverse = static_cast<T>(inverse_f64);
        brief = of_steps(13);
        safe = of_steps(safe_exponent);
        narrow = of_steps(30);
    }
    /// The same on a step of a chunk's own, for |x| up to `limit`.
    quantiser on(T fine_step, word limit) const noexcept
    {
        CCOLL_EXACT_BODY
        quantiser z = *this;
        z.step = fine_step;
        z.inverse_f64 = 1 / static_cast<double>(fine_step);
        z.brief = z.of_steps(13);
        z.safe = limit;
        return z;
    }
    /// The same for chunks with rows, whose differences have up to eight terms, and are differences of numbers of T.
    /// @param addend  values of f32 beyond `safe` are quantised as those of other addends are. In movement they have another grid
    quantiser of_rows(bool addend) const noexcept
    {
        quantiser z = *this;
        z.brief = of_steps(11);
        z.in_rows = of_steps(!is_f32<T> ? 27 : addend ? fine_row_exponent : safe_exponent);
        return z;
    }
    /// For chunks of f32 with rows on a grid of their own. The fast quotient is exact on a lattice, and elsewhere it does not do.
    quantiser of_rows_on(T fine_step) const noexcept
    {
        CCOLL_EXACT_BODY
        quantiser z = *this;
        z.step = fine_step;
        z.inverse_f64 = 1 / static_cast<double>(fine_step);
        z.inverse = static_cast<T>(z.inverse_f64);
        z.brief = std::min(z.of_steps(11), fields::exponent);
        z.in_rows = std::min(z.of_steps(fine_row_exponent), fields::exponent);
        z.safe = is_lattice(fine_step) ? z.in_rows : 0;
        return z;
    }
    static bool is_lattice(T fine_step) noexcept
    {
        int exponent = 0;
        return std::frexp(fine_step, &exponent) == T(0.5);
    }
    /// The quantum of a value that a chunk with rows holds.
    i32 quantum_in_rows(T x) const noexcept
    {
        CCOLL_EXACT_BODY
        if (!is_f32<T> || fields::magnitude(x) < safe) return static_cast<i32>(std::nearbyint(x * inverse));
        return static_cast<i32>(std::nearbyint(static_cast<double>(x) * inverse_f64));
    }

    /// An upper bound of |q| for all |x| up to the one with these bits. Denormals count as 0 on every machine.
    u32 largest_quantum(word most) const noexcept
    {
        CCOLL_EXACT_BODY
        return most < fields::exponent_one ? u32{0} : static_cast<u32>(static_cast<double>(std::bit_cast<T>(most)) * inverse_f64) + 2;
    }

private:
    word of_steps(unsigned exponent) const noexcept { return fields::of(step) + (word{exponent} << fields::mantissa_bits); }
};

/// A step of a chunk's own. Every q step that is decoded is then a number of T: it is a multiple of the ulp of the result, or the value
/// itself. So x' is exact.
template <element T>
struct fine_grid {
    T step = 0;                             ///< 0: there is none
    typename fields_of<T>::word limit = 0;  ///< bits of the least |x| that does not fit it
};

/// Of some values: the largest exponent, and the exponent of the lowest bit, each as in the bits of a T. A value 0 has neither.
struct bit_range {
    int top = 0, lowest = std::numeric_limits<int>::max();

    template <element T>
    void add(const T* x, std::size_t n) noexcept
    {
        using fields = fields_of<T>;
        for (std::size_t i = 0; i < n; ++i) {
            const auto w = fields::magnitude(x[i]);
            if (w == 0) continue;
            const auto mantissa = w & (fields::exponent_one - 1);
            const int exponent = static_cast<int>(w >> fields::mantissa_bits);
            const int zeros = mantissa == 0 ? fields::mantissa_bits : std::countr_zero(mantissa);
            top = std::max(top, exponent);
            lowest = std::min(lowest, exponent - fields::mantissa_bits + zeros);
        }
    }
};

/// The largest power of two that is within the bound as a step, 2 eb.
template <element T>
T power_step(const quantiser<T>& z) noexcept
{
    CCOLL_EXACT_BODY
    int exponent = 0;
    std::frexp(2 * z.eb, &exponent);
    return static_cast<T>(std::ldexp(1.0, exponent - 1));
}

/// power_step 2^exponent, as bits; those of Inf if that is too large.
template <element T>
typename fields_of<T>::word power_steps(const quantiser<T>& z, unsigned exponent) noexcept
{
    using fields = fields_of<T>;
    const auto field = (fields::of(power_step(z)) >> fields::mantissa_bits) + exponent;
    return std::min(static_cast<typename fields::word>(field << fields::mantissa_bits), fields::exponent);
}

/// The ulp of values from here on is above any step that is within the bound, as bits. On most grids they are special values.
template <element T>
typename fields_of<T>::word fine_limit(const quantiser<T>& z) noexcept
{
    return power_steps(z, std::numeric_limits<T>::digits);
}

/// Quanta of values from here on are too long for any grid of a chunk's own, as bits: from 2^30 (f64: 2^61) on.
template <element T>
typename fields_of<T>::word far_limit(const quantiser<T>& z) noexcept
{
    return power_steps(z, is_f32<T> ? 30 : 61);
}

/// For values so large beside the bound that q step is not exact on the common grid (f32 from 2^14 steps on: an offset, a tight
/// bound; f64 from 2^30). The larger one of two steps:
/// - The largest multiple of the largest ulp that is within the bound, |x - x'| <= step / 2 (1 + 2^-28) <= eb.
/// - power_step(). Values whose ulp is at least as large are multiples of it, so they are kept exactly. Other values lie nearer than step /
/// 2
///   to a multiple, which is a multiple of their ulp as well.
/// @param largest  bits of the largest |x| of the chunk, below far_limit
template <element T>
fine_grid<T> fine_grid_for(typename fields_of<T>::word largest, const quantiser<T>& z) noexcept
{
    CCOLL_EXACT_BODY
    constexpr int digits = std::numeric_limits<T>::digits;
    if (largest < z.safe) return {};
    const double reach = static_cast<double>(std::bit_cast<T>(largest)) + 2 * z.eb;  // q step may lie in the next power of two
    if (!(reach < static_cast<double>(std::numeric_limits<T>::max()) / 2)) return {};
    int exponent = 0;
    std::frexp(reach, &exponent);
    const double ulp = std::ldexp(1.0, exponent - digits);
    const double step = std::floor(2 * z.eb * (1 - 0x1p-20) / ulp) * ulp;
    return {std::max(static_cast<T>(step), power_step(z)), far_limit(z)};
}

/// The quantum nearest to x on a grid, for |x / step| < 2^53: the quotient is corrected by the exact remainder, so
/// |x - q step| <= step / 2 (1 + 2^-40).
inline i64 nearest_quantum(double x, double step, double inverse) noexcept
{
    CCOLL_EXACT_BODY
    const double q = std::nearbyint(x * inverse);
    return static_cast<i64>(q + std::nearbyint(std::fma(-q, step, x) * inverse));
}

/// The quantum of an addend's value on the common grid: a function of this value alone, so that sums do not depend on where a
/// vector is cut. What the kernels compute, for any finite |x| < 2^53 steps.
template <element T>
i64 quantum_of(T x, const quantiser<T>& z) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    const auto w = fields::magnitude(x);
    if (w < fields::exponent_one) return 0;
    if (w < z.safe) return static_cast<i64>(std::nearbyint(x * z.inverse));
    if (w < z.narrow) return static_cast<i64>(std::nearbyint(static_cast<double>(x) * z.inverse_f64));
    return nearest_quantum(static_cast<double>(x), static_cast<double>(z.step), z.inverse_f64);
}

/// The quantum of the first value of a narrow chunk, so that a constant chunk has no difference at all; 0 where it has none.
template <element T>
i32 narrow_base_of(T first, const quantiser<T>& z) noexcept
{
    return quantiser<T>::fields::magnitude(first) < z.narrow ? static_cast<i32>(quantum_of(first, z)) : 0;
}

/// What is unusual about a block of an addend.
struct block_class {
    u32 a = 0, b = 0;  ///< class planes
    bool fits = true;  ///< all finite values are narrow

    /// @param x  Inf or NaN, value i of the block
    template <element T>
    void mark(unsigned i, T x) noexcept
    {
        using fields = fields_of<T>;
        const bool nan = fields::magnitude(x) > fields::exponent, negative = (fields::of(x) & fields::sign) != 0;
        a |= u32{nan || !negative} << i;
        b |= u32{nan || negative} << i;
    }
};

/// Puts Inf and NaN where the class planes have them.
template <element T>
inline void apply_class(u32 a, u32 b, T* x) noexcept
{
    for (unsigned i = 0; i < block_elements; ++i) {
        const unsigned c = (a >> i & 1) | (b >> i & 1) << 1;
        if (c == 0) continue;
        const T infinity = std::numeric_limits<T>::infinity();
        x[i] = c == 3 ? std::numeric_limits<T>::quiet_NaN() : c == 1 ? infinity : -infinity;
    }
}

CCOLL_EXACT_END

}  // namespace ccoll::detail::szp
