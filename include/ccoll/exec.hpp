// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exec.hpp - floor 5. Runs the work of codecs on several threads: in encode and decode (codec.hpp), if passed
// as an argument, and in collectives, if a plan names it. No other header includes <thread>.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <system_error>
#include <thread>

#include <ccoll/base/process.hpp>
#include <ccoll/codec/batch_queue.hpp>
#include <ccoll/policy/tags.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// `Count` - 1 threads that wait for parts of a job, in addition to the thread that owns them. They sleep
/// between jobs.
template <std::size_t Count>
class team {
public:
    team()
    {
        for (std::thread& each : threads_) {
#if defined(__cpp_exceptions)
            try {
                each = std::thread([this] { serve(); });
            } catch (const std::system_error&) {  // the others do its share
            }
#else
            each = std::thread([this] { serve(); });
#endif
        }
    }
    team(const team&) = delete;
    team& operator=(const team&) = delete;
    ~team()
    {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        begun_.notify_all();
        for (std::thread& each : threads_)
            if (each.joinable()) each.join();
    }

    /// Calls job(i) once for every i < parts, and returns when all have returned.
    template <class Job>
    void run(std::size_t parts, const Job& job)
    {
        std::unique_lock lock(mutex_);
        call_ = [](const void* self, std::size_t part) { (*static_cast<const Job*>(self))(part); };
        job_ = &job;
        next_ = 0;
        parts_ = left_ = parts;
        begun_.notify_all();
        while (next_ < parts_) take_one(lock);
        ended_.wait(lock, [this] { return left_ == 0; });
    }

private:
    void serve()
    {
        std::unique_lock lock(mutex_);
        while (true) {
            begun_.wait(lock, [this] { return ends_ || next_ < parts_; });
            if (ends_) return;
            take_one(lock);
        }
    }
    void take_one(std::unique_lock<std::mutex>& lock)
    {
        const std::size_t part = next_++;
        lock.unlock();
        call_(job_, part);
        lock.lock();
        if (--left_ == 0) ended_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable begun_, ended_;
    void (*call_)(const void*, std::size_t) = nullptr;
    const void* job_ = nullptr;
    std::size_t next_ = 0, parts_ = 0, left_ = 0;
    bool ends_ = false;
    std::array<std::thread, Count - 1> threads_;
};

/// The team of the calling thread, made when it is first used and kept until the thread ends. A forked
/// process makes a team of its own.
template <std::size_t Count>
struct team_of_this_thread {
    static constexpr std::size_t width() { return Count; }
    template <class Job>
    void operator()(std::size_t parts, const Job& job) const
    {
        static thread_local at_home<team<Count>> mine;
        if (mine == nullptr || is_elsewhere(mine)) mine = at_home<team<Count>>(new team<Count>);
        mine->run(parts, job);
    }
};

}  // namespace detail

namespace policies::Exec {

/// `Count` threads, 1 to 64; the calling thread is one of them.
///
/// In a plan, the codec work of a collective is done by this many threads, of which at most four are busy at
/// once, because a call has four lanes. Bytes and bits stay the same. It pays where a rank has several cores
/// and vectors have 1 MiB or more; shorter ones are encoded by the calling thread. The threads are kept until
/// the calling thread ends, and sleep between calls. Messages do not move while they work. Buffers must be in
/// host memory.
///
/// Passed to encode or decode (codec.hpp), the threads live only during the call. Starting a thread costs
/// about 20 us, so your own thread pool is better for many short calls. If the system refuses to start a
/// thread, the caller does its share of the work.
template <std::size_t Count>
struct Threads : policy<axis::exec> {
    static_assert(Count >= 1 && Count <= 64, "ccoll: Exec::Threads takes 1 to 64 threads");
    static constexpr const char* name = "Threads";

    static constexpr std::size_t width() { return Count; }

    /// Calls job(i) once for every i < parts, and returns when all have returned.
    template <class Job>
    void operator()(std::size_t parts, const Job& job) const
    {
        std::array<std::thread, Count> others;
        const auto deal = [&](std::size_t first) {
            for (std::size_t part = first; part < parts; part += Count) job(part);
        };
        for (std::size_t i = 1; i < Count && i < parts; ++i) {
#if defined(__cpp_exceptions)
            try {
                others[i] = std::thread(deal, i);
            } catch (const std::system_error&) {
                deal(i);
            }
#else
            others[i] = std::thread(deal, i);
#endif
        }
        deal(0);
        for (std::thread& t : others)
            if (t.joinable()) t.join();
    }

    /// The queue of a lane of a call.
    static codec_queue queue_of_lane(std::size_t lane) noexcept
    {
        return detail::batch<detail::team_of_this_thread<Count>>::queue_of_lane(lane);
    }
};

/// The codec work of a plan on your own thread pool. `Executor` meets codec_executor, must be
/// default-constructible, as a handle to the pool is, and must not throw. Otherwise it is like Threads in a
/// plan.
template <codec_executor Executor>
struct On : policy<axis::exec> {
    static constexpr const char* name = "On";
    static codec_queue queue_of_lane(std::size_t lane) noexcept
    {
        return detail::batch<Executor>::queue_of_lane(lane);
    }
};

}  // namespace policies::Exec
}  // namespace ccoll::inline CCOLL_ABI
