// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: sanitized
// codec.hpp, codec/chunked_addends.hpp: a codec from outside, and sums of frames without decoding.
#include "support/catch.hpp"

#include <cmath>
#include <limits>

#include "support/acme_fixed16.hpp"
#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"

namespace homomorphic_cases {

using namespace ccoll::policies;
using acme::Fixed16;
using ccoll::status;

namespace {

using bytes = std::vector<std::byte>;

template <class T>
bytes addend(const std::vector<T>& x, double eb = 1e-3)
{
    bytes dst(ccoll::max_addend_bytes<Fixed16, T>(x.size()));
    dst.resize(ccoll::encode_addend<Fixed16>(x, dst, eb).bytes);
    return dst;
}

bool says_too_large(const bytes& frame)
{
    ccoll::frame_view view;
    return ccoll::read_frame(frame, view) == status::ok && view.says_too_large();
}

struct sum {
    status code;
    bytes frame;
};

template <class T>
sum add(const bytes& a, const bytes& b, std::size_t n)
{
    bytes dst(ccoll::max_addend_bytes<Fixed16, T>(n), round_trip::guard);
    const auto result = ccoll::reduce_encoded<Fixed16, Op::Sum, T>(a, b, dst);
    dst.resize(result.bytes);
    return {result.code, dst};
}

}  // namespace

TEMPLATE_TEST_CASE("a codec from outside gets frames, raw chunks and a checked bound", "[codec][extension]",
                   float, double)
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
    CHECK(outcome.encoded.bytes == frame_edit::start(5) + 2 * (5000 - 1024) + 1024 * sizeof(TestType));
}

TEMPLATE_TEST_CASE("an addend has a flag of its own, no raw chunk, and is decoded as any frame",
                   "[codec][homomorphic]", float, double)
{
    static_assert(ccoll::max_addend_bytes<Fixed16, TestType>(0) == 48);
    static_assert(ccoll::max_addend_bytes<Fixed16, TestType>(1025) == 64 + 2 * 1024 + 16);
    for (const std::size_t n : {0u, 1u, 1024u, 1025u, 5003u}) {
        const auto x = fields::smooth<TestType>(n);
        const bytes frame = addend(x);
        CHECK(frame.size() == ccoll::max_addend_bytes<Fixed16, TestType>(n));
        const auto header = ccoll::load<ccoll::frame_header>(frame, 0);
        CHECK(header.flags == ccoll::addend_flag);
        CHECK(header.elements == n);
        CHECK(header.bound == 1e-3);
        CHECK(round_trip::count_outside(round_trip::decoded<Fixed16, TestType>(frame, n), x, 1e-3) == 0);
        bytes raw = frame;  // an addend never travels raw, whatever its length
        if (n > 0) ccoll::store(raw, 48, ccoll::load<std::uint32_t>(frame, 48) | ccoll::raw_chunk);
        std::vector<TestType> y(n);
        if (n > 0) CHECK(ccoll::decode<Fixed16>(raw, y) == status::corrupt);
    }
}

TEMPLATE_TEST_CASE("a destination one byte too small for an addend, or for a sum, is refused untouched",
                   "[codec][homomorphic]", float, double)
{
    const std::size_t n = 1500, room = ccoll::max_addend_bytes<Fixed16, TestType>(n) - 1;
    bytes dst(room, round_trip::guard);
    const bytes untouched = dst, a = addend(fields::smooth<TestType>(n));
    CHECK(ccoll::encode_addend<Fixed16>(fields::smooth<TestType>(n), dst, 1e-3).code == status::out_of_space);
    CHECK(ccoll::reduce_encoded<Fixed16, Op::Sum, TestType>(a, a, dst).code == status::out_of_space);
    CHECK(dst == untouched);
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double eb : {0.0, -1.0, infinity, -infinity, std::nan(""), 1e300})
        CHECK(ccoll::encode_addend<Fixed16>(fields::smooth<TestType>(n), dst, eb).code == status::bad_bound);
}

TEMPLATE_TEST_CASE("the sum of two addends decodes to within two bounds of the sum", "[codec][homomorphic]",
                   float, double)
{
    const double eb = 1e-3;
    for (const std::size_t n : {0u, 1u, 1024u, 1025u, 5003u}) {
        const auto x = fields::smooth<TestType>(n, 1), y = fields::random<TestType>(n, 2);
        const auto total =
            round_trip::decoded<Fixed16, TestType>(add<TestType>(addend(x, eb), addend(y, eb), n).frame, n);
        const double rounding =
            2 * static_cast<double>(std::numeric_limits<TestType>::epsilon());  // of a result below 4
        std::size_t outside = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const double exact = static_cast<double>(x[i]) + static_cast<double>(y[i]);
            outside += std::fabs(static_cast<double>(total[i]) - exact) > 2 * eb + rounding;
        }
        CHECK(outside == 0);
    }
}

TEMPLATE_TEST_CASE("sums of addends do not depend on the order of the addends", "[codec][homomorphic]", float,
                   double)
{
    const std::size_t n = 3000;
    const auto a = addend(fields::smooth<TestType>(n, 1)), b = addend(fields::random<TestType>(n, 2));
    const auto c = addend(fields::smooth<TestType>(n, 3));
    const auto of = [=](const bytes& x, const bytes& y) { return add<TestType>(x, y, n).frame; };
    CHECK(of(of(a, b), c).size() == a.size());
    CHECK(of(of(a, b), c) == of(a, of(c, b)));
    CHECK(of(a, b) == of(b, a));
}

