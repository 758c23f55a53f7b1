// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// engine/pending.hpp - floor 3. A call that has begun, whatever its types, and the list of those that a thread has under way:
// waiting for one of them makes progress with the others, so that they may be completed in any order, and in another order on each rank.
#pragma once

#include <utility>

#include <ccoll/base/clock.hpp>
#include <ccoll/base/config.hpp>
#include <ccoll/instrument/report.hpp>

namespace ccoll::inline CCOLL_ABI {

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

    /// Does what can be done without waiting. @return true when the call has ended; then it does nothing any more.
    virtual bool progress() = 0;
    /// Did the last progress() come any further?
    virtual bool moved() const = 0;
    /// After a progress() in vain: sleeps until something may have moved.
    virtual void idle() = 0;
    /// Ends the call on this rank and tells the others.
    virtual void abandon() = 0;
    /// The same, for a reason. Does nothing when the call has ended.
    virtual void give_up(const verdict& why) = 0;
    /// Of a call that has ended.
    virtual const outcome& result() const = 0;
    virtual const char* name() const = 0;

    /// Takes a place in the list of this thread's calls; given back at the end.
    inline void join();
    inline void leave();

private:
    friend class pending_calls;
    pending_call *before_ = nullptr, *after_ = nullptr;
    class pending_calls* list_ = nullptr;
};

/// The calls that one thread has under way. A thread's own, as a communicator is at MPI's lowest thread levels: nothing is locked.
class pending_calls {
public:
    static pending_calls& of_this_thread()
    {
        static thread_local constinit pending_calls all;
        return all;
    }

    /// One turn for each but `spared`, in the order in which they began. @return true when any came further.
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

private:
    friend pending_call;
    pending_call *first_ = nullptr, *last_ = nullptr;
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

/// Does a part of a call. What a memory space throws in it knows neither call nor rank, so they are added here.
/// @param says   () -> the words of the space    @param told  what other ranks are to be told when something is thrown
template <class Words, class Part>
auto with_names(const pending_call& call, int me, status& told, Words says, Part part)
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

/// How long a call may wait in vain.
struct time_limit {
    double seconds = 0;           ///< 0: for ever
    double (*now_s)() = nullptr;  ///< a clock, where there is a limit: only a plan with a Timeout has one
};

/// Times the turns in vain of one call.
class stop_watch {
public:
    explicit stop_watch(const time_limit& limit) : limit_(limit) {}

    /// Once per turn. @param whom  () -> the rank that is awaited    @return ok, or timed_out on rank `me`
    template <class Awaited>
    verdict after_turn(bool moved, int me, Awaited whom)
    {
        if (!(limit_.seconds > 0)) return {};
        const double now = limit_.now_s();
        if (moved || !waiting_) since_ = now;
        waiting_ = !moved;
        const double waited = now - since_;
        return waited > limit_.seconds ? verdict{status::timed_out, me, whom(), -1, limit_.seconds, waited} : verdict{};
    }

private:
    time_limit limit_;
    bool waiting_ = false;
    double since_ = 0;
};

/// Waits for one call, and moves the thread's others on meanwhile.
CCOLL_OPAQUE inline void complete(pending_call& call)
{
    pending_calls& all = pending_calls::of_this_thread();
    while (!call.progress())
        if (!call.moved() && !all.progress(&call)) call.idle();
    call.leave();
}

}  // namespace ccoll
