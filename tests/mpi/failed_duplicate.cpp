// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MPI cannot make the private duplicate of a communicator: every call is refused, none works on what MPI left
// behind, no error handler of the user hears of it, and the communicator works as soon as MPI can.
#include <string>
#include <system_error>
#include <vector>

#include "check.hpp"

#include <ccoll/allreduce.hpp>
#include <ccoll/p2p.hpp>
#include <ccoll/transport/mpi.hpp>

using namespace ccoll::policies;
using floats = std::vector<float>;

namespace {

enum class failing { no, at_once, later };
failing how = failing::no;
MPI_Comm of = MPI_COMM_NULL;  ///< the parent of the duplicate that fails later
MPI_Comm* result = nullptr;
MPI_Request* forming = nullptr;

/// As MPI fails: it tells the handler, and returns.
int fails(MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL) MPI_Comm_call_errhandler(comm, MPI_ERR_INTERN);
    return MPI_ERR_INTERN;
}
/// @param duplicate  the true one, which a failure leaves in `fresh`, as MPICH 4.0 does
int idup(int (*duplicate)(MPI_Comm, MPI_Comm*, MPI_Request*), MPI_Comm comm, MPI_Comm* fresh, MPI_Request* r)
{
    if (how == failing::at_once) {
        *fresh = MPI_COMM_SELF;
        return fails(comm);
    }
    if (how == failing::later) {
        of = comm;
        result = fresh;
        forming = r;
    }
    return duplicate(comm, fresh, r);
}

int handled = 0;
void count(MPI_Comm*, int*, ...) { ++handled; }

}  // namespace

#if MPI_VERSION >= 4
extern "C" int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info, MPI_Comm* fresh, MPI_Request* r)
{
    return idup([](MPI_Comm c, MPI_Comm* f,
                   MPI_Request* q) { return PMPI_Comm_idup_with_info(c, MPI_INFO_NULL, f, q); },
                comm, fresh, r);
}
#else
extern "C" int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* fresh, MPI_Request* r)
{
    return idup(&PMPI_Comm_idup, comm, fresh, r);
}
#endif
extern "C" int MPI_Test(MPI_Request* r, int* done, MPI_Status* s)
{
    const int rc = PMPI_Test(r, done, s);
    if (r != forming || rc != MPI_SUCCESS || *done == 0) return rc;
    forming = nullptr;
    PMPI_Comm_free(result);
    *result = MPI_COMM_SELF;
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_INTERN);  // Open MPI 4.1 tells this one
    return fails(of);
}

