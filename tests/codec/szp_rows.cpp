// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/rows.hpp: frames of fields that say their shape are shorter, decode to the bits that frames without shape decode to, and are
// the same with every instruction set and number of threads.
#include "support/catch.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>

#include <ccoll/codec/szp/coder.hpp>
#include <ccoll/exec.hpp>

#include "codec/round_trip.hpp"
#include "support/fields.hpp"

namespace szp_rows_cases {

using namespace ccoll::policies;
using ccoll::status;
namespace szp = ccoll::detail::szp;

namespace {

using C = Codec::SZp;
constexpr std::size_t chunk = 8192;

/// Smooth along both directions, with rows of `row` values.
template <class T>
std::vector<T> field_of_rows(std::size_t n, std::size_t row)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double a = static_cast<double>(i % row), b = static_cast<double>(i / row);
        x[i] = static_cast<T>(20 * std::sin(0.11 * a + 0.02 * b) * std::cos(0.037 * a - 0.05 * b) + 3 * std::sin(0.53 * a) + 280);
    }
    return x;
}

/// Smooth along three directions, and busy in each plane, which repeats with small changes.
template <class T>
std::vector<T> field_of_planes(std::size_t n, std::size_t row, std::size_t plane)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double a = static_cast<double>(i % plane % row), b = static_cast<double>(i % plane / row), c = static_cast<double>(i / plane);
        x[i] = static_cast<T>(20 * std::sin(0.11 * a + 0.02 * b) * std::cos(0.037 * a - 0.05 * b + 0.01 * c) + std::sin(1.9 * a + 2.3 * b) +
                              280 + 0.3 * c);
    }
    return x;
}

/// A continent in all rows, with a coast that is not straight, and islands.
bool is_land(std::size_t i, std::size_t row)
{
    const double a = static_cast<double>(i % row) / static_cast<double>(row), b = static_cast<double>(i / row);
    return std::fabs(a - 0.3 - 0.05 * std::sin(0.4 * b)) < 0.1 + 0.02 * std::sin(1.9 * b) || i % 701 / 2 == 3;
}
template <class T>
std::vector<T> with_land(std::vector<T> x, std::size_t row, T marker)
{
    for (std::size_t i = 0; i < x.size(); ++i)
        if (is_land(i, row)) x[i] = marker;
    return x;
}

/// With rows, or planes as well; the last ones may be cut.
template <class T>
ccoll::shaped_view<const T> with_rows(const std::vector<T>& x, ccoll::field_strides strides)
{
    return {x, strides, x.size()};
}

template <class T>
std::vector<std::byte> frame_with_rows(const std::vector<T>& x, ccoll::field_strides strides, double eb)
{
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<C, T>(x.size()));
    const auto r = ccoll::encode<C>(with_rows(x, strides), frame, eb);
    REQUIRE(r.code == status::ok);
    frame.resize(r.bytes);
    return frame;
}
/// The first word of chunk `i`, and, if it has rows, their distance and that of its planes.
struct chunk_facts {
    szp::chunk_head head;
    szp::rows::distances above;

    chunk_facts(const std::vector<std::byte>& frame, std::size_t i) : head(0)
    {
        ccoll::frame_view view;
        REQUIRE(ccoll::read_frame(frame, view) == status::ok);
        const auto bytes = view.chunk(i).data;
        head = szp::chunk_head(ccoll::load<std::uint32_t>(bytes, 0));
        if (szp::rows::has_rows(head.what)) above = szp::rows::distances::of_word(ccoll::load<std::uint32_t>(bytes, 12));
    }
};
template <std::size_t Rank>
struct mapped {  // the part of std::mdspan's interface that counts
    const float* at;
    std::size_t extents[Rank], strides[Rank];

    const float* data_handle() const { return at; }
    std::size_t size() const
    {
        std::size_t all = 1;
        for (const std::size_t extent : extents) all *= extent;
        return all;
    }
    bool is_exhaustive() const { return true; }
    static constexpr std::size_t rank() { return Rank; }
    std::size_t extent(std::size_t d) const { return extents[d]; }
    std::size_t stride(std::size_t d) const { return strides[d]; }
};

}  // namespace

