// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call in elements of one kind, that ccoll can run.
#pragma once

#include <cstddef>
#include <vector>

#include <ccoll/wait/request.hpp>
#include <ccoll/transport/mpi_calls.hpp>

#include "plan.hpp"

namespace preload {

struct order {
    what which;
    const void* send = nullptr;
    void* recv = nullptr;
    std::size_t n = 0;  ///< elements of a rank's part; with counts, of this rank's own
    const long long *send_counts = nullptr, *send_at = nullptr, *recv_counts = nullptr, *recv_at = nullptr;
    operation op = operation::sum;
    int root = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    std::size_t choice = 0;
    double bound = 0;
    std::vector<long long> parts{};  ///< of a reduce_scatter; recv_counts points to them
};

/// Runs it. @throw ccoll::error
template <class T>
ccoll::report run(const order& o);
/// Begins it; the lists of counts may go afterwards.
template <class T>
ccoll::request begin(const order& o);
/// Prepares it; the lists of counts must remain.
template <class T>
ccoll::persistent prepare(const order& o);

// run_float.cpp, run_double.cpp
extern template ccoll::report run<float>(const order&);
extern template ccoll::report run<double>(const order&);
extern template ccoll::request begin<float>(const order&);
extern template ccoll::request begin<double>(const order&);
extern template ccoll::persistent prepare<float>(const order&);
extern template ccoll::persistent prepare<double>(const order&);

}  // namespace preload
