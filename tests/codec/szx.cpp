// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: names kernels
// codec/szx.hpp, codec/pipe_szx.hpp, codec/szx/{layout,quantiser,portable}.hpp
#include "support/catch.hpp"

#include <cfenv>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "codec/exceptional.hpp"
#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"

#include <ccoll/codec/szx/coder.hpp>

namespace szx_cases {

using namespace ccoll::policies;

namespace {

using round_trip::combination;

using every_combination = std::tuple<combination<Codec::SZx, float>, combination<Codec::SZx, double>,
                                     combination<Codec::PipeSZx, float>, combination<Codec::PipeSZx, double>>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("SZx keeps every value within eb, whatever the values and the bound", "[codec][szx]",
                        every_combination)
{
    using T = typename TestType::element;
    // Two chunks of SZx, one and a half of PipeSZx, and a last block of one value.
    for (const auto& field : fields::all<T>(8193))
        for (const double eb : round_trip::bounds_for<T>(fields::range(field.values))) {
            INFO(field.name << ", eb = " << eb);
            CHECK(round_trip::check<typename TestType::codec>(field.values, eb).good());
        }
}

TEMPLATE_LIST_TEST_CASE("SZx keeps every value within eb at every block and chunk edge", "[codec][szx]",
                        every_combination)
{
    using T = typename TestType::element;
    const std::size_t sizes[] = {0,    1,     2,    3,   4,
                                 5,  // shorter than the codes and middles that they would cost
                                 127,  128,   129,  255, 257,  // a block
                                 5119, 5120,  5121,            // a chunk of PipeSZx
                                 8191, 8192,  8193,            // a chunk of SZx
                                 1009, 100003};                // primes
    for (const std::size_t n : sizes)
        for (const auto& x : {fields::smooth<T>(n, 7), fields::non_finite<T>(n, 7), fields::random<T>(n, 7)})
            for (const double eb : {0.3, 1e-3, 1e-7}) {
                INFO("n = " << n << ", eb = " << eb);
                CHECK(round_trip::check<typename TestType::codec>(x, eb).good());
            }
}

TEMPLATE_LIST_TEST_CASE("SZx reads and writes frames at any address", "[codec][szx]", every_combination)
{
    using T = typename TestType::element;
    for (std::size_t shift = 1; shift <= 8; ++shift)
        for (const double eb : {1e-1, 1e-3, 1e-5, 1e-9}) {
            INFO("shift = " << shift << ", eb = " << eb);
            CHECK(round_trip::check<typename TestType::codec>(fields::smooth<T>(6000), eb, shift).good());
        }
}

TEMPLATE_LIST_TEST_CASE("SZx holds random bounds on random bit patterns, and non-finite values survive",
                        "[codec][szx]", every_combination)
{
    using T = typename TestType::element;
    fields::generator random(11);
    for (unsigned trial = 0; trial < 300; ++trial) {
        const std::size_t n = random.below(700);
        std::vector<T> x = fields::bit_patterns<T>(n, trial + 1);
        if (trial % 3 == 1)  // of similar exponents, so that most blocks are neither raw nor constant
            for (T& v : x)
                v = static_cast<T>(std::ldexp(random.unit(), static_cast<int>(random.below(12)) - 6));
        if (trial % 3 == 2)
            for (T& v : x) v = static_cast<T>(1.0 + std::ldexp(random.unit(), -10));
        const int exponents = trial % 3 == 0 ? 280 : 30, lowest = trial % 3 == 0 ? -140 : -25;
        const int exponent = lowest + static_cast<int>(random.below(static_cast<std::size_t>(exponents)));
        const double eb = std::ldexp(1.5 + 0.5 * random.unit(), exponent);
        INFO("trial " << trial << ", n = " << n << ", eb = " << eb);
        CHECK(round_trip::check<typename TestType::codec>(x, eb).good());
    }
}

TEMPLATE_LIST_TEST_CASE("SZx keeps one non-finite value anywhere in a block, bit for bit", "[codec][szx]",
                        every_combination)
{
    using T = typename TestType::element;
    for (const T stranger : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                             -std::numeric_limits<T>::infinity()})
        for (std::size_t at = 0; at < 256; ++at)
            // Within 1e39 of one another, all finite floats are one constant block.
            for (const double eb : {1e-3, 1e39}) {
                std::vector<T> x = fields::smooth<T>(256);
                x[at] = stranger;
                const auto outcome = round_trip::check<typename TestType::codec>(x, eb);
                INFO("at " << at << ", eb = " << eb);
                CHECK(outcome.good());
                CHECK(outcome.encoded.raw_blocks == 0);
                CHECK(outcome.encoded.special_values == 1);
            }
}

TEMPLATE_LIST_TEST_CASE("SZx sees a value beyond the bound whose difference is rounded to the bound",
                        "[codec][szx]", every_combination)
{
    using T = typename TestType::element;
    std::vector<T> x(128, T(2));
    x[5] = -std::numeric_limits<T>::epsilon() / 4;  // the middle is 1, and 1 - x[5] is 1 in T
    CHECK(round_trip::check<typename TestType::codec>(x, 1.0).good());
    CHECK_FALSE(round_trip::within(T(1), x[5], 1.0));
}

TEMPLATE_TEST_CASE("where SZx does not look at what it counted, all values pass", "[codec][szx]", float,
                   double)
{
    using T = TestType;
    using fields_of = ccoll::detail::fields_of<T>;
    using word = typename fields_of::word;
    namespace szx = ccoll::detail::szx;
    const ccoll::detail::exact_environment environment;
    const auto number = [](std::uint64_t power, word mantissa) {
        return std::bit_cast<T>(
            static_cast<word>((static_cast<word>(power) << fields_of::mantissa_bits) | mantissa));
    };
    const word mantissas = fields_of::exponent_one - 1;
    const auto last = static_cast<std::uint64_t>(fields_of::exponent >> fields_of::mantissa_bits);
    fields::generator random(29);
    const auto any_mantissa = [&] { return static_cast<word>(random.bits()) & mantissas; };
    int certain = 0, not_certain = 0, at_the_edge = 0, largest = 0;
    for (int trial = 0; trial < 20000; ++trial) {
        // The powers of two of limit, largest value and radius, around the last ones that are certain, and at
        // the ends of T.
        const std::uint64_t l = random.below(6) == 0 ? 1 + random.below(4) : 4 + random.below(last - 4);
        const std::uint64_t e = std::min(
            last - 1, l + static_cast<std::uint64_t>(fields_of::mantissa_bits) - 12 + random.below(10));
        const std::uint64_t r = std::min(e, l + random.below(e < l ? 1 : e - l + 1));
        const T limit = number(l, trial % 3 == 0   ? 0
                                  : trial % 3 == 1 ? mantissas
                                                   : any_mantissa()),
                top = number(e, any_mantissa()), wide = number(r, any_mantissa());
        const szx::block_scale<T> scale = szx::block_scale<T>::of(limit);
        const T centre = random.below(2) == 0 ? top : -top;
        std::vector<T> x(szx::block_elements);
        for (T& v : x) {  // half a step beside a whole number of them, or an ulp beside that
            const T steps = std::floor(static_cast<T>(random.unit()) * wide * scale.inverse) + T(0.5);
            v = centre + std::nextafter(steps, steps + static_cast<T>(random.below(3)) - T(1)) * scale.step;
            if (!(std::fabs(v) <= std::numeric_limits<T>::max())) v = centre;
        }
        const szx::block_plan<T> plan = szx::portable::plan_block(x.data(), scale);
        if (!plan.certain) {
            ++not_certain;
            continue;
        }
        ++certain;
        std::vector<std::byte> room(szx::block_room<T>);
        std::vector<T> y(x.size());
        REQUIRE(plan.bytes > 0);
        REQUIRE(szx::portable::encode_block(x.data(), plan, scale, room.data()) == plan.bytes);
        szx::portable::decode_block(plan.bytes, room.data(), scale.step, y.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
            const T error = std::fabs(y[i] - x[i]);
            at_the_edge += error > T(0.969) * limit;  // half a step is 0.96875
            if (error < limit && round_trip::within(y[i], x[i], static_cast<double>(limit))) continue;
            FAIL("trial " << trial << ", value " << x[i] << " became " << y[i] << ", limit " << limit);
        }
        largest = std::max(largest, static_cast<int>(e) - static_cast<int>(l));
    }
    CHECK(certain > 1000);
    CHECK(not_certain > 1000);
    CHECK(at_the_edge > 100);
    CHECK(largest >= fields_of::mantissa_bits - 9);
}

TEMPLATE_TEST_CASE("SZx counts steps in as few bytes as hold them", "[codec][szx]", float, double)
{
    using T = TestType;
    namespace szx = ccoll::detail::szx;
    const ccoll::detail::exact_environment environment;
    const szx::block_scale<T> scale = szx::block_scale<T>::of(T(1));
    for (unsigned bytes = 1; bytes < sizeof(T); ++bytes)
        // The most steps that so many bytes hold.
        for (const T beyond : {T(-1.5), T(-0.4), T(0.4), T(0.6), T(1.5)}) {
            if (bytes + 1 == sizeof(T) && std::fabs(beyond) < 1) continue;  // as many as T itself
            const T most = szx::offset_of<T>(bytes) - T(1), away = (most + beyond) * scale.step;
            std::vector<T> x(szx::block_elements), y(x.size());
            x[7] = -away;
            x[100] = away;
            const szx::block_plan<T> plan = szx::portable::plan_block(x.data(), scale);
            INFO(bytes << " bytes, " << most + beyond << " steps");
            CHECK(std::min(plan.bytes, szx::raw_code<T>) == (beyond > T(0.5) ? bytes + 1 : bytes));
            std::vector<std::byte> room(szx::block_room<T>);
            const unsigned code = szx::portable::encode_block(x.data(), plan, scale, room.data());
            szx::portable::decode_block(code, room.data(), scale.step, y.data());
            CHECK(std::fabs(y[7] - x[7]) < T(1));
            CHECK(std::fabs(y[100] - x[100]) < T(1));
        }
}

TEMPLATE_LIST_TEST_CASE("SZx keeps everything raw under a bound that is no normal number", "[codec][szx]",
                        every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const double least = static_cast<double>(std::numeric_limits<T>::min());
    const auto x = fields::constant<T>(1000);
    CHECK(round_trip::frame_of<C>(x, least).size() < 200);
    CHECK(round_trip::frame_of<C>(x, std::nextafter(least, 0.0)).size() ==
          ccoll::max_encoded_bytes<C, T>(1000));
}

TEMPLATE_LIST_TEST_CASE("SZx keeps a short last block raw where that is shorter", "[codec][szx]",
                        every_combination)
{
    using T = typename TestType::element;
    std::vector<T> x(130, T(1));
    x.back() = T(2);
    const auto frame = round_trip::frame_of<typename TestType::codec>(x, sizeof(T) == 4 ? 1e-4 : 1e-9);
    CHECK(frame_edit::chunk_of(frame).size() == 2 + sizeof(T) + 2 * sizeof(T));
}

TEMPLATE_LIST_TEST_CASE("SZx counts the blocks that it keeps raw", "[codec][szx]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    std::vector<T> x(1280, T(1));
    CHECK(round_trip::check<C>(x, 1e-3).encoded.raw_blocks == 0);
    // f32: no such bound, one raw chunk.
    CHECK(round_trip::check<C>(x, 1e-60).encoded.raw_blocks == (sizeof(T) == 4 ? 1 : 0));
    // Not far enough apart for exceptional values, but too far for counts.
    x[300] = T(sizeof(T) == 4 ? 16000 : 8e12);
    x[0] = x[301] = -x[300];
    x[1] = x[300];
    const auto outcome = round_trip::check<C>(x, 1e-3);
    CHECK(outcome.good());
    CHECK(outcome.encoded.raw_blocks == 2);
    CHECK(outcome.encoded.special_values == 0);
}

TEMPLATE_LIST_TEST_CASE("SZx takes exceptional values out of a chunk with raw blocks, and only there",
                        "[codec][szx][exceptions]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const auto clean = fields::smooth<T>(20000);
    const auto bytes_without = round_trip::check<C>(clean, 1e-3).encoded.bytes;
    for (const T marker :
         {T(1e20), std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity()}) {
        auto x = clean;
        for (std::size_t i = 0; i < x.size(); ++i)
            if (i % 700 < 200 || i % 601 == 3) x[i] = marker;
        const auto outcome = round_trip::check<C>(x, 1e-3);
        CHECK(outcome.good());
        CHECK(outcome.encoded.raw_blocks == 0);
        CHECK(outcome.encoded.special_values > 5000);
        CHECK(8 * outcome.encoded.bytes <= 8 * bytes_without + 2 * x.size() / 5);  // 0.4 bits per value
    }
    // One constant, however large, is a block of its own; values that all differ stay where they are.
    CHECK(round_trip::check<C>(std::vector<T>(300, T(1e30)), 1e-3).encoded.special_values == 0);
    auto own = clean;
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<T>(1e30 * static_cast<double>(i + 1));
    const auto raw = round_trip::check<C>(own, 1e-3);
    CHECK(raw.good());
    CHECK(raw.encoded.special_values == 0);
}

TEMPLATE_LIST_TEST_CASE("exceptional values of any kind and number come back bit for bit from chunks of SZx",
                        "[codec][szx][exceptions]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    for (const std::size_t n : {129u, 300u, 5000u, 5120u})
        exceptional::come_back<C, T>(
            n, 1e-3, [n](const std::string& kind, double, const auto& all, std::size_t usual) {
                if (n < 5000 || kind == "infinities" || kind == "few payloads" || kind == "many payloads")
                    return;
                CHECK(!all.empty());
                CHECK(all.size() <= usual + n / 8 + n / 50 + 80);
            });
    // 256 runs of different values are taken out, where a chunk has so many; more of them are not.
    const std::size_t n = 5120, most = (n - 1) / 32;
    const auto infinity = std::numeric_limits<T>::infinity();
    fields::word<T> bits;
    std::memcpy(&bits, &infinity, sizeof bits);
    for (const std::size_t runs : {most, most + 1, most + 2}) {
        auto x = fields::smooth<T>(n);
        for (std::size_t k = 0; k < runs; ++k)
            fields::set_bits(x[31 * k + 1], static_cast<fields::word<T>>(bits + 1 + k));
        const auto all = exceptional::chunk_of<C>(x, 1e-3);
        INFO(runs << " different values");
        CHECK((!all.empty() && all[0] == std::byte{255}) == (runs <= most + 1));
        CHECK(exceptional::is_good<T>(exceptional::decoded<C>(all, x, 1e-3), x, 1e-3, {}));
    }
}

TEMPLATE_LIST_TEST_CASE("a missing value that SZx could hold within the bound still comes back bit for bit",
                        "[codec][szx][exceptions]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    for (const T missing : {T(0.25), -T(0), T(-9999), std::numeric_limits<T>::denorm_min(),
                            std::numeric_limits<T>::quiet_NaN()})
        for (const std::size_t n : {1u, 30u, 300u, 5120u})
            for (const double eb : {0.1, 1e-3, 1e-60}) {
                auto x = fields::smooth<T>(n);
                for (std::size_t i = 0; i < n; i += 1 + i % 13) x[i] = missing;
                const auto all = exceptional::chunk_of<C, T>(x, eb, missing);
                INFO(missing << ", n = " << n << ", eb = " << eb);
                CHECK(exceptional::is_good<T>(exceptional::decoded<C>(all, x, eb), x, eb, missing));
                if (n == 5120 && eb == 0.1) CHECK(!all.empty());
            }
    const auto clean = fields::smooth<T>(5120);
    CHECK(exceptional::chunk_of<C, T>(clean, 1e-3, T(-9999)) == exceptional::chunk_of<C, T>(clean, 1e-3));
}

