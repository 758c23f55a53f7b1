// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized, optimised
// codec/half.hpp: lossy codecs on two-byte numbers. The bound holds in these, not in the floats between.
#include "support/catch.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include <ccoll/codec.hpp>

#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"
#include "support/isa.hpp"

namespace half_cases {

using namespace ccoll::policies;
using ccoll::bfloat16;
using ccoll::half;
using ccoll::status;

namespace {

using bytes = std::vector<std::byte>;

using round_trip::combination;
using every_combination = std::tuple<combination<Codec::SZx, half>, combination<Codec::SZx, bfloat16>,
                                     combination<Codec::PipeSZx, half>, combination<Codec::PipeSZx, bfloat16>,
                                     combination<Codec::SZp, half>, combination<Codec::SZp, bfloat16>>;

template <class T>
constexpr double largest = std::is_same_v<T, half> ? 65504.0 : 0x1.fep127;

template <class T>
std::vector<T> rounded(const std::vector<float>& x, float factor = 1)
{
    std::vector<T> y;
    for (const float v : x) y.push_back(T(v * factor));
    return y;
}

template <class T>
std::vector<T> patterns(std::size_t n, unsigned seed = 1)
{
    fields::generator random(seed);
    std::vector<T> x(n);
    for (T& v : x) v = T::of_bits(static_cast<std::uint16_t>(random.bits()));
    return x;
}

/// Around the largest number, of either sign: what a codec makes of it may lie beyond.
template <class T>
std::vector<T> at_the_top(std::size_t n, unsigned seed = 1)
{
    fields::generator random(seed);
    const unsigned top = T(static_cast<float>(largest<T>)).bits();
    std::vector<T> x(n);
    for (T& v : x)
        v = T::of_bits(static_cast<std::uint16_t>((top - random.below(6)) | (random.below(2) << 15)));
    return x;
}

template <class T>
std::vector<fields::named<T>> inputs(std::size_t n)
{
    std::vector<fields::named<T>> all;
    for (const auto& f : fields::all<float>(n, 3)) all.push_back({f.name, rounded<T>(f.values)});
    all.push_back({"large", rounded<T>(fields::smooth<float>(n, 4), 40000)});
    all.push_back({"patterns", patterns<T>(n)});
    all.push_back({"at_the_top", at_the_top<T>(n)});
    all.push_back(
        {"tiny", rounded<T>(fields::smooth<float>(n, 5), std::is_same_v<T, half> ? 1e-6f : 1e-39f)});
    return all;
}

template <class T>
std::size_t outside(const std::vector<T>& decoded, const std::vector<T>& x, double eb)
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        // Exact for half. Differences of bfloat16 whose exponents are far apart are rounded, by less than the
        // slack that encoders leave.
        const long double difference =
            static_cast<long double>(float{decoded[i]}) - static_cast<long double>(float{x[i]});
        count +=
            std::isfinite(float{x[i]}) ? !(std::fabs(difference) <= eb) : decoded[i].bits() != x[i].bits();
    }
    return count;
}

