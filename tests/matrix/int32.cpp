// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of std::int32_t, over threads.
#include "job.hpp"
#include "threads_suites.hpp"

template <>
matrix::suite<ccoll::threads_comm>& matrix::suite_of<std::int32_t, ccoll::threads_comm>()
{
    using namespace ccoll::policies;
    static typed_suite<std::int32_t, ccoll::threads_comm> all(
        all_rows<std::int32_t, ccoll::threads_comm, false, ccoll::Plan<>>());
    return all;
}
