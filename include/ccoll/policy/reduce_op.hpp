// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/reduce_op.hpp - floor 1. Reduction operations: tags for the user, and a plain struct of functions
// for the engine.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

#include <ccoll/base/exact.hpp>
#include <ccoll/base/half.hpp>
#include <ccoll/base/half_kernels.hpp>
#include <ccoll/policy/buffer.hpp>
#include <ccoll/policy/missing.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// How the errors of the operands affect the result; docs/error_bounds.md derives the bounds from it.
/// adds: the error is at most the sum of their errors.  selects: at most the larger one.  unbounded: there is
/// no absolute bound.
enum class error_growth { adds, selects, unbounded };

/// Base of every operation. `Linear` says that the operation is a sum. A homomorphic codec may then add
/// encoded streams instead of calling `apply`. If a nonlinear operation of yours only selects one of its
/// operands, say so:
/// `static constexpr auto growth = ccoll::error_growth::selects`.
/// `apply` is noexcept. If it is `__host__ __device__`, say `static constexpr bool on_device = true`: device
/// buffers are then reduced where they are.
template <bool Linear>
struct op_tag : policy<axis::op> {
    static constexpr const char* name = "user operation";
    static constexpr bool linear = Linear;
    static constexpr bool divide_by_ranks = false;
    static constexpr error_growth growth = Linear ? error_growth::adds : error_growth::unbounded;
};

namespace detail {
/// Integers wrap round as they do in MPI, even where C++ would promote them to int and the int would
/// overflow.
template <class T, class Apply>
constexpr T wrapped(T a, T b, Apply apply)
{
    using wide = unsigned long long;
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(apply(static_cast<wide>(a), static_cast<wide>(b)));
    else return static_cast<T>(apply(a, b));
}
/// Two-byte floats of other libraries are computed with as ours.
template <foreign_small_float T, class Apply>
constexpr T wrapped(T a, T b, Apply apply)
{
    return from_number<T>(apply(to_number(a), to_number(b)));
}
/// Also in programs whose compilers were told that there is no NaN, such as those with -Ofast.
template <class T>
constexpr bool is_nan(const T& x) noexcept
{
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
    if constexpr (std::is_same_v<T, float>)
        return fields_of<float>::magnitude(x) > fields_of<float>::exponent;
    else if constexpr (small_float<T>) return is_nan(static_cast<float>(x));
    else if constexpr (std::is_floating_point_v<T>)
        return fields_of<double>::magnitude(static_cast<double>(x)) > fields_of<double>::exponent;
#endif
    return x != x;
}
template <class T>
concept ordered = requires(const T& a, const T& b) {
    { to_number(a) < to_number(b) } -> std::convertible_to<bool>;
    { to_number(a) != to_number(b) } -> std::convertible_to<bool>;
};
/// The operand that a selection takes.
template <class T>
constexpr T least_of(T a, T b)
{
    const auto x = to_number(a), y = to_number(b);
    return is_nan(x) ? a : (is_nan(y) ? b : (y < x ? b : a));
}
template <class T>
constexpr T greatest_of(T a, T b)
{
    const auto x = to_number(a), y = to_number(b);
    return is_nan(x) ? a : (is_nan(y) ? b : (x < y ? b : a));
}
template <class T>
concept located_value = requires(const T& a) {
    { a.value < a.value } -> std::convertible_to<bool>;
    { a.index < a.index } -> std::convertible_to<bool>;
};
}  // namespace detail

/// A value and where it was found, for Op::MinLoc and Op::MaxLoc. It has the layout of MPI_FLOAT_INT,
/// MPI_DOUBLE_INT, ...
template <class T>
struct located {
    T value{};
    int index = 0;
    friend constexpr bool operator==(const located&, const located&) = default;
};

