// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Throughput of the kernels of SZp, in multiples of a device-to-device copy of the same raw bytes in the same
// loop. One JSON object a line. Arguments: MiB of raw data (256), runs (11), and 'few' (some cases) or
// 'profile' (each operation once, for ncu).
#include "../checks.hpp"

#include "../szp_launches.hpp"

#include <chrono>
#include <cmath>
#include <cstring>

namespace {

namespace device = ccoll::detail::device;
namespace szp = ccoll::detail::device::szp;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

enum class field { turbulence, wave, noise, quiet, constant, land_nan, land_1e20 };
constexpr const char* names[] = {"turbulence", "wave",        "noise",       "quiet",
                                 "constant",   "land of NaN", "land of 1e20"};

/// Structures of all sizes, smooth fronts, uniform noise, mostly zeros, one value, and a tenth of exceptional
/// values.
template <class T>
__global__ void make(T* x, u64 n, field what, u64 seed)
{
    double phase[9], cosine[9], sine[9];
    u64 state = seed;
    for (int k = 0; k < 9; ++k) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        phase[k] = static_cast<double>(state >> 40) / 1e6;
        state = state * 6364136223846793005u + 1442695040888963407u;
        cosine[k] = cos(static_cast<double>(state >> 40) / 1e6);
        sine[k] = sin(static_cast<double>(state >> 40) / 1e6);
    }
    for (u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += u64{gridDim.x} * blockDim.x) {
        const double a = static_cast<double>(i % 512), b = static_cast<double>(i / 512 % 512),
                     c = static_cast<double>(i / (512 * 512));
        double v = 0;
        if (what == field::constant) {
            v = 2.1;
        } else if (what == field::noise) {
            u64 z = (i + seed * n) * 0x9E3779B97F4A7C15u;
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
            z = (z ^ z >> 27) * 0x94D049BB133111EBu;
            v = static_cast<double>(z >> 11) * 0x1p-52 - 1;
        } else if (what == field::wave || what == field::quiet) {
            const double r = sqrt((a - 200) * (a - 200) + (b - 300) * (b - 300) + 9 * c * c);
            v = sin(0.15 * r + 0.1 * static_cast<double>(seed)) / (1 + 0.02 * r) * (r < 330 ? 1 : 0);
            if (what == field::quiet && i % 1000 < 900) v = 0;
        } else {
            double size = 1, wave = 0.02;
            for (int k = 0; k < 9; ++k, size *= 0.56, wave *= 1.8)
                v += size * sin(wave * (a * cosine[k] + b * sine[k] + 0.7 * c) + phase[k]);
        }
        const bool land = (i + i / 512 % 37 * 3) % 512 < 51;
        if (what == field::land_nan && land) v = NAN;
        if (what == field::land_1e20 && land) v = 1e20;
        x[i] = static_cast<T>(v);
    }
}
/// Values that are farther from the original than the bound.
template <class T>
__global__ void count_wrong(const T* x, const T* y, u64 n, double bound, u32* wrong)
{
    u32 mine = 0;
    for (u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += u64{gridDim.x} * blockDim.x) {
        const bool same = device::bits_of(x[i]) == device::bits_of(y[i]);
        if (!same && !(fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])) <= bound)) ++mine;
    }
    if (mine != 0) atomicAdd(wrong, mine);
}

struct figures {
    double median, fastest, copy;  ///< seconds
    double wall;                   ///< median of the host's seconds, with waiting for the end
    std::size_t runs;
};
double median_of(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}
/// @param copy  begins a copy of the raw bytes
template <class Copy, class Work>
figures time(int runs, Copy copy, Work work)
{
    static cudaEvent_t at[3];
    if (at[0] == nullptr)
        for (cudaEvent_t& e : at) gpu::cuda(cudaEventCreate(&e), "cudaEventCreate");
    std::vector<double> of_copy, of_work, wall;
    for (int i = -2; i < runs; ++i) {
        gpu::cuda(cudaEventRecord(at[0]), "cudaEventRecord");
        copy();
        gpu::cuda(cudaEventRecord(at[1]), "cudaEventRecord");
        const auto begin = std::chrono::steady_clock::now();
        work();
        gpu::cuda(cudaEventRecord(at[2]), "cudaEventRecord");
        gpu::cuda(cudaEventSynchronize(at[2]), "a kernel");
        const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        float a = 0, b = 0;
        gpu::cuda(cudaEventElapsedTime(&a, at[0], at[1]), "cudaEventElapsedTime");
        gpu::cuda(cudaEventElapsedTime(&b, at[1], at[2]), "cudaEventElapsedTime");
        if (b > 4) runs = std::min(runs, 3);  // slow cases need no precision
        if (i < 0) continue;
        of_copy.push_back(a / 1e3);
        of_work.push_back(b / 1e3);
        wall.push_back(all);
    }
    return {median_of(of_work), *std::min_element(of_work.begin(), of_work.end()), median_of(of_copy),
            median_of(wall), of_work.size()};
}

