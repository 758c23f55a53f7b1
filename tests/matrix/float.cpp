// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of float, over threads.
#include "job.hpp"
#include "threads_suites.hpp"

template <>
matrix::suite<ccoll::threads_comm>& matrix::suite_of<float, ccoll::threads_comm>()
{
    using namespace ccoll::policies;
    static typed_suite<float, ccoll::threads_comm> all(
        all_rows<float, ccoll::threads_comm, true, ccoll::Plan<>, ccoll::Plan<Codec::SZp, RuntimeBound>>());
    return all;
}