/// The operations. Each has a `static T apply(T, T)` for the element types on which it can be computed.
namespace policies::Op {
struct Sum : op_tag<true> {
    static constexpr const char* name = "Sum";
    template <class T>
        requires requires(const T& a) { detail::from_number<T>(detail::to_number(a) + detail::to_number(a)); }
    static constexpr T apply(T a, T b) noexcept
    {
        return detail::wrapped(a, b, [](auto x, auto y) { return x + y; });
    }
};
/// The sum, divided once at the end: if each operand were divided first, the same absolute bound would be p
/// times weaker. Not for integers. Of half and bfloat16 it is computed with floats
/// (docs/reference/policies.md), so that the sum need not fit into two bytes. The result has the bits of an
/// average of floats, rounded once more.
struct Average : Sum {
    static constexpr const char* name = "Average";
    static constexpr bool divide_by_ranks = true;
};
/// If an operand is NaN, so is the result (also for Max), so a rank whose computation failed is not hidden by
/// the others.
struct Min : op_tag<false> {
    static constexpr const char* name = "Min";
    static constexpr error_growth growth = error_growth::selects;
    template <detail::ordered T> static constexpr T apply(T a, T b) noexcept
    {
        return detail::least_of(a, b);
    }
};
struct Max : op_tag<false> {
    static constexpr const char* name = "Max";
    static constexpr error_growth growth = error_growth::selects;
    template <detail::ordered T> static constexpr T apply(T a, T b) noexcept
    {
        return detail::greatest_of(a, b);
    }
};
/// Only for exact codecs, because an absolute error of one factor is multiplied by the other factors.
struct Prod : op_tag<false> {
    static constexpr const char* name = "Prod";
    template <class T>
        requires requires(const T& a) { detail::from_number<T>(detail::to_number(a) * detail::to_number(a)); }
    static constexpr T apply(T a, T b) noexcept
    {
        return detail::wrapped(a, b, [](auto x, auto y) { return x * y; });
    }
};
/// For elements with members `value` and `index`, such as ccoll::located<float>. If values are equal, the
/// lower index wins; NaN wins over every other value (also for MaxLoc).
struct MinLoc : op_tag<false> {
    static constexpr const char* name = "MinLoc";
    template <detail::located_value T> static constexpr T apply(T a, T b) noexcept
    {
        if (detail::is_nan(a.value) || detail::is_nan(b.value))
            return detail::is_nan(a.value) == detail::is_nan(b.value) ? (b.index < a.index ? b : a)
                                                                      : (detail::is_nan(a.value) ? a : b);
        return b.value < a.value || (!(a.value < b.value) && b.index < a.index) ? b : a;
    }
};
struct MaxLoc : op_tag<false> {
    static constexpr const char* name = "MaxLoc";
    template <detail::located_value T> static constexpr T apply(T a, T b) noexcept
    {
        if (detail::is_nan(a.value) || detail::is_nan(b.value))
            return detail::is_nan(a.value) == detail::is_nan(b.value) ? (b.index < a.index ? b : a)
                                                                      : (detail::is_nan(a.value) ? a : b);
        return a.value < b.value || (!(b.value < a.value) && b.index < a.index) ? b : a;
    }
};
/// Bitwise and logical operations on integers.
struct BitAnd : op_tag<false> {
    static constexpr const char* name = "BitAnd";
    template <std::integral T> static constexpr T apply(T a, T b) noexcept { return static_cast<T>(a & b); }
};
struct BitOr : op_tag<false> {
    static constexpr const char* name = "BitOr";
    template <std::integral T> static constexpr T apply(T a, T b) noexcept { return static_cast<T>(a | b); }
};
struct BitXor : op_tag<false> {
    static constexpr const char* name = "BitXor";
    template <std::integral T> static constexpr T apply(T a, T b) noexcept { return static_cast<T>(a ^ b); }
};
struct And : op_tag<false> {
    static constexpr const char* name = "And";
    template <std::integral T> static constexpr T apply(T a, T b) noexcept
    {
        return static_cast<T>(a != 0 && b != 0);
    }
};
struct Or : op_tag<false> {
    static constexpr const char* name = "Or";
    template <std::integral T> static constexpr T apply(T a, T b) noexcept
    {
        return static_cast<T>(a != 0 || b != 0);
    }
};
struct Xor : op_tag<false> {
    static constexpr const char* name = "Xor";
    template <std::integral T> static constexpr T apply(T a, T b) noexcept
    {
        return static_cast<T>((a != 0) != (b != 0));
    }
};
}  // namespace policies::Op

/// Elements whose sum can be divided by the number of ranks. Integers are not among them.
template <class T>
concept divisible_element = element<T> && !std::is_integral_v<T> &&
                            (small_float<T> || requires(T x) { x = static_cast<T>(x / static_cast<T>(2)); });

template <class Tag, class T>
concept operation_on = element<T> && requires(const T& a) {
    { Tag::apply(a, a) } -> std::convertible_to<T>;
} && (!Tag::divide_by_ranks || divisible_element<T>);

/// Nothing can be thrown out of the middle of a collective.
template <class Tag, class T>
concept never_throws = requires(const T& a) {
    { Tag::apply(a, a) } noexcept;
};

CCOLL_EXACT_BEGIN  // else it may multiply by an inverse