TEMPLATE_LIST_TEST_CASE("a chunk of SZx with exceptional values is refused if anything of it is missing",
                        "[codec][szx][exceptions][total]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    auto x = fields::smooth<T>(300);
    x[7] = x[200] = x[201] = std::numeric_limits<T>::infinity();
    const auto all = exceptional::chunk_of<C>(x, 1e-3);
    REQUIRE(!all.empty());
    REQUIRE(all[0] == std::byte{255});
    REQUIRE(all.size() % 16 == 0);
    exceptional::survives_damage<C, T>(all, x.size(), 1e-3);
    std::vector<T> y(x.size());
    using impl = ccoll::codec_impl<C, T, ccoll::host_space>;
    const std::size_t place = ccoll::load<std::uint16_t>(all, 2);
    // The section stands behind the blocks, and nowhere else.
    for (std::size_t other = 0; other < 4096; ++other) {
        auto moved = all;
        ccoll::store(moved, 2, static_cast<std::uint16_t>(other));
        CHECK((impl::decode_chunk(moved, y, 1e-3) == ccoll::status::ok) == (other == place));
    }
    auto reserved = all;
    reserved[1] = std::byte{1};
    CHECK(impl::decode_chunk(reserved, y, 1e-3) == ccoll::status::corrupt);
}

