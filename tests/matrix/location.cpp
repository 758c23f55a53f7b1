// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of a value with its place, over threads.
#include "job.hpp"
#include "threads_suites.hpp"

template <>
matrix::suite<ccoll::threads_comm>& matrix::suite_of<matrix::location, ccoll::threads_comm>()
{
    using namespace ccoll::policies;
    static typed_suite<location, ccoll::threads_comm> all(all_rows<location, ccoll::threads_comm, false>());
    return all;
}
