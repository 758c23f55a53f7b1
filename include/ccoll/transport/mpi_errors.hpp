// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/mpi_errors.hpp - floor 2. Errors of MPI as return codes and as text, whatever the user's error
// handlers are.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <ccoll/transport/mpi_calls.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// For a few instructions or local calls of MPI. Not std::mutex: <mutex> costs every file that includes it
/// 0.1 s of compiling.
class spin_lock {
public:
    void lock() noexcept
    {
        while (taken_.test_and_set(std::memory_order_acquire)) sched_yield();
    }
    void unlock() noexcept { taken_.clear(std::memory_order_release); }

private:
    std::atomic_flag taken_;
};
class held {
public:
    explicit held(spin_lock& lock) noexcept : lock_(lock) { lock_.lock(); }
    ~held() { lock_.unlock(); }
    held(const held&) = delete;
    held& operator=(const held&) = delete;

private:
    spin_lock& lock_;
};

/// Passes on what a call returned that has begun something. What a failed one leaves in the handle means
/// nothing.
inline int begun(int rc, MPI_Request& handle) noexcept
{
    if (rc != MPI_SUCCESS) handle = MPI_REQUEST_NULL;
    return rc;
}

/// MPI's text for the error `rc`.
[[gnu::cold]] inline void put_error_text(int rc, char (&says)[MPI_MAX_ERROR_STRING + 1])
{
    int length = 0;
    if (CCOLL_MPI(Error_string)(rc, says, &length) != MPI_SUCCESS)
        std::snprintf(says, sizeof says, "MPI error %d", rc);
}

/// `what`, and MPI's text for the error `rc`. Valid until this thread is refused something else.
[[gnu::cold]] inline const char* refused_by_mpi(const char* what, int rc)
{
    static thread_local char says[2 * MPI_MAX_ERROR_STRING];
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    put_error_text(rc, text);
    std::snprintf(says, sizeof says, "%s: %s", what, text);
    return says;
}

inline bool handlers_stay_of_environment() noexcept
{
    const char* const wish = std::getenv("CCOLL_ERROR_HANDLERS");
    return wish != nullptr && std::strcmp(wish, "keep") == 0;
}

/// Whether communicators that are not ours keep their error handlers at all times.
inline std::atomic<bool>& handlers_stay() noexcept
{
    static std::atomic<bool> one{handlers_stay_of_environment()};
    return one;
}

/// The error handler of one communicator, replaced by MPI_ERRORS_RETURN until `put_back`.
template <class Handle>
class put_aside_handler {
public:
    void take(Handle comm)
    {
        MPI_Errhandler was = MPI_ERRHANDLER_NULL;
        taken_ = CCOLL_MPI(Comm_get_errhandler)(comm, &was) == MPI_SUCCESS;
        if (!taken_) return;
        comm_ = comm;
        was_ = was;
        CCOLL_MPI(Comm_set_errhandler)(comm, MPI_ERRORS_RETURN);
    }
    void put_back()
    {
        if (!taken_) return;
        CCOLL_MPI(Comm_set_errhandler)(comm_, was_);
        // MPI's own handlers need not be freed, and MPICH refuses to.
        if (was_ != MPI_ERRORS_ARE_FATAL && was_ != MPI_ERRORS_RETURN) CCOLL_MPI(Errhandler_free)(&was_);
        taken_ = false;
    }

private:
    bool taken_ = false;
    Handle comm_ = MPI_COMM_NULL;
    MPI_Errhandler was_ = MPI_ERRHANDLER_NULL;
};

/// While one lives, MPI returns errors of calls on `comm` and calls no handler of the user for them. The same
/// holds for errors that belong to no communicator, which MPI 3 gives to the handler of MPI_COMM_WORLD and
/// MPI 4 to that of MPI_COMM_SELF.
///
/// It is for a few calls at a time, because errors of other threads on these communicators are then returned
/// as well. The handlers of the last two are shared by all threads: the first to come puts them aside, and
/// the last to go puts them back.
///
/// With keep_error_handlers it does nothing.
template <class Handle>
class errors_returned {
public:
    /// @param comm  of the user, or MPI_COMM_NULL
    explicit errors_returned(Handle comm)
    {
        if (!acts_) return;
        {
            const held lock(mutex_);
            if (users_++ == 0) {
                world_.take(MPI_COMM_WORLD);
                self_.take(MPI_COMM_SELF);
            }
        }
        if (comm != MPI_COMM_NULL && comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) own_.take(comm);
    }
    ~errors_returned()
    {
        if (!acts_) return;
        own_.put_back();
        const held lock(mutex_);
        if (--users_ != 0) return;
        self_.put_back();
        world_.put_back();
    }
    errors_returned(const errors_returned&) = delete;
    errors_returned& operator=(const errors_returned&) = delete;

private:
    static inline spin_lock mutex_;
    static inline int users_ = 0;
    static inline put_aside_handler<Handle> world_, self_;
    const bool acts_ = !handlers_stay().load(std::memory_order_relaxed);
    put_aside_handler<Handle> own_;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
