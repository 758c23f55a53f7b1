// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: links szp
// codec/sze.hpp and codec/sze/: the quanta of SZp, coded by their entropy.
#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "codec/exceptional.hpp"
#include "codec/frame_edit.hpp"
#include "codec/hostile.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"

#include <ccoll/codec/sze/coder.hpp>

namespace sze_cases {

using namespace ccoll::policies;
using ccoll::status;
using frame_edit::bytes;
namespace sze = ccoll::detail::sze;

namespace {

using C = Codec::SZe;

/// Rows that are alike: a random walk across, which rises and falls a little from row to row, and noise of
/// about a step of 1e-3.
template <class T>
std::vector<T> rows(std::size_t n, std::size_t width, unsigned seed = 1)
{
    fields::generator random(seed);
    std::vector<double> across(width);
    for (std::size_t i = 1; i < width; ++i) across[i] = across[i - 1] + 0.02 * random.unit();
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double down = static_cast<double>(i / width);
        x[i] = static_cast<T>(across[i % width] * (1 + 0.1 * std::cos(0.05 * down)) + 0.01 * down +
                              1e-3 * random.unit());
    }
    return x;
}

/// The first values again and again: many distances are equally good.
template <class T>
std::vector<T> repeated(std::vector<T> x, std::size_t period)
{
    for (std::size_t i = period; i < x.size(); ++i) x[i] = x[i - period];
    return x;
}

/// The first byte of chunk i.
unsigned flags_of(const bytes& frame, std::size_t i = 0)
{
    return static_cast<unsigned>(frame_edit::chunk_of(frame, i).at(0));
}
bool is_coded(const bytes& frame, std::size_t i = 0)
{
    return (flags_of(frame, i) & sze::coded) == sze::coded;
}
/// The distances of chunk i, which is coded.
template <class T>
std::vector<unsigned> distances_of(const bytes& frame, std::size_t i = 0)
{
    const bytes chunk = frame_edit::chunk_of(frame, i);
    const std::size_t at = sze::step_at + ((flags_of(frame, i) & sze::own) != 0 ? sizeof(T) : 0);
    std::vector<unsigned> all;
    for (unsigned k = 0; k < flags_of(frame, i) >> sze::count_at; ++k)
        all.push_back(sze::distance(ccoll::load<std::uint16_t>(chunk, at + 2 * k)).places);
    return all;
}

/// A frame of values with rows of so many values.
template <class Codec_, class T>
bytes frame_with_rows(const std::vector<T>& x, std::size_t row, double eb)
{
    bytes frame(ccoll::max_encoded_bytes<Codec_, T>(x.size()));
    const auto r = ccoll::encode<Codec_>(ccoll::shaped_view<const T>{x, row, x.size()}, frame, eb);
    REQUIRE(r.code == status::ok);
    frame.resize(r.bytes);
    return frame;
}
/// Does a frame decode to values within eb of x?
template <class T>
bool is_within(const bytes& frame, const std::vector<T>& x, double eb)
{
    std::vector<T> y(x.size());
    if (ccoll::decode<C>(frame, y) != status::ok) return false;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (!(std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])) <= eb)) return false;
    return true;
}

}  // namespace

TEMPLATE_TEST_CASE("SZe keeps every value within eb, whatever the values and the bound", "[codec][sze]",
                   float, double)
{
    using T = TestType;
    for (const auto& field : fields::all<T>(8193))
        for (const double part : {0.5, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7, 1e-10}) {
            const double eb = std::min(std::max(part * fields::range(field.values), 1e-300), 9.9e299);
            INFO(field.name << ", eb = " << eb);
            CHECK(round_trip::check<C>(field.values, eb).good());
        }
}

