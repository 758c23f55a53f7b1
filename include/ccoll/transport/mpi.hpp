// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/mpi.hpp - floor 2. MPI, and the only header with <mpi.h>. Everything goes over a private duplicate of the
// user's communicator, so that no message of ours meets one of theirs and trouble is an error code, not an abort.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1  // MPI's C++ bindings would cost 0.4 s per file
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <climits>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

/// The operations that MPI's own collectives can do for us.
enum class native_op { sum, prod, min, max, bit_and, bit_or, bit_xor, logical_and, logical_or, logical_xor };

/// How MPI names elements T. What it has no name for travels as bytes, and cannot be reduced there.
template <element T>
struct mpi_elements {
    static constexpr bool is_integer = std::is_integral_v<T> && !std::same_as<T, bool>;
    static constexpr bool is_number = is_integer || native_float<T>;
    static constexpr std::size_t each = is_number ? 1 : sizeof(T);  ///< of type() in one element

    static MPI_Datatype type()
    {
        if constexpr (std::same_as<T, float>) return MPI_FLOAT;
        else if constexpr (std::same_as<T, double>) return MPI_DOUBLE;
        else if constexpr (!is_integer) return MPI_BYTE;
        else if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? MPI_INT8_T : MPI_UINT8_T;
        else if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? MPI_INT16_T : MPI_UINT16_T;
        else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? MPI_INT32_T : MPI_UINT32_T;
        else return std::is_signed_v<T> ? MPI_INT64_T : MPI_UINT64_T;
    }
};

/// The native operation behind a policy tag; not available for a user's own.
template <native_op Op, bool Floats>
struct native_op_is {
    static constexpr native_op value = Op;
    static constexpr bool floats = Floats;
};
template <class OpTag>
struct mpi_op_of {};
template <> struct mpi_op_of<policies::Op::Sum> : native_op_is<native_op::sum, true> {};
template <> struct mpi_op_of<policies::Op::Average> : native_op_is<native_op::sum, true> {};  // the caller divides the sum
template <> struct mpi_op_of<policies::Op::Prod> : native_op_is<native_op::prod, true> {};
template <> struct mpi_op_of<policies::Op::Min> : native_op_is<native_op::min, true> {};
template <> struct mpi_op_of<policies::Op::Max> : native_op_is<native_op::max, true> {};
template <> struct mpi_op_of<policies::Op::BitAnd> : native_op_is<native_op::bit_and, false> {};
template <> struct mpi_op_of<policies::Op::BitOr> : native_op_is<native_op::bit_or, false> {};
template <> struct mpi_op_of<policies::Op::BitXor> : native_op_is<native_op::bit_xor, false> {};
template <> struct mpi_op_of<policies::Op::And> : native_op_is<native_op::logical_and, false> {};
template <> struct mpi_op_of<policies::Op::Or> : native_op_is<native_op::logical_or, false> {};
template <> struct mpi_op_of<policies::Op::Xor> : native_op_is<native_op::logical_xor, false> {};

/// The same for elements T.
template <class OpTag, class T>
struct native_op_on {
    static constexpr bool available = false;
};
template <class OpTag, class T>
    requires(mpi_elements<T>::is_number && requires { mpi_op_of<OpTag>::value; } && (mpi_elements<T>::is_integer || mpi_op_of<OpTag>::floats))
struct native_op_on<OpTag, T> {
    static constexpr bool available = true;
    static constexpr native_op value = mpi_op_of<OpTag>::value;
};

/// Op::Min and Op::Max as operations of MPI. MPI_MIN and MPI_MAX lose a NaN or keep it by the order of the ranks, and may
/// leave different bits on different ranks. Here the operands are put in the order of their bits first: the result does not
/// depend on who comes first, not even for two NaNs or two zeros.
template <class OpTag, native_float T>
void select(const T* in, T* inout, int n) noexcept
{
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    for (int i = 0; i < n; ++i) {
        const T a = in[i], b = inout[i];
        inout[i] = std::bit_cast<bits>(a) < std::bit_cast<bits>(b) ? OpTag::apply(a, b) : OpTag::apply(b, a);
    }
}
template <class OpTag>
void mpi_select(void* in, void* inout, int* n, MPI_Datatype* type)
{
    if (*type == MPI_FLOAT) select<OpTag>(static_cast<const float*>(in), static_cast<float*>(inout), *n);
    else select<OpTag>(static_cast<const double*>(in), static_cast<double*>(inout), *n);
}

