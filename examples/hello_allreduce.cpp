// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hello_allreduce.cpp - a whole program that adds a field over all ranks, with an error bound.
//   mpicxx -std=c++20 -O2 -I include examples/hello_allreduce.cpp -o hello && mpiexec -n 4 ./hello
// [doc:hello]
#include <ccoll/ccoll.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace ccoll::policies;

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    std::vector<float> field(1 << 20), sum(field.size());
    for (std::size_t i = 0; i < field.size(); ++i) field[i] = std::sin(1e-4f * static_cast<float>(i));

    const ccoll::report report =
        ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1e-3>>(field, sum, MPI_COMM_WORLD);

    std::printf("%zu bytes sent instead of %zu; every element within %g\n", report.sent_bytes,
                report.raw_bytes, report.worst_case_error);
    MPI_Finalize();
}
// [/doc:hello]
