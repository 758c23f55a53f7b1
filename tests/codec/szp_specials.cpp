// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/specials.hpp, codec/szp/movement.hpp: values that no grid holds, and markers, cost a mask; they come back bit for bit.
#include "support/catch.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"

#include <ccoll/codec/szp/coder.hpp>

namespace szp_specials_cases {

using namespace ccoll::policies;
using ccoll::status;
namespace specials = ccoll::detail::specials;

namespace {

using C = Codec::SZp;
using bytes = std::vector<std::byte>;

/// A smooth field with a little noise, of a range of about 40, on an offset.
template <class T>
std::vector<T> sea(std::size_t n)
{
    fields::generator random(3);
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto t = static_cast<double>(i);
        x[i] = static_cast<T>(15 + 12 * std::sin(t / 700) + 6 * std::sin(t / 37 + 1) + 0.4 * random.unit());
    }
    return x;
}
/// Continents and islands on rows of 720 values.
bool is_land(std::size_t i)
{
    const double x = static_cast<double>(i % 720) / 720 * 6.2832, y = static_cast<double>(i / 720) / 40;
    return std::sin(2 * x + 1) * std::cos(y) + 0.5 * std::sin(5 * x + y) + 0.3 * std::sin(11 * x - 2 * y) > 0.6;
}
template <class T>
std::vector<T> with_land(std::vector<T> x, T marker)
{
    for (std::size_t i = 0; i < x.size(); ++i)
        if (is_land(i)) std::memcpy(&x[i], &marker, sizeof marker);
    return x;
}
template <class T>
double bits_per_value(const std::vector<T>& x, double eb)
{
    const auto outcome = round_trip::check<C>(x, eb);
    CHECK(outcome.good());
    return 8.0 * static_cast<double>(outcome.encoded.bytes) / static_cast<double>(x.size());
}
template <class T>
std::size_t count_land(std::size_t n)
{
    std::size_t land = 0;
    for (std::size_t i = 0; i < n; ++i) land += is_land(i);
    return land;
}

}  // namespace

TEMPLATE_TEST_CASE("a field of SZp with missing values needs 0.4 bits more than one without, whatever marks them", "[codec][szp][specials]",
                   float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    const auto clean = sea<T>(100000);
    const std::size_t land = count_land<T>(clean.size());
    REQUIRE(land > clean.size() / 10);
    REQUIRE(land < clean.size() / 2);
    for (const double eb : {4.0, 0.4, 0.04, 0.004}) {
        const double without = bits_per_value(clean, eb);
        for (const T marker : {T(1e20), T(9.96921e36), T(-1e34), limits::quiet_NaN(), limits::infinity(), -limits::infinity(),
                               limits::max(), T(-9999), T(-32768), T(9999)}) {
            INFO("eb = " << eb << ", marker " << marker);
            const auto x = with_land(clean, marker);
            CHECK(bits_per_value(x, eb) <= without + 0.4);
            const auto outcome = round_trip::check<C>(x, eb);
            CHECK(outcome.encoded.special_values >= land);
            CHECK(outcome.encoded.special_values < land + land / 100);
            const bytes frame = round_trip::frame_of<C>(x, eb);
            std::vector<T> y(x.size());
            REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
            std::size_t changed = 0;
            for (std::size_t i = 0; i < x.size(); ++i) changed += is_land(i) && !round_trip::same_bits(x[i], y[i]);
            CHECK(changed == 0);
        }
    }
}

TEMPLATE_TEST_CASE("a few special values in a quiet field of SZp cost little", "[codec][szp][specials]", float, double)
{
    using T = TestType;
    std::vector<T> x(167040);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<T>(250 + 30 * std::sin(static_cast<double>(i) / 9000) + (i % 97 == 5 ? 3 : 0));
    const double without = bits_per_value(x, 6.0);
    REQUIRE(without < 0.5);
    for (std::size_t k = 0; k < 20; ++k) x[k * 8347 + 13] = T(1e20);
    CHECK(bits_per_value(x, 6.0) <= 1.1 * without);
}