template <class C, class T>
bytes frame_of(const std::vector<T>& x, double eb)
{
    bytes frame(ccoll::max_encoded_bytes<C, T>(x.size()) + 1, std::byte{0xA5});
    const auto r = ccoll::encode<C>(x, ccoll::byte_span(frame).first(frame.size() - 1), eb);
    REQUIRE(r.code == status::ok);
    REQUIRE(frame.back() == std::byte{0xA5});
    frame.resize(r.bytes);
    return frame;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE(
    "lossy codecs keep two-byte numbers within the bound, whatever it is, and NaN and Inf bit for bit",
    "[codec][half]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    for (const std::size_t n : {std::size_t{8200}, std::size_t{257}})
        for (const auto& field : inputs<T>(n))
            for (const double eb :
                 {1e-320, 1e-45, 1e-39, 1e-8, 5e-8, 0x1p-24, 1e-5, 1e-4, 4.9e-4, 0x1p-11, 1e-3, 0.0021,
                  1e-2,   0.3,   7.0,   16.0, 33.0, 100.0,   1e5,  1e30, 1e36,   3e38,    1e299}) {
                INFO(field.name << ", n = " << n << ", eb = " << eb);
                const bytes frame = frame_of<C>(field.values, eb);
                std::vector<T> y(n);
                REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
                CHECK(outside(y, field.values, eb) == 0);
            }
}

TEMPLATE_LIST_TEST_CASE(
    "rounding to two bytes does not add to the bound: just below a step, across a power of two, at the end "
    "of the range",
    "[codec][half]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const std::size_t n = 2000;
    const auto spacing = static_cast<float>(std::is_same_v<T, half> ? 0x1p-11 : 0x1p-8);  // in [0.5, 1)
    const float top = static_cast<float>(largest<T>),
                end = static_cast<float>(std::is_same_v<T, half> ? 0x1p16 : 0x1p126);
    fields::generator random(9);
    std::vector<T> calm(n), below_one(n), below_end(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto steps = static_cast<float>(random.below(24));
        calm[i] = T(0.75f - spacing * steps);
        below_one[i] = T(1 - spacing * (1 + steps));
        below_end[i] =
            T(std::is_same_v<T, half> ? end * (1 - spacing * (1 + steps)) : top - 0x1p120f * steps);
    }
    for (int k = 0; k < 12; ++k)
        for (const double part : {0.0, 0.1, 0.4, 0.6, 0.8, 0.9, 0.99}) {
            const double eb = (k + part + 1e-9) * static_cast<double>(spacing),
                         large = eb * (std::is_same_v<T, half> ? 0x1p16 : 0x1p128);
            INFO("bound: " << k << " + " << part << " steps");
            for (const auto* x : {&calm, &below_one, &below_end}) {
                const double bound = x == &below_end ? large : eb;
                const bytes frame = frame_of<C>(*x, bound);
                std::vector<T> y(n);
                REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
                CHECK(outside(y, *x, bound) == 0);
            }
        }
}

TEMPLATE_LIST_TEST_CASE("two-byte numbers of every count, and at chunk edges", "[codec][half]",
                        every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    std::vector<std::size_t> sizes;
    for (std::size_t n = 0; n <= 200; ++n) sizes.push_back(n);
    for (const std::size_t n : {5119u, 5120u, 5121u, 8191u, 8192u, 8193u, 20011u}) sizes.push_back(n);
    for (const std::size_t n : sizes) {
        const auto x = rounded<T>(fields::non_finite<float>(n, 5));
        const bytes frame = frame_of<C>(x, 1e-2);
        std::vector<T> y(n);
        INFO("n = " << n);
        CHECK(ccoll::decode<C>(frame, y) == status::ok);
        CHECK(outside(y, x, 1e-2) == 0);
        CHECK(ccoll::load<ccoll::frame_header>(frame, 0).dtype == (std::is_same_v<T, half> ? 2 : 3));
    }
}

TEMPLATE_LIST_TEST_CASE("all patterns of two bytes survive where the bound allows nothing", "[codec][half]",
                        every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    std::vector<T> x;
    for (unsigned p = 0; p < 0x10000; ++p) x.push_back(T::of_bits(static_cast<std::uint16_t>(p)));
    const bytes frame = frame_of<C>(x, 1e-300);
    std::vector<T> y(x.size());
    REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
    CHECK(std::equal(x.begin(), x.end(), y.begin(), [](T a, T b) { return a.bits() == b.bits(); }));
}

TEMPLATE_LIST_TEST_CASE(
    "all patterns of two bytes keep the bound in every instruction set, those that are no numbers bit for "
    "bit",
    "[codec][half][isa]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    // In order, so that chunks are alike, and shuffled, so that each chunk has NaN, denormals and both ends.
    std::vector<T> ordered, shuffled(0x10000);
    for (unsigned p = 0; p < 0x10000; ++p) {
        ordered.push_back(T::of_bits(static_cast<std::uint16_t>(p)));
        shuffled[p] = T::of_bits(static_cast<std::uint16_t>(p * 40503u));
    }
    for (const auto& x : {ordered, shuffled})
        for (const double eb : {1e-300, 1e-39, 5e-8, 1e-3, 0.3, 100.0, 7e4, 3e38, 1e299}) {
            std::vector<T> first;
            with_each_isa([&] {
                INFO("eb = " << eb);
                const bytes frame = frame_of<C>(x, eb);
                std::vector<T> y(x.size());
                REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
                CHECK(outside(y, x, eb) == 0);
                if (first.empty()) first = y;
                CHECK(std::memcmp(y.data(), first.data(), 2 * y.size()) == 0);
            });
        }
}

TEMPLATE_TEST_CASE("addends of all patterns of two bytes keep the bound in every instruction set",
                   "[codec][half][isa]", half, bfloat16)
{
    using T = TestType;
    using C = Codec::SZp;
    std::vector<T> x;  // a chunk of addends holds up to 256 different numbers that are too large for its
                       // bound
    for (unsigned p = 0; p < 0x10000; ++p) x.push_back(T::of_bits(static_cast<std::uint16_t>(p)));
    const double half_ulp = std::is_same_v<T, half> ? 0x1p-11 : 0x1p-8;
    for (const double eb : {0x1p-20, 1e-3, 0.3, 100.0, 7e4, 1e30}) {
        std::vector<T> first;
        std::vector<std::size_t> added;
        with_each_isa([&] {
            INFO("eb = " << eb);
            std::vector<T> y(x.size());
            std::size_t held = 0, wrong = 0;
            for (std::size_t from = 0; from < x.size(); from += 128) {
                const std::span<const T> part(x.data() + from, 128);
                bytes frame(ccoll::max_addend_bytes<C, T>(part.size()));
                if (ccoll::encode_addend<C>(part, frame, eb).code != status::ok) continue;
                ++held;
                REQUIRE(ccoll::decode<C>(frame, std::span<T>(y.data() + from, 128)) == status::ok);
                for (std::size_t k = from; k < from + 128; ++k) {
                    const double was = static_cast<double>(float{x[k]}),
                                 is = static_cast<double>(float{y[k]});
                    const bool in_range = std::fabs(was) + eb < largest<T>;
                    if (std::isnan(was)) wrong += !std::isnan(is);
                    else if (std::isinf(was)) wrong += is != was;
                    else if (std::isinf(is)) wrong += in_range;
                    else wrong += !(std::fabs(is - was) <= eb + half_ulp * (std::fabs(was) + eb) + 0x1p-25);
                }
            }
            CHECK(wrong == 0);
            CHECK(held >= 256);
            if (first.empty()) first = y;
            added.push_back(held);
            CHECK(added.back() == added.front());
            CHECK(std::memcmp(y.data(), first.data(), 2 * y.size()) == 0);
        });
    }
}

TEMPLATE_LIST_TEST_CASE("two-byte numbers shrink: a bound far above their rounding is not halved for it",
                        "[codec][half]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const std::size_t n = 8 * 8192;
    // SZx keeps whole bytes of floats, 2 at least: no block but a constant one is shorter than halves are.
    const auto wide = std::is_same_v<C, Codec::SZp> ? fields::smooth<float>(n) : fields::quiet<float>(n);
    const double eb = 0.02;
    const double narrow_bytes = static_cast<double>(frame_of<C>(rounded<T>(wide), eb).size());
    bytes frame(ccoll::max_encoded_bytes<C, float>(n));
    const double wide_bytes = static_cast<double>(ccoll::encode<C>(wide, frame, eb).bytes);
    // Of floats to the same bound, all but rounding: of 1, this is a tenth (2^-9) or an eightieth (2^-12) of
    // the bound. A bound smaller by a tenth has 1 / 0.9 as many differences to list, and a chunk in 8 where
    // that does not pay any more; halved it would have twice as many.
    CHECK(narrow_bytes < 1.16 * wide_bytes);
    CHECK(narrow_bytes < 0.6 * static_cast<double>(n * sizeof(T)));
}

TEMPLATE_LIST_TEST_CASE("two-byte numbers give equal bytes whatever rounding the program asked for",
                        "[codec][half]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    for (const auto& field : inputs<T>(3000))
        for (const double eb : {0.1, 1e-3, 1e-7}) {
            const bytes frame = frame_of<C>(field.values, eb);
            std::vector<T> y(3000), z(3000);
            REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
            for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
                std::fesetround(rounding);
                bytes other(ccoll::max_encoded_bytes<C, T>(3000));
                other.resize(ccoll::encode<C>(field.values, other, eb).bytes);
                const status decoded = ccoll::decode<C>(frame, z);
                std::fesetround(FE_TONEAREST);
                INFO(field.name << ", eb = " << eb);
                CHECK(other == frame);
                CHECK(decoded == status::ok);
                CHECK(
                    std::equal(y.begin(), y.end(), z.begin(), [](T a, T b) { return a.bits() == b.bits(); }));
            }
        }
}

