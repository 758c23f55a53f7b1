// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exchanges between the neighbours of MPI's topologies: grids, graphs of both kinds, and none.
// ranks: 1 3 8
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "check.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;
using Lossy = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>;

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Part i of rank r is filled with 100 r + i.
std::vector<float> parts_of(int rank, int parts, int n)
{
    std::vector<float> all;
    for (int i = 0; i < parts; ++i) all.insert(all.end(), at(n), static_cast<float>(100 * rank + i));
    return all;
}
bool close(const std::vector<float>& a, const std::vector<float>& b, double bound)
{
    bool all = a.size() == b.size();
    for (std::size_t i = 0; all && i < a.size(); ++i)
        all = std::fabs(static_cast<double>(a[i] - b[i])) <= bound;
    return all;
}

/// What MPI_Cart_shift says is the oracle: MPIs differ where both neighbours in a dimension are the same
/// rank.
void check_grid(int dims, bool closed, int n)
{
    int p = 1, me = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    std::vector<int> extents(at(dims), 0);
    MPI_Dims_create(p, dims, extents.data());
    const std::vector<int> periods(at(dims), closed ? 1 : 0);
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, dims, extents.data(), periods.data(), 0, &grid);
    MPI_Comm_rank(grid, &me);
    std::vector<float> wanted;
    for (int i = 0; i < 2 * dims; ++i) {
        int from = 0, to = 0;
        MPI_Cart_shift(grid, i / 2, i % 2 == 0 ? 1 : -1, &from, &to);
        const float value = from == MPI_PROC_NULL ? -1 : static_cast<float>(100 * from + (i ^ 1));
        wanted.insert(wanted.end(), at(n), value);
    }
    const auto send = parts_of(me, 2 * dims, n);
    std::vector<float> ours(send.size(), -1), lossy(send.size(), -1);
    ccoll::neighbor_alltoall(send, ours, grid);
    EXPECT(ours == wanted);
    const auto facts = ccoll::neighbor_alltoall<Lossy>(send.data(), lossy.data(), n, grid);
    EXPECT(close(lossy, wanted, 1e-3));
    EXPECT(facts.worst_case_error == (p > 1 ? 1e-3 : 0));
    const std::vector<int> counts(at(2 * dims), n);
    lossy.assign(send.size(), -1);
    ccoll::persistent prepared = ccoll::neighbor_alltoallv_init<Lossy>(send, counts, lossy, counts, grid);
    MPI_Comm_free(&grid);
    bool refused = false;
    try {
        prepared.start();
    } catch (const ccoll::error& e) {
        refused = std::string(e.what()).find("freed") != std::string::npos;
    }
    EXPECT(refused);
}

/// Rank r sends to r + 1, twice to r + 2, and to itself, in an order of its own, and hears from the same.
MPI_Comm odd_graph(std::vector<int>& from, std::vector<int>& to)
{
    int p = 1, me = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    to = {(me + 2) % p, me, (me + 1) % p, (me + 2) % p};
    from = {(me + p - 1) % p, (me + 2 * p - 2) % p, (me + 2 * p - 2) % p, me};
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 4, from.data(), MPI_UNWEIGHTED, 4, to.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    return graph;
}

