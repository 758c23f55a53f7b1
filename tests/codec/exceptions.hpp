// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exceptions.hpp - what the tests of exceptional values share: chunks, places of all kinds, and buffers as
// long as may be touched.
#pragma once

#include "support/catch.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "support/fields.hpp"
#include "support/isa.hpp"

#include <ccoll/codec/exceptions.hpp>

namespace exceptions_cases {

namespace exceptions = ccoll::detail::exceptions;
using exceptions::u32, exceptions::u64, exceptions::u8;
inline constexpr std::size_t any_changes = ~std::size_t{0};
using bytes = std::vector<u8>;

constexpr std::size_t sizes[] = {1, 2, 31, 32, 33, 64, 95, 1000, 8191, 8192};

/// Exactly these bytes on the heap, so that a sanitizer sees every step beyond.
struct exactly {
    std::size_t size;
    std::unique_ptr<u8[]> data;

    explicit exactly(std::size_t n) : size(n), data(new u8[n]) {}
    explicit exactly(const bytes& b, std::size_t n) : exactly(n) { std::copy_n(b.begin(), n, data.get()); }
    const u8* end() const { return data.get() + size; }
    ccoll::const_byte_span span() const { return {reinterpret_cast<const std::byte*>(data.get()), size}; }
};

template <class Is>
exceptions::places places_where(std::size_t n, Is is)
{
    exceptions::places at;
    at.blocks = exceptions::blocks_of(n);
    std::fill_n(at.masks, at.blocks, 0u);
    for (std::size_t i = 0; i < n; ++i)
        if (is(i)) {
            at.masks[i / 32] |= u32{1} << i % 32;
            ++at.values;
        }
    return at;
}
inline bool has(const exceptions::places& at, std::size_t i) { return (at.masks[i / 32] >> i % 32 & 1) != 0; }

/// Places of all kinds, at least one each.
inline std::vector<exceptions::places> all_places(std::size_t n, unsigned seed = 1)
{
    fields::generator random(seed);
    std::vector<exceptions::places> all;
    const auto add = [&](auto is) {
        all.push_back(places_where(n, is));
        if (all.back().values == 0) all.pop_back();
    };
    add([](std::size_t) { return true; });
    add([](std::size_t i) { return i == 0; });
    add([&](std::size_t i) { return i + 1 == n; });
    add([](std::size_t i) { return i % 32 >= 5 && i % 32 < 17; });  // one run in each block
    add([](std::size_t i) { return i % 32 < 7 || i % 32 > 20; });   // two runs
    add([](std::size_t i) { return i / 32 % 5 == 2; });             // whole blocks
    add([](std::size_t i) { return i / 32 % 3 == 1 && (i % 3 == 0 || i % 7 == 0); });  // masks
    add([](std::size_t i) { return i >= 4000 && i < 5555; });
    for (const std::size_t one_in : {100u, 10u, 2u})
        add([&](std::size_t) { return random.below(one_in) == 0; });
    add([&](std::size_t i) { return i / 32 % 2 == 0 ? random.below(3) == 0 : random.below(30) != 0; });
    return all;
}

template <class T>
std::vector<T> ordinary(std::size_t n)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(i % 17) - T(8);
    return x;
}
template <class T>
T from_bits(fields::word<T> bits)
{
    return std::bit_cast<T>(bits);
}
/// Value number k of many that differ: fill values, then NaN with payloads.
template <class T>
fields::word<T> many(std::size_t k)
{
    constexpr T first[] = {
        T(1e20), std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity(), T(0), -T(0),
        T(-9999)};
    if (k < std::size(first)) return std::bit_cast<fields::word<T>>(first[k]);
    return static_cast<fields::word<T>>(std::bit_cast<fields::word<T>>(std::numeric_limits<T>::infinity()) +
                                        k);
}

/// As decode_addend does it: quanta stand in the places of their values.
template <class T>
void apply_to(const exceptions::addend& a, double step, exceptions::i32 divisor,
              typename ccoll::detail::fields_of<T>::word missing, const exceptions::i64* quanta, T* x,
              std::size_t n)
{
    exceptions::counted_quanta<T> kept;
    for (std::size_t k = 0; a.counts() && k < exceptions::blocks_of(n); ++k)
        exceptions::each_bit(a.counted.masks[k], [&](std::size_t i) {
            const std::size_t at = exceptions::block_elements * k + i;
            kept.put(x, at, quanta[at]);
        });
    exceptions::apply<T>(a, step, divisor, missing, a.counts() ? &kept : nullptr, x, n);
}

}  // namespace exceptions_cases