/// MPI_Test, of a request whose status nobody needs.
inline bool is_over(MPI_Request& r)
{
    int done = 0;
    return MPI_Test(&r, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
}

/// A message that its receiver may leave unread. Sent synchronously: it is over when a receive has met it, and not before.
struct mpi_aside {
    static constexpr std::size_t most_bytes = 256;
    MPI_Request handle = MPI_REQUEST_NULL;
    std::array<std::byte, most_bytes> bytes;
};

/// What ccoll keeps for one communicator of the user: an attribute of it, freed with it.
struct mpi_state {
    MPI_Comm users = MPI_COMM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;  ///< the private duplicate
    int rank = 0;
    int size = 1;
    std::uint32_t calls = 0;
    status native = status::ok;
    bool has_requests = false;  ///< nonblocking calls have been started here
    workspace memory;
    std::vector<int> nodes;  ///< of all ranks; empty until somebody asks
    std::vector<std::unique_ptr<mpi_aside>> asides;  ///< those that are over are used again
    bool unread = false;                             ///< messages to this rank may stay where they are
    bool leaving = false;                            ///< this rank is in the barrier of `is_empty`
    MPI_Request all_leave = MPI_REQUEST_NULL;
    char says[MPI_MAX_ERROR_STRING + 1] = "";

    /// Remembers MPI's text for `rc` and gives our status for it.
    status heard(int rc)
    {
        if (rc == MPI_SUCCESS) return status::ok;
        int kind = rc, length = 0;
        MPI_Error_class(rc, &kind);
        if (MPI_Error_string(rc, says, &length) != MPI_SUCCESS) std::snprintf(says, sizeof says, "MPI error %d", rc);
        return kind == MPI_ERR_TRUNCATE ? status::truncated : status::transport_failed;
    }

    /// Are all messages received, on all ranks? Nobody waits for an answer: ask again while it is no. Ranks receive what comes, and
    /// when all that they have sent aside is received they enter a barrier that does not block. Who is behind it knows that nothing
    /// is on its way. A rank that has left a call enters it at the `end` only, so that before nobody gets behind it.
    bool is_empty(bool end)
    {
        if (unread && !end) return false;
        drain();
        if (!leaving && std::all_of(asides.begin(), asides.end(), [](auto& a) { return is_over(a->handle); }))
            leaving = MPI_Ibarrier(comm, &all_leave) == MPI_SUCCESS;
        return leaving && is_over(all_leave);
    }

private:
    void drain()
    {
        std::vector<std::byte> room;
        MPI_Status s;
        for (int found = 1; MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &s) == MPI_SUCCESS && found != 0;) {
            int count = 0;
            MPI_Get_count(&s, MPI_BYTE, &count);
            room.resize(static_cast<std::size_t>(count));
            MPI_Recv(room.data(), count, MPI_BYTE, s.MPI_SOURCE, s.MPI_TAG, comm, MPI_STATUS_IGNORE);
        }
    }
};

/// What ccoll keeps for MPI as a whole, from the first communicator to MPI_Finalize. There is one, because MPI has one; it is
/// never destroyed, because a program may finalise MPI in the destructor of a static object.
class mpi_library {
public:
    static mpi_library& one()
    {
        static mpi_library& it = *new mpi_library;
        return it;
    }