TEMPLATE_TEST_CASE("SZp stores a field that says its shape in fewer bits, and it decodes to the same values", "[codec][szp][rows]", float,
                   double)
{
    using T = TestType;
    const double eb = 0.02;
    for (const std::size_t row : {16u, 17u, 27u, 31u, 32u, 33u, 63u, 100u, 187u, 1440u, 4000u})
        for (const std::size_t n : {chunk, 3 * chunk + 1, 5 * chunk - 77}) {
            INFO("rows of " << row << ", " << n << " values");
            const auto x = field_of_rows<T>(n, row);
            const auto plain = round_trip::frame_of<C>(x, eb), frame = frame_with_rows(x, row, eb);
            CHECK(frame.size() < plain.size());
            if (row < 1000 && n % chunk == 0) CHECK(10 * frame.size() < 8 * plain.size());
            const auto y = round_trip::decoded<C, T>(frame, n);
            CHECK(round_trip::same_bits(y, round_trip::decoded<C, T>(plain, n)));
            CHECK(round_trip::count_outside(y, x, eb) == 0);
        }
}

TEMPLATE_TEST_CASE("SZp predicts from the plane before as well where a chunk holds several planes", "[codec][szp][rows][planes]", float,
                   double)
{
    using T = TestType;
    const double eb = 0.02;
    const ccoll::isa usual = ccoll::isa_in_use();
    for (const auto& [row, plane] : {std::pair{32u, 64u},
                                     {32u, 256u},
                                     {16u, 256u},
                                     {17u, 51u},
                                     {23u, 33u},
                                     {33u, 1023u},
                                     {40u, 1600u},
                                     {64u, 2048u},
                                     {50u, 1111u},
                                     {100u, 4000u}})
        for (const std::size_t n : {chunk, 3 * chunk + 1, 5 * chunk - 77}) {
            INFO("rows of " << row << ", planes of " << plane << ", " << n << " values");
            const auto x = field_of_planes<T>(n, row, plane);
            const auto plain = round_trip::frame_of<C>(x, eb), in_rows = frame_with_rows(x, row, eb);
            const auto frame = frame_with_rows(x, {row, plane}, eb);
            CHECK(frame.size() < in_rows.size());
            CHECK(frame.size() < plain.size());
            CHECK((chunk_facts(frame, 0).above == szp::rows::distances{row, plane}));
            const auto y = round_trip::decoded<C, T>(frame, n);
            CHECK(round_trip::same_bits(y, round_trip::decoded<C, T>(plain, n)));
            CHECK(round_trip::count_outside(y, x, eb) == 0);
            for (const ccoll::isa one : ccoll::every_isa) {
                if (ccoll::use_isa(one) != one) continue;
                INFO(ccoll::name_of(one));
                CHECK(frame_with_rows(x, {row, plane}, eb) == frame);
                CHECK(round_trip::same_bits(round_trip::decoded<C, T>(frame, n), y));
                ccoll::frame_view view;
                std::vector<T> past(n);
                REQUIRE(ccoll::frame_codec_of<C, T>.open(frame, n, view) == status::ok);
                CHECK(ccoll::frame_codec_of<C, T>.decode(view, past, ccoll::stores::streamed, {}) == status::ok);
                CHECK(round_trip::same_bits(past, y));
            }
            ccoll::use_isa(usual);
        }
}

