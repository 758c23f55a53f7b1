// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: sanitized
// codec/chunked_addends.hpp, codec.hpp: sums of encoded streams in the memory of an operand.
#include "support/catch.hpp"

#include <random>

#include <ccoll/exec.hpp>

#include "codec/frame_edit.hpp"
#include "codec/round_trip.hpp"
#include "support/fields.hpp"

namespace in_place_cases {

using namespace ccoll::policies;
using ccoll::status;

namespace {

using C = Codec::SZp;
using bytes = std::vector<std::byte>;

template <class T>
bytes addend(const std::vector<T>& x, double eb)
{
    bytes frame(ccoll::max_addend_bytes<C, T>(x.size()));
    const auto r = ccoll::encode_addend<C>(x, frame, eb);
    REQUIRE((r.code == status::ok || r.code == status::too_large));
    frame.resize(r.bytes);
    frame.shrink_to_fit();
    return frame;
}

struct result {
    status code = status::ok;
    bytes frame;

    friend bool operator==(const result&, const result&) = default;
};
enum class place { apart, left, right, both };

/// The sum in memory as long as was promised and no longer, of heap that a sanitizer watches.
template <class T, class Add>
result sum(const bytes& a, const bytes& b, std::size_t n, place where, Add add)
{
    bytes dst(ccoll::max_addend_bytes<C, T>(n), round_trip::guard);
    if (where != place::apart)
        std::copy_n((where == place::right ? b : a).begin(), (where == place::right ? b : a).size(),
                    dst.begin());
    const ccoll::const_byte_span in_dst =
        ccoll::const_byte_span(dst).first((where == place::right ? b : a).size());
    const ccoll::const_byte_span x =
        where == place::left || where == place::both ? in_dst : ccoll::const_byte_span(a);
    const ccoll::const_byte_span y =
        where == place::right || where == place::both ? in_dst : ccoll::const_byte_span(b);
    const ccoll::encode_result r = add(x, y, ccoll::byte_span(dst));
    REQUIRE(r.bytes <= dst.size());
    dst.resize(r.bytes);
    return {r.code, dst};
}

/// Several threads put chunks in any order.
template <class T>
bool same_values(const result& a, const result& b, std::size_t n)
{
    if (a.code != b.code || a.frame.size() != b.frame.size()) return false;
    return a.code != status::ok || round_trip::same_bits(round_trip::decoded<C, T>(a.frame, n),
                                                         round_trip::decoded<C, T>(b.frame, n));
}

template <class T>
void check(const std::vector<T>& x, const std::vector<T>& y, double eb)
{
    const std::size_t n = x.size();
    const bytes a = addend(x, eb), b = addend(y, eb);
    const auto add = [](auto p, auto q, auto dst) { return ccoll::reduce_encoded<C, Op::Sum, T>(p, q, dst); };
    const result apart = sum<T>(a, b, n, place::apart, add), twice = sum<T>(a, a, n, place::apart, add);
    CHECK(sum<T>(a, b, n, place::left, add) == apart);
    CHECK(sum<T>(a, b, n, place::right, add) == apart);
    CHECK(sum<T>(a, a, n, place::both, add) == twice);
    const auto threads = [](auto p, auto q, auto dst) {
        return ccoll::reduce_encoded<C, Op::Sum, T>(p, q, dst, Exec::Threads<3>{});
    };
    CHECK(same_values<T>(sum<T>(a, b, n, place::left, threads), apart, n));
    CHECK(same_values<T>(sum<T>(a, b, n, place::apart, threads), apart, n));
}

}  // namespace

TEMPLATE_TEST_CASE("a sum in the memory of an operand has the bytes of a sum elsewhere",
                   "[codec][homomorphic]", float, double)
{
    for (const std::size_t n : {0u, 1u, 31u, 8191u, 8192u, 8193u, 50021u}) {
        CAPTURE(n);
        check(fields::smooth<TestType>(n, 1), fields::smooth<TestType>(n, 2), 1e-3);
        // The sum is far longer than the operand.
        check(fields::quiet<TestType>(n, 1), fields::smooth<TestType>(n, 2), 1e-3);
        check(fields::smooth<TestType>(n, 1), fields::quiet<TestType>(n, 2), 1e-3);
        check(fields::non_finite<TestType>(n, 1), fields::smooth<TestType>(n, 2), 1e-3);
    }
}

TEMPLATE_TEST_CASE("a sum in place of addends as long as they can be", "[codec][homomorphic]", float, double)
{
    // Noise over 2^44 steps, with a NaN in each block: chunks as wide as any that an encoder writes.
    std::mt19937_64 random(7);
    std::vector<TestType> x(3 * 8192 + 77), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto any = [&] {
            return static_cast<TestType>(static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-18);
        };
        x[i] = i % 32 == 5 ? std::numeric_limits<TestType>::quiet_NaN() : any();
        y[i] = any();
    }
    check(x, y, 1.0);
    check(y, x, 1.0);
    check(x, fields::constant<TestType>(x.size()), 1.0);
}

