// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of SZp and device buffers in collectives, on a GPU: the bytes and bits of the host. Arguments: 'brief' for a sanitizer.
#include "beside_host.hpp"
#include "checks.hpp"

#include "support/fields.hpp"

#include <cmath>
#include <memory>

using namespace ccoll::policies;
using SZp = Codec::SZp;
using bytes = std::vector<std::byte>;

namespace {

/// Frames for movement, and addends made, added, combined and decoded.
template <class T>
void codec(const std::string& name, const std::vector<T>& x, double eb, ccoll::codec_stream& codecs)
{
    gpu::check_movement<SZp, T>(name, x, eb, codecs);
    const std::string what = name + (sizeof(T) == 4 ? " f32" : " f64") + " n " + std::to_string(x.size()) + " bound " + std::to_string(eb);
    const gpu::device_vector<T> in(x), out(x.size());
    const std::size_t room = ccoll::max_addend_bytes<SZp, T>(x.size());
    const gpu::device_vector<std::byte> frame(room), sum(room);
    std::vector<T> expected(x.size());
    bytes addend(ccoll::max_addend_bytes<SZp, T>(x.size())), twice(addend);
    const auto a = ccoll::encode_addend<SZp>(x, addend, eb);
    addend.resize(a.bytes);
    codecs.encode_addend<SZp>(in.span(), frame.span(), eb);
    const ccoll::encode_result d = codecs.result();
    gpu::check(d.code == a.code && same_bits(frame.values(d.bytes), addend), "encode_addend " + what);
    const ccoll::device_span<const std::byte> encoded(frame.span().device_data(), d.bytes);
    const auto t = ccoll::reduce_encoded<SZp, Op::Sum, T>(addend, addend, twice);
    twice.resize(t.bytes);
    codecs.reduce_encoded<SZp, Op::Sum, T>(encoded, encoded, x.size(), sum.span());
    const ccoll::encode_result s = codecs.result();
    gpu::check(s.code == t.code && same_bits(sum.values(s.bytes), twice), "reduce_encoded " + what);
    codecs.encode_add<SZp>(in.span(), encoded, sum.span(), eb);
    const ccoll::encode_result f = codecs.result();
    gpu::check(f.code == t.code && same_bits(sum.values(f.bytes), twice), "encode_add " + what);
    if (t.code != ccoll::status::ok) return;
    bytes difference(ccoll::max_addend_bytes<SZp, T>(x.size()));
    const auto c = ccoll::combine_encoded<SZp, T>(3, addend, -1, addend, difference);
    difference.resize(c.bytes);
    const gpu::device_vector<std::byte> other(ccoll::max_addend_bytes<SZp, T>(x.size()));
    codecs.combine_encoded<SZp, T>(3, encoded, -1, encoded, x.size(), other.span());
    const ccoll::encode_result m = codecs.result();
    gpu::check(m.code == c.code && same_bits(other.values(m.bytes), difference), "combine_encoded " + what);
    static_cast<void>(ccoll::decode<SZp>(twice, expected));
    codecs.decode<SZp>(ccoll::device_span<const std::byte>(sum.span().device_data(), f.bytes), out.span());
    gpu::check(codecs.result().code == ccoll::status::ok && same_bits(out.values(), expected), "decode a sum, " + what);
    codecs.reduce_encoded<SZp, Op::Sum, T>(encoded, encoded, x.size(), frame.span());
    const ccoll::encode_result i = codecs.result();
    gpu::check(i.code == t.code && same_bits(frame.values(i.bytes), twice), "reduce_encoded in place " + what);
}

template <class T>
void codecs_of(std::size_t n, ccoll::codec_stream& codecs)
{
    std::vector<fields::named<T>> list = fields::all<T>(n);
    std::vector<T> land = fields::smooth<T>(n), marked = land, packed = land;
    for (std::size_t i = 0; i < n; ++i) {
        if (i % 128 < 40 + i / 128 % 20) land[i] = T(1e20), marked[i] = T(-9999);
        packed[i] = std::nearbyint((packed[i] * 20 + 270) * 16) / 16;
    }
    list.push_back({"land", land});
    list.push_back({"marked", marked});
    list.push_back({"packed", packed});
    for (const auto& [name, values] : list)
        for (const double eb : {1e-1, 1e-3, 1e-6}) codec<T>(name, values, eb, codecs);
}

template <class Call>
void check_call(const std::string& what, int p, std::size_t n, Call call)
{
    const std::string wrong = on_ranks(p, [&](ccoll::threads_comm& comm, std::string& mine) {
        beside_host<float, gpu::device_vector>(mine).compare("", fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1), n,
                                                             [&](auto&& x, auto&& y) { return call(x, y, comm); });
    });
    gpu::check(wrong.empty(), what + " on " + std::to_string(p) + " ranks" + wrong);
}

