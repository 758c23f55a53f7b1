// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exec.hpp, codec.hpp: chunks that are distributed over threads give the same bytes and bits as one thread.
#include "support/catch.hpp"

#include <atomic>

#include <ccoll/exec.hpp>

#include "codec/round_trip.hpp"
#include "support/fields.hpp"

using namespace ccoll::policies;

namespace {

/// Like a thread pool, but it does one part after another and begins with the last one, so that code which relies on an order fails.
struct backwards {
    std::size_t parts = 3;
    std::size_t width() const { return parts; }
    template <class Job>
    void operator()(std::size_t n, const Job& job) const
    {
        for (std::size_t part = n; part-- > 0;) job(part);
    }
};

using bytes = std::vector<std::byte>;

template <class T, class C>
bytes encoded(const std::vector<T>& x, double eb, const auto&... executor)
{
    bytes frame(ccoll::max_encoded_bytes<C, T>(x.size()) + 8, round_trip::guard);
    const auto r = ccoll::encode<C>(x, ccoll::byte_span(frame).first(frame.size() - 8), eb, executor...);
    REQUIRE(r.code == ccoll::status::ok);
    for (std::size_t i = frame.size() - 8; i < frame.size(); ++i) REQUIRE(frame[i] == round_trip::guard);
    frame.resize(r.bytes);
    return frame;
}

}  // namespace

TEMPLATE_TEST_CASE("threads write the frames of one thread and read them to the same bits", "[codec][threads]", Codec::None, Codec::SZx,
                   Codec::PipeSZx, Codec::SZp)
{
    for (const std::size_t n : {0u, 1u, 8192u, 16u * 8192u, 200003u})
        for (const auto& x : {fields::smooth<float>(n), fields::non_finite<float>(n), fields::wild<float>(n)}) {
            const bytes one = encoded<float, TestType>(x, 1e-3);
            CHECK(one == encoded<float, TestType>(x, 1e-3, Exec::Threads<2>{}));
            CHECK(one == encoded<float, TestType>(x, 1e-3, Exec::Threads<5>{}));
            CHECK(one == encoded<float, TestType>(x, 1e-3, backwards{}));
            std::vector<float> a(n), b(n);
            REQUIRE(ccoll::decode<TestType>(one, a) == ccoll::status::ok);
            REQUIRE(ccoll::decode<TestType>(one, b, Exec::Threads<3>{}) == ccoll::status::ok);
            CHECK((n == 0 || std::memcmp(a.data(), b.data(), n * sizeof(float)) == 0));
        }
}

TEST_CASE("threads encode and add addends to the same bytes", "[codec][threads][homomorphic]")
{
    const std::size_t n = 300000;
    const auto x = fields::smooth<double>(n, 1), y = fields::quiet<double>(n, 2);
    bytes a(ccoll::max_addend_bytes<Codec::SZp, double>(n)), b(a), c(a), one(a), two(a);
    a.resize(ccoll::encode_addend<Codec::SZp>(x, a, 1e-3).bytes);
    b.resize(ccoll::encode_addend<Codec::SZp>(x, b, 1e-3, Exec::Threads<4>{}).bytes);
    CHECK(a == b);
    c.resize(ccoll::encode_addend<Codec::SZp>(y, c, 1e-3).bytes);
    one.resize(ccoll::reduce_encoded<Codec::SZp, Op::Sum, double>(a, c, one).bytes);
    two.resize(ccoll::reduce_encoded<Codec::SZp, Op::Sum, double>(a, c, two, Exec::Threads<2>{}).bytes);
    CHECK(!one.empty());
    CHECK(one == two);
}

TEST_CASE("threads write long chunks and short ones in order", "[codec][threads][homomorphic]")
{
    // Constant stretches, with 12 bytes per chunk, and noise over 2^50 steps. 60 chunks are distributed one by one, 200 chunks in groups of
    // six.
    const std::size_t n = GENERATE(60u, 200u) * 8192 + 5;
    auto x = fields::constant<double>(n), y = fields::random<double>(n, 2);
    for (std::size_t i = 0; i < n; ++i)
        if (i / 8192 % 7 < 3) x[i] = y[i] * 0x1p50;
    const auto encode_with = [&](const std::vector<double>& values, const auto&... run) {
        bytes frame(ccoll::max_addend_bytes<Codec::SZp, double>(n));
        const auto r = ccoll::encode_addend<Codec::SZp>(values, frame, 1.0, run...);
        REQUIRE(r.code == ccoll::status::ok);
        frame.resize(r.bytes);
        return frame;
    };
    const bytes a = encode_with(x), b = encode_with(y);
    const auto add_with = [&](const auto&... run) {
        bytes frame(ccoll::max_addend_bytes<Codec::SZp, double>(n));
        const auto r = ccoll::reduce_encoded<Codec::SZp, Op::Sum, double>(a, b, frame, run...);
        REQUIRE(r.code == ccoll::status::ok);
        frame.resize(r.bytes);
        return frame;
    };
    const bytes sum = add_with();
    for (int again = 0; again < 10; ++again) {
        CHECK(a == encode_with(x, Exec::Threads<2>{}));
        CHECK(sum == add_with(Exec::Threads<2>{}));
        CHECK(a == encode_with(x, Exec::Threads<4>{}));
        CHECK(sum == add_with(Exec::Threads<4>{}));
    }
    CHECK(a == encode_with(x, backwards{}));
    CHECK(sum == add_with(backwards{}));
    CHECK(encoded<double, Codec::SZp>(x, 1.0) == encoded<double, Codec::SZp>(x, 1.0, Exec::Threads<4>{}));
}

