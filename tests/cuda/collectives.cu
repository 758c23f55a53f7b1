// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device buffers in collectives, on a GPU that all ranks share: every collective, algorithm and placement,
// the order behind a stream, and memory that is not the device's. Arguments: 'brief' for a sanitizer.
#include "beside_host.hpp"
#include "checks.hpp"

#include "support/far_cases.hpp"

#include <cmath>
#include <limits>
#include <mutex>

using namespace ccoll::policies;
using E = ErrorBound<1e-3>;

namespace gpu {

/// As the cases want it.
template <class T>
class far_vector : public device_vector<T> {
public:
    explicit far_vector(const std::vector<T>& from) : device_vector<T>(from) {}
    explicit far_vector(std::size_t n, T fill = T{}) : device_vector<T>(std::vector<T>(n, fill)) {}
};

}  // namespace gpu

template <class T>
struct ccoll::buffer_traits<gpu::far_vector<T>> {
    using space = cuda_space;
    static T* data(gpu::far_vector<T>& v) { return v.span().device_data(); }
    static std::size_t size(gpu::far_vector<T>& v) { return v.span().size(); }
};
template <class T>
struct ccoll::buffer_traits<const gpu::far_vector<T>> {
    using space = cuda_space;
    static const T* data(const gpu::far_vector<T>& v) { return v.span().device_data(); }
    static std::size_t size(const gpu::far_vector<T>& v) { return v.span().size(); }
};

namespace {

/// Writes x after a long while.
__global__ void write_late(float* x, const float* from, std::size_t n)
{
    const long long begin = clock64();
    while (clock64() - begin < 20000000) {}
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
         i += std::size_t{gridDim.x} * blockDim.x)
        x[i] = from[i];
}

void order()
{
    constexpr std::size_t n = 1000000;
    std::mutex mutex;
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        const std::vector<float> x = fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1);
        std::vector<float> expected(n);
        ccoll::allreduce<Algo::Ring, Codec::SZp, E>(x, expected, comm);
        gpu::far_vector<float> source(x), in(n, 9), out(n), after(n);
        cudaStream_t s = nullptr;
        gpu::cuda(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        gpu::cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        write_late<<<8, 256, 0, s>>>(in.span().device_data(), source.span().device_data(), n);
        ccoll::allreduce<Algo::Ring, Codec::SZp, E>(in, out, comm, s);
        gpu::cuda(cudaMemcpyAsync(after.span().device_data(), out.span().device_data(), n * sizeof(float),
                                  cudaMemcpyDeviceToDevice, s),
                  "cudaMemcpyAsync");
        gpu::cuda(cudaStreamSynchronize(s), "cudaStreamSynchronize");
        gpu::cuda(cudaStreamDestroy(s), "cudaStreamDestroy");
        const std::lock_guard lock(mutex);
        gpu::check(same_bits(out.values(), expected), "a call comes after what its stream was to do");
        gpu::check(same_bits(after.values(), expected),
                   "what a stream is given after a call finds the result");
    });
}

/// Every collective, algorithm and placement, waited for, begun and prepared, beside host buffers.
void every_case()
{
    struct size {
        int p;
        std::size_t n;
    };
    for (const size& each :
         {size{1, 37}, size{2, 300001}, size{3, 9000}, size{3, 0}, size{4, 37}, size{4, 40000}}) {
        const std::string wrong = on_ranks(each.p, [&](ccoll::threads_comm& comm, std::string& mine) {
            far::cases<ccoll::threads_comm, gpu::far_vector>(comm, mine).run(each.n);
        });
        gpu::check(wrong.empty(), "collectives on " + std::to_string(each.p) + " ranks, n " +
                                      std::to_string(each.n) + ": " + wrong);
    }
}

/// Messages in device memory, between ranks that are threads.
void direct()
{
    std::mutex mutex;
    ccoll::run_ranks(3, [&](ccoll::threads_comm& comm) {
        constexpr std::size_t n = 3000000;
        const std::vector<float> x = fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1);
        gpu::far_vector<float> in(x), out(n), staged(n);
        const auto compare = [&]<class... P>(const char* what, ccoll::Plan<P...>) {
            const ccoll::report a = ccoll::allreduce<P...>(in, staged, comm);
            const ccoll::report b = ccoll::allreduce<P..., Transport::Direct>(in, out, comm);
            const std::lock_guard lock(mutex);
            gpu::check(same_bits(out.values(), staged.values()),
                       std::string("Direct gives the values of Staged: ") + what);
            gpu::check(b.direct && !a.direct && a.sent_bytes == b.sent_bytes,
                       std::string("Direct sends the bytes of Staged: ") + what);
        };
        compare("SZp", ccoll::Plan<Algo::Ring, Codec::SZp, E>());
        compare("several blocks in a message",
                ccoll::Plan<Algo::Rabenseifner, Codec::SZp, E, Placement::DecodeReduceEncode>());
        compare("None", ccoll::Plan<Algo::RecursiveDoubling>());
    });
}