TEMPLATE_LIST_TEST_CASE(
    "SZx is worth its time: constant fields shrink over 50 times, calm ones to less than half",
    "[codec][szx]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const std::size_t n = 100003;
    const double raw = static_cast<double>(n * sizeof(T));
    CHECK(raw / static_cast<double>(round_trip::frame_of<C>(fields::constant<T>(n), 1e-3).size()) > 50);
    CHECK(raw / static_cast<double>(round_trip::frame_of<C>(fields::quiet<T>(n), 1e-3).size()) > 2);
    // Without calm regions: two bytes per value, middles and codes.
    CHECK(raw / static_cast<double>(round_trip::frame_of<C>(fields::smooth<T>(n), 1e-2).size()) >
          (sizeof(T) == 4 ? 1.95 : 3.8));
}

TEMPLATE_LIST_TEST_CASE("SZx gives equal bytes for equal values, wherever they and their frame lie",
                        "[codec][szx]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    for (const auto& field : fields::all<T>(9001)) {
        const auto first = round_trip::frame_of<C>(field.values, 1e-4);
        std::vector<T> shifted(field.values.size() + 1);
        std::memcpy(shifted.data() + 1, field.values.data(), field.values.size() * sizeof(T));
        std::vector<std::byte> memory(3 + ccoll::max_encoded_bytes<C, T>(field.values.size()),
                                      round_trip::guard);
        const auto dst = ccoll::byte_span(memory).subspan(3);
        const auto second = ccoll::encode<C>(std::span<const T>(shifted).subspan(1), dst, 1e-4);
        INFO(field.name);
        REQUIRE(second.bytes == first.size());
        CHECK(std::memcmp(dst.data(), first.data(), first.size()) == 0);
    }
}

