// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/mpi_library.hpp - floor 2. What ccoll keeps for each communicator and for MPI as a whole, and when it is freed. Handle is
// always MPI_Comm. These are templates so that a file for which the engine is compiled elsewhere (compiled.hpp) compiles none of it.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <vector>

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/clock.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/base/workspace.hpp>
#include <ccoll/policy/neighbors.hpp>
#include <ccoll/transport/mpi_calls.hpp>
#include <ccoll/transport/mpi_types.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// MPI_Test for a request whose status is not needed.
template <class Request>
bool is_over(Request& r)
{
    int done = 0;
    return CCOLL_MPI(Test)(&r, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
}

/// A message that its receiver may leave unread, with bytes of its own.
struct mpi_aside {
    static constexpr std::size_t most_bytes = 256;
    MPI_Request handle = MPI_REQUEST_NULL;
    std::array<std::byte, most_bytes> bytes;
};

/// MPI's text for the error `rc`.
[[gnu::cold]] inline void put_error_text(int rc, char (&says)[MPI_MAX_ERROR_STRING + 1])
{
    int length = 0;
    if (CCOLL_MPI(Error_string)(rc, says, &length) != MPI_SUCCESS) std::snprintf(says, sizeof says, "MPI error %d", rc);
}

/// What ccoll keeps for one communicator of the user, as an attribute of it. It lives as long as the communicator, or longer if calls are
/// still under way then.
template <class Handle>
struct mpi_state {
    MPI_Comm users = MPI_COMM_NULL;          ///< MPI_COMM_NULL once it has been freed
    MPI_Comm comm = MPI_COMM_NULL;           ///< the private duplicate
    MPI_Request forming = MPI_REQUEST_NULL;  ///< under way while not all ranks have asked for the duplicate
    std::atomic<int> owners{1};              ///< the attribute, and each mpi_comm
    bool told = false;                       ///< `finalized` has been reported
    std::atomic<bool> finalized{false};      ///< MPI must not be called any more
    int rank = 0;
    int size = 1;
    std::uint32_t calls = 0;
    status native = status::ok;
    bool has_requests = false;  ///< nonblocking calls have been started here
    workspace memory;
    std::vector<int> nodes;                          ///< of all ranks; empty until the first question
    std::shared_ptr<const neighbor_list> neighbors;  ///< in the topology; null until the first question, and without one
    std::vector<std::unique_ptr<mpi_aside>> asides;  ///< those that are over are used again
    bool unread = false;                             ///< messages to this rank may stay where they are
    std::vector<std::uint64_t> sent;                 ///< how many messages, to each rank
    std::uint64_t received = 0;                      ///< how many messages
    std::uint64_t due = 0;                           ///< how many messages all ranks have sent to this one, once `is_empty` knows it
    enum class stage : char { in_use, counting, draining, leaving };
    stage emptied = stage::in_use;  ///< how far `is_empty` is
    MPI_Request under_way = MPI_REQUEST_NULL;
    char says[MPI_MAX_ERROR_STRING + 1] = "";

    /// Stores MPI's text for `rc` and returns the corresponding status.
    status heard(int rc)
    {
        if (rc == MPI_SUCCESS) return status::ok;
        int kind = rc;
        CCOLL_MPI(Error_class)(rc, &kind);
        put_error_text(rc, says);
        return kind == MPI_ERR_TRUNCATE ? status::truncated : status::transport_failed;
    }

    /// Have all ranks received all messages? Does not wait; ask again as long as the answer is no. The ranks tell each other how many
    /// messages they have sent. Each receives what comes until it has as many, and then enters a nonblocking barrier. When the barrier is
    /// complete, no message is on its way. A rank that has left a call begins only at the `end`, so before that no rank gets further.
    ///
    /// The barrier alone would not do. Its messages may overtake others, for example the last acknowledgement of a guarded link.
    [[gnu::cold]] bool is_empty(bool end)
    {
        if (emptied == stage::in_use) {
            if (unread && !end) return false;
            const int rc = CCOLL_MPI(Ireduce_scatter_block)(sent.data(), &due, 1, MPI_UINT64_T, MPI_SUM, comm, &under_way);
            if (rc != MPI_SUCCESS) return false;
            emptied = stage::counting;
        }
        drain();
        if (emptied == stage::counting && is_over(under_way)) emptied = stage::draining;
        if (emptied == stage::draining && received >= due && CCOLL_MPI(Ibarrier)(comm, &under_way) == MPI_SUCCESS) emptied = stage::leaving;
        if (emptied != stage::leaving || !is_over(under_way)) return false;
        for (const auto& each : asides)
            if (!is_over(each->handle)) return false;
        return true;
    }

private:
    [[gnu::cold]] void drain()
    {
        std::vector<std::byte> room;
        MPI_Status s;
        for (int found = 1; CCOLL_MPI(Iprobe)(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &s) == MPI_SUCCESS && found != 0;) {
            int count = 0;
            CCOLL_MPI(Get_count)(&s, MPI_BYTE, &count);
            room.resize(static_cast<std::size_t>(count));
            CCOLL_MPI(Recv)(room.data(), count, MPI_BYTE, s.MPI_SOURCE, s.MPI_TAG, comm, MPI_STATUS_IGNORE);
            ++received;
        }
    }
};

/// For a few instructions or local calls of MPI. Not std::mutex: <mutex> costs every file that includes it 0.1 s of compiling.
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

/// What ccoll keeps for MPI as a whole, from the first communicator to MPI_Finalize. There is one, because MPI has one; it is
/// never destroyed, because a program may finalise MPI in the destructor of a static object.
template <class Handle>
class mpi_library {
public:
    using state_type = mpi_state<Handle>;

    static mpi_library& one()
    {
        static mpi_library& it = *new mpi_library;
        return it;
    }

    /// The state of `users`, made at the first call (collectively, as MPI_Comm_dup is), or nullptr and the reason in `why`.
    ///
    /// Waits this many seconds for the other ranks, or for ever if that is 0. A state that is not formed by then is returned all the same,
    /// with `why` as too_late, and a later call goes on waiting.
    state_type* state_of(MPI_Comm users, double seconds, const char*& why)
    {
        why = open_.load(std::memory_order_acquire) ? "" : why_not_open();
        if (*why == 0) why = unusable(users);
        if (*why != 0) return nullptr;
        void* stored = nullptr;
        int found = 0;
        CCOLL_MPI(Comm_get_attr)(users, key_, static_cast<void*>(&stored), &found);
        if (found != 0) return formed(static_cast<state_type*>(stored), seconds, why);
        int inter = 0;
        CCOLL_MPI(Comm_test_inter)(users, &inter);
        if (inter != 0) {
            why = "the communicator is an intercommunicator; merge its groups with MPI_Intercomm_merge and pass the result";
            return nullptr;
        }
        free_empty(false);
        auto fresh = std::make_unique<state_type>();
        fresh->users = users;
        CCOLL_MPI(Comm_rank)(users, &fresh->rank);
        CCOLL_MPI(Comm_size)(users, &fresh->size);
        fresh->sent.resize(static_cast<std::size_t>(fresh->size));
        if (CCOLL_MPI(Comm_set_attr)(users, key_, fresh.get()) != MPI_SUCCESS) {
            why = "MPI_Comm_set_attr failed, and ccoll keeps its state as an attribute of the communicator";
            return nullptr;
        }
        state_type* const state = fresh.release();
        {
            const held lock(mutex_);
            states_.push_back(state);
        }
        if (duplicate(*state) == MPI_SUCCESS) return formed(state, seconds, why);
        why = no_duplicate;
        CCOLL_MPI(Comm_delete_attr)(users, key_);
        return nullptr;
    }

    static void take(state_type& state) noexcept { state.owners.fetch_add(1, std::memory_order_relaxed); }
    /// By an mpi_comm. If the communicator has been freed, its last call gives the state back.
    static void give_back(state_type& state) noexcept
    {
        if (state.owners.fetch_sub(1, std::memory_order_acq_rel) == 1) one().put_away(std::unique_ptr<state_type>(&state));
    }

    /// @param floats  if true, minimum and maximum are operations of ours
    MPI_Op op(native_op which, bool floats) const
    {
        switch (which) {
        case native_op::sum: return MPI_SUM;
        case native_op::prod: return MPI_PROD;
        case native_op::min: return floats ? min_ : MPI_MIN;
        case native_op::max: return floats ? max_ : MPI_MAX;
        case native_op::bit_and: return MPI_BAND;
        case native_op::bit_or: return MPI_BOR;
        case native_op::bit_xor: return MPI_BXOR;
        case native_op::logical_and: return MPI_LAND;
        case native_op::logical_or: return MPI_LOR;
        case native_op::logical_xor: break;
        }
        return MPI_LXOR;
    }

    /// What `why` points to if other ranks have not come in time.
    /// An array, because it is recognised by its address: that of a literal may differ from one file of a program to the next.
    static constexpr char too_late[] = "the other ranks have not made their first call on this communicator, which all make together";

    /// The largest count that MPI's own collectives are trusted with, in elements of all ranks together.
    std::size_t native_limit() const noexcept { return limit_; }

private:
    mpi_library() : limit_(limit_from(std::getenv("CCOLL_NATIVE_LIMIT"))) {}

    static std::size_t limit_from(const char* text)
    {
        if (text == nullptr || *text < '0' || *text > '9') return INT_MAX;
        return static_cast<std::size_t>(std::min<unsigned long long>(std::strtoull(text, nullptr, 10), INT_MAX));
    }

    static constexpr const char* no_duplicate =
        "MPI_Comm_idup failed, and ccoll needs a duplicate of each communicator that it works on; free communicators "
        "that are no longer used";

    /// Duplicates without the hints of the user's communicator, because these may promise what our messages do not keep (no wildcards,
    /// exact lengths). Open MPI 4.1 has no call that omits hints, but it does not copy them either.
    static int duplicate(state_type& state)
    {
#if MPI_VERSION >= 4
        return CCOLL_MPI(Comm_idup_with_info)(state.users, MPI_INFO_NULL, &state.comm, &state.forming);
#else
        return CCOLL_MPI(Comm_idup)(state.users, &state.comm, &state.forming);
#endif
    }

    /// Waits until the duplicate is there.
    static state_type* formed(state_type* state, double seconds, const char*& why)
    {
        if (state->forming == MPI_REQUEST_NULL) return state;
        int rc = MPI_SUCCESS;
        const auto there = [&] {
            int done = 0;
            for (int i = 0; i < 1000 && done == 0 && rc == MPI_SUCCESS; ++i)  // a yield may cost a time slice
                rc = CCOLL_MPI(Test)(&state->forming, &done, MPI_STATUS_IGNORE);
            return rc != MPI_SUCCESS || done != 0;
        };
        if (!within(seconds > 0 ? seconds : std::numeric_limits<double>::infinity(), there)) {
            why = too_late;
            return state;
        }
        if (rc != MPI_SUCCESS) {
            why = no_duplicate;
            return nullptr;
        }
        state->forming = MPI_REQUEST_NULL;
        CCOLL_MPI(Comm_set_errhandler)(state->comm, MPI_ERRORS_RETURN);
        return state;
    }

    /// Takes a state that no call uses any more. Its duplicate is freed when no messages are left in it.
    [[gnu::cold]] void put_away(std::unique_ptr<state_type> state) noexcept
    {
        const held lock(mutex_);
        std::erase(states_, state.get());
        if (!state->finalized) left_.push_back(std::move(state));
    }

    /// "" if MPI can be called. Then it also makes keys and operations, and is not asked again before MPI_Finalize. Until it knows that
    /// this thread may call MPI, it calls only what any thread may call at any time.
    [[gnu::cold]] const char* why_not_open()
    {
        int yes = 0;
        CCOLL_MPI(Initialized)(&yes);
        if (yes == 0) return "MPI is not initialised; call MPI_Init or MPI_Init_thread before the first collective";
        CCOLL_MPI(Finalized)(&yes);
        if (yes != 0) return "MPI is finalised already; finish all collectives before MPI_Finalize";
        if (!is_thread_of_mpi()) return wrong_thread;
        const held lock(mutex_);  // held over local calls of MPI only: a collective one could wait for ever
        if (closed_) return "MPI_Finalize is running; finish all collectives before it";
        if (open_) return "";
        CCOLL_MPI(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, &forget, &key_, nullptr);
        CCOLL_MPI(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, &close, &self_key_, nullptr);
        CCOLL_MPI(Op_create)(&mpi_select<policies::Op::Min>, 1, &min_);
        CCOLL_MPI(Op_create)(&mpi_select<policies::Op::Max>, 1, &max_);
        CCOLL_MPI(Comm_set_attr)(MPI_COMM_SELF, self_key_, this);
        open_.store(true, std::memory_order_release);
        return "";
    }

    /// "" when MPI can be called with `users` from this thread.
    static const char* unusable(MPI_Comm users)
    {
        if (!is_thread_of_mpi()) return wrong_thread;
        if (users == MPI_COMM_NULL)
            return "the communicator is MPI_COMM_NULL; pass one that this rank belongs to (MPI_Comm_split gives MPI_COMM_NULL to "
                   "ranks without a colour)";
        return "";
    }
    static bool is_thread_of_mpi()
    {
        int level = MPI_THREAD_SINGLE, yes = 1;
        CCOLL_MPI(Query_thread)(&level);
        if (level < MPI_THREAD_SERIALIZED) CCOLL_MPI(Is_thread_main)(&yes);
        return yes != 0;
    }
    static constexpr const char* wrong_thread =
        "this is not MPI's main thread and MPI was not initialised for others; ask MPI_Init_thread for "
        "MPI_THREAD_SERIALIZED at least, or call from the main thread";

    /// Asks until `holds` says yes, or for this many seconds.    @return the last answer
    template <class Condition>
    static bool within(double seconds, Condition holds)
    {
        const double end = steady_seconds() + seconds;
        while (!holds()) {
            if (steady_seconds() >= end) return false;
            sched_yield();
        }
        return true;
    }

    /// MPI calls this when it frees a communicator of the user, or when `close` has asked for it. MPI reuses the context of a freed
    /// duplicate for another communicator, which would inherit the messages that are left in it. So a duplicate is freed only when it is
    /// empty. This waits for 10 ms at most, because Open MPI holds a lock meanwhile and other ranks may come much later.
    [[gnu::cold]] static int forget(MPI_Comm, int, void* stored, void*)
    {
        state_type& state = *static_cast<state_type*>(stored);
        state.users = MPI_COMM_NULL;
        // Calls that are under way end on the duplicate, and the last of them gives it back.
        if (state.owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return MPI_SUCCESS;
        std::unique_ptr<state_type> mine(&state);
        mine->memory.trim();
        if (mine->forming != MPI_REQUEST_NULL || mine->comm == MPI_COMM_NULL) {  // no duplicate, or not yet
            one().put_away(std::move(mine));
            return MPI_SUCCESS;
        }
        const bool empty = !mine->unread && within(0.01, [&] { return mine->is_empty(false); });
        {
            mpi_library& library = one();
            const held lock(library.mutex_);
            std::erase(library.states_, mine.get());
            if (!empty) library.left_.push_back(std::move(mine));
        }
        return empty ? CCOLL_MPI(Comm_free)(&mine->comm) : MPI_SUCCESS;
    }

    /// Frees the duplicates of communicators that are gone, if no messages are left in them.    @return true when none remain
    [[gnu::cold]] bool free_empty(bool end)
    {
        std::vector<std::unique_ptr<state_type>> left;
        {
            const held lock(mutex_);
            left.swap(left_);
        }
        for (const auto& each : left)
            if (is_over(each->forming) && each->comm != MPI_COMM_NULL && each->is_empty(end)) CCOLL_MPI(Comm_free)(&each->comm);
        const auto freed = [](const auto& each) { return each->forming == MPI_REQUEST_NULL && each->comm == MPI_COMM_NULL; };
        bool all = true;
        for (const auto& each : left) all = all && freed(each);
        if (!end) std::erase_if(left, freed);  // at the end MPI may still read what a rank that left a call has sent
        const held lock(mutex_);
        left_.insert(left_.end(), std::make_move_iterator(left.begin()), std::make_move_iterator(left.end()));
        return all;
    }

    /// MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF. For other communicators MPI promises nothing.
    [[gnu::cold]] static int close(MPI_Comm, int, void* stored, void*)
    {
        mpi_library& library = *static_cast<mpi_library*>(stored);
        std::vector<state_type*> left;
        {
            const held lock(library.mutex_);
            library.closed_ = true;
            library.open_ = false;
            left = library.states_;  // in order of creation: MPI_Comm_free is collective
        }
        for (const state_type* each : left)
            if (each->users != MPI_COMM_SELF && each->users != MPI_COMM_NULL)
                CCOLL_MPI(Comm_delete_attr)(each->users, library.key_);  // SELF's own goes by itself
        within(1, [&] { return library.free_empty(true); });
        {
            const held lock(library.mutex_);
            for (state_type* each : library.states_) each->finalized = true;  // some calls have not been waited for
        }
        CCOLL_MPI(Op_free)(&library.min_);
        CCOLL_MPI(Op_free)(&library.max_);
        CCOLL_MPI(Comm_free_keyval)(&library.key_);
        CCOLL_MPI(Comm_free_keyval)(&library.self_key_);
        return MPI_SUCCESS;
    }

    spin_lock mutex_;
    std::vector<state_type*> states_;
    std::vector<std::unique_ptr<state_type>> left_;  ///< of communicators that are gone, where messages may be left
    int key_ = MPI_KEYVAL_INVALID;
    int self_key_ = MPI_KEYVAL_INVALID;
    MPI_Op min_ = MPI_OP_NULL;
    MPI_Op max_ = MPI_OP_NULL;
    std::size_t limit_;
    std::atomic<bool> open_{false};  ///< keys and operations are there, and MPI_Finalize has not begun
    bool closed_ = false;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
