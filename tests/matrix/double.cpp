// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of double, over threads.
#include "job.hpp"
#include "threads_suites.hpp"

template <>
matrix::suite<ccoll::threads_comm>& matrix::suite_of<double, ccoll::threads_comm>()
{
    using namespace ccoll::policies;
    static typed_suite<double, ccoll::threads_comm> all(all_rows<double, ccoll::threads_comm, false>());
    return all;
}
