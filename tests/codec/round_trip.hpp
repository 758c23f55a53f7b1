// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// round_trip.hpp - what the tests of every codec ask: is each value within the bound, and was nothing else
// touched?
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include <ccoll/codec.hpp>

namespace round_trip {

/// For lists of test cases.
template <class CodecTag, class Element>
struct combination {
    using codec = CodecTag;
    using element = Element;
};

/// Not what any encoder writes by accident all the time.
inline constexpr std::byte guard{0xA5};

template <class T>
bool same_bits(const T& a, const T& b)
{
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Exactly |decoded - original| <= eb: the difference and its rounding error, not the rounded difference
/// alone.
template <class T>
bool within(T decoded, T original, double eb)
{
    if (!std::isfinite(original)) return same_bits(decoded, original);
    if (!std::isfinite(decoded)) return false;
    const long double a = decoded, b = -static_cast<long double>(original), sum = a + b, part = sum - a;
    const long double rest = (a - (sum - part)) + (b - part), bound = eb;
    const bool beyond = sum > 0 ? rest > 0 : rest < 0;
    return std::fabs(sum) < bound || (std::fabs(sum) == bound && !beyond);
}

template <class T>
std::size_t count_outside(const std::vector<T>& decoded, const std::vector<T>& original, double eb)
{
    std::size_t outside = decoded.size() == original.size() ? 0 : 1;
    for (std::size_t i = 0; i < original.size() && i < decoded.size(); ++i)
        outside += !within(decoded[i], original[i], eb);
    return outside;
}

/// From loose to none: parts of the range, powers of two because they leave no slack, one ulp around what T
/// can express, and the ends.
template <class T>
std::vector<double> bounds_for(double range)
{
    using limits = std::numeric_limits<T>;
    const auto smallest = static_cast<double>(limits::min());
    std::vector<double> bounds{
        0.1,    0.25,   3.0,  smallest, std::nextafter(smallest, 0.0),      2 * smallest, 1e-50,
        1e-310, 5e-324, 1e38, 3.5e38,   static_cast<double>(limits::max()), 1e39,         9.9e299};
    for (const double part :
         {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 0.25, 0.5, 1.0, 0x1p-10, 0x1p-23, 0x1p-52})
        bounds.push_back(part * range);
    for (double& eb : bounds)
        if (eb >= 1e300) eb = 9.9e299;  // beyond lies bad_bound
    return bounds;
}

/// The frame alone, in memory of exactly its size, so that a sanitizer sees every step beyond it.
template <class Codec, class T>
std::vector<std::byte> frame_of(const std::vector<T>& x, double eb)
{
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec, T>(x.size()));
    const auto result = ccoll::encode<Codec>(x, frame, eb);
    if (result.code != ccoll::status::ok) return {};
    return {frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(result.bytes)};
}

/// The values of a frame; throws if it does not decode.
template <class Codec, class T>
std::vector<T> decoded(const std::vector<std::byte>& frame, std::size_t n)
{
    std::vector<T> y(n);
    if (const ccoll::status s = ccoll::decode<Codec>(frame, y); s != ccoll::status::ok)
        throw std::runtime_error(ccoll::describe(s));
    return y;
}

struct outcome {
    std::size_t outside = 0;  ///< values that are not within the bound
    /// Nothing written beside dst or out, nothing encoded beyond max_encoded_bytes.
    bool kept_to_its_room = false;
    ccoll::encode_result encoded;
    ccoll::status decoded = ccoll::status::ok;

    bool good() const
    {
        return outside == 0 && kept_to_its_room && encoded.code == ccoll::status::ok &&
               decoded == ccoll::status::ok;
    }
};

/// Encodes to an address that is `shift` bytes off, decodes from one, between guards.
template <class Codec, class T>
outcome check(const std::vector<T>& x, double eb, std::size_t shift = 0)
{
    outcome o;
    const std::size_t room = ccoll::max_encoded_bytes<Codec, T>(x.size()), margin = 80;
    std::vector<std::byte> memory(shift + room + margin, guard);
    const auto dst = ccoll::byte_span(memory).subspan(shift, room);
    o.encoded = ccoll::encode<Codec>(x, dst, eb);
    o.kept_to_its_room = o.encoded.bytes <= room;
    for (std::size_t i = 0; i < memory.size(); ++i)
        if (i < shift || i >= shift + room) o.kept_to_its_room = o.kept_to_its_room && memory[i] == guard;
    if (o.encoded.code != ccoll::status::ok) return o;

    T marker;
    std::memset(&marker, 0xA5, sizeof marker);
    std::vector<T> y(x.size() + 2, marker);
    o.decoded = ccoll::decode<Codec>(dst.first(o.encoded.bytes), std::span(y).subspan(1, x.size()));
    o.kept_to_its_room = o.kept_to_its_room && same_bits(y.front(), marker) && same_bits(y.back(), marker);
    o.outside = count_outside(std::vector<T>(y.begin() + 1, y.end() - 1), x, eb);
    return o;
}

/// FNV-1a: one number that stands for many bytes.
inline std::uint64_t hash(const std::vector<std::byte>& bytes)
{
    std::uint64_t h = 0xcbf29ce484222325u;
    for (const std::byte b : bytes) h = (h ^ static_cast<std::uint64_t>(b)) * 0x100000001b3u;
    return h;
}

}  // namespace round_trip
