// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every collective over MPI, compared with MPI's own: results, bits, calls passed on to MPI, in place,
// sub-communicators, the user's messages.
// ranks: 1 2 3 4 5 7 8
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"

#include "support/fields.hpp"
#include "support/oracle.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;

namespace {

using doubles = std::vector<double>;
using E = ErrorBound<1e-3>;

int rank_of(MPI_Comm comm)
{
    int r = 0;
    MPI_Comm_rank(comm, &r);
    return r;
}
int size_of(MPI_Comm comm)
{
    int p = 0;
    MPI_Comm_size(comm, &p);
    return p;
}
std::size_t ranks(MPI_Comm comm) { return static_cast<std::size_t>(size_of(comm)); }

/// The sum of p numbers of magnitude `most` in any order rounds by at most (p - 1) u p most, on both sides of
/// a comparison.
double rounding(int p, double most) { return 2.02 * (p - 1) * p * most * 0x1p-53; }

bool close(const doubles& a, const doubles& b, double tolerance)
{
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::fabs(a[i] - b[i]) <= tolerance)) return false;
    return true;
}

/// Do all ranks hold the same bits?
bool same_everywhere(const doubles& v, MPI_Comm comm)
{
    const std::uint64_t mine = oracle::hash(v);
    std::uint64_t low = 0, high = 0;
    MPI_Allreduce(&mine, &low, 1, MPI_UINT64_T, MPI_MIN, comm);
    MPI_Allreduce(&mine, &high, 1, MPI_UINT64_T, MPI_MAX, comm);
    return low == high;
}

doubles contribution(std::size_t n, MPI_Comm comm)
{
    return fields::smooth<double>(n, static_cast<unsigned>(rank_of(comm) + 1));
}

template <class... P>
void reductions(std::size_t n, MPI_Comm comm)
{
    const int p = size_of(comm), me = rank_of(comm), root = p - 1;
    const double slack = rounding(p, 2);
    const doubles mine = contribution(n, comm);
    doubles expected(n), found(n, -7);
    MPI_Allreduce(mine.data(), expected.data(), static_cast<int>(n), MPI_DOUBLE, MPI_SUM, comm);
    auto facts = ccoll::allreduce<P...>(mine, found, comm);
    EXPECT(close(found, expected, facts.worst_case_error + slack));
    EXPECT(!facts.same_bits || same_everywhere(found, comm));
    EXPECT(mine == contribution(n, comm));
    found = mine;
    facts = ccoll::allreduce<P...>(MPI_IN_PLACE, found.data(), n, comm);
    EXPECT(close(found, expected, facts.worst_case_error + slack));

    found = mine;
    facts = me == root ? ccoll::reduce<P...>(MPI_IN_PLACE, found.data(), n, root, comm)
                       : ccoll::reduce<P...>(mine.data(), found.data(), n, root, comm);
    EXPECT(me == root ? close(found, expected, facts.worst_case_error + slack) : found == mine);

    const doubles whole = contribution(n * ranks(comm), comm);
    doubles block(n), own(n);
    MPI_Reduce_scatter_block(whole.data(), block.data(), static_cast<int>(n), MPI_DOUBLE, MPI_SUM, comm);
    facts = ccoll::reduce_scatter<P...>(whole, own, comm);
    EXPECT(close(own, block, facts.worst_case_error + slack));
    found = whole;
    facts = ccoll::reduce_scatter<P...>(MPI_IN_PLACE, found.data(), n, comm);
    found.resize(n);
    EXPECT(close(found, block, facts.worst_case_error + slack));

    MPI_Allreduce(mine.data(), expected.data(), static_cast<int>(n), MPI_DOUBLE, MPI_MAX, comm);
    found.assign(n, 0);
    facts = ccoll::allreduce<P..., Op::Max>(mine, found, comm);
    EXPECT(close(found, expected, facts.worst_case_error));
}

