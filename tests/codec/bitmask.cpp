// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/bitmask.hpp, codec/bitzip/masks.hpp: the same values as without masks, in fewer bits where upper bits
// repeat.
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <tuple>

#include "codec/frame_edit.hpp"
#include "codec/hostile.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"

#include <ccoll/codec/bitzip/masked.hpp>

namespace bitmask_cases {

using namespace ccoll::policies;
using ccoll::status;
using frame_edit::bytes;

namespace {

using round_trip::combination;

using every_combination = std::tuple<combination<Codec::BitZip, float>, combination<Codec::BitZip, double>,
                                     combination<Codec::BitWise, float>, combination<Codec::BitWise, double>,
                                     combination<Codec::BitCut, float>, combination<Codec::BitCut, double>>;

/// Around a few centres, without order: no prediction helps, and upper bits repeat.
template <class T>
std::vector<T> clustered(std::size_t n, double spread)
{
    fields::generator random(5);
    std::vector<T> x(n);
    for (T& v : x)
        v = static_cast<T>(3 * static_cast<double>(random.below(4)) + 1.3 + spread * random.unit());
    return x;
}

template <class T>
std::vector<fields::named<T>> inputs(std::size_t n)
{
    auto all = fields::all<T>(n);
    all.push_back({"clustered", clustered<T>(n, 0.01)});
    return all;
}

std::string text_of(std::uint64_t bits, unsigned length)
{
    std::string all;
    while (length-- > 0) all += (bits >> length & 1) != 0 ? '1' : '0';
    return all;
}

std::string without_spaces(std::string text)
{
    std::erase(text, ' ');
    return text;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("BitMask gives the values of what it wraps, and is hardly ever longer",
                        "[codec][bitmask]", every_combination)
{
    using T = typename TestType::element;
    using Inner = typename TestType::codec;
    using Masked = Codec::BitMask<Inner>;
    for (const std::size_t n : {0u, 1u, 3u, 31u, 100u, 511u, 512u, 700u, 8193u})
        for (const auto& field : inputs<T>(n))
            for (const double eb : {1e-1, 1e-3, 1e-6}) {
                INFO(field.name << ", n = " << n << ", eb = " << eb);
                CHECK(round_trip::check<Masked>(field.values, eb, n % 8).good());
                const bytes plain = round_trip::frame_of<Inner>(field.values, eb),
                            masked = round_trip::frame_of<Masked>(field.values, eb);
                const std::size_t chunks = n / 8192 + (n % 8192 != 0);
                CHECK(masked.size() <= plain.size() + 16 * chunks);
                std::vector<T> x(n), y(n);
                REQUIRE(ccoll::decode<Inner>(plain, x) == status::ok);
                REQUIRE(ccoll::decode<Masked>(masked, y) == status::ok);
                // A chunk that is only a byte shorter than its values travels raw here, and is exact.
                const bool raw = n > 0 && n < 8192 && frame_edit::chunk_of(masked).size() == n * sizeof(T);
                const std::vector<T>& expected = raw ? field.values : x;
                CHECK((n == 0 || std::memcmp(expected.data(), y.data(), n * sizeof(T)) == 0));
            }
}

TEMPLATE_LIST_TEST_CASE("BitMask shortens values with common upper bits", "[codec][bitmask]",
                        every_combination)
{
    using T = typename TestType::element;
    using Inner = typename TestType::codec;
    const auto x = clustered<T>(8192, 0.01);
    const auto size = [&]<class C>(C) {
        return static_cast<double>(round_trip::frame_of<C>(x, 1e-4).size());
    };
    CHECK(size(Codec::BitMask<Inner>{}) < (sizeof(T) == 4 ? 0.95 : 0.75) * size(Inner{}));
}

TEMPLATE_LIST_TEST_CASE("A frame of BitMask with any byte changed is refused or decoded", "[codec][bitmask]",
                        every_combination)
{
    using T = typename TestType::element;
    using Masked = Codec::BitMask<typename TestType::codec>;
    for (const std::size_t n : {std::size_t{300}, std::size_t{700}}) {
        auto x = clustered<T>(n, 0.01);
        x[n / 2] = std::numeric_limits<T>::infinity();
        const bytes frame = round_trip::frame_of<Masked>(x, 1e-3), chunk = frame_edit::chunk_of(frame);
        REQUIRE(chunk.back() != std::byte{0});  // has masks
        hostile::refuses_or_decodes<Masked, T>(frame, n);
        std::vector<T> y(n);
        CHECK(ccoll::decode<typename TestType::codec>(frame, y) == status::foreign_frame);
        CHECK(ccoll::decode<Codec::BitMask<Codec::BitCut>>(
                  round_trip::frame_of<Codec::BitMask<Codec::BitZip>>(x, 1e-3), y) == status::foreign_frame);
    }
}

TEST_CASE("With one mask the codes are those of the paper's generic encoding", "[codec][bitmask]")
{
    // IEEE Access 2023, figure 6, with f = 2 flag bits, as in its figure 7. E = 2^-10. The mask is 1.5:
    // exponent field 01111111111, and the 10 kept mantissa bits are 1000000000.
    using dictionary = ccoll::detail::bitzip::mask_dictionary<double>;
    const ccoll::detail::bitzip::bit_cut<double> cutter(0x1p-10);
    const auto cut = [&](double v) { return cutter.cut(std::bit_cast<std::uint64_t>(v)); };
    CHECK(dictionary::flag_bits_for(1023) == 1);  // values below 2
    CHECK(dictionary::flag_bits_for(1024) == 2);
    CHECK(dictionary::flag_bits_for(1024 + 511) == 2);
    CHECK(dictionary::flag_bits_for(1024 + 512) == 3);
    CHECK(dictionary::flag_bits_for(1023 + 769) == 4);
    CHECK(dictionary::flag_bits_for(1023 + 768) == 3);
    dictionary masks;
    masks.flag_bits = 2;
    masks.mask[0] = cut(1.5);
    const auto expect = [&](double v, const std::string& code) {
        INFO("value " << v);
        const auto found = masks.encode(cut(v), cutter);
        CHECK(text_of(found.bits, found.length) == without_spaces(code));
        const auto back = masks.decode(found.bits << (64 - found.length), cutter);
        CHECK(back.bits == cut(v));
        CHECK(back.length == found.length);
        CHECK(masks.code_bits(cut(v), cutter) == found.length);
    };
    expect(1.5, "0 11 0");                     // all bits match
    expect(1.5 + 0x1p-11, "0 11 0");           // as far as they are kept
    expect(1.625, "0 11 1 01 10000000");       // 14 initial bits of 64
    expect(1.5 + 0x1p-5, "0 11 1 10 100000");  // 16
    expect(1.5 + 0x1p-9, "0 11 1 11 10");      // 20
    expect(1.25, "0 11 1 00 0100000000");      // 12: the exponent alone
    expect(3, "0 10000000000 10000000000");    // no match: bit cut
    masks.index_bits = 2;                      // four masks: two bits say which
    masks.mask[3] = cut(3);
    expect(3, "0 11 11 0");
    expect(1.5, "0 11 00 0");
}

TEMPLATE_TEST_CASE("Numbers are found by their places in order, also where upper halves are equal",
                   "[codec][bitmask]", std::uint32_t, std::uint64_t)
{
    // Upper halves: few, all equal, all different; so do ranges of lower halves lie beside each other.
    for (const std::uint64_t uppers : {1u, 3u, 100u, 0xffffffffu})
        for (const std::size_t n : {1u, 2u, 7u, 100u, 8192u}) {
            fields::generator random(static_cast<unsigned>(n + uppers));
            std::vector<TestType> numbers(n);
            for (TestType& number : numbers) {
                const std::uint64_t upper = random.below(uppers), lower = random.below(1000);
                number = static_cast<TestType>(sizeof(TestType) == 4 ? upper : upper << 32 | lower);
            }
            const auto each = [&](auto visit) {
                for (const TestType number : numbers) visit(number);
            };
            ccoll::detail::bitzip::numbers_in_order<TestType> in_order(each);
            const std::size_t place[] = {n / 2, n / 4, 0, n - 1, 3 * n / 4, n / 2, n / 3};
            TestType found[std::size(place)];
            const TestType highest = in_order.highest();
            in_order.find(each, place, found);
            std::sort(numbers.begin(), numbers.end());
            CHECK(in_order.count() == n);
            for (std::size_t k = 0; k < std::size(place); ++k) CHECK(found[k] == numbers[place[k]]);
            CHECK(highest ==
                  (sizeof(TestType) == 4 ? numbers.back() : numbers.back() >> 16 >> 16 << 16 << 16));
        }
}

}  // namespace bitmask_cases
