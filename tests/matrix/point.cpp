// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of a struct of 12 bytes, over threads.
#include "job.hpp"
#include "threads_suites.hpp"

template <>
matrix::suite<ccoll::threads_comm>& matrix::suite_of<matrix::point, ccoll::threads_comm>()
{
    using namespace ccoll::policies;
    static typed_suite<point, ccoll::threads_comm> all(
        all_rows<point, ccoll::threads_comm, false, ccoll::Plan<Codec::Lossless>>());
    return all;
}
