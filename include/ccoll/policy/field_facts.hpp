// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/field_facts.hpp - floor 1. What codecs are told about a field beside its values.
#pragma once

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

/// Of a field that is encoded.
struct field_facts {
    double eb;              ///< the absolute bound
    field_strides strides;  ///< where its neighbours are, from which a codec may predict (codec_impl.hpp)
    missing_value missing = {};

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
};

}  // namespace ccoll