/// Operands, results and working memory for n values.
template <class T>
class bench {
public:
    bench(std::size_t most, int times)
        : runs(times), x(most), y(most), out(most), moved(szp_launches::max_encoded_bytes<T>(most)),
          a(szp_launches::max_addend_bytes(most)), b(szp_launches::max_addend_bytes(most)),
          sum(szp_launches::max_addend_bytes(most)), w(szp::work::bytes_of(szp::chunks_of(most))), wrong(1)
    {
        void* p = nullptr;
        gpu::cuda(cudaHostAlloc(&p, sizeof(device::outcome), cudaHostAllocMapped), "cudaHostAlloc");
        told = static_cast<device::outcome*>(p);
    }
    void make_fields(field f, std::size_t count)
    {
        what = f;
        n = count;
        make<<<4096, 256>>>(at(x), n, f, 7);
        make<<<4096, 256>>>(at(y), n, f, 11);
        if (f != field::noise && f != field::constant) {
            const std::vector<T> values = x.values(n);
            double low = 1e300, high = -1e300;
            for (const T v : values)
                if (std::fabs(v) < 1e10) {
                    low = std::min<double>(low, v);
                    high = std::max<double>(high, v);
                }
            range = high - low;
        } else {
            range = 2;
        }
    }
    void measure(double relative_bound)
    {
        relative = relative_bound;
        eb = relative * range;
        each("encode", [&](auto& c) { return szp_launches::begin_encode(at(x), n, eb, at(moved), c); });
        const std::size_t encoded = told->bytes;
        each(
            "decode",
            [&](auto& c) { return szp_launches::begin_decode(span(moved, encoded), at(out), n, c); },
            encoded);
        gpu::cuda(cudaMemset(at(wrong), 0, 4), "cudaMemset");
        count_wrong<<<4096, 256>>>(at(x), at(out), n, eb, at(wrong));
        if (wrong.values()[0] != 0)
            std::printf("{\"FAILED\": \"%u values are beyond the bound\"}\n", wrong.values()[0]);
        call([&](auto& c) { return szp_launches::begin_encode_addend(at(y), n, eb, at(b), c); });
        const std::size_t of_b = told->bytes;
        each("encode_addend",
             [&](auto& c) { return szp_launches::begin_encode_addend(at(x), n, eb, at(a), c); });
        const std::size_t of_a = told->bytes;
        each(
            "decode_addend",
            [&](auto& c) { return szp_launches::begin_decode(span(a, of_a), at(out), n, c); }, of_a);
        each("encode_add", [&](auto& c) {
            return szp_launches::begin_encode_add(at(x), n, eb, span(b, of_b), at(sum), c);
        });
        each("add", [&](auto& c) {
            return szp_launches::begin_add<T>(span(a, of_a), span(b, of_b), n, at(sum), c);
        });
    }

    int runs;
    const char* mark = "";

private:
    template <class V>
    static V* at(const gpu::device_vector<V>& v)
    {
        return v.span().device_data();
    }
    static ccoll::const_byte_span span(const gpu::device_vector<std::byte>& v, std::size_t bytes)
    {
        return {at(v), bytes};
    }