TEMPLATE_LIST_TEST_CASE(
    "two-byte numbers give equal values with every instruction set, and equal bytes but for SZp",
    "[codec][half][isa]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    for (const auto& field : inputs<T>(3001))
        for (const double eb : {0.1, 1e-3, 40.0}) {
            bytes frame;
            std::vector<T> y(3001), z(3001);
            {
                const with_isa portable(ccoll::isa::portable);
                frame = frame_of<C>(field.values, eb);
                REQUIRE(ccoll::decode<C>(frame, y) == status::ok);
            }
            with_each_isa([&] {
                INFO(field.name << ", eb = " << eb);
                const bytes other = frame_of<C>(field.values, eb);
                if (!std::is_same_v<C, Codec::SZp>) CHECK(other == frame);
                for (const bytes& each : {frame, other}) {
                    REQUIRE(ccoll::decode<C>(each, z) == status::ok);
                    CHECK(std::equal(y.begin(), y.end(), z.begin(),
                                     [](T a, T b) { return a.bits() == b.bits(); }));
                }
            });
        }
}

TEMPLATE_LIST_TEST_CASE("damaged frames of two-byte numbers give a status and stay in their room",
                        "[codec][half][total]", every_combination)
{
    using T = typename TestType::element;
    using C = typename TestType::codec;
    const std::size_t n = 700;
    std::vector<T> x(n, T(0));  // most blocks of SZx are constant
    for (std::size_t i = 0; i < 100; ++i) x[i] = T(fields::smooth<float>(n)[i]);
    const bytes frame = frame_of<C>(x, 1e-2);
    REQUIRE(frame.size() < frame_edit::start_of_one + n * sizeof(T));
    std::vector<T> y(n);
    std::size_t accepted = 0;
    for (std::size_t size = 0; size < frame.size(); ++size) {
        const bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
        accepted += ccoll::decode<C>(cut, y) != status::corrupt;
        if (size < frame_edit::start_of_one || size >= frame_edit::without_fill(frame).size()) continue;
        bytes shorter = cut;  // and with an index that says so
        frame_edit::end_at(shorter);
        accepted += ccoll::decode<C>(shorter, y) != status::corrupt;
    }
    CHECK(accepted == 0);
    for (std::size_t at = 0; at < frame.size(); ++at)
        for (unsigned bit = 0; bit < 8; ++bit) {
            bytes damaged = frame;
            damaged[at] ^= static_cast<std::byte>(1u << bit);
            std::vector<T> out(n);
            const status s = ccoll::decode<C>(damaged, out);
            // The flag of addends: a chunk of SZp that either kind of frame may have.
            const bool flags = at == 7 && std::is_same_v<C, Codec::SZp>;
            if (at < 16 && s == status::ok && !flags)
                FAIL_CHECK("believed with bit " << bit << " of byte " << at << " flipped");
        }
    // A bound that is none: k = 126 asks for eb - 2^126.
    bytes wrong = frame;
    const std::size_t end = frame_edit::without_fill(frame).size();
    REQUIRE((end > 0 && end <= wrong.size()));
    wrong[end - 1] = std::byte{126};
    CHECK(ccoll::decode<C>(wrong, y) == status::corrupt);
}