TEMPLATE_TEST_CASE("SZp takes the two shortest strides that are as long as a block", "[codec][szp][rows][planes]", float, double)
{
    using T = TestType;
    // Vectors of three components on a grid of 16 x 20 x 28 points: the components of neighbours stand in the row before.
    const std::size_t n = 3 * 16 * 20 * 28;
    const auto grid = field_of_planes<T>(n / 3, 16, 320);
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = (grid[i / 3] - T(250)) * static_cast<T>(i % 3 + 1);
    const auto shape = ccoll::shaped(x, {28, 20, 16, 3});
    CHECK(shape.strides.of[0] == 3);
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<C, T>(n));
    frame.resize(ccoll::encode<C>(shape, frame, 0.02).bytes);
    CHECK((chunk_facts(frame, 0).above == szp::rows::distances{48, 960}));
    CHECK(10 * frame.size() < 8 * round_trip::frame_of<C>(x, 0.02).size());
    CHECK(round_trip::same_bits(round_trip::decoded<C, T>(frame, n), round_trip::decoded<C, T>(round_trip::frame_of<C>(x, 0.02), n)));

    // Planes that a chunk does not hold, or that it is not shorter with, change nothing.
    const auto in_rows = field_of_rows<T>(3 * chunk, 100);
    CHECK(frame_with_rows(in_rows, {100, 8192}, 0.02) == frame_with_rows(in_rows, 100, 0.02));
    CHECK(frame_with_rows(in_rows, {100, 8100}, 0.02) == frame_with_rows(in_rows, 100, 0.02));
    for (const std::size_t plane : {4000u, 8000u}) {
        CHECK((chunk_facts(frame_with_rows(in_rows, {100, plane}, 0.02), 1).above.row) == 100);
        CHECK((chunk_facts(frame_with_rows(in_rows, {100, plane}, 0.02), 1).above.plane) == 0);
    }
}

TEMPLATE_TEST_CASE("SZp writes and reads the same rows with every instruction set and number of threads", "[codec][szp][rows]", float,
                   double)
{
    using T = TestType;
    const ccoll::isa usual = ccoll::isa_in_use();
    for (const double eb : {0.02, 0.0015}) {  // of the second, differences do not fit 8 bits, and (f32) quanta hardly the grid
        const auto x = field_of_rows<T>(6 * chunk + 77, 187);
        const auto frame = frame_with_rows(x, 187, eb);
        const auto y = round_trip::decoded<C, T>(frame, x.size());
        for (const ccoll::isa one : ccoll::every_isa) {
            if (ccoll::use_isa(one) != one) continue;
            INFO(ccoll::name_of(one) << ", bound " << eb);
            CHECK(frame_with_rows(x, 187, eb) == frame);
            CHECK(round_trip::same_bits(round_trip::decoded<C, T>(frame, x.size()), y));
            ccoll::frame_view view;
            std::vector<T> past(x.size());
            REQUIRE(ccoll::frame_codec_of<C, T>.open(frame, x.size(), view) == status::ok);
            CHECK(ccoll::frame_codec_of<C, T>.decode(view, past, ccoll::stores::streamed, {}) == status::ok);
            CHECK(round_trip::same_bits(past, y));
        }
        ccoll::use_isa(usual);
        std::vector<std::byte> room(ccoll::max_encoded_bytes<C, T>(x.size()));
        const auto r = ccoll::encode<C>(with_rows(x, 187), room, eb, Exec::Threads<3>{});
        REQUIRE(r.code == status::ok);
        CHECK(std::vector<std::byte>(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(r.bytes)) == frame);
    }
}

TEMPLATE_TEST_CASE("SZp finds rows on lattices as well, however large or small their step", "[codec][szp][rows]", float, double)
{
    using T = TestType;
    const ccoll::isa usual = ccoll::isa_in_use();
    for (const int exponent : {-4, -100, 100, 110, 115}) {
        for (const std::size_t plane : {0u, 1870u}) {
            auto x = plane == 0 ? field_of_rows<T>(2 * chunk + 500, 187) : field_of_planes<T>(2 * chunk + 500, 187, plane);
            for (T& v : x) v = static_cast<T>(std::ldexp(std::nearbyint(v * 16), exponent));
            const double eb = std::ldexp(0.2, exponent);
            INFO("multiples of 2^" << exponent << ", planes of " << plane);
            const ccoll::field_strides strides(187, plane);
            const auto plain = round_trip::frame_of<C>(x, eb), frame = frame_with_rows(x, strides, eb);
            CHECK(10 * frame.size() < 9 * plain.size());
            const auto y = round_trip::decoded<C, T>(frame, x.size());
            CHECK(round_trip::count_outside(y, x, eb) == 0);
            CHECK(round_trip::same_bits(y, round_trip::decoded<C, T>(plain, x.size())));
            if (sizeof(T) == 4) {
                CHECK(round_trip::same_bits(y, x));
                CHECK(chunk_facts(frame, 0).head.what == szp::kind::fine_rows);
            }
            CHECK((chunk_facts(frame, 0).above == szp::rows::distances{187, plane}));
            for (const ccoll::isa one : ccoll::every_isa) {
                if (ccoll::use_isa(one) != one) continue;
                INFO(ccoll::name_of(one));
                CHECK(frame_with_rows(x, strides, eb) == frame);
                CHECK(round_trip::same_bits(round_trip::decoded<C, T>(frame, x.size()), y));
            }
            ccoll::use_isa(usual);
        }
    }
}