TEMPLATE_TEST_CASE("SZe keeps every value within eb at every edge of groups and chunks", "[codec][sze]",
                   float, double)
{
    using T = TestType;
    const std::size_t sizes[] = {
        0,    1,    31,   1023, 1024, 1025, 1031, 1032, 1033,  // around the shortest coded chunk, groups
        1055, 1056, 1057, 2003, 8191, 8192, 8193, 9215, 9216, 20011};  // blocks, chunks, primes
    for (const std::size_t n : sizes)
        for (const auto& x : {fields::smooth<T>(n, 7), fields::non_finite<T>(n, 7), fields::random<T>(n, 7),
                              fields::constant<T>(n), rows<T>(n, 100)})
            for (const double eb : {0.3, 1e-3, 1e-6}) {
                INFO("n = " << n << ", eb = " << eb);
                CHECK(round_trip::check<C>(x, eb, n % 8).good());
            }
}

TEMPLATE_TEST_CASE("SZe holds random bounds on random bit patterns and on values of similar exponents",
                   "[codec][sze]", float, double)
{
    using T = TestType;
    fields::generator random(11);
    for (unsigned trial = 0; trial < 150; ++trial) {
        const std::size_t n = 1024 + random.below(1200);
        std::vector<T> x = fields::bit_patterns<T>(n, trial + 1);
        if (trial % 3 != 0)
            for (T& v : x)
                v = static_cast<T>(
                    std::ldexp(random.unit(), static_cast<int>(random.below(trial % 3 == 1 ? 12 : 2)) - 6));
        const int exponents = trial % 3 == 0 ? 280 : 30, lowest = trial % 3 == 0 ? -140 : -28;
        const double eb =
            std::ldexp(1.5 + 0.5 * random.unit(),
                       lowest + static_cast<int>(random.below(static_cast<std::size_t>(exponents))));
        INFO("trial " << trial << ", n = " << n << ", eb = " << eb);
        CHECK(round_trip::check<C>(x, eb).good());
    }
}

TEMPLATE_TEST_CASE("SZe decodes to the bits that SZp decodes to", "[codec][sze]", float, double)
{
    using T = TestType;
    auto missing = rows<T>(20000, 128);
    for (std::size_t i = 0; i < missing.size(); ++i)
        if (i % 128 < 30 && i / 128 % 20 < 9)
            missing[i] = i / 128 % 3 == 0 ? T(1e20) : std::numeric_limits<T>::quiet_NaN();
    auto far = rows<T>(20000, 128);
    for (T& v : far) v = v * T(0.25) + T(4000);  // on grids of the chunks' own
    for (const auto& x : {rows<T>(20000, 128), missing, far, fields::random<T>(20000, 3)})
        for (const double eb : {1e-2, 1e-3, 1e-4}) {
            std::vector<T> plain(x.size());
            REQUIRE(ccoll::decode<Codec::SZp>(round_trip::frame_of<Codec::SZp>(x, eb), plain) == status::ok);
            const bytes frame = round_trip::frame_of<C>(x, eb);
            const auto y = round_trip::decoded<C, T>(frame, x.size());
            REQUIRE(y.size() == x.size());
            CHECK(std::memcmp(y.data(), plain.data(), sizeof(T) * y.size()) == 0);
        }
    CHECK(is_coded(round_trip::frame_of<C>(missing, 1e-2)));
    const bytes frame_of_far = round_trip::frame_of<C>(far, sizeof(T) == 4 ? 1e-2 : 1e-4);
    CHECK(is_coded(frame_of_far));
    CHECK(((flags_of(frame_of_far) & sze::own) != 0) == (sizeof(T) == 4));
}

TEMPLATE_TEST_CASE("SZe finds the rows of a field, whatever their length", "[codec][sze]", float, double)
{
    using T = TestType;
    for (const unsigned width : {17u, 100u, 128u, 333u, 1000u, 2048u, 3001u}) {
        const auto x = rows<T>(8192, width);
        const bytes frame = round_trip::frame_of<C>(x, 1e-3);
        INFO("rows of " << width);
        REQUIRE(is_coded(frame));
        REQUIRE(!distances_of<T>(frame).empty());
        CHECK(distances_of<T>(frame)[0] % width == 0);  // a multiple is as good where rows repeat
        CHECK(round_trip::check<C>(x, 1e-3).good());
    }
    CHECK(distances_of<T>(round_trip::frame_of<C>(fields::random<T>(8192, 5), 1e-2)).empty());
}