TEMPLATE_TEST_CASE(
    "sums of encoded two-byte numbers are within the bounds of their addends and one rounding, in any order",
    "[codec][half]", half, bfloat16)
{
    using T = TestType;
    using C = Codec::SZp;
    const std::size_t n = 8300, ranks = 5;
    const double eb = 1e-2;
    std::vector<std::vector<T>> x;
    std::vector<bytes> frames;
    for (unsigned r = 0; r < ranks; ++r) {
        x.push_back(rounded<T>(fields::smooth<float>(n, r + 1), 20));
        bytes f(ccoll::max_addend_bytes<C, T>(n));
        const auto e = ccoll::encode_addend<C>(x.back(), f, eb);
        REQUIRE(e.code == status::ok);
        f.resize(e.bytes);
        frames.push_back(f);
    }
    const auto add = [&](const bytes& a, const bytes& b) {
        bytes sum(ccoll::max_addend_bytes<C, T>(n));
        const auto e = ccoll::reduce_encoded<C, Op::Sum, T>(a, b, sum);
        REQUIRE(e.code == status::ok);
        sum.resize(e.bytes);
        return sum;
    };
    const bytes forth = add(add(add(add(frames[0], frames[1]), frames[2]), frames[3]), frames[4]);
    const bytes back = add(frames[0], add(add(frames[2], frames[4]), add(frames[3], frames[1])));
    std::vector<T> y(n), z(n);
    REQUIRE(ccoll::decode<C>(forth, y) == status::ok);
    REQUIRE(ccoll::decode<C>(back, z) == status::ok);
    CHECK(std::equal(y.begin(), y.end(), z.begin(), [](T a, T b) { return a.bits() == b.bits(); }));
    const double precision = std::is_same_v<T, half> ? 0x1p-11 : 0x1p-8;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (const auto& v : x) sum += static_cast<double>(float{v[i]});
        wrong += !(std::fabs(static_cast<double>(float{y[i]}) - sum) <=
                   ranks * eb + precision * (std::fabs(sum) + ranks * eb) + 0x1p-25);
    }
    CHECK(wrong == 0);
}

