// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: thread sanitizer
// exec.hpp, codec.hpp: chunks that are distributed over threads are those of one thread, in any order.
#include "support/catch.hpp"

#include <ccoll/exec.hpp>

#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"

using namespace ccoll::policies;

namespace {

/// Like a thread pool, but it does one part after another and begins with the last one, so that code which
/// relies on an order fails.
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

/// Frames that have the same chunks, which may stand in any order.
bool same_chunks(const bytes& a, const bytes& b)
{
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < frame_edit::chunks_of(a); ++i)
        if (frame_edit::chunk_of(a, i) != frame_edit::chunk_of(b, i)) return false;
    const std::size_t front = 36;
    return std::equal(a.begin(), a.begin() + front, b.begin());
}

}  // namespace

TEMPLATE_TEST_CASE("threads write the chunks of one thread and read them to the same bits",
                   "[codec][threads]", Codec::None, Codec::SZx, Codec::PipeSZx, Codec::SZp)
{
    for (const std::size_t n : {0u, 1u, 8192u, 16u * 8192u, 200003u})
        for (const auto& x :
             {fields::smooth<float>(n), fields::non_finite<float>(n), fields::wild<float>(n)}) {
            const bytes one = encoded<float, TestType>(x, 1e-3);
            const auto values = round_trip::decoded<TestType, float>(one, n);
            std::vector<float> y(n);
            REQUIRE(ccoll::decode<TestType>(one, y, Exec::Threads<3>{}) == ccoll::status::ok);
            CHECK(round_trip::same_bits(y, values));
            for (const bytes& other : {encoded<float, TestType>(x, 1e-3, Exec::Threads<2>{}),
                                       encoded<float, TestType>(x, 1e-3, Exec::Threads<5>{}),
                                       encoded<float, TestType>(x, 1e-3, backwards{})}) {
                CHECK(same_chunks(one, other));
                CHECK(round_trip::same_bits(round_trip::decoded<TestType, float>(other, n), values));
                REQUIRE(ccoll::decode<TestType>(other, y, Exec::Threads<3>{}) == ccoll::status::ok);
                CHECK(round_trip::same_bits(y, values));
            }
        }
}

TEST_CASE("threads encode and add addends to the same chunks", "[codec][threads][homomorphic]")
{
    const std::size_t n = 300000;
    const auto x = fields::smooth<double>(n, 1), y = fields::quiet<double>(n, 2);
    bytes a(ccoll::max_addend_bytes<Codec::SZp, double>(n)), b(a), c(a), one(a), two(a);
    a.resize(ccoll::encode_addend<Codec::SZp>(x, a, 1e-3).bytes);
    b.resize(ccoll::encode_addend<Codec::SZp>(x, b, 1e-3, Exec::Threads<4>{}).bytes);
    CHECK(same_chunks(a, b));
    c.resize(ccoll::encode_addend<Codec::SZp>(y, c, 1e-3).bytes);
    one.resize(ccoll::reduce_encoded<Codec::SZp, Op::Sum, double>(a, c, one).bytes);
    two.resize(ccoll::reduce_encoded<Codec::SZp, Op::Sum, double>(a, c, two, Exec::Threads<2>{}).bytes);
    CHECK(!one.empty());
    CHECK(same_chunks(one, two));
    CHECK(round_trip::same_bits(round_trip::decoded<Codec::SZp, double>(one, n),
                                round_trip::decoded<Codec::SZp, double>(two, n)));
}

TEST_CASE("threads write long chunks and short ones", "[codec][threads][homomorphic]")
{
    // Constant stretches, with 24 bytes per chunk, and noise over 2^43 steps.
    const std::size_t n = GENERATE(60u, 200u) * 8192 + 5;
    auto x = fields::constant<double>(n), y = fields::random<double>(n, 2);
    for (std::size_t i = 0; i < n; ++i)
        if (i / 8192 % 7 < 3) x[i] = y[i] * 0x1p43;
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
        CHECK(same_chunks(a, encode_with(x, Exec::Threads<2>{})));
        CHECK(same_chunks(sum, add_with(Exec::Threads<2>{})));
        CHECK(same_chunks(a, encode_with(x, Exec::Threads<4>{})));
        CHECK(same_chunks(sum, add_with(Exec::Threads<4>{})));
    }
    CHECK(same_chunks(a, encode_with(x, backwards{})));
    CHECK(same_chunks(sum, add_with(backwards{})));
    CHECK(same_chunks(encoded<double, Codec::SZp>(x, 1.0),
                      encoded<double, Codec::SZp>(x, 1.0, Exec::Threads<4>{})));
}

TEST_CASE("threads report what is wrong with a bad chunk", "[codec][threads][homomorphic]")
{
    const std::size_t n = 40 * 8192;
    const auto x = fields::smooth<float>(n, 1), y = fields::smooth<float>(n, 2);
    bytes a(ccoll::max_addend_bytes<Codec::SZp, float>(n)), b(a), room(a);
    a.resize(ccoll::encode_addend<Codec::SZp>(x, a, 1e-3).bytes);
    b.resize(ccoll::encode_addend<Codec::SZp>(y, b, 1e-3).bytes);
    const auto spoiled = [&](std::size_t chunk) {
        bytes frame = a;
        frame[frame_edit::begin_of(frame, chunk)] = std::byte{0xff};  // a scale that does not exist
        return frame;
    };
    for (const std::size_t chunk : {0u, 3u, 4u, 17u, 39u}) {
        const bytes corrupt = spoiled(chunk);
        const auto one = ccoll::reduce_encoded<Codec::SZp, Op::Sum, float>(corrupt, b, room);
        REQUIRE(one.code == ccoll::status::corrupt);
        for (int again = 0; again < 5; ++again) {
            const auto many =
                ccoll::reduce_encoded<Codec::SZp, Op::Sum, float>(corrupt, b, room, Exec::Threads<4>{});
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
    ccoll::store(frame, frame_edit::entry(17) + 4, ~std::uint32_t{0});
    std::vector<float> back(n);
    CHECK(ccoll::decode<Codec::SZp>(frame, back, Exec::Threads<2>{}) == status::corrupt);
    CHECK(ccoll::encode<Codec::SZp>(x, ccoll::byte_span(frame).first(100), 1e-3, Exec::Threads<2>{}).code ==
          status::out_of_space);
    CHECK(ccoll::encode<Codec::SZp>(x, frame, 0.0, Exec::Threads<2>{}).code == status::bad_bound);
    for (std::size_t k = 0; k < 257; ++k) x[n - 1 - k] = 1e30f * static_cast<float>(1 + k);
    bytes addend(ccoll::max_addend_bytes<Codec::SZp, float>(n));
    const auto refused = ccoll::encode_addend<Codec::SZp>(x, addend, 1e-3, Exec::Threads<2>{});
    CHECK(refused.code == status::too_large);
    addend.resize(refused.bytes);
    CHECK(ccoll::decode<Codec::SZp>(addend, back) == status::too_large);
    CHECK(ccoll::decode<Codec::SZp>(addend, back, Exec::Threads<2>{}) == status::too_large);
}
