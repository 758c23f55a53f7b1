// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/error_bound.hpp - floor 1. The bound as a policy: absolute or relative, per compression or for the result, known at
// compile time or given with the call.
#pragma once

#include <bit>
#include <cstdint>

#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// A double that may be a template argument under every compiler of the matrix (clang < 18 refuses `template <double>`).
///
/// nvcc's host pass spells such an argument again from its stored member. That member is a scoped enumeration, so that the
/// constructor which takes it back accepts nothing a user could write by accident: no integer converts to it.
struct literal {
    enum class f64_bits : std::uint64_t {};

    constexpr literal(double value) : bits(f64_bits{std::bit_cast<std::uint64_t>(value)}) {}
    constexpr literal(int value) : literal(static_cast<double>(value)) {}  // clang 14 will not go int -> double -> literal
    constexpr literal(f64_bits stored) : bits(stored) {}

    constexpr double value() const { return std::bit_cast<double>(static_cast<std::uint64_t>(bits)); }

    f64_bits bits;  // public: a structural type has no private member
};

/// absolute: in the unit of the data.  relative: a fraction of the global value range.  rate: bits per value, no bound.
enum class bound_kind { none, absolute, relative, rate };

template <bound_kind Kind>
struct bound_tag : policy<axis::bound> {
    static constexpr bound_kind kind = Kind;
    static constexpr bool given_at_run_time = false;
    static constexpr bool end_to_end = false;
    static constexpr double value = 0;
};

namespace policies {

/// |decoded - original| <= E after every compression, same unit as the data. What that means for the result of a collective
/// is report::worst_case_error (docs/error_bounds.md).
template <literal E>
struct ErrorBound : bound_tag<bound_kind::absolute> {
    static constexpr const char* name = "ErrorBound";
    static constexpr double value = E.value();
};

/// As ErrorBound, with the bound as the last argument of the call.
struct RuntimeBound : bound_tag<bound_kind::absolute> {
    static constexpr const char* name = "RuntimeBound";
    static constexpr bool given_at_run_time = true;
};

/// E times the range (largest minus smallest finite value) of the inputs of all ranks. Costs one pass over the data and one
/// agreement of log2(p) small messages. Data without a range (constant, empty) take the smallest normal number as bound.
template <literal E>
struct RelativeBound : bound_tag<bound_kind::relative> {
    static constexpr const char* name = "RelativeBound";
    static constexpr double value = E.value();
};

/// The bound inside holds for the *result*: the library divides it by what the schedule adds up.
template <class Bound>
struct EndToEnd : Bound {
    static constexpr const char* name = "EndToEnd";
    static constexpr bool end_to_end = true;
};

/// Bits per value and no bound. For codecs that have a fixed rate only.
template <int Bits>
struct FixedRate : bound_tag<bound_kind::rate> {
    static constexpr const char* name = "FixedRate";
    static constexpr double value = Bits;
};

}  // namespace policies

/// What a plan holds when no bound was named. Not a policy that a user spells.
struct no_bound : bound_tag<bound_kind::none> {
    static constexpr const char* name = "none";
};

/// The one test of a bound, at compile time and at run time. Above 1e300 its arithmetic could overflow.
constexpr bool is_bound(double eb) noexcept { return eb > 0 && eb < 1e300; }

}  // namespace ccoll