TEST_CASE("sums beyond the largest half are infinities, as they are without a codec", "[codec][half]")
{
    using C = Codec::SZp;
    const std::vector<half> x(100, half(60000)), nan(100, half(std::numeric_limits<float>::quiet_NaN()));
    bytes a(ccoll::max_addend_bytes<C, half>(100)), b = a, c = a;
    a.resize(ccoll::encode_addend<C>(x, a, 1.0).bytes);
    b.resize(ccoll::reduce_encoded<C, Op::Sum, half>(a, a, b).bytes);
    std::vector<half> y(100);
    REQUIRE(ccoll::decode<C>(b, y) == status::ok);
    CHECK(std::isinf(float{y[7]}));
    c.resize(ccoll::encode_addend<C>(nan, c, 1.0).bytes);
    REQUIRE(ccoll::decode<C>(c, y) == status::ok);
    CHECK(std::isnan(float{y[7]}));
}

#if defined(__FLT16_MAX__) && (defined(__clang__) || !defined(__aarch64__) || __GNUC__ >= 13)
TEST_CASE("_Float16 shares the frames of half", "[codec][half]")
{
    const auto x = rounded<half>(fields::smooth<float>(9000));
    std::vector<_Float16> native(x.size());
    std::memcpy(native.data(), x.data(), 2 * x.size());
    bytes frame(ccoll::max_encoded_bytes<Codec::SZp, _Float16>(x.size()));
    frame.resize(ccoll::encode<Codec::SZp>(native, frame, 1e-2).bytes);
    CHECK(frame == frame_of<Codec::SZp>(x, 1e-2));
    std::vector<half> y(x.size());
    CHECK(ccoll::decode<Codec::SZp>(frame, y) == status::ok);
    CHECK(ccoll::decode<Codec::SZp>(frame, native) == status::ok);
    CHECK(std::memcmp(y.data(), native.data(), 2 * x.size()) == 0);
}
#endif

}  // namespace half_cases
