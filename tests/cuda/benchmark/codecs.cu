// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Throughput of the codecs' kernels on a GPU, in multiples of a device-to-device copy of the same raw bytes
// in the same run. One JSON object a line. Arguments: MiB of raw data (256), runs (21).
#include "../checks.hpp"

#include <algorithm>
#include <cmath>

using namespace ccoll::policies;
using SZp = Codec::SZp;

namespace {

/// Smooth fronts, or structures of all sizes: neighbours are alike, and bits per value differ from chunk to
/// chunk.
template <class T>
std::vector<T> field(bool turbulent, std::size_t n)
{
    constexpr std::size_t row = 512;
    double phase[12], direction[12];
    std::uint64_t state = 7;
    for (int k = 0; k < 12; ++k) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        phase[k] = static_cast<double>(state >> 40) / 1e6;
        state = state * 6364136223846793005u + 1442695040888963407u;
        direction[k] = static_cast<double>(state >> 40) / 1e6;
    }
    return gpu::made_by_all_cores<T>(n, [&](std::size_t i) {
        const auto a = static_cast<double>(i % row), b = static_cast<double>(i / row % row),
                   c = static_cast<double>(i / (row * row));
        double v = 0;
        if (turbulent) {
            double size = 1, wave = 0.02;
            for (int k = 0; k < 9; ++k, size *= 0.56, wave *= 1.8)
                v += size *
                     std::sin(wave * (a * std::cos(direction[k]) + b * std::sin(direction[k]) + 0.7 * c) +
                              phase[k]);
        } else {
            const double r = std::sqrt((a - 200) * (a - 200) + (b - 300) * (b - 300) + 9 * c * c);
            v = std::sin(0.15 * r) / (1 + 0.02 * r) * (r < 330 ? 1 : 0);
        }
        return static_cast<T>(v);
    });
}

