// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/operations.cuh - floor 4. What a call does to elements on the device beside codecs: operations,
// division, and looking for range and magnitude. The loops are CUB's. The bits are those of the host's
// functions.
#pragma once

#if defined(__CUDACC__)
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_transform.cuh>
#endif

#include <ccoll/cuda/element.cuh>
#include <ccoll/cuda/runtime.cuh>
#include <ccoll/space/space.hpp>
#include <ccoll/policy/reduce_op.hpp>

namespace ccoll::inline CCOLL_ABI::detail::device {

// ---- operations ----

/// Numbers that a device has as the host has them.
template <class T>
concept device_number = floating_element<T> || (std::is_integral_v<T> && sizeof(T) <= 8);

/// Two-byte numbers of any library are computed with as floats, and the result is rounded once. Other numbers
/// are what they are.
template <device_number T>
CCOLL_DEVICE auto wide(const T& x)
{
    if constexpr (small_float<T>) return kernel_element_of<T>::format::to_float(__builtin_bit_cast(u16, x));
    else return x;
}
template <device_number T>
CCOLL_DEVICE T rounded(float x)
    requires small_float<T>
{
    return __builtin_bit_cast(T, kernel_element_of<T>::format::from_float(x));
}

/// Operations of the library on the device, as their `apply` on the host.
template <class Op, class T>
struct operation_functor;

#define CCOLL_DEVICE_OPERATION(Op, Elements, expression)                               \
    template <Elements T>                                                              \
    struct operation_functor<policies::Op, T> {                                        \
        CCOLL_DEVICE T operator()(const T& a, const T& b) const { return expression; } \
    };

/// Integers wrap round.
template <class T>
CCOLL_DEVICE T sum_of(T a, T b)
{
    if constexpr (native_float<T>) return plus(a, b);
    else if constexpr (small_float<T>) return rounded<T>(plus(wide(a), wide(b)));
    else return static_cast<T>(static_cast<u64>(a) + static_cast<u64>(b));
}
template <class T>
CCOLL_DEVICE T product_of(T a, T b)
{
    if constexpr (native_float<T>) return times(a, b);
    else if constexpr (small_float<T>) return rounded<T>(times(wide(a), wide(b)));
    else return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b));
}
/// @param b_wins  where no operand is NaN
template <class T>
CCOLL_DEVICE T nan_or(T a, T b, bool b_wins)
{
    if (wide(a) != wide(a)) return a;
    return wide(b) != wide(b) || b_wins ? b : a;
}
CCOLL_DEVICE_OPERATION(Op::Sum, device_number, sum_of(a, b))
CCOLL_DEVICE_OPERATION(Op::Average, device_number, sum_of(a, b))
CCOLL_DEVICE_OPERATION(Op::Prod, device_number, product_of(a, b))
CCOLL_DEVICE_OPERATION(Op::Min, device_number, nan_or(a, b, wide(b) < wide(a)))
CCOLL_DEVICE_OPERATION(Op::Max, device_number, nan_or(a, b, wide(a) < wide(b)))
CCOLL_DEVICE_OPERATION(Op::BitAnd, std::integral, static_cast<T>(a& b))
CCOLL_DEVICE_OPERATION(Op::BitOr, std::integral, static_cast<T>(a | b))
CCOLL_DEVICE_OPERATION(Op::BitXor, std::integral, static_cast<T>(a ^ b))
CCOLL_DEVICE_OPERATION(Op::And, std::integral, static_cast<T>(a != 0 && b != 0))
CCOLL_DEVICE_OPERATION(Op::Or, std::integral, static_cast<T>(a != 0 || b != 0))
CCOLL_DEVICE_OPERATION(Op::Xor, std::integral, static_cast<T>((a != 0) != (b != 0)))
#undef CCOLL_DEVICE_OPERATION

/// Of a user, whose `apply` is a function of the device as well.
template <class Op, class T>
    requires requires { requires Op::on_device; }
struct operation_functor<Op, T> {
    CCOLL_DEVICE T operator()(const T& a, const T& b) const { return Op::apply(a, b); }
};

/// The bits of an element that stands for a missing value.
template <class T>
using missing_word = std::conditional_t<sizeof(T) == 2, u16, std::conditional_t<sizeof(T) == 4, u32, u64>>;
template <class T>
CCOLL_DEVICE bool is_missing(const T& x, missing_word<T> missing)
{
    return __builtin_bit_cast(missing_word<T>, x) == missing;
}
/// An operation whose result is missing where an operand is.
template <class Function, class T>
struct with_missing {
    Function f;
    missing_word<T> missing;

