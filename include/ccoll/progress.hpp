// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// progress.hpp - floor 5. An optional thread that moves requests on while the program computes. Calls are
// begun on it, and any thread may wait for them. Includes <thread>; not part of ccoll.hpp.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <ccoll/wait/request.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// A call between the thread that wants it and the one that runs it.
class background_job {
public:
    explicit background_job(std::function<request()> begin) : begin_(std::move(begin)) {}

    // ---- on the thread that runs it ----

    void begin()
    {
        run([&] {
            call_.reset(begin_().release().release());
            if (call_ != nullptr && !call_->progress() && !call_->is_in_a_list()) call_->join();
        });
        begin_ = nullptr;  // releases what it has captured
    }
    /// Calls leave the list of their thread when they end. @return true if this one has ended
    bool finish_if_ended()
    {
        if (call_ != nullptr && call_->is_in_a_list()) return false;
        report facts;
        if (call_ != nullptr) run([&] { facts = detail::conclude(call_->name(), call_->result(), nullptr); });
        call_.reset();
        {
            const std::lock_guard lock(mutex_);
            facts_ = facts;
            ended_ = true;
        }
        changed_.notify_all();
        return true;
    }

    // ---- on any thread ----

    bool is_here() const noexcept { return made_in_.is_here(); }
    bool has_ended()
    {
        const std::lock_guard lock(mutex_);
        return ended_;
    }
    void wait()
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_; });
    }
    /// Valid after its end.
    report conclude(std::error_code* code)
    {
        if (code != nullptr) code->clear();
#if defined(__cpp_exceptions)
        if (thrown_ == nullptr) return facts_;
        if (code == nullptr) std::rethrow_exception(thrown_);
        try {
            std::rethrow_exception(thrown_);
        } catch (const error& e) {
            *code = make_error_code(e.what_happened().code);
            facts_.trouble = e.what_happened();
        }
#endif
        return facts_;
    }

private:
    template <class Work>
    void run(Work work)
    {
#if defined(__cpp_exceptions)
        try {
            work();
        } catch (...) {
            thrown_ = std::current_exception();
        }
#else
        work();
#endif
    }

    home made_in_;
    std::function<request()> begin_;
    at_home<pending_call> call_;
#if defined(__cpp_exceptions)
    std::exception_ptr thrown_;
#endif
    std::mutex mutex_;
    std::condition_variable changed_;
    report facts_;
    bool ended_ = false;
};

}  // namespace detail

/// A call that runs on a progress_thread, as a request that any thread may wait for. Its buffers belong to
/// the library until it has ended. If the request is destroyed or assigned to before that, it waits for the
/// end, because a thread cannot give up a call of another thread. A process that was forked meanwhile does
/// not wait, since it has no such thread: see ccoll::request.
class [[nodiscard]] background_request {
public:
    background_request() = default;
    explicit background_request(std::shared_ptr<detail::background_job> job) : job_(std::move(job)) {}
    background_request(background_request&&) noexcept = default;
    background_request& operator=(background_request&& other) noexcept
    {
        if (this != &other) {
            let_end();
            job_ = std::move(other.job_);
        }
        return *this;
    }
    ~background_request() { let_end(); }

    /// Is there a call to wait for?
    bool valid() const noexcept { return job_ != nullptr; }
    /// Has it ended? Makes no progress itself and never sleeps.
    bool test() { return job_ == nullptr || !job_->is_here() || job_->has_ended(); }
    /// Waits for the end.
    /// @return what a blocking call returns
    /// @throw what it throws, or what the function that began it threw
    report wait() { return wait_for(nullptr); }
    /// The same, but the error is stored in `code`. An exception that is not a ccoll::error is still thrown.
    report wait(std::error_code& code) { return wait_for(&code); }

private:
    report wait_for(std::error_code* code)
    {
        if (job_ == nullptr) return {};
        if (!job_->is_here())
            return detail::refuse_wait("background_request::wait", status::no_communicator, detail::forked,
                                       code);
        job_->wait();
        const std::shared_ptr<detail::background_job> ended = std::move(job_);
        return ended->conclude(code);
    }
    void let_end() noexcept
    {
        if (job_ != nullptr && job_->is_here()) job_->wait();
    }

