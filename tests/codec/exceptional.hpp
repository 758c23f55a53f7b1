// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exceptional.hpp - what the tests of lossy codecs ask of values that are not finite, too large, or missing:
// chunks with some of them come back bit for bit, and the others within the bound.
#pragma once

#include "support/catch.hpp"

#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "codec/round_trip.hpp"
#include "support/fields.hpp"

namespace exceptional {

/// Of a chunk: all its bytes, or none if it travels raw.
using chunk = std::vector<std::byte>;

template <class C, class T>
ccoll::field_facts facts_of(double eb, std::optional<T> missing)
{
    if (!missing) return {eb};
    fields::word<T> bits;
    std::memcpy(&bits, &*missing, sizeof bits);
    return {eb, {}, {bits, true}};
}
template <class C, class T>
chunk chunk_of(const std::vector<T>& x, double eb, std::optional<T> missing = {})
{
    chunk all(x.size() * sizeof(T));
    const auto r = ccoll::codec_impl<C, T, ccoll::host_space>::encode_chunk(std::span<const T>(x), all,
                                                                            facts_of<C>(eb, missing));
    all.resize(r.code == ccoll::status::ok && r.bytes < all.size() ? r.bytes : 0);
    return all;
}
template <class C, class T>
std::vector<T> decoded(const chunk& from, const std::vector<T>& x, double eb)
{
    std::vector<T> y(x.size());
    if (from.empty()) return x;
    const chunk exactly(from);  // so that a sanitizer sees every step beyond
    REQUIRE(ccoll::codec_impl<C, T, ccoll::host_space>::decode_chunk(exactly, y, eb) == ccoll::status::ok);
    return y;
}

/// Does every value come back as it should?
template <class T>
bool is_good(const std::vector<T>& y, const std::vector<T>& x, double eb, std::optional<T> missing)
{
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool exactly = missing && round_trip::same_bits(x[i], *missing);
        if (exactly ? !round_trip::same_bits(y[i], x[i]) : !round_trip::within(y[i], x[i], eb)) return false;
    }
    return true;
}

/// Values that take the places of others: of a kind, in a share of all places.
template <class T>
std::vector<T> with(std::vector<T> x, const std::string& kind, double share, unsigned seed)
{
    fields::generator random(seed);
    const auto infinity = std::numeric_limits<T>::infinity();
    fields::word<T> bits;
    std::memcpy(&bits, &infinity, sizeof bits);
    for (T& v : x) {
        if (0.5 * random.unit() + 0.5 >= share) continue;
        if (kind == "1e20") v = T(1e20);
        else if (kind == "-9999") v = T(-9999);
        else if (kind == "infinities") v = random.below(2) == 0 ? infinity : -infinity;
        else if (kind == "NaN") v = std::numeric_limits<T>::quiet_NaN();
        else
            fields::set_bits(v, static_cast<fields::word<T>>(
                                    bits + 1 + random.below(kind == "few payloads" ? 3 : 100000)));
    }
    return x;
}

/// Chunks of the codec with 0.01 to 50 % exceptional values of each kind.
/// @param shorter  (kind, share, bytes with, bytes without them)
template <class C, class T, class Shorter>
void come_back(std::size_t n, double eb, Shorter shorter)
{
    const auto clean = fields::smooth<T>(n);
    const std::size_t usual = chunk_of<C>(clean, eb).size();
    REQUIRE(usual > 0);
    for (const std::string kind : {"1e20", "-9999", "infinities", "NaN", "few payloads", "many payloads"})
        for (const double share : {0.0001, 0.01, 0.1, 0.5}) {
            const auto x = with(clean, kind, share, 5);
            const std::optional<T> missing = kind == "-9999" ? std::optional<T>(T(-9999)) : std::nullopt;
            const chunk all = chunk_of<C>(x, eb, missing);
            INFO(kind << ", " << 100 * share << " %: " << all.size() << " bytes, " << usual << " without");
            CHECK(is_good(decoded<C>(all, x, eb), x, eb, missing));
            shorter(kind, share, all, usual);
        }
}

/// Each byte of a chunk changed, and each beginning of it: a status or values, and nothing beyond the chunk
/// is touched.
template <class C, class T>
void survives_damage(const chunk& all, std::size_t n, double eb)
{
    using impl = ccoll::codec_impl<C, T, ccoll::host_space>;
    std::vector<T> y(n);
    for (std::size_t i = 0; i < all.size(); ++i)
        for (const unsigned flip : {0x01u, 0x08u, 0x41u, 0x80u, 0xffu}) {
            chunk other = all;
            other[i] ^= static_cast<std::byte>(flip);
            const auto s = impl::decode_chunk(other, y, eb);
            CHECK((s == ccoll::status::ok || s == ccoll::status::corrupt));
        }
    for (std::size_t size = 0; size < all.size(); ++size)
        CHECK(impl::decode_chunk(chunk(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size)), y,
                                 eb) == ccoll::status::corrupt);
}

}  // namespace exceptional