    /// The state of `users`, made at the first call (collectively, as MPI_Comm_dup is), or nullptr and the reason in `why`.
    mpi_state* state_of(MPI_Comm users, const char*& why)
    {
        why = unusable(users);
        if (*why != 0) return nullptr;
        if (!open()) {
            why = "MPI_Finalize is running; finish all collectives before it";
            return nullptr;
        }
        void* stored = nullptr;
        int found = 0;
        MPI_Comm_get_attr(users, key_, static_cast<void*>(&stored), &found);
        if (found != 0) return static_cast<mpi_state*>(stored);
        int inter = 0;
        MPI_Comm_test_inter(users, &inter);
        if (inter != 0) {
            why = "the communicator is an intercommunicator; merge its groups with MPI_Intercomm_merge and pass the result";
            return nullptr;
        }
        free_empty(false);
        auto fresh = std::make_unique<mpi_state>();
        fresh->users = users;
        // Without the hints of the user's communicator: theirs may promise what our messages do not keep (no wildcards, exact lengths).
        if (MPI_Comm_dup_with_info(users, MPI_INFO_NULL, &fresh->comm) != MPI_SUCCESS) {
            why = "MPI_Comm_dup failed, and ccoll needs a duplicate of each communicator that it works on; free communicators "
                  "that are no longer used";
            return nullptr;
        }
        MPI_Comm_set_errhandler(fresh->comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(fresh->comm, &fresh->rank);
        MPI_Comm_size(fresh->comm, &fresh->size);
        if (MPI_Comm_set_attr(users, key_, fresh.get()) != MPI_SUCCESS) {
            MPI_Comm_free(&fresh->comm);
            why = "MPI_Comm_set_attr failed, and ccoll keeps its state as an attribute of the communicator";
            return nullptr;
        }
        const std::lock_guard lock(mutex_);
        states_.push_back(fresh.get());
        return fresh.release();
    }

    /// @param floats  then minimum and maximum are ours
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

    /// The largest count that MPI's own collectives are trusted with, in elements of all ranks together.
    std::size_t native_limit() const noexcept { return limit_; }

private:
    mpi_library() : limit_(limit_from(std::getenv("CCOLL_NATIVE_LIMIT"))) {}

    static std::size_t limit_from(const char* text)
    {
        if (text == nullptr || *text < '0' || *text > '9') return INT_MAX;
        return static_cast<std::size_t>(std::min<unsigned long long>(std::strtoull(text, nullptr, 10), INT_MAX));
    }

    /// "" when MPI can be called with `users` from this thread. Only calls that are legal at any time from any thread.
    static const char* unusable(MPI_Comm users)
    {
        int yes = 0, level = MPI_THREAD_SINGLE;
        MPI_Initialized(&yes);
        if (yes == 0) return "MPI is not initialised; call MPI_Init or MPI_Init_thread before the first collective";
        MPI_Finalized(&yes);
        if (yes != 0) return "MPI is finalised already; finish all collectives before MPI_Finalize";
        MPI_Query_thread(&level);
        if (level < MPI_THREAD_SERIALIZED) {
            MPI_Is_thread_main(&yes);
            if (yes == 0)
                return "this is not MPI's main thread and MPI was not initialised for others; ask MPI_Init_thread for "
                       "MPI_THREAD_SERIALIZED at least, or call from the main thread";
        }
        if (users == MPI_COMM_NULL)
            return "the communicator is MPI_COMM_NULL; pass one that this rank belongs to (MPI_Comm_split gives MPI_COMM_NULL to "
                   "ranks without a colour)";
        return "";
    }

    bool open()
    {
        const std::lock_guard lock(mutex_);  // held over local calls of MPI only: a collective one could wait for ever
        if (closed_) return false;
        if (key_ != MPI_KEYVAL_INVALID) return true;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &forget, &key_, nullptr);
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &close, &self_key_, nullptr);
        MPI_Op_create(&mpi_select<policies::Op::Min>, 1, &min_);
        MPI_Op_create(&mpi_select<policies::Op::Max>, 1, &max_);
        MPI_Comm_set_attr(MPI_COMM_SELF, self_key_, this);
        return true;
    }

    /// Asks until `holds` says yes, or for so long.    @return what it said last
    template <class Condition>
    static bool within(std::chrono::milliseconds time, Condition holds)
    {
        const auto end = std::chrono::steady_clock::now() + time;
        while (!holds()) {
            if (std::chrono::steady_clock::now() >= end) return false;
            sched_yield();
        }
        return true;
    }

    /// MPI frees a communicator of the user, or `close` has asked for this. MPI gives the context of a duplicate that is freed to
    /// another communicator, and with it the messages that are left there: so it is freed when there are none. Waits for 10 ms at most:
    /// Open MPI holds a lock meanwhile, and other ranks may be long in coming.
    static int forget(MPI_Comm, int, void* stored, void*)
    {
        std::unique_ptr<mpi_state> mine(static_cast<mpi_state*>(stored));
        mine->memory.trim();
        const bool empty = !mine->unread && within(std::chrono::milliseconds(10), [&] { return mine->is_empty(false); });
        {
            mpi_library& library = one();
            const std::lock_guard lock(library.mutex_);
            std::erase(library.states_, mine.get());
            if (!empty) library.left_.push_back(std::move(mine));
        }
        return empty ? MPI_Comm_free(&mine->comm) : MPI_SUCCESS;
    }

    /// Frees the duplicates of communicators that are gone where no messages are left by now.    @return true when that was all
    bool free_empty(bool end)
    {
        std::vector<std::unique_ptr<mpi_state>> left;
        {
            const std::lock_guard lock(mutex_);
            left.swap(left_);
        }
        for (const auto& each : left)
            if (each->comm != MPI_COMM_NULL && each->is_empty(end)) MPI_Comm_free(&each->comm);
        const auto freed = [](const auto& each) { return each->comm == MPI_COMM_NULL; };
        const bool all = std::all_of(left.begin(), left.end(), freed);
        if (!end) std::erase_if(left, freed);  // at the end MPI may still read what a rank that left a call has sent
        const std::lock_guard lock(mutex_);
        left_.insert(left_.end(), std::make_move_iterator(left.begin()), std::make_move_iterator(left.end()));
        return all;
    }

    /// MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF; of other communicators it promises nothing.
    static int close(MPI_Comm, int, void* stored, void*)
    {
        mpi_library& library = *static_cast<mpi_library*>(stored);
        std::vector<mpi_state*> left;
        {
            const std::lock_guard lock(library.mutex_);
            library.closed_ = true;
            left = library.states_;  // in order of creation: MPI_Comm_free is collective
        }
        for (const mpi_state* each : left)
            if (each->users != MPI_COMM_SELF) MPI_Comm_delete_attr(each->users, library.key_);  // SELF's own goes by itself
        within(std::chrono::seconds(1), [&] { return library.free_empty(true); });
        MPI_Op_free(&library.min_);
        MPI_Op_free(&library.max_);
        MPI_Comm_free_keyval(&library.key_);
        MPI_Comm_free_keyval(&library.self_key_);
        return MPI_SUCCESS;
    }

    std::mutex mutex_;
    std::vector<mpi_state*> states_;
    std::vector<std::unique_ptr<mpi_state>> left_;  ///< of communicators that are gone, where messages may be left
    int key_ = MPI_KEYVAL_INVALID;
    int self_key_ = MPI_KEYVAL_INVALID;
    MPI_Op min_ = MPI_OP_NULL;
    MPI_Op max_ = MPI_OP_NULL;
    std::size_t limit_;
    bool closed_ = false;
};

}  // namespace detail