    std::shared_ptr<detail::background_job> job_;
};

namespace detail {

/// The thread of a progress_thread, and what it is told.
class progress_worker {
public:
    using job = std::shared_ptr<background_job>;

    progress_worker() : thread_([this] { serve(); }) {}
    progress_worker(const progress_worker&) = delete;
    progress_worker& operator=(const progress_worker&) = delete;
    ~progress_worker()
    {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }

    void take(const job& fresh)
    {
        {
            const std::lock_guard lock(mutex_);
            fresh_.push_back(fresh);
        }
        changed_.notify_one();
    }

private:
    using jobs = std::vector<job>;

    /// Begins the calls that have been passed in.
    /// @return false if nothing is left to do and nothing will follow
    bool take_fresh(jobs& open)
    {
        jobs taken;
        {
            std::unique_lock lock(mutex_);
            if (open.empty()) changed_.wait(lock, [&] { return ends_ || !fresh_.empty(); });
            taken.swap(fresh_);
            if (open.empty() && taken.empty()) return false;
        }
        for (auto& each : taken) {
            each->begin();
            open.push_back(std::move(each));
        }
        return true;
    }
    void serve()
    {
        constexpr int patience = 1000;
        jobs open;
        for (int vain = 0; take_fresh(open);) {
            const bool moved = pending_calls::of_this_thread().progress();
            const std::size_t before = open.size();
            std::erase_if(open, [](const auto& each) { return each->finish_if_ended(); });
            vain = moved || open.size() < before ? 0 : vain + 1;
            if (vain > patience) std::this_thread::sleep_for(std::chrono::microseconds(50));
            else if (vain > 0) std::this_thread::yield();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    jobs fresh_;
    bool ends_ = false;
    std::thread thread_;  // last, because it uses all other members
};

}  // namespace detail

/// A thread that begins calls and makes progress with them. It sleeps while it has none. While it has some,
/// it tests them again and again, and yields its core in between (after 1000 rounds without progress it
/// sleeps 50 us at a time).
///
/// All calls on a communicator that is used here must be begun here, because only one thread at a time may
/// use a communicator. They begin in the order in which begin() is called, which must be the same on all
/// ranks. With MPI the level must be MPI_THREAD_MULTIPLE if other threads call MPI meanwhile; otherwise
/// MPI_THREAD_SERIALIZED is enough. The destructor waits until all calls have ended. A Timeout in the plan
/// makes sure that they do. With MPI the destructor must run before MPI_Finalize. In a process that is forked
/// there is no such thread: the destructor does nothing, and begin() fails.
class progress_thread {
public:
    progress_thread() = default;
    progress_thread(const progress_thread&) = delete;
    progress_thread& operator=(const progress_thread&) = delete;

    /// Begins a call on the thread, and returns at once. Errors are thrown by wait() of the result.
    /// @param call  () -> ccoll::request, called once, on the thread: `helper.begin([&] { return
    ///              ccoll::iallreduce<P...>(x, y, comm); })`. It must be copyable. What it refers to must
    ///              live until the request has ended.
    /// @throw ccoll::error  (no_communicator) in a process that was forked since the thread was started
    /// Cost: an allocation, and waking the thread if it sleeps.
    template <class Begin>
    background_request begin(Begin call)
    {
        if (detail::is_elsewhere(worker_))
            raise("progress_thread::begin", {status::no_communicator}, detail::forked);
        const std::shared_ptr<detail::background_job> job(new detail::background_job(std::move(call)),
                                                          detail::delete_at_home<detail::background_job>{});
        worker_->take(job);
        return background_request(job);
    }

private:
    detail::at_home<detail::progress_worker> worker_{new detail::progress_worker};
};

}  // namespace ccoll::inline CCOLL_ABI
