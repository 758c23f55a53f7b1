// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// progress.hpp - floor 5. An optional thread that begins calls and moves them on while the program computes.
// Any thread may wait for them, or a function is told of their end. Includes <thread>; not part of ccoll.hpp.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <ccoll/wait/request.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// A piece of work. Only the thread that does it uses it.
class background_job {
public:
    enum class kind : char {
        collective,
        message,  ///< between two ranks: neither `alone` nor the end of the thread waits for it
        alone     ///< begins when all collectives before it have ended, and before all work that follows
    };

    explicit background_job(kind of) : kind_(of) {}
    background_job(const background_job&) = delete;
    background_job& operator=(const background_job&) = delete;
    virtual ~background_job() = default;

    kind what() const noexcept { return kind_; }

    void begin()
    {
        attempt([&] { start(); });
    }
    /// @return true if it has ended; then it has let go of everything, and said so
    bool advance()
    {
        bool ended = thrown_ != nullptr;
        if (!ended) {
            attempt([&] { ended = turn(facts_); });
            ended = ended || thrown_ != nullptr;
        }
        if (ended) end();
        return ended;
    }
    /// The end of work that nobody waits for any more.
    void give_up()
    {
        facts_.trouble = {status::abandoned};
#if defined(__cpp_exceptions)
        thrown_ = std::make_exception_ptr(error("progress_thread", facts_.trouble, "its thread has ended"));
#endif
        end();
    }

private:
    virtual void start() = 0;
    virtual bool turn(report& facts) = 0;
    virtual void let_go() = 0;
    virtual void tell(const report& facts, const std::exception_ptr& failed) = 0;

    void end()
    {
        let_go();  // first, so that buffers are free when somebody hears of the end
        tell(facts_, thrown_);
    }
    template <class Part>
    void attempt(Part part)
    {
#if defined(__cpp_exceptions)
        try {
            part();
        } catch (const error& e) {
            facts_.trouble = e.what_happened();
            thrown_ = std::current_exception();
        } catch (...) {
            thrown_ = std::current_exception();
        }
#else
        part();
#endif
    }

    kind kind_;
    report facts_;
    std::exception_ptr thrown_;
};

/// A call of the library as a part of a job. It is in the list of its thread until it has ended.
class background_call {
public:
    explicit background_call(request begun) : call_(begun.release())
    {
        if (call_ != nullptr && !call_->progress() && !call_->is_in_a_list()) call_->join();
    }
    background_call(const background_call&) = delete;
    background_call& operator=(const background_call&) = delete;
    ~background_call() { static_cast<void>(request(std::move(call_))); }  // gives it up if it has not ended

    bool test(report& facts)
    {
        if (call_ == nullptr) return true;
        if (call_->is_in_a_list()) return false;
        const std::unique_ptr<pending_call> ended = std::move(call_);
#if defined(__cpp_exceptions)
        facts = conclude(ended->name(), ended->result(), nullptr);
#else
        std::error_code code;
        facts = conclude(ended->name(), ended->result(), &code);
#endif
        return true;
    }

private:
    std::unique_ptr<pending_call> call_;
};

/// Anything else: a function that says whether it has ended.
template <class Test>
class background_test {
public:
    explicit background_test(Test test) : test_(std::move(test)) {}
    bool test(report& facts)
    {
        if constexpr (std::is_invocable_v<Test&, report&>) return test_(facts);
        else return test_();
    }

private:
    Test test_;
};

template <class Start>
using begun_by = std::decay_t<std::invoke_result_t<Start&>>;

template <class Test>
inline constexpr bool is_background_test =
    std::is_invocable_r_v<bool, Test&> || std::is_invocable_r_v<bool, Test&, report&>;

/// May a progress_thread begin what `Start` begins?
template <class Start>
constexpr bool begins_work()
{
    if constexpr (!std::is_invocable_v<Start&>) return false;
    else return std::is_same_v<begun_by<Start>, request> || is_background_test<begun_by<Start>>;
}

template <class Start, class Then>
class background_job_of final : public background_job {
public:
    background_job_of(kind of, Start start, Then then)
        : background_job(of), start_(std::move(start)), then_(std::move(then))
    {}

private:
    using begun = std::conditional_t<std::is_same_v<begun_by<Start>, request>, background_call,
                                     background_test<begun_by<Start>>>;

    void start() override { begun_.emplace((*start_)()); }
    bool turn(report& facts) override { return begun_->test(facts); }
    void let_go() override
    {
        begun_.reset();
        start_.reset();
    }
    void tell(const report& facts, const std::exception_ptr& failed) override { then_(facts, failed); }

    std::optional<Start> start_;  // kept, because it may own the buffers of the call
    std::optional<begun> begun_;
    Then then_;
};

