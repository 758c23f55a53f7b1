// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/mpi_state.hpp - floor 2. What ccoll keeps for each communicator of MPI. Handle is always
// MPI_Comm. This is a template so that a file for which the engine is compiled elsewhere (compiled.hpp)
// compiles none of it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <ccoll/base/error.hpp>
#include <ccoll/base/well.hpp>
#include <ccoll/base/workspace.hpp>
#include <ccoll/policy/neighbors.hpp>
#include <ccoll/transport/mpi_calls.hpp>
#include <ccoll/transport/mpi_duplicate.hpp>
#include <ccoll/transport/mpi_errors.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

enum class progress_of { under_way, done, failed };

/// MPI_Test for a request whose status is not needed. After a failure there is no request any more.
template <class Request>
progress_of tested(Request& r)
{
    int done = 0;
    if (begun(CCOLL_MPI(Test)(&r, &done, MPI_STATUS_IGNORE), r) != MPI_SUCCESS) return progress_of::failed;
    return done != 0 ? progress_of::done : progress_of::under_way;
}

/// A message that its receiver may leave unread, with bytes of its own.
struct mpi_aside {
    static constexpr std::size_t most_bytes = 256;
    MPI_Request handle = MPI_REQUEST_NULL;
    std::array<std::byte, most_bytes> bytes;
};

/// What ccoll keeps for one communicator of the user, as an attribute of it. It lives as long as the
/// communicator, or longer if calls are still under way then. Its messages use the private duplicate.
template <class Handle>
struct mpi_state : mpi_duplicate<Handle> {
    using mpi_duplicate<Handle>::comm;
    MPI_Comm users = MPI_COMM_NULL;      ///< MPI_COMM_NULL once it has been freed
    std::atomic<int> owners{1};          ///< the attribute, and each mpi_comm
    int refusal = MPI_SUCCESS;           ///< MPI's code, if it could not make the duplicate when last asked
    bool told = false;                   ///< `finalized` has been reported
    std::atomic<bool> finalized{false};  ///< MPI must not be called any more
    int rank = 0;
    int size = 1;
    std::uint32_t calls = 0;
    status native = status::ok;
    bool has_requests = false;  ///< nonblocking calls have been started here
    workspace memory;
    std::vector<int> nodes;  ///< of all ranks; empty until the first question
    /// In the topology; null until the first question, and without one.
    std::shared_ptr<const neighbor_list> neighbors;
    std::vector<std::unique_ptr<mpi_aside>> asides;  ///< those that are over are used again
    bool unread = false;                             ///< messages to this rank may stay where they are
    std::vector<MPI_Request> arriving;               ///< receives that were cancelled too late
    std::vector<std::uint64_t> sent;                 ///< how many messages, to each rank
    std::uint64_t received = 0;                      ///< how many messages
    std::uint64_t due = 0;  ///< how many messages all ranks have sent to this one, once `is_empty` knows it
    enum class stage : char { in_use, counting, draining, leaving, unknown };
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

    /// @return true when its memory is free again. If not, the receive is counted when it ends.
    ///
    /// By the standard MPI_Wait is local after MPI_Cancel. In both MPIs it is not for a receive that has been
    /// matched and whose message is long: it waits for the sender, which may be stopped. So MPI is asked a
    /// few times, which is enough where the answer is local.
    [[gnu::cold]] bool cancel_receive(MPI_Request r)
    {
        if (CCOLL_MPI(Cancel)(&r) != MPI_SUCCESS) return false;
        for (int tries = 0; tries < 1000; ++tries)
            if (const progress_of now = ended(r); now != progress_of::under_way)
                return now == progress_of::done;
        arriving.push_back(r);
        return false;
    }

    /// Have all ranks received all messages? Does not wait; ask again as long as the answer is no. The ranks
    /// tell each other how many messages they have sent. Each receives what comes until it has as many, and
    /// then enters a nonblocking barrier. When the barrier is complete, no message is on its way. A rank that
    /// has left a call begins only at the `end`, so before that no rank gets further.
    ///
    /// The barrier alone would not do. Its messages may overtake others, for example the last acknowledgement
    /// of a guarded link.
    /// Where MPI fails, nobody knows, and the answer remains no.
    [[gnu::cold]] bool is_empty(bool end)
    {
        if (emptied == stage::unknown) return false;
        if (emptied == stage::in_use) {
            if (unread && !end) return false;
            if (!began(CCOLL_MPI(Ireduce_scatter_block)(sent.data(), &due, 1, MPI_UINT64_T, MPI_SUM, comm,
                                                        &under_way),
                       stage::counting))
                return false;
        }
        if (!drain()) emptied = stage::unknown;
        if (emptied == stage::counting && is_over()) emptied = stage::draining;
        if (emptied == stage::draining && received >= due)
            began(CCOLL_MPI(Ibarrier)(comm, &under_way), stage::leaving);
        if (emptied != stage::leaving || !is_over()) return false;
        for (const auto& each : asides)
            if (tested(each->handle) == progress_of::under_way) return false;
        return true;
    }

private:
    /// MPI_Test for a receive that has been cancelled; counts its message if it has come all the same.
    progress_of ended(MPI_Request& r)
    {
        int done = 0, cancelled = 0;
        MPI_Status s{};
        if (begun(CCOLL_MPI(Test)(&r, &done, &s), r) != MPI_SUCCESS) return progress_of::failed;
        if (done == 0) return progress_of::under_way;
        if (CCOLL_MPI(Test_cancelled)(&s, &cancelled) == MPI_SUCCESS && cancelled == 0) ++received;
        return progress_of::done;
    }
    bool began(int rc, stage next)
    {
        emptied = begun(rc, under_way) == MPI_SUCCESS ? next : stage::unknown;
        return emptied == next;
    }
    /// What is under way for `emptied`.
    bool is_over()
    {
        const progress_of now = tested(under_way);
        if (now == progress_of::failed) emptied = stage::unknown;
        return now == progress_of::done;
    }
    /// Receives what has come.
    /// @return false if MPI failed, or without memory: MPI calls this, and no exception may pass through it
    [[gnu::cold]] bool drain()
    {
        std::vector<std::byte> room;
        MPI_Status s;
        std::erase_if(arriving, [this](MPI_Request& r) { return ended(r) != progress_of::under_way; });
        while (true) {
            int found = 0, count = 0;
            if (CCOLL_MPI(Iprobe)(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &s) != MPI_SUCCESS) return false;
            if (found == 0) return true;
            if (CCOLL_MPI(Get_count)(&s, MPI_BYTE, &count) != MPI_SUCCESS || count < 0) return false;
            if (!went_well([&] { room.resize(static_cast<std::size_t>(count)); })) return false;
            const int rc = CCOLL_MPI(Recv)(room.data(), count, MPI_BYTE, s.MPI_SOURCE, s.MPI_TAG, comm,
                                           MPI_STATUS_IGNORE);
            if (rc != MPI_SUCCESS) return false;
            ++received;
        }
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail
