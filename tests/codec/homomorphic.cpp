// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec.hpp, codec/frame_codec.hpp: a codec from outside, and sums of frames without decoding.
#include "catch.hpp"

#include <cmath>
#include <limits>

#include "acme_fixed16.hpp"
#include "codec/round_trip.hpp"
#include "fields.hpp"

using namespace ccoll::policies;
using acme::Fixed16;

namespace {

using bytes = std::vector<std::byte>;

template <class T>
bytes frame(const std::vector<T>& x, double eb = 1e-3)
{
    return round_trip::frame_of<Fixed16>(x, eb);
}

template <class T>
bytes sum_of(const bytes& a, const bytes& b, std::size_t n)
{
    bytes dst(ccoll::max_encoded_bytes<Fixed16, T>(n), round_trip::guard);
    const auto result = ccoll::reduce_encoded<Fixed16, Op::Sum, T>(a, b, dst);
    if (result.code != ccoll::status::ok) return {};
    dst.resize(result.bytes);
    return dst;
}

template <class T>
std::vector<T> decoded(const bytes& from, std::size_t n)
{
    std::vector<T> y(n);
    REQUIRE(ccoll::decode<Fixed16>(from, y) == ccoll::status::ok);
    return y;
}

}  // namespace

TEMPLATE_TEST_CASE("a codec from outside gets frames, raw chunks and a checked bound", "[codec][extension]", float, double)
{
    static_assert(ccoll::has_homomorphic_codec<Fixed16, TestType>);
    static_assert(!ccoll::has_homomorphic_codec<Codec::SZx, TestType>);
    for (const std::size_t n : {0u, 1u, 1023u, 1024u, 1025u, 5003u})
        for (const auto& field : fields::all<TestType>(n))
            for (const double eb : {1e-1, 1e-3, 1e-6, 1e-60}) {
                INFO(field.name << ", n = " << n << ", eb = " << eb);
                CHECK(round_trip::check<Fixed16>(field.values, eb).good());
            }
    std::vector<TestType> x(5000, TestType(1));
    x[1500] = TestType(1e9);  // in the second of five chunks
    const auto outcome = round_trip::check<Fixed16>(x, 1e-3);
    CHECK(outcome.encoded.raw_blocks == 1);
    CHECK(outcome.encoded.bytes == 32 + 5 * 4 + 2 * (5000 - 1024) + 1024 * sizeof(TestType));
}

TEMPLATE_TEST_CASE("the sum of two frames decodes to within two bounds of the sum", "[codec][homomorphic]", float, double)
{
    const double eb = 1e-3;
    for (const std::size_t n : {0u, 1u, 1024u, 1025u, 5003u}) {
        const auto x = fields::smooth<TestType>(n, 1), y = fields::random<TestType>(n, 2);
        const auto total = decoded<TestType>(sum_of<TestType>(frame(x, eb), frame(y, eb), n), n);
        const double rounding = 2 * static_cast<double>(std::numeric_limits<TestType>::epsilon());  // of a result below 4
        std::size_t outside = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const double exact = static_cast<double>(x[i]) + static_cast<double>(y[i]);
            outside += std::fabs(static_cast<double>(total[i]) - exact) > 2 * eb + rounding;
        }
        CHECK(outside == 0);
    }
}

TEMPLATE_TEST_CASE("sums of frames do not depend on the order of the frames", "[codec][homomorphic]", float, double)
{
    const std::size_t n = 3000;
    const auto a = frame(fields::smooth<TestType>(n, 1)), b = frame(fields::random<TestType>(n, 2));
    const auto c = frame(fields::smooth<TestType>(n, 3));
    const auto sum = [=](const bytes& x, const bytes& y) { return sum_of<TestType>(x, y, n); };
    REQUIRE(!sum(sum(a, b), c).empty());
    CHECK(sum(sum(a, b), c) == sum(a, sum(c, b)));
    CHECK(sum(a, b) == sum(b, a));
}