/// The end of a job, for whoever waits for it.
class background_end {
public:
    void tell(const report& facts, const std::exception_ptr& failed)
    {
        {
            const std::lock_guard lock(mutex_);
            facts_ = facts;
            thrown_ = failed;
            ended_ = true;
        }
        changed_.notify_all();
    }

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
    /// Valid after the end.
    report conclude(std::error_code* code)
    {
        if (code != nullptr) code->clear();
#if defined(__cpp_exceptions)
        if (thrown_ != nullptr) {
            if (code == nullptr) std::rethrow_exception(thrown_);
            try {
                std::rethrow_exception(thrown_);
            } catch (const error&) {  // which is in facts_
            }
        }
#endif
        if (facts_.trouble.ok()) return facts_;
        if (code == nullptr) raise("background_request::wait", facts_.trouble);
        *code = make_error_code(facts_.trouble.code);
        return facts_;
    }

private:
    home made_in_;
    std::mutex mutex_;
    std::condition_variable changed_;
    report facts_;
    std::exception_ptr thrown_;
    bool ended_ = false;
};

}  // namespace detail

/// Work of a progress_thread, as a request that any thread may wait for. Its buffers belong to the library
/// until it has ended. If the request is destroyed or assigned to before that, it waits for the end, because
/// a thread cannot give up a call of another thread. A process that was forked meanwhile does not wait, since
/// it has no such thread: see ccoll::request.
class [[nodiscard]] background_request {
public:
    background_request() = default;
    explicit background_request(std::shared_ptr<detail::background_end> end) : end_(std::move(end)) {}
    background_request(background_request&&) noexcept = default;
    background_request& operator=(background_request&& other) noexcept
    {
        if (this != &other) {
            let_end();
            end_ = std::move(other.end_);
        }
        return *this;
    }
    ~background_request() { let_end(); }

    /// Is there work to wait for?
    bool valid() const noexcept { return end_ != nullptr; }
    /// Has it ended? Makes no progress itself and never sleeps.
    bool test() { return end_ == nullptr || !end_->is_here() || end_->has_ended(); }
    /// Waits for the end. Not on the progress thread itself, which would wait for ever.
    /// @return what a blocking call returns
    /// @throw what it throws, or what a function of the work threw
    report wait() { return wait_for(nullptr); }
    /// The same, but the error is stored in `code`. An exception that is not a ccoll::error is still thrown.
    report wait(std::error_code& code) { return wait_for(&code); }

private:
    report wait_for(std::error_code* code)
    {
        if (end_ == nullptr) return {};
        if (!end_->is_here())
            return detail::refuse_wait("background_request::wait", status::no_communicator, detail::forked,
                                       code);
        end_->wait();
        const std::shared_ptr<detail::background_end> ended = std::move(end_);
        return ended->conclude(code);
    }
    void let_end() noexcept
    {
        if (end_ != nullptr && end_->is_here()) end_->wait();
    }

    std::shared_ptr<detail::background_end> end_;
};

namespace detail {

/// The thread of a progress_thread, and what it is told.
class progress_worker {
public:
    using job = std::unique_ptr<background_job>;

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

    void take(job fresh)
    {
        {
            const std::lock_guard lock(mutex_);
            fresh_.push_back(std::move(fresh));
        }
        changed_.notify_one();
    }
    bool is_this_thread() const { return thread_.get_id() == std::this_thread::get_id(); }

private:
    using kind = background_job::kind;

    /// Begins what may begin.
    /// @return false if nothing is left to do and nothing will follow
    bool begin_fresh()
    {
        bool ends = false;
        {
            std::unique_lock lock(mutex_);
            if (open_.empty() && waiting_.empty())
                changed_.wait(lock, [&] { return ends_ || !fresh_.empty(); });
            for (job& each : fresh_) waiting_.push_back(std::move(each));
            fresh_.clear();
            ends = ends_;
        }
        while (!waiting_.empty() && (waiting_.front()->what() != kind::alone || collectives_ == 0)) {
            open_.push_back(std::move(waiting_.front()));
            waiting_.pop_front();
            if (open_.back()->what() != kind::message) ++collectives_;
            open_.back()->begin();
        }
        return !ends || !waiting_.empty() || collectives_ > 0;
    }
    bool has_ended(background_job& each)
    {
        if (!each.advance()) return false;
        if (each.what() != kind::message) --collectives_;
        return true;
    }
    void serve()
    {
        constexpr int patience = 1000;
        for (int vain = 0; begin_fresh();) {
            const bool moved = pending_calls::of_this_thread().progress();
            const std::size_t before = open_.size();
            std::erase_if(open_, [&](const job& each) { return has_ended(*each); });
            vain = moved || open_.size() < before ? 0 : vain + 1;
            if (vain > patience) std::this_thread::sleep_for(std::chrono::microseconds(50));
            else if (vain > 0) std::this_thread::yield();
        }
        for (const job& each : open_) each->give_up();
        open_.clear();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<job> fresh_;
    bool ends_ = false;
    // Only the thread uses these.
    std::deque<job> waiting_;  ///< for their turn
    std::vector<job> open_;
    int collectives_ = 0;  ///< that are open, and work that is alone
    std::thread thread_;   // last, because it uses all other members
};

}  // namespace detail

/// A thread that begins calls and makes progress with them. It sleeps while it has none. While it has some,
/// it tests them again and again, and yields its core in between (after 1000 rounds without progress it
/// sleeps 50 us at a time).
///
/// All calls on a communicator that is used here must be begun here, because only one thread at a time may
/// use a communicator. They begin in the order in which they are given, which must be the same on all ranks.
/// With MPI the level must be MPI_THREAD_MULTIPLE if other threads call MPI meanwhile; otherwise
/// MPI_THREAD_SERIALIZED is enough. The destructor waits until all calls have ended but those of
/// begin_message. A Timeout in the plan makes sure that they do. With MPI the destructor must run before
/// MPI_Finalize. In a process that is forked there is no such thread: the destructor does nothing, and
/// nothing can be begun.
///
/// The functions that it is given are called on the thread, and need only be movable.
///
///   start  () -> ccoll::request, called once: `helper.begin([&] { return ccoll::iallreduce<P...>(x, y,
///          comm); })`. Or, for what is no call of the library (requests of MPI, several steps in a row):
///          () -> test, where test() -> bool, or test(ccoll::report&) -> bool, is called again and again
///          until it returns true. It must not wait. `start` is destroyed when the work has ended, so it may
///          own the buffers; what it refers to must live until then.
///   then   (const ccoll::report&, std::exception_ptr), called once, when the work has ended and `start` is
///          destroyed: null if all went well, otherwise what was thrown. The report has the trouble if that
///          is a ccoll::error. `then` may begin more work. It must not throw, nor wait for work of this
///          thread.
///
/// @throw ccoll::error  all members: (no_communicator) in a process that was forked since the thread was
///                      started
class progress_thread {
    using kind = detail::background_job::kind;

public:
    progress_thread() = default;
    progress_thread(const progress_thread&) = delete;
    progress_thread& operator=(const progress_thread&) = delete;