template <class... P>
void movements(std::size_t n, MPI_Comm comm)
{
    const int p = size_of(comm), me = rank_of(comm), root = p / 2;
    const doubles mine = contribution(n, comm);
    doubles all(n * ranks(comm)), found(all.size(), -7);
    MPI_Allgather(mine.data(), static_cast<int>(n), MPI_DOUBLE, all.data(), static_cast<int>(n), MPI_DOUBLE,
                  comm);
    auto facts = ccoll::allgather<P...>(mine, found, comm);
    EXPECT(close(found, all, facts.worst_case_error));
    EXPECT(!facts.same_bits || same_everywhere(found, comm));
    found.assign(all.size(), -7);
    std::copy(mine.begin(), mine.end(), found.begin() + me * static_cast<std::ptrdiff_t>(n));
    facts = ccoll::allgather<P...>(MPI_IN_PLACE, found.data(), n, comm);
    EXPECT(close(found, all, facts.worst_case_error));

    found.assign(all.size(), -7);
    facts = ccoll::gather<P...>(mine, found, root, comm);
    EXPECT(me == root ? close(found, all, facts.worst_case_error) : found == doubles(all.size(), -7));
    if (me == root) {
        found.assign(all.size(), -7);
        std::copy(mine.begin(), mine.end(), found.begin() + me * static_cast<std::ptrdiff_t>(n));
        ccoll::gather<P...>(MPI_IN_PLACE, found.data(), n, root, comm);
        EXPECT(close(found, all, facts.worst_case_error));
    } else {
        ccoll::gather<P...>(mine.data(), static_cast<double*>(nullptr), n, root, comm);
    }

    doubles own(n, -7);
    const doubles block(all.begin() + me * static_cast<std::ptrdiff_t>(n),
                        all.begin() + (me + 1) * static_cast<std::ptrdiff_t>(n));
    facts = ccoll::scatter<P...>(all, own, root, comm);
    EXPECT(close(own, block, facts.worst_case_error));
    own.assign(n, -7);
    if (me == root) ccoll::scatter<P...>(all.data(), MPI_IN_PLACE, n, root, comm);
    else ccoll::scatter<P...>(static_cast<const double*>(nullptr), own.data(), n, root, comm);
    EXPECT(me == root || close(own, block, facts.worst_case_error));

    doubles told = me == root ? mine : doubles(n, -7), expected = mine;
    MPI_Bcast(expected.data(), static_cast<int>(n), MPI_DOUBLE, root, comm);
    facts = ccoll::bcast<P...>(told, root, comm);
    EXPECT(close(told, expected, facts.worst_case_error));
    EXPECT(!facts.same_bits || same_everywhere(told, comm));
}

/// An exact plan that names nothing must be MPI's own call, with MPI's own bits.
void hand_over(std::size_t n, MPI_Comm comm)
{
    const doubles mine = contribution(n, comm);
    doubles expected(n), found(n);
    MPI_Allreduce(mine.data(), expected.data(), static_cast<int>(n), MPI_DOUBLE, MPI_SUM, comm);
    const auto facts = ccoll::allreduce(mine, found, comm);
    EXPECT(facts.ran_by == ccoll::ran_by::mpi && facts.algorithm == std::string("MPI"));
    EXPECT(facts.exact && facts.sent_bytes == 0 && facts.worst_case_error == 0);
    EXPECT(oracle::same_bits(found, expected));
    const auto average = ccoll::allreduce<Op::Average>(mine, found, comm);
    for (double& x : expected) x /= size_of(comm);
    EXPECT(average.ran_by == ccoll::ran_by::mpi);
    EXPECT(oracle::same_bits(found, expected));
    doubles all(n * ranks(comm)), wanted(all.size());
    MPI_Allgather(mine.data(), static_cast<int>(n), MPI_DOUBLE, wanted.data(), static_cast<int>(n),
                  MPI_DOUBLE, comm);
    EXPECT(ccoll::allgather(mine, all, comm).ran_by == ccoll::ran_by::mpi);
    EXPECT(all == wanted);
    EXPECT(ccoll::allreduce<Check::Collective>(mine, found, comm).ran_by == ccoll::ran_by::mpi);
    EXPECT(ccoll::allreduce<Algo::Ring>(mine, found, comm).algorithm == std::string("Ring"));
    EXPECT(ccoll::bcast<Placement::PerHop>(found, 0, comm).algorithm == std::string("Binomial"));
}

/// Messages of the user on the same communicator, with any tag, before, during and after calls.
void users_messages(MPI_Comm comm)
{
    const int p = size_of(comm), me = rank_of(comm), right = (me + 1) % p, left = (me + p - 1) % p;
    constexpr int tags[] = {0, 1, 15, 16, 31, 32767};
    int out[6], in[6] = {};
    MPI_Request requests[12];
    for (int i = 0; i < 6; ++i) {
        out[i] = 100 * me + i;
        MPI_Isend(&out[i], 1, MPI_INT, right, tags[i], comm, &requests[i]);
    }
    doubles v(5000, 1);
    ccoll::allreduce<Codec::PipeSZx, E>(v, comm);
    EXPECT(std::fabs(v[4999] - p) <= p * 1e-3);
    for (int i = 0; i < 6; ++i)
        MPI_Irecv(&in[i], 1, MPI_INT, i % 2 == 0 ? MPI_ANY_SOURCE : left, i % 2 == 0 ? tags[i] : MPI_ANY_TAG,
                  comm, &requests[6 + i]);
    ccoll::bcast<Codec::SZx, E, Check::Collective>(v, 0, comm);
    MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
    int sum = 0, wanted = 0;
    for (int i = 0; i < 6; ++i) {
        sum += in[i];
        wanted += 100 * left + i;
    }
    EXPECT(sum == wanted);
}

