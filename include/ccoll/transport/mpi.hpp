// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/mpi.hpp - floor 2. MPI as a transport. All messages use a private duplicate of the user's
// communicator, so that they never match the user's messages, and trouble is an error code instead of an
// abort.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <sched.h>

#include <atomic>
#include <climits>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ccoll/base/extremes.hpp>
#include <ccoll/base/messages.hpp>
#include <ccoll/transport/mpi_calls.hpp>
#include <ccoll/transport/mpi_library.hpp>
#include <ccoll/transport/mpi_topology.hpp>
#include <ccoll/transport/mpi_types.hpp>
#include <ccoll/transport/transport.hpp>

namespace ccoll::inline CCOLL_ABI {

/// From now on ccoll sets no error handler of a communicator that it has not made itself, MPI_COMM_WORLD and
/// MPI_COMM_SELF included. CCOLL_ERROR_HANDLERS=keep in the environment does the same.
///
/// Otherwise it puts their handlers aside during a few calls of MPI, and puts them back: when it makes its
/// duplicate in the first call on a communicator, reads a topology, or frees what it has kept when MPI
/// finalises. There are no others to set: messages use the duplicate. Errors of MPI in these calls are then
/// told to the handlers of the program, and by default end it.
/// @param keep  false: as otherwise
/// @return whether they were kept until now
inline bool keep_error_handlers(bool keep = true) noexcept
{
    return detail::handlers_stay().exchange(keep, std::memory_order_relaxed);
}

/// The transport behind an MPI_Comm. One is made for each call, which takes a few local calls of MPI. The
/// first one on a communicator is collective. It remains usable after the communicator has been freed, so
/// that calls that are under way can end. After MPI_Finalize it no longer calls MPI. Then messages fail, and
/// one line on stderr says that something was still under way.
///
/// A communicator that cannot be used (see `refusal`) has rank 0 of 1.
/// MPI's errors: `result` is truncated or transport_failed, and `explain` has MPI's text. Nevertheless MPICH
/// 4.0 tells the error handler of MPI_COMM_WORLD of truncation, which aborts by default, and Open MPI 4.1
/// does not report the truncation of a short message that a rank sends to itself.
template <class Handle>  // always MPI_Comm; see transport/mpi_state.hpp
class basic_mpi_comm {
    using library = detail::mpi_library<Handle>;

public:
    using handle = Handle;  ///< that of the communicator from which one is made
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
        friend basic_mpi_comm;
        MPI_Request handle_ = MPI_REQUEST_NULL;
        bool receives_ = false;
    };

    /// @param seconds  how long to wait for the other ranks if this is the first transport on the
    ///                 communicator; 0: for ever
    /// @param alone    perhaps the other ranks make none now. Then one that MPI has refused remains refused.
    explicit basic_mpi_comm(Handle users, double seconds = 0, bool alone = false)
        : state_(library::one().state_of(users, seconds, alone, why_))
    {
        if (state_ != nullptr) library::take(*state_);
    }
    basic_mpi_comm(const basic_mpi_comm& other) noexcept
        : why_(other.why_), state_(other.state_), vain_(other.vain_)
    {
        if (state_ != nullptr) library::take(*state_);
    }
    basic_mpi_comm(basic_mpi_comm&& other) noexcept
        : why_(other.why_), state_(std::exchange(other.state_, nullptr)), vain_(other.vain_)
    {}
    basic_mpi_comm& operator=(basic_mpi_comm other) noexcept
    {
        std::swap(why_, other.why_);
        std::swap(state_, other.state_);
        std::swap(vain_, other.vain_);
        return *this;
    }
    ~basic_mpi_comm()
    {
        if (state_ != nullptr) library::give_back(*state_);
    }

    /// The transport of a communicator, for a moment in which that cannot end.
    class borrowed;
    /// Nothing if it is not certain that this thread has used the communicator before. Otherwise it takes
    /// less time than to make one, which takes longer than the shortest calls of MPI.
    static borrowed use_again(Handle users) noexcept { return borrowed(library::used_before(users)); }