TEMPLATE_LIST_TEST_CASE(
    "SZx gives equal bytes whatever rounding the program asked for, and leaves that as it was",
    "[codec][szx]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const int before = std::fegetround();
    for (const auto& field : fields::all<T>(3000))
        for (const double eb : {0.1, 1e-6, 3e-38}) {
            const auto frame = round_trip::frame_of<C>(field.values, eb);
            std::vector<T> y(field.values.size()), z(y.size());
            REQUIRE(ccoll::decode<C>(frame, y) == ccoll::status::ok);
            for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
                std::fesetround(rounding);
                const auto other = round_trip::frame_of<C>(field.values, eb);
                const auto decoded = ccoll::decode<C>(frame, z);
                const bool kept = std::fegetround() == rounding;
                std::fesetround(before);
                INFO(field.name << ", eb = " << eb);
                CHECK(kept);
                CHECK(other == frame);
                CHECK(decoded == ccoll::status::ok);
                CHECK(std::memcmp(y.data(), z.data(), y.size() * sizeof(T)) == 0);
            }
        }
}

#if defined(__SSE2__)
TEMPLATE_LIST_TEST_CASE("SZx keeps denormals in a program that drops them", "[codec][szx]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    for (const auto& x : {fields::denormal<T>(3000), fields::quiet<T>(3000), fields::wild<T>(3000)})
        for (const double eb : {3e-308, 3e-38, 1e-3}) {
            const auto frame = round_trip::frame_of<C>(x, eb);
            std::vector<T> y(x.size()), z(x.size());
            REQUIRE(ccoll::decode<C>(frame, y) == ccoll::status::ok);
            const unsigned before = __builtin_ia32_stmxcsr();
            __builtin_ia32_ldmxcsr(before | 0x8040u);  // flush to zero, denormals are zero
            const auto other = round_trip::frame_of<C>(x, eb);
            const auto decoded = ccoll::decode<C>(frame, z);
            const unsigned after = __builtin_ia32_stmxcsr();
            __builtin_ia32_ldmxcsr(before);
            CHECK((after & 0x8040u) == 0x8040u);
            CHECK(other == frame);
            CHECK(decoded == ccoll::status::ok);
            CHECK(std::memcmp(y.data(), z.data(), y.size() * sizeof(T)) == 0);
        }
}
#endif

