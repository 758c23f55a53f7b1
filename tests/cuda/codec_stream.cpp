// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// codec_stream and sums of encoded streams on device buffers, beside the host's: sums in the memory of an
// operand, refusals, and homomorphic collectives of fields with values that no quantum holds. The device is
// the emulator.
#include "beside_host.hpp"
#include "device_vector.hpp"

#include "support/fields.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace codec_stream_cases {

using namespace ccoll::policies;
using emulated::device_vector;
using SZp = Codec::SZp;
using bytes = std::vector<std::byte>;

namespace {

std::vector<float> coast(std::size_t n, unsigned seed, unsigned width)
{
    std::vector<float> x = fields::smooth<float>(n, seed);
    for (std::size_t i = 0; i < n; ++i)
        if (i % 150 < width) x[i] = 1e20f;
    return x;
}
ccoll::device_span<const std::byte> frame_in(const device_vector<std::byte>& in, std::size_t size)
{
    return {in.address(), size};
}
template <class T>
std::vector<T> decoded(const bytes& frame, std::size_t n)
{
    std::vector<T> x(n);
    CHECK(ccoll::decode<SZp>(frame, x) == ccoll::status::ok);
    return x;
}
/// What the last call has written.
bytes written(ccoll::codec_stream& codecs, const device_vector<std::byte>& to)
{
    const ccoll::encode_result r = codecs.result();
    REQUIRE(r.code == ccoll::status::ok);
    bytes all = to.values();
    all.resize(r.bytes);
    return all;
}

}  // namespace

TEMPLATE_TEST_CASE("codec_stream writes frames that the host reads, and reads those of the host",
                   "[cuda][szp]", float, double)
{
    ccoll::codec_stream codecs;
    for (const std::size_t n : {0u, 1u, 511u, 8192u, 20001u})
        for (const double eb : {1e-1, 1e-4, 1e-30}) {
            const auto x = fields::smooth<TestType>(n);
            bytes host(ccoll::max_encoded_bytes<SZp, TestType>(n));
            host.resize(ccoll::encode<SZp>(x, host, eb).bytes);
            const auto expected = decoded<TestType>(host, n);
            INFO("n " << n << ", bound " << eb);
            const device_vector<TestType> in(x), out(n);
            const device_vector<std::byte> frame(ccoll::max_encoded_bytes<SZp, TestType>(n)), of_host(host);
            codecs.encode<SZp>(in.span(), frame.span(), eb);
            CHECK(same_bits(decoded<TestType>(written(codecs, frame), n), expected));
            codecs.decode<SZp>(frame_in(of_host, host.size()), out.span());
            CHECK(codecs.result().code == ccoll::status::ok);
            CHECK(same_bits(out.values(), expected));
        }
}

TEST_CASE("codec_stream adds in the memory of an operand", "[cuda][szp]")
{
    const std::size_t n = 20000;
    const auto x = fields::smooth<float>(n), y = coast(n, 2, 30);
    const std::size_t room = ccoll::max_addend_bytes<SZp, float>(n);
    bytes a(room), b(room), sum(room);
    const std::size_t of_a = ccoll::encode_addend<SZp>(x, a, 1e-3).bytes,
                      of_b = ccoll::encode_addend<SZp>(y, b, 1e-3).bytes;
    sum.resize(ccoll::reduce_encoded<SZp, Op::Sum, float>(ccoll::const_byte_span(a.data(), of_a),
                                                          ccoll::const_byte_span(b.data(), of_b), sum)
                   .bytes);
    const auto expected = decoded<float>(sum, n);
    ccoll::codec_stream codecs;
    const device_vector<float> values(x);
    const auto same = [&](const device_vector<std::byte>& found) {
        CHECK(same_bits(decoded<float>(written(codecs, found), n), expected));
    };
    for (const bool in_first : {true, false}) {
        const device_vector<std::byte> p(a), q(b);
        const device_vector<std::byte>& to = in_first ? p : q;
        codecs.reduce_encoded<SZp, Op::Sum, float>(frame_in(p, of_a), frame_in(q, of_b), n, to.span());
        same(to);
    }
    const device_vector<std::byte> q(b), addend(room);
    codecs.encode_addend<SZp>(values.span(), addend.span(), 1e-3);
    CHECK(same_bits(decoded<float>(written(codecs, addend), n), decoded<float>(a, n)));
    codecs.encode_add<SZp>(values.span(), frame_in(q, of_b), q.span(), 1e-3);
    same(q);
}