void check_graph(int n)
{
    int p = 1, me = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    std::vector<int> from, to;
    MPI_Comm graph = odd_graph(from, to);
    const auto send = parts_of(me, 4, n);
    std::vector<float> theirs, ours(send.size()), lossy(send.size());
    // By the standard the i-th edge from a rank is the i-th to this one. MPICH 4.0 counts from behind, so MPI
    // is no oracle here.
    for (std::size_t j = 0; j < from.size(); ++j) {
        const int s = from[j];
        const int theirs_to[] = {(s + 2) % p, s, (s + 1) % p, (s + 2) % p};
        auto skip = std::count(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(j), s);
        for (int part = 0; part < 4; ++part)
            if (theirs_to[part] == me && skip-- == 0)
                theirs.insert(theirs.end(), at(n), static_cast<float>(100 * s + part));
    }
    ccoll::neighbor_alltoall(send.data(), ours.data(), n, graph);
    EXPECT(ours == theirs);
    ccoll::ineighbor_alltoall<Lossy>(send, lossy, graph).wait();
    EXPECT(close(lossy, theirs, 1e-3));

    const auto vector = parts_of(me, 1, n);
    MPI_Neighbor_allgather(vector.data(), n, MPI_FLOAT, theirs.data(), n, MPI_FLOAT, graph);
    ccoll::neighbor_allgather(vector, ours, graph);
    EXPECT(ours == theirs);
    ccoll::neighbor_allgather<Lossy>(vector, lossy, graph);
    EXPECT(close(lossy, theirs, 1e-3));

    // Lengths that depend on the sender.
    const auto length = [&](int rank) { return n == 0 ? 0 : n + rank; };
    const auto own = parts_of(me, 1, length(me));
    std::vector<int> counts, places;
    int end = 0;
    for (const int rank : from) {
        counts.push_back(length(rank));
        places.push_back(end);
        end += length(rank) + 2;
    }
    std::vector<float> gathered(at(end), -1), gathered_lossy(at(end), -1);
    MPI_Neighbor_allgatherv(own.data(), length(me), MPI_FLOAT, gathered.data(), counts.data(), places.data(),
                            MPI_FLOAT, graph);
    ccoll::neighbor_allgatherv<Lossy>(own, gathered_lossy, ccoll::parts(counts, places), graph);
    EXPECT(close(gathered_lossy, gathered, 1e-3));
    MPI_Comm_free(&graph);
}

void check_old_graph()
{
    int p = 1, me = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    std::vector<int> index, edges;  // a star around rank 0
    for (int r = 0; r < p; ++r) {
        for (int other = 1; r == 0 && other < p; ++other) edges.push_back(other);
        if (r > 0) edges.push_back(0);
        index.push_back(static_cast<int>(edges.size()));
    }
    edges.push_back(0);  // data() is never null
    MPI_Comm star = MPI_COMM_NULL;
    MPI_Graph_create(MPI_COMM_WORLD, p, index.data(), edges.data(), 0, &star);
    const int parts = me == 0 ? p - 1 : 1;
    const auto send = parts_of(me, parts, 50);
    std::vector<float> ours(send.size()), wanted;
    ccoll::neighbor_alltoall<Check::Collective>(send, ours, star);
    for (int r = 1; me == 0 && r < p; ++r) wanted.insert(wanted.end(), 50, static_cast<float>(100 * r));
    if (me > 0) wanted.assign(50, static_cast<float>(me - 1));
    EXPECT(ours == wanted);
    MPI_Comm_free(&star);
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    for (const int n : {1, 1000, 300001}) {
        for (const int dims : {1, 2, 3})
            for (const bool closed : {false, true})
                if (n < 300001 || dims == 2) check_grid(dims, closed, n);
        check_graph(n);
    }
    check_old_graph();

    int me = 0, p = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    std::string said;
    std::vector<float> x(2, static_cast<float>(me)), y(2);
    try {
        ccoll::neighbor_alltoall(x, y, MPI_COMM_WORLD);
    } catch (const ccoll::error& e) {
        said = e.what();
    }
    EXPECT(said.find("it has no topology") != std::string::npos);
    const auto ring = ccoll::with_grid(MPI_COMM_WORLD, std::vector{p}, std::vector{1});
    ccoll::neighbor_alltoall<Lossy>(x, y, ring);
    EXPECT(std::fabs(y[1] - static_cast<float>((me + 1) % p)) <= 1e-3f);
    ccoll::allreduce(x, ring);  // goes wherever the communicator goes
    EXPECT(x[0] == static_cast<float>(p * (p - 1) / 2));
    return check::finish();
}