namespace {

std::string hex(ccoll::const_byte_span bytes)
{
    std::string text;
    for (const std::byte b : bytes)
        for (const unsigned digit : {static_cast<unsigned>(b) >> 4, static_cast<unsigned>(b) & 15})
            text += "0123456789abcdef"[digit];
    return text;
}

template <class C, class T>
std::string chunk_of(const std::vector<T>& x, double eb)
{
    return hex(frame_edit::chunk_of(round_trip::frame_of<C>(x, eb)));
}

}  // namespace

TEST_CASE("the bytes of SZx are those of wire version 9", "[codec][szx][golden]")
{
    const std::vector<float> x{0, 1, 2, 3, 4, 5, 6, 7};
    // Middle 3.5; differences -3.5 .. 3.5 are -7 .. 7 steps of 1.9375 / 4, and 128 stands for 0.
    const auto frame = round_trip::frame_of<Codec::SZx>(x, 0.25);
    CHECK(hex(ccoll::const_byte_span(frame).first(32)) ==
          "43434f4c090100000800000000000000000000000000d03f0020000001000000");
    CHECK(hex(ccoll::const_byte_span(frame).subspan(32, 16)) == "01000000010000000000000000000000");
    CHECK(hex(ccoll::const_byte_span(frame).subspan(48, 16)) == "000000000d0000000000000000000000");
    CHECK(hex(ccoll::const_byte_span(frame).subspan(64 + 13)) == "000000");
    CHECK(chunk_of<Codec::SZx>(x, 0.25) == "0100006040797b7d7f81838587");
    // Within 5 of one another's middle they are constant; the middle of all is 3.5.
    CHECK(chunk_of<Codec::SZx>(x, 5.0) == "0000006040");
    CHECK(chunk_of<Codec::SZx>(std::vector<float>(8, -0.0f), 0.25) == "0000000000");  // a middle is never -0

    const auto piped =
        round_trip::frame_of<Codec::PipeSZx>(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}, 0.25);
    CHECK(hex(ccoll::const_byte_span(piped).first(32)) ==
          "43434f4c090201000800000000000000000000000000d03f0014000001000000");
    CHECK(hex(ccoll::const_byte_span(piped).subspan(48, 8)) == "0000000011000000");
    CHECK(hex(frame_edit::chunk_of(piped)) == "010000000000000c40797b7d7f81838587");
}