    /// Begins a call on the thread, and returns at once. Errors are thrown by wait() of the result.
    /// Cost: a few allocations, and waking the thread if it sleeps.
    template <class Start>
    background_request begin(Start start)
    {
        return begin_as(kind::collective, std::move(start));
    }
    /// The same, but `then` is told of the end, so that no thread has to wait for it.
    template <class Start, class Then>
    void begin(Start start, Then then)
    {
        begin_as(kind::collective, std::move(start), std::move(then));
    }

    /// The same for a message between two ranks, for which nothing else waits: neither run() nor the
    /// destructor. Messages that have not ended by then are given up, with a ccoll::error (abandoned).
    template <class Start>
    background_request begin_message(Start start)
    {
        return begin_as(kind::message, std::move(start));
    }
    template <class Start, class Then>
    void begin_message(Start start, Then then)
    {
        begin_as(kind::message, std::move(start), std::move(then));
    }

    /// Runs `work` on the thread when all collectives that were given before have ended, and before what is
    /// given later, and waits for it. It is for calls that block, such as those that make a communicator:
    /// nothing else makes progress meanwhile. Not on the thread itself.
    /// @return what `work` returns
    /// @throw what `work` throws; ccoll::error (out_of_turn) on the thread itself
    template <class Work>
    std::decay_t<std::invoke_result_t<Work&>> run(Work work)
    {
        using result = std::decay_t<std::invoke_result_t<Work&>>;
        const auto ended = [] { return true; };
        if (!detail::is_elsewhere(worker_) && worker_->is_this_thread())
            raise("progress_thread::run", {status::out_of_turn},
                  "it waits for the thread on which it was called");
        if constexpr (std::is_void_v<result>) {
            begin_as(kind::alone, [&] {
                work();
                return ended;
            }).wait();
        } else {
            std::optional<result> returned;
            begin_as(kind::alone, [&] {
                returned.emplace(work());
                return ended;
            }).wait();
            return std::move(*returned);
        }
    }

private:
    template <class Start, class Then>
    void begin_as(kind of, Start start, Then then)
    {
        static_assert(detail::begins_work<Start>(),
                      "ccoll: what begins work on a progress_thread takes nothing, and returns a "
                      "ccoll::request or a function that returns true when the work has ended");
        static_assert(std::is_invocable_v<Then&, const report&, std::exception_ptr>,
                      "ccoll: what is told of the end on a progress_thread takes (const ccoll::report&, "
                      "std::exception_ptr)");
        if (detail::is_elsewhere(worker_))
            raise("progress_thread::begin", {status::no_communicator}, detail::forked);
        if constexpr (detail::begins_work<Start>() &&
                      std::is_invocable_v<Then&, const report&, std::exception_ptr>)
            worker_->take(std::make_unique<detail::background_job_of<Start, Then>>(of, std::move(start),
                                                                                   std::move(then)));
    }
    template <class Start>
    background_request begin_as(kind of, Start start)
    {
        const std::shared_ptr<detail::background_end> end(new detail::background_end,
                                                          detail::delete_at_home<detail::background_end>{});
        begin_as(of, std::move(start),
                 [end](const report& facts, const std::exception_ptr& failed) { end->tell(facts, failed); });
        return background_request(end);
    }

    detail::at_home<detail::progress_worker> worker_{new detail::progress_worker};
};

}  // namespace ccoll::inline CCOLL_ABI
