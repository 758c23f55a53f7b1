// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wait/request.hpp - floor 3. What a user holds of a call that has been started, or that has been prepared
// so that it can be started repeatedly.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <ccoll/base/config.hpp>
#include <ccoll/base/process.hpp>
#include <ccoll/wait/pending.hpp>
#include <ccoll/agree/plan_word.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Was this caused by a codec, or by the bytes that it was given to read?
constexpr bool is_trouble_of_codec(const verdict& v) noexcept
{
    switch (v.code) {
    case status::corrupt:
    case status::foreign_frame:
    case status::out_of_space:
    case status::unsupported:
    case status::too_large:
    case status::not_an_addend: return true;
    default: return v.code == status::bad_argument && v.step >= 0;
    }
}

/// What an error says in addition to the verdict.
[[gnu::cold]] inline std::string says_more(const outcome& result)
{
    if (is_trouble_of_codec(result.trouble)) return std::string("the codec is ") + result.facts.codec;
    if (result.trouble.code != status::plan_differs) return result.transport_says;
    if (result.facts.ran_by == ran_by::point_to_point)
        return "the codec, the kind of bound or the element type";
    const auto word = [](double x) {
        return x >= 0 && x <= 4294967295.0 ? static_cast<std::uint32_t>(x) : 0;
    };  // from the wire
    return what_differs(word(result.trouble.expected), word(result.trouble.found));
}

/// Returns the report of a call that has ended. Its trouble is thrown, or stored in `code`.
inline report conclude(const char* call, const outcome& result, std::error_code* code)
{
    if (code != nullptr) code->clear();
    if (result.trouble.ok()) return result.facts;
    if (code == nullptr) raise(call, result.trouble, says_more(result).c_str());
    *code = make_error_code(result.trouble.code);
    report facts = result.facts;
    facts.trouble = result.trouble;
    return facts;
}

/// The result of waiting in vain: `why` is thrown, or its code is stored.
[[gnu::cold]] inline report refuse_wait(const char* call, status code, const char* why,
                                        std::error_code* stored)
{
    report facts;
    facts.trouble = {code};
    if (stored == nullptr) raise(call, facts.trouble, why);
    *stored = make_error_code(code);
    return facts;
}

/// One turn for all calls of this thread, of which `call` is one from now on.
/// @return true if `call` has ended
inline bool turn_of(pending_call& call)
{
    const sole_use mine(call.user());
    if (!mine.granted()) raise(call.name(), {status::out_of_turn}, sole_use::refused);
    const bool ended = call.progress();
    if (ended) call.leave();
    else if (!call.is_in_a_list()) call.join();  // another thread has begun it
    pending_calls::of_this_thread().progress(&call);
    return ended;
}

/// Gives a call up that has not ended.
/// @return false if another thread is on its communicator: then it must be left as it is, for ever
inline bool abandoned(pending_call& call) noexcept
{
    const sole_use mine(call.user());
    if (!mine.granted()) return false;
    went_well([&] {  // else its destructor tells the others
        if (!call.progress()) call.abandon();
    });
    return true;
}

/// A call that can be started repeatedly.
class prepared_call {
public:
    virtual ~prepared_call() = default;
    virtual pending_call& start() = 0;
    virtual pending_call& current() = 0;
};

}  // namespace ccoll::inline CCOLL_ABI::detail

namespace ccoll::inline CCOLL_ABI {

/// A nonblocking call, like an MPI_Request together with the memory that it needs. Its buffers belong to the
/// library until wait() returns or test() is true. Arrays of counts belong to it until the call has begun,
/// which is before `i...` returns.
///
/// The thread that started it uses it, or the one that it was handed over to (hand_over). Waiting, here or in
/// a blocking call, makes progress with all calls of the thread. So several calls may be in flight on one or
/// more communicators. They must begin in the same order on all ranks of each communicator, and may be
/// completed in any order.
/// Progress is made only in test() and wait(), and in other calls of the library, because there is no thread
/// behind it; progress.hpp has one for those who want it. Calls that are passed on to MPI make none on
/// communicators without requests of their own (docs/limitations.md). As in MPI, a nonblocking call matches
/// only nonblocking calls.
///
/// A request that is destroyed or assigned to before its call has ended gives the call up. Ranks that still
/// wait for something of the call then get an error (status::abandoned) that names this rank. In a process
/// that was forked meanwhile nothing is given up: only the process that began the call may go on with it, and
/// in the other one wait() fails (status::no_communicator).
class [[nodiscard]] request {
public:
    request() = default;
    explicit request(std::unique_ptr<detail::pending_call> call) : call_(call.release()) {}
    request(request&&) noexcept = default;
    request& operator=(request&& other) noexcept
    {
        if (this != &other) {
            give_up();
            call_ = std::move(other.call_);
        }
        return *this;
    }
    ~request() { give_up(); }

    /// Is there a call to wait for? Not after wait(), and not for a request that was moved from.
    bool valid() const noexcept { return call_ != nullptr; }

    /// Releases the call from the thread that began it, which must be the caller of this: `other =
    /// call.hand_over()` may then be tested, waited for and destroyed by any one thread. From then on that
    /// thread alone uses the communicator, until the call has ended: with MPI at the level
    /// MPI_THREAD_SERIALIZED or, where both threads are in MPI at once, MPI_THREAD_MULTIPLE.
    /// @throw ccoll::error  (out_of_turn) for calls that belong to their thread: point-to-point, with Exec::
    ///                      or Fault::, of device buffers, or on two levels. The request stays as it was.
    CCOLL_OPAQUE request hand_over()
    {
        if (call_ != nullptr && !detail::is_elsewhere(call_)) {
            if (!call_->may_change_thread())
                raise("request::hand_over", {status::out_of_turn},
                      "this call belongs to the thread that began it: begin it there, or on a "
                      "ccoll::progress_thread");
            call_->leave();
        }
        return std::move(*this);
    }

