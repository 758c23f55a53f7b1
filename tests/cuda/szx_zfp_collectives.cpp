// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// Collectives on device buffers with SZx, PipeSZx and ZFP at a rate, whose kernels run in them, beside the
// same calls on host buffers; and codec_stream with these codecs.
#include "beside_host.hpp"
#include "device_vector.hpp"

#include "support/fields.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace szx_zfp_collectives_cases {

using namespace ccoll::policies;
using emulated::device_vector;

namespace {

template <class T, class... P>
void beside_host_on(int p, const std::string& name, std::size_t n)
{
    INFO(name << " on " << p << " ranks, " << n << " elements");
    CHECK(on_ranks(p, [&](ccoll::threads_comm& comm, std::string& wrong) {
              beside_host<T, device_vector> calls(wrong);
              const auto ranks = static_cast<std::size_t>(p), me = static_cast<std::size_t>(comm.rank());
              const auto input = [&](std::size_t elements) {
                  return fields::smooth<T>(elements, static_cast<unsigned>(me) + 1);
              };
              calls.compare(name + " allgather", input(n), n * ranks, [&](auto&& in, auto&& out) {
                  return ccoll::allgather<Algo::Ring, P...>(in, out, comm);
              });
              calls.compare(name + " alltoall", input(n * ranks), n * ranks, [&](auto&& in, auto&& out) {
                  return ccoll::alltoall<Algo::Pairwise, P...>(in, out, comm);
              });
              calls.compare(name + " allreduce Ring", input(n), n, [&](auto&& in, auto&& out) {
                  return ccoll::allreduce<Algo::Ring, P...>(in, out, comm);
              });
              calls.compare(name + " allreduce PerHop, Max", input(n), n, [&](auto&& in, auto&& out) {
                  return ccoll::allreduce<Algo::RecursiveDoubling, Placement::PerHop, Op::Max, P...>(in, out,
                                                                                                     comm);
              });
              calls.in_place(name + " bcast", input(n), [&](auto&& both) {
                  return ccoll::bcast<Algo::Binomial, P...>(both, p / 2, comm);
              });
          }) == "");
}

/// A frame of a codec_stream, and what it decodes to.
template <class Codec, class T>
void stream_beside_host(ccoll::codec_stream& codecs, const std::vector<T>& x, double eb)
{
    std::vector<std::byte> host(ccoll::max_encoded_bytes<Codec, T>(x.size()));
    const device_vector<T> in(x), out(std::vector<T>(x.size()));
    const device_vector<std::byte> frame(host);
    host.resize(ccoll::encode<Codec>(x, host, eb).bytes);
    codecs.encode<Codec>(in.span(), frame.span(), eb);
    const ccoll::encode_result r = codecs.result();
    CHECK(r.code == ccoll::status::ok);
    std::vector<T> expected(x.size()), read(x.size());
    REQUIRE(ccoll::decode<Codec>(host, expected) == ccoll::status::ok);
    REQUIRE(ccoll::decode<Codec>(frame.values(), read) == ccoll::status::ok);
    CHECK(same_bits(read, expected));
    codecs.decode<Codec>(frame.span(), out.span());
    CHECK(codecs.result().code == ccoll::status::ok);
    CHECK(same_bits(out.values(), expected));
    codecs.encode<Codec>(in.span(), ccoll::device_span<std::byte>(frame.span().device_data(), 40), eb);
    CHECK(codecs.result().code == ccoll::status::out_of_space);
}

}  // namespace

TEMPLATE_TEST_CASE("Device buffers with SZx, PipeSZx and ZFP at a rate: the bits of host buffers, by kernels",
                   "[cuda][collectives][szx][zfp]", float, double)
{
    for (const int p : {2, 3})
        for (const std::size_t n : {std::size_t{12000}, std::size_t{37}}) {
            beside_host_on<TestType, Codec::SZx, ErrorBound<1e-3>>(p, "SZx", n);
            beside_host_on<TestType, Codec::PipeSZx, EndToEnd<ErrorBound<1e-3>>>(p, "PipeSZx end to end", n);
            beside_host_on<TestType, Codec::Zfp, FixedRate<8>>(p, "Zfp at 8 bits", n);
        }
}

TEST_CASE("Device buffers: SZx and ZFP at a rate do not go through the host", "[cuda][collectives][szx][zfp]")
{
    const auto kernels_of = [](auto call) {
        const long before = emulator::launches;
        ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
            const device_vector<float> in(fields::smooth<float>(1000)), out(std::vector<float>(2000));
            call(ccoll::device_span<const float>(in.span()), out.span(), comm);
        });
        return emulator::launches - before;
    };
    using E = ErrorBound<1e-3>;
    CHECK(kernels_of([](auto in, auto out, auto& comm) { ccoll::allgather<Codec::SZx, E>(in, out, comm); }) >=
          4);
    CHECK(kernels_of([](auto in, auto out, auto& comm) {
              ccoll::allgather<Codec::PipeSZx, E>(in, out, comm);
          }) >= 4);
    CHECK(kernels_of([](auto in, auto out, auto& comm) {
              ccoll::allgather<Codec::Zfp, FixedRate<16>>(in, out, comm);
          }) >= 4);
    CHECK(kernels_of([](auto in, auto out, auto& comm) { ccoll::allgather<Codec::Zfp, E>(in, out, comm); }) ==
          0);
}

TEMPLATE_TEST_CASE(
    "codec_stream with SZx, PipeSZx and ZFP at a rate: the host's values, one call behind another",
    "[cuda][szx][zfp]", float, double)
{
    ccoll::codec_stream codecs;
    const auto x = fields::non_finite<TestType>(20000), y = fields::smooth<TestType>(100);
    for (const auto& each : {y, x, y}) {
        stream_beside_host<Codec::SZx>(codecs, each, 1e-3);
        stream_beside_host<Codec::PipeSZx>(codecs, each, 1e-3);
        stream_beside_host<Codec::ZfpAtRate>(codecs, each, 12.5);
    }
}

}  // namespace szx_zfp_collectives_cases