/// The transport behind an MPI_Comm. Made for each call: a few local calls of MPI, except at the first one on a communicator,
/// which is collective. Valid as long as the user's communicator.
///
/// A communicator that cannot be used (see `refusal`) has rank 0 of 1.
/// MPI's errors: `result` is truncated or transport_failed, `explain` has MPI's text. On truncation MPICH 4.0 aborts all the
/// same, and Open MPI 4.1 says nothing when a rank sends a short message to itself.
class mpi_comm {
public:
    static constexpr bool spins = true;
    using native_op = detail::native_op;
    /// `available`, and if so `value`: what to pass to the members below for an operation of ours.
    template <class OpTag, class T>
    using native_op_of = detail::native_op_on<OpTag, T>;

    class request {
    public:
        std::size_t bytes = 0;
        status result = status::ok;

    private:
        friend mpi_comm;
        MPI_Request handle_ = MPI_REQUEST_NULL;
        bool receives_ = false;
    };

    explicit mpi_comm(MPI_Comm users) : state_(detail::mpi_library::one().state_of(users, why_)) {}

    static bool is_nobody(int peer) noexcept { return peer == MPI_PROC_NULL; }
    int rank() const noexcept { return state_ != nullptr ? state_->rank : 0; }
    int size() const noexcept { return state_ != nullptr ? state_->size : 1; }
    status refusal() const noexcept { return state_ != nullptr ? status::ok : status::no_communicator; }
    const char* explain() const noexcept { return state_ != nullptr ? state_->says : why_; }
    std::uint32_t begin_call() noexcept { return state_->calls++; }
    workspace& memory() noexcept { return state_->memory; }