TEMPLATE_TEST_CASE("an addend with anything but zeros behind a chunk is corrupt, wherever the sum goes",
                   "[codec][homomorphic][total]", float, double)
{
    using T = TestType;
    const std::size_t n = 2 * 8192 + 100;
    auto x = fields::smooth<T>(n, 1);
    std::fill(x.begin() + 8192, x.end(), T(1));  // constant chunks have 24 bytes
    const bytes a = addend(x, 1e-3), b = addend(fields::smooth<T>(n, 2), 1e-3);
    ccoll::frame_view view;
    REQUIRE(ccoll::frame_codec_of<C, T>.open(a, n, view) == status::ok);
    std::size_t found = 0;
    for (std::size_t i = 0; i < view.header.chunks; ++i)
        for (std::size_t k = view.bytes_of(i); k < frame_edit::padded(view.bytes_of(i)); ++k, ++found) {
            INFO("chunk " << i << ", byte " << k);
            bytes wrong = a;
            wrong[frame_edit::start(3) + view.begin_of(i) + k] = std::byte{1};
            std::vector<T> y(n);
            CHECK(ccoll::decode<C>(wrong, y) == status::corrupt);
            bytes dst(ccoll::max_addend_bytes<C, T>(n));
            CHECK(ccoll::reduce_encoded<C, Op::Sum, T>(wrong, b, dst).code == status::corrupt);
            CHECK(ccoll::reduce_encoded<C, Op::Sum, T>(b, wrong, dst).code == status::corrupt);
            CHECK(ccoll::reduce_encoded<C, Op::Sum, T>(b, wrong, dst, Exec::Threads<2>{}).code ==
                  status::corrupt);
            std::copy(wrong.begin(), wrong.end(), dst.begin());
            CHECK(
                ccoll::reduce_encoded<C, Op::Sum, T>(ccoll::const_byte_span(dst).first(wrong.size()), b, dst)
                    .code == status::corrupt);
        }
    CHECK(found == 2 * 8);
}

TEST_CASE("what cannot be added in place leaves the operand as it was, or says so in a frame",
          "[codec][homomorphic]")
{
    const std::size_t n = 20000;
    const bytes a = addend(fields::smooth<float>(n, 1), 1e-3), b = addend(fields::smooth<float>(n, 2), 1e-3);
    const auto add = [](const bytes& y, ccoll::byte_span dst, std::size_t length) {
        return ccoll::reduce_encoded<C, Op::Sum, float>(ccoll::const_byte_span(dst).first(length), y, dst);
    };
    bytes dst = a;
    CHECK(add(b, dst, a.size()).code == status::out_of_space);
    CHECK(dst == a);
    dst.resize(ccoll::max_addend_bytes<C, float>(n));
    const bytes before = dst;
    CHECK(add(addend(fields::smooth<float>(n, 2), 2e-3), dst, a.size()).code == status::bound_differs);
    CHECK(add(addend(fields::smooth<float>(n + 1, 2), 1e-3), dst, a.size()).code == status::count_differs);
    CHECK(dst == before);
    bytes wrong = before;  // a chunk longer than any
    ccoll::store(wrong, frame_edit::entry(0) + 4,
                 static_cast<std::uint32_t>(ccoll::max_addend_bytes<C, float>(8192)));
    const bytes as_it_was = wrong;
    CHECK(add(b, wrong, wrong.size()).code == status::corrupt);
    CHECK(wrong == as_it_was);
    auto far = fields::smooth<float>(n, 2);
    for (std::size_t k = 0; k < 257; ++k) far[n / 2 + k] = 1e30f * static_cast<float>(1 + k);
    const auto refused = add(addend(far, 1e-3), dst, a.size());
    CHECK(refused.code == status::too_large);
    std::vector<float> back(n);
    CHECK(ccoll::decode<C>(ccoll::const_byte_span(dst).first(refused.bytes), back) == status::too_large);
}

}  // namespace in_place_cases
