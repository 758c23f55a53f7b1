// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: optimised, aarch64
// codec/szx/{avx2,avx512,neon}.hpp, codec/szx/loops.inl: every instruction set gives the bytes and the values
// of the portable text.
#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "codec/round_trip.hpp"
#include "support/fields.hpp"

#include <ccoll/codec/szx/coder.hpp>

namespace szx_isa_cases {

using namespace ccoll::policies;

namespace {

using ccoll::isa;
namespace szx = ccoll::detail::szx;

/// What this machine has beyond the portable text.
std::vector<isa> faster_ones()
{
    std::vector<isa> all;
    for (const isa i : ccoll::every_isa)
        if (i != isa::portable && ccoll::machine_has(i)) all.push_back(i);
    return all;
}

/// The choice of the program, again when the test is over.
struct restored_isa {
    isa before = ccoll::isa_in_use();
    ~restored_isa() { ccoll::use_isa(before); }
};

template <class T>
using word = fields::word<T>;

template <class T>
T of_bits(word<T> bits)
{
    T value;
    fields::set_bits(value, bits);
    return value;
}

/// x and its neighbours on either side.
template <class T>
T some_ulps_off(T x, fields::generator& random)
{
    for (std::size_t steps = random.below(4); steps > 0; --steps)
        x = std::nextafter(x, random.below(2) == 0 ? std::numeric_limits<T>::infinity()
                                                   : -std::numeric_limits<T>::infinity());
    return x;
}

/// Both zeros, and sometimes values around them: which zero a minimum or a maximum finds depends on the order
/// of comparisons.
template <class T>
std::vector<T> zeros(std::size_t n, unsigned seed)
{
    fields::generator random(seed);
    const T other = static_cast<T>(random.unit());
    const std::size_t kind = random.below(3);
    std::vector<T> x(n);
    for (T& v : x) v = random.below(2) == 0 ? T(0) : -T(0);
    for (T& v : x)
        if (kind != 0 && random.below(5) == 0) v = kind == 1 ? std::fabs(other) : -std::fabs(other);
    return x;
}

/// Blocks whose radius is the bound, give or take an ulp: constant or not is decided by the last bit.
template <class T>
std::vector<T> at_the_bound(std::size_t n, unsigned seed, double eb)
{
    fields::generator random(seed);
    const T centre = random.below(3) == 0 ? T(0) : static_cast<T>(random.unit()),
            radius = static_cast<T>(std::fmin(eb, 1e30));
    std::vector<T> x(n, centre);
    for (T& v : x)
        if (random.below(8) == 0)
            v = some_ulps_off(random.below(2) == 0 ? centre + radius : centre - radius, random);
    return x;
}

/// Differences from the middle in the middle between two numbers of fewer bytes, and an error beside the
/// bound, of which `eb` should then be a power of two.
template <class T>
std::vector<T> at_the_rounding(std::size_t n, unsigned seed, double eb)
{
    fields::generator random(seed);
    const T middle = random.below(2) == 0 ? T(0) : static_cast<T>(random.unit());
    const double unit = std::fmin(eb, 1e30) * std::ldexp(1.0, static_cast<int>(random.below(3)));
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double steps = static_cast<double>(random.below(400)) - 200;
        x[i] = some_ulps_off(static_cast<T>(static_cast<double>(middle) + steps * unit), random);
        if (i % 64 < 2) x[i] = static_cast<T>(static_cast<double>(middle) + (i % 2 == 0 ? 256 : -256) * unit);
    }
    return x;
}

/// Calm, then a stranger: NaN of any payload, an infinity, or the largest number.
template <class T>
std::vector<T> strangers(std::size_t n, unsigned seed)
{
    fields::generator random(seed);
    std::vector<T> x = seed % 2 == 0 ? fields::smooth<T>(n, seed) : fields::constant<T>(n, seed);
    const auto exponent = std::bit_cast<word<T>>(std::numeric_limits<T>::infinity());
    for (std::size_t i = random.below(150); i < n; i += 1 + random.below(300)) {
        const auto payload = random.below(2) == 0
                                 ? word<T>{0}
                                 : static_cast<word<T>>(random.bits()) & ~(exponent | ~(~word<T>{0} >> 1));
        const auto sign = random.below(2) == 0 ? word<T>{0} : ~(~word<T>{0} >> 1);
        x[i] = random.below(4) == 0 ? std::numeric_limits<T>::max() : of_bits<T>(exponent | payload | sign);
    }
    return x;
}

/// Close to 2, on either side of it, where the numbers lie twice as far apart above as below: with a bound of
/// a few ulps, the decoder's own rounding brings an error to the bound exactly, or beyond it.
template <class T>
std::vector<T> across_two(std::size_t n, unsigned seed)
{
    fields::generator random(seed);
    const auto scale = static_cast<int>(random.below(std::numeric_limits<T>::digits - 4));
    const double radius = std::ldexp(0.5 + 0.5 * std::fabs(random.unit()), -scale);
    std::vector<T> x(n);
    for (T& v : x) v = some_ulps_off(static_cast<T>(2.0 + radius * random.unit()), random);
    return x;
}

template <class T>
std::vector<fields::named<T>> inputs(std::size_t n, unsigned seed, double eb)
{
    std::vector<fields::named<T>> list = fields::all<T>(n, seed);
    list.push_back({"zeros", zeros<T>(n, seed)});
    list.push_back({"at_the_bound", at_the_bound<T>(n, seed, eb)});
    list.push_back({"at_the_rounding", at_the_rounding<T>(n, seed, eb)});
    list.push_back({"strangers", strangers<T>(n, seed)});
    return list;
}

/// Loose, tight and none; a power of two, one ulp below it and one above; a bound that no difference of
/// finite f32 reaches.
template <class T>
std::vector<double> bounds()
{
    const T half = T(0.5);
    return {1e-1,
            1e-3,
            1e-5,
            1e-7,
            1e-12,
            0x1p-8,
            static_cast<double>(std::nextafter(half, T(0))),
            0.5,
            static_cast<double>(std::nextafter(half, T(1))),
            static_cast<double>(std::numeric_limits<T>::min()),
            3e-300,
            1e37,
            3.5e38,
            9.9e299};
}

/// The words of all values: what is compared where NaN may be among them.
template <class T>
std::vector<word<T>> bits_of(const std::vector<T>& x)
{
    std::vector<word<T>> bits(x.size());
    if (!x.empty()) std::memcpy(bits.data(), x.data(), x.size() * sizeof(T));
    return bits;
}

/// Frame and values under one instruction set, between guards.
template <class C, class T>
struct result {
    std::vector<std::byte> frame;
    std::vector<word<T>> values;
    bool good = false;