TEMPLATE_TEST_CASE("SZe takes the rows that a caller knows", "[codec][sze][rows]", float, double)
{
    using T = TestType;
    for (const unsigned width : {16u, 17u, 100u, 333u, 1000u, 2048u, 3001u, 4088u, 5000u, 7000u}) {
        const auto x = rows<T>(3 * 8192 + 1777, width);  // chunks begin inside rows
        for (const double eb : {1e-2, 1e-3, 1e-5}) {
            INFO("rows of " << width << ", eb = " << eb);
            const bytes frame = frame_with_rows<C>(x, width, eb);
            CHECK(is_within(frame, x, eb));
            CHECK(frame.size() <= frame_with_rows<Codec::SZp>(x, width, eb).size());
            if (eb != 1e-3) continue;
            REQUIRE(is_coded(frame));
            if (width < 5000) {
                REQUIRE(!distances_of<T>(frame).empty());
                CHECK(distances_of<T>(frame)[0] % width == 0);
            }
        }
    }
    const auto x = rows<T>(8 * 8192, 256);
    CHECK(frame_with_rows<C>(x, 256, 1e-3).size() <= round_trip::frame_of<C>(x, 1e-3).size() * 101 / 100);
}

TEMPLATE_TEST_CASE("SZe holds its bound if the rows that a caller tells are not those of the field",
                   "[codec][sze][rows]", float, double)
{
    using T = TestType;
    auto missing = rows<T>(20000, 128);
    for (std::size_t i = 0; i < missing.size(); ++i)
        if (i % 128 < 30 && i / 128 % 20 < 9)
            missing[i] = i / 128 % 3 == 0 ? T(1e20) : std::numeric_limits<T>::quiet_NaN();
    auto far = rows<T>(20000, 128);
    for (T& v : far) v = v * T(0.25) + T(4000);
    const std::pair<const char*, std::vector<T>> all[] = {{"rows", rows<T>(20000, 128)},
                                                          {"far", far},
                                                          {"random", fields::random<T>(20000, 3)},
                                                          {"constant", fields::constant<T>(20000)},
                                                          {"missing", missing}};
    for (const auto& [name, x] : all)
        for (const std::size_t row : {1u, 2u, 15u, 16u, 31u, 32u, 64u, 127u, 4087u, 4088u, 4089u, 8191u,
                                      8192u, 8193u, 19999u, 1u << 31})
            for (const double eb : {1e-1, 1e-3, 1e-6}) {
                INFO(name << ", row = " << row << ", eb = " << eb);
                const bytes frame = frame_with_rows<C>(x, row, eb);
                CHECK(frame.size() <= frame_with_rows<Codec::SZp>(x, row, eb).size());
                std::vector<T> y(x.size()), plain(x.size());
                REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
                REQUIRE(ccoll::decode<Codec::SZp>(frame_with_rows<Codec::SZp>(x, row, eb), plain) ==
                        status::ok);
                CHECK(std::memcmp(y.data(), plain.data(), sizeof(T) * y.size()) == 0);
            }
    const auto x = rows<T>(20000, 100);
    for (const std::size_t row : {1u, 15u, 8192u, 1u << 31})  // too short, and longer than a chunk
        CHECK(frame_with_rows<C>(x, row, 1e-3) == round_trip::frame_of<C>(x, 1e-3));
}

TEMPLATE_TEST_CASE("SZe predicts from the plane before where that is nearer than the row before",
                   "[codec][sze][rows]", float, double)
{
    using T = TestType;
    constexpr std::size_t row = 40, plane = 20 * row;
    fields::generator random(5);
    std::vector<T> x(8192);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const T noise = static_cast<T>(random.unit());
        if (i < plane) x[i] = (i > 0 ? x[i - 1] : T(0)) + noise / 20;
        else x[i] = x[i - plane] + noise / 1000;
    }
    const bytes frame = frame_with_rows<C>(x, row, 1e-3);
    REQUIRE(is_coded(frame));
    REQUIRE(!distances_of<T>(frame).empty());
    CHECK(distances_of<T>(frame)[0] % plane == 0);
    CHECK(is_within(frame, x, 1e-3));
}