/// Averages of two-byte floats are computed with floats. Sums of these values are beyond the range of half.
template <class T>
void averages(const char* name)
{
    std::mutex mutex;
    ccoll::run_ranks(3, [&](ccoll::threads_comm& comm) {
        constexpr std::size_t n = 100003;
        const std::vector<float> smooth = fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1);
        std::vector<T> x(n), expected(n);
        for (std::size_t i = 0; i < n; ++i)
            x[i] = T(40000.0f + 20000.0f * smooth[i] / (1 + std::fabs(smooth[i])));
        const gpu::far_vector<T> in(x);
        const auto compare = [&]<class... P>(const char* what, ccoll::Plan<P...>) {
            gpu::far_vector<T> out(n);
            ccoll::allreduce<Op::Average, P...>(x, expected, comm);
            ccoll::allreduce<Op::Average, P...>(in, out, comm);
            const std::lock_guard lock(mutex);
            gpu::check(same_bits(out.values(), expected),
                       std::string("an average of ") + name + " is that of the host: " + what);
            gpu::check(std::isfinite(static_cast<float>(expected[n / 2])),
                       std::string("and it is finite: ") + what);
        };
        compare("None", ccoll::Plan<Algo::Ring>());
        compare("SZp", ccoll::Plan<Algo::Ring, Codec::SZp, ErrorBound<1.0>>());
        compare("SZx", ccoll::Plan<Algo::RecursiveDoubling, Codec::SZx, ErrorBound<1.0>>());
    });
}

/// Scales of blocks are found and used on the device.
template <class T, class... P>
void scales_of_blocks(const char* name)
{
    std::mutex mutex;
    ccoll::run_ranks(3, [&](ccoll::threads_comm& comm) {
        constexpr std::size_t n = 300007;
        const std::vector<float> smooth = fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1);
        std::vector<T> x(n), expected(n);
        for (std::size_t i = 0; i < n; ++i)
            x[i] = T(std::ldexp(smooth[i], static_cast<int>(i / 300 * 13 % 24) - 12));
        x[n / 2] = T(std::numeric_limits<float>::quiet_NaN());
        const gpu::far_vector<T> in(x);
        const auto compare = [&]<std::size_t N>(ccoll::policies::Block<N>) {
            using B = FixedBits<6, Block<N>>;
            gpu::far_vector<T> out(n), direct(n);
            ccoll::allreduce<Codec::SZp, B, P...>(x, expected, comm);
            ccoll::allreduce<Codec::SZp, B, P...>(in, out, comm);
            ccoll::allreduce<Codec::SZp, B, P..., Transport::Direct>(in, direct, comm);
            const std::lock_guard lock(mutex);
            gpu::check(same_bits(out.values(), expected) && same_bits(direct.values(), expected),
                       std::string("scales of blocks of ") + std::to_string(N) + ", " + name);
        };
        compare(Block<32>());
        compare(Block<256>());
        compare(Block<65536>());
    });
}

void errors()
{
    std::mutex mutex;
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        constexpr std::size_t n = 300000;
        std::vector<float> host(n, 1);
        gpu::far_vector<float> in(host), out(n);
        std::string text;
        try {
            const bool mine = comm.rank() == 1;
            ccoll::allreduce<Algo::Ring>(in.span(),
                                         mine ? ccoll::device_span<float>(host.data(), n) : out.span(), comm);
        } catch (const ccoll::error& e) {
            text = e.what();
        }
        const cudaError_t left = cudaGetLastError();
        ccoll::allreduce<Algo::Ring>(in, out, comm);
        const std::lock_guard lock(mutex);
        gpu::check(text.find("ccoll::allreduce: a device could not do its work") == 0 &&
                       text.find("rank 1") != std::string::npos,
                   "memory of the host is refused on all ranks: " + text);
        gpu::check(comm.rank() != 1 || text.find("memory of the host") != std::string::npos,
                   "and its rank says why: " + text);
        gpu::check(left == cudaSuccess, "no error is left behind");
        gpu::check(out.values() == std::vector<float>(n, 2), "and the next call works");
    });
}

}  // namespace

int main(int argc, char**)
{
    gpu::need_gpu();
    if (argc == 1) every_case();
    if (argc == 1) order();
    if (argc == 1) direct();
    if (argc == 1) averages<ccoll::half>("half");
    if (argc == 1) averages<ccoll::bfloat16>("bfloat16");
    if (argc == 1) {
        scales_of_blocks<float>("float");
        scales_of_blocks<ccoll::bfloat16, Op::Average>("averages of bfloat16");
        scales_of_blocks<ccoll::half>("half");
    }
    errors();
    return gpu::report();
}
