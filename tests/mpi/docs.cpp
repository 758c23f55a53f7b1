// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/porting.md: each call of MPI beside the call that replaces it, and the traps that the page describes.
// ranks: 1 3
// one MPI
#include <cmath>
#include <string>
#include <system_error>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>
#include <ccoll/typed.hpp>

using namespace ccoll::policies;

namespace {

using floats = std::vector<float>;
constexpr double within = 1e-3;
using Lossy = ccoll::Plan<Codec::SZp, ErrorBound<within>>;

floats wave(std::size_t n, int rank)
{
    floats v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = std::sin(1e-2f * static_cast<float>(i)) + static_cast<float>(rank);
    return v;
}
/// Within `times` bounds, apart from the rounding of sums.
bool close(const floats& a, const floats& b, double times)
{
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::fabs(a[i] - b[i]) <= times * within + 1e-4)) return false;
    return a.size() == b.size();
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    const MPI_Comm comm = MPI_COMM_WORLD;
    int rank = 0, p = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    const int n = 3000, root = p - 1, tag = 3;
    const auto ranks = static_cast<std::size_t>(p), me = static_cast<std::size_t>(rank),
               length = static_cast<std::size_t>(n);
    const floats mine = wave(length, rank), many = wave(length * ranks, rank);
    {
        floats theirs(length), ours(length);
        const float* field = mine.data();
        float* sum = theirs.data();
        // [doc:allreduce_before]
        MPI_Allreduce(field, sum, n, MPI_FLOAT, MPI_SUM, comm);
        // [/doc:allreduce_before]
        sum = ours.data();
        // [doc:allreduce_after]
        ccoll::allreduce<Codec::SZp, ErrorBound<1e-3>>(field, sum, n, comm);
        // [/doc:allreduce_after]
        EXPECT(close(ours, theirs, p));

        theirs = ours = mine;
        sum = theirs.data();
        // [doc:in_place_before]
        MPI_Allreduce(MPI_IN_PLACE, sum, n, MPI_FLOAT, MPI_SUM, comm);
        for (int i = 0; i < n; ++i) sum[i] /= static_cast<float>(p);
        // [/doc:in_place_before]
        sum = ours.data();
        // [doc:in_place_after]
        ccoll::allreduce<Op::Average, Codec::SZp, ErrorBound<1e-3>>(
            MPI_IN_PLACE, sum, n, comm);  // within 1e-3, and not p times 1e-3
        // [/doc:in_place_after]
        EXPECT(close(ours, theirs, 1));
        const auto facts = ccoll::allreduce<Op::Average, Codec::SZp, ErrorBound<1e-3>>(ours, comm);
        EXPECT(p == 1 || facts.worst_case_error == 1e-3);
    }
    {
        floats theirs(length), ours(length);
        const float* field = mine.data();
        float* sum = theirs.data();
        // [doc:reduce_before]
        MPI_Reduce(field, sum, n, MPI_FLOAT, MPI_SUM, root, comm);
        // [/doc:reduce_before]
        sum = ours.data();
        // [doc:reduce_after]
        ccoll::reduce<Codec::SZp, ErrorBound<1e-3>>(field, sum, n, root, comm);
        // [/doc:reduce_after]
        if (rank == root) EXPECT(close(ours, theirs, p));
        ours = mine;
        sum = ours.data();
        // One expression of type void*, as in MPI programs.
        ccoll::reduce<Lossy>(rank == root ? MPI_IN_PLACE : sum, sum, n, root, comm);
        if (rank == root) EXPECT(close(ours, theirs, p));
        else EXPECT(ours == mine);
    }
    {
        floats theirs = wave(length, root), ours = rank == root ? theirs : floats(length);
        float* field = theirs.data();
        // [doc:bcast_before]
        MPI_Bcast(field, n, MPI_FLOAT, root, comm);
        // [/doc:bcast_before]
        field = ours.data();
        // [doc:bcast_after]
        ccoll::bcast<Codec::SZp, ErrorBound<1e-3>>(field, n, root, comm);  // the root's field changes, too
        // [/doc:bcast_after]
        EXPECT(close(ours, theirs, 1));
        EXPECT(p == 1 || ours != theirs);
        ours = theirs;
        ccoll::bcast<Codec::Lossless>(ours, root, comm);
        EXPECT(ours == theirs);
    }
    {
        floats theirs(length * ranks), ours(length * ranks);
        const float* part = mine.data();
        float* all = theirs.data();
        // [doc:allgather_before]
        MPI_Allgather(part, n, MPI_FLOAT, all, n, MPI_FLOAT, comm);
        // [/doc:allgather_before]
        all = ours.data();
        // [doc:allgather_after]
        ccoll::allgather<Codec::SZp, ErrorBound<1e-3>>(part, all, n, comm);
        // [/doc:allgather_after]
        EXPECT(close(ours, theirs, 1));

        std::vector<int> counts, displacements;
        for (int r = 0; r < p; ++r) {
            counts.push_back(100 * (r + 1));
            displacements.push_back(n * r);
        }
        const int own = counts[me];
        theirs.assign(length * ranks, -9);
        ours = theirs;
        all = theirs.data();
        // [doc:allgatherv_before]
        MPI_Allgatherv(part, own, MPI_FLOAT, all, counts.data(), displacements.data(), MPI_FLOAT, comm);
        // [/doc:allgatherv_before]
        all = ours.data();
        // [doc:allgatherv_after]
        ccoll::allgatherv<Codec::SZp, ErrorBound<1e-3>>(part, own, all, counts.data(), displacements.data(),
                                                        comm);
        // [/doc:allgatherv_after]
        EXPECT(close(ours, theirs, 1));
        floats packed(ranks * (ranks + 1) / 2 * 100);
        const int* none = nullptr;
        ccoll::allgatherv<Lossy>(part, static_cast<std::size_t>(own), packed.data(), counts.data(), none,
                                 comm);
        EXPECT(std::fabs(packed.back() - static_cast<float>(p - 1) -
                         std::sin(1e-2f * static_cast<float>(100 * p - 1))) <= 1.01 * within);

        // The same lengths, gathered and scattered by the root.
        theirs.assign(length * ranks, -9);
        ours = theirs;
        all = theirs.data();
        // [doc:gatherv_before]
        MPI_Gatherv(part, own, MPI_FLOAT, all, counts.data(), displacements.data(), MPI_FLOAT, root, comm);
        // [/doc:gatherv_before]
        all = ours.data();
        // [doc:gatherv_after]
        ccoll::gatherv<Codec::SZp, ErrorBound<1e-3>>(part, own, all, counts.data(), displacements.data(),
                                                     root, comm);
        // [/doc:gatherv_after]
        EXPECT(close(ours, theirs, 1));

        floats got(length), expected(length);
        const float* whole = many.data();
        float* piece = expected.data();
        MPI_Scatterv(whole, counts.data(), displacements.data(), MPI_FLOAT, piece, own, MPI_FLOAT, root,
                     comm);
        piece = got.data();
        // [doc:scatterv_after]
        ccoll::scatterv<Codec::SZp, ErrorBound<1e-3>>(whole, counts.data(), displacements.data(), piece, own,
                                                      root, comm);
        // [/doc:scatterv_after]
        EXPECT(close(got, expected, 1));
    }
    {
        floats theirs(length * ranks), ours(length * ranks), own(length), mine_too(length);
        const float* part = mine.data();
        float* all = theirs.data();
        // [doc:gather_before]
        MPI_Gather(part, n, MPI_FLOAT, all, n, MPI_FLOAT, root, comm);
        // [/doc:gather_before]
        all = ours.data();
        // [doc:gather_after]
        // One count, because both sides have the same type.
        ccoll::gather<Codec::SZp, ErrorBound<1e-3>>(part, all, n, root, comm);
        // [/doc:gather_after]
        EXPECT(close(ours, theirs, 1));
        const float* whole = many.data();
        float* piece = own.data();
        // [doc:scatter_before]
        MPI_Scatter(whole, n, MPI_FLOAT, piece, n, MPI_FLOAT, root, comm);
        // [/doc:scatter_before]
        piece = mine_too.data();
        // [doc:scatter_after]
        ccoll::scatter<Codec::SZp, ErrorBound<1e-3>>(whole, piece, n, root, comm);
        // [/doc:scatter_after]
        EXPECT(close(mine_too, own, 1));
    }
    {
        floats theirs(length * ranks), ours(length * ranks);
        const float* rows = many.data();
        float* columns = theirs.data();
        // [doc:alltoall_before]
        MPI_Alltoall(rows, n, MPI_FLOAT, columns, n, MPI_FLOAT, comm);
        // [/doc:alltoall_before]
        columns = ours.data();
        // [doc:alltoall_after]
        ccoll::alltoall<Codec::SZp, ErrorBound<1e-3>>(rows, columns, n, comm);
        // [/doc:alltoall_after]
        EXPECT(close(ours, theirs, 1));

        std::vector<int> send_counts, send_at, recv_counts, recv_at;
        for (int r = 0; r < p; ++r) {
            send_counts.push_back(100 * (rank + 1));
            recv_counts.push_back(100 * (r + 1));
            send_at.push_back(n * r);
            recv_at.push_back(n * r);
        }
        theirs.assign(length * ranks, -9);
        ours = theirs;
        columns = theirs.data();
        // [doc:alltoallv_before]
        MPI_Alltoallv(rows, send_counts.data(), send_at.data(), MPI_FLOAT, columns, recv_counts.data(),
                      recv_at.data(), MPI_FLOAT, comm);
        // [/doc:alltoallv_before]
        columns = ours.data();
        // [doc:alltoallv_after]
        ccoll::alltoallv<Codec::SZp, ErrorBound<1e-3>>(rows, send_counts.data(), send_at.data(), columns,
                                                       recv_counts.data(), recv_at.data(), comm);
        // [/doc:alltoallv_after]
        EXPECT(close(ours, theirs, 1));
    }
    {
        floats theirs(length), ours(length);
        const float* whole = many.data();
        float* part = theirs.data();
        // [doc:reduce_scatter_before]
        MPI_Reduce_scatter_block(whole, part, n, MPI_FLOAT, MPI_SUM, comm);
        // [/doc:reduce_scatter_before]
        part = ours.data();
        // [doc:reduce_scatter_after]
        ccoll::reduce_scatter<Codec::SZp, ErrorBound<1e-3>>(whole, part, n, comm);
        // [/doc:reduce_scatter_after]
        EXPECT(close(ours, theirs, p));
    }
    {
        floats theirs(length), ours(length);
        const float* field = mine.data();
        float* sum = theirs.data();
        // [doc:iallreduce_before]
        MPI_Request request;
        MPI_Iallreduce(field, sum, n, MPI_FLOAT, MPI_SUM, comm, &request);
        // ...
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        // [/doc:iallreduce_before]
        sum = ours.data();
        // [doc:iallreduce_after]
        ccoll::request call = ccoll::iallreduce<Codec::SZp, ErrorBound<1e-3>>(field, sum, n, comm);
        // ...
        const ccoll::report facts = call.wait();
        // [/doc:iallreduce_after]
        EXPECT(close(ours, theirs, p));
        EXPECT(p == 1 || facts.worst_case_error <= p * within);
        EXPECT(ccoll::iallreduce(field, sum, n, comm).wait().ran_by == ccoll::ran_by::mpi);
        EXPECT(ccoll::allreduce(field, sum, n, comm).ran_by == ccoll::ran_by::mpi);
    }
    {
        floats theirs(length), ours(length);
        const int right = (rank + 1) % p, left = (rank + p - 1) % p;
        const float* edge = mine.data();
        float* halo = theirs.data();
        // [doc:sendrecv_before]
        MPI_Sendrecv(edge, n, MPI_FLOAT, right, tag, halo, n, MPI_FLOAT, left, tag, comm, MPI_STATUS_IGNORE);
        // [/doc:sendrecv_before]
        halo = ours.data();
        // [doc:sendrecv_after]
        ccoll::sendrecv<Codec::SZp, ErrorBound<1e-3>>(edge, n, right, halo, n, left, tag, comm);
        // [/doc:sendrecv_after]
        EXPECT(close(ours, theirs, 1));
        ours.assign(length, -9);
        ccoll::sendrecv<Lossy>(edge, n, MPI_PROC_NULL, halo, n, MPI_PROC_NULL, tag, comm);
        EXPECT(ours == floats(length, -9));
    }
    {
        int extents[2] = {0, 0};
        const int closed[2] = {1, 1};
        MPI_Dims_create(p, 2, extents);
        // [doc:neighbor]
        MPI_Comm grid;
        MPI_Cart_create(comm, 2, extents, closed, 0, &grid);
        // n elements down and up in dimension 0, down and up in dimension 1.
        floats edges(4 * length, 1.0f), halos(4 * length);
        ccoll::neighbor_alltoall<Codec::SZp, ErrorBound<1e-3>>(edges, halos, grid);
        // [/doc:neighbor]
        EXPECT(close(halos, edges, 1));
        const float* send = edges.data();
        float* recv = halos.data();
        // [doc:neighbor_before]
        MPI_Neighbor_alltoall(send, n, MPI_FLOAT, recv, n, MPI_FLOAT, grid);
        // [/doc:neighbor_before]
        EXPECT(halos == edges);
        halos.assign(4 * length, 0);
        // [doc:neighbor_after]
        ccoll::neighbor_alltoall<Codec::SZp, ErrorBound<1e-3>>(send, recv, n, grid);
        // [/doc:neighbor_after]
        EXPECT(close(halos, edges, 1));
        MPI_Comm_free(&grid);
    }
    {
        floats sum(length);
        const void* send = mine.data();
        void* recv = sum.data();
        const MPI_Datatype type = MPI_FLOAT;
        const MPI_Op op = MPI_SUM;
        // [doc:typed]
        const ccoll::report facts =
            ccoll::typed::allreduce<Codec::SZp, ErrorBound<1e-3>>(send, recv, n, type, op, comm);
        // [/doc:typed]
        EXPECT(p == 1 || facts.codec == std::string("SZp"));
        EXPECT(ccoll::typed::allreduce<Lossy>(send, recv, n, type, MPI_PROD, comm).ran_by ==
               ccoll::ran_by::mpi);
    }
    {
        std::vector<ccoll::bfloat16> values(length, ccoll::bfloat16(1));
        void* gradient = values.data();
        // [doc:typed_half]
        const auto type = ccoll::typed::elements_of<ccoll::bfloat16>();
        ccoll::request call = ccoll::typed::iallreduce<Codec::SZp, ErrorBound<1e-2>>(MPI_IN_PLACE, gradient,
                                                                                     n, type, MPI_SUM, comm);
        call.wait();
        // [/doc:typed_half]
        EXPECT(std::fabs(static_cast<float>(values[3]) - static_cast<float>(p)) <=
               1e-2f * static_cast<float>(p));
    }
    {
        // [doc:errors]
        floats sum(rank == 0 ? 10 : 11);  // does not fit
        std::error_code code;
        const ccoll::report facts = ccoll::allreduce<Lossy>(floats(11), sum, comm, code);
        const bool told = code == ccoll::status::size_mismatch && facts.trouble.rank == 0;  // on every rank
        // [/doc:errors]
        EXPECT(told);
        bool thrown = false;
        try {
            ccoll::allreduce<Lossy>(floats(11), sum, comm);
        } catch (const ccoll::error& e) {
            thrown = e.what_happened().code == ccoll::status::size_mismatch;
        }
        EXPECT(thrown);
    }
    {
        // [doc:attach]
        MPI_Comm half;
        MPI_Comm_split(comm, rank % 2, rank, &half);
        // Collective, like MPI_Comm_dup; only needed if the first call would be point-to-point.
        ccoll::attach(half);
        // [/doc:attach]
        int size = 0, place = 0;
        MPI_Comm_size(half, &size);
        MPI_Comm_rank(half, &place);
        floats x(100, static_cast<float>(place));
        if (size > 1 && place == 0) ccoll::send(x, 1, tag, half);
        if (size > 1 && place == 1) ccoll::recv(x, 0, tag, half);
        EXPECT(x[0] == 0);
        MPI_Comm_free(&half);
    }
    return check::finish();
}
