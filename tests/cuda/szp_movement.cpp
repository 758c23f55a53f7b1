// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device encoder and decoder of SZp for movement, under the emulator: the bytes and bits of the host codec.
#include "emulated.hpp"
#include "../catch.hpp"
#include "../fields.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

using namespace emulated;

namespace {

/// The forms of chunk that were met, so that a test can see that none is missing.
std::map<std::string, unsigned> met;

void note_forms(ccoll::const_byte_span frame)
{
    ccoll::frame_view view;
    REQUIRE(ccoll::read_frame(frame, view) == ccoll::status::ok);
    for (std::uint32_t i = 0; i < view.header.chunks; ++i) {
        const auto piece = view.chunk(i);
        if (piece.raw) {
            ++met["raw"];
            continue;
        }
        if (ccoll::detail::szp::kept::is_kept(piece.data)) {
            ++met["kept"];
            continue;
        }
        const ccoll::detail::szp::chunk_head head(ccoll::load<std::uint32_t>(piece.data, 0));
        const char* const kinds[] = {"narrow", "flat", "fine"};
        std::string form = kinds[static_cast<unsigned>(head.what)];
        if (head.alone) form += " alone";
        if (head.lists) form += " lists";
        if (head.escaped > 0) form += " specials";
        if (!head.packed && head.what != ccoll::detail::szp::kind::flat) form += " long codes";
        ++met[form];
    }
}

template <class T>
bool same(std::span<const T> a, std::span<const T> b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

template <class T>
void compare(std::span<const T> x, double eb, const emulator::options& how)
{
    std::vector<std::byte> host(ccoll::max_encoded_bytes<SZp, T>(x.size()));
    const ccoll::encode_result expected = encode_on_host<T>(x, host, eb);
    REQUIRE(expected.code == ccoll::status::ok);
    host.resize(expected.bytes);
    note_forms(host);
    const encoded found = encode(x, eb, how);
    CHECK(found.told.code == 0);
    CHECK(found.clean);
    CHECK(found.told.bytes == expected.bytes);
    CHECK(found.told.raw_chunks == expected.raw_blocks);
    CHECK(found.told.special_values == expected.special_values);
    const auto differ = std::mismatch(found.bytes.begin(), found.bytes.end(), host.begin(), host.end());
    INFO("the first byte that differs is " << differ.first - found.bytes.begin());
    CHECK(found.bytes == host);
    std::vector<T> theirs(x.size()), ours(x.size(), T(-77));
    REQUIRE(ccoll::decode<SZp>(host, theirs) == ccoll::status::ok);
    CHECK(decode<T>(host, ours, how) == ccoll::status::ok);
    for (std::size_t i = 0; i < x.size(); ++i)
        if (!same<T>(std::span(ours).subspan(i, 1), std::span(theirs).subspan(i, 1))) {
            INFO("the first value that differs is " << i << ": " << ours[i] << " instead of " << theirs[i] << ", was " << x[i]);
            CHECK(same<T>(ours, theirs));
            break;
        }
}

template <class T>
std::vector<fields::named<T>> unusual(std::size_t n)
{
    std::vector<fields::named<T>> all;
    const auto add = [&](const char* name, auto change) {
        std::vector<T> x = fields::smooth<T>(n);
        for (std::size_t i = 0; i < n; ++i) change(i, x[i]);
        all.push_back({name, x});
    };
    const auto coast = [](std::size_t i) { return static_cast<std::size_t>(40 * (1 + std::sin(static_cast<double>(i / 128) * 0.3))) + 10; };
    add("land of 1e20", [&](std::size_t i, T& v) { v = i % 128 < coast(i) ? T(1e20) : v; });
    add("land of NaN", [&](std::size_t i, T& v) { v = i % 128 < coast(i) ? std::numeric_limits<T>::quiet_NaN() : v; });
    add("land of -9999", [&](std::size_t i, T& v) { v = i % 128 < coast(i) ? T(-9999) : v; });
    add("two markers", [&](std::size_t i, T& v) { v = i % 128 < coast(i) ? T(-9999) : i % 777 < 3 ? T(-500) : v; });
    add("islands", [](std::size_t i, T& v) { v = i % 500 < 2 ? T(1e20) : i % 1300 == 7 ? T(-3e33) : v; });
    add("long runs", [](std::size_t i, T& v) { v = i % 3000 > 700 && i % 3000 < 1900 ? T(1e20) : v; });
    add("many values", [](std::size_t i, T& v) { v = i % 97 < 2 ? static_cast<T>(1e20 * (1 + static_cast<double>(i % 1000))) : v; });
    add("begins and ends special", [n](std::size_t i, T& v) { v = i < 300 || i + 300 > n ? T(1e30) : v; });
    add("all special",
        [](std::size_t i, T& v) { v = i % 2 == 0 ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN(); });
    add("packed to 1/16", [](std::size_t, T& v) { v = std::nearbyint((v * 20 + 270) * 16) / 16; });
    add("packed, land of NaN",
        [](std::size_t i, T& v) { v = i % 200 < 60 ? std::numeric_limits<T>::quiet_NaN() : std::nearbyint((v * 20 + 270) * 16) / 16; });
    add("mostly equal", [](std::size_t i, T& v) { v = i % 41 == 0 ? v : T(0.5); });
    add("spikes", [](std::size_t i, T& v) { v = i % 3001 == 5 ? T(1e30) : v; });
    add("noise, few special",
        [r = fields::generator(3)](std::size_t i, T& v) mutable { v = i % 800 == 0 ? T(1e25) : static_cast<T>(r.unit()); });
    add("noise and calm",
        [r = fields::generator(5)](std::size_t i, T& v) mutable { v = static_cast<T>(r.unit() * (i / 2048 % 2 == 0 ? 1 : 1e-3)); });
    return all;
}

template <class T>
void all_fields(std::size_t n, std::initializer_list<double> bounds, std::uint64_t seed)
{
    std::vector<fields::named<T>> list = fields::all<T>(n);
    for (auto& each : unusual<T>(n)) list.push_back(std::move(each));
    for (const auto& [name, values] : list)
        for (const double eb : bounds) {
            INFO(name << ", n " << n << ", bound " << eb << ", seed " << seed);
            compare<T>(values, eb, {seed++});
        }
}

}  // namespace

TEMPLATE_TEST_CASE("Emulated SZp writes the bytes of the host codec and reads its bits: all fields, bounds from loose to tight",
                   "[cuda][szp]", float, double)
{
    all_fields<TestType>(2 * 8192 + 100, {1e-1, 1e-3, 1e-6}, 1);
}

TEMPLATE_TEST_CASE("Emulated SZp writes the bytes of the host codec at every length around blocks and chunks, from any address",
                   "[cuda][szp]", float, double)
{
    std::uint64_t seed = 1;
    for (const std::size_t n :
         std::initializer_list<std::size_t>{0, 1, 2, 31, 32, 33, 63, 64, 100, 255, 257, 1000, 8160, 8191, 8192, 8193, 8224, 16384})
        for (const auto& field : {fields::smooth<TestType>(n + 1), fields::random<TestType>(n + 1), fields::non_finite<TestType>(n + 1)})
            for (const std::size_t from : std::initializer_list<std::size_t>{0, 1})
                for (const double eb : {1e-2, 1e-5}) {
                    INFO("n " << n << ", from " << from << ", bound " << eb);
                    compare<TestType>(std::span(field).subspan(from, n), eb, {seed++});
                }
}

TEST_CASE("Emulated SZp takes bounds at the ends of what there is", "[cuda][szp]")
{
    for (const double eb : {1e-320, 1e-44, 1e-38, 5e-38, 1e-30, 1e30, 1e38})
        for (const auto& [name, values] : fields::all<float>(9000)) {
            INFO(name << ", bound " << eb);
            compare<float>(values, eb, {7});
        }
    for (const double eb : {1e-320, 1e-307, 1e-300, 1e-12, 9e299})
        for (const auto& [name, values] : fields::all<double>(9000)) {
            INFO(name << ", bound " << eb);
            compare<double>(values, eb, {7});
        }
}

TEST_CASE("The tests above have met every form of a chunk for movement", "[cuda][szp]")
{
    all_fields<float>(8192 + 40, {3e-1, 1e-2, 1e-4}, 5);
    for (const char* form : {"raw", "narrow", "flat", "fine", "narrow alone", "narrow lists", "fine lists", "narrow specials",
                             "fine specials", "narrow alone specials", "flat specials", "narrow lists specials"}) {
        INFO(form);
        CHECK(met[form] > 0);
    }
}