TEMPLATE_TEST_CASE("equal special values of a chunk of SZp are stored once, others one by one", "[codec][szp][specials]", float, double)
{
    using T = TestType;
    using word = fields::word<T>;
    const std::size_t n = 8192;
    const auto clean = sea<T>(n);
    const auto section_of = [&](const std::vector<T>& x) {
        const bytes frame = round_trip::frame_of<C>(x, 0.04);
        CHECK(round_trip::check<C>(x, 0.04).good());
        return 4 * std::size_t{ccoll::load<std::uint32_t>(frame, frame_edit::start(1)) >> 12 & 0x3ffff};
    };
    CHECK(section_of(clean) == 0);
    auto two = clean, own = clean;
    for (std::size_t i = 3; i < n; i += 32) {  // every block: 64 bytes say so; two bytes each for where
        two[i] = T(1e20);
        two[i + 9] = std::numeric_limits<T>::infinity();
        const auto nan = std::bit_cast<word>(std::numeric_limits<T>::quiet_NaN());
        fields::set_bits(own[i], static_cast<word>(nan + i));
    }
    CHECK(section_of(two) == 2 * (4 + 64 + 256 * 2 + sizeof(T)));
    CHECK(section_of(own) == 4 + 64 + 256 * 2 + 256 * sizeof(T));
    auto islands = clean;
    for (std::size_t i = 0; i < n; i += 1024)
        for (const std::size_t j : {1u, 5u, 6u}) islands[i + j] = T(1e20);
    CHECK(section_of(islands) == 4 + 8 + 8 * 4 + sizeof(T));
}

TEMPLATE_TEST_CASE("SZp takes any mixture of special values out of a chunk and puts them back, the same with every instruction set",
                   "[codec][szp][specials]", float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    using word = fields::word<T>;
    fields::generator random(41);
    const T kinds[] = {limits::quiet_NaN(),
                       limits::infinity(),
                       -limits::infinity(),
                       T(1e20),
                       T(-1e34),
                       limits::max(),
                       T(-9999),
                       T(3e30),
                       T(-0.0),
                       T(32768),
                       T(1e12)};
    const ccoll::isa before = ccoll::isa_in_use();
    for (int trial = 0; trial < 400; ++trial) {
        const std::size_t n = trial % 5 == 0 ? 8192 + random.below(300) : 1 + random.below(700);
        auto x = trial % 3 == 0 ? fields::smooth<T>(n) : trial % 3 == 1 ? sea<T>(n) : std::vector<T>(n, T(3.25));
        const std::size_t different = 1 + random.below(6), rare = 1 + random.below(60);
        for (std::size_t i = 0; i < n;) {
            const std::size_t length = 1 + random.below(random.below(3) == 0 ? 100 : 5);
            const T one = kinds[random.below(different) % std::size(kinds)];
            if (random.below(rare) == 0)
                for (std::size_t j = i; j < std::min(n, i + length); ++j) {
                    std::memcpy(&x[j], &one, sizeof one);
                    if (trial % 7 == 0 && std::isnan(one))  // payloads of their own
                        fields::set_bits(x[j], static_cast<word>(std::bit_cast<word>(limits::quiet_NaN()) + random.below(1000)));
                }
            i += length;
        }
        const double eb = std::pow(10.0, -static_cast<double>(random.below(7)));
        INFO("trial " << trial << ", n = " << n << ", eb = " << eb);
        bytes first;
        for (const ccoll::isa i : ccoll::every_isa) {
            if (ccoll::use_isa(i) != i) continue;
            CHECK(round_trip::check<C>(x, eb).good());
            const bytes frame = round_trip::frame_of<C>(x, eb);
            if (first.empty()) first = frame;
            CHECK(frame == first);
        }
        ccoll::use_isa(before);
    }
}