TEST_CASE("the chunks of SZx on long fields are those of wire version 9", "[codec][szx][golden]")
{
    // Fields of exact values only: no libm. Every code from 0 to raw occurs.
    const auto hash = []<class C, class T>(C, T) {
        std::vector<std::byte> all;
        for (const double eb : {0.4, 1e-2, 1e-4, 1e-6, 1e-9, 1e-12})
            for (const auto& x : {fields::random<T>(9000), fields::ramp<T>(9000), fields::half_steps<T>(9000),
                                  fields::denormal<T>(9000), fields::bit_patterns<T>(9000)}) {
                const auto frame = round_trip::frame_of<C>(x, eb);
                for (std::size_t i = 0; i < 9000;
                     // Chunk by chunk, without header and index.
                     i += ccoll::codec_impl<C, T, ccoll::host_space>::chunk_elements) {
                    const auto chunk = frame_edit::chunk_of(
                        frame, i / ccoll::codec_impl<C, T, ccoll::host_space>::chunk_elements);
                    all.insert(all.end(), chunk.begin(), chunk.end());
                }
            }
        return round_trip::hash(all);
    };
    CHECK(hash(Codec::SZx{}, 0.0f) == 0x5f5c30c32b6b1f10u);
    CHECK(hash(Codec::SZx{}, 0.0) == 0x5046937b3e02ac0bu);
    CHECK(hash(Codec::PipeSZx{}, 0.0f) == 0xf9eae8319bd7e1bau);
    CHECK(hash(Codec::PipeSZx{}, 0.0) == 0x277cb7a267ca824bu);
}

