// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MPI gives the context of a freed communicator to the next one. What a call left unread on the first must
// not become a message of the second: what an error leaves, a question that came too late, the last
// acknowledgements of a guarded link.
#include <cstddef>
#include <system_error>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;

namespace {

/// Ranks make different calls, so several leave at the same time and tell ranks that have left already.
void disagree(int round, MPI_Comm comm)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    std::vector<float> v(100, 1);
    std::error_code code;
    switch ((rank + round) % 4) {
    case 0: ccoll::allreduce<Algo::Ring>(v, comm, code); break;
    case 1: ccoll::allreduce<Algo::RecursiveDoubling>(v, comm, code); break;
    case 2: ccoll::allreduce<Algo::Ring, Codec::SZx, ErrorBound<1e-3>>(v, comm, code); break;
    default: v.resize(40); ccoll::allreduce<Algo::Rabenseifner>(v, comm, code);
    }
    EXPECT(bool(code));
}

void agree(int round, MPI_Comm comm)
{
    int p = 1;
    MPI_Comm_size(comm, &p);
    std::vector<float> v(200, 1);
    std::error_code code;
    if (round % 3 == 0) ccoll::allreduce<Algo::RecursiveDoubling>(v, comm, code);
    else if (round % 3 == 1) ccoll::allreduce<Algo::Ring, Codec::SZx, ErrorBound<1e-3>>(v, comm, code);
    else ccoll::allreduce<Algo::Ring>(v, comm, code);
    EXPECT(!code);
    EXPECT(v[0] > static_cast<float>(p) - 0.01f && v[0] < static_cast<float>(p) + 0.01f);
}

/// Fragments of guarded links are numbered as long as their communicator lives, so an old acknowledgement
/// would count for new fragments.
void agree_guarded(MPI_Comm comm)
{
    int p = 1;
    MPI_Comm_size(comm, &p);
    std::vector<float> v(5000, 1), all(static_cast<std::size_t>(p) * 1000);
    std::error_code code;
    ccoll::allreduce<Algo::RecursiveDoubling, Fault::Crc32c, Timeout<30>>(v, comm, code);
    EXPECT(!code);
    EXPECT(v[0] == static_cast<float>(p));
    ccoll::allgather<Fault::Crc32c, Timeout<30>>(std::vector<float>(1000, 2), all, comm, code);
    EXPECT(!code);
    EXPECT(all.back() == 2);
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    for (int round = 0; round < 60; ++round) {
        MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &first);
        for (int i = 0; i < round % 5; ++i) agree(i, first);
        disagree(round, first);
        MPI_Comm_free(&first);
        MPI_Comm_dup(MPI_COMM_WORLD, &second);
        for (int i = 0; i < 6; ++i) agree(round + i, second);
        MPI_Comm_free(&second);
    }
    for (int round = 0; round < 100; ++round) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        agree_guarded(comm);
        MPI_Comm_free(&comm);
    }
    return check::finish();
}