    result(isa i, const std::vector<T>& x, double eb)
    {
        ccoll::use_isa(i);
        good = round_trip::check<C>(x, eb).good();
        frame = round_trip::frame_of<C>(x, eb);
        std::vector<T> y(x.size());
        good = good && ccoll::decode<C>(frame, y) == ccoll::status::ok;
        values = bits_of(y);
    }
    friend bool operator==(const result&, const result&) = default;
};

template <class C, class T>
void same_everywhere(const std::vector<T>& x, double eb)
{
    const result<C, T> expected(isa::portable, x, eb);
    CHECK(expected.good);
    for (const isa i : faster_ones()) {
        INFO(ccoll::name_of(i));
        CHECK((result<C, T>(i, x, eb) == expected));
    }
}

}  // namespace

TEST_CASE("the instruction sets that are compared with the portable SZx are named", "[codec][szx][isa]")
{
    std::string names;
    for (const isa i : faster_ones()) names += std::string(" ") + ccoll::name_of(i);
    WARN("compared with the portable text:" << (names.empty() ? " nothing, this machine has no other"
                                                              : names));
    CHECK(ccoll::machine_has(ccoll::isa_in_use()));
}

TEMPLATE_TEST_CASE("every instruction set gives the bytes of SZx and the values of the portable text",
                   "[codec][szx][isa]", float, double)
{
    const restored_isa guard;
    for (const double eb : bounds<TestType>())
        for (const unsigned seed : {1u, 2u})
            for (const auto& field : inputs<TestType>(2049, seed, eb)) {
                INFO(field.name << ", eb = " << eb);
                same_everywhere<Codec::SZx>(field.values, eb);
            }
}

TEMPLATE_TEST_CASE("every instruction set gives the same at every block edge", "[codec][szx][isa]", float,
                   double)
{
    const restored_isa guard;
    for (std::size_t n = 0; n <= 260; ++n)
        for (const double eb : {0.25, 1e-3, 1e-6})
            for (const auto& x :
                 {fields::smooth<TestType>(n), strangers<TestType>(n, 5), at_the_bound<TestType>(n, 6, eb)}) {
                INFO("n = " << n << ", eb = " << eb);
                same_everywhere<Codec::SZx>(x, eb);
            }
}

TEMPLATE_TEST_CASE("every instruction set gives the same at every chunk edge", "[codec][szx][isa]", float,
                   double)
{
    const restored_isa guard;
    for (const std::size_t n : {5119u, 5120u, 5121u, 8191u, 8192u, 8193u, 20011u})
        for (const double eb : {1e-2, 1e-5})
            for (const auto& x :
                 {fields::smooth<TestType>(n), fields::quiet<TestType>(n), strangers<TestType>(n, 8)}) {
                INFO("n = " << n << ", eb = " << eb);
                same_everywhere<Codec::SZx>(x, eb);
                same_everywhere<Codec::PipeSZx>(x, eb);
            }
}

namespace {

/// A block kernel by itself, in memory of exactly the room it may touch.
template <class T>
struct block {
    std::vector<std::byte> bytes;
    unsigned code;

