// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of std::uint8_t, over threads.
#include "job.hpp"
#include "threads_suites.hpp"

template <>
matrix::suite<ccoll::threads_comm>& matrix::suite_of<std::uint8_t, ccoll::threads_comm>()
{
    using namespace ccoll::policies;
    static typed_suite<std::uint8_t, ccoll::threads_comm> all(
        all_rows<std::uint8_t, ccoll::threads_comm, false>());
    return all;
}