namespace {

std::string refusal(MPI_Comm comm)
{
    floats v(10, 1);
    try {
        ccoll::allreduce<Algo::Ring>(v, comm);
    } catch (const ccoll::error& e) {
        check::expect(e.what_happened().code == ccoll::status::no_communicator, e.what());
        return e.what();
    }
    return "";
}
bool is_whole(const std::string& text, int code)
{
    char says[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(code, says, &length);
    return text.find("free communicators that are no longer used") != std::string::npos &&
           text.find(says) != std::string::npos;
}
void works(MPI_Comm comm)
{
    int p = 1;
    MPI_Comm_size(comm, &p);
    floats v(1000, 1);
    std::error_code code;
    ccoll::allreduce<Algo::Ring>(v, comm, code);
    check::expect(!code, code.message().c_str());
    EXPECT(v[999] == static_cast<float>(p));
}

/// The duplicate fails three times, and a communicator may be freed after that. Handlers of the user stay
/// silent, and stay in force.
void refused(failing which, MPI_Errhandler handler)
{
    MPI_Comm comm = MPI_COMM_NULL, freed = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    for (const MPI_Comm each : {comm, freed, MPI_COMM_WORLD, MPI_COMM_SELF})
        MPI_Comm_set_errhandler(each, handler);
    how = which;
    for (int i = 0; i < 3; ++i) {
        const std::string text = refusal(comm);
        check::expect(is_whole(text, MPI_ERR_INTERN), text.c_str());
    }
    {
        floats v(10, 1);
        bool refused = false;
        try {
            ccoll::iallreduce<Algo::Ring>(v, comm).wait();
        } catch (const ccoll::error& e) {
            refused = e.what_happened().code == ccoll::status::no_communicator;
        }
        EXPECT(refused);
    }
    EXPECT(!refusal(freed).empty());
    if (check::rank == 0) {  // no other rank takes part in this, so nothing may wait for them
        const floats v(10, 1);
        std::error_code code;
        ccoll::send<Codec::None>(v, 0, 5, comm, code);
        EXPECT(code == ccoll::status::no_communicator);
    }
    how = failing::no;
    MPI_Comm_free(&freed);
    EXPECT(handled == 0);
    for (const MPI_Comm each : {comm, MPI_COMM_WORLD, MPI_COMM_SELF}) {
        MPI_Errhandler now = MPI_ERRHANDLER_NULL;
        MPI_Comm_get_errhandler(each, &now);
        EXPECT(now == handler);
        if (now == handler && handler != MPI_ERRORS_ARE_FATAL) MPI_Errhandler_free(&now);
    }
    works(comm);
    works(comm);
    MPI_Comm_free(&comm);
}

/// A rank that has given up waiting learns of the failure in its next call, which tries again, as those of
/// the other ranks do.
void refused_after_a_timeout()
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    how = failing::later;
    std::error_code code;
    floats v(10, 1);
    if (check::rank != 0) {
        ccoll::allreduce<Timeout<0.05>>(v, comm, code);
        EXPECT(code == ccoll::status::timed_out);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check::rank == 0) EXPECT(!refusal(comm).empty());
    how = failing::no;
    MPI_Barrier(MPI_COMM_WORLD);
    works(comm);
    MPI_Comm_free(&comm);
}

/// The duplicate of a communicator that has been freed meanwhile fails. Nobody is left whom this concerns.
void refused_after_the_end()
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    how = failing::later;
    std::error_code code;
    floats v(10, 1);
    if (check::rank != 0) ccoll::allreduce<Timeout<0.05>>(v, comm, code);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check::rank == 0) ccoll::allreduce<Timeout<0.05>>(v, comm, code);
    EXPECT(!!code);
    MPI_Barrier(MPI_COMM_WORLD);
    of = MPI_COMM_NULL;
    MPI_Comm_free(&comm);
    how = failing::no;
}

#if defined(MPICH)
/// Where contexts can be used up, not only in pretence. Duplicates of MPI_COMM_SELF use them up without a
/// message.
void used_up(MPI_Errhandler handler)
{
    MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    std::vector<MPI_Comm> all;
    for (MPI_Comm fresh = MPI_COMM_NULL;
         all.size() < 3000 && MPI_Comm_dup(MPI_COMM_SELF, &fresh) == MPI_SUCCESS;)
        all.push_back(fresh);
    EXPECT(all.size() < 2048);
    for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF, first, second})
        MPI_Comm_set_errhandler(each, handler);
    for (int i = 0; i < 3; ++i)
        for (const MPI_Comm each : {first, second}) {
            const std::string text = refusal(each);
            check::expect(
                text.find("MPICH 2048") != std::string::npos && text.find("MPI_Test(") != std::string::npos,
                text.c_str());
        }
    EXPECT(handled == 0);
    for (MPI_Comm& each : all) MPI_Comm_free(&each);
    for (const MPI_Comm each : {first, second, first}) works(each);
    // Each has messages of its own.
    if (int p = 1; MPI_Comm_size(MPI_COMM_WORLD, &p) == MPI_SUCCESS && p > 1) {
        floats a(10, 1), b(10, 2), x(10), y(10);
        if (check::rank == 0) {
            ccoll::send<Codec::None>(a, 1, 5, first);
            ccoll::send<Codec::None>(b, 1, 5, second);
        } else if (check::rank == 1) {
            ccoll::recv<Codec::None>(y, 0, 5, second);
            ccoll::recv<Codec::None>(x, 0, 5, first);
            EXPECT(x == a && y == b);
        }
    }
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
}
#endif

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(&count, &handler);
    refused(failing::at_once, handler);
    refused(failing::later, handler);
    refused(failing::at_once, MPI_ERRORS_ARE_FATAL);
    refused(failing::later, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    refused_after_a_timeout();
    refused_after_the_end();
    EXPECT(handled == 0);
#if defined(MPICH)
    used_up(handler);
#endif
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return check::finish();
}