TEMPLATE_TEST_CASE("Residuals are subtracted and added at any distance, the same by every instruction set",
                   "[codec][sze]", int, long)
{
    constexpr bool smooth = sizeof(TestType) > sizeof(int);
    fields::generator random(8);
    for (const std::size_t n : {1024u, 1031u, 8192u})
        for (const std::size_t w :
             {1u, 2u, 7u, 8u, 9u, 15u, 16u, 17u, 63u, 64u, 65u, 1000u, 1022u, 1023u, 1024u, 5000u, 0x7fffu}) {
            if (w == 1 && smooth) continue;  // is refused
            INFO("n = " << n << ", w = " << w);
            const std::size_t begin = w % 3 * 50;
            std::vector<sze::i32> d(n);
            for (sze::i32& v : d) v = static_cast<sze::i32>(random.below(std::size_t{1} << 32));
            std::vector<sze::i32> expected = d, residuals = d;
            const auto before = [&](std::size_t i) {
                return smooth ? sze::smoothed(d[i - w - 1], d[i - w], d[i - w + 1]) : d[i - w];
            };
            for (std::size_t i = begin + w + smooth; i < n; ++i)
                expected[i] =
                    static_cast<sze::i32>(static_cast<sze::u32>(d[i]) - static_cast<sze::u32>(before(i)));
            sze::portable::subtract_behind(residuals.data(), n, {w, smooth}, begin);
            CHECK(residuals == expected);
            sze::portable::add_behind(residuals.data(), n, {w, smooth}, begin);
            CHECK(residuals == d);
#if defined(CCOLL_X86_KERNELS)
            if (!ccoll::machine_has(ccoll::isa::avx2)) continue;
            sze::avx2::subtract_behind(residuals.data(), n, {w, smooth}, begin);
            CHECK(residuals == expected);
            sze::avx2::add_behind(residuals.data(), n, {w, smooth}, begin);
            CHECK(residuals == d);
#endif
        }
}

TEMPLATE_TEST_CASE("SZe takes differences of differences where a field is smooth", "[codec][sze]", float,
                   double)
{
    using T = TestType;
    std::vector<T> x(8192);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(std::sin(1e-3 * static_cast<double>(i)));
    const bytes frame = round_trip::frame_of<C>(x, 1e-5);
    CHECK(distances_of<T>(frame).size() >= 1);
    CHECK(frame.size() < round_trip::frame_of<Codec::SZp>(x, 1e-5).size() / 2);
}

TEMPLATE_TEST_CASE("Frames of SZe are not longer than those of SZp, and shorter on fields", "[codec][sze]",
                   float, double)
{
    using T = TestType;
    for (const auto& field : fields::all<T>(3 * 8192 + 77))
        for (const double part : {1e-1, 1e-3, 1e-6}) {
            const double eb = std::min(std::max(part * fields::range(field.values), 1e-300), 9.9e299);
            INFO(field.name << ", eb = " << eb);
            CHECK(round_trip::frame_of<C>(field.values, eb).size() <=
                  round_trip::frame_of<Codec::SZp>(field.values, eb).size());
        }
    const auto x = rows<T>(8 * 8192, 256);
    const double coded = static_cast<double>(round_trip::frame_of<C>(x, 2e-3).size());
    CHECK(coded < 0.7 * static_cast<double>(round_trip::frame_of<Codec::SZp>(x, 2e-3).size()));
}

