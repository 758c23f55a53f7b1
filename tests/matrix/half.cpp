// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of half, over threads.
#include "job.hpp"
#include "threads_suites.hpp"

template <>
matrix::suite<ccoll::threads_comm>& matrix::suite_of<ccoll::half, ccoll::threads_comm>()
{
    using namespace ccoll::policies;
    static typed_suite<ccoll::half, ccoll::threads_comm> all(
        all_rows<ccoll::half, ccoll::threads_comm, false>());
    return all;
}
