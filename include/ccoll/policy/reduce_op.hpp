// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/reduce_op.hpp - floor 1. Reduction operations: tags for the user, a plain struct for the engine.
#pragma once

#include <cstddef>

#include <ccoll/policy/buffer.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll {

/// How errors of the operands show in the result; docs/error_bounds.md derives the bounds from it.
/// adds: |error| <= sum of the errors.  selects: |error| <= the larger one.  unbounded: no absolute bound follows.
enum class error_growth { adds, selects, unbounded };

/// Base of every operation. `Linear`: the operation is a sum, so a homomorphic codec may add encoded streams in its place,
/// and `apply` is then not called.
/// A nonlinear operation of yours that only selects among its operands may say so: `static constexpr auto growth = ...`.
template <bool Linear>
struct op_tag : policy<axis::op> {
    static constexpr const char* name = "user operation";
    static constexpr bool linear = Linear;
    static constexpr bool divide_by_ranks = false;
    static constexpr error_growth growth = Linear ? error_growth::adds : error_growth::unbounded;
};

namespace policies::Op {
struct Sum : op_tag<true> {
    static constexpr const char* name = "Sum";
    template <class T> static constexpr T apply(T a, T b) { return a + b; }
};
/// Divides once, after the sum: dividing before it would make the same absolute bound p times weaker.
struct Average : Sum {
    static constexpr const char* name = "Average";
    static constexpr bool divide_by_ranks = true;
};
/// NaN wins: a rank that failed is not hidden by the others.
struct Min : op_tag<false> {
    static constexpr const char* name = "Min";
    static constexpr error_growth growth = error_growth::selects;
    template <class T> static constexpr T apply(T a, T b) { return a != a ? a : (b != b ? b : (b < a ? b : a)); }
};
struct Max : op_tag<false> {
    static constexpr const char* name = "Max";
    static constexpr error_growth growth = error_growth::selects;
    template <class T> static constexpr T apply(T a, T b) { return a != a ? a : (b != b ? b : (a < b ? b : a)); }
};
/// Exact codecs only: an absolute error of a factor is multiplied by the other factors.
struct Prod : op_tag<false> {
    static constexpr const char* name = "Prod";
    template <class T> static constexpr T apply(T a, T b) { return a * b; }
};
}  // namespace policies::Op

/// An operation as the engine sees it: values, no type.
template <element T>
struct reduction {
    void (*combine)(T* into, const T* left, const T* right, std::size_t n) noexcept = nullptr;
    bool divide_by_ranks = false;
    /// Two ranks that exchange operands must compute the same bits: the lower rank's operand stands on the left on both.
    bool theirs_on_the_left = false;

    /// into[i] = own[i] op theirs[i]; `into` may be either of them.
    void apply(T* into, const T* own, const T* theirs, std::size_t n) const noexcept
    {
        if (theirs_on_the_left) combine(into, theirs, own, n);
        else combine(into, own, theirs, n);
    }
};

template <class Tag, element T>
inline constexpr reduction<T> reduction_of{
    [](T* into, const T* left, const T* right, std::size_t n) noexcept {
        for (std::size_t i = 0; i < n; ++i) into[i] = Tag::apply(left[i], right[i]);
    },
    Tag::divide_by_ranks};

}  // namespace ccoll
