// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wait/pending.hpp - floor 3. A call of any type that has begun, and the list of the calls that a thread
// has under way. Waiting for one of them makes progress with the others. So they may be completed in any
// order, and in different orders on different ranks.
#pragma once

#include <cstdint>
#include <utility>

#include <ccoll/base/clock.hpp>
#include <ccoll/base/exact.hpp>
#include <ccoll/base/extremes.hpp>
#include <ccoll/base/process.hpp>
#include <ccoll/base/workspace.hpp>
#include <ccoll/instrument/report.hpp>
#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

struct outcome {
    report facts;
    verdict trouble;
    const char* transport_says = "";
};

class pending_call {
public:
    pending_call() = default;
    pending_call(const pending_call&) = delete;
    pending_call& operator=(const pending_call&) = delete;
    virtual ~pending_call() { leave(); }

    /// Does what can be done without waiting.
    /// @return true when the call has ended; from then on it does nothing
    bool progress()
    {
        const sole_use mine(user_);
        if (!mine.granted())
            return false;  // another thread is on the communicator, which is told to the caller of this one
        const detail::exact_call environment;
        return advance();
    }
    /// Who uses its communicator; null: this is not noted.
    thread_in_it* user() const noexcept { return user_; }
    void note_user(thread_in_it& user) noexcept { user_ = &user; }
    /// Did the last progress() achieve anything?
    virtual bool moved() const = 0;
    /// After a progress() that achieved nothing: sleeps until something may have happened.
    virtual void idle() = 0;
    /// Where idle() sleeps now, if another thread can end that sleep.
    virtual resting_place rest() { return {}; }
    /// Ends the call on this rank and tells the others.
    virtual void abandon() = 0;
    /// The same, for a reason. Does nothing when the call has ended.
    virtual void give_up(const verdict& why) = 0;
    /// The result of a call that has ended.
    virtual const outcome& result() const = 0;
    /// What all ranks have divided blocks of their values by (block_scale), where the elements of the call
    /// are, as long as the call lives; null: nothing.
    virtual const std::uint8_t* scales_of_blocks() const { return nullptr; }
    virtual const char* name() const = 0;
    /// May another thread move it on from now on? Not where queues of codecs, or turns with a peer, belong to
    /// the thread that began it.
    virtual bool may_change_thread() const { return false; }

    /// Adds this call to the thread's list. The destructor removes it.
    inline void join();
    inline void leave();
    bool is_in_a_list() const { return list_ != nullptr; }

private:
    /// What progress() does, in the environment of detail::exact_call.
    virtual bool advance() = 0;

    friend class pending_calls;
    thread_in_it* user_ = nullptr;
    pending_call *before_ = nullptr, *after_ = nullptr;
    class pending_calls* list_ = nullptr;
};

/// The calls that one thread has under way. The list belongs to its thread, like a communicator at the lower
/// thread levels of MPI, so nothing is locked.
class pending_calls {
public:
    static pending_calls& of_this_thread()
    {
        static thread_local constinit pending_calls all;
        // After a fork, the calls in the list are under way in another process.
        if (const unsigned forks = detail::forks_so_far(); all.forks_ != forks) {
            all.first_ = all.last_ = nullptr;
            all.forks_ = forks;
        }
        return all;
    }

    /// One turn for each call except `spared`, in the order in which they began.
    /// @return true if any call made progress
    bool progress(const pending_call* spared = nullptr)
    {
        bool moved = false;
        for (pending_call* each = first_; each != nullptr;) {
            pending_call* const next = each->after_;
            if (each != spared) {
                if (each->progress()) each->leave();
                moved |= each->moved();
            }
            each = next;
        }
        return moved;
    }

    /// A call in whose idle() the thread may sleep, because it returns for what happens to any of the calls,
    /// and can be woken; null if there is none.
    pending_call* place_to_sleep() const
    {
        const void* const where = first_ != nullptr ? first_->rest().where : nullptr;
        if (where == nullptr) return nullptr;
        for (pending_call* each = first_->after_; each != nullptr; each = each->after_)
            if (each->rest().where != where) return nullptr;
        return first_;
    }

private:
    friend pending_call;
    pending_call *first_ = nullptr, *last_ = nullptr;
    unsigned forks_ = 0;
};

inline void pending_call::join()
{
    list_ = &pending_calls::of_this_thread();
    before_ = std::exchange(list_->last_, this);
    (before_ != nullptr ? before_->after_ : list_->first_) = this;
}

inline void pending_call::leave()
{
    if (list_ == nullptr) return;
    (before_ != nullptr ? before_->after_ : list_->first_) = after_;
    (after_ != nullptr ? after_->before_ : list_->last_) = before_;
    before_ = after_ = nullptr;
    list_ = nullptr;
}

/// Does a part of a call. What a memory space throws in it knows neither call nor rank, so they are added
/// here.
/// @param says  (verdict) -> the words of the space
/// @param told  what other ranks are to be told when something is thrown
template <class Words, class Part>
auto with_names([[maybe_unused]] const pending_call& call, [[maybe_unused]] int me,
                [[maybe_unused]] status& told, [[maybe_unused]] Words says, Part part)
{
#if defined(__cpp_exceptions)
    try {
        return part();
    } catch (const error& e) {
        const verdict v = e.what_happened();
        told = v.code;
        if (v.code != status::device_failed || v.rank != nobody) throw;
        raise(call.name(), {v.code, me}, says({v.code, me}));
    }
#else
    return part();
#endif
}

/// How long a call may wait without progress.
struct time_limit {
    double seconds = 0;           ///< 0: for ever
    double (*now_s)() = nullptr;  ///< a clock if there is a limit; only plans with a Timeout need one
};

/// Measures how long one call has made no progress. A turn counts as a second at most, and as an eighth of
/// the limit: so a job that was stopped as a whole, or computed for long before it looked after its calls,
/// has some turns to go on.
class stop_watch {
public:
    explicit stop_watch(const time_limit& limit) : limit_(limit), waited_(std::min(limit.seconds / 8, 1.0)) {}

    /// Call it once per turn.
    /// @param whom  () -> the rank that is awaited
    /// @return ok, or timed_out on rank `me`
    template <class Awaited>
    verdict after_turn(bool moved, int me, Awaited whom)
    {
        if (!(limit_.seconds > 0)) return {};
        const double waited = waited_.look(limit_.now_s());
        if (moved) waited_.restart();
        return !moved && waited > limit_.seconds
                   ? verdict{status::timed_out, me, whom(), -1, limit_.seconds, waited}
                   : verdict{};
    }

private:
    time_limit limit_;
    waited_seconds waited_;
};

/// Waits for one call, and makes progress with the thread's other calls meanwhile.
CCOLL_OPAQUE inline void complete(pending_call& call)
{
    pending_calls& all = pending_calls::of_this_thread();
    while (!call.progress())
        if (!call.moved() && !all.progress(&call)) call.idle();
    call.leave();
}

}  // namespace ccoll::inline CCOLL_ABI::detail
