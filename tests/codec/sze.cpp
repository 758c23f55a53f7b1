// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/sze.hpp and codec/sze/: the quanta of SZp, coded by their entropy.
#include "catch.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "fields.hpp"

using namespace ccoll::policies;
using ccoll::status;
using frame_edit::bytes;
namespace sze = ccoll::detail::sze;

namespace {

using C = Codec::SZe;

/// Rows that are alike: a random walk across, which rises and falls a little from row to row, and noise of about a step of 1e-3.
template <class T>
std::vector<T> rows(std::size_t n, std::size_t width, unsigned seed = 1)
{
    fields::generator random(seed);
    std::vector<double> across(width);
    for (std::size_t i = 1; i < width; ++i) across[i] = across[i - 1] + 0.02 * random.unit();
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double down = static_cast<double>(i / width);
        x[i] = static_cast<T>(across[i % width] * (1 + 0.1 * std::cos(0.05 * down)) + 0.01 * down + 1e-3 * random.unit());
    }
    return x;
}

template <class T>
std::vector<T> decoded(const bytes& frame, std::size_t n)
{
    std::vector<T> y(n);
    return ccoll::decode<C>(frame, y) == status::ok ? y : std::vector<T>();
}

/// The first byte of chunk i: odd if it is coded.
unsigned flags_of(const bytes& frame, std::size_t i = 0) { return static_cast<unsigned>(frame_edit::chunk_of(frame, i).at(0)); }
/// The distances of chunk 0, if it is not on a grid of its own.
std::vector<unsigned> distances_of(const bytes& frame)
{
    const bytes chunk = frame_edit::chunk_of(frame);
    std::vector<unsigned> all;
    for (unsigned k = 0; k < flags_of(frame) >> 4; ++k) all.push_back(ccoll::load<std::uint16_t>(chunk, 12 + 2 * k));
    return all;
}

}  // namespace

TEMPLATE_TEST_CASE("SZe keeps every value within eb, whatever the values and the bound", "[codec][sze]", float, double)
{
    using T = TestType;
    for (const auto& field : fields::all<T>(8193))
        for (const double part : {0.5, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7, 1e-10}) {
            const double eb = std::min(std::max(part * fields::range(field.values), 1e-300), 9.9e299);
            INFO(field.name << ", eb = " << eb);
            CHECK(round_trip::check<C>(field.values, eb).good());
        }
}

TEMPLATE_TEST_CASE("SZe keeps every value within eb at every edge of groups and chunks", "[codec][sze]", float, double)
{
    using T = TestType;
    const std::size_t sizes[] = {0,    1,    31,   1023, 1024, 1025, 1031, 1032, 1033,          // around the shortest coded chunk, groups
                                 1055, 1056, 1057, 2003, 8191, 8192, 8193, 9215, 9216, 20011};  // blocks, chunks, primes
    for (const std::size_t n : sizes)
        for (const auto& x :
             {fields::smooth<T>(n, 7), fields::non_finite<T>(n, 7), fields::random<T>(n, 7), fields::constant<T>(n), rows<T>(n, 100)})
            for (const double eb : {0.3, 1e-3, 1e-6}) {
                INFO("n = " << n << ", eb = " << eb);
                CHECK(round_trip::check<C>(x, eb, n % 8).good());
            }
}

TEMPLATE_TEST_CASE("SZe holds random bounds on random bit patterns and on values of similar exponents", "[codec][sze]", float, double)
{
    using T = TestType;
    fields::generator random(11);
    for (unsigned trial = 0; trial < 150; ++trial) {
        const std::size_t n = 1024 + random.below(1200);
        std::vector<T> x = fields::bit_patterns<T>(n, trial + 1);
        if (trial % 3 != 0)
            for (T& v : x) v = static_cast<T>(std::ldexp(random.unit(), static_cast<int>(random.below(trial % 3 == 1 ? 12 : 2)) - 6));
        const int exponents = trial % 3 == 0 ? 280 : 30, lowest = trial % 3 == 0 ? -140 : -28;
        const double eb =
            std::ldexp(1.5 + 0.5 * random.unit(), lowest + static_cast<int>(random.below(static_cast<std::size_t>(exponents))));
        INFO("trial " << trial << ", n = " << n << ", eb = " << eb);
        CHECK(round_trip::check<C>(x, eb).good());
    }
}

