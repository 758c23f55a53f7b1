// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/mpi_duplicate.hpp - floor 2. The private duplicate of a communicator, while MPI makes it.
#pragma once

#include <ccoll/transport/mpi_calls.hpp>
#include <ccoll/transport/mpi_errors.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// It is not there, or it is being formed, or it is there. What MPI leaves in the output arguments of a call
/// that failed means nothing, so `comm` is set last, and no handle tells which of the three it is.
template <class Handle>
class mpi_duplicate {
public:
    Handle comm = MPI_COMM_NULL;  ///< MPI_COMM_NULL until it is there

    mpi_duplicate() = default;
    mpi_duplicate(const mpi_duplicate&) = delete;  // MPI writes to its members while it is being formed
    mpi_duplicate& operator=(const mpi_duplicate&) = delete;

    bool is_forming() const noexcept { return forming_; }

    /// Begins to form it. Collective over `users`, and does not wait.
    /// @return MPI's code; after an error it may be called again
    ///
    /// It has no hints, because those of `users` may promise what our messages do not keep (no wildcards,
    /// exact lengths). Open MPI 4.1 has no call that omits hints, but it does not copy them either.
    int begin(Handle users)
    {
        const errors_returned<Handle> quiet(users);
#if MPI_VERSION >= 4
        const int rc = CCOLL_MPI(Comm_idup_with_info)(users, MPI_INFO_NULL, &fresh_, &under_way_);
#else
        const int rc = CCOLL_MPI(Comm_idup)(users, &fresh_, &under_way_);
#endif
        forming_ = rc == MPI_SUCCESS;
        return rc;
    }

    /// Goes on forming it.
    /// @param users  MPI_COMM_NULL if it has been freed
    /// @param rounds  how often MPI is asked
    /// @return MPI's code; after an error it is not there, and is not being formed any more
    int advance(Handle users, int rounds)
    {
        const errors_returned<Handle> quiet(users);
        int rc = MPI_SUCCESS, done = 0;
        for (int i = 0; i < rounds && rc == MPI_SUCCESS && done == 0; ++i)
            rc = CCOLL_MPI(Test)(&under_way_, &done, MPI_STATUS_IGNORE);
        if (rc == MPI_SUCCESS && done == 0) return rc;
        forming_ = false;
        if (rc == MPI_SUCCESS) rc = CCOLL_MPI(Comm_set_errhandler)(fresh_, MPI_ERRORS_RETURN);
        if (rc == MPI_SUCCESS) comm = fresh_;
        return rc;
    }

    /// If MPI fails, it is lost.
    void free()
    {
        CCOLL_MPI(Comm_free)(&comm);
        comm = MPI_COMM_NULL;
    }

private:
    Handle fresh_ = MPI_COMM_NULL;
    MPI_Request under_way_ = MPI_REQUEST_NULL;
    bool forming_ = false;
};

}  // namespace ccoll::inline CCOLL_ABI::detail