TEMPLATE_TEST_CASE("SZp has rows and planes at tight bounds, where f32 has grids of its own", "[codec][szp][rows][planes]", float, double)
{
    using T = TestType;
    const ccoll::isa usual = ccoll::isa_in_use();
    const std::size_t n = 3 * chunk + 500;
    for (const std::size_t plane : {0u, 1870u})
        for (const bool missing : {false, true})
            for (const double eb : {4e-3, 1e-3, 1e-4, 8e-5}) {  // 280 is 2^15 to nearly 2^21 steps
                INFO("bound " << eb << ", planes of " << plane << (missing ? ", missing values" : ""));
                auto x = plane == 0 ? field_of_rows<T>(n, 187) : field_of_planes<T>(n, 187, plane);
                if (missing) x = with_land(x, 187, T(1e30));
                const ccoll::field_strides strides(187, plane);
                const auto plain = round_trip::frame_of<C>(x, eb), frame = frame_with_rows(x, strides, eb);
                CHECK(100 * frame.size() < 96 * plain.size());
                const chunk_facts first(frame, 1);
                CHECK(first.head.what == (sizeof(T) == 4 ? szp::kind::fine_rows : szp::kind::rows));
                CHECK((first.above.row == 187 && (missing || first.above.plane == plane)));
                const auto y = round_trip::decoded<C, T>(frame, n);
                CHECK(round_trip::count_outside(y, x, eb) == 0);
                CHECK(round_trip::same_bits(y, round_trip::decoded<C, T>(plain, n)));
                for (const ccoll::isa one : ccoll::every_isa) {
                    if (ccoll::use_isa(one) != one) continue;
                    INFO(ccoll::name_of(one));
                    CHECK(frame_with_rows(x, strides, eb) == frame);
                    CHECK(round_trip::same_bits(round_trip::decoded<C, T>(frame, n), y));
                }
                ccoll::use_isa(usual);
            }
}

TEMPLATE_TEST_CASE("a shape changes nothing where it does not help", "[codec][szp][rows]", float, double)
{
    using T = TestType;
    fields::generator random(5);
    std::vector<T> noise(4 * chunk);
    for (T& v : noise) v = static_cast<T>(random.below(100000)) / T(1000);
    const auto smooth = field_of_rows<T>(4 * chunk, 187);
    for (const std::size_t row : {1u, 31u, 187u, 8191u, 8192u, 100000u}) {
        INFO("rows of " << row);
        CHECK(frame_with_rows(noise, row, 0.1) == round_trip::frame_of<C>(noise, 0.1));
        if (row != 187) CHECK(frame_with_rows(smooth, row, 0.02).size() <= round_trip::frame_of<C>(smooth, 0.02).size());
    }
    const std::vector<T> constant(chunk, T(5)), none;
    CHECK(frame_with_rows(constant, 100, 0.1) == round_trip::frame_of<C>(constant, 0.1));
    CHECK(frame_with_rows(none, 100, 0.1) == round_trip::frame_of<C>(none, 0.1));
}

TEMPLATE_TEST_CASE("SZp stores special values, large ones and tight bounds of a field with rows as ever", "[codec][szp][rows]", float,
                   double)
{
    using T = TestType;
    auto x = field_of_rows<T>(10 * chunk, 187);
    x[5] = std::numeric_limits<T>::quiet_NaN();
    x[3 * chunk + 1] = T(1e9);
    x[4 * chunk + 8000] = -std::numeric_limits<T>::infinity();
    for (std::size_t i = 5 * chunk; i < 6 * chunk; ++i) x[i] = T(1e20);
    for (std::size_t i = 7 * chunk; i < 8 * chunk; i += 7) x[i] = T(-9999);
    for (const double eb : {3.0, 0.02, 1e-3, 1e-5, 1e-9, 1e-14}) {
        const auto y = round_trip::decoded<C, T>(frame_with_rows(x, 187, eb), x.size());
        INFO("bound " << eb);
        CHECK(round_trip::count_outside(y, x, eb) == 0);
        CHECK(round_trip::same_bits(y, round_trip::decoded<C, T>(round_trip::frame_of<C>(x, eb), x.size())));
    }
}

