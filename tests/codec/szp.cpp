// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: names kernels, links szp
// codec/szp.hpp: what SZp promises of frames for movement. szp.cpp tests chunks against their law.
#include "support/catch.hpp"

#include <cfenv>

#include "codec/szp.hpp"

namespace szp_cases {

TEMPLATE_TEST_CASE("SZp keeps every value within eb, whatever the values and the bound", "[codec][szp]",
                   float, double)
{
    // A chunk and one value, so that both ways of writing a chunk occur.
    for (const auto& field : all_fields<TestType>(8193))
        for (const double eb : bounds_for<TestType>(fields::range(field.values))) {
            INFO(field.name << ", eb = " << eb);
            CHECK(round_trip::check<C>(field.values, eb).good());
        }
}

TEMPLATE_TEST_CASE("SZp keeps every value within eb for every count and at every chunk edge", "[codec][szp]",
                   float, double)
{
    std::vector<std::size_t> sizes{8160, 8191, 8192, 8193, 8224, 8703, 8704, 16383, 16384, 16385, 20011};
    for (std::size_t n = 0; n < 40; ++n) sizes.push_back(n);
    for (std::size_t n = least - 4; n < least + 70; ++n) sizes.push_back(n);
    for (const std::size_t edge : {1024u, 2048u, 7168u})
        for (std::size_t n = edge - 2; n < edge + 3; ++n) sizes.push_back(n);
    for (const std::size_t n : sizes)
        for (const auto& field : all_fields<TestType>(n))
            for (const double eb : {0.3, 1e-3, 1e-7}) {
                INFO(field.name << ", n = " << n << ", eb = " << eb);
                CHECK(round_trip::check<C>(field.values, eb).good());
            }
}

TEMPLATE_TEST_CASE("SZp reads and writes frames at any address", "[codec][szp]", float, double)
{
    for (std::size_t shift = 1; shift <= 65; shift += shift < 9 ? 1 : 7)
        for (const auto& field : all_fields<TestType>(700))
            for (const double eb : {1e-1, 1e-5}) {
                INFO(field.name << ", shift = " << shift << ", eb = " << eb);
                CHECK(round_trip::check<C>(field.values, eb, shift).good());
            }
}

TEMPLATE_TEST_CASE(
    "SZp rounds to the right side within an ulp of every half step, up to and beyond each of its limits",
    "[codec][szp]", float, double)
{
    using T = TestType;
    const bool f32 = sizeof(T) == 4;
    // Powers of two, and what rounds badly; then the smallest and the largest steps that there are.
    for (const double eb :
         {1e-3, 0.7e-3, 0.1, 0.3, 0.25, 1.0 / 3, 7e5, 0x1p-10, std::nextafter(0x1p-10, 1.0),
          std::nextafter(0x1p-10, 0.0), 0.9999, 5e-38, 1e-30, f32 ? 0x1p94 : 0x1p988, f32 ? 1.7e27 : 1e289}) {
        const double step = step_of<T>(eb);
        REQUIRE(step > 0);
        CHECK(step <= 2 * eb);
        for (const int exponent : {0, 3, 8, 13, 14, 15, 21, 22, 23, 24, 25, 29, 30, 31, 51, 52, 53, 54}) {
            std::vector<T> x;
            for (int around = -40; around <= 40; ++around)
                for (const double half : {-0.5, 0.0, 0.5})
                    for (const double sign : {1.0, -1.0}) {
                        T v = value_of<T>(sign * ((std::ldexp(1.0, exponent) + around + half) * step));
                        for (int ulp = 0; ulp < 2; ++ulp) v = std::nextafter(v, T(0));
                        for (int ulp = -2; ulp <= 2; ++ulp) {
                            x.push_back(v);
                            v = std::nextafter(v, value_of<T>(sign * HUGE_VAL));
                        }
                    }
            INFO("eb = " << eb << ", 2^" << exponent << " steps");
            CHECK(round_trip::check<C>(x, eb).good());
            // Those below the limit alone, so that no larger neighbour changes how they are encoded.
            const std::vector<T> just_below(x.begin(), x.begin() + 32 * 37);
            REQUIRE(just_below.size() >= least);
            CHECK(round_trip::check<C>(just_below, eb).good());
        }
    }
}

TEMPLATE_TEST_CASE("SZp holds random bounds on random values of few exponents", "[codec][szp]", float, double)
{
    using T = TestType;
    fields::generator random(17);
    for (unsigned trial = 0; trial < 2000; ++trial) {
        const std::size_t n = least + random.below(300);
        const int spread = static_cast<int>(random.below(20)) + 1,
                  exponent = static_cast<int>(random.below(60)) - 30;
        std::vector<T> x(n);
        for (T& v : x) {
            const int below = static_cast<int>(random.below(static_cast<std::size_t>(spread)));
            v = static_cast<T>(std::ldexp(random.unit(), exponent - below));
        }
        if (trial % 3 == 1)
            for (T& v : x) v = static_cast<T>(v + static_cast<T>(std::ldexp(1.0, exponent + 3)));
        const int relative = static_cast<int>(random.below(sizeof(T) == 4 ? 40 : 70));
        const double eb = std::ldexp(1 + 0.5 * random.unit(), exponent - relative);
        INFO("trial " << trial << ", n = " << n << ", eb = " << eb);
        CHECK(round_trip::check<C>(x, eb).good());
    }
}

TEMPLATE_TEST_CASE("SZp holds the bound on numbers of few bits of every size", "[codec][szp]", float, double)
{
    using T = TestType;
    for (int exponent = std::numeric_limits<T>::min_exponent - 1;
         exponent < std::numeric_limits<T>::max_exponent; ++exponent)
        for (const int steps : {0, 12, 20, 29, 31, 45, 52, 56, 100})
            for (const bool constant : {true, false}) {
                // The largest has no normal number for an inverse.
                const T unit = static_cast<T>(std::ldexp(1.0, exponent));
                std::vector<T> x(least + 8, -unit);
                for (std::size_t i = 0; i < x.size() && !constant; ++i)
                    x[i] = static_cast<T>((i % 3 == 0 ? 1.0 : i % 3 == 1 ? -1.5 : 0.25) * unit);
                const double eb = std::ldexp(1.2, exponent - steps);
                INFO("2^" << exponent << ", 2^" << steps << " bounds");
                if (ccoll::is_bound(eb)) CHECK(round_trip::check<C>(x, eb).good());
            }
}

TEMPLATE_TEST_CASE(
    "SZp stays within eb on a grid of its own where a multiple of the step lies in the next binade",
    "[codec][szp]", float, double)
{
    using T = TestType;
    constexpr int digits = std::numeric_limits<T>::digits;
    for (const int k : {std::numeric_limits<T>::min_exponent + digits + 12, -20, 0, 1, 17, 60,
                        std::numeric_limits<T>::max_exponent - 1, std::numeric_limits<T>::max_exponent}) {
        const double ulp = std::ldexp(1.0, k - digits);  // of the numbers just below 2^k
        std::vector<T> x;
        for (T v = std::nextafter(static_cast<T>(std::ldexp(1.0, k - 1)) * T(1.9999), T(0));
             x.size() < 300;) {
            x.push_back(x.size() % 2 == 0 ? v : -v);
            v *= static_cast<T>(0.99999);
        }
        T below = k == std::numeric_limits<T>::max_exponent
                      ? std::numeric_limits<T>::max()
                      : std::nextafter(static_cast<T>(std::ldexp(1.0, k)), T(0));
        for (; x.size() < 600; below = std::nextafter(below, T(0))) {
            x.push_back(below);
            x.push_back(-below);
        }
        for (int exponent = -3; exponent < (sizeof(T) == 4 ? 14 : 24); ++exponent)
            for (const double factor : {1.0, 1.1, 1.25, 1.5, 1.75, 1.9, 1.999999}) {
                const double eb = std::ldexp(ulp * factor, exponent);
                if (!ccoll::is_bound(eb)) continue;
                INFO("values below 2^" << k << ", eb = " << std::ldexp(factor, exponent) << " ulp");
                CHECK(round_trip::check<C>(x, eb).good());
            }
    }
}

TEMPLATE_TEST_CASE(
    "SZp loses nothing of data that are multiples of a power of two, where that is coarser than the bound",
    "[codec][szp]", float, double)
{
    using T = TestType;
    for (const std::size_t n : {512u, 600u, 8192u, 8200u})
        for (const auto& field : special<T>(n)) {
            const std::string name = field.name;
            const bool on_lattice =
                name == "sixteenths" || name == "eighths on an offset" || name == "integers";
            if (!on_lattice) continue;
            for (const double eb : {0.02, 1e-3, 1e-6}) {
                INFO(name << ", n = " << n << ", eb = " << eb);
                const auto frame = round_trip::frame_of<C>(field.values, eb);
                CHECK(round_trip::same_bits(round_trip::decoded<C, T>(frame, n), field.values));
                CHECK(frame.size() < start_of(n) + 7 * n / 2);
            }
        }
}

TEST_CASE("SZp has no cliff where the bound is near half an ulp", "[codec][szp]")
{
    const auto x = numbers<float>(
        100000, [](std::size_t i) { return 300 + 10 * std::sin(1e-3 * static_cast<double>(i)); });
    for (const double eb : {1.6e-5, 1.5e-5, 1e-5, 1e-6, 1e-8}) {  // half an ulp is 1.526e-5
        INFO("eb = " << eb);
        const auto outcome = round_trip::check<C>(x, eb);
        CHECK(outcome.good());
        CHECK(8 * outcome.encoded.bytes <
              static_cast<std::size_t>(9.3 * static_cast<double>(x.size())));  // Lossless: 9.2
    }
}

TEMPLATE_TEST_CASE("SZp keeps one value of any kind anywhere in a chunk, exactly and for few bytes",
                   "[codec][szp]", float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    const auto calm = numbers<T>(600, [](std::size_t i) { return 1.234e-2 * static_cast<double>(mixed(i)); });
    const std::size_t without = frame_edit::without_fill(round_trip::frame_of<C>(calm, 1e-3)).size();
    for (const T stranger : {limits::quiet_NaN(), limits::signaling_NaN(), limits::infinity(),
                             -limits::infinity(), T(1e30), -limits::max()})
        for (std::size_t at = 0; at < calm.size(); at += at < 70 || at > 570 ? 1 : 7) {
            auto x = calm;
            std::memcpy(&x[at], &stranger, sizeof stranger);
            const auto outcome = round_trip::check<C>(x, 1e-3);
            INFO("at " << at);
            CHECK(outcome.good());
            CHECK(outcome.encoded.raw_blocks == 0);
            CHECK(outcome.encoded.special_values == 1);
            const bytes frame = round_trip::frame_of<C>(x, 1e-3);
            std::vector<T> y(x.size());
            REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
            CHECK(round_trip::same_bits(y[at], stranger));
            // A head, 2 bits for each of 19 blocks, a run of places, a run of values, the value, and fills;
            // and a bridge may take a plane.
            CHECK(frame_edit::without_fill(frame).size() <= without + 32 + 16 + 4);
        }
}

TEMPLATE_TEST_CASE("SZp keeps the payload of every NaN", "[codec][szp]", float, double)
{
    using T = TestType;
    using word = fields::word<T>;
    const auto infinity = std::bit_cast<word>(std::numeric_limits<T>::infinity());
    std::vector<T> x = fields::smooth<T>(32 * 2 * std::numeric_limits<T>::digits);
    for (std::size_t i = 0; i < x.size(); i += 32)  // one bit of payload each, of either sign
        fields::set_bits(
            x[i + i / 32 % 32],
            static_cast<word>(infinity | word{1} << (i / 64) % (std::numeric_limits<T>::digits - 1) |
                              static_cast<word>(i / 32 % 2) << (8 * sizeof(T) - 1)));
    for (const double eb : {1e-1, 1e-5, 1e-60}) CHECK(round_trip::check<C>(x, eb).good());
}

TEMPLATE_TEST_CASE("a constant chunk of SZp costs 24 bytes and its index", "[codec][szp]", float, double)
{
    using T = TestType;
    for (const std::size_t n : {512u, 513u, 543u, 544u, 8191u, 8192u, 8704u, 5u * 8192u + 512u})
        for (const T value : {T(0), -T(0), T(2.1), T(-15.9), T(1.375), T(-1), T(101325),
                              std::numeric_limits<T>::denorm_min()}) {
            const std::size_t chunks = (n + 8191) / 8192;
            INFO("n = " << n << ", value " << value);
            const bytes frame = round_trip::frame_of<C>(std::vector<T>(n, value), 1e-3);
            CHECK(frame.size() == start_of(n) + 32 * chunks);
            for (std::size_t i = 0; i < chunks; ++i) CHECK(frame_edit::bytes_of(frame, i) == 24);
            const std::vector<T> y = round_trip::decoded<C, T>(frame, n);
            CHECK(y == std::vector<T>(n, y[0]));
            CHECK(std::fabs(y[0] - value) <= 1e-3);
        }
    const auto zeros = numbers<T>(9000, [](std::size_t i) { return i % 3 == 0 ? -0.0 : 0.0; });
    CHECK(round_trip::frame_of<C>(zeros, 1e-3).size() == start_of(9000) + 2 * 32);
}

TEMPLATE_TEST_CASE(
    "SZp is worth its time: as many bits as the differences of neighbours need, and 3/4 of a byte per block",
    "[codec][szp]", float, double)
{
    using T = TestType;
    // fields::smooth changes by less than 0.003 + 0.3 * 0.017 + 0.05 * 0.11 = 0.0136 from value to value; on
    // a grid of 2 eb (1 - 2^-8) and rounded at both ends that is less than 6.9 + 1 steps: 4 bits. A group of
    // 32 blocks has 24 bytes, and up to 15 of fill.
    const std::size_t n = 100003, blocks = (n + 31) / 32, chunks = (n + 8191) / 8192,
                      groups = (blocks + 31) / 32;
    CHECK(step_of<T>(1e-3) > 2e-3 * (1 - 0x1p-7));
    const std::size_t most = start_of(n) + chunks * (16 + 15) + groups * (24 + 15) + blocks * 16;
    CHECK(round_trip::frame_of<C>(fields::smooth<T>(n), 1e-3).size() <= most);
    // An offset costs nothing: the base has it.
    auto shifted = fields::smooth<T>(n);
    for (T& v : shifted) v += T(20);
    CHECK(round_trip::frame_of<C>(shifted, 1e-3).size() <= most);
}

TEMPLATE_TEST_CASE(
    "SZp keeps everything under a bound below 4 times the smallest normal number, and no addend",
    "[codec][szp]", float, double)
{
    using T = TestType;
    const double least_bound = 4 * static_cast<double>(std::numeric_limits<T>::min()),
                 below = std::nextafter(least_bound, 0.0);
    const std::vector<T> x(1000, T(0));
    CHECK(round_trip::frame_of<C>(x, least_bound).size() == start_of(1000) + 32);
    CHECK(addend_of(x, least_bound).size() == start_of(1000) + 32);
    for (const auto& field : all_fields<T>(9000)) {
        INFO(field.name);
        CHECK(round_trip::same_bits(
            round_trip::decoded<C, T>(round_trip::frame_of<C>(field.values, below), 9000), field.values));
    }
    bytes dst(ccoll::max_addend_bytes<C, T>(1000));
    CHECK(ccoll::encode_addend<C>(x, dst, below).code == status::too_large);
    CHECK(ccoll::encode_addend<C>(std::vector<T>{}, dst, below).code == status::ok);
}

TEMPLATE_TEST_CASE("SZp keeps every bit of a chunk with fewer than 512 values, unless they are equal",
                   "[codec][szp]", float, double)
{
    using T = TestType;
    for (const std::size_t n : {1u, 5u, 32u, 511u, 8192u + 1u, 8192u + 511u})
        for (const auto& field : all_fields<T>(n))
            for (const double eb : {10.0, 1e-3}) {
                INFO(field.name << ", n = " << n << ", eb = " << eb);
                const auto y = round_trip::decoded<C, T>(round_trip::frame_of<C>(field.values, eb), n);
                const std::span<const T> last = std::span<const T>(field.values).subspan(n / 8192 * 8192);
                const std::span<const T> got = std::span<const T>(y).subspan(n / 8192 * 8192);
                const auto as_first = [&](const T& v) { return std::memcmp(&v, &last[0], sizeof v) == 0; };
                if (last.size() < 32 || !std::ranges::all_of(last, as_first)) {
                    CHECK(std::memcmp(got.data(), last.data(), last.size_bytes()) == 0);
                    continue;
                }
                for (const T& v : got)
                    REQUIRE((as_first(v) ||
                             std::abs(static_cast<double>(v) - static_cast<double>(last[0])) <= eb));
            }
}

TEMPLATE_TEST_CASE("SZp gives equal bytes for equal values, wherever they and their frame lie",
                   "[codec][szp]", float, double)
{
    using T = TestType;
    for (const auto& field : all_fields<T>(9001))
        for (const double eb : {1e-1, 1e-4, 1e-9}) {
            const auto first = round_trip::frame_of<C>(field.values, eb);
            const auto first_addend = addend_of(field.values, eb);
            std::vector<T> shifted(field.values.size() + 1);
            std::memcpy(shifted.data() + 1, field.values.data(), field.values.size() * sizeof(T));
            const auto values = std::span<const T>(shifted).subspan(1);
            bytes memory(3 + ccoll::max_addend_bytes<C, T>(field.values.size()), round_trip::guard);
            const auto dst = ccoll::byte_span(memory).subspan(3);
            const auto second = ccoll::encode<C>(values, dst, eb);
            INFO(field.name << ", eb = " << eb);
            REQUIRE(second.bytes == first.size());
            CHECK(std::memcmp(dst.data(), first.data(), first.size()) == 0);
            const auto second_addend = ccoll::encode_addend<C>(values, dst, eb);
            REQUIRE(second_addend.bytes == first_addend.size());
            CHECK(std::memcmp(dst.data(), first_addend.data(), first_addend.size()) == 0);
        }
}

TEMPLATE_TEST_CASE("SZp gives equal bytes whatever rounding the program asked for, and leaves that as it was",
                   "[codec][szp]", float, double)
{
    using T = TestType;
    const int before = std::fegetround();
    for (const auto& field : all_fields<T>(3000))
        for (const double eb : {0.1, 1e-6, 3e-38}) {
            const auto frame = round_trip::frame_of<C>(field.values, eb),
                       addend = addend_of(field.values, eb);
            std::vector<T> y(field.values.size()), z(y.size()), sum(y.size()), other_sum(y.size());
            REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
            const status adds = ccoll::decode<C>(addend, sum);
            for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
                std::fesetround(rounding);
                const auto other = round_trip::frame_of<C>(field.values, eb),
                           other_addend = addend_of(field.values, eb);
                const auto decoded = ccoll::decode<C>(frame, z),
                           decoded_addend = ccoll::decode<C>(addend, other_sum);
                const bool kept = std::fegetround() == rounding;
                std::fesetround(before);
                INFO(field.name << ", eb = " << eb);
                CHECK(kept);
                CHECK(other == frame);
                CHECK(other_addend == addend);
                CHECK(decoded == status::ok);
                CHECK(decoded_addend == adds);
                CHECK(round_trip::same_bits(y, z));
                CHECK((adds != status::ok || round_trip::same_bits(sum, other_sum)));
            }
        }
}