    /// Ranks that can share memory are on one node, says MPI_Comm_split_type, unless set_nodes has said otherwise. The first time
    /// collective. A node has the number of its lowest rank.
    std::span<const int> nodes()
    {
        if (state_->nodes.empty()) {
            MPI_Comm node = MPI_COMM_NULL;
            int lowest = state_->rank;
            std::vector<int> all(static_cast<std::size_t>(size()));
            if (state_->heard(MPI_Comm_split_type(state_->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node)) != status::ok) return {};
            MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
            MPI_Comm_free(&node);
            if (state_->heard(MPI_Allgather(&lowest, 1, MPI_INT, all.data(), 1, MPI_INT, state_->comm)) != status::ok) return {};
            state_->nodes = std::move(all);
        }
        return state_->nodes;
    }
    void set_nodes(std::span<const int> node_of_rank) { state_->nodes.assign(node_of_rank.begin(), node_of_rank.end()); }

    request post_send(int peer, int tag, const_byte_span data)
    {
        request r;
        if (in_one_message(r, data.size()))
            r.result =
                posted(r, MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, peer, tag, state_->comm, &r.handle_));
        return r;
    }
    request post_recv(int peer, int tag, byte_span target)
    {
        request r;
        r.receives_ = true;
        if (in_one_message(r, target.size()))
            r.result =
                posted(r, MPI_Irecv(target.data(), static_cast<int>(target.size()), MPI_BYTE, peer, tag, state_->comm, &r.handle_));
        return r;
    }

    bool test(request& r)
    {
        if (r.handle_ == MPI_REQUEST_NULL) return true;
        int done = 0, count = 0;
        MPI_Status s{};
        const int rc = MPI_Test(&r.handle_, &done, &s);
        if (rc == MPI_SUCCESS && done == 0) return false;
        r.result = state_->heard(rc);
        if (r.receives_ && r.result != status::transport_failed) MPI_Get_count(&s, MPI_BYTE, &count);
        r.bytes = static_cast<std::size_t>(std::max(count, 0));  // of a truncated message: its true length, where MPI knows it
        r.handle_ = MPI_REQUEST_NULL;
        vain_ = 0;
        return true;
    }

    /// True for a receive. A send cannot be called back in MPI: true only when it is done.
    bool cancel(request& r)
    {
        if (r.handle_ == MPI_REQUEST_NULL) return true;
        if (r.receives_) {
            MPI_Cancel(&r.handle_);
            MPI_Wait(&r.handle_, MPI_STATUS_IGNORE);  // local for a cancelled request, says MPI
            r.handle_ = MPI_REQUEST_NULL;
            return true;
        }
        if (test(r)) return true;
        MPI_Request_free(&r.handle_);
        return false;
    }

    int probe(int tag)
    {
        int found = 0;
        MPI_Status s;
        const int rc = MPI_Iprobe(MPI_ANY_SOURCE, tag, state_->comm, &found, &s);
        return rc == MPI_SUCCESS && found != 0 ? s.MPI_SOURCE : nobody;
    }

    /// At most mpi_aside::most_bytes.
    void send_aside(int peer, int tag, const_byte_span data)
    {
        auto& all = state_->asides;
        auto place = std::find_if(all.begin(), all.end(), [](auto& a) { return detail::is_over(a->handle); });
        if (place == all.end()) place = all.insert(place, std::make_unique<detail::mpi_aside>());
        detail::mpi_aside& a = **place;
        std::copy(data.begin(), data.end(), a.bytes.begin());
        MPI_Issend(a.bytes.data(), static_cast<int>(data.size()), MPI_BYTE, peer, tag, state_->comm, &a.handle);
    }
    void leave_unread() noexcept { state_->unread = true; }

    void poll() noexcept {}  // MPI_Test makes progress

    /// Gives the processor away, after a few sweeps in vain; a waiting rank keeps a free core busy, as MPI's own do. Measured
    /// (allreduce of 4 MiB, 4 ranks on 2 cores, MPICH): 30 ms, and 80 ms when blocking in MPI_Waitsome. With a core per rank
    /// (64 MiB, 2 ranks): 25 and 36 ms.
    void idle() noexcept
    {
        if (vain_ > 4) sched_yield();
        else ++vain_;
    }

    // MPI's own collectives, for data that nobody encodes. Elements of the user's arrays; n per rank as in MPI. They run on the
    // private duplicate. False: nothing was done, for the count is above `native_limit`; equal arguments give equal answers on
    // all ranks. True: done, and `native_result` tells how; or, with a request, begun, and test() tells when and how. In place is
    // told by the addresses, as each member says.

    /// INT_MAX elements of all ranks together, or less by the environment's CCOLL_NATIVE_LIMIT (for tests; equal on all ranks).
    static std::size_t native_limit() noexcept { return detail::mpi_library::one().native_limit(); }
    status native_result() const noexcept { return state_->native; }

    /// Has a nonblocking call been started on this communicator? The same on all ranks, between two calls. Then whoever waits
    /// must move other calls on, and may not do so inside MPI.
    bool has_requests() const noexcept { return state_->has_requests; }
    void note_request() noexcept { state_->has_requests = true; }

    /// In place when send == recv.
    template <element T>
    bool native_allreduce(const T* send, T* recv, std::size_t n, native_op op, request* begun = nullptr)
    {
        if (!fits<T>(n, 1)) return false;
        return begun == nullptr ? ran(MPI_Allreduce(here(send, send == recv), recv, length<T>(n), type<T>(), mpi<T>(op), state_->comm)) : began(*begun, MPI_Iallreduce(here(send, send == recv), recv, length<T>(n), type<T>(), mpi<T>(op), state_->comm, &begun->handle_));
    }
    /// At the root in place when send == recv (not with a request: give it a copy; which is what it costs unless root is 0, for MPICH 4.0
    /// reads from the address MPI_IN_PLACE then); elsewhere recv is not used.
    template <element T>
    bool native_reduce(const T* send, T* recv, std::size_t n, native_op op, int root, request* begun = nullptr)
    {
        if (!fits<T>(n, 1)) return false;
        if (begun != nullptr) return began(*begun, MPI_Ireduce(send, recv, length<T>(n), type<T>(), mpi<T>(op), root, state_->comm, &begun->handle_));
        const bool in_place = rank() == root && send == recv;
        if (!in_place || root == 0)
            return ran(MPI_Reduce(here(send, in_place), recv, length<T>(n), type<T>(), mpi<T>(op), root, state_->comm));
        buffer_memory* input = memory().take(n * sizeof(T));
        copy(input->room(), std::as_bytes(std::span(send, n)));
        ran(MPI_Reduce(input->bytes.get(), recv, length<T>(n), type<T>(), mpi<T>(op), root, state_->comm));
        memory().drop(input);
        return true;
    }
    /// size() * n elements at send, n at recv. In place when send == recv: the result is then at the front of it.
    template <element T>
    bool native_reduce_scatter(const T* send, T* recv, std::size_t n, native_op op, request* begun = nullptr)
    {
        if (!fits<T>(n, size())) return false;
        return begun == nullptr ? ran(MPI_Reduce_scatter_block(here(send, send == recv), recv, length<T>(n), type<T>(), mpi<T>(op), state_->comm)) : began(*begun, MPI_Ireduce_scatter_block(here(send, send == recv), recv, length<T>(n), type<T>(), mpi<T>(op), state_->comm, &begun->handle_));
    }
    /// n elements at send, size() * n at recv. In place when send is this rank's block of recv.
    template <element T>
    bool native_allgather(const T* send, T* recv, std::size_t n, request* begun = nullptr)
    {
        if (!fits<T>(n, size())) return false;
        return begun == nullptr ? ran(MPI_Allgather(here(send, send == block(recv, n)), length<T>(n), type<T>(), recv, length<T>(n), type<T>(), state_->comm)) : began(*begun, MPI_Iallgather(here(send, send == block(recv, n)), length<T>(n), type<T>(), recv, length<T>(n), type<T>(), state_->comm, &begun->handle_));
    }
    template <element T>
    bool native_bcast(T* data, std::size_t n, int root, request* begun = nullptr)
    {
        if (!fits<T>(n, 1)) return false;
        return begun == nullptr ? ran(MPI_Bcast(data, length<T>(n), type<T>(), root, state_->comm))
                                : began(*begun, MPI_Ibcast(data, length<T>(n), type<T>(), root, state_->comm, &begun->handle_));
    }
    /// n elements at send, size() * n at the root's recv. At the root in place when send is its block of recv.
    template <element T>
    bool native_gather(const T* send, T* recv, std::size_t n, int root, request* begun = nullptr)
    {
        if (!fits<T>(n, size())) return false;
        const bool in_place = rank() == root && send == block(recv, n);
        return begun == nullptr ? ran(MPI_Gather(here(send, in_place), length<T>(n), type<T>(), recv, length<T>(n), type<T>(), root, state_->comm)) : began(*begun, MPI_Igather(here(send, in_place), length<T>(n), type<T>(), recv, length<T>(n), type<T>(), root, state_->comm, &begun->handle_));
    }
    /// size() * n elements at the root's send, n at recv. At the root in place when recv is its block of send.
    template <element T>
    bool native_scatter(const T* send, T* recv, std::size_t n, int root, request* begun = nullptr)
    {
        if (!fits<T>(n, size())) return false;
        void* const to = rank() == root && recv == block(send, n) ? MPI_IN_PLACE : recv;
        return begun == nullptr ? ran(MPI_Scatter(send, length<T>(n), type<T>(), to, length<T>(n), type<T>(), root, state_->comm)) : began(*begun, MPI_Iscatter(send, length<T>(n), type<T>(), to, length<T>(n), type<T>(), root, state_->comm, &begun->handle_));
    }
    /// size() * n elements at both; never in place.
    template <element T>
    bool native_alltoall(const T* send, T* recv, std::size_t n, request* begun = nullptr)
    {
        if (!fits<T>(n, size())) return false;
        return begun == nullptr ? ran(MPI_Alltoall(send, length<T>(n), type<T>(), recv, length<T>(n), type<T>(), state_->comm)) : began(*begun, MPI_Ialltoall(send, length<T>(n), type<T>(), recv, length<T>(n), type<T>(), state_->comm, &begun->handle_));
    }

