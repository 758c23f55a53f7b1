// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/mpi_library.hpp - floor 2. What ccoll keeps for MPI as a whole, and when that and what it keeps
// for communicators is freed.
#pragma once

#include <sched.h>

#include <pthread.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/clock.hpp>
#include <ccoll/base/environment.hpp>
#include <ccoll/base/module.hpp>
#include <ccoll/base/process.hpp>
#include <ccoll/base/well.hpp>
#include <ccoll/transport/mpi_calls.hpp>
#include <ccoll/transport/mpi_errors.hpp>
#include <ccoll/transport/mpi_state.hpp>
#include <ccoll/transport/mpi_types.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// What ccoll keeps for MPI as a whole, from the first communicator to MPI_Finalize. There is one, because
/// MPI has one; it is never destroyed, because a program may finalise MPI in the destructor of a static
/// object.
template <class Handle>
class mpi_library {
public:
    using state_type = mpi_state<Handle>;

    static mpi_library& one()
    {
        static mpi_library& it = *new mpi_library;
        return it;
    }

    /// The state of `users`, made at the first call (collectively, as MPI_Comm_dup is), or nullptr and the
    /// reason in `why`.
    ///
    /// Waits this many seconds for the other ranks, or for ever if that is 0. A state that is not formed by
    /// then is returned all the same, with `why` as too_late, and a later call goes on waiting. So is one
    /// whose duplicate MPI cannot make, with the reason, and the next call tries again.
    /// @param alone  perhaps the other ranks do not call, so that a duplicate which MPI has refused cannot be
    ///               tried again
    state_type* state_of(MPI_Comm users, double seconds, bool alone, const char*& why)
    {
        why = open_.load(std::memory_order_acquire) ? "" : why_not_open();
        if (*why == 0) why = unusable(users);
        if (*why != 0) return nullptr;
        void* stored = nullptr;
        int found = 0;
        if (const int rc = CCOLL_MPI(Comm_get_attr)(users, key_, static_cast<void*>(&stored), &found);
            rc != MPI_SUCCESS) {
            why = refused_by_mpi(no_state, rc);
            return nullptr;
        }
        state_type* const state = found != 0 ? static_cast<state_type*>(stored) : fresh_state(users, why);
        if (state == nullptr) return state;
        if (state->comm == MPI_COMM_NULL) {
            if (alone && state->refusal != MPI_SUCCESS) why = refused_by_mpi(no_duplicate, state->refusal);
            else form(*state, seconds, why);
        }
        if (state->comm != MPI_COMM_NULL && *why == 0)
            last_of(users) = {users, epoch_.load(std::memory_order_acquire), state};
        return state;
    }

    /// The state of a communicator if this thread has used it last, or among the last few. Then all that
    /// state_of asks has the same answer as before: since then no communicator has been freed, MPI not
    /// finalised, and the process not forked. Else nullptr.
    /// The state lives as long as the communicator, which must not be freed as long as the caller uses it.
    static state_type* used_before(MPI_Comm users) noexcept
    {
        const use& last = last_of(users);
        return last.users == users && last.epoch == epoch_.load(std::memory_order_acquire) ? last.state
                                                                                           : nullptr;
    }