TEMPLATE_TEST_CASE("Every instruction set writes the bytes of the plain code of SZe, and decodes them alike",
                   "[codec][sze][isa]", float, double)
{
    using T = TestType;
    const ccoll::isa before = ccoll::isa_in_use();
    for (const std::size_t n : {1024u, 1057u, 8192u, 20011u})
        for (const auto& x :
             {rows<T>(n, 96), repeated(rows<T>(n, 96), 48), fields::smooth<T>(n, 3), fields::random<T>(n, 3),
              fields::non_finite<T>(n, 3), fields::bit_patterns<T>(n, 3)})
            for (const double eb : {0.1, 1e-3, 1e-5, 1e-6}) {
                ccoll::use_isa(ccoll::isa::portable);
                const bytes expected = round_trip::frame_of<C>(x, eb),
                            of_rows = frame_with_rows<C>(x, 96, eb);
                const auto y = round_trip::decoded<C, T>(expected, n),
                           y_of_rows = round_trip::decoded<C, T>(of_rows, n);
                for (const ccoll::isa i : ccoll::every_isa) {
                    if (!ccoll::machine_has(i)) continue;
                    ccoll::use_isa(i);
                    INFO(ccoll::name_of(i) << ", n = " << n << ", eb = " << eb);
                    CHECK(round_trip::frame_of<C>(x, eb) == expected);
                    CHECK(frame_with_rows<C>(x, 96, eb) == of_rows);
                    const auto z = round_trip::decoded<C, T>(expected, n),
                               z_of_rows = round_trip::decoded<C, T>(of_rows, n);
                    REQUIRE(z.size() == n);
                    REQUIRE(z_of_rows.size() == n);
                    CHECK(std::memcmp(y.data(), z.data(), sizeof(T) * n) == 0);
                    CHECK(std::memcmp(y_of_rows.data(), z_of_rows.data(), sizeof(T) * n) == 0);
                }
            }
    ccoll::use_isa(before);
}

TEMPLATE_TEST_CASE(
    "A frame of SZe with any byte changed is refused or decoded, the same by every instruction set",
    "[codec][sze]", float, double)
{
    using T = TestType;
    const ccoll::isa before = ccoll::isa_in_use();
    auto x = rows<T>(1100, 100);
    x[500] = std::numeric_limits<T>::infinity();
    const bytes frame = round_trip::frame_of<C>(x, 1e-3);
    REQUIRE(is_coded(frame));
    std::size_t refused = 0;
    hostile::with_each_byte_changed(frame, [&](const bytes& other) {
        std::vector<T> y(x.size()), z(x.size());
        ccoll::use_isa(ccoll::isa::portable);
        const status plain = ccoll::decode<C>(other, y);
        ccoll::use_isa(before);
        CHECK(ccoll::decode<C>(other, z) == plain);
        if (plain == status::ok) CHECK(std::memcmp(y.data(), z.data(), sizeof(T) * y.size()) == 0);
        refused += plain != status::ok;
    });
    // A stream whose words do not lead back to where all lanes begin is refused.
    CHECK(refused >= 4 * frame.size() / 2);
    hostile::refuses_every_beginning<C, T>(frame, x.size());
}

TEMPLATE_TEST_CASE("Exceptional values of any kind and number come back bit for bit from chunks of SZe",
                   "[codec][sze][exceptions]", float, double)
{
    using T = TestType;
    for (const std::size_t n : {1024u, 1057u, 8192u})
        exceptional::come_back<C, T>(
            n, 1e-3, [n](const std::string& kind, double share, const auto& all, std::size_t usual) {
                if (n < 8192 || kind == "infinities" || kind == "few payloads" || kind == "many payloads")
                    return;
                REQUIRE(!all.empty());
                CHECK((static_cast<unsigned>(all[0]) & sze::coded) == sze::coded);
                CHECK(static_cast<double>(all.size()) <=
                      static_cast<double>(usual + 80 + n / 8) + share * 0.5 * static_cast<double>(usual));
            });
    for (const T missing : {T(0.25), T(-9999), std::numeric_limits<T>::quiet_NaN()}) {
        auto x = rows<T>(8192, 100);
        for (std::size_t i = 0; i < x.size(); i += 1 + i % 13) x[i] = missing;
        const auto all = exceptional::chunk_of<C, T>(x, 1e-3, missing);
        REQUIRE(!all.empty());
        CHECK(exceptional::is_good<T>(exceptional::decoded<C>(all, x, 1e-3), x, 1e-3, missing));
    }
}

