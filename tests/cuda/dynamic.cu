// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that are described by values (dynamic.hpp) on device buffers, behind a stream, on a GPU that all
// ranks share: the bits of the same calls on the host.
#include "beside_host.hpp"
#include "checks.hpp"

#include "support/fields.hpp"

#include <ccoll/compile_dynamic.hpp>

#include <cstdint>

using namespace ccoll::policies;
namespace dynamic = ccoll::dynamic;
using ccoll::collective_id;
using dynamic::element_id;
using dynamic::operation_id;

namespace gpu {

struct plans : dynamic::menu<ccoll::cuda_space, float, ccoll::bfloat16, std::uint8_t, Op::Sum, Op::Average,
                             Op::Max, Algo::Auto, Algo::Ring, Codec::None, Codec::SZp, RuntimeBound,
                             FixedBits<8>, Check::Collective> {};

}  // namespace gpu

CCOLL_COMPILE_DYNAMIC(gpu::plans, float, ccoll::threads_comm);
CCOLL_COMPILE_DYNAMIC(gpu::plans, float, ccoll::threads_comm, ccoll::cuda_space);
CCOLL_COMPILE_DYNAMIC(gpu::plans, ccoll::bfloat16, ccoll::threads_comm);
CCOLL_COMPILE_DYNAMIC(gpu::plans, ccoll::bfloat16, ccoll::threads_comm, ccoll::cuda_space);
CCOLL_COMPILE_DYNAMIC(gpu::plans, std::uint8_t, ccoll::threads_comm);
CCOLL_COMPILE_DYNAMIC(gpu::plans, std::uint8_t, ccoll::threads_comm, ccoll::cuda_space);

namespace {

/// Writes x after a while.
template <class T>
__global__ void write_late(T* x, const T* from, std::size_t n)
{
    const long long begin = clock64();
    while (clock64() - begin < 2000000) {}
    for (std::size_t i = threadIdx.x; i < n; i += blockDim.x) x[i] = from[i];
}

constexpr int ranks = 3;

template <class T>
std::vector<T> whole_vector(int rank, std::size_t n)
{
    const std::vector<float> x = fields::smooth<float>(n * ranks, static_cast<unsigned>(rank) + 1);
    std::vector<T> all(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        if constexpr (std::is_integral_v<T>) all[i] = static_cast<T>(static_cast<int>(x[i] * 100) & 63);
        else all[i] = static_cast<T>(x[i] * 100);
    }
    return all;
}

/// The call on the host, and on the device behind a kernel that writes its input.
template <class T>
void compare(const char* what, dynamic::call c, const ccoll::threads_comm& comm, std::string& wrong)
{
    const std::vector<T> x = whole_vector<T>(comm.rank(), c.n);
    const bool one_buffer = c.in_place || c.which == collective_id::bcast;
    std::vector<T> y = one_buffer ? x : std::vector<T>(x.size(), T(7)), sent = x;
    gpu::device_vector<T> source(x), far_x(std::vector<T>(x.size(), T(3))),
        far_y(std::vector<T>(x.size(), T(7)));
    c.send = sent.data();
    c.recv = y.data();
    const ccoll::report here = dynamic::run<gpu::plans>(c, comm);

    cudaStream_t s = nullptr;
    gpu::cuda(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    T* const in = far_x.span().device_data();
    T* const out = far_y.span().device_data();
    write_late<<<1, 256, 0, s>>>(one_buffer ? out : in, source.span().device_data(), x.size());
    c.send = in;
    c.recv = out;
    c.memory = dynamic::memory_id::cuda;
    c.stream = s;
    ccoll::request begun = dynamic::begin<gpu::plans>(c, comm);
    const ccoll::report there = begun.wait();
    gpu::cuda(cudaStreamDestroy(s), "cudaStreamDestroy");
    if (!same_bits(far_y.values(), y)) wrong += std::string(what) + " differs; ";
    if (std::string(here.codec) != there.codec || here.worst_case_error != there.worst_case_error)
        wrong += std::string(what) + " has another report; ";
}

void every_call(std::size_t n)
{
    const dynamic::plan exact{};
    const dynamic::plan lossy{.codec = dynamic::codec_id::SZp, .bound = 1e-2};
    const dynamic::plan bits{
        .codec = dynamic::codec_id::SZp, .kind = dynamic::bound_id::FixedBits, .bound = 8};
    const std::string wrong = on_ranks(ranks, [&](ccoll::threads_comm& comm, std::string& mine) {
        const auto floats = [&](const char* what, dynamic::call c) {
            for (const dynamic::plan& how : {exact, lossy, bits}) {
                c.how = how;
                c.type = element_id::f32;
                compare<float>(what, c, comm, mine);
                c.type = element_id::bf16;
                compare<ccoll::bfloat16>(what, c, comm, mine);
            }
        };
        for (const operation_id op : {operation_id::Sum, operation_id::Average, operation_id::Max}) {
            floats("allreduce", {.which = collective_id::allreduce, .n = n, .op = op});
            floats("allreduce in place",
                   {.which = collective_id::allreduce, .n = n, .op = op, .in_place = true});
            floats("reduce_scatter", {.which = collective_id::reduce_scatter, .n = n, .op = op});
        }
        floats("allgather", {.which = collective_id::allgather, .n = n});
        floats("bcast", {.which = collective_id::bcast, .n = n, .root = 1});
        floats("alltoall", {.which = collective_id::alltoall, .n = n});
        dynamic::call bytes{.which = collective_id::allgather, .n = n, .type = element_id::u8};
        compare<std::uint8_t>("bytes", bytes, comm, mine);
        bytes.which = collective_id::allreduce;
        bytes.op = operation_id::Max;
        compare<std::uint8_t>("bytes, the largest", bytes, comm, mine);
    });
    gpu::check(wrong.empty(), "calls described by values, n " + std::to_string(n) + ": " + wrong);
}

}  // namespace

int main()
{
    gpu::need_gpu();
    for (const std::size_t n : {std::size_t{0}, std::size_t{37}, std::size_t{70001}}) every_call(n);
    return gpu::report();
}