TEMPLATE_TEST_CASE("SZp predicts from the row before in chunks with special values as well", "[codec][szp][rows][specials]", float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    const std::size_t n = 6 * chunk + 500;
    for (const std::size_t row : {100u, 187u, 1440u}) {
        auto clean = field_of_rows<T>(n, row), lattice = clean;
        for (T& v : lattice) v = std::nearbyint(v * 16) / 16;
        for (const auto& [x, eb, expected] : {std::tuple{clean, 0.02, 6u}, std::tuple{lattice, 0.02, sizeof(T) == 4 ? 7u : 6u}})
            for (const T marker : {limits::quiet_NaN(), -limits::infinity(), T(1e20), T(-1e34), T(-9999)}) {
                INFO("rows of " << row << ", marker " << marker << ", kind " << expected);
                const auto land = with_land(x, row, marker);
                const auto plain = round_trip::frame_of<C>(land, eb), frame = frame_with_rows(land, row, eb);
                CHECK(100 * frame.size() < 95 * plain.size());
                ccoll::frame_view view;
                REQUIRE(ccoll::read_frame(frame, view) == status::ok);
                const szp::chunk_head head(ccoll::load<std::uint32_t>(view.chunk(1).data, 0));
                CHECK(head.what == static_cast<szp::kind>(expected));
                CHECK(head.escaped > 0);
                const auto y = round_trip::decoded<C, T>(frame, n);
                CHECK(round_trip::count_outside(y, land, eb) == 0);
                CHECK(round_trip::same_bits(y, round_trip::decoded<C, T>(plain, n)));
                for (std::size_t i = 0; i < n; ++i)
                    if (is_land(i, row)) REQUIRE(round_trip::same_bits(y[i], marker));
            }
    }
}

TEMPLATE_TEST_CASE("the rows of SZp make no chunk with special values longer, and say how many these are", "[codec][szp][rows][specials]",
                   float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    const ccoll::isa usual = ccoll::isa_in_use();
    fields::generator random(11);
    unsigned with_rows = 0, with_planes = 0, with_lists = 0, shorter = 0;
    for (int trial = 0; trial < 800; ++trial) {
        const std::size_t n = trial % 3 == 0 ? chunk : 40 + random.below(chunk - 40),
                          row = 10 + random.below(trial % 2 == 0 || trial % 6 == 1 ? 200 : n);
        const std::size_t plane = trial % 4 == 0 ? row * (2 + random.below(20)) : 0;
        const ccoll::field_strides strides(row, plane);
        auto x = plane == 0 ? field_of_rows<T>(n, row) : field_of_planes<T>(n, row, plane);
        if (trial % 6 == 1)  // all rows alike, but for a few values: lists
            for (std::size_t i = row; i < n; ++i) x[i] = x[i - row] + (random.below(50) == 0 ? T(1) : T(0));
        const T noise = trial % 4 == 3 ? T(20) : trial % 6 == 1 ? T(0) : T(0.01);
        for (T& v : x) {
            v += noise * static_cast<T>(random.unit());
            if (trial % 5 == 0) v = std::nearbyint(v * 8) / 8;
            if (trial % 7 == 0) v = std::nearbyint(v / 20);
        }
        const T kinds[] = {limits::quiet_NaN(), T(1e20), T(-9999), limits::infinity(), T(1e9), T(-32768)};
        const std::size_t first = random.below(6), share = 2 + random.below(60);
        if (trial % 2 == 0) x = with_land(x, row, kinds[first]);
        for (std::size_t i = random.below(n); i < n; i += 1 + random.below(20 * share)) {
            const std::size_t until = std::min(n, i + 1 + random.below(trial % 3 == 1 ? 3 : share));
            for (; i < until; ++i) x[i] = kinds[random.below(8) == 0 ? random.below(6) : first];
        }
        const double eb = std::ldexp(1.5 + 0.5 * random.unit(), -static_cast<int>(random.below(14)));
        INFO("trial " << trial << ": " << n << " values in rows of " << row << " and planes of " << plane << ", bound " << eb);
        std::vector<std::byte> a(n * sizeof(T)), b = a;
        const auto plain = szp::chunk_coder<T>::encode_chunk(x, a, eb), shaped = szp::chunk_coder<T>::encode_chunk(x, b, eb, true, strides);
        if (plain.code != status::ok) continue;
        REQUIRE(shaped.code == status::ok);
        const szp::chunk_head head(ccoll::load<std::uint32_t>(b, 0));
        if (shaped.special_values > 0) {
            CHECK(shaped.bytes <= plain.bytes);
            CHECK(shaped.special_values == plain.special_values);
        }
        if (shaped.special_values > 0 && szp::rows::has_rows(head.what)) {
            ++with_rows;
            with_planes += ccoll::load<std::uint32_t>(b, 12) > 0xffff;
            with_lists += head.lists;
            shorter += shaped.bytes < plain.bytes;
        }
        std::vector<T> y(n), z(n);
        REQUIRE(szp::chunk_coder<T>::decode_chunk(std::span(a).first(plain.bytes), y, eb) == status::ok);
        for (const ccoll::isa one : ccoll::every_isa) {
            if (ccoll::use_isa(one) != one) continue;
            auto again = a;
            CHECK(szp::chunk_coder<T>::encode_chunk(x, again, eb, true, strides).bytes == shaped.bytes);
            CHECK(std::memcmp(again.data(), b.data(), shaped.bytes) == 0);
            REQUIRE(szp::chunk_coder<T>::decode_chunk(std::span(b).first(shaped.bytes), z, eb) == status::ok);
            CHECK(round_trip::same_bits(y, z));
        }
        ccoll::use_isa(usual);
        CHECK(round_trip::count_outside(z, x, eb) == 0);
    }
    CHECK(with_rows > 60);
    CHECK(with_planes > 10);
    CHECK(with_lists > 0);
    CHECK(shorter == with_rows);
}

