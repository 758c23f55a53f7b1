// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of any codec run by the emulator, beside the host codec: the same chunks, and the same verdict on
// damaged frames. Chunks may stand in any order.
#pragma once

#include "emulated.hpp"
#include "same_bits.hpp"

#include "support/catch.hpp"
#include "support/fields.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace emulated {

/// What ordinary fields do not have: fill values, marked values, data on a grid, spikes, noise beside calm.
template <class T>
std::vector<fields::named<T>> unusual(std::size_t n)
{
    std::vector<fields::named<T>> all;
    const auto add = [&](const char* name, auto change) {
        std::vector<T> x = fields::smooth<T>(n);
        for (std::size_t i = 0; i < n; ++i) change(i, x[i]);
        all.push_back({name, x});
    };
    const auto coast = [](std::size_t i) {
        return static_cast<std::size_t>(40 * (1 + std::sin(static_cast<double>(i / 128) * 0.3))) + 10;
    };
    add("land of 1e20", [&](std::size_t i, T& v) { v = i % 128 < coast(i) ? T(1e20) : v; });
    add("land of NaN",
        [&](std::size_t i, T& v) { v = i % 128 < coast(i) ? std::numeric_limits<T>::quiet_NaN() : v; });
    add("land of -9999", [&](std::size_t i, T& v) { v = i % 128 < coast(i) ? T(-9999) : v; });
    add("two markers", [&](std::size_t i, T& v) {
        v = i % 128 < coast(i) ? T(-9999) : i % 777 < 3 ? T(-500) : v;
    });
    add("islands", [](std::size_t i, T& v) { v = i % 500 < 2 ? T(1e20) : i % 1300 == 7 ? T(-3e33) : v; });
    add("long runs", [](std::size_t i, T& v) { v = i % 3000 > 700 && i % 3000 < 1900 ? T(1e20) : v; });
    add("many values", [](std::size_t i, T& v) {
        v = i % 97 < 2 ? static_cast<T>(1e20 * (1 + static_cast<double>(i % 1000))) : v;
    });
    add("begins and ends special", [n](std::size_t i, T& v) { v = i < 300 || i + 300 > n ? T(1e30) : v; });
    add("all special", [](std::size_t i, T& v) {
        v = i % 2 == 0 ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
    });
    add("packed to 1/16", [](std::size_t, T& v) { v = std::nearbyint((v * 20 + 270) * 16) / 16; });
    add("packed, land of NaN", [](std::size_t i, T& v) {
        v = i % 200 < 60 ? std::numeric_limits<T>::quiet_NaN() : std::nearbyint((v * 20 + 270) * 16) / 16;
    });
    add("mostly equal", [](std::size_t i, T& v) { v = i % 41 == 0 ? v : T(0.5); });
    add("spikes", [](std::size_t i, T& v) { v = i % 3001 == 5 ? T(1e30) : v; });
    add("noise, few special", [r = fields::generator(3)](std::size_t i, T& v) mutable {
        v = i % 800 == 0 ? T(1e25) : static_cast<T>(r.unit());
    });
    add("noise and calm", [r = fields::generator(5)](std::size_t i, T& v) mutable {
        v = static_cast<T>(r.unit() * (i / 2048 % 2 == 0 ? 1 : 1e-3));
    });
    return all;
}

/// The host's frame, after everything has been compared with it.
template <class Codec, class T>
std::vector<std::byte> compare_with_host(std::span<const T> x, double eb, const emulator::options& how)
{
    std::vector<std::byte> host(ccoll::max_encoded_bytes<Codec, T>(x.size()));
    const ccoll::encode_result expected = ccoll::encode<Codec>(x, host, eb);
    REQUIRE(expected.code == ccoll::status::ok);
    host.resize(expected.bytes);
    const encoded found = encode_with<Codec>(x, eb, how);
    CHECK(found.told.code == 0);
    CHECK(found.clean);
    CHECK(found.told.raw_chunks == expected.raw_blocks);
    CHECK(found.told.special_values == expected.special_values);
    const std::vector<std::byte> ours_in_order = in_order(found.bytes, bytes_of_law<Codec>),
                                 theirs_in_order = in_order(host, bytes_of_law<Codec>);
    const auto differ = std::mismatch(ours_in_order.begin(), ours_in_order.end(), theirs_in_order.begin(),
                                      theirs_in_order.end());
    INFO("the first byte that differs is " << differ.first - ours_in_order.begin());
    CHECK((ours_in_order == theirs_in_order));  // not written out
    std::vector<T> theirs(x.size()), ours(x.size(), T(-77));
    REQUIRE(ccoll::decode<Codec>(host, theirs) == ccoll::status::ok);
    const auto check_values = [&] {
        for (std::size_t i = 0; i < x.size(); ++i)
            if (!same_bits(std::span(ours).subspan(i, 1), std::span(theirs).subspan(i, 1))) {
                INFO("the first value that differs is " << i << ": " << ours[i] << " instead of " << theirs[i]
                                                        << ", was " << x[i]);
                CHECK(same_bits(ours, theirs));
                break;
            }
    };
    CHECK(decode_with<Codec, T>(host, ours, how) == ccoll::status::ok);
    check_values();
    CHECK(ccoll::decode<Codec>(found.bytes, ours) == ccoll::status::ok);
    check_values();
    return host;
}

/// What became of damaged frames.
struct damaged_frames {
    unsigned accepted = 0, refused = 0, apart = 0;
};

/// Changes a few bits of a frame, mostly in front, where heads and codes are, and sometimes its length.
inline void damage(std::vector<std::byte>& frame, fields::generator& random)
{
    const std::size_t times = 1 + random.below(3);
    for (std::size_t i = 0; i < times; ++i) {
        const std::size_t reach =
            random.below(3) == 0 ? frame.size() : std::min<std::size_t>(frame.size(), 260);
        frame[random.below(3) == 0 ? frame.size() - 1 - random.below(reach) : random.below(reach)] ^=
            static_cast<std::byte>(1u << random.below(8));
    }
    if (random.below(10) == 0) frame.resize(random.below(frame.size()));
}

/// Damages a frame and reads it with host and device.
template <class Codec, class T>
void read_damaged(std::vector<std::byte> frame, std::size_t n, fields::generator& random, std::uint64_t seed,
                  damaged_frames& all)
{
    damage(frame, random);
    std::vector<T> theirs(n), ours(n);
    const ccoll::status expected = ccoll::decode<Codec>(frame, theirs),
                        found = decode_with<Codec, T>(frame, ours, {seed});
    if ((expected == ccoll::status::ok) != (found == ccoll::status::ok)) {
        ++all.apart;
        INFO("host: " << ccoll::describe(expected) << "; device: " << ccoll::describe(found) << "; seed "
                      << seed);
        CHECK(expected == found);
    } else if (expected == ccoll::status::ok) {
        ++all.accepted;
        INFO("seed " << seed);
        CHECK(same_bits(ours, theirs));
    } else {
        ++all.refused;
    }
}

}  // namespace emulated