TEMPLATE_TEST_CASE("a chunk of SZp that is constant has the bytes of one that is looked at value by value", "[codec][szp]", float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    // 1000 values are encoded one by one, 8192 are not. Neither codes nor the head of such a chunk depend on how many there are.
    for (const double eb : {1e-4, 0.3, 7.0})
        for (const T value : {T(0), T(-0.0), T(3.25), T(-3.25), T(0.1), T(-1234.567), T(1e-30), limits::denorm_min(), T(1e7), T(-1e12),
                              T(1e20), limits::max(), limits::infinity(), limits::quiet_NaN()}) {
            INFO("eb = " << eb << ", value " << value);
            const auto chunk_of = [&](const std::vector<T>& x) {
                const bytes frame = round_trip::frame_of<C>(x, eb);
                CHECK(round_trip::check<C>(x, eb).good());
                ccoll::frame_view view;
                REQUIRE(ccoll::read_frame(frame, view) == status::ok);
                const auto piece = view.chunk(0);
                return bytes(piece.data.begin(), piece.data.end());
            };
            const bytes few = chunk_of(std::vector<T>(1000, value)), many = chunk_of(std::vector<T>(8192, value));
            const bool special = (ccoll::load<std::uint32_t>(few, 0) >> 12 & 0x3ffff) != 0;
            if (special || few.size() >= 1000 * sizeof(T)) continue;  // with a mask per block
            REQUIRE(many.size() >= few.size());
            CHECK(std::equal(few.begin(), few.end(), many.begin()));
            for (std::size_t i = few.size(); i < many.size(); ++i) CHECK(many[i] == std::byte{0});
            auto nearly = std::vector<T>(8192, value);  // one value is not like the others
            nearly[5000] = T(5) + 4 * static_cast<T>(eb);
            CHECK(round_trip::check<C>(nearly, eb).good());
        }
}

TEMPLATE_TEST_CASE("a marker of SZp is taken out only where the chunk is shorter without it", "[codec][szp][specials]", float, double)
{
    using T = TestType;
    // Far from all other values, and so often that a mask costs more than the jumps: two values in turn.
    std::vector<T> in_turn(8192);
    for (std::size_t i = 0; i < in_turn.size(); ++i) in_turn[i] = i % 2 == 0 ? T(0.3) : T(-20.4);
    CHECK(round_trip::check<C>(in_turn, 0.5).encoded.special_values == 0);
    // Values that are nearly equal are no marker.
    auto near = fields::smooth<T>(8192);
    for (std::size_t i = 0; i < near.size(); ++i)
        if (i % 100 < 40) near[i] = static_cast<T>(-50 + 1e-5 * static_cast<double>(i % 2));
    const auto outcome = round_trip::check<C>(near, 1e-3);
    CHECK(outcome.good());
    CHECK(outcome.encoded.special_values == 0);
}

