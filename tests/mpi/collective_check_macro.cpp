// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 2
// one MPI
// The macro does what CCOLL_CHECK=collective does (collective_check.cpp).
#define CCOLL_CHECK_COLLECTIVE
#include <system_error>
#include <vector>

#include "check.hpp"

#include <ccoll/allreduce.hpp>
#include <ccoll/transport/mpi.hpp>

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    std::vector<float> x(static_cast<std::size_t>(10 + check::rank), 1.0f), y(10, 1.0f);
    std::error_code code;
    ccoll::allreduce(x, MPI_COMM_WORLD, code);
    EXPECT(code == ccoll::make_error_code(ccoll::status::count_differs));
    EXPECT(ccoll::allreduce(y, MPI_COMM_WORLD).agreed && y[9] == 2);
    return check::finish();
}