void collectives(std::size_t n)
{
    using E = ErrorBound<1e-3>;
    for (const int p : {1, 2, 4}) {
        check_call("allreduce, encoded streams are added", p, n,
                   [](auto&& x, auto&& y, auto& comm) { return ccoll::allreduce<Algo::Ring, SZp, E>(x, y, comm); });
        check_call("allreduce, decoded and encoded", p, n, [](auto&& x, auto&& y, auto& comm) {
            return ccoll::allreduce<Algo::Ring, SZp, E, Placement::DecodeReduceEncode>(x, y, comm);
        });
        check_call("allreduce, Max", p, n,
                   [](auto&& x, auto&& y, auto& comm) { return ccoll::allreduce<Algo::RecursiveDoubling, SZp, E, Op::Max>(x, y, comm); });
        check_call("allreduce, through the host", p, n,
                   [](auto&& x, auto&& y, auto& comm) { return ccoll::allreduce<Algo::Ring, Codec::Zfp, E>(x, y, comm); });
        check_call("allreduce, exact", p, n,
                   [](auto&& x, auto&& y, auto& comm) { return ccoll::allreduce<Algo::Ring, Codec::None>(x, y, comm); });
    }
}

/// Launches on several streams at once, and a graph that is replayed.
void streams()
{
    constexpr int count = 4;
    const std::size_t n = 300000;
    std::vector<cudaStream_t> all(count);
    std::vector<std::unique_ptr<ccoll::codec_stream>> codecs;
    std::vector<std::unique_ptr<gpu::device_vector<float>>> in;
    std::vector<std::unique_ptr<gpu::device_vector<std::byte>>> out;
    for (int i = 0; i < count; ++i) {
        const auto k = static_cast<std::size_t>(i);
        gpu::cuda(cudaStreamCreateWithFlags(&all[k], cudaStreamNonBlocking), "cudaStreamCreate");
        codecs.push_back(std::make_unique<ccoll::codec_stream>(all[k]));
        in.push_back(std::make_unique<gpu::device_vector<float>>(fields::smooth<float>(n, static_cast<unsigned>(i))));
        out.push_back(std::make_unique<gpu::device_vector<std::byte>>(ccoll::max_encoded_bytes<SZp, float>(n)));
    }
    for (int round = 0; round < 20; ++round)
        for (std::size_t k = 0; k < count; ++k) codecs[k]->encode<SZp>(in[k]->span(), out[k]->span(), 1e-3);
    for (std::size_t k = 0; k < count; ++k) {
        bytes host(ccoll::max_encoded_bytes<SZp, float>(n));
        host.resize(ccoll::encode<SZp>(in[k]->values(), host, 1e-3).bytes);
        const auto r = codecs[k]->result();
        gpu::check(same_bits(out[k]->values(r.bytes), host), "streams at once");
    }
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    gpu::cuda(cudaStreamBeginCapture(all[0], cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    codecs[0]->encode<SZp>(in[0]->span(), out[0]->span(), 1e-2);
    gpu::cuda(cudaStreamEndCapture(all[0], &graph), "cudaStreamEndCapture");
    gpu::cuda(cudaGraphInstantiate(&replay, graph, 0), "cudaGraphInstantiate");
    for (int i = 0; i < 3; ++i) gpu::cuda(cudaGraphLaunch(replay, all[0]), "cudaGraphLaunch");
    bytes host(ccoll::max_encoded_bytes<SZp, float>(n));
    host.resize(ccoll::encode<SZp>(in[0]->values(), host, 1e-2).bytes);
    const auto r = codecs[0]->result();
    gpu::check(same_bits(out[0]->values(r.bytes), host), "a graph that is replayed");
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
    codecs.clear();
    for (const cudaStream_t s : all) cudaStreamDestroy(s);
}

}  // namespace

int main(int argc, char**)
{
    gpu::need_gpu();
    const bool brief = argc > 1;
    gpu::for_lengths(brief, {0, 1, 33, 8191, 8192, 8193, 100000, 3000001}, [](std::size_t n, ccoll::codec_stream& codecs) {
        codecs_of<float>(n, codecs);
        codecs_of<double>(n, codecs);
    });
    if (!brief) streams();
    collectives(brief ? 20000 : 2000003);
    return gpu::report();
}