TEST_CASE("SZp takes a marker that f32 cannot hold on the common grid out by the rules, whether it is guessed or found",
          "[codec][szp][specials][isa]")
{
    // Portable code finds it by encoding the chunk as it is. The other sets guess it.
    fields::generator random(43);
    const float kinds[] = {-9999.0f, -32768.0f, -999.0f, 9999.0f, 12345.678f, -99.0f, 1e5f, 65535.0f};
    const ccoll::isa before = ccoll::isa_in_use();
    std::size_t with_marker = 0;
    for (int trial = 0; trial < 1500; ++trial) {
        const std::size_t n = trial % 4 == 0 ? 1 + random.below(8192) : 8192;
        const double rough = std::exp(-8 * random.unit()), keeps = trial % 2 == 0 ? 0.9 : 0, eb = std::exp(-2 - 10 * random.unit());
        const float marker = kinds[random.below(8)], other = kinds[random.below(8)];
        std::vector<float> x(n);
        double slope = 0, value = 0;
        for (float& v : x) {
            slope = keeps * slope + rough * (random.unit() + random.unit() - 1);
            value = 0.999 * value + slope;
            v = static_cast<float>(value);
        }
        const std::size_t longest = trial % 6 < 4 ? 100 : trial % 6 == 4 ? 3 : 1000, share = 1 + random.below(trial % 3 == 1 ? 4 : 50);
        for (std::size_t i = 0; i < n;) {
            const std::size_t end = std::min(n, i + 1 + random.below(longest));
            if (random.below(share) == 0)
                std::fill(x.begin() + static_cast<std::ptrdiff_t>(i), x.begin() + static_cast<std::ptrdiff_t>(end), marker);
            i = end;
        }
        if (trial % 10 == 0) x[random.below(n)] = std::numeric_limits<float>::quiet_NaN();
        if (trial % 10 == 1) x[random.below(n)] = other;
        if (trial % 8 == 2)
            for (float& v : x) v = std::nearbyint(v * 64) / 64;
        INFO("trial " << trial << ", n = " << n << ", marker " << marker << ", eb = " << eb);
        bytes first;
        for (const ccoll::isa i : ccoll::every_isa) {
            if (ccoll::use_isa(i) != i) continue;
            const bytes frame = round_trip::frame_of<C>(x, eb);
            if (first.empty()) first = frame;
            CHECK(frame == first);
        }
        with_marker += round_trip::check<C>(x, eb).encoded.special_values > 1;
        ccoll::use_isa(before);
    }
    CHECK(with_marker > 500);
}

namespace {

/// n values of which those that `is_special` says are special, through a section and back. @return its bytes; 0 if anything is wrong
template <class T, class IsSpecial>
std::size_t section_bytes(std::size_t n, bool own, IsSpecial is_special)
{
    std::vector<T> x(n), y(n, T(7));
    for (std::size_t i = 0; i < n; ++i) x[i] = is_special(i) ? (own ? static_cast<T>(1e30 * static_cast<double>(i + 1)) : T(1e30)) : T(7);
    specials::places at;
    std::vector<T> others(n);
    specials::split(x.data(), n, specials::rule<T>{ccoll::detail::fields_of<T>::of(T(1e20))}, at, others.data());
    for (std::size_t i = 0; i < n; ++i)
        if (others[i] != (is_special(i) ? T(0) : T(7))) return 0;
    std::size_t expected = 0;
    for (std::size_t i = 0; i < n; ++i) expected += is_special(i);
    if (at.values != expected || expected == 0) return 0;
    std::vector<std::uint8_t> room(n * sizeof(T) + 4096, 0xA5);
    const std::uint8_t* const end = specials::write(x.data(), n, at, room.data(), room.data() + room.size());
    if (end == nullptr) return 0;
    const auto size = static_cast<std::size_t>(end - room.data());
    if (size % 4 != 0) return 0;
    // Not in less room, and in exactly that.
    if (specials::write(x.data(), n, at, room.data(), room.data() + size - 1) != nullptr) return 0;
    if (specials::write(x.data(), n, at, room.data(), room.data() + size) != end) return 0;
    const std::vector<std::uint8_t> section(room.data(), room.data() + size);  // a sanitizer sees every step beyond
    if (!specials::read(section.data(), section.size(), y.data(), n)) return 0;
    return x == y ? size : 0;
}

}  // namespace

