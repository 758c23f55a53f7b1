// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sanitize: address
// What remains after MPI_Finalize: nothing of ours, whether communicators were freed or not, and even after
// calls that failed.
// one MPI
#include <span>
#include <vector>

#include "check.hpp"
#include "support/acme_fixed16.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;

namespace {

using lossy = ccoll::Plan<acme::Fixed16, ErrorBound<1e-3>>;

int communicators = 0;  // that were made and not freed

void use(MPI_Comm comm)
{
    int p = 1, me = 0;
    MPI_Comm_size(comm, &p);
    MPI_Comm_rank(comm, &me);
    const auto ranks = static_cast<std::size_t>(p);
    std::vector<float> in(300000, 1), out(in.size()), all(in.size() * ranks), part(in.size() / ranks * ranks),
        piece(in.size() / ranks);
    const std::vector<int> counts(ranks, 1000);

    ccoll::allreduce(in, out, comm);  // MPI's own
    ccoll::allreduce<lossy>(in, out, comm);
    ccoll::allreduce<lossy, Algo::Hierarchical<Algo::Binomial, Algo::Ring>>(in, out, comm);
    ccoll::reduce<lossy>(in, out, p - 1, comm);
    ccoll::allgather<lossy>(in, all, comm);
    ccoll::allgatherv<lossy>(std::vector<float>(1000, 1), std::span<float>(all).first(1000 * ranks), counts,
                             comm);
    ccoll::bcast<lossy>(out, 0, comm);
    ccoll::reduce_scatter<lossy>(part, piece, comm);
    ccoll::alltoall<lossy>(part, std::span<float>(all).first(part.size()), comm);

    auto flying = ccoll::iallreduce<Algo::RecursiveDoubling, acme::Fixed16, ErrorBound<1e-3>>(in, out, comm);
    auto message = ccoll::isend<lossy>(in, (me + 1) % p, 3, comm);
    ccoll::recv<lossy>(all.data(), in.size(), (me + p - 1) % p, 3, comm);
    message.wait();
    flying.wait();
    auto prepared = ccoll::allreduce_init<lossy>(in, out, comm);
    prepared.start();
    prepared.wait();
    prepared.start();
    prepared.wait();

    int told = 0;
    for (const std::size_t n : {std::size_t{1000}, std::size_t{400000}}) {
        std::vector<float> v(n + static_cast<std::size_t>(me));
        try {
            ccoll::allreduce<lossy>(v, comm);
        } catch (const ccoll::error&) {
            ++told;
        }
        try {
            if (me == 0) ccoll::allreduce<lossy, Algo::Ring>(in, out, comm);
            else ccoll::allreduce<lossy, Algo::Rabenseifner>(in, out, comm);
        } catch (const ccoll::error&) {
            ++told;
        }
    }
    check::expect(told == 4, "calls that must fail");
    ccoll::allreduce<lossy>(in, out, comm);
    check::expect(out[7] > static_cast<float>(p) - 0.1f && out[7] < static_cast<float>(p) + 0.1f,
                  "a sum after calls that failed");
}

/// A call that lives longer than its communicator: the last one to let go frees the library's duplicate.
void outlive()
{
    std::vector<float> x(1000, 1), y(x.size());
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    auto prepared = ccoll::allreduce_init<lossy>(x, y, comm);
    prepared.start();
    prepared.wait();
    MPI_Comm_free(&comm);
}

}  // namespace

// MPI's own functions, between the program and MPI.
extern "C" int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made)
{
    ++communicators;
    return PMPI_Comm_dup(comm, made);
}
extern "C" int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request)
{
    ++communicators;
    return PMPI_Comm_idup(comm, made, request);
}
extern "C" int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made)
{
    ++communicators;
    return PMPI_Comm_split_type(comm, type, key, info, made);
}
#if MPI_VERSION >= 4
extern "C" int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request)
{
    ++communicators;
    return PMPI_Comm_idup_with_info(comm, info, made, request);
}
#endif
extern "C" int MPI_Comm_free(MPI_Comm* comm)
{
    --communicators;
    return PMPI_Comm_free(comm);
}

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    MPI_Comm freed = MPI_COMM_NULL, kept = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    MPI_Comm_dup(MPI_COMM_WORLD, &kept);
    for (MPI_Comm comm : {MPI_COMM_WORLD, freed, kept}) use(comm);
    MPI_Comm_free(&freed);
    outlive();
    return check::finish([] {
        check::expect(communicators == 1, "the library has not freed all of its communicators, or too many");
    });  // the other is `kept`
}
