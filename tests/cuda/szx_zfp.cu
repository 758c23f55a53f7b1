// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of SZx, PipeSZx and ZFP at a rate on a GPU, beside the host codecs: the same bytes and the same bits. Any argument: briefly.
#include "checks.hpp"

#include "../fields.hpp"

#include <string>

using namespace ccoll::policies;

namespace {

template <class Codec, class T>
void codec(const std::string& name, const std::vector<T>& x, double eb, ccoll::codec_stream& codecs)
{
    const std::string what = std::string(Codec::name) + ", " + name + (sizeof(T) == 4 ? " f32, n " : " f64, n ") +
                             std::to_string(x.size()) + ", bound or rate " + std::to_string(eb);
    std::vector<std::byte> host(ccoll::max_encoded_bytes<Codec, T>(x.size()));
    const gpu::device_vector<T> in(x), out(x.size());
    const gpu::device_vector<std::byte> frame(host.size());
    const ccoll::encode_result expected = ccoll::encode<Codec>(x, host, eb);
    host.resize(expected.bytes);
    codecs.encode<Codec>(in.span(), frame.span(), eb);
    const ccoll::encode_result r = codecs.result();
    gpu::check(r.code == ccoll::status::ok && gpu::same(frame.values(r.bytes), host), "encode " + what);
    gpu::check(r.raw_blocks == expected.raw_blocks && r.special_values == expected.special_values, "counts of " + what);
    std::vector<T> decoded(x.size());
    static_cast<void>(ccoll::decode<Codec>(host, decoded));
    codecs.decode<Codec>(ccoll::device_span<const std::byte>(frame.span().device_data(), r.bytes), out.span());
    gpu::check(codecs.result().code == ccoll::status::ok && gpu::same(out.values(), decoded), "decode " + what);
}

template <class T>
void all_codecs(std::size_t n, ccoll::codec_stream& codecs)
{
    std::vector<fields::named<T>> list = fields::all<T>(n);
    std::vector<T> land = fields::smooth<T>(n);
    for (std::size_t i = 0; i < n; ++i)
        if (i % 128 < 40 + i / 128 % 20) land[i] = T(1e20);
    list.push_back({"land", land});
    for (const auto& [name, values] : list) {
        for (const double eb : {1e-1, 1e-3, 1e-6, 1e-11}) {
            codec<Codec::SZx, T>(name, values, eb, codecs);
            codec<Codec::PipeSZx, T>(name, values, eb, codecs);
        }
        for (const double rate : {8.0, 16.0, 5.3}) codec<Codec::ZfpAtRate, T>(name, values, rate, codecs);
    }
}

}  // namespace

int main(int argc, char**)
{
    gpu::need_gpu();
    const bool brief = argc > 1;
    ccoll::codec_stream codecs;
    for (const std::size_t n :
         brief ? std::vector<std::size_t>{10000} : std::vector<std::size_t>{0, 1, 33, 5120, 8191, 8192, 8193, 100000, 3000001}) {
        all_codecs<float>(n, codecs);
        all_codecs<double>(n, codecs);
    }
    std::printf("%d checks, %d failed\n", gpu::checks, gpu::failures);
    return gpu::failures == 0 ? 0 : 1;
}