TEMPLATE_TEST_CASE(
    "A damaged chunk of SZe with exceptional values is refused or decoded, and its beginnings are refused",
    "[codec][sze][exceptions][total]", float, double)
{
    using T = TestType;
    const auto all = exceptional::chunk_of<C>(exceptional::with(rows<T>(1100, 100), "1e20", 0.05, 3), 1e-3);
    REQUIRE(!all.empty());
    REQUIRE((static_cast<unsigned>(all[0]) & sze::coded) == sze::coded);
    REQUIRE(ccoll::load<std::uint16_t>(all, 6) > 0);
    exceptional::survives_damage<C, T>(all, 1100, 1e-3);
}

TEST_CASE("SZe codes f64 on a grid of their own, and noise without neighbours", "[codec][sze]")
{
    std::vector<double> x(8192);
    fields::generator random(4);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = 0.125 * std::floor(2000 + 40 * std::sin(0.01 * static_cast<double>(i)) + random.unit());
    const auto on_lattice = exceptional::chunk_of<C>(x, 1e-5);
    REQUIRE(!on_lattice.empty());
    CHECK((static_cast<unsigned>(on_lattice[0]) & (sze::coded | sze::own)) == (sze::coded | sze::own));
    CHECK(exceptional::decoded<C>(on_lattice, x, 1e-5) == x);
    CHECK(on_lattice.size() * 20 < sizeof(double) * x.size());

    const auto noise = fields::random<float>(8192, 5);
    const auto alone = exceptional::chunk_of<C>(noise, 1e-2);
    REQUIRE(!alone.empty());
    CHECK((static_cast<unsigned>(alone[0]) & (sze::coded | sze::alone)) == (sze::coded | sze::alone));
    CHECK(exceptional::is_good<float>(exceptional::decoded<C>(alone, noise, 1e-2), noise, 1e-2, {}));
}

TEST_CASE("A chunk of SZe fills its bytes exactly", "[codec][sze]")
{
    const auto x = rows<float>(1100, 100);
    hostile::refuses_other_lengths<C, float>(round_trip::frame_of<C>(x, 1e-3), x.size());
}

TEST_CASE("Residuals become tokens and low bits, and come back", "[codec][sze]")
{
    for (const std::uint32_t u : {0u, 1u, 15u, 16u, 17u, 19u, 20u, 31u, 32u, 63u, 64u, 1000u, 0x7fffffffu,
                                  0x80000000u, 0xffffffffu}) {
        const auto t = sze::token_of(u);
        const auto v = sze::token_values[t.code];
        INFO(u);
        CHECK(t.low_bits == v.low_bits);
        CHECK(v.least <= u);
        CHECK(u - v.least < std::uint64_t{1} << v.low_bits);
        CHECK(sze::folded(sze::unfolded(u)) == u);
    }
    CHECK(sze::token_of(0xffffffffu).code == sze::tokens - 1);
    std::uint64_t next = 0;  // tokens cover all numbers, without gaps
    for (const auto& v : sze::token_values) {
        CHECK(v.least == next);
        next = v.least + (std::uint64_t{1} << v.low_bits);
    }
    CHECK(next == std::uint64_t{1} << 32);
}

TEST_CASE("The shares of a table add up to 1024 and are sent in full", "[codec][sze]")
{
    fields::generator random(3);
    for (int trial = 0; trial < 2000; ++trial) {
        std::uint32_t counts[sze::tokens] = {};
        const std::size_t used = 1 + random.below(sze::tokens);
        for (std::size_t k = 0; k < used; ++k)
            counts[random.below(used)] = static_cast<std::uint32_t>(random.below(trial % 2 == 0 ? 3 : 60));
        sze::share_table one, other;
        one.choose(counts);
        sze::u8 memory[1024];
        sze::bit_writer to(memory);
        one.write(to);
        sze::bit_reader from(memory, static_cast<std::size_t>(to.end() - memory));
        REQUIRE(other.read(from));
        CHECK_FALSE(from.is_beyond());
        std::uint32_t sum = 0;
        for (std::size_t t = 0; t < sze::tokens; ++t) {
            CHECK(one.shares[t] == other.shares[t]);
            CHECK((one.shares[t] > 0) == (counts[t] > 0));
            sum += one.shares[t];
        }
        CHECK(sum == (one.count > 0 ? sze::whole : 0));
    }
}