TEMPLATE_TEST_CASE("SZe decodes to the bits that SZp decodes to", "[codec][sze]", float, double)
{
    using T = TestType;
    auto missing = rows<T>(20000, 128);
    for (std::size_t i = 0; i < missing.size(); ++i)
        if (i % 128 < 30 && i / 128 % 20 < 9) missing[i] = i % 3 == 0 ? T(1e20) : std::numeric_limits<T>::quiet_NaN();
    auto far = rows<T>(20000, 128);
    for (T& v : far) v = v * T(0.25) + T(4000);  // on grids of the chunks' own
    for (const auto& x : {rows<T>(20000, 128), missing, far, fields::random<T>(20000, 3)})
        for (const double eb : {1e-2, 1e-3, 1e-4}) {
            std::vector<T> plain(x.size());
            REQUIRE(ccoll::decode<Codec::SZp>(round_trip::frame_of<Codec::SZp>(x, eb), plain) == status::ok);
            const bytes frame = round_trip::frame_of<C>(x, eb);
            const auto y = decoded<T>(frame, x.size());
            REQUIRE(y.size() == x.size());
            CHECK(std::memcmp(y.data(), plain.data(), sizeof(T) * y.size()) == 0);
        }
    CHECK((flags_of(round_trip::frame_of<C>(missing, 1e-2)) & 1) == 1);
    CHECK((flags_of(round_trip::frame_of<C>(far, sizeof(T) == 4 ? 1e-2 : 1e-4)) & 5) == (sizeof(T) == 4 ? 5u : 1u));
}

TEMPLATE_TEST_CASE("SZe finds the rows of a field, whatever their length", "[codec][sze]", float, double)
{
    using T = TestType;
    for (const unsigned width : {17u, 100u, 128u, 333u, 1000u, 2048u, 3001u}) {
        const auto x = rows<T>(8192, width);
        const bytes frame = round_trip::frame_of<C>(x, 1e-3);
        INFO("rows of " << width);
        REQUIRE((flags_of(frame) & 1) == 1);
        REQUIRE(!distances_of(frame).empty());
        CHECK(distances_of(frame)[0] % width == 0);  // a multiple is as good where rows repeat
        CHECK(round_trip::check<C>(x, 1e-3).good());
    }
    CHECK(distances_of(round_trip::frame_of<C>(fields::random<T>(8192, 5), 1e-2)).empty());
}

TEMPLATE_TEST_CASE("SZe takes differences of differences where a field is smooth", "[codec][sze]", float, double)
{
    using T = TestType;
    std::vector<T> x(8192);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(std::sin(1e-3 * static_cast<double>(i)));
    const bytes frame = round_trip::frame_of<C>(x, 1e-5);
    CHECK(distances_of(frame).size() >= 1);
    CHECK(frame.size() < round_trip::frame_of<Codec::SZp>(x, 1e-5).size() / 2);
}

TEMPLATE_TEST_CASE("Frames of SZe are not longer than those of SZp by more than 16 bytes a chunk, and shorter on fields", "[codec][sze]",
                   float, double)
{
    using T = TestType;
    for (const auto& field : fields::all<T>(3 * 8192 + 77))
        for (const double part : {1e-1, 1e-3, 1e-6}) {
            const double eb = std::min(std::max(part * fields::range(field.values), 1e-300), 9.9e299);
            INFO(field.name << ", eb = " << eb);
            CHECK(round_trip::frame_of<C>(field.values, eb).size() <= round_trip::frame_of<Codec::SZp>(field.values, eb).size() + 4 * 16);
        }
    const auto x = rows<T>(8 * 8192, 256);
    const double coded = static_cast<double>(round_trip::frame_of<C>(x, 2e-3).size());
    CHECK(coded < 0.7 * static_cast<double>(round_trip::frame_of<Codec::SZp>(x, 2e-3).size()));
}

TEMPLATE_TEST_CASE("Every instruction set writes the bytes of the plain code of SZe, and decodes them alike", "[codec][sze][isa]", float,
                   double)
{
    using T = TestType;
    const ccoll::isa before = ccoll::isa_in_use();
    for (const std::size_t n : {1024u, 1057u, 8192u, 20011u})
        for (const auto& x :
             {rows<T>(n, 96), fields::smooth<T>(n, 3), fields::random<T>(n, 3), fields::non_finite<T>(n, 3), fields::bit_patterns<T>(n, 3)})
            for (const double eb : {0.1, 1e-3, 1e-6}) {
                ccoll::use_isa(ccoll::isa::portable);
                const bytes expected = round_trip::frame_of<C>(x, eb);
                const auto y = decoded<T>(expected, n);
                for (const ccoll::isa i : ccoll::every_isa) {
                    if (!ccoll::machine_has(i)) continue;
                    ccoll::use_isa(i);
                    INFO(ccoll::name_of(i) << ", n = " << n << ", eb = " << eb);
                    CHECK(round_trip::frame_of<C>(x, eb) == expected);
                    const auto z = decoded<T>(expected, n);
                    REQUIRE(z.size() == n);
                    CHECK(std::memcmp(y.data(), z.data(), sizeof(T) * n) == 0);
                }
            }
    ccoll::use_isa(before);
}

