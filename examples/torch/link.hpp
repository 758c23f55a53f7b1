// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// link.hpp - what the extension asks of that which moves its messages: UCX (link_ucx.cpp), or MPI
// (link_mpi.cpp) if CCOLL_TORCH_MPI is defined. Everything else is done by the engine of ccoll. Knows nothing
// of torch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ccoll/transport/exchange.hpp>
#if defined(CCOLL_TORCH_MPI)
#include <ccoll/transport/mpi_calls.hpp>  // includes <mpi.h>
#else
#include <ccoll/transport/ucx.hpp>
#endif

namespace ccoll_torch {

#if defined(CCOLL_TORCH_MPI)
using communicator = MPI_Comm;
#else
using communicator = ccoll::ucx_comm;
#endif

/// How the ranks of a new communicator find each other.
struct meeting {
    const communicator* whole = nullptr;  ///< of which it is a part; null: the ranks do not know each other
    std::vector<int> ranks;               ///< of `whole`, in the order of the part; MPI: of MPI_COMM_WORLD
    int rank = 0, size = 1;               ///< of the new communicator
    ccoll::exchange* how = nullptr;       ///< MPI needs none
    std::string name;                     ///< used once with this exchange
    double seconds = 0;                   ///< how long to wait for the other ranks
};

namespace link {

/// "mpi" or "ucx".
extern const char* const name;
/// The name and version of the library.
std::string library();

struct place {
    int rank, size;
};
/// Starts what a process has once. @throw std::runtime_error  with a sentence
void start();
/// What the launcher says of this process; nothing where torch alone knows.
std::optional<place> launched();
/// After all communicators have been given back.
void stop();

/// Collective over the ranks of the new communicator. @throw std::runtime_error  with a sentence
communicator make(const meeting&);
/// Calls end with an error if nothing comes from a rank for so long.
/// @return false if this link knows no such limit
bool set_limit(communicator&, double seconds);
/// Gives a communicator back. Local.
void release(communicator&&);

/// Ends all ranks if they would not notice that this one has ended; otherwise does nothing.
void end_all(int code);

}  // namespace link

}  // namespace ccoll_torch
