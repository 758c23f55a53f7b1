// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives of device buffers on a GPU that all ranks share, with and without compression, and the
// all-to-alls of the literature. One JSON object a line. Arguments: MiB of each rank's buffer (256), ranks
// (4), runs (7).
#include "../checks.hpp"
#include "alltoall.hpp"

#include <ccoll/transport/threads.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>

using namespace ccoll::policies;

namespace {

using clock_type = std::chrono::steady_clock;

std::vector<float> field(std::size_t n, int rank)
{
    return gpu::made_by_all_cores<float>(n, [&](std::size_t i) {
        double v = 0, size = 1, wave = 2e-4;
        for (int k = 0; k < 6; ++k, size *= 0.56, wave *= 3.1)
            v += size * std::sin(wave * static_cast<double>(i) + 1.7 * k + rank);
        return static_cast<float>(v);
    });
}

/// The slowest rank's seconds of each run, sorted.
struct board {
    std::mutex mutex;
    std::vector<double> seconds;
    std::size_t sent_bytes = 0;
};

template <class Call>
void measure(const std::string& what, std::size_t bytes, int ranks, int runs, Call call)
{
    board all;
    all.seconds.assign(static_cast<std::size_t>(runs), 0);
    ccoll::run_ranks(ranks, [&](ccoll::threads_comm& comm) {
        const std::size_t n =
            bytes / sizeof(float) / static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
        const gpu::device_vector<float> in(field(n, comm.rank())), out(n);
        std::vector<char> nothing(static_cast<std::size_t>(ranks)), from_all(nothing);
        for (int run = -2; run < runs; ++run) {
            ccoll::alltoall(nothing, from_all, comm);
            const auto begin = clock_type::now();
            const std::size_t sent = call(in.span(), out.span(), comm);
            const double s = std::chrono::duration<double>(clock_type::now() - begin).count();
            const std::lock_guard lock(all.mutex);
            if (run >= 0)
                all.seconds[static_cast<std::size_t>(run)] =
                    std::max(all.seconds[static_cast<std::size_t>(run)], s);
            all.sent_bytes = sent;
        }
    });
    std::sort(all.seconds.begin(), all.seconds.end());
    const double median = all.seconds[all.seconds.size() / 2];
    std::printf(
        "{\"what\": \"%s\", \"ranks\": %d, \"raw_bytes\": %zu, \"sent_bytes\": %zu, \"runs\": %d, "
        "\"median_s\": %.6f, \"fastest_s\": %.6f, \"slowest_s\": %.6f, \"raw_gb_per_s\": %.2f}\n",
        what.c_str(), ranks, bytes, all.sent_bytes, runs, median, all.seconds.front(), all.seconds.back(),
        static_cast<double>(bytes) / median / 1e9);
    std::fflush(stdout);
}

/// The all-to-alls of the literature. Each rank's workshop is made in its first, unmeasured run.
/// @param eb  the bound, or bits per value
template <class Codec>
void rivals_of(const std::string& codec, std::size_t bytes, int ranks, int runs, double eb)
{
    const std::size_t block = bytes / sizeof(float) / static_cast<std::size_t>(ranks);
    std::vector<std::unique_ptr<rivals::workshop<Codec>>> of(static_cast<std::size_t>(ranks));
    const auto work = [&](int rank) -> rivals::workshop<Codec>& {
        auto& mine = of[static_cast<std::size_t>(rank)];
        if (mine == nullptr) mine = std::make_unique<rivals::workshop<Codec>>(ranks, block);
        return *mine;
    };
    measure("alltoall, compressed by destination (Zhou et al.)" + codec, bytes, ranks, runs,
            [&](auto in, auto out, auto& comm) {
                return work(comm.rank())
                    .compress_by_destination(in.device_data(), out.device_data(), eb, comm, comm.rank());
            });
    measure(
        "alltoall, compressed and then exchanged (Zhou et al., baseline)" + codec, bytes, ranks, runs,
        [&](auto in, auto out, auto& comm) {
            return work(comm.rank()).compress_then_exchange(in.device_data(), out.device_data(), eb, comm);
        });
}

}  // namespace

int main(int argc, char** argv)
{
    gpu::need_gpu();
    const std::size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256) << 20;
    const int ranks = argc > 2 ? std::atoi(argv[2]) : 4, runs = argc > 3 ? std::atoi(argv[3]) : 7;
    using E = ErrorBound<1e-3>;
    measure("allreduce, uncompressed", bytes, ranks, runs, [](auto in, auto out, auto& comm) {
        return ccoll::allreduce<Algo::Ring, Codec::None>(ccoll::device_span<const float>(in), out, comm)
            .sent_bytes;
    });
    measure("allreduce, SZp added encoded", bytes, ranks, runs, [](auto in, auto out, auto& comm) {
        return ccoll::allreduce<Algo::Ring, Codec::SZp, E>(ccoll::device_span<const float>(in), out, comm)
            .sent_bytes;
    });
    measure("allreduce, SZp decoded and encoded", bytes, ranks, runs, [](auto in, auto out, auto& comm) {
        return ccoll::allreduce<Algo::Ring, Codec::SZp, E, Placement::DecodeReduceEncode>(
                   ccoll::device_span<const float>(in), out, comm)
            .sent_bytes;
    });
    measure("alltoall, uncompressed", bytes, ranks, runs, [](auto in, auto out, auto& comm) {
        return ccoll::alltoall<Algo::Pairwise, Codec::None>(ccoll::device_span<const float>(in), out, comm)
            .sent_bytes;
    });
    measure("alltoall, SZp in lanes", bytes, ranks, runs, [](auto in, auto out, auto& comm) {
        return ccoll::alltoall<Algo::Pairwise, Codec::SZp, E>(ccoll::device_span<const float>(in), out, comm)
            .sent_bytes;
    });
    rivals_of<Codec::SZp>(", SZp", bytes, ranks, runs, 1e-3);
    measure("alltoall, Zfp at 16 bits in lanes", bytes, ranks, runs, [](auto in, auto out, auto& comm) {
        return ccoll::alltoall<Algo::Pairwise, Codec::Zfp, FixedRate<16>>(ccoll::device_span<const float>(in),
                                                                          out, comm)
            .sent_bytes;
    });
    rivals_of<Codec::ZfpAtRate>(", Zfp at 16 bits", bytes, ranks, runs, 16);
    return 0;
}
