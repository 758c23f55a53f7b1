// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/error_bound.hpp - floor 1. The error bound as a policy. It is absolute or relative, holds per
// compression or for the result, and is known at compile time or given with the call.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

/// A double that can be a template argument with every supported compiler (clang before 18 refuses `template
/// <double>`).
///
/// The host pass of nvcc writes such an argument out again from its stored member. The member is a scoped
/// enumeration, and the constructor that takes it back therefore accepts nothing that a user could write by
/// accident: no integer converts to it.
struct literal {
    enum class f64_bits : std::uint64_t {};

    constexpr literal(double value) : bits(f64_bits{std::bit_cast<std::uint64_t>(value)}) {}
    constexpr literal(int value)
        : literal(static_cast<double>(value)) {}  // clang 14 does not convert int -> double -> literal
    constexpr literal(f64_bits stored) : bits(stored) {}

    constexpr double value() const { return std::bit_cast<double>(static_cast<std::uint64_t>(bits)); }

    f64_bits bits;  // public, because a template argument may have no private member
};

/// absolute: in the unit of the data.  relative: a fraction of the global value range.  rate: bits per value,
/// without a bound.
enum class bound_kind { none, absolute, relative, rate };

template <bound_kind Kind>
struct bound_tag : policy<axis::bound> {
    static constexpr bound_kind kind = Kind;
    static constexpr bool given_at_run_time = false;
    static constexpr bool end_to_end = false;
    static constexpr bool of_magnitude = false;
    static constexpr int bits = 0;           ///< of FixedBits
    static constexpr std::size_t block = 0;  ///< elements that share a scale; 0: all of the vector
    static constexpr double value = 0;
};

/// What shares a scale if no Block was named. Users do not write it.
struct whole_vector {};

namespace policies {

/// |decoded - original| <= E after every compression, in the unit of the data. What this means for the result
/// of a collective is in report::worst_case_error (docs/error_bounds.md).
template <literal E>
struct ErrorBound : bound_tag<bound_kind::absolute> {
    static constexpr const char* name = "ErrorBound";
    static constexpr double value = E.value();
};

/// Like ErrorBound, but the bound is an argument of the call, after the communicator: a floating-point
/// number, the same on all ranks.
struct RuntimeBound : bound_tag<bound_kind::absolute> {
    static constexpr const char* name = "RuntimeBound";
    static constexpr bool given_at_run_time = true;
};

/// The bound is E times the range of the inputs of all ranks: the largest minus the smallest finite value,
/// without fill values such as 1e20 (docs/error_bounds.md). A marker such as -9999 is a value like any other:
/// it widens the range, and with it the bound (docs/missing_values.md). Cost: one pass over the data, and
/// log2(p) small messages by which the ranks agree on the range.
/// If there is no range (constant or empty data), the bound is tiny: 16 times the smallest normal number if
/// the data are 0 or so large that they stay exact with it, otherwise the smallest normal number.
template <literal E>
struct RelativeBound : bound_tag<bound_kind::relative> {
    static constexpr const char* name = "RelativeBound";
    static constexpr double value = E.value();
};

/// Like RelativeBound, but the fraction is an argument of the call, as with RuntimeBound.
struct RuntimeRelativeBound : bound_tag<bound_kind::relative> {
    static constexpr const char* name = "RuntimeRelativeBound";
    static constexpr bool given_at_run_time = true;
};

/// Each so many elements of a vector, from the first one on. @see FixedBits
template <std::size_t Elements>
struct Block {
    static_assert(Elements >= 32 && Elements <= 65536 && std::has_single_bit(Elements),
                  "ccoll::Block: a block has 32, 64, 128, ... or 65536 elements");
};

/// The bound is 2^-Bits times the largest magnitude of the inputs of all ranks, so that a value has about
/// Bits bits: the steps of a codec on a grid, such as SZp, run from -2^(Bits-1) to 2^(Bits-1). A sum of p
/// ranks has up to log2(p) bits more. This is what is wanted where the size of messages is given and the
/// scale of the data is not, as with gradients. Otherwise it is a RelativeBound: what is said there of its
/// cost, of fill values and of constant data holds. Data that repeat or are smooth take fewer bits.
/// With Block<n> each n elements have a scale of their own: see there.
template <int Bits, class Scale = whole_vector>
struct FixedBits : bound_tag<bound_kind::relative> {
    static_assert(Bits >= 2 && Bits <= 50, "ccoll::FixedBits: a value takes 2 to 50 bits");
    static constexpr const char* name = "FixedBits";
    static constexpr int bits = Bits;
    static constexpr bool of_magnitude = true;
    static constexpr double value =
        0.5 / static_cast<double>(std::uint64_t{1} << Bits);  ///< of the range from -largest to largest
};

/// The bound of each block of elements is 2^-Bits times the scale of the block: the least power of two that
/// no finite value of it exceeds in magnitude, on any rank. So parts of a vector whose magnitudes differ,
/// such as the gradients of different layers, keep Bits bits each. NaN and infinities leave the scale as it
/// is.
///
/// Ranks agree on the scales before the first element is sent, by the maximum of a byte per block. They are
/// powers of two, so dividing by them is exact, and what is added are whole numbers of steps as without
/// blocks: the same bits whatever the algorithm and the order of the ranks are. Of allreduce, reduce and
/// reduce_scatter, for elements of two or four bytes. Blocks are those of the whole vector, wherever the
/// parts of a reduce_scatter begin in it, so each part has the bits that an allreduce gives it. A scale is at
/// least 2^-126: blocks of smaller values have that one. Cost: two passes over the data, a copy of them, and
/// (8 / Elements) bits per element and rank.
template <int Bits, std::size_t Elements>
struct FixedBits<Bits, Block<Elements>> : bound_tag<bound_kind::absolute> {
    static_assert(Bits >= 2 && Bits <= 24, "ccoll::FixedBits with blocks: a value takes 2 to 24 bits");
    static constexpr const char* name = "FixedBits";
    static constexpr int bits = Bits;
    static constexpr std::size_t block = Elements;
    static constexpr double value = 1.0 / static_cast<double>(std::uint64_t{1} << Bits);  ///< of the scale
};

/// The bound holds for the *result* of the call instead of each compression: the library divides it by the
/// number of errors that the schedule can add up.
template <class Bound>
struct EndToEnd : Bound {
    static constexpr const char* name = "EndToEnd";
    static constexpr bool end_to_end = true;
};

/// A number of bits per value instead of a bound, for codecs with a fixed rate (Codec::Zfp). Nothing is
/// promised of errors: report::worst_case_error is infinite.
template <int Bits>
struct FixedRate : bound_tag<bound_kind::rate> {
    static constexpr const char* name = "FixedRate";
    static constexpr double value = Bits;
};

}  // namespace policies

/// What a plan holds if no bound was named. Users do not write it.
struct no_bound : bound_tag<bound_kind::none> {
    static constexpr const char* name = "none";
};

/// Whether `eb` may be used as a bound; used at compile time and at run time. With bounds of 1e300 and above
/// the arithmetic could overflow. By its bits, because a processor that takes denormals as 0 would also
/// refuse denormal bounds. Those of positive numbers are in order.
constexpr bool is_bound(double eb) noexcept
{
    const auto bits = std::bit_cast<std::uint64_t>(eb);
    return bits != 0 && bits < std::bit_cast<std::uint64_t>(1e300);
}

}  // namespace ccoll