TEMPLATE_TEST_CASE("SZp encodes rows into any room that is enough for them", "[codec][szp][rows]", float, double)
{
    using T = TestType;
    fields::generator random(7);
    auto x = field_of_rows<T>(chunk, 100);
    for (T& v : x) v = v * T(1e3) + static_cast<T>(random.below(1000));
    for (std::size_t i = 100; i < chunk; ++i) x[i] = x[i - 100] + static_cast<T>(random.below(60)) / T(10);
    for (const double eb : {20.0, 13.0, 10.0}) {
        const auto frame = frame_with_rows(x, 100, eb);
        CHECK(round_trip::same_bits(round_trip::decoded<C, T>(frame, chunk),
                                    round_trip::decoded<C, T>(round_trip::frame_of<C>(x, eb), chunk)));
        std::vector<std::byte> room(chunk * sizeof(T));
        const auto whole = szp::chunk_coder<T>::encode_chunk(x, room, eb, true, 100);
        REQUIRE(whole.code == status::ok);
        for (std::size_t less = 0; less < 3; ++less) {
            std::vector<std::byte> tight(whole.bytes - 4 * less);
            const auto r = szp::chunk_coder<T>::encode_chunk(x, tight, eb, true, 100);
            CHECK((r.code == status::ok) == (r.bytes == whole.bytes && less == 0));
        }
    }
}