    static void take(state_type& state) noexcept { state.owners.fetch_add(1, std::memory_order_relaxed); }
    /// By an mpi_comm. If the communicator has been freed, its last call gives the state back.
    static void give_back(state_type& state) noexcept
    {
        if (state.owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
            one().put_away(std::unique_ptr<state_type>(&state));
    }

    /// MPI's operation on numbers T, or one of ours where MPI's has other results.
    template <class T>
    MPI_Op op(native_op which) const
    {
        const bool ours = std::is_unsigned_v<T> ? !trusted_unsigned_ : native_float<T>;
        switch (which) {
        case native_op::sum: return MPI_SUM;
        case native_op::prod: return MPI_PROD;
        case native_op::min: return ours ? min_ : MPI_MIN;
        case native_op::max: return ours ? max_ : MPI_MAX;
        case native_op::bit_and: return MPI_BAND;
        case native_op::bit_or: return MPI_BOR;
        case native_op::bit_xor: return MPI_BXOR;
        case native_op::logical_and: return MPI_LAND;
        case native_op::logical_or: return MPI_LOR;
        case native_op::logical_xor: break;
        }
        return MPI_LXOR;
    }

    /// The user's `op` on elements `type`, or one of ours where MPI's own has wrong results. Local.
    MPI_Op trusted(MPI_Op op, MPI_Datatype type)
    {
        if (op != MPI_MIN && op != MPI_MAX) return op;
        const bool ready = open_.load(std::memory_order_acquire) ||
                           *why_not_open() == 0;  // if not, MPI's call says what is wrong
        if (!ready || !mpi_compares_as_signed(type)) return op;
        return op == MPI_MIN ? min_ : max_;
    }

    /// What `why` points to if other ranks have not come in time.
    /// An array, because it is recognised by its address: that of a literal may differ from one file of a
    /// program to the next.
    static constexpr char too_late[] =
        "the other ranks have not made their first call on this communicator, which all make together";

    /// The largest count that MPI's own collectives are trusted with, in elements of all ranks together.
    std::size_t native_limit() const noexcept { return limit_; }

private:
    mpi_library() : limit_(native_limit_of_environment()) { pthread_atfork(nullptr, nullptr, &begin_epoch); }

    /// What a thread knows of a communicator.
    struct use {
        Handle users{};
        std::uint64_t epoch = 0;
        state_type* state = nullptr;
    };
    /// Where it keeps that.
    static use& last_of(Handle users) noexcept
    {
        static thread_local constinit std::array<use, 4> last{};
        std::uint64_t number = 0;
        if constexpr (std::is_pointer_v<Handle>) number = reinterpret_cast<std::uintptr_t>(users);
        else number = static_cast<std::uint64_t>(users);
        return last[number * 0x9e3779b97f4a7c15u >> 62];
    }
    /// From now on no thread knows anything.
    static void begin_epoch() noexcept { epoch_.fetch_add(1, std::memory_order_acq_rel); }
    inline static constinit std::atomic<std::uint64_t> epoch_{1};

    static constexpr const char* no_state = "MPI refuses the communicator";
    static constexpr const char* no_duplicate =
        "MPI could not duplicate the communicator, and ccoll needs a duplicate of each that it works on; MPI "
        "has a limited number of them (MPICH 2048), so free communicators that are no longer used, and call "
        "again";
    static constexpr const char* not_open = "MPI gave ccoll no key or operation";
    static constexpr int tests_per_turn = 1000;  ///< because a yield may cost a time slice

    /// The state of a communicator that has none yet, or nullptr and the reason in `why`. Local.
    [[gnu::cold]] state_type* fresh_state(MPI_Comm users, const char*& why)
    {
        const errors_returned<Handle> quiet(users);
        auto fresh = std::make_unique<state_type>();
        fresh->users = users;
        int inter = 0;
        int rc = CCOLL_MPI(Comm_test_inter)(users, &inter);
        if (rc == MPI_SUCCESS && inter != 0) {
            why =
                "the communicator is an intercommunicator; merge its groups with MPI_Intercomm_merge and "
                "pass the result";
            return nullptr;
        }
        if (rc == MPI_SUCCESS) rc = CCOLL_MPI(Comm_rank)(users, &fresh->rank);
        if (rc == MPI_SUCCESS) rc = CCOLL_MPI(Comm_size)(users, &fresh->size);
        if (rc == MPI_SUCCESS) fresh->sent.resize(static_cast<std::size_t>(fresh->size));
        if (rc == MPI_SUCCESS) rc = CCOLL_MPI(Comm_set_attr)(users, key_, fresh.get());
        if (rc != MPI_SUCCESS) {
            why = refused_by_mpi(no_state, rc);
            return nullptr;
        }
        const held lock(mutex_);
        return states_.emplace_back(fresh.release());
    }

    /// Waits until the duplicate is there. If it is not, `why` says why.
    [[gnu::cold]] void form(state_type& state, double seconds, const char*& why)
    {
        const bool begun_earlier = state.is_forming();
        int rc = MPI_SUCCESS;
        if (!begun_earlier) {
            free_empty(false);
            rc = state.begin(state.users);
        }
        const auto there = [&] {
            rc = state.advance(state.users, tests_per_turn);
            return rc != MPI_SUCCESS || !state.is_forming();
        };
        const bool in_time = rc != MPI_SUCCESS ||
                             within(seconds > 0 ? seconds : std::numeric_limits<double>::infinity(), there);
        if (!in_time) why = too_late;
        else if (rc == MPI_SUCCESS) return;
        else if (begun_earlier)
            form(state, seconds, why);  // ranks that came later have been refused in this one's earlier call
        else why = refused_by_mpi(no_duplicate, state.refusal = rc);
    }

    /// Takes a state that no call uses any more. Its duplicate is freed when no messages are left in it.
    [[gnu::cold]] void put_away(std::unique_ptr<state_type> state) noexcept
    {
        if (!made_in_.is_here()) return static_cast<void>(state.release());
        state->memory.close();
        const held lock(mutex_);
        std::erase(states_, state.get());
        if (!state->finalized) leave(std::move(state));
    }
    /// Keeps a state whose duplicate may be freed later; without memory for that it is never freed. The lock
    /// is held.
    void leave(std::unique_ptr<state_type> state) noexcept
    {
        if (went_well([&] { left_.emplace_back(); })) left_.back() = std::move(state);
        else static_cast<void>(state.release());
    }

    /// "" if MPI can be called. Then it also makes keys and operations, and is not asked again before
    /// MPI_Finalize. Until it knows that this thread may call MPI, it calls only what any thread may call at
    /// any time.
    [[gnu::cold]] const char* why_not_open()
    {
        int yes = 0;
        CCOLL_MPI(Initialized)(&yes);
        if (yes == 0)
            return "MPI is not initialised; call MPI_Init or MPI_Init_thread before the first collective, "
                   "also in a program that uses MPI_Session_init (communicators of its sessions then work, "
                   "too)";
        CCOLL_MPI(Finalized)(&yes);
        if (yes != 0) return "MPI is finalised already; finish all collectives before MPI_Finalize";
        if (!is_thread_of_mpi()) return wrong_thread;
        const held lock(mutex_);  // held over local calls of MPI only: a collective one could wait for ever
        if (closed_) return "MPI_Finalize is running; finish all collectives before it";
        if (open_) return "";
        if (const int rc = open(); rc != MPI_SUCCESS) return refused_by_mpi(not_open, rc);
        open_.store(true, std::memory_order_release);
        return "";
    }

    /// Makes what is not there yet, so that it can be called again after an error. @return MPI's code
    [[gnu::cold]] int open()
    {
        stay_loaded(&forget);  // MPI will call it
        const errors_returned<Handle> quiet(MPI_COMM_SELF);
        int rc = MPI_SUCCESS;
        const auto make = [&rc](auto& kept, auto none, auto call) {
            if (rc != MPI_SUCCESS || kept != none) return;
            auto fresh = none;
            rc = call(&fresh);
            if (rc == MPI_SUCCESS) kept = fresh;
        };
        const int no_key = MPI_KEYVAL_INVALID;
        const MPI_Op no_op = MPI_OP_NULL;
        make(key_, no_key, [](int* key) {
            return CCOLL_MPI(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, &forget, key, nullptr);
        });
        make(self_key_, no_key, [](int* key) {
            return CCOLL_MPI(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, &close, key, nullptr);
        });
        make(min_, no_op,
             [](MPI_Op* op) { return CCOLL_MPI(Op_create)(&mpi_select<policies::Op::Min>, 1, op); });
        make(max_, no_op,
             [](MPI_Op* op) { return CCOLL_MPI(Op_create)(&mpi_select<policies::Op::Max>, 1, op); });
        if (rc == MPI_SUCCESS) rc = CCOLL_MPI(Comm_set_attr)(MPI_COMM_SELF, self_key_, this);
        if (rc == MPI_SUCCESS) trusted_unsigned_ = mpi_compares_unsigned();
        return rc;
    }

    /// "" when MPI can be called with `users` from this thread.
    const char* unusable(MPI_Comm users) const
    {
        if (!made_in_.is_here())
            return "this process was forked from the one that called MPI_Init, and only that one is a rank; "
                   "call ccoll there";
        if (!is_thread_of_mpi()) return wrong_thread;
        if (users == MPI_COMM_NULL)
            return "the communicator is MPI_COMM_NULL; pass one that this rank belongs to (MPI_Comm_split "
                   "gives MPI_COMM_NULL to ranks without a colour)";
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
        waited_seconds waited(std::min(seconds / 8, 1.0));
        waited.look(steady_seconds());
        while (!holds()) {
            if (waited.look(steady_seconds()) >= seconds) return false;
            sched_yield();
        }
        return true;
    }

    /// MPI calls this when it frees a communicator of the user, or when `close` has asked for it. MPI reuses
    /// the context of a freed duplicate for another communicator, which would inherit the messages that are
    /// left in it. So a duplicate is freed only when it is empty. This waits for 10 ms at most, because Open
    /// MPI holds a lock meanwhile and other ranks may come much later.
    [[gnu::cold]] static int forget(MPI_Comm users, int, void* stored, void*)
    {
        if (!one().made_in_.is_here()) return MPI_SUCCESS;
        begin_epoch();
        state_type& state = *static_cast<state_type*>(stored);
        // MPI may still find out that it cannot make the duplicate, and must not tell the user's handler
        // then.
        if (state.is_forming() && !handlers_stay().load(std::memory_order_relaxed))
            CCOLL_MPI(Comm_set_errhandler)(users, MPI_ERRORS_RETURN);
        state.users = MPI_COMM_NULL;
        // Calls that are under way end on the duplicate, and the last of them gives it back.
        if (state.owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return MPI_SUCCESS;
        std::unique_ptr<state_type> mine(&state);
        mine->memory.close();  // the duplicate may never be freed
        mine->memory.trim();
        if (mine->comm == MPI_COMM_NULL) {  // no duplicate, or not yet
            one().put_away(std::move(mine));
            return MPI_SUCCESS;
        }
        const bool empty = !mine->unread && within(0.01, [&] { return mine->is_empty(false); });
        {
            mpi_library& library = one();
            const held lock(library.mutex_);
            std::erase(library.states_, mine.get());
            if (!empty) {
                library.leave(std::move(mine));
                return MPI_SUCCESS;
            }
        }
        mine->free();
        return MPI_SUCCESS;  // also if that failed: the user's communicator can be freed all the same
    }

    /// Frees the duplicates of communicators that are gone, if no messages are left in them.
    /// @return true when none remain
    [[gnu::cold]] bool free_empty(bool end)
    {
        std::vector<std::unique_ptr<state_type>> left;
        {
            const held lock(mutex_);
            left.swap(left_);
        }
        for (const auto& each : left) {
            if (each->is_forming()) each->advance(MPI_COMM_NULL, 1);
            if (each->comm != MPI_COMM_NULL && each->is_empty(end)) each->free();
        }
        const auto freed = [](const auto& each) {
            return !each->is_forming() && each->comm == MPI_COMM_NULL;
        };
        bool all = true;
        for (const auto& each : left) all = all && freed(each);
        if (!end)
            // At the end MPI may still read what a rank that left a call has sent.
            std::erase_if(left, freed);
        const held lock(mutex_);
        left_.insert(left_.end(), std::make_move_iterator(left.begin()), std::make_move_iterator(left.end()));
        return all;
    }

    /// MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF. For other communicators MPI promises
    /// nothing.
    [[gnu::cold]] static int close(MPI_Comm, int, void* stored, void*)
    {
        mpi_library& library = *static_cast<mpi_library*>(stored);
        if (!library.made_in_.is_here()) return MPI_SUCCESS;
        begin_epoch();
        std::vector<state_type*> left;
        {
            const held lock(library.mutex_);
            library.closed_ = true;
            library.open_ = false;
            left = library.states_;  // in order of creation: MPI_Comm_free is collective
        }
        for (const state_type* each : left) {
            const MPI_Comm users = each->users;
            if (users == MPI_COMM_SELF || users == MPI_COMM_NULL) continue;  // SELF's own goes by itself
            const errors_returned<Handle> quiet(users);
            CCOLL_MPI(Comm_delete_attr)(users, library.key_);
        }
        within(1, [&] { return library.free_empty(true); });
        {
            const held lock(library.mutex_);
            for (state_type* each : library.states_) {  // some calls have not been waited for
                each->finalized = true;
                each->memory.close();
            }
        }
        CCOLL_MPI(Op_free)(&library.min_);
        CCOLL_MPI(Op_free)(&library.max_);
        CCOLL_MPI(Comm_free_keyval)(&library.key_);
        CCOLL_MPI(Comm_free_keyval)(&library.self_key_);
        return MPI_SUCCESS;
    }

    home made_in_;
    spin_lock mutex_;
    std::vector<state_type*> states_;
    /// Of communicators that are gone, where messages may be left.
    std::vector<std::unique_ptr<state_type>> left_;
    int key_ = MPI_KEYVAL_INVALID;
    int self_key_ = MPI_KEYVAL_INVALID;
    MPI_Op min_ = MPI_OP_NULL;
    MPI_Op max_ = MPI_OP_NULL;
    bool trusted_unsigned_ = true;  ///< does MPI compare unsigned integers as such?
    std::size_t limit_;
    std::atomic<bool> open_{false};  ///< keys and operations are there, and MPI_Finalize has not begun
    bool closed_ = false;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
