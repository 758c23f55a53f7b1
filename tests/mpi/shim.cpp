// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 3
// A shim above ccoll: this program defines functions of MPI itself. With CCOLL_USE_PMPI, ccoll calls none of
// them.
// one MPI
#define CCOLL_USE_PMPI

#include <cmath>
#include <string>
#include <system_error>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>
#include <ccoll/typed.hpp>

using namespace ccoll::policies;

namespace {
int calls = 0;
}  // namespace

// Each function counts its calls, and then does its usual work.
#define COUNTED(name, parameters, arguments) \
    extern "C" int MPI_##name parameters     \
    {                                        \
        ++calls;                             \
        return PMPI_##name arguments;        \
    }
COUNTED(Isend, (const void* data, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* r),
        (data, n, type, peer, tag, comm, r))
COUNTED(Issend,
        (const void* data, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* r),
        (data, n, type, peer, tag, comm, r))
COUNTED(Irecv, (void* data, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* r),
        (data, n, type, peer, tag, comm, r))
COUNTED(Test, (MPI_Request * r, int* done, MPI_Status* s), (r, done, s))
COUNTED(Iprobe, (int peer, int tag, MPI_Comm comm, int* found, MPI_Status* s), (peer, tag, comm, found, s))
COUNTED(Get_count, (const MPI_Status* s, MPI_Datatype type, int* n), (s, type, n))
COUNTED(Cancel, (MPI_Request * r), (r))
COUNTED(Bcast, (void* data, int n, MPI_Datatype type, int root, MPI_Comm comm), (data, n, type, root, comm))
COUNTED(Allgather,
        (const void* send, int n, MPI_Datatype t, void* recv, int m, MPI_Datatype u, MPI_Comm comm),
        (send, n, t, recv, m, u, comm))
COUNTED(Iallreduce,
        (const void* send, void* recv, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* r),
        (send, recv, n, type, op, comm, r))
#if MPI_VERSION >= 4
COUNTED(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* fresh, MPI_Request* r),
        (comm, info, fresh, r))
#else
COUNTED(Comm_idup, (MPI_Comm comm, MPI_Comm* fresh, MPI_Request* r), (comm, fresh, r))
#endif
COUNTED(Comm_rank, (MPI_Comm comm, int* rank), (comm, rank))
COUNTED(Comm_size, (MPI_Comm comm, int* size), (comm, size))
COUNTED(Comm_get_attr, (MPI_Comm comm, int key, void* value, int* found), (comm, key, value, found))
COUNTED(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm* fresh),
        (comm, kind, key, info, fresh))
COUNTED(Initialized, (int* yes), (yes))
COUNTED(Query_thread, (int* level), (level))

/// Sums of floats travel compressed, whatever the program above knows of it.
// [doc:shim]
extern "C" int MPI_Allreduce(const void* send, void* recv, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    if (type != MPI_FLOAT || op != MPI_SUM) return PMPI_Allreduce(send, recv, n, type, op, comm);
    std::error_code code;
    ccoll::typed::allreduce<Codec::SZp, ErrorBound<1e-3>>(send, recv, static_cast<std::size_t>(n), type, op,
                                                          comm, code);
    return code ? MPI_ERR_OTHER : MPI_SUCCESS;
}
// [/doc:shim]

namespace {

/// What ccoll does in `work` must call none of the functions above.
template <class Work>
void calls_nothing(const char* what, Work work)
{
    const int before = calls;
    work();
    check::expect(calls == before, what);
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    int p = 1, rank = 0;
    const int before = calls;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    EXPECT(calls == before + 2);  // plain calls of MPI reach the shims

    std::vector<float> field(100000), sum(field.size());
    for (std::size_t i = 0; i < field.size(); ++i) field[i] = std::sin(1e-2f * static_cast<float>(i));
    const auto right = [&](double within) {
        for (std::size_t i = 0; i < field.size(); ++i)
            if (!(std::fabs(sum[i] - static_cast<float>(p) * field[i]) <= within)) return false;
        return true;
    };
    calls_nothing("MPI_Allreduce through ccoll", [&] {
        MPI_Allreduce(field.data(), sum.data(), static_cast<int>(field.size()), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
    });
    EXPECT(right(1e-3 * p + 1e-5));
    if (p > 1) EXPECT(!right(0));  // it was compressed

    calls_nothing("MPI's own collective",
                  [&] { EXPECT(ccoll::allreduce(field, sum, MPI_COMM_WORLD).ran_by == ccoll::ran_by::mpi); });
    calls_nothing("a call that is begun", [&] { ccoll::iallreduce(field, sum, MPI_COMM_WORLD).wait(); });
    calls_nothing("a ring",
                  [&] { ccoll::allreduce<Algo::Ring, Check::Collective>(field, sum, MPI_COMM_WORLD); });
    calls_nothing("two levels", [&] {
        ccoll::allreduce<Algo::Hierarchical<Algo::Binomial, Algo::Ring>>(field, sum, MPI_COMM_WORLD);
    });
    calls_nothing("sendrecv", [&] {
        ccoll::sendrecv<Codec::SZp, ErrorBound<1e-3>>(field, (rank + 1) % p, sum, (rank + p - 1) % p, 0,
                                                      MPI_COMM_WORLD);
    });
    calls_nothing("typed, for MPI",
                  [&] { ccoll::typed::bcast<Codec::Lossless>(sum.data(), 10, MPI_CHAR, 0, MPI_COMM_WORLD); });
    calls_nothing("ranks that disagree, and what is left behind", [&] {
        std::error_code code;
        std::vector<float> longer(rank == 0 ? 10 : 20);
        ccoll::allreduce<Algo::Ring>(longer, MPI_COMM_WORLD, code);
        EXPECT(!!code == (p > 1));
    });
    calls_nothing("a communicator that comes and goes", [&] {
        MPI_Comm other = MPI_COMM_NULL;
        PMPI_Comm_dup(MPI_COMM_WORLD, &other);
        ccoll::allreduce<Algo::Ring>(field, sum, other);
        PMPI_Comm_free(&other);
    });
    return check::finish();
}