    block(isa i, const std::vector<T>& x, T limit) : bytes(szx::block_room<T>)
    {
        const ccoll::detail::exact_environment environment;
        const auto scale = szx::block_scale<T>::of(limit);
        code = szx::block_encoders<T>[i](x.data(), szx::block_planners<T>[i](x.data(), scale), scale,
                                         bytes.data());
        bytes.resize(szx::block_bytes<T>(code, szx::block_elements));
    }
    friend bool operator==(const block&, const block&) = default;
};

template <class T>
std::vector<word<T>> decoded(isa i, unsigned code, T step, const std::vector<std::byte>& room)
{
    const ccoll::detail::exact_environment environment;
    std::vector<T> x(szx::block_elements);
    szx::block_decoders<T>[i](code, room.data(), step, x.data());
    return bits_of(x);
}

}  // namespace

TEMPLATE_TEST_CASE("blocks of SZx are the same for random bits, scales and bounds", "[codec][szx][isa]",
                   float, double)
{
    using T = TestType;
    fields::generator random(17);
    std::vector<unsigned> met(szx::raw_code<T> + 1);
    for (unsigned trial = 0; trial < 20000; ++trial) {
        std::vector<T> x = fields::bit_patterns<T>(szx::block_elements, trial + 1);
        const int scale = static_cast<int>(random.below(60)) - 30,
                  spread = static_cast<int>(random.below(30));
        if (trial % 4 != 0) {  // of one scale, and then, on an offset, with fewer and fewer bits of their own
            const double offset = trial % 4 == 1 ? 0 : random.unit();
            for (T& v : x) v = static_cast<T>(std::ldexp(offset + std::ldexp(random.unit(), -spread), scale));
        }
        if (trial % 16 == 7) x[random.below(x.size())] = fields::non_finite<T>(1, trial)[0];
        double eb = std::ldexp(1.5 + 0.5 * random.unit(), scale - static_cast<int>(random.below(50)));
        if (trial % 4 == 3) {
            x = across_two<T>(szx::block_elements, trial);
            eb = std::numeric_limits<T>::epsilon() * static_cast<double>(1 + random.below(8)) / 2;
        }
        const T limit = szx::error_limit<T>(eb);
        if (!(limit > 0)) continue;
        const block<T> expected(isa::portable, x, limit);
        ++met[expected.code];
        for (const isa i : faster_ones()) {
            INFO(ccoll::name_of(i) << ", trial " << trial << ", code " << expected.code);
            REQUIRE((block<T>(i, x, limit) == expected));
        }
    }
    for (unsigned code = 0; code < met.size(); ++code) {
        INFO("code " << code);
        CHECK(met[code] > 0);
    }
}

TEMPLATE_TEST_CASE("blocks of SZx are the same with one stranger at each place", "[codec][szx][isa]", float,
                   double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    const T one_in_ten = T(0.1);
    for (const T stranger :
         {limits::quiet_NaN(), limits::signaling_NaN(), limits::infinity(), -limits::infinity(),
          limits::max(), limits::lowest(), limits::denorm_min(), -T(0), T(0), T(-3)})
        for (std::size_t at = 0; at < szx::block_elements; ++at)
            for (const T other : {T(0), -T(0), T(1)})
                for (const T limit : {limits::min(), one_in_ten, limits::max()}) {
                    std::vector<T> x(szx::block_elements, other);
                    std::memcpy(&x[at], &stranger, sizeof stranger);
                    const block<T> expected(isa::portable, x, limit);
                    for (const isa i : faster_ones()) {
                        INFO(ccoll::name_of(i)
                             << ", " << stranger << " at " << at << " in " << other << ", limit " << limit);
                        CHECK((block<T>(i, x, limit) == expected));
                    }
                }
}

TEMPLATE_TEST_CASE("blocks of SZx decode to the same bits, whoever wrote them", "[codec][szx][isa]", float,
                   double)
{
    using T = TestType;
    fields::generator random(23);
    const auto exponent = std::bit_cast<word<T>>(std::numeric_limits<T>::infinity());
    for (unsigned trial = 0; trial < 3000; ++trial) {
        std::vector<std::byte> room(szx::block_room<T>);  // exactly what may be read
        for (std::byte& b : room) b = static_cast<std::byte>(random.bits());
        // Counts of any bits; a middle that no encoder writes where it is -0, denormal or no number.
        const word<T> any = static_cast<word<T>>(random.bits()),
                      middles[] = {any, 0, ~(~word<T>{0} >> 1), any & ~exponent, exponent | any};
        const unsigned code = static_cast<unsigned>(random.below(szx::raw_code<T> + 1));
        const word<T> middle = middles[trial % 5];
        const int scale = static_cast<int>(random.below(2 * std::numeric_limits<T>::max_exponent - 3));
        const T step =
            szx::block_scale<T>::of(std::ldexp(T(1), scale + std::numeric_limits<T>::min_exponent - 1)).step;
        std::memcpy(room.data(), &middle, sizeof middle);
        const auto expected = decoded<T>(isa::portable, code, step, room);
        for (const isa i : faster_ones()) {
            INFO(ccoll::name_of(i) << ", code " << code << ", trial " << trial);
            CHECK(decoded<T>(i, code, step, room) == expected);
        }
    }
}

}  // namespace szx_isa_cases