TEST_CASE("A token has the level whose weight is nearest to its share", "[codec][sze]")
{
    const auto level_of = [](std::uint64_t p, std::uint64_t n) {
        std::uint32_t l = 1;
        while (l < sze::highest_level &&
               1024 * 1024 * p * p >= std::uint64_t{sze::weights[l]} * sze::weights[l + 1] * n * n)
            ++l;
        return l;
    };
    for (const std::uint32_t n :
         {1u, 2u, 3u, 7u, 100u, 1023u, 1024u, 1025u, 2047u, 4096u, 5000u, 8191u, 8192u})
        for (std::uint32_t p = 1; p <= n; ++p) {
            std::uint32_t counts[sze::tokens] = {};
            counts[3] = p;
            counts[8] = n - p;
            sze::share_table one;
            one.choose(counts);
            if (one.levels[3] == level_of(p, n) && one.levels[8] == (p < n ? level_of(n - p, n) : 0))
                continue;
            INFO(p << " of " << n);
            REQUIRE(one.levels[3] == level_of(p, n));
            REQUIRE(one.levels[8] == (p < n ? level_of(n - p, n) : 0));
        }
}

TEST_CASE("Encoders move the state to the next one of a token, whatever its share", "[codec][sze]")
{
    for (std::uint32_t share = 1; share <= sze::whole; ++share) {
        const sze::encoding_step step = sze::step_of_share[share];
        REQUIRE(step.share() == share);
        const std::uint64_t end = std::uint64_t{share} << 22;
        for (const std::uint64_t quotient :
             {std::uint64_t{0}, std::uint64_t{1}, end / share / 3, end / share / 2, end / share - 1})
            for (const std::uint64_t rest :
                 {std::uint64_t{0}, std::uint64_t{1} % share, std::uint64_t{share} - 1}) {
                const std::uint64_t x = quotient * share + rest;
                if (x == 0) continue;  // no state
                const auto before = static_cast<std::uint32_t>(x);
                const std::uint64_t next =
                    before + step.quotient(before) * (sze::whole - share) + step.first();
                INFO("share " << share << ", state " << x);
                CHECK(next % (std::uint64_t{1} << 32) == (quotient << sze::share_bits) + rest);
            }
    }
}

TEMPLATE_TEST_CASE("A shape never makes a frame of SZe longer, whatever it says", "[codec][sze]", float,
                   double)
{
    using T = TestType;
    const std::size_t n = 55296;  // many lengths of rows divide it
    std::vector<T> waves(n);
    fields::generator random(5);
    for (std::size_t i = 0; i < n; ++i)
        waves[i] = static_cast<T>(std::sin(0.21 * static_cast<double>(i % 96)) *
                                      std::cos(0.002 * static_cast<double>(i / 96)) * 100 +
                                  0.02 * random.unit());
    auto missing = rows<T>(n, 128);
    for (std::size_t i = 0; i < n; i += 7) missing[i] = T(1e20);
    const std::pair<const char*, std::vector<T>> all[] = {
        {"waves", waves},     {"rows", rows<T>(n, 128)},           {"long rows", rows<T>(n, 4608)},
        {"missing", missing}, {"smooth", fields::smooth<T>(n, 3)}, {"random", fields::random<T>(n, 3)}};
    for (const auto& [name, x] : all)
        for (const double eb : {0.1, 1e-3}) {
            const std::size_t plain = round_trip::frame_of<C>(x, eb).size();
            for (const std::size_t row :
                 {16u, 54u, 96u, 128u, 1024u, 4088u, 4089u, 4096u, 4608u, 6912u, 8192u, 13824u, 55296u}) {
                const bytes frame = frame_with_rows<C>(x, row, eb);
                INFO(name << ", eb = " << eb << ", rows of " << row << ": " << frame.size()
                          << " bytes, without a shape " << plain);
                CHECK(frame.size() <= plain);
                CHECK(is_within<T>(frame, x, eb));
            }
        }
}

}  // namespace sze_cases