TEMPLATE_TEST_CASE("what a codec cannot hold makes its frame say too_large, and every sum with it",
                   "[codec][homomorphic]", float, double)
{
    const std::size_t n = 3000;
    auto x = fields::smooth<TestType>(n, 1);
    const bytes a = addend(x);
    for (const TestType stranger : {TestType(1e9), std::numeric_limits<TestType>::infinity(),
                                    std::numeric_limits<TestType>::quiet_NaN()}) {
        x[2500] = stranger;  // in the last of three chunks
        bytes dst(ccoll::max_addend_bytes<Fixed16, TestType>(n));
        const auto refused = ccoll::encode_addend<Fixed16>(x, dst, 1e-3);
        CHECK(refused.code == status::too_large);
        CHECK(refused.bytes == frame_edit::start(3));
        dst.resize(refused.bytes);
        ccoll::frame_view view;
        CHECK(ccoll::read_frame(dst, view) == status::ok);
        CHECK(view.header.flags == (ccoll::addend_flag | ccoll::too_large_flag));
        CHECK(view.bytes() == dst.size());
        CHECK(says_too_large(dst));
        CHECK_FALSE(says_too_large(a));
        std::vector<TestType> y(n), less(n - 1);
        CHECK(ccoll::decode<Fixed16>(dst, y) == status::too_large);
        CHECK(ccoll::decode<Fixed16>(dst, less) == status::count_differs);
        for (const sum& s :
             {add<TestType>(a, dst, n), add<TestType>(dst, a, n), add<TestType>(dst, dst, n)}) {
            CHECK(s.code == status::too_large);
            CHECK(s.frame == dst);
        }
    }
    // 40 and 30 fit, 70 has too many quanta of 2e-3.
    const bytes forty = addend(std::vector<TestType>(n, TestType(40))),
                thirty = addend(std::vector<TestType>(n, TestType(30)));
    const sum s = add<TestType>(forty, thirty, n);
    CHECK(s.code == status::too_large);
    CHECK(says_too_large(s.frame));
    CHECK(add<TestType>(s.frame, a, n).frame == s.frame);
    CHECK_FALSE(ccoll::addend_codec_of<Fixed16, TestType>.can_add(40, 1e-3, 2));
    CHECK(ccoll::addend_codec_of<Fixed16, TestType>.can_add(30, 1e-3, 2));
    CHECK_FALSE(ccoll::addend_codec_of<Fixed16, TestType>.adds_non_finite);
}

TEMPLATE_TEST_CASE("a codec can be told to write the frame that says too_large", "[codec][homomorphic]",
                   float, double)
{
    const auto& face = ccoll::addend_codec_of<Fixed16, TestType>;
    const auto x = std::vector<TestType>(3000, TestType(1e9));
    bytes by_itself(face.max_bytes(3000)), told(frame_edit::start(3));
    const auto r = face.refuse(3000, told, 1e-3);
    CHECK(r.code == status::too_large);
    CHECK(r.bytes == told.size());
    by_itself.resize(face.encode(x, by_itself, 1e-3, {}).bytes);
    CHECK(by_itself == told);
    told.pop_back();
    CHECK(face.refuse(3000, told, 1e-3).code == status::out_of_space);
}

TEST_CASE("frames that do not fit each other are not added", "[codec][homomorphic]")
{
    const auto a = addend(fields::smooth<float>(2000));
    const auto code = [&](const bytes& x, const bytes& y) { return add<float>(x, y, 2000).code; };
    CHECK(code(a, a) == status::ok);
    CHECK(code(a, addend(fields::smooth<float>(1999))) == status::count_differs);
    CHECK(code(a, addend(fields::smooth<float>(2000), 2e-3)) == status::bound_differs);
    CHECK(code(a, addend(fields::smooth<double>(2000))) == status::foreign_frame);
    CHECK(code(round_trip::frame_of<Codec::SZx>(fields::smooth<float>(2000), 1e-3), a) ==
          status::foreign_frame);
    CHECK(code(a, {}) == status::corrupt);
    const bytes moved = round_trip::frame_of<Fixed16>(fields::smooth<float>(2000), 1e-3);
    CHECK(code(a, moved) == status::not_an_addend);
    CHECK(code(moved, a) == status::not_an_addend);
    bytes newer = a;
    ccoll::store(newer, 4, std::uint8_t{ccoll::wire_version + 1});
    CHECK(code(a, newer) == status::wire_version);
}

TEMPLATE_TEST_CASE("adding frames with any byte corrupted gives a status and stays in its room",
                   "[codec][homomorphic][total]", float, double)
{
    const std::size_t n = 1100;
    const auto a = addend(fields::smooth<TestType>(n)), b = addend(fields::smooth<TestType>(n, 2));
    bytes dst(ccoll::max_addend_bytes<Fixed16, TestType>(n) + 8, round_trip::guard);
    const auto room = ccoll::byte_span(dst).first(dst.size() - 8);
    std::size_t beyond = 0, trusted_lengths = 0;
    for (std::size_t at = 0; at < a.size(); at += at < 64 ? 1 : 37)
        for (const unsigned flip : {0x01u, 0x02u, 0x03u, 0x80u, 0xffu}) {
            bytes damaged = a;
            damaged[at] ^= static_cast<std::byte>(flip);
            for (const auto& [left, right] : {std::pair{damaged, b}, std::pair{b, damaged}}) {
                const auto result = ccoll::reduce_encoded<Fixed16, Op::Sum, TestType>(left, right, room);
                const bool place = at >= 48 && at % 8 < 4;  // chunks may stand anywhere
                trusted_lengths += result.code == status::ok && at >= 32 && at < 64 && !place;
                for (std::size_t k = room.size(); k < dst.size(); ++k) beyond += dst[k] != round_trip::guard;
            }
        }
    CHECK(beyond == 0);
    CHECK(trusted_lengths == 0);
}

}  // namespace homomorphic_cases
