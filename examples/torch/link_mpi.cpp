// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// link_mpi.cpp - see link.hpp: MPI. The ranks are those of mpirun.
#include "link.hpp"

#include <stdexcept>

#include <unistd.h>

namespace ccoll_torch::link {

const char* const name = "mpi";

namespace {

bool ends_mpi = false;

bool mpi_has(int (*question)(int*))
{
    int answer = 0;
    question(&answer);
    return answer != 0;
}

}  // namespace

std::string library()
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    return text;
}

/// Starts MPI if the program has not.
void start()
{
    if (mpi_has(MPI_Finalized))
        throw std::runtime_error("ccoll: MPI has ended, and cannot be started a second time");
    int level = 0;
    if (mpi_has(MPI_Initialized)) {
        MPI_Query_thread(&level);
    } else {
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
        ends_mpi = true;
    }
    if (level < MPI_THREAD_SERIALIZED)
        throw std::runtime_error(
            "ccoll: calls are made on a thread of their own, so MPI must be started with MPI_THREAD_MULTIPLE "
            "(or SERIALIZED, if nothing else in the program calls MPI); import ccoll_torch before what "
            "starts MPI");
}

std::optional<place> launched()
{
    place here{};
    MPI_Comm_rank(MPI_COMM_WORLD, &here.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &here.size);
    return here;
}

void stop()
{
    if (ends_mpi && !mpi_has(MPI_Finalized)) MPI_Finalize();
}

communicator make(const meeting& m)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, static_cast<int>(m.ranks.size()), m.ranks.data(), &some);
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &made);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    if (made == MPI_COMM_NULL) throw std::runtime_error("ccoll: this rank is not in the group that it makes");
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
}
bool set_limit(communicator&, double) { return false; }
/// It lives until MPI ends: freeing one is a call of all its ranks, and Python destroys objects when it
/// pleases.
void release(communicator&&) {}

void end_all(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
    _exit(code);
}

}  // namespace ccoll_torch::link
