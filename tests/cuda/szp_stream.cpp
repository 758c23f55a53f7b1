// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec_stream and sums of encoded streams on device buffers, beside the host's: sums in the memory of an operand, linear combinations, and
// homomorphic collectives of fields with a fill value. The device is the emulator.
#include "beside_host.hpp"
#include "device_vector.hpp"

#include "support/fields.hpp"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace szp_stream_cases {

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

}  // namespace

TEST_CASE("codec_stream adds in the memory of an operand and combines, with the bytes of the host", "[cuda][szp]")
{
    const std::size_t n = 20000;
    const auto x = fields::smooth<float>(n), y = coast(n, 2, 30);
    const std::size_t room = ccoll::max_addend_bytes<SZp, float>(n);
    bytes a(room), b(room), sum(room), difference(room);
    const std::size_t of_a = ccoll::encode_addend<SZp>(x, a, 1e-3).bytes, of_b = ccoll::encode_addend<SZp>(y, b, 1e-3).bytes;
    const ccoll::const_byte_span only_a(a.data(), of_a), only_b(b.data(), of_b);
    sum.resize(ccoll::reduce_encoded<SZp, Op::Sum, float>(only_a, only_b, sum).bytes);
    difference.resize(ccoll::combine_encoded<SZp, float>(3, only_a, -2, only_b, difference).bytes);
    ccoll::codec_stream codecs;
    const device_vector<float> values(x);
    const auto same = [&](const device_vector<std::byte>& found, const bytes& expected) {
        const ccoll::encode_result r = codecs.result();
        CHECK(r.code == ccoll::status::ok);
        CHECK(r.bytes == expected.size());
        const bytes all = found.values();
        CHECK(std::memcmp(all.data(), expected.data(), expected.size()) == 0);
    };
    const auto frame = [](const device_vector<std::byte>& in, std::size_t size) {
        return ccoll::device_span<const std::byte>(in.address(), size);
    };
    {
        const device_vector<std::byte> p(a), q(b);
        codecs.reduce_encoded<SZp, Op::Sum, float>(frame(p, of_a), frame(q, of_b), n, p.span());
        same(p, sum);
    }
    {
        const device_vector<std::byte> p(a), q(b);
        codecs.reduce_encoded<SZp, Op::Sum, float>(frame(p, of_a), frame(q, of_b), n, q.span());
        same(q, sum);
    }
    {
        const device_vector<std::byte> q(b);
        codecs.encode_add<SZp>(values.span(), frame(q, of_b), q.span(), 1e-3);
        same(q, sum);
    }
    {
        const device_vector<std::byte> p(a), q(b);
        codecs.combine_encoded<SZp, float>(3, frame(p, of_a), -2, frame(q, of_b), n, p.span());
        same(p, difference);
    }
}

TEST_CASE("A chunk that the host keeps exactly is read and written by the kernels", "[cuda][szp]")
{
    std::vector<float> x = fields::wild<float>(8192);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(1.0f + static_cast<float>(i % 7) / 8, 40 + static_cast<int>(i % 5) * 9);
    bytes frame(ccoll::max_encoded_bytes<SZp, float>(x.size()));
    frame.resize(ccoll::encode<SZp>(x, frame, 1e-3).bytes);
    ccoll::frame_view view;
    REQUIRE(ccoll::read_frame(frame, view) == ccoll::status::ok);
    REQUIRE(ccoll::load<std::uint32_t>(view.chunk(0).data, 0) == 5);
    const device_vector<std::byte> in(frame);
    const device_vector<float> values(x), out(x.size());
    ccoll::codec_stream codecs;
    codecs.decode<SZp>(ccoll::device_span<const std::byte>(in.address(), in.elements()), out.span());
    CHECK(codecs.result().code == ccoll::status::ok);
    CHECK(out.values() == x);
    const device_vector<std::byte> written(ccoll::max_encoded_bytes<SZp, float>(x.size()));
    codecs.encode<SZp>(values.span(), written.span(), 1e-3);
    CHECK(codecs.result().bytes == frame.size());
    bytes found = written.values();
    found.resize(frame.size());
    CHECK(found == frame);
}

TEST_CASE("Device buffers: fill values are added and averaged with the bits of host buffers", "[cuda][collectives]")
{
    using E = ErrorBound<1e-3>;
    const auto run = [](int p, std::size_t n, unsigned width_of_others, auto call) {
        CHECK(on_ranks(p, [&](ccoll::threads_comm& comm, std::string& wrong) {
                  const auto me = static_cast<unsigned>(comm.rank());
                  beside_host<float, device_vector>(wrong).compare("", coast(n, me + 1, me == 0 ? 30 : width_of_others), n,
                                                                   [&](auto&& x, auto&& y) { return call(x, y, comm); });
              }) == "");
    };
    for (const unsigned width : {30u, 47u, 0u}) {
        INFO("land of other ranks " << width);
        run(3, 20000, width, [](auto&& x, auto&& y, auto& comm) { return ccoll::allreduce<Algo::Ring, SZp, E>(x, y, comm); });
        run(3, 20000, width, [](auto&& x, auto&& y, auto& comm) { return ccoll::allreduce<Algo::Ring, SZp, E, Op::Average>(x, y, comm); });
        run(4, 9000, width, [](auto&& x, auto&& y, auto& comm) { return ccoll::allreduce<Algo::RecursiveDoubling, SZp, E>(x, y, comm); });
    }
}

}  // namespace szp_stream_cases
