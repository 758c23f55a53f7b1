// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// worker.hpp - the thread that makes all calls of MPI and of ccoll. It begins calls in the order in which
// they are given, which must be the same on all ranks of a communicator, and tests those that are under way
// until they have ended. So calls overlap with each other and with the backward pass, and groups do not wait
// for each other. Knows nothing of torch.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <ccoll/instrument/report.hpp>

namespace ccoll_torch {

/// A call under way: true when it has ended, with its report. Throws what went wrong.
using test_function = std::function<bool(ccoll::report&)>;
/// Begins a call, on the worker's thread. It is kept until the call has ended, and with it the buffers that
/// it has captured.
using begin_function = std::function<test_function()>;
/// Is told how a call ended, on the worker's thread: null if all went well.
using end_function = std::function<void(std::exception_ptr, const ccoll::report&)>;

class worker {
public:
    worker() : thread_([this] { serve(); }) {}
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    /// Waits until all collectives have ended. Messages between two ranks that nobody took are forgotten.
    ~worker()
    {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }

    /// @param between_two  a message between two ranks, which nothing else waits for
    void begin(begin_function begin, end_function end, bool between_two = false)
    {
        {
            const std::lock_guard lock(mutex_);
            fresh_.push_back({std::move(begin), std::move(end), nullptr, between_two});
        }
        changed_.notify_one();
    }

    /// Runs `work` on the thread when all collectives that began before have ended, and waits for it. Throws
    /// what `work` throws.
    /// For calls that block, such as those that make a communicator: while they do, no other call goes on.
    template <class Work>
    auto run(Work work) -> decltype(work())
    {
        using result = decltype(work());
        const auto task = std::make_shared<std::packaged_task<result()>>(std::move(work));
        auto future = task->get_future();
        begin(
            [this, task]() -> test_function {
                return [this, task](ccoll::report&) {
                    if (collectives_open_ > 1) return false;  // this one counts as well
                    (*task)();
                    return true;
                };
            },
            [](std::exception_ptr, const ccoll::report&) {});
        return future.get();
    }

private:
    struct job {
        begin_function begin;
        end_function end;
        test_function test;
        bool between_two = false;
    };

    bool take_fresh(std::vector<job>& open)
    {
        std::vector<job> taken;
        {
            std::unique_lock lock(mutex_);
            if (open.empty()) changed_.wait(lock, [&] { return ends_ || !fresh_.empty(); });
            taken.swap(fresh_);
            if (ends_ && taken.empty() && collectives_open_ == 0) return false;
        }
        for (job& each : taken) {
            if (!each.between_two) ++collectives_open_;
            try {
                each.test = each.begin();
            } catch (...) {
                each.test = [failed = std::current_exception()](ccoll::report&) -> bool {
                    std::rethrow_exception(failed);
                };
            }
            open.push_back(std::move(each));
        }
        return true;
    }
    /// @return true if it has ended
    bool advance(job& each)
    {
        ccoll::report facts;
        std::exception_ptr failed;
        try {
            if (!each.test(facts)) return false;
        } catch (...) {
            failed = std::current_exception();
        }
        each.test = nullptr;  // lets go of buffers before anybody hears of the end
        each.begin = nullptr;
        if (!each.between_two) --collectives_open_;
        each.end(failed, facts);
        return true;
    }
    void serve()
    {
        constexpr int patience = 1000;
        std::vector<job> open;
        for (int vain = 0; take_fresh(open);) {
            const std::size_t before = open.size();
            std::erase_if(open, [&](job& each) { return advance(each); });
            vain = open.size() < before ? 0 : vain + 1;
            if (vain > patience) std::this_thread::sleep_for(std::chrono::microseconds(50));
            else if (vain > 0) std::this_thread::yield();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<job> fresh_;
    bool ends_ = false;
    int collectives_open_ = 0;  // only the thread uses it
    std::thread thread_;        // last, because it uses all other members
};

}  // namespace ccoll_torch
