// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bytezip.hpp, codec/bitzip.hpp, codec/bitcut.hpp and codec/bitzip/: the codecs that predict values,
// and the one that only rounds them.
#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "codec/frame_edit.hpp"
#include "codec/hostile.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"

namespace bitwise_cases {

using namespace ccoll::policies;
using ccoll::status;
using frame_edit::bytes;

namespace {

using round_trip::combination;

using every_combination = std::tuple<
    combination<Codec::ByteZip, float>, combination<Codec::ByteZip, double>,
    combination<Codec::BitZip, float>, combination<Codec::BitZip, double>, combination<Codec::BitWise, float>,
    combination<Codec::BitWise, double>, combination<Codec::BitCut, float>,
    combination<Codec::BitCut, double>, combination<Codec::BitMask<Codec::BitZip>, float>,
    combination<Codec::BitMask<Codec::BitZip>, double>, combination<Codec::BitMask<Codec::BitCut>, float>,
    combination<Codec::BitMask<Codec::BitWise>, double>, combination<Codec::BitMask<Codec::BitCut>, double>>;

/// A stream of bits as the papers write them, in bytes.
bytes packed(const std::string& bits)
{
    bytes all;
    std::size_t i = 0;
    for (const char c : bits)
        if (c == '0' || c == '1') {
            if (i++ % 8 == 0) all.push_back(std::byte{0});
            if (c == '1') all.back() |= static_cast<std::byte>(0x80u >> ((i - 1) % 8));
        }
    return all;
}

std::string bits_of(const bytes& from, std::size_t count)
{
    std::string all;
    for (std::size_t i = 0; i < count; ++i)
        all += (static_cast<unsigned>(from.at(i / 8)) >> (7 - i % 8) & 1) != 0 ? '1' : '0';
    return all;
}

std::string without_spaces(std::string text)
{
    std::erase(text, ' ');
    return text;
}

template <class T>
std::vector<T> counted(std::size_t n)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(i);
    return x;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("Predicted and cut values stay within eb, whatever the values and the bound",
                        "[codec][bitzip]", every_combination)
{
    using T = typename TestType::element;
    for (const auto& field : fields::all<T>(8193))  // a chunk of eight lanes, and one value
        for (const double eb : round_trip::bounds_for<T>(fields::range(field.values))) {
            INFO(field.name << ", eb = " << eb);
            CHECK(round_trip::check<typename TestType::codec>(field.values, eb).good());
        }
}

TEMPLATE_LIST_TEST_CASE("Predicted and cut values stay within eb at every edge of lanes and chunks",
                        "[codec][bitzip]", every_combination)
{
    using T = typename TestType::element;
    const std::size_t sizes[] = {
        0,    1,    2,    3,    4,    5,   7, 31,  // shorter than the orders, and than what a chunk costs
        511,  512,  513,  519,  520,  521,         // one lane and eight, of equal and different lengths
        1009, 8191, 8192, 8193, 20011};            // primes, chunks
    for (const std::size_t n : sizes)
        for (const auto& x : {fields::smooth<T>(n, 7), fields::non_finite<T>(n, 7), fields::random<T>(n, 7),
                              fields::constant<T>(n)})
            for (const double eb : {0.3, 1e-3, 1e-7}) {
                INFO("n = " << n << ", eb = " << eb);
                CHECK(round_trip::check<typename TestType::codec>(x, eb, n % 8).good());
            }
}

TEMPLATE_LIST_TEST_CASE("Predicted and cut values hold random bounds on random bit patterns",
                        "[codec][bitzip]", every_combination)
{
    using T = typename TestType::element;
    fields::generator random(11);
    for (unsigned trial = 0; trial < 300; ++trial) {
        const std::size_t n = random.below(1200);
        std::vector<T> x = fields::bit_patterns<T>(n, trial + 1);
        if (trial % 3 == 1)  // of similar exponents, so that chunks do not travel raw
            for (T& v : x)
                v = static_cast<T>(std::ldexp(random.unit(), static_cast<int>(random.below(12)) - 6));
        if (trial % 3 == 2)
            for (T& v : x) v = static_cast<T>(1.0 + std::ldexp(random.unit(), -10));
        const int exponents = trial % 3 == 0 ? 280 : 30, lowest = trial % 3 == 0 ? -140 : -25;
        const double eb =
            std::ldexp(1.5 + 0.5 * random.unit(),
                       lowest + static_cast<int>(random.below(static_cast<std::size_t>(exponents))));
        INFO("trial " << trial << ", n = " << n << ", eb = " << eb);
        CHECK(round_trip::check<typename TestType::codec>(x, eb).good());
    }
}

TEMPLATE_LIST_TEST_CASE("One NaN or Inf anywhere survives and spoils no other value", "[codec][bitzip]",
                        every_combination)
{
    using T = typename TestType::element;
    const auto smooth = fields::smooth<T>(600);
    const std::size_t usual = round_trip::frame_of<typename TestType::codec>(smooth, 1e-3).size();
    for (const T stranger : {std::numeric_limits<T>::signaling_NaN(), std::numeric_limits<T>::infinity(),
                             -std::numeric_limits<T>::infinity()})
        for (std::size_t at = 0; at < smooth.size(); at += at < 90 ? 1 : 37) {
            std::vector<T> x = smooth;
            x[at] = stranger;
            INFO("at " << at);
            CHECK(round_trip::check<typename TestType::codec>(x, 1e-3).good());
            CHECK(round_trip::frame_of<typename TestType::codec>(x, 1e-3).size() <= usual + 80);
        }
}

TEMPLATE_LIST_TEST_CASE("A frame of predicted or cut values with any byte changed is refused or decoded",
                        "[codec][bitzip]", every_combination)
{
    using C = typename TestType::codec;
    using T = typename TestType::element;
    for (const std::size_t n : {std::size_t{300}, std::size_t{700}}) {
        auto x = fields::smooth<T>(n);
        x[n / 2] = std::numeric_limits<T>::infinity();
        const bytes frame = round_trip::frame_of<C>(x, 1e-3);
        REQUIRE(frame.size() < n * sizeof(T));
        hostile::refuses_or_decodes<C, T>(frame, n);
    }
}

TEMPLATE_LIST_TEST_CASE("A chunk of predicted or cut values fills its bytes exactly", "[codec][bitzip]",
                        every_combination)
{
    using C = typename TestType::codec;
    using T = typename TestType::element;
    for (const std::size_t n : {std::size_t{300}, std::size_t{700}}) {
        hostile::refuses_other_lengths<C, T>(round_trip::frame_of<C>(fields::smooth<T>(n), 1e-3), n);
    }
}

TEST_CASE("ByteZip writes a symbol for each value, then those that were not predicted", "[codec][bytezip]")
{
    // 0 and 1 have no neighbours that lead to them; from 2 on a line does.
    const bytes frame = round_trip::frame_of<Codec::ByteZip>(counted<float>(20), 1e-3);
    bytes expected(20, std::byte{1});
    expected[0] = expected[1] = std::byte{4};
    for (const unsigned b : {0x00u, 0x00u, 0x00u, 0x00u, 0x00u, 0x00u, 0x80u, 0x3fu})
        expected.push_back(static_cast<std::byte>(b));
    CHECK(frame_edit::chunk_of(frame) == expected);

    // What is constant, a line, a parabola and a cubic, exactly.
    const std::vector<double> values{5, 5, 7, 9, 12, 16, 21, 29, 42, 62, 91, 131, 184};
    const std::vector<unsigned> symbols{4, 0, 4, 1, 4, 2, 2, 4, 3, 3, 3, 3, 3};
    std::vector<double> x(values);
    x.resize(60, 184);
    const bytes chunk = frame_edit::chunk_of(round_trip::frame_of<Codec::ByteZip>(x, 0.25));
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        INFO("value " << i);
        CHECK(static_cast<unsigned>(chunk.at(i)) == symbols[i]);
    }
}

TEST_CASE("BitZip cuts pi as the paper's example does: 11 mantissa bits for a bound of 1e-3",
          "[codec][bitzip]")
{
    // CS & IT 2021, section 3.2.1: 3.14159 is (0, 10000000, 10010010000111111010000), 2^-10 <= 1e-3 < 2^-9
    // and 2^1 <= 3.14159 < 2^2, so b = 1 + 10. The first three values are not predicted. 0 has the exponent
    // field 0; then the same again is predicted by order 0.
    std::vector<float> x(40, 3.14159f);
    x[0] = 0;
    const bytes zip = frame_edit::chunk_of(round_trip::frame_of<Codec::BitZip>(x, 1e-3));
    const std::string pi = "0 10000000 10010010000", zero = "0 00000000";
    std::string expected = without_spaces(zero + pi + pi);
    for (int i = 3; i < 40; ++i) expected += "100";
    CHECK(bits_of(zip, expected.size()) == expected);
    REQUIRE(zip.size() == packed(expected).size() + 2 + 2 + 4);
    CHECK(ccoll::load<std::uint16_t>(zip, zip.size() - 8) == packed(expected).size());
    CHECK(ccoll::load<std::uint16_t>(zip, zip.size() - 6) == 0);
    CHECK(ccoll::load<float>(zip, zip.size() - 4) == 0);

    // The earlier paper predicts the third value already.
    const bytes wise = frame_edit::chunk_of(round_trip::frame_of<Codec::BitWise>(x, 1e-3));
    expected = without_spaces(zero + pi + "100");
    CHECK(bits_of(wise, expected.size()) == expected);

    // Rounding alone: the sign stays, and nothing else changes.
    x[1] = -3.14159f;
    const bytes cut = frame_edit::chunk_of(round_trip::frame_of<Codec::BitCut>(x, 1e-3));
    expected = without_spaces(zero + "1 10000000 10010010000" + pi);
    CHECK(bits_of(cut, expected.size()) == expected);

    // What was cut is 1000...: 11 of 23 bits are left, so 2^-11 of the ulp of 2 in the middle of what pi may
    // have been.
    std::vector<float> y(x.size());
    REQUIRE(ccoll::decode<Codec::BitCut>(round_trip::frame_of<Codec::BitCut>(x, 1e-3), y) == status::ok);
    CHECK(y[0] == 0);
    CHECK(y[1] == -0x1.921p+1f);
    CHECK(y[2] == 0x1.921p+1f);
}

TEST_CASE("BitZip codes f64 in 12 + b bits, and a prediction in 3", "[codec][bitzip]")
{
    // IEEE Access 2023, equations 1 to 7 by hand: E = 2^-4, so 0, 1 and 2 keep b = 0, 4 and 5 bits. A decoder
    // has 0, 1 + 1/32 and 2 + 1/32. For 3 the orders 0 to 3 predict 2 + 1/32, 3 + 1/32, 3, and 2 - 1/16:
    // order 2. Then, from 3, 2 + 1/32, 1 + 1/32 and 0, they predict 3, 4 - 1/32, 4 - 1/16 and 4 - 1/16 for 4:
    // order 1.
    const bytes chunk =
        frame_edit::chunk_of(round_trip::frame_of<Codec::BitZip>(counted<double>(40), 0x1p-4));
    const std::string expected =
        without_spaces("0 00000000000  0 01111111111 0000  0 10000000000 00000  1 10  1 01");
    CHECK(bits_of(chunk, expected.size()) == expected);
}

TEST_CASE("BitZip subtracts the least value, so that no sign is left", "[codec][bitzip]")
{
    std::vector<double> x = counted<double>(40);
    const bytes plain = frame_edit::chunk_of(round_trip::frame_of<Codec::BitZip>(x, 0x1p-4));
    for (double& v : x) v -= 17;
    bytes shifted = frame_edit::chunk_of(round_trip::frame_of<Codec::BitZip>(x, 0x1p-4));
    REQUIRE(shifted.size() == plain.size());
    CHECK(ccoll::load<double>(shifted, shifted.size() - 8) == -17);
    ccoll::store(ccoll::byte_span(shifted), shifted.size() - 8, 0.0);
    CHECK(shifted == plain);
}

}  // namespace bitwise_cases
