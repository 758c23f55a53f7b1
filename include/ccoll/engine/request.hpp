// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/request.hpp - floor 3. What a user holds of a call that has been started, or prepared to be started again and again.
#pragma once

#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include <ccoll/base/config.hpp>
#include <ccoll/engine/pending.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// The report of a call that has ended; throws its trouble, or tells it to `code`.
inline report conclude(const pending_call& call, std::error_code* code)
{
    const outcome& result = call.result();
    if (code != nullptr) code->clear();
    if (result.trouble.ok()) return result.facts;
    if (code == nullptr) raise(call.name(), result.trouble, result.transport_says);
    *code = make_error_code(result.trouble.code);
    report facts = result.facts;
    facts.trouble = result.trouble;
    return facts;
}

/// One turn for all calls of this thread. @return true when `call` has ended
inline bool turn_of(pending_call& call)
{
    const bool ended = call.progress();
    if (ended) call.leave();
    pending_calls::of_this_thread().progress(&call);
    return ended;
}

/// A call that can be started again and again.
class prepared_call {
public:
    virtual ~prepared_call() = default;
    virtual pending_call& start() = 0;
    virtual pending_call& current() = 0;
};

}  // namespace detail

/// A nonblocking call, as MPI_Request with the memory that it needs. Its buffers belong to the library until wait() returns or
/// test() is true; so does an array of counts until the call has begun, which is before `i...` returns.
///
/// Used by the thread that started it. Whoever waits, here or in a blocking call, moves all calls of the thread on, so several may be in
/// flight on one or more communicators, begun in the same order on all ranks of each, and completed in any.
/// Progress is made in test() and wait() only, and in other calls of the library: there is no thread behind it. Not in calls that are
/// handed over to MPI on communicators without requests of their own (docs/limitations.md).
/// As in MPI a nonblocking call is matched by nonblocking ones alone.
///
/// A request that is destroyed or assigned to before its call has ended gives the call up: the other ranks get an error
/// (status::abandoned) that names this one.
class [[nodiscard]] request {
public:
    request() = default;
    explicit request(std::unique_ptr<pending_call> call) : call_(std::move(call)) {}
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

    /// Is there a call to wait for? Not after wait(), nor for a request that was moved from.
    bool valid() const noexcept { return call_ != nullptr; }

    /// Moves on whatever can be moved, and never sleeps. @return true when the call has ended: wait() then tells how, at once.
    CCOLL_OPAQUE bool test() { return call_ == nullptr || detail::turn_of(*call_); }

    /// Waits for the end. @return what a blocking call returns    @throw ccoll::error as a blocking call does
    report wait() { return wait_for(nullptr); }
    report wait(std::error_code& code) { return wait_for(&code); }

private:
    CCOLL_OPAQUE report wait_for(std::error_code* code)
    {
        if (call_ == nullptr) return {};
        complete(*call_);
        const std::unique_ptr<pending_call> ended = std::move(call_);
        return detail::conclude(*ended, code);
    }
    void give_up() noexcept
    {
        if (call_ != nullptr && !call_->progress()) call_->abandon();
        call_.reset();
    }

    std::unique_ptr<pending_call> call_;
};

/// Waits for all, and then throws the trouble of the first that had any; the others' is told by none. Their reports are dropped: call
/// wait() on each to have them.
inline void wait_all(std::span<request> requests)
{
    std::error_code first;
    verdict trouble;
    for (request& each : requests) {
        std::error_code code;
        const report facts = each.wait(code);
        if (code && !first) first = code, trouble = facts.trouble;
    }
    if (first) raise("wait_all", trouble);
}

/// A prepared call: plan, buffers, root and communicator are fixed, start() begins it once more. From the second start on nothing is
/// allocated. Counts of a v variant are read at every start. All ranks start it, in the same order among their other calls on the
/// communicator, and wait before they start it again.
class [[nodiscard]] persistent {
public:
    persistent() = default;
    explicit persistent(std::unique_ptr<detail::prepared_call> call) : call_(std::move(call)) {}
    persistent(persistent&& other) noexcept : call_(std::move(other.call_)), started_(std::exchange(other.started_, false)) {}
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

    /// @throw ccoll::error  (bad_argument, on this rank) when the last start has not been waited for
    CCOLL_OPAQUE void start()
    {
        if (started_ || call_ == nullptr) raise("persistent::start", {status::bad_argument});
        pending_call& call = call_->start();  // throws if the communicator is gone
        started_ = true;
        if (!call.progress()) call.join();
    }
    CCOLL_OPAQUE bool test() { return !started_ || detail::turn_of(call_->current()); }
    report wait() { return wait_for(nullptr); }
    report wait(std::error_code& code) { return wait_for(&code); }

private:
    CCOLL_OPAQUE report wait_for(std::error_code* code)
    {
        if (!started_) return {};
        complete(call_->current());
        started_ = false;
        return detail::conclude(call_->current(), code);
    }
    void give_up() noexcept
    {
        if (started_ && call_ != nullptr && !call_->current().progress()) call_->current().abandon();
        started_ = false;
        call_.reset();
    }

    std::unique_ptr<detail::prepared_call> call_;
    bool started_ = false;
};

}  // namespace ccoll