    static bool is_nobody(int peer) noexcept { return peer == MPI_PROC_NULL; }
    int rank() const noexcept { return state_ != nullptr ? state_->rank : 0; }
    int size() const noexcept { return state_ != nullptr ? state_->size : 1; }
    /// ok; no_communicator, also if the user's communicator has been freed; timed_out
    status refusal() const noexcept
    {
        if (state_ == nullptr) return status::no_communicator;
        if (why_ == library::too_late) return status::timed_out;
        if (*why_ != 0) return status::no_communicator;
        return is_gone() ? status::no_communicator : status::ok;
    }
    const char* explain() const noexcept
    {
        if (*why_ != 0) return why_;
        if (*state_->says != 0 || !is_gone()) return state_->says;
        return state_->finalized
                   ? "MPI has been finalised since this call was prepared; let it go before MPI_Finalize"
                   : "the communicator has been freed since this call was prepared; free it afterwards";
    }
    std::uint32_t begin_call() noexcept { return state_ != nullptr ? state_->calls++ : 0; }
    workspace& memory() noexcept { return state_->memory; }

    /// Ranks that can share memory according to MPI_Comm_split_type are on one node, unless set_nodes has
    /// said otherwise. The first call is collective. The number of a node is that of its lowest rank.
    std::span<const int> nodes()
    {
        if (state_->nodes.empty()) {
            MPI_Comm node = MPI_COMM_NULL;
            int lowest = state_->rank;
            std::vector<int> all(static_cast<std::size_t>(size()));
            int rc = CCOLL_MPI(Comm_split_type)(state_->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
            if (rc == MPI_SUCCESS) {
                rc = CCOLL_MPI(Bcast)(&lowest, 1, MPI_INT, 0, node);
                CCOLL_MPI(Comm_free)(&node);
            }
            if (rc == MPI_SUCCESS)
                rc = CCOLL_MPI(Allgather)(&lowest, 1, MPI_INT, all.data(), 1, MPI_INT, state_->comm);
            if (state_->heard(rc) != status::ok) return {};
            state_->nodes = std::move(all);
        }
        return state_->nodes;
    }
    void set_nodes(std::span<const int> node_of_rank)
    {
        state_->nodes.assign(node_of_rank.begin(), node_of_rank.end());
    }

    /// MPI finds out itself where a message is, if it is CUDA-aware.
    status reach(const far_memory& memory) const noexcept
    {
        return memory.of_cuda && !is_gone() && detail::mpi_is_cuda_aware() ? status::ok : status::not_direct;
    }

    /// In the topology of the user's communicator; null if it has none. Local. It must not have been freed.
    std::shared_ptr<const neighbor_list> neighbors()
    {
        if (state_->neighbors == nullptr)
            state_->neighbors = detail::neighbors_of_topology(state_->users, rank(), size());
        return state_->neighbors;
    }

    request post_send(int peer, int tag, const_byte_span data)
    {
        request r;
        if (over(r)) return r;
        if (in_one_message(r, data.size()))
            r.result = posted(r, CCOLL_MPI(Isend)(data.data(), static_cast<int>(data.size()), MPI_BYTE, peer,
                                                  tag, state_->comm, &r.handle_));
        if (r.result == status::ok) count_sent(peer);
        return r;
    }
    request post_recv(int peer, int tag, byte_span target)
    {
        request r;
        r.receives_ = true;
        if (over(r)) return r;
        if (in_one_message(r, target.size()))
            r.result = posted(r, CCOLL_MPI(Irecv)(target.data(), static_cast<int>(target.size()), MPI_BYTE,
                                                  peer, tag, state_->comm, &r.handle_));
        return r;
    }

    bool test(request& r)
    {
        if (r.handle_ == MPI_REQUEST_NULL || over(r)) return true;
        int done = 0, count = 0;
        MPI_Status s{};
        const int rc = CCOLL_MPI(Test)(&r.handle_, &done, &s);
        if (rc == MPI_SUCCESS && done == 0) return false;
        r.result = state_->heard(rc);
        if (r.receives_ && r.result != status::transport_failed) {
            if (CCOLL_MPI(Get_count)(&s, MPI_BYTE, &count) != MPI_SUCCESS) count = 0;
            ++state_->received;
        }
        // Of a truncated message: its true length, where MPI knows it.
        r.bytes = static_cast<std::size_t>(std::max(count, 0));
        r.handle_ = MPI_REQUEST_NULL;
        vain_ = 0;
        return true;
    }

    /// MPI cannot cancel a send, so for a send it is true only when the send is done. For a receive it is
    /// true unless MPI fails, or its message has begun to arrive and its sender does not go on with it.
    bool cancel(request& r)
    {
        if (r.handle_ == MPI_REQUEST_NULL || over(r)) return true;
        if (r.receives_) return state_->cancel_receive(std::exchange(r.handle_, MPI_REQUEST_NULL));
        if (test(r)) return true;
        CCOLL_MPI(Request_free)(&r.handle_);
        return false;
    }

    int probe(int tag)
    {
        int found = 0;
        MPI_Status s;
        if (state_->finalized) return nobody;
        const int rc = CCOLL_MPI(Iprobe)(MPI_ANY_SOURCE, tag, state_->comm, &found, &s);
        return rc == MPI_SUCCESS && found != 0 ? s.MPI_SOURCE : nobody;
    }

    /// Sends at most mpi_aside::most_bytes.
    void send_aside(int peer, int tag, const_byte_span data)
    {
        if (state_->finalized) return;
        auto& all = state_->asides;
        auto place = all.begin();
        while (place != all.end() && detail::tested((*place)->handle) == detail::progress_of::under_way)
            ++place;
        if (place == all.end()) place = all.insert(place, std::make_unique<detail::mpi_aside>());
        detail::mpi_aside& a = **place;
        std::copy(data.begin(), data.end(), a.bytes.begin());
        const int rc = CCOLL_MPI(Isend)(a.bytes.data(), static_cast<int>(data.size()), MPI_BYTE, peer, tag,
                                        state_->comm, &a.handle);
        if (detail::begun(rc, a.handle) == MPI_SUCCESS) count_sent(peer);
    }
    void leave_unread() noexcept { state_->unread = true; }

    void poll() noexcept {}  // MPI_Test makes progress

    /// Yields the processor after a few rounds without progress. A waiting rank keeps an otherwise free core
    /// busy, as in MPI's own calls. Measured (allreduce of 4 MiB, 4 ranks on 2 cores, MPICH): 30 ms, and 80
    /// ms if it blocks in MPI_Waitsome. With a core per rank (64 MiB, 2 ranks): 25 and 36 ms.
    void idle() noexcept
    {
        if (vain_ > 4) sched_yield();
        else ++vain_;
    }

    // MPI's own collectives, for data that are not encoded. They run on the private duplicate. `n` counts
    // elements of the user's arrays, per rank as in MPI. A member returns false if it did nothing because the
    // count is above `native_limit`. Ranks with equal arguments get equal answers. Otherwise it returns true.
    // Without a request the collective is then complete, and `native_result` says how it ended. With a
    // request it has begun, and test() says when and how it ends. Each member documents which addresses mean
    // "in place".

    /// INT_MAX elements of all ranks together, or less by the environment's CCOLL_NATIVE_LIMIT (for tests;
    /// equal on all ranks).
    static std::size_t native_limit() noexcept { return library::one().native_limit(); }
    status native_result() const noexcept { return state_->native; }

    /// Has a nonblocking call been started on this communicator? All ranks give the same answer between two
    /// calls. If so, a call that waits must make progress with other calls, and must not block inside MPI.
    bool has_requests() const noexcept { return state_->has_requests; }
    void note_request() noexcept { state_->has_requests = true; }

    /// In place when send == recv.
    template <element T>
    bool native_allreduce(const T* send, T* recv, std::size_t n, native_op op, request* begun = nullptr)
    {
        if (!fits<T>(n, 1)) return false;
        return begun == nullptr ? ran(CCOLL_MPI(Allreduce)(here(send, send == recv), recv, length<T>(n),
                                                           type<T>(), mpi<T>(op), state_->comm))
                                : began(*begun, CCOLL_MPI(Iallreduce)(here(send, send == recv), recv,
                                                                      length<T>(n), type<T>(), mpi<T>(op),
                                                                      state_->comm, &begun->handle_));
    }
    /// At the root in place if send == recv, but not with a request: then pass a copy of the input. In place
    /// also costs a copy here unless root is 0, because MPICH 4.0 reads from the address MPI_IN_PLACE.
    /// Without memory for it the result is out_of_memory, and MPI was not called. recv is not used on other
    /// ranks.
    template <element T>
    bool native_reduce(const T* send, T* recv, std::size_t n, native_op op, int root,
                       request* begun = nullptr)
    {
        if (!fits<T>(n, 1)) return false;
        if (begun != nullptr)
            return began(*begun, CCOLL_MPI(Ireduce)(send, recv, length<T>(n), type<T>(), mpi<T>(op), root,
                                                    state_->comm, &begun->handle_));
        const bool in_place = rank() == root && send == recv;
        if (!in_place || root == 0)
            return ran(CCOLL_MPI(Reduce)(here(send, in_place), recv, length<T>(n), type<T>(), mpi<T>(op),
                                         root, state_->comm));
        buffer_memory* const input = memory().take_if_any(n * sizeof(T));
        state_->native = status::out_of_memory;
        if (input == nullptr) return true;
        copy(input->room(), std::as_bytes(std::span(send, n)));
        ran(CCOLL_MPI(Reduce)(input->bytes.get(), recv, length<T>(n), type<T>(), mpi<T>(op), root,
                              state_->comm));
        memory().drop(input);
        return true;
    }
    /// size() * n elements at send, n at recv. In place when send == recv: the result is then at the front of
    /// it.
    template <element T>
    bool native_reduce_scatter(const T* send, T* recv, std::size_t n, native_op op, request* begun = nullptr)
    {
        if (!fits<T>(n, size())) return false;
        return begun == nullptr
                   ? ran(CCOLL_MPI(Reduce_scatter_block)(here(send, send == recv), recv, length<T>(n),
                                                         type<T>(), mpi<T>(op), state_->comm))
                   : began(*begun, CCOLL_MPI(Ireduce_scatter_block)(here(send, send == recv), recv,
                                                                    length<T>(n), type<T>(), mpi<T>(op),
                                                                    state_->comm, &begun->handle_));
    }
    /// n elements at send, size() * n at recv. In place when send is this rank's block of recv.
    template <element T>
    bool native_allgather(const T* send, T* recv, std::size_t n, request* begun = nullptr)
    {
        if (!fits<T>(n, size())) return false;
        return begun == nullptr
                   ? ran(CCOLL_MPI(Allgather)(here(send, send == block(recv, n)), length<T>(n), type<T>(),
                                              recv, length<T>(n), type<T>(), state_->comm))
                   : began(*begun, CCOLL_MPI(Iallgather)(here(send, send == block(recv, n)), length<T>(n),
                                                         type<T>(), recv, length<T>(n), type<T>(),
                                                         state_->comm, &begun->handle_));
    }
    template <element T>
    bool native_bcast(T* data, std::size_t n, int root, request* begun = nullptr)
    {
        if (!fits<T>(n, 1)) return false;
        return begun == nullptr ? ran(CCOLL_MPI(Bcast)(data, length<T>(n), type<T>(), root, state_->comm))
                                : began(*begun, CCOLL_MPI(Ibcast)(data, length<T>(n), type<T>(), root,
                                                                  state_->comm, &begun->handle_));
    }
    /// n elements at send, size() * n at the root's recv. At the root in place when send is its block of
    /// recv.
    template <element T>
    bool native_gather(const T* send, T* recv, std::size_t n, int root, request* begun = nullptr)
    {
        if (!fits<T>(n, size())) return false;
        const bool in_place = rank() == root && send == block(recv, n);
        return begun == nullptr ? ran(CCOLL_MPI(Gather)(here(send, in_place), length<T>(n), type<T>(), recv,
                                                        length<T>(n), type<T>(), root, state_->comm))
                                : began(*begun, CCOLL_MPI(Igather)(here(send, in_place), length<T>(n),
                                                                   type<T>(), recv, length<T>(n), type<T>(),
                                                                   root, state_->comm, &begun->handle_));
    }
    /// size() * n elements at the root's send, n at recv. At the root in place when recv is its block of
    /// send.
    template <element T>
    bool native_scatter(const T* send, T* recv, std::size_t n, int root, request* begun = nullptr)
    {
        if (!fits<T>(n, size())) return false;
        void* const to = rank() == root && recv == block(send, n) ? MPI_IN_PLACE : recv;
        return begun == nullptr
                   ? ran(CCOLL_MPI(Scatter)(send, length<T>(n), type<T>(), to, length<T>(n), type<T>(), root,
                                            state_->comm))
                   : began(*begun, CCOLL_MPI(Iscatter)(send, length<T>(n), type<T>(), to, length<T>(n),
                                                       type<T>(), root, state_->comm, &begun->handle_));
    }
    /// size() * n elements at both; never in place.
    template <element T>
    bool native_alltoall(const T* send, T* recv, std::size_t n, request* begun = nullptr)
    {
        if (!fits<T>(n, size())) return false;
        return begun == nullptr
                   ? ran(CCOLL_MPI(Alltoall)(send, length<T>(n), type<T>(), recv, length<T>(n), type<T>(),
                                             state_->comm))
                   : began(*begun, CCOLL_MPI(Ialltoall)(send, length<T>(n), type<T>(), recv, length<T>(n),
                                                        type<T>(), state_->comm, &begun->handle_));
    }

private:
    static const void* here(const void* send, bool in_place) { return in_place ? MPI_IN_PLACE : send; }
    template <class T>
    static MPI_Op mpi(native_op op)
    {
        return library::one().template op<T>(op);
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

    bool is_gone() const noexcept { return state_->finalized || state_->users == MPI_COMM_NULL; }

    /// After MPI_Finalize, the request has failed.
    bool over(request& r) noexcept
    {
        if (!state_->finalized) return false;
        if (!std::exchange(state_->told, true)) {
            std::snprintf(state_->says, sizeof state_->says,
                          "MPI_Finalize came before the end of the call; wait for all requests first");
            detail::say(
                "ccoll: a request was still under way when MPI was finalised; wait for it, or let it go, "
                "before");
        }
        r.handle_ = MPI_REQUEST_NULL;
        r.result = status::transport_failed;
        return true;
    }

    void count_sent(int peer) noexcept { ++state_->sent[static_cast<std::size_t>(peer)]; }

    bool in_one_message(request& r, std::size_t size)
    {
        if (size <= INT_MAX) return true;
        r.result = status::transport_failed;
        std::snprintf(state_->says, sizeof state_->says,
                      "mpi_comm: a message of %zu bytes; MPI counts at most %d in one message", size,
                      INT_MAX);
        return false;
    }
    status posted(request& r, int rc) { return state_->heard(detail::begun(rc, r.handle_)); }

    explicit basic_mpi_comm(detail::mpi_state<Handle>* state) noexcept : state_(state) {}

    const char* why_ = "";
    detail::mpi_state<Handle>* state_;
    int vain_ = 0;
};

template <class Handle>
class basic_mpi_comm<Handle>::borrowed {
public:
    borrowed(const borrowed&) = delete;
    borrowed& operator=(const borrowed&) = delete;
    ~borrowed() { link_.state_ = nullptr; }  // it owns nothing
    explicit operator bool() const noexcept { return link_.state_ != nullptr; }
    basic_mpi_comm& operator*() noexcept { return link_; }

private:
    friend basic_mpi_comm;
    explicit borrowed(detail::mpi_state<Handle>* state) noexcept : link_(state) {}
    basic_mpi_comm link_;
};
using mpi_comm = basic_mpi_comm<MPI_Comm>;

template <std::same_as<MPI_Comm> Comm>  // a template for the same reason
struct transport_for<Comm> {
    static mpi_comm make(Comm comm) { return mpi_comm(comm); }
    static mpi_comm make_within(Comm comm, double seconds) { return mpi_comm(comm, seconds); }
    static mpi_comm make_alone(Comm comm, double seconds) { return mpi_comm(comm, seconds, true); }
    static auto use_again(Comm comm) noexcept { return mpi_comm::use_again(comm); }
    static bool in_place(const void* address) { return address == MPI_IN_PLACE; }
    /// Where handles are integers (MPICH), a call compiles with a rank in place of the communicator. No
    /// handle is as small as a rank.
    template <class Handle>
    static constexpr bool is_handle(Handle comm)
    {
        if constexpr (std::is_integral_v<Handle>) return comm < 0 || comm >= 1 << 26;
        else return true;
    }
};

static_assert(transport<mpi_comm>);

}  // namespace ccoll::inline CCOLL_ABI