TEMPLATE_TEST_CASE("chunks that cannot be added encoded are added decoded", "[codec][homomorphic]", float, double)
{
    const std::size_t n = 3000;
    std::vector<TestType> x(n, TestType(40)), y(n, TestType(0.25));
    y[10] = std::numeric_limits<TestType>::infinity();  // the first chunk of y travels raw
    for (std::size_t i = 2048; i < n; ++i) y[i] = TestType(30);  // 40 and 30 fit, 70 has too many quanta of 2e-3
    const auto a = frame(x), b = frame(y);
    bytes dst(ccoll::max_encoded_bytes<Fixed16, TestType>(n));
    const auto result = ccoll::reduce_encoded<Fixed16, Op::Sum, TestType>(a, b, dst);
    REQUIRE(result.code == ccoll::status::ok);
    CHECK(result.raw_blocks == 2);
    dst.resize(result.bytes);
    const auto total = decoded<TestType>(dst, n), own = decoded<TestType>(a, n), theirs = decoded<TestType>(b, n);
    std::size_t different = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const TestType expected = own[i] + theirs[i];
        const bool between = i >= 1024 && i < 2048;  // the chunk whose quanta were added
        different += between ? !(std::fabs(static_cast<double>(total[i]) - static_cast<double>(expected)) <= 1e-4)
                             : !round_trip::same_bits(total[i], expected);
    }
    CHECK(different == 0);
    CHECK(total[10] == std::numeric_limits<TestType>::infinity());
}

TEST_CASE("frames that do not fit each other are not added", "[codec][homomorphic]")
{
    using ccoll::status;
    const auto a = frame(fields::smooth<float>(2000));
    bytes dst(ccoll::max_encoded_bytes<Fixed16, float>(2000));
    const auto code = [&](const bytes& x, const bytes& y) { return ccoll::reduce_encoded<Fixed16, Op::Sum, float>(x, y, dst).code; };
    CHECK(code(a, a) == status::ok);
    CHECK(code(a, frame(fields::smooth<float>(1999))) == status::count_differs);
    CHECK(code(a, frame(fields::smooth<float>(2000), 2e-3)) == status::bound_differs);
    CHECK(code(a, frame(fields::smooth<double>(2000))) == status::foreign_frame);
    CHECK(code(round_trip::frame_of<Codec::SZx>(fields::smooth<float>(2000), 1e-3), a) == status::foreign_frame);
    CHECK(code(a, {}) == status::corrupt);
    dst.pop_back();
    CHECK(code(a, a) == status::out_of_space);
}

TEMPLATE_TEST_CASE("adding frames with any byte corrupted gives a status and stays in its room", "[codec][homomorphic][total]", float,
                   double)
{
    const std::size_t n = 1100;
    const auto a = frame(fields::smooth<TestType>(n));
    auto y = fields::smooth<TestType>(n, 2);
    y.back() = TestType(1e9);  // one raw chunk
    const auto b = frame(y);
    bytes dst(ccoll::max_encoded_bytes<Fixed16, TestType>(n) + 8, round_trip::guard);
    const auto room = ccoll::byte_span(dst).first(dst.size() - 8);
    std::size_t beyond = 0, trusted_lengths = 0;
    for (const auto& [left, right] : {std::pair{a, b}, std::pair{b, a}})
        for (std::size_t at = 0; at < left.size(); at += at < 64 ? 1 : 37)
            for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
                bytes damaged = left;
                damaged[at] ^= static_cast<std::byte>(flip);
                const auto result = ccoll::reduce_encoded<Fixed16, Op::Sum, TestType>(damaged, right, room);
                trusted_lengths += result.code == ccoll::status::ok && at >= 32 && at < 40;  // the index
                for (std::size_t k = room.size(); k < dst.size(); ++k) beyond += dst[k] != round_trip::guard;
            }
    CHECK(beyond == 0);
    CHECK(trusted_lengths == 0);
}
