// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/lists.hpp, and quanta that stand alone: when frames for movement have them, and that a reader of bits finds in them what the
// encoder saw.
#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "codec/szp_reader.hpp"
#include "support/fields.hpp"
#include "support/opened.hpp"

#include <ccoll/codec/szp/coder.hpp>

namespace szp_lists_cases {

using namespace ccoll::policies;
using ccoll::status;

namespace {

using C = Codec::SZp;
using bytes = std::vector<std::byte>;
using quanta = std::vector<std::int64_t>;

constexpr double eb = 1e-3;
constexpr std::size_t chunk = 8192, start = frame_edit::start_of_one;  // of the first chunk of a frame with one

/// Values that have these quanta, off the middle of their steps, so that no lattice is found, and not equal where their quanta are, so that
/// none is a marker.
template <class T>
std::vector<T> values_of(const quanta& q)
{
    const auto step = static_cast<double>(ccoll::detail::szp::quantiser<T>(eb).step);
    std::vector<T> x(q.size());
    for (std::size_t i = 0; i < q.size(); ++i)
        x[i] = static_cast<T>((static_cast<double>(q[i]) + 0.137 + 0.05 * static_cast<double>(i % 3)) * step);
    return x;
}

/// From `offset` on; one value in `distance` differs from the one before it, by up to `most` either way.
quanta rare(std::size_t n, std::size_t distance, std::size_t most, std::int64_t offset, unsigned seed = 1)
{
    fields::generator random(seed);
    quanta q(n);
    std::int64_t last = offset;
    for (std::int64_t& v : q) {
        if (random.below(distance) == 0) last += static_cast<std::int64_t>(random.below(2 * most + 1)) - static_cast<std::int64_t>(most);
        if (std::abs(last - offset) > 3000) last = offset;
        v = last;
    }
    return q;
}
quanta noise(std::size_t n, std::size_t most, unsigned seed = 2)
{
    fields::generator random(seed);
    quanta q(n);
    for (std::int64_t& v : q) v = static_cast<std::int64_t>(random.below(2 * most + 1)) - static_cast<std::int64_t>(most);
    return q;
}
/// One block after another with so many differences, at random places and of up to three planes.
quanta with_counts(const std::vector<std::size_t>& counts, std::int64_t offset)
{
    fields::generator random(3);
    quanta q;
    std::int64_t last = offset;
    for (const std::size_t count : counts) {
        std::size_t left = count;
        for (std::size_t i = 0; i < 32; ++i) {
            if (random.below(32 - i) < left) {
                --left;
                last += last > offset ? -1 - static_cast<std::int64_t>(random.below(4)) : 1 + static_cast<std::int64_t>(random.below(3));
            }
            q.push_back(last);
        }
    }
    return q;
}

/// With every instruction set the same frame, with these quanta, decoded to their values.
template <class T>
szp_reader::contents checked(const quanta& q)
{
    const std::vector<T> x = values_of<T>(q);
    const ccoll::isa before = ccoll::isa_in_use();
    ccoll::use_isa(ccoll::isa::portable);
    const bytes frame = round_trip::frame_of<C>(x, eb);
    REQUIRE(!frame.empty());
    const szp_reader::contents inside = szp_reader::read(frame);
    CHECK(inside.quanta == q);
    CHECK(inside.shortest);
    CHECK(inside.honest);
    const auto step = ccoll::detail::szp::quantiser<T>(eb).step;
    std::vector<T> expected(q.size());
    for (std::size_t i = 0; i < q.size(); ++i) expected[i] = static_cast<T>(q[i]) * step;
    for (const ccoll::isa i : ccoll::every_isa) {
        if (ccoll::use_isa(i) != i) continue;
        INFO(ccoll::name_of(i));
        CHECK(round_trip::frame_of<C>(x, eb) == frame);
        for (const ccoll::stores how : {ccoll::stores::cached, ccoll::stores::streamed}) {
            std::vector<T> y(q.size());
            CHECK(opened::frames<C, T>().decode(frame, std::span<T>(y), how, {}) == status::ok);
            CHECK(y == expected);
        }
    }
    ccoll::use_isa(before);
    return inside;
}

template <class T>
std::size_t addend_bytes(const quanta& q)
{
    bytes frame(ccoll::max_addend_bytes<C, T>(q.size()));
    return ccoll::encode_addend<C>(values_of<T>(q), frame, eb).bytes;
}

}  // namespace

TEMPLATE_TEST_CASE("SZp lists differences that are rare, of up to three planes, and no frame is longer for it", "[codec][szp][lists]",
                   float, double)
{
    for (const std::size_t distance : {200u, 40u, 12u, 6u, 4u, 2u})
        for (const std::size_t most : {1u, 3u, 4u, 20u, 100u, 1000u}) {
            INFO("one in " << distance << ", up to " << most);
            const quanta q = rare(chunk, distance, most, 5000);
            const auto inside = checked<TestType>(q);
            const std::size_t here = round_trip::frame_of<C>(values_of<TestType>(q), eb).size();
            CHECK(here <= addend_bytes<TestType>(q));
            if (inside.has_lists[0]) CHECK(4 * (here - start) <= 3 * (addend_bytes<TestType>(q) - start) + 4 * 15);
            if (most <= 3 && distance >= 6 && distance <= 40) CHECK(inside.has_lists[0]);
            if (most >= 1000 || distance <= 2) CHECK_FALSE(inside.has_lists[0]);
        }
}

TEMPLATE_TEST_CASE("SZp's lists hold up to 7 differences, beside blocks of up to 8 planes, in chunks of any length", "[codec][szp][lists]",
                   float, double)
{
    std::vector<std::size_t> counts;
    for (std::size_t k = 0; k < chunk / 32; ++k) counts.push_back(k % 3 == 0 ? k / 3 % 11 : k % 4);
    quanta q = with_counts(counts, 5000);
    CHECK(checked<TestType>(q).has_lists[0]);
    for (const std::int64_t wide : {3, 4, 100, 120, 127}) {  // the last one that 8 planes hold
        quanta one = q;
        one[1000] += wide;
        INFO(wide);
        CHECK(checked<TestType>(one).has_lists[0] == (std::abs(one[1000] - q[999]) < 128 && std::abs(q[1001] - one[1000]) <= 128));
    }
    quanta nine = q;
    nine[1000] += 140;
    CHECK_FALSE(checked<TestType>(nine).has_lists[0]);

    std::vector<std::size_t> sizes{8160, 8161, 8191, 8192 + 40, 16384, 20011};
    for (std::size_t n = 40; n <= 200; ++n) sizes.push_back(n);  // shorter chunks are raw
    bool some = false;
    for (const std::size_t n : sizes) {
        INFO(n);
        quanta cut = rare(n, 9, 3, 5000, static_cast<unsigned>(n));
        some = checked<TestType>(cut).has_lists[0] || some;
    }
    CHECK(some);
}

TEMPLATE_TEST_CASE("SZp stores quanta of noise as they are, with lists or without, and predicts all others", "[codec][szp][lists]", float,
                   double)
{
    for (const std::size_t most : {1u, 2u, 30u, 1000u, 8000u})
        for (const std::size_t n : {64u, 100u, 1000u, 8192u, 8300u, 20000u}) {
            INFO("up to " << most << ", " << n);
            const auto inside = checked<TestType>(noise(n, most));
            if (n >= 1000) CHECK(inside.alone[0]);
            CHECK_FALSE(inside.has_lists[0]);
        }
    quanta q = noise(chunk, 3);
    fields::generator random(5);
    for (std::int64_t& v : q)
        if (random.below(12) != 0) v = 0;
    const auto both = checked<TestType>(q);
    CHECK(both.alone[0]);
    CHECK(both.has_lists[0]);
    // Around another value than 0, or beyond 2^13 steps, there is nothing to win, or nobody looks.
    quanta offset = noise(chunk, 30), far = noise(chunk, 8300);
    for (std::int64_t& v : offset) v += 5000;
    CHECK_FALSE(checked<TestType>(offset).alone[0]);
    CHECK_FALSE(checked<TestType>(far).alone[0]);
    CHECK_FALSE(checked<TestType>(rare(chunk, 1, 30, 0)).alone[0]);
    // Half a bit per value for noise: sqrt(2).
    const quanta loud = noise(chunk, 1000);
    const std::size_t here = round_trip::frame_of<C>(values_of<TestType>(loud), eb).size(), there = addend_bytes<TestType>(loud);
    CHECK(static_cast<double>(there - here) * 8 / chunk > 0.4);
}

TEMPLATE_TEST_CASE("SZp stores quanta alone beside special values", "[codec][szp][lists]", float, double)
{
    auto x = values_of<TestType>(noise(chunk, 500));
    x[5000] = std::numeric_limits<TestType>::quiet_NaN();
    const bytes frame = round_trip::frame_of<C>(x, eb);
    CHECK((ccoll::load<std::uint32_t>(frame, start) >> 30 & 1) == 1);
    CHECK(round_trip::check<C>(x, eb).good());
}

TEMPLATE_TEST_CASE("SZp takes any list for some differences, but no list and no quanta alone where they may not be",
                   "[codec][szp][lists][total]", float, double)
{
    using T = TestType;
    const std::size_t n = 320;
    const bytes frame = round_trip::frame_of<C>(values_of<T>(rare(n, 9, 3, 5000)), eb);
    const auto head = ccoll::load<std::uint32_t>(frame, start);
    constexpr std::uint32_t packed = 1u << 4, escaped = 1u << 12, alone = 1u << 30, lists = 1u << 31;
    REQUIRE((head & (lists | packed | alone)) == (lists | packed));
    std::vector<T> y(n);
    const auto code_with = [&](bytes f, std::uint32_t word) {
        ccoll::store(f, start, word);
        return ccoll::decode<C>(f, y);
    };
    CHECK(code_with(frame, head) == status::ok);
    CHECK(code_with(frame, head & ~packed) == status::corrupt);
    CHECK(code_with(frame, head | 1u << 5) == status::corrupt);  // a lowest width
    CHECK(code_with(frame, head | escaped) == status::corrupt);
    CHECK(code_with(frame, head | alone) == status::corrupt);  // on a base
    bytes on_zero = frame;
    ccoll::store(on_zero, start + 4, std::uint32_t{0});
    CHECK(code_with(on_zero, head | alone) == status::ok);
    for (const std::uint32_t kind : {1u, 2u, 3u, 4u}) CHECK(code_with(on_zero, (head | alone) + kind) == status::corrupt);
    if (sizeof(T) == 4) {  // f32 has no quanta beyond 2^24 that stand alone
        ccoll::store(on_zero, start + 8, (1u << 24) + 1);
        CHECK(code_with(on_zero, head | alone) == status::corrupt);
    }
    for (const std::uint32_t bit : {alone, lists}) {
        bytes addend(ccoll::max_addend_bytes<C, T>(n));
        addend.resize(ccoll::encode_addend<C>(values_of<T>(noise(n, 2)), addend, eb).bytes);
        const auto word = ccoll::load<std::uint32_t>(addend, start);
        CHECK((word & (alone | lists)) == 0);
        ccoll::store(addend, start + 4, std::uint32_t{0});
        CHECK(code_with(addend, word) == status::ok);
        CHECK(code_with(addend, word | bit) == status::corrupt);
    }

    // Codes that do not give the bytes of the chunk.
    for (std::size_t at = start + 12; at < start + 12 + 5; ++at) {
        bytes other = frame;
        other[at] ^= std::byte{0x80};  // planes for a list, or the other way round
        CHECK(ccoll::decode<C>(other, y) == status::corrupt);
    }
    // Entries in any order, more than once, of no bits: values, and the same with every instruction set.
    fields::generator random(11);
    const ccoll::isa before = ccoll::isa_in_use();
    for (int trial = 0; trial < 300; ++trial) {
        bytes other = frame;
        for (std::size_t at = start + 12 + 8; at < frame_edit::without_fill(frame).size(); ++at)
            other[at] = static_cast<std::byte>(random.bits());
        std::vector<T> expected(n);
        for (const ccoll::isa i : ccoll::every_isa) {
            if (ccoll::use_isa(i) != i) continue;
            REQUIRE(ccoll::decode<C>(other, y) == status::ok);
            if (i == ccoll::isa::portable) expected = y;
            CHECK(std::memcmp(y.data(), expected.data(), n * sizeof(T)) == 0);
        }
    }
    ccoll::use_isa(before);
}

}  // namespace szp_lists_cases
