// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A sum over processes without MPI, through UCX:  examples/ucx/run.sh 4 build/examples/ucx_sum
// Each process reads from its environment which rank it is (RANK), how many there are (WORLD_SIZE), and in
// which directory they find each other (EXCHANGE).
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/transport/ucx.hpp>

using namespace ccoll::policies;

namespace {

const char* variable(const char* name)
{
    const char* const value = std::getenv(name);
    if (value != nullptr) return value;
    std::fprintf(stderr, "%s is not set; examples/ucx/run.sh sets it\n", name);
    std::exit(2);
}

}  // namespace

int main()
{
    const int rank = std::atoi(variable("RANK")), size = std::atoi(variable("WORLD_SIZE"));
    // [doc:world]
    ccoll::directory_exchange how(variable("EXCHANGE"));  // a directory that all ranks see
    ccoll::ucx_comm world = ccoll::ucx_comm::world(how, rank, size, 60);
    if (world.refusal() != ccoll::status::ok) {
        std::fprintf(stderr, "rank %d: %s\n", rank, world.explain());
        return 1;
    }
    std::vector<float> x(1000000, 1.0f + static_cast<float>(rank)), sum(x.size());
    ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>, Timeout<60>>(x, sum, world);
    // [/doc:world]
    const float expected = 0.5f * static_cast<float>(size) * static_cast<float>(size + 1);
    for (const float each : sum)
        if (std::fabs(each - expected) > 1e-3f * static_cast<float>(size)) return 1;
    if (rank == 0) std::printf("%d ranks: the sum is %g\n", size, static_cast<double>(sum[0]));
}