TEMPLATE_LIST_TEST_CASE("a chunk encoder of SZx keeps to any room that it is given", "[codec][szx]",
                        every_combination)
{
    using T = typename TestType::element;
    using coder = ccoll::codec_impl<typename TestType::codec, T, ccoll::host_space>;
    for (const std::size_t n : {1u, 5u, 128u, 200u, 1000u})
        for (const auto& field : fields::all<T>(n)) {
            std::vector<std::byte> whole(n * sizeof(T));
            const auto most = coder::encode_chunk(field.values, whole, 1e-3);
            CHECK((most.code != ccoll::status::ok || most.bytes < n * sizeof(T)));
            for (std::size_t room = 0; room < n * sizeof(T); room += n < 10 ? 1 : 13) {
                std::vector<std::byte> less(room + 1, round_trip::guard);
                const auto result =
                    coder::encode_chunk(field.values, ccoll::byte_span(less).first(room), 1e-3);
                INFO(field.name << ", n = " << n << ", room = " << room);
                CHECK(less[room] == round_trip::guard);
                const bool fits = most.code == ccoll::status::ok && room >= most.bytes;
                CHECK(result.code == (fits ? ccoll::status::ok : ccoll::status::out_of_space));
            }
        }
}

TEMPLATE_LIST_TEST_CASE(
    "a chunk decoder of SZx answers corrupt unless codes are known and blocks fill the chunk", "[codec][szx]",
    every_combination)
{
    using T = typename TestType::element;
    using coder = ccoll::codec_impl<typename TestType::codec, T, ccoll::host_space>;
    std::vector<T> y(129);
    std::vector<std::byte> good(2 + 2 * sizeof(T));  // two constant blocks, the second of one value
    CHECK(coder::decode_chunk(good, y, 1) == ccoll::status::ok);
    for (unsigned code = 1; code < 256; ++code) {
        good[1] = static_cast<std::byte>(code);
        CHECK(coder::decode_chunk(good, y, 1) ==
              (code == sizeof(T) ? ccoll::status::ok : ccoll::status::corrupt));  // raw: as long
    }
    good[1] = std::byte{0};
    for (std::size_t size = 0; size < good.size(); ++size) {
        const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK(coder::decode_chunk(cut, y, 1) == ccoll::status::corrupt);
    }
    good.push_back(std::byte{0});
    CHECK(coder::decode_chunk(good, y, 1) == ccoll::status::corrupt);
    for (std::size_t code = sizeof(T) + 1; code < 256; ++code) {  // a chunk as long as such a code would need
        std::vector<std::byte> unknown(1 + sizeof(T) + 128 * code);
        unknown[0] = static_cast<std::byte>(code);
        CHECK(coder::decode_chunk(unknown, std::span(y).first(128), 1) == ccoll::status::corrupt);
    }
}

}  // namespace szx_cases