struct events {
    cudaEvent_t begin, end;
    events()
    {
        gpu::cuda(cudaEventCreate(&begin), "cudaEventCreate");
        gpu::cuda(cudaEventCreate(&end), "cudaEventCreate");
    }
};
/// Seconds of each run, the fastest first.
template <class Work>
std::vector<double> time(int runs, Work work)
{
    static const events e;
    std::vector<double> seconds;
    for (int i = -2; i < runs; ++i) {
        gpu::cuda(cudaEventRecord(e.begin), "cudaEventRecord");
        work();
        gpu::cuda(cudaEventRecord(e.end), "cudaEventRecord");
        gpu::cuda(cudaEventSynchronize(e.end), "a kernel");
        float ms = 0;
        gpu::cuda(cudaEventElapsedTime(&ms, e.begin, e.end), "cudaEventElapsedTime");
        if (i >= 0) seconds.push_back(ms / 1e3);
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds;
}

/// Encoding and decoding with a codec that adds nothing. @param report  (what, seconds, encoded bytes)
template <class Codec, class T, class Report>
void measure_movement(const gpu::device_vector<T>& in, const gpu::device_vector<T>& out, double eb, int runs,
                      const std::string& what, Report report)
{
    const gpu::device_vector<std::byte> frame(ccoll::max_encoded_bytes<Codec, T>(in.span().size()));
    ccoll::codec_stream codecs;
    const auto encoding = time(runs, [&] { codecs.encode<Codec>(in.span(), frame.span(), eb); });
    const std::size_t encoded = codecs.result().bytes;
    report(("encode " + what).c_str(), encoding, encoded);
    const ccoll::device_span<const std::byte> whole(frame.span().device_data(), encoded);
    report(("decode " + what).c_str(), time(runs, [&] { codecs.decode<Codec>(whole, out.span()); }), encoded);
    if (codecs.result().code != ccoll::status::ok) std::exit(1);
}

template <class T>
void measure(const char* name, bool turbulent, std::size_t bytes, double relative, int runs)
{
    const std::size_t n = bytes / sizeof(T);
    const std::vector<T> x = field<T>(turbulent, n);
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    const double eb = relative * (static_cast<double>(*high) - static_cast<double>(*low));
    const gpu::device_vector<T> in(x), out(n);
    const std::size_t room = ccoll::max_addend_bytes<SZp, T>(n);
    const gpu::device_vector<std::byte> frame(ccoll::max_encoded_bytes<SZp, T>(n)), a(room), sum(room);
    ccoll::codec_stream codecs;
    const auto report = [&](const char* what, const std::vector<double>& s, double copy,
                            std::size_t encoded) {
        const double median = s[s.size() / 2];
        std::printf(
            "{\"what\": \"%s\", \"field\": \"%s\", \"type\": \"%s\", \"raw_bytes\": %zu, \"encoded_bytes\": "
            "%zu, \"relative_bound\": %g, \"runs\": %zu, \"median_s\": %.9f, \"fastest_s\": %.9f, "
            "\"slowest_s\": %.9f, \"raw_gb_per_s\": %.1f, \"of_copy\": %.3f}\n",
            what, name, sizeof(T) == 4 ? "f32" : "f64", bytes, encoded, relative, s.size(), median, s.front(),
            s.back(), static_cast<double>(bytes) / median / 1e9, copy / median);
        std::fflush(stdout);
    };
    const auto copied = time(runs, [&] {
        gpu::cuda(cudaMemcpyAsync(out.span().device_data(), in.span().device_data(), bytes,
                                  cudaMemcpyDeviceToDevice),
                  "cudaMemcpyAsync");
    });
    const double copy = copied[copied.size() / 2];
    report("copy", copied, copy, 0);
    const auto encoding = time(runs, [&] { codecs.encode<SZp>(in.span(), frame.span(), eb); });
    const std::size_t encoded = codecs.result().bytes;
    report("encode", encoding, copy, encoded);
    const ccoll::device_span<const std::byte> whole(frame.span().device_data(), encoded);
    report("decode", time(runs, [&] { codecs.decode<SZp>(whole, out.span()); }), copy, encoded);
    const auto adding = time(runs, [&] { codecs.encode_addend<SZp>(in.span(), a.span(), eb); });
    const std::size_t addend = codecs.result().bytes;
    report("encode_addend", adding, copy, addend);
    const ccoll::device_span<const std::byte> x_encoded(a.span().device_data(), addend);
    report("add",
           time(runs, [&] { codecs.reduce_encoded<SZp, Op::Sum, T>(x_encoded, x_encoded, n, sum.span()); }),
           copy, addend);
    report("encode_add", time(runs, [&] { codecs.encode_add<SZp>(in.span(), x_encoded, sum.span(), eb); }),
           copy, addend);
    if (codecs.result().code != ccoll::status::ok) std::exit(1);
    const auto of_copy = [&](const char* what, const std::vector<double>& s, std::size_t bytes_of_frame) {
        report(what, s, copy, bytes_of_frame);
    };
    measure_movement<Codec::SZx, T>(in, out, eb, runs, "SZx", of_copy);
    measure_movement<Codec::PipeSZx, T>(in, out, eb, runs, "PipeSZx", of_copy);
    if (relative != 1e-3) return;  // a rate does not depend on the bound
    measure_movement<Codec::ZfpAtRate, T>(in, out, 8, runs, "Zfp at 8 bits", of_copy);
    measure_movement<Codec::ZfpAtRate, T>(in, out, 16, runs, "Zfp at 16 bits", of_copy);
}

}  // namespace

int main(int argc, char** argv)
{
    gpu::need_gpu();
    const std::size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256) << 20;
    const int runs = argc > 2 ? std::atoi(argv[2]) : 21;
    for (const double relative : {1e-2, 1e-3, 1e-5})
        for (const bool turbulent : {false, true}) {
            measure<float>(turbulent ? "turbulence" : "wave", turbulent, bytes, relative, runs);
            measure<double>(turbulent ? "turbulence" : "wave", turbulent, bytes, relative, runs);
        }
    measure<float>("turbulence", true, 64 << 10, 1e-3, 10 * runs);  // what a launch costs
    return 0;
}
