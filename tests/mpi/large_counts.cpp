// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts that MPI cannot take in one call. Above the limit (2^31 - 1 elements, made small here) an exact call
// is not passed on to MPI, and the engine cuts it into slices. Results are compared with those of plain MPI,
// which has no such limit at these sizes.
#include <cstdlib>
#include <string>
#include <vector>

#include <ccoll/ccoll.hpp>

#include "check.hpp"

namespace {

constexpr std::size_t limit = 4096;

/// Whole numbers, whose sums are exact in any order.
std::vector<float> numbers(std::size_t n, int rank)
{
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 1000);
    return x;
}

void all_collectives(std::size_t n, bool handed_over)
{
    int me = 0, p = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const auto ranks = static_cast<std::size_t>(p);
    const int count = static_cast<int>(n);
    const std::vector<float> own = numbers(n, me), whole = numbers(n * ranks, me);
    std::vector<float> small(n), small_plain(n), large(n * ranks), large_plain(n * ranks);
    const auto told = [&](const ccoll::report& r) {
        EXPECT((r.ran_by == ccoll::ran_by::mpi) == handed_over);
    };

    told(ccoll::allreduce(own, small, MPI_COMM_WORLD));
    MPI_Allreduce(own.data(), small_plain.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(small == small_plain);
    told(ccoll::reduce_scatter(whole, small, MPI_COMM_WORLD));
    MPI_Reduce_scatter_block(whole.data(), small_plain.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(small == small_plain);
    told(ccoll::allgather(own, large, MPI_COMM_WORLD));
    MPI_Allgather(own.data(), count, MPI_FLOAT, large_plain.data(), count, MPI_FLOAT, MPI_COMM_WORLD);
    EXPECT(large == large_plain);
    small = small_plain = own;
    told(ccoll::bcast(small, p - 1, MPI_COMM_WORLD));
    MPI_Bcast(small_plain.data(), count, MPI_FLOAT, p - 1, MPI_COMM_WORLD);
    EXPECT(small == small_plain);
    told(ccoll::scatter(whole, small, 0, MPI_COMM_WORLD));
    MPI_Scatter(whole.data(), count, MPI_FLOAT, small_plain.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    EXPECT(small == small_plain);
    large.assign(large.size(), -1);
    large_plain = large;
    told(ccoll::gather(own, large, p - 1, MPI_COMM_WORLD));
    MPI_Gather(own.data(), count, MPI_FLOAT, large_plain.data(), count, MPI_FLOAT, p - 1, MPI_COMM_WORLD);
    EXPECT(large == large_plain);
    small.assign(n, -1);
    small_plain = small;
    told(ccoll::reduce(own, small, 0, MPI_COMM_WORLD));
    MPI_Reduce(own.data(), small_plain.data(), count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    EXPECT(small == small_plain);
}

}  // namespace

int main(int argc, char** argv)
{
    setenv("CCOLL_NATIVE_LIMIT", std::to_string(limit).c_str(), 1);
    check::init(&argc, &argv);
    int p = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    all_collectives(limit / static_cast<std::size_t>(p), true);
    all_collectives(limit + 1, false);
    all_collectives(300007, false);  // with an agreement, and several slices per block
    return check::finish();
}
