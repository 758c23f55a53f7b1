// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// group.hpp - the process as a rank, and groups of ranks with a communicator of their own. Knows nothing of
// torch.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <ccoll/progress.hpp>

#include "calls.hpp"

namespace ccoll_torch {

/// What a process has once: the library that moves messages, and the thread that makes all calls. All
/// functions are called by the thread that imported the module.
class runtime {
public:
    /// A second call does nothing. @throw std::runtime_error  with a sentence
    static void start();
    /// False in a process that was forked, which is no rank.
    static bool started();
    /// Waits for the calls under way, but not longer than `seconds`, and ends everything.
    static void stop(double seconds);
    static ccoll::progress_thread& thread();
};

/// Some ranks, with a communicator of their own. What it has sent and received is added up.
class group : public std::enable_shared_from_this<group> {
public:
    using clock = std::chrono::steady_clock;

    /// Collective over its ranks.
    /// @param whole  of which it is a part, as far as the link asks for it; may be null
    /// @param m      `m.whole` is not used
    /// @throw std::runtime_error  with a sentence
    static std::shared_ptr<group> make(const std::shared_ptr<group>& whole, meeting m);
    group(const group&) = delete;
    group& operator=(const group&) = delete;
    /// The communicator goes when the calls under way have ended.
    ~group();

    int rank() const { return rank_; }
    int size() const { return size_; }

    /// How long a call may take, in seconds.
    void set_limit(double seconds) { limit_ = seconds; }
    double limit() const { return limit_; }

    /// Ends the group on this rank: calls under way go on for `seconds`, then they are given up, and after
    /// them the communicator. Other ranks are told. New calls are refused. Returns at once.
    void close(double seconds, std::string why);
    bool is_closed() const { return closed_; }

    // ---- on the progress thread ----

    /// @throw std::runtime_error  if the group was closed
    const communicator& handle() const;
    const std::shared_ptr<open_receives>& receives() const { return receives_; }
    /// A call from its beginning to its end: given up if its time is over, or that of the group. If it cannot
    /// begin on this rank, the others are told.
    /// @param name         for sentences
    /// @param collective   all ranks take part in it
    /// @param seconds      how long it may take; 0: as the group says
    static test_function begin(const std::shared_ptr<group>& ranks, const begin_function& call,
                               std::string name, bool collective, double seconds);

    void add(const ccoll::report& facts);
    ccoll::report facts() const;
    void reset();

    /// How its last call that failed has ended.
    enum class trouble { none, timed_out, lost, other };
    trouble last_trouble() const { return trouble_; }

private:
    class counted;

    group(communicator handle, int rank, int size, double seconds)
        : handle_(std::move(handle)), rank_(rank), size_(size), limit_(seconds), receives_(no_receives())
    {}
    std::string here() const { return "rank " + std::to_string(rank_) + " of " + std::to_string(size_); }
    std::string why() const;
    double tell_link(double seconds);
    void note(const std::exception_ptr& failed);

    std::optional<communicator> handle_;
    int rank_ = 0, size_ = 1;
    std::atomic<double> limit_;
    double told_ = 0;  ///< the limit that the link knows; only the progress thread uses it
    std::shared_ptr<open_receives> receives_;
    int open_ = 0, collectives_ = 0;  ///< calls under way; only the progress thread uses this
    std::atomic<trouble> trouble_{trouble::none};
    std::atomic<bool> closed_{false};

    mutable std::mutex mutex_;
    ccoll::report facts_;
    clock::time_point ends_;  ///< when calls under way are given up, if it is closed
    std::string why_;
};

}  // namespace ccoll_torch