TEST_CASE("threads report what is wrong with the first bad chunk", "[codec][threads][homomorphic]")
{
    const std::size_t n = 40 * 8192;
    const auto x = fields::smooth<float>(n, 1), y = fields::smooth<float>(n, 2);
    bytes a(ccoll::max_addend_bytes<Codec::SZp, float>(n)), b(a), room(a);
    a.resize(ccoll::encode_addend<Codec::SZp>(x, a, 1e-3).bytes);
    b.resize(ccoll::encode_addend<Codec::SZp>(y, b, 1e-3).bytes);
    const auto spoiled = [&](std::size_t chunk) {
        bytes frame = a;
        ccoll::frame_view view;
        REQUIRE(ccoll::frame_codec_of<Codec::SZp, float>.open(frame, n, view) == ccoll::status::ok);
        frame[ccoll::payload_offset(40) + (chunk > 0 ? view.end_of(chunk - 1) : 0)] = std::byte{0xff};  // a kind that does not exist
        return frame;
    };
    for (const std::size_t chunk : {0u, 3u, 4u, 17u, 39u}) {
        const bytes corrupt = spoiled(chunk);
        const auto one = ccoll::reduce_encoded<Codec::SZp, Op::Sum, float>(corrupt, b, room);
        REQUIRE(one.code == ccoll::status::corrupt);
        for (int again = 0; again < 5; ++again) {
            const auto many = ccoll::reduce_encoded<Codec::SZp, Op::Sum, float>(corrupt, b, room, Exec::Threads<4>{});
            CHECK(many.code == one.code);
            CHECK(many.bytes == one.bytes);
        }
    }
}

TEST_CASE("threads report what one thread would", "[codec][threads]")
{
    using ccoll::status;
    const std::size_t n = 200000;
    auto x = fields::smooth<float>(n);
    bytes frame = encoded<float, Codec::SZp>(x, 1e-3);
    frame[frame.size() - 5] ^= std::byte{0xff};
    frame[32 + 4 * 17] ^= std::byte{4};  // the index
    std::vector<float> back(n);
    CHECK(ccoll::decode<Codec::SZp>(frame, back, Exec::Threads<2>{}) == status::corrupt);
    CHECK(ccoll::encode<Codec::SZp>(x, ccoll::byte_span(frame).first(100), 1e-3, Exec::Threads<2>{}).code == status::out_of_space);
    CHECK(ccoll::encode<Codec::SZp>(x, frame, 0.0, Exec::Threads<2>{}).code == status::bad_bound);
    for (std::size_t k = 0; k < 5; ++k) x[n - 1 - k] = 1e30f * static_cast<float>(1 + k);
    bytes addend(ccoll::max_addend_bytes<Codec::SZp, float>(n));
    const auto refused = ccoll::encode_addend<Codec::SZp>(x, addend, 1e-3, Exec::Threads<2>{});
    CHECK(refused.code == status::too_large);
    addend.resize(refused.bytes);
    CHECK(ccoll::decode<Codec::SZp>(addend, back) == status::too_large);
    CHECK(ccoll::decode<Codec::SZp>(addend, back, Exec::Threads<2>{}) == status::too_large);
}

TEST_CASE("a thread whose turn it is does not sleep, however short the turns are", "[codec][threads]")
{
    constexpr std::uint32_t turns = 2000000;  // the fault showed once in some ten million turns
    ccoll::detail::turns turn;
    const auto take = [&](std::uint32_t first) {
        for (std::uint32_t mine = first, some = first; mine < turns; mine += 2) {
            turn.wait_for(mine);
            turn.pass(mine);
            some = some * 1664525u + 1013904223u;
            for (volatile std::uint32_t i = some >> 25; i > 0;) i = i - 1;
        }
    };
    std::thread other(take, 1);
    take(0);
    other.join();
    CHECK(turn.is(turns));
}