TEMPLATE_TEST_CASE("A frame of SZe with any byte changed is refused or decoded, the same by every instruction set", "[codec][sze]", float,
                   double)
{
    using T = TestType;
    const ccoll::isa before = ccoll::isa_in_use();
    auto x = rows<T>(1100, 100);
    x[500] = std::numeric_limits<T>::infinity();
    const bytes frame = round_trip::frame_of<C>(x, 1e-3);
    REQUIRE((flags_of(frame) & 1) == 1);
    std::size_t refused = 0;
    for (std::size_t i = 0; i < frame.size(); ++i)
        for (const unsigned flip : {0x01u, 0x10u, 0x80u, 0xffu}) {
            bytes other = frame;
            other[i] ^= static_cast<std::byte>(flip);
            std::vector<T> y(x.size()), z(x.size());
            ccoll::use_isa(ccoll::isa::portable);
            const status plain = ccoll::decode<C>(other, y);
            ccoll::use_isa(before);
            CHECK(ccoll::decode<C>(other, z) == plain);
            if (plain == status::ok) CHECK(std::memcmp(y.data(), z.data(), sizeof(T) * y.size()) == 0);
            refused += plain != status::ok;
        }
    CHECK(refused >= 4 * frame.size() / 2);  // a stream whose words do not lead back to where all lanes begin is refused
    std::vector<T> y(x.size());
    for (std::size_t size = 0; size < frame.size(); ++size)
        CHECK(ccoll::decode<C>(ccoll::const_byte_span(frame).first(size), y) != status::ok);
}

TEST_CASE("A chunk of SZe fills its bytes exactly", "[codec][sze]")
{
    const auto x = rows<float>(1100, 100);
    const bytes frame = frame_edit::without_fill(round_trip::frame_of<C>(x, 1e-3));
    std::vector<float> y(x.size());
    for (int change = -20; change <= 20; ++change) {
        bytes other = frame;
        other.resize(frame.size() + static_cast<std::size_t>(20 + change) - 20, std::byte{0});
        frame_edit::end_at(other);
        INFO(change << " bytes more");
        CHECK((ccoll::decode<C>(other, y) == status::ok) == (change == 0));
    }
}

TEST_CASE("Residuals become tokens and low bits, and come back", "[codec][sze]")
{
    for (const std::uint32_t u : {0u, 1u, 15u, 16u, 17u, 19u, 20u, 31u, 32u, 63u, 64u, 1000u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
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
        std::uint16_t counts[sze::tokens] = {};
        const std::size_t used = 1 + random.below(sze::tokens);
        for (std::size_t k = 0; k < used; ++k)
            counts[random.below(used)] = static_cast<std::uint16_t>(random.below(trial % 2 == 0 ? 3 : 60));
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

TEST_CASE("The quotients that encoders take are exact", "[codec][sze]")
{
    for (std::uint32_t share = 1; share <= sze::whole; ++share) {
        sze::share_table table;
        table.count = 1;
        table.shares[0] = static_cast<std::uint16_t>(share);
        sze::encoding_step step[sze::tokens];
        sze::make_steps(table, step);
        const double inverse = 1 / static_cast<double>(share) * (1 + 0x1p-51);
        const std::uint64_t end = std::uint64_t{share} << 22;
        for (const std::uint64_t quotient : {std::uint64_t{0}, std::uint64_t{1}, end / share / 3, end / share - 1})
            for (const std::uint64_t rest : {std::uint64_t{0}, std::uint64_t{share} - 1}) {
                const std::uint64_t x = quotient * share + rest;
                if (x >= std::uint64_t{1} << 32) continue;
                CHECK(x * step[0].inverse >> 42 == quotient);
                CHECK(static_cast<std::uint64_t>(static_cast<double>(x) * inverse) == quotient);
            }
    }
}