    template <class Begin>
    void call(Begin begin)
    {
        clear();
        szp_launches::call c{reinterpret_cast<szp::work*>(at(w)), told};
        gpu::cuda(begin(c), "a launch");
        gpu::cuda(cudaDeviceSynchronize(), "a kernel");
        if (told->code != 0) std::printf("{\"FAILED\": \"code %u\"}\n", told->code);
    }
    /// No chunk is on the list.
    void clear()
    {
        std::vector<u32> zero(w.span().size() / 4);
        for (std::size_t i = offsetof(szp::work, list) / 4; i < zero.size(); i += 2) zero[i] = ~0u;
        gpu::cuda(cudaMemcpy(at(w), zero.data(), 4 * zero.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    std::size_t listed() const
    {
        const std::vector<std::byte> left = w.values();
        std::size_t k = 0;
        for (u32 chunk = 0; k < szp::chunks_of(n); ++k) {
            std::memcpy(&chunk, left.data() + offsetof(szp::work, list) + sizeof(szp::work::entry) * k, 4);
            if (chunk == ~0u) break;
        }
        return k;
    }
    /// @param encoded  bytes that are read; 0: those that are written
    template <class Begin>
    void each(const char* operation, Begin begin, std::size_t encoded = 0)
    {
        call(begin);
        if (runs == 0) return;
        const std::size_t on_list = listed(), raw = n * sizeof(T),
                          bytes = encoded != 0 ? encoded : told->bytes;
        szp_launches::call c{reinterpret_cast<szp::work*>(at(w)), told};
        const figures f = time(
            runs,
            [&] {
                gpu::cuda(cudaMemcpyAsync(at(out), at(x), raw, cudaMemcpyDeviceToDevice), "cudaMemcpyAsync");
            },
            [&] { gpu::cuda(begin(c), "a launch"); });
        if (told->code != 0) std::printf("{\"FAILED\": \"code %u\"}\n", told->code);
        std::printf(
            "{\"what\": \"%s%s\", \"field\": \"%s\", \"type\": \"%s\", \"raw_bytes\": %zu, "
            "\"relative_bound\": %g, \"bits_per_value\": %.3f, \"chunks\": %u, \"listed\": %zu, \"runs\": "
            "%zu, \"median_us\": %.2f, \"fastest_us\": %.2f, \"copy_us\": %.2f, \"host_us\": %.2f, "
            "\"of_copy\": %.3f}\n",
            operation, mark, names[static_cast<int>(what)], sizeof(T) == 4 ? "f32" : "f64", raw, relative,
            8 * static_cast<double>(bytes) / static_cast<double>(n), szp::chunks_of(n), on_list, f.runs,
            1e6 * f.median, 1e6 * f.fastest, 1e6 * f.copy, 1e6 * f.wall, f.copy / f.median);
        std::fflush(stdout);
    }

    field what = field::constant;
    std::size_t n = 0;
    double range = 1, relative = 0, eb = 0;
    gpu::device_vector<T> x, y, out;
    gpu::device_vector<std::byte> moved, a, b, sum, w;
    gpu::device_vector<u32> wrong;
    device::outcome* told = nullptr;
};

template <class T>
void measure_all(std::size_t bytes, int runs, bool few)
{
    bench<T> b(bytes / sizeof(T), runs);
    for (int f = 0; f < 7; ++f) {
        const auto what = static_cast<field>(f);
        if (few && (what == field::noise || what == field::constant)) continue;
        b.make_fields(what, bytes / sizeof(T));
        for (const double relative : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6})
            if (!few || relative == 1e-3 || relative == 1e-5) b.measure(relative);
    }
    b.mark = ", 64 KiB";  // what a launch costs
    b.runs = 101;
    b.make_fields(field::turbulence, (64 << 10) / sizeof(T));
    b.measure(1e-3);
}

}  // namespace

int main(int argc, char** argv)
{
    gpu::need_gpu();
    const std::size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256) << 20;
    const int runs = argc > 2 ? std::atoi(argv[2]) : 11;
    const std::string how = argc > 3 ? argv[3] : "";
    if (how == "profile") {
        bench<float> b(bytes / 4, 0);
        for (const field f : {field::turbulence, field::land_1e20}) {
            b.make_fields(f, bytes / 4);
            b.measure(1e-3);
        }
        b.make_fields(field::turbulence, bytes / 4);
        b.measure(1e-5);
        return 0;
    }
    measure_all<float>(bytes, runs, how == "few");
    measure_all<double>(bytes, runs, how == "few");
    return 0;
}
