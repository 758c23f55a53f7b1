// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// group.hpp - MPI as a whole, and a communicator for each group of ranks. Knows nothing of torch.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ccoll/progress.hpp>

#include "calls.hpp"

namespace ccoll_torch {

/// MPI from its start to its end, and the thread that makes all calls of MPI and of ccoll. Calls overlap with
/// each other and with the backward pass, and groups do not wait for each other. All functions are called by
/// the thread that imported the module.
class runtime {
public:
    /// Starts MPI if the program has not, and the thread. A second call does nothing.
    /// @throw std::runtime_error  with a sentence, if MPI has been started with too low a thread level
    static void start();
    static bool started();
    /// Waits for the calls under way and, if start() has started MPI, ends it.
    static void stop();
    static ccoll::progress_thread& thread();
    static int rank();
    static int size();
    static const char* library();
    /// The text of rank 0.
    static std::string bcast(std::string text);
    [[noreturn]] static void abort(int code);
};

/// Some ranks of MPI_COMM_WORLD, with a communicator of their own. What it has sent and received is added up.
/// The communicator lives until MPI ends: freeing one is a call of all its ranks, and Python destroys objects
/// when it pleases.
class group {
public:
    /// @param ranks  of MPI_COMM_WORLD, in the order of the group; empty: all. Collective over these ranks
    explicit group(std::vector<int> ranks);
    group(const group&) = delete;
    group& operator=(const group&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    MPI_Comm handle() const { return handle_; }

    void add(const ccoll::report& facts);
    ccoll::report facts() const;
    void reset();

private:
    MPI_Comm handle_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
    mutable std::mutex mutex_;
    ccoll::report facts_;
};

}  // namespace ccoll_torch
