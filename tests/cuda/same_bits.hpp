// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values compared bit by bit, so that NaN is equal to itself and -0 is not 0.
#pragma once

#include <cstring>
#include <span>

/// @param a, b  contiguous ranges of the same type of element
template <class A, class B>
bool same_bits(const A& a, const B& b)
{
    const std::span x(a), y(b);
    static_assert(sizeof(x[0]) == sizeof(y[0]));
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size_bytes()) == 0);
}
