// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Timeout also holds for the first call on a communicator, where MPI has yet to make the library's duplicate.
#include <string>
#include <system_error>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;
using floats = std::vector<float>;

namespace {

/// Every rank except 0 calls, and gives up in time because rank 0 does not. Then all call.
template <class First>
void late_rank_0(First first, const char* what)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (check::rank != 0) {
        std::string text;
        try {
            first(comm);
            check::expect(false, what);
        } catch (const ccoll::error& e) {
            text = e.what();
            check::expect(e.what_happened().code == ccoll::status::timed_out, text.c_str());
        }
        check::expect(text.find("first call on this communicator") != std::string::npos, text.c_str());
        const double took = MPI_Wtime() - begin;
        check::expect(took >= 0.19 && took < 2, "in time");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check::rank == 0) {  // the others have given up this call, so rank 0 hears nothing from them
        std::error_code code;
        floats v(10, 1);
        ccoll::allreduce<Timeout<0.2>>(v, comm, code);
        check::expect(code == ccoll::status::timed_out, "the call that the others have given up");
    } else {
        while (MPI_Wtime() < begin + 0.45) ccoll::attach(comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    floats v(10, 1);
    ccoll::allreduce<Algo::Ring>(v, comm);
    int p = 1;
    MPI_Comm_size(comm, &p);
    EXPECT(v[9] == static_cast<float>(p));
    MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    const auto sum = [](MPI_Comm comm) {
        floats v(10, 1);
        ccoll::allreduce<Timeout<0.2>>(v, comm);
    };
    late_rank_0(sum, "a first allreduce must time out");
    late_rank_0(
        [](MPI_Comm comm) {
            floats v(10, 1);
            auto begun = ccoll::iallreduce<Timeout<0.2>, Codec::SZp, ErrorBound<1e-3>>(v, comm);
            begun.wait();
        },
        "a first iallreduce must time out");
    {  // a communicator can be freed although not all ranks ever call
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (check::rank != 0) {
            std::error_code code;
            floats v(10, 1);
            ccoll::allreduce<Timeout<0.05>>(v, comm, code);
            EXPECT(code == ccoll::status::timed_out);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (check::rank == 0) {
            std::error_code code;
            floats v(10, 1);
            ccoll::allreduce<Timeout<0.05>>(v, comm, code);
            EXPECT(code == ccoll::status::timed_out);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_free(&comm);
    }
    return check::finish();
}