    /// Makes what progress is possible and never sleeps.
    /// @return true when the call has ended; wait() then returns or throws at once
    CCOLL_OPAQUE bool test()
    {
        return call_ == nullptr || detail::is_elsewhere(call_) || detail::turn_of(*call_);
    }

    /// Waits for the end.
    /// @return what the blocking call returns
    /// @throw ccoll::error  as the blocking call does
    report wait() { return wait_for(nullptr); }
    report wait(std::error_code& code) { return wait_for(&code); }

    /// Takes the call out, for objects that are built around it. Afterwards this request has no call.
    std::unique_ptr<detail::pending_call> release() noexcept
    {
        return std::unique_ptr<detail::pending_call>(call_.release());
    }

private:
    CCOLL_OPAQUE report wait_for(std::error_code* code)
    {
        if (call_ == nullptr) return {};
        if (detail::is_elsewhere(call_))
            return detail::refuse_wait("request::wait", status::no_communicator, detail::forked, code);
        {  // ends before the call, which may be the last to have the communicator
            const sole_use mine(call_->user());
            if (!mine.granted())
                return detail::refuse_wait(call_->name(), status::out_of_turn, sole_use::refused, code);
            detail::complete(*call_);
        }
        const detail::at_home<detail::pending_call> ended = std::move(call_);
        return detail::conclude(ended->name(), ended->result(), code);
    }
    void give_up() noexcept
    {
        if (call_ != nullptr && !detail::is_elsewhere(call_) && !detail::abandoned(*call_))
            static_cast<void>(call_.release());
        call_.reset();
    }

    detail::at_home<detail::pending_call> call_;
};

/// Waits for all, and then throws the trouble of the first request that had any. Trouble of others and all
/// reports are lost; call wait() on each request to get them.
inline void wait_all(std::span<request> requests)
{
    std::error_code first;
    verdict trouble;
    for (request& each : requests) {
        std::error_code code;
        const report facts = each.wait(code);
        if (code && !first) {
            first = code;
            trouble = facts.trouble;
        }
    }
    if (first) raise("wait_all", trouble);
}

/// A prepared call. Plan, buffers, root and communicator are fixed, and start() begins the call once more.
/// From the second start on nothing is allocated. Counts of a v variant are read at every start. All ranks
/// start it in the same order among their other calls on the communicator, and wait before they start it
/// again.
class [[nodiscard]] persistent {
public:
    persistent() = default;
    explicit persistent(std::unique_ptr<detail::prepared_call> call) : call_(call.release()) {}
    persistent(persistent&& other) noexcept
        : call_(std::move(other.call_)), started_(std::exchange(other.started_, false))
    {}
    persistent& operator=(persistent&& other) noexcept
    {
        if (this != &other) {
            give_up();
            call_ = std::move(other.call_);
            started_ = std::exchange(other.started_, false);
        }
        return *this;
    }
    ~persistent() { give_up(); }

    bool valid() const noexcept { return call_ != nullptr; }

    /// Takes the call out, for objects that are built around it. It must not be running. Afterwards there is
    /// no call in this.
    std::unique_ptr<detail::prepared_call> release() noexcept
    {
        return std::unique_ptr<detail::prepared_call>(call_.release());
    }

    /// @throw ccoll::error  (out_of_turn, on this rank) if the last start has not been waited for, or there
    ///                      is no call;
    ///                      (no_communicator) in a process that was forked since the call was prepared
    CCOLL_OPAQUE void start()
    {
        if (call_ == nullptr) raise("persistent::start", {status::out_of_turn}, no_call);
        if (detail::is_elsewhere(call_))
            raise("persistent::start", {status::no_communicator}, detail::forked);
        if (started_)
            raise("persistent::start", {status::out_of_turn},
                  "the last start has not been waited for; call wait() first");
        detail::pending_call& call = call_->start();  // throws if the communicator is gone
        started_ = true;
        if (!call.progress()) call.join();
    }
    CCOLL_OPAQUE bool test()
    {
        return !started_ || detail::is_elsewhere(call_) || detail::turn_of(call_->current());
    }
    /// @throw ccoll::error  as a blocking call does, and (out_of_turn, on this rank) when start() has not
    ///                      been called since the last wait()
    report wait() { return wait_for(nullptr); }
    report wait(std::error_code& code) { return wait_for(&code); }

private:
    CCOLL_OPAQUE report wait_for(std::error_code* code)
    {
        if (!started_) {
            const char* const why =
                call_ == nullptr ? no_call : "it has not been started; call start() first";
            return detail::refuse_wait("persistent::wait", status::out_of_turn, why, code);
        }
        if (detail::is_elsewhere(call_))
            return detail::refuse_wait("persistent::wait", status::no_communicator, detail::forked, code);
        const sole_use mine(call_->current().user());
        if (!mine.granted())
            return detail::refuse_wait("persistent::wait", status::out_of_turn, sole_use::refused, code);
        complete(call_->current());
        started_ = false;
        return detail::conclude(call_->current().name(), call_->current().result(), code);
    }
    void give_up() noexcept
    {
        if (started_ && call_ != nullptr && !detail::is_elsewhere(call_) &&
            !detail::abandoned(call_->current()))
            static_cast<void>(call_.release());
        started_ = false;
        call_.reset();
    }

    static constexpr const char* no_call =
        "there is no call in it, because it was moved from or never had one";

    detail::at_home<detail::prepared_call> call_;
    bool started_ = false;
};

}  // namespace ccoll::inline CCOLL_ABI