namespace detail {
/// The number of ranks may not fit into the 8 or 11 bits of a two-byte float.
template <class T>
using divisor_of = std::conditional_t<small_float<T>, float, T>;
template <divisible_element T>
void divide_by(T* into, divisor_of<T> divisor, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    if constexpr (small_float<T>) two_byte::dividers<T>(into, divisor, n);
    else
        for (std::size_t i = 0; i < n; ++i)
            into[i] = from_number<T>(static_cast<divisor_of<T>>(to_number(into[i])) / divisor);
}

/// Where sums of finite numbers may be too large for the type, shares of them are added: this part of each.
/// It is a power of two that is at least the number of ranks, so a share has the digits of its number, and
/// the quotient in the end the bits that it has without shares.
constexpr int parts_of_share(int ranks)
{
    return static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
}
}  // namespace detail

/// Divides finished sums by the number of ranks.
template <divisible_element T>
void divide_by_ranks(T* into, int ranks, std::size_t n) noexcept
{
    detail::divide_by(into, static_cast<detail::divisor_of<T>>(ranks), n);
}
/// The same where the operands were shares. A sum that is a number of its type is made whole first, because
/// the quotient of a share may have lost digits as a denormal.
template <native_float T>
void divide_shares_by_ranks(T* into, int ranks, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    const T parts = static_cast<T>(detail::parts_of_share(ranks)), divisor = static_cast<T>(ranks);
    const T largest = std::numeric_limits<T>::max() / parts;
    for (std::size_t i = 0; i < n; ++i)
        into[i] =
            -largest <= into[i] && into[i] <= largest ? into[i] * parts / divisor : into[i] / divisor * parts;
}

CCOLL_EXACT_END

/// An operation as the engine sees it: values instead of a type, so that the engine is not compiled anew for
/// each operation.
template <element T>
struct reduction {
    void (*combine)(T* into, const T* left, const T* right, std::size_t n) noexcept = nullptr;
    /// Divides the finished sum by the number of ranks; null if the operation does not divide. @see divide
    void (*by_ranks)(T* into, int ranks, std::size_t n) noexcept = nullptr;
    /// The same as the memory space of the elements does it, where that has functions of its own; null: it
    /// has none.
    const void* in_space = nullptr;
    /// Two ranks that exchange operands must compute the same bits, so on both of them the lower rank's
    /// operand is on the left.
    bool theirs_on_the_left = false;
    missing_value missing = {};

    bool divides() const noexcept { return by_ranks != nullptr; }
    /// into[i] = own[i] op theirs[i] for i < n, with the operands swapped if theirs_on_the_left; `into` may
    /// be `own` or `theirs`.
    void apply(T* into, const T* own, const T* theirs, std::size_t n) const noexcept
    {
        const T *const left = theirs_on_the_left ? theirs : own, *const right =
                                                                     theirs_on_the_left ? own : theirs;
        if constexpr (floating_element<T>)
            if (missing.declared)
                return detail::around_missing(
                    into, n, missing,
                    [&](std::size_t at, std::size_t some) {
                        combine(into + at, left + at, right + at, some);
                    },
                    [&](std::size_t i) {
                        return detail::is_missing(left[i], missing) || detail::is_missing(right[i], missing);
                    });
        combine(into, left, right, n);
    }
    /// Divides a finished sum, which is missing where it was.
    void divide(T* into, int ranks, std::size_t n) const noexcept
    {
        if constexpr (floating_element<T>)
            if (missing.declared)
                return detail::around_missing(
                    into, n, missing,
                    [&](std::size_t at, std::size_t some) { by_ranks(into + at, ranks, some); },
                    [&](std::size_t i) { return detail::is_missing(into[i], missing); });
        by_ranks(into, ranks, n);
    }
};

template <class Tag, element T>
    requires operation_on<Tag, T>
inline constexpr reduction<T> reduction_of = [] {
    reduction<T> r;
    r.combine = [](T* into, const T* left, const T* right, std::size_t n) noexcept {
        if constexpr (small_float<T> &&
                      (std::same_as<Tag, policies::Op::Sum> || std::same_as<Tag, policies::Op::Average>))
            detail::two_byte::adders<T>(into, left, right, n);
        else
            for (std::size_t i = 0; i < n; ++i) into[i] = Tag::apply(left[i], right[i]);
    };
    if constexpr (Tag::divide_by_ranks) r.by_ranks = &divide_by_ranks<T>;
    return r;
}();

}  // namespace ccoll