TEMPLATE_TEST_CASE("a section of special values has every form of block, for every count", "[codec][specials]", float, double)
{
    using T = TestType;
    for (const std::size_t n : {1u, 5u, 31u, 32u, 33u, 63u, 70u, 500u, 8160u, 8191u, 8192u})
        for (const bool own : {false, true}) {
            INFO("n = " << n << ", own = " << own);
            const std::size_t numbers = ((n + 31) / 32 + 15) / 16 * 4;  // two bits per block
            const std::size_t values = own || n < 4 ? n : 1;
            CHECK(section_bytes<T>(n, own, [](std::size_t) { return true; }) == 4 + numbers + values * sizeof(T));
            CHECK(section_bytes<T>(n, own, [](std::size_t i) { return i % 5 == 0; }) > 0);       // masks
            CHECK(section_bytes<T>(n, own, [](std::size_t i) { return i % 32 < 7; }) > 0);       // runs
            CHECK(section_bytes<T>(n, own, [](std::size_t i) { return i % 32 != 4; }) > 0);      // all but a run
            CHECK(section_bytes<T>(n, own, [n](std::size_t i) { return i == n - 1; }) > 0);      // one alone
            CHECK(section_bytes<T>(n, own, [](std::size_t i) { return i % 100 < 60; }) > 0);     // all forms
            CHECK(section_bytes<T>(n, own, [](std::size_t i) { return i / 32 % 3 == 0; }) > 0);  // whole blocks
        }
}

TEMPLATE_TEST_CASE("any bytes are a section of special values, or none, and nothing beside the values is touched",
                   "[codec][specials][total]", float, double)
{
    using T = TestType;
    fields::generator random(5);
    std::size_t accepted = 0;
    for (int trial = 0; trial < 20000; ++trial) {
        const std::size_t n = 1 + random.below(100);
        std::vector<T> y(n);
        std::vector<std::uint8_t> section(4 * random.below(12));
        for (auto& b : section) b = random.below(3) == 0 ? static_cast<std::uint8_t>(random.below(5)) : std::uint8_t{0};
        if (trial % 4 == 0)
            for (auto& b : section) b = static_cast<std::uint8_t>(random.bits());
        accepted += specials::read(section.data(), section.size(), y.data(), n) && !section.empty();
    }
    CHECK(accepted > 0);
    // Each fault alone, in a section of one run in the first of three blocks.
    std::vector<T> y(70);
    const auto with = [&](std::uint32_t head, std::uint32_t numbers, std::uint32_t run) {
        std::vector<std::uint8_t> s(12 + sizeof(T));
        std::memcpy(s.data(), &head, 4);
        std::memcpy(s.data() + 4, &numbers, 4);
        std::memcpy(s.data() + 8, &run, 4);
        return specials::read(s.data(), s.size(), y.data(), y.size());
    };
    constexpr std::uint32_t one_run = 1u << 9, dense = 1u << 27, own = 1u << 28;
    constexpr std::uint32_t of_4 = 2u | 5u << 5;  // values 2 to 5
    CHECK(with(one_run, 0, of_4));
    CHECK(with(one_run, 2, 2u | 5u << 5));
    CHECK(with(one_run | dense, 2, of_4));
    CHECK(with(1u << 0, 0, 0x10));                       // a mask
    CHECK_FALSE(with(0, 0, of_4));                       // no block
    CHECK_FALSE(with(one_run | 1u << 29, 0, of_4));      // a bit without a meaning
    CHECK_FALSE(with(one_run | own, 0, of_4));           // too few values
    CHECK_FALSE(with(2u << 9, 0, of_4));                 // the same block twice
    CHECK_FALSE(with(one_run, 3, of_4));                 // no such block
    CHECK_FALSE(with(one_run | dense, 1, of_4));         // of another form
    CHECK_FALSE(with(one_run | dense, 2 | 8, of_4));     // two of them
    CHECK_FALSE(with(one_run, 0, 5u | 2u << 5));         // ends before it begins
    CHECK_FALSE(with(one_run, 0, of_4 | 1u << 11));      // a bit without a meaning
    CHECK_FALSE(with(one_run, 2, 2u | 6u << 5));         // behind the last value
    CHECK_FALSE(with(one_run, 0, 31u << 5 | 1u << 10));  // all but all
    CHECK_FALSE(with(1u << 0, 0, 0));                    // an empty mask
    CHECK_FALSE(with(1u << 0, 2, 0x40));                 // a mask behind the last value
}

}  // namespace szp_specials_cases