    CCOLL_DEVICE T operator()(const T& a, const T& b) const
    {
        return is_missing(a, missing) || is_missing(b, missing) ? __builtin_bit_cast(T, missing) : f(a, b);
    }
    CCOLL_DEVICE T operator()(const T& a) const { return is_missing(a, missing) ? a : f(a); }
};
/// into[i] = f(from[i]...), of elements of any types.
template <class Into, class Function, class... From>
cudaError_t transform(Function f, Into* into, std::size_t n, cudaStream_t stream, const From*... from)
{
    if (n == 0) return cudaSuccess;
    return cub::DeviceTransform::Transform(::cuda::std::make_tuple(from...), into, n, f, stream);
}
/// The same, or missing.
template <class T, class Function, class... From>
cudaError_t transform(Function f, const missing_value& missing, T* into, std::size_t n, cudaStream_t stream,
                      const From*... from)
{
    if constexpr (floating_element<T>)
        if (missing.declared)
            return transform(with_missing<Function, T>{f, static_cast<missing_word<T>>(missing.bits)}, into,
                             n, stream, from...);
    return transform(f, into, n, stream, from...);
}

/// What `reduction::in_space` refers to.
template <class T>
struct device_operation {
    /// into[i] = left[i] op right[i]; `into` may be `left` or `right`.
    cudaError_t (*combine)(const T* left, const T* right, T* into, std::size_t n, const missing_value&,
                           cudaStream_t stream) = nullptr;
};

template <class Op, class T>
concept operation_on_device = requires(const operation_functor<Op, T>& f) { sizeof(f); };

template <class Op, class T>
inline constexpr device_operation<T> operation_of_device{[](const T* left, const T* right, T* into,
                                                            std::size_t n, const missing_value& missing,
                                                            cudaStream_t stream) {
    return transform(operation_functor<Op, T>{}, missing, into, n, stream, left, right);
}};

/// into = own op theirs, with the operands swapped where the operation says so.
template <class T>
cudaError_t begin_combine(const reduction<T>& op, const T* own, const T* theirs, T* into, std::size_t n,
                          cudaStream_t stream)
{
    const auto& of_device = *static_cast<const device_operation<T>*>(op.in_space);
    return op.theirs_on_the_left ? of_device.combine(theirs, own, into, n, op.missing, stream)
                                 : of_device.combine(own, theirs, into, n, op.missing, stream);
}

/// IEEE division, as on the host.
template <floating_element T>
struct divided_by {
    looked_at<T> ranks;
    CCOLL_DEVICE T operator()(const T& x) const
    {
        if constexpr (small_float<T>) return rounded<T>(wide(x) / ranks);
        else return x / ranks;
    }
};
template <floating_element T>
cudaError_t begin_divide(T* values, int ranks, std::size_t n, const missing_value& missing,
                         cudaStream_t stream)
{
    return transform(divided_by<T>{static_cast<looked_at<T>>(ranks)}, missing, values, n, stream,
                     static_cast<const T*>(values));
}

/// divide_shares_by_ranks.
template <native_float T>
struct shares_divided_by {
    T parts, largest, ranks;
    CCOLL_DEVICE T operator()(const T& x) const
    {
        return -largest <= x && x <= largest ? x * parts / ranks : x / ranks * parts;
    }
};
template <native_float T>
cudaError_t begin_divide_shares(T* values, int ranks, std::size_t n, const missing_value& missing,
                                cudaStream_t stream)
{
    const T parts = static_cast<T>(parts_of_share(ranks));
    return transform(
        shares_divided_by<T>{parts, std::numeric_limits<T>::max() / parts, static_cast<T>(ranks)}, missing,
        values, n, stream, static_cast<const T*>(values));
}

// ---- floats in place of two-byte numbers ----

template <small_float T>
struct to_float {
    CCOLL_DEVICE float operator()(const T& x) const { return wide(x); }
};
template <small_float T>
struct from_float {
    CCOLL_DEVICE T operator()(const float& x) const { return rounded<T>(x); }
};
template <small_float T>
cudaError_t begin_widen(const T* from, float* to, std::size_t n, cudaStream_t stream)
{
    return transform(to_float<T>{}, to, n, stream, from);
}
template <small_float T>
cudaError_t begin_narrow(const float* from, T* to, std::size_t n, cudaStream_t stream)
{
    return transform(from_float<T>{}, to, n, stream, from);
}