/// As programs write it: one expression that is MPI_IN_PLACE or an address, of type void*.
void in_place_at_the_root(MPI_Comm comm)
{
    const int me = rank_of(comm), p = size_of(comm);
    doubles mine(10, 1), sum(10, 1);
    try {
        ccoll::reduce<Algo::Binomial>(me == 0 ? MPI_IN_PLACE : static_cast<void*>(mine.data()), sum.data(),
                                      10, 0, comm);
        EXPECT(me != 0 || sum == doubles(10, p));
    } catch (const ccoll::error& e) {
        check::expect(false, e.what());
    }
}

void everything(std::size_t n, MPI_Comm comm)
{
    reductions<>(n, comm);
    reductions<Codec::PipeSZx, E>(n, comm);
    reductions<Codec::SZx, E, Placement::PerHop, Check::Collective>(n, comm);
    movements<>(n, comm);
    movements<Codec::PipeSZx, E>(n, comm);
    movements<Codec::SZx, E, Placement::PerHop>(n, comm);
    movements<Codec::None, Check::Collective>(n, comm);
}

/// Unsigned integers whose highest bit is set are the largest, also where MPI does the call: MPICH 4.0
/// compares them as signed ones.
template <class T>
void unsigned_extremes(int p)
{
    const T large = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
    const std::vector<T> mine(3, check::rank == p - 1 ? large : T{1});
    std::vector<T> most(mine.size()), least(mine.size()), begun(mine.size());
    const ccoll::report facts = ccoll::allreduce<Op::Max>(mine, most, MPI_COMM_WORLD);
    ccoll::allreduce<Op::Min>(mine, least, MPI_COMM_WORLD);
    ccoll::iallreduce<Op::Max>(mine, begun, MPI_COMM_WORLD).wait();
    EXPECT(most[2] == large && begun[2] == large);
    EXPECT(least[2] == (p > 1 ? T{1} : large));
    EXPECT(p == 1 || facts.ran_by == ccoll::ran_by::mpi);
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    const bool crowded = size_of(MPI_COMM_WORLD) > 4;  // MPICH spins: many ranks on few cores take long
    for (const std::size_t n : {0, 1, 129, 10007})
        if (!crowded || n > 100) everything(n, MPI_COMM_WORLD);
    doubles v = contribution(4000, MPI_COMM_WORLD), w(4000), expected(4000);
    MPI_Allreduce(v.data(), expected.data(), 4000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double slack = rounding(size_of(MPI_COMM_WORLD), 2);
    EXPECT(close((ccoll::allreduce<Algo::RecursiveDoubling>(v, w, MPI_COMM_WORLD), w), expected, slack));
    EXPECT(same_everywhere(w, MPI_COMM_WORLD));
    const auto facts = ccoll::allreduce<Algo::RecursiveDoubling, Codec::SZx, E>(v, w, MPI_COMM_WORLD);
    EXPECT(close(w, expected, facts.worst_case_error + slack));
    EXPECT(same_everywhere(w, MPI_COMM_WORLD));

    for (const std::size_t n : {1, 3000}) hand_over(n, MPI_COMM_WORLD);
    users_messages(MPI_COMM_WORLD);
    unsigned_extremes<std::uint8_t>(size_of(MPI_COMM_WORLD));
    unsigned_extremes<std::uint16_t>(size_of(MPI_COMM_WORLD));
    unsigned_extremes<std::uint32_t>(size_of(MPI_COMM_WORLD));
    unsigned_extremes<std::uint64_t>(size_of(MPI_COMM_WORLD));
    in_place_at_the_root(MPI_COMM_WORLD);
    {  // with an agreement, in slices
        doubles large = contribution(400000, MPI_COMM_WORLD), sum(large.size());
        MPI_Allreduce(large.data(), sum.data(), 400000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        const auto told = ccoll::allreduce<Codec::PipeSZx, E>(large, MPI_COMM_WORLD);
        EXPECT(told.agreed == (size_of(MPI_COMM_WORLD) > 1));
        EXPECT(close(large, sum, told.worst_case_error + slack));
        EXPECT(same_everywhere(large, MPI_COMM_WORLD));
    }
    MPI_Comm half = MPI_COMM_NULL, backwards = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, check::rank % 2, 0, &half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check::rank, &backwards);
    for (int i = 0; i < (crowded ? 1 : 3); ++i) {  // in turn, which of the two is begun first
        everything(200, half);
        reductions<Codec::PipeSZx, E>(300, backwards);
        movements<Codec::PipeSZx, E>(300, backwards);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&backwards);
    return check::finish();
}