private:
    static const void* here(const void* send, bool in_place) { return in_place ? MPI_IN_PLACE : send; }
    template <class T>
    static MPI_Op mpi(native_op op)
    {
        return detail::mpi_library::one().op(op, native_float<T>);
    }
    template <class T>
    static MPI_Datatype type()
    {
        return detail::mpi_elements<T>::type();
    }
    template <class T>
    static int length(std::size_t n)
    {
        return static_cast<int>(n * detail::mpi_elements<T>::each);
    }

    template <class T>
    T* block(T* all, std::size_t n) const
    {
        return all + static_cast<std::size_t>(rank()) * n;
    }
    template <class T>
    static bool fits(std::size_t n, int blocks)
    {
        return n <= native_limit() / detail::mpi_elements<T>::each / static_cast<std::size_t>(blocks);
    }

    bool ran(int rc)
    {
        state_->native = state_->heard(rc);
        return true;
    }

    bool began(request& r, int rc)
    {
        r.result = posted(r, rc);
        return true;
    }

    bool in_one_message(request& r, std::size_t size)
    {
        if (size <= INT_MAX) return true;
        r.result = status::transport_failed;
        std::snprintf(state_->says, sizeof state_->says, "mpi_comm: a message of %zu bytes; MPI counts at most %d in one message", size,
                      INT_MAX);
        return false;
    }
    status posted(request& r, int rc)
    {
        if (rc != MPI_SUCCESS) r.handle_ = MPI_REQUEST_NULL;
        return state_->heard(rc);
    }

    const char* why_ = "";
    detail::mpi_state* state_;
    int vain_ = 0;
};

template <>
struct transport_for<MPI_Comm> {
    static mpi_comm make(MPI_Comm comm) { return mpi_comm(comm); }
    static bool in_place(const void* address) { return address == MPI_IN_PLACE; }
};

static_assert(transport<mpi_comm>);

}  // namespace ccoll
