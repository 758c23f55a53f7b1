// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of std::complex<float>, over threads.
#include "job.hpp"
#include "threads_suites.hpp"

template <>
matrix::suite<ccoll::threads_comm>& matrix::suite_of<std::complex<float>, ccoll::threads_comm>()
{
    using namespace ccoll::policies;
    static typed_suite<std::complex<float>, ccoll::threads_comm> all(
        all_rows<std::complex<float>, ccoll::threads_comm, false, ccoll::Plan<>,
                 ccoll::Plan<Codec::SZx, RuntimeBound>>());
    return all;
}