TEMPLATE_TEST_CASE("a reader of SZp accepts no chunk whose rows cannot be", "[codec][szp][rows]", float, double)
{
    using T = TestType;
    const auto x = field_of_rows<T>(chunk - 5, 187);
    std::vector<std::byte> room(chunk * sizeof(T));
    std::vector<T> y(x.size());
    const auto r = szp::chunk_coder<T>::encode_chunk(x, room, 0.02, true, {187, 374});
    REQUIRE(r.code == status::ok);
    REQUIRE((static_cast<unsigned>(room[0]) & 15) == 6);
    const auto read = [&](std::size_t at, std::uint32_t word) {
        auto chunk_of_rows = room;
        std::memcpy(chunk_of_rows.data() + at, &word, 4);
        return szp::chunk_coder<T>::decode_chunk(std::span(chunk_of_rows).first(r.bytes), y, 0.02);
    };
    CHECK(read(12, 187) == status::ok);
    const auto n = static_cast<std::uint32_t>(x.size());
    const auto planes = [](std::uint32_t row, std::uint32_t plane) { return row | plane << 16; };
    for (const std::uint32_t above : {0u, 15u, n, 0xffffffffu, planes(0, 187), planes(15, 187), planes(16, 31), planes(187, 186),
                                      planes(187, 187), planes(187, n - 187), planes(32, n)})
        CHECK(read(12, above) == status::corrupt);
    for (const std::uint32_t above : {16u, n - 1, planes(16, 32), planes(32, 33), planes(187, 188), planes(187, n - 188)})
        CHECK(read(12, above) == status::ok);
    CHECK(read(4, 0x7fffffffu) == status::ok);  // another base, whatever it means
    CHECK(read(8, 0x7fffffffu) == status::corrupt);
    const auto head = ccoll::load<std::uint32_t>(std::span<const std::byte>(room), 0);
    CHECK(read(0, head | 1u << 30) == status::corrupt);
    CHECK(read(0, head | 1u << 12) == status::corrupt);                                                // a section that is not there
    CHECK(szp::chunk_coder<T>::decode_addend(std::span(room).first(r.bytes), y, 0.02) == status::ok);  // unless on a lattice
    CHECK(read(0, head | 7) == status::corrupt);
    ccoll::store(room, 0, head | 7);
    CHECK(szp::chunk_coder<T>::decode_addend(std::span(room).first(r.bytes), y, 0.02) == status::corrupt);
}

TEST_CASE("the strides of a buffer are those that shaped(), its traits or its extents say", "[codec][rows]")
{
    using strides = ccoll::field_strides;
    std::vector<float> x(6000);
    CHECK(ccoll::strides_of(x).none());
    CHECK(ccoll::strides_of(ccoll::shaped(x, {20, 300})) == strides(300));
    CHECK(ccoll::strides_of(ccoll::shaped(std::span<const float>(x), {2, 30, 100})) == strides(100, 3000));
    CHECK(ccoll::strides_of(ccoll::shaped(x, {6000})).none());
    for (const auto& line : {ccoll::shaped(x, {1, 6000}), ccoll::shaped(x, {6000, 1}), ccoll::shaped(x, {1, 6000, 1})})
        CHECK(ccoll::strides_of(line).none());
    CHECK(ccoll::strides_of(ccoll::shaped(x, {60, 1, 100, 1})) == strides(100));
    CHECK(ccoll::strides_of(ccoll::shaped(x, {2, 3, 4, 5, 50})) == [] {
        strides s(50, 250);
        s.add(1000);
        return s;
    }());                                                                                // not 3000
    CHECK(ccoll::strides_of(mapped<2>{x.data(), {20, 300}, {300, 1}}) == strides(300));  // layout_right
    CHECK(ccoll::strides_of(mapped<2>{x.data(), {20, 300}, {1, 20}}) == strides(20));    // layout_left
    CHECK(ccoll::strides_of(mapped<3>{x.data(), {3, 20, 100}, {2000, 100, 1}}) == strides(100, 2000));
    CHECK(ccoll::strides_of(mapped<3>{x.data(), {3, 20, 100}, {1, 3, 60}}) == strides(3, 60));
    CHECK(ccoll::strides_of(mapped<2>{x.data(), {6000, 1}, {1, 1}}).none());
    CHECK(strides(3, 60).first_from(4) == 60);
    CHECK(strides(3, 60).first_from(61) == 0);
    CHECK(strides(3, 60).in_elements(2) == strides(6, 120));

    std::vector<std::byte> room(ccoll::max_encoded_bytes<C, float>(x.size()));
    CHECK(ccoll::encode<C>(ccoll::shaped(x, {20, 300}), room, 0.1).code == status::ok);
    CHECK(ccoll::encode<C>(ccoll::shaped(x, {20, 301}), room, 0.1).code == status::size_mismatch);
    CHECK(ccoll::encode<C>(ccoll::shaped(x, {20, 301}), room, 0.1, Exec::Threads<2>{}).code == status::size_mismatch);
}

}  // namespace szp_rows_cases