// ---- surveys ----

/// A constant, because functions of the host, such as those of numeric_limits, are none of the device.
template <class T>
inline constexpr T most_of = std::numeric_limits<T>::max();

/// As is_fill_value on the host. Not one function for both: products must not be contracted here, and no
/// pragma reaches device code.
CCOLL_DEVICE bool is_fill(double x, double rounding)
{
    constexpr double largest_float = most_of<float>, largest_double = most_of<double>;
    const double m = x < 0 ? -x : x;
    const auto is = [=](double fill) {
        const double apart = m < fill ? fill - m : m - fill;
        return apart <= times(rounding, fill);
    };
    if (!(m >= times(least_fill_value, 1 - rounding))) return false;
    if (is(0x1.Ep+122) || is(largest_float) || m == largest_double) return true;
    double power = least_fill_value;
    while (m >= times(9.5, power)) power = times(power, 10.0);
    // 1 to 9, or 0 just below the least one.
    const double digit = static_cast<double>(static_cast<int>(plus(m / power, 0.5)));
    return is(times(digit, power));
}

/// What is known of some values. The order in which values join does not matter.
template <native_float T>
struct seen_values {
    T low, high;  ///< of the values that count in a range; low > high: there are none
    T largest;    ///< |x| of all that are finite
    bool non_finite;

    static seen_values none()
    {
        constexpr T most = most_of<T>;
        return {most, -most, 0, false};
    }
};
template <floating_element T>
struct look_at_value {
    using number = looked_at<T>;
    number limit;     ///< from here on a value may stand for missing data
    double rounding;  ///< @see fill_rounding
    bool has_missing;
    missing_word<T> missing;

    static look_at_value of_elements(const missing_value& m)
    {
        return {static_cast<number>(least_fill_value * 0.99), fill_rounding<T>, m.declared,
                static_cast<missing_word<T>>(m.bits)};
    }
    CCOLL_DEVICE seen_values<number> operator()(const T& element) const
    {
        constexpr number most = most_of<number>;
        const number x = wide(element), m = x < 0 ? -x : x;
        if (has_missing && is_missing(element, missing)) return {most, -most, 0, false};
        if (m < limit) return {x, x, m, false};
        if (!(m <= most)) return {most, -most, 0, true};
        if (is_fill(static_cast<double>(x), rounding)) return {most, -most, m, false};
        return {x, x, m, false};
    }
};
struct join_seen {
    template <class T>
    CCOLL_DEVICE seen_values<T> operator()(const seen_values<T>& a, const seen_values<T>& b) const
    {
        return {smaller(a.low, b.low), larger(a.high, b.high), larger(a.largest, b.largest),
                a.non_finite || b.non_finite};
    }
};

/// Begins to look at n values, n > 0.
/// @param missing  a value that does not count
/// @param into  where device and host can read it
/// @param room  (bytes, void*& scratch) -> cudaError_t: sets scratch to so many bytes
template <floating_element T, class Room>
cudaError_t begin_look(const T* values, std::size_t n, const missing_value& missing,
                       seen_values<looked_at<T>>* into, cudaStream_t stream, Room room)
{
    const auto run = [&](void* scratch, std::size_t& needed) {
        return cub::DeviceReduce::TransformReduce(scratch, needed, values, into, n, join_seen{},
                                                  look_at_value<T>::of_elements(missing),
                                                  seen_values<looked_at<T>>::none(), stream);
    };
    std::size_t needed = 0;
    if (const cudaError_t e = run(nullptr, needed); e != cudaSuccess) return e;
    void* scratch = nullptr;
    if (const cudaError_t e = room(needed, scratch); e != cudaSuccess) return e;
    return run(scratch, needed);
}

/// What look_at() would have added to `found`.
template <native_float T>
void add_to(value_survey& found, const seen_values<T>& s)
{
    if (found.range && s.low <= s.high) {
        found.lowest = std::min(found.lowest, static_cast<double>(s.low));
        found.highest = std::max(found.highest, static_cast<double>(s.high));
    }
    if (!found.magnitude) return;
    const bool infinite = found.counts_non_finite && s.non_finite;
    found.largest = std::max(
        found.largest, infinite ? std::numeric_limits<double>::infinity() : static_cast<double>(s.largest));
}

}  // namespace ccoll::detail::device
