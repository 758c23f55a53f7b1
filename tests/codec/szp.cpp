// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp.hpp, codec/szp/{quantiser,layout,chunk,quanta64}.hpp: frames for movement, and hostile frames of both kinds.
#include "support/catch.hpp"

#include <cfenv>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"

#include <ccoll/codec/szp/coder.hpp>

namespace szp_cases {

using namespace ccoll::policies;
using ccoll::status;

namespace {

using C = Codec::SZp;
using bytes = std::vector<std::byte>;

enum kind : unsigned { narrow, flat, fine, wide, wide_flat, kept };

/// The step of the grid that a bound asks for.
template <class T>
double step_of(double eb)
{
    return static_cast<double>(ccoll::detail::szp::quantiser<T>(eb).step);
}

template <class T>
T value_of(double x)  // as a conversion that overflows to the largest number instead of Inf
{
    const auto most = static_cast<double>(std::numeric_limits<T>::max());
    return static_cast<T>(std::fmax(-most, std::fmin(most, x)));
}

/// @param number  of i, double
template <class T, class Number>
std::vector<T> numbers(std::size_t n, Number number)
{
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(number(i));
    return x;
}

/// 0, 1, 2, ... in no order, below `count` (a prime).
std::size_t mixed(std::size_t i, std::size_t count = 251) { return i * 97 % count; }

/// Bounds without end: every 25th power of ten, the range of the values, then one ulp around each limit that the codec knows.
template <class T>
std::vector<double> bounds_for(double range)
{
    using limits = std::numeric_limits<T>;
    const auto smallest = static_cast<double>(limits::min()), eps = static_cast<double>(limits::epsilon());
    const double largest = sizeof(T) == 4 ? 0x1p94 : 0x1p990;
    std::vector<double> bounds{
        5e-324, 1e-310, 1e-320, 3e-308, 1e-45, 1e-40, std::nextafter(1e300, 0.0), 0x1p975, 0x1p100, static_cast<double>(limits::max()) / 2};
    for (int exponent = -300; exponent <= 275; exponent += 25) bounds.push_back(std::pow(10.0, exponent));
    for (const double relative : {0.5, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-9, 1e-12, eps, eps / 4, 0x1p-10, 0x1p-24, 0x1p-53})
        bounds.push_back(relative * range);
    for (const double at : {smallest, 4 * smallest, largest})
        for (const double eb : {std::nextafter(at, 0.0), at, std::nextafter(at, 1e300)}) bounds.push_back(eb);
    std::erase_if(bounds, [](double eb) { return !ccoll::is_bound(eb); });
    return bounds;
}

/// What no general field has: one of each kind of chunk and block.
template <class T>
std::vector<fields::named<T>> special(std::size_t n)
{
    const auto off_at_the_end = [&](std::vector<T> x) {
        if (n > 0) x[n - 1] = static_cast<T>(3.14159);
        return x;
    };
    const auto sixteenths = numbers<T>(n, [](std::size_t i) { return static_cast<double>(mixed(i)) / 16; });
    const auto eighths = numbers<T>(n, [](std::size_t i) { return 4096 + static_cast<double>(mixed(i)) / 8; });
    const auto integers = numbers<T>(n, [](std::size_t i) { return static_cast<double>(mixed(i, 100003)) - 50000; });
    return {{"sixteenths", sixteenths},
            {"sixteenths, not the last", off_at_the_end(sixteenths)},
            {"eighths on an offset", eighths},
            {"eighths, not the last", off_at_the_end(eighths)},
            {"integers", integers},
            {"integers, not the last", off_at_the_end(integers)},
            {"an outlier in some blocks",
             numbers<T>(n, [](std::size_t i) { return i % 500 == 77 ? 1e30 : 1e-3 * static_cast<double>(mixed(i)); })},
            {"a tight bound", numbers<T>(n, [](std::size_t i) { return 100 + 1e-3 * static_cast<double>(mixed(i)); })},
            {"the largest numbers in turn",
             numbers<T>(n, [](std::size_t i) { return (i % 2 == 0 ? 1 : -1) * static_cast<double>(std::numeric_limits<T>::max()); })},
            {"a NaN in each block",
             numbers<T>(n, [](std::size_t i) { return i % 32 == i / 32 % 32 ? std::nan("") : 1e-3 * static_cast<double>(mixed(i)); })},
            {"Inf in each block", numbers<T>(n, [](std::size_t i) {
                 return i % 32 == 5 ? HUGE_VAL : i % 32 == 9 ? -HUGE_VAL : 0.25 * static_cast<double>(mixed(i));
             })}};
}

template <class T>
std::vector<fields::named<T>> all_fields(std::size_t n)
{
    auto list = fields::all<T>(n);
    for (auto& field : special<T>(n)) list.push_back(std::move(field));
    return list;
}

template <class T>
bytes addend_of(const std::vector<T>& x, double eb)
{
    bytes frame(ccoll::max_addend_bytes<C, T>(x.size()));
    const auto result = ccoll::encode_addend<C>(x, frame, eb);
    return {frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(result.bytes)};
}

/// Bytes of header and index.
std::size_t start_of(std::size_t n) { return frame_edit::start((n + 8191) / 8192); }

/// Of the first chunk of a frame of n values.
unsigned kind_in(const bytes& frame, std::size_t n) { return ccoll::load<std::uint32_t>(frame, start_of(n)) & 15; }

}  // namespace

TEMPLATE_TEST_CASE("SZp keeps every value within eb, whatever the values and the bound", "[codec][szp]", float, double)
{
    // A chunk and one value, so that both ways of writing a chunk occur.
    for (const auto& field : all_fields<TestType>(8193))
        for (const double eb : bounds_for<TestType>(fields::range(field.values))) {
            INFO(field.name << ", eb = " << eb);
            CHECK(round_trip::check<C>(field.values, eb).good());
        }
}

TEMPLATE_TEST_CASE("SZp keeps every value within eb for every count and at every chunk edge", "[codec][szp]", float, double)
{
    std::vector<std::size_t> sizes(201);
    for (std::size_t n = 0; n <= 200; ++n) sizes[n] = n;
    sizes.insert(sizes.end(), {8160, 8191, 8192, 8193, 8224, 16383, 16384, 16385, 20011});
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

TEMPLATE_TEST_CASE("SZp rounds to the right side within an ulp of every half step, up to and beyond each of its limits", "[codec][szp]",
                   float, double)
{
    using T = TestType;
    const bool f32 = sizeof(T) == 4;
    // Powers of two, and what rounds badly; then the smallest and the largest steps that there are.
    for (const double eb : {1e-3, 0.7e-3, 0.1, 0.3, 0.25, 1.0 / 3, 7e5, 0x1p-10, std::nextafter(0x1p-10, 1.0), std::nextafter(0x1p-10, 0.0),
                            0.9999, 5e-38, 1e-30, f32 ? 0x1p94 : 0x1p988, f32 ? 1.7e27 : 1e289}) {
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
            CHECK(round_trip::check<C>(just_below, eb).good());
        }
    }
}

TEMPLATE_TEST_CASE("SZp holds random bounds on random values of few exponents", "[codec][szp]", float, double)
{
    using T = TestType;
    fields::generator random(17);
    for (unsigned trial = 0; trial < 3000; ++trial) {
        const std::size_t n = random.below(300);
        const int spread = static_cast<int>(random.below(20)) + 1, exponent = static_cast<int>(random.below(60)) - 30;
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
    for (int exponent = std::numeric_limits<T>::min_exponent - 1; exponent < std::numeric_limits<T>::max_exponent; ++exponent)
        for (const int steps : {0, 12, 20, 29, 31, 45, 52, 56, 100})
            for (const bool constant : {true, false}) {
                const T unit = static_cast<T>(std::ldexp(1.0, exponent));  // the largest has no normal number for an inverse
                std::vector<T> x(40, -unit);
                for (std::size_t i = 0; i < x.size() && !constant; ++i)
                    x[i] = static_cast<T>((i % 3 == 0 ? 1.0 : i % 3 == 1 ? -1.5 : 0.25) * unit);
                const double eb = std::ldexp(1.2, exponent - steps);
                INFO("2^" << exponent << ", 2^" << steps << " bounds");
                if (ccoll::is_bound(eb)) CHECK(round_trip::check<C>(x, eb).good());
            }
}

TEMPLATE_TEST_CASE("SZp stays within eb on a grid of its own where a multiple of the step lies in the next binade", "[codec][szp]", float,
                   double)
{
    using T = TestType;
    constexpr int digits = std::numeric_limits<T>::digits;
    for (const int k : {std::numeric_limits<T>::min_exponent + digits + 12, -20, 0, 1, 17, 60, std::numeric_limits<T>::max_exponent - 1,
                        std::numeric_limits<T>::max_exponent}) {
        const double ulp = std::ldexp(1.0, k - digits);  // of the numbers just below 2^k
        std::vector<T> x;
        for (T v = std::nextafter(static_cast<T>(std::ldexp(1.0, k - 1)) * T(1.9999), T(0)); x.size() < 64;)
            x.push_back(x.size() % 2 == 0 ? v : -v), v *= static_cast<T>(0.99999);
        T below = k == std::numeric_limits<T>::max_exponent ? std::numeric_limits<T>::max()
                                                            : std::nextafter(static_cast<T>(std::ldexp(1.0, k)), T(0));
        for (; x.size() < 200; below = std::nextafter(below, T(0))) x.push_back(below), x.push_back(-below);
        for (int exponent = -3; exponent < (sizeof(T) == 4 ? 14 : 24); ++exponent)
            for (const double factor : {1.0, 1.1, 1.25, 1.5, 1.75, 1.9, 1.999999}) {
                const double eb = std::ldexp(ulp * factor, exponent);
                if (!ccoll::is_bound(eb)) continue;
                INFO("values below 2^" << k << ", eb = " << std::ldexp(factor, exponent) << " ulp");
                CHECK(round_trip::check<C>(x, eb).good());
            }
    }
}

TEMPLATE_TEST_CASE("SZp loses nothing of data that are multiples of a power of two, where that is coarser than the bound", "[codec][szp]",
                   float, double)
{
    using T = TestType;
    for (const std::size_t n : {32u, 300u, 8192u, 8200u})
        for (const auto& field : special<T>(n)) {
            const std::string name = field.name;
            const bool on_lattice = name == "sixteenths" || name == "eighths on an offset" || name == "integers";
            if (!on_lattice) continue;
            for (const double eb : {0.02, 1e-3, 1e-6}) {
                const auto frame = round_trip::frame_of<C>(field.values, eb);
                std::vector<T> y(n);
                REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
                INFO(name << ", n = " << n << ", eb = " << eb);
                if (sizeof(T) == 4) CHECK(round_trip::same_bits(y, field.values));  // f64 has room for them on the common grid
                if (sizeof(T) == 4) CHECK(kind_in(frame, n) == fine);
                CHECK(round_trip::check<C>(field.values, eb).good());
            }
        }
}

TEST_CASE("SZp has no cliff where the bound is near half an ulp", "[codec][szp]")
{
    const auto x = numbers<float>(100000, [](std::size_t i) { return 300 + 10 * std::sin(1e-3 * static_cast<double>(i)); });
    for (const double eb : {1.6e-5, 1.5e-5, 1e-5, 1e-6, 1e-8}) {  // half an ulp is 1.526e-5
        INFO("eb = " << eb);
        const auto outcome = round_trip::check<C>(x, eb);
        CHECK(outcome.good());
        CHECK(8 * outcome.encoded.bytes < static_cast<std::size_t>(9.25 * static_cast<double>(x.size())));  // Lossless: 9.2
    }
}

/// A difference d of quanta on the common grid is less than 2 |d| + 3 on any other grid, whose step is half of that at least: two more
/// planes, codes where the addend is flat, and a longer head.
TEMPLATE_TEST_CASE("a frame of SZp is never much longer than its addend, whatever the bound", "[codec][szp]", float, double)
{
    using T = TestType;
    const std::size_t n = 8192 + 300;
    const auto wave = [](double offset, double height, double turn) {
        return numbers<T>(n, [=](std::size_t i) { return offset + height * std::sin(turn * static_cast<double>(i)); });
    };
    fields::generator random(7);
    double at = 1000;
    const fields::named<T> list[] = {
        {"within a binade", wave(300, 10, 1e-3)},
        {"across a binade", wave(500, 100, 1e-3)},
        {"across many", wave(1e5, 99999, 1e-4)},
        {"around zero", wave(0, 500, 1e-2)},
        {"some ulps",
         numbers<T>(n, [](std::size_t i) { return 700 + std::ldexp(static_cast<double>(mixed(i, 17)), sizeof(T) == 4 ? -14 : -43); })},
        {"a walk", numbers<T>(n, [&](std::size_t) { return at += std::ldexp(2 * random.unit() - 1, sizeof(T) == 4 ? -8 : -38); })}};
    std::size_t added = 0, on_grids = 0;
    for (const auto& field : list)
        for (int exponent = 2; exponent > (sizeof(T) == 4 ? -44 : -70); --exponent)
            for (const double factor : {1.0, 1.05, 1.9}) {
                const double eb = std::ldexp(factor, exponent);
                const bytes addend = addend_of(field.values, eb);
                if (addend.empty() || (std::to_integer<int>(addend[7]) & 2) != 0) continue;  // too_large
                INFO(field.name << ", eb = " << eb);
                const auto outcome = round_trip::check<C>(field.values, eb);
                CHECK(outcome.good());
                CHECK(8 * outcome.encoded.bytes <= 8 * addend.size() + 2 * n + n / 8 + 256);
                ++added;
                on_grids += kind_in(round_trip::frame_of<C>(field.values, eb), n) == fine;
            }
    CHECK(added > 300);
    CHECK(on_grids > 100);
}

TEMPLATE_TEST_CASE("SZp keeps one value of any kind anywhere in a chunk, exactly and for 16 bytes", "[codec][szp]", float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    const auto calm = numbers<T>(320, [](std::size_t i) { return 1.234e-2 * static_cast<double>(mixed(i)); });
    const std::size_t without = frame_edit::without_fill(round_trip::frame_of<C>(calm, 1e-3)).size();
    for (const T stranger :
         {limits::quiet_NaN(), limits::signaling_NaN(), limits::infinity(), -limits::infinity(), T(1e30), -limits::max()})
        for (std::size_t at = 0; at < calm.size(); ++at) {
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
            // The head of the section, the number of the block, a mask, the value; and a difference may take one plane more.
            CHECK(frame_edit::without_fill(frame).size() <= without + 12 + sizeof(T) + 4);
        }
}

TEMPLATE_TEST_CASE("SZp keeps the payload of every NaN", "[codec][szp]", float, double)
{
    using T = TestType;
    using word = fields::word<T>;
    const auto infinity = std::bit_cast<word>(std::numeric_limits<T>::infinity());
    std::vector<T> x = fields::smooth<T>(32 * 2 * std::numeric_limits<T>::digits);
    for (std::size_t i = 0; i < x.size(); i += 32)  // one bit of payload each, of either sign
        fields::set_bits(x[i + i / 32 % 32], static_cast<word>(infinity | word{1} << (i / 64) % (std::numeric_limits<T>::digits - 1) |
                                                               static_cast<word>(i / 32 % 2) << (8 * sizeof(T) - 1)));
    for (const double eb : {1e-1, 1e-5, 1e-60}) CHECK(round_trip::check<C>(x, eb).good());
}

TEMPLATE_TEST_CASE("a constant chunk of SZp costs 16 bytes and its index", "[codec][szp]", float, double)
{
    using T = TestType;
    for (const std::size_t n : {8u, 31u, 32u, 33u, 8191u, 8192u, 8200u, 5u * 8192u + 8u})
        for (const T value : {T(0), -T(0), T(2.1), T(-15.9), std::numeric_limits<T>::denorm_min()}) {
            const std::size_t chunks = (n + 8191) / 8192;
            INFO("n = " << n << ", value " << value);
            CHECK(round_trip::frame_of<C>(std::vector<T>(n, value), 1e-3).size() == start_of(n) + 16 * chunks);
        }
    // f32 on a grid of its own, where the constant is kept exactly, has widths too: half a byte per block.
    for (const T value : {T(1.375), T(-1), T(101325)}) {
        const auto frame = round_trip::frame_of<C>(std::vector<T>(8192, value), 1e-3);
        std::vector<T> y(8192);
        CHECK(frame.size() == 64 + 16 + (sizeof(T) == 4 ? 128 : 0));
        REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
        if (sizeof(T) == 4) CHECK(y.back() == value);
    }
    const auto zeros = numbers<T>(9000, [](std::size_t i) { return i % 3 == 0 ? -0.0 : 0.0; });
    CHECK(round_trip::frame_of<C>(zeros, 1e-3).size() == start_of(9000) + 2 * 16);
}

TEMPLATE_TEST_CASE("SZp is worth its time: as many bits as the differences of neighbours need, and half a byte per block", "[codec][szp]",
                   float, double)
{
    using T = TestType;
    // fields::smooth changes by less than 0.003 + 0.3 * 0.017 + 0.05 * 0.11 = 0.0136 from value to value; on a grid of 2 eb (1 - 2^-8) and
    // rounded at both ends that is less than 6.9 + 1 steps: 4 bits.
    const std::size_t n = 100003, blocks = (n + 31) / 32, chunks = (n + 8191) / 8192;
    CHECK(step_of<T>(1e-3) > 2e-3 * (1 - 0x1p-7));
    CHECK(round_trip::frame_of<C>(fields::smooth<T>(n), 1e-3).size() <= start_of(n) + chunks * (12 + 4 + 15) + blocks * 16 + blocks / 2);
    // An offset costs nothing: the base has it.
    auto shifted = fields::smooth<T>(n);
    for (T& v : shifted) v += T(20);
    CHECK(round_trip::frame_of<C>(shifted, 1e-3).size() <= start_of(n) + chunks * (12 + 4 + 15) + blocks * 16 + blocks / 2);
}

TEMPLATE_TEST_CASE("SZp keeps everything raw under a bound below 4 times the smallest normal number, and no addend", "[codec][szp]", float,
                   double)
{
    using T = TestType;
    const double least = 4 * static_cast<double>(std::numeric_limits<T>::min());
    const std::vector<T> x(1000, T(0));
    CHECK(round_trip::frame_of<C>(x, least).size() == 80);
    CHECK(addend_of(x, least).size() == 80);
    const double below = std::nextafter(least, 0.0);
    CHECK(round_trip::frame_of<C>(x, below).size() == ccoll::max_encoded_bytes<C, T>(1000));
    CHECK(round_trip::check<C>(x, below).encoded.raw_blocks == 1);  // one chunk
    bytes dst(ccoll::max_addend_bytes<C, T>(1000));
    CHECK(ccoll::encode_addend<C>(x, dst, below).code == status::too_large);
    CHECK(ccoll::encode_addend<C>(std::vector<T>{}, dst, below).code == status::ok);
}

TEMPLATE_TEST_CASE("SZp gives equal bytes for equal values, wherever they and their frame lie", "[codec][szp]", float, double)
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

TEMPLATE_TEST_CASE("SZp gives equal bytes whatever rounding the program asked for, and leaves that as it was", "[codec][szp]", float,
                   double)
{
    using T = TestType;
    const int before = std::fegetround();
    for (const auto& field : all_fields<T>(3000))
        for (const double eb : {0.1, 1e-6, 3e-38}) {
            const auto frame = round_trip::frame_of<C>(field.values, eb), addend = addend_of(field.values, eb);
            std::vector<T> y(field.values.size()), z(y.size()), sum(y.size()), other_sum(y.size());
            REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
            const status adds = ccoll::decode<C>(addend, sum);
            for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
                std::fesetround(rounding);
                const auto other = round_trip::frame_of<C>(field.values, eb), other_addend = addend_of(field.values, eb);
                const auto decoded = ccoll::decode<C>(frame, z), decoded_addend = ccoll::decode<C>(addend, other_sum);
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
            const auto frame = round_trip::frame_of<C>(field.values, eb), addend = addend_of(field.values, eb);
            std::vector<T> y(field.values.size()), z(y.size());
            REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
            const unsigned before = __builtin_ia32_stmxcsr();
            __builtin_ia32_ldmxcsr(before | 0x8040u);  // flush to zero, denormals are zero
            const auto other = round_trip::frame_of<C>(field.values, eb), other_addend = addend_of(field.values, eb);
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

TEMPLATE_TEST_CASE("a chunk of SZp is raw if and only if it would not be shorter, however late that is seen", "[codec][szp][wire]", float,
                   double)
{
    using T = TestType;
    // NaN of payloads of their own, `many` of them in a row from the middle on: a flat chunk of 12 bytes; behind it a head, numbers of
    // blocks, and the values.
    const auto expected = [](std::size_t many) { return 12 + 4 + (many / 32 <= 64 ? (many / 32 + 3) / 4 * 4 : 64) + many * sizeof(T); };
    std::size_t shorter = 0, longer = 0;
    fields::generator random(5);
    for (const std::size_t many : {320u, 4096u, 8160u, 8192u})
        for (const bool at_end : {true, false}) {
            std::vector<T> x(8192, T(0));
            for (std::size_t i = 0; i < many; ++i) {
                const auto nan = std::bit_cast<fields::word<T>>(std::numeric_limits<T>::quiet_NaN());
                const auto payload = static_cast<fields::word<T>>(random.bits()) >> (sizeof(T) == 4 ? 10 : 13);
                const auto sign = static_cast<fields::word<T>>(i % 2) << (8 * sizeof(T) - 1);
                fields::set_bits(x[at_end ? 8191 - i : i], nan | payload | sign);
            }
            INFO(many << (at_end ? " at the end" : " in front"));
            const bytes frame = round_trip::frame_of<C>(x, 1e-3);
            ccoll::frame_view view;
            REQUIRE(ccoll::frame_codec_of<C, T>.open(frame, x.size(), view) == status::ok);
            const bool raw = expected(many) >= 8192 * sizeof(T);
            (raw ? longer : shorter) += 1;
            CHECK(view.is_raw(0) == raw);
            if (!raw) CHECK(view.chunk(0).data.size() == expected(many));
            CHECK(round_trip::check<C>(x, 1e-3).good());
        }
    CHECK(shorter > 0);
    CHECK(longer > 0);
}

TEMPLATE_TEST_CASE("a chunk encoder of SZp keeps to any room that it is given", "[codec][szp]", float, double)
{
    using T = TestType;
    using coder = ccoll::codec_impl<C, T, ccoll::host_space>;
    for (const std::size_t n : {1u, 5u, 32u, 200u, 8192u})
        for (const auto& field : all_fields<T>(n)) {
            bytes whole(n * sizeof(T));
            const auto most = coder::encode_chunk(field.values, whole, 1e-3);
            for (std::size_t room = 0; room < n * sizeof(T); room += n < 10 ? 1 : n < 1000 ? 13 : 1409) {
                bytes less(room + 1, round_trip::guard);
                const auto result = coder::encode_chunk(field.values, ccoll::byte_span(less).first(room), 1e-3);
                INFO(field.name << ", n = " << n << ", room = " << room);
                CHECK(less[room] == round_trip::guard);
                if (most.code != status::ok || room < most.bytes) CHECK(result.code != status::ok);
                else CHECK((result.code == status::ok || result.code == status::out_of_space));
                if (result.code == status::ok) CHECK(result.bytes <= room);
            }
        }
}

namespace {

/// Small frames, one for each kind of chunk and block.
template <class T>
struct sample {
    const char* name;
    std::size_t n;
    bytes frame;
    unsigned first_kind;
};

template <class T>
std::vector<sample<T>> samples()
{
    std::vector<sample<T>> all;
    const double nan = std::nan("");
    const auto moved = [&](const char* name, unsigned first_kind, const std::vector<T>& x, double eb) {
        all.push_back({name, x.size(), round_trip::frame_of<C>(x, eb), first_kind});
    };
    const auto adds = [&](const char* name, unsigned first_kind, const std::vector<T>& x, double eb) {
        all.push_back({name, x.size(), addend_of(x, eb), first_kind});
    };
    const auto calm = [](std::size_t i) { return 1.234e-2 * static_cast<double>(mixed(i)); };
    const auto jagged = [](std::size_t i) { return i / 32 % 2 == 0 ? 0.0 : i % 2 == 0 ? 3000.123 : -3000.456; };  // 0 and 16 bits
    const auto far = [](std::size_t i) { return (i % 2 == 0 ? 1.1 : -1.3) * 0x1p25 + static_cast<double>(i); };
    moved("narrow", narrow, numbers<T>(70, calm), 1e-3);
    moved("narrow, widths not packed", narrow, numbers<T>(70, jagged), 0.1);
    moved("flat", flat, std::vector<T>(70, T(1.3)), 1e-3);
    moved("fine", fine, numbers<T>(70, [](std::size_t i) { return 1e6 + 1.03 * static_cast<double>(mixed(i)); }),
          sizeof(T) == 4 ? 0.3 : 1e-7);
    moved("a lattice", sizeof(T) == 4 ? fine : narrow, numbers<T>(70, [](std::size_t i) { return static_cast<double>(mixed(i)) / 16; }),
          1e-3);
    moved("special values", narrow, numbers<T>(130, [&](std::size_t i) { return i == 40 ? nan : i == 129 ? 1e30 : calm(i); }), 1e-3);
    moved("special values on a grid of its own", fine,
          numbers<T>(130, [&](std::size_t i) { return i == 40 ? nan : 1e6 + 1.03 * static_cast<double>(mixed(i)); }),
          sizeof(T) == 4 ? 0.3 : 1e-7);
    moved("special values, many of a kind", flat, numbers<T>(300, [&](std::size_t i) { return i < 40 || i % 3 == 0 ? 1e30 : 1.3; }), 1e-3);
    moved("special values of a flat chunk", flat, std::vector<T>(600, std::numeric_limits<T>::infinity()), 1e-3);
    moved("two chunks", flat, numbers<T>(8192 + 10, [&](std::size_t i) { return i < 8192 ? 0 : calm(i); }), 1e-3);
    const auto below_an_ulp = [](std::size_t i) { return 400 + 1.03 * static_cast<double>(mixed(i)); };
    const auto partly = [&](std::size_t i) { return i % 3 == 0 ? below_an_ulp(i) : 0.0123 * static_cast<double>(mixed(i)); };
    moved("a power of two", fine, numbers<T>(128, partly), sizeof(T) == 4 ? 1.6e-5 : 3e-14);
    moved("kept", kept, numbers<T>(130, [](std::size_t i) { return 1e-3 * std::exp(static_cast<double>(i) / 8); }),
          sizeof(T) == 4 ? 1e-9 : 1e-18);
    const auto rare = [](std::size_t i) { return i % 17 == 3 || i % 160 > 156 ? static_cast<double>(i % 7) - 3 : 0.0; };
    moved("lists", narrow, numbers<T>(230, [&](std::size_t i) { return 100.1 + rare(i); }), 0.45);
    moved("quanta alone", narrow, numbers<T>(230, [](std::size_t i) { return static_cast<double>(mixed(i)) - 125.3; }), 0.45);
    moved("lists, quanta alone", narrow, numbers<T>(230, [&](std::size_t i) { return 1.1 * rare(i); }), 0.45);
    adds("addend: narrow", narrow, numbers<T>(70, calm), 1e-3);
    adds("addend: flat", flat, std::vector<T>(70, T(1.3)), 1e-3);
    adds("addend: classes", narrow,
         numbers<T>(130, [&](std::size_t i) { return i == 40    ? nan
                                                     : i == 100 ? HUGE_VAL
                                                     : i == 129 ? -HUGE_VAL
                                                                : calm(i); }), 1e-3);
    adds("addend: wide", wide, numbers<T>(70, far), 1e-3);
    adds("addend: wide, classes", wide, numbers<T>(70, [&](std::size_t i) { return i % 33 == 5   ? nan
                                                                                   : i % 33 == 6 ? HUGE_VAL
                                                                                                 : far(i); }),
         1e-3);
    adds("addend: wide, flat", wide_flat, std::vector<T>(70, T(0x1p25)), 1e-3);
    return all;
}

/// Decodes between guards. @return false: something was written beside `out`
template <class T>
bool stays_inside(const bytes& frame, std::size_t n, status& found)
{
    T marker;
    std::memset(&marker, 0xA5, sizeof marker);
    std::vector<T> out(n + 2, marker);
    found = ccoll::decode<C>(frame, std::span(out).subspan(1, n));
    return round_trip::same_bits(out.front(), marker) && round_trip::same_bits(out.back(), marker);
}

}  // namespace

TEMPLATE_TEST_CASE("a frame of SZp with any byte changed gives a status or values, and stays in its room", "[codec][szp][total]", float,
                   double)
{
    for (const auto& s : samples<TestType>()) {
        INFO(s.name);
        REQUIRE(kind_in(s.frame, s.n) == s.first_kind);
        const auto head = ccoll::load<std::uint32_t>(s.frame, start_of(s.n));
        REQUIRE((head >> 31 != 0) == (std::string(s.name).find("lists") == 0));
        REQUIRE((head >> 30 & 1) == (std::string(s.name).find("alone") != std::string::npos));
        std::size_t beyond = 0, no_status = 0, believed = 0;
        const std::size_t start = start_of(s.n);
        for (std::size_t at = 0; at < s.frame.size(); ++at)
            for (unsigned change = 1; change < 256; change = change < 128 ? 2 * change : change + 127) {
                bytes damaged = s.frame;
                damaged[at] ^= static_cast<std::byte>(change);
                status found = status::ok;
                beyond += !stays_inside<TestType>(damaged, s.n, found);
                const bool expected = found == status::ok || found == status::corrupt || found == status::wire_version ||
                                      found == status::foreign_frame || found == status::count_differs || found == status::too_large;
                no_status += !expected;
                const bool bound = at >= 16 && at < 24;              // another bound is as good a bound
                const bool flags = at == 7 && s.first_kind != fine;  // a chunk that either kind of frame may have
                believed += found == status::ok && at < start && !bound && !flags;
            }
        CHECK(beyond == 0);
        CHECK(no_status == 0);
        CHECK(believed == 0);
    }
}

TEMPLATE_TEST_CASE("every truncation of a frame of SZp is corrupt, also where header and index agree with it", "[codec][szp][total]", float,
                   double)
{
    for (const auto& s : samples<TestType>()) {
        INFO(s.name);
        std::size_t accepted = 0;
        const std::size_t start = start_of(s.n);
        for (std::size_t size = 0; size < s.frame.size(); ++size) {
            bytes cut(s.frame.begin(), s.frame.begin() + static_cast<std::ptrdiff_t>(size));
            status found = status::ok;
            CHECK(stays_inside<TestType>(cut, s.n, found));
            accepted += found != status::corrupt;
            const std::size_t first = s.n <= 8192 ? 0 : 16;  // of two chunks the first has 12 bytes
            if (size < start + first || size >= frame_edit::without_fill(s.frame).size()) continue;
            frame_edit::end_at(cut, start + first);
            CHECK(stays_inside<TestType>(cut, s.n, found));
            accepted += found != status::corrupt;
        }
        CHECK(accepted == 0);
        // And one that is longer than its codes say.
        for (const std::size_t more : {1u, 4u, 128u}) {
            bytes longer = frame_edit::without_fill(s.frame);
            longer.insert(longer.end(), more, std::byte{0});
            frame_edit::end_at(longer, start + (s.n <= 8192 ? 0 : 16));
            status found = status::ok;
            CHECK(stays_inside<TestType>(longer, s.n, found));
            CHECK(found == status::corrupt);
        }
    }
}

TEMPLATE_TEST_CASE("random bytes behind a right header never leave the room of SZp's decoder", "[codec][szp][total]", float, double)
{
    fields::generator random(23);
    for (const auto& s : samples<TestType>()) {
        INFO(s.name);
        const std::size_t start = start_of(s.n);
        for (int trial = 0; trial < 400; ++trial) {
            bytes garbage = s.frame;
            for (std::size_t i = start + (trial % 2 == 0 ? 4 : 0); i < garbage.size(); ++i)
                if (trial % 4 < 2 || random.below(10) == 0) garbage[i] = static_cast<std::byte>(random.bits());
            status found = status::ok;
            CHECK(stays_inside<TestType>(garbage, s.n, found));
            CHECK((found == status::ok || found == status::corrupt));
        }
    }
}

TEMPLATE_TEST_CASE("SZp says what is wrong with bounds, destinations and frames", "[codec][szp]", float, double)
{
    using T = TestType;
    const std::size_t n = 300;
    const auto x = fields::smooth<T>(n);
    const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const std::size_t room = ccoll::max_encoded_bytes<C, T>(n), addend_room = ccoll::max_addend_bytes<C, T>(n);
    bytes dst(addend_room + 1, round_trip::guard);
    for (const double eb : {0.0, -0.0, -1.0, nan, infinity, -infinity, 1e300}) {
        CHECK(ccoll::encode<C>(x, dst, eb).code == status::bad_bound);
        CHECK(ccoll::encode_addend<C>(x, dst, eb).code == status::bad_bound);
    }
    CHECK(ccoll::encode<C>(x, ccoll::byte_span(dst).first(room - 1), 1e-3).code == status::out_of_space);
    CHECK(ccoll::encode_addend<C>(x, ccoll::byte_span(dst).first(addend_room - 1), 1e-3).code == status::out_of_space);
    CHECK(dst == bytes(addend_room + 1, round_trip::guard));

    std::vector<T> y(n);
    for (const bytes& frame : {round_trip::frame_of<C>(x, 1e-3), addend_of(x, 1e-3)}) {
        REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
        CHECK(ccoll::decode<Codec::SZx>(frame, y) == status::foreign_frame);
        CHECK(ccoll::decode<C>(frame, std::span(y).first(n - 1)) == status::count_differs);
        using other = std::conditional_t<sizeof(T) == 4, double, float>;
        std::vector<other> z(n);
        CHECK(ccoll::decode<C>(frame, z) == status::foreign_frame);
        for (const unsigned version : {0u, ccoll::wire_version - 1u, ccoll::wire_version + 1u, 255u}) {
            bytes foreign = frame;
            ccoll::store(foreign, 4, static_cast<std::uint8_t>(version));
            CHECK(ccoll::decode<C>(foreign, y) == status::wire_version);
        }
        for (const unsigned flags : {2u, 4u, 5u, 7u, 128u, 255u}) {
            bytes strange = frame;
            ccoll::store(strange, 7, static_cast<std::uint8_t>(flags));
            CHECK(ccoll::decode<C>(strange, y) == status::corrupt);
        }
        for (const double bound : {0.0, -1.0, 1e300, infinity, nan}) {
            bytes strange = frame;
            ccoll::store(strange, 16, bound);
            CHECK(ccoll::decode<C>(strange, y) == status::corrupt);
        }
        bytes tiny = frame;  // a bound under which no chunk is encoded
        ccoll::store(tiny, 16, static_cast<double>(std::numeric_limits<T>::min()));
        CHECK(ccoll::decode<C>(tiny, y) == status::corrupt);
    }
    CHECK(ccoll::decode<C>(round_trip::frame_of<Codec::SZx>(x, 1e-3), y) == status::foreign_frame);
    // A frame that says too_large has no chunks; one that has is not what an encoder writes.
    bytes refused = addend_of(x, 1e-3);
    ccoll::store(refused, 7, std::uint8_t{3});
    CHECK(ccoll::decode<C>(refused, y) == status::corrupt);
    refused.resize(48);
    refused.resize(64, std::byte{0});
    CHECK(ccoll::decode<C>(refused, y) == status::too_large);
    CHECK(ccoll::decode<C>(refused, std::span(y).first(n - 1)) == status::count_differs);
}

TEMPLATE_TEST_CASE("a chunk of SZp on a grid of its own has a step that is a positive number", "[codec][szp][total]", float, double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    for (const auto& s : samples<T>()) {
        if (s.first_kind != fine) continue;
        for (const T step :
             {T(0), -T(0), T(-1), limits::infinity(), -limits::infinity(), limits::quiet_NaN(), limits::denorm_min(), limits::max()}) {
            bytes strange = s.frame;
            ccoll::store(strange, frame_edit::start_of_one + 4 + sizeof(T), step);
            std::vector<T> y(s.n);
            INFO(s.name << ", step = " << step);
            // The largest one gives Inf; a denormal one is 0 where decoders compute, and no encoder writes it.
            CHECK(ccoll::decode<C>(strange, y) == (step == limits::max() ? status::ok : status::corrupt));
        }
    }
}

}  // namespace szp_cases