#if defined(__SSE2__)
TEMPLATE_TEST_CASE("SZp gives equal bytes in a program that drops denormals", "[codec][szp]", float, double)
{
    using T = TestType;
    for (const auto& field : all_fields<T>(3000))
        for (const double eb : {1e-307, 3e-308, 1e-37, 3e-38, 1e-45, 1e-3}) {
            const auto frame = round_trip::frame_of<C>(field.values, eb),
                       addend = addend_of(field.values, eb);
            std::vector<T> y(field.values.size()), z(y.size());
            REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
            const unsigned before = __builtin_ia32_stmxcsr();
            __builtin_ia32_ldmxcsr(before | 0x8040u);  // flush to zero, denormals are zero
            const auto other = round_trip::frame_of<C>(field.values, eb),
                       other_addend = addend_of(field.values, eb);
            const auto decoded = ccoll::decode<C>(frame, z);
            const unsigned after = __builtin_ia32_stmxcsr();
            __builtin_ia32_ldmxcsr(before);
            INFO(field.name << ", eb = " << eb);
            CHECK((after & 0x8040u) == 0x8040u);
            CHECK(other == frame);
            CHECK(other_addend == addend);
            CHECK(decoded == status::ok);
            CHECK(round_trip::same_bits(y, z));
        }
}
#endif

}  // namespace szp_cases
