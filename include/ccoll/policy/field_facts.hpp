// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/field_facts.hpp - floor 1. What codecs are told about a field beside its values.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ccoll/base/stores.hpp>
#include <ccoll/policy/strides.hpp>

namespace ccoll::inline CCOLL_ABI {

/// The bits of the elements that stand for missing values, if there are any.
struct missing_value {
    std::uint64_t bits = 0;
    bool declared = false;

    friend constexpr bool operator==(const missing_value&, const missing_value&) = default;
};

namespace detail {

/// Elements of two bytes that stand for floats, which nobody reads or writes: where an addend is encoded, its
/// chunks are widened, and where a sum is decoded, they are rounded.
struct two_byte_elements {
    const float* floats = nullptr;  ///< `count` of them, for their addresses
    std::size_t count = 0;
    const void* from = nullptr;
    void* to = nullptr;
    void (*widen)(const void* from, std::size_t at, float* to, std::size_t n) noexcept = nullptr;
    void (*round)(const float* from, void* to, std::size_t at, std::size_t n) noexcept = nullptr;

    bool stand_for(const float* x) const noexcept
    {
        return reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(floats) <
               count * sizeof(float);
    }
    void read(const float* x, float* into, std::size_t n) const noexcept
    {
        widen(from, static_cast<std::size_t>(x - floats), into, n);
    }
    void write(const float* values, float* x, std::size_t n) const noexcept
    {
        round(values, to, static_cast<std::size_t>(x - floats), n);
    }
};

}  // namespace detail

/// Of a field that is encoded.
struct field_facts {
    double eb;              ///< the absolute bound
    field_strides strides;  ///< where its neighbours are, from which a codec may predict (codec_impl.hpp)
    missing_value missing = {};
    const detail::two_byte_elements* two_bytes = nullptr;  ///< of addends: what the elements may be

    constexpr field_facts(double bound, field_strides neighbours = {}, missing_value none = {}) noexcept
        : eb(bound), strides(neighbours), missing(none)
    {}
};

/// Of a field that is decoded.
struct decoded_facts {
    stores how = stores::cached;  ///< how values are written
    int divisor = 1;              ///< the values of a decoded sum are divided by it; missing ones are not
    missing_value missing = {};   ///< what stands for missing values in a decoded sum
    std::size_t behind = 0;       ///< bytes behind the values that are written next: they can be prefetched
    const detail::two_byte_elements* two_bytes = nullptr;  ///< of sums: what the elements may be
};

}  // namespace ccoll
