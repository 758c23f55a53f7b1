// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Error handlers of communicators that ccoll has not made: put aside in a few calls of MPI and put back, or
// never touched, as the program wishes.
#include <cstdlib>
#include <system_error>
#include <vector>

#include "check.hpp"

#include <ccoll/allreduce.hpp>
#include <ccoll/neighbor.hpp>
#include <ccoll/transport/mpi.hpp>

using namespace ccoll::policies;
using floats = std::vector<float>;

namespace {

MPI_Comm users = MPI_COMM_NULL;  ///< the communicator of the program beside MPI's own two
int of_program = 0;              ///< handlers set on communicators of the program
int of_ccoll = 0;                ///< on others
int handled = 0;                 ///< calls of the handler of the program
bool duplicates = true;

void count(MPI_Comm*, int*, ...) { ++handled; }
void forget_counts() { of_program = of_ccoll = handled = 0; }

}  // namespace

extern "C" int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    const bool is_mine = comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF || comm == users;
    ++(is_mine ? of_program : of_ccoll);
    return PMPI_Comm_set_errhandler(comm, handler);
}
#if MPI_VERSION >= 4
extern "C" int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* fresh, MPI_Request* r)
{
    if (duplicates) return PMPI_Comm_idup_with_info(comm, info, fresh, r);
    MPI_Comm_call_errhandler(comm, MPI_ERR_INTERN);
    return MPI_ERR_INTERN;
}
#else
extern "C" int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* fresh, MPI_Request* r)
{
    if (duplicates) return PMPI_Comm_idup(comm, fresh, r);
    MPI_Comm_call_errhandler(comm, MPI_ERR_INTERN);
    return MPI_ERR_INTERN;
}
#endif

namespace {

/// The handlers of the program are in force.
bool are_in_force(MPI_Errhandler handler)
{
    bool all = true;
    for (const MPI_Comm each : {users, MPI_COMM_WORLD, MPI_COMM_SELF}) {
        MPI_Errhandler now = MPI_ERRHANDLER_NULL;
        MPI_Comm_get_errhandler(each, &now);
        all = all && now == handler;
        if (now == handler) MPI_Errhandler_free(&now);
    }
    return all;
}

/// A ring of the program, on which nothing has been called yet.
void make_users(MPI_Errhandler handler)
{
    int p = 1, ring = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &p, &ring, 0, &users);
    for (const MPI_Comm each : {users, MPI_COMM_WORLD, MPI_COMM_SELF})
        PMPI_Comm_set_errhandler(each, handler);
}

bool works(bool is_first)
{
    int p = 1;
    MPI_Comm_size(users, &p);
    floats v(1000, 1);
    ccoll::allreduce<Algo::Ring>(v, users);
    bool right = v[999] == static_cast<float>(p);
    if (is_first) {  // asks MPI for the topology
        floats all(2 * v.size());
        ccoll::neighbor_allgather<Codec::None>(v, all, users);
        right = right && all[1999] == static_cast<float>(p);
    }
    return right;
}

void put_aside_and_back(MPI_Errhandler handler)
{
    make_users(handler);
    forget_counts();
    EXPECT(works(true) && are_in_force(handler));
    EXPECT(of_program > 0 && of_program % 2 == 0);
    EXPECT(of_ccoll == 1);
    forget_counts();
    EXPECT(works(false) && of_program == 0 && of_ccoll == 0);
    duplicates = false;
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm first = users;
    users = other;
    floats v(10, 1);
    std::error_code code;
    ccoll::allreduce<Algo::Ring>(v, other, code);
    EXPECT(code == ccoll::status::no_communicator && handled == 0);
    duplicates = true;
    MPI_Comm_free(&other);
    users = first;
    MPI_Comm_free(&users);
}

void never_touched(MPI_Errhandler handler)
{
    EXPECT(!ccoll::keep_error_handlers());
    EXPECT(ccoll::keep_error_handlers(true));
    make_users(handler);
    forget_counts();
    duplicates = false;
    floats v(10, 1);
    std::error_code code;
    ccoll::allreduce<Algo::Ring>(v, users, code);
    EXPECT(code == ccoll::status::no_communicator && handled == 1);  // the handler of the program hears of it
    duplicates = true;
    forget_counts();
    EXPECT(works(true) && works(false) && are_in_force(handler));
    EXPECT(of_program == 0 && of_ccoll == 1 && handled == 0);
    MPI_Comm_free(&users);
    EXPECT(of_program == 0);
}

void asked_of_the_environment()
{
    EXPECT(!ccoll::detail::handlers_stay_of_environment());
    setenv("CCOLL_ERROR_HANDLERS", "other", 1);
    EXPECT(!ccoll::detail::handlers_stay_of_environment());
    setenv("CCOLL_ERROR_HANDLERS", "keep", 1);
    EXPECT(ccoll::detail::handlers_stay_of_environment());
    unsetenv("CCOLL_ERROR_HANDLERS");
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    unsetenv("CCOLL_ERROR_HANDLERS");
    asked_of_the_environment();
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(&count, &handler);
    put_aside_and_back(handler);
    never_touched(handler);
    for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF})
        PMPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    floats v(1000, 1);
    ccoll::allreduce<Algo::Ring>(v, MPI_COMM_WORLD);  // is left for MPI_Finalize
    forget_counts();
    return check::finish([] { EXPECT(of_program == 0); });
}