TEST_CASE("codec_stream says why it adds nothing", "[cuda][szp]")
{
    const std::size_t n = 9000, room = ccoll::max_addend_bytes<SZp, float>(n);
    const auto x = fields::smooth<float>(n);
    const device_vector<float> values(x);
    const device_vector<std::byte> fine(room), loose(room), movement(room), sum(room);
    ccoll::codec_stream codecs;
    codecs.encode_addend<SZp>(values.span(), fine.span(), 1e-3);
    const std::size_t of_fine = codecs.result().bytes;
    codecs.encode_addend<SZp>(values.span(), loose.span(), 1e-2);
    const std::size_t of_loose = codecs.result().bytes;
    codecs.encode<SZp>(values.span(), movement.span(), 1e-3);
    const std::size_t of_movement = codecs.result().bytes;
    const auto code = [&](const device_vector<std::byte>& with, std::size_t size, std::size_t count) {
        codecs.reduce_encoded<SZp, Op::Sum, float>(frame_in(fine, of_fine), frame_in(with, size), count,
                                                   sum.span());
        return codecs.result().code;
    };
    CHECK(code(fine, of_fine, n) == ccoll::status::ok);
    CHECK(code(loose, of_loose, n) == ccoll::status::bound_differs);
    CHECK(code(movement, of_movement, n) == ccoll::status::not_an_addend);
    CHECK(code(fine, of_fine, n - 1) == ccoll::status::count_differs);
    CHECK(code(fine, 40, n) == ccoll::status::corrupt);
    codecs.encode_addend<SZp>(values.span(), sum.span(), 1e-45);
    CHECK(codecs.result().code == ccoll::status::too_large);
    codecs.encode_addend<SZp>(values.span(), sum.span(), -1);
    CHECK(codecs.result().code == ccoll::status::bad_bound);
    codecs.encode_addend<SZp>(values.span(), ccoll::device_span<std::byte>(sum.address(), 100), 1e-3);
    CHECK(codecs.result().code == ccoll::status::out_of_space);
    CHECK(code(fine, of_fine, n) == ccoll::status::ok);
}

TEST_CASE("Device buffers: values beyond all quanta are added and averaged with the bits of host buffers",
          "[cuda][collectives]")
{
    using E = ErrorBound<1e-3>;
    const auto run = [](int p, std::size_t n, unsigned width_of_others, auto call) {
        CHECK(on_ranks(p, [&](ccoll::threads_comm& comm, std::string& wrong) {
                  const auto me = static_cast<unsigned>(comm.rank());
                  beside_host<float, device_vector>(wrong).compare(
                      "", coast(n, me + 1, me == 0 ? 30 : width_of_others), n,
                      [&](auto&& x, auto&& y) { return call(x, y, comm); });
              }) == "");
    };
    for (const unsigned width : {30u, 47u, 0u}) {
        INFO("land of other ranks " << width);
        run(3, 20000, width,
            [](auto&& x, auto&& y, auto& comm) { return ccoll::allreduce<Algo::Ring, SZp, E>(x, y, comm); });
        run(3, 20000, width, [](auto&& x, auto&& y, auto& comm) {
            return ccoll::allreduce<Algo::Ring, SZp, E, Op::Average>(x, y, comm);
        });
        run(4, 9000, width, [](auto&& x, auto&& y, auto& comm) {
            return ccoll::allreduce<Algo::RecursiveDoubling, SZp, E>(x, y, comm);
        });
    }
}

TEMPLATE_TEST_CASE(
    "Device buffers: averages that are added in encoded form are finite, with the bits of the host",
    "[cuda][collectives]", float, double)
{
    constexpr bool is_float = std::is_same_v<TestType, float>;
    constexpr double largest = is_float ? 3.3e38 : 1.7e308, bound = is_float ? 1e36 : 1e299;
    for (const int p : {2, 5})
        CHECK(on_ranks(p, [&](ccoll::threads_comm& comm, std::string& wrong) {
                  std::vector<TestType> x(20000);
                  for (std::size_t i = 0; i < x.size(); ++i) {
                      const auto at =
                          static_cast<double>((i / 7 + static_cast<std::size_t>(comm.rank())) % 10);
                      x[i] = static_cast<TestType>((i % 7 == 3 ? -largest : largest) * (1 - 0.01 * at));
                  }
                  beside_host<TestType, device_vector>(wrong).compare(
                      "", x, x.size(), [&](auto&& from, auto&& to) {
                          return ccoll::allreduce<Algo::Ring, SZp, RuntimeBound, Op::Average>(from, to, comm,
                                                                                              bound);
                      });
              }) == "");
}

}  // namespace codec_stream_cases
